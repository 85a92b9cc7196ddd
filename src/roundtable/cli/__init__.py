"""The command `roundtable` (extra `cli`)."""

from roundtable.cli.entry import run

__all__ = ["run"]
