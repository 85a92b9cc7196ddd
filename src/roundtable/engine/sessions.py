"""Sessions: create, find, list, edit and delete them."""

from __future__ import annotations

import logging
import os
import secrets
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from roundtable._version import __version__
from roundtable.core.base.clock import SystemClock
from roundtable.core.base.owner import current_owner
from roundtable.core.capabilities import Backup, FullText, HasBackupHint, Leases
from roundtable.core.errors import ConfigurationError, SessionBusy, SessionNotFound, StorageError
from roundtable.core.prompts.compose import PROMPT_VERSION
from roundtable.core.record.chain import chain_events, first_hash
from roundtable.core.record.fold import Fold
from roundtable.core.record.transitions import rebase_past
from roundtable.core.types.agents import AgentConfig
from roundtable.core.types.attachments import stored_contents
from roundtable.core.types.debate import CallerObjects, SessionRecord
from roundtable.core.types.events import Control
from roundtable.core.types.plan import EXTERNAL
from roundtable.core.types.storage import SearchQuery, SessionFilter
from roundtable.record.session_edit import append_response, save_changes, store_past

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
    from datetime import datetime

    from roundtable.core.capabilities import KeyValue
    from roundtable.core.protocols import Clock, Storage
    from roundtable.core.types.answers import AgentResponse, ContextResult
    from roundtable.core.types.attachments import Attachment
    from roundtable.core.types.debate import DebateConfig, ForkOrigin, PluginUse, Session, SessionStatus
    from roundtable.core.types.events import ControlAction, DurableEvent, RunningCalls
    from roundtable.core.types.storage import LeaseOwner, SearchHit, SessionSummary

__all__ = ["ControlSignals", "SessionManager"]

logger: logging.Logger = logging.getLogger("roundtable.engine")

_PAGE = 500
_SHORT_LEASE_S = 15.0
_PROMPTS: Final = "prompts/"
"""Start of the keys of the texts of prompts in the key-value store; their hash follows."""


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


class ControlSignals:
    """Notifies the runs of this process of stored control requests, so that these runs read the log at once.

    If the storage can send notices (`Notify`, such as PostgreSQL), they reach runs in other processes at once. With
    other storages, a run in another process finds a request when it next reads the log.
    """

    def __init__(self) -> None:
        self._listeners: dict[tuple[str, str], list[Callable[[], None]]] = {}
        # Event loops of several threads may share a storage.
        self._lock = Lock()

    @contextmanager
    def listen(self, tenant: str, session_id: str, listener: Callable[[], None]) -> Generator[None]:
        """Call `listener` for each control request of a session while the block is open."""
        key = tenant, session_id
        with self._lock:
            self._listeners.setdefault(key, []).append(listener)
        try:
            yield
        finally:
            with self._lock:
                self._listeners[key].remove(listener)
                if not self._listeners[key]:
                    del self._listeners[key]

    def notify(self, tenant: str, session_id: str) -> None:
        """Notify the runs of a session."""
        with self._lock:
            listeners = tuple(self._listeners.get((tenant, session_id), ()))
        for listener in listeners:
            listener()


