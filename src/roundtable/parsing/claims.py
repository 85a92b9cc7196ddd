"""Parse the claims of an answer. Whatever the model wrote as claims, the rest of the answer is kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple
from unicodedata import category
from urllib.parse import urlsplit

from roundtable.core.types.answers import MOST_CLAIMS

if TYPE_CHECKING:
    from roundtable.core.types.base import JsonObject, JsonValue

__all__ = ["MOST_CLAIM_CHARS", "ParsedClaim", "parse_claims"]

MOST_CLAIM_CHARS: Final = 300
"""Longest text of a claim, in characters; a longer text is cut."""
_MOST_LABELS: Final = 20
_MOST_SOURCES: Final = 5
_MOST_QUOTE_CHARS: Final = 1_000
_MOST_URL_CHARS: Final = 2_048
_SHOWN_CHARS: Final = 80
_JOINERS: Final = "\u200c\u200d"
_NOT_IN_URLS: Final = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029<>\"\\^`{|}]")


class ParsedClaim(NamedTuple):
    """A claim as the model wrote it; its labels have not been looked up yet."""

    text: str
    """The claim, on one line."""
    supports: tuple[str, ...] = ()
    """Labels of the claims that this claim supports, as the model wrote them."""
    attacks: tuple[str, ...] = ()
    """Labels of the claims that this claim attacks, as the model wrote them."""
    evidence: tuple[tuple[str, str | None], ...] = ()
    """Address and quoted words of each source; `None` without a quote."""


def parse_claims(value: JsonValue) -> tuple[tuple[ParsedClaim, ...], tuple[str, ...]]:
    """Return the claims in the field `claims` of an answer, and a warning for each part that does not count.

    A claim is an object, or only a text. The first five claims count.

    Args:
        value: The value of the field.

    Example:
        >>> parse_claims(["Tea keeps.", {"text": "It is cheap.", "attacks": ["R1-KTBM-2"]}])[0]
        (ParsedClaim(text='Tea keeps.', supports=(), attacks=(), evidence=()),
         ParsedClaim(text='It is cheap.', supports=(), attacks=('R1-KTBM-2',), evidence=()))
        >>> parse_claims(7)
        ((), ('the claims are not a list; they do not count',))
    """
    if value is None:
        return (), ()
    if isinstance(value, str | dict):
        value = [value]
    if not isinstance(value, list):
        return (), ("the claims are not a list; they do not count",)
    claims: dict[str, ParsedClaim] = {}
    warnings: list[str] = []
    if len(value) > MOST_CLAIMS:
        warnings.append(f"only the first {MOST_CLAIMS} of {len(value)} claims count")
    for number, item in enumerate(value[:MOST_CLAIMS], 1):
        text = _cut(_one_line(item.get("text") if isinstance(item, dict) else item), number, warnings)
        if not text:
            warnings.append(f"claim {number} has no text and does not count")
        elif text.casefold() in claims:
            warnings.append(f"claim {number} repeats another one and does not count")
        else:
            fields: JsonObject = item if isinstance(item, dict) else {}
            claims[text.casefold()] = _claim(text, fields, number, warnings)
    return tuple(claims.values()), tuple(warnings)


def _claim(text: str, fields: JsonObject, number: int, warnings: list[str]) -> ParsedClaim:
    return ParsedClaim(
        text,
        supports=_labels(fields.get("supports"), f"supported by claim {number}", warnings),
        attacks=_labels(fields.get("attacks"), f"attacked by claim {number}", warnings),
        evidence=_evidence(fields.get("evidence"), number, warnings),
    )


def _one_line(value: JsonValue) -> str:
    """Return a text or a number as one line without control characters; empty if it is neither.

    Format characters are left out, except the joiners that Persian, Hindi and emoji need.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = str(value)
    if not text.isprintable():
        text = "".join(map(_visible, text))
    return " ".join(text.split()).strip(_JOINERS + " ")


def _visible(char: str) -> str:
    if char.isprintable() or char in _JOINERS:
        return char
    return "" if category(char) == "Cf" else " "


def _cut(text: str, number: int, warnings: list[str]) -> str:
    if len(text) <= MOST_CLAIM_CHARS:
        return text
    warnings.append(f"claim {number} has more than {MOST_CLAIM_CHARS} characters and was cut")
    return f"{text[: MOST_CLAIM_CHARS - 1].rstrip()}\u2026"


def _cut_quote(text: str, number: int, warnings: list[str]) -> str:
    """Cut a long quote after a word, since the check of evidence searches for whole words."""
    if len(text) <= _MOST_QUOTE_CHARS:
        return text
    warnings.append(f"a quote of claim {number} has more than {_MOST_QUOTE_CHARS} characters and was cut")
    end = text.rfind(" ", _MOST_QUOTE_CHARS // 2, _MOST_QUOTE_CHARS)
    return f"{text[: end if end > 0 else _MOST_QUOTE_CHARS - 1]}\u2026"


def _labels(value: JsonValue, relation: str, warnings: list[str]) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list):
        warnings.append(f"the labels {relation} are not a list; they do not count")
        return ()
    if len(items) > _MOST_LABELS:
        warnings.append(f"only the first {_MOST_LABELS} of {len(items)} labels {relation} count")
    labels = [label for item in items[:_MOST_LABELS] if (label := _one_line(item)[:_SHOWN_CHARS])]
    return tuple(dict.fromkeys(labels))


def _evidence(value: JsonValue, number: int, warnings: list[str]) -> tuple[tuple[str, str | None], ...]:
    if value is None or value == "":
        return ()
    items = [value] if isinstance(value, str | dict) else value
    if not isinstance(items, list):
        warnings.append(f"the evidence of claim {number} is not a list; it does not count")
        return ()
    if len(items) > _MOST_SOURCES:
        warnings.append(f"only the first {_MOST_SOURCES} of {len(items)} sources of claim {number} count")
    sources: dict[tuple[str, str | None], None] = {}
    for item in items[:_MOST_SOURCES]:
        url = item.get("url") if isinstance(item, dict) else item
        if not isinstance(url, str) or not _is_web_address(url.strip()):
            warnings.append(f"a source of claim {number} has no web address and does not count")
            continue
        quote = _cut_quote(_one_line(item.get("quote")), number, warnings) if isinstance(item, dict) else ""
        sources[url.strip(), quote or None] = None
    return tuple(sources)


def _is_web_address(text: str) -> bool:
    """Check for an http address without a user name; the code that opens it checks whether it may be opened."""
    if len(text) > _MOST_URL_CHARS or _NOT_IN_URLS.search(text):
        return False
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(host) and "@" not in parts.netloc
