"""Commands that hold a debate: a new one, one that goes on, one that gets further rounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from roundtable._output import obstacle, write_parts
from roundtable.api.debates import Debates, finish
from roundtable.cli.codes import ExitCode
from roundtable.cli.conduct import Continued, conduct
from roundtable.cli.lines import line
from roundtable.cli.sessions import full_id
from roundtable.cli.weights import tell_progress
from roundtable.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.api.options import DebateOptions
    from roundtable.api.stream import DebateStream
    from roundtable.cli.context import Supplied
    from roundtable.cli.desk import Desk
    from roundtable.result import DebateResult

__all__ = ["extend", "fork", "hold", "html_writer", "resume", "weigh"]

TINY = (
    "The embedded model is tiny: it shows how a debate works, not good arguments. `roundtable doctor` has better ways."
)


async def hold(desk: Desk, topic: str, options: DebateOptions, html_file: str | None) -> ExitCode:
    """Hold a new debate."""
    tell_progress(desk.table, desk.screen)

    async def begin() -> DebateStream:
        return desk.table.stream(topic, **options)

    note = TINY if _is_tiny(desk) else None
    return await conduct(desk.table, desk.place, desk.screen, begin, note=note, keep_result=html_writer(html_file))


async def weigh(desk: Desk, topic: str, options: DebateOptions) -> ExitCode:
    """Say what a debate may take at most, and hold none."""
    worst = desk.table.estimate(topic, **options)
    if desk.screen.as_json:
        desk.screen.document(worst.to_json())
    cost = "a cost nobody knows" if worst.cost_usd is None else f"{worst.cost_usd:.4f} USD"
    shown = [line(f"At most {worst.calls} calls, {worst.total_tokens:,} tokens, {cost}", "bold")]
    shown.append(line(f"{worst.planned_calls} calls if every answer can be read at once and no tool is used"))
    with_cost = "" if worst.cost_with_retries_usd is None else f", {worst.cost_with_retries_usd:.4f} USD"
    shown.append(
        line(f"{worst.tries} requests{with_cost} if every call is tried as often as it may be, and each is billed")
    )
    names = {one.agent_id: one.total_tokens for one in worst.by_agent}
    shown += [line(f"{agent}: at most {tokens:,} tokens", indent=2) for agent, tokens in names.items()]
    desk.screen.show([*shown, *(line(f"Note: {note}", "dim", paragraph=True) for note in worst.notes)])
    return ExitCode.OK


def _is_tiny(desk: Desk) -> bool:
    """Tell whether nobody but the embedded model sits at the table."""
    seats = [seat.config for seat in desk.table.wiring.seats(None)]
    return desk.settings.model_path is None and all(seat.provider == "local" and seat.model is None for seat in seats)


async def resume(
    desk: Desk, given: str, deadline_s: float | None, html_file: str | None, *, supplied: Supplied
) -> ExitCode:
    """Go on with a stored session."""
    table, keep = desk.table, html_writer(html_file)
    tell_progress(table, desk.screen)

    async def begin() -> Continued:
        session_id = await full_id(table, desk.place, given)
        return Continued(
            table,
            session_id,
            lambda: table.resume(
                session_id,
                deadline_s=deadline_s,
                context_results=supplied.results,
                force=supplied.force,
                on_change=supplied.on_change,
            ),
        )

    return await conduct(table, desk.place, desk.screen, begin, keep_result=keep)


async def extend(
    desk: Desk, given: str, rounds: int, focus: str | None, html_file: str | None, *, supplied: Supplied
) -> ExitCode:
    """Hold further rounds of a stored session."""
    table, keep = desk.table, html_writer(html_file)
    tell_progress(table, desk.screen)

    async def begin() -> Continued:
        session_id = await full_id(table, desk.place, given)
        return Continued(
            table,
            session_id,
            lambda: table.extend(
                session_id,
                rounds=rounds,
                focus_question=focus,
                context_results=supplied.results,
                force=supplied.force,
                on_change=supplied.on_change,
            ),
        )

    return await conduct(table, desk.place, desk.screen, begin, keep_result=keep)


async def fork(desk: Desk, given: str, at_round: int, changes: DebateOptions, html_file: str | None) -> ExitCode:
    """Hold another debate on the past of a stored one."""
    table, keep = desk.table, html_writer(html_file)
    tell_progress(table, desk.screen)

    async def begin() -> Continued:
        session_id = await full_id(table, desk.place, given)
        prepared = await Debates(table.wiring).forked(session_id, at_round, (), changes)
        return Continued(table, prepared.session_id, lambda: finish(prepared))

    return await conduct(table, desk.place, desk.screen, begin, keep_result=keep)


def html_writer(name: str | None) -> Callable[[DebateResult], None] | None:
    """Give what writes a result to an HTML file.

    Raises:
        StorageError: The file could not be written; better now than once the debate is paid for.
    """
    if name is None:
        return None
    path = Path(name).expanduser()
    if (why := obstacle(path)) is not None:
        msg = f"{name!r} cannot be written: {why}"
        raise StorageError(msg, hint="Make the folder, or name another file with --html; nobody was asked anything.")

    def write(result: DebateResult) -> None:
        try:
            write_parts(path, (result.to_html(),))
        except StorageError as error:
            error.hint = "The debate itself is stored; `roundtable export ID --html FILE` writes it again."
            raise

    return write
