"""AI Roundtable: several LLM agents debate a question in rounds; the library decides, measures and remembers.

Names load on first use, so that importing the package costs almost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._core.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    # Modules, so that `rt.sync.Roundtable` and `rt.tools.from_mcp(...)` need only `import roundtable as rt`.
    from roundtable import sync as sync
    from roundtable import tools as tools
    from roundtable._version import __version__
    from roundtable.agents import BaseAgent, from_callable
    from roundtable.api import Roundtable, debate
    from roundtable.api.runs import DebateStream
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
        ModeratorEnds,
        NoProgress,
        Stable,
        StopRequested,
    )
    from roundtable.plugins import hookimpl
    from roundtable.results.debate_result import DebateResult
    from roundtable.results.many import Results
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
    "ModeratorEnds",
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
    "from_callable",
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
    "DebateResult": "results.debate_result",
    "DebateStream": "api.runs",
    "Decision": "types.consensus",
    "LeaderUnassailable": "exits",
    "MaxRounds": "exits",
    "MinRounds": "exits",
    "NoProgress": "exits",
    "Persona": "types.agents",
    "Perspective": "types.agents",
    "ProviderConfig": "types.agents",
    "Results": "results.many",
    "Roundtable": "api.table",
    "RoundtableError": "errors",
    "Session": "types.debate",
    "SessionFilter": "types.storage",
    "Stable": "exits",
    "ModeratorEnds": "exits",
    "StopRequested": "exits",
    "Usage": "types.chat",
    "__version__": "_version",
    "debate": "api.table",
    "debate_sync": "sync",
    "decide": "scoring",
    "from_callable": "agents.callables",
    "hookimpl": "plugins.hookspecs",
    "sync": "sync",
    "tool": "tools.functions",
    "tools": "tools",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOME)
