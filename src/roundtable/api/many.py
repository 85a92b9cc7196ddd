"""Many debates: every question in every mode."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

from anyio import create_task_group

from roundtable.api.checks import check_list, check_whole
from roundtable.errors import ConfigurationError, RoundtableError
from roundtable.results.debate_result import DebateResult
from roundtable.results.many import FailedDebate
from roundtable.stages import error_info

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from roundtable.api.debates import Debates
    from roundtable.api.options import DebateOptions
    from roundtable.protocols import DebateModeStrategy

__all__ = ["ManyDebates", "OnError", "run_jobs"]


T = TypeVar("T")


async def run_jobs(jobs: Sequence[Callable[[], Awaitable[T]]], *, at_once: int) -> list[T]:
    """Run all jobs, started in order, and return their results in that order.

    The first job that fails cancels the others; its error is raised itself, not in an exception group.

    Args:
        jobs: The jobs.
        at_once: Maximum jobs that run at the same time, from 1.
    """
    results: dict[int, T] = {}
    errors: list[Exception] = []
    remaining = iter(enumerate(jobs))

    async def work() -> None:
        for index, job in remaining:
            try:
                results[index] = await job()
            except Exception as error:  # noqa: BLE001  (raised below, as itself)
                errors.append(error)
                group.cancel_scope.cancel()
                return

    async with create_task_group() as group:
        for _ in range(min(at_once, len(jobs))):
            group.start_soon(work)
    if errors:
        raise errors[0]
    return [results[index] for index in range(len(jobs))]


OnError: TypeAlias = Literal["record", "raise"]
"""What to do when a debate fails: record it in the results, or raise and end the others."""

_MOST: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyDebates:
    """The arguments of `Roundtable.debate_many`, which explains each."""

    topics: Sequence[str]
    modes: Sequence[str | DebateModeStrategy]
    concurrency: int
    on_error: OnError
    options: DebateOptions

    async def hold(self, debates: Debates) -> list[DebateResult | FailedDebate]:
        """Check all debates, then run them, a few at a time; return a result or failure for each, in order.

        Raises:
            ConfigurationError: An argument is not valid; no model was called.
            RoundtableError: With `on_error="raise"`, the error of the first debate that failed.
        """
        self._check(debates)
        jobs = [partial(self._debate, debates, topic, mode) for topic in self.topics for mode in self.modes]
        return await run_jobs(jobs, at_once=self.concurrency)

    async def _debate(
        self, debates: Debates, topic: str, mode: str | DebateModeStrategy
    ) -> DebateResult | FailedDebate:
        try:
            return await debates.debate(topic, **self._options(mode))
        except RoundtableError as error:
            if self.on_error == "raise":
                raise
            return _failed(topic, mode, error)

    def _options(self, mode: str | DebateModeStrategy) -> DebateOptions:
        return {**self.options, "mode": mode}

    def _check(self, debates: Debates) -> None:
        check_list("topics", self.topics, "a list of questions")
        check_list("modes", self.modes, "a list of modes")
        check_whole("concurrency", self.concurrency)
        if not 1 <= self.concurrency <= _MOST:
            raise ConfigurationError(f"concurrency must be 1 to {_MOST} debates at a time, not {self.concurrency}")
        if self.on_error not in ("record", "raise"):
            raise ConfigurationError(f"on_error must be 'record' or 'raise', not {self.on_error!r}")
        if "mode" in self.options:
            raise ConfigurationError("debate_many takes modes, not mode", hint="Write modes=['delphi', 'adversarial'].")
        if not self.modes:
            raise ConfigurationError("modes is empty", hint="Leave it out for collaborative debates.")
        for mode in self.modes if self.topics else ():
            debates.check(self.topics[0], **self._options(mode))
        for topic in self.topics[1:]:
            debates.check(topic, **self._options(self.modes[0]))


def _failed(topic: str, mode: str | DebateModeStrategy, error: RoundtableError) -> FailedDebate:
    result = error.partial
    return FailedDebate(
        topic=topic,
        mode=mode if isinstance(mode, str) else mode.name,
        error=error_info(error),
        session_id=error.session_id,
        partial=result if isinstance(result, DebateResult) else None,
    )
