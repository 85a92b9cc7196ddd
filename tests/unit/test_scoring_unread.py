"""Ballots that were given but could not be read: no option wins that they could have overturned."""

from __future__ import annotations

from typing import Any

import pytest

from roundtable.errors import ConfigurationError
from roundtable.scoring import (
    Approval,
    Choice,
    Motions,
    MotionVote,
    Outcome,
    Ranking,
    Rule,
    Scores,
    count_vote,
    decide,
    rule_registry,
)
from roundtable.scoring.ballot_forms import first_places
from roundtable.scoring.unread import MOST_TRIED, ways_to_vote, worst_ballots
from roundtable.types import Decision, Motion

OPTIONS = ("Porto", "Lisbon", "Faro")


def votes(ballots: str, unread: int, **more: object):  # type: ignore[no-untyped-def]  # arguments of `decide`
    """Decide on ballots given by the first letters of the options, and on unread ones."""
    spelt = {option[0]: option for option in OPTIONS}
    given = [*(spelt[letter] for letter in ballots), *[None] * unread]
    names = [f"v{number}" for number in range(len(given))]
    return decide(given, voters=names, unread=names[len(ballots) :], **({"options": OPTIONS} | more))


@pytest.mark.parametrize(
    ("ballots", "unread", "winner"),
    [
        pytest.param("PP", 1, "Porto", id="one unread answer cannot reach two"),
        pytest.param("PP", 2, None, id="two unread answers could tie with two"),
        pytest.param("PPL", 1, None, id="one unread answer could tie with the second"),
        pytest.param("PPPL", 1, "Porto", id="one unread answer leaves a lead of one"),
        pytest.param("P", 1, None, id="one unread answer could tie with the only one"),
        pytest.param("PPPPLFF", 1, "Porto", id="unread answers for the second of three are too few"),
        pytest.param("PPPPLFF", 2, None, id="unread answers for the second of three could tie"),
    ],
)
def test_a_plurality_wins_only_if_no_unread_answers_could_have_overturned_it(
    ballots: str, unread: int, winner: str | None
) -> None:
    decision = votes(ballots, unread)
    assert decision.winner == winner
    assert decision.unread == tuple(f"v{number}" for number in range(len(ballots), len(ballots) + unread))
    assert decision.abstained == ()
    assert decision.cast == len(ballots)
    assert (decision.withheld, decision.passed) == (None if winner else "Porto", winner is not None)
    assert decision.scores["Porto"] == ballots.count("P")


def test_the_decision_says_in_one_line_which_answers_could_not_be_read() -> None:
    assert votes("PPP", 1).why == "Porto wins: 3 of 3 votes (100 %); 1 answer could not be read (v3)."
    assert votes("PP", 2).why == (
        "no decision: 2 answers could not be read (v2 and v3), which could change the result. "
        "Without them, Porto wins: 2 of 2 votes (100 %)."
    )
    assert votes("P", 1).why == (
        "no decision: 1 answer could not be read (v1), which could change the result. "
        "Without it, Porto wins: 1 vote, the only one."
    )
    assert votes("", 2).why == "no decision: 2 answers could not be read (v0 and v1)."


def test_a_tie_stays_a_tie_and_nobody_wins_below_a_threshold() -> None:
    tie = votes("PL", 1)
    assert (tie.is_tie, tie.winners, tie.withheld) == (True, ("Porto", "Lisbon"), None)
    assert tie.why.endswith("; 1 answer could not be read (v2).")
    missed = votes("PPLF", 1, rule="majority")
    assert (missed.winner, missed.withheld) == (None, None)


def test_abstentions_are_named_apart_from_unread_answers() -> None:
    decision = decide(["Porto"] * 3 + [None, None], voters=[*"abcde"], unread=["e"])
    assert (decision.abstained, decision.unread) == (("d",), ("e",))
    assert decision.why == "Porto wins: 3 of 3 votes (100 %); d did not vote; 1 answer could not be read (e)."
    nobody = decide([None, None], voters=["d", "e"], unread=["e"])
    assert nobody.why == "no decision: d did not vote; 1 answer could not be read (e)."


def test_the_ballot_of_an_unread_voter_is_ignored() -> None:
    assert decide(["Porto", "Porto", "Lisbon"], voters=[*"abc"], unread=["c"]).scores == {"Porto": 2.0}


