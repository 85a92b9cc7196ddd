"""Whatever happens to a session, in whatever order: its log keeps the laws, and nothing stored is asked again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from integration.engine_kit import CountingModel, FailingStorage, asking, engine_of, lawful, said, seated

from roundtable.engine import DebateEngine, Extension, RunLimits
from roundtable.errors import AgentError, QuorumLost, RoundtableError, SessionConflict, SessionError, StorageError
from roundtable.providers.scripted import Reply
from roundtable.record import Fold
from roundtable.results.debate_result import DebateResult
from roundtable.storage import MemoryStorage
from roundtable.types import AgentResponse, ChatRequest, DebateExit, Lease, LeaseOwner, SessionFilter

NAMES = ("ada", "bo", "cy")
MOST_ROUNDS = 8
GO_ON = RunLimits(resume=True)


class Time:
    """A clock that tests move; a lease lapses when they say so."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def monotonic(self) -> float:
        return datetime.now(UTC).timestamp()


class Dying(FailingStorage):
    """A storage of a process that dies: after so many writes nothing gets through any more, not even a last word."""

    async def lease(self, session_id: str, owner: LeaseOwner, ttl_s: float, *, tenant: str = "default") -> Lease:
        if self.left is not None and self.left <= 0:
            raise StorageError("dead")
        return await super().lease(session_id, owner, ttl_s, tenant=tenant)


