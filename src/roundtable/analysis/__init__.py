"""Reading a round: how far its positions agree, and what follows by the debate's rule."""

from roundtable.analysis.basic import BasicMeter, ConsensusAnalyzer, cluster_positions
from roundtable.analysis.decision import (
    BallotBasis,
    ballots_of,
    check_rule,
    decide_round,
    independent_agreement,
)

__all__ = [
    "BallotBasis",
    "BasicMeter",
    "ConsensusAnalyzer",
    "ballots_of",
    "check_rule",
    "cluster_positions",
    "decide_round",
    "independent_agreement",
]
