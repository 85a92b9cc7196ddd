"""The errors to raise for the error responses of providers, from one table for all dialects."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from roundtable._core.secrets import secret_forms
from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    ContextTooLong,
    RoundtableError,
)
from roundtable.providers.wire import items_of, load_json, object_of, text_of
from roundtable.types.base import utc_now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.types import JsonValue

__all__ = ["Refusal", "error_for", "read_refusal", "redact", "request_id_of", "retry_after_of"]

MESSAGE_CHARS: Final = 1000
"""The most characters that an error quotes from a provider's own message."""

_QUOTA: Final = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "insufficient_balance",
        "payment_required",
    }
)
_KEY: Final = frozenset(
    {"invalid_api_key", "authentication_error", "invalid_authentication", "permission_error", "permission_denied",
     "account_deactivated", "unauthorized", "unauthenticated", "api_key_invalid", "access_token_expired"}
)  # fmt: skip
_RATE: Final = frozenset(
    {"rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "resource_exhausted"}
)
_REQUEST: Final = frozenset({"invalid_request_error", "invalid_argument", "failed_precondition", "invalid_prompt"})
_MISSING: Final = frozenset({"not_found_error", "not_found", "model_not_found"})
_TOO_LONG: Final = frozenset({"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"})
_TOO_LONG_WORDS: Final = re.compile(
    r"maximum context length|context length (?:of|is|exceeded)|context window|available context size"
    r"|prompt is too long|input is too long|too many input tokens|exceeds? the (?:model'?s )?(?:maximum )?context",
    re.IGNORECASE,
)
_MARKUP: Final = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|head|body|\?xml)", re.IGNORECASE)
_TAG: Final = re.compile(r"<[a-zA-Z/!][^<>]*>?")
_LONGEST_WAIT_S: Final = 1e12
_NOT_RETRYABLE: Final = frozenset({501, 505, 511})


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a provider reports when it rejects a call, independent of the dialect."""

    message: str = ""
    """Message of the provider."""
    kinds: frozenset[str] = frozenset()
    """Codes and types of the error, in lower case."""
    status: int | None = None
    """The status that the body names; it counts only if the HTTP status is not an error."""
    request_id: str | None = None
    """The provider's id of the call, if the body has one."""
    retry_after_s: float | None = None
    """Seconds to wait, if the body states them."""


def read_refusal(body: bytes | JsonValue) -> Refusal:
    """Parse an error body of any known shape. Never raises.

    JSON of an unknown shape becomes an empty refusal. A body that is not JSON becomes the message, unless it is a web
    page.

    Example:
        >>> read_refusal(b'{"error": {"message": "No.", "type": "invalid_request_error", "code": 400}}').message
        'No.'
    """
    if isinstance(body, bytes):
        if _MARKUP.match(body):
            return Refusal("the server answered with a web page")
        try:
            value = load_json(body)
        except RoundtableError:
            return Refusal(body[: 2 * MESSAGE_CHARS].decode("utf-8", "replace"))
    else:
        value = body
    for item in items_of(value):
        value = item
        break
    outer = object_of(value)
    inner = object_of(outer.get("error"))
    facts = {**outer, **inner}
    details = [object_of(detail) for detail in items_of(inner.get("details"))]
    kinds = {text_of(facts.get(name)).lower() for name in ("code", "type", "status")}
    kinds |= {text_of(detail.get("reason")).lower() for detail in details}
    waits = [_positive(text_of(detail.get("retryDelay")).removesuffix("s")) for detail in details]
    return Refusal(
        _message_of(outer, inner),
        frozenset(kinds - {""}),
        _status(facts),
        _shown_id(text_of(outer.get("request_id"))),
        next((wait for wait in waits if wait is not None), None),
    )


def _message_of(outer: Mapping[str, JsonValue], inner: Mapping[str, JsonValue]) -> str:
    detail = outer.get("detail")
    message = outer.get("message")
    for candidate in (inner.get("message"), outer.get("error"), message, detail, object_of(message).get("detail")):
        if words := text_of(candidate):
            break
        if problems := [text_of(object_of(item).get("msg")) for item in items_of(candidate)]:
            words = "; ".join(problem for problem in problems if problem)
            break
    else:
        return ""
    # A router passes on the message of the provider behind it in an extra field.
    raw = text_of(object_of(inner.get("metadata")).get("raw"))
    behind = read_refusal(raw.encode("utf-8", "replace")).message if raw else ""
    return f"{words}: {behind}" if behind else words


def _status(facts: Mapping[str, JsonValue]) -> int | None:
    for name in ("code", "status", "status_code", "raw_status_code"):
        value = facts.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    return None


