"""CSV of rows that is safe to open in a spreadsheet: no cell is a formula."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

from roundtable.report.sanitize import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from roundtable.types import JsonValue

__all__ = ["csv_parts"]


_FORMULAS: Final = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_ROWS_AT_ONCE = 256


def csv_parts(columns: Sequence[str], rows: Iterable[Mapping[str, JsonValue]]) -> Iterator[str]:
    r"""Yield rows as CSV with a header, part by part.

    Text that a spreadsheet would interpret as a formula gets an apostrophe before it. Control characters other than
    line breaks are removed. Numbers stay numbers, and `None` is an empty cell.

    Example:
        >>> print("".join(csv_parts(("who", "said"), [{"who": "Ada", "said": "=1+1"}])).replace("\r\n", "|"))
        who,said|Ada,'=1+1|
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(columns)
    for number, row in enumerate(rows, 1):
        writer.writerow([_cell(row.get(column)) for column in columns])
        if number % _ROWS_AT_ONCE == 0:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _cell(value: JsonValue) -> JsonValue:
    if not isinstance(value, str):
        return value
    text = plain(value, lines=True)
    return f"'{text}" if text.lstrip().startswith(_FORMULAS) else text
