"""The vote on motions: what is voted on, what is joined, what is counted, and how the outcome explains itself."""

from __future__ import annotations

import pytest

from roundtable.scoring import Abstention, Approval, Choice, Ranking, Scores
from roundtable.scoring.motions import Motions, MotionVote, count_vote, find_motions, option_motions, vote_in
from roundtable.types import (
    AgentResponse,
    ApprovalAnswer,
    BallotAnswer,
    Comparison,
    Motion,
    PlanAnswer,
    RankingAnswer,
    ScoresAnswer,
    TextAnswer,
    TurnKey,
)


def says(agent: str, line: str, position: str = "", **more: object) -> AgentResponse:
    return AgentResponse(
        agent_id=agent, agent_name=agent.title(), position=position or f"It is {line}.", bottom_line=line, **more
    )


def moved(*names: str, **agents: str) -> Motions:
    """Put forward motions of these names; agents by the number of their motion, such as `m0="ada bo"`."""
    motions = tuple(
        Motion(name=name, agents=tuple(agents.get(f"m{number}", "").split())) for number, name in enumerate(names)
    )
    return Motions(motions, names)


def ranked(voter: str, order: str, *same: str) -> MotionVote:
    """Vote with a ranking such as `a b=c`, and groups such as `ab`."""
    return MotionVote(voter, Ranking(tuple(tuple(part.split("=")) for part in order.split())), tuple(map(tuple, same)))


class TestMotions:
    def test_camps_are_motions_and_the_most_held_comes_first(self) -> None:
        found = find_motions([says("ada", "Porto"), says("bo", "Lisbon"), says("cy", "lisbon.", "Lisbon!")])
        assert [(motion.name, motion.agents) for motion in found.motions] == [
            ("Lisbon", ("bo", "cy")),
            ("Porto", ("ada",)),
        ]
        assert found.positions == ("Lisbon!", "It is Porto.")

    def test_answers_declared_to_be_the_same_are_one_motion(self) -> None:
        before = {
            TurnKey(1, "positions", slot): says(name, line)
            for slot, (name, line) in enumerate([("ada", "Lisbon"), ("bo", "The capital")])
        }
        both = tuple(Comparison(turn=key, verdict="same") for key in before)
        now = [says("ada", "Lisbon", compared=both), says("bo", "The capital", compared=both)]
        assert len(find_motions(now, before).motions) == 1
        assert len(find_motions(now).motions) == 2

    def test_at_most_nine_motions_are_voted_on_and_the_rest_is_named(self) -> None:
        held_twice = [says(f"{name}2", name) for name in "kl"]
        found = find_motions([says(name, name) for name in "abcdefghijkl"] + held_twice)
        assert found.names == (*"kl", *"abcdefg")
        assert found.left_out == tuple("hij")
        decision = count_vote(found, [MotionVote("a", Ranking(("k",)))], rule="schulze")
        words = "Not voted on, as at most 9 answers are, those of most agents first and equal ones in alphabetical"
        assert f"{words} order: h, i, j." in decision.why
        assert decision.vote is not None
        assert decision.vote.left_out == ("h", "i", "j")

    def test_if_many_motions_are_left_out_only_some_are_named(self) -> None:
        found = find_motions([says(f"a{number}", f"answer {number:02}") for number in range(20)])
        assert "and 3 more" in count_vote(found, [], rule="schulze").why

    def test_long_answers_have_short_names_that_differ(self) -> None:
        long = ["x" * 8000 + end for end in "ab"]
        found = find_motions([AgentResponse(agent_id=end[-1], agent_name=end[-1], position=end) for end in long])
        first, second = found.names
        assert (len(first), second) == (300, f"{first} (2)")
        assert found.positions == tuple(long)

    def test_a_number_that_is_a_name_already_is_skipped(self) -> None:
        long = "y" * 300
        texts = [f"{long}a", f"{long}b", f"{'y' * 299}… (2)"]
        found = find_motions([AgentResponse(agent_id=text[-3:], agent_name="x", position=text) for text in texts])
        assert len(set(found.names)) == 3

    def test_equal_words_with_opposite_stances_are_two_motions_that_are_never_joined(self) -> None:
        found = find_motions([says("ada", "It depends", stance="YES"), says("bo", "It depends", stance="NO")])
        assert found.names == ("It depends", "It depends (2)")
        votes = [MotionVote(name, Ranking(found.names), (found.names,)) for name in ("ada", "bo", "cy")]
        decision = count_vote(found, votes, rule="schulze")
        assert decision.vote is not None
        assert [motion.joined for motion in decision.vote.motions] == [(), ()]

    def test_options_are_motions_that_cannot_be_joined(self) -> None:
        held = [says("ada", "x", choice="Tea"), says("ada", "x", choice="Tea"), says("bo", "x", choice="Mate")]
        found = option_motions(["Tea", "Milk"], held)
        assert [(motion.name, motion.agents) for motion in found.motions] == [("Tea", ("ada",)), ("Milk", ())]
        votes = [MotionVote(name, Ranking(("Tea", "Milk")), (("Tea", "Milk"),)) for name in ("ada", "bo")]
        assert count_vote(found, votes, rule="borda").scores == {"Tea": 2, "Milk": 0}


