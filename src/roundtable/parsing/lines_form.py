"""The form of a position in lines, as in `Position: Tea keeps.` and `Bottom line: Tea`, without JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from roundtable.core.types.base import JsonObject

__all__ = ["form_in_lines"]

_LINE: Final = re.compile(
    r"[ \t>*_#-]*+(?P<name>position|reasoning|bottom[ _-]?line|confidence|stance|choice)[*_ \t]*+[:\uff1a][*_ \t]*+"
    r"(?P<value>[^\n]*)",
    re.IGNORECASE,
)
_LONG: Final = frozenset({"position", "reasoning"})
"""Members whose texts may have several lines."""
_NOTHING: Final = frozenset({"", "null", "none", "n/a", "-"})
_MOST_CHARS: Final = 20_000


def form_in_lines(text: str) -> JsonObject | None:
    r"""Return the members of a form that is written in lines; `None` if a text is anything else.

    Each line begins with the name of a member, or continues the position or the reasoning. No name stands twice. The
    form has a bottom line, or a position and a choice; *Bottom line:* alone is prose.

    Args:
        text: A text without thoughts.

    Example:
        >>> form_in_lines("Position: Tea keeps.\n**Bottom line:** Tea")
        {'position': 'Tea keeps.', 'bottom_line': 'Tea'}
        >>> form_in_lines("Position: Tea keeps.") is None, form_in_lines("I say: Tea") is None
        (True, True)
    """
    if len(text) > _MOST_CHARS:
        return None
    fields: dict[str, str] = {}
    name = ""
    for line in filter(str.strip, text.split("\n")):
        found = _LINE.match(line)
        if found is not None:
            name = re.sub(r"[ _-]?line", "_line", found["name"].casefold())
            if name in fields:
                return None
            fields[name] = found["value"].strip(" \t\r*_")
        elif name in _LONG:
            fields[name] = f"{fields[name]}\n{line}".strip()
        else:
            return None
    is_line = "bottom_line" in fields and (len(fields) > 1 or "bottom_line" in text.casefold())
    if not is_line and not {"position", "choice"} <= fields.keys():
        return None
    given: JsonObject = {name: None if value.casefold() in _NOTHING else value for name, value in fields.items()}
    return {"position": None, **given}
