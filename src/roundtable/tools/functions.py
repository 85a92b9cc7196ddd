"""Create tools from typed functions."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType, UnionType
from typing import (
    Any,
    Generic,
    NamedTuple,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model
from pydantic.errors import PydanticSchemaGenerationError

from roundtable.core.base.arguments import explains_arguments
from roundtable.core.base.functions import is_async
from roundtable.core.base.text import error_text
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.base import JsonObject
from roundtable.tools.definition import (
    TOOL_TIMEOUT_S,
    ToolContext,
    ToolDefinition,
    ToolTurn,
    failed_result,
    invalid_tool_arguments,
)

__all__ = ["ContextParameter", "FunctionTool", "schema_of", "tool"]

P = ParamSpec("P")
R = TypeVar("R")

_SECTION = re.compile(r"\s*(Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?):\s*$")
_ARGUMENT = re.compile(r"\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)")
_FIELD_LIST = re.compile(r"\s*:param\s+(?:[^:]*\s)?(\w+):\s*(.*)")


class ContextParameter(NamedTuple):
    """The parameter of a function that gets a `ToolContext`."""

    name: str
    """Name of the parameter."""
    needs: object
    """Type of the dependencies that the function needs; `None` if it needs none."""


@dataclass(frozen=True)
class FunctionTool(ToolDefinition, Generic[P, R]):
    """A function that agents can call; Python code can still call it like the original function."""

    function: Callable[P, R] = field(kw_only=True, repr=False)
    """The function."""
    arguments: type[BaseModel] = field(kw_only=True, repr=False)
    """Pydantic model of the parameters that the language model fills in."""
    context: ContextParameter | None = field(kw_only=True, default=None)
    """The parameter that gets a `ToolContext`, if there is one."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function directly."""
        return self.function(*args, **kwargs)

    def for_turn(self, turn: ToolTurn) -> FunctionTool[P, R]:
        """Return the tool for one turn, with its context filled in."""
        if self.context is None:
            return self
        filled = {self.context.name: ToolContext(turn.dependencies, turn)}
        return replace(self, execute=_argument_adapter(self.function, self.arguments, filled))

    def check_dependencies(self, dependencies: object) -> None:
        """Check that a table has what the function needs.

        Raises:
            ConfigurationError: The dependencies are missing, or of another type.
        """
        needed = None if self.context is None else self.context.needs
        if needed is None or _is_instance(dependencies, needed):
            return
        name = " or ".join(getattr(member, "__name__", str(member)) for member in _members(needed))
        actual = "none" if dependencies is None else f"an object of {type(dependencies).__name__}"
        msg = f"tool {self.name!r} needs {name} as its dependencies, and the table has {actual}"
        raise ConfigurationError(msg, hint=f"Pass Roundtable(tool_dependencies=...) an object of {name}.")


def _members(kind: object) -> tuple[object, ...]:
    """Return the members of a union; for any other type, return the type itself."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _is_instance(value: object, kind: object) -> bool:
    """Check the type of a value as far as Python can. A protocol that is not `runtime_checkable` accepts any value."""
    if len(members := _members(kind)) > 1:
        return any(_is_instance(value, member) for member in members)
    origin = get_origin(kind) or kind
    try:
        return isinstance(value, cast("type", origin))  # raises TypeError if it is not a class
    except TypeError:
        return value is not None


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    retryable: bool = False,
    cached: bool | None = None,
    timeout_s: float = TOOL_TIMEOUT_S,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


@explains_arguments
def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    retryable: bool = False,
    cached: bool | None = None,
    timeout_s: float = TOOL_TIMEOUT_S,
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Create a tool from a typed function; use it as `@tool` or as `@tool(retryable=True)`.

    The tool has the name of the function. Its description is the first part of the docstring. Its schema is made from
    the parameters of the function and their descriptions in the docstring. A plain function runs in a thread.

    Args:
        function: The function.
        name: Name by which the model calls the tool; by default, the name of the function.
        description: Description for the model; by default, it comes from the docstring.
        retryable: Whether a call is tried again after a temporary fault; only for functions without side effects.
        cached: Whether equal calls within a round run only once and share the result, even if different agents make
            them. The default is true, but false for functions with a `ToolContext`, because their results may depend on
            the agent.
        timeout_s: Seconds that one attempt may take.

    Raises:
        ConfigurationError: The name is not valid for every provider, or a parameter's type has no JSON Schema.

    Example:
        >>> import roundtable
        >>> @roundtable.tool
        ... def population(country: str, year: int = 2024) -> int:
        ...     '''Return the number of people in a country.
        ...
        ...     Args:
        ...         country: Its English name.
        ...     '''
        ...     return {"France": 68_000_000}[country]
        >>> population.description, population.parameters["properties"]["country"]
        ('Return the number of people in a country.', {'description': 'Its English name.', 'type': 'string'})
        >>> population("France")
        68000000
    """
    if function is None:
        return lambda decorated: _create_tool(
            decorated, name, description, retryable=retryable, cached=cached, timeout_s=timeout_s
        )
    return _create_tool(function, name, description, retryable=retryable, cached=cached, timeout_s=timeout_s)


def _create_tool(
    function: Callable[P, R],
    name: str | None,
    description: str | None,
    *,
    retryable: bool,
    cached: bool | None,
    timeout_s: float,
) -> FunctionTool[P, R]:
    tool_name = name or _name_of(function)
    docstring = inspect.getdoc(function) or ""
    arguments, context = _arguments_model(function, tool_name, _parameter_descriptions(docstring))
    return FunctionTool(
        tool_name,
        description if description is not None else _first_part(docstring) or f"Calls {tool_name}.",
        schema_of(arguments),
        _argument_adapter(function, arguments) if context is None else _outside_of_turns(tool_name),
        retryable=retryable,
        cached=context is None if cached is None else cached,
        timeout_s=timeout_s,
        function=function,
        arguments=arguments,
        context=context,
    )


