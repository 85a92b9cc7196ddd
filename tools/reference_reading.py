"""Write the table of the rules by which answers are read, and the page of the words that the rules look for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Final

from reading_examples import EXAMPLES
from reference_pages import cell, code, page, table

from roundtable.parsing import read_reply
from roundtable.reading import number_phrases, phrases, wide_phrases

if TYPE_CHECKING:
    from types import ModuleType

    from reading_examples import Example

    from roundtable.types import Reading

__all__ = ["PAGE", "WORDS_PAGE", "reading_page", "words_page"]

PAGE: Final = Path("docs/explanation/how-answers-are-read.md")
WORDS_PAGE: Final = Path("docs/reference/answer-words.md")
START: Final = "<!-- rules: written by tools/generate.py -->"
END: Final = "<!-- end of the rules -->"
QUESTIONS: Final = {"choice": "a city", "number": "a number", "open": "open", "formula": "a formula"}
INTRODUCTION: Final = (
    "Rules such as `answer` and `conclusion` of [How answers are read](../explanation/how-answers-are-read.md) "
    "look for these words. The languages are English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, "
    "Russian, Turkish, Chinese, Japanese, Korean, Arabic and Hindi. Some lists lack words of some of these languages, "
    "and some have words of further ones. The phrases of refusals and of answers that point back are in the folder "
    "`src/roundtable/reading/texts`, by language."
)
SCRIPTS: Final = (
    ("Latin", re.compile(r"[\u0000-\u036f\u1e00-\u1fff]")),
    ("Cyrillic", re.compile(r"[\u0400-\u052f]")),
    ("Arabic", re.compile(r"[\u0600-\u06ff]")),
    ("Devanagari", re.compile(r"[\u0900-\u097f]")),
    ("Chinese and Japanese", re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")),
    ("Korean", re.compile(r"[\uac00-\ud7af]")),
)


def reading_page() -> str:
    """Return the page of how answers are read, which is written by hand, with the current table of rules.

    Raises:
        SystemExit: An example is read by another rule than its own.
    """
    before, _, rest = PAGE.read_text("utf-8").partition(START)
    rows = table(("rule", "what it finds", "asked for", "a reply", "what is read"), map(_row, EXAMPLES))
    return f"{before}{START}\n\n{rows}\n\n{END}{rest.partition(END)[2]}"


def words_page() -> str:
    """Return the page of the words, one section for each list."""
    return page(
        "Words that mark answers", INTRODUCTION, *_lists(phrases), *_lists(wide_phrases), *_lists(number_phrases)
    )


def _row(example: Example) -> Iterator[str]:
    reading = read_reply(example.reply, example.asked)
    if reading.rule != example.rule:
        raise SystemExit(f"the rule {reading.rule!r}, not {example.rule!r}, reads the example {example.reply!r}")
    yield code(example.rule)
    yield example.finds
    yield QUESTIONS[example.asked.kind]
    yield "<br>".join(_line(line) for line in example.reply.splitlines() if line)
    yield _read(reading)


def _line(line: str) -> str:
    """Return a line as code; one with signs of code needs longer ones around it."""
    return f"```` {cell(line)} ````" if "`" in line else code(line)


def _read(reading: Reading) -> str:
    """Return what was read, for a cell of the table."""
    if reading.points_to is not None:
        return f"what {reading.points_to} answered, if that was shown"
    if reading.certainty == "certain":
        return "the whole position" if reading.value is None else code(reading.value)
    candidates = " or ".join(map(code, reading.candidates))
    return f"{reading.certainty}: {candidates}" if candidates else reading.certainty


def _lists(module: ModuleType) -> Iterator[str]:
    source = ast.parse(Path("src", *module.__name__.split(".")).with_suffix(".py").read_text("utf-8"))
    for statement, following in zip(source.body, source.body[1:], strict=False):
        is_described = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and is_described:
            yield f'??? note "{_heading(ast.literal_eval(following.value))}"'
            yield indent("\n".join(_by_script(_flat(getattr(module, statement.target.id)))), "    ")


def _heading(description: str) -> str:
    return re.sub(r"\*", "", description.rstrip(".")).partition(", as in ")[0]


def _flat(words: Iterable[str | tuple[str, ...]]) -> Iterator[str]:
    """Yield the words of a list, of which some are groups, such as the ordinal numbers."""
    for word in words:
        yield from (word,) if isinstance(word, str) else word


def _by_script(words: tuple[str, ...]) -> Iterator[str]:
    """Yield a line of a list for each script, with its words in alphabetical order."""
    by_script: dict[str, set[str]] = {}
    for word in words:
        name = next((name for name, letters in reversed(SCRIPTS) if letters.search(word)), SCRIPTS[0][0])
        by_script.setdefault(name, set()).add(word)
    for name, _ in SCRIPTS:
        if name in by_script:
            yield f"- {name}: {', '.join(f'`{word}`' for word in sorted(by_script[name]))}"
