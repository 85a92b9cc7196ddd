"""The published schemas are valid, say what each field means, and point at no host."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

# It has no type information of its own.
from jsonschema import Draft202012Validator, ValidationError  # type: ignore[import-untyped]

import roundtable.types as public

FOLDER = Path(__file__).resolve().parents[2] / "docs/reference/schemas"
SCHEMAS = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}
every_schema = pytest.mark.parametrize("name", SCHEMAS)


def _objects(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (part for part in (schema, *schema.get("$defs", {}).values()) if "properties" in part)


@pytest.mark.slow  # seconds for all of them; they change with the types alone
@every_schema
def test_every_published_schema_is_a_valid_json_schema(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])


@every_schema
def test_the_name_of_a_schema_contains_no_host(name: str) -> None:
    schema = SCHEMAS[name]
    assert schema["$id"] == f"urn:roundtable:schema:{name}"
    assert schema["title"] == name
    addresses = re.findall(r"\w+://[^\s\"/]+", json.dumps({**schema, "$schema": ""}))
    assert set(addresses) <= {"http://127.0.0.1:8080", "sqlite://"}


@every_schema
def test_every_field_is_described_and_in_camel_case(name: str) -> None:
    schema = SCHEMAS[name]
    assert schema["description"]
    for part in _objects(schema):
        assert part["description"]
        assert part["additionalProperties"] is False
        for field, body in part["properties"].items():
            assert re.fullmatch(r"[a-z][a-zA-Z0-9]*", field)
            assert body.get("description"), field


def test_every_public_type_has_a_schema() -> None:
    values = {name for name in public.__all__ if isinstance(getattr(public, name), type)}
    types = {name for name in values if issubclass(getattr(public, name), public.Value)} - {"Value", "EventBase"}
    assert types <= set(SCHEMAS)
    assert {"Answer", "AnyConsensus", "AnyTurn", "DurableEvent", "Event", "Plan"} <= set(SCHEMAS)


def test_a_schema_accepts_valid_data_and_rejects_invalid_data() -> None:
    validator = Draft202012Validator(SCHEMAS["AgentConfig"])
    validator.validate({"id": "a", "name": "A", "provider": "p", "maxTokens": 1})
    for wrong in ({"id": "a b"}, {"temperature": 2.1}, {"maxTokens": 0}, {"nonsense": 1}):
        with pytest.raises(ValidationError):
            validator.validate({"id": "a", "name": "A", "provider": "p", **wrong})


def test_the_page_of_statuses_names_them_all() -> None:
    page = (FOLDER.parent / "statuses.md").read_text("utf-8")
    for kind in (public.SessionStatus, public.DebateStatus, public.RoundtableStatus):
        assert all(f"`{status}`" in page for status in get_args(kind))
