"""The batch APIs of the vendors: how to submit calls, and how to find and read their answers.

Sources: https://platform.openai.com/docs/api-reference/batch, https://docs.claude.com/en/api/creating-message-batches,
https://ai.google.dev/gemini-api/docs/batch-api.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Protocol, TypeAlias, assert_never
from urllib.parse import quote, urlsplit

from roundtable.core.errors import AgentError, RoundtableError
from roundtable.http.client import HttpRequest
from roundtable.providers.wire import dump_json, items_of, load_json, object_of, text_of

if TYPE_CHECKING:
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.http.client import HttpResponse

__all__ = [
    "AnthropicBatches",
    "BatchAnswer",
    "BatchCall",
    "BatchFailed",
    "BatchState",
    "BatchWire",
    "GoogleBatches",
    "OpenAIBatches",
    "batch_wire",
]

Send: TypeAlias = "Callable[[HttpRequest], Awaitable[HttpResponse]]"
"""Function that sends a request with the key, and raises a typed error if the status of the response is not 2xx."""

_LISTED: Final = 100
_MOST_PAGES: Final = 20
"""The most pages of the latest batches that are searched for a batch whose id was lost."""
_GOOGLE_ID: Final = re.compile(r"batches/[A-Za-z0-9_-]+")

_VERSION: Final = {"anthropic-version": "2023-06-01"}
_CLOCK_SKEW_S: Final = 300.0
_UNSENT: Final = frozenset({"content-type", "accept", "content-length"})

_ANTHROPIC_STATUS: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class BatchFailed(AgentError):
    """A batch was refused or has failed as a whole, after it had been submitted."""

    default_message = "The batch failed"
    default_hint: ClassVar[str | None] = "Try again: a batch that failed costs nothing."


@dataclass(frozen=True, slots=True)
class BatchCall:
    """One call of a batch."""

    key: str
    """Id of the call, up to 64 letters, digits, hyphens and underscores."""
    request: HttpRequest
    """The request that would make the call outside of a batch, without the key."""
    model: str = ""
    """Model that is called; all calls of a batch have the same model."""
    session_id: str = ""
    """Session that the call belongs to; empty outside of debates."""
    round: int = 0
    """Round of the session; 0 outside of rounds."""

    @property
    def body(self) -> JsonObject:
        """Body of the request."""
        return object_of(load_json(self.request.body))


@dataclass(frozen=True, slots=True)
class BatchState:
    """The state of a batch, as the vendor reports it."""

    has_ended: bool
    """Whether there is nothing more to wait for."""
    document: JsonObject = field(default_factory=dict)
    """The vendor's own description."""


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """The result of one call of a batch."""

    outcome: Literal["answered", "expired"]
    """`answered` if the vendor sent an answer or an error; `expired` if the batch ended before the call was made."""
    status: int = 200
    """Status code that the response would have outside of a batch."""
    body: bytes = field(default=b"", repr=False)
    """Body that the response would have outside of a batch."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers that the response would have outside of a batch."""


class BatchWire(Protocol):
    """The batch API of one vendor."""

    async def submit(self, send: Send, batch_key: str, calls: Sequence[BatchCall]) -> str:
        """Submit a batch; return its id.

        Args:
            send: Sends a request.
            batch_key: Our own id of the batch; the vendor stores it with the batch if the API supports that.
            calls: The calls, all to the same address.
        """

    async def look(self, send: Send, url: str, batch_id: str) -> BatchState:
        """Ask for the state of a batch; `url` is the address of its calls."""

    async def answers(self, send: Send, url: str, batch_id: str, state: BatchState) -> dict[str, BatchAnswer]:
        """Return the answers of a batch that has ended; the keys are the keys of the calls."""

    async def find(self, send: Send, url: str, batch_key: str, call_key: str, since: float) -> str | None:
        """Return the vendor's id of a batch that was submitted, but whose id was lost; `None` if it is not found.

        Args:
            send: Sends a request.
            url: Address of the calls.
            batch_key: Our own id of the batch.
            call_key: Key of one call of the batch.
            since: When the batch was submitted, in seconds since 1970.
        """


