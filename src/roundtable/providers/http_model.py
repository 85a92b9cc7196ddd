"""A model behind HTTP: a dialect and a client put together."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from roundtable.errors import AgentError, ConfigurationError, RoundtableError
from roundtable.gateway.streams import ChatStream
from roundtable.http.messages import HttpRequest
from roundtable.providers.draft import delta_of
from roundtable.providers.failures import redacted, request_id_of
from roundtable.providers.wire import items_of, load_json, object_of, text_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping

    from roundtable.http.client import HttpClient
    from roundtable.providers.spec import ProviderSpec
    from roundtable.types import ChatDelta, ChatRequest, ChatResponse, ModelProfile

__all__ = ["FIRST_LISTED", "HttpChatModel"]

_DATED: Final = re.compile(
    r"(?:[-@:](?:preview-)?(?:[0-9]{3,8}|[0-9]{2}-[0-9]{4}|[0-9]{4}-[0-9]{2}-[0-9]{2}))?(?:\.gguf)?"
)
"""What may stand behind the name of a model without making it another one."""

FIRST_LISTED: Final = "first-listed"
"""Stands for the first model a server lists, for servers that the environment names without a model."""


class HttpChatModel:
    """A `ChatModel` of a provider that speaks one of the dialects over HTTP.

    Args:
        spec: The provider.
        http: The client to call through.
        model: Model id used when a request names none; `FIRST_LISTED` asks the server on the first call.
        base_url: Root of the API, checked.
        key: The secret key, checked; None where the server wants none.
        timeout_s: Total deadline of a call in seconds.
        on_close: What to do when the model is closed; for a client that is shared.
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
    ) -> None:
        self._spec = spec
        self._http = http
        self._model = model
        self._base_url = base_url
        self._key = key
        self._timeout_s = timeout_s
        self._on_close = on_close

    def __repr__(self) -> str:
        return f"HttpChatModel(provider={self.provider!r}, model={self._model!r}, base_url={self._base_url!r})"

    @property
    def provider(self) -> str:
        """Name of the provider."""
        return self._spec.name

    @property
    def model(self) -> str:
        """Model id used when a request names none; `FIRST_LISTED` until the server was asked."""
        return self._model

    @property
    def endpoint(self) -> str:
        """Root of the API; models of one endpoint share limits."""
        return self._base_url

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
            raise _bare(error) from error.__cause__

    def stream(self, request: ChatRequest) -> ChatStream:
        """Answer in pieces, then whole; as a block it gives the pieces alone and keeps the response.

        Leaving the block or closing the iterator ends the call. What iterates gets a `RoundtableError` when the
        call failed, also when the stream ended before its terminator.
        """
        return ChatStream(self._stream(request))

    async def _stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse]:
        dialect, chunk, streamed = self._spec.dialect, b"", False
        try:
            with self._named({}):
                sent = await self._request(request, stream=True)
                async with self._http.stream(sent, timeout_s=self._timeout_s) as answer:
                    with self._named(answer.headers), _reading():
                        if not 200 <= answer.status < 300:
                            raise dialect.parse_error(answer.status, answer.headers, await answer.read())
                        decoder = dialect.stream_decoder(answer.headers)
                        async for chunk in answer:
                            for delta in decoder.feed(chunk):
                                streamed = True
                                yield delta
                        response = _told_of_another(decoder.finish(), request.model or self._model)
        except RoundtableError as error:
            # A traceback may show this frame's variables.
            del chunk
            raise _bare(error) from error.__cause__
        if not streamed:
            yield delta_of(response)
        yield response

    async def _complete(self, request: ChatRequest) -> ChatResponse:
        dialect = self._spec.dialect
        with self._named({}):
            sent = await self._request(request, stream=False)
            answer = await self._http.send(sent, timeout_s=self._timeout_s)
        with self._named(answer.headers), _reading():
            if not 200 <= answer.status < 300:
                raise dialect.parse_error(answer.status, answer.headers, answer.body)
            response = dialect.parse_response(answer.status, answer.headers, answer.body)
        return _told_of_another(response, request.model or self._model)

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
        built = self._spec.dialect.build_request(request, base_url=self._base_url, stream=stream)
        return built.with_headers(self._auth())

    async def _first_listed(self) -> str:
        asked = HttpRequest("GET", f"{self._base_url}/models", {"accept": "application/json"})
        answer = await self._http.send(asked.with_headers(self._auth()), timeout_s=self._timeout_s)
        if not 200 <= answer.status < 300:
            raise self._spec.dialect.parse_error(answer.status, answer.headers, answer.body)
        for item in items_of(object_of(load_json(answer.body)).get("data")):
            if name := text_of(object_of(item).get("id")):
                return name
        raise ConfigurationError(
            f"the server at {self._base_url} lists no model",
            hint="Give the server a model (such as with `ollama pull`), or set ROUNDTABLE_MODEL.",
        )

    def _auth(self) -> dict[str, str]:
        if self._key is None:
            return {}
        if self._spec.auth == "bearer":
            return {"authorization": f"Bearer {self._key}"}
        return {self._spec.auth: self._key}

    @contextmanager
    def _named(self, headers: Mapping[str, str]) -> Generator[None]:
        """Complete what the library raises with who failed, and keep the key out of it."""
        try:
            yield
        except RoundtableError as error:
            error.provider = error.provider or self.provider
            error.request_id = error.request_id or request_id_of(headers)
            redacted(error, self._key)
            raise


@contextmanager
def _reading() -> Generator[None]:
    """Take what makes a dialect stumble for an answer that does not fit it; such an exception may hold all of that."""
    try:
        yield
    except RoundtableError:
        raise
    except Exception as error:  # noqa: BLE001  (dialects of plugins read what strangers write)
        raise AgentError(
            f"the answer does not fit the dialect: {type(error).__name__}",
            retryable=True,
            hint="The server does not speak this API, or the dialect expects what is not there.",
        ) from None


def _told_of_another(response: ChatResponse, asked: str) -> ChatResponse:
    """Warn where another model answers than the one asked for; a dated version of it is the same one."""
    answered = response.model
    if answered is None or asked == FIRST_LISTED:
        return response
    short, long = sorted((_plain_name(asked), _plain_name(answered)), key=len)
    if long.startswith(short) and _DATED.fullmatch(long, len(short)):
        return response
    warning = f"the model {asked!r} was asked, {answered!r} answered"
    return response.model_copy(update={"warnings": (*response.warnings, warning)})


def _plain_name(model: str) -> str:
    """Give the name of a model without the folder, the label of the newest version, and how it is spelt."""
    return model.rsplit("/", 1)[-1].casefold().removesuffix("-latest").removesuffix(":latest")


def _bare(error: RoundtableError) -> RoundtableError:
    """Drop the frames below from an error: their variables hold what the server sent, and it may repeat the key."""
    below: BaseException | None = error
    while below is not None:
        below.__traceback__ = None
        below = below.__cause__ or below.__context__
    return error
