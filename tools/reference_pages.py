"""Write the reference pages that are tables of what the code says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

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
    "roundtable.server.chat": "Limits of requests over HTTP",
    "roundtable.server.failures": "Errors over HTTP",
    "roundtable.client": "HTTP client",
    "roundtable.auth": "Authentication",
    "roundtable.api": "Teams",
    "roundtable.api.files": "Export",
    "roundtable.bench": "Benchmarks",
}


def cell(text: str) -> str:
    """Give text that stays within its cell of a table."""
    return " ".join(text.replace("|", "\\|").split())


def code(text: str) -> str:
    """Give text as code in a cell of a table."""
    return f"`{cell(text)}`"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Give a Markdown table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *(list(row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(title: str, *parts: str) -> str:
    """Give a whole page."""
    return "\n\n".join((f"# {title}", MARK, *parts)) + "\n"


def _tree(kind: type[RoundtableError] = RoundtableError) -> Iterator[type[RoundtableError]]:
    yield kind
    for child in error_kinds():
        if child.__bases__ == (kind,):
            yield from _tree(child)


def errors_page() -> str:
    """Give the table of errors."""
    rows = [
        (
            code(kind.__name__),
            code(kind.default_code),
            cell(kind.default_message),
            "yes" if kind.default_retryable else "no",
            cell(summary(kind)),
            cell(kind.default_hint or "in each message"),
        )
        for kind in _tree()
    ]
    shape = """\
A `PluginError` also has `plugin` and `stage`. A `QuorumLost` has `causes`, the errors of the agents that failed.
Codes are part of the contract: new ones may come, none changes its meaning.

An error that ends a debate which had begun, of whatever class, has `session_id`, and `partial`, the result so far:
what was answered is stored, and `await table.resume(error.session_id)` goes on from there. Both are `None` elsewhere.

Every error has `message`, `code`, `provider`, `retryable`, `hint`, `request_id`, `retry_after_s` and `details`, each
`None` where it is not known. `to_dict()` gives them as JSON values in camelCase, the wrapped error as `cause`, and
leaves empty ones out; `to_dict(debug=True)` adds the stack trace. An error survives pickling and copying.

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
        "*Retryable* says whether the same call may succeed later.",
        table(("Error", "Code", "Default message", "Retryable", "When", "What to do"), rows),
        shape,
    )


def _families() -> str:
    pairs = [
        (kind, kind.__bases__[0]) for kind in error_kinds() if kind.__bases__[0] not in (Exception, RoundtableError)
    ]
    named = [f"`{kind.__name__}` is a kind of `{parent.__name__}`" for kind, parent in pairs]
    return " and ".join((", ".join(named[:-1]), named[-1]))


def typescript_page() -> str:
    """Give the table from TypeScript names to Python ones."""
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
The API follows the TypeScript one name by name. Names of classes stay; functions, methods, parameters and fields are in
snake_case; JSON keeps its camelCase names, and both are accepted on input. What returns a promise there is awaited
here. Durations carry their unit in the name. Names on a wire, of tools and of their inputs, stay as they are; the table
names the module they are in. *Planned* marks what this version does not have yet; its place may still change."""
    return page("From the TypeScript API", intro, *chapters)


def _is_name(row: Row) -> bool:
    """Tell a name of the API from a behaviour or a figure described in words."""
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
    """Give the table of environment variables."""
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
The library reads the environment in one place, once per `Roundtable`. An empty variable counts as one that is not set.
A value that is not allowed is a `ConfigurationError` that names the variable and what is allowed. What a call, an
option of the command or a `ProviderConfig` says comes first. Numbers are counts; no variable holds a time: times are
arguments (`timeout_s`, `deadline_s`), in seconds."""
    return page("Environment variables", intro, table(("Variable", "Meaning", "Default"), rows))


def _meaning(doc: str) -> str:
    text = " ".join(doc.split()).partition("`: ")[2]
    return text[0].upper() + text[1:]


def _default(value: object) -> str:
    if value is None:
        return "not set"
    return code(str(value).lower() if isinstance(value, bool) else str(value))


def schemas_page() -> str:
    """Give the list of schema files."""
    rows = [(f"[{name}]({name}.json)", cell(text)) for name, text in sorted(descriptions().items())]
    intro = """\
What the library writes as JSON, and accepts, has a JSON Schema (draft 2020-12). Names are in camelCase. Fields that are
not required may be left out on input; a field that has no value is `null` on output, and left out of event streams."""
    return page("JSON Schemas", intro, table(("Schema", "What it describes"), rows))
