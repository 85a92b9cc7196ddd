"""A model behind a cassette."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.lowlevel

from roundtable.errors import ConfigurationError, RoundtableError
from roundtable.gateway.wrapping import close_stream, make_ready
from roundtable.stages import error_from_info
from roundtable.types import ChatDelta, ChatResponse, ErrorInfo, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from roundtable.protocols import ChatModel
    from roundtable.providers.cassette.cassette import Cassette, Known
    from roundtable.providers.cassette.tape import Call
    from roundtable.types import ChatRequest, JsonObject, JsonValue, ModelProfile

__all__ = ["TapedModel", "recorded_deltas", "replayed"]


class TapedModel:
    """A `ChatModel` that asks a cassette first, and writes down what its model gives; made by `Cassette`.

    Args:
        cassette: Where recordings are.
        provider: Name of the provider.
        make: Gives the model behind, when it has to be called.
        known: Its id and profile.
        made: The model behind, where it is made already; it is closed with this one, called or not.
    """

    def __init__(
        self,
        cassette: Cassette,
        provider: str,
        make: Callable[[], ChatModel],
        *,
        known: Known,
        made: ChatModel | None = None,
    ) -> None:
        self._cassette = cassette
        self._provider = provider
        self._make = make
        self._known = known
        self._inner: ChatModel | None = None
        self._made = made

    def __repr__(self) -> str:
        return f"TapedModel({self._provider}:{self._known.model}, {self._cassette!r})"

    @property
    def provider(self) -> str:
        """Name of the provider."""
        return self._provider

    @property
    def model(self) -> str:
        """Model id used when a request names none."""
        return self._known.model

    @property
    def endpoint(self) -> str:
        """Root of the provider's API; empty where there is none."""
        return self._known.endpoint

    @property
    def profile(self) -> ModelProfile:
        """What the library must know to prompt this model."""
        return self._known.profile

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Give what is recorded, or answer once and record it.

        Raises:
            CassetteMiss: Nothing is recorded, and the cassette only replays.
            RoundtableError: What is recorded as raised, or what the model raises.
        """
        model = request.model or self.model
        found = self._cassette.find(request, self._provider, model)
        if found is not None:
            await anyio.lowlevel.checkpoint()
            return replayed(found)
        try:
            response = await (await self._real()).complete(request)
        except RoundtableError as error:
            self._cassette.record(request, self._provider, model, {"error": _error_facts(error)})
            raise
        # What is no response is for the gateway to refuse.
        if isinstance(response, ChatResponse):  # pyright: ignore[reportUnnecessaryIsInstance]
            self._cassette.record(request, self._provider, model, {"response": _facts(response)})
        return response

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        """Give what is recorded in the pieces that it came in, or answer in pieces and record them.

        A stream that is closed early is not recorded; one that the gateway ends at its deadline is, with its error.

        Raises:
            CassetteMiss: Nothing is recorded, and the cassette only replays.
            RoundtableError: What is recorded as raised, or what the model raises.
        """
        model = request.model or self.model
        found = self._cassette.find(request, self._provider, model)
        if found is not None:
            for delta in recorded_deltas(found):
                await anyio.lowlevel.checkpoint()
                yield delta
            await anyio.lowlevel.checkpoint()
            yield replayed(found)
            return
        pieces = (await self._real()).stream(request)
        deltas: list[JsonValue] = []
        try:
            async for piece in pieces:
                if isinstance(piece, ChatResponse):
                    outcome: JsonObject = {"deltas": deltas, "response": _facts(piece)}
                    self._cassette.record(request, self._provider, model, outcome)
                else:
                    deltas.append(piece.model_dump(mode="json", exclude_defaults=True))
                yield piece
        except RoundtableError as error:
            self._cassette.record(request, self._provider, model, {"deltas": deltas, "error": _error_facts(error)})
            raise
        finally:
            await close_stream(pieces)

    def deadline_missed(self, request: ChatRequest, error: RoundtableError, shown: Sequence[str]) -> None:
        """Record that the gateway ended a call at its deadline, with the text that had come until then."""
        if self._cassette.mode != "replay":
            outcome: JsonObject = {"deltas": [{"text": text} for text in shown], "error": _error_facts(error)}
            self._cassette.record(request, self._provider, request.model or self.model, outcome)

    async def prepare(self) -> None:
        """Let the model fetch or load what it needs, where all calls are recorded; else once it is called.

        Raises:
            RoundtableError: The model cannot be had.
        """
        if self._cassette.mode == "record":
            await self._real()

    async def _real(self) -> ChatModel:
        if self._inner is None:
            inner = self._make()
            await make_ready(inner)
            self._inner = inner
        return self._inner

    async def aclose(self) -> None:
        """Release what the model holds, where there is one; idempotent."""
        held = self._inner or self._made
        if held is not None:
            await held.aclose()


def _facts(response: ChatResponse) -> JsonObject:
    return response.model_dump(mode="json", exclude_defaults=True)


def _error_facts(error: RoundtableError) -> JsonObject:
    usage: JsonValue = None if error.usage is None else error.usage.model_dump(mode="json")
    return error.to_dict() if usage is None else error.to_dict() | {"usage": usage}


def recorded_deltas(call: Call) -> list[ChatDelta]:
    """Give the pieces a recorded answer came in; none where it did not stream.

    Raises:
        ConfigurationError: What is recorded cannot be read.
    """
    found = call.outcome.get("deltas")
    try:
        return [ChatDelta.model_validate(piece) for piece in found] if isinstance(found, list) else []
    except ValueError as error:
        raise _unreadable(call) from error


def replayed(call: Call) -> ChatResponse:
    """Give a recorded response, or raise the recorded error.

    Raises:
        RoundtableError: The error that was recorded.
        ConfigurationError: What is recorded cannot be read.
    """
    failure = call.outcome.get("error")
    try:
        if not isinstance(failure, dict):
            return ChatResponse.model_validate(call.outcome.get("response"))
        error = _error_of(failure)
    except ValueError as problem:
        raise _unreadable(call) from problem
    raise error


def _unreadable(call: Call) -> ConfigurationError:
    return ConfigurationError(
        f"line {call.line} of the cassette holds no response that can be read", hint="Record the cassette anew."
    )


def _error_of(facts: JsonObject) -> RoundtableError:
    """Build an error from what was written of it."""
    usage = facts.get("usage")
    known = {name: value for name, value in facts.items() if name != "usage"}
    error = error_from_info(ErrorInfo.model_validate(known))
    error.usage = Usage.model_validate(usage) if isinstance(usage, dict) else None
    error.is_recorded = True
    return error
