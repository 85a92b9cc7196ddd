"""Conversations of teams without `await`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from roundtable.sync.streams import DebateHandle, DebateStream

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable._portal import Portal
    from roundtable.api.converse import ConverseOptions
    from roundtable.api.handle import DebateHandle as AsyncHandle
    from roundtable.api.table import Roundtable as AsyncRoundtable
    from roundtable.result import DebateResult
    from roundtable.types import Budget, ChatMessage, JsonValue
    from roundtable.types.profiles import AgentProfile
    from roundtable.types.teams import TeamOrder

__all__ = ["TeamTable"]


class TeamTable:
    """Conversations of teams without `await`; see `roundtable.Roundtable` for arguments, results and errors."""

    _portal: Portal
    _table: AsyncRoundtable

    def converse(
        self,
        *,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        rounds: int = 2,
        order: TeamOrder = "sequential",
        initiator: AgentProfile | None = None,
        summarizer: AgentProfile | None = None,
        timeout_s: float | None = None,
        budget: Budget | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> DebateResult:
        """Have a team of specialised agents work on a request."""
        return self._portal.call(
            lambda: self._table.converse(
                agents=agents,
                messages=messages,
                rounds=rounds,
                order=order,
                initiator=initiator,
                summarizer=summarizer,
                timeout_s=timeout_s,
                budget=budget,
                metadata=metadata,
            )
        )

    def stream_conversation(
        self,
        *,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        **options: Unpack[ConverseOptions],
    ) -> DebateStream:
        """Have a team work and give its events as they happen; enter it with `with`."""
        stream = self._table.stream_conversation(agents=agents, messages=messages, **options)
        return DebateStream(stream, self._portal)

    def start_conversation(
        self,
        *,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        **options: Unpack[ConverseOptions],
    ) -> DebateHandle:
        """Begin a conversation that runs by itself while the table is entered."""

        async def start() -> AsyncHandle:
            return await self._table.start_conversation(agents=agents, messages=messages, **options)

        return DebateHandle(self._portal.call(start), self._portal)
