"""The queue of a fleet: one DBOS workflow for each debate, in SQLite or PostgreSQL."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from anyio import to_thread
from dbos import DBOS, DBOSClient, PortableWorkflowError, WorkflowSerializationFormat
from sqlalchemy.exc import SQLAlchemyError

from roundtable.core.errors import ConfigurationError, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from dbos import EnqueueOptions, WorkflowStatus
    from sqlalchemy import Engine

    from roundtable.core.protocols import Storage
    from roundtable.core.types.storage import QueueDatabase
    from roundtable.fleet.jobs import JobDebate

__all__ = ["FORMAT", "HOLD", "TRANSACTION_IDLE_S", "JobQueue", "QueuedDebate", "database_of", "quiet_logs"]

T = TypeVar("T")

FORMAT: Final = "3"
"""Version of the queue's format. Workers take only debates of their own version; raise it when the format changes."""
HOLD: Final = "roundtable.hold_debate"
"""Name of the workflow that runs a debate."""
TRANSACTION_IDLE_S: Final = 15.0
"""How long PostgreSQL waits for the next statement of a transaction: a suspended process then loses its locks."""
_BATCH: Final = 500
_PAGE: Final = 2_000

_STATES: Final = {
    "ENQUEUED": "queued",
    "DELAYED": "queued",
    "PENDING": "running",
    "SUCCESS": "completed",
    "ERROR": "failed",
    "CANCELLED": "cancelled",
}


def database_of(storage: Storage) -> QueueDatabase:
    """Return the database for the queue that belongs to a storage of sessions.

    Raises:
        ConfigurationError: The storage has no place for queues; sessions in memory end with their process.
    """
    queue_database: Callable[[], QueueDatabase] | None = getattr(storage, "queue_database", None)
    if queue_database is None:
        msg = f"a fleet cannot store its queue with {type(storage).__name__}"
        raise ConfigurationError(
            msg, hint="Use sqlite:///... or postgresql://... as the storage, or one with the method `queue_database`."
        )
    return queue_database()


class QueuedDebate(NamedTuple):
    """A debate in the queue."""

    workflow_id: str
    """Its id in the queue."""
    state: str
    """`queued`, `running`, `completed`, `failed` or `cancelled`."""
    worker: str | None
    """Id of the worker that runs it, or ran it last."""
    is_set_aside: bool = False
    """Whether a worker with other agents left it to workers with the agents of its job; see `JobQueue.set_aside`."""
    session_id: str = ""
    """Id of its session; empty if it was not loaded."""
    request: str = ""
    """What to debate; empty if it was not loaded."""
    error: Any = None
    """The error as JSON, or `None`."""
    begun_s: float | None = None
    """When a worker last took it, in seconds since 1970 by the clock of the worker or the database."""
    ended_s: float | None = None
    """When it ended."""


