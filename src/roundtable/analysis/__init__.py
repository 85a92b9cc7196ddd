"""Reading a round: how far its positions agree, and what follows by the debate's rule."""

from roundtable.analysis.ai import AIConsensusAnalyzer, AnalyzerDiagnostics
from roundtable.analysis.basic import ConsensusAnalyzer, PlainAnalyzer, cluster_positions
from roundtable.analysis.chain import AnalyzerChain, NamedMeter
from roundtable.analysis.decision import (
    BallotBasis,
    CastVote,
    ballots_of,
    cast_votes,
    check_decider,
    check_rule,
    decide_record,
    independent_agreement,
)
from roundtable.analysis.findings import (
    Baselines,
    Dissent,
    MinorityReport,
    Vote,
    answer_changed,
    baselines_of,
    conformity_delta,
    independent_turns,
    minority_report,
    votes_of,
)
from roundtable.analysis.groupthink import detect_groupthink
from roundtable.analysis.health import DebateHealth, HealthFlag, Sycophancy, debate_health
from roundtable.analysis.key_points import KeyPointsExtractor, key_points_by_rules
from roundtable.analysis.pairs import LexicalScorer, PairScore, PairScorer
from roundtable.analysis.response import (
    HIGH_AGREEMENT,
    MEDIUM_AGREEMENT,
    ResponseSettings,
    build_response,
    level_of,
)
from roundtable.analysis.semantic import SemanticAnalyzer
from roundtable.analysis.stance import StanceAnalyzer

__all__ = [
    "HIGH_AGREEMENT",
    "MEDIUM_AGREEMENT",
    "AIConsensusAnalyzer",
    "AnalyzerChain",
    "AnalyzerDiagnostics",
    "BallotBasis",
    "Baselines",
    "CastVote",
    "ConsensusAnalyzer",
    "DebateHealth",
    "Dissent",
    "HealthFlag",
    "KeyPointsExtractor",
    "LexicalScorer",
    "MinorityReport",
    "NamedMeter",
    "PairScore",
    "PairScorer",
    "PlainAnalyzer",
    "ResponseSettings",
    "SemanticAnalyzer",
    "StanceAnalyzer",
    "Sycophancy",
    "Vote",
    "answer_changed",
    "ballots_of",
    "baselines_of",
    "build_response",
    "cast_votes",
    "check_decider",
    "check_rule",
    "cluster_positions",
    "conformity_delta",
    "debate_health",
    "decide_record",
    "detect_groupthink",
    "independent_agreement",
    "independent_turns",
    "key_points_by_rules",
    "level_of",
    "minority_report",
    "votes_of",
]
