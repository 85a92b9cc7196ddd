"""Stop criteria in whole debates of scripted agents: each ends one, and says why with figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from integration.engine_kit import CountingModel, asking, engine_of, fold_of, said, seated, table_of

import roundtable as rt
from roundtable.agents import BaseAgent
from roundtable.engine import DebateEngine, Extension, RunLimits
from roundtable.errors import ConfigurationError
from roundtable.exits import Exit, ExitSettings
from roundtable.modes import BaseModeStrategy
from roundtable.protocols import ExitRound
from roundtable.providers.scripted import Reply
from roundtable.scoring import Electorate, Outcome, Parameters, Rule, first_places
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.types import (
    AnswerKind,
    ChatRequest,
    ChatResponse,
    DebateContext,
    EndRound,
    ExitResult,
    Plan,
    Stage,
    TurnSpec,
)

AGENTS = ("ada", "bo", "cy")


def script(*rounds: Sequence[str], confidence: float = 0.5) -> CountingModel:
    """Create a model that answers each agent with its word of the round; the last round's words repeat for ever."""

    def reply(request: ChatRequest) -> Reply:
        words = rounds[min(int(request.metadata["round"]), len(rounds)) - 1]
        return said(words[AGENTS.index(request.metadata["agent"])], confidence=confidence)

    return CountingModel(reply)


SPLIT, TWO, ALL = ("Tea", "Milk", "Water"), ("Tea", "Tea", "Milk"), ("Tea", "Tea", "Tea")
APART, TWO_OF_THEM = ("5 g", "6 g", "7 g"), ("5 g", "5 g", "7 g")


@pytest.mark.parametrize(
    ("exit_when", "model", "rounds", "reason", "figures"),
    [
        pytest.param(
            rt.ConsensusReached(0.9),
            script(SPLIT, TWO, ALL),
            3,
            "consensus",
            {"agreementLevel": 1.0, "agreementAtMost": 1.0, "threshold": 0.9, "method": "declared", "answered": 3},
            id="consensus",
        ),
        pytest.param(
            rt.Converged(rounds=2),
            script(SPLIT, TWO),
            3,
            "convergence",
            {"rounds": 2, "compared": ["ada", "bo", "cy"], "moved": [], "absent": []},
            id="convergence",
        ),
        pytest.param(
            rt.AllConfident(0.85),
            script(ALL, confidence=0.9),
            1,
            "confidence",
            {"leastConfidence": 0.9, "threshold": 0.85, "answered": 3, "opposed": False},
            id="confidence",
        ),
        pytest.param(
            rt.Stable(jsd=0.01, patience=2),
            script(SPLIT, TWO),
            4,
            "stable",
            {"basis": "position", "patience": 2, "widest": {"jsd": 0.0}, "thresholds": {"jsd": 0.01}},
            id="stable",
        ),
        pytest.param(
            rt.LeadIsDecisive() & rt.MinRounds(2),
            script(SPLIT, TWO),
            3,
            "unassailable",
            {
                "checked": [
                    {
                        "exit": "unassailable",
                        "ends": True,
                        "figures": {"basis": "position", "leader": "tea", "lead": 1, "missing": 0, "movers": 0},
                    },
                    {"exit": "min_rounds", "ends": True, "figures": {"round": 3, "minRounds": 2}},
                ]
            },
            id="unassailable",
        ),
        pytest.param(
            rt.NoProgress(rounds=2),
            script(APART, TWO_OF_THEM, APART, TWO_OF_THEM),
            4,
            "no_progress",
            {"before": pytest.approx(1 / 3), "since": pytest.approx(1 / 3), "rounds": 2},
            id="no progress",
        ),
        pytest.param(
            rt.BudgetSpent(max_calls=6),
            script(SPLIT),
            2,
            "budget",
            {"spent": {"calls": 6}, "limits": {"calls": 6}},
            id="calls",
        ),
        pytest.param(rt.BudgetSpent(max_tokens=1), script(SPLIT), 1, "budget", None, id="tokens"),
        pytest.param(rt.BudgetSpent(max_seconds=1e-9), script(SPLIT), 1, "budget", None, id="seconds"),
        pytest.param(rt.MaxRounds(2), script(SPLIT), 2, "max_rounds", {"round": 2, "maxRounds": 2}, id="rounds"),
        pytest.param(rt.MinRounds(3), script(SPLIT), 3, "min_rounds", {"round": 3, "minRounds": 3}, id="least rounds"),
        pytest.param(
            rt.MaxRounds(4) | rt.ConsensusReached(0.9) & rt.MinRounds(2),
            script(ALL),
            2,
            "consensus",
            None,
            id="algebra",
        ),
    ],
)
async def test_a_criterion_ends_a_debate_with_reason_and_figures(
    exit_when: Exit, model: CountingModel, rounds: int, reason: str, figures: dict[str, Any] | None
) -> None:
    table, before = table_of(model, *AGENTS), len(model.begun)
    result = await table.debate("Which drink?", rounds=6, exit_when=exit_when)
    assert (result.status, len(result.rounds), result.total_rounds) == ("completed", rounds, 6)
    assert result.exit is not None
    assert (result.exit.should_exit, result.exit.reason) == (True, reason)
    assert result.exit.details
    assert result.exit.figures
    if figures is not None:
        assert result.exit.figures == figures
    assert len(model.begun) - before == 3 * rounds
    assert (await table.session(result.session_id)).exit == result.exit


