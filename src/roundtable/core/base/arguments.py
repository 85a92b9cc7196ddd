"""Wrong arguments of public functions, methods and values as errors that say what to write instead."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["argument_error", "explains_arguments", "unknown_name_hint"]

T = TypeVar("T")


def explains_arguments(public: T) -> T:
    """Decorate a function or a class so that calls with wrong arguments raise a `ConfigurationError` with a hint.

    Python raises a bare `TypeError` for an argument that a function does not have. Of a class, the public methods and
    the constructor are decorated. Errors that are raised inside a function stay as they are.

    Example:
        >>> @explains_arguments
        ... class Shop:
        ...     def __init__(self, *, tools: list[str]) -> None: ...
        ...     def order(self, item: str, *, count: int = 1) -> None: ...
        >>> shop = Shop(tools=[])
        >>> for wrong in ({"counts": 2}, {"tools": []}, {"size": 1}):
        ...     try:
        ...         shop.order("tea", **wrong)
        ...     except ConfigurationError as error:
        ...         print(error.message, "|", error.hint)
        order() has no argument 'counts' | Did you mean 'count'?
        order() has no argument 'tools' | `tools` belongs to `Shop(...)`.
        order() has no argument 'size' | Its arguments are item, count.
    """
    if isinstance(public, type):
        for name, method in [*vars(public).items()]:
            if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
                setattr(public, name, _explained(method, is_method=True))
        return public
    return cast("T", _explained(cast("Callable[..., Any]", public), is_method=False))


def _explained(function: Callable[..., Any], *, is_method: bool) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):
        return function

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> object:  # noqa: ANN401  (any arguments)
            try:
                return await function(*args, **kwargs)
            except TypeError as error:
                if _is_inside(error):
                    raise
                raise argument_error(function, args, kwargs, error, is_method=is_method) from error

        return call_async

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> object:  # noqa: ANN401  (any arguments)
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if _is_inside(error):
                raise
            raise argument_error(function, args, kwargs, error, is_method=is_method) from error

    return call


def _is_inside(error: TypeError) -> bool:
    """Check whether the body of the called function raised an error, so that its arguments could be bound."""
    return error.__traceback__ is None or error.__traceback__.tb_next is not None


def argument_error(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    error: TypeError,
    *,
    is_method: bool = False,
) -> ConfigurationError:
    """Return the error for arguments that a function does not accept.

    Args:
        function: The function.
        args: Positional arguments of the call; for a method, the object is the first one.
        kwargs: Named arguments of the call.
        error: Python's error.
        is_method: Whether the function is a method.
    """
    names = [*inspect.signature(function).parameters.values()]
    known = [parameter.name for parameter in names[is_method:] if parameter.kind is not parameter.VAR_KEYWORD]
    owner = type(args[0]) if is_method and args else None
    is_constructor = function.__name__ == "__init__" and owner is not None
    called = owner.__name__ if owner is not None and is_constructor else function.__name__
    unknown = next((name for name in kwargs if name not in known), None)
    if unknown is None:
        # Without the qualified name that Python writes, as in "Roundtable.debate() missing 1 required ...".
        reason = str(error).removeprefix(f"{function.__qualname__}() ")
        return ConfigurationError(f"{called}(): {reason}", cause=error, hint=_arguments_hint(known))
    hint = unknown_name_hint(unknown, known) or _owner_hint(unknown, owner, function) or _arguments_hint(known)
    return ConfigurationError(f"{called}() has no argument {unknown!r}", cause=error, hint=hint)


def unknown_name_hint(name: str, known: Iterable[str]) -> str:
    """Return a hint with the known name that is most similar to an unknown one; empty if none is similar.

    Example:
        >>> unknown_name_hint("max_cost", ["max_cost_usd", "max_calls"]), unknown_name_hint("tea", ["max_calls"])
        ("Did you mean 'max_cost_usd'?", '')
    """
    close = get_close_matches(name, [*known], 1, cutoff=0.7)
    return f"Did you mean {close[0]!r}?" if close else ""


def _owner_hint(name: str, owner: type | None, function: Callable[..., Any]) -> str:
    """Return a hint about the constructor or the method of a class that has an argument of this name."""
    methods = {} if owner is None else {"__init__": inspect.getattr_static(owner, "__init__"), **_public_methods(owner)}
    for method_name, method in methods.items():
        if method_name != function.__name__ and name in inspect.signature(method).parameters:
            called = owner.__name__ if owner is not None and method_name == "__init__" else method_name
            return f"`{name}` belongs to `{called}(...)`."
    return ""


def _public_methods(owner: type) -> dict[str, Callable[..., Any]]:
    members = [member for base in owner.__mro__ for member in vars(base).items()]
    return {name: method for name, method in members if inspect.isfunction(method) and not name.startswith("_")}


def _arguments_hint(known: list[str]) -> str:
    return f"Its arguments are {', '.join(known)}." if known else "It has no arguments."
