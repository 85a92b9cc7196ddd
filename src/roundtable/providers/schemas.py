"""JSON Schema as each provider can enforce it.

One walk serves all dialects: keywords a provider does not know are taken out, and said in the description instead
where they limit a value. Names of properties are never taken for keywords, what is optional stays optional, and every
value that fitted the schema still fits what was made of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from roundtable.types import JsonObject, JsonValue

__all__ = ["ANTHROPIC", "GOOGLE", "OPENAI_STRICT", "SchemaDialect", "strict_or_not", "transformed"]

_MAPS: Final = ("properties", "$defs", "definitions")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONES: Final = ("items", "additionalProperties", "not")
_COMMON: Final = frozenset(
    {"$defs", "$ref", "type", "description", "enum", "properties", "required", "items", "anyOf", "additionalProperties"}
)
_SILENT: Final = frozenset({"$schema", "$id", "$comment", "title", "default", "examples", "definitions", "deprecated"})


@dataclass(frozen=True, slots=True)
class SchemaDialect:
    """What a provider knows of JSON Schema."""

    words: frozenset[str]
    """Keywords it knows."""
    is_closed: bool = False
    """Whether every object must forbid properties it does not name."""
    renames: tuple[tuple[str, str], ...] = (("oneOf", "anyOf"),)
    """Keywords that are said with another one."""


ANTHROPIC: Final = SchemaDialect(_COMMON | {"const", "allOf", "format", "title", "default"}, is_closed=True)
"""Anthropic, see https://docs.claude.com/en/docs/build-with-claude/structured-outputs."""

OPENAI_STRICT: Final = SchemaDialect(
    _COMMON
    | {"const", "title", "pattern", "format", "multipleOf", "minimum", "maximum"}
    | {"exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"},
    is_closed=True,
)
"""OpenAI, see https://platform.openai.com/docs/guides/structured-outputs."""

GOOGLE: Final = SchemaDialect(
    _COMMON
    | {"$id", "$anchor", "format", "title", "prefixItems", "minItems", "maxItems", "minimum", "maximum", "oneOf"},
    renames=(),
)
"""Google, see https://ai.google.dev/api/generate-content#FIELDS.response_json_schema."""


def transformed(schema: JsonObject, dialect: SchemaDialect) -> JsonObject | None:
    """Give the schema as a dialect knows it; None where it cannot say it without refusing values that fit.

    Example:
        >>> transformed({"type": "string", "maxLength": 5}, ANTHROPIC)
        {'type': 'string', 'description': 'maxLength: 5'}
        >>> transformed({"type": "object", "additionalProperties": {"type": "number"}}, ANTHROPIC) is None
        True
    """
    try:
        return _schema(schema, dialect)
    except (_CannotSayError, RecursionError):
        return None


def strict_or_not(schema: JsonObject) -> tuple[JsonObject, bool]:
    """Give a schema for OpenAI, and whether it can be enforced strictly; if not, it is given as it was.

    Strict means that every property is required, so that a schema with an optional one is not strict.

    Example:
        >>> strict_or_not({"type": "object", "properties": {"title": {"type": "string", "minLength": 1}}})[1]
        False
    """
    made = transformed(schema, OPENAI_STRICT)
    if made is None or made.get("type") != "object" or not _requires_all(made):
        return schema, False
    return made, True


class _CannotSayError(Exception):
    """A schema has no equal in a dialect."""


def _schema(schema: JsonObject, dialect: SchemaDialect) -> JsonObject:
    made: JsonObject = {}
    notes: list[str] = []
    renames = dict(dialect.renames)
    for word, value in schema.items():
        name = renames.get(word, word)
        if word == "const" and "const" not in dialect.words:
            made["enum"] = [value]
        elif word == "allOf" and "allOf" not in dialect.words:
            _merge_only(made, value, dialect)
        elif name in dialect.words and name not in made:
            made[name] = _inner(name, value, dialect)
        elif word in {"$defs", "definitions", "patternProperties", "if", "not", "dependentSchemas"}:
            raise _CannotSayError(word)
        elif word not in _SILENT:
            notes.append(f"{word}: {json.dumps(value, ensure_ascii=False)}")
    if notes:
        said = made.get("description")
        made["description"] = "; ".join([said, *notes] if isinstance(said, str) and said else notes)
    if dialect.is_closed:
        _close(schema, made)
    return made


def _inner(name: str, value: JsonValue, dialect: SchemaDialect) -> JsonValue:
    if name in _MAPS and isinstance(value, dict):
        return {key: _any(item, dialect) for key, item in value.items()}
    if name in _LISTS and isinstance(value, list):
        return [_any(item, dialect) for item in value]
    if name in _ONES:
        return _any(value, dialect)
    return value


def _any(value: JsonValue, dialect: SchemaDialect) -> JsonValue:
    return _schema(value, dialect) if isinstance(value, dict) else value


def _merge_only(made: JsonObject, value: JsonValue, dialect: SchemaDialect) -> None:
    """Put the one schema of an `allOf` in its place; pydantic writes a reference with a description like that."""
    if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], dict):
        raise _CannotSayError("allOf")
    for word, inner in _schema(value[0], dialect).items():
        made.setdefault(word, inner)


def _close(schema: JsonObject, made: JsonObject) -> None:
    """Forbid further properties, where that takes nothing away that an object is meant to hold."""
    kind = schema.get("type")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind) and "properties" not in schema:
        return
    extra = schema.get("additionalProperties", False if schema.get("properties") else None)
    if extra is not False:
        raise _CannotSayError("additionalProperties")
    made["additionalProperties"] = False


def _requires_all(schema: JsonValue) -> bool:
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if isinstance(properties, dict):
        required = schema.get("required")
        if not isinstance(required, list) or not properties.keys() <= {str(name) for name in required}:
            return False
    maps = [schema.get(word) for word in _MAPS]
    lists = [schema.get(word) for word in _LISTS]
    inner = [item for one in maps if isinstance(one, dict) for item in one.values()]
    inner += [item for one in lists if isinstance(one, list) for item in one]
    return all(_requires_all(item) for item in [*inner, schema.get("items")])
