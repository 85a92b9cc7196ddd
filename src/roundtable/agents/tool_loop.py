"""The tools of one turn: which tools may be called, how often and how many at once, and a record of every call."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import anyio

from roundtable.core.agent.sources import MOST_SOURCES, titled_sources_in
from roundtable.core.base.strict_json import MOST_DEPTH, TOO_DEEP, is_too_deep
from roundtable.core.capabilities import FollowsApprovals
from roundtable.core.types.answers import Citation, ToolCallRecord
from roundtable.core.types.base import utc_now
from roundtable.core.types.chat import Message
from roundtable.core.types.plan import ToolPolicy
from roundtable.tools import ToolOutcome, bound
from roundtable.tools.approval import CallOrigin
from roundtable.tools.definition import failed_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.prompts.fence import Fence
    from roundtable.core.protocols import AgentToolkit, ChatModel, TurnListener
    from roundtable.core.types.answers import ContextRequest
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.chat import AgentTool, FinishReason, ToolCall, Usage
    from roundtable.core.types.debate import DebateContext
    from roundtable.tools import DefaultAgentToolkit

__all__ = ["CALLS_AT_ONCE", "TurnTools", "allowed_tools"]

CALLS_AT_ONCE: Final = 4
"""Maximum number of tools of one turn that run at the same time."""

_NO_CALLS_LEFT: Final = "no more tool calls are allowed in this turn; answer now"
_MOST_ARGUMENT_CHARS: Final = 65_536
_MOST_NAME_CHARS: Final = 128


class HasTools(Protocol):
    """An agent with a model and optional tools; `BaseAgent` is one."""

    chat_model: ChatModel

    @property
    def toolkit(self) -> AgentToolkit | None:
        """Tools that the agent may use; `None` for no tools."""


@dataclass(slots=True)
class TurnTools:
    """The tools of one turn; they run the model's tool calls as far as the turn's policy allows."""

    toolkit: DefaultAgentToolkit | None
    """Tools of the turn; `None` if there are none."""
    policy: ToolPolicy
    """How many calls are allowed, and of which tools."""
    fence: Fence
    """Fence that quotes the results of tools."""
    listener: TurnListener | None = None
    """Listener that is notified of every call."""
    records: list[ToolCallRecord] = field(default_factory=list)
    """The calls, including refused calls, in the order in which the model requested them."""
    citations: list[Citation] = field(default_factory=list)
    """Sources that the results name."""
    _ids: set[str] = field(default_factory=set)

    @property
    def offered(self) -> tuple[AgentTool, ...]:
        """Tools that the turn may call."""
        if self.toolkit is None or self.policy.max == 0:
            return ()
        allow = self.policy.allow
        return tuple(tool for tool in self.toolkit.get_tools() if allow is None or tool.name in allow)

    @property
    def spent(self) -> bool:
        """Whether the allowance is used up."""
        return len(self.records) >= self.policy.max

    @property
    def submitted(self) -> JsonObject | None:
        """The answer that was submitted through a tool, if any."""
        turn = None if self.toolkit is None else self.toolkit.turn
        return None if turn is None else turn.submitted

    @property
    def requests(self) -> tuple[ContextRequest, ...]:
        """Information that the agent requests from the caller."""
        turn = None if self.toolkit is None else self.toolkit.turn
        return () if turn is None else tuple(turn.requests)

    def take_usage(self) -> list[Usage]:
        """Return the usage of models that tools have called since the last call of this method."""
        turn = None if self.toolkit is None else self.toolkit.turn
        if turn is None:
            return []
        usage, turn.usage = turn.usage, []
        return usage

    def shortfall(self) -> tuple[str, ...]:
        """Return a warning if fewer calls were made than the mode requires, although tools were available."""
        count = len(self.records)
        if count >= self.policy.min or not self.offered:
            return ()
        return (f"{count} tool calls were made, but the mode requires at least {self.policy.min}",)

    def with_unique_ids(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """Return the calls with unique ids. A call without an id, or with the id of an earlier call, gets a new id."""
        unique_calls: list[ToolCall] = []
        for call in calls:
            unused_id, number = call.id, len(self._ids)
            while not unused_id or unused_id in self._ids:
                number += 1
                unused_id = f"call-{number}"
            self._ids.add(unused_id)
            unique_calls.append(call if unused_id == call.id else call.model_copy(update={"id": unused_id}))
        return tuple(unique_calls)

    async def answer(self, calls: Sequence[ToolCall], step: int, finish: FinishReason = "tool_calls") -> list[Message]:
        """Run the calls of one model answer, a few at once.

        Calls beyond the allowance are refused. So are calls that the token limit or a filter cut off: their arguments
        may be incomplete even if they can be parsed. A limit cuts off the last call, a filter may spoil all of them.

        Args:
            calls: The calls, with unique ids.
            step: Number of the model call that requested these tool calls, from 1.
            finish: Why the answer ended.

        Returns:
            One message for each call, in the order of the calls.
        """
        calls_left = self.policy.max - len(self.records)
        tool_names = {tool.name for tool in self.offered}
        results: dict[int, tuple[ToolCallRecord, Message]] = {}
        errors: list[Exception | KeyboardInterrupt | SystemExit] = []
        limiter = anyio.CapacityLimiter(CALLS_AT_ONCE)

        async def run(index: int, call: ToolCall) -> None:
            try:
                async with limiter:
                    refusal = _NO_CALLS_LEFT if index >= calls_left else _cut_off(finish, is_last=call is calls[-1])
                    results[index] = await self._run_call(call, step, tool_names, refusal)
            except (Exception, KeyboardInterrupt, SystemExit) as error:  # noqa: BLE001  (raised below, not in a group)
                errors.append(error)
                group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for index, call in enumerate(calls):
                group.start_soon(run, index, call)
        if errors:
            raise errors[0]
        self.records += [results[index][0] for index in range(len(calls))]
        return [results[index][1] for index in range(len(calls))]

    async def _run_call(
        self, call: ToolCall, step: int, tool_names: set[str], refusal: str
    ) -> tuple[ToolCallRecord, Message]:
        """Run one call, and notify the listener before and after; a call with a refusal does not run."""
        size = len(json.dumps(dict(call.arguments)))
        shown_call, left_out = call, ""
        if size > _MOST_ARGUMENT_CHARS:
            left_out = f"{size:,} characters of arguments, left out"
        elif is_too_deep(call.arguments):
            left_out = f"arguments left out: {TOO_DEEP}"
        if left_out:
            shown_call = call.model_copy(update={"arguments": {}, "invalid": left_out})
        name = call.name[:_MOST_NAME_CHARS] or "?"
        shown_call = shown_call.model_copy(update={"name": name})
        if self.listener is not None:
            await self.listener.tool_called(step, shown_call)
        outcome = await self._call_or_refuse(call, step, tool_names, size, refusal)
        output: JsonValue = outcome.result.model_dump(mode="json", exclude_none=True)
        record = ToolCallRecord(
            tool_name=name,
            input=dict(call.arguments) if shown_call.invalid is None else shown_call.invalid,
            output=output,
            started_at=outcome.started_at,
            duration_s=outcome.duration_s,
            error=outcome.result.error,
            cached=outcome.cached,
        )
        if self.listener is not None:
            await self.listener.tool_answered(step, call.id, record)
        if outcome.result.success:
            found = titled_sources_in(outcome.result.data)
            self.citations += found[: MOST_SOURCES - len(self.citations)]
        text = json.dumps(output, ensure_ascii=False)
        quoted = self.fence.quote(text, label=f"result of tool {name}")
        return record, Message(role="tool", content=quoted, tool_call_id=call.id)

    async def _call_or_refuse(
        self, call: ToolCall, step: int, tool_names: set[str], size: int, refusal: str
    ) -> ToolOutcome:
        if self.toolkit is None or refusal:
            error = refusal or _NO_CALLS_LEFT
        elif size > _MOST_ARGUMENT_CHARS:
            error = f"arguments of {size:,} characters are too long"
        elif call.invalid is not None:
            error = f"the arguments were no JSON object of at most {MOST_DEPTH} levels; call again with one"
        elif call.name not in tool_names:
            names = ", ".join(tool.name for tool in self.offered)
            error = f"there is no tool {call.name[:80]!r}; there are: {names}"
        else:
            listener = self.listener if isinstance(self.listener, FollowsApprovals) else None
            return await self.toolkit.call(call.name, dict(call.arguments), CallOrigin(call, step, listener))
        return ToolOutcome(failed_result(error), cached=False, started_at=utc_now(), duration_s=0.0)


def _cut_off(finish: FinishReason, *, is_last: bool) -> str:
    """Return why a call must not run because of how its answer ended; empty if it may run."""
    if finish == "length" and is_last:
        return (
            "the limit of tokens (max_tokens) cut the call off, so it was not run; "
            "call again with shorter arguments, or answer without the tool"
        )
    if finish in {"content_filter", "refusal"}:
        return "a filter cut the answer off, so the call was not run; answer without it"
    return ""


def allowed_tools(
    agent: HasTools, context: DebateContext, fence: Fence, listener: TurnListener | None = None
) -> TurnTools:
    """Return the tools of one turn, bound to this turn. Outside of a turn, the default policy decides.

    A model that cannot call tools gets none.
    """
    policy = context.turn.tools if context.turn else ToolPolicy()
    toolkit = agent.toolkit if policy.max and agent.chat_model.profile.calls_tools else None
    turn_toolkit = None if toolkit is None else bound(toolkit, context)
    return TurnTools(turn_toolkit, policy, fence, listener)