def test_without_declared_options_unread_answers_may_name_another_one() -> None:
    assert decide(["Porto", None], voters=["a", "b"], unread=["b"]).winner is None
    assert decide(["Porto", "Porto", None], voters=[*"abc"], unread=["c"]).winner == "Porto"
    taken = ["option 1", "option 1", None, None]
    assert decide(taken, voters=[*"abcd"], unread=["c", "d"]).withheld == "option 1"
    drawn = {"rule": "random-dictator", "voters": [*"abc"], "unread": ["c"]}
    assert decide(["Porto", "Porto", None], **drawn).withheld == "Porto"


def test_with_a_single_option_nothing_can_be_overturned() -> None:
    assert decide(["Porto", None, None], voters=[*"abc"], unread=["b", "c"], options=["Porto"]).winner == "Porto"


def test_confidence_counts_in_full_for_an_unread_answer() -> None:
    sure, unsure = Choice("Porto", confidence=0.9), Choice("Porto", confidence=0.4)
    for ballot, winner in ((sure, None), (unsure, None)):
        ballots = [ballot, None]
        decision = decide(ballots, voters=["a", "b"], unread=["b"], options=OPTIONS, rule="confidence-weighted")
        assert decision.winner == winner
    ballots = [sure, sure, None]
    assert decide(ballots, voters=[*"abc"], unread=["c"], options=OPTIONS, rule="confidence-weighted").winner == "Porto"
    weighted = {"voters": [*"ab"], "unread": ["b"], "options": OPTIONS}
    assert decide(["Porto", None], weights=[2, 1], **weighted).winner == "Porto"
    assert decide(["Porto", None], weights=[1, 1], **weighted).winner is None


def test_unread_answers_of_different_weights_are_tried_one_by_one() -> None:
    asked = {"voters": [*"abcd"], "unread": ["c", "d"], "options": OPTIONS, "rule": "schulze"}
    assert decide(["Porto", "Porto", None, None], weights=[1, 1, 1, 0], **asked).winner == "Porto"
    assert decide(["Porto", "Porto", None, None], weights=iter([1, 1, 1, 2]), **asked).winner is None  # type: ignore[arg-type]  # read once


@pytest.mark.parametrize("rule", ["schulze", "irv", "copeland", "kemeny-young", "condorcet", "ranked-pairs", "coombs"])
def test_rules_that_compare_pairs_try_every_way_to_vote(rule: str) -> None:
    assert votes("PPPPL", 1, rule=rule).winner == "Porto"
    assert votes("PPL", 2, rule=rule).withheld == "Porto"


def test_too_many_ways_to_vote_count_as_able_to_change_the_result() -> None:
    many = [f"option {number}" for number in range(40)]
    ballots = ["option 0"] * 9 + [None] * 2
    names = [f"v{number}" for number in range(11)]
    asked = {"voters": names, "unread": names[9:], "options": many}
    assert decide(ballots, rule="schulze", **asked).withheld == "option 0"
    assert decide(ballots, rule="plurality", **asked).winner == "option 0"
    assert ways_to_vote(many, "option 0", 2, alike=True, is_additive=False) is None
    assert ways_to_vote(["a", "b"], "a", MOST_TRIED - 1, alike=True, is_additive=False) is not None
    assert ways_to_vote(["a", "b"], "a", MOST_TRIED, alike=True, is_additive=False) is None


PAL, PLA, LPA, LAP = (tuple(order) for order in ("PFL", "PLF", "LPF", "LFP"))


def ranked(*orders: tuple[str, ...]) -> list[Ranking]:
    spelt = {option[0]: option for option in OPTIONS}
    return [Ranking(tuple(spelt[letter] for letter in order)) for order in orders]


