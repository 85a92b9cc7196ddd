"""What a debate may consume."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from roundtable.types.base import Value

__all__ = ["Budget"]


class Budget(Value):
    """The most that a debate, or all debates of a table, may consume; what is left out is not limited.

    Every model call reserves its worst case before it starts and settles what it took afterwards, so that calls that
    run at once never overspend together. A call that does not fit is not made: the debate ends with exit reason
    `budget`, its session is left `paused`, and `Roundtable.resume` with a larger budget goes on.

    Example:
        >>> Budget(max_cost_usd=0.50, max_tokens=200_000).max_tokens
        200000
    """

    max_cost_usd: Annotated[float, Field(gt=0)] | None = None
    """Most US dollars. Every model needs a known price then."""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """Most tokens, input and output together."""
    max_seconds: Annotated[float, Field(gt=0)] | None = None
    """Most seconds during which turns are taken; time between runs does not count."""
    max_calls: Annotated[int, Field(ge=1)] | None = None
    """Most model calls, tries that failed included."""
