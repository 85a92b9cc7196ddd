"""Names that are loaded when they are asked for (PEP 562)."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["lazy_names"]


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Give `__getattr__` and `__dir__` for a package.

    Args:
        package: Name of the package.
        homes: Public name to the module of the package that has it; `"._name"` stands beside the package. A name that
            is its own home is the module itself.

    Example:
        >>> look_up, names = lazy_names("roundtable", {"SystemClock": "_clock"})
        >>> look_up("SystemClock").__name__
        'SystemClock'
    """

    def look_up(name: str) -> object:
        home = homes.get(name)
        if home is None:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        module = import_module(f".{home}", package)
        found: object = module if home == name else getattr(module, name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return look_up, names