class JobQueue:
    """The queue of one fleet; its methods call the database on other threads, so they work in any event loop.

    Args:
        database: Where it is stored.
        fleet: Name of the fleet.
    """

    def __init__(self, database: QueueDatabase, fleet: str) -> None:
        self.database = database
        self.name: str = f"debates-{fleet}"
        """Name of the queue in DBOS."""
        self.app: str = f"roundtable-{fleet}"
        """Name of the application in DBOS."""
        self.version: str = f"{FORMAT}-{fleet}"
        """Version of the application in DBOS, where the applications of one database cannot have equal versions."""
        self._client: DBOSClient | None = None

    async def open(self) -> None:
        """Create or upgrade the tables, and connect; later calls do nothing.

        Raises:
            StorageError: The database cannot be reached, or its tables cannot be created.
        """
        if self._client is None:
            self._client = await self._call(self._connect)

    def _connect(self) -> DBOSClient:
        quiet_logs()
        path, schema = self.database.name, self.database.schema
        if schema is None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            # Don't open a file that exists: closing it would release the locks of all connections of this process.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                # The file keeps this mode, in which a commit costs less; another process may use the file already.
                with closing(sqlite3.connect(path)) as new, suppress(sqlite3.OperationalError):
                    new.execute("PRAGMA journal_mode=WAL")
            DBOS.migrate(self.database.url)
        else:
            DBOS.migrate(self.database.url, schema=schema)
        return DBOSClient(
            system_database_url=self.database.url,
            dbos_system_schema=schema or "dbos",
            application_name=self.app,
            retry_connection_errors=False,
            sys_db_idle_transaction_timeout_sec=TRANSACTION_IDLE_S,
        )

    def names_for(self, agents: Sequence[str]) -> list[str]:
        """Return the names in DBOS of the queues for a worker with these agents; without agents, there is only one."""
        return [self.name, self._aside(agents)] if agents else [self.name]

    def _aside(self, agents: Sequence[str]) -> str:
        # Names of fleets contain no `@`.
        return f"{self.name}@{hashlib.sha256(json.dumps([*agents]).encode()).hexdigest()[:16]}"

    async def set_concurrency(self, concurrency: int, polling_s: float, agents: Sequence[str] = ()) -> None:
        """Create the queues of a worker, or change how many debates their workers run at the same time.

        Args:
            concurrency: Maximum number of debates that a worker runs at the same time.
            polling_s: Seconds after which a worker that can run another debate looks for debates again.
            agents: Agents of the worker.
        """
        for name in self.names_for(agents):
            await self._call(
                partial(
                    self._connected.register_queue,
                    name,
                    worker_concurrency=concurrency,
                    polling_interval_sec=polling_s,
                    on_conflict="always_update",
                )
            )

    async def set_polling(self, polling_s: float) -> None:
        """Change after how many seconds workers look for debates again."""

        def change() -> None:
            queue = self._connected.retrieve_queue(self.name)
            if queue is not None:
                queue.set_polling_interval_sec(polling_s)

        await self._call(change)

    async def add(self, debates: Sequence[JobDebate], priority: int) -> None:
        """Queue debates; debates that are already queued, are running or have ended don't change."""
        for start in range(0, len(debates), _BATCH):
            await self._call(partial(self._add, debates[start : start + _BATCH], priority))

    def _add(self, debates: Sequence[JobDebate], priority: int) -> None:
        client = self._connected
        with self._engine.begin() as connection:
            for debate in debates:
                options: EnqueueOptions = {
                    "workflow_name": HOLD,
                    "queue_name": self.name,
                    "workflow_id": debate.workflow_id,
                    "app_version": self.version,
                    "priority": priority,
                    # Plain JSON: data from a shared database must not be able to run code, as a pickle can.
                    "serialization_type": WorkflowSerializationFormat.PORTABLE,
                }
                client.enqueue_in_transaction(connection, options, debate.session_id, debate.request)

    async def debates(self, ids: Sequence[str], *, loads: bool = False) -> list[QueuedDebate]:
        """Return debates in the order of their ids; ids that are not in the queue are left out.

        Args:
            ids: Ids of the debates.
            loads: Whether to read their session ids, requests and errors, which takes longer.
        """
        queued: list[QueuedDebate] = []
        for start in range(0, len(ids), _PAGE):
            rows = await self._call(
                partial(
                    self._connected.list_workflows,
                    workflow_ids=list(ids[start : start + _PAGE]),
                    load_input=loads,
                    load_output=loads,
                )
            )
            queued += sorted(map(_to_queued, rows))
        return queued

    async def has_open(self, prefix: str) -> bool:
        """Check whether any debate whose id begins with `prefix` is queued or running."""
        rows = await self._call(
            partial(
                self._connected.list_workflows,
                workflow_id_prefix=prefix,
                status=[status for status, state in _STATES.items() if state in {"queued", "running"}],
                limit=1,
                load_input=False,
                load_output=False,
            )
        )
        return bool(rows)

    async def running(self) -> dict[str, list[str]]:
        """Return the ids of the running debates of all jobs, grouped by the id of their worker."""
        rows = await self._call(
            partial(
                self._connected.list_workflows,
                app_version=self.version,
                status="PENDING",
                load_input=False,
                load_output=False,
            )
        )
        by_worker: dict[str, list[str]] = {}
        for row in rows:
            by_worker.setdefault(row.executor_id or "", []).append(row.workflow_id)
        return by_worker

    async def cancel(self, ids: Sequence[str]) -> None:
        """Cancel debates that are queued or running; a running debate ends when its worker notices."""
        for start in range(0, len(ids), _BATCH):
            await self._call(partial(self._connected.cancel_workflows, list(ids[start : start + _BATCH])))

    async def queue_again(self, ids: Sequence[str]) -> None:
        """Queue failed or cancelled debates again."""
        for debate_id in ids:
            await self._call(partial(self._connected.rewind_workflow, debate_id, queue_name=self.name))

    async def give_back(self, ids: Sequence[str], worker: str) -> None:
        """Return to the queue debates that a worker will not finish; this does not count as a try.

        A debate does not change if the worker no longer runs it, because it was cancelled or another worker took it.
        """
        for start in range(0, len(ids), _BATCH):
            await self._call(partial(self._move, ids[start : start + _BATCH], worker, self.name))

    async def set_aside(self, debate_id: str, worker: str, agents: Sequence[str]) -> None:
        """Leave a debate that a worker took to workers with these agents, on the same condition as `give_back`."""
        await self._call(partial(self._move, [debate_id], worker, self._aside(agents)))

    def _move(self, ids: Sequence[str], worker: str, queue_name: str) -> None:
        """Queue debates of a worker again.

        The public `resume_workflows` would also queue a debate that was cancelled at this moment, or one that another
        worker runs by now.
        """
        states = self._connected._sys_db.tables.workflow_status  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        moved = (
            states.update()
            .where(states.c.workflow_uuid.in_(ids), states.c.status == "PENDING", states.c.executor_id == worker)
            .values(
                status="ENQUEUED", queue_name=queue_name, owner_xid=None, recovery_attempts=0, started_at_epoch_ms=None
            )
        )
        with self._engine.begin() as connection:
            connection.execute(moved)

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await to_thread.run_sync(client.destroy)

    @property
    def _connected(self) -> DBOSClient:
        if self._client is None:
            raise RuntimeError("the queue is not open")
        return self._client

    @property
    def _engine(self) -> Engine:
        # A private attribute, since only a transaction on the engine can queue many debates at once.
        return self._connected._sys_db.engine  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

    async def _call(self, function: Callable[[], T]) -> T:
        with self.errors():
            return await to_thread.run_sync(function)

    @contextmanager
    def errors(self) -> Generator[None]:
        """Raise database errors in this block as a `StorageError` that does not show secrets of the address."""
        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            raise self._storage_error(error) from None

    def _storage_error(self, error: SQLAlchemyError | OSError) -> StorageError:
        cause = getattr(error, "orig", None)
        known = None if self.database.error_of is None else self.database.error_of(cause)
        if isinstance(known, StorageError):
            return known
        return StorageError(
            f"the queue in {self.database.name} cannot be used: {type(cause or error).__name__}",
            hint="Check that the disk has space, and that this user may create and write the file.",
        )


