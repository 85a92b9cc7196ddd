"""Resources: stored debates to read, and a guide to each mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic_core import to_json

from roundtable.mcp.failures import NotThere
from roundtable.mcp.inputs import ListInput, RoundInput
from roundtable.mcp.reading import list_sessions, round_details

if TYPE_CHECKING:
    from roundtable.api import Roundtable
    from roundtable.mcp.call import Call

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
        Kind(f"{SCHEME}modes/{entry.name}", entry.name, f"Mode {entry.name}", entry.summary, _MARKDOWN)
        for entry in table.wiring.catalog.modes
    )


async def read(call: Call, uri: str) -> Page:
    """Read a resource.

    Raises:
        NotThere: There is no such resource.
        RoundtableError: It cannot be read.
    """
    match uri.removeprefix(SCHEME).split("/") if uri.startswith(SCHEME) else []:
        case ["sessions"]:
            page = await list_sessions(call, ListInput())
            return Page(page.model_dump_json(by_alias=True, exclude_none=True, indent=2), _JSON)
        case ["sessions", session_id]:
            return Page(await call.desk.table.export(session_id, "markdown"), _MARKDOWN)
        case ["sessions", session_id, "json"]:
            return Page(await call.desk.table.export(session_id, "json"), _JSON)
        case ["sessions", session_id, "rounds", number] if number.isdecimal() and int(number) > 0:
            held = await round_details(call, RoundInput(session_id=session_id, round_number=int(number)))
            return Page(to_json(held.model_dump(mode="json", exclude_none=True), indent=2).decode(), _JSON)
        case ["modes"]:
            return Page(_overview(call.desk.table), _MARKDOWN)
        case ["modes", name]:
            return Page(_guide(call.desk.table, name), _MARKDOWN)
        case _:
            raise NotThere(f"there is no resource {uri[:200]!r}", hint="List the resources and their templates.")


def _overview(table: Roundtable) -> str:
    lines = [f"- **{entry.name}**: {entry.summary}" for entry in table.wiring.catalog.modes]
    return "\n".join(["# Debate modes", "", *lines, ""])


def _guide(table: Roundtable, name: str) -> str:
    modes = table.wiring.catalog.modes
    if name not in modes:
        known = ", ".join(entry.name for entry in modes)
        raise NotThere(f"there is no mode {name[:80]!r}", hint=f"Modes: {known}.")
    entry = modes.entry(name)
    rounds = entry.thing.rounds
    use = getattr(entry.thing, "use_when", "")
    most = min(rounds.stop - 1, table.wiring.settings.max_rounds)
    told = [f"# {name}", "", entry.summary, ""]
    if use:
        told += [f"Use it when: {use}", ""]
    told += [f"It holds {rounds.start} to {most} rounds.", ""]
    if entry.thing.assigns_stances:
        told += ["Sides are assigned: agreement after the debate says little, and nothing ends early on it.", ""]
    return "\n".join([*told, f'Call `start_roundtable` with `"mode": "{name}"`.', ""])
