"""Commands that run a debate (start, resume, extend, fork, rerun), or estimate its cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from roundtable.cli.event_printer import Line, line
from roundtable.cli.exit_codes import ExitCode
from roundtable.cli.model_install import show_progress
from roundtable.cli.run_debate import ContinuedDebate, run_debate
from roundtable.cli.sessions import full_id
from roundtable.core.base.files import write_error, write_parts
from roundtable.core.base.words import counted
from roundtable.core.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from roundtable.api.options import DebateOptions
    from roundtable.api.runs import DebateStream
    from roundtable.cli.context import CommandContext, ResumeOptions
    from roundtable.core.types.budget import Budget, Estimate
    from roundtable.results.debate_result import DebateResult
    from roundtable.results.reruns import RerunChange

__all__ = ["extend", "fork", "hold", "html_writer", "print_estimate", "resume", "show_estimate", "show_rerun"]

BETTER_MODELS: Final = "`roundtable doctor` shows better models."


async def hold(context: CommandContext, topic: str, options: DebateOptions, html_file: str | None) -> ExitCode:
    """Run a new debate."""
    show_progress(context.table, context.screen)

    async def begin() -> DebateStream:
        return context.table.stream(topic, **options)

    note = _caution(context)
    return await run_debate(
        context.table, context.place, context.screen, begin, note=note, keep_result=html_writer(html_file)
    )


async def show_estimate(context: CommandContext, topic: str, options: DebateOptions) -> ExitCode:
    """Show the most that a debate may consume, without running it."""
    print_estimate(context, context.table.estimate(topic, **options))
    return ExitCode.OK


def print_estimate(context: CommandContext, estimate: Estimate) -> None:
    """Print the worst case of a debate."""
    if context.screen.as_json:
        context.screen.document(estimate.to_json())
    cost = "unknown cost" if estimate.cost_usd is None else f"{estimate.cost_usd:.4f} USD"
    lines = [line(f"At most {counted(estimate.calls, 'call')}, {estimate.total_tokens:,} tokens, {cost}", "bold")]
    lines.append(
        line(f"{counted(estimate.planned_calls, 'call')} if every answer can be read on the first try, without tools")
    )
    with_cost = "" if estimate.cost_with_retries_usd is None else f", {estimate.cost_with_retries_usd:.4f} USD"
    lines.append(
        line(f"{estimate.tries} requests{with_cost} if every call is retried as often as allowed, and all are billed")
    )
    tokens_by_agent = {entry.agent_id: entry.total_tokens for entry in estimate.by_agent}
    lines += [line(f"{agent}: at most {tokens:,} tokens", indent=2) for agent, tokens in tokens_by_agent.items()]
    context.screen.show([*lines, *(line(f"Note: {note}", "dim", paragraph=True) for note in estimate.notes)])


async def show_rerun(
    context: CommandContext,
    id_prefix: str,
    times: int,
    *,
    change: RerunChange,
    without: str | None,
    budget: Budget | None,
    only_estimate: bool,
) -> ExitCode:
    """Repeat the last round of a stored session, after showing what that may cost."""
    table, session_id = context.table, await full_id(context.table, context.place, id_prefix)
    worst = await table.estimate_rerun(session_id, times=times, change=change, without=without)
    if only_estimate:
        print_estimate(context, worst)
        return ExitCode.OK
    cost = "unknown cost" if worst.cost_usd is None else f"{worst.cost_usd:.4f} USD"
    context.screen.write_note(f"At most {counted(worst.calls, 'call')}, {worst.total_tokens:,} tokens, {cost}")
    audit = await table.rerun(session_id, times=times, change=change, without=without, budget=budget)
    if context.screen.as_json:
        context.screen.document(audit.to_json())
        return ExitCode.OK
    context.screen.show(Line(text) for text in audit.to_text().splitlines())
    return ExitCode.OK


def _caution(context: CommandContext) -> str | None:
    """Return what users should know if every agent uses a default model with a caution, such as the embedded model."""
    if context.settings.model_path is not None:
        return None
    seats, info_of = context.table.agents(), context.table.catalog.provider_info
    cautions = ["" if seat.model is not None else info_of(seat.provider).caution for seat in seats]
    return " ".join([*dict.fromkeys(cautions), BETTER_MODELS]) if cautions and all(cautions) else None


async def resume(
    context: CommandContext, id_prefix: str, html_file: str | None, *, supplied: ResumeOptions
) -> ExitCode:
    """Resume a stored session."""
    return await _continue(
        context,
        id_prefix,
        html_file,
        lambda session_id: context.table.resume(
            session_id,
            budget=supplied.budget,
            deadline_s=supplied.deadline_s,
            context_results=supplied.results,
            force=supplied.force,
            on_change=supplied.on_change,
        ),
    )


async def extend(
    context: CommandContext,
    id_prefix: str,
    rounds: int,
    focus: str | None,
    html_file: str | None,
    *,
    supplied: ResumeOptions,
) -> ExitCode:
    """Add rounds to a stored session."""
    return await _continue(
        context,
        id_prefix,
        html_file,
        lambda session_id: context.table.extend(
            session_id,
            rounds=rounds,
            focus_question=focus,
            budget=supplied.budget,
            deadline_s=supplied.deadline_s,
            context_results=supplied.results,
            force=supplied.force,
            on_change=supplied.on_change,
        ),
    )


async def _continue(
    context: CommandContext, id_prefix: str, html_file: str | None, go: Callable[[str], Awaitable[DebateResult]]
) -> ExitCode:
    """Continue a stored session: show its events, and write its result to `html_file`."""
    table, write_html = context.table, html_writer(html_file)
    show_progress(table, context.screen)

    async def begin() -> ContinuedDebate:
        session_id = await full_id(table, context.place, id_prefix)
        return ContinuedDebate(table, session_id, lambda: go(session_id))

    return await run_debate(table, context.place, context.screen, begin, keep_result=write_html)


async def fork(
    context: CommandContext, id_prefix: str, at_round: int, changes: DebateOptions, html_file: str | None
) -> ExitCode:
    """Start a new debate from the first rounds of a stored one."""
    table, write_html = context.table, html_writer(html_file)
    show_progress(table, context.screen)

    async def begin() -> DebateStream:
        return table.stream_fork(await full_id(table, context.place, id_prefix), at_round=at_round, **changes)

    return await run_debate(table, context.place, context.screen, begin, keep_result=write_html)


def html_writer(name: str | None) -> Callable[[DebateResult], None] | None:
    """Return a function that writes a result to an HTML file; `None` without a file name.

    Raises:
        StorageError: The file cannot be written; this is checked before the debate costs money.
    """
    if name is None:
        return None
    path = Path(name).expanduser()
    if (problem := write_error(path)) is not None:
        msg = f"{name!r} cannot be written: {problem}"
        raise StorageError(msg, hint="Create the folder, or name another file with --html; no model was called.")

    def write(result: DebateResult) -> None:
        try:
            write_parts(path, (result.to_html(),))
        except StorageError as error:
            error.hint = "The debate is stored; `roundtable export ID --html FILE` writes the file again."
            raise

    return write
