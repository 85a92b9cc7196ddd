"""A thread that owns one database connection and runs jobs for any event loop."""

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

from roundtable.core.base.eventloop import Loop, call_soon, running_loop
from roundtable.core.errors import StorageError
from roundtable.storage.database import file_identity, needs_reconnect, storage_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Job", "Worker", "commit_together", "read_each"]

_log: logging.Logger = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_BATCH = 512


def _do_nothing(_connection: sqlite3.Connection) -> None:
    """Do nothing."""


def _return_true() -> bool:
    return True


class Job(Generic[T]):
    """A function to run with the connection, and an event for which its caller waits.

    Create a job in the event loop of the caller.

    Args:
        run: Called with the connection, inside a transaction, and called again if the transaction was lost.
    """

    def __init__(self, run: Callable[[sqlite3.Connection], T]) -> None:
        self.run = run
        self.loop: Loop = running_loop()
        self.done: Event = Event()
        self.error: BaseException | None = None
        self._values: tuple[T, ...] = ()

    def attempt(self, connection: sqlite3.Connection) -> None:
        """Run the job, and store its result or its error."""
        self.error, self._values = None, ()
        try:
            self._values = (self.run(connection),)
        # The caller gets every error, and the thread must continue for other callers.
        except BaseException as error:  # noqa: BLE001
            self.error = error

    def result(self) -> T:
        """Return the result of the job.

        Raises:
            BaseException: The error that `run` raised, or the reason why `run` could not be called.
        """
        if self.error is not None:
            raise self.error
        return self._values[0]


class Worker:
    """Owns a connection on a separate thread, which starts with the first job.

    Jobs are run in batches. If the last batch had several jobs, the thread waits up to `window_s` seconds for the same
    number of jobs, so that one commit serves all of them. A single job that follows a batch of one job runs at once.

    Args:
        name: Name of the thread.
        path: Path of the file, for messages.
        open_connection: Opens the connection, on the thread.
        work: Runs a batch of jobs with the connection.
        after: Called after each batch, when its callers have their results.
        keeps: Called after each batch; returns whether the next batch can use the same connection.
        last: Called before the connection is closed at the end.
        window_s: Longest wait for more jobs, in seconds.
    """

    def __init__(
        self,
        name: str,
        path: str,
        *,
        open_connection: Callable[[], sqlite3.Connection],
        work: Callable[[sqlite3.Connection, Sequence[Job[object]]], None],
        after: Callable[[sqlite3.Connection], None] = _do_nothing,
        keeps: Callable[[], bool] = _return_true,
        last: Callable[[], None] | None = None,
        window_s: float = 0.0,
    ) -> None:
        self._name = name
        self.path = path
        """The file."""
        self._file_path = Path(path)
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
        """Run a function with the connection on the thread, and wait for its result.

        Once submitted, the function runs even if the caller is cancelled.

        Raises:
            StorageError: The storage is closed, was opened in another process, or the database failed.
        """
        await checkpoint_if_cancelled()
        job = Job(run)
        self._submit(cast("Job[object]", job))
        await job.done.wait()
        return job.result()

    def stop(self) -> None:
        """Accept no more jobs, and end the thread after the submitted jobs; idempotent; returns at once."""
        if self._is_forked:
            return
        with self._lock:
            if not self._closed and self._thread is not None:
                self._queue.put(None)
            self._closed = True

    async def wait_ended(self) -> None:
        """Wait until the thread has ended; call `stop` first."""
        if self._is_forked or self._thread is None:
            return
        job: Job[object] = Job(_do_nothing)
        with self._lock:
            if not self._finished:
                self._waiting.append(job)
            else:
                job.done.set()
        await job.done.wait()
        self.join()

    def join(self, timeout_s: float | None = None) -> None:
        """Block until the thread has ended; call `stop` first."""
        if self._thread is not None and not self._is_forked and not self.is_here:
            self._thread.join(timeout_s)

    @property
    def is_here(self) -> bool:
        """Whether the current thread is the thread of this worker."""
        return self._thread is current_thread()

    @property
    def _is_forked(self) -> bool:
        # After a fork, the thread does not exist, and its lock may be in any state.
        return self._pid != os.getpid()

    def _submit(self, job: Job[object]) -> None:
        if self._is_forked:
            raise StorageError(
                f"the storage of {self.path!r} was opened in another process",
                hint="Open a new storage in each forked process.",
            )
        with self._lock:
            if self._closed:
                raise StorageError(f"the storage of {self.path!r} is closed", hint="Open a new storage.")
            if self._thread is None:
                # A daemon thread, so that a script that never closes its storage can still exit.
                thread = Thread(target=self._run, name=self._name, daemon=True)
                thread.start()
                self._thread = thread
            self._queue.put(job)

    def _run(self) -> None:
        last_size, stopping = 1, False
        while not stopping:
            jobs, stopping = self._gather(last_size)
            if jobs:
                last_size = len(jobs)
                self._serve(jobs)
            del jobs  # otherwise, jobs would keep objects alive while the thread waits for the next job
        if self._last is not None:
            self._last()
        self._disconnect()
        with self._lock:
            self._finished = True
            waiting = tuple(self._waiting)
        _notify_callers(waiting)

    def _gather(self, last_size: int) -> tuple[list[Job[object]], bool]:
        """Return the next batch, and whether `stop` was called after it."""
        job = self._queue.get()
        jobs: list[Job[object]] = []
        deadline = monotonic() + self._window_s
        while job is not None:
            jobs.append(job)
            if len(jobs) >= _MAX_BATCH:
                return jobs, False
            wait_s = max(deadline - monotonic(), 0.0) if len(jobs) < last_size else 0.0
            try:
                job = self._queue.get(timeout=wait_s) if wait_s else self._queue.get_nowait()
            except Empty:
                return jobs, False
        return jobs, True

    def _serve(self, jobs: Sequence[Job[object]]) -> None:
        reconnect = False
        try:
            self._work(self._current_connection(), jobs)
        # The callers get every error, and the thread must continue.
        except BaseException as error:  # noqa: BLE001
            reconnect = True
            for job in jobs:
                job.error = error
        for job in jobs:
            if isinstance(job.error, sqlite3.Error | UnicodeDecodeError):
                reconnect = reconnect or needs_reconnect(job.error)
                job.error = storage_error(job.error, self.path)
        for job in jobs:
            job.run = _do_nothing  # the function may refer to the storage, which the job must not keep alive
        _notify_callers(jobs)
        if not reconnect and self._connection is not None:
            try:
                self._after(self._connection)
            # The jobs are committed already, and the thread must continue.
            except Exception as error:  # noqa: BLE001
                _log.warning("the work after a commit to %s failed: %s", self.path, error)
                reconnect = True
        if reconnect or not self._keeps():
            self._disconnect()

    def _current_connection(self) -> sqlite3.Connection:
        """Return the open connection, or a new one if there is none or if the file was deleted or replaced.

        SQLite would continue to write to a deleted file, and everything that it confirms would be lost.
        """
        if self._connection is not None and file_identity(self._file_path) != self._file:
            _log.warning("%s was deleted or replaced while it was in use", self.path)
            self._disconnect()
        if self._connection is None:
            self._connection = self._open_connection()
            self._file = file_identity(self._file_path)
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            connection.close()
        except sqlite3.Error as error:
            _log.warning("%s could not be closed: %s", self.path, error)


