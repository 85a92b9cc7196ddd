"""The errors to raise for the error responses of providers, from one table for all dialects."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from roundtable.core.base.secrets import secret_forms
from roundtable.core.base.strict_json import is_too_deep
from roundtable.core.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    ContextTooLong,
    RoundtableError,
)
from roundtable.core.types.base import utc_now
from roundtable.providers.wire import items_of, load_json, object_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.core.types.base import JsonValue

__all__ = ["Refusal", "base_code_of", "error_for", "read_refusal", "redact", "request_id_of", "retry_after_of"]

MESSAGE_CHARS: Final = 1000
"""The most characters that an error quotes from a provider's own message."""

_QUOTA: Final = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "insufficient_balance",
        "payment_required",
        "billing_error",
        "insufficient_balance_error",
        "exceeded_current_quota_error",
        # Z.AI's codes of an empty account, a used-up limit, and a subscription that has ended or lacks the model; see
        # https://docs.z.ai/api-reference/api-code.
        "1113",
        "1304",
        "1308",
        "1309",
        "1310",
        "1311",
    }
)
_KEY: Final = frozenset(
    {"invalid_api_key", "authentication_error", "invalid_authentication", "permission_error", "permission_denied",
     "account_deactivated", "unauthorized", "unauthenticated", "api_key_invalid", "access_token_expired"}
)  # fmt: skip
_RATE: Final = frozenset(
    {"rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "resource_exhausted"}
)
_REQUEST: Final = frozenset(
    {"invalid_request_error", "invalid_argument", "failed_precondition", "invalid_prompt", "request_too_large",
     "data_residency_mismatch", "empty_image_file", "image_file_not_found", "image_file_too_large",
     "image_parse_error", "image_too_large", "image_too_small", "invalid_base64_image", "invalid_image",
     "invalid_image_format", "invalid_image_mode", "invalid_image_url", "unsupported_image_media_type"}
)  # fmt: skip
_MISSING: Final = frozenset({"not_found_error", "not_found", "model_not_found"})
_TOO_LONG: Final = frozenset({"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"})
_TOO_LONG_WORDS: Final = re.compile(
    r"(?<!search )\bcontext (?:length|window|limit|size)\b|\bmaximum (?:prompt|model|allowed input) length\b"
    r"|\b(?:prompt|input)(?: token length| is)? too long\b|\bprompt exceeds max length\b"
    r"|\btoo many (?:input )?tokens\b|\bmodel token limit\b"
    r"|\b(?:input|prompt|requested) token count\b|\breduce the length of the messages\b|\brange of input length\b"
    r"|`inputs` (?:tokens \+|must have less than)",
    re.IGNORECASE,
)
"""What servers write if a prompt, with the answer's limit added, does not fit the model."""
_NO_CREDIT_WORDS: Final = re.compile(
    r"\bcredit balance is too low\b|\bcredits are depleted\b|\binsufficient (?:account )?(?:balance|credits|funds)\b"
    r"|\b(?:used|exhausted) all available credits\b|\bout of credits\b|\bbudget has been exceeded\b"
    r"|\bkey limit exceeded\b|\b(?:spend|spending|billing) (?:limit|cap)\b",
    re.IGNORECASE,
)
"""What providers and routers write if the account or the key has no credit left, or has reached a spending limit."""
_USED_UP_WORDS: Final = re.compile(
    r"\breached your (?:specified )?(?:api )?usage limits?\b"
    r"|\b(?:usage|budget) (?:limit|cap) (?:has been |was )?(?:reached|exceeded)"
    r"|\bexceeded your (?:current )?(?:usage )?(?:quota|budget)\b"
    r"|\bquota (?:has been |is )?(?:exceeded|exhausted|used up)\b"
    r"|\b(?:daily|weekly|monthly) (?:\w{1,20} )?(?:limit|budget|quota)\b",
    re.IGNORECASE,
)
"""What they write besides; with the status 429, such words may speak of a limit of calls, which a wait resets."""
_NO_CREDIT: Final = frozenset({400, 403, 429, 500})
"""Statuses with which providers report that the account has no credit, besides 402."""
_REGION_WORDS: Final = re.compile(
    r"\bcountry, region,? or territory\b|\blocation is not supported\b"
    r"|\bnot (?:available|supported) in your (?:country|region)\b"
    r"|\bunsupported (?:country|region)\b|\b(?:country|region) (?:is )?not supported\b",
    re.IGNORECASE,
)
_REGION: Final = frozenset({"unsupported_country_region_territory"})
_WRONG_ADDRESS_WORDS: Final = re.compile(
    r"\b(?:unexpected|unknown|invalid|no such|unsupported) (?:api )?(?:endpoint|path|route|url)\b"
    r"|\b(?:endpoint|path|route|url|page) (?:was )?not (?:found|supported)\b|\bno route matched\b"
    r"|\bcannot (?:get|post) /|\bmethod not allowed\b|^(?:404 )?not found\.?$|^404\b",
    re.IGNORECASE,
)
"""What servers write if an address is not part of their API; some write it under the status 200."""
_WRONG_ADDRESS_HINT: Final = (
    "Check the base URL: this address is not part of the server's API, which often begins with /v1."
)
_WRONG_REQUEST_HINT: Final = "The provider does not accept this request; check the model and its options."
_WRONG_REQUEST_HINTS: Final = {404: "Check the model's id and the base URL.", 405: _WRONG_ADDRESS_HINT}
_OPTION_WORDS: Final = re.compile(
    r"\b(?:temperature|max_tokens|max_completion_tokens)\b.{0,80}\b(?:n[o']t support|unsupported|only)"
    r"|\b(?:n[o']t support|unsupported)\w*\b.{0,80}\b(?:temperature|max_tokens|max_completion_tokens)\b",
    re.IGNORECASE | re.DOTALL,
)
_CLOUDFLARE: Final = re.compile(rb"\s*error code: 1\d{3}\b")
_CONTENT: Final = frozenset(
    {"bio_policy", "content_filter", "content_policy_violation", "cyber_policy", "data_inspection_failed",
     "datainspectionfailed", "image_content_policy_violation", "refusal"}
)  # fmt: skip
"""Codes that reject the content of a request, of Azure, OpenAI, OpenRouter and Qwen."""
_CONTENT_WORDS: Final = re.compile(
    r"\bcontent violates usage guidelines\b|\bblocked by content filtering policy\b"
    r"|\bflagged as potentially violating our usage policy\b",
    re.IGNORECASE,
)
"""What xAI, Anthropic and OpenAI write in this case, with codes of a missing permission and of an invalid request."""
_BASE_RESP: Final[Mapping[int, str]] = {
    1002: "rate_limited",
    1004: "invalid_api_key",
    1008: "insufficient_balance",
    1026: "content_filter",
    1027: "content_filter",
    1039: "rate_limited",
    1041: "rate_limited",
    1042: "invalid_request_error",
    2013: "invalid_request_error",
    2045: "rate_limited",
    2049: "invalid_api_key",
    2056: "insufficient_quota",
}
"""Kinds of the codes in `base_resp` of MiniMax; with other codes, a retry may help. 2056 is a quota of five hours. See
https://platform.minimax.io/docs/api-reference/errorcode."""
_USELESS: Final = frozenset({"tool_use_failed", "json_validate_failed"})
"""Codes that reject not the request, but what the model wrote; see https://console.groq.com/docs/errors."""
_WAIT_WORDS: Final = re.compile(
    r"\b(?:try again|retry) (?:in|after) ((?:\d{1,9}(?:\.\d{1,12})?(?:ms|[smh]))+|\d{1,9}(?= seconds?\b))",
    re.IGNORECASE,
)
_WAIT_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|[smh])?", re.IGNORECASE)
_UNIT_S: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_MARKUP: Final = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*<(?:!doctype|!--|html|head|body|\?xml)", re.IGNORECASE)
_TAG: Final = re.compile(r"<[a-zA-Z/!][^<>]*>?")
_LONGEST_WAIT_S: Final = 1e12
_PAGE_STATUSES: Final = frozenset({400, 401, 403, 405, 406, 407, 418, 451})
_PAGE_HINT: Final = "A firewall or a proxy answered, not the provider; check the network, the proxy and the base URL."
_PAGE_HINTS: Final = {407: "The proxy of this network demands a login; write it into the address of the proxy."}
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
    is_page: bool = False
    """Whether the body is a web page, so that something other than the API has answered."""


