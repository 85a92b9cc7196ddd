"""Methods that read and change whole sessions, for callers that do not work with events."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from roundtable.core.base.clock import SystemClock
from roundtable.core.errors import SessionNotFound, StorageError
from roundtable.core.protocols import Storage
from roundtable.core.record.fold import fold_session
from roundtable.core.types.storage import SessionFilter
from roundtable.record.session_edit import append_response, save_changes

if TYPE_CHECKING:
    from roundtable.core.protocols import Clock
    from roundtable.core.types.answers import AgentResponse
    from roundtable.core.types.debate import Session

__all__ = ["WholeSessionMethods"]

_PAGE_SIZE = 10_000
_log: logging.Logger = logging.getLogger(__name__)


class WholeSessionMethods(Storage):
    """Methods for whole sessions and single answers; storages inherit them.

    They change a session under a lease, as all writers do, so they raise `SessionBusy` while the debate of the session
    runs.
    """

    _clock: Clock = SystemClock()

    async def get_session(self, id: str, *, tenant: str = "default") -> Session | None:
        """Return a session; `None` if it does not exist."""
        try:
            record, events = await self.read(id, tenant=tenant)
        except SessionNotFound:
            return None
        return fold_session(record, events)

    async def get_all_sessions(self, *, tenant: str = "default") -> tuple[Session, ...]:
        """Return every session, newest first; a damaged session is left out, and the log names it."""
        sessions: list[Session] = []
        query = SessionFilter(tenant=tenant, limit=_PAGE_SIZE)
        while summaries := await self.list(query):
            for summary in summaries:
                try:
                    session = await self.get_session(summary.id, tenant=tenant)
                except StorageError as error:
                    if not error.is_damage:
                        raise
                    _log.warning("session %r is left out: %s", summary.id, error.message)
                    continue
                if session is not None:  # another process may have deleted the session meanwhile
                    sessions.append(session)
            query = query.model_copy(update={"after": summaries[-1].cursor})
        return tuple(sessions)

    async def save_session(self, session: Session, *, tenant: str = "default") -> None:
        """Store a new session or, if it is stored already, the difference as events.

        New answers are added to the current round. Changes of status and rounds become events, if the status allows
        these changes.

        Raises:
            SessionError: The session would change or remove stored data, or its status does not allow the change.
                Nothing is stored.
            SessionBusy: The session is running.
        """
        await save_changes(self, session, tenant=tenant, clock=self._clock)

    async def delete_session(self, id: str, *, tenant: str = "default") -> None:
        """Delete a session and all its data.

        Raises:
            SessionError: No session has this id.
        """
        await self.delete(id, tenant=tenant)

    async def add_response(self, session_id: str, response: AgentResponse, *, tenant: str = "default") -> None:
        """Add an answer to the current round of a session, in the next free slot of stage `external`.

        `roundtable.engine.SessionManager.add_response` explains how such an answer is used.

        Raises:
            SessionError: No session has this id.
            SessionBusy: The session is running.
        """
        await append_response(self, session_id, response, tenant=tenant, clock=self._clock)

    async def get_responses(self, session_id: str, *, tenant: str = "default") -> tuple[AgentResponse, ...]:
        """Return all answers of a session, in order.

        Raises:
            SessionError: No session has this id.
        """
        return fold_session(*await self.read(session_id, tenant=tenant)).responses
