"""A worker of a fleet: takes debates from the queue and runs them with its table."""

from __future__ import annotations

import asyncio  # noqa: TID251  (DBOS supports only asyncio)
import logging
import os
import random
import socket
import time
from functools import partial
from math import ceil, inf
from typing import TYPE_CHECKING, Final

import anyio
from anyio import CancelScope, to_thread
from anyio.lowlevel import checkpoint
from dbos import DBOS, PortableWorkflowError, WorkflowSerializationFormat

from roundtable.core.base.eventloop import until_one_ends
from roundtable.core.base.outage_reports import Outage
from roundtable.core.base.owner import current_owner, is_provably_dead
from roundtable.core.engine.patience import is_of_provider, pause_s
from roundtable.core.errors import (
    AgentError,
    ConfigurationError,
    QuorumLost,
    RoundtableError,
    SessionBusy,
    SessionConflict,
    SessionNotFound,
    StorageError,
)
from roundtable.core.stages import error_info
from roundtable.core.types.chat import Usage
from roundtable.core.types.request import DebateRequest
from roundtable.fleet.jobs import agents_of, file_hashes, job_of, options_of, request_from_queue
from roundtable.fleet.queue import HOLD, TRANSACTION_IDLE_S, quiet_logs
from roundtable.fleet.tracing import within_trace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from roundtable.api import Roundtable
    from roundtable.api.options import DebateOptions
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.budget import Estimate
    from roundtable.fleet.accounts import JobAccount
    from roundtable.fleet.jobs import Job
    from roundtable.fleet.queue import JobQueue
    from roundtable.fleet.records import FleetRecords
    from roundtable.results.debate_result import DebateResult

__all__ = ["Worker", "fair_share", "is_working", "polling_interval"]

logger: logging.Logger = logging.getLogger("roundtable.fleet")

_MOST_DEATHS: Final = 5
"""How many workers may die while they run a debate before the debate counts as failed."""
_SUSPECT_DEATHS: Final = 2
"""After this many deaths, a debate is a suspect; a worker runs its suspects one at a time, to find the one at fault."""
_TRIES: Final = 3
_FIRST_PAUSE_S: Final = 2.0
_LONGEST_PAUSE_S: Final = 300.0
_LONGEST_OUTAGE_S: Final = 1200.0
"""Seconds for which each try waits in an outage of a provider; an hour in all tries."""
_BUSY_PAUSE_S: Final = 2.0
_BEAT_S: Final = 4.0
_ALIVE_S: Final = 15.0
"""How long a worker counts as alive after its last sign of life; the lease of a session is equally long."""
_PARTS_CHANGE_S: Final = 1.5 * _BEAT_S
"""How long a worker that joins others waits until all of them have lowered their parts of the calls; with a margin."""
_CANCEL_CHECK_S: Final = 1.0
_RARELY_S: Final = 0.2
_OFTEN_S: Final = 0.04
_POLLS_A_DEBATE: Final = 2
_FINISH_S: Final = 5

_worker: Worker | None = None
"""The worker of this process. DBOS has one application per process, and calls a function, not a method."""


def is_working() -> bool:
    """Check whether a worker runs in this process."""
    return _worker is not None


def polling_interval(durations: Sequence[float], concurrency: int) -> float:
    """Return after how many seconds a worker that can run another debate looks for debates again.

    If debates are short, the worker looks more often, so that on average it waits a quarter of a debate's duration for
    the next debate. Each look costs one or two milliseconds of CPU, so there are never more than 25 a second.

    Args:
        durations: Seconds of the debates that ended lately; if there are fewer than `concurrency`, they are ignored.
        concurrency: Maximum number of debates that the worker runs at the same time.

    Returns:
        Between 0.04 and 0.2 seconds.
    """
    if len(durations) < concurrency:
        return _RARELY_S
    return min(max(sum(durations) / len(durations) / _POLLS_A_DEBATE, _OFTEN_S), _RARELY_S)


