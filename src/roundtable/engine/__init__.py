"""`DebateEngine`, sessions and teams; the loop of a debate, whose public names are here too, is in `core/engine/`."""

from roundtable.analysis import ConsensusAnalyzer
from roundtable.core.engine.events import EventHub, Subscription
from roundtable.core.engine.plan_limits import RunLimits
from roundtable.core.engine.run import DebateRun
from roundtable.engine.engine import Adoption, DebateEngine, Extension
from roundtable.engine.sessions import SessionManager

__all__ = [
    "Adoption",
    "ConsensusAnalyzer",
    "DebateEngine",
    "DebateRun",
    "EventHub",
    "Extension",
    "RunLimits",
    "SessionManager",
    "Subscription",
]
