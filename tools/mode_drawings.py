"""Draw who speaks when and sees whom as a picture that needs no script: seats are rows, stages are columns."""

from __future__ import annotations

from html import escape

from roundtable.modes import BaseModeStrategy, rehearse
from roundtable.types import TurnKey

COLUMN, ROW, WIDE, HIGH, LEFT, TOP = 168, 74, 128, 44, 84, 74
INK, PALE, LINE = "#1f2933", "#e4ecf7", "#6b8fc4"


def drawing(mode: BaseModeStrategy, *, agents: int = 3, rounds: int = 2) -> str:
    """Draw a mode as SVG text, its turns as `BaseModeStrategy.diagram` has them."""
    boxes: list[str] = []
    arrows: list[str] = []
    heads: list[str] = []
    places: dict[TurnKey, tuple[int, int]] = {}
    speakers: dict[int, str] = {}
    column = held = 0
    for view, stage in rehearse(mode, agents=agents, rounds=rounds):
        number = view.current_round
        x = LEFT + column * COLUMN
        if number != held:
            heads.append(_text(x, 24, f"Round {number}", bold=True, anchor="start"))
            heads += [f'<path d="M{x - 20} 12V{TOP + agents * ROW}" stroke="#c8d0da"/>'] * bool(held)
            held = number
        heads.append(_text(x + WIDE // 2, 50, stage.name))
        seats = [int(spec.agent.rpartition("-")[2]) for spec in stage.turns]
        # One agent that is asked several times at once has a row for each time.
        rows = [seat - 1 for seat in seats] if len(set(seats)) == len(seats) else list(range(len(seats)))
        for spec, row, seat in zip(stage.turns, rows, seats, strict=True):
            y = TOP + row * ROW
            speakers.setdefault(row, f"Agent {seat}")
            places[TurnKey(number, stage.name, spec.slot)] = (x, y)
            boxes.append(_box(x, y, spec.role, spec.answer, spec.speaks_as or ""))
            arrows += [_arrow(*places[seen.turn], x, y) for seen in spec.sees]
        column += 1
    names = [_text(12, TOP + row * ROW + HIGH // 2 + 4, name, anchor="start") for row, name in speakers.items()]
    width, height = LEFT + column * COLUMN - COLUMN + WIDE + 20, TOP + agents * ROW
    frame = f'<rect width="{width}" height="{height}" rx="8" fill="#fff"/>'
    marker = (
        '<defs><marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto">'
        f'<path d="M0 0L6 3L0 6z" fill="{LINE}"/></marker></defs>'
    )
    style = 'font-family="sans-serif" font-size="12"'
    title = f"<title>{escape(mode.name)}: who speaks when, and sees whom</title>"
    body = "\n".join([title, marker, frame, *heads, *names, *arrows, *boxes])
    size = f'viewBox="0 0 {width} {height}" width="{width}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n{body}\n</svg>\n'


def _text(x: int, y: int, words: str, *, bold: bool = False, anchor: str = "middle") -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{INK}"{weight}>{escape(words)}</text>'


def _box(x: int, y: int, role: str, answer: str, alias: str) -> str:
    below = alias or ("" if answer == "position" else answer)
    middle = x + WIDE // 2
    words = [_text(middle, y + (19 if below else 27), role)] + [_text(middle, y + 35, below)] * bool(below)
    rect = f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="6" fill="{PALE}" stroke="{LINE}"/>'
    return rect + "".join(words)


def _arrow(x: int, y: int, to_x: int, to_y: int) -> str:
    start, end, half = x + WIDE, to_x - 2, HIGH // 2
    bend = (end - start) // 2
    # Arrows along a row run above it, so that they cross no box.
    lift = -half - 8 if end - start > COLUMN and y == to_y else 0
    y, to_y = y + half, to_y + half
    path = f"M{start} {y}C{start + bend} {y + 2 * lift} {end - bend} {to_y + 2 * lift} {end} {to_y}"
    return f'<path d="{path}" fill="none" stroke="{LINE}" stroke-opacity=".55" marker-end="url(#tip)"/>'
