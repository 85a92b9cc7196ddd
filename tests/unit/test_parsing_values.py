"""Schemas of a caller's own type, and the values that answers give: what is accepted, and why not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from roundtable.errors import ConfigurationError
from roundtable.parsing import Parsed, ParseFailure, check_answer_schema, parse_answer, value_problem

PRICE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "price": {"type": "number", "minimum": 0},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}},
    },
    "required": ["price"],
    "additionalProperties": False,
    "$defs": {"part": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
}
DOUBLING = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}, {"$ref": f"#/$defs/a{n + 1}"}]} for n in range(12)}


def thing(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        inner = thing(a=inner)
    return inner


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({}, 'must have "type": "object", not None'),
        ({"type": ["object", "null"]}, "must have \"type\": \"object\", not \\['object', 'null'\\]"),
        (thing(a={"maximum": float("nan")}), "is not JSON"),
        (thing(a={"enum": {1, 2}}), "is not JSON: Object of type set"),
        (thing(a={"type": "text"}), "is not valid: properties.a.type: 'text' is not valid"),
        (thing(a={"description": "é" * 16_000}), "has 16,0.. characters; at most 16,000"),
        (thing(a={"$ref": "#/$defs/b"}), "refers to '#/\\$defs/b', which is not one of its definitions"),
        (thing(a={"$ref": "https://example.org/b.json"}), "which is not one of its definitions"),
        (thing(a={"$ref": "#"}), "which is not one of its definitions"),
        (thing(a={"$ref": "#/$defs/a"}) | {"$defs": {"a": {"$ref": "#/$defs/a"}}}, "itself, by '#/\\$defs/a'"),
        (thing(a={"$ref": "#/definitions/a"}) | {"definitions": {"a": True}}, "which is not one of its definitions"),
        (
            thing(a={"$ref": "#/$defs/a"}) | {"$defs": {"a": thing(b={"$ref": "#/$defs/a"})}},
            "refers to itself",
        ),
        (
            thing(a={"$ref": "#/$defs/a0"})
            | {"$defs": {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(400)} | {"a400": True}},
            "nested more than 32 levels deep",
        ),
        (thing(a={"$ref": "#/$defs/a0"}) | {"$defs": DOUBLING | {"a12": True}}, "more than 2,000 parts"),
        (thing(a={"type": "string", "pattern": "(a+)+$"}), "uses 'pattern'"),
        (thing(a={"patternProperties": {"^a": {}}}), "uses 'patternProperties'"),
        ({"type": "object", "$id": "https://example.org/a"}, "uses '\\$id'"),
        (thing(a={"items": {"$dynamicRef": "#a"}}), "uses '\\$dynamicRef'"),
        (nested(400), "is nested more than 64 levels deep"),
        ({"$ref": "#/$defs/a", "$defs": {"a": thing(b={"$ref": "#/$defs/a"})}}, "refers to itself, by '#/\\$defs/a'"),
        ({"$ref": "#/$defs/a", "$defs": {"a": thing()}}, 'must have "type": "object", not None'),
    ],
)  # fmt: skip
def test_a_schema_that_cannot_be_asked_for_is_refused(schema: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        check_answer_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        PRICE,
        thing(a={"anyOf": [{"type": "null"}, {"prefixItems": [{"type": "string"}], "items": False}]}),
        thing(a={"$ref": "#/$defs/a", "description": "twice"}, b={"$ref": "#/$defs/a"}) | {"$defs": {"a": True}},
    ],
    ids=["anything", "price", "either", "shared"],
)
def test_a_schema_that_can_be_asked_for_is_accepted(schema: dict[str, Any]) -> None:
    check_answer_schema(schema)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"price": 3, "parts": [{"name": "lid"}]}, ""),
        ({"price": 3.5}, ""),
        (None, 'there is no object "value"'),
        ({}, "value: 'price' is a required property"),
        ({"price": -1}, "value.price: -1 is less than the minimum of 0"),
        ({"price": 1, "parts": [{"name": "lid"}, {}]}, "value.parts.1: 'name' is a required property"),
        ({"price": float("nan")}, "the value has a number that is not finite"),
        ({"price": 1, "parts": ["x" * 16_000]}, "the value has more than 16,000 characters"),
    ],
)
def test_a_value_fits_or_the_part_that_does_not_is_named(value: dict[str, Any] | None, problem: str) -> None:
    assert value_problem(value, PRICE) == problem


@pytest.mark.parametrize(
    ("kind", "text", "fits"),
    [
        ("date", "2026-11-27", True),
        ("date", "yesterday", False),
        ("date-time", "2026-11-27T19:16:57Z", True),
        ("date-time", "2026-11-27", False),
        ("date-time", "T", False),
        ("email", "tea", False),
        ("ipv4", "300.1.1.1", False),
        ("uuid", "5f2e", False),
        ("something of your own", "5f2e", True),
    ],
)
def test_texts_have_the_format_that_the_schema_names(kind: str, text: str, fits: bool) -> None:
    schema = thing(a={"type": "string", "format": kind})
    check_answer_schema(schema)
    assert value_problem({"a": text}, schema) == ("" if fits else f"value.a: {text!r} is not a {kind!r}")
    assert value_problem({"a": 3}, thing(a={"format": kind})) == ""


def test_long_problems_are_cut() -> None:
    problem = value_problem({"price": "y" * 3_000}, PRICE)
    assert len(problem) <= 220
    assert problem.endswith("\u2026")


def test_a_value_that_is_nested_without_end_is_no_fault() -> None:
    value: dict[str, Any] = {}
    for _ in range(20_000):
        value = {"a": value}
    assert value_problem(value, PRICE) == "the value is nested more than 64 levels deep"


@pytest.mark.parametrize("depth", [300, 3_000, 100_000])
def test_no_depth_is_too_much_for_reading(depth: int) -> None:
    parsed = parse_answer('{"position": "Tea", "value": ' + '{"a": ' * depth + "1" + "}" * (depth + 1))
    assert isinstance(parsed, Parsed | ParseFailure)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["price", "parts", "name"]), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["price", "parts", "name"]), json_values))
def test_a_value_is_accepted_exactly_if_it_is_valid(value: dict[str, Any]) -> None:
    assert (value_problem(value, PRICE) == "") is Draft202012Validator(PRICE).is_valid(value)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('{"position": "Tea", "value": {"price": 3}}', {"price": 3}),
        ('{"position": "Tea", "value": {"name": "\\ud800 tea"}}', {"name": "\ufffd tea"}),
        ('{"position": "Tea", "value": 3}', None),
        ('{"position": "Tea"}', None),
        ('{"position": "Tea", "value": {"price": 3, "parts": [{"na', None),
    ],
    ids=["object", "half a character", "number", "missing", "cut off"],
)
def test_the_value_of_an_answer_is_read_as_it_is(written: str, value: object) -> None:
    parsed = parse_answer(written)
    assert (parsed.position, parsed.value) == ("Tea", value)  # type: ignore[union-attr]
