"""AI Roundtable: several LLM agents debate a question in rounds; the library decides, measures and remembers.

Names are loaded when they are asked for, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable._version import __version__
    from roundtable.agents import BaseAgent
    from roundtable.api import Roundtable, debate
    from roundtable.api.stream import DebateStream
    from roundtable.errors import (
        APIAuthError,
        APINetworkError,
        APIRateLimitError,
        APITimeoutError,
        RoundtableError,
    )
    from roundtable.exits import MaxRounds
    from roundtable.plugins import hookimpl
    from roundtable.result import DebateResult
    from roundtable.scoring import decide
    from roundtable.sync import debate_sync
    from roundtable.types import (
        AgentConfig,
        AgentResponse,
        Budget,
        Citation,
        ConsensusResult,
        DebateConfig,
        DebateContext,
        Decision,
        Persona,
        Perspective,
        ProviderConfig,
        Session,
        SessionFilter,
        Usage,
    )

__all__ = [
    "APIAuthError",
    "APINetworkError",
    "APIRateLimitError",
    "APITimeoutError",
    "AgentConfig",
    "AgentResponse",
    "BaseAgent",
    "Budget",
    "Citation",
    "ConsensusResult",
    "DebateConfig",
    "DebateContext",
    "DebateResult",
    "DebateStream",
    "Decision",
    "MaxRounds",
    "Persona",
    "Perspective",
    "ProviderConfig",
    "Roundtable",
    "RoundtableError",
    "Session",
    "SessionFilter",
    "Usage",
    "__version__",
    "debate",
    "debate_sync",
    "decide",
    "hookimpl",
]

_HOME = {
    "APIAuthError": "errors",
    "APINetworkError": "errors",
    "APIRateLimitError": "errors",
    "APITimeoutError": "errors",
    "AgentConfig": "types.agents",
    "AgentResponse": "types.answers",
    "BaseAgent": "agents",
    "Budget": "types.budget",
    "Citation": "types.answers",
    "ConsensusResult": "types.consensus",
    "DebateConfig": "types.debate",
    "DebateContext": "types.debate",
    "DebateResult": "result",
    "DebateStream": "api.stream",
    "Decision": "types.consensus",
    "MaxRounds": "exits",
    "Persona": "types.agents",
    "Perspective": "types.agents",
    "ProviderConfig": "types.agents",
    "Roundtable": "api.table",
    "RoundtableError": "errors",
    "Session": "types.debate",
    "SessionFilter": "types.storage",
    "Usage": "types.chat",
    "__version__": "_version",
    "debate": "api.table",
    "debate_sync": "sync",
    "decide": "scoring",
    "hookimpl": "plugins.hookspecs",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOME)
