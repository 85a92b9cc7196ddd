"""Schemas of everything that is sent and answered, with what docstrings say of it."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from functools import cache
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from roundtable.result import DebateResult
from roundtable.server import answers, bodies
from roundtable.server.chat import MultiAgentRequest
from roundtable.types import Event, RoundRecord, SynthesisResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

__all__ = ["classes_of", "component_schemas", "reached"]

_SECTION: Final = re.compile(r"\n\s*(?:Args|Example|Raises|Returns):")


def component_schemas() -> dict[str, Any]:
    """Give the schemas of bodies, answers and events."""
    events = tuple(classes_of(Event))
    kinds: list[type[BaseModel]] = [
        *_public(bodies),
        *_public(answers),
        MultiAgentRequest,
        DebateResult,
        RoundRecord,
        SynthesisResult,
        *events,
    ]
    _, found = models_json_schema([(kind, "validation") for kind in kinds], ref_template="#/components/schemas/{model}")
    schemas: dict[str, Any] = found["$defs"]
    known = reached(kinds)
    for name, schema in schemas.items():
        _document(schema, known.get(name))
    for kind in events:
        schemas[f"{kind.__name__}Message"] = _message(kind, schemas.pop(kind.__name__))
    messages = {kind.model_fields["type"].default: f"#/components/schemas/{kind.__name__}Message" for kind in events}
    schemas["EventMessage"] = {
        "description": "What happens in a session, told apart by `type`. Durable events are numbered (`seq`) and "
        "stored; live ones say which durable event they follow (`after`). What is empty is left out.",
        "oneOf": [{"$ref": place} for place in messages.values()],
        "discriminator": {"propertyName": "type", "mapping": messages},
    }
    return schemas


def _message(kind: type[BaseModel], data: dict[str, Any]) -> dict[str, Any]:
    """Give the schema of an event as streams send it: `type`, and all else in `data`."""
    data["properties"].pop("type")
    name = kind.model_fields["type"].default
    return {
        "type": "object",
        "description": data.pop("description", ""),
        "properties": {"type": {"const": name, "type": "string"}, "data": data},
        "required": ["type", "data"],
        "additionalProperties": False,
    }


def _public(module: ModuleType) -> Iterator[type[BaseModel]]:
    for name in module.__all__:
        yield from classes_of(getattr(module, name))


def classes_of(thing: object) -> Iterator[type[BaseModel]]:
    """Give the models in a type, such as those of a union."""
    if isinstance(thing, type):
        if issubclass(thing, BaseModel):
            yield thing
        return
    for part in get_args(thing):
        yield from classes_of(part)


def reached(roots: Iterable[type[BaseModel]]) -> dict[str, type[BaseModel]]:
    """Give models by name, with all that their fields hold."""
    found: dict[str, type[BaseModel]] = {}
    waiting = list(roots)
    while waiting:
        kind = waiting.pop()
        if kind.__name__ not in found:
            found[kind.__name__] = kind
            for field in kind.model_fields.values():
                waiting.extend(classes_of(field.annotation))
    return found


def _document(schema: dict[str, Any], kind: type[BaseModel] | None) -> None:
    """Put in what docstrings say, and leave out the titles that pydantic makes from names."""
    _untitle(schema)
    if kind is None:
        return
    schema["description"] = _first_part(inspect.getdoc(kind) or "")
    said: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("roundtable."):
            said |= _field_docs(base)
    for name, field in kind.model_fields.items():
        place = schema.get("properties", {}).get(field.alias or name)
        if place is not None and name in said:
            place.setdefault("description", said[name].replace("`None`", "`null`"))


def _untitle(schema: object) -> None:
    if isinstance(schema, dict):
        if isinstance(schema.get("title"), str):
            del schema["title"]
        for value in schema.values():
            _untitle(value)
    elif isinstance(schema, list):
        for value in schema:
            _untitle(value)


def _first_part(text: str) -> str:
    return " ".join(_SECTION.split(f"{text}\n")[0].split()).replace("`None`", "`null`")


@cache
def _field_docs(kind: type) -> dict[str, str]:
    """Give the docstrings of a class's fields, which Python does not keep; none where there is no source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError):
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    return {
        one.target.id: " ".join(below.value.value.split())
        for one, below in itertools.pairwise(body)
        if isinstance(one, ast.AnnAssign)
        and isinstance(one.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }
