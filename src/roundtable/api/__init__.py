"""The facade."""

from roundtable.api.once import debate
from roundtable.api.table import Roundtable

__all__ = ["Roundtable", "debate"]
