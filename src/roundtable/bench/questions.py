"""Questions with known answers, read from a file."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from roundtable.core.base.strict_json import unique_names
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.argument_value import ArgumentValue
from roundtable.core.types.base import NonEmpty, first_error
from roundtable.core.types.debate import Topic

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Question", "read_questions"]

_COLUMNS: Final = {
    "id": ("id",),
    "question": ("question", "topic"),
    "gold": ("gold", "goldanswer", "gold_answer", "answer"),
    "options": ("options", "choices"),
    "category": ("category", "subject"),
}
"""For each field, the possible names of its column; letter case does not matter."""
_CSV: Final = (".csv", ".tsv")
_DELIMITERS: Final = (",", ";", "\t")
_BLANK_LINES: Final = re.compile(r"\A(?:[,; \t]*\r?\n)+")
"""Lines before the header that contain only separators, as spreadsheets write them."""
_OPTION_SEPARATOR: Final = "|"


class Question(ArgumentValue):
    """A question and its right answer.

    Example:
        >>> Question(id="1", question="2 + 2?", gold="4", options=("4", "5")).gold
        '4'
    """

    id: NonEmpty
    """Id of the question within its study."""
    question: Topic
    """Text of the question."""
    gold: NonEmpty
    """The right answer."""
    options: tuple[NonEmpty, ...] | None = None
    """Options from which agents choose; `None` if they word their own answers."""
    category: NonEmpty | None = None
    """Category of the question, such as its subject."""


def read_questions(path: str | PathLike[str]) -> tuple[Question, ...]:
    """Read questions from a CSV file with a header, or from a file with one JSON object per line (`.jsonl`).

    The columns are `question` (or `topic`) and `gold` (or `answer`), and optionally `id`, `options` (or `choices`) and
    `category` (or `subject`); letter case does not matter. Other columns and empty lines are ignored. Without an `id`,
    the id of a question is its position, from 1.

    In CSV, columns are separated by commas, semicolons or tabs, as in the header, and options by `|`. In JSON, options
    are a list, or a text with `|` as in CSV. The file is in UTF-8.

    Raises:
        ConfigurationError: The file cannot be read, or a line is not a question.
    """
    file = Path(path).expanduser()
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{str(file)!r} cannot be read: {error.strerror}", cause=error) from error
    except ValueError as error:
        hint = "Save the file in UTF-8."
        raise ConfigurationError(f"{str(file)!r} cannot be read: {error}", cause=error, hint=hint) from error
    rows = _csv_rows(text, file) if file.suffix.lower() in _CSV else _json_rows(text, file)
    questions = tuple(_question(row, position, number, file) for position, (number, row) in enumerate(rows, 1))
    if not questions:
        hint = "A CSV file needs a header such as question,gold,options; other files need one JSON object per line."
        raise ConfigurationError(f"{str(file)!r} contains no question", hint=hint)
    name, count = Counter(question.id for question in questions).most_common(1)[0]
    if count > 1:
        raise ConfigurationError(f"{str(file)!r} contains two questions with the id {name!r}")
    return questions


def _csv_rows(text: str, file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    table = _BLANK_LINES.sub("", text)
    left_out = text[: len(text) - len(table)].count("\n")
    names = table.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=lambda mark: (names.count(mark), mark == ","))
    try:
        lines = csv.DictReader(io.StringIO(table, newline=""), delimiter=delimiter, strict=True)
        for row in lines:
            # The csv module stores cells after the last named column under the key None.
            cells = {name: cell for name, cell in row.items() if isinstance(name, str) and cell and cell.strip()}
            if cells:
                yield left_out + lines.line_num, cells
    except csv.Error as error:
        raise ConfigurationError(f"{str(file)!r} is not valid CSV: {error}", cause=error) from error


def _json_rows(text: str, file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=unique_names, parse_constant=_reject_constant)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{str(file)!r}, line {number}: invalid JSON: {error}", cause=error) from error
        if not isinstance(row, dict):
            raise ConfigurationError(f"{str(file)!r}, line {number}: not a JSON object")
        yield number, row


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _question(row: Mapping[str, Any], position: int, line: int, file: Path) -> Question:
    cells = {name.strip().casefold(): cell for name, cell in row.items()}
    fields: dict[str, Any] = {"id": str(position)}
    for field, names in _COLUMNS.items():
        value = next((cells[name] for name in names if cells.get(name) not in (None, "")), None)
        if value is not None:
            fields[field] = _options(value) if field == "options" else _clean(value)
    try:
        return Question.model_validate(fields)
    except ValidationError as error:
        msg = f"{str(file)!r}, line {line}: {': '.join(first_error(error))}"
        raise ConfigurationError(msg, cause=error, hint="Each line needs a question and a gold answer.") from None


def _clean(value: object) -> object:
    """Convert numbers and booleans to text, and remove white space around text."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value.strip() if isinstance(value, str) else value


def _options(value: object) -> object:
    if isinstance(value, str):
        return [option.strip() for option in value.split(_OPTION_SEPARATOR) if option.strip()]
    return [_clean(option) for option in value] if isinstance(value, list) else value
