"""The frozen public surface: every name that the API reference describes, with its signature, one a line.

A change of a public name or signature changes this file, so that it is seen in review and never happens by accident.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Collection, Iterator
from dataclasses import is_dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path

from pydantic import BaseModel

SURFACE = Path("tools/public_surface.txt")
DESCRIBED = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
HEAD = "# Public names and their signatures. Written by tools/generate.py; a change here is a change for users.\n"


def text(root: Path) -> str:
    """Return the text of the file."""
    pages = sorted((root / "docs/reference/api").glob("*.md"))
    described = {name for page in pages for name in DESCRIBED.findall(page.read_text("utf-8"))}
    things = [thing for name in {"roundtable", *described} for thing in _described(name)]
    public = {thing for _, thing in things if isinstance(thing, type)}
    lines = {line for name, thing in things for line in _lines(name, thing, public)}
    return HEAD + "\n".join(sorted(lines)) + "\n"


def _described(name: str) -> Iterator[tuple[str, object]]:
    try:
        module = import_module(name)
    except ModuleNotFoundError:
        home, _, leaf = name.rpartition(".")
        yield name, getattr(import_module(home), leaf)
        return
    for public in getattr(module, "__all__", ()):
        yield f"{name}.{public}", getattr(module, public)


def _lines(name: str, thing: object, public: Collection[type]) -> Iterator[str]:
    if isinstance(thing, type):
        yield f"{name} is {_kind(thing)}"
        if not issubclass(thing, Exception):
            for own in (thing, *_hidden_bases(thing, public)):
                yield from _members(name, own, is_base=own is not thing)
    elif callable(thing) and not _is_alias(thing):
        yield f"{name}{_signature(thing)}"
    else:
        yield name


def _kind(thing: type) -> str:
    bases = ", ".join(base.__name__ for base in thing.__bases__ if base is not object)
    return f"a class of {bases}" if bases else "a class"


def _hidden_bases(thing: type, public: Collection[type]) -> Iterator[type]:
    """Yield the base classes without a public name whose members are public only by the class itself."""
    shown = [base for base in thing.__mro__[1:] if base in public]
    for base in thing.__mro__[1:]:
        is_ours = base.__module__.startswith("roundtable.") and not issubclass(base, BaseModel)
        is_protocol = getattr(base, "_is_protocol", False)
        if is_ours and not is_protocol and base not in public and not any(issubclass(one, base) for one in shown):
            yield base


def _members(name: str, thing: type, *, is_base: bool) -> Iterator[str]:
    if issubclass(thing, BaseModel):
        for field, facts in thing.model_fields.items():
            yield f"{name}.{field}{'' if facts.is_required() else ' (may be left out)'}"
    elif not is_dataclass(thing):
        yield from (f"{name}.{member}" for member in vars(thing).get("__annotations__", {}) if member[0] != "_")
    for member, value in vars(thing).items():
        inner = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if member == "__init__" and not issubclass(thing, BaseModel):
            if not is_base:
                yield f"{name}{_signature(inner)}"
        elif not member.startswith(("_", "model_post_init", "test_")) and inspect.isfunction(inner):
            yield f"{name}.{member}{_signature(inner)}"
        elif not member.startswith(("_", "model_")) and isinstance(value, property | cached_property):
            yield f"{name}.{member}"


def _is_alias(thing: object) -> bool:
    return not (inspect.isroutine(thing) or inspect.isclass(thing))


def _signature(thing: object) -> str:
    """Return names, kinds and defaults of parameters; a default that is not a literal as three dots."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    shown = [one.replace(annotation=one.empty, default=_default(one.default)) for one in parameters]
    return str(inspect.Signature([one for one in shown if one.name != "self"]))


class _Dots:
    def __repr__(self) -> str:
        return "..."


def _default(given: object) -> object:
    if given is inspect.Parameter.empty:
        return given
    try:
        ast.literal_eval(repr(given))
    except (ValueError, SyntaxError):
        return _Dots()
    return given