def error_for(provider: str, status: int, headers: Mapping[str, str], refusal: Refusal) -> RoundtableError:
    """Return the error for a refusal; never raises.

    Args:
        provider: Name of the provider.
        status: HTTP status of the answer. If it is not an error, the status is taken from the body: the status that the
            body names, or a status that matches the codes in the body. If the body has neither, the status is 503. The
            message mentions only a status that the provider sent.
        headers: Headers of the answer, names in lower case.
        refusal: What the body says.
    """
    effective, outcome = status, f"answered with status {status}"
    if status < 400:
        effective = refusal.status or _status_of_kinds(refusal.kinds)
        outcome = "reported an error" + (f" {refusal.status}" if refusal.status else "")
    error_class, retryable, hint = _classify(effective, refusal)
    retry_header = headers.get("x-should-retry", "").strip().lower()
    if retry_header in {"true", "false"}:
        retryable = retry_header == "true"
    message = _shortened(refusal.message)
    return error_class(
        f"{provider} {outcome}" + (f": {message}" if message else ""),
        provider=provider,
        retryable=retryable,
        hint=hint,
        request_id=request_id_of(headers) or refusal.request_id,
        retry_after_s=retry_after_of(headers) or refusal.retry_after_s,
        details={"status": effective},
    )


def _status_of_kinds(kinds: frozenset[str]) -> int:
    if kinds & _QUOTA:
        return 402
    if kinds & _KEY:
        return 401
    if kinds & _RATE:
        return 429
    if kinds & _MISSING:
        return 404
    return 400 if kinds & _REQUEST else 503


def _classify(status: int, refusal: Refusal) -> tuple[type[RoundtableError], bool | None, str | None]:
    """Return the error class, whether a retry may help (`None`: the default of the class), and a hint."""
    kinds = refusal.kinds
    if status == 402 or (status in {400, 403, 429} and kinds & _QUOTA):
        return APIAuthError, False, "The account has no credit or quota left; check its billing."
    if status in {401, 403} or (400 <= status < 500 and kinds & _KEY):
        return APIAuthError, False, None
    if status == 429:
        return APIRateLimitError, None, None
    if status in {400, 413, 422} and (kinds & _TOO_LONG or _TOO_LONG_WORDS.search(refusal.message)):
        return ContextTooLong, False, None
    if status in {408, 504}:
        return APITimeoutError, None, None
    if status in {409, 425}:
        return APINetworkError, None, None
    if status == 404:
        return AgentError, False, "Check the model's id and the base URL."
    if status < 500:
        return AgentError, False, "The provider does not accept this request; check the model and its options."
    return APINetworkError, status not in _NOT_RETRYABLE and status < 600, "The provider has a fault; try again later."


def _shortened(message: str) -> str:
    plain = _TAG.sub(" ", message[: 4 * MESSAGE_CHARS])
    text = " ".join("".join(char if char.isprintable() else " " for char in plain).split())
    return text if len(text) <= MESSAGE_CHARS else f"{text[:MESSAGE_CHARS]}..."


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """Return the provider's id of a call; `None` if no header has it."""
    names = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid")
    return next((request_id for name in names if (request_id := _shown_id(headers.get(name, "")))), None)


def _shown_id(text: str) -> str | None:
    text = text.strip()
    return text if text and len(text) <= 200 and text.isprintable() else None


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds the provider asks the client to wait; `None` if the headers hold no sensible number.

    Example:
        >>> retry_after_of({"retry-after": "1.5"}), retry_after_of({"retry-after": "soon"})
        (1.5, None)
    """
    millis = _number(headers.get("retry-after-ms", ""))
    if millis is not None:
        # If this header holds a number, even a senseless one, the other header is ignored.
        return _sensible(millis / 1000)
    text = headers.get("retry-after", "").strip()
    seconds = _number(text)
    if seconds is not None or not text:
        return None if seconds is None else _sensible(seconds)
    try:
        at = parsedate_to_datetime(text)
        now = parsedate_to_datetime(headers["date"]) if "date" in headers else utc_now()
        return _sensible((at - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _number(text: str) -> float | None:
    """Parse a number. A number that is too large for a float becomes `_LONGEST_WAIT_S`, not infinity."""
    try:
        number = float(text)
    except ValueError:
        return None
    return math.copysign(_LONGEST_WAIT_S, number) if math.isinf(number) and any(map(str.isdigit, text)) else number


def _sensible(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def _positive(text: str) -> float | None:
    try:
        return _sensible(float(text))
    except ValueError:
        return None


def redact(error: RoundtableError, key: str | None) -> RoundtableError:
    """Remove a key from an error, in case the provider repeated it, and return the same error.

    Removes all the forms of `secret_forms`.
    """
    for form in secret_forms(key or ""):
        error.message = error.message.replace(form, "***")
        error.request_id = error.request_id and error.request_id.replace(form, "***")
    error.args = (error.message,)
    return error
