"""Which of many repetitions of an event are logged."""

from __future__ import annotations

__all__ = ["is_power_of_ten"]


def is_power_of_ten(count: int) -> bool:
    """Check whether a count is 1, 10, 100 and so on; a repeated event is logged only at these counts.

    Example:
        >>> [count for count in range(200) if is_power_of_ten(count)]
        [1, 10, 100]
    """
    return count > 0 and str(count).strip("0") == "1"
