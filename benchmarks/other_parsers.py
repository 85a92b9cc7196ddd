"""Read answers with the parsers of other libraries: `bench_reading.py` starts this program.

Standard input is a JSON list of replies, each with `kind` (`choice` or `number`), `text`, `wanted` (a number, a letter
or null) and the texts of its `options`. Standard output is a JSON object from the name of a parser to its kind, its
library, and what it read in each reply of its kind: a letter or a number as text, or null. It imports nothing of this
project, so any interpreter that has the other libraries can run it.

The patterns of lm-evaluation-harness are those of its task files `gsm8k`, `gsm8k_cot_zeroshot`, `minerva_math` and
`mmlu_flan_cot_zeroshot`, and the two patterns of inspect_ai those of its scorer `answer`, in our own spelling. A scorer
that has no public way to say what it read is asked whether the right answer is right.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import logging
import re
import string
import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeAlias

Reply: TypeAlias = dict[str, Any]
Read: TypeAlias = Callable[[Reply], str | None]

NUMBER_RUN: Final = r"-?[0-9.,]+"
ANY_NUMBER: Final = r"-?[$0-9.,]{2,}|-?[0-9]+"
IN_BRACKETS: Final = re.compile(r"\([A-Z]\)")
ANSWER_IS: Final = re.compile(r"(?:answer is |The answer is: |The answer: |The final answer: )(.*).")
"""Stands for five look-behinds: one of them is a part of another."""
LETTER: Final = r"(?is)ANSWER\s*:\s*([A-Za-z])(?:\W|$)(?!.*ANSWER\s*:)"
LINE: Final = r"(?i)ANSWER\s*:\s*([^\n]+)\s*\Z"


class Parser(NamedTuple):
    """A parser of another library."""

    name: str
    kind: str
    library: str
    read: Read


# ---------------------------------------------------------------- lm-evaluation-harness


def as_number(text: str) -> str | None:
    """Return a number without commas, currency and a final full stop, as the task files compare it."""
    bare = re.sub(r"[,$]|\.$", "", text.strip())
    try:
        float(bare)
    except ValueError:
        return None
    return bare


def pattern_number(pattern: str, place: int, reply: Reply) -> str | None:
    """Return the first or the last number that a pattern finds."""
    found = re.findall(pattern, reply["text"])
    return as_number(found[place]) if found else None


def minerva(reply: Reply) -> str | None:
    """Return the number of *Final Answer: The final answer is 5. I hope it is correct.*, with or without the hope."""
    found = re.search(
        r"Final Answer: The final answer is(.*?). I hope it is correct.", reply["text"] + "I hope it is correct."
    )
    return as_number(found[1].split("=")[-1].replace("\\$", "").strip(" $")) if found else None


def strict_letter(reply: Reply) -> str | None:
    """Return the letter that stands alone after *The answer is*."""
    found = ANSWER_IS.search(reply["text"])
    return letter_of("".join(one for one in found[1] if one not in string.punctuation), reply) if found else None


def flexible_letter(reply: Reply) -> str | None:
    """Return the last letter in brackets, else the last option that is quoted, else the last letter after a colon."""
    if found := IN_BRACKETS.findall(reply["text"]):
        return letter_of(found[-1][1], reply)
    letters = {
        without_signs(option): letter for option, letter in zip(reply["options"], string.ascii_uppercase, strict=False)
    }
    if found := re.findall("|".join(map(re.escape, letters)), without_signs(reply["text"])):
        return letters.get(found[-1].strip())
    last = string.ascii_uppercase[len(reply["options"]) - 1]
    found = re.findall(rf":\s*([A-{last}])", reply["text"])
    return found[-1] if found else None


def without_signs(text: str) -> str:
    """Return a text in lower case without punctuation."""
    return "".join(sign for sign in text.strip().lower() if not unicodedata.category(sign).startswith("P"))


def letter_of(text: str, reply: Reply) -> str | None:
    """Return a text that is the letter of an option; `None` for any other text."""
    bare = text.strip().upper()
    return bare if len(bare) == 1 and bare in string.ascii_uppercase[: len(reply["options"])] else None


def harness() -> Iterable[Parser]:
    """Yield the parsers of lm-evaluation-harness."""
    library = "lm-evaluation-harness 0.4"
    yield Parser("MMLU, strict", "choice", library, strict_letter)
    yield Parser("MMLU, flexible", "choice", library, flexible_letter)
    yield Parser("GSM8K, strict (####)", "number", library, partial(pattern_number, rf"#### ({NUMBER_RUN})", 0))
    yield Parser(
        "GSM8K, strict (The answer is)",
        "number",
        library,
        partial(pattern_number, rf"The answer is ({NUMBER_RUN}).", 0),
    )
    yield Parser("GSM8K, flexible", "number", library, partial(pattern_number, ANY_NUMBER, -1))
    yield Parser("Minerva MATH", "number", library, minerva)


# ---------------------------------------------------------------- math-verify


def math_verify() -> Iterable[Parser]:
    """Yield the parsers of math-verify, if it is installed."""
    if importlib.util.find_spec("math_verify") is None:
        return
    module = importlib.import_module("math_verify")
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    strings = [module.StringExtractionConfig(strings=tuple(string.ascii_uppercase[:8]))]
    library = f"math-verify {importlib.metadata.version('math-verify')}"
    yield Parser("parse, letters", "choice", library, partial(verified, module, {"extraction_config": strings}))
    yield Parser("parse and verify", "number", library, partial(verified, module, {}))


def verified(module: ModuleType, options: dict[str, Any], reply: Reply) -> str | None:
    """Return the right answer where the library finds it equal, else what it read."""
    found = module.parse(reply["text"], **options)
    if not found:
        return None
    if reply["wanted"] is not None and module.verify(module.parse(reply["wanted"], **options), found):
        return str(reply["wanted"])
    if reply["kind"] == "choice":
        return str(found[0]).upper()
    return plain(found[0])


def plain(expression: object) -> str | None:
    """Return an expression of sympy that is a number, as text."""
    if not all(getattr(expression, f"is_{name}", False) for name in ("number", "finite", "real")):
        return None
    return str(float(str(expression.evalf())))


# ---------------------------------------------------------------- inspect_ai


def inspect_ai() -> Iterable[Parser]:
    """Yield the parsers of inspect_ai: two patterns, and the others if it is installed."""
    installed = importlib.util.find_spec("inspect_ai") is not None
    version = importlib.metadata.version("inspect-ai") if installed else "0.3, patterns only"
    library = f"inspect_ai {version}"
    letter, line = LETTER, LINE
    if installed:
        patterns = importlib.import_module("inspect_ai.scorer").AnswerPattern
        letter, line = patterns.LETTER.value, patterns.LINE.value
    yield Parser('answer("letter")', "choice", library, partial(pattern_letter, letter))
    yield Parser('answer("line")', "number", library, partial(pattern_number, line, -1))
    if installed:
        yield Parser("multiple_choice", "choice", library, selected)
        yield Parser("match(numeric=True)", "number", library, partial(scored, ("match", {"numeric": True})))
        yield Parser("math", "number", library, partial(scored, ("math", {})))


def pattern_letter(pattern: str, reply: Reply) -> str | None:
    """Return the letter that a pattern finds."""
    found = re.search(pattern, reply["text"])
    return letter_of(found[1], reply) if found else None


def state_of(reply: Reply) -> object:
    """Return a reply in the form in which scorers and solvers of inspect_ai take it."""
    model, solver = (importlib.import_module(f"inspect_ai.{name}") for name in ("model", "solver"))
    return solver.TaskState(
        model=model.ModelName("none/none"),
        sample_id=1,
        epoch=1,
        input="",
        messages=[],
        choices=list(reply["options"]) or None,
        output=model.ModelOutput.from_content("none", reply["text"]),
    )


def selected(reply: Reply) -> str | None:
    """Return the only option that the solver `multiple_choice` finds selected."""
    module = importlib.import_module("inspect_ai.solver._multiple_choice")
    found = module.parse_answers(state_of(reply), multiple_correct=False)
    return next(iter(found)) if len(found) == 1 else None


def scored(scorer: tuple[str, dict[str, Any]], reply: Reply) -> str | None:
    """Return the right answer where a scorer finds it, else the number that it read."""
    module, anyio = importlib.import_module("inspect_ai.scorer"), importlib.import_module("anyio")
    name, options = scorer
    target = module.Target(reply["wanted"] if reply["wanted"] is not None else "0")
    score = anyio.run(getattr(module, name)(**options), state_of(reply), target)
    if score.value == module.CORRECT and reply["wanted"] is not None:
        return str(reply["wanted"])
    return as_number(score.answer or "") if score.reason is None else None


def read_all(parser: Parser, replies: Iterable[Reply]) -> dict[str, Any]:
    """Return what a parser reads, and on how many replies it fails: it has read nothing there."""
    read, failed = list[str | None](), 0
    for reply in replies:
        try:
            read.append(parser.read(reply))
        except (ArithmeticError, AttributeError, TypeError, ValueError):
            read.append(None)
            failed += 1
    return {"kind": parser.kind, "read": read, "failed": failed}


def main() -> None:
    """Read all replies with all parsers, and print what was read."""
    replies: list[Reply] = json.load(sys.stdin)
    found = {
        f"{parser.library}: {parser.name}": read_all(parser, [one for one in replies if one["kind"] == parser.kind])
        for parsers in (harness, math_verify, inspect_ai)
        for parser in parsers()
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
