"""Defects reproduced in other libraries: here each of them is a test."""

from __future__ import annotations

from roundtable.exits import AllConfident, Converged
from roundtable.metrics import kendall_w, modal_share, oracle_gap, transitions
from roundtable.scoring import Choice, decide
from roundtable.types import AgentResponse, ConsensusResult, RoundRecord, Turn, TurnResult, utc_now


def spoken(*positions: str, confidence: float = 0.9, number: int = 1, level: float | None = None) -> RoundRecord:
    turns = tuple(
        Turn(
            round=number,
            stage="answers",
            slot=slot,
            agent_id=f"agent-{slot}",
            timestamp=utc_now(),
            result=TurnResult(
                answer=AgentResponse(
                    agent_id=f"agent-{slot}", agent_name=str(slot), position=position, confidence=confidence
                )
            ),
        )
        for slot, position in enumerate(positions)
    )
    consensus = None if level is None else ConsensusResult(agreement_level=level)
    return RoundRecord(number=number, turns=turns, consensus=consensus, complete=True)


def test_two_against_two_is_not_a_majority() -> None:
    decision = decide(["yes", "yes", "no", "no"], rule="majority")
    assert not decision.passed
    assert decision.is_tie
    assert decision.winners == ()


def test_one_of_four_is_not_unanimous_when_a_quorum_is_required() -> None:
    decision = decide(["yes", None, None, None], rule="unanimity", quorum=3)
    assert not decision.quorum_met
    assert not decision.passed
    assert "quorum is not met: 1 ballot of 4 count, 3 needed" in decision.why


def test_three_spellings_are_one_option_and_unanimous() -> None:
    decision = decide(["Alpha", "alpha", "alpha."], rule="unanimity")
    assert decision.passed
    assert decision.winners == ("Alpha",)


def test_total_opposition_of_two_reviewers_is_not_a_consensus() -> None:
    assert kendall_w([["a", "b"], ["b", "a"]]).value == 0


def test_four_reviewers_in_a_cycle_are_not_a_consensus() -> None:
    cycle = [["a", "b", "c", "d"], ["b", "c", "d", "a"], ["c", "d", "a", "b"], ["d", "a", "b", "c"]]
    assert kendall_w(cycle).value == 0
    assert decide(cycle, rule="borda").is_tie


def test_identical_reviewers_are_full_consensus() -> None:
    assert kendall_w([["a", "b", "c", "d"]] * 3).value == 1


def test_a_near_tie_has_a_low_agreement_not_one_minus_its_margin() -> None:
    votes = ["yes"] * 4 + ["no"] * 3
    share = modal_share(votes).value
    assert share is not None
    assert share < 0.6
    assert decide(votes, rule="supermajority").winners == ()


def test_one_confident_juror_neither_decides_nor_sets_the_agreement() -> None:
    votes = [Choice("yes", 0.95), Choice("no", 0.4), Choice("no", 0.4)]
    assert decide(votes, rule="majority").winner == "no"
    assert modal_share([str(vote.option) for vote in votes]).value != 0.95


def test_the_word_unchanged_is_not_convergence() -> None:
    first = spoken("My view is unchanged: adopt it now")
    second = spoken("My view is not unchanged: reject it entirely, at once", number=2)
    assert not Converged(rounds=2).check([first, second]).should_exit


def test_a_rebuttal_counts_because_the_last_round_decides() -> None:
    rounds = [spoken("yes", "no", "no"), spoken("yes", "yes", "no", number=2)]
    ballots = [response.position for response in rounds[-1].responses]
    assert decide(ballots).winner == "yes"


def test_an_unreadable_answer_is_an_abstention_and_never_a_random_answer() -> None:
    decisions = [decide(["a", "b", None]) for _ in range(20)]
    assert all(decision == decisions[0] for decision in decisions)
    assert decisions[0].abstained == (2,)
    assert decisions[0].is_tie


def test_an_unreadable_answer_is_never_correct() -> None:
    assert transitions({"ada": None}, {"ada": "A"}, "A").wrong_to_right == 0
    assert oracle_gap([[None, None, None]], ["A"]).figures == {"oracle": 0, "vote": 0}


def test_confident_opponents_do_not_end_a_debate() -> None:
    opposed = spoken("Adopt it.", "Never adopt it.", confidence=0.99, level=0.0)
    assert not AllConfident(0.85).check([opposed]).should_exit
    agreed = spoken("Adopt it.", "adopt it", confidence=0.99, level=1.0)
    assert AllConfident(0.85).check([agreed]).reason == "confidence"


def test_opposite_positions_in_any_script_are_not_the_same_position() -> None:
    first, second = spoken("찬성합니다"), spoken("반대합니다", number=2)
    assert not Converged(rounds=2).check([first, second]).should_exit
    first, second = spoken("我支持这个提案"), spoken("我反对这个计划", number=2)
    assert not Converged(rounds=2).check([first, second]).should_exit
    assert Converged(rounds=2).check([first, spoken("我支持这个提案。", number=2)]).should_exit
