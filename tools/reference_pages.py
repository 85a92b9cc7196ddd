"""Write the reference pages that are tables of what the code says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Final

from contract.seed_api import ROWS, status
from contract.seed_rows import UNSET, Constant, Fault, Member, Row
from reference_schemas import descriptions
from reference_sources import attribute_docs, summary

from roundtable.errors import RoundtableError, error_kinds
from roundtable.settings import Settings

MARK = "<!-- Written by tools/generate.py from the code: change that, then generate this page again. -->"
CHAPTERS = {
    "roundtable.types": "Types",
    "roundtable.errors": "Errors",
    "roundtable.protocols": "Protocols",
    "roundtable.agents": "Agents",
    "roundtable.modes": "Modes",
    "roundtable.engine": "Debates and sessions",
    "roundtable.analysis": "Consensus and analysis",
    "roundtable.exits": "Exit criteria",
    "roundtable.storage": "Storage",
    "roundtable.settings": "Environment variables",
    "roundtable.tools": "Tools",
    "roundtable.providers": "Providers",
    "roundtable.gateway": "Retries and circuit breaker",
    "roundtable.providers.command": "Command-line agents",
    "roundtable.mcp": "MCP server",
    "roundtable.server": "HTTP server",
    "roundtable.server.routes.chat": "Limits of requests over HTTP",
    "roundtable.server.errors": "Errors over HTTP",
    "roundtable.client": "HTTP client",
    "roundtable.auth": "Authentication",
    "roundtable.api": "Teams",
    "roundtable.api.files": "Export",
    "roundtable.bench": "Benchmarks",
}


def cell(text: str) -> str:
    """Return text that stays within its cell of a table."""
    return " ".join(text.replace("|", "\\|").split())


def code(text: str) -> str:
    """Return text as code in a cell of a table."""
    return f"`{cell(text)}`"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *(list(row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(title: str, *parts: str) -> str:
    """Return a whole page."""
    return "\n\n".join((f"# {title}", MARK, *parts)) + "\n"


def _tree(kind: type[RoundtableError] = RoundtableError) -> Iterator[type[RoundtableError]]:
    yield kind
    for child in error_kinds():
        if child.__bases__ == (kind,):
            yield from _tree(child)


FINER_CODES: Final = {
    "AGENT_EXECUTION_FAILED": ("AgentError", 'An agent of a team failed, and its profile has `on_error="abort"`.'),
    "AGENT_HALTED": ("AgentError", "The debate was stopped during a turn, and no engine was there to record the stop."),
    "AGENT_NOT_FOUND": ("ConfigurationError", "No agent or profile has this name."),
    "AGENT_REFUSED": (
        "AgentError",
        "The model refused, or a filter of its provider stopped it; not retried.",
    ),
    "AI_ANALYSIS_UNAVAILABLE": ("ConfigurationError", "No model is available to analyze the answers."),
    "ATTACHMENT_INVALID": (
        "ConfigurationError",
        "An attached file is too large, or does not have the type that it claims.",
    ),
    "ATTACHMENT_UNSEEN": ("ConfigurationError", "Some agents cannot see an attached file; `details` name them."),
    "CONVERSATION_TIMEOUT": ("RoundtableError", "A team's conversation ran out of time; in `result.error`."),
    "INTERNAL_ERROR": ("RoundtableError", "An unexpected error; only servers return it."),
    "MAX_ROUNDS_EXCEEDED": ("ConfigurationError", "A request asks for too many rounds, for a team or over HTTP."),
    "MISSING_CONSENSUS_ANALYZER": ("ConfigurationError", "The engine has no `ai_consensus_analyzer`."),
    "MODE_HOOK": ("AgentError", "A hook of the mode raised an exception, so the turn failed."),
    "NETWORK_FORBIDDEN": ("ConfigurationError", "The process may not use the network: `ROUNDTABLE_NETWORK=off`."),
    "PROGRAM_REFUSED": ("ConfigurationError", "An imported session would start programs on this machine."),
    "SESSION_AMBIGUOUS": ("SessionError", "The given part of an id matches several sessions."),
    "SESSION_INTERRUPTED": ("RoundtableError", "The process that ran the session is gone; in streams of a server."),
    "VALIDATION_ERROR": ("ConfigurationError", 'A field has an invalid value; `details["field"]` names it.'),
    "WORKER_DIED": ("AgentError", "Five workers of a fleet died while they ran this debate."),
}
"""Codes that are finer than the class of their error, with the class, and when they come."""


def errors_page() -> str:
    """Return the table of errors."""
    rows = [
        (
            code(kind.__name__),
            code(kind.default_code),
            cell(kind.default_message),
            "yes" if kind.default_retryable else "no",
            cell(summary(kind)),
            cell(kind.default_hint or "See the message."),
        )
        for kind in _tree()
    ]
    finer = table(
        ("Code", "Error", "When"), ((code(one), code(kind), when) for one, (kind, when) in FINER_CODES.items())
    )
    shape = """\
A class without its own code has the code of its parent class: a `ContextTooLong` has the code `AGENT_ERROR`. Tell such
errors apart by class, or in JSON by `name`. Some instances carry a more specific code than the default of their class:

FINER
A `PluginError` also has `plugin` and `stage`. A `QuorumLost` has `causes`, the errors of the agents that failed.
Codes are stable: later versions can add codes, but no code changes its meaning.

If an error ends a debate that had started, it has `session_id` and `partial`, the result up to that point. The answers
are stored, and `await table.resume(error.session_id)` continues from there. On other errors, both are `None`.

