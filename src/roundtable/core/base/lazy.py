"""Package attributes that are imported on first use (PEP 562)."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["lazy_names"]


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package.

    Args:
        package: Name of the package.
        homes: Maps each public name to the module of the package that defines it; `"._name"` is a module next to the
            package. A name mapped to itself means the module itself.

    Example:
        >>> look_up, names = lazy_names("roundtable", {"SystemClock": "core.base.clock"})
        >>> look_up("SystemClock").__name__
        'SystemClock'
    """

    def look_up(name: str) -> object:
        module_name = homes.get(name)
        if module_name is None:
            raise _missing(package, name)
        module = import_module(f".{module_name}", package)
        value: object = module if module_name == name else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return look_up, names


def _missing(package: str, name: str) -> Exception:
    """Return the error for a name that a package does not have; it contains the new path of a name that moved."""
    from roundtable.core.base.moved import MOVED

    path = MOVED.get(package, {}).get(name)
    if path is None:
        return AttributeError(f"module {package!r} has no attribute {name!r}")
    # `from ... import` would replace the message of an `AttributeError`.
    return ImportError(f"{name!r} is no longer in {package}; use {path}", name=package)
