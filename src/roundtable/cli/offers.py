"""Commands that say what there is: who would sit at the table and why, and which modes there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.cli.codes import ExitCode
from roundtable.cli.lines import Line, line

if TYPE_CHECKING:
    from pydantic import JsonValue

    from roundtable._registry import Entry
    from roundtable.api.seats import Offer
    from roundtable.cli.desk import Desk
    from roundtable.protocols import DebateModeStrategy
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
    screen = desk.screen
    entries = list(desk.table.wiring.catalog.modes)
    most = desk.settings.max_rounds
    if screen.as_json:
        screen.data(
            [
                {
                    "name": entry.name,
                    "summary": entry.summary,
                    "useWhen": getattr(entry.thing, "use_when", ""),
                    "minRounds": entry.thing.rounds.start,
                    "maxRounds": min(entry.thing.rounds.stop - 1, most),
                    "minAgents": _fewest(entry.thing),
                    "options": [*_settable(entry.thing)],
                    "assignsStances": entry.thing.assigns_stances,
                    "source": entry.source,
                }
                for entry in entries
            ]
        )
        return ExitCode.OK
    for entry in entries:
        screen.show(_mode_lines(entry, most))
    return ExitCode.OK


def _mode_lines(entry: Entry[DebateModeStrategy], most: int) -> list[Line]:
    mode = entry.thing
    fewest, rounds = _fewest(mode), f"{mode.rounds.start} to {min(mode.rounds.stop - 1, most)} rounds"
    agents = "one agent or more" if fewest == 1 else f"{fewest} agents or more"
    shown = [line(entry.name, "bold"), line(f"{entry.summary} {rounds}, {agents}.", indent=2, paragraph=True)]
    if use := getattr(mode, "use_when", ""):
        shown.append(line(f"Use it when: {use}", indent=2, paragraph=True))
    if settable := _settable(mode):
        example = ", ".join(f"{entry.name}:{name}={value}" for name, value in settable.items())
        shown.append(line(f"Can be set: {example}", indent=2, paragraph=True))
    return shown


def _fewest(mode: DebateModeStrategy) -> int:
    counts = getattr(mode, "agent_counts", None)
    return counts.start if isinstance(counts, range) else 1


def _settable(mode: DebateModeStrategy) -> dict[str, str]:
    """Give what can be set in a mode's name, with what may stand behind it."""
    readers = getattr(mode, "options", {})
    return {name: getattr(reader, "takes", "VALUE") for name, reader in readers.items()}
