"""Reading a round: how far its positions agree, and what follows by the debate's rule."""

from roundtable.analysis.ai import AIConsensusAnalyzer, AnalyzerDiagnostics
from roundtable.analysis.basic import ConsensusAnalyzer, PlainAnalyzer, cluster_positions
from roundtable.analysis.chain import AnalyzerChain, NamedMeter
from roundtable.analysis.decision import (
    BallotBasis,
    ballots_of,
    check_rule,
    decide_round,
    independent_agreement,
)
from roundtable.analysis.groupthink import detect_groupthink
from roundtable.analysis.pairs import LexicalScorer, PairScore, PairScorer
from roundtable.analysis.semantic import SemanticAnalyzer
from roundtable.analysis.stance import StanceAnalyzer

__all__ = [
    "AIConsensusAnalyzer",
    "AnalyzerChain",
    "AnalyzerDiagnostics",
    "BallotBasis",
    "ConsensusAnalyzer",
    "LexicalScorer",
    "NamedMeter",
    "PairScore",
    "PairScorer",
    "PlainAnalyzer",
    "SemanticAnalyzer",
    "StanceAnalyzer",
    "ballots_of",
    "check_rule",
    "cluster_positions",
    "decide_round",
    "detect_groupthink",
    "independent_agreement",
]
