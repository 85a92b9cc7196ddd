"""Conformance tests for stop criteria, to inherit in the tests of a criterion."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.core.errors import ConfigurationError
from roundtable.core.types.answers import AgentResponse, BallotAnswer
from roundtable.core.types.chat import Usage
from roundtable.core.types.consensus import ConsensusResult
from roundtable.core.types.debate import ErrorInfo, ExitResult, FailedTurn, RoundRecord, Turn, TurnResult
from roundtable.core.types.plan import JUDGE_STAGE, MODERATOR_STAGE
from roundtable.exits import AllOf, AnyOf, Exit, MaxRounds, exit_from_spec, exit_registry
from roundtable.testing.clocks import same_at_any_time
from roundtable.testing.storage_samples import NOON
from roundtable.testing.suite import Suite, at_once, drawn_law

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundtable.core.base.registry import Registry
    from roundtable.exits import ExitFactory

__all__ = ["ExitSuite", "played_rounds"]

_LAW = drawn_law(40)


@st.composite
def played_rounds(draw: st.DrawFn, most: int = 4) -> tuple[RoundRecord, ...]:
    """Draw the complete rounds of a debate of two or three agents, at least one round."""
    agents = draw(st.sampled_from((("ada", "bo"), ("ada", "bo", "cy"))))
    return tuple(_round(draw, number, agents) for number in range(1, draw(st.integers(1, most)) + 1))


def _round(draw: st.DrawFn, number: int, agents: Sequence[str]) -> RoundRecord:
    turns = tuple(
        Turn(
            round=number,
            stage="opening",
            slot=slot,
            agent_id=agent,
            timestamp=NOON,
            result=TurnResult(
                answer=AgentResponse(
                    agent_id=agent,
                    agent_name=agent.title(),
                    position=draw(st.sampled_from(("yes", "no", "maybe"))),
                    confidence=draw(st.sampled_from((0.1, 0.9))),
                )
            ),
        )
        for slot, agent in enumerate(agents)
    )
    level = draw(st.none() | st.sampled_from((0.0, 0.5, 0.9, 1.0)))
    consensus = None if level is None else ConsensusResult(agreement_level=level, summary="So far.", method="basic")
    return RoundRecord(number=number, turns=turns, complete=True, consensus=consensus)


_AGENTS: Final = ("ada", "bo", "cy")


def _position(number: int, agent: str, position: str, confidence: float, **more: object) -> Turn:
    answer = AgentResponse(agent_id=agent, agent_name=agent.title(), position=position, confidence=confidence)
    return _turn(number, agent, TurnResult(answer=answer, usage=Usage(calls=5, input_tokens=5_000)), **more)


def _turn(number: int, agent: str, result: TurnResult, **more: object) -> Turn:
    facts: dict[str, object] = {"stage": "opening", "slot": _AGENTS.index(agent), **more}
    return Turn.model_validate(
        {"round": number, "agent_id": agent, "timestamp": NOON, "result": result, "duration_s": 60.0, **facts}
    )


def _failed_turn(number: int, agent: str) -> FailedTurn:
    return FailedTurn(
        round=number,
        stage="opening",
        slot=_AGENTS.index(agent),
        agent_id=agent,
        agent_name=agent.title(),
        timestamp=NOON,
        duration_s=60.0,
        usage=Usage(calls=5, input_tokens=5_000),
        error=ErrorInfo(name="AgentError", message="No answer.", code="AGENT_ERROR"),
    )


def _measured(level: float, *, at_most: float) -> ConsensusResult:
    return ConsensusResult(agreement_level=level, agreement_at_most=at_most, summary="So far.", method="basic")


_DISAGREEMENT: Final = _measured(0.0, at_most=0.0)


def _unanimous(rounds: int, position: str) -> tuple[RoundRecord, ...]:
    """Return rounds in which all agents, a judge and a moderator agree, are sure, and want to end."""
    end = TurnResult(answer=BallotAnswer(choice="end", reasoning="All is said."))
    return tuple(
        RoundRecord(
            number=number,
            complete=True,
            consensus=_measured(1.0, at_most=1.0),
            turns=(
                *(_position(number, agent, position, 1.0) for agent in _AGENTS),
                _position(number, "ada", "stop", 1.0, stage=JUDGE_STAGE, role="judge"),
                _turn(number, "bo", end, stage=MODERATOR_STAGE, role="facilitator"),
            ),
        )
        for number in range(1, rounds + 1)
    )


def _divided(rounds: int, consensus: ConsensusResult | None, *, changing: bool = True) -> tuple[RoundRecord, ...]:
    """Return rounds in which each agent has an answer of its own, which it changes in each round or keeps."""
    return tuple(
        RoundRecord(
            number=number,
            complete=True,
            consensus=consensus,
            turns=tuple(
                _position(number, agent, f"answer {number if changing else 1} of {agent}", 0.1) for agent in _AGENTS
            ),
        )
        for number in range(1, rounds + 1)
    )


def _incomparable(rounds: int) -> Iterator[tuple[str, tuple[RoundRecord, ...]]]:
    """Yield rounds of which no two answers can be compared, and what happened in them."""
    numbers = range(1, rounds + 1)

    def speaks(agent: str, number: int) -> bool:
        return _AGENTS.index(agent) == number % len(_AGENTS)

    yield "nobody compared the answers", _divided(rounds, _measured(0.0, at_most=1.0))
    yield "agreement was not measured", _divided(rounds, None)
    yield "nobody was asked", tuple(RoundRecord(number=number, complete=True) for number in numbers)
    yield (
        "every turn failed",
        tuple(
            RoundRecord(number=number, complete=True, turns=tuple(_failed_turn(number, agent) for agent in _AGENTS))
            for number in numbers
        ),
    )
    yield (
        "each answer came from another agent",
        tuple(
            RoundRecord(
                number=number,
                complete=True,
                turns=tuple(
                    _position(number, agent, f"answer {number}", 0.1)
                    if speaks(agent, number)
                    else _failed_turn(number, agent)
                    for agent in _AGENTS
                ),
            )
            for number in numbers
        ),
    )


_MOST_ROUNDS: Final = 6
_ENDINGS: Final = (
    *(_unanimous(_MOST_ROUNDS, position) for position in ("yes", "no", "maybe")),
    _divided(_MOST_ROUNDS, _DISAGREEMENT),
    *(rounds for _, rounds in _incomparable(_MOST_ROUNDS)),
)


class ExitSuite(Suite):
    """Tests of a stop criterion: inherit this class, and define the fixture `criterion`.

    Example:
        ```python
        class TestNight(ExitSuite):
            @pytest.fixture
            def criterion(self):
                return Night(after="22:00")
        ```
    """

    ends_without_answers: ClassVar[bool] = False
    """Whether the criterion may end a debate because nobody answers, or because no answers can be compared."""

    @pytest.fixture
    def endings(self) -> Sequence[Sequence[RoundRecord]]:
        """Return debates, as their rounds; the criterion has to end one of them. Override it with rounds of your own.

        By default, these are debates of six rounds with "yes", "no" or "maybe" from everybody, a judge who says "stop"
        and a moderator who says "end"; debates in which nobody agrees, and in which nobody answers.
        """
        return _ENDINGS

    @pytest.fixture
    def criterion(self) -> Exit:
        """Return the criterion under test."""
        raise NotImplementedError("an exit suite needs a fixture `criterion`")

    @pytest.fixture(autouse=True)
    def checks_at_once(self, criterion: Exit) -> None:
        """Fail early if the criterion waits."""
        self.refuse_waiting(partial(criterion.check, [RoundRecord(number=1, complete=True)]))

    def _registry(self, criterion: Exit) -> Registry[ExitFactory]:
        registry = exit_registry()
        if criterion.kind not in registry:
            registry.add(criterion.kind, type(criterion).from_spec, source="the plugin under test")
        return registry

    def test_it_has_a_kind_of_its_own(self, criterion: Exit) -> None:
        """Stored sessions name the kind, so it must be unique."""
        assert criterion.kind.strip()
        factory = self._registry(criterion).get(criterion.kind)
        assert getattr(factory, "__self__", type(criterion)) is type(criterion)

    def test_it_comes_back_from_its_json(self, criterion: Exit) -> None:
        """A resumed session must end by the same criterion."""
        registry = self._registry(criterion)
        spec = criterion.to_spec()
        assert spec["kind"] == criterion.kind
        assert exit_from_spec(json.loads(json.dumps(spec)), registry) == criterion
        for combined in (criterion | MaxRounds(3), criterion & MaxRounds(3)):
            assert exit_from_spec(json.loads(json.dumps(combined.to_spec())), registry) == combined

    def test_a_field_it_does_not_have_is_refused(self, criterion: Exit) -> None:
        """Unknown fields are refused before the debate starts."""
        with pytest.raises(ConfigurationError):
            exit_from_spec({**criterion.to_spec(), "noSuchField": 1}, self._registry(criterion))

    def test_it_is_a_value(self, criterion: Exit) -> None:
        """The criterion can be combined, compared and stored in sets, and is immutable."""
        again = exit_from_spec(criterion.to_spec(), self._registry(criterion))
        assert len({criterion, again}) == 1
        assert isinstance(criterion | MaxRounds(1), AnyOf)
        assert isinstance(criterion & MaxRounds(1), AllOf)
        with pytest.raises((AttributeError, TypeError)):
            criterion.noticed = True  # type: ignore[attr-defined]  # a frozen value must refuse this

    @_LAW
    @given(rounds=played_rounds())
    def test_the_same_rounds_give_the_same_result(self, criterion: Exit, rounds: tuple[RoundRecord, ...]) -> None:
        """The criterion has no state, does not wait, and does not change the rounds."""
        before = [record.to_json() for record in rounds]
        first: object = at_once(partial(criterion.check, rounds))
        assert isinstance(first, ExitResult), f"a criterion must return an ExitResult, not {type(first).__name__}"
        again = tuple(RoundRecord.from_json(text) for text in before)
        new = exit_from_spec(criterion.to_spec(), self._registry(criterion))
        assert [other.check(again) for other in (criterion, new, criterion, new)] == [first] * 4
        assert [record.to_json() for record in rounds] == before
        assert ExitResult.from_json(first.to_json()) == first

    def test_it_ends_a_debate(self, criterion: Exit, endings: Sequence[Sequence[RoundRecord]]) -> None:
        """The criterion ends a debate at some time; otherwise, only the number of rounds ends it."""
        assert any(
            criterion.check(rounds[:count]).should_exit for rounds in endings for count in range(1, len(rounds) + 1)
        ), f"{criterion!r} ends none of the debates in `endings`; define the fixture `endings` with one that it ends"

    def test_it_does_not_end_because_nothing_can_be_compared(self, criterion: Exit) -> None:
        """Where no answers can be compared, nobody agrees: the debate ends only if open disagreement also ends it."""
        if self.ends_without_answers:
            return
        for count in range(1, _MOST_ROUNDS + 1):
            if criterion.check(_divided(count, _DISAGREEMENT)).should_exit:
                continue
            for what, rounds in _incomparable(count):
                result = criterion.check(rounds)
                assert not result.should_exit, (
                    f"it ends after {count} rounds in which {what} (reason {result.reason!r}), but not after as many "
                    "rounds of disagreement; do not take `all()` of no answers for agreement, or set "
                    "ends_without_answers = True"
                )

    def test_it_does_not_read_the_clock(self, criterion: Exit) -> None:
        """Whether a debate ends does not depend on the wall clock: a resumed debate must end as before."""
        checks = [partial(criterion.check, rounds[:count]) for rounds in _ENDINGS for count in (1, _MOST_ROUNDS)]
        same_at_any_time(checks, criterion, f"the criterion {criterion.kind!r}")

    @_LAW
    @given(rounds=played_rounds())
    def test_an_end_has_a_reason(self, criterion: Exit, rounds: tuple[RoundRecord, ...]) -> None:
        """A result that ends the debate has a reason."""
        result = criterion.check(rounds)
        assert not result.should_exit or result.reason

    @_LAW
    @given(rounds=played_rounds())
    def test_the_order_of_agents_does_not_matter(self, criterion: Exit, rounds: tuple[RoundRecord, ...]) -> None:
        """Whether a debate ends depends neither on the order of the agents nor on when each of them answered.

        The order may change from round to round.
        """
        for played in (rounds, *(_divided(count, _DISAGREEMENT, changing=False) for count in range(1, _MOST_ROUNDS))):
            expected = criterion.check(played).should_exit
            for turned in (_seated_anew(played, step=-1), _seated_anew(played, step=1), _seated_by_turns(played)):
                assert criterion.check(turned).should_exit == expected, (
                    "in another order of the agents, the criterion decides differently; find the answers of an agent "
                    "by its `agent_id`, not by its place in the round"
                )

    def test_a_round_in_which_nobody_answered_never_breaks_it(self, criterion: Exit) -> None:
        """Rounds without turns, and rounds with only failed turns, lead to a result."""
        empty = RoundRecord(number=1, complete=True)
        for rounds in ((empty,), (empty.model_copy(update={"turns": (_failed_turn(1, "ada"),)}),)):
            assert isinstance(criterion.check(rounds), ExitResult)


def _seated_by_turns(rounds: Sequence[RoundRecord]) -> tuple[RoundRecord, ...]:
    """Return rounds in which every second one has its turns in reverse order."""
    turned = _seated_anew(rounds, step=-1)
    return tuple(pair[index % 2] for index, pair in enumerate(zip(rounds, turned, strict=True)))


def _seated_anew(rounds: Sequence[RoundRecord], *, step: int) -> tuple[RoundRecord, ...]:
    """Return rounds with the turns in reverse order; their times rise or fall by `step` seconds from turn to turn."""
    return tuple(
        record.model_copy(
            update={
                "turns": tuple(
                    turn.model_copy(update={"slot": slot, "timestamp": NOON + timedelta(seconds=step * slot)})
                    for slot, turn in enumerate(record.turns[::-1])
                )
            }
        )
        for record in rounds
    )
