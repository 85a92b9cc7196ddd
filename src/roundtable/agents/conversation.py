"""One turn's talk with a model: calls, tool calls, and an account of both."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from roundtable.errors import AgentError, APINetworkError, RoundtableError
from roundtable.gateway import FallbackModel, GuardedModel
from roundtable.gateway.wrapping import close_stream
from roundtable.stages import Halt
from roundtable.types import ChatResponse, Message, ToolCallRecord, ToolResult, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.gateway import RetryNotice
    from roundtable.prompts import Fence
    from roundtable.protocols import AgentToolkit, ChatModel, TurnListener
    from roundtable.types import AgentTool, ChatRequest, Citation, JsonValue, ToolCall, ToolPolicy

__all__ = ["Conversation", "allowed_tools"]

_MAX_RESULT_CHARS = 20_000
_MAX_ARGUMENT_CHARS = 65_536
_DEFAULT_STEPS = 10
_SEARCH = "web_search"


@dataclass(slots=True)
class Conversation:
    """Speaks to one model on behalf of one turn and keeps count, so that a failed turn is charged too."""

    model: ChatModel
    """Model spoken to."""
    fence: Fence
    """Quotes what tools return."""
    listener: TurnListener | None = None
    """Hears the turn."""
    toolkit: AgentToolkit | None = None
    """Tools offered; none when left out."""
    usage: Usage = field(default_factory=Usage)
    """What has been spent so far."""
    usage_by_call: list[Usage] = field(default_factory=list)
    """The same by call."""
    request_ids: list[str] = field(default_factory=list)
    """The provider's ids of the calls."""
    tool_calls: list[ToolCallRecord] = field(default_factory=list)
    """Tools used, in order."""
    call_ids: set[str] = field(default_factory=set)
    """Ids of all tool calls."""
    answered: bool = False
    """Whether the model has answered a call, which then was paid for."""
    citations: list[Citation] = field(default_factory=list)
    """Sources the provider returned, over all calls."""
    server_calls: list[ToolCallRecord] = field(default_factory=list)
    """Tools the provider ran itself, such as its search; they do not count against the allowance."""
    warnings: list[str] = field(default_factory=list)
    """What a reader should know of the calls, each said once."""

    async def ask(self, request: ChatRequest, policy: ToolPolicy, max_steps: int | None = None) -> ChatResponse:
        """Call the model until it answers without asking for a tool.

        When the tool allowance or the steps are used up, the model is called once more without tools. A model that
        cannot search and call tools at once is made to search first.

        Args:
            request: The call; tools are added to it.
            policy: How many tool calls are carried out, and which.
            max_steps: Most model calls; 10 when left out.
        """
        tools = self._allowed(policy)
        steps = max_steps or _DEFAULT_STEPS
        if request.search is not None and tools and self.model.profile.search_alone:
            request = await self._searched(request)
        begun = ""
        while True:
            steps -= 1
            last = steps <= 0 or len(self.tool_calls) >= policy.max
            offered = request if last or not tools else request.model_copy(update={"tools": tools})
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
            calls = self._told_apart(response.tool_calls)
            answers = [await self._run_tool(call, policy) for call in calls]
            said = response.to_message().model_copy(update={"tool_calls": calls})
            request = request.model_copy(update={"messages": (*request.messages, said, *answers)})

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

    def shortfall(self, policy: ToolPolicy) -> tuple[str, ...]:
        """Say that fewer tool calls were made than the mode asked for, where there were tools to call."""
        made = len(self.tool_calls)
        if made >= policy.min or not self._allowed(policy):
            return ()
        return (f"{made} tool calls were made, where at least {policy.min} was asked for",)

    def _allowed(self, policy: ToolPolicy) -> tuple[AgentTool, ...]:
        return allowed_tools(self.toolkit, policy)

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

    def _told_apart(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """Give an id to calls that have none, or one that an earlier call has."""
        apart: list[ToolCall] = []
        for call in calls:
            unused, made_up = call.id, len(self.call_ids)
            while not unused or unused in self.call_ids:
                made_up += 1
                unused = f"call-{made_up}"
            self.call_ids.add(unused)
            apart.append(call if unused == call.id else call.model_copy(update={"id": unused}))
        return tuple(apart)

    async def _run_tool(self, call: ToolCall, policy: ToolPolicy) -> Message:
        given: JsonValue = dict(call.arguments)
        size = len(json.dumps(given))
        if size > _MAX_ARGUMENT_CHARS:
            given = f"{size:,} characters of arguments, left out"
            result = ToolResult(success=False, error=f"arguments of {size:,} characters are too long")
        else:
            result = await self._tool_result(call, policy)
        output: JsonValue = result.model_dump(mode="json", exclude_none=True)
        text = json.dumps(output, ensure_ascii=False)
        if len(text) > _MAX_RESULT_CHARS:
            text = output = text[:_MAX_RESULT_CHARS] + " … (cut)"
        self.tool_calls.append(ToolCallRecord(tool_name=call.name or "?", input=given, output=output))
        quoted = self.fence.quote(text, label=f"result of tool {call.name}")
        return Message(role="tool", content=quoted, tool_call_id=call.id)

    async def _tool_result(self, call: ToolCall, policy: ToolPolicy) -> ToolResult:
        if self.toolkit is None or len(self.tool_calls) >= policy.max:
            return ToolResult(success=False, error="no more tool calls are allowed in this turn; answer now")
        if call.invalid is not None:
            return ToolResult(success=False, error="the arguments were no JSON object; call again with one")
        names = [tool.name for tool in self._allowed(policy)]
        if call.name not in names:
            known = ", ".join(names)
            return ToolResult(success=False, error=f"there is no tool {call.name[:80]!r}; there are: {known}")
        try:
            return _checked(await self.toolkit.execute_tool(call.name, dict(call.arguments)))
        except Exception as error:  # noqa: BLE001  (a tool is foreign code; the model is told)
            return ToolResult(success=False, error=f"{type(error).__name__}: {error}"[:500])


async def _tell(listener: TurnListener, notice: RetryNotice) -> None:
    await listener.retrying(notice.attempt, notice.delay_s, notice.error)


def allowed_tools(toolkit: AgentToolkit | None, policy: ToolPolicy) -> tuple[AgentTool, ...]:
    """Give the tools that a turn may call."""
    if toolkit is None or policy.max == 0:
        return ()
    return tuple(tool for tool in toolkit.get_tools() if policy.allow is None or tool.name in policy.allow)


def _checked(returned: object) -> ToolResult:
    if not isinstance(returned, ToolResult):
        raise TypeError(f"the toolkit returned {type(returned).__name__}, not a ToolResult")
    return returned
