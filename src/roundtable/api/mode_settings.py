"""The settings of a mode object, as data that are the same in every process."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Final

from pydantic_core import to_json

from roundtable.core.errors import ConfigurationError
from roundtable.core.prompts.layers import BUILTIN_PROMPTS, PromptLibrary

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.modes import ModeRegistry

__all__ = ["mode_settings"]

_MOST_LEVELS: Final = 20
_STORED_PATHS: Final = {
    "roundtable.core.base.": "roundtable._core.",
    "roundtable.core.mode.wrapped": "roundtable.modes.wrappers",
    "roundtable.core.mode.": "roundtable.modes.",
    "roundtable.core.capabilities": "roundtable.protocols",
    "roundtable.core.hooks": "roundtable.plugins.registrar",
    "roundtable.core.": "roundtable.",
}
"""Beginnings of the paths of modules, and what stands for them in stored settings: the paths of version 0.2."""


def mode_settings(mode: DebateModeStrategy, known: ModeRegistry) -> JsonObject:
    """Return the attributes of a mode object that differ from the registered mode of the same name.

    If no mode of this name is registered, the attributes are compared with the default arguments of the mode's class.

    Raises:
        ConfigurationError: An attribute cannot be written as data.
    """
    settings: JsonObject = {}
    standard = _standard(mode, known)
    for name, value in sorted(getattr(mode, "__dict__", {}).items()):
        if name in standard and standard[name] is value:
            continue
        try:
            settings[name] = _plain(value, mode.name)
            if name in standard and _plain(standard[name], mode.name) == settings[name]:
                del settings[name]
        except _NotPlainError as error:
            msg = f"the attribute {name!r} of mode {mode.name!r} cannot be written as data: {error}"
            hint = "Keep plain values, such as numbers and texts, in the attributes of the mode."
            raise ConfigurationError(msg, hint=hint) from None
    return settings


def _standard(mode: DebateModeStrategy, known: ModeRegistry) -> Mapping[str, object]:
    """Return the attributes that the mode has without any settings, by name."""
    if known.has_mode(mode.name):
        return getattr(known.get_mode(mode.name), "__dict__", {})
    parameters = inspect.signature(type(mode)).parameters.values()
    defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
    return {**defaults, "prompts": BUILTIN_PROMPTS}


class _NotPlainError(Exception):
    """A value cannot be written as data."""


def _plain(value: object, mode_name: str, level: int = 0) -> JsonValue:
    """Return a value as JSON; objects are described by their class and their attributes.

    Raises:
        _NotPlainError: The value has no description that is the same in every process.
    """
    if level > _MOST_LEVELS:
        raise _NotPlainError(f"it has more than {_MOST_LEVELS} levels")

    def inner(part: object) -> JsonValue:
        return _plain(part, mode_name, level + 1)

    match value:
        case None | bool() | int() | float() | str():
            return value
        case PromptLibrary():
            return inner(value.load(mode_name)) if value.has(mode_name) else None
        case list() | tuple():
            return [inner(item) for item in value]
        case AbstractSet():
            return sorted((inner(item) for item in value), key=to_json)
        case Mapping():
            return [[inner(key), inner(item)] for key, item in value.items()]
        case type() | FunctionType() | BuiltinFunctionType():
            return _name_of(value)
        case _:
            return _describe(value, inner)


def _describe(value: object, inner: Callable[[object], JsonValue]) -> JsonValue:
    """Return the class and the attributes of an object, or the class and the `repr` if it has no plain attributes."""
    kind = _name_of(type(value))
    if is_dataclass(value):
        return [kind, inner({field.name: getattr(value, field.name) for field in fields(value)})]
    if hasattr(value, "__dict__") and type(value).__reduce__ is object.__reduce__:  # the attributes are its only state
        return [kind, inner(vars(value))]
    text = repr(value)
    if " at 0x" in text:
        raise _NotPlainError(f"it cannot be distinguished from another {kind}")
    return [kind, text]


def _name_of(value: type | FunctionType | BuiltinFunctionType) -> str:
    module = value.__module__
    path = next((path for path in _STORED_PATHS if module.startswith(path)), "")
    module = _STORED_PATHS.get(path, "") + module.removeprefix(path)
    name = f"{module}.{value.__qualname__}"
    if "<" in name:
        raise _NotPlainError(f"{name} has no name of its own")
    return name
