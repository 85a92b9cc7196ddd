"""Checks of untrusted values against untrusted JSON Schemas, in a bounded number of steps.

The keywords are those of the library jsonschema. Three of its keywords compare all pairs of values, and a schema can
have a keyword a thousand times for the same value: a schema of 16 kB kept a process busy for half a minute. So these
three compare hashes here, and all keywords spend steps of a budget.
"""

from __future__ import annotations

import functools
import json
from contextvars import ContextVar
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from roundtable.core.types.base import JsonObject

__all__ = ["MOST_STEPS", "TooManyStepsError", "first_error", "part_error"]

MOST_STEPS: Final = 20_000
"""Most steps of a check, which take less than 100 ms. A step is about a keyword of the schema at one place of the
value."""
_TEXT_PER_STEP: Final = 1_000
"""Number of characters of a text, or of an error message, that count as one step."""
_TEXT_PER_HASH_STEP: Final = 50
_ITEMS_PER_STEP: Final = 8
_BRANCHES: Final = frozenset({"allOf", "anyOf", "oneOf"})
_EACH_ITEM: Final = frozenset({"additionalProperties", "contains", "items", "properties", "propertyNames"})
_SCHEMA: Final[JsonObject] = {"type": ["object", "boolean"]}
_NAMES: Final[JsonObject] = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
_TYPE: Final[JsonObject] = {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]}
_KEYWORDS: Final[tuple[tuple[str, JsonObject], ...]] = (
    ("$defs dependentSchemas properties", {"type": "object", "additionalProperties": _SCHEMA}),
    ("allOf anyOf oneOf prefixItems", {"type": "array", "minItems": 1, "items": _SCHEMA}),
    ("additionalProperties contains contentSchema else if items not propertyNames then", _SCHEMA),
    ("unevaluatedItems unevaluatedProperties", _SCHEMA),
    ("maxContains maxItems maxLength maxProperties", {"type": "integer", "minimum": 0}),
    ("minContains minItems minLength minProperties", {"type": "integer", "minimum": 0}),
    ("exclusiveMaximum exclusiveMinimum maximum minimum", {"type": "number"}),
    ("multipleOf", {"type": "number", "exclusiveMinimum": 0}),
    ("deprecated readOnly uniqueItems writeOnly", {"type": "boolean"}),
    ("enum examples", {"type": "array"}),
    ("$anchor $comment $ref $schema contentEncoding contentMediaType description format title", {"type": "string"}),
    ("required", _NAMES),
    ("dependentRequired", {"type": "object", "additionalProperties": _NAMES}),
    ("type", {"anyOf": [_TYPE, {"type": "array", "items": _TYPE, "minItems": 1, "uniqueItems": True}]}),
)
_PART: Final = {**_SCHEMA, "properties": {word: kind for words, kind in _KEYWORDS for word in words.split()}}
"""What draft 2020-12 says of the keywords of one part of a schema, without the parts in it. The meta-schema of
the draft says the same, but a check against it takes twenty times as long."""


class TooManyStepsError(Exception):
    """A check needs more steps than its budget has."""


class _Budget:
    """The steps of one check that are left, and what was compared before."""

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.options: dict[int, frozenset[str]] = {}
        """The hashable forms of each `enum`, by its identity; schemas live as long as the check."""

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise TooManyStepsError


_budget: ContextVar[_Budget] = ContextVar("roundtable_schema_budget")


def first_error(value: object, schema: object, *, steps: int = MOST_STEPS) -> Any:  # noqa: ANN401  (jsonschema has no types)
    """Return the first error of jsonschema where a value does not fit a schema; `None` if it fits.

    Raises:
        TooManyStepsError: The check needs more steps.
        ConfigurationError: The extra `schema` is not installed.
    """
    library = _jsonschema()
    token = _budget.set(_Budget(steps))
    try:
        return next(_validator(library)(schema, format_checker=_formats(library)).iter_errors(value), None)
    finally:
        _budget.reset(token)


def part_error(part: object) -> Any:  # noqa: ANN401  (jsonschema has no types)
    """Return the first error where the keywords of one part of a schema have wrong values; `None` if they are right.

    Raises:
        TooManyStepsError: The part has too many names, such as in `required`.
        ConfigurationError: The extra `schema` is not installed.
    """
    return first_error(part, _PART)


