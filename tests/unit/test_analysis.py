"""Agreement of a round by the basic formula, and what follows from it by the debate's rule."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest
from snapshots.prompt_views import said

from roundtable.analysis import (
    ConsensusAnalyzer,
    ballots_of,
    check_rule,
    decide_record,
    independent_agreement,
)
from roundtable.core.types.plan import JUDGE_STAGE
from roundtable.errors import ConfigurationError
from roundtable.scoring import Electorate, Outcome, Parameters, Rule, rule_registry
from roundtable.types import (
    AgentResponse,
    BallotAnswer,
    Cluster,
    ConsensusResult,
    DebateConfig,
    Decision,
    FailedTurn,
    RoundRecord,
    Turn,
    TurnResult,
    utc_now,
)


def hold(*positions: str, choices: Sequence[str | None] = ()) -> list[AgentResponse]:
    """Make one answer per position, by agents named a, b, c and so on."""
    chosen = list(choices) or [None] * len(positions)
    return [
        AgentResponse(agent_id=name, agent_name=name.upper(), position=position, choice=choice)
        for name, position, choice in zip("abcdefghi", positions, chosen, strict=False)
    ]


def decided(said: Sequence[AgentResponse], consensus: ConsensusResult | None, config: DebateConfig) -> Decision:
    """Decide over the round in which these were said."""
    turns = [
        Turn(round=1, stage="s", slot=slot, agent_id=one.agent_id, timestamp=utc_now(), result=TurnResult(answer=one))
        for slot, one in enumerate(said)
    ]
    return decide_record(RoundRecord(number=1, turns=tuple(turns)), consensus, config)


def measure(*positions: str) -> ConsensusResult:
    return ConsensusAnalyzer().analyze(hold(*positions))


@pytest.mark.parametrize(
    ("positions", "level", "summary"),
    [
        ((), 0.0, "Nobody gave a position."),
        (("Yes",), 1.0, "One agent gave a position."),
        (("Yes", "yes."), 1.0, "All 2 answers give the same position."),
        (("Yes", "No"), 0.5, "2 agents hold 2 different positions."),
        (("Yes", "Yes", "No"), 2 / 3, "2 of 3 agents share a position; there are 2 different ones."),
        (("Yes", "No", "Maybe"), 1 / 3, "3 agents hold 3 different positions."),
        (("a", "a", "b", "b"), 0.75, "2 of 4 agents share a position; there are 2 different ones."),
        (("a", "b", "c", "d"), 0.25, "4 agents hold 4 different positions."),
    ],
)
def test_agreement_is_one_less_the_share_of_further_positions(
    positions: tuple[str, ...], level: float, summary: str
) -> None:
    found = measure(*positions)
    assert found.agreement_level == level
    assert found.summary == summary
    assert found.method == "basic"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Use a monolith", "USE A MONOLITH"),
        ("Use a monolith", "  Use\n a\tmonolith. "),
        ("caf\u00e9", "cafe\u0301"),
        ("\uff39\uff45\uff53", "Yes"),
        ("**Yes**", '"Yes."'),
        ("はい。", "はい"),
    ],
)
def test_spelling_alone_makes_no_disagreement(one: str, two: str) -> None:
    assert measure(one, two).agreement_level == 1.0


@pytest.mark.parametrize(
    ("one", "two"), [("예", "아니요"), ("是", "否"), ("-5", "5"), ("C", "C#"), ("5%", "5"), ("Do it", "Do not do it")]
)
def test_other_words_in_any_script_are_another_position(one: str, two: str) -> None:
    assert measure(one, two).agreement_level == 0.5


def test_points_of_agreement_and_disagreement_are_listed() -> None:
    found = measure("Yes", "No", "yes")
    assert found.common_ground == ("Yes",)
    assert found.disagreement_points == ("Yes", "No")
    assert measure("Yes", "yes").disagreement_points == ()
    assert measure("Yes").common_ground == ("Yes",)
    assert measure().common_ground == ()


def test_a_position_held_by_half_of_the_agents_is_no_common_ground() -> None:
    for found in (measure("Yes", "No", "yes", "no"), measure("Yes", "No", "yes", "Maybe")):
        assert found.common_ground == ()


def test_with_options_answers_agree_in_the_option_they_choose() -> None:
    said_so = hold("We should, as it scales.", "Absolutely.", "No.", choices=("Yes", "Yes", "No"))
    found = ConsensusAnalyzer().analyze(said_so)
    assert found.agreement_level == 2 / 3
    assert found.clusters == (
        Cluster(theme="Yes", agent_ids=("a", "b"), summary="Absolutely.", answers=(0, 1)),
        Cluster(theme="No", agent_ids=("c",), summary="No.", answers=(2,)),
    )


async def test_the_meter_of_a_debate_gives_the_same_result() -> None:
    measured = await ConsensusAnalyzer().measure(hold("Yes", "No"), "topic", groupthink=False)
    assert (measured.consensus, measured.usage) == (measure("Yes", "No"), None)


@pytest.mark.slow
def test_the_level_is_the_same_in_every_process() -> None:
    script = (
        "from roundtable.analysis import ConsensusAnalyzer\n"
        "from roundtable.types import AgentResponse\n"
        "said = [AgentResponse(agent_id=str(n), agent_name='x', position=p, timestamp='2026-01-01T00:00:00Z')\n"
        "        for n, p in enumerate(['b', 'a', 'c', 'A', 'b.'])]\n"
        "print(ConsensusAnalyzer().analyze(said).to_json())\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True, text=True
        ).stdout
        for seed in ("0", "1", "12345")
    }
    assert len(found) == 1


def test_without_options_the_clusters_are_voted_on() -> None:
    responses = hold("Yes", "no", "yes.", "no.", "Yes")
    consensus = ConsensusAnalyzer().analyze(responses)
    assert ballots_of(responses, consensus, "cluster") == ("Yes", "no", "Yes", "no", "Yes")
    assert ballots_of(responses, None, "cluster") == (None,) * 5
    decision = decided(responses, consensus, DebateConfig(topic="t", agents=("a",)))
    assert (decision.winner, decision.rule) == ("Yes", "plurality")


def test_with_options_the_choices_are_voted_on_and_no_choice_abstains() -> None:
    responses = hold("x", "y", "z", choices=("Yes", None, "Yes"))
    config = DebateConfig(topic="t", agents=("a",), options=("Yes", "No"))
    assert ballots_of(responses, None, "choice") == ("Yes", None, "Yes")
    decision = decided(responses, None, config)
    assert decision.winner == "Yes"
    assert (decision.voters, decision.abstained) == (("a", "b", "c"), ("b",))
    assert "; b did not vote" in decision.why
    assert set(decision.scores) == {"Yes", "No"}


def test_a_tie_is_a_result_without_a_winner() -> None:
    responses = hold("Yes", "No")
    decision = decided(responses, ConsensusAnalyzer().analyze(responses), DebateConfig(topic="t", agents=("a",)))
    assert decision.winner is None
    assert decision.is_tie
    assert set(decision.tied) == {"Yes", "No"}


def test_the_rule_is_that_of_the_debate() -> None:
    responses = hold("Yes", "Yes", "No")
    config = DebateConfig(topic="t", agents=("a",), decide="unanimity")
    decision = decided(responses, ConsensusAnalyzer().analyze(responses), config)
    assert (decision.rule, decision.winner) == ("unanimity", None)


def independent(*turns: Turn) -> list[Turn]:
    return [turn.model_copy(update={"independent": True}) for turn in turns]


def test_answers_given_before_any_agent_saw_another_are_independent() -> None:
    turns = independent(said("Ada", "Yes"), said("Bo", "yes", slot=1))
    consensus = measure("Yes", "yes")
    assert independent_agreement(turns, consensus, assigned=False) == (1.0, None)


def test_missing_independent_agreement_has_a_reason() -> None:
    turns = independent(said("Ada", "Yes"), said("Bo", "yes", slot=1))
    consensus = measure("Yes", "yes")
    seen = [turns[0], said("Bo", "yes", slot=1)]
    failed = FailedTurn.model_validate(
        {
            **turns[1].model_dump(exclude={"result", "outcome", "independent"}),
            "error": {"name": "E", "message": "m", "code": "C"},
        }
    )
    ballot = turns[1].model_copy(update={"result": turns[1].result.model_copy(update={"answer": BallotAnswer()})})
    reasons = [
        independent_agreement(turns, consensus, assigned=True),
        independent_agreement(turns[:1], consensus, assigned=False),
        independent_agreement([turns[0], failed], consensus, assigned=False),
        independent_agreement([turns[0], ballot], consensus, assigned=False),
        independent_agreement([], consensus, assigned=False),
        independent_agreement(seen, consensus, assigned=False),
    ]
    assert [level for level, _ in reasons] == [None] * 6
    assert [reason for _, reason in reasons] == [
        "the mode assigned stances, so no answer was independent",
        *["fewer than two agents answered in the first round"] * 4,
        "agents of the first round had seen answers of others",
    ]


def test_a_quorum_of_answers_is_not_a_quorum_of_ballots() -> None:
    held = hold("Tea", "Tea", "Neither", choices=["Tea", "Tea", None])
    config = DebateConfig(topic="Tea?", agents=("a", "b", "c"), options=("Tea", "Coffee"), quorum=3)
    assert decided(held, None, config).winner == "Tea"


def test_every_position_is_a_ballot_in_its_own_cluster() -> None:
    first, *others = hold("Coffee", "Tea", "Tea")
    said = [first, *others, first.model_copy(update={"position": "Tea"})]  # one agent asked twice in one stage
    assert ballots_of(said, ConsensusAnalyzer().analyze(said), "cluster") == ("Coffee", "Tea", "Tea", "Tea")
    stances = [first.model_copy(update={"stance": "YES"}), others[0]]
    assert ballots_of(stances, None, "stance") == ("YES", None)


def test_confidence_reaches_the_rule() -> None:
    sure = [
        one.model_copy(update={"confidence": 0.9 if one.agent_id == "a" else 0.3}) for one in hold("No", "Yes", "Yes")
    ]
    config = DebateConfig(topic="t", agents=("a",), decide="confidence-weighted")
    decision = decided(sure, ConsensusAnalyzer().analyze(sure), config)
    assert (decision.winner, decision.scores) == ("No", {"No": 0.9, "Yes": 0.6})


@pytest.mark.parametrize("rule", ["score", "star", "median", "cumulative", "linear-pool", "log-pool", "log-odds"])
def test_a_rule_that_cannot_count_positions_is_refused_with_a_list_of_rules_that_can(rule: str) -> None:
    with pytest.raises(ConfigurationError, match=f"the rule '{rule}' cannot decide a debate") as caught:
        check_rule(rule)
    assert caught.value.hint is not None
    assert "plurality" in caught.value.hint
    assert f"{rule}," not in caught.value.hint


def test_a_rule_that_fails_on_test_positions_is_still_allowed() -> None:
    def breaking(ballots: Electorate, _: Parameters) -> Outcome:
        raise ZeroDivisionError

    check_rule(Rule("mine", breaking))
    check_rule("borda")


def test_a_rule_that_fails_decides_nothing_and_says_so() -> None:
    def broken(ballots: Electorate, parameters: Parameters) -> Outcome:
        raise ZeroDivisionError("no ballots like these")

    rules = rule_registry()
    rules.add("broken", Rule("broken", broken))
    check_rule("broken", rules)
    config = DebateConfig(topic="t", agents=("a",), decide="broken")
    record = RoundRecord(number=1)
    decision = decide_record(record, None, config, rules)
    assert (decision.winner, decision.rule) == (None, "broken")
    assert decision.why == "no decision: the rule 'broken' failed (ZeroDivisionError: no ballots like these)."


def test_a_judge_that_names_no_answer_decides_nothing() -> None:
    vote = said("Judge", "").model_copy(
        update={"stage": JUDGE_STAGE, "result": TurnResult(answer=BallotAnswer(choice="Answer 9"))}
    )
    config = DebateConfig(topic="t", agents=("a",), decide="judge", seats={"judge": ("judge",)})
    decision = decide_record(RoundRecord(number=1, turns=(said("Ada", "Tea"), vote)), None, config)
    assert (decision.winner, decision.quorum_met) == (None, False)
