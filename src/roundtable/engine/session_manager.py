"""Sessions: created, found, listed, changed by hand, deleted."""

from __future__ import annotations

import os
import secrets
from functools import cache
from typing import TYPE_CHECKING

from pydantic import ValidationError

from roundtable._clock import SystemClock
from roundtable._owner import current_owner
from roundtable.errors import ConfigurationError, SessionBusy, SessionNotFound
from roundtable.prompts import PROMPT_VERSION
from roundtable.protocols import Backup, FullText, Leases
from roundtable.record import Fold, append_response, save_changes, with_past
from roundtable.record.amend import store_past
from roundtable.types import AgentConfig, Control, SearchQuery, SessionFilter, SessionRecord
from roundtable.types.plan import EXTERNAL

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from roundtable.protocols import Clock, Storage
    from roundtable.types import (
        AgentResponse,
        ContextResult,
        ControlAction,
        DebateConfig,
        DurableEvent,
        ForkOrigin,
        Owner,
        RunningCalls,
        SearchHit,
        Session,
        SessionStatus,
        SessionSummary,
    )

__all__ = ["SessionManager"]

_PAGE = 500
_SHORT_LEASE_S = 15.0


class SessionManager:
    """Keeps the sessions of one tenant in a storage.

    Args:
        storage: Where they are kept.
        tenant: Whose they are; sessions of other tenants do not exist for this manager.
        clock: Where time comes from.

    Example:
        >>> import anyio
        >>> from roundtable.storage import MemoryStorage
        >>> from roundtable.types import DebateConfig
        >>> manager = SessionManager(MemoryStorage())
        >>> session = anyio.run(manager.create_session, DebateConfig(topic="Tea or coffee?", agents=("ada", "bo")))
        >>> session.status, session.total_rounds
        ('created', 3)
    """

    def __init__(self, storage: Storage, *, tenant: str = "default", clock: Clock | None = None) -> None:
        self.storage = storage
        self.tenant = tenant
        self.clock: Clock = clock or SystemClock()

    async def create_session(
        self, config: DebateConfig, agents: Sequence[AgentConfig] = (), *, forked_from: ForkOrigin | None = None
    ) -> Session:
        """Create an empty session.

        Args:
            config: What to debate and how.
            agents: Configurations of `config.agents`; an id without one stands for an agent outside the
                library, whose answers come in through `add_response`.
            forked_from: Where the past of the session comes from; `give_past` stores it.

        Raises:
            ConfigurationError: No agents, the same agent twice, or configurations of other agents.
        """
        known = {agent.id: agent for agent in agents}
        if not config.agents or len(set(config.agents)) != len(config.agents):
            msg = f"a debate needs at least one agent, each once; not {list(config.agents)!r}"
            raise ConfigurationError(msg)
        if set(known) - set(config.everybody):
            msg = f"configurations of agents that do not take part: {sorted(set(known) - set(config.everybody))!r}"
            raise ConfigurationError(msg)
        record = SessionRecord(
            id=secrets.token_hex(16),
            tenant=self.tenant,
            config=config,
            agents=tuple(
                known.get(agent_id) or AgentConfig(id=agent_id, name=agent_id, provider=EXTERNAL)
                for agent_id in config.everybody
            ),
            created_at=self.clock.now(),
            prompt_version=PROMPT_VERSION,
            forked_from=forked_from,
        )
        await self.storage.create(record)
        return Fold(record).to_session()

    async def give_past(self, session_id: str, past: Sequence[DurableEvent]) -> None:
        """Store what a forked session shares with another, in one go; removes the session where that fails."""
        events = with_past(session_id, past)
        await store_past(self.storage, session_id, events, tenant=self.tenant, owner=self.owner())

    async def load(self, session_id: str) -> Fold:
        """Give the state of a session.

        Raises:
            SessionError: There is no such session.
        """
        record, events = await self.storage.read(session_id, tenant=self.tenant)
        return Fold(record, events)

    async def get_session(self, session_id: str) -> Session | None:
        """Give a session, or `None` when there is none."""
        try:
            return (await self.load(session_id)).to_session()
        except SessionNotFound:
            return None

    async def update_session(self, session: Session) -> None:
        """Append what is new in `session` to the log.

        Raises:
            SessionError: A stored response was changed or dropped, or the change of state is not allowed.
            SessionBusy: Somebody is running the session.
        """
        await save_changes(self.storage, session, tenant=self.tenant, clock=self.clock)

    async def add_response(self, session_id: str, response: AgentResponse) -> None:
        """Append an answer given outside the library to the current round, in its stage `external`.

        Agents from outside the table have a voice like those at it: the answer counts in agreement and decision when
        its round is closed. An agent that answers more than once in a round counts with its last position; those that
        a stage of the mode asks for come after earlier ones from outside. An answer added to a closed round is kept
        and shown, but agreement and decision of the round stay as they were measured.

        Raises:
            SessionError: There is no such session.
            SessionBusy: Somebody is running it.
        """
        await append_response(self.storage, session_id, response, tenant=self.tenant, clock=self.clock)

    async def list_sessions(self, wanted: SessionFilter | None = None) -> tuple[Session, ...]:
        """Give sessions whole, newest first; `summaries` is cheaper."""
        listed = await self.summaries(wanted)
        return tuple([(await self.load(summary.id)).to_session() for summary in listed])

    async def summaries(self, wanted: SessionFilter | None = None) -> tuple[SessionSummary, ...]:
        """List sessions, newest first, without their responses."""
        asked = (wanted or SessionFilter()).model_copy(update={"tenant": self.tenant})
        return await self.storage.list(asked)

    async def delete_session(self, session_id: str) -> None:
        """Remove a session and all that was said in it; a run of it ends with an error at its next write.

        Raises:
            SessionError: There is no such session.
        """
        await self.storage.delete(session_id, tenant=self.tenant)

    async def prune(self, before: datetime, *, status: SessionStatus | None = None) -> int:
        """Remove the sessions that last changed before a moment; those that somebody runs are left alone.

        Args:
            before: The moment.
            status: Only sessions in this state.

        Returns:
            How many were removed.

        Raises:
            ConfigurationError: The moment or the state is none.
        """
        try:
            wanted = SessionFilter(updated_before=before, status=status, limit=_PAGE)
        except ValidationError as error:
            raise _no_query("prune", error, "Give an aware datetime, and the name of a state or none.") from None
        removed = 0
        while page := await self.summaries(wanted):
            for summary in page:
                removed += await self._forget(summary)
            wanted = wanted.model_copy(update={"after": page[-1].cursor})
        return removed

    async def _forget(self, summary: SessionSummary) -> bool:
        """Remove a session that nobody runs and nobody changed since it was listed."""
        owner, storage = self.owner(), self.storage
        try:
            await storage.lease(summary.id, owner, _SHORT_LEASE_S, tenant=self.tenant)
            _, news = await storage.read(summary.id, summary.last_seq, tenant=self.tenant)
            if news:
                await storage.lease(summary.id, owner, 0, tenant=self.tenant)
                return False
            await storage.delete(summary.id, tenant=self.tenant)
        except (SessionBusy, SessionNotFound):
            return False
        return True

    async def search(self, text: str, *, session_id: str | None = None, limit: int = 20) -> tuple[SearchHit, ...]:
        """Find words in positions and their reasoning; see `roundtable.types.SearchQuery`.

        Raises:
            ConfigurationError: The storage has no full-text search, or the query is none.
        """
        if not isinstance(self.storage, FullText):
            raise _lacks(self.storage, "full-text search", "search")
        try:
            query = SearchQuery(text=text, tenant=self.tenant, session_id=session_id, limit=limit)
        except ValidationError as error:
            raise _no_query("search", error, "Give 1 to 1000 characters to look for.") from None
        return await self.storage.search(query)

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy all that the storage holds, of all tenants, to a new file, while it is in use.

        Raises:
            ConfigurationError: The storage cannot be copied.
            StorageError: The file exists, or cannot be written.
        """
        if not isinstance(self.storage, Backup):
            raise _lacks(self.storage, "backup", "backup")
        await self.storage.backup(path)

    async def control(
        self,
        session_id: str,
        action: ControlAction,
        *,
        by: str | None = None,
        total_rounds: int | None = None,
        focus_question: str | None = None,
        context_results: Sequence[ContextResult] = (),
        running: RunningCalls | None = None,
    ) -> int:
        """Ask for something, whoever runs the session; give the number of the request.

        Raises:
            SessionError: There is no such session, or its state does not allow it.
        """
        event = Control(
            session_id=session_id,
            timestamp=self.clock.now(),
            action=action,
            by=by,
            total_rounds=total_rounds,
            focus_question=focus_question,
            context_results=tuple(context_results),
            running=running,
        )
        return await self.storage.append(session_id, None, None, (event,), tenant=self.tenant)

    async def is_run(self, session_id: str) -> bool | None:
        """Tell whether somebody runs a session; `None` where the storage does not say.

        Raises:
            SessionError: There is no such session.
        """
        if not isinstance(self.storage, Leases):
            return None
        return await self.storage.holder(session_id, tenant=self.tenant) is not None

    def owner(self) -> Owner:
        """Give a fresh identity for taking a lease."""
        return _this_process(os.getpid()).model_copy(update={"name": secrets.token_hex(16)})


def _no_query(method: str, error: ValidationError, hint: str) -> ConfigurationError:
    return ConfigurationError(f"{method}: {error.errors(include_url=False)[0]['msg']}", cause=error, hint=hint)


def _lacks(storage: object, what: str, method: str) -> ConfigurationError:
    return ConfigurationError(
        f"{type(storage).__name__} has no {what}",
        hint=f"Keep sessions in 'sqlite:///file.db', or give the storage a method `{method}`.",
    )


@cache
def _this_process(_pid: int) -> Owner:
    """Describe this process; asked by its number, since a forked one is another."""
    return current_owner()