@pytest.mark.parametrize(
    ("exit_when", "model"),
    [
        pytest.param(rt.ConsensusReached(0.9), script(SPLIT, TWO), id="no consensus"),
        pytest.param(rt.NoProgress(rounds=2), script(SPLIT, TWO), id="no figure to compare"),
        pytest.param(rt.AllConfident(0.85), script(SPLIT, confidence=0.99), id="confident opponents"),
        pytest.param(rt.AllConfident(0.85), script(ALL, confidence=0.84), id="one in doubt"),
        pytest.param(rt.Converged(rounds=2), script(SPLIT, TWO, SPLIT), id="movers"),
        pytest.param(rt.BudgetSpent(max_cost_usd=0.01), script(ALL), id="unknown cost"),
        pytest.param(rt.StopRequested(role="judge"), script(("stop", "stop", "stop")), id="no judge"),
        pytest.param(rt.ConsensusReached(0.9) & rt.MinRounds(4), script(ALL), id="too early"),
    ],
)
async def test_a_debate_continues_to_its_last_round_when_the_criterion_does_not_hold(
    exit_when: Exit, model: CountingModel
) -> None:
    result = await table_of(model, *AGENTS).debate("Which drink?", rounds=3, exit_when=exit_when)
    assert len(result.rounds) == 3
    assert result.exit is not None
    assert result.exit.reason == "max_rounds"
    assert result.exit.figures == {"rounds": 3, "maxRounds": 3}


class JudgedMode(BaseModeStrategy):
    """All but the last agent plead; the last one, as judge, says whether to stop."""

    name = "judged"

    def __init__(self, answer: AnswerKind) -> None:
        self.answer: AnswerKind = answer

    def next_stage(self, view: DebateContext) -> Plan:
        *pleading, judge = view.agents
        if not self.stage_done(view, "pleas"):
            turns = tuple(TurnSpec(slot=slot, agent=seat.id, task="Plead.") for slot, seat in enumerate(pleading))
            return Stage(name="pleas", turns=turns)
        if not self.stage_done(view, "ruling"):
            counts = "inform" if self.answer == "ballot" else None
            turn = TurnSpec(
                slot=0, agent=judge.id, role="judge", answer=self.answer, counts=counts, task="Say stop, or go on."
            )
            return Stage(name="ruling", turns=(turn,))
        return EndRound()