Every error has `message`, `code`, `provider`, `retryable`, `hint`, `request_id`, `retry_after_s` and `details`; a field
without a value is `None`. `to_dict()` returns them as JSON values in camelCase, with the wrapped error as `cause` and
without empty fields; `to_dict(debug=True)` adds the stack trace. Errors can be pickled and copied.

```python
from roundtable.errors import APIRateLimitError

error = APIRateLimitError("The provider is busy", provider="anthropic", retry_after_s=7.0)
assert error.to_dict() == {
    "name": "APIRateLimitError",
    "message": "The provider is busy",
    "code": "API_RATE_LIMIT",
    "provider": "anthropic",
    "retryable": True,
    "hint": "Wait and try again, or lower `concurrency`.",
    "retryAfterS": 7.0,
}
```"""
    return page(
        "Errors",
        f"All errors of the library derive from `{RoundtableError.__name__}`; {_families()}.\n"
        "*Retryable* means that it makes sense to repeat the same call, at once or after `retry_after_s`. "
        "`CircuitOpen` is not marked as retryable, although the same call can succeed after `retry_after_s`: until "
        "then, the gateway refuses it.",
        table(("Error", "Code", "Default message", "Retryable", "When", "What to do"), rows),
        shape.replace("FINER\n", finer + "\n\nServers have [further codes](http.md#errors) for invalid requests.\n\n"),
    )


def _families() -> str:
    pairs = [
        (kind, kind.__bases__[0]) for kind in error_kinds() if kind.__bases__[0] not in (Exception, RoundtableError)
    ]
    families: dict[str, list[str]] = {}
    for kind, parent in pairs:
        families.setdefault(parent.__name__, []).append(f"`{kind.__name__}`")
    return "; ".join(
        f"{kinds[0]} is {'an' if parent[0] in 'AEIO' else 'a'} `{parent}`"
        if len(kinds) == 1
        else f"{', '.join(kinds[:-1])} and {kinds[-1]} are `{parent}`s"
        for parent, kinds in families.items()
    )


def typescript_page() -> str:
    """Return the table from TypeScript names to Python ones."""
    chapters = []
    for module, title in CHAPTERS.items():
        rows = [row for row in ROWS if row.module == module and _is_name(row)]
        lines: dict[tuple[str, str], tuple[str, str]] = {}
        for row in rows:
            lines.setdefault((code(row.name), code(_place(row))), (status(row), cell(_remark(row))))
        if lines:
            head = ("TypeScript", "Python", "Status", "Remarks")
            chapters.append(f"## {title}\n\n" + table(head, ((*names, *rest) for names, rest in lines.items())))
    intro = """\
This page lists the Python name for each name of the TypeScript API.

- Classes keep their names. Functions, methods, parameters and fields are in snake_case.
- JSON keeps its camelCase names; input can use either form.
- Functions that return a promise in TypeScript are awaited in Python.
- Durations have their unit in the name, such as `timeout_s`.
- MCP tools and their inputs keep their names; the table shows the module that defines each tool."""
    return page("From the TypeScript API", intro, *chapters)


def _is_name(row: Row) -> bool:
    """Check whether a row is a name of the API, not a behaviour or a figure described in words."""
    return row.kind not in {"behaviour", "message"} and not (row.kind == "constant" and " " in row.name)


def _place(row: Row) -> str:
    if row.kind == "environment":
        return row.path[0]
    if row.module in {"roundtable.mcp", "roundtable.tools"} and row.name.partition(".")[0] == row.path[0]:
        return row.module if row.path[0].islower() else ".".join((row.module, *row.path))
    return ".".join((row.module, *row.path))


def _remark(row: Row) -> str:
    parts = [row.note] if row.note else []
    match row.expects:
        case Member(default=default) if default is not UNSET and default is not None:
            parts.append(f"default `{default!r}`")
        case Constant(value):
            parts.append(f"default `{value}`" if row.kind == "environment" else f"`{value}`")
        case Fault(fault_code, message=message):
            parts.append(f"`{fault_code}`" + (f", “{message}”" if message else ""))
        case _:
            pass
    return "; ".join(parts)


def unplaced() -> list[str]:
    """Name the modules that have rows and no chapter on the page."""
    return sorted({row.module for row in ROWS} - set(CHAPTERS))


def environment_page() -> str:
    """Return the table of environment variables."""
    docs = attribute_docs(Settings)
    rows = [
        (
            ", else ".join(code(variable) for variable in Settings.variables(field.name)),
            cell(_meaning(docs[field.name])),
            _default(field.default),
        )
        for field in fields(Settings)
        if field.name != "environment"
    ]
    intro = """\
The library reads the environment once per `Roundtable`. Arguments of a call, options of the command and a
`ProviderConfig` override it. An empty variable counts as not set. A value that isn't allowed raises a
`ConfigurationError` that names the variable and the allowed values. Only `ROUNDTABLE_PAUSE_AFTER` is a
duration, in seconds; other time limits are arguments, such as `timeout_s` and `deadline_s`."""
    return page("Environment variables", intro, table(("Variable", "Meaning", "Default"), rows))


def _meaning(doc: str) -> str:
    text = " ".join(doc.split()).partition("`: ")[2]
    return text[0].upper() + text[1:]


def _default(value: object) -> str:
    if value is None:
        return "not set"
    return code(str(value).lower() if isinstance(value, bool) else str(value))


def schemas_page() -> str:
    """Return the list of schema files."""
    rows = [(f"[{name}]({name}.json)", cell(text)) for name, text in sorted(descriptions().items())]
    intro = """\
Each type that the library reads or writes as JSON has a JSON Schema (draft 2020-12). Names are in camelCase. On input,
you can leave out fields that are not required. On output, a field without a value is `null`; event streams leave out
such fields."""
    return page("JSON Schemas", intro, table(("Schema", "What it describes"), rows))
