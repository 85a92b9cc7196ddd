"""Write the JSON Schema of every public type, with the descriptions of its docstrings."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter
from reference_sources import alias_docs, attribute_docs, summary

import roundtable.core.types as core_types
import roundtable.types as public
from roundtable.server.openapi import classes_of, reachable_models, schema_mode

DIALECT = "https://json-schema.org/draft/2020-12/schema"
OTHERS: tuple[str, ...] = ("roundtable.results.debate_result:DebateResult",)
"""Types outside `roundtable.types` whose JSON is public too, as `module:Name`."""
BASES = frozenset({"Value", "EventBase"})
"""Bases of other types: no document has exactly their form."""
LITERAL = frozenset({"const", "default", "enum", "examples"})
"""Keywords that hold values, not schemas."""

Schema = dict[str, Any]


def models() -> dict[str, type[BaseModel]]:
    """List the public types that are objects in JSON, by name."""
    found = {name: getattr(public, name) for name in public.__all__ if name not in BASES}
    for place in OTHERS:
        module, _, name = place.partition(":")
        found[name] = getattr(importlib.import_module(module), name)
    return {name: thing for name, thing in found.items() if isinstance(thing, type) and issubclass(thing, BaseModel)}


def unions() -> dict[str, Any]:
    """List the public names that stand for one of several types, by name."""
    found = {name: getattr(public, name) for name in public.__all__}
    return {name: thing for name, thing in found.items() if len(list(classes_of(thing))) > 1}


def documents() -> dict[str, str]:
    """Return the text of every schema file, by file name."""
    folder = Path(core_types.__file__).parent
    aliases = alias_docs(folder)
    schemas = {
        name: _document(name, TypeAdapter(kind).json_schema(mode=schema_mode(kind)), summary(kind), [kind])
        for name, kind in models().items()
    }
    for name, thing in unions().items():
        schema = TypeAdapter[Any](thing).json_schema()
        schemas[name] = _document(name, schema, aliases.get(name, ""), list(classes_of(thing)))
    return {f"{name}.json": _text(schemas[name]) for name in sorted(schemas)}


def descriptions() -> dict[str, str]:
    """Return one line on every type that has a schema, by name."""
    aliases = alias_docs(Path(core_types.__file__).parent)
    lines = {name: summary(kind) for name, kind in models().items()}
    return lines | {name: " ".join(aliases.get(name, "").split()) for name in unions()}


def _in_json(text: str) -> str:
    return " ".join(text.split()).replace("`None`", "`null`")


def _text(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _document(name: str, schema: Schema, description: str, roots: list[type[BaseModel]]) -> Schema:
    known = reachable_models(roots)
    _strip_titles(schema)
    parts: Schema = schema.pop("$defs", {})
    for part, body in parts.items():
        _describe(body, known.get(part))
    if len(roots) == 1 and roots[0].__name__ == name:
        _describe(schema, roots[0])
    if "JsonValue" in parts:
        parts["JsonValue"] = {"description": "Any JSON value."}
    schema.pop("description", None)
    head = {
        "$schema": DIALECT,
        "$id": f"urn:roundtable:schema:{name}",
        "title": name,
        "description": _in_json(description),
    }
    return head | schema | ({"$defs": dict(sorted(parts.items()))} if parts else {})


def _strip_titles(schema: object) -> None:
    """Drop the titles that pydantic makes from names; those of tuple places say which is which."""
    if isinstance(schema, list):
        for item in schema:
            _strip_titles(item)
    elif isinstance(schema, dict):
        if isinstance(schema.get("title"), str):
            del schema["title"]
        for key, value in schema.items():
            if key not in LITERAL and key != "prefixItems":
                _strip_titles(value)


def _describe(schema: Schema, kind: type[BaseModel] | None) -> None:
    if kind is None:
        return
    schema["description"] = _in_json(summary(kind))
    docs = attribute_docs(kind)
    for name, field in kind.model_fields.items():
        place = schema["properties"][field.serialization_alias or name]
        if "const" in place:
            place["description"] = f"Always `{json.dumps(place['const'])}`."
        elif name in docs:
            place["description"] = _in_json(docs[name])
