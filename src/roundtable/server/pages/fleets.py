"""The page with the jobs of fleets, for the operator of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Response

from roundtable.core.errors import ConfigurationError
from roundtable.server.rendering import page
from roundtable.server.state import Admin

if TYPE_CHECKING:
    from roundtable.core.types.budget import Budget
    from roundtable.core.types.chat import Usage
    from roundtable.fleet import JobStatus

__all__ = ["router"]

_MINUTE_S = 60
_HOUR_S = 3600

router: APIRouter = APIRouter(include_in_schema=False)


@router.get("/admin/fleets")
async def fleets(caller: Admin) -> Response:
    """Show the jobs of all fleets on the storage of this server."""
    problem = None
    try:
        states = await caller.state.fleets.read()
    except ConfigurationError as error:  # there are jobs, but the extra is not installed here
        states, problem = (), error
    owner = caller.state.table.tenant
    return page(
        "fleets",
        user=caller.identity,
        problem=problem,
        # The latest job first, since people usually look for it.
        fleets=[(state, [_row(job) for job in reversed(state.jobs)]) for state in states],
        now=caller.state.clock.now(),
        may_open=caller.identity.tenant == owner,
    )


def _row(job: JobStatus) -> dict[str, object]:
    """Return what the page shows about a job."""
    return {
        "job": job,
        "parts": _parts(job),
        "left": "" if job.is_done or job.left_s is None else duration(job.left_s),
        "spent": _usage_rows(job.usage, job.budget),
        "errors": sorted(job.errors.items(), key=lambda error: (-error[1], error[0])),
        "most_errors": max(job.errors.values(), default=1),
        "longest": [(debate.session_id, duration(debate.seconds)) for debate in job.longest_running],
    }


def _parts(job: JobStatus) -> list[tuple[str, float, float]]:
    """Return the parts of a job's bar: their kind, their start in percent, and their width in percent."""
    parts: list[tuple[str, float, float]] = []
    start = 0.0
    for kind, count in (("completed", job.completed), ("broken", job.failed), ("paused", job.cancelled)):
        width = 100 * count / job.debates
        if width:
            parts.append((kind, round(start, 2), round(width, 2)))
        start += width
    return parts


def _usage_rows(usage: Usage, budget: Budget | None) -> list[tuple[str, str, str]]:
    """Return what a job consumed: the unit, the amount, and a note such as the limit, or an empty text."""
    limits = (None, None, None) if budget is None else (budget.max_calls, budget.max_tokens, budget.max_cost_usd)
    calls, tokens, cost = limits
    price, price_note = f"{usage.known_cost_usd:.4f} USD", "" if cost is None else f"of {cost:.4f} USD"
    if usage.cost_usd is None:
        price = f"at least {price}" if round(usage.known_cost_usd, 4) else "unknown"
        price_note = " ".join(filter(None, (price_note, "No price is known for some models.")))
    return [
        ("Calls", f"{usage.calls:,}", "" if calls is None else f"of {calls:,}"),
        ("Tokens", f"{usage.total_tokens:,}", "" if tokens is None else f"of {tokens:,}"),
        ("Cost", price, price_note),
    ]


def duration(seconds: float) -> str:
    """Return a duration for people, in its two largest units.

    Example:
        >>> duration(7.4), duration(125), duration(7_260)
        ('7 s', '2 min 5 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min {whole % _MINUTE_S} s"
    return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S} min"