def fair_share(most: int, number: int, workers: int) -> int:
    """Return how many calls a worker may make at the same time; the parts of all workers add up to `most`.

    Args:
        most: Maximum calls of all workers together at the same time, at least as many as there are workers.
        number: Number of the worker among the living workers, from 0.
        workers: How many workers are alive.

    Example:
        >>> [fair_share(8, number, 3) for number in range(3)]
        [3, 3, 2]
    """
    return max(1, most // workers + (number < most % workers))


@DBOS.workflow(name=HOLD, max_recovery_attempts=None, serialization_type=WorkflowSerializationFormat.PORTABLE)
async def _hold_debate(session_id: str, request: str) -> None:
    """Run one debate; DBOS calls this in the event loop of the worker."""
    workflow_id = DBOS.workflow_id
    if _worker is None or workflow_id is None:
        raise asyncio.CancelledError  # the worker has ended; the debate stays in the queue for other workers
    await _worker.run_debate(workflow_id, session_id, request)


class _Run:
    """A debate that this worker runs."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.scope = CancelScope()
        self.cancelled_at: float | None = None
        """When this worker noticed that the debate was cancelled in the queue; `None` if it was not cancelled."""
        self.is_held = False
        """Whether its agents may be called at this moment."""
        self.is_returned = False
        """Whether its session is paused because the worker ends."""


class _OtherAgents(Exception):
    """This worker has other agents than a debate needs; the debate waits for workers that have them."""


class _Suspect(Exception):
    """Workers died while they ran this debate."""


class Worker:
    """Runs debates of a fleet until it is cancelled.

    The session's own log says which answers are stored, so DBOS only has to know which debates have ended. If a worker
    gives no sign of life, any other worker queues its debates again.

    Args:
        table: Runs the debates.
        queue: The fleet's queue, already open.
        records: The fleet's jobs and workers.
        concurrency: Maximum number of debates at the same time.
        provider_concurrency: Maximum number of calls at the same time, by provider, for all workers together.
        grace_s: Seconds that running calls have to finish when the worker is cancelled.
    """

    def __init__(
        self,
        table: Roundtable,
        queue: JobQueue,
        records: FleetRecords,
        concurrency: int,
        provider_concurrency: Mapping[str, int],
        *,
        grace_s: float = 0.0,
    ) -> None:
        self.id: str = current_owner().name
        """Id of the worker."""
        self._table = table
        self._queue = queue
        self._records = records
        self._concurrency = concurrency
        self._provider_concurrency = provider_concurrency
        self._grace_s = grace_s
        self._runs: dict[str, _Run] = {}
        self._accounts: dict[str, JobAccount] = {}
        self._contents: dict[str, str] = {}
        """Contents of the files that were read last; most debates of a job have the same files."""
        self._suspects = anyio.Lock()
        self._has_signed = False
        """Whether the first sign of life may have been written."""
        self._stopping = False
        self._idle = anyio.Event()
        self._durations: list[float] = []
        """Seconds of the debates that ended since the last sign of life."""
        self._polling_s = _RARELY_S
        self._agents: tuple[str, ...] = self._own_agents()
        self._refused: set[str] = set()
        """Jobs that need other agents than this worker has."""
        self._faults: set[str] = set()
        """Messages about what this worker lacks; each is logged once."""

    def _own_agents(self) -> tuple[str, ...]:
        """Return the agents of the table as texts; an empty tuple if no model can be used."""
        given = self._table.given_agents
        try:
            return agents_of(self._table.agents() if given is None else given)
        except ConfigurationError as error:
            logger.debug("this worker has no agents: %s", error.message)
            return ()

    async def run(self) -> None:
        """Run debates until cancelled; then let running calls finish, and return unfinished debates to the queue.

        Raises:
            ConfigurationError: Another worker runs in this process.
            StorageError: The database cannot be used.
        """
        global _worker  # noqa: PLW0603  (see `_worker`)
        if _worker is not None:
            raise ConfigurationError("this process already runs a worker", hint="Start other workers as processes.")
        _worker = self
        try:
            await self._queue.set_concurrency(self._concurrency, _RARELY_S, self._agents)
            try:
                await self._join()
                self._launch()
            except BaseException:
                await self._remove_first_sign()
                raise
            try:
                await until_one_ends(self._beat, self._hear_cancellations)
            finally:
                with CancelScope(shield=True):
                    await self._end()
        finally:
            _worker = None
            gateway = self._table.gateway
            gateway.share_rates(1)
            gateway.limit_providers({})

    async def _join(self) -> None:
        """Write the first sign of life, as soon as the limits leave this worker at least one call at a time.

        Without this sign, other workers would believe that the first debates belong to a dead worker. If the number of
        calls at the same time is limited, wait until the other workers have lowered their parts.

        Raises:
            StorageError: The database cannot be used, and waiting for it does not help.
        """
        most = min(self._provider_concurrency.values(), default=inf)
        alive: set[str] = set()
        has_warned = False
        outage = Outage(logger, "this worker waits for the database", "this worker reaches the database again")
        while not alive:
            try:
                alive = await self._sign(most)
                outage.ended()
                if not alive and not has_warned:
                    has_warned = True
                    text = "this worker waits until another worker ends: %s workers already share %s concurrent calls"
                    logger.warning(text, most, most)
            except StorageError as error:
                if not error.retryable:
                    raise
                outage.failed(error.message)
            if not alive:
                await anyio.sleep(_BEAT_S * random.uniform(0.25, 1))  # so that two workers don't try at once
        if self._provider_concurrency and len(alive) > 1:
            await anyio.sleep(_PARTS_CHANGE_S)

    async def _sign(self, most: float) -> set[str]:
        """Write a sign of life if, with this worker, at most `most` workers are alive; return them, or an empty set."""
        if len(await self._living_workers()) <= most:
            self._has_signed = True
            with CancelScope(shield=True):  # a cancelled write might take effect after the sign is removed
                await self._records.add_worker(current_owner(self.id), _ALIVE_S)
            alive = await self._living_workers()
            if len(alive) <= most:  # another worker may have joined at the same time
                return alive
        if self._has_signed:
            await self._records.remove_worker(self.id)
            self._has_signed = False
        return set()

    async def _remove_first_sign(self) -> None:
        """Remove the sign of life of this worker if it could not begin, so that it takes no calls from others."""
        if not self._has_signed:
            return
        with anyio.move_on_after(_FINISH_S, shield=True):
            try:
                await self._records.remove_worker(self.id)
            except StorageError as error:
                logger.warning("this worker counts as alive for another %s s: %s", _ALIVE_S, error.message)

    def _launch(self) -> None:
        """Start DBOS in this event loop; the tables exist already, so this takes a few milliseconds.

        Raises:
            StorageError: The database cannot be reached.
        """
        quiet_logs()
        database = self._queue.database
        DBOS(
            config={
                "name": self._queue.app,
                "system_database_url": database.url,
                "dbos_system_schema": database.schema or "dbos",
                "application_version": self._queue.version,
                "executor_id": self.id,
                "sys_db_idle_transaction_timeout_sec": TRANSACTION_IDLE_S,
                "enable_otlp": False,
                # Workflows send no messages; by default, DBOS looks for some a hundred times a second.
                "notification_coalesce_sec": 1.0,
                "run_migrations": False,
                "log_level": "WARNING",
            }
        )
        quiet_logs()
        DBOS.listen_queues(self._queue.names_for(self._agents))
        try:
            with self._queue.errors():
                DBOS.launch()
        except BaseException:
            DBOS.destroy()
            raise

    async def _end(self) -> None:
        """Take no more debates, end running ones, and return unfinished debates to the queue."""
        self._stopping = True
        async with anyio.create_task_group() as group:
            # DBOS takes no more debates from here on, and waits for running ones.
            limit_s = ceil(self._grace_s) + 2 * _FINISH_S
            group.start_soon(to_thread.run_sync, partial(DBOS.destroy, workflow_completion_timeout_sec=limit_s))
            await self._end_runs()
        try:
            await self._queue.give_back((await self._queue.running()).get(self.id, []), self.id)
            await self._records.remove_worker(self.id)
        except StorageError as error:
            logger.warning("other workers will take over after %s s: %s", _ALIVE_S, error.message)

    async def _end_runs(self) -> None:
        """Wait up to `grace_s` seconds for the running calls of debates, then interrupt the debates."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._beat)  # otherwise, other workers would take over the debates
            await self._end_cancelled()
            if self._grace_s:
                for run in self._runs.values():
                    group.start_soon(self._return, run)
                with anyio.move_on_after(self._grace_s):
                    await self._wait_while(lambda: bool(self._runs))
            with anyio.move_on_after(_FINISH_S):
                await self._wait_while(lambda: any(run.cancelled_at is not None for run in self._runs.values()))
            for run in self._runs.values():
                run.scope.cancel()
            await self._wait_while(lambda: bool(self._runs))
            group.cancel_scope.cancel()

    async def _wait_while(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition is false; it is checked whenever a debate ends."""
        while condition():
            self._idle = anyio.Event()
            await self._idle.wait()

    async def _return(self, run: _Run) -> None:
        """Pause the session of a debate, so that its running calls finish and no other call starts."""
        if run.is_held and run.cancelled_at is None:
            run.is_returned = True
            try:
                await self._table.pause(run.session_id)
            except RoundtableError as error:
                logger.debug("the debate is interrupted at once: %s", error.message)
            else:
                return
        if run.cancelled_at is None:
            run.scope.cancel()

    async def run_debate(self, workflow_id: str, session_id: str, request: str) -> None:
        """Run a debate, or continue it where it was interrupted.

        Raises:
            CancelledError: The worker ends or the debate was cancelled; DBOS leaves the debate as it is.
            PortableWorkflowError: The debate failed; the exception contains the error as JSON.
        """
        if self._stopping:
            raise asyncio.CancelledError
        run = self._runs[workflow_id] = _Run(session_id)
        begun = time.monotonic()
        try:
            with run.scope:
                await self._try(run, workflow_id, request)
                self._durations.append(time.monotonic() - begun)
                return
            raise asyncio.CancelledError
        except _OtherAgents:
            raise asyncio.CancelledError from None
        except RoundtableError as error:
            # It ended because its session was paused, or it would be tried again if this worker did not end.
            if run.cancelled_at is not None or run.is_returned or (self._stopping and error.retryable):
                raise asyncio.CancelledError from error
            failure = self._locate(error, job_of(workflow_id)) if isinstance(error, ConfigurationError) else error
            info = error_info(failure).model_dump(mode="json", exclude_defaults=True)
            raise PortableWorkflowError(failure.message, type(error).__name__, error.code, info) from error
        finally:
            if self._runs.get(workflow_id) is run:  # the debate may have been cancelled, queued and begun again
                del self._runs[workflow_id]
            self._idle.set()

    def _locate(self, error: ConfigurationError, job: str) -> ConfigurationError:
        """Return an error that names this worker, since other workers may have the key or the plugin that is missing.

        Args:
            error: Why this worker cannot run a debate.
            job: The job of the debate.
        """
        msg = f"the worker on {socket.gethostname()!r}, process {os.getpid()}, cannot run this debate: {error.message}"
        again = f"Correct this where the worker runs, or end the worker. Then run: roundtable fleet retry {job}"
        located = ConfigurationError(
            msg,
            code=error.code,
            provider=error.provider,
            cause=error,
            hint=f"{error.hint} {again}" if error.hint else again,
            details=error.details,
        )
        if msg not in self._faults:
            self._faults.add(msg)
            logger.warning("job %r: %s. %s", job, located.message, located.hint)
        return located

    async def _request(self, workflow_id: str, queued: str) -> DebateRequest:
        """Return a request from the queue, with its files."""
        wanted = file_hashes(queued)
        if not set(wanted) <= self._contents.keys():
            job, _ = await self._job(job_of(workflow_id))
            self._contents = await self._records.contents(job, wanted)
        return request_from_queue(queued, self._contents)

    async def _try(self, run: _Run, workflow_id: str, queued: str) -> None:
        """Run a debate as it is queued; if an error is temporary, such as in reading its files, try again.

        In each try, the debate waits for its providers and keeps its place meanwhile, so that a worker does not let the
        whole queue fail.
        """
        tries = 0
        while True:
            try:
                await self._hold_once(run, workflow_id, await self._request(workflow_id, queued))
            except RoundtableError as error:
                causes = error.causes if isinstance(error, QuorumLost) and error.causes else (error,)
                is_outage = all(map(is_of_provider, causes))
                tries += 1
                if tries == _TRIES or self._stopping or not (is_outage or error.retryable):
                    raise
                wait_s = min(pause_s(tries, causes, first_s=_FIRST_PAUSE_S), _LONGEST_PAUSE_S)
                logger.info(
                    "%s failed and is tried again in %.0f s: %s", workflow_id, wait_s, error.message,
                    extra={"session": run.session_id},
                )  # fmt: skip
                await anyio.sleep(wait_s)
            else:
                return

    async def _hold_once(self, run: _Run, workflow_id: str, request: DebateRequest) -> None:
        session_id = run.session_id
        job, account = await self._job(job_of(workflow_id))
        stored = await self._load_fold(session_id)
        before = Usage() if stored is None else stored.usage
        if stored is not None and stored.progress.status == "completed":
            await account.settle(session_id, before)  # a worker that died may have left the reserve
            if stored.exit is not None and stored.exit.reason == "stopped":
                raise SessionConflict("the debate was stopped, which is final", hint="Submit the question again.")
            return
        if request.agents is None and (refusal := self.refusal(job)) is not None:
            await self._refuse(job, workflow_id, refusal)
        options = options_of(request, self._table)
        worst = None
        if job.budget is not None:
            worst = await self._table.estimate_aside(request.topic, **options)
        hold = partial(self._when_free, run, job, request.topic, options)
        try:
            result = await self._within_budget(
                account, session_id, worst, before, hold, most_deaths=_SUSPECT_DEATHS - 1
            )
        except _Suspect:
            async with self._suspects:
                deaths = await account.count_deaths(session_id)
                if deaths >= _MOST_DEATHS:
                    await account.settle(session_id, before)
                    msg = f"{deaths} workers died while they ran this debate"
                    raise AgentError(msg, code="WORKER_DIED", hint="`fleet retry` tries it again.") from None
                result = await self._within_budget(account, session_id, worst, before, hold)
        if result.status != "completed":
            reason = "" if result.exit is None else f": {result.exit.reason}"
            msg = f"the debate ended early{reason}"
            raise SessionConflict(msg, hint="`fleet retry` continues it.")

    def refusal(self, job: Job) -> ConfigurationError | None:
        """Return why this worker cannot run questions of a job that name no agents; `None` if it can."""
        if not job.agents or job.agents == self._agents:
            return None
        missing = ", ".join(agent for agent in job.agents if agent not in self._agents)
        return ConfigurationError(
            f"this worker has other agents ({', '.join(self._agents) or 'none'}) than the job {job.name!r} needs "
            f"({', '.join(job.agents)}){missing and f'; missing: {missing}'}",
            hint="Start a worker with the agents of the job, or submit the questions with agents=['provider:model'].",
        )

    async def _refuse(self, job: Job, workflow_id: str, refusal: ConfigurationError) -> None:
        """Leave a debate to workers with the agents of its job.

        Raises:
            _OtherAgents: The debate is back in the queue.
            StorageError: The database cannot be used.
        """
        await self._queue.set_aside(workflow_id, self.id, job.agents or ())
        if job.name not in self._refused:
            self._refused.add(job.name)
            logger.warning("%s; it leaves the job to other workers. %s", refusal.message, refusal.hint)
        raise _OtherAgents

    async def _within_budget(
        self,
        account: JobAccount,
        session_id: str,
        worst: Estimate | None,
        before: Usage,
        hold: Callable[[], Awaitable[DebateResult]],
        *,
        most_deaths: float = inf,
    ) -> DebateResult:
        """Set aside the worst case of a debate, run it, and book what it consumed.

        Raises:
            _Suspect: More workers than `most_deaths` died while they ran the debate; nothing was done.
        """
        consumed: Usage | None = None
        is_suspect = False
        try:
            is_suspect = not await account.reserve(session_id, worst, before, most_deaths=most_deaths)
            if is_suspect:
                raise _Suspect
            result = await hold()
            consumed = result.usage
            return result
        finally:
            if not is_suspect:
                with CancelScope(shield=True):
                    if consumed is None:
                        stored = await self._load_fold(session_id)
                        consumed = Usage() if stored is None else stored.usage
                    await account.settle(session_id, consumed)

    async def _load_fold(self, session_id: str) -> Fold | None:
        """Return the state of a session, or `None` if it does not exist."""
        try:
            return await self._table.state(session_id)
        except SessionNotFound:
            return None

    async def _when_free(self, run: _Run, job: Job, topic: str, options: DebateOptions) -> DebateResult:
        """Run a debate as soon as no other process runs its session.

        A debate that was cancelled does not start, and none starts when the worker ends.
        """
        while True:
            if self._stopping or run.cancelled_at is not None:
                run.scope.cancel()
                await checkpoint()
            try:
                run.is_held = True
                with within_trace(job):
                    return await self._table.debate_once(
                        run.session_id, topic, wait_for="all", outage_s=_LONGEST_OUTAGE_S, **options
                    )
            except SessionBusy:
                run.is_held = False
                await anyio.sleep(_BUSY_PAUSE_S)
            finally:
                run.is_held = False

    async def _job(self, name: str) -> tuple[Job, JobAccount]:
        """Return a job and its account; the job is read again, since a retry may have changed its budget."""
        job = await self._records.job(name)
        account = self._accounts.setdefault(name, self._records.account(job))
        account.budget = job.budget
        return job, account

    async def _beat(self) -> None:
        """Write signs of life regularly, and take over the debates of workers that no longer do."""
        outage = Outage(logger, "the worker waits for the database", "the worker reaches the database again")
        while True:
            self._forget_accounts()
            try:
                with CancelScope(shield=True):  # a cancelled write might take effect after the sign is removed
                    await self._records.add_worker(current_owner(self.id), _ALIVE_S)
                if not self._stopping:
                    await self._take_over()
                    await self._adapt_polling()
                outage.ended()
            except StorageError as error:
                outage.failed(error.message)
            await anyio.sleep(_BEAT_S)

    def _forget_accounts(self) -> None:
        """Forget the accounts of jobs if this worker runs none of their debates."""
        running = {job_of(workflow_id) for workflow_id in self._runs}
        self._accounts = {job: account for job, account in self._accounts.items() if job in running}

    async def _adapt_polling(self) -> None:
        """Change how often the workers look for debates, to suit their duration; this is a setting of the fleet."""
        durations, self._durations = self._durations, []
        before, self._polling_s = self._polling_s, polling_interval(durations, self._concurrency)
        if (before, self._polling_s) != (_RARELY_S, _RARELY_S):  # set each time, since a worker that begins resets it
            await self._queue.set_polling(self._polling_s)

    async def _take_over(self) -> None:
        alive = await self._living_workers()
        dead = [worker for worker in await self._queue.running() if worker not in alive]
        if dead:
            logger.warning("taking over the debates of %s dead workers", len(dead))
            # Unlike the public `resume_workflows`, this keeps the count of tries, and does nothing if another worker
            # was faster.
            await to_thread.run_sync(
                DBOS._recover_pending_workflows,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
                dead,
            )

    async def _living_workers(self) -> set[str]:
        """Return the workers that are alive, this one included, and share the providers' rates among them."""
        alive = {owner.name for owner in await self._records.workers() if not is_provably_dead(owner)} | {self.id}
        gateway = self._table.gateway
        gateway.share_rates(len(alive))
        gateway.limit_providers(
            {
                provider: fair_share(most, sorted(alive).index(self.id), len(alive))
                for provider, most in self._provider_concurrency.items()
            }
        )
        return alive

    async def _hear_cancellations(self) -> None:
        while True:
            await anyio.sleep(_CANCEL_CHECK_S)
            await self._end_cancelled()

    async def _end_cancelled(self) -> None:
        """End running debates that were cancelled in the queue."""
        running = dict(self._runs)
        try:
            rows = await self._queue.debates(sorted(running))
        except StorageError as error:
            logger.debug("cannot find out which debates were cancelled: %s", error.message)
            return
        for row in rows:
            run = running[row.workflow_id]
            if row.state == "cancelled" and not await self._pause(run):
                run.scope.cancel()

    async def _pause(self, run: _Run) -> bool:
        """Pause the session of a cancelled debate: a retry continues it, but no program that recovers sessions does.

        Returns:
            Whether the debate will end by itself within `_FINISH_S` seconds of the pause.
        """
        if run.cancelled_at is not None:
            return time.monotonic() - run.cancelled_at < _FINISH_S
        run.cancelled_at = time.monotonic()
        try:
            await self._table.pause(run.session_id, running="cancel")
        except RoundtableError as error:
            logger.info("the session of a cancelled debate could not be paused: %s", error.message)
            return False
        return True
