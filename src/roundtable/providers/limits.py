"""What the headers of an answer say about rate limits."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from roundtable.types import RateLimit
from roundtable.types.base import utc_now

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["rate_limit_of"]

_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS: Final[Mapping[str, float]] = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def rate_limit_of(headers: Mapping[str, str]) -> RateLimit | None:
    """Read the rate limits of Anthropic's and OpenAI's kind of header; None where there are none.

    See https://docs.claude.com/en/api/rate-limits and https://platform.openai.com/docs/guides/rate-limits.

    Example:
        >>> limit = rate_limit_of({"x-ratelimit-remaining-requests": "59", "x-ratelimit-reset-requests": "1m0.5s"})
        >>> limit.requests_remaining, limit.requests_reset_s
        (59, 60.5)
    """
    facts: dict[str, int | float] = {}
    for kind in ("requests", "tokens"):
        for word in ("limit", "remaining"):
            if (count := _count(_found(headers, kind, word))) is not None:
                facts[f"{kind}_{word}"] = count
        if (wait := _wait(_found(headers, kind, "reset"), headers)) is not None:
            facts[f"{kind}_reset_s"] = wait
    return RateLimit.model_validate(facts) if facts else None


def _found(headers: Mapping[str, str], kind: str, word: str) -> str:
    return headers.get(f"anthropic-ratelimit-{kind}-{word}", "") or headers.get(f"x-ratelimit-{word}-{kind}", "")


def _count(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def _wait(text: str, headers: Mapping[str, str]) -> float | None:
    text = text.strip()
    if re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", text):
        return float(text)
    if len(text) < 40 and re.fullmatch(f"(?:{_SPAN.pattern})+", text):
        total = sum(float(number) * _SECONDS[unit] for number, unit in _SPAN.findall(text))
        return total if math.isfinite(total) else None
    try:
        at = datetime.fromisoformat(text)
        now = parsedate_to_datetime(headers["date"]) if "date" in headers else utc_now()
        at, now = (time if time.tzinfo else time.replace(tzinfo=UTC) for time in (at, now))
        return max(0.0, (at - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
