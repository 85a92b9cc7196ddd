"""The form that starts a debate."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from roundtable.api.offered import offered_agents, offered_modes
from roundtable.errors import ConfigurationError, RoundtableError
from roundtable.server.bodies import DebateBody
from roundtable.server.bounds import check_affordable, check_most_rounds
from roundtable.server.debates import debate_options
from roundtable.server.failures import misfit, status_of
from roundtable.server.launching import until_begun
from roundtable.server.pages.forms import fields_of
from roundtable.server.rendering import page, see
from roundtable.server.starting import begun
from roundtable.server.state import Writer
from roundtable.types.base import first_misfit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.server.state import Caller

__all__ = ["router"]

router: APIRouter = APIRouter(include_in_schema=False)

_EMPTY: Final = {"topic": "", "mode": "collaborative", "rounds": "2", "options": "", "synthesize": "", "step": ""}


class _Choice(NamedTuple):
    """Somebody who may be chosen."""

    value: str
    name: str
    model: str


@router.get("/start")
async def start_form(caller: Writer) -> Response:
    """Ask for a question, who debates it, in which mode, and for how many rounds."""
    return _form(caller, {}, "", 200)


@router.post("/start")
async def start(request: Request, caller: Writer) -> Response:
    """Start a debate and show it; what does not fit is told beside what was filled in."""
    filled = await fields_of(request)
    try:
        session_id = await _started(caller, filled)
    except RoundtableError as error:
        status = status_of(error)
        if status >= 500:
            raise
        return _form(caller, filled, _told(error), status)
    return see(f"/sessions/{session_id}")


async def _started(caller: Caller, filled: Mapping[str, Sequence[str]]) -> str:
    try:
        given = DebateBody.model_validate(_body(filled, everybody=[one.value for one in _seated(caller)]))
    except ValidationError as error:
        raise misfit(*first_misfit(error)) from error
    check_most_rounds(caller, given.rounds)
    options = debate_options(caller, given)
    check_affordable(caller, given.topic, options)
    begin = partial(caller.desk.table.start, given.topic, step=given.step, **options)
    handle, _ = await begun(caller, until_begun(begin), rounds=given.rounds)
    return handle.session_id


def _body(filled: Mapping[str, Sequence[str]], *, everybody: Sequence[str]) -> dict[str, object]:
    """Read what was filled in into what the API takes; what was left empty is left out."""
    body: dict[str, object] = {
        name: filled[name][0].strip() for name in ("topic", "mode", "rounds") if filled.get(name, [""])[0]
    }
    body |= {name: True for name in ("synthesize", "step") if filled.get(name)}
    choices = [line.strip() for line in filled.get("options", [""])[0].splitlines() if line.strip()]
    if choices:
        body["options"] = choices
    agents = filled.get("agents", [])
    if agents and list(agents) != list(everybody):
        body["agents"] = tuple(agents)
    return body


def _form(caller: Caller, filled: Mapping[str, Sequence[str]], problem: str, status: int) -> Response:
    table = caller.desk.table
    try:
        seated = _seated(caller)
    except ConfigurationError as error:  # nobody can debate here yet; the form says so
        seated, problem = (), problem or _told(error)
    models = tuple(_Choice(name, name, "") for name in caller.state.options.get("models", ()))
    given = {name: values[0] for name, values in filled.items()}
    return page(
        "start",
        user=caller.identity,
        status=status,
        modes=offered_modes(table.wiring),
        most=table.wiring.settings.max_rounds,
        choices=(*seated, *models),
        chosen=filled.get("agents") or [one.value for one in seated],
        filled={**_EMPTY, **given},
        problem=problem,
    )


def _seated(caller: Caller) -> tuple[_Choice, ...]:
    """List who sits at the table: they debate where nobody is chosen.

    Raises:
        ConfigurationError: Nobody can.
    """
    return tuple(
        _Choice(one.id, one.name, f"{one.provider}:{one.model}" if one.model else one.provider)
        for one in offered_agents(caller.desk.table)
    )


def _told(error: RoundtableError) -> str:
    return f"{error.message}. {error.hint or ''}"
