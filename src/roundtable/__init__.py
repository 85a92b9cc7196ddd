"""AI Roundtable: several LLM agents debate a question in rounds; the library decides, measures and remembers.

Names are loaded when they are asked for, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    # A package, for `rt.tools.from_mcp(...)` after no more than `import roundtable as rt`.
    from roundtable import tools as tools
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
    from roundtable.exits import (
        AllConfident,
        BudgetSpent,
        ConsensusReached,
        Converged,
        LeaderUnassailable,
        MaxRounds,
        MinRounds,
        NoProgress,
        Stable,
        StopRequested,
    )
    from roundtable.plugins import hookimpl
    from roundtable.result import DebateResult
    from roundtable.results import Results
    from roundtable.scoring import decide
    from roundtable.sync import debate_sync
    from roundtable.tools import tool
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
    "AllConfident",
    "BaseAgent",
    "Budget",
    "BudgetSpent",
    "Citation",
    "ConsensusReached",
    "ConsensusResult",
    "Converged",
    "DebateConfig",
    "DebateContext",
    "DebateResult",
    "DebateStream",
    "Decision",
    "LeaderUnassailable",
    "MaxRounds",
    "MinRounds",
    "NoProgress",
    "Persona",
    "Perspective",
    "ProviderConfig",
    "Results",
    "Roundtable",
    "RoundtableError",
    "Session",
    "SessionFilter",
    "Stable",
    "StopRequested",
    "Usage",
    "__version__",
    "debate",
    "debate_sync",
    "decide",
    "hookimpl",
    "tool",
]

_HOME = {
    "APIAuthError": "errors",
    "APINetworkError": "errors",
    "APIRateLimitError": "errors",
    "APITimeoutError": "errors",
    "AgentConfig": "types.agents",
    "AgentResponse": "types.answers",
    "AllConfident": "exits",
    "BaseAgent": "agents",
    "Budget": "types.budget",
    "BudgetSpent": "exits",
    "Citation": "types.answers",
    "ConsensusReached": "exits",
    "ConsensusResult": "types.consensus",
    "Converged": "exits",
    "DebateConfig": "types.debate",
    "DebateContext": "types.debate",
    "DebateResult": "result",
    "DebateStream": "api.stream",
    "Decision": "types.consensus",
    "LeaderUnassailable": "exits",
    "MaxRounds": "exits",
    "MinRounds": "exits",
    "NoProgress": "exits",
    "Persona": "types.agents",
    "Perspective": "types.agents",
    "ProviderConfig": "types.agents",
    "Results": "results",
    "Roundtable": "api.table",
    "RoundtableError": "errors",
    "Session": "types.debate",
    "SessionFilter": "types.storage",
    "Stable": "exits",
    "StopRequested": "exits",
    "Usage": "types.chat",
    "__version__": "_version",
    "debate": "api.once",
    "debate_sync": "sync",
    "decide": "scoring",
    "hookimpl": "plugins.hookspecs",
    "tool": "tools.functions",
    "tools": "tools",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOME)
