"""Many debates: every question in every mode, in this process or in a fleet."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, cast

from anyio import create_task_group, sleep
from pydantic import ValidationError
from pydantic_core import to_json

from roundtable.api.checks import (
    check_budget,
    check_deadline,
    check_job_name,
    check_list,
    check_progress,
    check_whole,
)
from roundtable.api.debates import finish
from roundtable.api.progress import ProgressCount
from roundtable.api.slots import BatchPatience, DebateSeat, Slots
from roundtable.core.base.arguments import unknown_name_hint
from roundtable.core.errors import BudgetExceeded, ConfigurationError, RoundtableError, SessionBusy, SessionConflict
from roundtable.core.stages import error_from_info, error_info
from roundtable.core.types.attachments import read_attachments
from roundtable.core.types.base import first_error
from roundtable.core.types.request import DebateRequest
from roundtable.results.debate_result import DebateResult
from roundtable.results.many import FailedDebate, Progress

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from roundtable.api.debates import Debates
    from roundtable.api.options import DebateOptions
    from roundtable.core.engine.patience import Patience
    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.budget import Budget
    from roundtable.engine import DebateRun

__all__ = [
    "BUSY_PAUSE_S",
    "DebateQueue",
    "ManyDebates",
    "ManyResumes",
    "NamedDebate",
    "OnError",
    "run_in_slots",
    "run_jobs",
]

logger: logging.Logger = logging.getLogger("roundtable.api")

T = TypeVar("T")

_MOST: Final = 1000
_TOPIC_NAMES: Final = frozenset({"question", "questions", "prompt", "text", "query", "title", "topics"})
"""Names under which data sets have what is a topic here."""
_ROW_HINT: Final = (
    f"Write a question as a text, or as a mapping with 'topic' and options: {', '.join(DebateRequest.model_fields)}."
)
BUSY_PAUSE_S: Final = 1.0
"""Seconds between two attempts to run a session that another process runs."""


async def run_jobs(jobs: Sequence[Callable[[], Awaitable[T]]], *, at_once: int) -> list[T]:
    """Run all jobs, start them in order, and return their results in the same order.

    The first job that fails cancels the others; its error is raised directly, not in an exception group.

    Args:
        jobs: The jobs.
        at_once: Maximum number of jobs that run at the same time, 1 or more.
    """

    async def run(job: Callable[[], Awaitable[T]], _: DebateSeat) -> T:
        return await job()

    return await run_in_slots([partial(run, job) for job in jobs], Slots(at_once, adapts=False))


async def run_in_slots(
    jobs: Sequence[Callable[[DebateSeat], Awaitable[T]]],
    slots: Slots,
    *,
    beside: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> list[T]:
    """Run all jobs like `run_jobs`, each with the seat that it may leave during a wait.

    At most `slots.most` jobs wait without a slot, so that a long wait does not start all jobs.

    Args:
        jobs: The jobs.
        slots: Their slots.
        beside: Runs beside the jobs, and is cancelled when they have ended; raises nothing.
    """
    results: dict[int, T] = {}
    errors: list[Exception | KeyboardInterrupt | SystemExit] = []
    remaining = iter(enumerate(jobs))

    async def work() -> None:
        seat = DebateSeat(slots)
        try:
            while True:
                await seat.returns()
                index, job = next(remaining, (0, None))
                if job is None:
                    return
                results[index] = await job(seat)
                seat.leave()
                slots.grow()
        except (Exception, KeyboardInterrupt, SystemExit) as error:  # noqa: BLE001  (raised below, as itself)
            errors.append(error)
            group.cancel_scope.cancel()
        finally:
            seat.leave()

    async with create_task_group() as side:
        if beside is not None:
            side.start_soon(beside)
        async with create_task_group() as group:
            for _ in range(min(2 * slots.most, len(jobs))):
                group.start_soon(work)
        side.cancel_scope.cancel()
    if errors:
        raise errors[0]
    return [results[index] for index in range(len(jobs))]


OnError: TypeAlias = Literal["record", "raise"]
"""What to do when a debate fails: record the failure in the results, or raise the error and end the others."""


class NamedDebate(NamedTuple):
    """A debate to run at most once."""

    session_id: str
    """Id of the debate's session."""
    request: DebateRequest
    """What to debate, and how, as plain data."""


