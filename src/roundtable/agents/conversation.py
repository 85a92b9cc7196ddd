"""The calls of one model for one turn: its answers, its tools, its searches and what they cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from roundtable.agents.native_search import SeatSearch, may_break_on_search, refuses_request, refuses_search
from roundtable.agents.tool_loop import MOST_TOOL_ROUNDS
from roundtable.core.base.strict_json import shallow
from roundtable.core.errors import AgentError, APINetworkError, BudgetExceeded, RoundtableError
from roundtable.core.stages import HALTED, TurnCancelled
from roundtable.core.types.answers import ToolCallRecord
from roundtable.core.types.chat import NO_USAGE, ChatRequest, ChatResponse
from roundtable.gateway.wrapping import announcing, close_stream

if TYPE_CHECKING:
    from roundtable.agents.tool_loop import TurnTools
    from roundtable.core.prompts.fence import Fence
    from roundtable.core.protocols import ChatModel, TurnListener
    from roundtable.core.types.answers import Citation
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.chat import Usage
    from roundtable.core.types.model_facts import RetryNotice

__all__ = ["Conversation"]

_MAX_RESULT_CHARS: Final = 20_000
_SEARCH_TOOL: Final = "web_search"


@dataclass(slots=True)
class Conversation:
    """The calls of one model for one turn. Their usage is counted, so that a failed turn is charged as well."""

    model: ChatModel
    """Model that is called."""
    fence: Fence
    """Fence that quotes the results of tools."""
    tools: TurnTools
    """Tools that run the calls that the model requests."""
    listener: TurnListener | None = None
    """Listener that is notified of the steps of the turn."""
    search: SeatSearch = field(default_factory=lambda: SeatSearch(None))
    """Web search, which knows the sessions in which the provider refused to search."""
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

    async def ask(self, request: ChatRequest, max_steps: int | None = None, *, tools: bool = True) -> ChatResponse:
        """Call the model until it answers without requesting a tool.

        When the allowance of tool calls or the steps are used up, the model is called once more without tools. An
        answer that is submitted through a tool ends the conversation. If a model cannot search and call tools in the
        same request, a separate call searches first.

        Args:
            request: The request; tools are added to it.
            max_steps: The most model calls; if left out, 11, of which 10 may request tools.
            tools: Whether tools may be called.
        """
        available = self.tools.offered if tools else ()
        steps_left = step_limit = max_steps or MOST_TOOL_ROUNDS + 1
        if request.search and available and self.model.profile.search_alone:
            request = await self._search_first(request)
        text_so_far = ""
        while True:
            steps_left -= 1
            last = steps_left <= 0 or self.tools.spent
            step_request = request if last or not available else request.model_copy(update={"tools": available})
            response = await self._call_or_drop_search(step_request)
            if step_request.search and self.search.is_refused(step_request.metadata.get("session", "")):
                request = request.model_copy(update={"search": self.search.off})
            if response.finish_reason == "pause" and steps_left > 0:
                # The provider continues the answer when it gets the answer back.
                text_so_far += response.text
                messages = (*request.messages, response.to_message())
                request = request.model_copy(update={"messages": messages})
                continue
            if not response.tool_calls or not step_request.tools:
                return response.model_copy(update={"text": text_so_far + response.text}) if text_so_far else response
            text_so_far = ""
            calls = self.tools.with_unique_ids(response.tool_calls)
            answers = await self.tools.answer(calls, step_limit - steps_left, response.finish_reason)
            for usage in self.tools.take_usage():
                self.usage += usage
                self.usage_by_call.append(usage)
            if self.tools.submitted is not None:
                return self._submitted_response(response, self.tools.submitted)
            message = response.to_message().model_copy(update={"tool_calls": calls})
            request = request.model_copy(update={"messages": (*request.messages, message, *answers)})

    async def announce_repeat(self, error: RoundtableError) -> None:
        """Notify the listener that the model is asked once more, and that the text received so far does not count."""
        if self.listener is not None:
            await self.listener.retrying(2, 0.0, error)

    async def _call_or_drop_search(self, request: ChatRequest) -> ChatResponse:
        """Call the model. If it refuses the search, call it without a search, and stop searching in this session."""
        try:
            response = await self._call(request)
        except RoundtableError as error:
            if not request.search or not self._may_be_the_search(error):
                raise
            failure = error
        else:
            self.search.has_worked = self.search.has_worked or bool(request.search)
            return response
        session = request.metadata.get("session", "")
        try:
            response = await self._call(request.model_copy(update={"search": self.search.off}))
        except RoundtableError as error:
            # If the request fails in the same way without a search, the search was not the reason.
            if not (refuses_request(error) or may_break_on_search(failure) or isinstance(error, BudgetExceeded)):
                self.search.refuse(session, failure)
            raise
        self.search.refuse(session, failure)
        return response

    def _may_be_the_search(self, error: RoundtableError) -> bool:
        """Check whether a call may have failed because of its search, so that one without a search may succeed."""
        if isinstance(error, BudgetExceeded) or refuses_search(error):
            return True
        return not self.search.has_worked and may_break_on_search(error)

    def _submitted_response(self, response: ChatResponse, answer: JsonObject) -> ChatResponse:
        """Return the response with the submitted answer as text; the confidence is converted to the model's scale."""
        confidence = answer.get("confidence")
        if isinstance(confidence, int | float):
            answer = answer | {"confidence": confidence * self.model.profile.confidence_scale}
        return response.model_copy(update={"text": json.dumps(answer), "tool_calls": (), "finish_reason": "stop"})

    async def _search_first(self, request: ChatRequest) -> ChatRequest:
        """Search in a separate call. Return the request with the results, and with the search turned off.

        If the search fails temporarily, the failure is recorded and mentioned in the prompt: the model can answer
        without results.
        """
        name = self.model.profile.search_model or request.model
        try:
            results = await self._call(
                request.model_copy(update={"model": name, "output_schema": None}), streamed=False
            )
        except RoundtableError as error:
            if isinstance(error, BudgetExceeded) or refuses_request(error):
                self.search.refuse(request.metadata.get("session", ""), error)
                return request.model_copy(update={"search": None})
            if not error.retryable:
                raise
            failure: JsonValue = {"error": error.code}
            self.server_calls.append(ToolCallRecord(tool_name=_SEARCH_TOOL, output=failure))
            note = "A search of the web was tried and failed; say so where your answer would need one."
        else:
            sources = [f"{number}. {link.title}: {link.url}" for number, link in enumerate(results.citations, 1)]
            text = "\n".join([*sources, results.text])[:_MAX_RESULT_CHARS]
            note = f"What a search of the web found:\n{self.fence.quote(text, label='results of a search of the web')}"
        last_message = request.messages[-1]
        message = last_message.model_copy(update={"content": f"{last_message.content}\n\n{note}"})
        return request.model_copy(update={"messages": (*request.messages[:-1], message), "search": None})

    async def _call(self, request: ChatRequest, *, streamed: bool = True) -> ChatResponse:
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
                self.usage += error.usage
                self.usage_by_call.append(error.usage)
            raise
        self.answered = True
        self.usage += response.usage
        self.usage_by_call.append(response.usage)
        self.citations.extend(response.citations)
        self.server_calls += [
            ToolCallRecord(tool_name=call.name, input=shallow(call.input), output=shallow(call.output))
            for call in response.server_calls
        ]
        self.warnings.extend(note for note in response.warnings if note not in self.warnings)
        if response.request_id:
            self.request_ids.append(response.request_id)
        return response

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


async def _notify_retry(listener: TurnListener, notice: RetryNotice) -> None:
    await listener.retrying(notice.attempt, notice.delay_s, notice.error)
