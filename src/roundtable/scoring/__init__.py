"""Ballots and decision rules: exact, pure, usable without any model.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.scoring.ballot_forms import (
        approvals,
        ballot_from_answer,
        distribution,
        first_places,
        grades,
        order,
        points,
    )
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
    from roundtable.scoring.camps import Camp, Camps, OpenAnswer, PairVerdict, Said, SameOrDifferent, find_camps
    from roundtable.scoring.decision import TieRule, decide
    from roundtable.scoring.electorate import Electorate, InvalidBallot, KeyOf, Profile, Reading, Roll, Vote
    from roundtable.scoring.motions import Motions, MotionVote, count_vote, find_motions
    from roundtable.scoring.normalisation import Normalise, casefold, normalise, normaliser
    from roundtable.scoring.numbers import Figure, Measure, Number, exact, share
    from roundtable.scoring.open_answers import ABSTAIN, is_abstention, open_key
    from roundtable.scoring.outcome import (
        VOTES,
        BallotForm,
        Judges,
        Outcome,
        Parameters,
        ParameterValue,
        Rule,
        ScoreMeaning,
    )
    from roundtable.scoring.rules import BUILTIN_RULES, find_rule, rule_registry
    from roundtable.scoring.rules.choice import leading, standing, tally_first_places
    from roundtable.scoring.rules.ranked import kemeny_scores, schulze_paths, schulze_winners

__all__ = [
    "ABSTAIN",
    "BUILTIN_RULES",
    "VOTES",
    "Abstention",
    "Approval",
    "Ballot",
    "BallotForm",
    "Camp",
    "Camps",
    "Choice",
    "Distribution",
    "Electorate",
    "Figure",
    "InvalidBallot",
    "Judges",
    "KeyOf",
    "Measure",
    "MotionVote",
    "Motions",
    "Normalise",
    "Number",
    "OpenAnswer",
    "Outcome",
    "PairVerdict",
    "ParameterValue",
    "Parameters",
    "Points",
    "Prediction",
    "Profile",
    "Ranking",
    "Reading",
    "Roll",
    "Rule",
    "Said",
    "SameOrDifferent",
    "ScoreMeaning",
    "Scores",
    "TieRule",
    "Trajectory",
    "Verdict",
    "Vote",
    "approvals",
    "ballot_from_answer",
    "casefold",
    "count_vote",
    "decide",
    "distribution",
    "exact",
    "find_camps",
    "find_motions",
    "find_rule",
    "first_places",
    "grades",
    "is_abstention",
    "kemeny_scores",
    "leading",
    "normalise",
    "normaliser",
    "open_key",
    "order",
    "points",
    "rule_registry",
    "schulze_paths",
    "schulze_winners",
    "share",
    "standing",
    "tally_first_places",
]

_HOMES = {
    "Camp": "camps",
    "Camps": "camps",
    "OpenAnswer": "camps",
    "PairVerdict": "camps",
    "Said": "camps",
    "SameOrDifferent": "camps",
    "find_camps": "camps",
    "ABSTAIN": "open_answers",
    "open_key": "open_answers",
    "is_abstention": "open_answers",
    "approvals": "ballot_forms",
    "ballot_from_answer": "ballot_forms",
    "distribution": "ballot_forms",
    "first_places": "ballot_forms",
    "grades": "ballot_forms",
    "order": "ballot_forms",
    "points": "ballot_forms",
    "leading": "rules.choice",
    "standing": "rules.choice",
    "tally_first_places": "rules.choice",
    "Abstention": "ballots",
    "Approval": "ballots",
    "Ballot": "ballots",
    "Choice": "ballots",
    "Distribution": "ballots",
    "Points": "ballots",
    "Prediction": "ballots",
    "Ranking": "ballots",
    "Scores": "ballots",
    "Trajectory": "ballots",
    "Verdict": "ballots",
    "TieRule": "decision",
    "decide": "decision",
    "Electorate": "electorate",
    "InvalidBallot": "electorate",
    "KeyOf": "electorate",
    "Profile": "electorate",
    "Reading": "electorate",
    "Roll": "electorate",
    "Vote": "electorate",
    "MotionVote": "motions",
    "Motions": "motions",
    "count_vote": "motions",
    "find_motions": "motions",
    "Normalise": "normalisation",
    "casefold": "normalisation",
    "normalise": "normalisation",
    "normaliser": "normalisation",
    "Figure": "numbers",
    "Measure": "numbers",
    "Number": "numbers",
    "exact": "numbers",
    "share": "numbers",
    "BallotForm": "outcome",
    "Judges": "outcome",
    "Outcome": "outcome",
    "ParameterValue": "outcome",
    "Parameters": "outcome",
    "Rule": "outcome",
    "ScoreMeaning": "outcome",
    "VOTES": "outcome",
    "BUILTIN_RULES": "rules",
    "find_rule": "rules",
    "rule_registry": "rules",
    "kemeny_scores": "rules.ranked",
    "schulze_paths": "rules.ranked",
    "schulze_winners": "rules.ranked",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
