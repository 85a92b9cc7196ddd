"""Commands that say what there is: who would sit at the table and why, and which modes there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.api.offered import offered_modes
from roundtable.cli.codes import ExitCode
from roundtable.cli.lines import Line, line

if TYPE_CHECKING:
    from pydantic import JsonValue

    from roundtable.api.offered import ModeOffer
    from roundtable.api.seats import Offer
    from roundtable.cli.desk import Desk
    from roundtable.types import AgentConfig

__all__ = ["list_agents", "list_modes", "offer_data"]


async def list_agents(desk: Desk) -> ExitCode:
    """Say who would sit at the table, why, and what else could be used."""
    wiring, screen = desk.table.wiring, desk.screen
    offers = wiring.offers()
    given = wiring.options.agents is not None
    seats = [seat.config for seat in wiring.seats(None)]
    reasons = {offer.provider: offer.because for offer in offers if offer.usable}
    why = {seat.id: "named on the command line" if given else reasons.get(seat.provider, "") for seat in seats}
    if screen.as_json:
        screen.data({"agents": [_seat_data(seat, why[seat.id]) for seat in seats], "offers": offer_data(offers)})
        return ExitCode.OK
    screen.show([line("At the table:", "bold")])
    for seat in seats:
        model = f"{seat.provider}:{seat.model}" if seat.model else f"{seat.provider} (default model)"
        persona = f", speaks as {seat.persona.name}" if seat.persona else ""
        screen.show([line(f"{seat.name}: {model}{persona}; {why[seat.id]}", indent=2, hang=2)])
    unused = [offer for offer in offers if not offer.usable]
    if unused:
        screen.show([Line(""), line("Could be used:", "bold")])
        screen.show([line(f"{offer.provider} ({offer.because}): {offer.fix}", indent=2, hang=2) for offer in unused])
    return ExitCode.OK


def _seat_data(seat: AgentConfig, because: str) -> JsonValue:
    found: dict[str, JsonValue] = seat.model_dump(mode="json")
    return {**found, "because": because}


def offer_data(offers: tuple[Offer, ...]) -> JsonValue:
    """Give offers as JSON values."""
    return [
        {"provider": offer.provider, "because": offer.because, "usable": offer.usable, "fix": offer.fix}
        for offer in offers
    ]


async def list_modes(desk: Desk) -> ExitCode:
    """Say which debate modes there are."""
    screen, modes = desk.screen, offered_modes(desk.table.wiring)
    if screen.as_json:
        screen.data([{**mode.model_dump(mode="json"), "options": [*mode.options]} for mode in modes])
        return ExitCode.OK
    for mode in modes:
        screen.show(_mode_lines(mode))
    return ExitCode.OK


def _mode_lines(mode: ModeOffer) -> list[Line]:
    rounds = f"{mode.min_rounds} to {mode.max_rounds} rounds"
    agents = "one agent or more" if mode.min_agents == 1 else f"{mode.min_agents} agents or more"
    shown = [line(mode.name, "bold"), line(f"{mode.summary} {rounds}, {agents}.", indent=2, paragraph=True)]
    if mode.use_when:
        shown.append(line(f"Use it when: {mode.use_when}", indent=2, paragraph=True))
    if mode.options:
        example = ", ".join(f"{mode.name}:{name}={value}" for name, value in mode.options.items())
        shown.append(line(f"Can be set: {example}", indent=2, paragraph=True))
    return shown