def read_refusal(body: bytes | JsonValue) -> Refusal:
    """Parse an error body of any known shape. Never raises.

    JSON of an unknown shape becomes an empty refusal. A body that is not JSON becomes the message, unless it is a web
    page.

    Example:
        >>> read_refusal(b'{"error": {"message": "No.", "type": "invalid_request_error", "code": 400}}').message
        'No.'
    """
    if isinstance(body, bytes):
        if _MARKUP.match(body) or _CLOUDFLARE.match(body):
            return Refusal("the server answered with a web page", is_page=True)
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
    metadata = object_of(inner.get("metadata"))
    kinds.add(text_of(metadata.get("error_type")).lower())
    if metadata.get("reasons") or metadata.get("flagged_input"):
        # See https://openrouter.ai/docs/api/reference/errors-and-debugging.
        kinds.add("content_policy_violation")
    kinds.add(_BASE_RESP.get(base_code_of(value), ""))
    waits = [_positive(text_of(detail.get("retryDelay")).removesuffix("s")) for detail in details]
    waits.append(_wait_until(object_of(metadata.get("headers")).get("X-RateLimit-Reset")))
    message = _message_of(outer, inner)
    return Refusal(
        message,
        frozenset(kinds - {""}),
        _status(facts),
        _shown_id(text_of(outer.get("request_id"))),
        next((wait for wait in waits if wait is not None), _wait_in(message)),
    )


