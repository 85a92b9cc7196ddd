"""Values of a caller's own type in answers: which schemas are supported, and whether a value fits its schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from roundtable.core.base.strict_json import TOO_DEEP, is_too_deep
from roundtable.core.base.words import shortened
from roundtable.core.errors import ConfigurationError
from roundtable.parsing.schema_checks import TooManyStepsError, first_error, part_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.core.types.base import JsonObject, JsonValue

__all__ = ["check_answer_schema", "value_problem"]

MOST_SCHEMA_CHARS: Final = 16_000
"""Longest schema, as compact JSON."""
MOST_VALUE_CHARS: Final = 16_000
"""Longest value of an answer, as compact JSON."""
_MOST_PARTS: Final = 2_000
"""Most parts that a schema may have; a definition counts wherever it is used."""
_MOST_PARTS_DEEP: Final = 32
"""Most levels to which parts of a schema may be nested; a definition counts wherever it is used."""
_SHOWN_CHARS: Final = 200
_MAPS: Final = ("properties", "dependentSchemas")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLES: Final = (
    "items",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_FLATTER: Final = "Ask for a type with fewer levels."
_REFUSED: Final = ("$dynamicRef", "$id", "$recursiveRef", "pattern", "patternProperties")
"""Keywords that are not supported. A regular expression of an untrusted author can take hours, and an id of a schema
allows references that cannot be resolved here."""


def check_answer_schema(schema: JsonObject) -> None:
    """Check that agents can be asked for a value of this JSON Schema (draft 2020-12).

    Raises:
        ConfigurationError: The schema does not describe an object, is not valid, is too large, refers to itself or to
            another document, or needs a regular expression; or the extra `schema` is not installed.

    Example:
        >>> check_answer_schema({"type": "object", "properties": {"price": {"type": "number"}}})
        >>> check_answer_schema({"type": "string"})
        Traceback (most recent call last):
        ...
        roundtable.core.errors.ConfigurationError: the answer schema must have "type": "object", not 'string'
    """
    kind = schema.get("type")
    if kind is None and "$ref" in schema and not is_too_deep(schema):
        # A type that contains itself is a reference at the top level. Then the error should name the recursion.
        _count_parts(schema, schema, ())
    if kind != "object":
        raise ConfigurationError(f'the answer schema must have "type": "object", not {kind!r}')
    if is_too_deep(schema):
        msg = f"the answer schema is {TOO_DEEP}"
        raise ConfigurationError(msg, hint=_FLATTER)
    try:
        size = len(json.dumps(schema, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"the answer schema is not JSON: {error}") from None
    if size > MOST_SCHEMA_CHARS:
        msg = f"the answer schema has {size:,} characters; at most {MOST_SCHEMA_CHARS:,} are allowed"
        raise ConfigurationError(msg, hint="Leave out descriptions or fields.")
    _count_parts(schema, schema, ())
    _check_parts(schema)


def value_problem(value: JsonObject | None, schema: JsonObject) -> str:
    """Return why a value does not fit a checked schema; empty if it fits.

    Args:
        value: The value; `None` if the answer contains no value.
        schema: A schema that `check_answer_schema` accepts.

    Example:
        >>> wanted = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
        >>> value_problem({"price": "cheap"}, wanted), value_problem({"price": 3}, wanted)
        ("value.price: 'cheap' is not of type 'number'", '')
    """
    if value is None:
        return 'there is no object "value"'
    if is_too_deep(value):
        return f"the value is {TOO_DEEP}"
    try:
        size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    except ValueError:
        return "the value has a number that is not finite"
    if size > MOST_VALUE_CHARS:
        return f"the value has more than {MOST_VALUE_CHARS:,} characters"
    try:
        error = first_error(value, schema)
    except TooManyStepsError:
        return "the value is too large for so many rules of its schema"
    except ArithmeticError:
        return "the value has a number that is too large"
    return "" if error is None else _in_words(error, "value")


def _check_parts(schema: JsonObject) -> None:
    """Check that the keywords of all parts have values of their types.

    Raises:
        ConfigurationError: One has a wrong value.
    """
    parts: list[tuple[str, JsonValue]] = [("", schema)]
    for path, part in parts:
        try:
            error = part_error(part)
        except TooManyStepsError:
            raise ConfigurationError(
                "the answer schema is too large in one part", hint="Ask for a type with fewer fields."
            ) from None
        if error is not None:
            raise ConfigurationError(f"the answer schema is not valid: {_in_words(error, path)}")
        if isinstance(part, dict):
            parts += ((f"{path}.{name}" if path else name, inner) for name, inner in _named_parts(part))


def _in_words(error: Any, root: str = "") -> str:  # noqa: ANN401  (jsonschema has no types)
    """Return an error as one line, with the path of the wrong part."""
    path = ".".join([*([root] if root else []), *map(str, error.absolute_path)])
    text = shortened(" ".join(str(error.message).split()), _SHOWN_CHARS)
    return f"{path}: {text}" if path else text


def _count_parts(root: JsonObject, schema: JsonValue, opened: tuple[str, ...], count: int = 0, depth: int = 0) -> int:
    """Return the number of parts of a schema; a definition counts wherever it is used.

    Args:
        root: The whole schema.
        schema: The part to count.
        opened: References that lead to this part.
        count: Number of parts before this one.
        depth: Number of parts around this one.

    Raises:
        ConfigurationError: There are too many parts, they are nested too deep, or one is not supported.
    """
    if not isinstance(schema, dict):
        return count
    count += 1
    if depth > _MOST_PARTS_DEEP:
        raise ConfigurationError(f"the answer schema is nested more than {_MOST_PARTS_DEEP} levels deep", hint=_FLATTER)
    if count > _MOST_PARTS:
        raise ConfigurationError(
            f"the answer schema has more than {_MOST_PARTS:,} parts", hint="Ask for a type with fewer fields."
        )
    for word in _REFUSED:
        if word in schema:
            raise ConfigurationError(f"the answer schema uses {word!r}, which is not supported")
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if reference in opened:
            raise ConfigurationError(
                f"the answer schema refers to itself, by {reference!r}", hint="Ask for a type without recursion."
            )
        count = _count_parts(root, _definition(root, reference), (*opened, reference), count, depth + 1)
    for path, part in _named_parts(schema):
        if path.startswith("$defs."):
            continue
        count = _count_parts(root, part, opened, count, depth + 1)
    return count


def _named_parts(schema: JsonObject) -> Iterator[tuple[str, JsonValue]]:
    """Return the parts of a valid part, with their paths."""
    for word in (*_MAPS, "$defs"):
        inner = schema.get(word)
        yield from ((f"{word}.{name}", part) for name, part in (inner.items() if isinstance(inner, dict) else ()))
    for word in _LISTS:
        listed = schema.get(word)
        yield from (
            (f"{word}.{number}", part) for number, part in enumerate(listed if isinstance(listed, list) else ())
        )
    yield from ((word, schema[word]) for word in _SINGLES if word in schema)


def _definition(root: JsonObject, reference: str) -> JsonValue:
    name = reference.removeprefix("#/$defs/")
    definitions = root.get("$defs")
    if name == reference or not isinstance(definitions, dict) or name not in definitions:
        msg = f"the answer schema refers to {reference!r}, which is not one of its definitions"
        raise ConfigurationError(msg, hint='Put the definition into "$defs" of the schema.')
    return definitions[name]