@pytest.mark.parametrize("kind", ["text", "ballot", "position"])
@pytest.mark.parametrize(
    ("rulings", "rounds", "reason"),
    [
        pytest.param(("Go on", "Stop.", "Stop."), 2, "stop_requested", id="asks in round 2"),
        pytest.param(("Go on", "Do not stop yet", "Go on"), 3, "max_rounds", id="only names the word"),
    ],
)
async def test_a_judge_who_answers_stop_ends_the_debate(
    rulings: Sequence[str], rounds: int, reason: str, kind: AnswerKind
) -> None:
    def reply(request: ChatRequest) -> Reply:
        if request.metadata["agent"] == "cy":
            ruling = rulings[int(request.metadata["round"]) - 1]
            return {"text": ChatResponse(text=ruling), "ballot": {"choice": ruling}, "position": said(ruling)}[kind]
        return said(request.metadata["agent"])

    storage, agents = MemoryStorage(), seated(CountingModel(reply), *AGENTS)
    engine = engine_of(storage, agents, JudgedMode(kind))
    exit_when = rt.StopRequested(role="judge").to_spec()
    session = await engine.start_debate(asking(agents, mode="judged", rounds=3, exit=exit_when))
    record = (await engine.run(session.id)).to_record()
    assert record.exit is not None
    assert (len(record.rounds), record.exit.reason) == (rounds, reason)
    if reason == "stop_requested":
        assert record.exit.figures == {"role": "judge", "asked": ["cy"], "stopping": ["cy"]}
    assert [turn.role for turn in record.rounds[0].turns] == ["participant", "participant", "judge"]


# ---------------------------------------------------------------- exit_on_consensus


async def test_exit_on_consensus_ends_on_agreement_and_is_kept_with_the_session() -> None:
    table = table_of(script(SPLIT, ALL), *AGENTS)
    result = await table.debate("Which drink?", rounds=5, exit_on_consensus=True)
    assert len(result.rounds) == 2
    assert result.exit is not None
    assert result.exit.reason == "consensus"
    checked = result.exit.figures["checked"]
    assert isinstance(checked, list)
    assert [entry["exit"] for entry in checked if isinstance(entry, dict)] == ["consensus"]
    assert result.session.exit_on_consensus is True
    assert result.config.exit == {
        "kind": "any",
        "of": [
            {"kind": "consensus", "threshold": 0.9},
            {"kind": "convergence", "rounds": 2},
            {"kind": "confidence", "threshold": 0.85, "agreement": 0.7},
        ],
    }


async def test_the_criterion_of_exit_on_consensus_is_checked_after_that_of_the_caller() -> None:
    table = table_of(script(SPLIT), *AGENTS)
    result = await table.debate("Which drink?", rounds=5, exit_when=rt.MaxRounds(4), exit_on_consensus=True)
    assert result.config.exit is not None
    assert [entry["kind"] for entry in result.config.exit["of"]] == [  # type: ignore[index, union-attr, call-overload]
        "max_rounds",
        "consensus",
        "convergence",
        "confidence",
    ]
    assert result.exit is not None
    assert (result.exit.reason, len(result.rounds)) == ("convergence", 2)


@pytest.mark.parametrize("wish", [False, None])
async def test_a_debate_in_agreement_runs_all_its_rounds_without_exit_on_consensus(wish: bool | None) -> None:
    result = await table_of(script(ALL), *AGENTS).debate("Which drink?", rounds=3, exit_on_consensus=wish)
    assert len(result.rounds) == 3
    assert result.config.exit is None


@pytest.mark.parametrize(
    ("environment", "rounds"),
    [
        pytest.param({"ROUNDTABLE_EXIT_ENABLED": "false"}, 4, id="switched off"),
        pytest.param({"ROUNDTABLE_EXIT_CONVERGENCE_ROUNDS": "3"}, 3, id="three rounds"),
        pytest.param({"ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD": "0"}, 1, id="any agreement"),
        pytest.param({"ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD": "0.8"}, 2, id="0.8 is not 0"),
    ],
)
async def test_the_environment_sets_the_thresholds(environment: dict[str, str], rounds: int) -> None:
    table = table_of(script(SPLIT), *AGENTS, settings=Settings.from_env(environment))
    result = await table.debate("Which drink?", rounds=4, exit_on_consensus=True)
    assert len(result.rounds) == rounds


async def test_an_engine_without_a_table_uses_the_default_or_the_given_thresholds() -> None:
    for settings, rounds in ((None, 2), (ExitSettings(enabled=False), 4)):
        agents = seated(script(SPLIT), *AGENTS)
        plain = engine_of(MemoryStorage(), agents)
        engine = DebateEngine(plain.sessions, plain.agents, plain.modes, exit_settings=settings)
        session = await engine.start_debate(asking(agents, rounds=4, exit_on_consensus=True))
        assert len((await engine.run(session.id)).rounds) == rounds


