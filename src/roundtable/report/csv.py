"""CSV of rows that is safe to open in a spreadsheet: no text begins a cell with a formula."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Final

from roundtable.report.sanitize import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from roundtable.core.types.base import JsonValue

__all__ = ["csv_parts"]


_SIGNS: Final = "=+\\-@\uff1d\uff0b\uff0d\uff20"
_FORMULA: Final = re.compile(rf"\s*[{_SIGNS}]")
# With a second sign, as in `-2+3`, it would be a formula.
_SIGNED_NUMBER: Final = re.compile(
    r"[+-](?:[0-9]{1,3}+(?:,[0-9]{3})++|[0-9]++)?(?:\.[0-9]++)?(?<=[0-9])(?:[eE][+-]?[0-9]{1,3})?%?"
)
# Where semicolons separate the cells, a cell also begins after a semicolon or line break in a text. Lists, lines of
# dashes and `;-)` are no formulas; `plain` has replaced tabs. Excel and LibreOffice take a cell that begins with a
# space as text. As other programs may not, an equals sign after spaces counts too; other signs there are mostly prose.
_FORMULA_INSIDE: Final = re.compile(
    rf'(?:;|\n(?![+-] |[-+=]+ *$))"*(?=[{_SIGNS}](?!\)))|(?:;|\n(?! *=+ *$))[" \u00a0]*(?=[=\uff1d](?!\)))',
    re.MULTILINE,
)
_ROWS_AT_ONCE = 256


def csv_parts(columns: Sequence[str], rows: Iterable[Mapping[str, JsonValue]]) -> Iterator[str]:
    r"""Yield rows as CSV with a header, part by part.

    A text that begins with one of the signs `=`, `+`, `-` and `@`, also after spaces, gets an apostrophe before it, so
    that a spreadsheet doesn't interpret it as a formula. Inside a text, such a sign directly after a semicolon or at
    the start of a line gets one too, since a spreadsheet that separates cells by semicolons begins a cell there; so
    does an equals sign after a semicolon and spaces. Items of lists and prose such as `; -5` stay as they are. Control
    characters other than line breaks are removed. Numbers stay numbers, also a text that is only a number with a sign,
    such as `-1,250.50`; `None` is an empty cell.

    Example:
        >>> print("".join(csv_parts(("who", "said"), [{"who": "Ada", "said": "=1+1"}])).replace("\r\n", "|"))
        who,said|Ada,'=1+1|
        >>> print("".join(csv_parts(("said",), [{"said": "-5"}, {"said": "-5+cmd"}])).replace("\r\n", "|"))
        said|-5|'-5+cmd|
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
    if not isinstance(value, str) or _SIGNED_NUMBER.fullmatch(value):
        return value
    text = _FORMULA_INSIDE.sub(r"\g<0>'", plain(value, lines=True))
    return f"'{text}" if _FORMULA.match(text) else text