class TestJoining:
    def test_motions_are_joined_by_more_than_half_of_all_voters(self) -> None:
        motions = moved("a", "b", "c")
        two_of_four = [ranked("1", "a b c", "ab"), ranked("2", "b a c", "ab"), ranked("3", "c a b"), MotionVote("4")]
        assert _joined(motions, two_of_four) == [(), (), ()]
        assert _joined(motions, [*two_of_four[:2], ranked("3", "c a b", "ab"), MotionVote("4")]) == [("b",), ()]

    def test_an_author_whose_ballot_names_other_groups_can_stop_it(self) -> None:
        motions = moved("a", "b", "c", "d", m1="bo")
        joining = [ranked(name, "a b c d", "ab", "cd") for name in ("1", "2", "3")]
        assert _joined(motions, [*joining, ranked("bo", "b a c d")]) == [("a",), ("d",)]
        assert _joined(motions, [*joining, ranked("bo", "b a c d", "cd")]) == [(), (), ("d",)]

    def test_motions_are_joined_only_if_they_have_the_same_neighbours(self) -> None:
        motions = moved("a", "b", "c")
        chain = [ranked("1", "a b c", "ab"), ranked("2", "a b c", "abc"), ranked("3", "b c a", "bc")]
        assert _joined(motions, chain) == [(), (), ()]

    def test_a_joined_motion_has_the_most_held_and_then_the_shortest_name(self) -> None:
        motions = moved("the capital", "Lisbon", "lisboa!", "Porto", m0="ada", m1="bo", m2="cy")
        group = ("the capital", "Lisbon", "lisboa!")
        votes = [MotionVote(name, Ranking((*group, "Porto")), (group,)) for name in ("ada", "bo", "cy")]
        decision = count_vote(motions, votes, rule="plurality")
        assert decision.winner == "Lisbon"
        assert decision.vote is not None
        assert decision.vote.motions[0] == Motion(
            name="Lisbon", agents=("bo", "cy", "ada"), joined=("lisboa!", "the capital")
        )
        assert "The voters said that Lisbon, lisboa! and the capital are the same" in decision.why

    def test_a_group_that_the_own_ranking_separates_does_not_count(self) -> None:
        motions = moved("a", "b", "c")
        votes = [ranked("1", "a c b", "ab"), ranked("2", "a b c", "ab"), ranked("3", "a b c", "ab")]
        decision = count_vote(motions, [votes[0], votes[1]], rule="schulze")
        assert decision.vote is not None
        assert decision.vote.warnings == ("1 says that 'a' and 'b' are the same, but places others between them",)
        assert _joined(motions, votes) == [("b",), ()]
        assert _joined(motions, votes[:2]) == [(), (), ()]

    @pytest.mark.parametrize(
        ("order", "group", "counts"),
        [
            ("a b c", "bc", True),
            ("a", "bc", True),
            ("a", "ab", True),
            ("a=b c", "bc", True),
            ("a b=c d", "ac", True),
            ("a b=c d", "ad", False),
            ("a b c d", "ad", False),
            ("a b c d", "abd", False),
            ("a b c d", "a", True),
        ],
    )
    def test_a_group_counts_if_some_order_of_tied_motions_keeps_it_together(
        self, order: str, group: str, *, counts: bool
    ) -> None:
        decision = count_vote(moved(*"abcd"), [ranked("1", order, group)], rule="schulze")
        assert decision.vote is not None
        assert (decision.vote.warnings == ()) is counts

    def test_a_motion_is_in_one_group_of_a_ballot(self) -> None:
        votes = [ranked("1", "a b c", "ab", "bc"), ranked("2", "a b c", "abx")]
        assert _joined(moved(*"abc"), votes) == [("b",), ()]


