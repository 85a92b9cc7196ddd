"""`Fleet`: thousands of debates go through a queue, and any number of workers run them."""

from __future__ import annotations

import hashlib
import logging
import secrets
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, Self, Unpack

import anyio
import sniffio

from roundtable.core.base.eventloop import import_on_thread, until_one_ends
from roundtable.core.base.functions import reporter
from roundtable.core.base.outage_reports import Outage
from roundtable.core.errors import ConfigurationError, SessionConflict, StorageError
from roundtable.core.stages import error_info
from roundtable.core.types.budget import Budget
from roundtable.core.types.debate import ErrorInfo
from roundtable.core.types.request import DebateRequest
from roundtable.fleet.jobs import (
    Job,
    JobStatus,
    RunningDebate,
    agents_of,
    check_kinds,
    check_name,
    check_prices,
    digest_of,
    request_from_queue,
    requests_of,
    stored_result,
)
from roundtable.fleet.records import FleetRecords
from roundtable.fleet.tracing import job_traced
from roundtable.results.many import FailedDebate, Progress, Results
from roundtable.storage.locations import is_created

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from roundtable.api import Roundtable
    from roundtable.api.many import NamedDebate
    from roundtable.api.options import DebateOptions
    from roundtable.core.protocols import Storage
    from roundtable.core.types.base import JsonValue
    from roundtable.fleet.queue import JobQueue, QueuedDebate
    from roundtable.results.debate_result import DebateResult

__all__ = ["Fleet"]

logger: logging.Logger = logging.getLogger("roundtable.fleet")

_MOST_AT_ONCE: Final = 1000
_LONGEST_GRACE_S: Final = 60
"""A pause lets calls finish for this long."""
_LOWEST_PRIORITY: Final = 1_000_000
_PROGRESS_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 10.0
_RATE_WINDOW_S: Final = 300.0
_MOST_LONGEST: Final = 5
_START_S: Final = 60.0
"""How long a starting worker waits for a database server that cannot be reached or has no free connection."""
_AWAY_PAUSE_S: Final = 1.0


