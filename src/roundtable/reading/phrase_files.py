r"""Phrases in many languages, kept as text files that speakers of the languages read and extend.

A file has a heading for each language and, below it, sections of phrases, one phrase a line:

```text
== English ==
THING = answer|position|view
-- own answer --
I (still) [stand by|stick with] my (previous) THING
> I still stand by my answer.
```

In a phrase, letter case, accents, and kinds of quotation marks and spaces do not count, and these signs have a meaning:

- `(a|b)`: one of these, or nothing
- `[a|b]`: one of these
- `...`: at most sixty characters of the same sentence, or nothing
- `word*`: the word with any ending
- `NAME`: the name of a speaker: one to four words
- `,`: a comma, a colon or a dash
- `;`: a comma, a colon, a dash, or the end of a sentence
- `.`: here ends the clause, or the text
- `THING`: a word in capitals stands for the list that is defined under this name

In a phrase of Chinese, Japanese or Korean, spaces may be left out. A line that begins with `>` is an example, and one
that begins with `#` is a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PHRASE_FILES", "PhraseFile", "PhrasesOfLanguage", "parse_phrases", "phrases"]

PhraseFile: TypeAlias = Literal["openings", "refusals", "references", "ballots"]
"""A file of phrases: what may stand before a statement, refusals, references to earlier answers, and words around the
options of a ballot."""
PHRASE_FILES: Final[tuple[PhraseFile, ...]] = ("openings", "refusals", "references", "ballots")
"""All files of phrases."""

_HEADING: Final = re.compile(r"== (.+) ==")
_SECTION: Final = re.compile(r"-- (.+) --")
_LIST: Final = re.compile(r"([A-Z]{2,}) = (.+)")
_LIST_NAME: Final = re.compile(r"(?<![A-Z])[A-Z]{2,}(?![A-Z])")


@dataclass(frozen=True, slots=True, eq=False)
class PhrasesOfLanguage:
    """The phrases of a file in one language."""

    language: str
    """English name of the language, or of several."""
    sections: Mapping[str, tuple[str, ...]]
    """Phrases by section, as the file spells them."""
    examples: Mapping[str, tuple[str, ...]]
    """Examples by section: whole texts."""
    lists: Mapping[str, str]
    """Lists of words by their names in capitals, with `|` between the words."""


@cache
def phrases(file: PhraseFile) -> tuple[PhrasesOfLanguage, ...]:
    """Return the phrases of a file by language, as speakers of the languages wrote them.

    Example:
        >>> [of.language for of in phrases("references")][:3]
        ['English', 'German', 'French']
        >>> phrases("references")[0].examples["own answer"][0]
        'I stand by my answer.'
    """
    source = files("roundtable.reading") / "texts" / f"{file}.txt"
    return parse_phrases(source.read_text(encoding="utf-8"))


def parse_phrases(source: str) -> tuple[PhrasesOfLanguage, ...]:
    """Parse a file of phrases.

    Raises:
        ValueError: A line stands before the first heading, or a phrase before the first section of its language; or a
            list names a list that is not defined above it.
    """
    found: list[PhrasesOfLanguage] = []
    sections: dict[str, tuple[str, ...]] = {}
    examples: dict[str, tuple[str, ...]] = {}
    lists: dict[str, str] = {}
    section = ""
    for number, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if heading := _HEADING.fullmatch(text):
            sections, examples, lists, section = {}, {}, {}, ""
            found.append(PhrasesOfLanguage(heading[1], sections, examples, lists))
        elif name := _SECTION.fullmatch(text):
            section = name[1]
        elif definition := _LIST.fullmatch(text):
            lists[definition[1]] = _checked(definition[2], lists)
        elif not found or not section:
            raise ValueError(
                f"line {number}: {text!r} belongs to nothing; write '== language ==' and '-- section --' above"
            )
        elif text.startswith(">"):
            examples[section] = (*examples.get(section, ()), text[1:].strip())
        else:
            sections[section] = (*sections.get(section, ()), text)
    return tuple(found)


def _checked(words: str, lists: Mapping[str, str]) -> str:
    """Return the words of a list, which may name lists that are defined above it."""
    for name in _LIST_NAME.findall(words):
        if name not in lists and name != "NAME":
            raise ValueError(f"list {words!r} names the list {name}, which is not defined above it for its language")
    return words