class TestBallotsThatNameSeveral:
    """Rankings, approvals and scores: what an unread ballot of this form could do."""

    def decided(self, ballots: list[Any], unread: int, rule: str, **more: Any) -> Decision:
        names = [f"v{number}" for number in range(len(ballots) + unread)]
        asked: dict[str, Any] = {"voters": names, "unread": names[len(ballots) :], "options": OPTIONS, "rule": rule}
        return decide([*ballots, *[None] * unread], **asked | more)

    @pytest.mark.parametrize("rule", ["schulze", "copeland", "kemeny-young", "condorcet", "ranked-pairs"])
    def test_an_option_that_beats_all_others_wins_unless_unread_rankings_could_beat_it(self, rule: str) -> None:
        assert self.decided(ranked(PLA, PLA, PAL, LPA), 1, rule).winner == "Porto"
        assert self.decided(ranked(PLA, PLA, LPA), 1, rule).withheld == "Porto"
        assert self.decided(ranked(LPA), 2, rule).withheld == "Lisbon"

    @pytest.mark.parametrize("rule", ["irv", "coombs"])
    def test_a_majority_of_first_places_is_safe(self, rule: str) -> None:
        assert self.decided(ranked(PLA, PLA, PAL, LPA), 1, rule).winner == "Porto"
        assert self.decided(ranked(PLA, PLA, PAL, LPA), 2, rule).withheld == "Porto"

    @pytest.mark.parametrize("rule", ["borda", "dowdall"])
    def test_each_other_option_is_put_first_and_the_winner_last(self, rule: str) -> None:
        assert self.decided(ranked(PLA, PLA, PLA, PLA), 1, rule).winner == "Porto"
        # a vote for Lisbon alone would leave Porto ahead; a ranking with Porto last does not
        assert self.decided(ranked(PLA, PLA, LPA), 1, rule).withheld == "Porto"

    @pytest.mark.parametrize(
        ("rule", "given", "winner"),
        [
            pytest.param("score", [{"Porto": 9, "Lisbon": 1, "Faro": 1}] * 4, "Porto", id="far ahead"),
            pytest.param("score", [{"Porto": 9, "Lisbon": 7, "Faro": 1}] * 4, None, id="close"),
            pytest.param("score", [{"Porto": 9, "Lisbon": 1}] * 4, None, id="an option that nobody graded"),
            pytest.param("score(0, 5)", [{"Porto": 5, "Lisbon": 0, "Faro": 0}], None, id="one of two"),
            pytest.param("score(low=1)", [{"Porto": 9, "Lisbon": 1, "Faro": 1}] * 9, None, id="no limit above"),
            pytest.param("score(high=9)", [{"Porto": 9, "Lisbon": 1, "Faro": 1}] * 9, None, id="no limit below"),
            pytest.param("score(1, 5, sum)", [{"Porto": 5, "Lisbon": 1, "Faro": 1}] * 2, "Porto", id="a sum"),
            pytest.param("score(-5, -1, sum)", [{"Porto": -3}] * 2, None, id="a sum below zero"),
            pytest.param("median", [{"Porto": 9, "Lisbon": 1, "Faro": 1}] * 4, "Porto", id="a median"),
            pytest.param("median", [{"Porto": 9, "Lisbon": 8, "Faro": 1}], None, id="a close median"),
            pytest.param("star", [{"Porto": 9, "Lisbon": 1, "Faro": 1}] * 9, None, id="two steps"),
        ],
    )
    def test_unknown_scores_are_assumed_to_be_as_low_or_high_as_possible(
        self, rule: str, given: list[dict[str, int]], winner: str | None
    ) -> None:
        decision = self.decided([Scores(scores) for scores in given], 1, rule)
        assert (decision.winner, decision.unread) == (winner, (f"v{len(given)}",))
        assert self.decided([dict(scores) for scores in given], 1, rule).winner == winner  # type: ignore[arg-type]

    def test_scores_beyond_ten_may_be_given_by_others_too(self) -> None:
        given = [Scores({"Porto": 100, "Lisbon": 60, "Faro": 0})] * 2
        assert self.decided(given, 1, "score").withheld == "Porto"

    def test_unread_approvals_are_added_up(self) -> None:
        both, porto = Approval(("Porto", "Lisbon")), Approval(("Porto",))
        assert self.decided([both, porto, porto], 1, "approval").winner == "Porto"
        assert self.decided([both, porto], 1, "approval").withheld == "Porto"

    def test_first_places_of_unread_rankings_are_added_up(self) -> None:
        assert self.decided(ranked(PLA, PLA, PLA, LPA), 1, "plurality").winner == "Porto"
        assert self.decided(ranked(PLA, PLA, LPA), 1, "plurality").withheld == "Porto"

    def test_other_rules_give_no_safe_winner(self) -> None:
        def first(ballots, parameters):  # type: ignore[no-untyped-def]  # a rule
            profile = ballots.read(first_places)
            return Outcome(profile.roll, {}, profile.votes[0].form, "the first ballot")

        ballots = ranked(*[PLA] * 9)
        assert self.decided(ballots, 1, "random-dictator").withheld == "Porto"
        assert self.decided(ballots, 1, Rule("schulze", first, form="ranking")).withheld == "Porto"  # type: ignore[arg-type]
        assert self.decided(ballots, 1, "schulze", tie=lambda tied: tied[0]).withheld == "Porto"
        assert self.decided(ballots, 1, "schulze", tie="first").winner == "Porto"

    def test_very_many_options_and_a_single_option_are_handled(self) -> None:
        many = [f"option {number}" for number in range(MOST_TRIED + 2)]
        assert worst_ballots("borda", many, many[0]) is None
        assert worst_ballots("schulze", many, many[0]) is not None
        assert self.decided([["Porto"]], 5, "schulze", options=["Porto"]).winner == "Porto"

    def test_without_declared_options_unread_rankings_may_name_any_number_of_others(self) -> None:
        assert self.decided(ranked(*[PLA] * 9), 1, "borda", options=None).withheld == "Porto"


