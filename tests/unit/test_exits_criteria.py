"""Each stop criterion: when it ends a debate, when it does not, and the figures it leaves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Literal

import pytest

from roundtable.core.types.plan import MODERATOR_STAGE
from roundtable.errors import ConfigurationError
from roundtable.exits import (
    AllConfident,
    AnyOf,
    BudgetSpent,
    ConsensusReached,
    Converged,
    Exit,
    ExitSettings,
    LeadIsDecisive,
    MaxRounds,
    MinRounds,
    ModeratorEnds,
    NoProgress,
    Stable,
    StopRequested,
    asks_moderator,
    create_default_exit_criteria,
    early_exit,
    exit_from_criteria,
    exit_from_spec,
    exit_registry,
    read_exit_settings,
    validate_exit_criteria,
)
from roundtable.exits.compare import kept_position, turns_of
from roundtable.settings import Settings
from roundtable.types import (
    AgentResponse,
    Answer,
    AnyTurn,
    BallotAnswer,
    Comparison,
    ConsensusResult,
    ErrorInfo,
    ExitCriteria,
    FailedTurn,
    PlanAnswer,
    RoundRecord,
    Stance,
    TextAnswer,
    Turn,
    TurnResult,
    Usage,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def said(
    agent: str, position: str = "p", *, choice: str | None = None, stance: Stance | None = None, confidence: float = 0.5
) -> AgentResponse:
    return AgentResponse(
        agent_id=agent, agent_name=agent, position=position, choice=choice, stance=stance, confidence=confidence
    )


def turn(
    answer: Answer,
    agent: str,
    *,
    role: str = "participant",
    usage: Usage | None = None,
    at: float = 0,
    number: int = 1,
    slot: int = 0,
) -> Turn:
    return Turn(
        round=number,
        stage="s",
        slot=slot,
        agent_id=agent,
        role=role,
        timestamp=NOON + timedelta(seconds=at),
        duration_s=2.0,
        result=TurnResult(answer=answer, usage=usage or Usage()),
    )


def failed(agent: str, usage: Usage | None = None) -> FailedTurn:
    error = ErrorInfo(name="AgentError", message="no", code="AGENT_ERROR")
    return FailedTurn(
        round=1, stage="s", slot=1, agent_id=agent, timestamp=NOON, duration_s=1.0, error=error, usage=usage or Usage()
    )


def record(
    number: int,
    *answers: AgentResponse,
    level: float | None = None,
    assigned: bool = False,
    more: tuple[AnyTurn, ...] = (),
) -> RoundRecord:
    consensus = None if level is None else ConsensusResult(agreement_level=level, assigned=assigned)
    spoken = (turn(answer, answer.agent_id, number=number, slot=slot) for slot, answer in enumerate(answers))
    turns = (*spoken, *more)
    return RoundRecord(number=number, turns=turns, consensus=consensus, complete=True)


def chosen(number: int, options: str, **facts: float | bool) -> RoundRecord:
    """A round in which agents a, b, c, ... choose these options; a dot did not answer."""
    answers = [said("abcdefg"[place], choice=option) for place, option in enumerate(options) if option != "."]
    return record(number, *answers, **facts)  # type: ignore[arg-type]


# ---------------------------------------------------------------- agreement


@pytest.mark.parametrize(
    ("level", "threshold", "ends"),
    [
        (0.9, 0.9, True),
        (0.8999999, 0.9, False),
        (0.9, "9/10", True),
        (2 / 3, "2/3", True),
        (0.6666666666666665, "2/3", False),
        (1.0, 1, True),
        (0, 0, True),
    ],
)
def test_consensus_is_compared_exactly(level: float, threshold: float | str, ends: bool) -> None:
    result = ConsensusReached(threshold).check([chosen(1, "xx", level=level)])
    assert result.should_exit == ends
    assert result.reason == ("consensus" if ends else None)
    assert result.figures["agreementLevel"] == level
    assert (result.figures["method"], result.figures["answered"]) == ("basic", 2)


def test_consensus_is_described_in_words() -> None:
    result = ConsensusReached(0.9).check([chosen(1, "xx", level=0.95)])
    assert result.details == "agreement is 0.95 (basic), the threshold 0.90"
    just_below = ConsensusReached(1).check([chosen(1, "xx", level=0.999999)])
    assert just_below.details == "agreement is 0.9999 (basic), the threshold 1.00"
    assert ConsensusReached("2/3").check([chosen(1, "xx", level=0.5)]).figures["threshold"] == "2/3"


def test_no_consensus_without_measure_on_one_answer_or_with_assigned_stances() -> None:
    criterion = ConsensusReached(0.9)
    assert criterion.check([]).details == "agreement was not measured"
    assert not criterion.check([chosen(1, "xx")]).should_exit
    alone = criterion.check([chosen(1, "x", level=1.0)])
    assert (alone.should_exit, alone.details) == (False, "a single answer cannot agree")
    assigned = criterion.check([chosen(1, "xx", level=1.0, assigned=True)])
    assert (assigned.should_exit, "assigned" in assigned.details) == (False, True)
    assert assigned.figures["answered"] == 2
    assert not criterion.check([record(1, level=1.0)]).should_exit


def test_only_the_last_round_counts_for_consensus() -> None:
    assert not ConsensusReached(0.9).check([chosen(1, "xx", level=1.0), chosen(2, "xy", level=0.5)]).should_exit


def confident(*pairs: tuple[str, float], level: float | None = None, assigned: bool = False) -> RoundRecord:
    answers = [said(f"agent-{place}", text, confidence=sure) for place, (text, sure) in enumerate(pairs)]
    return record(1, *answers, level=level, assigned=assigned)


def test_all_confident_ends_only_if_the_agents_agree() -> None:
    same = confident(("Yes", 0.9), ("yes.", 0.85))
    result = AllConfident().check([same])
    assert (result.should_exit, result.reason) == (True, "confidence")
    assert result.figures == {"leastConfidence": 0.85, "threshold": 0.85, "answered": 2, "opposed": False}
    assert result.details == "the least confidence is 85 %, the threshold 85 %"
    assert not AllConfident().check([confident(("Yes", 0.9), ("yes", 0.8499))]).should_exit
    assert AllConfident().check([]).details == "nobody answered"
    assert AllConfident().check([confident(("Yes", 0.9))]).details.endswith("but a single answer cannot agree")
    assert not AllConfident().check([confident(("Yes", 0.9), ("yes", 0.9), level=1.0, assigned=True)]).should_exit


def test_confident_opponents_do_not_end_a_debate() -> None:
    apart = AllConfident().check([confident(("Yes", 0.99), ("No", 0.99))])
    assert (apart.should_exit, apart.figures["opposed"]) == (False, True)
    assert apart.details.endswith("but agents oppose each other")
    assert not AllConfident().check([confident(("Yes", 0.99), ("No", 0.99), level=0.69)]).should_exit
    assert AllConfident().check([confident(("Yes", 0.99), ("Surely", 0.99), level=0.7)]).should_exit
    assert not AllConfident(agreement=0.8).check([confident(("Yes", 0.99), ("Surely", 0.99), level=0.7)]).should_exit


def test_choices_and_then_stances_show_who_is_opposed() -> None:
    sure = 0.99
    choices = record(1, said("a", "same", choice="x", confidence=sure), said("b", "same", choice="y", confidence=sure))
    assert not AllConfident().check([choices]).should_exit
    both = [said("a", stance="YES", confidence=sure), said("b", stance="NO", confidence=sure)]
    assert not AllConfident().check([record(1, *both)]).should_exit
    mild = [said("a", "one", stance="YES", confidence=sure), said("b", "two", stance="NEUTRAL", confidence=sure)]
    assert not AllConfident().check([record(1, *mild, level=0.1)]).should_exit
    agreeing = [said("a", "one", stance="YES", confidence=sure), said("b", "two", stance="YES", confidence=sure)]
    assert not AllConfident().check([record(1, *agreeing)]).should_exit  # other words, and nobody compared them
    assert AllConfident().check([record(1, *agreeing, level=0.8)]).should_exit
    assert not AllConfident().check([record(1, *agreeing, level=0.1)]).should_exit  # their answers were told apart


@pytest.mark.parametrize("value", [-0.1, 1.1, "x", None, True])
def test_thresholds_are_shares(value: object) -> None:
    for kind, name in ((ConsensusReached, "threshold"), (AllConfident, "threshold"), (AllConfident, "agreement")):
        with pytest.raises(ConfigurationError, match=kind.__name__):
            kind(**{name: value})  # type: ignore[arg-type]


# ---------------------------------------------------------------- movement


def test_convergence_needs_two_rounds_alike() -> None:
    rounds = [chosen(1, "xy"), chosen(2, "xx"), chosen(3, "xx")]
    assert Converged().check(rounds[:1]).details == "1 round of 2 to compare"
    moved = Converged().check(rounds[:2])
    assert (moved.should_exit, moved.figures["moved"], moved.details) == (False, ["b"], "b moved")
    result = Converged().check(rounds)
    assert (result.should_exit, result.reason) == (True, "convergence")
    assert result.figures == {"rounds": 2, "compared": ["a", "b"], "moved": [], "absent": []}
    assert not Converged(rounds=3).check(rounds).should_exit
    assert Converged(rounds=3).check([*rounds, chosen(4, "xx")]).should_exit


def test_convergence_leaves_absent_agents_out_and_names_them() -> None:
    result = Converged().check([chosen(1, "xy."), chosen(2, "x.z")])
    assert result.should_exit
    assert result.figures["absent"] == ["b", "c"]
    nobody = Converged().check([chosen(1, "x."), chosen(2, ".x")])
    assert nobody.details == "no agent answered in all of the last 2 rounds"
    assert not Converged().check([record(1), record(2)]).should_exit


def test_convergence_needs_two_rounds_to_compare() -> None:
    for rounds in (1, 0, "2"):
        with pytest.raises(ConfigurationError, match="Converged must be a whole number of at least 2"):
            Converged(rounds=rounds)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        pytest.param("We should adopt it", " we should  adopt it.", True, id="spelling"),
        pytest.param("42 km", "42.0 km", True, id="numbers by value"),
        pytest.param("I don't know", "ABSTAIN", True, id="abstained twice"),
        pytest.param("저는 이 제안에 찬성합니다", "저는 이 제안에 찬성합니다.", True, id="Korean"),
        pytest.param("one two three four five six", "one two three four five nine", False, id="common words"),
        pytest.param("We should go to Lisbon", "We should go to Porto", False, id="one name"),
        pytest.param("Dogs chase cats", "Cats chase dogs", False, id="order"),
        pytest.param("-5", "5", False, id="sign"),
        pytest.param("5 mW", "5 MW", False, id="unit"),
        pytest.param("C", "C++", False, id="signs of a word"),
        pytest.param("ABSTAIN", "Lisbon", False, id="abstained before"),
        pytest.param("?", "!", False, id="signs"),
    ],
)
def test_a_position_counts_as_kept_if_that_is_certain(before: str, after: str, same: bool) -> None:
    assert kept_position(said("a", before), said("a", after)) == same


def test_choices_stances_and_bottom_lines_show_who_kept_a_position() -> None:
    def line(text: str, position: str = "In the end I would go there") -> AgentResponse:
        return said("a", position).model_copy(update={"bottom_line": text})

    assert kept_position(said("a", "one", choice="X"), said("a", "two", choice="X"))
    assert not kept_position(said("a", "one", choice="x"), said("a", "one", choice="X"))
    assert not kept_position(said("a", "one", stance="YES"), said("a", "one", stance="NO"))
    assert not kept_position(said("a", "one", stance="YES"), said("a", "two", stance="YES"))
    assert kept_position(said("a", "one", stance="YES"), said("a", "one"))
    assert kept_position(line("Lisbon", "one thing"), line("lisbon.", "quite another"))
    assert not kept_position(line("42 km"), line("43 km"))
    assert not kept_position(line("Lisbon"), line("Porto"))  # in a sentence of the same words


def test_another_agent_can_confirm_that_an_answer_was_kept_in_other_words() -> None:
    first = [record(1, said("a", "Lisbon"), said("b", "Porto"))]
    keys = {turn.agent_id: turn.key for turn in first[0].turns}

    def claims(name: str, text: str, *verdicts: tuple[str, Literal["same", "different"]]) -> AgentResponse:
        compared = tuple(Comparison(turn=keys[agent], verdict=verdict) for agent, verdict in verdicts)
        return said(name, text).model_copy(update={"compared": compared})

    def moved(*second: AgentResponse) -> object:
        return Converged().check([*first, record(2, *second)]).figures["moved"]

    mover = claims("a", "The capital", ("a", "same"))
    assert moved(mover, said("b", "Porto")) == ["a"]  # its own word alone
    assert moved(mover, claims("b", "The capital", ("a", "same"))) == ["b"]
    assert moved(said("a", "The capital"), claims("b", "The capital", ("a", "same"))) == ["b"]
    assert moved(claims("a", "The capital", ("a", "different")), said("b", "Porto")) == ["a"]
    assert moved(claims("a", "The capital", ("b", "different")), said("b", "Porto")) == ["a"]


def test_a_stored_similarity_of_words_no_longer_counts() -> None:
    assert exit_from_spec({"kind": "convergence", "rounds": 3, "similarity": 0.7}) == Converged(rounds=3)


def test_stances_that_agree_are_not_answers_unless_sides_were_assigned() -> None:
    cities = ["Lisbon", "Porto", "Faro"]
    rounds = [
        record(
            number,
            *(
                said(name, cities[(place + number) % 3], stance="YES", confidence=0.95)
                for place, name in enumerate("abc")
            ),
        )
        for number in range(1, 5)
    ]
    for criterion in (Converged(), LeadIsDecisive()):
        assert not criterion.check(rounds).should_exit, criterion
    assert Stable(patience=1).check(rounds).figures["basis"] == "position"
    unmeasured = record(5, *rounds[-1].responses, level=0.0)
    assert not AllConfident().check([unmeasured]).should_exit


def test_turns_are_read_if_a_round_has_them() -> None:
    class Bare:
        number = 1
        responses = ()
        consensus = None

    class Odd(Bare):
        turns = frozenset({1})

    class Strange(Bare):
        turns = (1,)

    assert turns_of(Bare()) == turns_of(Odd()) == turns_of(Strange()) == ()
    assert len(turns_of(record(1, said("a")))) == 1


def test_stable_distributions_end_a_debate() -> None:
    same = [chosen(1, "xxy"), chosen(2, "xyx"), chosen(3, "yxx")]
    assert Stable().check(same[:2]).details == "2 rounds of 3 to compare"
    result = Stable().check(same)
    assert (result.should_exit, result.reason) == (True, "stable")
    assert result.figures == {
        "basis": "choice",
        "patience": 2,
        "widest": {"jsd": 0.0},
        "thresholds": {"jsd": 0.05},
    }
    assert result.details == "jsd moved by 0 of 0.05"
    assert Stable(patience=1).check(same[:2]).should_exit
    assert not Stable(patience=2).check([chosen(1, "xxx"), *same[:2]]).should_exit


def test_each_measure_of_stability_can_be_used() -> None:
    rounds = [chosen(1, "xxxx"), chosen(2, "xxxy")]
    for criterion, widest in (
        (Stable(entropy=0.9, patience=1), 0.8112781244591328),
        (Stable(jsd=0.2, patience=1), 0.13792538096988032),
        (Stable(ks=0.25, patience=1), 0.25),
    ):
        (name,) = criterion.check(rounds).figures["widest"]  # type: ignore[misc, union-attr]
        assert criterion.check(rounds).figures["widest"][name] == pytest.approx(widest)  # type: ignore[index, call-overload]
        assert criterion.check(rounds).should_exit
    assert not Stable(entropy=0.81, patience=1).check(rounds).should_exit
    assert not Stable(jsd=0.13, patience=1).check(rounds).should_exit
    assert not Stable(ks="0.249", patience=1).check(rounds).should_exit
    assert not Stable(ks=0.25, entropy=0.1, patience=1).check(rounds).should_exit
    swapped = [chosen(1, "xxxy"), chosen(2, "yyyx")]
    assert Stable(entropy=0, patience=1).check(swapped).should_exit
    assert not Stable(ks=0.4, patience=1).check(swapped).should_exit


def test_numbers_are_compared_by_their_distribution_functions() -> None:
    numeric = [chosen(1, "1379"), chosen(2, "2379")]
    assert Stable(ks=0.25, patience=1).check(numeric).should_exit
    assert not Stable(ks=0.2, patience=1).check(numeric).should_exit
    assert Stable(ks=1, patience=1).check([chosen(1, "1x"), chosen(2, "2y")]).figures["widest"] == {"ks": 1.0}


def test_stability_reads_stances_or_wordings_and_needs_answers() -> None:
    stances = [record(number, said("a", f"{number}", stance="YES"), said("b", stance="NO")) for number in (1, 2)]
    assert Stable(patience=1).check(stances).figures["basis"] == "position"
    assigned = [record(number, *stances[0].responses, level=0.0, assigned=True) for number in (1, 2)]
    assert Stable(patience=1).check(assigned).figures["basis"] == "stance"
    wordings = [record(number, said("a", "same")) for number in (1, 2)]
    assert Stable(patience=1).check(wordings).figures["basis"] == "position"
    assert Stable(patience=1).check([record(1), record(2)]).details == "a round has no answers"
    # One round without answers is enough, also where the others have some.
    gap = [chosen(1, "xx"), record(2), chosen(3, "xx")]
    assert Stable(patience=2).check(gap).details == "a round has no answers"
    # Only as many rounds are compared as the patience asks for.
    late = [chosen(1, "xy"), chosen(2, "xx"), chosen(3, "xx")]
    assert Stable(patience=1).check(late).should_exit
    assert not Stable(patience=2).check(late).should_exit


def test_stability_needs_sound_thresholds() -> None:
    assert Stable() == Stable(jsd="0.05")
    for build in (lambda: Stable(jsd=-1), lambda: Stable(entropy="x"), lambda: Stable(patience=0)):
        with pytest.raises(ConfigurationError):
            build()


def test_no_progress_is_agreement_that_no_longer_rises() -> None:
    levels = [0.3, 0.5, 0.5, 0.4]
    rounds = [chosen(number, "xy", level=level) for number, level in enumerate(levels, 1)]
    assert NoProgress().check(rounds[:2]).details == "2 rounds of 3 to compare"
    assert not NoProgress().check(rounds[:3]).should_exit
    result = NoProgress().check(rounds)
    assert (result.should_exit, result.reason) == (True, "no_progress")
    assert result.figures == {"before": 0.5, "since": 0.5, "rounds": 2}
    assert result.details == "best agreement was 0.50, and 0.50 in the last 2"
    assert NoProgress() == NoProgress(rounds=2, gain=0)
    assert NoProgress(rounds=1, gain=0.3).check(rounds[:2]).should_exit
    assert not NoProgress(rounds=1, gain="0.2").check(rounds[:2]).should_exit
    unmeasured = [*rounds[:3], chosen(4, "xy")]
    assert not NoProgress().check(unmeasured).should_exit
    assigned = [*rounds[:3], chosen(4, "xy", level=0.1, assigned=True)]
    assert "assigned" in NoProgress().check(assigned).details


def measured(number: int, *answers: AgentResponse, **facts: object) -> RoundRecord:
    """A round with these facts of its agreement."""
    consensus = ConsensusResult.model_validate({"agreement_level": 0.5, **facts})
    turns = tuple(turn(answer, answer.agent_id) for answer in answers)
    return RoundRecord(number=number, turns=turns, consensus=consensus, complete=True)


def test_progress_needs_single_figures_of_one_method() -> None:
    pair = (said("a"), said("b"))
    open_round = measured(3, *pair, agreement_at_most=0.8)
    rounds = [measured(1, *pair), measured(2, *pair), open_round]
    assert NoProgress().check(rounds).details.startswith("agreement was not measured in every round")
    mixed = [measured(1, *pair), measured(2, *pair, method="ai"), measured(3, *pair)]
    assert NoProgress().check(mixed).details == "agreement was measured in different ways: ai and basic"


def test_agreement_counts_only_if_more_than_half_of_those_asked_gave_an_answer() -> None:
    sure = [said(name, "yes", confidence=0.9) for name in "abcd"]
    for silent, ends in ((("c",), True), (("c", "d"), False)):
        rounds = [measured(1, *sure, agreement_level=1, abstained=silent)]
        for criterion in (ConsensusReached(0.9), AllConfident(0.85)):
            found = criterion.check(rounds)
            assert found.should_exit is ends
            assert ends or "only 2 of 4 agents gave an answer" in found.details
    lost = record(1, *sure[:2], level=1.0, more=(failed("e"), failed("f")))
    assert not ConsensusReached(0.9).check([lost]).should_exit


def test_an_agent_that_abstains_now_votes_for_nobody() -> None:
    earlier = [record(number, *(said(name, "yes") for name in "abc")) for number in (1, 2)]
    last = record(3, said("a", "yes"), said("b", "ABSTAIN"), said("c", "ABSTAIN"))
    found = LeadIsDecisive().check([*earlier, last])
    assert (found.should_exit, found.figures["missing"]) == (False, 2)


def test_an_abstention_is_never_the_leader() -> None:
    rounds = [record(number, said("a", "ABSTAIN"), said("b", "abstain"), said("c", "yes")) for number in (1, 2)]
    found = LeadIsDecisive().check(rounds)
    assert (found.should_exit, found.figures["leader"], found.figures["missing"]) == (False, "yes", 2)
    for build in (lambda: NoProgress(rounds=0), lambda: NoProgress(gain=2)):
        with pytest.raises(ConfigurationError):
            build()


def test_a_leader_is_unassailable_when_nobody_can_overturn_it() -> None:
    assert LeadIsDecisive().check([]).details == "nobody answered"
    result = LeadIsDecisive(votes_once=True).check([chosen(1, "xxy")])
    assert (result.should_exit, result.reason) == (True, "unassailable")
    assert result.figures == {"basis": "choice", "leader": "x", "lead": 1, "missing": 0, "movers": 0}
    assert result.details == "the lead is 1; 0 missing votes and 0 movers can turn 0"
    assert not LeadIsDecisive().check([chosen(1, "xy")]).should_exit
    assert not LeadIsDecisive(voters=4, votes_once=True).check([chosen(1, "xxy")]).should_exit
    assert LeadIsDecisive(voters=4, votes_once=True).check([chosen(1, "xxx")]).should_exit
    assert not LeadIsDecisive(voters=6, votes_once=True).check([chosen(1, "xxx")]).should_exit
    assert LeadIsDecisive(voters=2).check([chosen(1, "xxx")]).figures["missing"] == 0


def test_an_agent_that_answered_only_once_may_still_change() -> None:
    rounds = [chosen(1, "ttc"), chosen(2, "ccc"), chosen(3, "ccc")]
    ends = [LeadIsDecisive().check(rounds[:held]).should_exit for held in (1, 2, 3)]
    assert ends == [False, False, True]
    assert LeadIsDecisive().check(rounds[:1]).figures["movers"] == 3
    late = [chosen(1, "xxx"), chosen(2, "xxx"), chosen(3, "xxxy")]
    assert not LeadIsDecisive().check(late).should_exit


def test_agents_who_speak_in_turn_and_agents_who_fail_are_counted() -> None:
    in_turn = [chosen(1, "x"), chosen(2, ".x"), chosen(3, "..x")]
    assert LeadIsDecisive(voters=5, votes_once=True).check(in_turn).should_exit
    assert not LeadIsDecisive(voters=5, votes_once=True).check(in_turn[:2]).should_exit
    lost = record(1, said("a", choice="x"), more=(failed("b"),))
    assert not LeadIsDecisive().check([lost]).should_exit
    assert LeadIsDecisive().check([lost]).figures["missing"] == 1


def test_agents_who_just_moved_may_move_again() -> None:
    moved = [chosen(1, "xxyy"), chosen(2, "xxyx")]
    assert not LeadIsDecisive().check(moved).should_exit
    assert LeadIsDecisive().check(moved).figures["movers"] == 1
    assert LeadIsDecisive().check([*moved, chosen(3, "xxyx")]).should_exit
    with pytest.raises(ConfigurationError):
        LeadIsDecisive(voters=0)


# ---------------------------------------------------------------- budget and judge


def test_a_budget_counts_every_turn() -> None:
    usage = Usage(input_tokens=90, output_tokens=10, calls=1, cost_usd=0.01)
    one = record(1, more=(turn(said("a"), "a", usage=usage), failed("b", usage)))
    result = BudgetSpent(max_tokens=200).check([one])
    assert (result.should_exit, result.reason) == (True, "budget")
    assert result.figures == {"spent": {"tokens": 200}, "limits": {"tokens": 200}}
    assert result.details == "tokens 200 of 200"
    assert not BudgetSpent(max_tokens=201).check([one]).should_exit
    assert BudgetSpent(max_calls=2).check([one]).should_exit
    assert not BudgetSpent(max_calls=3).check([one]).should_exit
    assert BudgetSpent(max_cost_usd="0.02").check([one]).should_exit
    assert not BudgetSpent(max_cost_usd=0.021).check([one]).should_exit
    assert BudgetSpent(max_cost_usd=99, max_calls=1).check([one]).should_exit
    assert not BudgetSpent(max_tokens=1).check([]).should_exit


def test_seconds_run_from_the_first_start_to_the_last_end() -> None:
    one = record(1, more=(turn(said("a"), "a", at=10), turn(said("b"), "b", at=14.5)))
    assert BudgetSpent(max_seconds=6.5).check([one]).should_exit
    assert not BudgetSpent(max_seconds=6.6).check([one]).should_exit
    assert BudgetSpent(max_seconds=1).check([]).figures["spent"] == {"seconds": 0.0}


def test_an_unknown_cost_never_ends_a_debate() -> None:
    one = record(1, more=(turn(said("a"), "a", usage=Usage(calls=1)),))
    result = BudgetSpent(max_cost_usd=0.01).check([one])
    assert (result.should_exit, result.details) == (False, "costUsd unknown of 0.01")
    assert result.figures["spent"] == {"costUsd": None}


def test_the_known_part_of_an_unknown_cost_counts() -> None:
    priced, unpriced = Usage(calls=1, cost_usd=0.02), Usage(calls=1)
    one = record(1, more=(turn(said("a"), "a", usage=priced), turn(said("b"), "b", usage=unpriced)))
    result = BudgetSpent(max_cost_usd=0.02).check([one])
    assert (result.should_exit, result.figures["spent"]) == (True, {"costUsd": None})
    assert not BudgetSpent(max_cost_usd=0.03).check([one]).should_exit


@pytest.mark.parametrize(
    "amounts", [{}, {"max_tokens": 0}, {"max_calls": 1.5}, {"max_cost_usd": 0}, {"max_seconds": "soon"}]
)
def test_a_budget_is_a_positive_amount(amounts: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match="BudgetSpent"):
        BudgetSpent(**amounts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "stops"),
    [
        (BallotAnswer(choice="Stop."), True),
        (BallotAnswer(choice="go on"), False),
        (BallotAnswer(choice=None), False),
        (said("j", "STOP"), True),
        (said("j", "anything", choice="stop"), True),
        (said("j", "I see no reason to stop"), False),
        (TextAnswer(text=" stop!\n"), True),
        (TextAnswer(text="Do not stop"), False),
        (PlanAnswer(goal="stop"), False),
    ],
)
def test_a_single_judge_can_stop_a_debate(answer: Answer, stops: bool) -> None:
    one = record(1, said("a"), more=(turn(answer, "j", role="judge"),))
    result = StopRequested().check([one])
    assert result.should_exit == stops
    assert result.reason == ("stop_requested" if stops else None)
    assert result.figures["stopping"] == (["j"] if stops else [])
    assert not StopRequested(role="facilitator").check([one]).should_exit


def test_all_judges_must_ask_to_stop_and_the_last_answer_counts() -> None:
    stop, go = BallotAnswer(choice="stop"), BallotAnswer(choice="continue")
    both = record(1, more=(turn(stop, "j", role="judge"), turn(go, "k", role="judge")))
    assert StopRequested().check([both]).details == "1 of 2 in the role of judge ask to stop"
    later = record(1, more=(turn(go, "j", role="judge"), turn(stop, "j", role="judge")))
    assert StopRequested().check([later]).details == "j, in the role of judge, asked to stop"
    assert StopRequested().check([later, record(2, said("a"))]).details == "no judge answered in the last round"
    assert not StopRequested().check([]).should_exit
    assert not StopRequested().check([record(1, more=(failed("j"),))]).should_exit
    assert (
        StopRequested(word="halt").check([record(1, more=(turn(TextAnswer(text="halt"), "j", role="judge"),))]).reason
    )
    for build in (lambda: StopRequested(role=" "), lambda: StopRequested(word="")):
        with pytest.raises(ConfigurationError, match="must be a text that is not empty"):
            build()


def decided(choice: str | None, reasoning: str = "So.", *, stage: str = MODERATOR_STAGE) -> Turn:
    return turn(BallotAnswer(choice=choice, reasoning=reasoning), "m", role="moderator").model_copy(
        update={"stage": stage}
    )


def test_only_the_decision_of_the_moderator_ends_a_debate() -> None:
    ended = ModeratorEnds().check([record(1, said("a"), more=(decided("end", "Two\n  words."),))])
    assert (ended.reason, ended.details) == ("moderator", "the moderator ended the debate: Two words.")
    assert ended.figures == {"moderator": "m", "decision": "end"}
    assert len(ModeratorEnds().check([record(1, more=(decided("end", "x" * 9_999),))]).details) < 400
    for more in (
        (decided("continue"),),
        (decided(None),),
        (decided("end"), decided("continue")),
        (decided("end", stage="ruling"),),
        (turn(TextAnswer(text="end"), "m", role="moderator"),),
        (failed("m"),),
        (),
    ):
        assert not ModeratorEnds().check([record(1, said("end", choice="end"), more=more)]).should_exit, more
    later = [record(1, more=(decided("end"),)), record(2, said("a"))]
    assert ModeratorEnds().check(later).details == "no moderator decided after this round"
    assert not ModeratorEnds().check([]).should_exit


def test_a_moderator_is_needed_if_any_part_asks_for_one() -> None:
    for criterion, needs in (
        (ModeratorEnds(), True),
        (MaxRounds(3) | ModeratorEnds() & MinRounds(2), True),
        (MaxRounds(3) | ConsensusReached(0.9), False),
    ):
        assert asks_moderator(criterion.to_spec()) == needs
    assert not asks_moderator(None)


def test_a_criterion_of_a_plugin_may_need_a_moderator_too() -> None:
    @dataclass(frozen=True, slots=True)
    class TwiceEnded(Exit):
        kind = "twice_ended"

        @property
        def needs_moderator(self) -> bool:
            return True

    exits = exit_registry()
    exits.add(TwiceEnded.kind, TwiceEnded.from_spec)
    assert asks_moderator((MaxRounds(3) | TwiceEnded()).to_spec(), exits)
    assert not asks_moderator(MaxRounds(3).to_spec(), exits)
    with pytest.raises(ConfigurationError, match="twice_ended"):
        asks_moderator(TwiceEnded().to_spec())


# ---------------------------------------------------------------- JSON and environment


@pytest.mark.parametrize(
    "criterion",
    [
        ConsensusReached("2/3"),
        Converged(rounds=3),
        AllConfident(0.8, agreement="0.6"),
        Stable(entropy=0.1, ks="1/3", patience=3),
        LeadIsDecisive(voters=7),
        LeadIsDecisive(),
        BudgetSpent(max_cost_usd=0.5, max_tokens=10, max_calls=3, max_seconds=60),
        NoProgress(rounds=3, gain=0.05),
        StopRequested(role="chair", word="end"),
        ModeratorEnds(),
        MaxRounds(3) | ConsensusReached(0.9) & MinRounds(2) | Converged(rounds=2),
    ],
)
def test_every_criterion_can_be_read_back_from_json(criterion: Exit) -> None:
    assert exit_from_spec(criterion.to_spec()) == criterion


def test_the_environment_is_read_as_decimals() -> None:
    assert read_exit_settings({}) == ExitSettings()
    assert read_exit_settings({"ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD": " "}) == ExitSettings()
    settings = read_exit_settings(
        {
            "ROUNDTABLE_EXIT_ENABLED": "False",
            "ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD": "0.8",
            "ROUNDTABLE_EXIT_CONVERGENCE_ROUNDS": " 3 ",
            "ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD": "1",
        }
    )
    assert settings == ExitSettings(False, Fraction(4, 5), 3, Fraction(1))


@pytest.mark.parametrize(
    ("variable", "text", "allowed"),
    [
        ("ROUNDTABLE_EXIT_ENABLED", "maybe", "true or false"),
        ("ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD", "90", "a decimal from 0 to 1"),
        ("ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD", "-0.1", "a decimal from 0 to 1"),
        ("ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD", "nan", "a decimal from 0 to 1"),
        ("ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD", "sNaN", "a decimal from 0 to 1"),
        ("ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD", "high", "a decimal from 0 to 1"),
        ("ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD", "-inf", "a decimal from 0 to 1"),
        ("ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD", "1e-999999999", "a decimal from 0 to 1"),
        ("ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD", "0." + "9" * 30, "a decimal from 0 to 1"),
        ("ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD", "1.01", "a decimal from 0 to 1"),
        ("ROUNDTABLE_EXIT_CONVERGENCE_ROUNDS", "0", "a whole number from 1"),
        ("ROUNDTABLE_EXIT_CONVERGENCE_ROUNDS", "2.5", "a whole number from 1"),
    ],
)
def test_an_unusable_setting_is_named(variable: str, text: str, allowed: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_exit_settings({variable: text})
    assert caught.value.message.startswith(f"{variable}={text!r} is not allowed; allowed: {allowed}")
    assert caught.value.hint == f"Correct {variable}, or unset it."


def test_only_the_variables_of_exits_are_looked_at() -> None:
    assert read_exit_settings({"LOG_LEVEL": "loud", "ROUNDTABLE_MAX_ROUNDS": "x"}) == ExitSettings()


def test_the_settings_of_exits_are_read() -> None:
    environment = {"ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD": "0.7", "ROUNDTABLE_EXIT_ENABLED": "off"}
    settings = Settings.from_env(environment)
    assert ExitSettings.from_settings(settings) == read_exit_settings(environment)
    assert ExitSettings.from_settings(Settings()) == ExitSettings()
    assert settings.get("ROUNDTABLE_EXIT_ENABLED") == "false"
    assert settings.get("ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD") == "0.7"


def test_criteria_other_than_the_number_of_rounds_end_a_debate_early() -> None:
    assert early_exit(ExitCriteria(max_rounds=2)) is None
    assert early_exit(ExitCriteria(max_rounds=2, confidence_threshold=0.5)) == AllConfident(0.5)
    assert early_exit(create_default_exit_criteria(2)) == AnyOf(
        (ConsensusReached(0.9), Converged(rounds=2), AllConfident(0.85))
    )


def test_the_default_criteria_are_the_documented_ones() -> None:
    criteria = create_default_exit_criteria(4)
    assert criteria == ExitCriteria(
        max_rounds=4, consensus_threshold=0.9, convergence_rounds=2, confidence_threshold=0.85
    )
    assert exit_from_criteria(criteria) == (
        ConsensusReached(0.9) | Converged(rounds=2) | AllConfident(0.85) | MaxRounds(4)
    )
    off = create_default_exit_criteria(4, ExitSettings(enabled=False))
    assert exit_from_criteria(off) == MaxRounds(4)
    other = create_default_exit_criteria(2, ExitSettings(consensus_threshold=Fraction(1, 2), convergence_rounds=1))
    assert exit_from_criteria(other) == ConsensusReached(0.5) | Converged(2) | AllConfident(0.85) | MaxRounds(2)
    with pytest.raises(ConfigurationError, match="max_rounds must be"):
        create_default_exit_criteria(0)


def test_everything_wrong_with_criteria_is_listed() -> None:
    assert validate_exit_criteria(create_default_exit_criteria(3)) == ()
    assert validate_exit_criteria({"max_rounds": 3}) == ()
    assert validate_exit_criteria({}) == ("maxRounds must be a whole number of at least 1, not None",)
    assert validate_exit_criteria(
        {
            "maxRounds": "3",
            "consensus_threshold": -0.1,
            "convergenceRounds": 0,
            "confidenceThreshold": "high",
            "maxRound": 3,
        }
    ) == (
        "maxRounds must be a whole number of at least 1, not '3'",
        "consensusThreshold must lie in [0, 1], not -0.1",
        "convergenceRounds must be a whole number of at least 1, not 0",
        "confidenceThreshold must be a finite number, not 'high'",
        "'maxRound' is not an exit criterion",
    )


def test_without_numbers_any_rise_in_two_rounds_is_progress() -> None:
    assert NoProgress().to_spec() == {"kind": "no_progress", "rounds": 2, "gain": 0.0}


def test_criteria_that_end_early_are_joined_where_there_are_several() -> None:
    consensus, confidence = ConsensusReached(Fraction(9, 10)), AllConfident(Fraction(8, 10))
    both = ExitCriteria(max_rounds=3, consensus_threshold=0.9, confidence_threshold=0.8)
    assert early_exit(both) == AnyOf((consensus, confidence))
    assert early_exit(ExitCriteria(max_rounds=3, confidence_threshold=0.8)) == confidence
    assert early_exit(ExitCriteria(max_rounds=3)) is None
