"""How something that goes away is announced: one warning, with what to use instead and until when."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RoundtableDeprecationWarning", "deprecated", "warn_deprecated"]

P = ParamSpec("P")
R = TypeVar("R")


class RoundtableDeprecationWarning(DeprecationWarning):
    """Something that is used here goes away; the message says with which version, and what to use instead."""


def warn_deprecated(what: str, *, since: str, gone_in: str, instead: str, stacklevel: int = 2) -> None:
    """Say that something goes away.

    Args:
        what: What is used, as the caller wrote it.
        since: Version that announced it.
        gone_in: Version that will not have it any more; a minor version and six months later at least.
        instead: What to use.
        stacklevel: As in `warnings.warn`, counted from the caller of this function.

    Example:
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn_deprecated("old()", since="0.2", gone_in="0.4", instead="new()")
        >>> str(caught[0].message)
        'old() is deprecated since 0.2 and goes away in 0.4; use new()'
    """
    msg = f"{what} is deprecated since {since} and goes away in {gone_in}; use {instead}"
    warnings.warn(msg, RoundtableDeprecationWarning, stacklevel=stacklevel + 1)


def deprecated(*, since: str, gone_in: str, instead: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function that goes away: each call warns, and its docstring says so.

    Example:
        >>> @deprecated(since="0.2", gone_in="0.4", instead="new()")
        ... def old() -> int:
        ...     '''Give one.'''
        ...     return 1
        >>> print(old.__doc__)
        Give one.
        <BLANKLINE>
        Deprecated since 0.2, gone in 0.4: use new().
    """

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def warned(*arguments: P.args, **keywords: P.kwargs) -> R:
            warn_deprecated(f"{function.__qualname__}()", since=since, gone_in=gone_in, instead=instead)
            return function(*arguments, **keywords)

        told = f"Deprecated since {since}, gone in {gone_in}: use {instead}."
        warned.__doc__ = f"{function.__doc__}\n\n{told}" if function.__doc__ else told
        return warned

    return mark
