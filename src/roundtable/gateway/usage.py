"""What calls consumed, read so that sums of it make sense."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from roundtable.errors import APITimeoutError
from roundtable.gateway.retry import kind_of
from roundtable.types import Usage

if TYPE_CHECKING:
    from roundtable.errors import RoundtableError

__all__ = ["TOKENLESS", "sane_usage", "usage_of_failure"]

TOKENLESS: Final = frozenset({"human"})
"""Providers whose calls consume no tokens."""


def sane_usage(usage: Usage, provider: str = "") -> Usage:
    """Read usage so that sums of it make sense: no negative count, at least one call, a finite price or none.

    No call of a model reads and writes nothing, so a provider that states no tokens at all has not said what it
    consumed.

    Args:
        usage: What a response states.
        provider: Whose response it is.

    Example:
        >>> sane_usage(Usage(input_tokens=3)).calls
        1
        >>> sane_usage(Usage(calls=1)).unreported_calls, sane_usage(Usage(calls=1), "human").unreported_calls
        (1, 0)
    """
    cost = usage.cost_usd
    counts = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
        usage.unreported_calls,
    )
    is_silent = usage.input_tokens <= 0 and usage.output_tokens <= 0 and provider not in TOKENLESS
    if usage.calls >= 1 and min(counts) >= 0 and (cost is None or (math.isfinite(cost) and cost >= 0)):
        if not is_silent or usage.unreported_calls:
            return usage
        return usage.model_copy(update={"unreported_calls": usage.calls})
    return Usage(
        input_tokens=max(0, usage.input_tokens),
        output_tokens=max(0, usage.output_tokens),
        cache_read_tokens=max(0, usage.cache_read_tokens),
        cache_write_tokens=max(0, usage.cache_write_tokens),
        reasoning_tokens=max(0, usage.reasoning_tokens),
        calls=max(1, usage.calls),
        unreported_calls=max(0, usage.unreported_calls, usage.calls if is_silent else 0),
        cost_usd=cost if cost is not None and math.isfinite(cost) and cost >= 0 else None,
        partial_cost_usd=usage.partial_cost_usd,
    )


def usage_of_failure(error: RoundtableError, *, begun: bool) -> Usage:
    """Say what a failed try consumed.

    What the error itself states is taken. An answer that had begun, or came and is of no use, or was still awaited
    at its deadline, is a call whose consumption is unknown. A refusal, and a provider that could not be reached, cost
    nothing.

    Args:
        error: Why it failed.
        begun: Whether the provider had begun to answer.
    """
    if error.usage is not None:
        return error.usage
    late = isinstance(error, APITimeoutError) and "status" not in (error.details or {})
    if begun or late or kind_of(error) == "answer":
        return Usage(calls=1, unreported_calls=1)
    return Usage()
