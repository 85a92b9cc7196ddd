"""Signs beside the options of a ballot: ticks and crosses, boxes, thumbs and medals.

The table of options leaves pictures out, so that `Porto 🏖️` is Porto. On a ballot, a picture may be the vote itself:
`Porto ❌` rejects Porto. So each picture is one of a known meaning, one that says nothing, or unclear.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["MEANT", "Marked", "Sign", "marks_in"]

Sign: TypeAlias = Literal["yes", "no", "empty", "unclear", "first", "second", "third"]
"""What a sign says: of the option, that its box is empty, or the place of the option."""
_SIGNS: Final[tuple[Sign, ...]] = ("yes", "no", "empty", "first", "second", "third", "unclear")
_UNCLEAR: Final[tuple[Sign, ...]] = ("unclear",)
MEANT: Final[dict[Sign, bool | None]] = {"yes": True, "no": False, "empty": False}
"""Whether a sign approves of the option beside it."""
_YES: Final = "\u2705\u2714\u2713\u2611\U0001f44d\U0001f7e2\U0001f5f8\U0001f5f9"
_NO: Final = "\u274c\u2715-\u2718\U0001f44e\U0001f6ab\u26d4\U0001f534"
_SAYS_NOTHING: Final = (
    "\u2600-\u2604\u2693\u26c4\u26c5\u26ea\u26f0-\u26f5\u26fa\u2708\u2744\u2726\u2727\u2794\u27a4"
    "\U0001f300-\U0001f393\U0001f3a0-\U0001f3c5\U0001f3d4-\U0001f3f0\U0001f400-\U0001f441\U0001f4b0\U0001f4b6\U0001f4cc"
    "\U0001f4cd\U0001f536-\U0001f539\U0001f5fa-\U0001f5ff\U0001f680-\U0001f6aa\U0001f6e0-\U0001f6f9\ufe0f"
)
"""Weather, places, food, animals, vehicles, money, and signs in front of the items of a list."""
_SIGN: Final = re.compile(
    rf"(?:(?P<yes>[{_YES}]|\[[xX]\])|(?P<no>[{_NO}])|(?P<empty>\u2610|\[ ?\])|(?P<first>[\U0001f947\U0001f3c6])"
    rf"|(?P<second>\U0001f948)|(?P<third>\U0001f949)"
    rf"|(?P<unclear>(?![{_SAYS_NOTHING}])[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f300-\U0001faff]))"
    r"[\ufe0f\U0001f3fb-\U0001f3ff]*+"
)
_BEFORE: Final = " :=([-\u2013\u2014,*_"
_BEHIND: Final = " :=)]-\u2013\u2014,.*_"
"""Signs between an option and the sign of the vote."""


class Marked(NamedTuple):
    """A part of a ballot, and the signs in it."""

    text: str
    """The part without its signs; what stands behind them is a note in brackets."""
    signs: tuple[Sign, ...]
    """What the signs say."""


def marks_in(text: str, options: Iterable[str] = ()) -> Marked:
    """Return a part of a ballot without its signs, and what they say.

    Args:
        text: The part: an option with what stands beside it.
        options: The options; a sign that one of them holds says nothing.

    Example:
        >>> marks_in("Lisbon \N{CROSS MARK}"), marks_in("[x] Porto")
        (Marked(text='Lisbon', signs=('no',)), Marked(text='Porto', signs=('yes',)))
        >>> marks_in("\N{CROSS MARK} Reject", ("\N{CROSS MARK} Reject", "Accept")).signs
        ()
    """
    found = [match for match in _SIGN.finditer(text) if not any(match[0][0] in option for option in options)]
    if not found:
        return Marked(text, ())
    edges = [0, *(edge for match in found for edge in match.span()), len(text)]
    pieces = [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    inner = [_inner(piece, at, len(pieces)) for at, piece in enumerate(pieces)]
    words = [piece for piece in inner if piece]
    signs: list[Sign] = [_named(match) for match in found]
    if len(words) > 2:
        return Marked(text, (*signs, *_UNCLEAR))
    return Marked(words[0] if len(words) == 1 else _with_note(words), (*signs,))


def _inner(piece: str, at: int, count: int) -> str:
    """Return what stands before or behind a sign, without the punctuation beside the sign."""
    piece = piece.rstrip(_BEFORE) if at + 1 < count else piece.rstrip()
    return piece.lstrip(_BEHIND) if at else piece.lstrip()


def _named(match: re.Match[str]) -> Sign:
    return next(name for name in _SIGNS if match[name])


def _with_note(words: Sequence[str]) -> str:
    return f"{words[0]} ({words[1].strip('()')})" if words else ""
