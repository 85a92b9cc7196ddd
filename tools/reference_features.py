"""Write the page of what providers can do, found out by asking their dialects to build requests."""

from __future__ import annotations

from collections.abc import Iterator

from reference_pages import code, page, table

from roundtable.errors import RoundtableError
from roundtable.providers import BUILTIN_SPECS, SERVERS, OpenAIChat, ProviderSpec
from roundtable.providers.spec import Dialect
from roundtable.types import AgentTool, ChatRequest, ImagePart, Message, NativeSearch

ASK = (Message(role="user", content="Hi"),)
LOOK = AgentTool(name="look", description="Looks.", parameters={"type": "object", "properties": {}})
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
FEATURES: dict[str, dict[str, object]] = {
    "tools": {"tools": (LOOK,)},
    "choice of a tool": {"tools": (LOOK,), "tool_choice": "required"},
    "images in": {
        "messages": (Message(role="user", content="Hi", images=(ImagePart(url="https://a.example/i.png"),)),)
    },
    "structured output": {"response_schema": SCHEMA},
    "search": {"search": NativeSearch()},
    "search with tools": {"search": NativeSearch(), "tools": (LOOK,)},
    "recency": {"search": NativeSearch(recency="day")},
    "allowed domains": {"search": NativeSearch(allowed_domains=("a.example",))},
    "blocked domains": {"search": NativeSearch(blocked_domains=("a.example",))},
    "temperature": {"temperature": 0.5},
    "stop texts": {"stop": ("END",)},
    "seed": {"seed": 7},
    "cache marks": {"messages": (Message(role="user", content="Hi", cache=True),)},
}
PLAIN: dict[str, dict[str, object]] = {
    "choice of a tool": {"tools": (LOOK,)},
    "images in": {},
    "recency": {"search": NativeSearch()},
    "allowed domains": {"search": NativeSearch()},
    "blocked domains": {"search": NativeSearch()},
}
"""What a feature is compared with, where that is not the bare question."""


def built(dialect: Dialect, model: str, fields: dict[str, object]) -> str | None:
    """Give the body a dialect builds; None where it refuses."""
    request = ChatRequest.model_validate({"model": model, "messages": ASK, **fields})
    try:
        return dialect.build_request(request, base_url="https://a.example/v1", stream=False).body.decode()
    except RoundtableError:
        return None


def knows(dialect: Dialect, model: str, name: str) -> bool:
    """Tell whether a dialect says something that it would not say without the feature."""
    made = built(dialect, model, FEATURES[name])
    if name == "search with tools":
        alone = (built(dialect, model, {"search": NativeSearch()}), built(dialect, model, {"tools": (LOOK,)}))
        return made is not None and made not in alone
    return made is not None and made != built(dialect, model, PLAIN.get(name, {}))


def cells(dialect: Dialect, model: str) -> Iterator[str]:
    """Give a row of marks."""
    yield from ("yes" if knows(dialect, model, name) else "no" for name in FEATURES)


def features_page() -> str:
    """Give the page."""
    specs = list(BUILTIN_SPECS.values())
    names = [code(spec.name) for spec in specs]
    columns = [list(cells(spec.dialect, spec.default_model or "any")) for spec in specs]
    rows = [(name, *marks) for name, *marks in zip(FEATURES, *columns, strict=True)]
    servers = [
        (
            code(server.name),
            code(server.base_url or "of your own"),
            code(server.key_env[0]) if server.key_env else "none",
            code(server.limit_field),
            server.schema.replace("_", " "),
            "yes" if knows(OpenAIChat("compatible", server=server), "any", "search") else "no",
            ", ".join(map(code, server.reasoning_back)) or "no",
        )
        for server in SERVERS.values()
    ]
    head = ("Profile", "Address", "Key", "Token limit", "Structured output", "Search", "Sent back with tool calls")
    return page(
        "What providers can do",
        "What a dialect says to its provider, found out with the model that is used when none is named. A mark is no"
        " promise that every model of the provider knows the feature; older ones may not.",
        table(("Feature", *names), rows),
        "## Models",
        table(("Provider", "Model", "Light model", "Key", "Address", "Window"), (models(spec) for spec in specs)),
        "## Profiles of compatible servers",
        "A server is recognised by its address, or named by `profile`.",
        table(head, servers),
    )


def models(spec: ProviderSpec) -> tuple[str, ...]:
    """Give the row of a provider's models."""
    default = spec.default_model or ""
    return (
        code(spec.name),
        code(default) if default else "must be named",
        code(spec.light_model) if spec.light_model else "the same",
        ", else ".join(map(code, spec.key_env)),
        code(spec.base_url) if spec.base_url else "must be given",
        f"{spec.profile_of(default).context_tokens:,}",
    )