class Session(RuleBasedStateMachine):
    """One session, and everything that may be done to it."""

    def __init__(self) -> None:
        super().__init__()
        self.time = Time()
        self.storage = MemoryStorage(self.time)
        self.failing: frozenset[str] = frozenset()
        self.model = CountingModel(self.reply)
        self.agents = seated(self.model, *NAMES)
        self.id = ""
        self.guests = 0

    def reply(self, request: ChatRequest) -> Reply:
        who, number = request.metadata["agent"], request.metadata["round"]
        return AgentError(f"{who} fails") if who in self.failing else said(f"{who} {number}")

    def engine(self, storage: Any = None) -> DebateEngine:
        """Open everything anew, as another process would."""
        return engine_of(self.storage if storage is None else storage, self.agents)

    def fold(self) -> Fold:
        record, events = anyio.run(self.storage.read, self.id)
        return lawful(record, events)

    def run(self, work: Callable[[], Awaitable[object]]) -> RoundtableError | None:
        """Do something; whatever it is, nothing stored is asked again, and the same question is asked the same way."""
        stored = {
            (turn.agent_id, str(turn.round)) for turn in self.fold().view().transcript if turn.outcome == "answered"
        }
        stored = {(who, number) for who, number in stored if who in NAMES}
        asked = len(self.model.begun)
        failure: RoundtableError | None = None
        try:
            anyio.run(work)
        except RoundtableError as error:
            failure = error
        assert not stored & set(self.model.begun[asked:])
        assert self.model.under_way == 0
        return failure

    @initialize(rounds=st.integers(1, 3), quorum=st.none() | st.integers(1, 3))
    def start(self, rounds: int, quorum: int | None) -> None:
        async def begin() -> str:
            session = await self.engine().start_debate(asking(self.agents, rounds=rounds, quorum=quorum))
            return session.id

        self.id = anyio.run(begin)

    @rule(names=st.frozensets(st.sampled_from(NAMES)))
    def agents_fail(self, names: frozenset[str]) -> None:
        self.failing = names

    @rule()
    def step(self) -> None:
        before = self.fold()
        failure = self.run(lambda: self.engine().run_round(self.id))
        after = self.fold()
        if before.progress.status in {"created", "active"} and before.pending_control is None:
            assert failure is None or isinstance(failure, QuorumLost)
            held = [sum(turns.complete for turns in fold.rounds) for fold in (before, after)]
            assert held[1] - held[0] == (failure is None and before.progress.total_rounds > held[0])
        else:
            assert isinstance(failure, SessionError)
            assert after.last_seq == before.last_seq

    @rule()
    def go_on(self) -> None:
        before = self.fold().progress
        failure = self.run(lambda: self.engine().run(self.id, GO_ON))
        after = self.fold().progress
        if before.status == "completed":
            assert isinstance(failure, SessionError)
        else:
            assert after.status == ("completed" if failure is None else "error")
            assert failure is None or isinstance(failure, QuorumLost)

    @rule(writes=st.integers(0, 9))
    def die(self, writes: int) -> None:
        """The process dies after so many writes; its lease lapses."""
        self.run(lambda: self.engine(Dying(self.storage, after=writes)).run(self.id, GO_ON))
        self.time.ahead += timedelta(seconds=16)

    @rule(steps=st.integers(1, 60))
    def cancel(self, steps: int) -> None:
        async def work() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(self.tried)
                for _ in range(steps):
                    await checkpoint()
                group.cancel_scope.cancel()

        self.run(work)

    async def tried(self) -> None:
        try:
            await self.engine().run(self.id, GO_ON)
        except RoundtableError:
            return  # what it may be is the business of `go_on`

    @rule(action=st.sampled_from(["pause", "stop"]), obeyed=st.booleans())
    def ask(self, action: Any, obeyed: bool) -> None:
        async def work() -> None:
            engine = self.engine()
            await engine.sessions.control(self.id, action)
            if obeyed:
                await engine.carry_out_control(self.id)

        before = self.fold().progress.status
        failure = self.run(work)
        if before not in {"pause": {"created", "active"}, "stop": {"created", "active", "paused"}}[action]:
            assert isinstance(failure, SessionConflict)
            assert self.fold().progress.status == before
            return
        assert failure is None
        if obeyed and action == "stop":
            assert self.fold().progress.status == "completed"

    @rule(rounds=st.integers(1, 2))
    def extend(self, rounds: int) -> None:
        before = self.fold()
        if before.progress.total_rounds + rounds > MOST_ROUNDS:
            return
        failure = self.run(lambda: self.engine().run(self.id, GO_ON, extension=Extension(rounds=rounds)))
        after = self.fold().progress
        if before.progress.status == "completed":
            held = before.current.number if before.current else 0
            assert after.total_rounds == held + rounds
        else:
            assert after.total_rounds == before.progress.total_rounds + rounds
        assert failure is None or isinstance(failure, QuorumLost)
        if failure is None:
            assert (after.status, after.current_round) == ("completed", after.total_rounds)

    @rule()
    def somebody_else_answers(self) -> None:
        guest = AgentResponse(agent_id="guest", agent_name="Guest", position=f"guest {self.guests}")
        self.guests += 1
        assert self.run(lambda: self.engine().sessions.add_response(self.id, guest)) is None

    @invariant()
    def the_log_is_lawful_and_all_views_of_it_agree(self) -> None:
        if not self.id:
            return
        stored, events = anyio.run(self.storage.read, self.id)
        fold = lawful(stored, events)
        (listed,) = anyio.run(self.storage.list, SessionFilter())
        assert (listed.status, listed.current_round, listed.total_rounds, listed.response_count) == fold.progress
        record = fold.to_record()
        answered = [turn for held in record.rounds for turn in held.turns if turn.outcome == "answered"]
        ends = [event for event in events if isinstance(event, DebateExit)]
        assert record.usage.calls == sum(turn.result.usage.calls for turn in answered) + sum(
            end.usage.calls  # of calls that were cut off with the run, which answered nothing
            for end in ends
            if end.usage is not None
        )
        result = DebateResult.from_record(record)
        if not self.guests:  # an answer from outside may come before its round has begun
            assert result.session == fold.to_session()
        assert result.answer is not None or result.answer_reason


def machine(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        Session,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )


@pytest.mark.parametrize("examples", [5, pytest.param(25, marks=pytest.mark.slow)])
def test_any_course_of_events_keeps_the_laws(examples: int) -> None:
    machine(examples, 12)


@pytest.mark.deep
def test_many_courses_of_events_keep_the_laws() -> None:
    machine(600, 30)
