"""A report as plain text, for terminals and logs: answers, costs, rounds."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from roundtable.core.types.answers import PlanAnswer, TextAnswer
from roundtable.report.sanitize import plain, unmarked
from roundtable.report.view import answer_line, heading, percent, short_name, trust_lines

if TYPE_CHECKING:
    from roundtable.core.types.answers import Answer
    from roundtable.core.types.chat import Usage
    from roundtable.report.view import FlowCell, FlowView, PairTable, ReportView, SpeakerView

__all__ = ["Words", "cost_in_words", "flow_lines", "in_words", "pair_lines", "to_text"]

_LEAST_SHOWN_USD: Final = 0.00005
"""Smallest amount that is not shown as 0.0000 USD."""

_WIDTH = 100
_SHORTEST_NAME = 12
_LONGEST_NAME = 24
_CELL = 9
_MOVES = {"moved": ">", "not compared": "?"}


def cost_in_words(usage: Usage) -> str:
    """Describe the cost of calls in words, with the savings by caches and batches; if unknown, with its known part.

    Example:
        >>> from roundtable.types import Usage
        >>> cost_in_words(Usage(calls=1, cost_usd=0.0123)), cost_in_words(Usage(calls=1))
        ('cost 0.0123 USD', 'cost unknown')
        >>> cost_in_words(Usage(calls=1, cost_usd=0.5) + Usage(calls=1))
        'cost unknown (0.5000 USD of it known)'
        >>> cost_in_words(Usage(calls=1, cost_usd=0.5, saved_usd=0.25))
        'cost 0.5000 USD (0.2500 USD saved)'
    """
    if usage.cost_usd is not None:
        saved = f" ({usage.saved_usd:.4f} USD saved)" if (usage.saved_usd or 0) >= _LEAST_SHOWN_USD else ""
        return f"cost {usage.cost_usd:.4f} USD{saved}"
    if (usage.partial_cost_usd or 0) < _LEAST_SHOWN_USD:
        return "cost unknown"
    return f"cost unknown ({usage.partial_cost_usd:.4f} USD of it known)"


class Words(NamedTuple):
    """An answer in words."""

    says: str
    """The answer, in one line."""
    why: str
    """The reasons, in any number of lines."""


def in_words(answer: Answer) -> Words:
    """Describe an answer and its reasons in words.

    Example:
        >>> from roundtable.types import BallotAnswer, RankingAnswer
        >>> in_words(BallotAnswer(choice="Tea", reasoning="It keeps."))
        Words(says='votes: Tea', why='It keeps.')
        >>> in_words(RankingAnswer(ranking=(("Tea",), ("Mate", "Milk")))).says
        'ranks: Tea > Mate = Milk'
    """
    is_unread = not isinstance(answer, PlanAnswer | TextAnswer) and answer.is_unread
    abstains = "votes in a way that could not be read" if is_unread else "abstains"
    match answer.kind:
        case "position":
            return Words(answer.position, answer.reasoning)
        case "ballot":
            return Words(abstains if answer.choice is None else f"votes: {answer.choice}", answer.reasoning)
        case "ranking":
            order = " > ".join(" = ".join(group) for group in answer.ranking)
            return Words(f"ranks: {order}" if order else abstains, answer.reasoning)
        case "approval":
            accepted = abstains if answer.approved is None else f"accepts: {', '.join(answer.approved) or 'none'}"
            return Words(accepted, answer.reasoning)
        case "scores":
            scores = ", ".join(f"{option} {score:g}" for option, score in answer.scores.items())
            return Words(f"scores: {scores}" if scores else abstains, answer.reasoning)
        case "plan":
            criteria = "".join(f"\n- {criterion}" for criterion in answer.success_criteria)
            return Words(f"plans: {answer.goal}", f"{answer.strategy}{criteria}".strip())
        case "text":
            first, _, rest = answer.text.strip().partition("\n")
            return Words(first, rest.strip())
        case _:
            assert_never(answer)


def to_text(view: ReportView, *, rounds: bool = True) -> str:
    """Render a report as plain lines of at most 100 characters; only URLs can be longer.

    Args:
        view: The report to render.
        rounds: Whether to include the rounds, and not only the outcome.
    """
    lines = [*_wrapped(view.title), ""]
    troubles = (*view.missing, *view.failed, *((view.unread,) if view.unread else ()))
    lines += [line for trouble in troubles for line in _wrapped(f"! {trouble}", hang=2)]
    for round_view in view.rounds if rounds else ():
        lines.append(heading(round_view))
        for speaker in round_view.speakers:
            lines += _speaker_text(speaker)
        lines += _wrapped(round_view.summary, indent=2) if round_view.summary else []
        lines.append("")
    lines += _wrapped(f"Answer: {answer_line(view)}", hang=2)
    lines += [line for label, text in trust_lines(view) for line in _wrapped(f"{label}: {text}", hang=2)]
    for label, parts in view.synthesis:
        lines += _wrapped(f"{label}: {'; '.join(parts)}", hang=2)
    for label, value in view.facts:
        lines += _wrapped(f"{label}: {value}", hang=2)
    lines += [] if view.flow is None else flow_lines(view.flow)
    lines += [] if view.pairs is None else pair_lines(view.pairs)
    return "\n".join(lines) + "\n"


def pair_lines(table: PairTable, width: int = _WIDTH) -> list[str]:
    r"""Return the pairs of a vote as a caption and aligned lines; names are at the end of lines, cut to the width.

    Args:
        table: The pairs.
        width: Maximum characters of a line.

    Example:
        >>> from roundtable.report import PairTable
        >>> table = PairTable(caption="Pairs", names=("Tea", "Milk"), cells=(("-", "2"), ("1", "-")))
        >>> print("\n".join(pair_lines(table)))
        Pairs
             1  2
          1  -  2  Tea
          2  1  -  Milk
    """
    size = max(len(text) for row in table.cells for text in (f"{len(table.names)}", *row))
    numbers = range(1, len(table.names) + 1)
    rows = [f"  {' ' * size}{''.join(f'  {number:>{size}}' for number in numbers)}"]
    for number, name, cells in zip(numbers, table.names, table.cells, strict=True):
        row = f"  {number:>{size}}{''.join(f'  {cell:>{size}}' for cell in cells)}  "
        rows.append(f"{row}{short_name(name, max(width - len(row), _SHORTEST_NAME))}")
    return [*_wrapped(table.caption), *rows]


def flow_lines(flow: FlowView, width: int = _WIDTH) -> list[str]:
    r"""Return who gave which answer as aligned lines; `>` marks a changed answer, `?` one that nobody compared.

    If not all rounds fit into the width, only the last ones are shown.

    Args:
        flow: Who gave which answer in each round.
        width: Maximum characters of a line.

    Example:
        >>> from roundtable.report import FlowCell, FlowView
        >>> cells = FlowCell(camp="B", confidence=0.5), FlowCell(camp="A", confidence=0.8, moved="moved")
        >>> flow = FlowView(
        ...     rounds=(1, 2),
        ...     camps=(("A", "Tea"), ("B", "Milk")),
        ...     rows=(("Ada", 0, cells),),
        ...     holders=("1 B", "1 A"),
        ...     note="",
        ... )
        >>> print("\n".join(flow_lines(flow)))
        Who held which answer (> moved)
                1        2
          Ada   B   50% >A   80%
          A: Tea
          B: Milk
    """
    names = [short_name(name, _LONGEST_NAME) for name, _, _ in flow.rows]
    size = max(map(len, names), default=0)
    shown = max((width - size - 4) // _CELL, 1)
    marks = {cell.moved for _, _, cells in flow.rows for cell in cells[-shown:]}
    words = [f"{mark} {meaning}" for meaning, mark in _MOVES.items() if meaning in marks]
    title = f"Who held which answer ({', '.join(words)})" if words else "Who held which answer"
    heads = "".join(f"{number:<{_CELL}}" for number in flow.rounds[-shown:])
    lines = [title, f"  {' ' * size}   {heads}".rstrip()]
    for name, (_, _, cells) in zip(names, flow.rows, strict=True):
        lines.append(f"  {name:<{size}}  {''.join(map(_flow_cell, cells[-shown:]))}".rstrip())
    return [*lines, *(f"  {short_name(f'{label}: {camp}', width - 2)}" for label, camp in flow.camps)]


def _flow_cell(cell: FlowCell) -> str:
    text = f"{_MOVES.get(cell.moved, ' ')}{cell.camp:<2} {percent(cell.confidence):>4}" if cell.camp else " -"
    return f"{text:<{_CELL}}"


def _wrapped(text: str, *, indent: int = 0, hang: int = 0) -> list[str]:
    prefix = " " * indent
    return textwrap.wrap(plain(unmarked(text)), _WIDTH, initial_indent=prefix, subsequent_indent=prefix + " " * hang)


def _speaker_text(speaker: SpeakerView) -> list[str]:
    role = "" if speaker.role == "participant" else f" ({speaker.role})"
    name = f"{speaker.name}{role}"
    if speaker.error is not None:
        return _wrapped(f"{name} FAILED: {speaker.error}", indent=2, hang=2)
    choice = f" [{speaker.choice}]" if speaker.choice else ""
    confidence = f" ({percent(speaker.confidence)})" if speaker.confidence is not None else ""
    lines = _wrapped(f"{name}{confidence}:{choice} {speaker.position}", indent=2, hang=2)
    for paragraph in plain(unmarked(speaker.reasoning), lines=True).splitlines():
        lines += _wrapped(paragraph, indent=4)
    lines += [f"    source: {plain(title)} {plain(url)}" for title, url in speaker.sources]
    for note in speaker.notes:
        lines += _wrapped(f"note: {note}", indent=4, hang=2)
    return lines
