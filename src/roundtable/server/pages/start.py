"""The form that starts a debate."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from roundtable.core.base.words import counted
from roundtable.core.errors import ConfigurationError, RoundtableError, SessionNotFound
from roundtable.server.errors import status_of
from roundtable.server.pages.csrf import fields_of
from roundtable.server.rendering import page, see_session
from roundtable.server.request_bodies import DebateBody
from roundtable.server.request_limits import check_affordable
from roundtable.server.routes.debates import options_of
from roundtable.server.runs import start_run, until_begun
from roundtable.server.state import Writer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.core.types.attachments import Attachment
    from roundtable.server.state import Caller

__all__ = ["router"]

router: APIRouter = APIRouter(include_in_schema=False)

_EMPTY: Final = dict.fromkeys(("topic", "options", "decide", "vote", "again", "files", "synthesize", "step"), "") | {
    "mode": "collaborative",
    "rounds": "2",
}
_VOTES: Final[Mapping[str, bool | str]] = {"": False, "last": True, "every": "every"}
"""Values of the field for a vote."""

_LABELS: Final = {
    "topic": "Question",
    "mode": "Mode",
    "rounds": "Rounds",
    "agents": "Who debates",
    "options": "Options to choose from",
    "decide": "Decision rule",
    "vote": "Vote",
    "attachments": "Files",
}
"""Labels of the fields on the form."""


class _Choice(NamedTuple):
    """An agent or model to choose."""

    value: str
    name: str
    model: str


@router.get("/start")
async def start_form(caller: Writer, again: str = "") -> Response:
    """Show the form for the question, agents, mode and number of rounds.

    Args:
        caller: Who opens the form.
        again: Id of a debate whose question, files and options fill in the form.
    """
    return await _form(caller, await _fields_of_debate(caller, again) if again else {}, "", 200)


async def _fields_of_debate(caller: Caller, session_id: str) -> dict[str, list[str]]:
    """Return a debate as fields of the form; agents that this server does not offer are left out."""
    record = (await caller.tenant_session.table.state(session_id)).record
    config = record.config
    fields = {"topic": [config.topic], "mode": [config.mode], "rounds": [f"{config.rounds}"]}
    if config.options is not None:
        fields["options"] = ["\n".join(config.options)]
    if config.vote or config.decide != "plurality":  # the default of a debate
        fields["decide"] = [config.decide]
    fields["vote"] = [name for name, vote in _VOTES.items() if vote == config.vote]
    if config.synthesize:
        fields["synthesize"] = ["1"]
    if config.attachments:
        fields |= {"again": [session_id], "files": ["1"]}
    offered = {choice.value for choice in _choices(caller)}
    agents = [agent.id for agent in record.agents if agent.id in offered]
    if agents:
        fields["agents"] = agents
    return fields


async def _files_again(caller: Caller, fields: Mapping[str, Sequence[str]]) -> tuple[Attachment, ...]:
    """Return the files of the debate whose question is asked again.

    Raises:
        SessionNotFound: The debate was deleted.
    """
    again = fields.get("again", [""])[0]
    return (await caller.tenant_session.table.state(again)).record.attachments if again else ()


def _choices(caller: Caller) -> tuple[_Choice, ...]:
    try:
        return _default_agents(caller)
    except ConfigurationError:  # the form shows the error
        return ()


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
        return await _form(caller, fields, _error_text(error), status)
    return see_session(session_id)


async def _start_debate(caller: Caller, fields: Mapping[str, Sequence[str]]) -> str:
    most = caller.tenant_session.table.settings.max_rounds
    values = _body(fields, everybody=[agent.value for agent in _default_agents(caller)])
    if fields.get("files"):
        values["attachments"] = await _files_again(caller, fields)
    try:
        body = DebateBody.model_validate(values)
    except ValidationError as error:
        raise RoundtableError(_field_problem(error, most), code="VALIDATION_ERROR") from error
    _check_form(body, most)
    options = options_of(caller, body)
    await check_affordable(caller, body.topic, options)
    begin = partial(caller.tenant_session.table.start, body.topic, step=body.step, wait_for="all", **options)
    handle, _ = await start_run(caller, until_begun(begin), rounds=body.rounds)
    return handle.session_id


def _field_problem(error: ValidationError, most_rounds: int) -> str:
    """Return what is wrong with the form, in the words of the form."""
    first = error.errors(include_url=False)[0]
    field, *position = first["loc"]
    label, value, limits = _LABELS.get(str(field), str(field)), first["input"], first.get("ctx", {})
    if field == "rounds":
        return f"Rounds: write a whole number from 1 to {most_rounds}"
    match first["type"]:
        case "missing":
            return f"{label}: this field is empty"
        case "too_short":
            least, count_note = limits["min_length"], _this_many(limits["actual_length"])
            return f"{label}: write at least {least}, one on each line, or none. {count_note}"
        case "too_long":
            return f"{label}: write at most {limits['max_length']}. {_this_many(limits['actual_length'])}"
        case "string_too_short":
            return f"{label}: write at least {counted(limits['min_length'], 'character')}, not {len(value.strip())}"
        case "string_too_long" if position:
            line = f"line {int(position[0]) + 1} has {len(value):,} characters"
            return f"{label}: {line}; write at most {limits['max_length']:,}"
        case "string_too_long":
            return f"{label}: write at most {limits['max_length']:,} characters, not {len(value):,}"
        case _:
            return f"{label}: {first['msg'].removeprefix('Value error, ')}"


def _this_many(number: int) -> str:
    """Return a sentence that says how many entries there are."""
    return f"This is {number}" if number == 1 else f"These are {number}"


def _check_form(body: DebateBody, most_rounds: int) -> None:
    """Check values that the library would refuse, to report them in the words of the form."""
    problem = ""
    if body.rounds > most_rounds:
        problem = f"Rounds: write a whole number from 1 to {most_rounds}"
    elif body.options is not None and len({option.strip() for option in body.options}) < len(body.options):
        problem = "Options to choose from: two lines are the same option. Write each one once"
    if problem:
        raise RoundtableError(problem, code="VALIDATION_ERROR")


def _body(fields: Mapping[str, Sequence[str]], *, everybody: Sequence[str]) -> dict[str, object]:
    """Convert the fields of the form to a body of the API, without empty fields."""
    body: dict[str, object] = {
        name: fields[name][0].strip() for name in ("topic", "mode", "rounds") if fields.get(name, [""])[0]
    }
    rule = fields.get("decide", [""])[0].strip()
    if rule:
        body["decide"] = rule
    vote = fields.get("vote", [""])[0]
    if vote:
        body["vote"] = _VOTES.get(vote, vote)
    body |= {name: True for name in ("synthesize", "step") if fields.get(name)}
    options = [line.strip() for line in fields.get("options", [""])[0].splitlines() if line.strip()]
    if options:
        body["options"] = options
    agents = fields.get("agents", [])
    if agents and list(agents) != list(everybody):
        body["agents"] = tuple(agents)
    return body


async def _form(caller: Caller, fields: Mapping[str, Sequence[str]], problem: str, status: int) -> Response:
    table = caller.tenant_session.table
    try:
        files = await _files_again(caller, fields)
    except SessionNotFound as error:  # deleted while the form was open
        files, problem = (), problem or _error_text(error)
    try:
        seated = _default_agents(caller)
    except ConfigurationError as error:  # no agent is available yet; the form says so
        seated, problem = (), problem or _error_text(error)
    models = tuple(_Choice(name, name, "") for name in caller.state.options.get("models", ()))
    values = {name: entries[0] for name, entries in fields.items()}
    choices = (*seated, *models)
    return page(
        "start",
        user=caller.identity,
        status=status,
        modes=[mode for mode in table.modes() if mode.min_agents <= len(choices) or not choices],
        most=table.settings.max_rounds,
        choices=choices,
        chosen=fields.get("agents") or [agent.value for agent in seated],
        filled={**_EMPTY, **values},
        files=tuple(file.info.in_words for file in files),
        problem=problem,
    )


def _default_agents(caller: Caller) -> tuple[_Choice, ...]:
    """Return the default agents, which debate if no agent is chosen.

    Raises:
        ConfigurationError: No agent is available.
    """
    return tuple(
        _Choice(agent.id, agent.name, f"{agent.provider}:{agent.model}" if agent.model else agent.provider)
        for agent, _ in caller.tenant_session.table.agent_offers()
    )


def _error_text(error: RoundtableError) -> str:
    return f"{error.message}. {error.hint or ''}".strip()
