"""A model that is called over HTTP: it combines a dialect with a client."""

from __future__ import annotations

import math
import os
import re
from abc import ABC, abstractmethod
from contextlib import contextmanager
from decimal import Decimal
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from roundtable.core.errors import AgentError, APINetworkError, ConfigurationError, PluginError, RoundtableError
from roundtable.core.types.chat import ChatResponse
from roundtable.core.types.model_facts import ModelFacts
from roundtable.gateway.prices import FULL_PRICE, HALF_PRICE
from roundtable.gateway.streams import ChatStream
from roundtable.http.client import HttpRequest
from roundtable.http.sse import BARE, SseEvent, SseFramer
from roundtable.providers.failures import error_for, read_refusal, redact, request_id_of
from roundtable.providers.response_builder import delta_of
from roundtable.providers.wire import items_of, load_json, merged, object_of, text_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence

    from roundtable.core.types.agents import ModelProfile
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.chat import ChatDelta, ChatRequest
    from roundtable.http.client import HttpClient, HttpResponse
    from roundtable.http.message import HttpLimits
    from roundtable.providers.response_builder import ResponseBuilder
    from roundtable.providers.spec import Decoder, ProviderSpec

__all__ = ["FIRST_LISTED", "EventDecoder", "HttpChatModel", "NonStreamingModel", "ParseDocument"]

_SPACE: Final = b" \t\r\n\xef\xbb\xbf"

T = TypeVar("T")
DraftT = TypeVar("DraftT", bound="ResponseBuilder")

ParseDocument: TypeAlias = "Callable[[int, Mapping[str, str], bytes], ChatResponse]"
"""Function that parses an answer that is not a stream, from status, headers and body."""

_DATED: Final = re.compile(
    r"(?:[-@:](?:preview-)?(?:[0-9]{3,8}|[0-9]{2}-[0-9]{4}|[0-9]{4}-[0-9]{2}-[0-9]{2}))?(?:\.gguf)?"
)
"""Suffixes of a model id that name a version of the same model."""

_END_S: Final = 0.25
"""Most seconds to wait for the end of a stream after its terminator; some servers and proxies never end it."""

_SALT: Final = os.urandom(16)

FIRST_LISTED: Final = "first-listed"
"""Placeholder for the first model that a server lists; used if the environment names a server but no model id."""


