"""AI Roundtable: several LLM agents debate a question in rounds; the library decides, measures and remembers.

Names load on first use, so that importing the package costs almost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    # Modules, so that `rt.sync.Roundtable` and `rt.tools.from_mcp(...)` need only `import roundtable as rt`.
    from roundtable import errors as errors
    from roundtable import prompts as prompts
    from roundtable import protocols as protocols
    from roundtable import sync as sync
    from roundtable import tools as tools
    from roundtable import types as types
    from roundtable._version import __version__
    from roundtable.agents import BaseAgent, from_callable
    from roundtable.api import Roundtable, debate
    from roundtable.api.runs import DebateStream
    from roundtable.core.errors import (
        APIAuthError,
        APINetworkError,
        APIRateLimitError,
        APITimeoutError,
        RoundtableError,
    )
    from roundtable.core.protocols import ChatModel, DebateModeStrategy, Storage
    from roundtable.core.types.agents import AgentConfig, Persona, Perspective, ProviderConfig
    from roundtable.core.types.answers import AgentResponse, Citation
    from roundtable.core.types.budget import Budget
    from roundtable.core.types.chat import Usage
    from roundtable.core.types.consensus import ConsensusResult, Decision
    from roundtable.core.types.debate import DebateConfig, DebateContext, Session
    from roundtable.core.types.storage import SessionFilter
    from roundtable.exits import (
        AllConfident,
        BudgetSpent,
        ConsensusReached,
        Converged,
        LeadIsDecisive,
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
    "ChatModel",
    "Citation",
    "ConsensusReached",
    "ConsensusResult",
    "Converged",
    "DebateConfig",
    "DebateContext",
    "DebateModeStrategy",
    "DebateResult",
    "DebateStream",
    "Decision",
    "LeadIsDecisive",
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
    "Storage",
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
    "APIAuthError": "core.errors",
    "APINetworkError": "core.errors",
    "APIRateLimitError": "core.errors",
    "APITimeoutError": "core.errors",
    "AgentConfig": "core.types.agents",
    "AgentResponse": "core.types.answers",
    "AllConfident": "exits",
    "BaseAgent": "agents",
    "Budget": "core.types.budget",
    "BudgetSpent": "exits",
    "ChatModel": "core.protocols",
    "Citation": "core.types.answers",
    "ConsensusReached": "exits",
    "ConsensusResult": "core.types.consensus",
    "Converged": "exits",
    "DebateConfig": "core.types.debate",
    "DebateContext": "core.types.debate",
    "DebateModeStrategy": "core.protocols",
    "DebateResult": "results.debate_result",
    "DebateStream": "api.runs",
    "Decision": "core.types.consensus",
    "LeadIsDecisive": "exits",
    "MaxRounds": "exits",
    "MinRounds": "exits",
    "ModeratorEnds": "exits",
    "NoProgress": "exits",
    "Persona": "core.types.agents",
    "Perspective": "core.types.agents",
    "ProviderConfig": "core.types.agents",
    "Results": "results.many",
    "Roundtable": "api.table",
    "RoundtableError": "core.errors",
    "Session": "core.types.debate",
    "SessionFilter": "core.types.storage",
    "Stable": "exits",
    "StopRequested": "exits",
    "Storage": "core.protocols",
    "Usage": "core.types.chat",
    "__version__": "_version",
    "debate": "api.table",
    "debate_sync": "sync",
    "decide": "scoring",
    "errors": "errors",
    "from_callable": "agents.callables",
    "hookimpl": "core.hooks",
    "prompts": "prompts",
    "protocols": "protocols",
    "sync": "sync",
    "tool": "tools.functions",
    "tools": "tools",
    "types": "types",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOME)