def _joined(motions: Motions, votes: list[MotionVote]) -> list[tuple[str, ...]]:
    decision = count_vote(motions, votes, rule="schulze")
    assert decision.vote is not None
    return [motion.joined for motion in decision.vote.motions]


class TestCounting:
    def test_a_joined_motion_has_the_best_place_of_its_members(self) -> None:
        motions = moved("a", "b", "c")
        same = (("a", "b"),)
        votes = [
            MotionVote("1", Scores({"a": 2, "b": 5, "c": 1}), same),
            MotionVote("2", Scores({"b": 3, "c": 4}), same),
        ]
        assert count_vote(motions, votes, rule="score").scores == {"a": 4, "c": 2.5}
        approving = [MotionVote("1", Approval(("b",)), same), MotionVote("2", Approval(()), same)]
        assert count_vote(motions, approving, rule="approval").scores == {"a": 1, "c": 0}
        choosing = [MotionVote("1", Choice("b"), same), MotionVote("2", Choice("a"), same)]
        assert count_vote(motions, choosing, rule="plurality").is_unanimous
        ranking = [ranked("1", "c a b", "ab"), ranked("2", "a=b c", "ab")]
        assert count_vote(motions, ranking, rule="borda").scores == {"a": 1, "c": 1}

    def test_unknown_motions_are_dropped_with_a_warning(self) -> None:
        motions = moved("a", "b")
        votes = [
            MotionVote("1", Choice("x")),
            MotionVote("2", Ranking(("x", "b", "b", "a"))),
            MotionVote("3", Approval(("x", "a"))),
            MotionVote("4", Scores({"x": 1, "a": 1e300, "b": 2})),
        ]
        decision = count_vote(motions, votes, rule="schulze")
        assert decision.abstained == ("1",)
        assert decision.pairwise == {"a": {"b": 1}, "b": {"a": 2}}
        assert decision.vote is not None
        assert decision.vote.warnings == (
            "1 votes on 1 motion that nobody put forward",
            "2 votes on 1 motion that nobody put forward",
            "3 votes on 1 motion that nobody put forward",
            "4 gives a score beyond 1e100",
            "4 votes on 1 motion that nobody put forward",
        )

    def test_if_all_abstain_nobody_wins(self) -> None:
        decision = count_vote(moved("a", "b", m0="1"), [MotionVote("1"), MotionVote("2", Choice(None))], rule="schulze")
        assert (decision.winner, decision.cast, decision.abstained) == (None, 0, ("1", "2"))
        assert decision.vote is not None
        assert decision.vote.own_share is None

    def test_the_share_of_first_places_for_own_motions_is_reported(self) -> None:
        motions = moved("a", "b", "c", m0="1", m1="2")
        votes = [ranked("1", "a b c"), ranked("2", "a=b c"), ranked("3", "c a b"), MotionVote("4")]
        decision = count_vote(motions, votes, rule="schulze")
        assert decision.vote is not None
        assert decision.vote.own_share == 0.75
        assert "1 of 2 agents put their own answer first, and 1 put it level with others." in decision.why

    def test_a_cycle_is_named_under_every_ranking_rule(self) -> None:
        motions = moved("a", "b", "c")
        votes = [ranked("1", "a b c"), ranked("2", "b c a"), ranked("3", "c a b")]
        for rule in ("schulze", "borda", "irv", "kemeny-young", "coombs"):
            decision = count_vote(motions, votes, rule=rule)
            assert "a > b > c > a" in decision.why
            assert decision.pairwise["a"] == {"b": 2, "c": 1}

    def test_the_winner_is_compared_with_the_others(self) -> None:
        votes = [ranked("1", "a b"), ranked("2", "a b"), ranked("3", "b a")]
        decision = count_vote(moved("a", "b"), votes, rule="schulze")
        assert "Head to head, a has 2 to 1 against b." in decision.why
        dots = count_vote(moved("So.", "..."), [ranked("1", "So. ...")], rule="schulze")
        assert "Head to head, So has 1 to 0 against ...." in dots.why
        alone = [ranked("1", "a b", "ab"), ranked("2", "b a", "ab")]
        assert "Head to head," not in count_vote(moved("a", "b"), alone, rule="borda").why

    def test_motions_that_are_all_joined_leave_nothing_to_beat(self) -> None:
        votes = [ranked("1", "a b", "ab"), ranked("2", "b a", "ab")]
        decision = count_vote(moved("a", "b"), votes, rule="schulze")
        assert decision.why.startswith("a wins: it is the only motion left. The voters said that a and b are the same")

    def test_names_that_differ_in_case_alone_are_two_motions(self) -> None:
        votes = [MotionVote("1", Choice("5 mW")), MotionVote("2", Choice("5 MW")), MotionVote("3", Choice("5 MW"))]
        assert count_vote(moved("5 mW", "5 MW"), votes, rule="plurality").scores == {"5 mW": 1, "5 MW": 2}