class Fleet:
    """Many debates in a queue that survives crashes; any number of workers run them. Needs the extra `fleet`.

    A job is a named list of debates. `submit` queues a job. `work` runs queued debates; call it in as many processes
    as you like, since all of them find each other through the storage. If a worker dies, another worker continues its
    debates, and no stored answer is requested again. With SQLite, all workers run on one machine; with PostgreSQL,
    they can run on several.

    Args:
        table: Runs the debates; its agents debate unless a job names others. If left out, the fleet creates a table on
            `storage`.
        storage: Address of the storage, instead of a table: `"sqlite:///path"` or `"postgresql://..."`.
        name: Name of the fleet. Fleets with different names share only the sessions.
        provider_concurrency: Maximum number of calls at the same time, by name of the provider, for all workers,
            models and keys together: `{"openai": 32}`. Every worker takes an equal part, so give all workers the same
            limits. A worker doesn't start while the number of other workers has reached the smallest limit. If there
            are other workers, it waits for six seconds, so that they lower their parts first. A provider that is left
            out has no limit, except the `concurrency` of each worker's table. If a model calls another model of the
            same provider, both calls count, so the part of a worker must be more than one.

    Raises:
        ConfigurationError: Both a table and a storage are given, the storage cannot keep a queue, a limit is not a
            whole number of at least 1, or a limit is for an unknown provider.

    Example:
        >>> import anyio, tempfile
        >>> from roundtable import Roundtable
        >>> from roundtable.fleet import Fleet
        >>> from roundtable.testing import scripted_agents
        >>> async def main():
        ...     with tempfile.TemporaryDirectory() as folder:
        ...         agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
        ...         async with (
        ...             Roundtable(agents, storage=f"sqlite:///{folder}/debates.db") as table,
        ...             Fleet(table) as fleet,
        ...         ):
        ...             await fleet.submit("drinks", ["Tea or coffee?", "Tea or water?"], rounds=1)
        ...             await fleet.work(until_done="drinks")
        ...             return [result.answer for result in await fleet.results("drinks")]
        >>> anyio.run(main)
        ['Tea', 'Tea']
    """

    def __init__(
        self,
        table: Roundtable | None = None,
        *,
        storage: str | Storage | None = None,
        name: str = "default",
        provider_concurrency: Mapping[str, int] | None = None,
    ) -> None:
        if table is not None and storage is not None:
            raise ConfigurationError("give either a table or a storage; a table has its own storage")
        self.name: str = check_name(name)
        """Name of the fleet."""
        self._owns_table = table is None
        if table is None:
            # Late on purpose: `from roundtable.fleet import Fleet` must not load the engine.
            from roundtable.api import Roundtable

            table = Roundtable(storage=storage)
        self.table: Roundtable = table
        """The table that runs the debates."""
        self.provider_concurrency: dict[str, int] = _limits(provider_concurrency, table)
        """Maximum number of calls at the same time, by name of the provider, for all workers together."""
        self._parts: tuple[JobQueue, FleetRecords] | None = None
        self._opening = anyio.Lock()

    def __repr__(self) -> str:
        return f"Fleet({self.name!r})"

    async def __aenter__(self) -> Self:
        """Return the fleet."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections to the queue, and a table that the fleet made."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections to the queue, and a table that the fleet made."""
        parts, self._parts = self._parts, None
        with anyio.CancelScope(shield=True):
            if parts is not None:
                await parts[0].aclose()
            if self._owns_table:
                await self.table.aclose()

    async def _open(self) -> tuple[JobQueue, FleetRecords]:
        async with self._opening:
            if self._parts is None:
                try:
                    await import_on_thread("roundtable.fleet.queue")
                    from roundtable.fleet.queue import JobQueue, database_of
                except ImportError as error:
                    if (error.name or "").partition(".")[0] not in {"dbos", "sqlalchemy"}:
                        raise
                    msg = "a fleet needs DBOS, which is not installed"
                    raise ConfigurationError(msg, cause=error, hint="pip install 'roundtable-sdk[fleet]'") from error
                storage, tenant = self.table.storage, self.table.tenant
                queue = JobQueue(database_of(storage), _queue_name(self.name, tenant))
                records = self._new_records()
                # Read from the storage first, since its errors say best what is wrong with a database: its version,
                # its schema or missing rights.
                await records.workers()
                await queue.open()
                self._parts = queue, records
            return self._parts

    def _new_records(self) -> FleetRecords:
        return FleetRecords(self.table.key_value("fleets"), self.name, self.table.tenant)

    async def _open_existing(self) -> tuple[JobQueue, FleetRecords] | None:
        """Open the queue if the fleet has a job; otherwise, return `None` and create nothing."""
        storage = self.table.storage
        is_used = self._parts is not None or getattr(storage, "kv", None) is None
        if is_used or (await is_created(storage) and await self._new_records().jobs()):
            return await self._open()
        return None

    async def _open_job(self, name: str) -> tuple[JobQueue, FleetRecords, Job]:
        """Open the queue for a job; without jobs, nothing is created.

        Raises:
            ConfigurationError: No job has this name.
        """
        parts = await self._open_existing()
        if parts is None:
            msg = f"unknown job {name!r}: the fleet {self.name!r} has no job in {_shown(self.table.storage)}"
            hint = "Submit it first, or check the storage (--db, --storage) and the name of the fleet (--fleet)."
            raise ConfigurationError(msg, hint=hint)
        return *parts, await parts[1].job(name)

    async def _open_patiently(self, job: str | None) -> tuple[JobQueue, FleetRecords, Job | None]:
        """Open the queue; if the server cannot be reached or has no free connection, try again for a minute."""
        ends = anyio.current_time() + _START_S
        outage = Outage(logger, "the worker waits for the database", "the worker reaches the database")
        while True:
            try:
                parts = (*await self._open(), None) if job is None else await self._open_job(job)
            except StorageError as error:
                reason = (error.details or {}).get("reason")
                if reason not in {"unreachable", "busy"} or anyio.current_time() >= ends:
                    raise
                outage.failed(f"{error.message}. {error.hint}")
            else:
                outage.ended()
                return parts
            await anyio.sleep(_AWAY_PAUSE_S)

    async def submit(
        self,
        job: str,
        questions: Sequence[str | DebateRequest | Mapping[str, JsonValue]],
        *,
        priority: int = 1_000,
        job_budget: Budget | None = None,
        **options: Unpack[DebateOptions],
    ) -> JobStatus:
        """Queue a job. Submitting the same job again changes nothing, so you can repeat a call that was interrupted.

        Args:
            job: Name of the job: 1 to 100 letters, digits, hyphens and underscores.
            questions: What to debate: texts, `DebateRequest`s, or mappings with the fields of a `DebateRequest`.
            priority: A number from 1 to 1,000,000. Debates of jobs with a lower number run first.
            job_budget: Limits for all debates of the job together: calls, tokens and dollars. Before a debate begins,
                its worst case is set aside. If the rest of the budget does not cover that, the debate fails with
                `BudgetExceeded`. A limit in dollars needs the prices of all models.
            options: Options of all debates, as for `Roundtable.debate`; a question's own options take precedence. They
                must be plain data, such as the names of agents, since other processes read them. Without `agents`,
                each worker uses the agents of its table. Providers of `agents` must be known in this process too.

        Raises:
            ConfigurationError: A question or an option cannot be used, another job with other questions or options
                has the same name, or a budget is in dollars and a model has no known price. Nothing is queued.
            StorageError: The database cannot be used.
        """
        if type(priority) is not int or not 1 <= priority <= _LOWEST_PRIORITY:
            raise ConfigurationError(
                f"priority must be a whole number from 1 to {_LOWEST_PRIORITY:,}, not {priority!r}"
            )
        _check_budget(job_budget)
        requests = requests_of(questions, options)
        await check_prices(requests, self.table, job_budget)
        return await self._submit(job, requests, priority=priority, job_budget=job_budget)

    async def _submit(
        self,
        job: str,
        requests: Sequence[DebateRequest],
        session_ids: Sequence[str] | None = None,
        *,
        priority: int = 1_000,
        job_budget: Budget | None = None,
    ) -> JobStatus:
        check_name(job)
        check_kinds(requests, self.table)
        queue, records = await self._open()
        given = self.table.given_agents
        new = Job(
            fleet=_queue_name(self.name, self.table.tenant),
            name=job,
            debates=len(requests),
            digest=digest_of(requests),
            nonce=secrets.token_hex(16),
            budget=job_budget,
            submitted_at=datetime.now(UTC),
            agents=None if given is None else agents_of(given),
        )
        stored = await records.add_job(job_traced(new))
        if (stored.digest, stored.debates) != (new.digest, new.debates):
            raise ConfigurationError(
                f"a job {job!r} of {stored.debates} debates with other questions or options already exists",
                hint="Choose another name for this job.",
                details={"submitted": stored.submitted_at.isoformat(), "debates": stored.debates},
            )
        await records.add_files(stored, (file for request in requests for file in request.attachments))
        ids: Sequence[str | None] = session_ids or [None] * len(requests)
        debates = [
            stored.debate(number, request, session_id)
            for number, (request, session_id) in enumerate(zip(requests, ids, strict=True), 1)
        ]
        await queue.add(debates, priority)
        return await self.status(job)

    async def hold(
        self,
        job: str,
        debates: Sequence[NamedDebate],
        *,
        concurrency: int = 8,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> list[DebateResult | FailedDebate]:
        """Queue debates and wait until all have ended; `Roundtable.debate_many` and `run_study` call this with `on=`.

        This process becomes a worker, unless it already has one or its event loop is not asyncio's. If debates of an
        earlier call failed or were cancelled, they are queued again.

        Args:
            job: Name of the job.
            debates: The debates, with the ids of their sessions.
            concurrency: As for `work`.
            on_progress: Called when debates have ended, at most twice a second.

        Raises:
            ConfigurationError: A debate cannot be queued.
            StorageError: The database cannot be used.
        """
        if not debates:
            return []
        status = await self._submit(
            job, [debate.request for debate in debates], [debate.session_id for debate in debates]
        )
        if status.failed or status.cancelled:
            await self.retry(job)
        begun = anyio.current_time()

        def report(now: JobStatus) -> None:
            if on_progress is not None and now.ended:
                elapsed_s = anyio.current_time() - begun
                failed = now.failed + now.cancelled
                on_progress(
                    Progress(
                        ended=now.ended,
                        total=now.debates,
                        failed=failed,
                        stored=min(status.completed, now.ended),
                        usage=now.usage,
                        elapsed_s=elapsed_s,
                    )
                )

        from roundtable.fleet.worker import is_working

        if sniffio.current_async_library() == "asyncio" and not is_working():
            await self.work(concurrency=concurrency, until_done=job, on_progress=report)
        else:
            await self.wait(job, on_progress=report)
        queue, records = await self._open()
        rows = await queue.debates((await records.job(job)).workflow_ids, loads=True)
        outcomes = [await self._outcome(row) for row in rows]
        return [
            _cancelled_debate(debate) if outcome is None else outcome
            for debate, outcome in zip(debates, outcomes, strict=True)
        ]

    async def work(
        self,
        *,
        concurrency: int = 8,
        until_done: str | None = None,
        on_progress: Callable[[JobStatus], None] | None = None,
        grace_s: float = 0.0,
    ) -> None:
        """Run queued debates until cancelled, or until a job is done. Needs asyncio; a process can have one worker.

        When the worker is cancelled, it interrupts running debates after `grace_s` seconds, and returns them to the
        queue. If the database server cannot be reached or has no free connection, the worker waits: for a minute at the
        start, later for as long as it takes.

        Args:
            concurrency: Maximum number of debates at the same time, 1 to 1000. This is a setting of the fleet: the
                value of the worker started last applies to all workers. Debates that workers with other agents left to
                this worker count separately, up to the same number.
            until_done: Name of a job. The worker returns when no debate of this job is queued or running, even if other
                workers ran them.
            on_progress: Called with the state of this job when it has changed, at most twice a second.
            grace_s: Seconds that running model calls have to finish after the worker is cancelled, 0 to 60; no new
                call starts meanwhile. Calls that do not finish are made again by the worker that continues the debate.

        Raises:
            ConfigurationError: The event loop is not asyncio's, this process already has a worker, the job
                `until_done` needs other agents than this worker has, or a number is out of range.
            StorageError: The database cannot be used.
        """
        if type(concurrency) is not int or not 1 <= concurrency <= _MOST_AT_ONCE:
            msg = f"concurrency must be 1 to {_MOST_AT_ONCE} debates at a time, not {concurrency!r}"
            raise ConfigurationError(msg)
        if not 0 <= grace_s <= _LONGEST_GRACE_S:
            raise ConfigurationError(f"grace_s must be from 0 to {_LONGEST_GRACE_S} seconds, not {grace_s!r}")
        if sniffio.current_async_library() != "asyncio":
            raise ConfigurationError("a worker needs asyncio, since DBOS needs it", hint="Run it with asyncio.run().")
        queue, records, job = await self._open_patiently(until_done)
        from roundtable.fleet.worker import Worker

        worker = Worker(self.table, queue, records, concurrency, self.provider_concurrency, grace_s=grace_s)
        if job is None:
            await worker.run()
            return
        report = None if on_progress is None else reporter("on_progress", on_progress, logger)
        await until_one_ends(worker.run, partial(self._wait_patiently, job.name, report, worker.refusal(job)))

    async def _wait_patiently(
        self, job: str, on_progress: Callable[[JobStatus], None] | None, refusal: ConfigurationError | None
    ) -> None:
        """Wait until a job is done; if the database does not answer, wait for it as long as it takes."""
        while True:
            try:
                await self._wait(job, on_progress, refusal)
            except StorageError as error:
                if not error.retryable:
                    raise
                logger.debug("the state of the job cannot be read: %s", error.message)  # the worker warns
                await anyio.sleep(_AWAY_PAUSE_S)
            else:
                return

    async def wait(self, job: str, *, on_progress: Callable[[JobStatus], None] | None = None) -> JobStatus:
        """Wait until no debate of a job is queued or running, and return its state.

        Args:
            job: Name of the job.
            on_progress: Called with the state of the job when it has changed, at most twice a second.

        Raises:
            ConfigurationError: No job has this name.
            StorageError: The database cannot be used.
        """
        return await self._wait(job, on_progress, None)

    async def _wait(
        self, job: str, on_progress: Callable[[JobStatus], None] | None, refusal: ConfigurationError | None
    ) -> JobStatus:
        """Wait until a job is done; raise `refusal` if debates of the job wait for workers with other agents."""
        report = None if on_progress is None else reporter("on_progress", on_progress, logger)
        last: JobStatus | None = None
        while True:
            begun = anyio.current_time()
            status = await self.status(job)
            counts = status.model_copy(update={"per_minute": 0.0, "longest_running": ()})
            if report is not None and counts != last:
                report(status)
            if status.is_done:
                return status
            if refusal is not None and status.set_aside:
                raise refusal
            last = counts
            # Reading the state of a large job takes a second; waiting for the database may take longer.
            await anyio.sleep(min(max(_PROGRESS_S, 20 * (anyio.current_time() - begun)), _LONGEST_PAUSE_S))

    async def workers(self) -> int:
        """Return how many workers gave a sign of life within 15 seconds."""
        if self._parts is None and not await is_created(self.table.storage):
            return 0
        return len(await self._new_records().workers())

    async def jobs(self, *, known: Sequence[JobStatus] = ()) -> tuple[JobStatus, ...]:
        """Return the state of every job, oldest first.

        Args:
            known: States that were read earlier. If a job was done and has not changed since, its debates are not read
                again, because reading all debates of a large job takes a while.
        """
        parts = await self._open_existing()
        if parts is None:
            return ()
        queue, records = parts
        done = {status.job: status for status in known if status.is_done}
        states: list[JobStatus] = []
        for job in await records.jobs():
            status = done.get(job.name)
            if status is None or not await self._is_same(status, job, queue, records):
                status = await self._status(job, queue, records)
            states.append(status)
        return tuple(states)

    async def _is_same(self, last: JobStatus, job: Job, queue: JobQueue, records: FleetRecords) -> bool:
        """Check whether a job that was done is still unchanged."""
        if (last.submitted_at, last.retried_at, last.budget) != (job.submitted_at, job.retried_at, job.budget):
            return False
        return last.usage == await records.account(job).spent() and not await queue.has_open(job.prefix)

    async def status(self, job: str) -> JobStatus:
        """Return the progress of a job.

        Raises:
            ConfigurationError: No job has this name.
            StorageError: The database cannot be used.
        """
        queue, records, stored = await self._open_job(job)
        return await self._status(stored, queue, records)

    async def _status(self, stored: Job, queue: JobQueue, records: FleetRecords) -> JobStatus:
        rows = await queue.debates(stored.workflow_ids)
        failed = [row.workflow_id for row in rows if row.state == "failed"]
        errors: dict[str, int] = {}
        for row in await queue.debates(failed, loads=True):
            code = _info_of(row).code
            errors[code] = errors.get(code, 0) + 1
        counts = {
            state: sum(row.state == state for row in rows) for state in ("running", "completed", "failed", "cancelled")
        }
        now = time.time()
        slowest = sorted((row for row in rows if row.state == "running"), key=lambda row: row.begun_s or now)
        longest = await queue.debates([row.workflow_id for row in slowest[:_MOST_LONGEST]], loads=True)
        return JobStatus(
            job=stored.name,
            debates=stored.debates,
            queued=stored.debates - sum(counts.values()),
            set_aside=sum(row.state == "queued" and row.is_set_aside for row in rows),
            agents=stored.agents,
            **counts,
            errors=errors,
            usage=await records.account(stored).spent(),
            budget=stored.budget,
            submitted_at=stored.submitted_at,
            retried_at=stored.retried_at,
            per_minute=_per_minute(rows, now),
            longest_running=tuple(
                sorted(
                    (
                        RunningDebate(session_id=row.session_id, seconds=max(0.0, now - (row.begun_s or now)))
                        for row in longest
                    ),
                    key=lambda debate: -debate.seconds,
                )
            ),
        )

    async def cancel(self, job: str) -> JobStatus:
        """Cancel the queued and running debates of a job; stored answers are kept.

        The worker of a running debate notices this within about a second. It ends the debate and stops its session.

        Raises:
            ConfigurationError: No job has this name.
            StorageError: The database cannot be used.
        """
        queue, _, stored = await self._open_job(job)
        rows = await queue.debates(stored.workflow_ids)
        await queue.cancel([row.workflow_id for row in rows if row.state in {"queued", "running"}])
        return await self.status(job)

    async def retry(self, job: str, *, job_budget: Budget | None = None) -> JobStatus:
        """Queue the failed and cancelled debates of a job again; each continues where it ended.

        Args:
            job: Name of the job.
            job_budget: New limits for all debates of the job, replacing those it was submitted with. What the job has
                consumed since its start counts towards them.

        Raises:
            ConfigurationError: No job has this name.
            StorageError: The database cannot be used.
        """
        _check_budget(job_budget)
        queue, records, stored = await self._open_job(job)
        if job_budget is not None:
            stored = stored.model_copy(update={"budget": job_budget})
            await records.change_job(stored)
        rows = await queue.debates(stored.workflow_ids)
        await queue.queue_again([row.workflow_id for row in rows if row.state in {"failed", "cancelled"}])
        # Written last: a process that has read the job earlier sees another time now, and reads the job again.
        await records.change_job(stored.model_copy(update={"retried_at": datetime.now(UTC)}))
        return await self.status(job)

    async def results(self, job: str) -> Results:
        """Return the results of the debates that have ended, in the order of the questions.

        Failed debates are among the `failures`. The results leave out debates that are still queued or running, and
        cancelled debates without any answer.

        Raises:
            ConfigurationError: No job has this name.
            StorageError: The database cannot be used.
        """
        queue, _, stored = await self._open_job(job)
        rows = await queue.debates(stored.workflow_ids, loads=True)
        outcomes = [await self._outcome(row) for row in rows if row.state not in {"queued", "running"}]
        return Results([outcome for outcome in outcomes if outcome is not None], rules=self.table.catalog.rules)

    async def _outcome(self, row: QueuedDebate) -> DebateResult | FailedDebate | None:
        stored = await stored_result(self.table, row.session_id)
        if row.state == "completed" or (row.state == "cancelled" and stored is not None):
            return stored
        if row.state == "cancelled":
            return None
        request = request_from_queue(row.request, None)
        return FailedDebate(
            topic=request.topic,
            mode=request.mode,
            error=_info_of(row),
            session_id=None if stored is None else row.session_id,
            partial=stored,
        )


def _shown(storage: Storage) -> str:
    """Return where a storage keeps its data, without secrets."""
    queue_database = getattr(storage, "queue_database", None)
    return repr(storage) if queue_database is None else queue_database().sessions


def _per_minute(rows: Sequence[QueuedDebate], now: float) -> float:
    """Return how many debates ended per minute lately; for a job that is done, in the time before its end."""
    begun = min((row.begun_s for row in rows if row.begun_s is not None), default=now)
    ends = [row.ended_s for row in rows if row.ended_s is not None]
    until = max(ends) if ends and len(ends) == len(rows) else now
    since = max(begun, until - _RATE_WINDOW_S)
    return round(60 * sum(end >= since for end in ends) / max(until - since, 1.0), 3)


def _cancelled_debate(debate: NamedDebate) -> FailedDebate:
    error = SessionConflict("the debate was cancelled before it gave an answer", hint="Submit it again.")
    return FailedDebate(topic=debate.request.topic, mode=debate.request.mode, error=error_info(error))


def _queue_name(fleet: str, tenant: str) -> str:
    """Return the name of a fleet within the queue's database, which knows no tenants."""
    if tenant == "default":
        return fleet
    return f"{fleet}-{hashlib.sha256(tenant.encode()).hexdigest()[:16]}"


def _info_of(row: QueuedDebate) -> ErrorInfo:
    return ErrorInfo.model_validate(
        row.error or {"name": "AgentError", "message": "unknown error", "code": "AGENT_ERROR"}
    )


def _limits(provider_concurrency: object, table: Roundtable) -> dict[str, int]:
    """Check limits of providers, and return them."""
    if provider_concurrency is None:
        return {}
    hint = "For example: provider_concurrency={'openai': 32}."
    if not isinstance(provider_concurrency, Mapping):
        kind = type(provider_concurrency).__name__
        raise ConfigurationError(f"provider_concurrency must map providers to numbers, not {kind}", hint=hint)
    if not provider_concurrency:
        return {}  # the list of known providers takes time to make
    known = table.provider_names()
    for provider, most in provider_concurrency.items():
        if provider not in known:
            names = ", ".join(sorted(known))
            raise ConfigurationError(f"provider_concurrency: unknown provider {provider!r}; known: {names}", hint=hint)
        if type(most) is not int or most < 1:
            msg = f"provider_concurrency of {provider!r} must be a whole number of at least 1, not {most!r}"
            raise ConfigurationError(msg, hint=hint)
    return dict(provider_concurrency)


def _check_budget(budget: Budget | None) -> None:
    if budget is None:
        return
    if not isinstance(budget, Budget):
        raise ConfigurationError(f"job_budget must be a Budget, not {type(budget).__name__}")
    if budget.max_seconds is not None or budget.synthesis_share:
        msg = "the budget of a job limits calls, tokens and dollars; max_seconds and synthesis_share are for one debate"
        raise ConfigurationError(msg, hint="Pass budget=Budget(max_seconds=...) for the limit of each debate.")
