"""What all suites share: they run on both event loops, and none of their laws can be left out in silence."""

from __future__ import annotations

from typing import ClassVar

import pytest

__all__ = ["Suite", "laws_of"]


class Suite:
    """Base of the suites: laws are inherited as they stand.

    A class that replaces a law, or sets it to `None`, cannot be made. One that cannot keep a law for now says so: it
    writes the law anew and marks it `@pytest.mark.xfail(reason="...")`.

    Raises:
        TypeError: A law is left out or replaced; the message lists which.
    """

    pytestmark: ClassVar[list[pytest.MarkDecorator]] = [pytest.mark.anyio]

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        lost = [
            name
            for name, law in laws_of(cls).items()
            if getattr(cls, name, None) is not law and not _is_excused(getattr(cls, name, None))
        ]
        if lost:
            msg = f"{cls.__name__} leaves out or replaces, without @pytest.mark.xfail(reason=...): {', '.join(lost)}"
            raise TypeError(msg)


def laws_of(cls: type) -> dict[str, object]:
    """Give the laws that the suites among the bases of a class state, by name.

    Example:
        >>> laws_of(Suite)
        {}
    """
    found: dict[str, object] = {}
    for base in cls.__mro__:
        if base.__module__.startswith("roundtable.testing."):
            for name, law in vars(base).items():
                if name.startswith("test_"):
                    found.setdefault(name, law)
    return found


def _is_excused(test: object) -> bool:
    marks: list[pytest.Mark] = getattr(test, "pytestmark", [])
    return any(mark.name == "xfail" and mark.kwargs.get("reason") for mark in marks)
