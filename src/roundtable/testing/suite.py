"""What all suites share: they run on both event loops, and none of their laws can be left out in silence."""

from __future__ import annotations

import time
import warnings
from functools import wraps
from typing import TYPE_CHECKING, ClassVar, Final, ParamSpec, TypeVar

import pytest
from packaging.version import Version

from roundtable._version import __version__

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hypothesis import settings

__all__ = ["NewLawWarning", "Suite", "at_once", "drawn_law", "laws_of", "new_law", "refuse_waiting"]

P = ParamSpec("P")
R = TypeVar("R")


WAIT_S: Final = 0.1
"""Seconds besides its own work that a pure function may take on a busy machine; beyond, it waits for something."""


class NewLawWarning(UserWarning):
    """A law that is new breaks; it fails from the version that the text names."""


def new_law(*, fails_from: str) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R | None]]]:
    """Mark a law, an `async` test, that was added to a suite: until a version, breaking it is a warning.

    Args:
        fails_from: Version of the library from which on it fails, one minor version after the one that adds it.

    Example:
        >>> import anyio
        >>> @new_law(fails_from="0.1")
        ... async def test_tea_is_hot():
        ...     assert "tea" == "hot"
        >>> anyio.run(test_tea_is_hot)
        Traceback (most recent call last):
        AssertionError
    """

    def mark(law: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R | None]]:
        @wraps(law)
        async def run(*args: P.args, **keywords: P.kwargs) -> R | None:
            try:
                return await law(*args, **keywords)
            except Exception as error:
                if Version(Version(__version__).base_version) >= Version(fails_from):
                    raise
                told = f"{law.__name__} is a new law, which fails from roundtable-sdk {fails_from}: {error}"
                warnings.warn(told, NewLawWarning, stacklevel=2)
                return None

        return run

    return mark


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


def at_once(call: Callable[[], R]) -> R:
    """Give what a pure function gives; it may compute, but it waits for nothing.

    Raises:
        AssertionError: It waited, three times of three: it sleeps, or calls something.

    Example:
        >>> at_once(lambda: 1 + 1)
        2
    """
    waited_s = 0.0
    for _ in range(3):
        began_s, worked_s = time.perf_counter(), time.thread_time()
        given = call()
        waited_s = time.perf_counter() - began_s - (time.thread_time() - worked_s)
        if waited_s < WAIT_S:
            return given
    msg = f"it waited for {waited_s:.2f} s; what is pure computes, and neither sleeps nor calls anything outside"
    raise AssertionError(msg)


def drawn_law(most_examples: int) -> settings:
    """Give the settings of a law that is tried on drawn examples: as many as the profile says, and no more than these.

    What is under test is pure and holds no state, so one fixture may serve every example; suites are inherited by
    design.
    """
    # Late on purpose: most suites draw nothing.
    from hypothesis import HealthCheck, settings

    return settings(
        max_examples=min(most_examples, settings().max_examples),
        deadline=None,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.differing_executors,
            HealthCheck.too_slow,
        ],
    )


def refuse_waiting(call: Callable[[], object]) -> None:
    """Fail for a pure function that waits, before it is tried on hundreds of drawn values, each of which would wait.

    What else is wrong with it, the laws say.

    Raises:
        AssertionError: It waited.
    """
    try:
        at_once(call)
    except AssertionError:
        raise
    except Exception:  # noqa: BLE001  (said by the laws, which name what they gave it)
        return
