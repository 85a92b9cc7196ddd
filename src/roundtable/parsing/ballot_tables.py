"""Ballots as tables: a column of options, and one of ranks, scores or approvals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["table_entries"]

_RULE: Final = re.compile(r"\|[\s|:-]+\|")
_AROUND: Final = " *_`?"
_MOST_COLUMNS: Final = 10


def table_entries(
    text: str, is_option: Callable[[str], bool], values: Collection[str], notes: Collection[str]
) -> list[tuple[str, str]] | None:
    r"""Return the option and the value of each row of a table in Markdown; `None` if the text is not such a table.

    Args:
        text: The whole text.
        is_option: Whether a cell names one option.
        values: Headings, in small letters, of a column with values.
        notes: Headings of columns that say nothing, such as reasons.

    Example:
        >>> text = "| City | Score |\n|---|---|\n| Porto | 9 |"
        >>> table_entries(text, lambda cell: cell == "Porto", {"score"}, ())
        [('Porto', '9')]
    """
    lines = text.splitlines()
    if len(lines) < 3 or not all(line.startswith("|") and line.endswith("|") for line in lines):
        return None
    if not _RULE.fullmatch(lines[1]) or lines[0].count("|") > _MOST_COLUMNS:
        return None
    head, *rows = ([cell.strip(_AROUND) for cell in line[1:-1].split("|")] for line in (lines[0], *lines[2:]))
    if any(len(row) != len(head) for row in rows):
        return None
    columns = [(name.casefold(), [row[at] for row in rows]) for at, name in enumerate(head)]
    columns = [(name, cells) for name, cells in columns if name not in notes]
    named = [cells for name, cells in columns if name not in values and all(map(is_option, cells))]
    given = [cells for name, cells in columns if name in values]
    if len(columns) != 2 or len(named) != 1 or len(given) != 1:
        return None
    return [*zip(named[0], given[0], strict=True)]