class OpenAIBatches:
    """Batches of OpenAI: a file of requests, and a file of answers."""

    async def submit(self, send: Send, batch_key: str, calls: Sequence[BatchCall]) -> str:
        """Upload the calls as a file, and start a batch from this file."""
        root, endpoint = _openai_root(calls[0].request.url)
        lines = [
            dump_json({"custom_id": call.key, "method": "POST", "url": endpoint, "body": call.body}) for call in calls
        ]
        content_type, body = _form({"purpose": "batch"}, f"{batch_key}.jsonl", b"\n".join(lines) + b"\n")
        upload = HttpRequest("POST", f"{root}/files", {"content-type": content_type}, body)
        try:
            file_id = _id_in(await _request_object(send, upload))
        except RoundtableError as error:
            error.details = {**(error.details or {}), "submitted": False}  # a file alone does not start a batch
            raise
        wanted: JsonObject = {
            "input_file_id": file_id,
            "endpoint": endpoint,
            "completion_window": "24h",
            "metadata": {"roundtable": batch_key},
        }
        return _id_in(await _request_object(send, _post(f"{root}/batches", wanted)))

    async def look(self, send: Send, url: str, batch_id: str) -> BatchState:
        """Ask for the state of a batch.

        Raises:
            BatchFailed: OpenAI refused the batch as a whole.
        """
        root, _ = _openai_root(url)
        batch = await _request_object(send, _get(f"{root}/batches/{quote(batch_id, safe='')}"))
        if batch.get("status") == "failed":
            errors = items_of(object_of(batch.get("errors")).get("data"))
            words = "; ".join(text for error in errors if (text := text_of(object_of(error).get("message"))))
            msg = f"the batch was refused: {words[:500] or 'no reason was given'}"
            raise BatchFailed(msg, retryable=False, details={"batch": batch_id})
        return BatchState(batch.get("status") in {"completed", "expired", "cancelled"}, batch)

    async def answers(self, send: Send, url: str, batch_id: str, state: BatchState) -> dict[str, BatchAnswer]:
        """Read the file of answers and the file of errors; calls that are in neither file have expired."""
        root, _ = _openai_root(url)
        answers: dict[str, BatchAnswer] = {}
        for name in ("output_file_id", "error_file_id"):
            file_id = text_of(state.document.get(name))
            if not file_id:
                continue
            response = await send(_get(f"{root}/files/{quote(file_id, safe='')}/content"))
            for line in _lines(response.body):
                answers.setdefault(text_of(line.get("custom_id")), _openai_answer(line))
        return answers

    async def find(self, send: Send, url: str, batch_key: str, call_key: str, since: float) -> str | None:
        """Search for our own id in the metadata of the latest batches."""
        root, _ = _openai_root(url)
        for batch in await _list_batches(send, f"{root}/batches?limit={_LISTED}", "after", None, since):
            if object_of(batch.get("metadata")).get("roundtable") == batch_key:
                return text_of(batch.get("id"))
        return None


class AnthropicBatches:
    """Message batches of Anthropic."""

    async def submit(self, send: Send, batch_key: str, calls: Sequence[BatchCall]) -> str:
        """Submit all calls in one request."""
        requests: list[JsonValue] = [{"custom_id": call.key, "params": call.body} for call in calls]
        headers = _plain_headers(calls[0].request.headers)
        request = _post(f"{calls[0].request.url}/batches", {"requests": requests}, headers)
        return _id_in(await _request_object(send, request))

    async def look(self, send: Send, url: str, batch_id: str) -> BatchState:
        """Ask for the state of a batch."""
        batch = await _request_object(send, _get(f"{url}/batches/{quote(batch_id, safe='')}", _VERSION))
        return BatchState(batch.get("processing_status") == "ended", batch)

    async def answers(self, send: Send, url: str, batch_id: str, state: BatchState) -> dict[str, BatchAnswer]:
        """Read the results; the address in the state is not followed, since the key is sent with the request."""
        response = await send(_get(f"{url}/batches/{quote(batch_id, safe='')}/results", _VERSION))
        answers: dict[str, BatchAnswer] = {}
        for line in _lines(response.body):
            answers.setdefault(text_of(line.get("custom_id")), _anthropic_answer(object_of(line.get("result"))))
        return answers

    async def find(self, send: Send, url: str, batch_key: str, call_key: str, since: float) -> str | None:
        """Search for the call in the results of the latest batches, because these batches have no metadata.

        Raises:
            AgentError: A batch is still running, and may contain the call.
        """
        running = False
        for batch in await _list_batches(send, f"{url}/batches?limit={_LISTED}", "after_id", _VERSION, since):
            batch_id = text_of(batch.get("id"))
            if not batch_id:
                continue
            if batch.get("processing_status") != "ended":
                running = True
            elif call_key in await self.answers(send, url, batch_id, BatchState(has_ended=True)):
                return batch_id
        if running:
            raise AgentError("a batch that may contain the call is still running", retryable=True)
        return None


