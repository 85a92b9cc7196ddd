"""Waiting for a debate that runs by itself, and telling the caller meanwhile how far it is."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from roundtable.api.handle import DebateHandle
    from roundtable.mcp.call import Call
    from roundtable.types import Event

__all__ = ["HEARTBEAT_S", "Progress", "follow", "heartbeats"]

HEARTBEAT_S: Final = 5.0
"""Seconds after which a caller hears that a debate goes on, when nothing else is to be told."""


class Progress(Protocol):
    """Tells the caller how far something is; does nothing where the caller did not ask."""

    async def __call__(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell it."""


@dataclass(slots=True)
class _Meter:
    """How far a debate is, in rounds; it only grows."""

    agents: int
    total: int
    held: int = 0
    turns: int = 0
    told: float = 0.0

    def hear(self, event: Event) -> str | None:
        """Take an event into account; give what to say of it, if anything."""
        match event.type:
            case "round_start":
                self.held, self.turns = event.round - 1, 0
                return f"round {event.round} of {self.total} begins"
            case "agent_complete":
                self.turns += 1
                return f"round {event.round} of {self.total}: {event.turn.agent_name or event.agent} answered"
            case "agent_error":
                self.turns += 1
                return f"round {event.round} of {self.total}: {event.turn.agent_name or event.agent} failed"
            case "round_complete":
                self.held, self.turns = event.round, 0
                return f"round {event.round} of {self.total} is complete"
            case _:
                return None

    def value(self) -> float:
        """Give the progress to tell now: larger than what was told before, and below the next whole round."""
        found = self.held + 0.9 * min(1.0, self.turns / max(1, self.agents))
        if found <= self.told:
            found = self.told + (self.held + 1 - self.told) / 20
        self.told = found
        return round(found, 6)


async def follow(call: Call, handle: DebateHandle, *, wait_s: float, until_round: int | None = None) -> None:
    """Wait until a run is over, a time has passed, or a round is complete; the run goes on.

    Args:
        call: Who waits; told of every turn and round, and that the debate goes on when nothing else is to be told.
        handle: The run.
        wait_s: Seconds to wait at most.
        until_round: Number of the round that ends the waiting too; none when left out.
    """
    fold = await call.desk.table.wiring.sessions.load(handle.session_id)
    record = fold.to_record()
    if any(held.number == until_round and held.complete for held in record.rounds):
        return
    meter = _Meter(len(record.session.agents), record.total_rounds, held=sum(held.complete for held in record.rounds))
    wiring = call.desk.table.wiring
    tenant = wiring.options.tenant
    heard = wiring.hub.subscribe(handle.session_id, wiring.storage, after=fold.last_seq, tenant=tenant)
    with heard, anyio.move_on_after(wait_s):
        async with anyio.create_task_group() as group:

            async def tell() -> None:
                due = anyio.current_time() + call.heartbeat_s
                while True:
                    event = await heard.take(max(0.0, due - anyio.current_time()))
                    said = None if event is None else meter.hear(event)
                    if said is None and anyio.current_time() < due:
                        continue  # such as a piece of an answer, of which there are many
                    told = f"session {handle.session_id}: {said or 'the debate goes on'}"
                    await call.progress(meter.value(), float(meter.total), told)
                    due = anyio.current_time() + call.heartbeat_s
                    if event is not None and event.type == "round_complete" and event.round == until_round:
                        group.cancel_scope.cancel()

            group.start_soon(tell)
            await handle.wait()
            group.cancel_scope.cancel()


@asynccontextmanager
async def heartbeats(call: Call, said: str) -> AsyncGenerator[None]:
    """Tell the caller again and again that something goes on, as long as it does.

    Args:
        call: Who waits.
        said: What goes on.
    """
    async with anyio.create_task_group() as group:

        async def tell() -> None:
            beats = 0
            while True:
                await anyio.sleep(call.heartbeat_s)
                beats += 1
                await call.progress(float(beats), None, said)

        group.start_soon(tell)
        yield
        group.cancel_scope.cancel()