def base_code_of(value: JsonValue) -> int:
    """Return the code of an error that MiniMax states in an answer with the status 200; 0 if there is none.

    Example:
        >>> base_code_of({"base_resp": {"status_code": 1002, "status_msg": "rate limit"}}), base_code_of({})
        (1002, 0)
    """
    code = object_of(object_of(value).get("base_resp")).get("status_code")
    return code if isinstance(code, int) else 0


def _wait_in(message: str) -> float | None:
    """Return the seconds to wait that a message states, as in "Please try again in 1m30.5s"."""
    words = _WAIT_WORDS.search(message)
    if words is None:
        return None
    parts = _WAIT_PART.findall(words[1])
    return _sensible(sum(float(number) * _UNIT_S[unit.lower() or "s"] for number, unit in parts))


def _wait_until(reset: JsonValue) -> float | None:
    """Return the seconds until a time in milliseconds since 1970, as in OpenRouter's errors of its rate limits."""
    millis = _number(text_of(reset))
    return None if millis is None else _sensible(millis / 1000 - utc_now().timestamp())


def _message_of(outer: Mapping[str, JsonValue], inner: Mapping[str, JsonValue]) -> str:
    detail = outer.get("detail")
    message = outer.get("message")
    nested, problems = object_of(message).get("detail"), outer.get("errors")
    base = object_of(outer.get("base_resp")).get("status_msg")
    for candidate in (inner.get("message"), outer.get("error"), message, detail, nested, problems, base):
        if words := text_of(candidate):
            break
        listed = [object_of(item) for item in items_of(candidate)]
        if texts := [text_of(item.get("msg") or item.get("message")) for item in listed]:
            words = "; ".join(text for text in texts if text)
            break
    else:
        return ""
    # A router passes on the message of the provider behind it in an extra field.
    raw = object_of(inner.get("metadata")).get("raw")
    if not raw or is_too_deep(raw):
        return words
    behind = read_refusal(raw.encode("utf-8", "replace") if isinstance(raw, str) else raw).message
    return f"{words}: {behind}" if behind else words


