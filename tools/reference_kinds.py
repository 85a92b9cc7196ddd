"""What a JSON schema takes, in words, for the tables of the reference."""

from __future__ import annotations

from typing import Any


def kind_of(schema: dict[str, Any]) -> str:
    """Describe in words what a schema accepts."""
    branches = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    return " or ".join(dict.fromkeys(_branch(one) for one in branches))


LIMITS = {
    "minimum": "from",
    "exclusiveMinimum": "above",
    "maximum": "to",
    "minLength": "at least",
    "maxLength": "at most",
    "minItems": "at least",
    "maxItems": "at most",
}


def _branch(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return kind_of(schema)
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    limits = [f"{word} {schema[key]:,}" for key, word in LIMITS.items() if key in schema]
    kind = schema.get("format") or schema.get("type", "any")
    if kind == "array":
        kind = f"list of {kind_of(schema['items'])}"
    return f"{kind} ({', '.join(limits)})" if limits else kind


def cell(text: str) -> str:
    """Return text as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
