"""A model that records its calls on a cassette."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio.lowlevel

from roundtable.core.chat_models import close_stream, facts_of, make_ready
from roundtable.core.errors import ConfigurationError, RoundtableError
from roundtable.core.stages import error_from_info
from roundtable.core.types.chat import ChatDelta, ChatResponse, Usage
from roundtable.core.types.debate import ErrorInfo
from roundtable.core.types.model_facts import ModelFacts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from roundtable.core.protocols import ChatModel
    from roundtable.core.types.agents import ModelProfile
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.chat import ChatRequest
    from roundtable.providers.cassette.cassette import Cassette, KnownModel
    from roundtable.providers.cassette.tape import RecordedCall

__all__ = ["RecordedModel", "recorded_deltas", "replay_call"]


class RecordedModel:
    """A `ChatModel` that replays calls from a cassette, and records the calls of the model that it wraps.

    `Cassette` creates it.

    Args:
        cassette: The recordings.
        provider: Name of the provider.
        make: Function that returns the wrapped model; called when the first call has to be made.
        known: Recorded facts of the wrapped model.
        made: The wrapped model, if it exists already; it is closed with this model, even if it was never called.
        requests_per_minute: Default rate limit of the provider, for calls that are not recorded.
        account: Hash of the key for calls that are not recorded.
    """

    def __init__(
        self,
        cassette: Cassette,
        provider: str,
        make: Callable[[], ChatModel],
        *,
        known: KnownModel,
        made: ChatModel | None = None,
        requests_per_minute: float | None = None,
        account: str = "",
    ) -> None:
        self._cassette = cassette
        self._provider = provider
        self._make = make
        self._known = known
        self._inner: ChatModel | None = None
        self._made = made
        self.facts: ModelFacts = ModelFacts(
            endpoint=known.endpoint,
            account=account,
            requests_per_minute=requests_per_minute,
            price_share=facts_of(made).price_share,
        )
        """The recorded address, the limits, and the share of the price of the wrapped model, once it exists."""

    def __repr__(self) -> str:
        return f"RecordedModel({self._provider}:{self._known.model}, {self._cassette!r})"

    @property
    def provider(self) -> str:
        """Name of the provider."""
        return self._provider

    @property
    def model(self) -> str:
        """Id of the model for requests that name no model."""
        return self._known.model

    @property
    def profile(self) -> ModelProfile:
        """What the library must know to prompt this model."""
        return self._known.profile

    def is_replayed(self, request: ChatRequest) -> bool:
        """Check whether the cassette answers a call, so that the wrapped model is not needed."""
        return self._cassette.holds(request, self._provider, request.model or self.model)

    def is_recorded(self, request: ChatRequest) -> bool:
        """Check whether the cassette contains a call."""
        return self._cassette.has(request, self._provider, request.model or self.model)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the recorded response, or call the model and record its response.

        Raises:
            CassetteMiss: The call is not recorded, and the mode is `replay`.
            RoundtableError: The recorded error, or an error of the model.
        """
        model = request.model or self.model
        call = self._cassette.find(request, self._provider, model)
        if call is not None:
            await anyio.lowlevel.checkpoint()
            return replay_call(call)
        try:
            response = await (await self._inner_model()).complete(request)
        except RoundtableError as error:
            self._cassette.record(request, self._provider, model, {"error": _error_facts(error)})
            raise
        # The gateway rejects a value that is not a response.
        if isinstance(response, ChatResponse):  # pyright: ignore[reportUnnecessaryIsInstance]
            self._cassette.record(request, self._provider, model, {"response": _facts(response)})
        return response

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        """Yield the recorded response in its original pieces, or stream from the model and record the pieces.

        A response that was not recorded as a stream comes in one piece.

        A stream that is closed early is not recorded. A stream that the gateway ends at its deadline is recorded, with
        the error.

        Raises:
            CassetteMiss: The call is not recorded, and the mode is `replay`.
            RoundtableError: The recorded error, or an error of the model.
        """
        model = request.model or self.model
        call = self._cassette.find(request, self._provider, model)
        if call is not None:
            recorded = recorded_deltas(call)
            if "deltas" not in call.outcome and "error" not in call.outcome and (text := replay_call(call).text):
                recorded = [ChatDelta(text=text)]
            for delta in recorded:
                await anyio.lowlevel.checkpoint()
                yield delta
            await anyio.lowlevel.checkpoint()
            yield replay_call(call)
            return
        pieces = (await self._inner_model()).stream(request)
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
        """Record that the gateway ended a call at its deadline, with the text that was received before."""
        if self._cassette.mode != "replay":
            outcome: JsonObject = {"deltas": [{"text": text} for text in shown], "error": _error_facts(error)}
            self._cassette.record(request, self._provider, request.model or self.model, outcome)

    async def prepare(self) -> None:
        """Prepare the wrapped model if the mode is `record`; in other modes, its first call does that.

        Raises:
            RoundtableError: The model cannot be created or prepared.
        """
        if self._cassette.mode == "record":
            await self._inner_model()

    async def _inner_model(self) -> ChatModel:
        if self._inner is None:
            inner = self._make()
            await make_ready(inner)
            self._inner, self.facts = inner, replace(self.facts, price_share=facts_of(inner).price_share)
        return self._inner

    async def aclose(self) -> None:
        """Release the wrapped model, if it exists; idempotent."""
        model = self._inner or self._made
        if model is not None:
            await model.aclose()


def _facts(response: ChatResponse) -> JsonObject:
    return response.model_dump(mode="json", exclude_defaults=True)


def _error_facts(error: RoundtableError) -> JsonObject:
    usage: JsonValue = None if error.usage is None else error.usage.model_dump(mode="json")
    return error.to_dict() if usage is None else error.to_dict() | {"usage": usage}


def recorded_deltas(call: RecordedCall) -> list[ChatDelta]:
    """Return the pieces of a recorded answer; none if it was not streamed.

    Raises:
        ConfigurationError: The recording cannot be parsed.
    """
    deltas = call.outcome.get("deltas")
    try:
        return [ChatDelta.model_validate(piece) for piece in deltas] if isinstance(deltas, list) else []
    except ValueError as error:
        raise _unreadable(call) from error


def replay_call(call: RecordedCall) -> ChatResponse:
    """Return the recorded response, or raise the recorded error.

    Raises:
        RoundtableError: The recorded error.
        ConfigurationError: The recording cannot be parsed.
    """
    failure = call.outcome.get("error")
    try:
        if not isinstance(failure, dict):
            return ChatResponse.model_validate(call.outcome.get("response"))
        error = _error_of(failure)
    except ValueError as problem:
        raise _unreadable(call) from problem
    raise error


def _unreadable(call: RecordedCall) -> ConfigurationError:
    return ConfigurationError(
        f"line {call.line} of the cassette does not contain a valid response", hint="Record the cassette again."
    )


def _error_of(facts: JsonObject) -> RoundtableError:
    """Create an error from its recorded facts."""
    usage = facts.get("usage")
    info = {name: value for name, value in facts.items() if name != "usage"}
    error = error_from_info(ErrorInfo.model_validate(info))
    error.usage = Usage.model_validate(usage) if isinstance(usage, dict) else None
    error.is_recorded = True
    return error
