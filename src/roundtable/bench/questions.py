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

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Question", "read_questions"]

_NAMES: Final = {
    "id": ("id",),
    "question": ("question", "topic"),
    "gold": ("gold", "goldAnswer", "gold_answer", "answer"),
    "options": ("options", "choices"),
}
"""Our name, and what a column may be called."""
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

    Columns: `question` (or `topic`), `gold` (or `answer`), and if you like `id` and `options` (or `choices`): in CSV
    with `|` between them, in JSON a list. Other columns are ignored. A question without an id goes by its place,
    from 1.

    Raises:
        ConfigurationError: The file cannot be read, or a line of it is no question.
    """
    file = Path(path).expanduser()
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{str(file)!r} cannot be read: {error}", cause=error) from error
    rows = _csv_rows(text) if file.suffix.lower() == ".csv" else _json_rows(text, file)
    found = tuple(_question(row, place, file) for place, row in enumerate(rows, 1))
    if not found:
        raise ConfigurationError(f"{str(file)!r} holds no question")
    ids = [one.id for one in found]
    if doubled := next((one for one in ids if ids.count(one) > 1), None):
        raise ConfigurationError(f"{str(file)!r} holds two questions with the id {doubled!r}")
    return found


def _csv_rows(text: str) -> Iterator[Mapping[str, Any]]:
    for row in csv.DictReader(io.StringIO(text, newline="")):
        # What stands behind the last named column is under None.
        known = {name.strip(): cell for name, cell in row.items() if isinstance(name, str) and cell}
        for name in _NAMES["options"]:
            if name in known:
                known[name] = [option.strip() for option in known[name].split(_SPLIT)]
        yield known


def _json_rows(text: str, file: Path) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{str(file)!r}, line {number}: no JSON: {error}", cause=error) from error
        if not isinstance(row, dict):
            raise ConfigurationError(f"{str(file)!r}, line {number}: not an object")
        yield row


def _question(row: Mapping[str, Any], place: int, file: Path) -> Question:
    given: dict[str, Any] = {"id": str(place)}
    for ours, names in _NAMES.items():
        held = next((row[name] for name in names if row.get(name) not in (None, "")), None)
        if held is not None:
            given[ours] = str(held) if isinstance(held, int | float) else held
    try:
        return Question.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        msg = f"{str(file)!r}, question {place}: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise ConfigurationError(msg, cause=error, hint="Each needs a question and a gold answer.") from None
