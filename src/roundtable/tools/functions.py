"""A tool from a typed function."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model
from pydantic.errors import PydanticSchemaGenerationError

from roundtable._foreign import error_text
from roundtable.errors import ConfigurationError
from roundtable.tools.definition import TOOL_TIMEOUT_S, ToolDefinition, is_async
from roundtable.tools.results import unfit
from roundtable.types import JsonObject

__all__ = ["FunctionTool", "schema_of", "tool"]

P = ParamSpec("P")
R = TypeVar("R")

_SECTION = re.compile(r"\s*(Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?):\s*$")
_ARGUMENT = re.compile(r"\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)")
_FIELD_LIST = re.compile(r"\s*:param\s+(?:[^:]*\s)?(\w+):\s*(.*)")


@dataclass(frozen=True)
class FunctionTool(ToolDefinition, Generic[P, R]):
    """A function that agents can call; it can still be called as before."""

    function: Callable[P, R] = field(kw_only=True, repr=False)
    """The function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, as if it were no tool."""
        return self.function(*args, **kwargs)


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    retryable: bool = False,
    cached: bool = True,
    timeout_s: float = TOOL_TIMEOUT_S,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    retryable: bool = False,
    cached: bool = True,
    timeout_s: float = TOOL_TIMEOUT_S,
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Make a tool of a typed function; use it as `@tool` or as `@tool(retryable=True)`.

    The name is the function's, the description the first part of its docstring, the schema that of its parameters,
    whose descriptions are read from the docstring. A plain function runs in a thread.

    Args:
        function: The function.
        name: Name the model calls instead.
        description: Description instead.
        retryable: Whether it may be tried again after a fault that may pass; only for functions that change nothing.
        cached: Whether the same call made twice within a round, by whomever, is carried out once.
        timeout_s: Seconds one attempt may take.

    Raises:
        ConfigurationError: The name is none that providers take, or a parameter's type has no JSON Schema.

    Example:
        >>> import roundtable
        >>> @roundtable.tool
        ... def population(country: str, year: int = 2024) -> int:
        ...     '''Give the number of people in a country.
        ...
        ...     Args:
        ...         country: Its English name.
        ...     '''
        ...     return {"France": 68_000_000}[country]
        >>> population.description, population.parameters["properties"]["country"]
        ('Give the number of people in a country.', {'description': 'Its English name.', 'type': 'string'})
        >>> population("France")
        68000000
    """
    if function is None:
        return lambda given: _made(given, name, description, retryable=retryable, cached=cached, timeout_s=timeout_s)
    return _made(function, name, description, retryable=retryable, cached=cached, timeout_s=timeout_s)


def _made(
    function: Callable[P, R],
    name: str | None,
    description: str | None,
    *,
    retryable: bool,
    cached: bool,
    timeout_s: float,
) -> FunctionTool[P, R]:
    own = name or _name_of(function)
    doc = inspect.getdoc(function) or ""
    arguments = _arguments_of(function, own, _described(doc))
    return FunctionTool(
        own,
        description if description is not None else _first_part(doc) or f"Calls {own}.",
        schema_of(arguments),
        _caller(function, arguments),
        retryable=retryable,
        cached=cached,
        timeout_s=timeout_s,
        function=function,
    )


def _name_of(function: object) -> str:
    inner = function.func if isinstance(function, functools.partial) else function
    return str(getattr(inner, "__name__", type(inner).__name__))


def _caller(function: Callable[..., object], arguments: type[BaseModel]) -> Callable[[JsonObject], object]:
    """Give the function of one arguments object, in the same colour."""

    def read(given: JsonObject) -> dict[str, Any]:
        known = arguments.model_validate(given)
        return {
            info.alias or name: getattr(known, name)
            for name, info in arguments.model_fields.items()
            if name in known.model_fields_set
        }

    async def call_async(given: JsonObject) -> object:
        try:
            known = read(given)
        except ValidationError as error:
            return unfit(error)
        result: Any = function(**known)
        return await result

    def call(given: JsonObject) -> object:
        try:
            known = read(given)
        except ValidationError as error:
            return unfit(error)
        return function(**known)

    return call_async if is_async(function) else call


def _arguments_of(function: Callable[..., object], name: str, texts: dict[str, str]) -> type[BaseModel]:
    """Make a model of the parameters; each field goes by a number, so that no parameter's name can be in its way."""
    try:
        signature, hints = inspect.signature(function), _hints(function)
        fields: dict[str, Any] = {}
        for place, parameter in enumerate(signature.parameters.values()):
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                msg = f"parameter {parameter.name!r} of tool {name!r} cannot be given by name"
                raise ConfigurationError(msg, hint="Give every parameter a name and a type of its own.")
            default = ... if parameter.default is parameter.empty else parameter.default
            kind = hints.get(parameter.name, Any)
            fields[f"p{place}"] = (kind, Field(default, alias=parameter.name, description=texts.get(parameter.name)))
        made: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
        made.model_json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError, NameError, ValueError) as error:
        why = error_text(error).partition("\n")[0]
        msg = f"the parameters of tool {name!r} have no JSON Schema: {why}"
        raise ConfigurationError(
            msg, cause=error, hint="Annotate them with str, int, float, bool, list, Literal, a dataclass or a model."
        ) from error
    return made


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    inner = function.func if isinstance(function, functools.partial) else function
    target = inner if inspect.isroutine(inner) else vars(type(inner)).get("__call__", inner)
    return get_type_hints(target, include_extras=True)


def schema_of(arguments: type[BaseModel]) -> JsonObject:
    """Give the JSON Schema of a model's JSON, without the titles that pydantic adds."""
    schema = arguments.model_json_schema(by_alias=True)
    made = _without_titles(schema)
    made.pop("description", None)
    made.setdefault("properties", {})
    return made


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for word, value in schema.items():
        if word in {"properties", "$defs"} and isinstance(value, dict):
            made[word] = {name: _without_titles(one) for name, one in value.items()}
        elif isinstance(value, dict):
            made[word] = _without_titles(value)
        elif word in {"anyOf", "oneOf", "allOf", "prefixItems"} and isinstance(value, list):
            made[word] = [_without_titles(one) for one in value]
        elif word != "title":
            made[word] = value
    return made


def _first_part(doc: str) -> str:
    """Give the description: all up to the first section on arguments, results or errors."""
    lines: list[str] = []
    for line in doc.splitlines():
        if _SECTION.match(line) or _FIELD_LIST.match(line):
            break
        lines.append(line.strip())
    return " ".join(" ".join(lines).split())


def _described(doc: str) -> dict[str, str]:
    """Give what a docstring says about each parameter, in Google's style or as a field list."""
    found: dict[str, str] = {}
    last, inside, indent = "", False, 0
    for line in doc.splitlines():
        section = _SECTION.match(line)
        listed = _FIELD_LIST.match(line)
        if section:
            inside, last, indent = section[1] in {"Args", "Arguments", "Parameters"}, "", 0
        elif listed:
            found[listed[1]] = listed[2].strip()
        elif inside and line.strip():
            depth = len(line) - len(line.lstrip())
            indent = indent or depth
            named = _ARGUMENT.match(line) if depth == indent else None
            if named:
                last = named[1]
                found[last] = named[2].strip()
            elif last:
                found[last] = f"{found[last]} {line.strip()}"
    return found
