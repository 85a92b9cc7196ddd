"""A thread that owns one database connection, and the way into it from any event loop."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections import defaultdict
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread, current_thread
from time import monotonic
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from anyio import Event
from anyio.lowlevel import checkpoint_if_cancelled

from roundtable._loops import Loop, call_soon, running_loop
from roundtable.errors import StorageError
from roundtable.storage.database import file_identity, is_spoilt, storage_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Job", "Worker", "commit_together", "read_each"]

_log: logging.Logger = logging.getLogger(__name__)

T = TypeVar("T")

_LARGEST_BATCH = 512


def _nothing(_connection: sqlite3.Connection) -> None:
    """Do nothing."""


def _always() -> bool:
    return True


class Job(Generic[T]):
    """One thing to do with the connection, and who waits for it. Made in the waiting event loop.

    Args:
        run: Does it, inside a transaction. It may be run again if the transaction was lost.
    """

    def __init__(self, run: Callable[[sqlite3.Connection], T]) -> None:
        self.run = run
        self.loop: Loop = running_loop()
        self.done: Event = Event()
        self.error: BaseException | None = None
        self._values: tuple[T, ...] = ()

    def attempt(self, connection: sqlite3.Connection) -> None:
        """Do it, and keep what came of it."""
        self.error, self._values = None, ()
        try:
            self._values = (self.run(connection),)
        # Whatever it is belongs to the one who waits; the thread must go on for the others.
        except BaseException as error:  # noqa: BLE001
            self.error = error

    def result(self) -> T:
        """Give what came of it.

        Raises:
            BaseException: Whatever `run` raised, or why it could not be run.
        """
        if self.error is not None:
            raise self.error
        return self._values[0]


class Worker:
    """Owns a connection on a thread of its own, which starts with the first job.

    Jobs are gathered: when the jobs before came in company, the thread waits up to `window_s` for as many
    again, so that one commit serves them all. A job that comes alone after one that came alone is
    done at once.

    Args:
        name: Name of the thread.
        path: The file, for messages.
        open_connection: Opens the connection, on the thread.
        work: Does some jobs with the connection.
        after: Called once those who wait have been told.
        keeps: Asked then whether the connection is good for the next jobs as well.
        last: Called before the connection is closed for good.
        window_s: How long to wait for company, in seconds.
    """

    def __init__(
        self,
        name: str,
        path: str,
        *,
        open_connection: Callable[[], sqlite3.Connection],
        work: Callable[[sqlite3.Connection, Sequence[Job[object]]], None],
        after: Callable[[sqlite3.Connection], None] = _nothing,
        keeps: Callable[[], bool] = _always,
        last: Callable[[], None] | None = None,
        window_s: float = 0.0,
    ) -> None:
        self._name = name
        self.path = path
        """The file."""
        self._place = Path(path)
        self._open_connection = open_connection
        self._work = work
        self._after = after
        self._keeps = keeps
        self._last = last
        self._window_s = window_s
        self._queue: SimpleQueue[Job[object] | None] = SimpleQueue()
        self._lock = Lock()
        self._thread: Thread | None = None
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._waiting: list[Job[object]] = []
        self._closed = False
        self._finished = False
        self._pid = os.getpid()

    async def call(self, run: Callable[[sqlite3.Connection], T]) -> T:
        """Have something done with the connection, and wait for it.

        Once handed over it is done even if the caller is cancelled meanwhile.

        Raises:
            StorageError: The storage is closed or belongs to another process, or the database failed.
        """
        await checkpoint_if_cancelled()
        job = Job(run)
        self._submit(cast("Job[object]", job))
        await job.done.wait()
        return job.result()

    def stop(self) -> None:
        """Take no more jobs and end once those at hand are done; idempotent, returns at once."""
        if self._is_foreign:
            return
        with self._lock:
            if not self._closed and self._thread is not None:
                self._queue.put(None)
            self._closed = True

    async def ended(self) -> None:
        """Wait until the thread has ended after `stop`."""
        if self._is_foreign or self._thread is None:
            return
        job: Job[object] = Job(_nothing)
        with self._lock:
            if not self._finished:
                self._waiting.append(job)
            else:
                job.done.set()
        await job.done.wait()
        self.join()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait, blocking, until the thread has ended after `stop`."""
        if self._thread is not None and not self._is_foreign and not self.is_here:
            self._thread.join(timeout_s)

    @property
    def is_here(self) -> bool:
        """Whether the present thread is this worker's."""
        return self._thread is current_thread()

    @property
    def _is_foreign(self) -> bool:
        # After a fork neither the thread nor the state of its lock can be relied on.
        return self._pid != os.getpid()

    def _submit(self, job: Job[object]) -> None:
        if self._is_foreign:
            raise StorageError(
                f"the storage of {self.path!r} was made in another process",
                hint="A forked process must open a storage of its own.",
            )
        with self._lock:
            if self._closed:
                raise StorageError(f"the storage of {self.path!r} is closed", hint="Open a new one.")
            if self._thread is None:
                # A daemon: a script that never closes its storage must still end.
                thread = Thread(target=self._run, name=self._name, daemon=True)
                thread.start()
                self._thread = thread
            self._queue.put(job)

    def _run(self) -> None:
        company, stopping = 1, False
        while not stopping:
            jobs, stopping = self._gather(company)
            if jobs:
                company = len(jobs)
                self._serve(jobs)
            del jobs  # what a job refers to must not live as long as the next wait
        if self._last is not None:
            self._last()
        self._disconnect()
        with self._lock:
            self._finished = True
            waiting = tuple(self._waiting)
        _tell(waiting)

    def _gather(self, company: int) -> tuple[list[Job[object]], bool]:
        """Take the next jobs; tell whether the end was asked for behind them."""
        job = self._queue.get()
        jobs: list[Job[object]] = []
        deadline = monotonic() + self._window_s
        while job is not None:
            jobs.append(job)
            if len(jobs) >= _LARGEST_BATCH:
                return jobs, False
            wait_s = max(deadline - monotonic(), 0.0) if len(jobs) < company else 0.0
            try:
                job = self._queue.get(timeout=wait_s) if wait_s else self._queue.get_nowait()
            except Empty:
                return jobs, False
        return jobs, True

    def _serve(self, jobs: Sequence[Job[object]]) -> None:
        spoilt = False
        try:
            self._work(self._connected(), jobs)
        # Whatever it is must be told to those who wait, and the thread must go on.
        except BaseException as error:  # noqa: BLE001
            spoilt = True
            for job in jobs:
                job.error = error
        for job in jobs:
            if isinstance(job.error, sqlite3.Error | UnicodeDecodeError):
                spoilt = spoilt or is_spoilt(job.error)
                job.error = storage_error(job.error, self.path)
        for job in jobs:
            job.run = _nothing  # which may hold the storage, and must not outlive the caller's own hold on it
        _tell(jobs)
        if not spoilt and self._connection is not None:
            try:
                self._after(self._connection)
            # What is stored is stored, and the thread must go on.
            except Exception as error:  # noqa: BLE001
                _log.warning("tidying up %s failed: %s", self.path, error)
                spoilt = True
        if spoilt or not self._keeps():
            self._disconnect()

    def _connected(self) -> sqlite3.Connection:
        """Give the connection; opens one, and another when the file was deleted or replaced meanwhile.

        SQLite would go on writing to a deleted file, and what it acknowledges would be lost.
        """
        if self._connection is not None and file_identity(self._place) != self._file:
            _log.warning("%s was deleted or replaced while it was in use", self.path)
            self._disconnect()
        if self._connection is None:
            self._connection = self._open_connection()
            self._file = file_identity(self._place)
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            connection.close()
        except sqlite3.Error as error:
            _log.warning("closing %s: %s", self.path, error)


