"""Agents that fail in the last round: their last known votes elect nobody, but no option wins against them either."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.analysis import decide_record
from roundtable.core.types.plan import JUDGE_STAGE
from roundtable.scoring import Outcome, Rule, decide, rule_registry
from roundtable.types import (
    AgentResponse,
    BallotAnswer,
    DebateConfig,
    Decision,
    ErrorInfo,
    FailedTurn,
    RoundRecord,
    Turn,
    TurnResult,
)

FAILED, SILENT = "(failed)", "(no choice)"
OPTIONS = ("Tea", "Coffee", "Milk")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ERROR = ErrorInfo(name="APIAuthError", message="no", code="API_AUTH")


def record(number: int, choices: str | tuple[str, ...]) -> RoundRecord:
    """Return a round in which the agents a, b, c, ... choose an option each, give no choice, or fail."""
    turns = []
    for slot, choice in enumerate(choices.split() if isinstance(choices, str) else choices):
        name = "abcdefg"[slot]
        facts = {"round": number, "stage": "s", "slot": slot, "agent_id": name, "agent_name": name.upper()}
        if choice in {FAILED, "-"}:
            turns.append(FailedTurn(**facts, timestamp=EPOCH, error=ERROR))
            continue
        said = AgentResponse(
            agent_id=name, agent_name=name.upper(), position=choice, choice=None if choice in {SILENT, "?"} else choice
        )
        turns.append(Turn(**facts, timestamp=EPOCH, result=TurnResult(answer=said)))
    return RoundRecord(number=number, turns=tuple(turns), complete=True)


def outcome(*rounds: str | tuple[str, ...], decide: str = "plurality", options: bool = True) -> Decision:
    """Decide the last of several rounds."""
    config = DebateConfig(topic="t", agents=tuple("abcdefg"), decide=decide, options=OPTIONS if options else None)
    *before, last = [record(number, choices) for number, choices in enumerate(rounds, 1)]
    return decide_record(last, None, config, before=before)


@pytest.mark.parametrize(
    ("rounds", "winner"),
    [
        pytest.param(("Tea Tea Coffee", "- - Coffee"), None, id="the majority of round 1 fails"),
        pytest.param(("Tea Tea Coffee", "- Tea Coffee"), None, id="a tie that is none with the last known vote"),
        pytest.param(("Tea Tea Coffee", "Tea Tea -"), "Tea", id="one of the minority fails"),
        pytest.param(("Coffee Tea Coffee", "- Tea Coffee"), None, id="a tie stays a tie"),
        pytest.param(("Tea Coffee", "- Coffee"), None, id="two agents: a tie with the last known vote"),
        pytest.param(("Tea Coffee", "- Tea"), "Tea", id="two agents: the other one agreed"),
        pytest.param(("Tea Tea Coffee", "- Coffee Coffee"), "Coffee", id="an agent moved before the other failed"),
        pytest.param(("Tea Tea Coffee", "- - -"), None, id="nobody answered"),
        pytest.param(("- - Coffee", "- - Coffee"), "Coffee", id="agents that never voted"),
        pytest.param(("- - Coffee",), "Coffee", id="one round"),
        pytest.param(("Tea Tea Coffee", "? ? Coffee", "- - Coffee"), "Coffee", id="they had withdrawn their votes"),
        pytest.param(("Tea Tea Coffee", "- - Coffee", "- - Coffee"), None, id="votes from two rounds ago"),
        pytest.param(("Tea Tea Coffee", "Coffee - Coffee", "- - Coffee"), "Coffee", id="the last vote counts"),
        pytest.param(("Tea Tea Coffee", "? ? Coffee"), "Coffee", id="agents that abstain have not failed"),
    ],
)
def test_an_option_wins_only_if_it_also_wins_with_the_last_known_votes(
    rounds: tuple[str, ...], winner: str | None
) -> None:
    assert outcome(*rounds).winner == winner


def test_the_reason_names_the_earlier_choices_of_missing_agents() -> None:
    decision = outcome("Tea Tea Milk Coffee", "- - - Coffee")
    assert (decision.winner, decision.winners, decision.passed, decision.withheld) == (None, (), False, "Coffee")
    assert (decision.cast, decision.abstained, decision.is_tie) == (1, ("a", "b", "c"), False)
    assert decision.why == (
        "no decision: A and B had chosen Tea and C had chosen Milk before failing in this round, which could change "
        "the result. Counted without them, Coffee wins: 1 vote, the only one; a, b and c did not vote."
    )
    assert outcome("Tea Tea Coffee", "Tea Tea -").withheld is None


@pytest.mark.parametrize("rule", ["majority", "unanimity", "supermajority(2/3)", "borda", "schulze", "approval"])
def test_every_rule_withholds_what_the_last_known_votes_overturn(rule: str) -> None:
    assert outcome("Tea Tea Coffee", "- - Coffee", decide=rule).winner is None
    assert outcome("Tea Tea Tea", "- Tea Tea", decide=rule).winner == "Tea"


def test_decisions_on_open_questions_and_by_judges_are_unchanged() -> None:
    assert outcome("Tea Tea Coffee", "- - Coffee", options=False).withheld is None
    config = DebateConfig(
        topic="t", agents=("a", "b", "c"), decide="judge", options=OPTIONS, seats={"judge": ("judge",)}
    )
    last = record(2, "- - Coffee")
    vote = Turn(
        round=2,
        stage=JUDGE_STAGE,
        slot=0,
        agent_id="judge",
        timestamp=EPOCH,
        result=TurnResult(answer=BallotAnswer(choice="Coffee")),
    )
    judged = last.model_copy(update={"turns": (*last.turns, vote)})
    assert decide_record(judged, None, config, before=[record(1, "Tea Tea Coffee")]).winner == "Coffee"


def test_a_rule_that_cannot_count_more_votes_shows_no_safe_winner() -> None:
    def lone(ballots: object, parameters: object) -> Outcome:
        counted = rule_registry().get("plurality").count(ballots, parameters)  # type: ignore[arg-type]
        if counted.roll.cast > 1:
            raise ZeroDivisionError("one vote only")
        return counted

    rules = rule_registry()
    rules.add("lone", Rule("lone", lone))
    config = DebateConfig(topic="t", agents=tuple("abc"), decide="lone", options=OPTIONS)
    decision = decide_record(record(2, "- - Coffee"), None, config, rules, [record(1, "Tea Tea Coffee")])
    assert (decision.winner, decision.withheld) == (None, "Coffee")


CHOICES = st.sampled_from([*OPTIONS, FAILED, SILENT])
ROUNDS = st.integers(1, 5).flatmap(
    lambda agents: st.lists(st.tuples(*[CHOICES] * agents), min_size=1, max_size=3).map(tuple)
)


@given(ROUNDS, st.sampled_from(["plurality", "majority", "unanimity"]))
def test_a_winner_also_wins_with_the_last_known_votes(rounds: tuple[tuple[str, ...], ...], rule: str) -> None:
    decision = outcome(*rounds, decide=rule)
    last: list[str | None] = []
    for agent in range(len(rounds[0])):
        said = [choices[agent] for choices in rounds if choices[agent] != FAILED]
        last.append(said[-1] if said and said[-1] != SILENT else None)
    alone = [None if choice in {FAILED, SILENT} else choice for choice in rounds[-1]]
    by_round = decide(alone, rule=rule, options=OPTIONS).winner
    assert decision.winner in {by_round, None}
    if decision.winner is not None:
        assert decide(last, rule=rule, options=OPTIONS).winner == decision.winner
    assert (decision.withheld is not None) == (decision.winner is None and by_round is not None)


@given(ROUNDS, st.randoms(use_true_random=False))
def test_the_order_of_agents_does_not_matter(rounds: tuple[tuple[str, ...], ...], random: object) -> None:
    order = list(range(len(rounds[0])))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = tuple(tuple(choices[index] for index in order) for choices in rounds)
    first, second = outcome(*rounds), outcome(*shuffled)
    assert (first.winner, first.withheld, first.is_tie) == (second.winner, second.withheld, second.is_tie)
