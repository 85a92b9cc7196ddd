"""What is shown once a debate is over, or is shown again: the answer or why there is none, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._findings import beside_the_answer, synthesis_in_words
from roundtable.cli.context import asked_lines
from roundtable.cli.lines import Line, line, percent, round_lines
from roundtable.cli.place import SHORT_ID
from roundtable.report import cost_in_words
from roundtable.scoring.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from roundtable.cli.place import Place
    from roundtable.cli.screen import Screen
    from roundtable.result import DebateResult
    from roundtable.types import AgentConfig

__all__ = ["beginning", "deliver", "ending", "synthesis_lines", "whole"]


def beginning(result: DebateResult) -> list[Line]:
    """Head a debate: the question, how it is debated, and by whom."""
    table = ", ".join(_seat(agent) for agent in result.agents)
    shown = [line(result.topic, "bold", paragraph=True)]
    if result.config.options is not None:
        shown.append(line(f"Options: {', '.join(result.config.options)}", "dim"))
    return [
        *shown,
        line(f"Mode {result.mode}, {counted(result.total_rounds, 'round')}, session {result.session_id}", "dim"),
        line(f"At the table: {table}", "dim"),
        Line(""),
    ]


def ending(result: DebateResult, place: Place, *, broken: bool = True) -> list[Line]:
    """Sum up a debate.

    Args:
        result: The debate.
        place: Where it is kept.
        broken: Whether to say what broke it, if something did.
    """
    shown = [*_answer(result), *synthesis_lines(result), *_missing(result), *_figures(result)]
    if broken and result.error is not None:
        shown.append(line(f"Broke on: {result.error.message}", "red"))
    return [*shown, *_next(result, place)]


def deliver(
    result: DebateResult, screen: Screen, lines: Iterable[Line], keep_result: Callable[[DebateResult], None] | None
) -> None:
    """Show a result, as lines or as JSON, and keep it elsewhere as well.

    With JSON it is kept first: when that fails, the error is the one document on standard output.

    Raises:
        StorageError: It could not be kept elsewhere.
    """
    screen.show(lines)
    if keep_result is not None:
        keep_result(result)
    if screen.as_json:
        screen.document(result.to_json())


def whole(result: DebateResult, place: Place) -> list[Line]:
    """Show a stored debate from its first word to its last."""
    rounds = [shown for held in result.rounds for shown in round_lines(held, result.total_rounds)]
    return [*beginning(result), *rounds, *ending(result, place)]


def _seat(agent: AgentConfig) -> str:
    told = agent.provider.casefold() in agent.name.casefold()
    return agent.name if told else f"{agent.name} ({agent.provider})"


def _answer(result: DebateResult) -> list[Line]:
    if result.answer is not None:
        # The reason repeats the answer, which stands a line above.
        why = beside_the_answer(result)
        why = why or (result.decision.why.removeprefix(result.answer).strip() if result.decision else "")
        found = [line(f"Answer: {result.answer}", "bold green", hang=2)]
        return [*found, line(why, "green", indent=2, paragraph=True)] if why else found
    shown = [line(f"No answer: {result.answer_reason}", "bold yellow", paragraph=True, hang=2)]
    spoken = [held for held in result.rounds if held.responses]
    if not spoken:
        return [*shown, line("No position was given.", indent=2)]
    shown.append(line(f"Positions in round {spoken[-1].number}:"))
    for said in spoken[-1].responses:
        held = f"{said.choice}: {said.position}" if said.choice else said.position
        shown.append(line(f"{held} — {said.agent_name}{percent(said.confidence)}", indent=2, hang=2))
    return shown


def synthesis_lines(result: DebateResult) -> list[Line]:
    """Tell the synthesis part by part; why there is none, where one was asked for."""
    return [
        line(f"{label}: {'; '.join(parts)}", indent=2, hang=2)
        for label, parts in synthesis_in_words(result)
        if not (label == "Conclusion" and result.answer_source == "synthesis")
    ]


def _missing(result: DebateResult) -> list[Line]:
    shown: list[Line] = []
    for entry in result.roster.agents:
        if entry.failed:
            asked = entry.failed + entry.answered
            text = f"Missing: {entry.agent_name} failed {entry.failed} of {asked} turns: {entry.errors[-1].message}"
            shown.append(line(text, "bold red"))
    return shown


def _figures(result: DebateResult) -> list[Line]:
    level, independent = result.consensus, result.independent_agreement
    after = "none measured" if level is None else f"{level.agreement_level:.2f} ({level.method})"
    before = f"{independent:.2f}" if independent is not None else f"none ({result.independent_agreement_reason})"
    usage = result.usage
    shown = [
        line(f"Agreement after debate: {after}"),
        line(f"Agreement before anyone heard anyone: {before}"),
    ]
    if result.exit is not None:
        shown.append(line(f"Ended: {result.exit.reason}, {result.exit.details}"))
    if result.status != "completed":
        shown.append(line(f"Status: {result.status}, session {result.session_status}", "yellow"))
    calls = counted(usage.calls, "call")
    tokens = f"{usage.input_tokens} tokens in, {usage.output_tokens} out"
    return [*shown, line(f"Usage: {calls}, {tokens}, {cost_in_words(usage)}", "dim")]


def _next(result: DebateResult, place: Place) -> list[Line]:
    if not place.lasts:
        return [line(f"Not kept: {place.shown} ends with the command.", "dim")]
    short = result.session_id[:SHORT_ID]
    shown = [
        line(f"Stored in {place.shown}, session {result.session_id}"),
        line(f"See it again: {place.command('show', short)}", "dim"),
    ]
    if result.session_status == "completed":
        return [*shown, line(f"Further rounds: {place.running('extend', short, '--rounds', '1')}", "dim")]
    if result.status == "needs_context":
        words = [f"--context={asked.id}=..." for asked in result.context_requests if asked.priority == "required"]
        shown += asked_lines(result)
        return [*shown, line(f"Answer and go on: {place.running('resume', short, *words)}", "bold")]
    return [*shown, line(f"Go on: {place.running('resume', short)}", "bold")]
