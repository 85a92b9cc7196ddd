"""When a debate ends: stop criteria as frozen values with an algebra."""

from roundtable.exits.base import AllOf, AnyOf, Exit, Load
from roundtable.exits.limits import MaxRounds, MinRounds
from roundtable.exits.registry import BUILTIN_EXITS, ExitFactory, exit_from_spec, exit_registry

__all__ = [
    "BUILTIN_EXITS",
    "AllOf",
    "AnyOf",
    "Exit",
    "ExitFactory",
    "Load",
    "MaxRounds",
    "MinRounds",
    "exit_from_spec",
    "exit_registry",
]
