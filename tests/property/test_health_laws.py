"""Laws of health: where agents sit changes nothing."""

from __future__ import annotations

from hypothesis import strategies as st
from property.scoring_strategies import law

from roundtable.analysis import DebateHealth, DeclaredAnalyzer, debate_health
from roundtable.types import (
    AgentConfig,
    AgentResponse,
    Citation,
    Comparison,
    RoundRecord,
    Turn,
    TurnKey,
    TurnResult,
    utc_now,
)

NAMES = "abcde"
WORDS = ("Lisbon", "The capital", "It is Porto", "42", "43", "yes", "No")
VERDICTS = st.sampled_from([None, None, "same", "same", "different"])
NOW = utc_now()
Said = dict[str, AgentResponse]
Verdicts = dict[tuple[str, str], str | None]


@st.composite
def debates(draw: st.DrawFn) -> list[tuple[Said, Verdicts]]:
    """Draw two or three rounds; from the second on, each answer compares itself with those before it, by agent."""
    names = NAMES[: draw(st.integers(2, 5))]
    rounds = []
    for number in range(draw(st.integers(2, 3))):
        said = {
            name: AgentResponse(
                agent_id=name,
                agent_name=name,
                position=draw(st.sampled_from(WORDS)),
                confidence=draw(st.sampled_from([0.5, 0.9])),
                stance=draw(st.sampled_from([None, None, "YES", "NO"])),
                citations=draw(st.sampled_from([(), (Citation(title="t", url="https://one.example"),)])),
                timestamp=NOW,
            )
            for name in names
        }
        verdicts = {(one, other): draw(VERDICTS) for one in names for other in names} if number else {}
        rounds.append((said, verdicts))
    return rounds


def records(rounds: list[tuple[Said, Verdicts]], seats: list[str]) -> list[RoundRecord]:
    """Seat the agents of a debate in an order, and measure it."""
    earlier: dict[TurnKey, AgentResponse] = {}
    made = []
    for number, (said, verdicts) in enumerate(rounds, 1):
        answers = [
            said[one].model_copy(
                update={
                    "compared": tuple(
                        Comparison(turn=TurnKey(number - 1, "positions", seats.index(other)), verdict=verdict)
                        for other in seats
                        if (verdict := verdicts.get((one, other))) is not None
                    )
                }
            )
            for one in seats
        ]
        turns = [
            Turn(
                round=number,
                stage="positions",
                slot=slot,
                agent_id=answer.agent_id,
                agent_name=answer.agent_name,
                timestamp=NOW,
                result=TurnResult(answer=answer),
            )
            for slot, answer in enumerate(answers)
        ]
        earlier |= {turn.key: answer for turn, answer in zip(turns, answers, strict=True)}
        consensus = DeclaredAnalyzer().analyze(answers, earlier)
        made.append(RoundRecord(number=number, turns=tuple(turns), consensus=consensus, complete=True))
    return made


def health(rounds: list[tuple[Said, Verdicts]], seats: list[str]) -> DebateHealth:
    agents = [AgentConfig(id=name, name=name, provider="p") for name in seats]
    found = debate_health(records(rounds, seats), agents)
    assert found is not None
    return found.model_copy(update={"sycophancy": tuple(sorted(found.sycophancy, key=lambda one: one.agent_id))})


@law(5, rounds=debates(), order=st.randoms(use_true_random=False))
def test_the_order_of_seats_does_not_change_the_health_of_a_debate(
    rounds: list[tuple[Said, Verdicts]],
    order: st.Random,  # type: ignore[name-defined]
) -> None:
    seats = list(rounds[0][0])
    shuffled = list(seats)
    order.shuffle(shuffled)
    assert health(rounds, shuffled) == health(rounds, seats)
