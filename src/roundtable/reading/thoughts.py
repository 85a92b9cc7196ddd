"""Find where the answer begins in a text to which a model, or its server, also wrote the model's thoughts."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["answer_start", "without_thoughts"]

_TAGS: Final = r"think|thinking|thought|seed:think"
_OPENING: Final = re.compile(rf"\s*+(<(?:{_TAGS})>|\[THINK\]|<\|channel>thought\b)", re.IGNORECASE)
_LATER: Final = re.compile(rf"<(?:{_TAGS})>|\[THINK\]", re.IGNORECASE)
_GREETING: Final = re.compile(
    r"(?:(?:sure|of course|certainly|absolutely|okay|ok|alright|all right|great|good|hello|hi|hey|hmm?|thanks|thank you"
    r"|understood|let me (?:think|see)|let's (?:think|see)|right|well|yes|gerne|natürlich|klar|bien sûr|claro"
    r"|certo|好的|当然)"
    r"(?: (?:question|thing|there|about (?:it|this|that)|step by step|for (?:the|your) question))?[!.,… ]*\s*)+",
    re.IGNORECASE,
)
"""Thoughts that begin behind a greeting."""
_MOST_GREETING: Final = 120
# Some chat templates open the thoughts themselves, so that the model writes only the closing tag, on a line of its own.
_CLOSING_ALONE: Final = re.compile(rf"\A\s*+</({_TAGS})>|^[ \t]*+</({_TAGS})>[ \t\r]*+$", re.IGNORECASE | re.MULTILINE)
# The channels of gpt-oss, as servers show them that don't know its format.
_CHANNELS: Final = re.compile(r"\s*+(?:<\|start\|>assistant)?<\|channel\|>")
_FINAL: Final = re.compile(r"<\|channel\|>final(?:\s*+<\|constrain\|>\s*+\w*+)?\s*+<\|message\|>")
_CHANNEL_END: Final = re.compile(r"<\|(?:return|end)\|>")


def answer_start(text: str) -> int | None:
    r"""Return the index at which the answer begins, after thoughts at the start; `None` if the thoughts have no end.

    Example:
        >>> answer_start("<think>Tea?</think>Yes."), answer_start("Tea?\n</think>\nYes."), answer_start("<think>Tea?")
        (19, 13, None)
    """
    if _CHANNELS.match(text):
        finals = [*_FINAL.finditer(text)]
        return finals[-1].end() if finals else None
    start = 0
    if (later := _behind_greeting(text)) is not None and (behind := _end_of_thoughts(text, later)) != later.start():
        return behind
    while opening := _OPENING.match(text, start):
        mark = opening[1]
        end = "<channel|>" if mark[1] == "|" else f"{mark[0]}/{mark[1:]}"
        closing = re.compile(re.escape(end), re.IGNORECASE).search(text, opening.end())
        if closing is None:
            return None
        start = closing.end()
    alone = _CLOSING_ALONE.search(text) if start == 0 else None
    if (
        alone is None
        or f"<{alone[1] or alone[2]}>".lower() in text[: alone.start()].lower()
        or not text[alone.end() :].strip()
    ):
        return start
    return alone.end()


def _behind_greeting(text: str) -> re.Match[str] | None:
    """Return where thoughts begin behind a greeting, unless its words mention the tag."""
    has_tag = "<" in text[:_MOST_GREETING] or "[" in text[:_MOST_GREETING]
    later = _LATER.search(text, 0, _MOST_GREETING) if has_tag and _OPENING.match(text) is None else None
    return later if later is not None and _GREETING.fullmatch(text, 0, later.start()) else None


def _end_of_thoughts(text: str, opening: re.Match[str]) -> int | None:
    """Return where the answer begins behind thoughts that follow a greeting; `None` if the thoughts have no end.

    If nothing stands behind them, the answer may stand before them: then it is where they begin.
    """
    mark = opening[0].strip()
    closing = re.compile(re.escape(f"{mark[0]}/{mark[1:]}"), re.IGNORECASE).search(text, opening.end())
    if closing is None:
        return None
    return closing.end() if text[closing.end() :].strip() else opening.start()


def without_thoughts(text: str) -> str:
    """Return the answer without the thoughts before it; empty if the thoughts have no end."""
    start = answer_start(text)
    if start is None:
        return ""
    end = _CHANNEL_END.search(text, start) if _CHANNELS.match(text) else None
    return text[start : end.start() if end else None].strip()