async def test_a_stream_and_a_started_debate_take_the_same_criteria() -> None:
    async with table_of(script(ALL), *AGENTS) as table:
        async with table.stream("Which drink?", rounds=4, exit_when=rt.ConsensusReached(0.9)) as events:
            told = [event async for event in events]
        assert [event.exit.reason for event in told if event.type == "exit"] == ["consensus"]
        handle = await table.start("Which drink?", rounds=4, exit_on_consensus=True)
        result = await handle.result()
    assert result.exit is not None
    assert (result.exit.reason, len(result.rounds)) == ("consensus", 1)


def test_the_blocking_facade_takes_the_same_criteria() -> None:
    from roundtable import sync

    with sync.Roundtable(seated(script(ALL), *AGENTS), storage="memory://") as table:
        result = table.debate("Which drink?", rounds=4, exit_on_consensus=True)
        assert len(result.rounds) == 1
        other = table.debate("Which drink?", rounds=4, exit_when=rt.ConsensusReached(1) & rt.MinRounds(2))
        assert len(other.rounds) == 2


# ---------------------------------------------------------------- going on


async def run_one_round(
    agents: Sequence[BaseAgent], storage: MemoryStorage, exit_when: Exit
) -> tuple[DebateEngine, str]:
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=5, exit=exit_when.to_spec()))
    await engine.run(session.id, RunLimits(rounds=1))
    return engine, session.id


async def test_a_resumed_session_keeps_its_criteria() -> None:
    storage, model = MemoryStorage(), script(SPLIT, ALL)
    agents = seated(model, *AGENTS)
    _, session_id = await run_one_round(agents, storage, rt.ConsensusReached(0.9))
    result = await table_of(model, *AGENTS, storage=storage).resume(session_id)
    assert len(result.rounds) == 2
    assert result.exit is not None
    assert result.exit.reason == "consensus"


async def test_a_session_extended_while_it_is_under_way_keeps_its_criteria() -> None:
    storage = MemoryStorage()
    agents = seated(script(SPLIT, SPLIT, ALL), *AGENTS)
    engine, session_id = await run_one_round(agents, storage, rt.ConsensusReached(0.9))
    fold = await engine.run(session_id, extension=Extension(rounds=3))
    assert fold.progress.total_rounds == 8
    assert fold.exit is not None
    assert (len(fold.rounds), fold.exit.reason) == (3, "consensus")
    await fold_of(storage, session_id)


async def test_an_extension_keeps_the_criteria_that_did_not_hold_before_it() -> None:
    storage, model = MemoryStorage(), script(SPLIT, SPLIT, ALL)
    table = table_of(model, *AGENTS, storage=storage)
    exit_when = rt.MaxRounds(2) | rt.ConsensusReached(0.9)
    first = await table.debate("Which drink?", rounds=5, exit_when=exit_when)
    assert len(first.rounds) == 2
    more = await table.extend(first.session_id, rounds=3)
    assert more.exit is not None
    assert (len(more.rounds), more.exit.reason) == (3, "consensus")


async def test_an_extension_after_consensus_runs_all_its_rounds() -> None:
    table = table_of(script(ALL), *AGENTS)
    first = await table.debate("Which drink?", rounds=4, exit_when=rt.ConsensusReached(0.9))
    assert len(first.rounds) == 1
    more = await table.extend(first.session_id, rounds=2)
    assert more.exit is not None
    assert (len(more.rounds), more.exit.reason) == (3, "max_rounds")


# ---------------------------------------------------------------- your own rules and exits


def veto(ballots: Electorate, parameters: Parameters) -> Outcome:
    roll = ballots.read(first_places).roll
    return Outcome(roll, {}, roll.options if len(roll.options) == 1 else (), "all of one view, or none")


VETO = Rule("veto", veto, summary="One voice against it is enough.")


async def test_a_custom_rule_decides_a_debate_and_later_debates_by_its_name() -> None:
    table = table_of(script(SPLIT, ALL), *AGENTS)
    result = await table.debate("Which drink?", rounds=2, decide=VETO)
    assert [held.decision.winner for held in result.rounds if held.decision] == [None, "Tea"]
    assert result.config.decide == "veto"
    again = await table.debate("Which drink?", rounds=1, decide="Veto")
    assert again.decision is not None
    assert again.decision.rule == "veto"
    more = await table.extend(again.session_id)
    assert more.answer == "Tea"


