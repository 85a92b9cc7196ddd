"""Every mode that ships keeps the laws of all modes; a mode that breaks one is caught."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from roundtable.errors import ConfigurationError
from roundtable.modes import BUILTIN_MODES, BaseModeStrategy, ModeRegistry
from roundtable.protocols import DebateModeStrategy
from roundtable.testing.mode_suite import ModeSuite
from roundtable.types import DebateContext, EndDebate, EndRound, Plan, Stage, TurnKey, TurnSpec, Visible


@pytest.mark.parametrize("mode", [name for name, _, _ in BUILTIN_MODES], indirect=True)
class TestBuiltinModes(ModeSuite):
    most_agents = 5
    most_rounds = 3

    @pytest.fixture
    def mode(self, request: pytest.FixtureRequest) -> DebateModeStrategy:
        return ModeRegistry().get_mode(request.param)


class Sample(BaseModeStrategy):
    """A mode that keeps the laws; each planted fault overrides one thing."""

    name = "sample"

    def next_stage(self, view: DebateContext) -> Plan:
        return EndRound() if self.turns_of_round(view) else self.stage(view)

    def stage(self, view: DebateContext, **changes: object) -> Stage:
        facts = {"slot": 0, "agent": view.agents[0].id, "task": "Speak.", "options": view.options, **changes}
        return Stage(name="speech", turns=(TurnSpec.model_validate(facts),))


class Endless(Sample):
    def next_stage(self, view: DebateContext) -> Plan:
        return self.stage(view).model_copy(update={"name": f"stage {len(view.transcript)}"})


class Repeating(Sample):
    def next_stage(self, view: DebateContext) -> Plan:
        return EndRound() if len(self.turns_of_round(view)) > 1 else self.stage(view)


class Lonely(Sample):
    def next_stage(self, view: DebateContext) -> Plan:
        return EndRound() if self.turns_of_round(view) else Stage(name="nobody", turns=())


class Silent(Sample):
    def next_stage(self, view: DebateContext) -> Plan:
        return EndRound()


class Counting(Sample):
    def __init__(self) -> None:
        self.count = itertools.count()

    def stage(self, view: DebateContext, **changes: object) -> Stage:
        return super().stage(view, role=f"speaker {next(self.count)}")


class Inviting(Sample):
    def stage(self, view: DebateContext, **changes: object) -> Stage:
        return super().stage(view, agent="somebody else")


class Peeking(Sample):
    def stage(self, view: DebateContext, **changes: object) -> Stage:
        return super().stage(view, sees=(Visible(turn=TurnKey(9, "later", 0), shown_as="x"),))


class Doubling(Sample):
    def stage(self, view: DebateContext, **changes: object) -> Stage:
        return super().stage(view, sees=self.earlier_positions(view) * 2)


class Trusting(Sample):
    def stage(self, view: DebateContext, **changes: object) -> Stage:
        return super().stage(view, task=f"Answer {view.topic}.")


class Mute(Sample):
    def stage(self, view: DebateContext, **changes: object) -> Stage:
        return super().stage(view, task=" ")


class Optionless(Sample):
    def stage(self, view: DebateContext, **changes: object) -> Stage:
        return super().stage(view, options=None)


class Unending(Sample):
    rounds = range(0)


class Nameless(Sample):
    name = ""


class Hasty(Sample):
    def stage(self, view: DebateContext, **changes: object) -> Stage:
        return super().stage(view, task="Rebut what the other agents said.")


class Timed(Sample):
    def stage(self, view: DebateContext, **changes: object) -> Stage:
        slow = any(turn.duration_s > 0 for turn in view.transcript)
        return super().stage(view, role="hurried" if slow else "calm")


class Ending(Sample):
    """No fault: a mode may end the debate itself."""

    def next_stage(self, view: DebateContext) -> Plan:
        return EndDebate(reason="said all") if self.turns_of_round(view) else self.stage(view)


LAWS = [name for name in vars(ModeSuite) if name.startswith("test_")]
FAULTS = {
    Endless: "test_every_round_ends",
    Repeating: "test_every_round_ends",
    Lonely: "test_every_round_ends",
    Silent: "test_somebody_is_asked_in_the_first_round",
    Counting: "test_the_same_transcript_gives_the_same_plan",
    Inviting: "test_only_those_at_the_table_are_asked",
    Peeking: "test_a_turn_sees_turns_that_were_taken",
    Doubling: "test_a_turn_sees_turns_that_were_taken",
    Trusting: "test_instructions_hold_nothing_that_others_wrote",
    Mute: "test_a_turn_is_asked_for_something",
    Optionless: "test_a_turn_is_asked_for_something",
    Unending: "test_it_can_be_registered",
    Nameless: "test_it_can_be_registered",
    Hasty: "test_opening_instructions_answer_nobody",
    Timed: "test_it_does_not_matter_in_which_order_the_turns_of_a_stage_ended",
}


class Suite(ModeSuite):
    most_agents = 3
    most_rounds = 3


@pytest.mark.parametrize(("kind", "law"), FAULTS.items(), ids=lambda value: getattr(value, "__name__", value))
def test_a_planted_fault_breaks_its_law(kind: type[Sample], law: str) -> None:
    check = getattr(Suite(), law)
    drawn = getattr(check, "hypothesis", None)

    # Found is enough: to make the example small takes longer than all other laws together.
    @settings(max_examples=200, phases=[Phase.generate], deadline=None)
    @given(data=st.data())
    def found(data: st.DataObject) -> None:
        drawn.inner_test(Suite(), mode=kind(), data=data)

    with pytest.raises((AssertionError, ConfigurationError)):
        check(mode=kind()) if drawn is None else found()


@pytest.mark.parametrize("kind", [Sample, Ending], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "law",
    [
        pytest.param(law, marks=pytest.mark.slow) if law == "test_the_plan_is_the_same_in_every_process" else law
        for law in LAWS
    ],
)
def test_a_sound_mode_keeps_every_law(kind: type[Sample], law: str) -> None:
    getattr(Suite(), law)(mode=kind())
