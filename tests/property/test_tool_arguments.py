"""Arguments are checked as a well-known validator checks them, for the keywords that are known here."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundtable.tools.toolkit import misfits

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, -2.5]), st.text("ab", max_size=3)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(["object", "array", "string", "boolean", "null", "number", "integer"])
SMALL = st.integers(-2, 2)
LENGTHS = st.integers(0, 3)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS | st.lists(KINDS, min_size=1, max_size=3, unique=True),
            "enum": st.lists(SCALARS, min_size=1, max_size=3),
            "const": SCALARS,
            "properties": st.dictionaries(NAMES, inner, max_size=2),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
            "items": st.booleans() | inner,
            "minItems": LENGTHS,
            "maxItems": LENGTHS,
            "minLength": LENGTHS,
            "maxLength": LENGTHS,
            "minimum": SMALL,
            "maximum": SMALL,
            "exclusiveMinimum": SMALL,
            "exclusiveMaximum": SMALL,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
        },
    )


SCHEMAS = st.recursive(st.just({}), objects, max_leaves=6)


@settings(deadline=None)
@given(VALUES, SCHEMAS)
def test_valid_arguments_are_accepted_and_invalid_ones_are_refused(value: Any, schema: Any) -> None:
    fits = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (misfits(value, schema) == "") is fits


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, "x", "the arguments: must be integer"),
        ({"$ref": "#/nowhere"}, "x", ""),
        ({"properties": {"a": {"$ref": "#"}}, "required": ["a"]}, {"a": {}}, "a.a: is missing"),
        ({"properties": {"n": {"$ref": "#/$defs/m"}}, "$defs": {"m": {"$ref": "#/$defs/m"}}}, {"n": 1}, ""),
        ({"format": "date", "pattern": "^x", "type": "string"}, "y", ""),
        ({"properties": {"a": False}}, {"a": 1}, "a: is not allowed"),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, {"a": 1}, ""),
        ({"type": "thing"}, 3, ""),
        (
            {"required": list("abcdefgh")},
            {},
            "a: is missing; b: is missing; c: is missing; d: is missing; e: is missing",
        ),
    ],
    ids=[
        "reference",
        "dangling",
        "itself",
        "endless",
        "unknown words",
        "never",
        "patterns",
        "unknown kind",
        "many faults",
    ],
)
def test_each_misfit_is_reported_or_ignored_as_documented(schema: Any, value: Any, told: str) -> None:
    assert misfits(value, schema) == told


def huge() -> int:
    """Make a number of 400 digits, which no float can hold."""
    return int("9" * 400)


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        ({"type": "integer"}, huge(), ""),
        ({"type": "integer"}, -huge(), ""),
        ({"type": "integer", "maximum": 9}, huge(), "the arguments: must be at most 9"),
        ({"type": "integer", "minimum": 0.5}, -huge(), "the arguments: must be at least 0.5"),
        ({"type": "integer"}, 3.0, ""),
        ({"type": "integer"}, 3.5, "the arguments: must be integer"),
        ({"type": "integer"}, float("inf"), "the arguments: must be integer"),
        ({"type": "integer"}, float("nan"), "the arguments: must be integer"),
        ({"type": ["string", "integer"]}, huge(), ""),
        ({"enum": [1.5, huge()]}, huge(), ""),
    ],
    ids=["huge", "tiny", "maximum", "minimum", "whole", "half", "infinite", "no number", "one of two", "enum"],
)
def test_a_number_of_any_size_is_checked(schema: Any, value: Any, told: str) -> None:
    assert misfits(value, schema) == told


def test_a_very_deeply_nested_value_is_checked() -> None:
    schema: dict[str, Any] = {"type": "array", "items": {"$ref": "#"}, "maxItems": 1}
    value: list[Any] = []
    for _ in range(500):
        value = [value]
    assert misfits(value, schema) == ""


ITSELF = {"$ref": "#"}
ENDLESS: dict[str, tuple[dict[str, Any], Any]] = {
    "branches of itself": ({"anyOf": [ITSELF, ITSELF]}, {}),
    "itself three times": ({"allOf": [ITSELF] * 3}, {}),
    "100 rules for each item": ({"items": {"allOf": [{"type": "integer"}] * 100}}, list(range(5_000))),
    "a long enum for each item": ({"items": {"enum": [[number] for number in range(3_000)]}}, [[2_999]] * 5_000),
    "many names many times": ({"allOf": [{"required": ["a"] * 1_000}] * 1_000}, {"a": 1}),
}


@pytest.mark.parametrize("shape", ENDLESS)
def test_a_schema_that_needs_endless_steps_is_left_to_the_tool(shape: str) -> None:
    schema, value = ENDLESS[shape]
    assert misfits(value, schema) == ""
    assert misfits({"a": value, "b": 1}, {"properties": {"b": {"type": "string"}, "a": schema}}) in {
        "",
        "b: must be string",
    }
