"""Look whether a row of the seed contract holds: import it, compare its signature, fields and defaults."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from contract.seed_rows import UNSET, Call, Choices, Constant, Fault, Member, Parameter, Row
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from roundtable.providers import ProviderSpec

PROBES = {
    "LOG_LEVEL": "debug",
    "ROUNDTABLE_MAX_AGENTS": "3",
    "ROUNDTABLE_DEFAULT_AGENT_COUNT": "3",
    "ROUNDTABLE_EXIT_ENABLED": "false",
    "ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD": "0.5",
    "ROUNDTABLE_EXIT_CONVERGENCE_ROUNDS": "3",
    "ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD": "0.5",
}
"""Values to try for variables that do not take any text."""


IN_SECONDS = "in seconds here"
"""Note of a row whose seed counts milliseconds where we count seconds, and say so in the name."""


class Missing(Exception):
    """Raised when the place a row names does not exist."""


def problems(row: Row) -> list[str]:
    """Return the parts of a row that do not hold; an empty list if all do."""
    try:
        return list(_findings(row))
    except (Missing, ModuleNotFoundError) as error:
        return [f"missing: {error}"]


def exists(row: Row) -> bool:
    """Check whether the object that a row names exists, whatever it looks like."""
    if row.kind == "environment":
        return not problems(row)
    try:
        resolved(row)
    except (Missing, ImportError, AttributeError):
        return False
    return True


def _findings(row: Row) -> Iterator[str]:
    if row.kind == "environment":
        yield from _variable(row)
        return
    if row.kind == "mode":
        registry = resolved(row)()
        if not registry.has_mode(_choice(row)):
            yield f"a new registry has no mode {_choice(row)!r}"
        return
    found = resolved(row)
    match row.expects:
        case Call() as call:
            yield from _call(found, call, bound=row.kind == "function" or inspect.isclass(found))
        case Member() as member:
            yield from _member(row, found, member)
        case Choices(values):
            yield from _choices(found, values)
        case Constant(value):
            found = found.get_default() if isinstance(found, FieldInfo) else found
            if found != value:
                yield f"is {found!r}, not {value!r}"
        case Fault() as fault:
            yield from _fault(found, fault)
        case None:
            pass


def _choice(row: Row) -> str:
    assert isinstance(row.expects, Choices)
    return row.expects.values[0]


def resolved(row: Row) -> Any:
    """Return what a row names."""
    thing: Any = importlib.import_module(row.module)
    for depth, name in enumerate(row.path):
        if inspect.isclass(thing) and (member := _member_of(thing, name)) is not UNSET:
            thing = member
        elif hasattr(thing, name):
            thing = getattr(thing, name)
        elif isinstance(thing, Mapping) and name in thing:
            thing = thing[name]
        elif callable(thing) and name in inspect.signature(thing).parameters:
            thing = inspect.signature(thing).parameters[name]
        else:
            raise Missing(f"{row.module} has no {'.'.join(row.path[: depth + 1])}")
    return thing


def _member_of(kind: type, name: str) -> object:
    """Find a field, an annotation, an attribute that the constructor sets, or one of its parameters."""
    if issubclass(kind, BaseModel) and name in kind.model_fields:
        return kind.model_fields[name]
    if hasattr(kind, name):
        return getattr(kind, name)
    for base in kind.__mro__:
        if name in inspect.get_annotations(base):
            return inspect.get_annotations(base)[name]
        if "__init__" in base.__dict__ and f"self.{name}" in _assigned(base.__dict__["__init__"]):
            return f"self.{name}"
    return inspect.signature(kind).parameters.get(name, UNSET)


def _assigned(function: Callable[..., object]) -> set[str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):
        return set()
    stores = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    return {ast.unparse(node) for node in stores}


def _call(found: Any, call: Call, *, bound: bool) -> Iterator[str]:
    if not callable(found):
        yield f"is not callable but {found!r}"
        return
    if inspect.iscoroutinefunction(found) != call.is_async:
        yield "is not async" if call.is_async else "is async, the seed's is not"
    ours = list(inspect.signature(found).parameters.values())
    if not bound:
        ours = ours[1:]
    if call.parameters:
        yield from _parameters(ours, call)
    elif required := [one.name for one in ours if _required(one)]:
        yield f"asks for {', '.join(required)}"


def _required(one: inspect.Parameter) -> bool:
    return one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)


def _parameters(ours: list[inspect.Parameter], call: Call) -> Iterator[str]:
    wanted = [one.name for one in call.parameters]
    if [one.name for one in ours[: len(wanted)]] != wanted:
        yield f"takes ({', '.join(one.name for one in ours)}), not ({', '.join(wanted)}, ...)"
        return
    for one, promised in zip(ours, call.parameters, strict=False):
        if one.kind not in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD):
            yield f"{one.name} cannot be given by position"
        yield from _parameter(one, promised)
    extra = [one.name for one in ours[len(wanted) :] if _required(one)]
    if extra and not call.asks_more:
        yield f"also asks for {', '.join(extra)}"


def _parameter(one: inspect.Parameter, promised: Parameter) -> Iterator[str]:
    if promised.optional and _required(one):
        yield f"{one.name} must be optional"
    if promised.default is not UNSET and not _same(one.default, promised.default):
        yield f"{one.name} is {one.default!r} by default, not {promised.default!r}"


def _same(ours: object, promised: object) -> bool:
    if isinstance(ours, Path) and isinstance(promised, str):
        return ours == Path(promised)
    return ours == promised


def _member(row: Row, found: Any, member: Member) -> Iterator[str]:
    if isinstance(found, FieldInfo):
        yield from _field(row, found, member)
    elif isinstance(found, inspect.Parameter):
        yield from _parameter(found, Parameter(found.name, member.optional, member.default))
    elif member.default is not UNSET:
        value = _instance_value(row) if isinstance(found, property | str) else found
        if value != member.default:
            yield f"is {value!r}, not {member.default!r}"


def _instance_value(row: Row) -> object:
    return getattr(getattr(importlib.import_module(row.module), row.path[0])(), row.path[-1])


def _field(row: Row, found: FieldInfo, member: Member) -> Iterator[str]:
    wire = row.name.rpartition(".")[2]
    if row.note == IN_SECONDS:
        wire = wire.removesuffix("Ms") + "S"
    if found.serialization_alias != wire:
        yield f"is {found.serialization_alias!r} in JSON, not {wire!r}"
    if member.optional and found.is_required():
        yield "is required, the seed's is optional"
    if member.default is not UNSET and found.get_default(call_default_factory=True) != member.default:
        yield f"is {found.get_default()!r} by default, not {member.default!r}"
    owner: type[BaseModel] = resolved(replace(row, python=row.python.rpartition(".")[0]))
    schema = _properties(owner)[wire]
    if not fits(member.type, schema):
        yield f"is {schema} in JSON, not {member.type}"


@functools.cache
def _properties(owner: type[BaseModel]) -> dict[str, Any]:
    """Return the schemas of a type's fields; they are made once for all its rows."""
    found: dict[str, Any] = owner.model_json_schema()["properties"]
    return found