@pytest.mark.parametrize(
    ("answer", "vote"),
    [
        (None, MotionVote("ada")),
        (TextAnswer(text="a"), MotionVote("ada")),
        (PlanAnswer(goal="a"), MotionVote("ada")),
        (says("ada", "a"), MotionVote("ada")),
        (BallotAnswer(choice="a", same=(("a", "b"),)), MotionVote("ada", Choice("a"), (("a", "b"),))),
        (RankingAnswer(ranking=(("a",), ("b",))), MotionVote("ada", Ranking((("a",), ("b",))))),
        (ApprovalAnswer(approved=("a",)), MotionVote("ada", Approval(("a",)))),
        (ApprovalAnswer(same=(("a", "b"),)), MotionVote("ada", Abstention(), (("a", "b"),))),
        (ScoresAnswer(scores={"a": 1.0}), MotionVote("ada", Scores({"a": 1.0}))),
    ],
)
def test_a_stored_answer_is_a_vote(answer: object, vote: MotionVote) -> None:
    assert vote_in("ada", answer) == vote  # type: ignore[arg-type]  # any answer


def test_a_list_of_results_that_is_cut_says_so() -> None:
    names = tuple(f"Option {number}" for number in range(12))
    motions = option_motions(names)
    decision = count_vote(motions, [MotionVote("ada", Ranking(names))], rule="schulze")
    assert decision.why.endswith("1 to 0 against Option 8 and 3 more results.")


def test_motions_that_most_call_the_same_but_that_differ_in_numbers_are_reported() -> None:
    motions = find_motions([says("ada", "42"), says("bo", "43"), says("cy", "44")])
    votes = [ranked(name, "42=43=44", ("42", "43", "44")) for name in ("ada", "bo")]
    counted = count_vote(motions, [*votes, ranked("cy", "44 43 42")], rule="schulze")
    assert counted.vote is not None
    assert len(counted.vote.motions) == 3
    assert counted.vote.warnings == tuple(
        f"2 of 3 voters say that '{one}' and '{other}' are the same, but their options, stances or numbers differ"
        for one, other in (("42", "43"), ("42", "44"), ("43", "44"))
    )
