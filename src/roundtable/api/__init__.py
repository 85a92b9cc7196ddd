"""The facade."""

from roundtable.api.table import Roundtable, debate

__all__ = ["Roundtable", "debate"]