def _notify_callers(jobs: Sequence[Job[object]]) -> None:
    """Wake the callers of these jobs, with one call into each event loop."""
    by_loop: defaultdict[Loop, list[Event]] = defaultdict(list)
    for job in jobs:
        by_loop[job.loop].append(job.done)
    for loop, events in by_loop.items():
        if not call_soon(loop, partial(_set_all, events)):
            # The event loop has ended, and with it all of its callers.
            _log.debug("the event loop ended before %d results could be delivered", len(events))


def _set_all(events: Sequence[Event]) -> None:
    for event in events:
        event.set()


def commit_together(connection: sqlite3.Connection, jobs: Sequence[Job[object]]) -> None:
    """Run all jobs in one transaction, each in a savepoint. If a job fails, only this job is rolled back.

    If the whole transaction is lost (the disk is full, or fails), each job is tried again in its own transaction.
    """
    if _commit(connection, jobs) or len(jobs) == 1:
        return
    for job in jobs:
        _commit(connection, (job,))


def _commit(connection: sqlite3.Connection, jobs: Sequence[Job[object]]) -> bool:
    """Run jobs in one transaction; return False if it started but was lost, so that the jobs must be tried again."""
    started = False
    try:
        connection.execute("BEGIN IMMEDIATE")
        started = True
        for job in jobs:
            connection.execute("SAVEPOINT job")
            job.attempt(connection)
            if not connection.in_transaction:  # the error of the job rolled back the whole transaction
                _set_error(jobs, job.error)
                return False
            if job.error is not None:
                connection.execute("ROLLBACK TO job")
            connection.execute("RELEASE job")
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        _set_error(jobs, error)
        return not started
    return True


def _set_error(jobs: Sequence[Job[object]], error: BaseException | None) -> None:
    for job in jobs:
        job.error = error


def read_each(connection: sqlite3.Connection, jobs: Sequence[Job[object]]) -> None:
    """Run each job in its own read transaction, so that each job sees a single state of the file."""
    for job in jobs:
        connection.execute("BEGIN")
        job.attempt(connection)
        if connection.in_transaction:
            connection.execute("ROLLBACK")
