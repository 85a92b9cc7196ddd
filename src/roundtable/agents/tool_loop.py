"""The tools of one turn: which may be called, how often and how many at once, and an account of every call."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import anyio

from roundtable.tools import ToolOutcome, bound
from roundtable.tools.results import failed
from roundtable.types import Citation, Message, ToolCallRecord, ToolPolicy
from roundtable.types.base import utc_now

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundtable.prompts import Fence
    from roundtable.protocols import AgentToolkit, ChatModel, TurnListener
    from roundtable.tools import DefaultAgentToolkit
    from roundtable.types import AgentTool, ContextRequest, DebateContext, JsonObject, JsonValue, ToolCall, Usage

__all__ = ["CALLS_AT_ONCE", "MOST_TOOL_ROUNDS", "TurnTools", "allowed_tools"]

MOST_TOOL_ROUNDS: Final = 8
"""Model calls of one turn that may ask for tools; after them the model is called once more without any."""
CALLS_AT_ONCE: Final = 4
"""Tools of one turn that run at once."""

_MOST_ARGUMENT_CHARS: Final = 65_536
_MOST_NAME_CHARS: Final = 128
_MOST_CITATIONS: Final = 50
_CITATION_DEPTH: Final = 4


class HasTools(Protocol):
    """Who speaks through a model and may have tools; `BaseAgent` does."""

    chat_model: ChatModel

    @property
    def toolkit(self) -> AgentToolkit | None:
        """Tools it may use."""


@dataclass(slots=True)
class TurnTools:
    """Carries out the tool calls of one turn, within the turn's policy."""

    toolkit: DefaultAgentToolkit | None
    """Tools of the turn; `None` where there are none."""
    policy: ToolPolicy
    """How many calls are carried out, and of which tools."""
    fence: Fence
    """Quotes what tools return."""
    listener: TurnListener | None = None
    """Hears of every call."""
    records: list[ToolCallRecord] = field(default_factory=list)
    """Calls made, in the order they were asked for; refused ones too."""
    citations: list[Citation] = field(default_factory=list)
    """Sources that results named."""
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
        """The answer that was handed in by a tool, if one was."""
        turn = None if self.toolkit is None else self.toolkit.turn
        return None if turn is None else turn.submitted

    @property
    def requests(self) -> tuple[ContextRequest, ...]:
        """What the agent asked the caller for."""
        turn = None if self.toolkit is None else self.toolkit.turn
        return () if turn is None else tuple(turn.requests)

    def take_usage(self) -> list[Usage]:
        """Give what models consumed that tools have asked since the last time."""
        turn = None if self.toolkit is None else self.toolkit.turn
        if turn is None:
            return []
        taken, turn.usage = turn.usage, []
        return taken

    def shortfall(self) -> tuple[str, ...]:
        """Say that fewer calls were made than the mode asked for, where there were tools to call."""
        made = len(self.records)
        if made >= self.policy.min or not self.offered:
            return ()
        return (f"{made} tool calls were made, where at least {self.policy.min} was asked for",)

    def told_apart(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """Give an id to calls that have none, or one that an earlier call has."""
        apart: list[ToolCall] = []
        for call in calls:
            unused, made_up = call.id, len(self._ids)
            while not unused or unused in self._ids:
                made_up += 1
                unused = f"call-{made_up}"
            self._ids.add(unused)
            apart.append(call if unused == call.id else call.model_copy(update={"id": unused}))
        return tuple(apart)

    async def answer(self, calls: Sequence[ToolCall], step: int) -> list[Message]:
        """Carry out the calls of one model answer, a few at once; those beyond the allowance are refused.

        Args:
            calls: The calls, told apart.
            step: Number of the model call that asked for them, from 1.

        Returns:
            One message for each call, in their order.
        """
        left = self.policy.max - len(self.records)
        known = {tool.name for tool in self.offered}
        made: dict[int, tuple[ToolCallRecord, Message]] = {}
        broken: list[Exception] = []
        limiter = anyio.CapacityLimiter(CALLS_AT_ONCE)

        async def run(place: int, call: ToolCall) -> None:
            try:
                async with limiter:
                    made[place] = await self._told(call, step, known, refused=place >= left)
            except Exception as error:  # noqa: BLE001  (kept and raised below, so that nobody meets an exception group)
                broken.append(error)
                group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for place, call in enumerate(calls):
                group.start_soon(run, place, call)
        if broken:
            raise broken[0]
        self.records += [made[place][0] for place in range(len(calls))]
        return [made[place][1] for place in range(len(calls))]

    async def _told(
        self, call: ToolCall, step: int, known: set[str], *, refused: bool
    ) -> tuple[ToolCallRecord, Message]:
        """Carry out one call, and tell the listener before and after."""
        size = len(json.dumps(dict(call.arguments)))
        shown = call
        if size > _MOST_ARGUMENT_CHARS:
            shown = call.model_copy(update={"arguments": {}, "invalid": f"{size:,} characters of arguments, left out"})
        name = call.name[:_MOST_NAME_CHARS] or "?"
        shown = shown.model_copy(update={"name": name})
        if self.listener is not None:
            await self.listener.tool_called(step, shown)
        outcome = await self._outcome(call, known, size, refused=refused)
        output: JsonValue = outcome.result.model_dump(mode="json", exclude_none=True)
        record = ToolCallRecord(
            tool_name=name,
            input=dict(call.arguments) if shown.invalid is None else shown.invalid,
            output=output,
            started_at=outcome.started_at,
            duration_s=outcome.duration_s,
            error=outcome.result.error,
            cached=outcome.cached,
        )
        if self.listener is not None:
            await self.listener.tool_answered(step, call.id, record)
        if outcome.result.success:
            self.citations += list(_sources(outcome.result.data))[: _MOST_CITATIONS - len(self.citations)]
        text = json.dumps(output, ensure_ascii=False)
        quoted = self.fence.quote(text, label=f"result of tool {name}")
        return record, Message(role="tool", content=quoted, tool_call_id=call.id)

    async def _outcome(self, call: ToolCall, known: set[str], size: int, *, refused: bool) -> ToolOutcome:
        if self.toolkit is None or refused:
            fault = "no more tool calls are allowed in this turn; answer now"
        elif size > _MOST_ARGUMENT_CHARS:
            fault = f"arguments of {size:,} characters are too long"
        elif call.invalid is not None:
            fault = "the arguments were no JSON object; call again with one"
        elif call.name not in known:
            names = ", ".join(tool.name for tool in self.offered)
            fault = f"there is no tool {call.name[:80]!r}; there are: {names}"
        else:
            return await self.toolkit.call(call.name, dict(call.arguments))
        return ToolOutcome(failed(fault), cached=False, started_at=utc_now(), duration_s=0.0)


def allowed_tools(
    agent: HasTools, context: DebateContext, fence: Fence, listener: TurnListener | None = None
) -> TurnTools:
    """Give the tools of one turn, bound to it; without a turn, those the default policy allows.

    A model that cannot call tools is offered none.
    """
    policy = context.turn.tools if context.turn else ToolPolicy()
    toolkit = agent.toolkit if policy.max and agent.chat_model.profile.calls_tools else None
    own = None if toolkit is None else bound(toolkit, context)
    return TurnTools(own, policy, fence, listener)


def _sources(data: JsonValue, depth: int = _CITATION_DEPTH) -> Iterator[Citation]:
    """Find the sources in a result: objects with a title and an address on the web."""
    if isinstance(data, list) and depth:
        for item in data:
            yield from _sources(item, depth - 1)
    elif isinstance(data, dict):
        url, title, snippet = data.get("url"), data.get("title"), data.get("snippet")
        if isinstance(url, str) and url.startswith(("http://", "https://")) and isinstance(title, str):
            yield Citation(title=title, url=url, snippet=snippet if isinstance(snippet, str) else None)
        elif depth:
            for item in data.values():
                yield from _sources(item, depth - 1)