class EventDecoder(ABC, Generic[DraftT]):
    """Base of decoders for one streamed answer; a subclass interprets events and decides when the answer is complete.

    A server may also answer a request for a stream with one JSON document. Everything after the terminator is ignored.
    The last event counts if its data is complete, even if the blank line that should end it is missing.

    Args:
        draft: Collects the answer.
        whole: Parses an answer that is not a stream.
    """

    def __init__(self, draft: DraftT, *, whole: ParseDocument) -> None:
        self.draft: DraftT = draft
        self.is_done: bool = False
        """Whether the terminator has arrived."""
        self._whole = whole
        self._framer = SseFramer(bare=True)
        self._document: bytearray | None = bytearray()
        self._events = 0

    @abstractmethod
    def take(self, event: SseEvent, fields: JsonObject) -> None:
        """Take one event and its JSON object.

        Raises:
            RoundtableError: The event reports an error or breaks the format.
        """

    @abstractmethod
    def is_whole(self) -> bool:
        """Check, after the last event, whether the answer is complete."""

    def take_word(self, data: bytes) -> bool:
        """Handle data that is not JSON, such as a terminator; return whether it was recognised."""
        return False

    def feed(self, chunk: bytes) -> Sequence[ChatDelta]:
        """Take the next bytes and return the deltas that they complete.

        Raises:
            RoundtableError: The stream reports an error or breaks its format.
        """
        if self._document is not None:
            chunk = self._sniff(self._document, chunk)
        for event in self.frame(chunk):
            self._handle(event)
        if self.is_done or self.is_whole():
            self.draft.end_characters()
        return self.draft.deltas()

    def finish(self) -> ChatResponse:
        """Return the whole answer, after the last bytes.

        Raises:
            APINetworkError: The stream ended before its terminator.
            AgentError: The stream was empty.
        """
        if self._document:
            return self._read_document(bytes(self._document))
        for event in self._framer.rest():
            if self._is_complete(event):
                self._handle(event)
        if not self._events:
            raise AgentError("the stream was empty", provider=self.draft.provider, retryable=True)
        if not self.is_done and not self.is_whole():
            raise APINetworkError(
                "the stream ended before the answer was complete",
                provider=self.draft.provider,
                hint="Try again; a proxy with a short time-out may be in the way.",
            )
        return self.draft.response()

    def _read_document(self, document: bytes) -> ChatResponse:
        try:
            return self._whole(200, self.draft.headers, document)
        except RoundtableError:
            # Some servers add a terminator to a document that reports an error.
            for event in (*self._framer.feed(document), *self._framer.rest()):
                if event.event == BARE:
                    self._raise_bare_error(event.data)
            raise

    def frame(self, chunk: bytes) -> list[SseEvent]:
        """Cut bytes into events."""
        return self._framer.feed(chunk)

    def is_document(self, start: bytes) -> bool:
        """Check whether the answer is a document, by its first byte; other answers are streams of events."""
        return start in b"{[<"

    def _sniff(self, document: bytearray, chunk: bytes) -> bytes:
        """Collect the bytes of a document; return the bytes that belong to a stream."""
        if not document:
            # Drop white space at once: scanning all of it again with every chunk would take minutes.
            chunk = chunk.lstrip(_SPACE)
        if not chunk:
            return b""
        if document or self.is_document(chunk[:1]):
            document += chunk
            return b""
        self._document = None
        return chunk

    def _handle(self, event: SseEvent) -> None:
        if self.is_done:
            return
        if event.event == BARE:
            self._raise_bare_error(event.data)
            return
        if event.data[:1] != b"{" and self.take_word(event.data.strip()):
            self._events += 1
            return
        if event.event == "error":
            raise self.reported_error(event.data)
        # Some proxies send empty data to keep the connection open. Only data that begins with a space is searched.
        if not event.data or (event.data[0] in _SPACE and not event.data.strip(_SPACE)):
            return
        value = load_json(event.data, keep_halves=True)
        if isinstance(value, dict) and "error" in (value.get("type"), value.get("object")):
            raise self.reported_error(value)
        if value is None:
            return
        if not isinstance(value, dict):
            raise AgentError("an event of the stream is not a JSON object", provider=self.draft.provider)
        self._events += 1
        self.take(event, value)

    def _is_complete(self, event: SseEvent) -> bool:
        if self.is_done:
            return False
        if event.event in {BARE, "error"}:
            return True
        try:
            return isinstance(load_json(event.data), dict)
        except RoundtableError:
            return self.take_word(event.data.strip())

    def _raise_bare_error(self, text: bytes) -> None:
        """Raise the error that some servers write as bare JSON between the events."""
        try:
            value = load_json(text)
        except RoundtableError:
            return
        if isinstance(value, list):
            value = value[0] if value else None
        if error := object_of(value).get("error"):
            raise self.reported_error({"error": error})

    def reported_error(self, refusal: bytes | JsonValue) -> RoundtableError:
        """Return the error that the stream reports, with the usage of the answer so far."""
        error = error_for(self.draft.provider, 200, self.draft.headers, read_refusal(refusal))
        self.draft.charge(error, is_cut_off=True)
        return error


