"""One decision: ballots in, winners, ties, quorum and words out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import pytest

from roundtable.errors import ConfigurationError
from roundtable.scoring import (
    Abstention,
    Approval,
    Choice,
    Distribution,
    Electorate,
    Outcome,
    Parameters,
    Points,
    Prediction,
    Ranking,
    Rule,
    Scores,
    Trajectory,
    Verdict,
    decide,
    find_rule,
    rule_registry,
)
from roundtable.scoring.ballot_forms import first_places, order
from roundtable.types import Decision


def test_the_most_first_places_win() -> None:
    decision = decide(["a", "b", "a"])
    assert decision.winners == ("a",)
    assert decision.winner == "a"
    assert decision.passed
    assert not decision.is_tie
    assert decision.scores == {"a": 2.0, "b": 1.0}
    assert decision.margins == {"a": 1.0, "b": -1.0}
    assert decision.cast == 3
    assert str(decision) == "plurality: a wins: 2 of 3 votes (66.7 %)."


def test_a_tie_is_declared_and_nothing_passes() -> None:
    decision = decide(["b", "a"])
    assert decision.winners == ("a", "b")
    assert decision.tied == ("a", "b")
    assert decision.is_tie
    assert not decision.passed
    assert decision.winner is None
    assert decision.why == "tie between a and b: 1 of 2 votes (50 %) each."


@pytest.mark.parametrize(
    ("ballots", "winners", "is_tie"),
    [
        pytest.param(["a", "a", "b"], ("a",), False, id="more than half"),
        pytest.param(["a", "a", "b", "b"], (), True, id="a split is a tie that nobody wins"),
        pytest.param(["a", "a", "b", "c"], (), False, id="half is not more than half"),
        pytest.param([], (), False, id="nobody"),
    ],
)
def test_a_majority_is_more_than_half(ballots: list[str], winners: tuple[str, ...], is_tie: bool) -> None:
    decision = decide(ballots, rule="majority")
    assert (decision.winners, decision.is_tie) == (winners, is_tie)
    assert decision.passed == (len(winners) == 1)


def test_a_failed_majority_says_who_leads() -> None:
    assert decide(["a", "a", "b", "c"], rule="majority").why == (
        "no decision: a leads with 2 of 4 votes (50 %), not more than half."
    )
    assert decide(["a"], rule="majority").why == "a wins: 1 vote, the only one, more than half."
    assert decide(["a", "b"], rule="majority").why == (
        "tie between a and b: 1 of 2 votes (50 %) each, not more than half."
    )


class Shelf(AbstractSet[str]):
    """A set that yields its members in the order in which they were given, as another process may."""

    def __init__(self, *members: str) -> None:
        self._members = members

    def __contains__(self, member: object) -> bool:
        return member in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


@pytest.mark.parametrize(
    ("wrap", "rule"),
    [
        (lambda shelf: shelf, "approval"),
        (lambda shelf: shelf, "plurality"),
        (lambda shelf: [shelf, "d"], "schulze"),
        (Approval, "approval"),
        (lambda shelf: Verdict("d", own=shelf), "judge"),
    ],
)
def test_the_order_of_a_set_of_options_changes_nothing(wrap: Callable[[Shelf], Any], rule: str) -> None:
    one, other = (decide([wrap(shelf)], rule=rule, tie="first") for shelf in (Shelf("b", "a"), Shelf("a", "b")))
    assert one == other
    refused = [decide([wrap(shelf)], rule=rule, options=["d"]) for shelf in (Shelf("b", "a"), Shelf("a", "b"))]
    assert refused[0] == refused[1]
    assert "'a'" in refused[0].invalid[0]


def test_the_first_of_a_tie_follows_the_options_or_the_ballots() -> None:
    assert decide(["b", "a"], tie="first").winners == ("b",)
    assert decide(["b", "a"], tie="first", options=["a", "b"]).winners == ("a",)
    decision = decide(["b", "a"], tie="first")
    assert decision.tied == ("a", "b")
    assert decision.passed
    assert not decision.is_tie
    assert decision.why == "b wins: 1 of 2 votes (50 %) each; the tie rule picks b."


def test_a_tie_rule_cannot_make_a_majority() -> None:
    decision = decide(["a", "b"], rule="majority", tie="first")
    assert (decision.winners, decision.is_tie, decision.tied) == ((), False, ("a", "b"))


def test_a_tie_rule_may_be_a_function_of_the_tied_options() -> None:
    seen: list[tuple[str, ...]] = []

    def last(tied: tuple[str, ...]) -> str:
        seen.append(tied)
        return tied[-1]

    assert decide(["B", "a", "c", "a", "B"], tie=last).winners == ("B",)
    assert seen == [("a", "B")]
    assert decide(["a", "b"], tie=lambda tied: None).is_tie
    with pytest.raises(ConfigurationError, match="must pick one of a and b or None, not 'c'"):
        decide(["a", "b"], tie=lambda tied: "c")


def test_an_unknown_tie_rule_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="tie must be"):
        decide(["a", "b"], tie="random")  # type: ignore[arg-type]


def test_abstentions_and_bad_ballots_are_named_and_do_not_count() -> None:
    decision = decide(["a", None, 5, "a", Abstention(), ["a", "a"], "b", " ", ["a", 7]])  # type: ignore[list-item]
    assert decision.abstained == (1, 4)
    assert decision.invalid == {
        2: "a ballot cannot be 5; write an option as text",
        5: "it ranks 'a' twice",
        7: "it names a blank option",
        8: "7 is not the name of an option",
    }
    assert decision.cast == 3
    assert decision.why == (
        "a wins: 2 of 3 votes (66.7 %); 2 abstained; "
        "4 ballots are invalid (number 2: a ballot cannot be 5; write an option as text)."
    )


def test_a_ballot_for_something_else_is_invalid() -> None:
    decision = decide(["a", "z"], options=["a", "b"])
    assert decision.invalid == {1: "'z' is not one of the options"}
    assert decision.scores == {"a": 1.0, "b": 0.0}
    assert decision.why.endswith("1 ballot is invalid (number 1: 'z' is not one of the options).")


def test_an_option_named_only_on_invalid_ballots_does_not_exist() -> None:
    assert decide(["a", ["z", "z"]]).scores == {"a": 1.0}
    assert decide(["a"]).margins == {}


@pytest.mark.parametrize(
    ("quorum", "met"),
    [
        pytest.param(2, True, id="a number"),
        pytest.param(3, False, id="too large a number"),
        pytest.param(0.5, True, id="a share of all ballots"),
        pytest.param("0.51", False, id="too large a share"),
        pytest.param(Fraction(1, 2), True, id="a fraction"),
        pytest.param(Decimal(1), False, id="all of them"),
        pytest.param(0, True, id="none needed"),
        pytest.param(None, True, id="no quorum"),
    ],
)
def test_a_quorum_counts_ballots_that_count(quorum: float | str | Fraction | Decimal | None, met: bool) -> None:
    decision = decide(["a", "a", None, None], quorum=quorum)
    assert decision.quorum_met == met
    assert decision.winners == (("a",) if met else ())
    assert decision.passed == met
    assert decision.scores == {"a": 2.0}


@pytest.mark.parametrize(("votes", "seats"), [(5, 6), (5, 7), (7, 9), (1, 3), (2, 3), (6, 7), (11, 13), (97, 101)])
def test_a_share_computed_as_a_float_is_met_by_exactly_that_share(votes: int, seats: int) -> None:
    q, ballots = votes / seats, ["a"] * votes + ["b"] * (seats - votes)
    for given in (q, str(q), Decimal(str(q))):
        assert decide(ballots, rule="supermajority", q=given, tie="first").winner == ("a" if 2 * votes > seats else "b")
        assert decide(["a"] * votes + [None] * (seats - votes), quorum=given).quorum_met
    assert decide(ballots, rule=f"supermajority({q})", tie="first").why.endswith(f"at least {votes}/{seats}.")
    assert not decide(["a"] * (votes - 1) + [None] * (seats - votes + 1), quorum=q).quorum_met


def test_the_winner_is_named_without_the_white_space_around_it() -> None:
    assert decide([" ALPHA. ", " ALPHA. ", "alpha"]).winner == "ALPHA."
    assert decide([" a", "a ", "A"]).winner == "a"
    assert decide([" ALPHA. "], options=["Alpha"]).winner == "Alpha"
    apart = decide([" a", " a", "a"], normalise="exact")
    assert (apart.winner, apart.scores) == (" a", {" a": 2, "a": 1})


def test_voters_are_named_if_they_are_known() -> None:
    ballots: list[Any] = ["a", None, {"a": "x"}]
    decision = decide(ballots, voters=["ada", "bo", "7"])
    assert decision.voters == ("ada", "bo", "7")
    assert decision.abstained == ("bo",)
    assert decision.invalid == {"7": "its value for 'a' is not a number: 'x'"}
    assert decision.why.startswith("a wins: 1 vote, the only one; bo did not vote; 1 ballot is invalid (7: its")
    places = decide(ballots)
    assert (places.voters, places.abstained, set(places.invalid)) == ((), (1,), {2})
    for one in (decision, places):
        assert Decision.from_json(one.to_json()) == one
    assert decide(ballots, voters=["ada", "bo", "cy"], weights=[1, 0, 1]).abstained == ()


def test_the_names_of_many_voters_are_compared_only_a_few_times() -> None:
    compared = 0

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    voters = [Name(f"voter {number}") for number in range(2_000)]
    assert len(decide(["a"] * 2_000, voters=voters).voters) == 2_000
    assert compared < 4_000


@pytest.mark.parametrize(
    ("voters", "message"),
    [
        pytest.param("ada", "voters must be a list of names, not 'ada'", id="a text"),
        pytest.param(["ada"], "2 ballots cannot have 1 voter", id="too few"),
        pytest.param(["ada", " "], "a voter must be a name, not ' '", id="blank"),
        pytest.param(["ada", 7], "a voter must be a name, not 7", id="a number"),
        pytest.param(["ada", "ada"], "two ballots have the same voter 'ada'", id="twice"),
    ],
)
def test_voters_that_do_not_fit_are_refused(voters: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        decide(["a", "b"], voters=voters)
    assert caught.value.hint


def test_a_missed_quorum_decides_nothing_and_says_so() -> None:
    decision = decide(["a", "b", None], quorum=3)
    assert (decision.winners, decision.is_tie, decision.tied) == ((), False, ())
    assert decision.why.startswith("no decision: 1 of 2 votes (50 %) each; quorum is not met: 2 ballots of 3 count, 3")


@pytest.mark.parametrize("quorum", [-1, True, 1.5, "x"])
def test_an_invalid_quorum_is_refused(quorum: float | str) -> None:
    with pytest.raises(ConfigurationError, match="quorum"):
        decide(["a"], quorum=quorum)


def test_weights_are_exact() -> None:
    decision = decide(["a", "a", "a", "b"], rule="majority", weights=[0.1, 0.1, 0.1, 0.3])
    assert decision.is_tie
    assert decide(["a", "b"], weights=["2/3", "0.6"]).winners == ("a",)


def test_a_ballot_without_weight_is_absent() -> None:
    decision = decide(["a", "b", None, 5], weights=[1, 0, 0, 0], quorum="1.0")  # type: ignore[list-item]
    assert (decision.cast, decision.abstained, decision.invalid) == (1, (), {})
    assert decision.scores == {"a": 1.0}
    assert decision.passed
    assert decide(["a"], weights=[0]).why == "no decision: nobody voted."


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        pytest.param([1], "weights must have one number per ballot: 2 ballots, but 1", id="too few"),
        pytest.param([1, -1], "weight 1 must not be negative", id="negative"),
        pytest.param([1, float("nan")], "weight 1 must be a finite number", id="no number"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        decide(["a", "b"], weights=weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param("ab", "must be a list of names, not 'ab'", id="text"),
        pytest.param(["a", " "], "an option must be a name, not ' '", id="blank"),
        pytest.param(["a", 1], "an option must be a name, not 1", id="a number"),
        pytest.param(["a", " a"], "'a' and ' a' count as one", id="twice"),
        pytest.param(["a", "a"], "'a' and 'a' count as one", id="the same twice"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        decide(["a"], options=options)


ALIKE = [
    ["AA", "Aa", "aa"],
    ["CO", "Co"],
    ["5 mW", "5 MW"],
    ["n", "n!"],
    ["f", "f'"],
    ["*p", "&p", "p"],
    ["[0, 1]", "(0, 1)"],
    ["10²", "102"],
    [".NET", "NET"],
    ["C", "C++", "C#"],
]


@pytest.mark.parametrize("options", ALIKE)
@pytest.mark.parametrize("how", ["casefold", "exact", "numeric", "open"])
def test_alike_options_are_distinguished_by_their_exact_spelling(
    options: list[str], how: Literal["casefold", "exact", "numeric", "open"]
) -> None:
    decision = decide([*options, f" {options[-1]} " if how != "exact" else options[-1]], options=options, normalise=how)
    assert decision.scores == dict.fromkeys(options[:-1], 1.0) | {options[-1]: 2.0}
    assert (decision.winner, decision.invalid) == (options[-1], {})


def test_a_spelling_that_may_mean_two_options_is_invalid() -> None:
    decision = decide(["CO", "co", "tea."], options=["CO", "Co", "Tea"])
    assert decision.invalid == {1: "'co' may mean 'CO' or 'Co'"}
    assert decision.scores == {"CO": 1.0, "Co": 0.0, "Tea": 1.0}


def test_options_that_a_custom_function_does_not_distinguish_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="'CO' and 'Co' count as one"):
        decide(["CO"], options=["CO", "Co"], normalise=str.lower)


@pytest.mark.parametrize("ballots", ["abc", {"a": 1}])
def test_a_single_ballot_is_not_a_list_of_ballots(ballots: object) -> None:
    with pytest.raises(ConfigurationError, match="one ballot per voter"):
        decide(ballots)  # type: ignore[arg-type]


def test_spellings_become_one_option_labelled_by_the_most_frequent() -> None:
    decision = decide(["Alpha", "alpha", "alpha."], rule="majority")
    assert decision.winners == ("Alpha",)
    assert decision.mapping == {"Alpha": "Alpha", "alpha": "Alpha", "alpha.": "Alpha"}
    assert decide(["Alpha", "alpha", "alpha."], options=["ALPHA"]).winners == ("ALPHA",)
    assert decide(["Alpha", "alpha.", "alpha."]).winners == ("alpha.",)
    assert len(decide(["Alpha", "alpha"], normalise="exact").winners) == 2
    assert decide(["4", "4.0", "5"], normalise="numeric").winners == ("4",)
    assert decide(["ab", "ac", "b"], normalise=lambda text: text[0]).winners == ("ab",)


def test_a_normalisation_must_give_text() -> None:
    with pytest.raises(ConfigurationError, match="must return text, not 1"):
        decide(["a"], normalise=lambda text: 1)  # type: ignore[arg-type, return-value]
    with pytest.raises(ConfigurationError, match="unknown normalisation 'upper'"):
        decide(["a"], normalise="upper")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ballot",
    [
        pytest.param("a", id="text"),
        pytest.param(Choice("a"), id="choice"),
        pytest.param(["a", "b"], id="list"),
        pytest.param(("a", "b"), id="tuple"),
        pytest.param(Ranking(["a", ["b", "c"]]), id="ranking"),
        pytest.param(Ranking([[], "a"]), id="ranking with a gap"),
        pytest.param({"a"}, id="set"),
        pytest.param(frozenset("a"), id="frozen set"),
        pytest.param(Approval({"a"}), id="approval"),
        pytest.param({"a": 3, "b": 2.5}, id="dict"),
        pytest.param(Scores({"a": "3/4", "b": Decimal("0.7")}), id="scores"),
        pytest.param(Points({"a": 6, "b": 4}), id="points"),
        pytest.param(Distribution({"a": 0.6, "b": 0.4}), id="distribution"),
        pytest.param(Prediction("a", {"b": 1}), id="prediction"),
        pytest.param(Trajectory(["b", "a", None]), id="trajectory"),
        pytest.param(Verdict("a", swapped="b"), id="verdict"),
    ],
)
def test_every_kind_of_ballot_has_a_first_place(ballot: object) -> None:
    decision = decide([ballot, ballot])  # type: ignore[list-item]
    assert decision.winners == ("a",)
    assert decision.scores["a"] == 2.0


@pytest.mark.parametrize(
    "ballot",
    [
        pytest.param(None, id="none"),
        pytest.param(Abstention(), id="abstention"),
        pytest.param(Choice(None), id="choice"),
        pytest.param([], id="list"),
        pytest.param([[], []], id="list of gaps"),
        pytest.param({}, id="dict"),
        pytest.param(set(), id="set"),
        pytest.param(Trajectory([None]), id="trajectory"),
        pytest.param(Verdict(None), id="verdict"),
    ],
)
def test_a_ballot_that_names_nothing_abstains(ballot: object) -> None:
    assert decide([ballot]).abstained == (0,)  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("ballot", "reason"),
    [
        pytest.param({"a": 1, "A": 2}, "it names 'A' twice", id="twice in a dict"),
        pytest.param({"a": float("nan")}, "its value for 'a' is not a number: nan", id="nan"),
        pytest.param({"a": float("inf")}, "its value for 'a' is not a number: inf", id="infinite"),
        pytest.param({"a": True}, "its value for 'a' is not a number: True", id="a truth value"),
        pytest.param({"a": [1]}, "its value for 'a' is not a number: [1]", id="a list"),
        pytest.param({1: 1}, "1 is not the name of an option", id="a number as option"),
        pytest.param([["a", "b"], "A"], "it ranks 'a' twice", id="twice in a ranking"),
        pytest.param(float("nan"), "a ballot cannot be nan; None abstains", id="nan, as data frames have it"),
        pytest.param(object, "a ballot cannot be <class 'object'>", id="a class"),
        pytest.param([{"a": 1}], "{'a': 1} is not the name of an option", id="a dict in a list"),
    ],
)
def test_a_bad_ballot_says_why(ballot: object, reason: str) -> None:
    decision = decide([ballot, "b"])  # type: ignore[list-item]
    assert decision.invalid == {0: reason}
    assert decision.winners == ("b",)


def test_long_texts_are_cut_in_reasons() -> None:
    reason = decide(["x" * 500], options=["a"]).invalid[0]
    assert len(reason) < 120
    assert "…" in reason


def test_tied_first_places_share_a_vote() -> None:
    decision = decide([["b", "a"], [["a", "b", "c"]]])
    assert decision.scores == pytest.approx({"a": 1 / 3, "b": 4 / 3, "c": 1 / 3})


def test_equal_ballots_of_different_kinds_stay_apart() -> None:
    ballots = [{"a": 1}, {"a": True}, {"a"}, ["a"], ("a",), Choice("a", 1), Choice("a", 1.0), [["a"]], [["a"]]]
    decision = decide(ballots)  # type: ignore[arg-type]
    assert decision.invalid == {1: "its value for 'a' is not a number: True"}
    assert decision.scores == {"a": 8.0}
    assert decide([["a"], [["a"]]]).scores == {"a": 2.0}
    assert decide([["a"], [["a"]]], weights=[1, 2]).scores == {"a": 3.0}


def test_rules_are_found_by_any_spelling_of_their_name() -> None:
    assert decide(["a"], rule="Plurality").rule == "plurality"
    with pytest.raises(ConfigurationError, match=r"unknown rule 'pluralty'\. Did you mean 'plurality'"):
        decide(["a"], rule="pluralty")
    with pytest.raises(ConfigurationError, match="has no parameter 'q'; it has: none"):
        decide(["a"], q=1)


def test_a_rule_of_your_own_counts_like_a_built_in_one() -> None:
    def lowest(ballots: Electorate, parameters: Parameters) -> Outcome:
        profile = ballots.read(first_places)
        floor = parameters.number("floor")
        options = tuple(option for option in profile.roll.options if len(option) > floor)
        return Outcome(profile.roll, {}, options[:1], "it sorts first")

    rule = Rule("first-of-all", lowest, "sorts first", {"floor": 0}, ("sorted",))
    rules = rule_registry()
    rules.add(rule.name, rule)
    assert decide(["b", "a"], rule="first_of_all", rules=rules).winner == "a"
    assert decide(["b", "a"], rule="Sorted", rules=rules).parameters == {"floor": 0}
    assert decide(["b", "aa"], rule=rule, floor=Fraction(3, 2)).parameters == {"floor": "3/2"}
    assert find_rule("sorted", rules) == (rule, {})


def test_parameters_are_read_exactly_or_refused() -> None:
    parameters = Parameters("r", {"q": "2/3", "k": 10}, {"q": 0.66})
    assert (parameters.share("q"), parameters.number("k")) == (Fraction(33, 50), 10)
    with pytest.raises(ConfigurationError, match=r"k of the rule 'r' must lie in \[0, 1\], not 10"):
        parameters.share("k")


@pytest.mark.parametrize("kind", [Approval, Ranking, Trajectory])
def test_a_text_is_not_treated_as_a_list_of_letters(kind: type[Approval | Ranking | Trajectory]) -> None:
    with pytest.raises(ConfigurationError, match=rf"{kind.__name__} takes options, not the text 'ab'"):
        kind("ab")


def test_a_decision_survives_json() -> None:
    decision = decide(["a", "b", "a", None, 5], weights=[1, 1, "1/2", 1, 1])  # type: ignore[list-item]
    assert Decision.from_json(decision.to_json()) == decision


def test_higher_scores_rank_first_and_equal_ones_tie() -> None:
    assert order({"a": 1, "b": 3, "c": "3.0"}, str) == (("b", "c"), ("a",))
    assert order(["a", {"c", "b"}], str) == (("a",), ("b", "c"))


def test_rank_numbers_make_a_ranking() -> None:
    assert Ranking.from_ranks({"c": 10, "a": 2, "b": 10, "d": "2.5"}).groups == (("a",), ("d",), ("c", "b"))
    with pytest.raises(ConfigurationError, match="the rank of 'a' must be a finite number"):
        Ranking.from_ranks({"a": "first"})


@pytest.mark.parametrize(
    ("ballots", "call", "message"),
    [
        pytest.param(None, {}, "ballots must be a list with one ballot per voter, not None", id="no ballots"),
        pytest.param(["a"], {"rule": 5}, "rule must be the name of a rule, or a Rule, not 5", id="a number as rule"),
        pytest.param(["a"], {"options": 5}, "options must be a list of names, not 5", id="a number as options"),
        pytest.param(["a"], {"weights": 5}, "weights must be a list with one number per ballot, not 5", id="weights"),
        pytest.param(["a"], {"tie": None}, "tie must be 'declare', 'first' or a function, not None", id="no tie rule"),
        pytest.param(["a"], {"normalise": []}, "unknown normalisation", id="a list as normalisation"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused_with_a_hint(ballots: Any, call: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        decide(ballots, **call)


@pytest.mark.parametrize("number", [10**101, -(10**101), 10**5000, "1e400", Decimal("1e400"), 1e308], ids=range(6))
def test_an_absurdly_large_number_makes_a_ballot_invalid(number: str | Decimal | float) -> None:
    decision = decide([{"a": number}, {"a": 1, "b": 2}], rule="score")
    assert decision.winner == "b"
    assert decision.invalid[0] == "its value for 'a' is beyond 1e100"


def test_the_largest_numbers_still_count() -> None:
    decision = decide([{"a": 1e100}, {"a": "-1e100", "b": 1}], rule="star", weights=[1e100, "1e-100"])
    assert decision.winner == "a"
    assert decision.scores["a"] == pytest.approx(1e200)


@pytest.mark.parametrize(
    "weights", [[1e308, 1e308, 1], [10**400, 1, 1], [1, 10**5000, 1]], ids=["1e308", "int", "wide"]
)
def test_an_absurdly_large_weight_is_refused(weights: list[float]) -> None:
    with pytest.raises(ConfigurationError, match=r"weight [01] must be at most 1e100"):
        decide(["a", "a", "b"], weights=weights)


def test_an_option_with_very_many_digits_is_shortened() -> None:
    assert "a number of many digits" in decide(["a", [10**5000]]).invalid[1]  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("ballots", "more", "unanimous"),
    [
        pytest.param(["Tea", "tea.", "TEA"], {}, True, id="one option in any spelling"),
        pytest.param(["a"], {}, True, id="a single ballot"),
        pytest.param([], {}, False, id="no ballot"),
        pytest.param(["a", None, None, None], {}, False, id="one voter of four"),
        pytest.param([{"a": 11}, {"a": 11}], {"rule": "score(0,10)"}, False, id="invalid for the rule"),
        pytest.param(["a", "a", "c"], {"options": ["a", "b"]}, False, id="an invalid ballot"),
        pytest.param(["a", "a", "b"], {"weights": [1, 1, 0]}, True, id="a ballot without weight is absent"),
        pytest.param([["a", "b"], ["a", "c"]], {"rule": "borda"}, True, id="first places of rankings"),
        pytest.param([[["a", "b"]], [["a", "b"]]], {"rule": "borda"}, False, id="a shared first place"),
        pytest.param([{"a"}, {"a"}], {"rule": "approval"}, True, id="the only approval"),
        pytest.param([{"a": 0.9, "b": 0.1}, {"a": 0.6, "b": 0.4}], {"rule": "linear-pool"}, True, id="most probable"),
        pytest.param(["a", "a", "b"], {"rule": "majority"}, False, id="a majority"),
    ],
)
def test_unanimous_is_every_ballot_for_the_same_option(
    ballots: list[Any], more: dict[str, Any], unanimous: bool
) -> None:
    assert decide(ballots, **more).is_unanimous is unanimous
