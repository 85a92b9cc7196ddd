"""The summary of a debate: the answer or the reason why it is missing, agreement, usage, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.cli.context import request_lines
from roundtable.cli.event_printer import Line, line, percent, round_lines
from roundtable.cli.storage_location import SHORT_ID
from roundtable.core.base.words import counted
from roundtable.report import choice_prefix, cost_in_words, flow_lines, pair_lines, short_answer, unmarked
from roundtable.results.findings import (
    advice_in_words,
    answer_note,
    head_to_head,
    how_it_came_about,
    interim_mark,
    is_stopped,
    missing_agents,
    synthesis_parts,
    unread_in_words,
)
from roundtable.results.view import movement_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from roundtable.cli.render import Screen
    from roundtable.cli.storage_location import StorageLocation
    from roundtable.core.types.agents import AgentConfig
    from roundtable.results.debate_result import DebateResult

__all__ = ["debate_lines", "heading_lines", "show_result", "summary_lines", "synthesis_lines"]

_TABLE_WIDTH: Final = 76
"""Longest line of a table, in characters, so that the indented table fits on a terminal of 80 characters."""


def heading_lines(result: DebateResult) -> list[Line]:
    """Format the heading of a debate: the question, the mode, and the agents."""
    table = ", ".join(_agent_label(agent) for agent in result.agents)
    lines = [line(result.topic, "bold", paragraph=True)]
    if result.config.options is not None:
        lines.append(line(f"Options: {', '.join(result.config.options)}", "dim"))
    if result.config.attachments:
        lines.append(line(f"Files: {'; '.join(each.in_words for each in result.config.attachments)}", "dim"))
    return [
        *lines,
        line(f"Mode {result.mode}, {counted(result.total_rounds, 'round')}, session {result.session_id}", "dim"),
        line(f"At the table: {table}", "dim"),
        Line(""),
    ]


def summary_lines(result: DebateResult, location: StorageLocation, *, broken: bool = True) -> list[Line]:
    """Format the summary of a debate.

    Args:
        result: The debate.
        location: Where it is stored.
        broken: Whether to show the error that ended it, if any.
    """
    lines = [
        *_answer(result),
        *_opinions(result),
        *_pair_table(result),
        *synthesis_lines(result),
        *_failed_agents(result),
        *_figures(result),
    ]
    if broken and result.error is not None:
        lines.append(line(f"Failed: {result.error.message}", "red"))
    return [*lines, *_next_steps(result, location)]


def show_result(
    result: DebateResult, screen: Screen, lines: Iterable[Line], keep_result: Callable[[DebateResult], None] | None
) -> None:
    """Show a result as lines or as JSON, and pass it to `keep_result`, for example to write a file.

    With JSON, `keep_result` runs first: if it fails, the error is the only document on standard output.

    Raises:
        StorageError: `keep_result` could not write the result.
    """
    screen.show(lines)
    if keep_result is not None:
        keep_result(result)
    if screen.as_json:
        screen.document(result.to_json())


def debate_lines(result: DebateResult, location: StorageLocation) -> list[Line]:
    """Format a whole stored debate, from its heading to its summary."""
    rounds = [output for record in result.rounds for output in round_lines(record, result.total_rounds)]
    return [*heading_lines(result), *rounds, *summary_lines(result, location)]


def _agent_label(agent: AgentConfig) -> str:
    names_provider = agent.provider.casefold() in agent.name.casefold()
    return agent.name if names_provider else f"{agent.name} ({agent.provider})"


def _answer(result: DebateResult) -> list[Line]:
    if result.answer is not None:
        # The reason can repeat the answer, which is already on the line above.
        why = answer_note(result)
        if not why and result.decision is not None:
            why = result.decision.why.removeprefix(result.answer).strip()
            if result.answer_source == "vote":
                why = f"By vote of the debaters, rule {result.decision.rule}: {result.decision.why}"
        lines = [line(f"Answer: {unmarked(result.answer)}", "bold green", hang=2)]
        why = f"{interim_mark(result)}{why}"
        return [*lines, line(why, "green", indent=2, paragraph=True)] if why else lines
    fallback = [line(f"No answer: {result.answer_reason}", "bold yellow", paragraph=True, hang=2)]
    answered_rounds = [record for record in result.rounds if record.responses]
    if not answered_rounds:
        return [*fallback, line("No position was given.", indent=2)]
    fallback.append(line(f"Positions in round {answered_rounds[-1].number}:"))
    for response in answered_rounds[-1].as_stated.responses:
        short = short_answer(response.choice, response.bottom_line, response.position)
        position = f"{choice_prefix(short, response.position)}{response.position}"
        fallback.append(line(f"{position} — {response.agent_name}{percent(response.confidence)}", indent=2, hang=2))
    return fallback


def _pair_table(result: DebateResult) -> list[Line]:
    table = head_to_head(result)
    # Not `line`, which folds spaces; `pair_lines` returns clean text.
    return [] if table is None else [Line(text, "dim", indent=2) for text in pair_lines(table, _TABLE_WIDTH)]


def synthesis_lines(result: DebateResult) -> list[Line]:
    """Format the parts of the synthesis, or why a requested one is missing."""
    return [
        line(f"{label}: {'; '.join(parts)}", indent=2, hang=2)
        for label, parts in synthesis_parts(result)
        if not (label == "Conclusion" and result.answer_source == "synthesis")
    ]


def _opinions(result: DebateResult) -> list[Line]:
    """Format which agents gave which answer in each round, if there are several answers."""
    flow = None if result.team is not None else movement_of(result, result.opinion_flow()).flow_view()
    return [] if flow is None else [Line(text, "dim", indent=2) for text in flow_lines(flow, _TABLE_WIDTH)]


def _failed_agents(result: DebateResult) -> list[Line]:
    lines: list[Line] = []
    missing = missing_agents(result)
    for entry in result.roster.agents:
        if entry.failed:
            turns = counted(entry.failed + entry.answered, "turn")
            text = f"{entry.agent_name} failed {entry.failed} of {turns}: {entry.errors[-1].message}"
            is_missing = entry.agent_id in missing
            label, style = ("Missing", "bold red") if is_missing else ("Failed turns", "bold yellow")
            lines.append(line(f"{label}: {text}", style))
    unread = unread_in_words(result)
    return [*lines, line(unread, "bold yellow")] if unread else lines


def _figures(result: DebateResult) -> list[Line]:
    level = result.consensus
    after = "none measured" if level is None else f"{level.level_in_words} ({level.method})"
    before = result.independent_level_in_words
    usage = result.usage
    advice, story = advice_in_words(result), how_it_came_about(result, result.opinion_flow())
    lines = [line(f"{advice[0]}: {advice[1]}", paragraph=True)] if advice is not None else []
    lines += [line(f"How it came about: {story}", paragraph=True)] if story else []
    lines += [
        line(f"Agreement after the debate: {after}"),
        line(f"Agreement before the debate: {before}"),
    ]
    if result.exit is not None:
        lines.append(line(f"Ended: {result.exit.reason}, {result.exit.details}"))
    if result.status != "completed":
        status = f"{result.status}, session {result.session_status}"
        lines.append(line(f"Status: {'stopped' if is_stopped(result) else status}", "yellow"))
    calls = counted(usage.calls, "call")
    tokens = f"{usage.input_tokens} tokens in, {usage.output_tokens} out"
    return [*lines, line(f"Usage: {calls}, {tokens}, {cost_in_words(usage)}", "dim")]


def _next_steps(result: DebateResult, location: StorageLocation) -> list[Line]:
    if not location.is_persistent:
        return [line(f"Not stored: {location.shown} ends with the command.", "dim", wraps=False)]
    short = result.session_id[:SHORT_ID]
    lines = [
        line(f"Stored in {location.shown}, session {result.session_id}", wraps=False),
        line(f"See it again: {location.command('show', short)}", "dim", wraps=False),
    ]
    if result.status == "running":
        return [*lines, line(f"Follow it: {location.command('watch', short)}", "dim", wraps=False)]
    if result.session_status == "completed":
        extend = location.running("extend", short, "--rounds", "1")
        return [*lines, line(f"Further rounds: {extend}", "dim", wraps=False)]
    if result.status == "needs_context":
        words = [f"--context={request.id}=..." for request in result.context_requests if request.priority == "required"]
        lines += request_lines(result)
        return [*lines, line(f"Answer and resume: {location.running('resume', short, *words)}", "bold", wraps=False)]
    over_budget = result.exit is not None and result.exit.reason == "budget"
    extra = ("--budget=LIMIT=NUMBER",) if over_budget else ()
    return [*lines, line(f"Resume: {location.running('resume', short, *extra)}", "bold", wraps=False)]
