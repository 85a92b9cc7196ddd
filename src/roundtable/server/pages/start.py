"""The form that starts a debate."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from roundtable.api.offered import offered_agents, offered_modes
from roundtable.errors import ConfigurationError, RoundtableError
from roundtable.server.errors import invalid_field, status_of
from roundtable.server.pages.csrf import fields_of
from roundtable.server.rendering import page, see
from roundtable.server.request_bodies import DebateBody
from roundtable.server.request_limits import check_affordable, check_most_rounds
from roundtable.server.routes.debates import options_of
from roundtable.server.runs import begun, until_begun
from roundtable.server.state import Writer
from roundtable.types.base import first_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.server.state import Caller

__all__ = ["router"]

router: APIRouter = APIRouter(include_in_schema=False)

_EMPTY: Final = {"topic": "", "mode": "collaborative", "rounds": "2", "options": "", "synthesize": "", "step": ""}


class _Choice(NamedTuple):
    """An agent or model to choose."""

    value: str
    name: str
    model: str


@router.get("/start")
async def start_form(caller: Writer) -> Response:
    """Show the form for the question, agents, mode and number of rounds."""
    return _form(caller, {}, "", 200)


@router.post("/start")
async def start(request: Request, caller: Writer) -> Response:
    """Start a debate and show it, or show the form again with an error."""
    fields = await fields_of(request)
    try:
        session_id = await _start_debate(caller, fields)
    except RoundtableError as error:
        status = status_of(error)
        if status >= 500:
            raise
        return _form(caller, fields, _error_text(error), status)
    return see(f"/sessions/{session_id}")


async def _start_debate(caller: Caller, fields: Mapping[str, Sequence[str]]) -> str:
    try:
        body = DebateBody.model_validate(_body(fields, everybody=[agent.value for agent in _default_agents(caller)]))
    except ValidationError as error:
        raise invalid_field(*first_error(error)) from error
    check_most_rounds(caller, body.rounds)
    options = options_of(caller, body)
    check_affordable(caller, body.topic, options)
    begin = partial(caller.tenant_session.table.start, body.topic, step=body.step, **options)
    handle, _ = await begun(caller, until_begun(begin), rounds=body.rounds)
    return handle.session_id


def _body(fields: Mapping[str, Sequence[str]], *, everybody: Sequence[str]) -> dict[str, object]:
    """Convert the fields of the form to a body of the API, without empty fields."""
    body: dict[str, object] = {
        name: fields[name][0].strip() for name in ("topic", "mode", "rounds") if fields.get(name, [""])[0]
    }
    body |= {name: True for name in ("synthesize", "step") if fields.get(name)}
    options = [line.strip() for line in fields.get("options", [""])[0].splitlines() if line.strip()]
    if options:
        body["options"] = options
    agents = fields.get("agents", [])
    if agents and list(agents) != list(everybody):
        body["agents"] = tuple(agents)
    return body


def _form(caller: Caller, fields: Mapping[str, Sequence[str]], problem: str, status: int) -> Response:
    table = caller.tenant_session.table
    try:
        seated = _default_agents(caller)
    except ConfigurationError as error:  # no agent is available yet; the form says so
        seated, problem = (), problem or _error_text(error)
    models = tuple(_Choice(name, name, "") for name in caller.state.options.get("models", ()))
    values = {name: entries[0] for name, entries in fields.items()}
    return page(
        "start",
        user=caller.identity,
        status=status,
        modes=offered_modes(table.wiring),
        most=table.wiring.settings.max_rounds,
        choices=(*seated, *models),
        chosen=fields.get("agents") or [agent.value for agent in seated],
        filled={**_EMPTY, **values},
        problem=problem,
    )


def _default_agents(caller: Caller) -> tuple[_Choice, ...]:
    """Return the default agents: they debate if none is chosen.

    Raises:
        ConfigurationError: No agent is available.
    """
    return tuple(
        _Choice(agent.id, agent.name, f"{agent.provider}:{agent.model}" if agent.model else agent.provider)
        for agent, _ in offered_agents(caller.tenant_session.table)
    )


def _error_text(error: RoundtableError) -> str:
    return f"{error.message}. {error.hint or ''}"
