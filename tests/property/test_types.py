"""Laws that hold for every public type."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# It has no type information of its own.
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

import roundtable.types as public
from roundtable.testing.strategies import drawn_from, public_types, values
from roundtable.types import (
    AIConsensusResult,
    Answer,
    AnyConsensus,
    AnyPerspective,
    AnyTurn,
    DurableEvent,
    Event,
    EventBase,
    LiveEvent,
    Plan,
    Value,
    durable_event,
)

SCHEMAS = Path(__file__).resolve().parents[2] / "docs/reference/schemas"
TYPES = public_types()
UNIONS: dict[str, Any] = {
    "Answer": Answer,
    "AnyConsensus": AnyConsensus,
    "AnyPerspective": AnyPerspective,
    "AnyTurn": AnyTurn,
    "Event": Event,
    "Plan": Plan,
}
LAW = settings(
    max_examples=max(4, settings().max_examples // 12), deadline=None, suppress_health_check=list(HealthCheck)
)
every_type = pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)


def _strict(text: str) -> Any:
    """Read JSON as the standard has it: without NaN and infinities."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def _parts(annotation: Any) -> list[Any]:
    """List everything an annotation is made of."""
    if annotation is JsonValue:
        return [annotation]
    inner = [part for argument in get_args(annotation) for part in _parts(argument)]
    return [annotation, get_origin(annotation), *inner]


def _hashes(kind: type[BaseModel]) -> bool:
    parts = [part for field in kind.model_fields.values() for part in _parts(field.annotation)]
    if any(part in (dict, Mapping) or part is JsonValue for part in parts):
        return False
    return all(_hashes(part) for part in parts if isinstance(part, type) and issubclass(part, BaseModel))


def json_gives_back_the_same_value_of_the_same_type(kind: type[Value], value: Value) -> None:
    back = kind.from_json(value.to_json())
    assert back == value
    assert type(back) is kind


def json_without_nulls_gives_back_the_same_value(kind: type[Value], value: Value) -> None:
    assert kind.model_validate_json(value.model_dump_json(exclude_none=True)) == value


def json_is_standard_and_fits_the_published_schema(kind: type[Value], value: Value) -> None:
    schema_of(kind).validate(_strict(value.to_json()))


def names_are_accepted_in_snake_case_too(kind: type[Value], value: Value) -> None:
    assert kind.model_validate(value.model_dump(by_alias=False)) == value


def copies_and_pickles_are_equal(kind: type[Value], value: Value) -> None:
    for other in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert other == value
        assert type(other) is kind


def equal_values_have_one_hash_where_no_mapping_is_inside(kind: type[Value], value: Value) -> None:
    if _hashes(kind):
        assert hash(value) == hash(kind.from_json(value.to_json()))


def a_value_never_changes(kind: type[Value], value: Value) -> None:
    for name in kind.model_fields:
        with pytest.raises(ValidationError, match="frozen"):
            setattr(value, name, None)


def an_unknown_name_is_refused_and_named(kind: type[Value], value: Value) -> None:
    document = {**value.model_dump(mode="json"), "noSuchName": 1}
    with pytest.raises(ValidationError, match="noSuchName\n  Extra inputs are not permitted"):
        kind.model_validate(document)


LAWS = (
    json_gives_back_the_same_value_of_the_same_type,
    json_without_nulls_gives_back_the_same_value,
    json_is_standard_and_fits_the_published_schema,
    names_are_accepted_in_snake_case_too,
    copies_and_pickles_are_equal,
    equal_values_have_one_hash_where_no_mapping_is_inside,
    a_value_never_changes,
    an_unknown_name_is_refused_and_named,
)
"""What holds of every value; drawing one takes longer than all of them."""


@cache
def schema_of(kind: type[Value]) -> Draft202012Validator:
    return Draft202012Validator(json.loads((SCHEMAS / f"{kind.__name__}.json").read_text("utf-8")))


@every_type
@given(data=st.data())
@LAW
def test_every_value_keeps_every_law(kind: type[Value], data: st.DataObject) -> None:
    value = data.draw(values(kind))
    for law in LAWS:
        law(kind, value)


def test_most_types_have_hashes() -> None:
    assert sum(_hashes(kind) for kind in TYPES) > 50


@every_type
def test_names_in_json_are_camel_case(kind: type[Value]) -> None:
    for name, field in kind.model_fields.items():
        assert re.fullmatch(r"[a-z][a-zA-Z0-9]*", field.serialization_alias or ""), name
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)


@every_type
def test_no_field_of_a_type_is_mutable(kind: type[Value]) -> None:
    for name, field in kind.model_fields.items():
        assert not {list, set, bytearray} & {part for part in _parts(field.annotation) if isinstance(part, type)}, name


def test_every_public_name_is_there() -> None:
    assert sorted(public.__all__, key=lambda name: (not name.isupper(), name)) == public.__all__
    assert all(hasattr(public, name) for name in public.__all__)
    assert len(TYPES) > 80


@pytest.mark.parametrize("name", UNIONS)
@given(data=st.data())
@settings(LAW, max_examples=settings().max_examples)
def test_a_member_of_a_union_keeps_its_class(name: str, data: st.DataObject) -> None:
    adapter = TypeAdapter[Any](UNIONS[name])
    value = data.draw(drawn_from(UNIONS[name]))
    for back in (
        adapter.validate_python(value),
        adapter.validate_json(adapter.dump_json(value)),
        adapter.validate_python(adapter.dump_python(value, mode="json")),
    ):
        assert type(back) is type(value)
        assert back == value


@given(event=drawn_from(DurableEvent))
@settings(LAW, max_examples=settings().max_examples)
def test_a_stored_event_is_read_back(event: DurableEvent) -> None:
    assert durable_event(event.to_json()) == event
    assert durable_event(event.to_json().encode()) == event


@given(event=drawn_from(Event))
@settings(LAW, max_examples=settings().max_examples)
def test_the_wire_form_of_an_event_has_a_type_and_data(event: Event) -> None:
    wire = _strict(json.dumps(event.to_wire(), allow_nan=False))
    assert set(wire) == {"type", "data"}
    assert wire["data"]["sessionId"] == event.session_id
    assert ("seq" if event.durable else "after") in wire["data"]
    assert type(event).model_validate({"type": wire["type"], **wire["data"]}).to_wire() == event.to_wire()


def test_every_event_is_durable_or_live_and_has_a_type_of_its_own() -> None:
    events = [kind for kind in TYPES if issubclass(kind, EventBase)]
    durable, live = set(get_args(get_args(DurableEvent)[0])), set(get_args(get_args(LiveEvent)[0]))
    assert durable | live == set(events)
    assert all(kind.durable for kind in durable)
    assert not any(kind.durable for kind in live)
    names = [kind.model_fields["type"].default for kind in events]
    assert len(set(names)) == len(names)


@given(plain=st.booleans(), data=st.data())
@LAW
def test_a_measured_consensus_is_not_mistaken_for_an_analyzed_one(plain: bool, data: st.DataObject) -> None:
    kind = public.ConsensusResult if plain else AIConsensusResult
    consensus = data.draw(values(kind))
    record = public.RoundRecord(number=1, consensus=consensus)
    assert type(record.consensus) is kind
    assert type(public.RoundRecord.from_json(record.to_json()).consensus) is kind