class GoogleBatches:
    """Batches of the Gemini API, with the calls in the request."""

    async def submit(self, send: Send, batch_key: str, calls: Sequence[BatchCall]) -> str:
        """Submit all calls in one request."""
        requests: list[JsonValue] = [{"request": call.body, "metadata": {"key": call.key}} for call in calls]
        batch: JsonObject = {"displayName": batch_key, "inputConfig": {"requests": {"requests": requests}}}
        url = calls[0].request.url.replace(":generateContent", ":batchGenerateContent")
        begun = await _request_object(send, _post(url, {"batch": batch}))
        return _google_id(begun)

    async def look(self, send: Send, url: str, batch_id: str) -> BatchState:
        """Ask for the state of a batch."""
        operation = await _request_object(send, _get(f"{_google_root(url)}/{batch_id}"))
        state = text_of(object_of(operation.get("metadata")).get("state"))
        ended = state.endswith(("_SUCCEEDED", "_FAILED", "_CANCELLED", "_EXPIRED"))
        return BatchState(ended or operation.get("done") is True, operation)

    async def answers(self, send: Send, url: str, batch_id: str, state: BatchState) -> dict[str, BatchAnswer]:
        """Read the answers out of the state.

        Raises:
            BatchFailed: The batch failed as a whole.
        """
        error = object_of(state.document.get("error"))
        # The vendor's own client reads the copy in the metadata.
        output = object_of(state.document.get("metadata")).get("output")
        response = object_of(state.document.get("response") or output)
        if error and not response:
            msg = f"the batch failed: {text_of(error.get('message')) or 'no reason was given'}"[:500]
            raise BatchFailed(msg, details={"batch": batch_id})
        listed = response.get("inlinedResponses")
        answers: dict[str, BatchAnswer] = {}
        for item in map(object_of, items_of(object_of(listed).get("inlinedResponses") or listed)):
            key = text_of(object_of(item.get("metadata")).get("key"))
            answers.setdefault(key, _google_answer(item))
        return answers

    async def find(self, send: Send, url: str, batch_key: str, call_key: str, since: float) -> str | None:
        """Search for our own id among the names of the latest batches."""
        page = ""
        for _ in range(_MOST_PAGES):
            address = f"{_google_root(url)}/batches?pageSize={_LISTED}{page}"
            listed = await _request_object(send, _get(address))
            for operation in map(object_of, items_of(listed.get("operations"))):
                if object_of(operation.get("metadata")).get("displayName") == batch_key:
                    return _google_id(operation)
            token = text_of(listed.get("nextPageToken"))
            if not token:
                break
            page = f"&pageToken={quote(token, safe='')}"
        return None


def batch_wire(api: Literal["anthropic", "google", "openai"]) -> BatchWire:
    """Return the batch API of this kind."""
    match api:
        case "anthropic":
            return AnthropicBatches()
        case "google":
            return GoogleBatches()
        case "openai":
            return OpenAIBatches()
        case _:
            assert_never(api)


def _openai_root(url: str) -> tuple[str, str]:
    """Return the root of the API and the endpoint of the calls, both taken from the address of a call."""
    for endpoint in ("/chat/completions", "/responses"):
        if url.endswith(endpoint):
            return url.removesuffix(endpoint), f"/v1{endpoint}"
    raise AgentError(f"calls of {urlsplit(url).path!r} cannot be batched", retryable=False)


def _google_root(url: str) -> str:
    return url.rsplit("/models/", 1)[0]


def _google_id(operation: JsonObject) -> str:
    """Return the id of a batch, which becomes a part of an address.

    Raises:
        AgentError: The id has an unexpected form.
    """
    batch_id = _id_in(operation, "name")
    if not _GOOGLE_ID.fullmatch(batch_id):
        raise AgentError(f"{batch_id[:80]!r} is not the name of a batch", retryable=True)
    return batch_id


