"""A tool in ten lines."""

import roundtable


@roundtable.tool
def average(numbers: list[float]) -> float:
    """Return the average of one or more numbers."""
    return sum(numbers) / len(numbers)
