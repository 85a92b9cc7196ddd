"""Every public field says what it is, in the JSON schema too."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

import roundtable
import roundtable.types as public
from roundtable.core.types.base import field_docs
from roundtable.types import Budget, Value

MODELS: list[type[BaseModel]] = [
    *{
        kind
        for kind in (roundtable.DebateResult, *(getattr(public, name) for name in public.__all__))
        if isinstance(kind, type) and issubclass(kind, BaseModel)
    }
]


TAGS = {"type", "kind", "outcome"}
"""Fields that name the type they stand in."""


def undescribed(schema: dict[str, Any]) -> list[str]:
    """Find the fields of a schema and of the types in it that have no description; `kind` and `type` name a type."""
    parts = {schema.get("title", ""): schema, **schema.get("$defs", {})}
    return [
        f"{name}.{field}"
        for name, part in parts.items()
        for field, body in part.get("properties", {}).items()
        if not body.get("description") and field not in TAGS
    ]


@pytest.mark.parametrize("kind", sorted(MODELS, key=lambda kind: kind.__name__), ids=lambda kind: kind.__name__)
def test_every_public_field_has_a_docstring(kind: type[BaseModel]) -> None:
    assert set(kind.model_fields) - set(field_docs(kind)) - TAGS == set()


def test_every_field_of_the_schema_of_a_result_is_described() -> None:
    assert undescribed(roundtable.DebateResult.model_json_schema()) == []


def test_a_description_is_the_docstring_of_the_field() -> None:
    found = Budget.model_json_schema()["properties"]["maxCalls"]["description"]
    assert found == field_docs(Budget)["max_calls"] == "Maximum model calls, including failed attempts."


def test_other_schemas_stay_short() -> None:
    assert "description" not in TypeAdapter(Budget).json_schema()["properties"]["maxCalls"]


def test_a_class_without_source_has_a_schema_without_descriptions() -> None:
    space: dict[str, Any] = {"Value": Value}
    exec("class Made(Value):\n    number: int\n    'A number.'\n", space)
    assert "number" in space["Made"].model_json_schema()["properties"]
