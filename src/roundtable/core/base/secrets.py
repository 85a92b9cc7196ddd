"""Remove secrets from texts, in every form in which a text may contain them."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import JsonValue

__all__ = ["REDACTED", "Scrubber", "secret_forms"]


REDACTED: Final = "[redacted]"
"""Replaces a secret."""
SHORTEST: Final = 8
"""Minimum length of a secret. A shorter key is a placeholder such as `ollama`, which is also a common word."""
HEAD_CHARS: Final = 12
"""Length of the beginning of a longer key that is a secret too, because it is enough to identify the key."""

TAIL_CHARS: Final = 4
"""Length of the end of a key that vendors show behind a mask, as in `sk-****wxyz`."""

_SHAPES: Final = (
    # Keys in the formats of vendors.
    re.compile(r"\b(?:sk|pplx|gsk|xai|rt)[-_][A-Za-z0-9_-]{16,}"),
    re.compile(r"\bAIza[A-Za-z0-9_-]{30,}"),
    re.compile(r"(?<=Bearer )[A-Za-z0-9._~+/=-]{16,}", re.IGNORECASE),
    # Keys by their position: in a header, in a query, or in the user part of a URL.
    re.compile(r"(?<=x-api-key: )[^\s\"',]{8,}|(?<=x-goog-api-key: )[^\s\"',]{8,}", re.IGNORECASE),
    re.compile(r"(?<=[?&]key=)[^&\s\"'<>]+|(?<=[?&]api_key=)[^&\s\"'<>]+|(?<=[?&]access_token=)[^&\s\"'<>]+"),
    re.compile(r"(?<=://)[^/\s:@\"']+:[^/\s@\"']+(?=@)"),
)


def secret_forms(secret: str) -> tuple[str, ...]:
    """Return the texts that reveal a secret, longest first; no texts if it is too short to be a secret.

    The texts are the secret itself, its URL-encoded form, its forms in JSON, its first characters, and its base64
    forms. The base64 forms are those of the secret alone and of the secret at any offset in a longer text.

    Example:
        >>> sent = base64.b64encode(b"Bearer canary-1234567").decode()
        >>> sum(form in sent for form in secret_forms("canary-1234567"))
        1
    """
    if len(secret) < SHORTEST:
        return ()
    in_json = json.dumps(secret)[1:-1]
    forms = {secret, quote(secret, safe=""), in_json, in_json.replace("/", "\\/")}
    if len(secret) > HEAD_CHARS + 3:
        forms.add(secret[:HEAD_CHARS])
    return tuple(sorted(forms | _base64_forms(secret), key=len, reverse=True))


def _base64_forms(secret: str) -> set[str]:
    """Return the base64 forms of a secret, without the signs at both ends that also depend on the text around it."""
    raw = secret.encode("utf-8", "replace")
    forms: set[str] = set()
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + raw).decode()
        inner = text[-(-8 * shift // 6) : 8 * (shift + len(raw)) // 6]
        forms |= {inner, inner.translate(str.maketrans("+/", "-_"))}
    return forms


def _escaped(secret: str) -> str:
    """Return a pattern of a secret in which each sign may be escaped for JSON (also twice), for URLs or for HTML."""

    def form(char: str) -> str:
        code = ord(char)
        if not char.isascii():
            return re.escape(char)
        code = ord(char)
        return rf"(?:\\*+{re.escape(char)}|\\++u00{code:02x}|%(?:25)*{code:02x}|&#(?:{code}|x0*{code:x});)"

    return "".join(char if char.isalnum() else form(char) for char in secret)


def _patterns(secret: str) -> Iterator[re.Pattern[str]]:
    """Return patterns of the secret: with escaped signs, with what stands around it in base64, and behind a mask."""
    if not secret.isalnum():
        yield re.compile(_escaped(secret), re.IGNORECASE)
    for form in sorted(_base64_forms(secret)):
        for escaped in {form, form.replace("/", "\\/")}:
            yield re.compile(rf"{re.escape(escaped)}[A-Za-z0-9+/_-]?={{0,2}}")
    if len(secret) > HEAD_CHARS + 3:
        tails = "|".join(re.escape(secret[-length:]) for length in range(2 * TAIL_CHARS, TAIL_CHARS - 1, -1))
        yield re.compile(rf"(?<![*.\u2022\u2026])(?:[*.\u2022]{{3,}}|\u2026)(?:{tails})(?!\w)")


class Scrubber:
    """Replaces secrets in texts and JSON values.

    An unknown key is replaced too if it looks like a vendor's key, or if it is in a usual place for keys (headers,
    queries, the user part of a URL).

    Args:
        secrets: Known secrets; those shorter than 8 characters are ignored.

    Example:
        >>> Scrubber(["canary-1234567"]).text("key canary-1234567, or https://me:pass@host/?key=abc")
        'key [redacted], or https://[redacted]@host/?key=[redacted]'
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms: tuple[str, ...] = ()
        self._patterns: dict[str, re.Pattern[str]] = {}
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Add known secrets."""
        secrets = {secret for secret in secrets if len(secret) >= SHORTEST}
        self._patterns |= {pattern.pattern: pattern for secret in secrets for pattern in _patterns(secret)}
        forms = {form for secret in secrets for form in secret_forms(secret)}
        self._forms = tuple(sorted({*self._forms, *forms}, key=len, reverse=True))

    def text(self, text: str) -> str:
        """Return a text without its secrets; a second pass changes nothing."""
        for pattern in self._patterns.values():
            text = pattern.sub(REDACTED, text)
        for form in self._forms:
            text = text.replace(form, REDACTED)
        for shape in _SHAPES:
            text = shape.sub(REDACTED, text)
        return text

    def value(self, value: JsonValue) -> JsonValue:
        """Return a JSON value without its secrets, also in the names of its members."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(name): self.value(item) for name, item in value.items()}
        return value
