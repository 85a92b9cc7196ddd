"""Decision rules and agreement metrics: exact, pure, usable without any model."""

from roundtable.scoring.agreement import basic_agreement, modal_share
from roundtable.scoring.ballots import (
    Abstention,
    Approval,
    Ballot,
    Choice,
    Distribution,
    Points,
    Prediction,
    Ranking,
    Scores,
    Trajectory,
    Verdict,
)
from roundtable.scoring.deciding import TieRule, decide
from roundtable.scoring.electorate import Electorate, InvalidBallot, Profile, Reading, Roll, Vote
from roundtable.scoring.measure import Figure, Measure
from roundtable.scoring.outcome import Outcome, Parameters, ParameterValue, Rule
from roundtable.scoring.precise import Number, exact, share
from roundtable.scoring.rules import BUILTIN_RULES, find_rule, rule_registry
from roundtable.scoring.spelling import Normalise, casefold, normalise, normaliser

__all__ = [
    "BUILTIN_RULES",
    "Abstention",
    "Approval",
    "Ballot",
    "Choice",
    "Distribution",
    "Electorate",
    "Figure",
    "InvalidBallot",
    "Measure",
    "Normalise",
    "Number",
    "Outcome",
    "ParameterValue",
    "Parameters",
    "Points",
    "Prediction",
    "Profile",
    "Ranking",
    "Reading",
    "Roll",
    "Rule",
    "Scores",
    "TieRule",
    "Trajectory",
    "Verdict",
    "Vote",
    "basic_agreement",
    "casefold",
    "decide",
    "exact",
    "find_rule",
    "modal_share",
    "normalise",
    "normaliser",
    "rule_registry",
    "share",
]
