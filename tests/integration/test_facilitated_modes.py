"""A mode of a plugin asks a model that does not debate, by the same means as the built-in panel."""

from __future__ import annotations

import copy

import pytest

from roundtable import Roundtable
from roundtable.core.mode.base import NO_TOOLS, BaseModeStrategy
from roundtable.core.mode.shapes import Step, nothing, parallel
from roundtable.protocols import Facilitated
from roundtable.providers.scripted import ScriptedModel
from roundtable.testing import scripted_agents
from roundtable.types import DebateConfig, DebateContext, Seat, TurnSpec, Visible

pytestmark = pytest.mark.anyio


def answer(view: DebateContext, seat: Seat, sees: tuple[Visible, ...]) -> TurnSpec:
    return TurnSpec(slot=0, agent=seat.id, task="Answer.", sees=sees, options=view.options)


class BriefedMode(BaseModeStrategy):
    """Agents answer at once, after a facilitator has written a brief."""

    name = "briefed"
    summary = "All at once, after a brief."
    facilitator: str | None = None

    def needs_facilitator(self, config: DebateConfig) -> bool:
        return config.topic != "No brief?"

    def with_facilitator(self, facilitator: str) -> BriefedMode:
        copied = copy.copy(self)
        copied.facilitator = facilitator
        return copied

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        seats = (Seat(id=self.facilitator, name="Facilitator"),) if self.facilitator is not None else ()
        brief = parallel(
            view,
            lambda seat, _: TurnSpec(
                slot=0, agent=seat.id, role="facilitator", answer="text", task="Write a brief.", tools=NO_TOOLS
            ),
            seats=seats if view.current_round == 1 else (),
            sees=nothing,
            name="brief",
        )
        return brief + parallel(view, lambda seat, sees: answer(view, seat, sees))


def table() -> Roundtable:
    agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
    return Roundtable(agents, seats={"facilitator": ScriptedModel(["Think of the water."])}, storage="memory://")


async def test_a_mode_of_a_plugin_has_a_facilitator_who_does_not_debate() -> None:
    assert isinstance(BriefedMode(), Facilitated)
    async with table() as held:
        result = await held.debate("Tea?", rounds=2, mode=BriefedMode())
        turns = result.rounds[0].turns
        assert [turn.stage for turn in turns].count("brief") == 1
        assert turns[0].agent_id not in {"ada", "bo"}
        assert "Think of the water." in str(turns[0].answer)
        assert result.usage.calls == 5
        assert result.answer == "Tea"
        assert len(result.rounds[0].responses) == 2


async def test_the_facilitators_call_is_in_the_estimate() -> None:
    held = table()
    with_brief = held.estimate("Tea?", rounds=1, mode=BriefedMode())
    without = held.estimate("No brief?", rounds=1, mode=BriefedMode())
    assert (with_brief.planned_calls, without.planned_calls) == (3, 2)


async def test_a_mode_that_needs_no_facilitator_today_gets_none() -> None:
    async with table() as held:
        result = await held.debate("No brief?", rounds=1, mode=BriefedMode())
        assert [turn.agent_id for turn in result.rounds[0].turns] == ["ada", "bo"]


async def test_a_mode_with_only_one_of_the_two_methods_has_no_facilitator() -> None:
    class Half(BaseModeStrategy):
        name = "half"

        def needs_facilitator(self, config: DebateConfig) -> bool:
            return True

        def steps(self, view: DebateContext) -> tuple[Step, ...]:
            return parallel(view, lambda seat, sees: answer(view, seat, sees))

    async with table() as held:
        result = await held.debate("Tea?", rounds=1, mode=Half())
        assert [turn.agent_id for turn in result.rounds[0].turns] == ["ada", "bo"]
