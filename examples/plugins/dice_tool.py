"""A tool in ten lines."""

import secrets

import roundtable


@roundtable.tool(cached=False)
def roll(sides: int = 6) -> int:
    """Roll a die with this many sides, at least one."""
    return secrets.randbelow(sides) + 1
