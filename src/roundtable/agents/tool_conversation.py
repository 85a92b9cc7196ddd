"""The calls of one model for one turn, with tools and with the provider's own web search."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from roundtable.agents.native_search import may_break_on_search, refuses_request, refuses_search
from roundtable.core.agent.conversation import Conversation, continued
from roundtable.core.errors import BudgetExceeded, RoundtableError
from roundtable.core.types.answers import ToolCallRecord

if TYPE_CHECKING:
    from roundtable.agents.native_search import SeatSearch
    from roundtable.agents.tool_loop import TurnTools
    from roundtable.core.types.answers import Citation, ContextRequest
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.chat import ChatRequest, ChatResponse

__all__ = ["ToolConversation"]

_MAX_RESULT_CHARS: Final = 20_000
_SEARCH_TOOL: Final = "web_search"


@dataclass(kw_only=True)
class ToolConversation(Conversation):
    """The calls of one model for one turn, with tools and with the provider's own web search."""

    session: str
    """Id of the session."""
    tools: TurnTools
    """Tools that run the calls that the model requests."""
    search: SeatSearch
    """Web search, which knows the sessions in which the provider refused to search."""

    async def ask(self, request: ChatRequest, max_steps: int) -> ChatResponse:
        """Call the model until it answers without requesting a tool.

        When the allowance of tool calls or the steps are used up, the model is called once more without tools. An
        answer that is submitted through a tool ends the conversation. If a model cannot search and call tools in the
        same request, a separate call searches first.

        Args:
            request: The request; tools are added to it.
            max_steps: The most model calls; the last one offers no tools.
        """
        available = self.tools.offered
        steps_left = max_steps
        if request.search and available and self.model.profile.search_alone:
            request = await self._search_first(request)
        text_so_far = ""
        while True:
            steps_left -= 1
            last = steps_left <= 0 or self.tools.spent
            step_request = request if last or not available else request.model_copy(update={"tools": available})
            response = await self._call_or_drop_search(step_request)
            if step_request.search and self.search.is_refused(self.session):
                request = request.model_copy(update={"search": self.search.off})
            if response.finish_reason == "pause" and steps_left > 0:
                text_so_far += response.text
                request = continued(request, response)
                continue
            if not response.tool_calls or not step_request.tools:
                return response.model_copy(update={"text": text_so_far + response.text}) if text_so_far else response
            text_so_far = ""
            calls = self.tools.with_unique_ids(response.tool_calls)
            answers = await self.tools.answer(calls, max_steps - steps_left, response.finish_reason)
            for usage in self.tools.take_usage():
                self.charge(usage)
            if self.tools.submitted is not None:
                return self._submitted_response(response, self.tools.submitted)
            message = response.to_message().model_copy(update={"tool_calls": calls})
            request = request.model_copy(update={"messages": (*request.messages, message, *answers)})

    @property
    def tool_calls(self) -> tuple[ToolCallRecord, ...]:
        """Calls of tools, those of the provider first."""
        return (*self.server_calls, *self.tools.records)

    @property
    def sources(self) -> list[Citation]:
        """Sources of the answer, with those that the results of tools name."""
        return [*super().sources, *self.tools.citations]

    @property
    def context_requests(self) -> tuple[ContextRequest, ...]:
        """Information that the agent requests from the caller."""
        return self.tools.requests

    def closing_warnings(self) -> tuple[str, ...]:
        """Return warnings about missing tool calls and about the search; each one about the search is returned once."""
        return (*self.tools.shortfall(), *self.search.take_notes(self.session))

    async def _call_or_drop_search(self, request: ChatRequest) -> ChatResponse:
        """Call the model. If it refuses the search, call it without a search, and stop searching in this session."""
        try:
            response = await self.call(request)
        except RoundtableError as error:
            if not request.search or not self._may_be_the_search(error):
                raise
            failure = error
        else:
            self.search.has_worked = self.search.has_worked or bool(request.search)
            return response
        try:
            response = await self.call(request.model_copy(update={"search": self.search.off}))
        except RoundtableError as error:
            # If the request fails in the same way without a search, the search was not the reason.
            if not (refuses_request(error) or may_break_on_search(failure) or isinstance(error, BudgetExceeded)):
                self.search.refuse(self.session, failure)
            raise
        self.search.refuse(self.session, failure)
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
            results = await self.call(request.model_copy(update={"model": name, "output_schema": None}), streamed=False)
        except RoundtableError as error:
            if isinstance(error, BudgetExceeded) or refuses_request(error):
                self.search.refuse(self.session, error)
                return request.model_copy(update={"search": None})
            if not error.retryable:
                raise
            failure: JsonValue = {"error": error.code}
            self.server_calls.append(ToolCallRecord(tool_name=_SEARCH_TOOL, output=failure))
            note = "A search of the web was tried and failed; say so where your answer would need one."
        else:
            sources = [f"{number}. {link.title}: {link.url}" for number, link in enumerate(results.citations, 1)]
            text = "\n".join([*sources, results.text])[:_MAX_RESULT_CHARS]
            found = self.tools.fence.quote(text, label="results of a search of the web")
            note = f"What a search of the web found:\n{found}"
        last_message = request.messages[-1]
        message = last_message.model_copy(update={"content": f"{last_message.content}\n\n{note}"})
        return request.model_copy(update={"messages": (*request.messages[:-1], message), "search": None})