def _status(facts: Mapping[str, JsonValue]) -> int | None:
    for name in ("code", "status", "status_code", "raw_status_code", "http_code"):
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
        headers: Headers of the answer, names in lower case. What they say about retries counts only with a status of
            400 and above.
        refusal: What the body says.
    """
    effective, outcome = status, f"answered with status {status}"
    # The headers of an answer that began well do not speak of the error in it: some providers state there, with each
    # answer, when the rate limit is full again.
    advice = headers if status >= 400 else {}
    if status < 400:
        effective = refusal.status or _status_of(refusal)
        outcome = "reported an error" + (f" {refusal.status}" if refusal.status else "")
    error_class, retryable, hint = _classify(effective, refusal)
    retry_header = advice.get("x-should-retry", "").strip().lower()
    if retry_header in {"true", "false"}:
        retryable = retry_header == "true"
    message = _shortened(refusal.message)
    return error_class(
        f"{provider} {outcome}" + (f": {message}" if message else ""),
        provider=provider,
        retryable=retryable,
        hint=hint,
        request_id=request_id_of(headers) or refusal.request_id,
        retry_after_s=retry_after_of(advice) or refusal.retry_after_s,
        # Without a status, the error counts as a useless answer, not as a fault of the provider.
        details=None if _is_useless(effective, refusal) else {"status": effective},
    )


def _status_of(refusal: Refusal) -> int:
    """Return the status that matches the codes and the message of an error in an answer with status 200."""
    kinds = refusal.kinds
    if _is_used_up(403, refusal):
        return 402
    if kinds & _KEY:
        return 401
    if kinds & _RATE:
        return 429
    if kinds & _MISSING or _WRONG_ADDRESS_WORDS.search(refusal.message):
        return 404
    return 400 if kinds & (_REQUEST | _USELESS) or _is_too_long(refusal) or _is_about_content(refusal) else 503


def _is_about_content(refusal: Refusal) -> bool:
    return bool(refusal.kinds & _CONTENT or _CONTENT_WORDS.search(refusal.message))


def _is_too_long(refusal: Refusal) -> bool:
    return bool(refusal.kinds & _TOO_LONG or _TOO_LONG_WORDS.search(refusal.message))


def _is_used_up(status: int, refusal: Refusal) -> bool:
    """Check whether a refusal says that the account has no credit left, or has reached a spending limit."""
    words = bool(_NO_CREDIT_WORDS.search(refusal.message))
    words = words or (status in {400, 403} and bool(_USED_UP_WORDS.search(refusal.message)))
    return status in _NO_CREDIT and (bool(refusal.kinds & _QUOTA) or words)


def _is_useless(status: int, refusal: Refusal) -> bool:
    return status in {400, 422} and bool(refusal.kinds & _USELESS)


def _classify(status: int, refusal: Refusal) -> tuple[type[RoundtableError], bool | None, str | None]:
    """Return the error class, whether a retry may help (`None`: the default of the class), and a hint."""
    if refusal.is_page and status in _PAGE_STATUSES:
        return APINetworkError, False, _PAGE_HINTS.get(status, _PAGE_HINT)
    if status == 402 or _is_used_up(status, refusal):
        return APIAuthError, False, "The account has no credit or quota left, or reached a limit; check its billing."
    if 400 <= status < 500 and (hint := _refusal_hint(status, refusal)):
        return AgentError, False, hint
    if status in {401, 403} or (400 <= status < 500 and refusal.kinds & _KEY):
        return APIAuthError, False, None
    if status == 429:
        return APIRateLimitError, None, None
    if status in {400, 413, 422} and _is_too_long(refusal):
        return ContextTooLong, False, None
    if _is_useless(status, refusal):
        return AgentError, True, "The model wrote a tool call or JSON that the provider rejects; try again."
    if status in {408, 504}:
        return APITimeoutError, None, None
    if status in {409, 425}:
        return APINetworkError, None, None
    if status < 500:
        return AgentError, False, _WRONG_REQUEST_HINTS.get(status, _WRONG_REQUEST_HINT)
    return APINetworkError, status not in _NOT_RETRYABLE and status < 600, "The provider has a fault; try again later."


def _refusal_hint(status: int, refusal: Refusal) -> str:
    """Return what to do about a refusal that is not about the key; empty if only its status says something."""
    kinds, message = refusal.kinds, refusal.message
    if status in {400, 403, 451} and (kinds & _REGION or _REGION_WORDS.search(message)):
        return "The provider does not serve this country or region; use another provider."
    if status in {400, 403, 422} and _is_about_content(refusal):
        return "The provider rejects the content; change the question, or use another model."
    if status == 404 and _WRONG_ADDRESS_WORDS.search(message):
        return _WRONG_ADDRESS_HINT
    if status in {400, 422} and _OPTION_WORDS.search(message):
        return (
            "The model rejects an option of the request: set temperature=None for the agent, or profile='openai' in "
            "ProviderConfig for OpenAI's models behind another address."
        )
    return ""


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
