"""Schemas of a caller's own type, and the values that answers give: what is accepted, and why not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, SchemaError

from roundtable.errors import ConfigurationError
from roundtable.parsing import Parsed, ParseFailure, check_answer_schema, parse_answer, value_problem
from roundtable.parsing.schema_checks import first_error

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
def test_an_unsupported_schema_is_refused(schema: dict[str, Any], problem: str) -> None:
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
def test_a_supported_schema_is_accepted(schema: dict[str, Any]) -> None:
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
def test_a_value_is_valid_or_its_wrong_part_is_named(value: dict[str, Any] | None, problem: str) -> None:
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


def test_a_very_deeply_nested_value_is_no_error() -> None:
    value: dict[str, Any] = {}
    for _ in range(20_000):
        value = {"a": value}
    assert value_problem(value, PRICE) == "the value is nested more than 64 levels deep"


@pytest.mark.parametrize("depth", [300, 3_000, 100_000])
def test_reading_works_at_any_depth(depth: int) -> None:
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
def test_the_value_of_an_answer_is_read_unchanged(written: str, value: object) -> None:
    parsed = parse_answer(written)
    assert (parsed.position, parsed.value) == ("Tea", value)  # type: ignore[union-attr]


TOO_LARGE = "the value is too large for so many rules of its schema"
SIMPLE_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, 1.0, -1.5, 1e300])
    | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)


def many(count: int, part: Any) -> dict[str, Any]:
    return {"allOf": [part] * count}


def unevaluated(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"properties": {"a": True}, "unevaluatedProperties": False}
    for _ in range(depth):
        inner = {"allOf": [inner], "unevaluatedProperties": False}
    return inner


HOSTILE: dict[str, tuple[dict[str, Any], Any]] = {
    "unique items 750 times": (many(750, {"uniqueItems": True}), [[number] for number in range(300)]),
    "100 rules for each item": ({"items": many(100, {"type": "integer"})}, list(range(3_000))),
    "1,000 branches for each item": ({"items": {"anyOf": [{"const": n} for n in range(1_000)]}}, [999] * 3_000),
    "300 searches of all items": (many(300, {"contains": {"const": -1}, "minContains": 0}), list(range(3_000))),
    "300 rules for each name": ({"propertyNames": many(300, {"maxLength": 9})}, {f"k{n}": 1 for n in range(1_200)}),
    "what no part evaluates": ({"type": "object", **unevaluated(15)}, {"a": {"a": 1}}),
    "items that no part evaluates": ({"prefixItems": [True] * 1_990, "unevaluatedItems": False}, [1] * 7_000),
}


@pytest.mark.parametrize("shape", HOSTILE)
def test_a_check_ends_after_a_bounded_number_of_steps(shape: str) -> None:
    part, value = HOSTILE[shape]
    schema = thing(a=part)
    check_answer_schema(schema)
    assert value_problem({"a": value}, schema) == TOO_LARGE


@pytest.mark.parametrize(
    ("part", "value", "problem"),
    [
        ({"uniqueItems": True}, [item for n in range(1_200) for item in (n, str(n))], ""),
        ({"uniqueItems": True}, [*range(1_200), "x", [1], "x"], " has non-unique elements"),
        ({"items": {"enum": [f"{n:x}" for n in range(2_000)]}}, ["7cf"] * 1_500, ""),
        ({"items": {"enum": [[n] for n in range(1_500)]}}, [[1_499]] * 1_500, ""),
        ({"type": "array", "items": {"type": "number", "minimum": 0}}, list(range(3_000)), ""),
        (many(500, {"multipleOf": 3}), int("9" * 4_000), ""),
        ({"multipleOf": 0.5}, int("9" * 4_000), "the value has a number that is too large"),
    ],
    ids=["unique", "equal at the end", "texts", "lists", "numbers", "long digits", "more than a float"],
)
def test_large_values_are_checked(part: Any, value: Any, problem: str) -> None:
    schema = thing(a=part)
    check_answer_schema(schema)
    found = value_problem({"a": value}, schema)
    assert found == problem or (len(problem) > 9 and found.endswith((problem, "…", "...")))


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ({"required": [item for n in range(1_500) for item in (n, str(n))]}, "required.0: 0 is not of type 'string'"),
        ({"type": [item for n in range(1_500) for item in (n, str(n))]}, "is not valid"),
        ({"required": ["a", "b", "a"]}, "is not valid: properties.a.required: .* has non-unique elements"),
        ({"multipleOf": 0}, "is not valid: properties.a.multipleOf: 0 is less than or equal"),
        ({"items": {"minItems": -1}}, "is not valid: properties.a.items.minItems: -1 is less"),
        ({"$defs": {"x": {"maximum": "3"}}}, "is not valid: properties.a.\\$defs.x.maximum: '3' is not of type"),
    ],
)
def test_a_keyword_with_a_wrong_value_is_named(part: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        check_answer_schema(thing(a=part))


def test_a_part_with_too_many_wrong_values_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="is too large in one part") as caught:
        check_answer_schema(thing(a={"type": [0] * 7_500}))
    assert caught.value.hint == "Ask for a type with fewer fields."


@given(value=SIMPLE_VALUES, options=st.lists(SIMPLE_VALUES, min_size=1, max_size=3), is_const=st.booleans())
def test_values_are_equal_if_the_schema_library_says_so(value: Any, options: list[Any], is_const: bool) -> None:
    part = {"const": options[0]} if is_const else {"enum": options, "uniqueItems": True}
    schema = thing(a=part)
    assert (value_problem({"a": value}, schema) == "") is Draft202012Validator(schema).is_valid({"a": value})


PART_WORDS = [
    "type",
    "required",
    "items",
    "properties",
    "enum",
    "minItems",
    "minimum",
    "anyOf",
    "title",
    "uniqueItems",
    "$defs",
]


@given(part=st.dictionaries(st.sampled_from(PART_WORDS), SIMPLE_VALUES | st.just("string"), max_size=3))
def test_schemas_are_valid_if_the_schema_library_says_so(part: dict[str, Any]) -> None:
    schema = thing(a=part)
    assert is_accepted(check_answer_schema, schema) is is_accepted(Draft202012Validator.check_schema, schema)


def is_accepted(check: Callable[[dict[str, Any]], None], schema: dict[str, Any]) -> bool:
    try:
        check(schema)
    except (ConfigurationError, SchemaError):
        return False
    return True


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(ConfigurationError, match="the extra 'schema'"):
        first_error(1, {"type": "string"})
