"""Hypothesis strategies for every public type, derived from its annotations.

Example:
    >>> from roundtable.types import Usage
    >>> strategy = values(Usage)
    >>> len(public_types()) > 50
    True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import annotated_types
from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

import roundtable.types as public
from roundtable.core.types.attachments import Attachment, stored_contents
from roundtable.core.types.base import Value
from roundtable.core.types.debate import DebateConfig, SessionRecord
from roundtable.core.types.plan import Stage, TurnSpec

__all__ = ["drawn_from", "public_types", "values"]

M = TypeVar("M", bound=BaseModel)

TEXT = st.text(max_size=12)
WHOLE = 2**53
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-WHOLE, WHOLE) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
LEFT_OUT = object()
BASES: set[type[Value]] = {Value, public.EventBase}


def public_types() -> list[type[Value]]:
    """List the public types, without their base classes."""
    exported = [getattr(public, name) for name in public.__all__]
    return [kind for kind in exported if isinstance(kind, type) and issubclass(kind, Value) and kind not in BASES]


def values(kind: type[M]) -> st.SearchStrategy[M]:
    """Draw values of a public type; optional fields are sometimes left out."""
    return _values(kind)


@cache
def _values(kind: type[BaseModel]) -> st.SearchStrategy[Any]:
    special = SPECIAL.get(kind)
    return _from_fields(kind) if special is None else special()


def _from_fields(kind: type[M], **own: st.SearchStrategy[Any]) -> st.SearchStrategy[M]:
    """Draw each field by itself; `own` has the strategies of some fields."""
    fields = {
        name: _field(field) if field.is_required() else st.one_of(st.just(LEFT_OUT), _field(field))
        for name, field in kind.model_fields.items()
    } | own
    return st.fixed_dictionaries(fields).map(
        lambda drawn: kind(**{name: value for name, value in drawn.items() if value is not LEFT_OUT})
    )


def _stages() -> st.SearchStrategy[Stage]:
    turns = st.lists(values(TurnSpec), max_size=3)
    in_order = turns.map(lambda drawn: tuple(turn.model_copy(update={"slot": slot}) for slot, turn in enumerate(drawn)))
    return st.builds(Stage, name=st.text(min_size=1, max_size=8), turns=in_order)


def _attachments() -> st.SearchStrategy[Attachment]:
    names = st.text("ab \u00e9.", min_size=1, max_size=8).filter(str.strip)
    contents = st.one_of(st.binary(max_size=9).map(lambda end: b"\x89PNG\r\n\x1a\n" + end), TEXT.map(_encoded))
    return st.builds(_attachment, names, contents)


def _attachment(name: str, content: bytes) -> Attachment:
    return Attachment.from_bytes(content, name=name)


def _encoded(text: str) -> bytes:
    return text.replace("\0", "").encode() or b"."


def _records() -> st.SearchStrategy[SessionRecord]:
    """Draw records of sessions, each with the contents of its files."""
    no_files = {"config": _from_fields(DebateConfig, attachments=st.just(())), "contents": st.just(LEFT_OUT)}
    return st.builds(_with_files, _from_fields(SessionRecord, **no_files), st.lists(_attachments(), max_size=2))


def _with_files(record: SessionRecord, files: list[Attachment]) -> SessionRecord:
    config = record.config.model_copy(update={"attachments": tuple(file.info for file in files)})
    return record.model_copy(update={"config": config, "contents": stored_contents(files)})


def _field(field: FieldInfo) -> st.SearchStrategy[Any]:
    return drawn_from(field.annotation, tuple(field.metadata))


def drawn_from(annotation: object, rules: tuple[object, ...] = ()) -> st.SearchStrategy[Any]:
    """Draw values for any annotation of a public type."""
    if annotation is JsonValue:
        return JSON
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *metadata = get_args(annotation)
        return drawn_from(inner, (*rules, *_constraints(metadata)))
    if origin in (Union, UnionType):
        return st.one_of([drawn_from(part, rules) for part in get_args(annotation)])
    if origin is Literal:
        return st.sampled_from(get_args(annotation))
    if origin is tuple:
        return _tuples(get_args(annotation))
    if origin in (dict, Mapping):
        key, value = get_args(annotation)
        return st.dictionaries(drawn_from(key), drawn_from(value), max_size=2)
    return _single(annotation, rules)


def _constraints(rules: list[object]) -> list[object]:
    """Return the constraints, including the constraints that a pydantic `Field` holds inside `Annotated`."""
    return [inner for rule in rules for inner in (rule.metadata if isinstance(rule, FieldInfo) else [rule])]


def _tuples(parts: tuple[Any, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    if len(parts) == 2 and parts[1] is Ellipsis:
        item = drawn_from(parts[0])
        return st.one_of(st.just(()), item.map(lambda only: (only,)), st.tuples(item, item))
    return st.tuples(*map(drawn_from, parts))


def _single(annotation: object, rules: tuple[object, ...]) -> st.SearchStrategy[Any]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return values(annotation)
    if isinstance(annotation, type) and issubclass(annotation, tuple):
        make = cast("Callable[..., object]", annotation)
        return st.tuples(*map(drawn_from, get_type_hints(annotation).values())).map(lambda parts: make(*parts))
    scalar = SCALARS.get(annotation)
    if scalar is None:
        raise TypeError(f"no strategy for {annotation!r}; add one to SCALARS")
    return _filtered(scalar(rules), annotation, rules)


def _filtered(
    strategy: st.SearchStrategy[Any], annotation: object, rules: tuple[object, ...]
) -> st.SearchStrategy[Any]:
    """Filter the values by constraints that are functions."""
    if not any(callable(getattr(rule, "func", None)) for rule in rules):
        return strategy
    adapter: TypeAdapter[Any] = TypeAdapter(cast("Any", Annotated[(annotation, *rules)]))

    def passes(value: object) -> bool:
        try:
            adapter.validate_python(value)
        except ValidationError:
            return False
        return True

    return strategy.filter(passes)


def _bound(rules: tuple[object, ...], kind: type, name: str, default: object) -> Any:  # noqa: ANN401  (of the rule's own type)
    return next((getattr(rule, name) for rule in rules if isinstance(rule, kind)), default)


def _texts(rules: tuple[object, ...]) -> st.SearchStrategy[str]:
    pattern = next(
        (rule_pattern for rule in rules if (rule_pattern := getattr(rule, "pattern", None)) is not None), None
    )
    if pattern is not None:
        return st.from_regex(pattern, fullmatch=True)
    minimum = _bound(rules, annotated_types.MinLen, "min_length", 0)
    maximum = min(12, _bound(rules, annotated_types.MaxLen, "max_length", 12))
    return st.text(min_size=minimum, max_size=maximum)


def _integers(rules: tuple[object, ...]) -> st.SearchStrategy[int]:
    minimum = _bound(rules, annotated_types.Ge, "ge", _bound(rules, annotated_types.Gt, "gt", -WHOLE - 1) + 1)
    return st.integers(minimum, _bound(rules, annotated_types.Le, "le", WHOLE))


def _floats(rules: tuple[object, ...]) -> st.SearchStrategy[float]:
    minimum, maximum = _bound(rules, annotated_types.Ge, "ge", None), _bound(rules, annotated_types.Le, "le", None)
    above = _bound(rules, annotated_types.Gt, "gt", None)
    return st.floats(
        minimum if above is None else above,
        maximum,
        exclude_min=above is not None,
        allow_nan=False,
        allow_infinity=False,
    )


SCALARS: dict[object, Callable[[tuple[object, ...]], st.SearchStrategy[Any]]] = {
    str: _texts,
    int: _integers,
    float: _floats,
    bool: lambda _: st.booleans(),
    datetime: lambda _: st.datetimes(timezones=st.just(UTC)),
    NoneType: lambda _: st.none(),
}

SPECIAL: dict[type[BaseModel], Callable[[], st.SearchStrategy[Any]]] = {
    Attachment: _attachments,
    SessionRecord: _records,
    Stage: _stages,
}
"""Types whose fields depend on each other."""
