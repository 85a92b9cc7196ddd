"""The debate loop: sessions, leases, the journal, the run."""

from roundtable.analysis import ConsensusAnalyzer
from roundtable.engine.adoption import Adoption
from roundtable.engine.debate_engine import DebateEngine
from roundtable.engine.extension import Extension
from roundtable.engine.hub import EventHub, Subscription
from roundtable.engine.limits import RunLimits
from roundtable.engine.run import DebateRun
from roundtable.engine.session_manager import SessionManager

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