async def _list_batches(
    send: Send, url: str, cursor: str, headers: Mapping[str, str] | None, since: float
) -> list[JsonObject]:
    """Return the latest batches, newest first, page by page, back to a time in seconds since 1970.

    Args:
        send: Sends a request.
        url: Address of the first page.
        cursor: Name of the parameter that selects the page after a batch.
        headers: Further headers.
        since: Time of the oldest batch to return. Some minutes are added, because clocks may differ.
    """
    all_batches: list[JsonObject] = []
    page = ""
    for _ in range(_MOST_PAGES):
        listed = await _request_object(send, _get(url + page, headers))
        batches = [object_of(item) for item in items_of(listed.get("data"))]
        recent = [batch for batch in batches if _seconds(batch.get("created_at")) >= since - _CLOCK_SKEW_S]
        all_batches += recent
        last = text_of(batches[-1].get("id")) if batches else ""
        if len(recent) < len(batches) or not listed.get("has_more") or not last:
            break
        page = f"&{cursor}={quote(last, safe='')}"
    return all_batches


def _plain_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in _UNSENT}


def _get(url: str, headers: Mapping[str, str] | None = None) -> HttpRequest:
    return HttpRequest("GET", url, {"accept": "application/json", **(headers or {})})


def _post(url: str, body: JsonObject, headers: Mapping[str, str] | None = None) -> HttpRequest:
    sent = {"content-type": "application/json", "accept": "application/json", **(headers or {})}
    return HttpRequest("POST", url, sent, dump_json(body))


async def _request_object(send: Send, request: HttpRequest) -> JsonObject:
    """Send a request, and return the object in its response.

    Raises:
        AgentError: The response is not a JSON object.
    """
    value = load_json((await send(request)).body)
    if not isinstance(value, dict):
        raise AgentError("the server's answer about a batch is not a JSON object", retryable=True)
    return value


def _id_in(document: JsonObject, name: str = "id") -> str:
    value = text_of(document.get(name))
    if not value:
        raise AgentError(f"the server's answer about a batch has no {name!r}", retryable=True)
    return value


def _form(fields: Mapping[str, str], file_name: str, content: bytes) -> tuple[str, bytes]:
    """Return the content type and the body of a form with one file."""
    boundary = secrets.token_hex(16)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{file_name}"\r\n'
    parts += [head.encode(), b"Content-Type: application/jsonl\r\n\r\n", content, f"\r\n--{boundary}--\r\n".encode()]
    return f"multipart/form-data; boundary={boundary}", b"".join(parts)


def _lines(body: bytes) -> Iterator[JsonObject]:
    """Yield the objects of a file with one JSON object in each line; other lines are skipped."""
    for line in body.splitlines():
        try:
            value = load_json(line) if line.strip() else None
        except RoundtableError:
            continue  # the call of this line counts as not answered
        if isinstance(value, dict):
            yield value


def _openai_answer(line: JsonObject) -> BatchAnswer:
    response, error = object_of(line.get("response")), object_of(line.get("error"))
    if not response:
        if error.get("code") in {"batch_expired", "batch_cancelled"}:
            return BatchAnswer("expired")
        return BatchAnswer("answered", 500, dump_json({"error": error}))
    status, request_id = response.get("status_code"), text_of(response.get("request_id"))
    headers = {"x-request-id": request_id} if request_id else {}
    return BatchAnswer("answered", status if type(status) is int else 200, _body_of(response.get("body")), headers)


def _anthropic_answer(result: JsonObject) -> BatchAnswer:
    match result.get("type"):
        case "succeeded":
            return BatchAnswer("answered", 200, _body_of(result.get("message")))
        case "errored":
            error = object_of(result.get("error"))
            inner = object_of(error.get("error")) or error
            status = _ANTHROPIC_STATUS.get(text_of(inner.get("type")), 500)
            return BatchAnswer("answered", status, dump_json({"type": "error", "error": inner}))
        case _:
            return BatchAnswer("expired")


def _google_answer(item: JsonObject) -> BatchAnswer:
    if "response" in item:
        return BatchAnswer("answered", 200, _body_of(item.get("response")))
    error = object_of(item.get("error"))
    code = error.get("code")
    # The codes are those of gRPC: 1 cancelled, 3 invalid argument, 4 deadline, 7 no permission, 8 quota, 9 failed
    # precondition, 11 out of range, 12 not implemented; others fail.
    if code in {1, 4}:
        return BatchAnswer("expired")
    statuses = {3: 400, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 12: 501, 16: 401}
    status = statuses.get(code if isinstance(code, int) else 0, 500)
    return BatchAnswer("answered", status, dump_json({"error": {**error, "code": status}}))


def _body_of(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _seconds(written: JsonValue) -> float:
    """Parse a time, as seconds since 1970; infinity if it cannot be parsed, so that its batch is not left out."""
    if isinstance(written, int | float):
        return float(written)
    try:
        return datetime.fromisoformat(text_of(written)).timestamp()
    except ValueError:
        return float("inf")