def _name_of(function: object) -> str:
    inner = function.func if isinstance(function, functools.partial) else function
    return str(getattr(inner, "__name__", type(inner).__name__))


def _outside_of_turns(name: str) -> Callable[[JsonObject], object]:
    def refuse(_: JsonObject) -> object:
        return failed_result(f"tool {name!r} runs only in a turn of a debate")

    return refuse


def _argument_adapter(
    function: Callable[..., object], arguments: type[BaseModel], filled: Mapping[str, object] = MappingProxyType({})
) -> Callable[[JsonObject], object]:
    """Return a function that takes one arguments object; it is `async` if `function` is `async`.

    Args:
        function: The function.
        arguments: Model of the parameters in the object.
        filled: Arguments that do not come from the object.
    """

    def parse(tool_input: JsonObject) -> dict[str, Any]:
        parsed = arguments.model_validate(tool_input)
        return dict(filled) | {
            info.alias or name: getattr(parsed, name)
            for name, info in arguments.model_fields.items()
            if name in parsed.model_fields_set
        }

    async def call_async(tool_input: JsonObject) -> object:
        try:
            keywords = parse(tool_input)
        except ValidationError as error:
            return invalid_tool_arguments(error)
        result: Any = function(**keywords)
        return await result

    def call(tool_input: JsonObject) -> object:
        try:
            keywords = parse(tool_input)
        except ValidationError as error:
            return invalid_tool_arguments(error)
        return function(**keywords)

    return call_async if is_async(function) else call


def _arguments_model(
    function: Callable[..., object], name: str, descriptions: dict[str, str]
) -> tuple[type[BaseModel], ContextParameter | None]:
    """Create a pydantic model of the parameters, and find the parameter that gets a `ToolContext`.

    The fields of the model are numbered, so that no parameter name can clash.
    """
    context: ContextParameter | None = None
    try:
        signature, hints = inspect.signature(function), _type_hints(function)
        fields: dict[str, Any] = {}
        for number, parameter in enumerate(signature.parameters.values()):
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                msg = f"parameter {parameter.name!r} of tool {name!r} cannot be passed by keyword"
                raise ConfigurationError(msg, hint="Give every parameter its own name and type.")
            default = ... if parameter.default is parameter.empty else parameter.default
            annotation = hints.get(parameter.name, Any)
            if annotation is ToolContext or get_origin(annotation) is ToolContext:
                context = ContextParameter(parameter.name, _needs(annotation))
                continue
            fields[f"p{number}"] = (
                annotation,
                Field(default, alias=parameter.name, description=descriptions.get(parameter.name)),
            )
        model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
        model.model_json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError, NameError, ValueError) as error:
        reason = error_text(error).partition("\n")[0]
        msg = f"the parameters of tool {name!r} have no JSON Schema: {reason}"
        raise ConfigurationError(
            msg, cause=error, hint="Annotate them with str, int, float, bool, list, Literal, a dataclass or a model."
        ) from error
    return model, context


def _needs(annotation: object) -> object:
    """Return the type of the dependencies in the annotation of a context; `None` if nothing is needed."""
    needed = next(iter(get_args(annotation)), None)
    return None if needed in (Any, object, type(None)) or isinstance(needed, TypeVar) else needed


def _type_hints(function: Callable[..., object]) -> dict[str, Any]:
    inner = function.func if isinstance(function, functools.partial) else function
    target = inner if inspect.isroutine(inner) else vars(type(inner)).get("__call__", inner)
    return get_type_hints(target, include_extras=True)


def schema_of(arguments: type[BaseModel]) -> JsonObject:
    """Return the JSON Schema of a pydantic model, without the titles that pydantic adds."""
    schema = arguments.model_json_schema(by_alias=True)
    cleaned = _without_titles(schema)
    cleaned.pop("description", None)
    cleaned.setdefault("properties", {})
    return cleaned


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    cleaned: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in {"properties", "$defs"} and isinstance(value, dict):
            cleaned[keyword] = {name: _without_titles(inner) for name, inner in value.items()}
        elif isinstance(value, dict):
            cleaned[keyword] = _without_titles(value)
        elif keyword in {"anyOf", "oneOf", "allOf", "prefixItems"} and isinstance(value, list):
            cleaned[keyword] = [_without_titles(inner) for inner in value]
        elif keyword != "title":
            cleaned[keyword] = value
    return cleaned


def _first_part(docstring: str) -> str:
    """Return the description: all text before the first section on arguments, results or errors."""
    lines: list[str] = []
    for line in docstring.splitlines():
        if _SECTION.match(line) or _FIELD_LIST.match(line):
            break
        lines.append(line.strip())
    return " ".join(" ".join(lines).split())


def _parameter_descriptions(docstring: str) -> dict[str, str]:
    """Return the description of each parameter, from a docstring in Google's style or a field list."""
    descriptions: dict[str, str] = {}
    name, in_arguments, indent = "", False, 0
    for line in docstring.splitlines():
        section = _SECTION.match(line)
        field_list = _FIELD_LIST.match(line)
        if section:
            in_arguments, name, indent = section[1] in {"Args", "Arguments", "Parameters"}, "", 0
        elif field_list:
            descriptions[field_list[1]] = field_list[2].strip()
        elif in_arguments and line.strip():
            depth = len(line) - len(line.lstrip())
            indent = indent or depth
            argument = _ARGUMENT.match(line) if depth == indent else None
            if argument:
                name = argument[1]
                descriptions[name] = argument[2].strip()
            elif name:
                descriptions[name] = f"{descriptions[name]} {line.strip()}"
    return descriptions
