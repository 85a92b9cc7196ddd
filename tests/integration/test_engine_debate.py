"""Whole debates from the first event to the last: order, records, decisions, degradation and quorum."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from integration.engine_kit import (
    CountingModel,
    CourtMode,
    FailingStorage,
    asking,
    by_agent,
    engine_of,
    fold_of,
    late,
    log_of,
    said,
    seated,
    table_of,
)

from roundtable import MaxRounds, Roundtable
from roundtable.errors import AgentError, APIAuthError, ConfigurationError, QuorumLost, StorageError
from roundtable.modes import BaseModeStrategy
from roundtable.protocols import Storage
from roundtable.record import fold_debate
from roundtable.results.debate_result import DebateResult
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.testing import scripted_agents
from roundtable.types import DebateContext, EndDebate, EndRound, FailedTurn, Plan, Stage, TurnSpec

pytestmark = pytest.mark.both_loops

STRAIGHT = [
    "debate_start",
    *("round_start", "agent_complete", "agent_complete", "agent_complete", "consensus", "round_complete"),
    *("round_start", "agent_complete", "agent_complete", "agent_complete", "consensus", "round_complete"),
    *("exit", "debate_complete"),
]


@pytest.fixture(params=["memory", "sqlite"])
async def storage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Storage]:
    made: Storage = MemoryStorage() if request.param == "memory" else SQLiteStorage(tmp_path / "debates.db")
    yield made
    await made.aclose()


async def test_an_undisturbed_debate_emits_every_event_once_and_in_order(storage: Storage) -> None:
    table = table_of(
        CountingModel(by_agent({"ada": late(0.02, "Tea"), "bo": said("Tea"), "cy": said("Coffee")})), storage=storage
    )
    result = await table.debate("Tea or coffee?", rounds=2)
    events = await log_of(storage, result.session_id)
    assert [event.type for event in events] == STRAIGHT
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert result.status == "completed"
    assert result.exit is not None
    assert (result.exit.reason, result.exit.figures) == ("max_rounds", {"rounds": 2, "maxRounds": 2})
    assert [turn.agent_id for turn in result.rounds[0].turns] == ["ada", "bo", "cy"]
    assert all(held.complete for held in result.rounds)
    assert result.usage.calls == 6
    assert result.roster.complete


async def test_the_stored_events_give_the_same_record_as_the_live_debate(storage: Storage) -> None:
    agents = seated(
        CountingModel(by_agent({"ada": said("Thé \U0001f375"), "bo": AgentError("no"), "cy": said("a\0b")})),
        "ada",
        "bo",
        "cy",
    )
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=2, metadata={"x": [1, 2.5, None]}))
    alive = await engine.run(session.id)
    record, events = await storage.read(session.id)
    assert fold_debate(record, events).to_json() == alive.to_record().to_json()
    stored = DebateResult.from_record(fold_debate(record, events))
    assert stored.to_json() == DebateResult.from_record(alive.to_record()).to_json()
    assert DebateResult.from_json(stored.to_json()) == stored


async def test_a_result_is_loaded_again_byte_for_byte(storage: Storage) -> None:
    table = table_of(CountingModel("Tea"), storage=storage)
    result = await table.debate("Tea or coffee?", rounds=2)
    assert (await table.session(result.session_id)).to_json() == result.to_json()
    (listed,) = await table.sessions()
    assert (listed.id, listed.status, listed.response_count) == (result.session_id, "completed", 6)


async def test_a_debate_may_have_a_single_round(storage: Storage) -> None:
    result = await table_of(CountingModel("Tea"), storage=storage).debate("Tea?", rounds=1)
    assert (result.status, len(result.rounds), result.total_rounds) == ("completed", 1, 1)
    await fold_of(storage, result.session_id)


async def test_independent_agreement_is_kept_apart(storage: Storage) -> None:
    positions = {"ada": ["Tea", "Tea"], "bo": ["Coffee", "Tea"], "cy": ["Milk", "Tea"]}
    model = CountingModel(lambda request: positions[request.metadata["agent"]].pop(0))
    result = await table_of(model, storage=storage).debate("Tea?", rounds=2)
    assert result.consensus is not None
    assert result.consensus.agreement_level == 1.0
    assert (result.independent_agreement, result.independent_agreement_at_most) == (0.0, 1.0)  # nobody compared them
    assert result.rounds[0].consensus is not None
    assert result.rounds[0].consensus.method == "declared"
    assert [turn.independent for turn in result.rounds[0].turns if turn.outcome == "answered"] == [True] * 3
    assert [turn.independent for turn in result.rounds[1].turns if turn.outcome == "answered"] == [False] * 3


async def test_a_single_answer_has_no_independent_agreement() -> None:
    result = await table_of(CountingModel("Tea"), "ada").debate("Tea?", rounds=1)
    assert result.independent_agreement is None
    assert result.independent_agreement_reason == "fewer than two agents answered in the first round"


class StancesMode(CourtMode):
    name = "stances"
    assigns_stances = True


class HearingMode(BaseModeStrategy):
    """The second speaker hears the first, already in the first round."""

    name = "hearing"

    def next_stage(self, view: DebateContext) -> Plan:
        done = self.turns_of_round(view)
        if len(done) == len(view.agents):
            return EndRound()
        sees = tuple({"turn": turn.key, "shown_as": turn.agent_name} for turn in done)
        spec = TurnSpec.model_validate({"slot": 0, "agent": view.agents[len(done)].id, "task": "Speak.", "sees": sees})
        return Stage(name=f"speech {len(done)}", turns=(spec,))


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        pytest.param(StancesMode(), "the mode assigned stances, so no answer was independent", id="assigned"),
        pytest.param(HearingMode(), "agents of the first round had seen answers of others", id="heard"),
    ],
)
async def test_agreement_of_dependent_answers_is_not_called_independent(mode: BaseModeStrategy, reason: str) -> None:
    agents, storage = seated(CountingModel("Tea"), "ada", "bo", "cy"), MemoryStorage()
    engine = engine_of(storage, agents, mode)
    session = await engine.start_debate(asking(agents, mode=mode.name, rounds=1))
    record = (await engine.run(session.id)).to_record()
    assert (record.independent_agreement, record.independent_agreement_reason) == (None, reason)
    assert record.rounds[0].consensus is not None
    assert record.rounds[0].consensus.assigned is mode.assigns_stances


async def test_two_of_three_agreeing_give_the_answer() -> None:
    table = Roundtable(scripted_agents({"ada": "Tea", "bo": "tea.", "cy": "Coffee"}), storage="memory://")
    result = await table.debate("Tea or coffee?", rounds=1)
    assert (result.answer, result.answer_source, result.answer_reason) == ("Tea", "cluster", None)
    assert result.ballots() == ("Tea", "Tea", "Coffee")
    assert result.ballots(1) == result.ballots(-1, by="cluster")


async def test_three_positions_give_no_answer_but_a_reason_and_the_positions() -> None:
    table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Milk", "cy": "Coffee"}), storage="memory://")
    result = await table.debate("Tea or coffee?", rounds=1)
    assert (result.answer, result.answer_source) == (None, "none")
    assert result.answer_reason is not None
    assert result.answer_reason.startswith("no decision: it depends on whether 'Coffee', 'Milk' and 'Tea' say the same")
    assert result.decision is not None
    assert (result.decision.is_tie, result.decision.winners) == (False, ())
    for shown in (result.to_text(), result.to_markdown(), result.to_html(), result.to_json()):
        assert all(position in shown for position in ("Tea", "Milk", "Coffee"))


async def test_with_options_the_ballots_are_choices_and_the_answer_is_an_option() -> None:
    replies = {
        "ada": said("I like it", choice="tea"),
        "bo": said("Strong", choice="Coffee"),
        "cy": said("Warm", choice="Tea"),
    }
    table = table_of(CountingModel(by_agent(replies)))
    result = await table.debate("Which?", rounds=1, options=["Tea", "Coffee"])
    assert (result.answer, result.answer_source) == ("Tea", "option")
    assert result.ballots() == ("Tea", "Coffee", "Tea")
    assert result.ballots(by="stance") == (None, None, None)
    assert result.decision is not None
    assert set(result.decision.scores) == {"Tea", "Coffee"}


async def test_another_rule_decides_when_asked_to() -> None:
    agents = scripted_agents({"ada": "Tea", "bo": "Tea", "cy": "Coffee", "di": "Milk"})
    result = await Roundtable(agents, storage="memory://").debate("Tea?", rounds=1, decide="majority")
    assert result.answer is None
    assert result.decision is not None
    assert result.decision.rule == "majority"


async def test_a_stop_criterion_ends_the_debate_early() -> None:
    result = await table_of(CountingModel("Tea")).debate("Tea?", rounds=5, exit_when=MaxRounds(2))
    assert (len(result.rounds), result.total_rounds, result.status) == (2, 5, "completed")


class ShortMode(CourtMode):
    name = "short"

    def next_stage(self, view: DebateContext) -> Plan:
        plan = super().next_stage(view)
        return EndDebate(reason="verdict") if isinstance(plan, EndRound) else plan


async def test_a_mode_may_end_the_debate_itself() -> None:
    agents, storage = seated(CountingModel("Tea"), "ada", "bo"), MemoryStorage()
    engine = engine_of(storage, agents, ShortMode())
    session = await engine.start_debate(asking(agents, mode="short", rounds=3))
    record = (await engine.run(session.id)).to_record()
    assert record.exit is not None
    assert (record.status, record.exit.reason, len(record.rounds)) == ("completed", "verdict", 1)
    assert record.rounds[0].complete


async def test_one_failing_agent_degrades_the_debate_and_is_named(storage: Storage) -> None:
    model = CountingModel(by_agent({"ada": said("Tea"), "bo": APIAuthError("no key"), "cy": ValueError("broken")}))
    result = await table_of(model, storage=storage).debate("Tea?", rounds=2)
    assert result.status == "completed"
    assert result.answer == "Tea"
    assert not result.roster.complete
    assert [(entry.answered, entry.failed) for entry in result.roster.agents] == [(2, 0), (0, 2), (0, 2)]
    assert {error.code for error in result.roster.agents[1].errors} == {"API_AUTH_FAILED"}
    assert result.roster.agents[2].errors[0].message == "the model call failed: ValueError: broken"
    events = await log_of(storage, result.session_id)
    assert [event.type for event in events].count("agent_error") == 4
    for shown in (result.to_text(), result.to_markdown(), result.to_html()):
        assert "Bo" in shown
        assert "no key" in shown
    rounds = [event for event in events if event.type == "round_complete"]
    assert [(held.answered, held.failed) for held in rounds] == [(1, 2), (1, 2)]


async def test_a_failure_changes_no_prompt_of_the_others() -> None:
    async def prompts(bo: object) -> list[tuple[str, str, str]]:
        model = CountingModel(by_agent({"ada": said("Tea"), "bo": bo, "cy": said("Milk")}))  # type: ignore[dict-item]
        await table_of(model).debate("Tea?", rounds=1)
        return sorted(prompt for prompt in model.prompts if prompt[0] != "bo")

    assert await prompts(said("Coffee")) == await prompts(AgentError("no"))


async def test_a_round_without_answers_is_an_error_with_every_cause_and_can_be_resumed(storage: Storage) -> None:
    replies: dict[str, object] = dict.fromkeys(("ada", "bo", "cy"), APIAuthError("bad key", provider="scripted"))
    model = CountingModel(by_agent(replies))  # type: ignore[arg-type]
    table = table_of(model, storage=storage)
    with pytest.raises(QuorumLost) as caught:
        await table.debate("Tea?", rounds=2)
    error = caught.value
    assert [cause["agentId"] for cause in error.details["failed"]] == ["ada", "bo", "cy"]  # type: ignore[index, call-overload, union-attr]
    assert [(type(cause), cause.provider, str(cause)) for cause in error.causes] == [
        (APIAuthError, "scripted", "bad key")
    ] * 3
    assert all(name in str(error) for name in ("Ada: bad key", "Bo: bad key", "Cy: bad key"))
    partial = error.partial
    assert isinstance(partial, DebateResult)
    assert (partial.status, partial.session_status, partial.consensus) == ("partial", "error", None)
    json.dumps(error.to_dict())

    fold = await fold_of(storage, partial.session_id)
    assert fold.progress.status == "error"
    assert (await table.session(partial.session_id)).to_json() == partial.to_json()
    assert (await log_of(storage, partial.session_id))[-1].type == "error"

    replies |= dict.fromkeys(("ada", "bo", "cy"), said("Tea"))
    result = await table.resume(partial.session_id)
    assert (result.status, result.answer, result.error) == ("completed", "Tea", None)
    assert [turn.attempt for turn in result.rounds[0].turns] == [2, 2, 2]
    assert [turn.attempt for turn in result.rounds[1].turns] == [1, 1, 1]
    assert result.usage.calls == 9 - 3  # the refused ones cost nothing
    await fold_of(storage, partial.session_id)


async def test_after_a_lost_quorum_only_the_failed_are_asked_again(storage: Storage) -> None:
    replies: dict[str, object] = {"ada": said("Tea"), "bo": AgentError("no"), "cy": AgentError("no")}
    model = CountingModel(by_agent(replies))  # type: ignore[arg-type]
    table = table_of(model, storage=storage, quorum=2)
    with pytest.raises(QuorumLost, match="1 of 3 agents answered, 2 needed"):
        await table.debate("Tea?", rounds=1)
    (session,) = await table.sessions()
    replies["bo"] = said("Tea")
    result = await table.resume(session.id)
    assert [turn.attempt for turn in result.rounds[0].turns] == [1, 2, 2]
    assert sorted(model.begun) == [("ada", "1"), ("bo", "1"), ("bo", "1"), ("cy", "1"), ("cy", "1")]
    assert result.status == "completed"
    assert [entry.failed for entry in result.roster.agents] == [0, 0, 1]


async def test_a_quorum_that_is_met_is_enough() -> None:
    model = CountingModel(by_agent({"ada": said("Tea"), "bo": said("Tea"), "cy": AgentError("no")}))
    result = await table_of(model, quorum=2).debate("Tea?", rounds=1)
    assert (result.status, result.answer) == ("completed", "Tea")


async def test_a_stage_with_fewer_agents_than_the_quorum_needs_all_of_them() -> None:
    agents, storage = seated(CountingModel("Tea"), "ada", "bo", "cy"), MemoryStorage()
    engine = engine_of(storage, agents, HearingMode())
    session = await engine.start_debate(asking(agents, mode="hearing", rounds=1, quorum=3))
    assert (await engine.run(session.id)).progress.status == "completed"


async def test_a_quorum_above_the_number_of_agents_is_refused_before_any_call() -> None:
    model, storage = CountingModel("Tea"), MemoryStorage()
    with pytest.raises(ConfigurationError, match="a quorum of 4 cannot be met by 3 agents"):
        await table_of(model, storage=storage, quorum=4).debate("Tea?")
    assert model.begun == []


class EndlessMode(BaseModeStrategy):
    name = "endless"
    empty = False

    def next_stage(self, view: DebateContext) -> Plan:
        turns = () if self.empty else (TurnSpec(slot=0, agent=view.agents[0].id, task="Speak."),)
        return Stage(name="speech", turns=turns)


class EmptyMode(EndlessMode):
    name = "empty"
    empty = True


class ForgetfulMode(EndlessMode):
    name = "forgetful"

    def next_stage(self, view: DebateContext) -> Plan:  # type: ignore[return]  # what a careless author writes
        EndRound()


class RestlessMode(EndlessMode):
    name = "restless"

    def next_stage(self, view: DebateContext) -> Plan:
        turns = (TurnSpec(slot=0, agent=view.agents[0].id, task="Speak."),)
        return Stage(name=f"speech {len(view.transcript)}", turns=turns)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "calls", "message"),
    [
        pytest.param(ForgetfulMode(), 0, "next_stage of mode 'forgetful' returned NoneType", id="nothing"),
        pytest.param(
            RestlessMode(), 256, r"plans more than 256 stages in one round \(the last is 'speech 256'\)", id="on and on"
        ),
        pytest.param(EndlessMode(), 1, "plans the stage 'speech' a second time in one round", id="again"),
        pytest.param(EmptyMode(), 0, "plans the stage 'speech' without any turn", id="nobody"),
    ],
)
async def test_a_mode_that_would_never_end_a_round_is_stopped_before_it_costs(
    mode: BaseModeStrategy, calls: int, message: str
) -> None:
    model, storage = CountingModel("Tea"), MemoryStorage()
    agents = seated(model, "ada")
    engine = engine_of(storage, agents, mode)
    session = await engine.start_debate(asking(agents, mode=mode.name))
    with anyio.fail_after(300), pytest.raises(ConfigurationError, match=message):  # not for ever
        await engine.run(session.id)
    assert len(model.begun) == calls
    assert (await fold_of(storage, session.id)).progress.status == "error"


class ForeignStorage(FailingStorage):
    """A storage by somebody else, which raises errors of the system as they are."""

    async def append(self, *args: Any, **more: Any) -> None:
        try:
            await super().append(*args, **more)
        except StorageError as error:
            raise OSError(28, "No space left on device") from error


@pytest.mark.parametrize("after", [0, 1, 2])
async def test_an_error_of_a_foreign_storage_is_a_storage_error_that_names_the_session(after: int) -> None:
    storage = ForeignStorage(MemoryStorage(), after=after)
    with pytest.raises(StorageError, match=r"the storage failed with OSError: .*No space left") as caught:
        await table_of(CountingModel("Tea"), storage=storage).debate("Tea?", rounds=1)
    assert caught.value.session_id is not None
    assert isinstance(caught.value.__cause__, OSError)


class BrokenMode(BaseModeStrategy):
    name = "broken"

    def next_stage(self, view: DebateContext) -> Plan:
        raise ZeroDivisionError("division by zero")


async def test_a_broken_mode_ends_its_debate_with_an_error_of_the_library() -> None:
    storage, agents = MemoryStorage(), seated(CountingModel("Tea"), "ada")
    engine = engine_of(storage, agents, BrokenMode())
    session = await engine.start_debate(asking(agents, mode="broken"))
    with pytest.raises(ConfigurationError, match="mode 'broken' failed while planning: ZeroDivisionError: division"):
        await engine.run(session.id)
    fold = await fold_of(storage, session.id)
    assert fold.error is not None
    assert "ZeroDivisionError" in fold.error.message


async def test_failed_turns_keep_the_whole_error_as_data() -> None:
    error = AgentError("gone", code="X_1", provider="acme", request_id="r1", retry_after_s=2.0, details={"n": 1})
    model = CountingModel(by_agent({"ada": said("Tea"), "bo": error}))
    result = await table_of(model, "ada", "bo").debate("Tea?", rounds=1)
    failed = result.rounds[0].turns[1]
    assert isinstance(failed, FailedTurn)
    info = failed.error
    assert (info.code, info.provider, info.request_id, info.retry_after_s, info.details) == (
        "X_1",
        "acme",
        "r1",
        2.0,
        {"n": 1},
    )


async def test_agents_see_only_the_focus_question_and_earlier_rounds() -> None:
    model = CountingModel(lambda request: f"Tea {request.metadata['round']} of {request.metadata['agent']}")
    await table_of(model, "ada", "bo").debate("Which drink?", rounds=2, focus_question="And at night?")
    first = [text for _, number, text in model.prompts if number == "1"]
    second = [text for _, number, text in model.prompts if number == "2"]
    assert all("Tea 1" not in text and "And at night?" in text for text in first)
    assert all("Tea 1 of ada" in text and "Tea 1 of bo" in text and "Tea 2" not in text for text in second)
