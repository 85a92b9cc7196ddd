"""JSON from a wire, read so that nothing it may hold does harm."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from roundtable.errors import AgentError, APINetworkError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.types import ChatRequest, JsonObject, JsonValue

__all__ = [
    "dump_json",
    "items_of",
    "load_json",
    "load_object",
    "merged",
    "object_of",
    "price_of",
    "sent_headers",
    "text_of",
    "tokens_of",
]

MOST_TOKENS: Final = 10**9
"""Counts above this are nonsense, and read as this."""

_DECODER: Final = json.JSONDecoder(parse_constant=lambda _name: None)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PAGE: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")


def load_json(body: bytes | str) -> JsonValue:
    r"""Read JSON that a stranger wrote.

    A byte order mark is skipped, the last of equal keys wins, a lone surrogate becomes U+FFFD, and NaN and the
    infinities, which are not JSON, become null.

    Raises:
        AgentError: It is not JSON, not UTF-8, nested too deeply, or holds a number of thousands of digits.

    Example:
        >>> load_json(b'\xef\xbb\xbf{"a": "\\ud800", "b": NaN}')
        {'a': '\ufffd', 'b': None}
    """
    try:
        text = (body.decode() if isinstance(body, bytes) else body).removeprefix("\ufeff")
        value: JsonValue = _DECODER.decode(text)
        # An escape is the only way for a surrogate to get in; without one there is nothing to look for.
        return _without_surrogates(value) if "\\u" in text else value
    # The exceptions of both hold the whole body, so they are not kept.
    except UnicodeDecodeError:
        raise _refusal("is not UTF-8") from None
    except json.JSONDecodeError:
        raise _refusal("is not JSON" if body.strip() else "is empty") from None
    except RecursionError as exc:
        raise AgentError("the answer is nested too deeply") from exc
    except ValueError as exc:
        # Python refuses to read integers of more than 4,300 digits.
        raise AgentError("the answer holds a number with too many digits") from exc


def _refusal(fault: str) -> AgentError:
    return AgentError(
        f"the answer {fault}",
        retryable=True,
        hint="The server broke off or does not speak this API; try again, and check the base URL.",
    )


def _without_surrogates(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", name): _without_surrogates(item) for name, item in value.items()}
    return value


def dump_json(value: JsonObject) -> bytes:
    """Write JSON for a wire: compact UTF-8, lone surrogates replaced.

    Raises:
        AgentError: It holds a number that JSON has no word for.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError) as exc:
        raise AgentError("the request cannot be written as JSON", cause=exc, hint="Check the numbers in it.") from exc
    return text.encode("utf-8", "replace")


def object_of(value: JsonValue) -> JsonObject:
    """Give an object, empty where there is none."""
    return value if isinstance(value, dict) else {}


def items_of(value: JsonValue) -> Sequence[JsonValue]:
    """Give a list, empty where there is none."""
    return value if isinstance(value, list) else ()


def text_of(value: JsonValue) -> str:
    """Give a text, empty where there is none."""
    return value if isinstance(value, str) else ""


def tokens_of(value: JsonValue) -> int:
    """Give a count of tokens, 0 for what is none.

    Example:
        >>> tokens_of(12), tokens_of(-3), tokens_of("many"), tokens_of(10**18)
        (12, 0, 0, 1000000000)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(max(0, min(value, MOST_TOKENS)))


def merged(body: JsonObject, extra: Mapping[str, JsonValue]) -> JsonObject:
    """Give a request body with further fields; objects are merged, everything else is replaced.

    Example:
        >>> merged({"a": {"b": 1}, "c": 2}, {"a": {"d": 3}, "c": None})
        {'a': {'b': 1, 'd': 3}, 'c': None}
    """
    made = dict(body)
    for name, value in extra.items():
        present = made.get(name)
        made[name] = merged(present, value) if isinstance(present, dict) and isinstance(value, dict) else value
    return made


def sent_headers(headers: Mapping[str, str], request: ChatRequest) -> dict[str, str]:
    """Give the headers of a request with those the caller adds, names in lower case."""
    return {**headers, **{name.lower(): value for name, value in request.extra_headers.items()}}


def load_object(body: bytes, provider: str) -> JsonObject:
    """Read an answer that must be a JSON object.

    Raises:
        APINetworkError: It is a web page.
        AgentError: It is no JSON object.
    """
    if _PAGE.match(body):
        raise APINetworkError(
            "a web page came instead of an answer",
            provider=provider,
            hint="Check the base URL; a proxy or a login page may be in the way.",
        )
    answer = load_json(body)
    if not isinstance(answer, dict):
        raise AgentError("the answer is no JSON object", provider=provider)
    return answer


def price_of(value: JsonValue) -> float | None:
    """Read a price in US dollars; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**6:
        return None
    return float(value)