class DebateQueue(Protocol):
    """Runs debates also in other processes, as `roundtable.fleet.Fleet` does."""

    async def hold(
        self,
        job: str,
        debates: Sequence[NamedDebate],
        *,
        concurrency: int = 8,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> list[DebateResult | FailedDebate]:
        """Run debates, or the unfinished part of each, and return the outcome of each, in order."""


class _Debate(NamedTuple):
    """One debate that the caller requested."""

    topic: str
    mode: str
    options: DebateOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyDebates:
    """The arguments of `Roundtable.debate_many`; see there for their meaning."""

    questions: Sequence[str | DebateRequest | Mapping[str, JsonValue]]
    modes: Sequence[str | DebateModeStrategy]
    concurrency: int
    on_error: OnError
    name: str | None
    on: DebateQueue | None
    on_progress: Callable[[Progress], None] | None
    options: DebateOptions
    patience: BatchPatience

    async def hold(self, debates: Debates) -> list[DebateResult | FailedDebate]:
        """Check all debates, then run them, a few at a time; return a result or failure for each, in order.

        Raises:
            ConfigurationError: An argument is not valid; no model was called.
            RoundtableError: With `on_error="raise"`, the error of the first debate that failed.
        """
        requested = self._check_debates(debates)
        if self.name is None:
            ids: list[str | None] = [None] * len(requested)
        else:
            ids = [*_session_ids(self.name, requested, debates)]
        if self.on is not None:
            return await self._run_on_queue(self.on, requested, ids)
        slots = Slots(self.concurrency, adapts=self.patience.adapt)
        count = ProgressCount(len(requested), self.on_progress, slots, debates)
        jobs = [
            partial(self._debate, debates, debate, session_id, count)
            for debate, session_id in zip(requested, ids, strict=True)
        ]
        with slots.follow(debates.gateway):
            return await run_in_slots(jobs, slots, beside=count.remind)

    async def _debate(
        self, debates: Debates, asked: _Debate, session_id: str | None, count: ProgressCount, seat: DebateSeat
    ) -> DebateResult | FailedDebate:
        outcome: DebateResult | FailedDebate
        runs: list[DebateRun] = []
        patience = self.patience.of_debate(debates.gateway, seat, debates.wait_log.refused)
        count.follow(seat)
        try:
            if session_id is None:
                prepared = await debates.prepare(asked.topic, patience=patience, **asked.options)
                outcome = await finish(prepared, runs.append)
            else:
                outcome = await _once_free(debates, session_id, asked, patience, runs.append)
        except RoundtableError as error:
            if self.on_error == "raise":
                raise
            outcome = _failed_debate(asked, error)
        count.add(outcome, seat, ran=bool(runs) or isinstance(outcome, FailedDebate))
        return outcome

    async def _run_on_queue(
        self, queue: DebateQueue, requested: Sequence[_Debate], ids: Sequence[str | None]
    ) -> list[DebateResult | FailedDebate]:
        named = [
            NamedDebate(session_id or "", _request(debate)) for debate, session_id in zip(requested, ids, strict=True)
        ]
        # With another option, such as a larger budget, this is another job that continues the same sessions.
        asked_for = [[debate.session_id, debate.request.model_dump_json(exclude_unset=True)] for debate in named]
        job = f"{self.name}-{hashlib.sha256(to_json(asked_for)).hexdigest()[:8]}"
        outcomes = await queue.hold(job, named, concurrency=self.concurrency, on_progress=self.on_progress)
        failure = next((outcome for outcome in outcomes if isinstance(outcome, FailedDebate)), None)
        if failure is not None and self.on_error == "raise":
            raise error_from_info(failure.error)
        return outcomes

    def _check_debates(self, debates: Debates) -> list[_Debate]:
        check_list("topics", self.questions, "a list of questions")
        check_list("modes", self.modes, "a list of modes")
        _check_batch(self.concurrency, self.on_error, self.on_progress)
        if self.name is not None:
            check_job_name(self.name)
        elif self.on is not None:
            raise ConfigurationError("on= needs name=; the queue stores the debates under this name")
        if "mode" in self.options:
            raise ConfigurationError("debate_many takes modes, not mode", hint="Write modes=['delphi', 'adversarial'].")
        if not self.modes:
            raise ConfigurationError("modes is empty", hint="Leave it out for collaborative debates.")
        return [
            debate
            for number, question in enumerate(self.questions, 1)
            for debate in self._row(debates, number, question)
        ]

    def _row(
        self, debates: Debates, number: int, question: str | DebateRequest | Mapping[str, JsonValue]
    ) -> list[_Debate]:
        """Return the debates of one question, after a check; an error that is due to the question names its row."""
        try:
            row = self._in_each_mode(question)
            for debate in row:
                debates.check(debate.topic, **debate.options)
        except ConfigurationError as error:
            if len(self.questions) == 1 or self._fails_in_every_row(debates, error):
                raise
            raise _row_error(error, f"row {number} of {len(self.questions)}") from error
        return row

    def _fails_in_every_row(self, debates: Debates, error: ConfigurationError) -> bool:
        """Check whether the modes and options of all questions cause an error, without those of a question."""
        for mode in self.modes:
            try:
                debates.check("Tea or coffee?", **cast("DebateOptions", {**self.options, "mode": mode}))
            except ConfigurationError as alone:
                if alone.message == error.message:
                    return True
        return False

    def _in_each_mode(self, question: str | DebateRequest | Mapping[str, JsonValue]) -> list[_Debate]:
        """Return a question in every mode, or only in its own mode if it has one."""
        fields: dict[str, Any]
        if isinstance(question, DebateRequest):
            fields = {"topic": question.topic, **question.given_options()}
        elif isinstance(question, Mapping):
            fields = dict(question)
            _check_fields(fields)
        elif isinstance(question, str):
            fields = {"topic": question}
        else:
            msg = f"a question must be a text, a mapping or a DebateRequest, not {question!r:.80}"
            raise ConfigurationError(msg, hint=_ROW_HINT)
        topic = fields.pop("topic")
        modes = [fields.pop("mode")] if "mode" in fields else self.modes
        return [
            _Debate(
                topic,
                mode if isinstance(mode, str) else getattr(mode, "name", ""),  # the check refuses a non-mode
                cast("DebateOptions", {**self.options, **fields, "mode": mode}),  # checked with the debate
            )
            for mode in modes
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyResumes:
    """The arguments of `Roundtable.resume_many`; see there for their meaning."""

    held: Sequence[DebateResult | FailedDebate]
    budget: Budget | None
    deadline_s: float | None
    concurrency: int
    on_error: OnError
    on_progress: Callable[[Progress], None] | None
    patience: BatchPatience

    async def hold(self, debates: Debates) -> list[DebateResult | FailedDebate]:
        """Continue all unfinished debates, a few at a time; return the outcome of each, in order.

        Raises:
            ConfigurationError: An argument is not valid; no model was called.
            RoundtableError: With `on_error="raise"`, the error of the first debate that failed.
        """
        _check_batch(self.concurrency, self.on_error, self.on_progress)
        check_budget(self.budget)
        check_deadline(self.deadline_s)
        unfinished = {index: outcome for index, outcome in enumerate(self.held) if _is_unfinished(outcome)}
        slots = Slots(self.concurrency, adapts=self.patience.adapt)
        count = ProgressCount(len(unfinished), self.on_progress, slots, debates)
        jobs = [partial(self._continue, debates, outcome, count) for outcome in unfinished.values()]
        with slots.follow(debates.gateway):
            ended = dict(zip(unfinished, await run_in_slots(jobs, slots, beside=count.remind), strict=True))
        return [ended.get(index, outcome) for index, outcome in enumerate(self.held)]

    async def _continue(
        self, debates: Debates, before: DebateResult | FailedDebate, count: ProgressCount, seat: DebateSeat
    ) -> DebateResult | FailedDebate:
        outcome: DebateResult | FailedDebate
        session_id = before.session_id or ""
        count.follow(seat)
        try:
            outcome = await self._once_free(
                debates, session_id, self.patience.of_debate(debates.gateway, seat, debates.wait_log.refused)
            )
        except RoundtableError as error:
            error.session_id = session_id
            if error.partial is None:  # it did not begin, so the stored state is still the result
                error.partial = before if isinstance(before, DebateResult) else before.partial
            if self.on_error == "raise":
                raise
            outcome = _failed_debate(_Debate(before.topic, before.mode, {}), error)
        count.add(outcome, seat)
        return outcome

    async def _once_free(self, debates: Debates, session_id: str, patience: Patience) -> DebateResult:
        """Continue a session as soon as no other process runs it; if it has ended meanwhile, read its result.

        If the session's budget is used up, the stored result is returned.
        """
        while True:
            current = await debates.load(session_id)
            if not _is_unfinished(current):
                return current
            try:
                return await finish(
                    await debates.prepare_resume(
                        session_id, budget=self.budget, deadline_s=self.deadline_s, patience=patience
                    )
                )
            except SessionBusy:
                await sleep(BUSY_PAUSE_S)
            except SessionConflict:
                current = await debates.load(session_id)
                if _is_unfinished(current):
                    raise
                return current  # another process ended it meanwhile
            except BudgetExceeded as error:
                if error.partial is not None or current.session_status == "error":
                    raise
                return current


def _check_fields(fields: Mapping[str, object]) -> None:
    """Check the names of the fields of a question, and that it has a topic.

    Raises:
        ConfigurationError: A field is unknown, or the topic is missing.
    """
    known = DebateRequest.model_fields
    unknown = next((name for name in fields if name not in known), None)
    if unknown is not None:
        is_topic = "topic" not in fields and str(unknown).casefold() in _TOPIC_NAMES
        hint = "Did you mean 'topic'?" if is_topic else unknown_name_hint(str(unknown), known)
        raise ConfigurationError(f"a question has the unknown field {unknown!r}", hint=hint or _ROW_HINT)
    if "topic" not in fields:
        others = f"has only {', '.join(map(repr, fields))}" if fields else "is empty"
        raise ConfigurationError(f"the question lacks its 'topic': the mapping {others}", hint=_ROW_HINT)
    if not isinstance(fields["topic"], str):
        raise ConfigurationError(f"topic must be a text, not {fields['topic']!r:.80}", hint=_ROW_HINT)


def _is_unfinished(outcome: DebateResult | FailedDebate) -> bool:
    """Check whether a debate can be continued without further information from its caller."""
    if isinstance(outcome, FailedDebate):
        return outcome.session_id is not None
    return outcome.session_status != "completed" and outcome.status != "needs_context"


def _check_batch(concurrency: int, on_error: str, on_progress: object) -> None:
    check_whole("concurrency", concurrency)
    if not 1 <= concurrency <= _MOST:
        raise ConfigurationError(f"concurrency must be 1 to {_MOST} debates at a time, not {concurrency}")
    if on_error not in ("record", "raise"):
        raise ConfigurationError(f"on_error must be 'record' or 'raise', not {on_error!r}")
    check_progress(on_progress)


async def _once_free(
    debates: Debates, session_id: str, debate: _Debate, patience: Patience, on_start: Callable[[DebateRun], None]
) -> DebateResult:
    """Run a debate, or the rest of it, as soon as no other process runs its session."""
    while True:
        try:
            return await debates.debate_once(
                session_id, debate.topic, patience=patience, on_start=on_start, **debate.options
            )
        except SessionBusy:
            await sleep(BUSY_PAUSE_S)


def _row_error(error: ConfigurationError, row: str) -> ConfigurationError:
    return ConfigurationError(f"{row}: {error.message}", code=error.code, hint=error.hint, details=error.details)


def _session_ids(name: str, requested: Sequence[_Debate], debates: Debates) -> list[str]:
    """Return an id for each debate, computed from the name and everything that determines the debate.

    A question that appears twice is debated twice.
    """
    digests: list[str] = []
    times: Counter[str] = Counter()
    for debate in requested:
        plan = debates.describe(debate.topic, **debate.options)
        text = to_json([name, debates.tenant, plan], serialize_unknown=True)
        digest = hashlib.sha256(text).hexdigest()[:32]
        times[digest] += 1
        digests.append(digest if times[digest] == 1 else f"{digest}-{times[digest]}")
    return digests


def _request(debate: _Debate) -> DebateRequest:
    """Return a debate as plain data.

    Raises:
        ConfigurationError: An option is an object.
    """
    try:
        options: dict[str, object] = {**debate.options}
        if files := debate.options.get("attachments"):
            options["attachments"] = read_attachments(files)  # workers on other machines do not have the files
        return DebateRequest.model_validate({"topic": debate.topic, **options})
    except ValidationError as error:
        reason = ": ".join(filter(None, first_error(error)))
        hint = "Other processes read the options, so they must be plain data, such as agents by name."
        raise ConfigurationError(f"the question {debate.topic[:80]!r} cannot be queued: {reason}", hint=hint) from None


def _failed_debate(debate: _Debate, error: RoundtableError) -> FailedDebate:
    result = error.partial
    return FailedDebate(
        topic=debate.topic,
        mode=debate.mode,
        error=error_info(error),
        session_id=error.session_id,
        partial=result if isinstance(result, DebateResult) else None,
    )
