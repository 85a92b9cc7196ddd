"""The command `roundtable` (extra `cli`)."""

from roundtable.cli.main import run

__all__ = ["run"]
