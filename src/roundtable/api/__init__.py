"""The facade."""

from roundtable.api.once import debate
from roundtable.api.profiles import load_profiles
from roundtable.api.table import Roundtable
from roundtable.types.profiles import AgentProfile

__all__ = ["AgentProfile", "Roundtable", "debate", "load_profiles"]
