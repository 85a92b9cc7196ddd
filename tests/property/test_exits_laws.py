"""Laws of the stop criteria: an algebra of pure values."""

from __future__ import annotations

from hypothesis import strategies as st
from property.scoring_strategies import EFFORT, holds

from roundtable.exits import (
    AllConfident,
    BudgetSpent,
    ConsensusReached,
    Converged,
    Exit,
    LeadIsDecisive,
    MaxRounds,
    MinRounds,
    ModeratorEnds,
    NoProgress,
    Stable,
    StopRequested,
    exit_from_spec,
)
from roundtable.types import AgentResponse, ConsensusResult, ExitResult, RoundRecord, Turn, TurnResult, utc_now

NOW = utc_now()

criteria = st.one_of(
    st.builds(MaxRounds, st.integers(1, 5)),
    st.builds(MinRounds, st.integers(1, 5)),
    st.builds(ConsensusReached, st.sampled_from([0, 0.5, "2/3", 0.9, 1])),
    st.builds(Converged, st.integers(2, 3)),
    st.builds(AllConfident, st.sampled_from([0.5, 0.85])),
    st.builds(Stable, patience=st.integers(1, 2), ks=st.sampled_from([None, 0.1])),
    st.builds(LeadIsDecisive, st.none() | st.integers(1, 5), st.booleans()),
    st.builds(NoProgress, st.integers(1, 2)),
    st.just(StopRequested()),
    st.just(ModeratorEnds()),
    st.just(BudgetSpent(max_calls=3)),
)
joined = st.recursive(
    criteria, lambda inner: st.builds(Exit.__or__, inner, inner) | st.builds(Exit.__and__, inner, inner), max_leaves=5
)


@st.composite
def debates(draw: st.DrawFn) -> list[RoundRecord]:
    records: list[RoundRecord] = []
    for number in range(1, draw(st.integers(0, 4)) + 1):
        turns = [
            Turn(
                round=number,
                stage="s",
                slot=slot,
                agent_id=agent,
                timestamp=NOW,
                result=TurnResult(
                    answer=AgentResponse(
                        agent_id=agent,
                        agent_name=agent,
                        position=draw(st.sampled_from(["yes", "no", "maybe so"])),
                        confidence=draw(st.sampled_from([0.1, 0.9])),
                    )
                ),
            )
            for slot, agent in enumerate(draw(st.sampled_from(["", "a", "ab", "abc"])))
        ]
        level = draw(st.none() | st.sampled_from([0.0, 0.5, 0.9, 1.0]))
        consensus = None if level is None else ConsensusResult(agreement_level=level, assigned=draw(st.booleans()))
        records.append(RoundRecord(number=number, turns=tuple(turns), consensus=consensus, complete=True))
    return records


def ends(criterion: Exit, rounds: list[RoundRecord]) -> bool:
    return criterion.check(rounds).should_exit


@EFFORT
def test_or_and_and_of_criteria_follow_boolean_logic(effort: int) -> None:
    def check(one: Exit, other: Exit, rounds: list[RoundRecord]) -> None:
        assert ends(one | other, rounds) == (ends(one, rounds) or ends(other, rounds))
        assert ends(one & other, rounds) == (ends(one, rounds) and ends(other, rounds))

    holds(effort * 3, check, joined, joined, debates())


@EFFORT
def test_joining_is_associative_and_order_decides_only_the_reason(effort: int) -> None:
    def check(one: Exit, two: Exit, three: Exit, rounds: list[RoundRecord]) -> None:
        assert (one | (two | three)) == ((one | two) | three)
        assert (one & (two & three)) == ((one & two) & three)
        assert ends(one | two, rounds) == ends(two | one, rounds)
        assert ends(one & two, rounds) == ends(two & one, rounds)

    holds(effort, check, joined, joined, joined, debates())


@EFFORT
def test_every_criterion_is_pure_data(effort: int) -> None:
    def check(criterion: Exit, rounds: list[RoundRecord]) -> None:
        again = exit_from_spec(criterion.to_spec())
        assert again == criterion
        result = criterion.check(rounds)
        assert again.check(rounds) == result == criterion.check(list(rounds))
        assert ExitResult.from_json(result.to_json()) == result
        assert result.should_exit == (result.reason is not None)
        assert result.should_exit <= bool(result.details)
        assert hash(criterion) == hash(again)

    holds(effort * 2, check, joined, debates())


@EFFORT
def test_without_rounds_no_debate_ends(effort: int) -> None:
    holds(effort, lambda criterion: None if not ends(criterion, []) else (_ for _ in ()).throw(AssertionError), joined)


@EFFORT
def test_assigned_stances_never_end_a_debate_by_agreement(effort: int) -> None:
    def check(rounds: list[RoundRecord]) -> None:
        for criterion in (ConsensusReached(0), AllConfident(0), NoProgress(1)):
            if rounds and rounds[-1].consensus is not None and rounds[-1].consensus.assigned:
                assert not ends(criterion, rounds)

    holds(effort * 2, check, debates())


@EFFORT
def test_a_debate_that_may_end_at_a_round_ends_at_every_later_one(effort: int) -> None:
    def check(least: int, rounds: list[RoundRecord]) -> None:
        for criterion in (MaxRounds(least), MinRounds(least)):
            ending = [ends(criterion, rounds[:count]) for count in range(1, len(rounds) + 1)]
            assert ending == sorted(ending)

    holds(effort, check, st.integers(1, 5), debates())
