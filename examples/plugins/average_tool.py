"""A tool in ten lines."""

import roundtable


@roundtable.tool
def average(numbers: list[float]) -> float:
    """Give the average of numbers, at least one."""
    return sum(numbers) / len(numbers)
