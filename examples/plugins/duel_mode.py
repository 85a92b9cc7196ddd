"""A mode: the first two agents answer each other, the others judge what they heard."""

from __future__ import annotations

from roundtable import hookimpl
from roundtable.modes import BaseModeStrategy
from roundtable.types import EndRound, Stage, TurnSpec, Visible


class DuelMode(BaseModeStrategy):
    """Two speak, one after the other; then everybody else answers having heard both."""

    name = "duel"
    summary = "Two agents answer each other, the others judge."

    def next_stage(self, view):
        """Plan the next speakers of this round."""
        held = {turn.stage for turn in view.transcript if turn.round == view.current_round}
        duellists, judges = view.agents[:2], view.agents[2:]
        for stage, seats in (("attack", duellists[:1]), ("answer", duellists[1:]), ("judgement", judges)):
            if seats and stage not in held:
                return Stage(name=stage, turns=tuple(self._turn(view, *found) for found in enumerate(seats)))
        return EndRound()

    def _turn(self, view, slot, seat):
        heard = [turn.key for turn in view.transcript if turn.outcome == "answered"]
        return TurnSpec(
            slot=slot,
            agent=seat.id,
            task="Answer what was said, and give your position." if heard else "State your own position.",
            sees=tuple(Visible(turn=key, shown_as=f"Speaker {place}") for place, key in enumerate(heard, 1)),
            options=view.options,
        )


@hookimpl
def roundtable_register_modes(registrar):
    """Offer it as `mode="duel"`."""
    registrar.add("duel", DuelMode(), summary=DuelMode.summary)