def _tell(jobs: Sequence[Job[object]]) -> None:
    """Wake everybody who waits for one of these jobs, with one call into each event loop."""
    by_loop: defaultdict[Loop, list[Event]] = defaultdict(list)
    for job in jobs:
        by_loop[job.loop].append(job.done)
    for loop, events in by_loop.items():
        if not call_soon(loop, partial(_set_all, events)):
            # With the loop ended all who waited there.
            _log.debug("%d answers had nobody left to hear them", len(events))


def _set_all(events: Sequence[Event]) -> None:
    for event in events:
        event.set()


def commit_together(connection: sqlite3.Connection, jobs: Sequence[Job[object]]) -> None:
    """Do all jobs in one transaction, each under a savepoint: one that fails leaves no trace and harms no other.

    If the transaction is lost as a whole (a full disk, a failing medium), each job is tried again alone.
    """
    if _commit(connection, jobs) or len(jobs) == 1:
        return
    for job in jobs:
        _commit(connection, (job,))


def _commit(connection: sqlite3.Connection, jobs: Sequence[Job[object]]) -> bool:
    """Do jobs in one transaction; tell whether it came to an end of its own, in whole or not at all."""
    begun = False
    try:
        connection.execute("BEGIN IMMEDIATE")
        begun = True
        for job in jobs:
            connection.execute("SAVEPOINT job")
            job.attempt(connection)
            if not connection.in_transaction:  # the error was of the kind that takes everything with it
                _fail(jobs, job.error)
                return False
            if job.error is not None:
                connection.execute("ROLLBACK TO job")
            connection.execute("RELEASE job")
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        _fail(jobs, error)
        return not begun
    return True


def _fail(jobs: Sequence[Job[object]], error: BaseException | None) -> None:
    for job in jobs:
        job.error = error


def read_each(connection: sqlite3.Connection, jobs: Sequence[Job[object]]) -> None:
    """Do each job in a transaction of its own, which only reads: it sees one state of the file."""
    for job in jobs:
        connection.execute("BEGIN")
        job.attempt(connection)
        if connection.in_transaction:
            connection.execute("ROLLBACK")
