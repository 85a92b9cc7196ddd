"""What was spent, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundtable.types import Usage

__all__ = ["cost_in_words"]


def cost_in_words(usage: Usage) -> str:
    """Say what calls cost, or that it is not known and how much of it is.

    Example:
        >>> from roundtable.types import Usage
        >>> cost_in_words(Usage(calls=1, cost_usd=0.0123)), cost_in_words(Usage(calls=1))
        ('cost 0.0123 USD', 'cost unknown')
        >>> cost_in_words(Usage(calls=1, cost_usd=0.5) + Usage(calls=1))
        'cost unknown (0.5000 USD of it known)'
    """
    if usage.cost_usd is not None:
        return f"cost {usage.cost_usd:.4f} USD"
    if usage.partial_cost_usd is None:
        return "cost unknown"
    return f"cost unknown ({usage.partial_cost_usd:.4f} USD of it known)"