class SessionManager:
    """Manages the sessions of one tenant in a storage.

    Args:
        storage: Where sessions are stored.
        tenant: Owner of the sessions; this manager never sees sessions of other tenants.
        clock: Source of the time.
        signals: Notifies runs of control requests; managers that share this object notify each other's runs.
        on_delete: Called with the id and the tenant of each deleted session.

    Example:
        >>> import anyio
        >>> from roundtable.storage import MemoryStorage
        >>> from roundtable.types import DebateConfig
        >>> manager = SessionManager(MemoryStorage())
        >>> session = anyio.run(manager.create_session, DebateConfig(topic="Tea or coffee?", agents=("ada", "bo")))
        >>> session.status, session.total_rounds
        ('created', 3)
    """

    def __init__(
        self,
        storage: Storage,
        *,
        tenant: str = "default",
        clock: Clock | None = None,
        signals: ControlSignals | None = None,
        on_delete: Callable[[str, str], None] | None = None,
    ) -> None:
        self.storage = storage
        self.tenant = tenant
        self.clock: Clock = clock or SystemClock()
        self.signals: ControlSignals = signals or ControlSignals()
        self._on_delete = on_delete
        self._stored_prompts: set[str] = set()

    async def create_session(
        self,
        config: DebateConfig,
        agents: Sequence[AgentConfig] = (),
        *,
        forked_from: ForkOrigin | None = None,
        caller_objects: CallerObjects | None = None,
        plugins: Sequence[PluginUse] = (),
        session_id: str | None = None,
        attachments: Sequence[Attachment] = (),
        prompts: Mapping[str, str] | None = None,
    ) -> Session:
        """Create an empty session.

        Args:
            config: What to debate and how.
            agents: Configurations of `config.agents`; an id without a configuration belongs to an agent outside the
                library, whose answers `add_response` adds.
            forked_from: Origin of a fork; `store_past` stores the shared past.
            caller_objects: Objects that the caller must pass again to resume the session; no objects when left out.
            plugins: Plugins that take part.
            session_id: Id of the session; a random one when left out.
            attachments: Files that belong to the question, checked by `read_attachments`.
            prompts: Texts of the mode's instructions, by name; each text is stored once for all sessions.

        Raises:
            ConfigurationError: There are no agents, an agent appears twice, or a configuration belongs to no agent
                of the debate.
            SessionConflict: A session with this id exists.
        """
        configs = {agent.id: agent for agent in agents}
        if not config.agents or len(set(config.agents)) != len(config.agents):
            msg = f"a debate needs at least one agent, and each agent only once, not {list(config.agents)!r}"
            raise ConfigurationError(msg)
        outsiders = set(configs) - set(config.everybody)
        if outsiders:
            msg = f"the configurations name agents that are not in the debate: {sorted(outsiders)!r}"
            raise ConfigurationError(msg)
        record = SessionRecord(
            id=session_id or secrets.token_hex(16),
            tenant=self.tenant,
            config=config.model_copy(update={"attachments": tuple(each.info for each in attachments)}),
            agents=tuple(
                configs.get(agent_id) or AgentConfig(id=agent_id, name=agent_id, provider=EXTERNAL)
                for agent_id in config.everybody
            ),
            created_at=self.clock.now(),
            prompt_version=PROMPT_VERSION,
            library_version=__version__,
            prompts={name: _digest(text) for name, text in (prompts or {}).items()},
            forked_from=forked_from,
            caller_objects=caller_objects or CallerObjects(),
            plugins=tuple(plugins),
            contents=stored_contents(attachments),
        )
        await self.storage.create(record)
        await self._store_prompts((prompts or {}).values())
        return Fold(record).to_session()

    async def _store_prompts(self, texts: Iterable[str]) -> None:
        """Store texts that this object has not stored yet, if the storage keeps values."""
        values: KeyValue | None = getattr(self.storage, "kv", None)
        for text in texts:
            digest = _digest(text)
            if values is None or digest in self._stored_prompts:
                continue
            try:
                await values.put(f"{_PROMPTS}{digest}", text, tenant=self.tenant)
            except StorageError as error:
                logger.warning("the texts of the prompts were not stored: %s", error.message)
            else:
                self._stored_prompts.add(digest)

    async def prompt_texts(self, session_id: str) -> dict[str, str]:
        """Return the texts of a session's prompts by name; a text that this storage does not have is left out.

        Raises:
            SessionError: The session is unknown.
        """
        record, _ = await self.storage.read(session_id, tenant=self.tenant)
        values: KeyValue | None = getattr(self.storage, "kv", None)
        found: dict[str, str] = {}
        for name, digest in record.prompts.items():
            text = None if values is None else await values.get(f"{_PROMPTS}{digest}", tenant=self.tenant)
            if isinstance(text, str) and _digest(text) == digest:
                found[name] = text
        return found

    async def store_past(self, session_id: str, past: Sequence[DurableEvent]) -> None:
        """Store the past that a fork shares with its origin, in one write; if the write fails, delete the session."""
        record, _ = await self.storage.read(session_id, tenant=self.tenant)
        events = tuple(chain_events(first_hash(record), 0, rebase_past(session_id, past)))
        await store_past(self.storage, session_id, events, tenant=self.tenant, owner=self.owner())

    async def load(self, session_id: str) -> Fold:
        """Load the state of a session.

        Raises:
            SessionError: The session is unknown.
        """
        record, events = await self.storage.read(session_id, tenant=self.tenant)
        return Fold(record, events)

    async def get_session(self, session_id: str) -> Session | None:
        """Return a session, or `None` when it is unknown."""
        try:
            return (await self.load(session_id)).to_session()
        except SessionNotFound:
            return None

    async def update_session(self, session: Session) -> None:
        """Append the changes in `session` to the log.

        Raises:
            SessionError: A stored response was changed or removed, or the change of state is not allowed.
            SessionBusy: The session is running.
        """
        await save_changes(self.storage, session, tenant=self.tenant, clock=self.clock)

    async def add_response(self, session_id: str, response: AgentResponse) -> None:
        """Append an answer from outside the library to the current round, in its stage `external`.

        When the round is closed, this answer counts in the agreement and the decision, like the answers of the debate's
        own agents. If an agent answers more than once in a round, its last position counts; positions from stages of
        the mode come after earlier positions from outside. An answer added to a closed round is stored and shown, but
        does not change the agreement and the decision of that round.

        Raises:
            SessionError: The session is unknown.
            SessionBusy: The session is running.
        """
        await append_response(self.storage, session_id, response, tenant=self.tenant, clock=self.clock)

    async def list_sessions(self, wanted: SessionFilter | None = None) -> tuple[Session, ...]:
        """Return sessions with all their responses, newest first; `summaries` is cheaper, since it reads no responses.

        A session that cannot be read is left out and named in the log; `summaries` lists it, with the reason in
        `error`.
        """
        sessions: list[Session] = []
        for summary in await self.summaries(wanted):
            try:
                sessions.append((await self.load(summary.id)).to_session())
            except StorageError as error:
                if not error.is_damage:
                    raise
        return tuple(sessions)

    async def summaries(self, wanted: SessionFilter | None = None) -> tuple[SessionSummary, ...]:
        """List sessions, newest first, without their responses."""
        query = (wanted or SessionFilter()).model_copy(update={"tenant": self.tenant})
        return await self.storage.list(query)

    async def delete_session(self, session_id: str, *, force: bool = False) -> None:
        """Delete a session with all its answers.

        Args:
            session_id: Which session.
            force: Whether to delete it even while it is running; the run then ends with an error at its next write.

        Raises:
            SessionNotFound: The session is unknown.
            SessionBusy: The session is running, and `force` is false.
        """
        if not force:
            try:
                await self.storage.lease(session_id, self.owner(), _SHORT_LEASE_S, tenant=self.tenant)
            except SessionBusy as error:
                msg = f"session {session_id!r} is running, so it cannot be deleted"
                hint = "Stop it first, or delete it with force=True (--force): its run then ends with an error."
                raise SessionBusy(msg, hint=hint, details=error.details) from error
        await self._delete(session_id)

    async def _delete(self, session_id: str) -> None:
        await self.storage.delete(session_id, tenant=self.tenant)
        if self._on_delete is not None:
            self._on_delete(session_id, self.tenant)

    async def prune(self, before: datetime, *, status: SessionStatus | None = None) -> int:
        """Delete the sessions that last changed before a given time.

        Sessions that are running or that cannot be read are skipped. `delete_session` deletes a session that cannot be
        read.

        Args:
            before: The time, a datetime with a time zone.
            status: Delete only sessions in this state.

        Returns:
            The number of deleted sessions.

        Raises:
            ConfigurationError: The time or the state is not valid.
        """
        try:
            query = SessionFilter.model_validate({"updated_before": before, "status": status, "limit": _PAGE})
        except ValidationError as error:
            raise _query_error("prune", error, "Pass a datetime with a time zone, and a valid state or None.") from None
        deleted = 0
        while page := await self.summaries(query):
            for summary in page:
                deleted += await self._delete_unchanged(summary)
            query = query.model_copy(update={"after": page[-1].cursor})
        return deleted

    async def _delete_unchanged(self, summary: SessionSummary) -> bool:
        """Delete a session unless it is running or has changed since it was listed; return whether it was deleted."""
        owner, storage = self.owner(), self.storage
        try:
            await storage.lease(summary.id, owner, _SHORT_LEASE_S, tenant=self.tenant)
            _, new_events = await storage.read(summary.id, summary.last_seq, tenant=self.tenant)
            if new_events:
                await storage.lease(summary.id, owner, 0, tenant=self.tenant)
                return False
            await self._delete(summary.id)
        except (SessionBusy, SessionNotFound):
            return False
        except StorageError as error:
            if not error.is_damage:
                raise
            await storage.lease(summary.id, owner, 0, tenant=self.tenant)
            return False
        return True

    async def search(self, text: str, *, session_id: str | None = None, limit: int = 20) -> tuple[SearchHit, ...]:
        """Search positions and their reasoning; see `roundtable.types.SearchQuery`.

        Raises:
            ConfigurationError: The storage has no full-text search, or the query is not valid.
        """
        if not isinstance(self.storage, FullText):
            raise _unsupported(self.storage, "full-text search", "search")
        try:
            query = SearchQuery(text=text, tenant=self.tenant, session_id=session_id, limit=limit)
        except ValidationError as error:
            raise _query_error("search", error, "Search for 1 to 1000 characters.") from None
        return await self.storage.search(query)

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the whole storage, with all tenants, to a new file while it is in use.

        Raises:
            ConfigurationError: The storage does not support backups.
            StorageError: The file exists, or cannot be written.
        """
        if not isinstance(self.storage, Backup):
            hint = self.storage.backup_hint if isinstance(self.storage, HasBackupHint) else None
            raise _unsupported(self.storage, "backup", "backup", hint)
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
        """Send a control request to the owner of the session; return the sequence number of its event.

        Raises:
            SessionError: The session is unknown, or its state does not allow the request.
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
        seq = await self.storage.append(session_id, None, None, (event,), tenant=self.tenant)
        self.signals.notify(self.tenant, session_id)
        return seq

    async def is_run(self, session_id: str) -> bool | None:
        """Check whether a session is running; `None` where the storage does not know.

        Raises:
            SessionError: The session is unknown.
        """
        if not isinstance(self.storage, Leases):
            return None
        return await self.storage.holder(session_id, tenant=self.tenant) is not None

    def owner(self) -> LeaseOwner:
        """Create a new identity for taking a lease."""
        return _this_process(os.getpid()).model_copy(update={"name": secrets.token_hex(16)})


def _query_error(method: str, error: ValidationError, hint: str) -> ConfigurationError:
    return ConfigurationError(f"{method}: {error.errors(include_url=False)[0]['msg']}", cause=error, hint=hint)


def _unsupported(storage: object, feature: str, method: str, hint: str | None = None) -> ConfigurationError:
    return ConfigurationError(
        f"{type(storage).__name__} has no {feature}",
        hint=hint or f"Keep sessions in 'sqlite:///file.db', or give the storage a method `{method}`.",
    )


@cache
def _this_process(_pid: int) -> LeaseOwner:
    """Describe this process; cached by the process id, since a forked process is another owner."""
    return current_owner()
