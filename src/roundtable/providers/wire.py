"""Functions that write the JSON of requests, and read the untrusted JSON of answers safely."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from roundtable.core.base.strict_json import is_too_deep
from roundtable.core.errors import AgentError, APINetworkError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.chat import ChatRequest, Usage

__all__ = [
    "at_tier",
    "cost_of",
    "dump_json",
    "items_of",
    "joined_halves",
    "load_json",
    "load_object",
    "merged",
    "object_of",
    "price_of",
    "sent_headers",
    "text_of",
    "tokens_of",
    "uncounted_tokens",
    "wire_id",
    "without_halves",
]

MOST_TOKENS: Final = 10**9
"""Highest count of tokens; a larger count makes no sense and is read as this number."""

TICKS_PER_USD: Final = 10**10
"""Units in a US dollar, in the costs that xAI states."""
MOST_TICKS: Final = 10**16
"""Highest cost that makes sense, in these units."""

_DEAR_TIERS: Final = frozenset({"priority", "fast", "ultrafast", "on_demand_priority"})
"""Service tiers that cost more than the list price, by a factor that differs between models. See
https://developers.openai.com/api/docs/guides/fast-mode and https://ai.google.dev/gemini-api/docs/priority-inference."""

_DECODER: Final = json.JSONDecoder(parse_constant=lambda _name: None)
_MOST_LEVELS: Final = 500
"""Every Python reads so many levels of nesting; from 3.13 on, it reads thousands, which later steps don't."""
_TOO_DEEP: Final = "the answer is nested too deeply"
_WHITE: Final = " \t\r\n"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_PIECES: Final = frozenset(
    {"arguments", "content", "delta", "partial_json", "reasoning", "reasoning_content", "refusal", "stringValue",
     "summary", "text", "thinking"}
)  # fmt: skip
"""Fields of stream events that hold a piece of a longer text."""
_PAGE: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")


def load_json(body: bytes | str, *, keep_halves: bool = False) -> JsonValue:
    r"""Parse untrusted JSON.

    A byte order mark is skipped. If an object repeats a key, the last value counts. A lone surrogate becomes U+FFFD.
    NaN and the infinities, which are not JSON, become null.

    Args:
        body: The JSON text.
        keep_halves: Whether the pieces of texts keep a surrogate at either end, since the other half of the character
            may be in another piece of the stream; `ResponseBuilder` joins the halves.

    Raises:
        AgentError: The text is not JSON, not UTF-8, nested too deeply, or holds a number with thousands of digits.

    Example:
        >>> load_json(b'\xef\xbb\xbf{"a": "\\ud800", "b": NaN}')
        {'a': '\ufffd', 'b': None}
    """
    try:
        text = (body.decode() if isinstance(body, bytes) else body).removeprefix("\ufeff").strip(_WHITE)
        value: JsonValue
        value, end = _DECODER.raw_decode(text)
        if end < len(text):
            raise _unreadable("is not JSON")
        # Each level takes two brackets; counting those of every short piece of a stream would cost more.
        is_long = len(text) > 2 * _MOST_LEVELS
        if is_long and text.count("{") + text.count("[") > _MOST_LEVELS and is_too_deep(value, _MOST_LEVELS):
            raise AgentError(_TOO_DEEP)
        # Only an escape sequence can produce a surrogate.
        return without_halves(value, keep_pieces=keep_halves) if _ESCAPED_SURROGATE.search(text) else value
    # The next two exceptions hold the whole body, so they do not become a cause.
    except UnicodeDecodeError:
        raise _unreadable("is not UTF-8") from None
    except json.JSONDecodeError:
        raise _unreadable("is not JSON" if body.strip() else "is empty") from None
    except RecursionError as exc:
        raise AgentError(_TOO_DEEP) from exc
    except ValueError as exc:
        # Python refuses to parse integers with more than 4,300 digits.
        raise AgentError("the answer holds a number with too many digits") from exc


def _unreadable(fault: str) -> AgentError:
    return AgentError(
        f"the answer {fault}",
        retryable=True,
        hint="The server broke off or does not speak this API; try again, and check the base URL.",
    )


def joined_halves(text: str) -> str:
    r"""Return a text in which the two halves of a surrogate pair are one character; a lone half becomes U+FFFD.

    Example:
        >>> joined_halves("\ud83d" + "\ude00") == "\U0001f600", joined_halves("a\ud800b")
        (True, 'a\ufffdb')
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def without_halves(value: JsonValue, *, keep_pieces: bool = False, name: str = "") -> JsonValue:
    """Return a JSON value without lone surrogates.

    Args:
        value: The value.
        keep_pieces: Whether the pieces of texts keep a surrogate at either end.
        name: Name of the field that holds the value.
    """
    if isinstance(value, str):
        if not _SURROGATE.search(value):
            return value
        is_piece = keep_pieces and name in _PIECES
        first = value[:1] if is_piece and "\udc00" <= value[0] <= "\udfff" else ""
        last = value[-1:] if is_piece and "\ud800" <= value[-1] <= "\udbff" else ""
        return first + joined_halves(value[len(first) : len(value) - len(last)]) + last
    if isinstance(value, list):
        return [without_halves(item, keep_pieces=keep_pieces, name=name) for item in value]
    if isinstance(value, dict):
        return {
            joined_halves(key): without_halves(item, keep_pieces=keep_pieces, name=key) for key, item in value.items()
        }
    return value


def dump_json(value: JsonObject) -> bytes:
    """Serialise a request body as compact UTF-8; lone surrogates are replaced.

    Raises:
        AgentError: The body holds a number that JSON cannot express.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError) as exc:
        raise AgentError("the request cannot be written as JSON", cause=exc, hint="Check the numbers in it.") from exc
    return text.encode("utf-8", "replace")


