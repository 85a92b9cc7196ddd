"""Options that a text marks: boxes of a form, check marks, and rows of a table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.reading.phrases import ANSWER_NOUNS, words_pattern
from roundtable.reading.sites import contains, lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.reading.options import Named, OptionTable

__all__ = ["marked_option"]

_TICK: Final = re.compile(r"[\u2705\u2714\u2713\u2611]|\[[xX]\]")
_CROSS: Final = re.compile(r"[\u274c\u2717\u2718\u2716\u2610]|\[ \]")
_BOX: Final = re.compile(
    r"(?P<full>[\u2612\u2611\u2705\u2714\u25cf\u25c9]|[\[(][xX][\])])|[\u2610\u25cb\u25ef]|\[ \]|\( \)"
)
"""A box of a form: filled or empty."""
_RULE: Final = re.compile(r"\|[\s|:-]+\|?")
"""The line below the head of a table."""
_MARK: Final = re.compile(r"[\u2705\u2714\u2713\u2611\u2605\u2b50\U0001f3c6\U0001f451\U0001f947]|\[[xX]\]")
_CHOSEN: Final = re.compile(
    rf"(?:(?:my|our|the|meine|mon|mi|la mia|a minha|mijn) )?(?:{words_pattern(ANSWER_NOUNS)})|recommended|chosen"
    r"|selected|yes|x",
    re.IGNORECASE,
)
"""What a cell says of the row that is chosen."""
_HEAD: Final = re.compile(rf"(?:(?:my|final|our) )*(?:{words_pattern(ANSWER_NOUNS)})\??", re.IGNORECASE)
_MOST_BOXES: Final = 50


def marked_option(text: str, start: int, table: OptionTable, *, has_synonyms: bool = False) -> Named | None:
    """Return the only option that a text marks, where it shows that the others are not marked.

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
        table: The options.
        has_synonyms: Whether several options mean the same, so that a form lists not all of them.
    """
    rows = [line for line in lines(text, start) if text[line[0]] == "|"]
    if rows:
        return _row(text, rows, table)
    return _ticked(text, start, table) or _boxed(text, start, table, has_synonyms=has_synonyms)


def _ticked(text: str, start: int, table: OptionTable) -> Named | None:
    """Return the only option whose line has a check mark, if the line of every other option has a cross."""
    if (tick := _TICK.search(text, start)) is None or _TICK.search(text, tick.end()) or not _CROSS.search(text, start):
        return None
    ticked: list[Named] = []
    crossed: set[tuple[str, ...]] = set()
    for begin, end in lines(text, start):
        if (named := _only(table.mentions(text, begin, end))) is None:
            continue
        if begin <= tick.start() < end:
            ticked.append(named)
        elif _CROSS.search(text, begin, end):
            crossed.add(named.options)
    is_only = len(ticked) == 1 and len(crossed - {ticked[0].options}) == len(table.options) - 1
    return ticked[0] if is_only else None


def _boxed(text: str, start: int, table: OptionTable, *, has_synonyms: bool) -> Named | None:
    """Return the option behind the only filled box, if the other options stand behind the empty ones."""
    found = [*_BOX.finditer(text, start)]
    filled = [box for box in found if box["full"]]
    if len(filled) != 1 or not 1 < len(found) <= _MOST_BOXES:
        return None
    chosen: Named | None = None
    options: set[tuple[str, ...]] = set()
    for box, behind in zip(found, [*found[1:], None], strict=True):
        line_end = text.find("\n", box.end())
        end = min(behind.start() if behind else len(text), line_end if line_end >= 0 else len(text))
        named = table.leading(text, box.end(), end)
        if named is None or named.options in options:
            return None
        options.add(named.options)
        chosen = named if box is filled[0] else chosen
    return chosen if has_synonyms or len(options) == len(table.options) else None


def _row(text: str, rows: Sequence[tuple[int, int]], table: OptionTable) -> Named | None:
    """Return the option of the only row of a table that is marked as the chosen one."""
    head = [cell.strip(" *_`") for cell in text[slice(*rows[0])].strip("|").split("|")]
    is_headed = len(rows) > 1 and _RULE.fullmatch(text, *rows[1]) is not None
    named = [(_only(table.mentions(text, *_first_cell(text, row))), row) for row in rows[2 * is_headed :]]
    options = [one.options for one, _ in named if one is not None]
    if len(options) < 2 or len(options) != len(named) or len(set(options)) != len(options):
        return None
    found = [(one, row) for one, row in named if one and _is_chosen(text, row, head if is_headed else [])]
    bold = [(one, row) for one, row in named if one and "**" in text[slice(*_first_cell(text, row))]]
    for those in (found, bold):
        if len(those) == 1:
            row = text[slice(*those[0][1])]
            is_against = any(contains(kind, row) for kind in ("rejection", "adverse", "mistake"))
            return None if is_against or not (found or bold) else those[0][0]
    return None


def _first_cell(text: str, row: tuple[int, int]) -> tuple[int, int]:
    end = text.find("|", row[0] + 1, row[1])
    return row[0] + 1, end if end >= 0 else row[1]


def _is_chosen(text: str, row: tuple[int, int], head: Sequence[str]) -> bool:
    """Check whether the name of a row has a mark, or a cell below *Choice* and the like says that it is chosen."""
    cells = [cell.strip(" *_`") for cell in text[slice(*row)].strip("|").split("|")]
    if _MARK.search(cells[0]):
        return True
    for title, cell in zip(head[1:], cells[1:], strict=False):
        if _HEAD.fullmatch(title) and (_MARK.fullmatch(cell) or _CHOSEN.fullmatch(cell)):
            return True
    return any(_CHOSEN.fullmatch(cell) and len(cell) > 3 for cell in cells[1:])


def _only(mentions: Sequence[Named]) -> Named | None:
    """Return the last mention, if all name the same option."""
    return mentions[-1] if len({named.options for named in mentions}) == 1 else None