def _plain(value: object) -> object:
    """Return a value as JSON writes it, with equal numbers as equal numbers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _hashable(value: object) -> str:
    """Return a text that is the same for equal values only: JSON with sorted names; 1 equals 1.0, and not true."""
    text = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"))
    _budget.get().spend(1 + len(text) // _TEXT_PER_HASH_STEP)
    return text


def _steps(name: str, argument: object, instance: object, schema: object) -> int:
    """Return the steps of a keyword, without those of the parts that it checks in turn."""
    items = len(instance) if isinstance(instance, list | dict) else 0
    if name in _BRANCHES:
        return 1 + (len(argument) if isinstance(argument, list) else 0)
    if name.startswith("unevaluated"):
        # The keyword reads all parts beside it, and compares each item with all items that they allow.
        return 1 + (len(json.dumps(schema)) // _ITEMS_PER_STEP + items**2 // 200 if items else 0)
    if name in _EACH_ITEM:
        return 1 + items + (len(argument) // _ITEMS_PER_STEP if isinstance(argument, dict) else 0)
    if name in {"required", "dependentRequired", "dependentSchemas", "prefixItems"}:
        return 1 + (len(argument) // _ITEMS_PER_STEP if isinstance(argument, list | dict) else 0)
    return 3 if name == "$ref" else 1


def _counted(keyword: Callable[..., Any], name: str) -> Callable[..., Iterator[Any]]:
    """Return a keyword of jsonschema that spends steps."""

    @functools.wraps(keyword)
    def check(validator: Any, argument: Any, instance: Any, schema: Any) -> Iterator[Any]:  # noqa: ANN401  (as above)
        budget = _budget.get()
        budget.spend(_steps(name, argument, instance, schema))
        for error in keyword(validator, argument, instance, schema) or ():
            budget.spend(1 + len(error.message) // _TEXT_PER_STEP)
            yield error

    return check


def _unique_items(validator: Any, argument: Any, instance: Any, _: Any) -> Iterable[Any]:  # noqa: ANN401  (as above)
    if argument and validator.is_type(instance, "array") and len({*map(_hashable, instance)}) < len(instance):
        yield _jsonschema().ValidationError(f"{instance!r} has non-unique elements")


def _enum(_validator: Any, argument: Any, instance: Any, _: Any) -> Iterable[Any]:  # noqa: ANN401  (as above)
    budget = _budget.get()
    known = budget.options.get(id(argument))
    if known is None:
        known = budget.options.setdefault(id(argument), frozenset(map(_hashable, argument)))
    if _hashable(instance) not in known:
        yield _jsonschema().ValidationError(f"{instance!r} is not one of {argument!r}")


def _const(_validator: Any, argument: Any, instance: Any, _: Any) -> Iterable[Any]:  # noqa: ANN401  (as above)
    if _hashable(instance) != _hashable(argument):
        yield _jsonschema().ValidationError(f"{argument!r} was expected")


def _jsonschema() -> Any:  # noqa: ANN401  (jsonschema has no types)
    """Return the library.

    Raises:
        ConfigurationError: The extra `schema` is not installed.
    """
    try:
        import jsonschema  # type: ignore[import-untyped]  # it has no types
    except ImportError:
        raise ConfigurationError(
            "answers of your own type need the extra 'schema'", hint="Install it: pip install 'roundtable-sdk[schema]'"
        ) from None
    return jsonschema


@functools.cache
def _validator(library: Any) -> Any:  # noqa: ANN401  (as above)
    """Return the class of validators of draft 2020-12 whose keywords spend steps."""
    usual = library.Draft202012Validator
    keywords = {**usual.VALIDATORS, "const": _const, "enum": _enum, "uniqueItems": _unique_items}
    return library.validators.extend(usual, {name: _counted(keyword, name) for name, keyword in keywords.items()})


@functools.cache
def _formats(library: Any) -> Any:  # noqa: ANN401  (as above)
    """Return the checker of the formats that are checked in a value; other formats are ignored."""
    checker = library.FormatChecker(formats=("date", "email", "ipv4", "ipv6", "uuid"))
    checker.checks("date-time", raises=ValueError)(_is_date_time)
    return checker


def _is_date_time(value: object) -> bool:
    if not isinstance(value, str):
        return True
    datetime.fromisoformat(value)
    return "T" in value.upper()
