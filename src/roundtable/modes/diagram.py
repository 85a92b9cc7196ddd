"""A mode as Mermaid text: one box a turn, grouped by round and stage, with an arrow from whoever is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.modes.rehearsal import check_fits, rehearse, table_of
from roundtable.types import TurnKey

if TYPE_CHECKING:
    from roundtable.protocols import DebateModeStrategy
    from roundtable.types import Stage, TurnSpec

__all__ = ["diagram"]


def diagram(mode: DebateModeStrategy, *, agents: int = 3, rounds: int = 2) -> str:
    """Draw who speaks when and sees whom.

    Args:
        mode: The mode.
        agents: Number of agents drawn.
        rounds: Number of rounds drawn.

    Returns:
        Mermaid text. Boxes of one stage speak at once; an arrow leads from a turn to each that sees it, with the
        name it is shown under where that is not its own.

    Raises:
        ConfigurationError: The mode cannot be held by so many, or for so long.
    """
    check_fits(mode, mode.name, agents=agents, rounds=rounds)
    names = {seat.id: seat.name for seat in table_of(agents)}
    boxes: list[str] = []
    arrows: list[str] = []
    nodes: dict[TurnKey, tuple[str, str]] = {}
    held = 0
    for view, stage in rehearse(mode, agents=agents, rounds=rounds):
        if view.current_round != held:
            boxes += ["  end"] * bool(held)
            held = view.current_round
            boxes += [f'  subgraph round{held}["Round {held}"]']
        place = len({(key.round, key.stage) for key in nodes}) + 1
        boxes += _stage_lines(held, stage, place, names, nodes)
        for spec in stage.turns:
            arrows += _arrows(spec, nodes[TurnKey(held, stage.name, spec.slot)][0], nodes)
    boxes += ["  end"] * bool(held)
    return "\n".join(["flowchart LR", *boxes, *arrows]) + "\n"


def _stage_lines(
    number: int, stage: Stage, place: int, names: dict[str, str], nodes: dict[TurnKey, tuple[str, str]]
) -> list[str]:
    lines = [f'    subgraph r{number}s{place}["{stage.name}"]']
    for spec in stage.turns:
        node, name = f"r{number}s{place}t{spec.slot}", names[spec.agent]
        nodes[TurnKey(number, stage.name, spec.slot)] = (node, name)
        asked = "" if spec.answer == "position" else f": {spec.answer}"
        lines.append(f'      {node}["{name}<br/>{spec.role}{asked}"]')
    return [*lines, "    end"]


def _arrows(spec: TurnSpec, node: str, nodes: dict[TurnKey, tuple[str, str]]) -> list[str]:
    lines = []
    for seen in spec.sees:
        source, name = nodes[seen.turn]
        label = "" if seen.shown_as == name else f'|"{seen.shown_as}"|'
        lines.append(f"  {source} -->{label} {node}")
    return lines