def object_of(value: JsonValue) -> JsonObject:
    """Return the value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def items_of(value: JsonValue) -> Sequence[JsonValue]:
    """Return the value if it is a list, else an empty sequence."""
    return value if isinstance(value, list) else ()


def text_of(value: JsonValue) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def tokens_of(value: JsonValue) -> int:
    """Return a count of tokens; 0 if the value is not a count.

    Example:
        >>> tokens_of(12), tokens_of(-3), tokens_of("many"), tokens_of(10**18)
        (12, 0, 0, 1000000000)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(max(0, min(value, MOST_TOKENS)))


def uncounted_tokens(total: JsonValue, *counts: int) -> int:
    """Return the tokens that a total holds beyond the counts; some servers count the thoughts only in the total.

    Example:
        >>> uncounted_tokens(623, 20, 198), uncounted_tokens(218, 20, 198), uncounted_tokens(None, 5)
        (405, 0, 0)
    """
    return max(0, tokens_of(total) - sum(counts))


def wire_id(call_id: str, allowed: re.Pattern[str], length: int) -> str:
    """Return the id of a call in a form that a provider accepts; an accepted id stays, others become a hash.

    A turn may begin at one provider and continue at another, whose ids have another form.

    Args:
        call_id: The id.
        allowed: What the provider accepts.
        length: Length of the hash, at most 64.

    Example:
        >>> wire_id("call_1", re.compile("[a-zA-Z0-9_-]+"), 32), len(wire_id("call_1", re.compile("[a-z]+"), 9))
        ('call_1', 9)
    """
    return call_id if allowed.fullmatch(call_id) else sha256(call_id.encode("utf-8", "replace")).hexdigest()[:length]


def merged(body: JsonObject, extra: Mapping[str, JsonValue]) -> JsonObject:
    """Return a request body with extra fields. Objects are merged; other values replace those of the body.

    Example:
        >>> merged({"a": {"b": 1}, "c": 2}, {"a": {"d": 3}, "c": None})
        {'a': {'b': 1, 'd': 3}, 'c': None}
    """
    result = dict(body)
    for name, value in extra.items():
        present = result.get(name)
        result[name] = merged(present, value) if isinstance(present, dict) and isinstance(value, dict) else value
    return result


def sent_headers(headers: Mapping[str, str], request: ChatRequest) -> dict[str, str]:
    """Return the headers of a request, with the caller's extra headers and all names in lower case."""
    return {**headers, **{name.lower(): value for name, value in request.extra_headers.items()}}


def load_object(body: bytes, provider: str) -> JsonObject:
    """Parse an answer that must be a JSON object.

    Raises:
        APINetworkError: The answer is a web page.
        AgentError: The answer is not a JSON object.
    """
    if _PAGE.match(body):
        raise APINetworkError(
            "the server answered with a web page",
            provider=provider,
            hint="Check the base URL; a proxy or a login page may be in the way.",
        )
    answer = load_json(body)
    if not isinstance(answer, dict):
        raise AgentError("the answer is not a JSON object", provider=provider)
    return answer


def cost_of(usage: JsonObject) -> float | None:
    """Return the cost in US dollars that the usage of a call states; `None` if it states none.

    Example:
        >>> cost_of({"cost": 0.25}), cost_of({"cost_in_usd_ticks": 25_000_000}), cost_of({})
        (0.25, 0.0025, None)
        >>> cost_of({"cost": 0.25, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.5}})
        0.75
    """
    cost = usage.get("cost")
    charged = price_of(cost.get("total_cost") if isinstance(cost, dict) else cost)
    if usage.get("is_byok") is True:
        # OpenRouter charges its fee alone; the provider behind it bills the call to the caller's own key.
        upstream = price_of(object_of(usage.get("cost_details")).get("upstream_inference_cost"))
        return None if charged is None or upstream is None else charged + upstream
    ticks = usage.get("cost_in_usd_ticks")
    if charged is None and type(ticks) is int and 0 < ticks < MOST_TICKS:
        # The unit of xAI, see https://docs.x.ai/docs/api-reference.
        return price_of(ticks / TICKS_PER_USD)
    return charged


def price_of(value: JsonValue) -> float | None:
    """Return a price in US dollars; `None` if the value is not a price."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**6:
        return None
    return float(value)


def at_tier(usage: Usage, *tiers: JsonValue) -> Usage:
    """Return the usage of a call that was served at these tiers; at a dear tier, the list price does not apply.

    Example:
        >>> from roundtable.types import Usage
        >>> usage = Usage(input_tokens=9, calls=1)
        >>> at_tier(usage, "default").partial_cost_usd, at_tier(usage, "priority").partial_cost_usd
        (None, 0.0)
    """
    is_dear = any(text_of(tier).lower() in _DEAR_TIERS for tier in tiers)
    return usage.model_copy(update={"partial_cost_usd": 0.0}) if is_dear and usage.cost_usd is None else usage
