"""Write the page of what providers can do, by asking their dialects to build requests, and the table of vendors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reference_pages import code, page, table

from roundtable.errors import RoundtableError
from roundtable.providers import BUILTIN_SPECS, SERVERS, OpenAIChat, ProviderSpec
from roundtable.providers.spec import Dialect
from roundtable.types import AgentTool, ChatRequest, FilePart, ImagePart, Message, NativeSearch
from roundtable.vendors import VENDORS, Vendor

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
    "tool choice": {"tools": (LOOK,), "tool_choice": "required"},
    "image input": {
        "messages": (Message(role="user", content="Hi", images=(ImagePart(url="https://a.example/i.png"),)),)
    },
    "document input": {
        "messages": (
            Message(
                role="user",
                content="Hi",
                files=(FilePart(name="a.pdf", media_type="application/pdf", data="cGRm"),),
            ),
        )
    },
    "structured output": {"response_schema": SCHEMA},
    "search": {"search": NativeSearch()},
    "search with tools": {"search": NativeSearch(), "tools": (LOOK,)},
    "limit on searches": {"search": NativeSearch(max_uses=2)},
    "recency": {"search": NativeSearch(recency="day")},
    "allowed domains": {"search": NativeSearch(allowed_domains=("a.example",))},
    "blocked domains": {"search": NativeSearch(blocked_domains=("a.example",))},
    "temperature": {"temperature": 0.5},
    "stop sequences": {"stop": ("END",)},
    "seed": {"seed": 7},
    "prompt caching marks": {"messages": (Message(role="user", content="Hi", cache=True),)},
}
PLAIN: dict[str, dict[str, object]] = {
    "tool choice": {"tools": (LOOK,)},
    "image input": {},
    "document input": {},
    "limit on searches": {"search": NativeSearch()},
    "recency": {"search": NativeSearch()},
    "allowed domains": {"search": NativeSearch()},
    "blocked domains": {"search": NativeSearch()},
}
"""What a feature is compared with, where that is not the bare question."""


def built(dialect: Dialect, model: str, fields: dict[str, object]) -> str | None:
    """Return the body that a dialect builds; None if it refuses."""
    request = ChatRequest.model_validate({"model": model, "messages": ASK, **fields})
    try:
        return dialect.build_request(request, base_url="https://a.example/v1", stream=False).body.decode()
    except RoundtableError:
        return None


def knows(dialect: Dialect, model: str, name: str) -> bool:
    """Check whether a dialect sends something that it would not send without the feature."""
    made = built(dialect, model, FEATURES[name])
    if name == "search with tools":
        alone = (built(dialect, model, {"search": NativeSearch()}), built(dialect, model, {"tools": (LOOK,)}))
        return made is not None and made not in alone
    return made is not None and made != built(dialect, model, PLAIN.get(name, {}))


def cells(spec: ProviderSpec) -> Iterator[str]:
    """Yield a row of marks."""
    model = spec.default_model or "any"
    searches = spec.profile_of(model).search is not None
    for name, fields in FEATURES.items():
        yield "yes" if knows(spec.dialect, model, name) and (searches or "search" not in fields) else "no"


def features_page() -> str:
    """Return the page."""
    specs = list(BUILTIN_SPECS.values())
    names = [code(spec.name) for spec in specs]
    columns = [list(cells(spec)) for spec in specs]
    rows = [(name, *marks) for name, *marks in zip(FEATURES, *columns, strict=True)]
    servers = [
        (
            code(server.name),
            code(server.base_url or "your own"),
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
        "The features that the library can use with each provider, checked with the provider's default model. *Yes*"
        " doesn't mean that every model of the provider has the feature; older models might not.",
        table(("Feature", *names), rows),
        "## Models",
        table(
            ("Provider", "Model", "Light model", "Key", "Address", "Context window"), (models(spec) for spec in specs)
        ),
        "## Profiles of compatible servers",
        "The library recognizes a server by its address. You can also name the profile with `profile`.",
        table(head, servers),
    )


def models(spec: ProviderSpec) -> tuple[str, ...]:
    """Return the row of a provider's models."""
    default = spec.default_model or ""
    return (
        code(spec.name),
        code(default) if default else "must be named",
        code(spec.light_model) if spec.light_model else "the same",
        ", else ".join(map(code, spec.key_env)),
        code(spec.base_url) if spec.base_url else "must be given",
        f"{spec.profile_of(default).context_tokens:,}",
    )


PROVIDERS_PAGE = Path("docs/reference/providers.md")
GUIDES = Path("docs/how-to/providers")
START = "<!-- tools/generate.py writes this table from vendors.py. -->"
END = "<!-- End of the table. -->"


def vendor_row(vendor: Vendor) -> tuple[str, ...]:
    """Return the row of a vendor: name, description, key, and the model if an agent names none."""
    guide = GUIDES / f"{vendor.name}.md"
    name = f"[{code(vendor.name)}](../how-to/providers/{guide.name})" if guide.is_file() else code(vendor.name)
    key = " or ".join(map(code, vendor.key_env)) + ("" if vendor.key_required else ", if the server requires a key")
    model = code(vendor.default_model or vendor.model_env or "must be named")
    if vendor.host_env:
        model += f"; with {code(vendor.host_env)} alone, the first model that the server lists"
    return name, vendor.summary.rstrip("."), key, model


def providers_page() -> str:
    """Return the page of providers, which is written by hand, with the current table of vendors."""
    before, _, rest = PROVIDERS_PAGE.read_text("utf-8").partition(START)
    rows = table(("provider", "what it is", "key", "model if none is named"), map(vendor_row, VENDORS.values()))
    return f"{before}{START}\n\n{rows}\n\n{END}{rest.partition(END)[2]}"