class NonStreamingModel(ABC):
    """Base of models that cannot stream: `stream` yields the complete answer as its only piece."""

    @abstractmethod
    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once."""

    def stream(self, request: ChatRequest) -> ChatStream:
        """Answer once; the complete answer is the only piece."""
        return ChatStream(self._whole(request))

    async def _whole(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse]:
        yield await self.complete(request)


class HttpChatModel:
    """A `ChatModel` of a provider that speaks one of the dialects over HTTP.

    Args:
        spec: The provider.
        http: The client that sends the calls.
        model: Id of the model for requests that name no model; `FIRST_LISTED` asks the server on the first call.
        base_url: Root of the API, already checked.
        key: The secret key, already checked; `None` if the server needs no key.
        timeout_s: Total deadline of a call in seconds.
        on_close: Called when the model is closed; releases a shared client.
        extra_body: Additional fields of every request; the extra fields of a request itself win.
        cache_prompts: Whether to request caching of prompts with tools, from providers that cache only on request.
    """

    def __init__(
        self,
        spec: ProviderSpec,
        http: HttpClient,
        *,
        model: str,
        base_url: str,
        key: str | None = None,
        timeout_s: float = 120.0,
        on_close: Callable[[], Awaitable[None]] | None = None,
        extra_body: Mapping[str, JsonValue] | None = None,
        cache_prompts: bool = False,
    ) -> None:
        self._spec = spec
        self._http = http
        self._model = model
        self._base_url = base_url
        self._key = key
        self._timeout_s = timeout_s
        self._on_close = on_close
        self._extra_body = dict(extra_body or {})
        self._cache_prompts = cache_prompts
        self.facts: ModelFacts = ModelFacts(
            kind=spec.kind or spec.name,
            endpoint=base_url,
            # A salted hash, so that rate limits are counted per key; it does not reveal the key.
            account="" if key is None else blake2b(key.encode(), key=_SALT, digest_size=8).hexdigest(),
            requests_per_minute=spec.rate_at(base_url) or None,
            price_share=_price_share(spec, self._extra_body),
            keeps_deadline=True,  # the client applies the deadline to each read
        )
        """Address, key, default rate and price of the model."""

    def __repr__(self) -> str:
        return f"HttpChatModel(provider={self.provider!r}, model={self._model!r}, base_url={self._base_url!r})"

    @property
    def provider(self) -> str:
        """Name of the provider."""
        return self._spec.name

    @property
    def model(self) -> str:
        """Id of the model for requests that name no model; `FIRST_LISTED` until the first call has asked the server."""
        return self._model

    @property
    def endpoint(self) -> str:
        """Root of the API; models of one endpoint share limits."""
        return self._base_url

    @property
    def account(self) -> str:
        """A hash that distinguishes keys without revealing them; empty without a key."""
        return self.facts.account

    @property
    def profile(self) -> ModelProfile:
        """What the library must know to prompt this model."""
        return self._spec.profile_of(self._model)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once.

        Raises:
            RoundtableError: The call failed; `retryable` says whether it may succeed later.
        """
        try:
            return await self._complete(request)
        except RoundtableError as error:
            raise _without_tracebacks(error) from error.__cause__

    def stream(self, request: ChatRequest) -> ChatStream:
        """Return a stream of the answer's pieces, followed by the whole response.

        In an `async with` block, the stream yields the pieces and stores the response.

        Leaving the block or closing the iterator ends the call. The iteration raises a `RoundtableError` when the
        call fails, and when the stream ends before its terminator.
        """
        return ChatStream(self._stream(request))

    async def _stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse]:
        dialect, chunk, streamed = self._spec.dialect, b"", False
        try:
            with self._error_context({}):
                http_request = (await self._request(request, stream=True)).with_headers(self._auth())
                async with self._http.stream(http_request, timeout_s=self._timeout_s) as answer:
                    with self._error_context(answer.headers), _dialect_errors():
                        if not 200 <= answer.status < 300:
                            error = dialect.parse_error(answer.status, answer.headers, await answer.read())
                            raise self._check_type(error, RoundtableError, "parse_error")
                        decoder = dialect.stream_decoder(answer.headers)
                        async for chunk in answer:
                            for delta in decoder.feed(chunk):
                                streamed = True
                                yield delta
                            if (rest_s := _rest_s(decoder)) is not None:
                                answer.end_within(rest_s)
                        finished = self._check_type(decoder.finish(), ChatResponse, "finish")
                        response = self._with_warnings(finished, request)
        except RoundtableError as error:
            # A traceback may show the variables of this frame.
            del chunk
            raise _without_tracebacks(error) from error.__cause__
        if not streamed:
            yield delta_of(response)
        yield response

    async def _complete(self, request: ChatRequest) -> ChatResponse:
        http_request = await self.build(request)
        with self._error_context({}):
            answer = await self._http.send(http_request.with_headers(self._auth()), timeout_s=self._timeout_s)
        return self._read(answer.status, answer.headers, answer.body, request)

    async def build(self, request: ChatRequest) -> HttpRequest:
        """Return the HTTP request of a call, without the key.

        Raises:
            RoundtableError: The request cannot be built.
        """
        with self._error_context({}):
            return await self._request(request, stream=False)

    async def exchange(self, http_request: HttpRequest, limits: HttpLimits | None = None) -> HttpResponse:
        """Send any other HTTP request to the provider, with the key, and return the response.

        Args:
            http_request: The request, without the key.
            limits: Size limits of the response; if left out, the limits of the client.

        Raises:
            RoundtableError: The request failed, or the provider refused it.
        """
        try:
            with self._error_context({}):
                answer = await self._http.send(
                    http_request.with_headers(self._auth()), timeout_s=self._timeout_s, limits=limits
                )
            self._check_status(answer.status, answer.headers, answer.body)
        except RoundtableError as error:
            raise _without_tracebacks(error) from error.__cause__
        return answer

    def read(self, status: int, headers: Mapping[str, str], body: bytes, request: ChatRequest) -> ChatResponse:
        """Parse what the provider sent for a call, and return the response.

        Raises:
            RoundtableError: The call failed.
        """
        try:
            return self._read(status, headers, body, request)
        except RoundtableError as error:
            raise _without_tracebacks(error) from error.__cause__

    def _read(self, status: int, headers: Mapping[str, str], body: bytes, request: ChatRequest) -> ChatResponse:
        self._check_status(status, headers, body)
        with self._error_context(headers), _dialect_errors():
            parsed = self._spec.dialect.parse_response(status, headers, body)
            response = self._check_type(parsed, ChatResponse, "parse_response")
        return self._with_warnings(response, request)

    def _check_status(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        if 200 <= status < 300:
            return
        with self._error_context(headers), _dialect_errors():
            raise self._check_type(
                self._spec.dialect.parse_error(status, headers, body), RoundtableError, "parse_error"
            )

    def _check_type(self, value: object, kind: type[T], method: str) -> T:
        """Return a value that a dialect returned, after a check of its type; the dialect may come from a plugin.

        Raises:
            PluginError: The value is of another type.
        """
        if isinstance(value, kind):
            return value
        dialect = type(self._spec.dialect).__name__
        msg = f"{method} of {dialect}, the dialect of provider {self.provider!r}, returned {type(value).__name__}"
        raise PluginError(msg, plugin=self.provider, stage="use", hint=f"Return an object of the type {kind.__name__}.")

    def _with_warnings(self, response: ChatResponse, request: ChatRequest) -> ChatResponse:
        """Return the answer; add warnings if another model answered, or the search does not support some options."""
        model = request.model or self._model
        response, search = _with_model_warning(response, model), self._spec.profile_of(model).search
        unsupported = search.misfits(request.search) if request.search and search is not None else ()
        if not unsupported:
            return response
        warning = f"the web search of {self.provider!r} does not support {', '.join(unsupported)} as set here"
        return response.model_copy(update={"warnings": (*response.warnings, warning)})

    async def aclose(self) -> None:
        """Release the connections, unless another model of the provider still uses them; idempotent."""
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            await on_close()

    async def _request(self, request: ChatRequest, *, stream: bool) -> HttpRequest:
        if request.model in {"", FIRST_LISTED}:
            if self._model == FIRST_LISTED:
                self._model = await self._first_listed()
            request = request.model_copy(update={"model": self._model})
        if self._extra_body:
            extra = merged(self._extra_body, request.extra_body)
            request = request.model_copy(update={"extra_body": extra})
        if self._cache_prompts and request.tools and request.messages:
            # The next call of the turn begins with the same messages; the provider finds the longest cached part.
            *before, last = request.messages
            cached = (*before, last.model_copy(update={"cache": True}))
            request = request.model_copy(update={"messages": cached})
        built = self._spec.dialect.build_request(request, base_url=self._base_url, stream=stream)
        return self._check_type(built, HttpRequest, "build_request")

    async def _first_listed(self) -> str:
        request = HttpRequest("GET", f"{self._base_url}/models", {"accept": "application/json"})
        answer = await self._http.send(request.with_headers(self._auth()), timeout_s=self._timeout_s)
        if not 200 <= answer.status < 300:
            raise self._spec.dialect.parse_error(answer.status, answer.headers, answer.body)
        for item in items_of(object_of(load_json(answer.body)).get("data")):
            if name := text_of(object_of(item).get("id")):
                return name
        raise ConfigurationError(
            f"the server at {self._base_url} lists no model",
            hint="Add a model to the server, for example with `ollama pull`, or set ROUNDTABLE_MODEL.",
        )

    def _auth(self) -> dict[str, str]:
        if self._key is None:
            return {}
        if self._spec.auth == "bearer":
            return {"authorization": f"Bearer {self._key}"}
        return {self._spec.auth: self._key}

    @contextmanager
    def _error_context(self, headers: Mapping[str, str]) -> Generator[None]:
        """Add the provider and the request id to an error, and remove the key from it."""
        try:
            yield
        except RoundtableError as error:
            error.provider = error.provider or self.provider
            error.request_id = error.request_id or request_id_of(headers)
            redact(error, self._key)
            raise


def _price_share(spec: ProviderSpec, extra_body: Mapping[str, JsonValue]) -> Decimal:
    """Return the share of the tokens' list price that a call costs: one half for the service tier `flex`.

    See https://platform.openai.com/docs/guides/flex-processing and
    https://ai.google.dev/gemini-api/docs/flex-inference.
    """
    tiers = (extra_body.get("service_tier"), extra_body.get("serviceTier"))
    return HALF_PRICE if "flex" in tiers and spec.batch_api in {"google", "openai"} else FULL_PRICE


def _rest_s(decoder: Decoder) -> float | None:
    """Return how many seconds to wait for the rest of a stream; `None` if the answer is not complete yet.

    After the terminator, only the end of the body follows; without this end, the connection cannot be reused. An answer
    that may be complete waits until the deadline of the call, and then counts.
    """
    if getattr(decoder, "is_done", False):
        return _END_S
    is_whole: Callable[[], bool] | None = getattr(decoder, "is_whole", None)
    return math.inf if is_whole is not None and is_whole() else None


@contextmanager
def _dialect_errors() -> Generator[None]:
    """Turn any exception of a dialect into an `AgentError` without a cause: the cause may hold the whole answer."""
    try:
        yield
    except RoundtableError:
        raise
    except Exception as error:  # noqa: BLE001  (dialects of plugins parse untrusted input)
        raise AgentError(
            f"the answer does not have the expected format: {type(error).__name__}",
            retryable=True,
            hint="Check the base URL; the server may use another API, or leave out a field of this API.",
        ) from None


def _with_model_warning(response: ChatResponse, requested: str) -> ChatResponse:
    """Add a warning if a model other than the requested one answered; a dated version counts as the same model."""
    answered = response.model
    if answered is None or requested == FIRST_LISTED:
        return response
    short, long = sorted((_plain_name(requested), _plain_name(answered)), key=len)
    if long.startswith(short) and _DATED.fullmatch(long, len(short)):
        return response
    warning = f"asked for the model {requested!r}, but {answered!r} answered"
    return response.model_copy(update={"warnings": (*response.warnings, warning)})


def _plain_name(model: str) -> str:
    """Return the name of a model, case-folded, without its folder and the label `latest`."""
    return model.rsplit("/", 1)[-1].casefold().removesuffix("-latest").removesuffix(":latest")


def _without_tracebacks(error: RoundtableError) -> RoundtableError:
    """Drop the tracebacks of an error and its causes: their frames hold the answer, which may repeat the key."""
    link: BaseException | None = error
    while link is not None:
        link.__traceback__ = None
        link = link.__cause__ or link.__context__
    return error
