"""The calls of one model for one turn: its answers and what they cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from roundtable.core.agent.sources import sources_in
from roundtable.core.base.strict_json import shallow
from roundtable.core.chat_models import announcing, close_stream
from roundtable.core.errors import AgentError, APINetworkError, RoundtableError
from roundtable.core.stages import HALTED, TurnCancelled
from roundtable.core.types.answers import ToolCallRecord
from roundtable.core.types.chat import NO_USAGE, ChatRequest, ChatResponse

if TYPE_CHECKING:
    from roundtable.core.protocols import ChatModel, TurnListener
    from roundtable.core.types.answers import Citation, ContextRequest
    from roundtable.core.types.chat import Usage
    from roundtable.core.types.model_facts import RetryNotice

__all__ = ["Conversation", "continued"]


@dataclass
class Conversation:
    """The calls of one model for one turn. Their usage is counted, so that a failed turn is charged as well."""

    model: ChatModel
    """Model that is called."""
    listener: TurnListener | None = None
    """Listener that is notified of the steps of the turn."""
    usage: Usage = NO_USAGE
    """The usage so far."""
    usage_by_call: list[Usage] = field(default_factory=list)
    """The usage of each call."""
    request_ids: list[str] = field(default_factory=list)
    """The provider's ids of the calls."""
    answered: bool = False
    """Whether the model has answered, so that at least one call was paid for."""
    citations: list[Citation] = field(default_factory=list)
    """Sources that the provider returned in all calls."""
    server_calls: list[ToolCallRecord] = field(default_factory=list)
    """Calls of tools that the provider ran itself, such as its search; they do not count against the allowance."""
    warnings: list[str] = field(default_factory=list)
    """Warnings about the calls; equal warnings are listed once."""

    async def ask(self, request: ChatRequest, max_steps: int) -> ChatResponse:
        """Call the model until its answer is whole: a provider may pause within it.

        Args:
            request: The request.
            max_steps: The most model calls.
        """
        text_so_far = ""
        for _ in range(max_steps - 1):
            response = await self.call(request)
            if response.finish_reason != "pause":
                break
            text_so_far += response.text
            request = continued(request, response)
        else:
            response = await self.call(request)
        return response.model_copy(update={"text": text_so_far + response.text}) if text_so_far else response

    async def announce_repeat(self, error: RoundtableError) -> None:
        """Notify the listener that the model is asked once more, and that the text received so far does not count."""
        if self.listener is not None:
            await self.listener.retrying(2, 0.0, error)

    @property
    def tool_calls(self) -> tuple[ToolCallRecord, ...]:
        """Calls of tools, those of the provider first."""
        return tuple(self.server_calls)

    @property
    def sources(self) -> list[Citation]:
        """Sources of the answer. If it cites none of the pages that the provider found, all of them count."""
        return self.citations or sources_in(record.output for record in self.server_calls)

    @property
    def context_requests(self) -> tuple[ContextRequest, ...]:
        """Information that the agent requests from the caller."""
        return ()

    def closing_warnings(self) -> tuple[str, ...]:
        """Return the warnings that are known only when the turn is over; ask once a turn."""
        return ()

    async def call(self, request: ChatRequest, *, streamed: bool = True) -> ChatResponse:
        """Call the model once, and count what the call cost.

        Args:
            request: The request.
            streamed: Whether the listener may receive the answer in pieces.

        Raises:
            RoundtableError: The call failed, or the debate was asked to stop.
        """
        model, listener = self.model, self.listener
        if listener is not None:
            told = announcing(model, partial(self._before_call, listener), partial(_notify_retry, listener))
            if told is None:
                await self._before_call(listener)
            else:
                model = told
        try:
            if streamed and self.listener is not None and self.listener.wants_pieces and model.profile.streams:
                response = await self._stream(model, request, self.listener)
            else:
                response = await model.complete(request)
        except RoundtableError as error:
            if error.usage is not None:
                self.charge(error.usage)
            raise
        self.answered = True
        self.charge(response.usage)
        self.citations.extend(response.citations)
        self.server_calls += [
            ToolCallRecord(tool_name=call.name, input=shallow(call.input), output=shallow(call.output))
            for call in response.server_calls
        ]
        self.warnings.extend(note for note in response.warnings if note not in self.warnings)
        if response.request_id:
            self.request_ids.append(response.request_id)
        return response

    def charge(self, usage: Usage) -> None:
        """Add the usage of one call."""
        self.usage += usage
        self.usage_by_call.append(usage)

    async def _before_call(self, listener: TurnListener) -> None:
        """Announce a call to the listener. If a turn is cancelled after a paid call, raise an error with the cost."""
        try:
            await listener.before_call()
        except TurnCancelled as cancelled:
            if not self.answered:
                raise
            msg = "the debate was asked to stop within this turn"
            raise AgentError(msg, code=HALTED, provider=self.model.provider, cause=cancelled) from cancelled

    async def _stream(self, model: ChatModel, request: ChatRequest, listener: TurnListener) -> ChatResponse:
        pieces = model.stream(request)
        try:
            async for piece in pieces:
                if isinstance(piece, ChatResponse):
                    return piece
                if piece.text:
                    await listener.chunk(piece.text)
        finally:
            await close_stream(pieces)
        msg = "the stream ended without its response"
        raise APINetworkError(msg, provider=model.provider)


def continued(request: ChatRequest, response: ChatResponse) -> ChatRequest:
    """Return the request that lets a provider continue an answer within which it paused."""
    return request.model_copy(update={"messages": (*request.messages, response.to_message())})


async def _notify_retry(listener: TurnListener, notice: RetryNotice) -> None:
    await listener.retrying(notice.attempt, notice.delay_s, notice.error)