def fits(kind: str, schema: dict[str, Any]) -> bool:
    """Check whether a TypeScript type and a JSON Schema describe the same values, `null` aside."""
    branches = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    if "anyOf" in schema:
        return all(fits(kind, one) for one in branches)
    match kind:
        case "unknown" | "any" | "object[]":
            return True
        case "string" | "boolean":
            return schema.get("type") == kind
        case "number":
            return schema.get("type") in {"number", "integer"}
        case "Date":
            return schema.get("format") == "date-time"
        case "object" | "Record<string, unknown>":
            return schema.get("type") == "object"
    if kind.endswith("[]"):
        return schema.get("type") == "array" and fits(kind[:-2], schema["items"])
    if kind.startswith("'"):
        promised = [one.strip().strip("'") for one in kind.split("|")]
        if promised[-1] == "...":
            return set(promised[:-1]) <= set(schema.get("enum", ()))
        return schema.get("enum") == promised
    if "$ref" in schema:
        # Ours may be a finer kind of what the seed names, as AIConsensusResult is of ConsensusResult.
        return str(schema["$ref"]).endswith(kind)
    return schema.get("type") == "string"


def _choices(found: Any, values: tuple[str, ...]) -> Iterator[str]:
    offered = (found.name,) if isinstance(found, ProviderSpec) else get_args(found)
    if missing := [value for value in values if value not in offered]:
        yield f"does not allow {', '.join(missing)}"


def _fault(found: Any, fault: Fault) -> Iterator[str]:
    error = found()
    if (error.code, error.retryable) != (fault.code, fault.retryable):
        yield f"has code {error.code} and retryable={error.retryable}"
    if fault.message is not None and str(error) != fault.message:
        yield f"says {error}"


def _variable(row: Row) -> Iterator[str]:
    name = row.path[0]
    settings = importlib.import_module(row.module).Settings
    probe = PROBES.get(name, "a-value")
    if settings.from_env({name: probe}).get(name) != probe:
        yield f"{name} is not read"
    if isinstance(row.expects, Constant):
        default = settings.from_env({}).get(name)
        if default is None or Path(default) != Path(str(row.expects.value)):
            yield f"{name} is {default!r} when not set, not {row.expects.value!r}"
