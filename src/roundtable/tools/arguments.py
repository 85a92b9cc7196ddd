"""Whether arguments fit a JSON Schema: the keywords that schemas of tools are made of.

Keywords that are not known here are passed over, so that nothing is refused that fits; the tool itself may refuse it.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeGuard

__all__ = ["misfits"]


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


_KINDS: Final[dict[str, Callable[[object], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": _is_number,
    "integer": lambda value: _is_number(value) and float(value).is_integer(),
}
_MOST: Final = 5
_DEPTH: Final = 32


def misfits(value: object, schema: Mapping[str, Any]) -> str:
    """Say what of a value does not fit a schema, in words the model can use; empty when all does.

    Example:
        >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        >>> misfits({"n": 3}, schema), misfits({"n": "three"}, schema), misfits({}, schema)
        ('', 'n: must be integer', 'n: is missing')
    """
    found: list[str] = []
    # A stranger may write what is no schema, such as a length in words; the tool itself has to check the rest then.
    with contextlib.suppress(TypeError, ValueError, AttributeError, KeyError):
        found.extend(itertools.islice(_faults(value, schema, "", schema, _DEPTH), _MOST))
    return "; ".join(found)


def _faults(value: object, schema: object, path: str, root: Mapping[str, Any], depth: int) -> Iterator[str]:
    if schema is False:
        yield _at(path, "is not allowed")
    schema = _resolved(schema, root)
    if not isinstance(schema, Mapping) or depth == 0:
        return
    kinds = schema.get("type")
    if kinds is not None:
        wanted = [kinds] if isinstance(kinds, str) else list(kinds)
        if not any(kind not in _KINDS or _KINDS[kind](value) for kind in wanted):
            yield _at(path, f"must be {' or '.join(wanted)}")
            return
    if "enum" in schema and not any(_equal(value, one) for one in schema["enum"]):
        yield _at(path, f"must be one of {', '.join(map(repr, schema['enum']))[:200]}")
    if "const" in schema and not _equal(value, schema["const"]):
        yield _at(path, f"must be {schema['const']!r}")
    if isinstance(value, dict):
        yield from _object(value, schema, path, root, depth)
    elif isinstance(value, list):
        yield from _array(value, schema, path, root, depth)
    else:
        yield from _bounds(value, schema, path)
    yield from _choices(value, schema, path, root, depth)


def _object(
    value: dict[str, object], schema: Mapping[str, Any], path: str, root: Mapping[str, Any], depth: int
) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield _at(f"{path}.{name}", "is missing")
    others = schema.get("additionalProperties", True)
    for name, inner in value.items():
        where = f"{path}.{name[:80]}"
        if name in properties:
            yield from _faults(inner, properties[name], where, root, depth - 1)
        elif "patternProperties" not in schema:
            yield from _faults(inner, others, where, root, depth - 1)


def _array(
    value: list[object], schema: Mapping[str, Any], path: str, root: Mapping[str, Any], depth: int
) -> Iterator[str]:
    if len(value) < schema.get("minItems", 0):
        yield _at(path, f"needs at least {schema['minItems']} items")
    if len(value) > schema.get("maxItems", len(value)):
        yield _at(path, f"takes at most {schema['maxItems']} items")
    if "prefixItems" not in schema:
        for place, inner in enumerate(value):
            yield from _faults(inner, schema.get("items", True), f"{path}.{place}", root, depth - 1)


def _bounds(value: object, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            yield _at(path, f"needs at least {schema['minLength']} characters")
        if len(value) > schema.get("maxLength", len(value)):
            yield _at(path, f"takes at most {schema['maxLength']} characters")
    if _is_number(value):
        if value < schema.get("minimum", value):
            yield _at(path, f"must be at least {schema['minimum']}")
        if value > schema.get("maximum", value):
            yield _at(path, f"must be at most {schema['maximum']}")
        if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
            yield _at(path, f"must be above {schema['exclusiveMinimum']}")
        if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
            yield _at(path, f"must be below {schema['exclusiveMaximum']}")


def _choices(value: object, schema: Mapping[str, Any], path: str, root: Mapping[str, Any], depth: int) -> Iterator[str]:
    for inner in schema.get("allOf", ()):
        yield from _faults(value, inner, path, root, depth - 1)
    for word in ("anyOf", "oneOf"):
        branches: Sequence[object] = schema.get(word, ())
        told = [next(_faults(value, branch, path, root, depth - 1), None) for branch in branches]
        if branches and None not in told:
            yield max((fault for fault in told if fault), key=len)


def _resolved(schema: object, root: Mapping[str, Any]) -> object:
    """Follow references within the schema; one that leads nowhere allows everything."""
    for _ in range(_DEPTH):
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            return schema
        place: object = root
        for step in filter(None, str(schema["$ref"]).removeprefix("#").split("/")):
            place = place.get(step) if isinstance(place, Mapping) else None
        schema = place
    return None


def _equal(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _at(path: str, fault: str) -> str:
    return f"{path.removeprefix('.') or 'the arguments'}: {fault}"
