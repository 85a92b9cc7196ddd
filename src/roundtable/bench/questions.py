"""Questions with known answers, from a file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from roundtable.errors import ConfigurationError
from roundtable.types import NonEmpty, Topic, Value
from roundtable.types.base import first_misfit

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Question", "read_questions"]

_NAMES: Final = {
    "id": ("id",),
    "question": ("question", "topic"),
    "gold": ("gold", "goldanswer", "gold_answer", "answer"),
    "options": ("options", "choices"),
}
"""Our name, and what a column may be called, in any case."""
_CSV: Final = (".csv", ".tsv")
_BETWEEN: Final = (",", ";", "\t")
_SPLIT: Final = "|"


class Question(Value):
    """A question and its right answer.

    Example:
        >>> Question(id="1", question="2 + 2?", gold="4", options=("4", "5")).gold
        '4'
    """

    id: NonEmpty
    """Name of the question within its study."""
    question: Topic
    """What to ask."""
    gold: NonEmpty
    """The right answer."""
    options: tuple[NonEmpty, ...] | None = None
    """Options to choose from."""


def read_questions(path: str | PathLike[str]) -> tuple[Question, ...]:
    """Read questions from a CSV file with a line of names, or from JSON objects, one a line (`.jsonl`).

    Columns: `question` (or `topic`), `gold` (or `answer`), and if you like `id` and `options` (or `choices`), in any
    case: options in CSV with `|` between them, in JSON a list or the same text. Other columns are ignored, and so are
    empty lines. A question without an id goes by its place, from 1. Columns stand between commas, semicolons or
    tabulators, as in the line of names. The file is UTF-8.

    Raises:
        ConfigurationError: The file cannot be read, or a line of it is no question.
    """
    file = Path(path).expanduser()
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{str(file)!r} cannot be read: {error.strerror}", cause=error) from error
    except ValueError as error:
        hint = "Save it as UTF-8."
        raise ConfigurationError(f"{str(file)!r} cannot be read: {error}", cause=error, hint=hint) from error
    rows = _csv_rows(text, file) if file.suffix.lower() in _CSV else _json_rows(text, file)
    found = tuple(_question(row, place, number, file) for place, (number, row) in enumerate(rows, 1))
    if not found:
        hint = "A CSV file needs a line of names, such as question,gold,options; other files JSON objects, one a line."
        raise ConfigurationError(f"{str(file)!r} holds no question", hint=hint)
    ids = [one.id for one in found]
    if doubled := next((one for one in ids if ids.count(one) > 1), None):
        raise ConfigurationError(f"{str(file)!r} holds two questions with the id {doubled!r}")
    return found


def _csv_rows(text: str, file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    names = text.lstrip().partition("\n")[0]
    between = max(_BETWEEN, key=lambda mark: (names.count(mark), mark == ","))
    try:
        lines = csv.DictReader(io.StringIO(text, newline=""), delimiter=between, strict=True)
        for row in lines:
            # What stands behind the last named column is under None.
            known = {name: cell for name, cell in row.items() if isinstance(name, str) and cell and cell.strip()}
            if known:
                yield lines.line_num, known
    except csv.Error as error:
        raise ConfigurationError(f"{str(file)!r} is no CSV: {error}", cause=error) from error


def _json_rows(text: str, file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{str(file)!r}, line {number}: no JSON: {error}", cause=error) from error
        if not isinstance(row, dict):
            raise ConfigurationError(f"{str(file)!r}, line {number}: not an object")
        yield number, row


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def _question(row: Mapping[str, Any], place: int, line: int, file: Path) -> Question:
    told = {name.strip().casefold(): cell for name, cell in row.items()}
    given: dict[str, Any] = {"id": str(place)}
    for ours, names in _NAMES.items():
        held = next((told[name] for name in names if told.get(name) not in (None, "")), None)
        if held is not None:
            given[ours] = _texts(held) if ours == "options" else _text(held)
    try:
        return Question.model_validate(given)
    except ValidationError as error:
        msg = f"{str(file)!r}, line {line}: {': '.join(first_misfit(error))}"
        raise ConfigurationError(msg, cause=error, hint="Each needs a question and a gold answer.") from None


def _text(held: object) -> object:
    """Give a number as it is written, and a text without the white space round it."""
    if isinstance(held, bool):
        return str(held).lower()
    return str(held) if isinstance(held, int | float) else held.strip() if isinstance(held, str) else held


def _texts(held: object) -> object:
    if isinstance(held, str):
        return [option.strip() for option in held.split(_SPLIT) if option.strip()]
    return [_text(option) for option in held] if isinstance(held, list) else held
