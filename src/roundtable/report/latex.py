r"""A LaTeX table of rows; text is escaped, so that no cell can contain a command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.report.sanitize import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.core.types.base import JsonValue

__all__ = ["latex_table"]

_ESCAPED: Final = str.maketrans(
    {
        **{char: f"\\{char}" for char in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
    }
)
_DIGITS: Final = 4
_LONG: Final = 40
"""Characters of a cell whose text has to break."""
_SHARE: Final = 0.5
"""Share of a line that all columns of long texts have together."""


def latex_table(columns: Sequence[str], rows: Sequence[Mapping[str, JsonValue]]) -> str:
    r"""Return rows as a `tabular` with lines by the package booktabs; columns of numbers are aligned to the right.

    Columns of long texts have a fixed width, half a line together, so that their texts break and the table fits a page.

    Args:
        columns: Names of the columns, which are the keys of the rows; the head of the table has them in words.
        rows: The rows; `None` is an empty cell.

    Example:
        >>> print(latex_table(("who", "share"), [{"who": "R&D", "share": 0.5}]))
        \begin{tabular}{lr}
        \toprule
        Who & Share \\
        \midrule
        R\&D & 0.5 \\
        \bottomrule
        \end{tabular}
        <BLANKLINE>
    """
    cells = {column: [row.get(column) for row in rows] for column in columns}
    long = [column for column in columns if any(len(f"{value}") > _LONG for value in cells[column])]
    wide = rf"p{{{_SHARE / max(len(long), 1):.2f}\linewidth}}"
    layout = "".join(wide if column in long else "r" if _is_numeric(cells[column]) else "l" for column in columns)
    lines = [
        rf"\begin{{tabular}}{{{layout}}}",
        r"\toprule",
        _line([_heading(column).translate(_ESCAPED) for column in columns]),
        r"\midrule",
        *(_line([_cell(row.get(column)) for column in columns]) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _heading(column: str) -> str:
    """Return the name of a column in words.

    Example:
        >>> [_heading(name) for name in ("differenceLow", "pCorrected", "costUsd", "durationS", "p")]
        ['Difference low', 'p corrected', 'Cost (USD)', 'Duration (s)', 'p']
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", column).replace("_", " ").split()
    first, *others = [word if word.isupper() and len(word) > 1 else word.lower() for word in words] or [""]
    unit = {"usd": " (USD)", "s": " (s)"}.get(others[-1], "") if others else ""
    text = " ".join([first, *(others[:-1] if unit else others)]) + unit
    return text if len(first) == 1 else text[:1].upper() + text[1:]


def _is_numeric(cells: Sequence[JsonValue]) -> bool:
    values = [cell for cell in cells if cell is not None]
    return bool(values) and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in values)


def _line(cells: Sequence[str]) -> str:
    # A bracket or star at the beginning of a line would be an argument of the line break before it.
    first = f"{{}}{cells[0]}" if cells and cells[0].startswith(("[", "*")) else "".join(cells[:1])
    return f"{' & '.join([first, *cells[1:]])} \\\\"


def _cell(value: JsonValue) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.{_DIGITS}g}"
        case _:
            return " ".join(plain(f"{value}").split()).translate(_ESCAPED)
