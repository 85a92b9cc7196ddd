"""JSON Schema in the form that each provider can enforce.

The same function transforms a schema for all dialects. Keywords that a provider does not know are removed; if they
limit a value, they move to the description. Names of properties are never mistaken for keywords, and optional
properties stay optional. Every value that is valid under the original schema is valid under the transformed one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.core.types.base import JsonObject, JsonValue

__all__ = [
    "ANTHROPIC",
    "GOOGLE",
    "OPENAI_STRICT",
    "SchemaDialect",
    "is_strict",
    "parameters_schema",
    "strict_schema",
    "to_dialect",
]

_MAPS: Final = ("properties", "$defs", "definitions")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLES: Final = ("items", "additionalProperties", "not")
_COMMON: Final = frozenset(
    {"$defs", "$ref", "type", "description", "enum", "properties", "required", "items", "anyOf", "additionalProperties"}
)
_ANNOTATIONS: Final = frozenset(
    {"$schema", "$id", "$comment", "title", "default", "examples", "definitions", "deprecated"}
)
_STRICT_WORDS: Final = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "description",
        "title",
    }
)


@dataclass(frozen=True, slots=True)
class SchemaDialect:
    """The part of JSON Schema that a provider supports."""

    words: frozenset[str]
    """Keywords it supports."""
    is_closed: bool = False
    """Whether every object must forbid properties that it does not list."""
    renames: tuple[tuple[str, str], ...] = (("oneOf", "anyOf"),)
    """Keywords to rename, as pairs of old and new."""


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


def parameters_schema(parameters: Mapping[str, JsonValue]) -> JsonObject:
    """Return the schema of a tool's arguments with a type and properties, which OpenAI requires.

    Example:
        >>> parameters_schema({"type": "object", "additionalProperties": False})
        {'type': 'object', 'properties': {}, 'additionalProperties': False}
    """
    if isinstance(parameters.get("properties"), dict) and "type" in parameters:
        return dict(parameters)
    known = {name: value for name, value in parameters.items() if value is not None}
    return {"type": "object", "properties": {}, **known}


def to_dialect(schema: JsonObject, dialect: SchemaDialect) -> JsonObject | None:
    """Return the schema in a dialect; `None` if the schema would reject valid values in this dialect.

    Example:
        >>> to_dialect({"type": "string", "maxLength": 5}, ANTHROPIC)
        {'type': 'string', 'description': 'maxLength: 5'}
        >>> to_dialect({"type": "object", "additionalProperties": {"type": "number"}}, ANTHROPIC) is None
        True
    """
    try:
        return _transform(schema, dialect)
    except (_InexpressibleError, RecursionError):
        return None


def strict_schema(schema: JsonObject) -> tuple[JsonObject, bool]:
    """Return a schema for OpenAI, and whether it can be enforced strictly; if not, the schema is unchanged.

    Strict mode requires every property, so a schema with an optional property is not strict.

    Example:
        >>> strict_schema({"type": "object", "properties": {"title": {"type": "string", "minLength": 1}}})[1]
        False
    """
    strict = to_dialect(schema, OPENAI_STRICT)
    if strict is None or strict.get("type") != "object" or not _requires_all(strict):
        return schema, False
    return strict, True


class _InexpressibleError(Exception):
    """A dialect cannot express a schema."""


def _transform(schema: JsonObject, dialect: SchemaDialect) -> JsonObject:
    result: JsonObject = {}
    notes: list[str] = []
    renames = dict(dialect.renames)
    for word, value in schema.items():
        name = renames.get(word, word)
        if word == "const" and "const" not in dialect.words:
            result["enum"] = [value]
        elif word == "allOf" and "allOf" not in dialect.words:
            _merge_only(result, value, dialect)
        elif name in dialect.words and name not in result:
            result[name] = _transform_keyword(name, value, dialect)
        elif word in {"$defs", "definitions", "patternProperties", "if", "not", "dependentSchemas"}:
            raise _InexpressibleError(word)
        elif word not in _ANNOTATIONS:
            notes.append(f"{word}: {json.dumps(value, ensure_ascii=False)}")
    if notes:
        description = result.get("description")
        result["description"] = "; ".join(
            [description, *notes] if isinstance(description, str) and description else notes
        )
    if dialect.is_closed:
        _close(schema, result)
    return result


def _transform_keyword(name: str, value: JsonValue, dialect: SchemaDialect) -> JsonValue:
    if name in _MAPS and isinstance(value, dict):
        return {key: _transform_value(item, dialect) for key, item in value.items()}
    if name in _LISTS and isinstance(value, list):
        return [_transform_value(item, dialect) for item in value]
    if name in _SINGLES:
        return _transform_value(value, dialect)
    return value


def _transform_value(value: JsonValue, dialect: SchemaDialect) -> JsonValue:
    return _transform(value, dialect) if isinstance(value, dict) else value


def _merge_only(result: JsonObject, value: JsonValue, dialect: SchemaDialect) -> None:
    """Replace an `allOf` that holds one schema by this schema; pydantic writes described references like this."""
    if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], dict):
        raise _InexpressibleError("allOf")
    for word, inner in _transform(value[0], dialect).items():
        result.setdefault(word, inner)


def _close(schema: JsonObject, result: JsonObject) -> None:
    """Forbid additional properties; a schema that allows them cannot be expressed."""
    kind = schema.get("type")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind) and "properties" not in schema:
        return
    extra = schema.get("additionalProperties", False if schema.get("properties") else None)
    if extra is not False:
        raise _InexpressibleError("additionalProperties")
    result["additionalProperties"] = False


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
    inner = [item for schemas in maps if isinstance(schemas, dict) for item in schemas.values()]
    inner += [item for schemas in lists if isinstance(schemas, list) for item in schemas]
    return all(_requires_all(item) for item in [*inner, schema.get("items")])


def is_strict(schema: JsonValue) -> bool:
    """Check whether OpenAI can enforce a schema; for other schemas the API rejects `strict`.

    Every object must forbid additional properties and require all its properties, and only a few keywords are allowed.

    Example:
        >>> is_strict({"type": "object", "properties": {"a": {"type": "string"}}})
        False
    """
    if not isinstance(schema, dict):
        return True
    if not schema.keys() <= _STRICT_WORDS:
        return False
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        return False
    if schema.get("type") == "object" or properties:
        required = schema.get("required", [])
        requires_all = isinstance(required, list) and {str(name) for name in required} == properties.keys()
        if not requires_all or schema.get("additionalProperties") is not False:
            return False
    choices = schema.get("anyOf", [])
    inner = [schema.get("items"), *properties.values(), *(choices if isinstance(choices, list) else [])]
    return all(is_strict(item) for item in inner)
