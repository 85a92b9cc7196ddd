"""One turn's talk with a model: calls, tool calls, and an account of both."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from roundtable.errors import AgentError, APINetworkError, RoundtableError
from roundtable.gateway import FallbackModel, GuardedModel
from roundtable.stages import Halt
from roundtable.types import ChatResponse, Message, ToolCallRecord, ToolResult, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.prompts import Fence
    from roundtable.protocols import AgentToolkit, ChatModel, TurnListener
    from roundtable.types import AgentTool, ChatRequest, Citation, JsonValue, ToolCall, ToolPolicy

__all__ = ["Conversation"]

_MAX_RESULT_CHARS = 20_000
_MAX_ARGUMENT_CHARS = 65_536
_DEFAULT_STEPS = 10


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
    warnings: list[str] = field(default_factory=list)
    """What a reader should know of the calls, each said once."""

    async def ask(self, request: ChatRequest, policy: ToolPolicy, max_steps: int | None = None) -> ChatResponse:
        """Call the model until it answers without asking for a tool.

        When the tool allowance or the steps are used up, the model is called once more without tools.

        Args:
            request: The call; tools are added to it.
            policy: How many tool calls are carried out, and which.
            max_steps: Most model calls; 10 when left out.
        """
        tools = self._allowed(policy)
        steps = max_steps or _DEFAULT_STEPS
        while True:
            steps -= 1
            last = steps <= 0 or len(self.tool_calls) >= policy.max
            offered = request if last or not tools else request.model_copy(update={"tools": tools})
            response = await self._call(offered)
            if not response.tool_calls or not offered.tools:
                return response
            calls = self._told_apart(response.tool_calls)
            answers = [await self._run_tool(call, policy) for call in calls]
            said = Message(role="assistant", content=response.text, tool_calls=calls)
            request = request.model_copy(update={"messages": (*request.messages, said, *answers)})

    def _allowed(self, policy: ToolPolicy) -> tuple[AgentTool, ...]:
        if self.toolkit is None or policy.max == 0:
            return ()
        return tuple(tool for tool in self.toolkit.get_tools() if policy.allow is None or tool.name in policy.allow)

    async def _call(self, request: ChatRequest) -> ChatResponse:
        model = self.model
        if self.listener is not None and isinstance(model, GuardedModel | FallbackModel):
            model = model.asking(partial(self._may_call, self.listener))
        elif self.listener is not None:
            await self._may_call(self.listener)
        try:
            if self.listener is not None and model.profile.streams:
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
            # The protocol promises an iterator; generators also have to be closed, or their call goes on.
            close = getattr(pieces, "aclose", None)
            if close is not None:
                await close()
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
        names = [tool.name for tool in self._allowed(policy)]
        if call.name not in names:
            known = ", ".join(names)
            return ToolResult(success=False, error=f"there is no tool {call.name[:80]!r}; there are: {known}")
        try:
            return _checked(await self.toolkit.execute_tool(call.name, dict(call.arguments)))
        except Exception as error:  # noqa: BLE001  (a tool is foreign code; the model is told)
            return ToolResult(success=False, error=f"{type(error).__name__}: {error}"[:500])


def _checked(returned: object) -> ToolResult:
    if not isinstance(returned, ToolResult):
        raise TypeError(f"the toolkit returned {type(returned).__name__}, not a ToolResult")
    return returned
