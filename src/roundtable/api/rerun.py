"""Reruns: repetitions of the last round of a debate with a change. Each repetition is a fork with its own id."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from random import Random
from typing import TYPE_CHECKING, Final

from anyio import sleep
from pydantic_core import to_json

from roundtable.api.changes import Rearranged
from roundtable.api.checks import check_budget, check_whole
from roundtable.api.debates import finish
from roundtable.api.many import BUSY_PAUSE_S, run_jobs
from roundtable.core.errors import ConfigurationError, SessionBusy, SessionConflict, SessionNotFound
from roundtable.core.types.chat import Usage
from roundtable.results.reruns import RerunAudit, RerunOutcome
from roundtable.scoring.camps import OpenAnswer, Said, compare_answers

if TYPE_CHECKING:
    from roundtable.api.debates import Debates
    from roundtable.core.record.transitions import HeldRound
    from roundtable.core.types.budget import Budget, Estimate
    from roundtable.results.debate_result import DebateResult
    from roundtable.results.reruns import RerunChange

__all__ = ["Rerun"]

_MOST_TIMES: Final = 100
_MOST_AT_ONCE: Final = 64
_NO_ROUND: Final = "has no complete round"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """The arguments of `Roundtable.rerun`; see there for their meaning."""

    session_id: str
    times: int
    change: RerunChange
    without: str | None
    concurrency: int = 1
    budget: Budget | None = None

    async def hold(self, debates: Debates) -> RerunAudit:
        """Run the repetitions that are not stored yet, and return the audit of all repetitions.

        Raises:
            ConfigurationError: An argument is not valid.
            SessionConflict: The session has no complete round.
            RoundtableError: A repetition failed; make the same call again to continue.
        """
        source, repeated = await self._load_source(debates)
        jobs = [partial(_run_repetition, debates, source, change) for change in self._changes(source, repeated)]
        results = await run_jobs(jobs, at_once=self.concurrency)
        return RerunAudit(
            session_id=source.session_id,
            topic=source.topic,
            answer=source.answer,
            change=self.change,
            without=next((agent.name for agent in source.agents if agent.id == self.without), None),
            round=repeated.number,
            outcomes=tuple(_outcome(source, result) for result in results),
            usage=reduce(add, (result.usage for result in results), Usage()),
        )

    async def estimate(self, debates: Debates) -> Estimate:
        """Return the worst case of all repetitions together.

        Raises:
            ConfigurationError: An argument is not valid.
            SessionConflict: The session has no complete round.
        """
        changes = self._changes(*await self._load_source(debates))
        estimate = await debates.estimate_repeated(self.session_id, changes[0])
        return estimate.times(self.times)

    async def _load_source(self, debates: Debates) -> tuple[DebateResult, HeldRound]:
        check_whole("times", self.times)
        check_whole("concurrency", self.concurrency)
        check_budget(self.budget)
        if not 1 <= self.times <= _MOST_TIMES:
            raise ConfigurationError(f"times must be 1 to {_MOST_TIMES}, not {self.times}")
        if not 1 <= self.concurrency <= _MOST_AT_ONCE:
            msg = f"concurrency must be 1 to {_MOST_AT_ONCE} sessions at a time, not {self.concurrency}"
            raise ConfigurationError(msg)
        if self.change not in ("seats", "labels"):
            raise ConfigurationError(f"change must be 'seats' or 'labels', not {self.change!r}")
        source = await debates.load(self.session_id)
        agents = [agent.id for agent in source.agents]
        if self.without is not None and self.without not in agents:
            msg = f"session {self.session_id!r} has no agent {self.without!r}"
            raise ConfigurationError(msg, hint=f"Choose one of {', '.join(agents)}.")
        last = await debates.last_held_round(self.session_id)
        problem = "is a team conversation" if source.team is not None else "" if last.number else _NO_ROUND
        if problem:
            msg = f"session {self.session_id!r} {problem}"
            raise SessionConflict(msg, hint="Repeat a debate with at least one complete round.")
        return source, last

    def _changes(self, source: DebateResult, repeated: HeldRound) -> list[Rearranged]:
        """Return the change of each repetition; with a larger `times`, the first changes stay the same."""
        seats = tuple(agent.id for agent in source.agents if agent.id != self.without)
        digest_parts: list[object] = [source.session_id, repeated.number, self.change, self.without]
        if repeated.number < repeated.planned:  # earlier versions repeated the round as the last of a shorter debate
            digest_parts += [repeated.planned, repeated.ended]
        changes = []
        for number in range(self.times):
            digest = hashlib.sha256(to_json([*digest_parts, number]))
            chance = Random(digest.digest())
            order = _shuffled(seats, chance) if self.change == "seats" else seats
            changes.append(Rearranged(digest.hexdigest()[:32], order, chance.randrange(2**31), repeated, self.budget))
        return changes


def _shuffled(seats: tuple[str, ...], chance: Random) -> tuple[str, ...]:
    """Return another order of the agents, if there is one."""
    order = tuple(chance.sample(seats, len(seats)))
    return order if order != seats else (*seats[1:], *seats[:1])


async def _run_repetition(debates: Debates, source: DebateResult, change: Rearranged) -> DebateResult:
    """Run one repetition, or the rest of it.

    Raises:
        SessionConflict: The repetition stopped before its end, so its answer counts neither as same nor as changed.
    """
    result = await _run_when_free(debates, source, change)
    if result.session_status == "completed":
        return result
    reason = "" if result.exit is None else f" ({result.exit.reason}: {result.exit.details})"
    msg = f"the repetition in session {result.session_id!r} stopped before its end{reason}"
    raise SessionConflict(msg, hint="Remove the cause, for example by a larger `budget`, and make the same call again.")


async def _run_when_free(debates: Debates, source: DebateResult, change: Rearranged) -> DebateResult:
    """Run one repetition, or the rest of it, as soon as no other process runs its session."""
    while True:
        stored = await _stored_result(debates, change.session_id)
        if stored is not None and stored.session_status == "completed":
            return stored
        try:
            return await _resume_repetition(debates, source, change, stored)
        except SessionBusy:
            await sleep(BUSY_PAUSE_S)
        except (SessionConflict, SessionNotFound):
            if await _stored_result(debates, change.session_id) == stored:
                raise
            # Another process has created, continued or deleted the session meanwhile.


async def _resume_repetition(
    debates: Debates, source: DebateResult, change: Rearranged, stored: DebateResult | None
) -> DebateResult:
    """Run the rest of a repetition, and stop it if its round did not end the debate."""
    if stored is None:
        stored = await finish(await debates.prepare_repetition(source.session_id, change))
    elif not _is_held(stored, change):
        if len(stored.rounds) < change.round.number - 1:
            await debates.copy_past(source.session_id, change)
        rest = await debates.prepare_resume(change.session_id, step=not change.round.ended, budget=change.budget)
        stored = await finish(rest)
    if stored.session_status == "completed" or not _is_held(stored, change):
        return stored
    await debates.stop(change.session_id, "settle")
    return await debates.load(change.session_id)


def _is_held(stored: DebateResult, change: Rearranged) -> bool:
    """Check whether the repeated round is complete."""
    return sum(record.complete for record in stored.rounds) >= change.round.number


async def _stored_result(debates: Debates, session_id: str) -> DebateResult | None:
    try:
        return await debates.load(session_id)
    except SessionNotFound:
        return None


def _outcome(source: DebateResult, result: DebateResult) -> RerunOutcome:
    consensus = result.consensus
    return RerunOutcome(
        session_id=result.session_id,
        answer=result.answer,
        holds=_says_the_same(source, result.answer),
        agreement=None if consensus is None else consensus.agreement_level,
        agreement_in_words="none" if consensus is None else consensus.level_in_words,
    )


def _says_the_same(source: DebateResult, answer: str | None) -> bool | None:
    """Check whether an answer is the debate's answer; `None` if it is unclear whether the two wordings say the same."""
    before = source.answer
    if before is None or answer is None or source.config.options is not None:
        return before == answer
    answers = (OpenAnswer("before", Said(before)), OpenAnswer("after", Said(answer)))
    verdict = compare_answers(answers).get("before", {}).get("after")
    return None if verdict is None else verdict == "same"
