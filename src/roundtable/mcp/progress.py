"""Functions that wait for a running debate and send progress notifications to the caller."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, assert_never

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from roundtable.api.runs import DebateHandle
    from roundtable.core.types.events import Event
    from roundtable.mcp.tool import ToolCallContext
    from roundtable.results.debate_result import DebateResult

__all__ = ["HEARTBEAT_S", "OpenWaits", "Progress", "follow", "heartbeats", "latest"]


HEARTBEAT_S: Final = 5.0
"""Seconds without news after which a caller is notified that the debate is still running."""
_LEASE_POLL_S: Final = 0.5
"""Seconds between two checks of whether another server still runs a debate."""


class OpenWaits:
    """The calls of a server that wait for a debate, so that the server can answer them before it ends."""

    def __init__(self) -> None:
        self._scopes: set[anyio.CancelScope] = set()

    @contextmanager
    def at_most(self, wait_s: float) -> Generator[None]:
        """Cancel the block after some seconds, or when the server ends; the code after the block continues."""
        with anyio.move_on_after(wait_s) as scope:
            self._scopes.add(scope)
            try:
                yield
            finally:
                self._scopes.discard(scope)

    def end(self) -> bool:
        """End all waits, and return whether there were any."""
        for scope in self._scopes:
            scope.cancel()
        return bool(self._scopes)


class Progress(Protocol):
    """Notifies the caller of progress; does nothing if the caller did not request notifications."""

    async def __call__(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Send a notification."""


@dataclass(slots=True)
class _RoundProgress:
    """Progress of a debate, in rounds; it never decreases."""

    agents: int
    total: int
    complete: int = 0
    turns: int = 0
    last_value: float = 0.0

    def update(self, event: Event) -> str | None:
        """Count an event, and return a message for the caller; `None` for events that are not progress of a round."""
        match event.type:
            case "round_start":
                self.complete, self.turns = event.round - 1, 0
                return f"round {event.round} of {self.total} begins"
            case "agent_complete":
                self.turns += 1
                return f"round {event.round} of {self.total}: {event.turn.agent_name or event.agent} answered"
            case "agent_error":
                self.turns += 1
                return f"round {event.round} of {self.total}: {event.turn.agent_name or event.agent} failed"
            case "waiting":
                who = "the debate" if event.agent is None else event.agent
                return f"{who} {event.text}"
            case "round_complete":
                self.complete, self.turns = event.round, 0
                return f"round {event.round} of {self.total} is complete"
            case (
                "conversation_start"
                | "initiator_start"
                | "initiator_tool_call"
                | "initiator_complete"
                | "summarizer_start"
                | "summarizer_chunk"
                | "conversation_complete"
                | "debate_start"
                | "agent_start"
                | "agent_response_chunk"
                | "retry"
                | "agent_tool_call"
                | "agent_tool_result"
                | "approval_decided"
                | "approval_requested"
                | "consensus"
                | "context_requested"
                | "exit"
                | "control"
                | "synthesis_complete"
                | "debate_complete"
                | "error"
            ):
                return None
            case _:
                assert_never(event.type)

    def value(self) -> float:
        """Return the next value to report: larger than the last value, and smaller than the next whole round."""
        value = self.complete + 0.9 * min(1.0, self.turns / max(1, self.agents))
        if value <= self.last_value:
            value = self.last_value + (self.complete + 1 - self.last_value) / 20
        self.last_value = value
        return round(value, 6)


async def latest(call: ToolCallContext, session_id: str) -> tuple[DebateResult, bool]:
    """Load a session.

    Returns:
        The session, and whether it is running, on this server or another server with the same storage.
    """
    here = call.tenant_session.running(session_id) is not None
    # Check this before reading the session, so that a run that ends just now does not look as if its process had died.
    elsewhere = not here and await call.tenant_session.table.is_running(session_id) is True
    result = await call.tenant_session.table.session(session_id)
    return result, here or (elsewhere and result.session_status in {"created", "active"})


async def follow(
    call: ToolCallContext,
    session_id: str,
    handle: DebateHandle | None,
    *,
    wait_s: float,
    until_round: int | None = None,
) -> None:
    """Wait until a run has ended, the time has passed, or a round is complete; this does not stop the run.

    Args:
        call: The call that waits. It is notified of every turn and round, and at intervals while nothing happens.
        session_id: Id of the session.
        handle: Run of the session; `None` if another server runs it.
        wait_s: Maximum seconds to wait.
        until_round: Number of the round to wait for; the whole debate if omitted.
    """
    table = call.tenant_session.table
    fold = await table.state(session_id)
    record = fold.to_record()
    if any(round_record.number == until_round and round_record.complete for round_record in record.rounds):
        return
    complete = sum(round_record.complete for round_record in record.rounds)
    progress = _RoundProgress(len(record.session.agents), record.total_rounds, complete=complete)
    subscription = table.subscribe(session_id, after=fold.last_seq, catch_up=False, pieces=False)
    with subscription, call.waits.at_most(wait_s):
        async with anyio.create_task_group() as group:

            async def report() -> None:
                due = anyio.current_time() + call.heartbeat_s
                while True:
                    ended = subscription.ended
                    event = await subscription.take(max(0.0, due - anyio.current_time()))
                    if event is None and ended:
                        return
                    news = None if event is None else progress.update(event)
                    if news is None and anyio.current_time() < due:
                        continue  # not worth a notification, for example a piece of an answer
                    message = f"session {session_id}: {news or 'the debate is running'}"
                    await call.progress(progress.value(), float(progress.total), message)
                    due = anyio.current_time() + call.heartbeat_s
                    if event is not None and event.type == "round_complete" and event.round == until_round:
                        group.cancel_scope.cancel()

            group.start_soon(report)
            if handle is not None:
                await handle.wait()
            else:
                while await table.is_running(session_id):
                    await anyio.sleep(_LEASE_POLL_S)
                    subscription.fall_behind()  # read the storage again, which may not send notices
            subscription.end()


@asynccontextmanager
async def heartbeats(call: ToolCallContext, message: str) -> AsyncGenerator[None]:
    """Send the caller a message regularly until the block ends.

    Args:
        call: The call that waits.
        message: What is running.
    """
    async with anyio.create_task_group() as group:

        async def report() -> None:
            beats = 0
            while True:
                await anyio.sleep(call.heartbeat_s)
                beats += 1
                await call.progress(float(beats), None, message)

        group.start_soon(report)
        yield
        group.cancel_scope.cancel()
