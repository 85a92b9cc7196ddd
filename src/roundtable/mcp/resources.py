"""Resources: stored debates to read, and a guide to each mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError
from pydantic_core import to_json

from roundtable.api.offered import offered_modes
from roundtable.mcp.failures import NotThere
from roundtable.mcp.inputs import ListInput, RoundInput
from roundtable.mcp.reading import list_sessions, round_details

if TYPE_CHECKING:
    from roundtable.api import Roundtable
    from roundtable.mcp.call import Call
    from roundtable.types import Value

__all__ = ["RESOURCES", "TEMPLATES", "Kind", "Page", "modes_of", "read"]

SCHEME: Final = "roundtable://"
_MARKDOWN: Final = "text/markdown"
_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Kind:
    """A resource, or a family of them."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str


@dataclass(frozen=True, slots=True)
class Page:
    """What a resource holds."""

    text: str
    mime_type: str


RESOURCES: Final = (
    Kind(f"{SCHEME}sessions", "sessions", "Debates", "Your latest debates, newest first.", _JSON),
    Kind(f"{SCHEME}modes", "modes", "Debate modes", "All modes in a sentence each.", _MARKDOWN),
)
"""Resources that are always there."""

TEMPLATES: Final = (
    Kind(f"{SCHEME}sessions/{{sessionId}}", "session", "A debate", "A whole debate to read.", _MARKDOWN),
    Kind(f"{SCHEME}sessions/{{sessionId}}/json", "session-json", "A debate as data", "All that is stored.", _JSON),
    Kind(
        f"{SCHEME}sessions/{{sessionId}}/rounds/{{roundNumber}}",
        "round",
        "A round",
        "One round in full, as get_round_details gives it.",
        _JSON,
    ),
    Kind(f"{SCHEME}modes/{{mode}}", "mode", "A mode", "What a mode does and when to use it.", _MARKDOWN),
)
"""Families of resources."""


def modes_of(table: Roundtable) -> tuple[Kind, ...]:
    """Give a resource for each mode that a table knows."""
    return tuple(
        Kind(f"{SCHEME}modes/{mode.name}", mode.name, f"Mode {mode.name}", mode.summary, _MARKDOWN)
        for mode in offered_modes(table.wiring)
    )


async def read(call: Call, uri: str) -> Page:
    """Read a resource.

    Raises:
        NotThere: There is no such resource.
        RoundtableError: It cannot be read.
    """
    match uri.removeprefix(SCHEME).split("/") if uri.startswith(SCHEME) else []:
        case ["sessions"]:
            return _as_json(await list_sessions(call, ListInput()))
        case ["sessions", session_id]:
            return Page(await call.desk.table.export(session_id, "markdown"), _MARKDOWN)
        case ["sessions", session_id, "json"]:
            return Page(await call.desk.table.export(session_id, "json"), _JSON)
        case ["sessions", session_id, "rounds", number]:
            return _as_json(await round_details(call, _round_asked_for(uri, session_id, number)))
        case ["modes"]:
            return Page(_overview(call.desk.table), _MARKDOWN)
        case ["modes", name]:
            return Page(_guide(call.desk.table, name), _MARKDOWN)
        case _:
            raise _no_such(uri)


def _as_json(value: Value) -> Page:
    return Page(to_json(value.model_dump(mode="json", exclude_none=True), indent=2).decode(), _JSON)


def _round_asked_for(uri: str, session_id: str, number: str) -> RoundInput:
    try:
        return RoundInput.model_validate({"session_id": session_id, "round_number": number})
    except ValidationError:
        raise _no_such(uri) from None


def _no_such(uri: str) -> NotThere:
    return NotThere(f"there is no resource {uri[:200]!r}", hint="List the resources and their templates.")


def _overview(table: Roundtable) -> str:
    lines = [f"- **{mode.name}**: {mode.summary}" for mode in offered_modes(table.wiring)]
    return "\n".join(["# Debate modes", "", *lines, ""])


def _guide(table: Roundtable, name: str) -> str:
    modes = {mode.name: mode for mode in offered_modes(table.wiring)}
    if name not in modes:
        raise NotThere(f"there is no mode {name[:80]!r}", hint=f"Modes: {', '.join(modes)}.")
    mode = modes[name]
    told = [f"# {name}", "", mode.summary, ""]
    if mode.use_when:
        told += [f"Use it when: {mode.use_when}", ""]
    needs = f", and needs at least {mode.min_agents} agents" if mode.min_agents > 1 else ""
    told += [f"It holds {mode.min_rounds} to {mode.max_rounds} rounds{needs}.", ""]
    if mode.options:
        told += [f"Settable behind its name, as in `{name}:{next(iter(mode.options))}=...`:", ""]
        told += [*(f"- `{option}`: {takes}" for option, takes in mode.options.items()), ""]
    if mode.assigns_stances:
        told += ["Sides are assigned: agreement after the debate says little, and nothing ends early on it.", ""]
    return "\n".join([*told, f'Call `start_roundtable` with `"mode": "{name}"`.', ""])
