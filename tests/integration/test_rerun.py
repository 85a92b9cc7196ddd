"""Reruns: the last round of a stored debate again, with something changed; nothing is paid twice."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from integration.engine_kit import CountingModel, late, seated

from roundtable import Roundtable
from roundtable.api import AgentProfile
from roundtable.errors import APINetworkError, ConfigurationError, RoundtableError, SessionConflict, SessionNotFound
from roundtable.exits import ConsensusReached, MinRounds
from roundtable.providers.scripted import ScriptedModel
from roundtable.storage import MemoryStorage
from roundtable.sync import Roundtable as SyncRoundtable
from roundtable.testing import scripted_agents
from roundtable.testing.storage_samples import owner_elsewhere
from roundtable.types import Budget, ChatRequest, Control, utc_now

if TYPE_CHECKING:
    from pathlib import Path

    from roundtable.results.reruns import RerunAudit
    from roundtable.types import JsonValue, SessionRecord

pytestmark = pytest.mark.both_loops

OPTIONS = ("Tea", "Milk")


def agents(bo: str = "Tea", times: int = 40):
    return scripted_agents({"ada": ["Tea"] * times, "bo": ["Milk"] + [bo] * times, "cy": ["Milk"] * times})


async def test_the_last_round_is_repeated_in_a_fork() -> None:
    async with Roundtable(agents(), storage="memory://") as table:
        first = await table.debate("Tea or milk?", rounds=2, options=OPTIONS)
        audit = await table.rerun(first.session_id, times=3)
        assert (audit.answer, audit.round, audit.held, audit.held_at_most, audit.usage.calls) == ("Tea", 2, 3, 3, 9)
        assert [round(bound, 2) for bound in audit.interval] == [0.44, 1.0]
        assert audit.answers == {"Tea": 3}
        for outcome in audit.outcomes:
            again = await table.session(outcome.session_id)
            assert len(again.rounds) == 2
            assert again.rounds[0].responses == first.rounds[0].responses
            assert [agent.id for agent in again.agents] != [agent.id for agent in first.agents]
            assert again.config.seed != first.config.seed
        assert await table.session(first.session_id) == first


async def test_repeating_a_rerun_makes_no_call_and_a_larger_one_only_the_missing_calls() -> None:
    # Each agent has just as many answers as are needed: two for the debate, one for each repetition.
    says = {"ada": ["Tea"] * 6, "bo": ["Milk"] + ["Tea"] * 5, "cy": ["Milk"] * 6}
    async with Roundtable(scripted_agents(says), storage="memory://") as table:
        first = await table.debate("Tea or milk?", rounds=2, options=OPTIONS)
        once = await table.rerun(first.session_id, times=2)
        assert await table.rerun(first.session_id, times=2) == once
        more = await table.rerun(first.session_id, times=4)
        assert more.outcomes[:2] == once.outcomes
        assert (more.held, more.usage.calls) == (4, 12)
        with pytest.raises(RoundtableError):
            await table.rerun(first.session_id, times=5)


async def test_options_with_labels_keep_their_order() -> None:
    async with Roundtable(agents(), storage="memory://") as table:
        first = await table.debate("Tea or milk?", rounds=1, options=OPTIONS)
        audit = await table.rerun(first.session_id, times=2, change="labels")
        again = [await table.session(outcome.session_id) for outcome in audit.outcomes]
    assert [[agent.id for agent in one.agents] for one in again] == [["ada", "bo", "cy"]] * 2
    assert len({first.config.seed, *(one.config.seed for one in again)}) == 3


async def test_a_rerun_without_an_agent_keeps_its_earlier_answers() -> None:
    async with Roundtable(agents(), storage="memory://") as table:
        first = await table.debate("Tea or milk?", rounds=2, options=OPTIONS)
        audit = await table.rerun(first.session_id, times=2, without="bo")
        again = await table.session(audit.outcomes[0].session_id)
    assert (audit.without, audit.held, audit.usage.calls) == ("Bo", 0, 4)
    assert {said.agent_id for said in again.rounds[0].responses} == {"ada", "bo", "cy"}
    assert {said.agent_id for said in again.rounds[1].responses} == {"ada", "cy"}
    assert again.answer is None  # a tie
    assert "without Bo" in str(audit)
    assert "Changed: no answer" in str(audit)


async def test_uncompared_wordings_widen_the_interval() -> None:
    says = {"ada": ["Lisbon", "lisbon.", "The capital", "Porto"], "bo": ["Lisbon", "Lisbon", "The capital", "Porto"]}
    async with Roundtable(scripted_agents(says), storage="memory://") as table:
        first = await table.debate("Where shall we meet?", rounds=1)
        audit = await table.rerun(first.session_id, times=3, concurrency=1)
    assert [outcome.holds for outcome in audit.outcomes] == [True, None, None]
    assert (audit.held, audit.held_at_most) == (1, 3)
    assert "Held: 1 to 3 of 3" in str(audit)
    assert audit.interval[0] < 1 / 3
    assert audit.interval[1] == 1


async def test_a_repetition_that_failed_is_continued_by_the_same_call(tmp_path: Path) -> None:
    broken = {"ada": ["Tea", APINetworkError("gone", retryable=False), "Tea"], "bo": ["Tea"] * 9}
    async with Roundtable(scripted_agents(broken), storage=f"sqlite:///{tmp_path / 'r.db'}") as table:
        first = await table.debate("Tea or milk?", rounds=1, options=OPTIONS, quorum=2)
        with pytest.raises(RoundtableError):
            await table.rerun(first.session_id, times=1)
        assert (await table.rerun(first.session_id, times=1)).held == 1


async def test_a_repetition_that_stopped_early_counts_neither_way() -> None:
    async with Roundtable(agents(), storage="memory://", budget=Budget(max_calls=7)) as table:
        first = await table.debate("Tea or milk?", rounds=2, options=OPTIONS)
        with pytest.raises(RoundtableError) as told:
            await table.rerun(first.session_id, times=1)
    assert "budget" in str(told.value)


async def test_each_repetition_has_the_given_budget_and_a_larger_one_continues_it() -> None:
    async with Roundtable(agents(), storage="memory://") as table:
        first = await table.debate("Tea or milk?", rounds=2, options=OPTIONS)
        # The limit is below a round of three agents, each with one try to repair its answer.
        with pytest.raises(RoundtableError, match="budget"):
            await table.rerun(first.session_id, times=2, budget=Budget(max_calls=2))
        with pytest.raises(ConfigurationError, match="budget must be a Budget"):
            await table.rerun(first.session_id, times=2, budget=5)  # type: ignore[arg-type]
        audit = await table.rerun(first.session_id, times=2, budget=Budget(max_calls=20))
        assert (audit.held, audit.usage.calls) == (2, 6)
        assert (await table.session(first.session_id)).config.budget is None


async def test_a_fork_without_its_past_gets_it() -> None:
    async with Roundtable(agents(), storage="memory://") as table:
        first = await table.debate("Tea or milk?", rounds=2, options=OPTIONS)
        audit = await table.rerun(first.session_id, times=1)
        (outcome,) = audit.outcomes
        storage = table._wiring.storage
        record, _ = await storage.read(outcome.session_id)
        await table.delete(outcome.session_id)
        await storage.create(record)  # as a process does that ends before it stores the past
        again = await table.rerun(first.session_id, times=1)
        assert again.outcomes == audit.outcomes
        assert again.usage.calls == 3
        assert (await table.verify(outcome.session_id)).verdict == "intact"


class SlowToCreate(MemoryStorage):
    """A storage far away: the first repetition is stored, and its creator learns of it later."""

    def __init__(self) -> None:
        super().__init__()
        self.has_created = anyio.Event()
        self.may_answer = anyio.Event()

    async def create(self, record: SessionRecord) -> None:
        await super().create(record)
        if record.forked_from is not None and not self.has_created.is_set():
            self.has_created.set()
            await self.may_answer.wait()


async def test_a_session_that_another_process_creates_is_not_taken_over() -> None:
    storage = SlowToCreate()
    audits: list[RerunAudit] = []
    async with Roundtable(agents(), storage=storage) as table, Roundtable(agents(), storage=storage) as other:
        first = await table.debate("Tea or milk?", rounds=2, options=OPTIONS)

        async def hold_first() -> None:
            audits.append(await table.rerun(first.session_id, times=1))

        async with anyio.create_task_group() as group:
            group.start_soon(hold_first)
            await storage.has_created.wait()
            audits.append(await other.rerun(first.session_id, times=1))
            storage.may_answer.set()
        assert audits[0] == audits[1]
        assert [summary.status for summary in await table.sessions()] == ["completed", "completed"]
        assert audits[0].usage.calls == 3


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 2])
async def test_two_processes_at_once_hold_each_repetition_once(tmp_path: Path, rounds: int) -> None:
    await hold_twice(f"sqlite:///{tmp_path / 'r.db'}", rounds)


@pytest.mark.postgres
@pytest.mark.parametrize("rounds", [1, 2])
async def test_two_machines_at_once_hold_each_repetition_once(postgres_url: str, rounds: int) -> None:
    await hold_twice(postgres_url, rounds)


async def hold_twice(storage: str, rounds: int) -> None:
    """Make the same rerun at two tables at once; each asks its own models."""
    counted = [CountingModel(late(0.02, "Tea")) for _ in range(2)]
    tables = [Roundtable(seated(model, "ada", "bo"), storage=storage) for model in counted]
    audits: list[RerunAudit] = []
    async with tables[0], tables[1]:
        first = await tables[0].debate("Tea or milk?", rounds=rounds, options=OPTIONS)

        async def hold(table: Roundtable) -> None:
            audits.append(await table.rerun(first.session_id, times=3))

        async with anyio.create_task_group() as group:
            for table in tables:
                group.start_soon(hold, table)
        assert audits[0] == audits[1]
        assert len(await tables[0].sessions()) == 4
    assert sum(len(model.begun) for model in counted) == 2 * rounds + 2 * 3


class Reading:
    """A table whose agents note in which round of how many they were asked for what, by stage and agent."""

    def __init__(self) -> None:
        self.read: list[tuple[str, str, str]] = []

        def reply(request: ChatRequest) -> dict[str, JsonValue]:
            prompt = "\n".join(message.content for message in request.messages)
            of = re.findall(r"Round \d+ of \d+", prompt)
            self.read.append((request.metadata["stage"], request.metadata["agent"], *of[:1]))
            return {"position": "Tea", "choice": "Tea", "ranking": ["Tea", "Milk"], "reasoning": "Because."}

        models = [ScriptedModel(reply, model=name) for name in ("ada", "bo", "cy")]
        self.table = Roundtable(models, storage="memory://", analyzer="declared")

    def last_round(self, number: int) -> Counter[tuple[str, str, str]]:
        return Counter(entry for entry in self.read if f"Round {number} of" in entry[2])


EARLY = MinRounds(2) & ConsensusReached(0.9)


@pytest.mark.parametrize(
    ("options", "planned"),
    [
        ({"rounds": 4, "exit_when": EARLY}, "Round 2 of 4"),
        ({"rounds": 4, "exit_when": EARLY, "vote": True}, "Round 2 of 4"),
        ({"rounds": 4, "budget": Budget(max_calls=6), "vote": True}, "Round 2 of 4"),
        ({"rounds": 4, "budget": Budget(max_calls=6), "exit_when": MinRounds(3)}, "Round 2 of 4"),
        ({"rounds": 2, "vote": True}, "Round 2 of 2"),
    ],
    ids=["ended early", "ended early by a vote", "interrupted before the vote", "interrupted", "planned end"],
)
async def test_the_repeated_round_asks_for_the_same_as_the_original(options: dict[str, Any], planned: str) -> None:
    reading = Reading()
    async with reading.table as table:
        first = await table.debate("Tea or milk?", options=OPTIONS, **options)
        original = reading.last_round(2)
        assert {of for _, _, of in original} == {planned}
        worst = await table.estimate_rerun(first.session_id, times=1)
        reading.read.clear()
        audit = await table.rerun(first.session_id, times=1, change="labels")
        assert reading.last_round(2) == original
        assert (worst.planned_calls, audit.usage.calls) == (original.total(), original.total())
        assert (audit.answer, audit.held, audit.round) == (first.answer, 1, 2)
        again = await table.session(audit.outcomes[0].session_id)
        assert (again.session_status, again.config.rounds) == ("completed", options["rounds"])
        reading.read.clear()
        assert await table.rerun(first.session_id, times=1, change="labels") == audit
        assert not reading.read


async def test_the_repeated_round_has_the_focus_question_that_it_had() -> None:
    model = CountingModel("Tea")
    async with Roundtable(seated(model, "ada", "bo"), storage="memory://") as table:
        first = await table.debate("Tea?", rounds=1)
        await table.extend(first.session_id, rounds=1, focus_question="And at night?")
        await table.rerun(first.session_id, times=1)
    asked = [("And at night?" in prompt, number) for _, number, prompt in model.prompts]
    assert asked == [(False, "1")] * 2 + [(True, "2")] * 4


async def test_the_repeated_round_does_not_mention_rounds_that_were_added_later() -> None:
    reading = Reading()
    async with reading.table as table:
        first = await table.debate("Tea or milk?", rounds=2, options=OPTIONS)
        more = Control(session_id=first.session_id, timestamp=utc_now(), action="extend", total_rounds=4)
        await table._wiring.storage.append(first.session_id, None, None, (more,))
        reading.read.clear()
        await table.rerun(first.session_id, times=1)
    assert {of for _, _, of in reading.read} == {"Round 2 of 2"}


async def test_a_repetition_whose_process_ended_after_its_answers_repeats_no_call() -> None:
    reading = Reading()
    async with reading.table as table:
        first = await table.debate("Tea or milk?", rounds=4, options=OPTIONS, budget=Budget(max_calls=6))
        audit = await table.rerun(first.session_id, times=1)
        repetition = audit.outcomes[0].session_id
        storage = table._wiring.storage
        record, events = await storage.read(repetition)
        held = max(index for index, event in enumerate(events, 1) if event.type == "round_complete")
        assert held < len(events)
        await table.delete(repetition)
        await storage.create(record)
        lease = await storage.lease(repetition, owner_elsewhere("dead"), 60)
        await storage.append(repetition, 0, lease.token, events[:held])
        await storage.lease(repetition, owner_elsewhere("dead"), 0)
        reading.read.clear()
        again = await table.rerun(first.session_id, times=1)
        assert not reading.read
        assert again.outcomes == audit.outcomes
        assert (await table.session(repetition)).session_status == "completed"


async def test_repetitions_of_earlier_versions_are_found_again() -> None:
    async with Roundtable(agents(), storage="memory://") as table:
        await table.debate_once("origin", "Tea or milk?", rounds=2, options=OPTIONS)
        audit = await table.rerun("origin", times=1)
    assert audit.outcomes[0].session_id == hashlib.sha256(b'["origin",2,"seats",null,0]').hexdigest()[:32]


async def test_the_worst_case_covers_only_the_last_round() -> None:
    async with Roundtable(agents(), storage="memory://") as table:
        first = await table.debate("Tea or milk?", rounds=3, options=OPTIONS)
        whole = table.estimate("Tea or milk?", rounds=3, options=OPTIONS)
        one = await table.estimate_rerun(first.session_id, times=1)
        five = await table.estimate_rerun(first.session_id, times=5)
        audit = await table.rerun(first.session_id, times=5)
    assert (one.turns, one.planned_calls, five.planned_calls) == (3, 3, 15)
    assert one.input_tokens < whole.input_tokens < five.input_tokens == 5 * one.input_tokens
    assert audit.usage.calls <= five.calls
    assert audit.usage.total_tokens <= five.total_tokens


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"times": 0}, "times must be 1 to 100"),
        ({"times": 101}, "times must be 1 to 100"),
        ({"concurrency": 0}, "concurrency must be 1 to 64"),
        ({"change": "mode"}, "change must be 'seats' or 'labels'"),
        ({"without": "zoe"}, "has no agent 'zoe'"),
    ],
)
async def test_wrong_options_are_refused_before_any_agent_is_asked(options: dict[str, object], message: str) -> None:
    async with Roundtable(agents(), storage="memory://") as table:
        first = await table.debate("Tea or milk?", rounds=1, options=OPTIONS)
        with pytest.raises(ConfigurationError, match=message):
            await table.rerun(first.session_id, **options)  # type: ignore[arg-type]
        assert len(await table.sessions()) == 1


async def test_a_session_without_a_round_to_repeat_is_refused() -> None:
    says = {"initiator": {"goal": "G", "strategy": "S", "successCriteria": []}, "scout": "Paris.", "summarizer": "P."}
    async with Roundtable([ScriptedModel(says)], storage="memory://") as table:
        with pytest.raises(SessionNotFound):
            await table.rerun("nowhere")
        team = await table.converse(agents=[AgentProfile("scout")], messages="Plan a trip.", rounds=1)
        with pytest.raises(SessionConflict, match="team conversation"):
            await table.rerun(team.session_id)


async def test_a_mode_that_needs_the_agent_says_so() -> None:
    says = {"ada": ["Tea"] * 9, "bo": ["Milk"] * 9}
    async with Roundtable(scripted_agents(says), storage="memory://") as table:
        first = await table.debate("Tea or milk?", mode="oxford", rounds=1)
        with pytest.raises(ConfigurationError):
            await table.rerun(first.session_id, without="bo")


def test_a_rerun_works_without_an_event_loop_and_as_json() -> None:
    with SyncRoundtable(agents(), storage="memory://") as table:
        first = table.debate("Tea or milk?", rounds=1, options=OPTIONS)
        audit = table.rerun(first.session_id, times=2)
        assert table.estimate_rerun(first.session_id, times=2).planned_calls == 6
    shown = json.loads(audit.to_json())
    assert (shown["held"], shown["heldAtMost"], len(shown["outcomes"])) == (audit.held, audit.held_at_most, 2)
    assert type(audit).from_json(audit.model_dump_json(exclude={"held", "held_at_most", "interval"})) == audit