def _to_queued(row: WorkflowStatus) -> QueuedDebate:
    arguments = ("", "") if row.input is None else row.input["args"]
    error = None if row.error is None else _error_of(row.error)
    return QueuedDebate(
        workflow_id=row.workflow_id,
        state=_STATES[row.status],
        worker=row.executor_id,
        is_set_aside="@" in (row.queue_name or ""),
        session_id=str(arguments[0]),
        request=str(arguments[1]),
        error=error,
        begun_s=None if row.dequeued_at is None else row.dequeued_at / 1000,
        ended_s=None if row.completed_at is None else row.completed_at / 1000,
    )


def _error_of(error: Exception) -> dict[str, Any]:
    """Return the stored error of a debate as JSON; an error without a code of this library gets `INTERNAL`."""
    if not isinstance(error, PortableWorkflowError):
        return {"name": type(error).__name__, "message": str(error), "code": "INTERNAL"}
    data = error.data if isinstance(error.data, dict) else {}
    return {"name": error.name, "message": error.message, "code": error.code or "INTERNAL", **data}


class _OnlyProblems(logging.Filter):
    """Drops log records of DBOS below warnings, and errors of debates, which the fleet reports itself."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        ours = text.startswith(("Exception encountered in asynchronous workflow", "Asyncio task cancelled for"))
        return record.levelno >= logging.WARNING and not ours


def quiet_logs() -> None:
    """Send the warnings and errors of DBOS to this program's log, instead of letting DBOS print its whole log."""
    log = logging.getLogger("dbos")
    for handler in list(log.handlers):
        if handler.name == "__dbos_console_log_handler__":
            log.removeHandler(handler)
    if not any(isinstance(log_filter, _OnlyProblems) for log_filter in log.filters):
        log.addFilter(_OnlyProblems())
        log.addHandler(logging.NullHandler())
        log.propagate = True
