"""One turn's talk with a model: calls, tool calls, and an account of both."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from roundtable.agents.tool_loop import MOST_TOOL_ROUNDS
from roundtable.errors import AgentError, APINetworkError, RoundtableError
from roundtable.gateway import FallbackModel, GuardedModel
from roundtable.gateway.wrapping import close_stream
from roundtable.stages import Halt
from roundtable.types import ChatResponse, ToolCallRecord, Usage

if TYPE_CHECKING:
    from roundtable.agents.tool_loop import TurnTools
    from roundtable.gateway import RetryNotice
    from roundtable.prompts import Fence
    from roundtable.protocols import ChatModel, TurnListener
    from roundtable.types import ChatRequest, Citation, JsonObject, JsonValue

__all__ = ["Conversation"]

_MAX_RESULT_CHARS = 20_000
_SEARCH = "web_search"


@dataclass(slots=True)
class Conversation:
    """Speaks to one model on behalf of one turn and keeps count, so that a failed turn is charged too."""

    model: ChatModel
    """Model spoken to."""
    fence: Fence
    """Quotes what tools return."""
    tools: TurnTools
    """Carries out its tool calls."""
    listener: TurnListener | None = None
    """Hears the turn."""
    usage: Usage = field(default_factory=Usage)
    """What has been spent so far."""
    usage_by_call: list[Usage] = field(default_factory=list)
    """The same by call."""
    request_ids: list[str] = field(default_factory=list)
    """The provider's ids of the calls."""
    answered: bool = False
    """Whether the model has answered a call, which then was paid for."""
    citations: list[Citation] = field(default_factory=list)
    """Sources the provider returned, over all calls."""
    server_calls: list[ToolCallRecord] = field(default_factory=list)
    """Tools the provider ran itself, such as its search; they do not count against the allowance."""
    warnings: list[str] = field(default_factory=list)
    """What a reader should know of the calls, each said once."""

    async def ask(self, request: ChatRequest, max_steps: int | None = None, *, tools: bool = True) -> ChatResponse:
        """Call the model until it answers without asking for a tool.

        When the tool allowance or the steps are used up, the model is called once more without tools. An answer that
        is handed in by a tool ends the talk. A model that cannot search and call tools at once is made to search first.

        Args:
            request: The call; tools are added to it.
            max_steps: Most model calls; 9 when left out, of which 8 may ask for tools.
            tools: Whether tools may be called.
        """
        offer = self.tools.offered if tools else ()
        steps = most = max_steps or MOST_TOOL_ROUNDS + 1
        if request.search is not None and offer and self.model.profile.search_alone:
            request = await self._searched(request)
        begun = ""
        while True:
            steps -= 1
            last = steps <= 0 or self.tools.spent
            offered = request if last or not offer else request.model_copy(update={"tools": offer})
            response = await self._call(offered)
            if response.finish_reason == "pause" and steps > 0:
                # The provider wants its answer back and goes on from there.
                begun += response.text
                messages = (*request.messages, response.to_message())
                request = request.model_copy(update={"messages": messages})
                continue
            if not response.tool_calls or not offered.tools:
                return response.model_copy(update={"text": begun + response.text}) if begun else response
            begun = ""
            calls = self.tools.told_apart(response.tool_calls)
            answers = await self.tools.answer(calls, most - steps)
            for spent in self.tools.take_usage():
                self.usage += spent
                self.usage_by_call.append(spent)
            if self.tools.submitted is not None:
                return self._handed_in(response, self.tools.submitted)
            said = response.to_message().model_copy(update={"tool_calls": calls})
            request = request.model_copy(update={"messages": (*request.messages, said, *answers)})

    def _handed_in(self, response: ChatResponse, answer: JsonObject) -> ChatResponse:
        """Give the response whose text is the answer that a tool took, on the scale that texts are read by."""
        sure = answer.get("confidence")
        if isinstance(sure, int | float):
            answer = answer | {"confidence": sure * self.model.profile.confidence_scale}
        return response.model_copy(update={"text": json.dumps(answer), "tool_calls": (), "finish_reason": "stop"})

    async def _searched(self, request: ChatRequest) -> ChatRequest:
        """Search in a call of its own; give the request with what was found and without the search.

        A search that fails for the moment is recorded and told to the model, which can answer without it.
        """
        name = self.model.profile.search_model or request.model
        try:
            found = await self._call(request.model_copy(update={"model": name, "output_schema": None}), aloud=False)
        except RoundtableError as error:
            if not error.retryable:
                raise
            failed: JsonValue = {"error": error.code}
            self.server_calls.append(ToolCallRecord(tool_name=_SEARCH, output=failed))
            note = "A search of the web was tried and failed; say so where your answer would need one."
        else:
            sources = [f"{place}. {link.title}: {link.url}" for place, link in enumerate(found.citations, 1)]
            text = "\n".join([*sources, found.text])[:_MAX_RESULT_CHARS]
            note = f"What a search of the web found:\n{self.fence.quote(text, label='results of a search of the web')}"
        last = request.messages[-1]
        asked = last.model_copy(update={"content": f"{last.content}\n\n{note}"})
        return request.model_copy(update={"messages": (*request.messages[:-1], asked), "search": None})

    async def _call(self, request: ChatRequest, *, aloud: bool = True) -> ChatResponse:
        model = self.model
        if self.listener is not None and isinstance(model, GuardedModel | FallbackModel):
            model = model.asking(partial(self._may_call, self.listener), partial(_tell, self.listener))
        elif self.listener is not None:
            await self._may_call(self.listener)
        try:
            if aloud and self.listener is not None and model.profile.streams:
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
            ToolCallRecord(tool_name=call.name, input=call.input, output=call.output) for call in response.server_calls
        ]
        self.warnings.extend(note for note in response.warnings if note not in self.warnings)
        if response.request_id:
            self.request_ids.append(response.request_id)
        return response

    async def _may_call(self, listener: TurnListener) -> None:
        """Ask whether a call may start; a turn that was paid for ends with a failure that states the cost."""
        try:
            await listener.before_call()
        except Halt as halt:
            if not self.answered:
                raise
            msg = "the debate was asked to stop within this turn"
            raise AgentError(msg, code="AGENT_HALTED", provider=self.model.provider, cause=halt) from halt

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


async def _tell(listener: TurnListener, notice: RetryNotice) -> None:
    await listener.retrying(notice.attempt, notice.delay_s, notice.error)
