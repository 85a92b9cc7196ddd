"""What every debate mode must do, as tests that the author of one inherits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.modes import ModeRegistry, WrappedMode, first_turn_findings, rehearse
from roundtable.stages import narrow
from roundtable.testing.mode_samples import LATER, MARK, debates, fewest_agents, opening_views
from roundtable.testing.suite import Suite, at_once, drawn_law
from roundtable.types import DebateContext, Stage
from roundtable.types.plan import EXTERNAL

if TYPE_CHECKING:
    from roundtable.protocols import DebateModeStrategy
    from roundtable.testing.mode_samples import Played
    from roundtable.types import Plan

__all__ = ["ModeSuite"]

# A mode holds no state, so one fixture may serve every drawn debate; the suite is inherited by design.
_LAW = drawn_law(30)


class _Hurried(WrappedMode):
    """A mode that has to plan at once."""

    def next_stage(self, view: DebateContext) -> Plan:
        """Plan as the other mode does.

        Raises:
            AssertionError: It waited.
        """
        return at_once(partial(self.inner.next_stage, view))


def _wait_of(mode: DebateModeStrategy) -> str | None:
    """Play a small debate and say whether the mode waits where it should compute."""
    try:
        for _ in rehearse(_Hurried(mode), agents=max(3, fewest_agents(mode)), rounds=mode.rounds.start):
            pass
    except AssertionError as error:
        return str(error)
    except Exception:  # noqa: BLE001  (what else is wrong with the mode, the laws say)
        return None
    return None


class ModeSuite(Suite):
    """Inherit this, give one fixture, and the mode is held to the `DebateModeStrategy` protocol.

    The laws are tried on drawn debates in which turns fail and outsiders add positions.

    Example:
        ```python
        class TestMine(ModeSuite):
            @pytest.fixture
            def mode(self):
                return MyMode()
        ```
    """

    most_agents: ClassVar[int] = 9
    """Seats at the table, at most."""
    most_rounds: ClassVar[int] = 6
    """Rounds, at most."""
    _waits: ClassVar[dict[tuple[type[object], str], str | None]] = {}

    @pytest.fixture
    def mode(self) -> DebateModeStrategy:
        """Give the mode under test."""
        raise NotImplementedError("a mode suite needs a fixture `mode`")

    @pytest.fixture(autouse=True)
    def plans_at_once(self, mode: DebateModeStrategy) -> None:
        """Fail for a mode that waits before it is tried on hundreds of drawn debates, in each of which it would."""
        kind = (type(mode), mode.name)
        if kind not in self._waits:
            self._waits[kind] = _wait_of(mode)
        assert self._waits[kind] is None, self._waits[kind]

    def _played(self, data: st.DataObject, mode: DebateModeStrategy) -> Played:
        return data.draw(debates(mode, most_agents=self.most_agents, most_rounds=self.most_rounds))

    def test_it_can_be_registered(self, mode: DebateModeStrategy) -> None:
        """It has every part of a mode, a name, and numbers of rounds that make sense."""
        registry = ModeRegistry(builtin=False)
        registry.register_mode(mode.name, mode)
        assert registry.get_mode(mode.name) is mode
        assert isinstance(mode.rounds, range)
        assert len(mode.rounds) > 0
        assert mode.rounds.start >= 1
        assert mode.rounds.step == 1
        assert isinstance(mode.needs_groupthink_detection, bool)
        assert isinstance(mode.assigns_stances, bool)

    @_LAW
    @given(data=st.data())
    def test_every_round_ends(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """After finitely many stages, each with a turn and a name of its own, whoever fails."""
        played = self._played(data, mode)
        for view, stage in played.stages:
            assert stage.turns, f"the stage {stage.name!r} asks nobody"
            held = {turn.stage for turn in view.transcript if turn.round == view.current_round}
            assert stage.name not in held, f"the stage {stage.name!r} is planned twice in one round"
            assert stage.name != EXTERNAL, f"the name {EXTERNAL!r} is kept for positions from outside"

    @_LAW
    @given(data=st.data())
    def test_somebody_is_asked_in_the_first_round(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """A debate of as few agents as the mode allows, or more, begins with a stage."""
        view = data.draw(opening_views(self.most_agents, fewest_agents=fewest_agents(mode)))
        assert isinstance(mode.next_stage(view), Stage)

    def test_opening_instructions_answer_nobody(self, mode: DebateModeStrategy) -> None:
        """A prompt that shows no earlier answer never speaks of somebody who would have spoken."""
        assert first_turn_findings(mode) == []

    @_LAW
    @given(data=st.data())
    def test_the_same_transcript_gives_the_same_plan(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """At once, in whatever order it is asked, and from a transcript that was stored and read back."""
        played = self._played(data, mode)
        for view, plan in reversed(played.steps):
            before = view.to_json()
            assert at_once(partial(mode.next_stage, view)) == plan
            assert mode.next_stage(DebateContext.from_json(before)) == plan
            assert view.to_json() == before, "the plan changed the view it was made from"

    @_LAW
    @given(data=st.data())
    def test_only_those_at_the_table_are_asked(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """A plan names agents by the ids of their seats."""
        played = self._played(data, mode)
        for view, stage in played.stages:
            assert {spec.agent for spec in stage.turns} <= {seat.id for seat in view.agents}

    @_LAW
    @given(data=st.data())
    def test_a_turn_sees_turns_that_were_taken(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """Each at most once, none of its own stage, and after narrowing nothing else."""
        played = self._played(data, mode)
        for view, stage in played.stages:
            answered = {turn.key for turn in view.transcript if turn.outcome == "answered"}
            for spec in stage.turns:
                seen = [visible.turn for visible in spec.sees]
                assert len(set(seen)) == len(seen)
                assert set(seen) <= answered
                shown = narrow(view, spec)
                assert {turn.key for turn in shown.transcript} == set(seen)
                assert len(shown.previous_responses) <= len(seen)

    @_LAW
    @given(data=st.data())
    def test_instructions_hold_nothing_that_others_wrote(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """Task, brief and role become part of the system prompt: no topic, no answer, no option may stand there."""
        played = self._played(data, mode)
        for view, stage in played.stages:
            for spec in stage.turns:
                texts = (stage.name, spec.task, spec.brief, spec.role, mode.build_agent_prompt(narrow(view, spec)))
                assert not any(MARK in text for text in texts)

    @_LAW
    @given(data=st.data())
    def test_a_turn_is_asked_for_something(self, mode: DebateModeStrategy, data: st.DataObject) -> None:
        """Every turn has a task, and choices are offered wherever the debate has options."""
        played = self._played(data, mode)
        for view, stage in played.stages:
            for spec in stage.turns:
                assert spec.task.strip()
                if view.options and spec.answer != "text":
                    assert spec.options or spec.answer == "plan"

    @_LAW
    @given(data=st.data())
    def test_it_does_not_matter_in_which_order_the_turns_of_a_stage_ended(
        self, mode: DebateModeStrategy, data: st.DataObject
    ) -> None:
        """The next plan is the same when they were done at other times and took other whiles."""
        played = self._played(data, mode)
        for view, plan in played.steps:
            late = tuple(
                turn.model_copy(update={"duration_s": float(place), "timestamp": LATER})
                for place, turn in enumerate(reversed(view.transcript))
            )
            assert mode.next_stage(view.model_copy(update={"transcript": late[::-1]})) == plan
