"""MCP resources: stored debates, and a guide to each mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from mcp import types
from pydantic import ValidationError
from pydantic_core import to_json

from roundtable.mcp.errors import NotFoundInSession
from roundtable.mcp.inputs import ListInput, RoundInput
from roundtable.mcp.prompts import PROMPTS
from roundtable.mcp.read_tools import list_sessions, round_details

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundtable.api import Roundtable
    from roundtable.core.types.base import Value
    from roundtable.mcp.tool import ToolCallContext

__all__ = [
    "RESOURCES",
    "TEMPLATES",
    "Kind",
    "Page",
    "modes_of",
    "prompt_list",
    "read",
    "resource_list",
    "template_list",
]


SCHEME: Final = "roundtable://"
_MARKDOWN: Final = "text/markdown"
_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Kind:
    """A resource, or a template of resources."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str


@dataclass(frozen=True, slots=True)
class Page:
    """Content of a resource."""

    text: str
    mime_type: str


RESOURCES: Final = (
    Kind(f"{SCHEME}sessions", "sessions", "Debates", "Your latest debates, newest first.", _JSON),
    Kind(f"{SCHEME}modes", "modes", "Debate modes", "All modes, with one sentence about each.", _MARKDOWN),
)
"""Resources with a fixed address."""

TEMPLATES: Final = (
    Kind(f"{SCHEME}sessions/{{sessionId}}", "session", "A debate", "A whole debate to read.", _MARKDOWN),
    Kind(f"{SCHEME}sessions/{{sessionId}}/json", "session-json", "A debate as data", "All that is stored.", _JSON),
    Kind(
        f"{SCHEME}sessions/{{sessionId}}/rounds/{{roundNumber}}",
        "round",
        "A round",
        "One round in full, as get_round_details returns it.",
        _JSON,
    ),
    Kind(f"{SCHEME}modes/{{mode}}", "mode", "A mode", "What a mode does and when to use it.", _MARKDOWN),
)
"""Templates of resources."""


def modes_of(table: Roundtable) -> tuple[Kind, ...]:
    """Return a resource for each mode of a table."""
    return tuple(
        Kind(f"{SCHEME}modes/{mode.name}", mode.name, f"Mode {mode.name}", mode.summary, _MARKDOWN)
        for mode in table.modes()
    )


async def read(call: ToolCallContext, uri: str) -> Page:
    """Read a resource.

    Raises:
        NotFoundInSession: The resource does not exist.
        RoundtableError: The resource cannot be read.
    """
    parts = uri.removeprefix(SCHEME).split("/") if uri.startswith(SCHEME) else []
    match [unquote(part) for part in parts]:  # when clients expand templates, they quote special characters
        case ["sessions"]:
            return _as_json(await list_sessions(call, ListInput()))
        case ["sessions", session_id]:
            return Page(await call.tenant_session.table.export(session_id, "markdown"), _MARKDOWN)
        case ["sessions", session_id, "json"]:
            return Page(await call.tenant_session.table.export(session_id, "json"), _JSON)
        case ["sessions", session_id, "rounds", number]:
            return _as_json(await round_details(call, _round_input(uri, session_id, number)))
        case ["modes"]:
            return Page(_overview(call.tenant_session.table), _MARKDOWN)
        case ["modes", name]:
            return Page(_guide(call.tenant_session.table, name), _MARKDOWN)
        case _:
            raise _unknown_resource(uri)


def _as_json(value: Value) -> Page:
    return Page(to_json(value.model_dump(mode="json", exclude_none=True), indent=2).decode(), _JSON)


def _round_input(uri: str, session_id: str, number: str) -> RoundInput:
    try:
        return RoundInput.model_validate({"session_id": session_id, "round_number": number})
    except ValidationError:
        raise _unknown_resource(uri) from None


def _unknown_resource(uri: str) -> NotFoundInSession:
    return NotFoundInSession(f"unknown resource {uri[:200]!r}", hint="List the resources and their templates.")


def _overview(table: Roundtable) -> str:
    lines = [f"- **{mode.name}**: {mode.summary}" for mode in table.modes()]
    return "\n".join(["# Debate modes", "", *lines, ""])


def _guide(table: Roundtable, name: str) -> str:
    modes = {mode.name: mode for mode in table.modes()}
    if name not in modes:
        raise NotFoundInSession(f"unknown mode {name[:80]!r}", hint=f"Modes: {', '.join(modes)}.")
    mode = modes[name]
    lines = [f"# {name}", "", mode.summary, ""]
    if mode.use_when:
        lines += [f"Use it when: {mode.use_when}", ""]
    lines += [f"It runs {mode.min_rounds} to {mode.max_rounds} rounds, with {mode.agents_in_words}.", ""]
    if mode.options:
        lines += [f"Options, written after its name as in `{name}:{next(iter(mode.options))}=...`:", ""]
        lines += [*(f"- `{option}`: {takes}" for option, takes in mode.options.items()), ""]
    if mode.assigns_stances:
        lines += ["Sides are assigned: agreement after the debate says little, and nothing ends early on it.", ""]
    return "\n".join([*lines, f'Call `start_roundtable` with `"mode": "{name}"`.', ""])


def resource_list(modes: Iterable[Kind]) -> types.ListResourcesResult:
    """List the resources with a fixed address, and the resources of the modes."""
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                uri=kind.uri,
                name=kind.name,
                title=kind.title,
                description=kind.description,
                mime_type=kind.mime_type,
            )
            for kind in (*RESOURCES, *modes)
        ]
    )


def template_list() -> types.ListResourceTemplatesResult:
    """List the resource templates."""
    return types.ListResourceTemplatesResult(
        resource_templates=[
            types.ResourceTemplate(
                uri_template=kind.uri,
                name=kind.name,
                title=kind.title,
                description=kind.description,
                mime_type=kind.mime_type,
            )
            for kind in TEMPLATES
        ]
    )


def prompt_list() -> types.ListPromptsResult:
    """List the prompts."""
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=prompt.name,
                title=prompt.title,
                description=prompt.description,
                arguments=[
                    types.PromptArgument(
                        name=argument.name, description=argument.description, required=argument.required
                    )
                    for argument in prompt.arguments
                ],
            )
            for prompt in PROMPTS
        ]
    )
