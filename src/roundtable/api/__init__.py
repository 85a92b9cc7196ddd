"""The facade: `Roundtable`, `debate` and what belongs to them. Names load on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.api.functions import as_function
    from roundtable.api.profiles import load_profiles
    from roundtable.api.sse import sse_messages
    from roundtable.api.table import Roundtable, debate
    from roundtable.core.types.agents import AgentProfile

__all__ = ["AgentProfile", "Roundtable", "as_function", "debate", "load_profiles", "sse_messages"]

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AgentProfile": "profiles",
        "Roundtable": "table",
        "as_function": "functions",
        "debate": "table",
        "load_profiles": "profiles",
        "sse_messages": "sse",
    },
)