@pytest.mark.parametrize("rule", ["log-odds", "linear-pool", "surprisingly-popular"])
def test_ballots_of_another_form_cannot_show_that_a_winner_is_safe(rule: str) -> None:
    from roundtable.scoring import Distribution, Prediction

    known = {
        "log-odds": Choice("Porto", accuracy="0.9"),
        "linear-pool": Distribution({"Porto": 1, "Lisbon": 0, "Faro": 0}),
        "surprisingly-popular": Prediction("Porto", {"Porto": 1, "Lisbon": 0, "Faro": 0}),
    }[rule]
    ballots = [known] * 5
    asked = {"voters": [*"abcdef"], "options": OPTIONS, "rule": rule}
    assert decide([*ballots, None], **asked).winner == "Porto"
    assert decide([*ballots, None], unread=["f"], **asked).withheld == "Porto"


def test_a_tie_rule_may_prefer_any_option_so_all_ways_are_tried() -> None:
    assert votes("PPL", 1, tie="first").winner == "Porto"  # Porto comes first, so no tie takes its place
    assert votes("LLP", 1, tie="first").withheld == "Lisbon"
    assert votes("LLF", 1, tie="first").winner == "Lisbon"


def test_a_custom_rule_is_tried_even_if_it_has_the_name_of_a_built_in_one() -> None:
    def last(ballots, parameters):  # type: ignore[no-untyped-def]  # a rule
        profile = ballots.read(first_places)
        named = [option for option in profile.roll.options for vote in profile.votes if option in vote.form]
        return Outcome(profile.roll, {}, tuple(named[-1:]), "the last option that anybody named")

    rules = rule_registry()
    own = Rule("plurality", last)
    assert votes("PP", 1, rule=own, rules=rules).withheld == "Porto"


def test_only_voters_can_be_unread() -> None:
    with pytest.raises(ConfigurationError, match="unread names 'x', which is not one of the voters"):
        decide(["Porto"], voters=["a"], unread=["x"])
    with pytest.raises(ConfigurationError, match="unread names 'a'"):
        decide(["Porto"], unread=["a"])
    with pytest.raises(ConfigurationError, match="ballots must be a list"):
        decide("Porto", voters=["a"], unread=["a"])


def test_no_motion_wins_if_unread_ballots_could_have_overturned_it() -> None:
    motions = Motions(tuple(Motion(name=name) for name in OPTIONS), OPTIONS)
    cast = [MotionVote(name, Choice("Porto")) for name in ("a", "b")]
    unread = [MotionVote("c"), MotionVote("d")]
    assert count_vote(motions, [*cast, *unread[:1]], rule="plurality", unread=["c"]).winner == "Porto"
    decision = count_vote(motions, [*cast, *unread], rule="plurality", unread=["c", "d"])
    assert (decision.winner, decision.withheld, decision.unread) == (None, "Porto", ("c", "d"))