async def test_a_built_in_rule_can_be_given_as_an_object_with_parameters() -> None:
    from roundtable.scoring import find_rule

    table = table_of(script(TWO), *AGENTS)
    result = await table.debate("Which drink?", rounds=1, decide=find_rule("borda")[0])
    assert result.decision is not None
    assert result.decision.rule == "borda"
    two_thirds = await table.debate("Which drink?", rounds=1, decide="supermajority(2/3)")
    assert two_thirds.answer == "Tea"
    more = await table.debate("Which drink?", rounds=1, decide="supermajority(0.67)")
    assert (more.answer, more.decision and more.decision.passed) == (None, False)


async def test_two_rules_with_the_same_name_are_refused() -> None:
    table = table_of(script(ALL), *AGENTS)
    with pytest.raises(ConfigurationError, match="another rule named 'plurality'"):
        await table.debate("Which drink?", decide=Rule("plurality", veto))


async def test_a_session_with_an_unknown_rule_is_refused_before_any_agent_is_asked() -> None:
    storage, model = MemoryStorage(), script(ALL)
    first = await table_of(model, *AGENTS, storage=storage).debate("Which drink?", rounds=1, decide=VETO)
    asked = len(model.begun)
    with pytest.raises(ConfigurationError, match="unknown rule 'veto'"):
        await table_of(model, *AGENTS, storage=storage).extend(first.session_id)
    assert len(model.begun) == asked


@dataclass(frozen=True, slots=True)
class Said(Exit):
    """Ends once somebody says a word."""

    kind = "said"
    word: str

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        heard = any(response.position == self.word for response in rounds[-1].responses)
        return ExitResult(should_exit=heard, reason=self.kind if heard else None, details=self.word)


async def test_a_custom_criterion_ends_a_debate() -> None:
    table = table_of(script(SPLIT, SPLIT, TWO, ("Beer", "Tea", "Tea")), *AGENTS)
    result = await table.debate("Which drink?", rounds=9, exit_when=rt.MaxRounds(7) | rt.MinRounds(2) & Said("Beer"))
    assert result.exit is not None
    assert (len(result.rounds), result.exit.reason) == (4, "said")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"exit_on_consensus": "yes"}, "exit_on_consensus must be True, False or None"),
        ({"exit_when": 3}, "exit_when must be an exit"),
        ({"decide": 3}, "decide must be a text"),
    ],
)
async def test_criteria_that_make_no_sense_are_refused_before_any_agent_is_asked(
    asked: dict[str, Any], message: str
) -> None:
    model = script(ALL)
    with pytest.raises(ConfigurationError, match=message):
        await table_of(model, *AGENTS).debate("Which drink?", **asked)
    assert model.begun == []


@dataclass(frozen=True, slots=True)
class Nameless(Said):
    """Has no kind."""

    kind = ""


@dataclass(frozen=True, slots=True)
class Posing(Said):
    """Has the kind of a built-in criterion."""

    kind = "max_rounds"


@dataclass(frozen=True, slots=True)
class Copying(Said):
    """Has the kind of another one of the caller's."""


@pytest.mark.parametrize(
    ("exit_when", "message"),
    [
        pytest.param(Nameless("Tea"), "exit_when: Nameless has no kind", id="none"),
        pytest.param(
            rt.MinRounds(2) & Posing("Tea"),
            "Posing uses the kind 'max_rounds', which belongs to another exit",
            id="built in",
        ),
        pytest.param(
            Said("Tea") | Copying("Milk"), "Copying uses the kind 'said', which belongs to another exit", id="own"
        ),
    ],
)
async def test_a_criterion_without_its_own_kind_is_refused(exit_when: Exit, message: str) -> None:
    model = script(ALL)
    table = table_of(model, *AGENTS)
    with pytest.raises(ConfigurationError, match=message) as caught:
        await table.debate("Which drink?", exit_when=exit_when)
    assert caught.value.hint
    assert model.begun == []
    again = await table.debate("Which drink?", rounds=1, exit_when=Said("Tea"))
    assert again.exit is not None
    assert again.exit.reason == "said"
