"""The methods the TypeScript API gives a storage, made of the methods of the `Storage` protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._clock import SystemClock
from roundtable.errors import SessionNotFound
from roundtable.protocols import Storage
from roundtable.record import fold_session
from roundtable.record.amend import append_response, save_changes
from roundtable.types import SessionFilter

if TYPE_CHECKING:
    from roundtable.protocols import Clock
    from roundtable.types import AgentResponse, Session

__all__ = ["SeedStorageMethods"]

_PAGE = 10_000


class SeedStorageMethods(Storage):
    """Whole sessions and single answers, for callers of the TypeScript API; a storage inherits them.

    They change a session under a lease, like everybody else: while a debate runs, its session is
    busy for them.
    """

    _clock: Clock = SystemClock()

    async def get_session(self, id: str, *, tenant: str = "default") -> Session | None:
        """Give a session; `None` when there is none."""
        try:
            record, events = await self.read(id, tenant=tenant)
        except SessionNotFound:
            return None
        return fold_session(record, events)

    async def get_all_sessions(self, *, tenant: str = "default") -> tuple[Session, ...]:
        """Give every session, newest first."""
        found: list[Session] = []
        page = SessionFilter(tenant=tenant, limit=_PAGE)
        while listed := await self.list(page):
            whole = [await self.get_session(summary.id, tenant=tenant) for summary in listed]
            found += [session for session in whole if session is not None]  # it may have been deleted since
            page = page.model_copy(update={"after": listed[-1].cursor})
        return tuple(found)

    async def save_session(self, session: Session, *, tenant: str = "default") -> None:
        """Store a session: a new one whole, of a stored one the difference, as events.

        New answers are added to the current round. Changed states and rounds become events where the
        states allow it.

        Raises:
            SessionError: What is stored would be changed or dropped, or the states do not allow it;
                nothing of the difference is stored then.
            SessionBusy: The session is being run.
        """
        await save_changes(self, session, tenant=tenant, clock=self._clock)

    async def delete_session(self, id: str, *, tenant: str = "default") -> None:
        """Remove a session and all that belongs to it.

        Raises:
            SessionError: There is none.
        """
        await self.delete(id, tenant=tenant)

    async def add_response(self, session_id: str, response: AgentResponse, *, tenant: str = "default") -> None:
        """Add an answer to the current round of a session, in the next free slot of stage `external`.

        What it counts for is said at `roundtable.engine.SessionManager.add_response`.

        Raises:
            SessionError: There is no such session.
            SessionBusy: It is being run.
        """
        await append_response(self, session_id, response, tenant=tenant, clock=self._clock)

    async def get_responses(self, session_id: str, *, tenant: str = "default") -> tuple[AgentResponse, ...]:
        """Give all answers of a session, in order.

        Raises:
            SessionError: There is no such session.
        """
        return fold_session(*await self.read(session_id, tenant=tenant)).responses
