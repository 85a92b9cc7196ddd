"""The figures and the answer of a round of open answers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from roundtable.scoring.camps import Camp, OpenAnswer, Said, SameOrDifferent, _has_set_of, find_camps


def answers(*texts: str, **declared: tuple[tuple[str, SameOrDifferent], ...]) -> list[OpenAnswer]:
    return [
        OpenAnswer(name, Said(text), tuple((Said(said), verdict) for said, verdict in declared.get(name, ())))
        for name, text in zip("abcdefgh", texts, strict=False)
    ]


@pytest.mark.parametrize(
    ("texts", "low", "high", "winner"),
    [
        (("x", "X", "x."), 1, 1, ("a", "b", "c")),
        (("x", "x", "y"), Fraction(1, 3), 1, ("a", "b")),
        (("x", "x", "y", "z", "w"), 0, 1, None),
        (("x", "y", "z"), 0, 1, None),
        (("1", "2", "3"), 0, 0, None),
        (("1", "1", "2"), Fraction(1, 3), Fraction(1, 3), ("a", "b")),
        (("x",), 1, 1, ("a",)),
        (("x", "x", "ABSTAIN", "I don't know", "abstain"), 1, 1, ("a", "b")),
        ((), 0, 0, None),
    ],
)
def test_the_table_of_figures(
    texts: tuple[str, ...], low: Fraction, high: Fraction, winner: tuple[str, ...] | None
) -> None:
    found = find_camps(answers(*texts))
    assert (found.at_least, found.at_most) == (low, high)
    assert (found.winner and found.winner.agents) == winner
    assert found.is_measured is (low == high and len(texts) > 1)
    # A lead is open where wordings were not compared; numbers always are.
    assert found.is_lead_open is (winner is None and low != high)


def test_three_that_declare_each_other_the_same_agree() -> None:
    same: tuple[tuple[str, SameOrDifferent], ...] = (("Lisbon", "same"), ("The capital", "same"), ("Lissabon", "same"))
    found = find_camps(answers("Lisbon", "The capital", "Lissabon", a=same, b=same, c=same))
    assert (found.at_least, found.is_measured, found.winner) == (1, True, Camp("Lisbon", ("a", "b", "c")))
    assert {pair.evidence for pair in found.pairs} == {"declared"}


def test_two_that_swap_their_answers_are_not_joined() -> None:
    """Each names what the other said before; both said it before the swap."""
    found = find_camps(answers("Porto", "Lisbon", a=(("Lisbon", "different"),), b=(("Porto", "different"),)))
    assert len(found.camps) == 2
    old = [("1", "same"), ("2", "different")]
    swapped = find_camps(
        [
            OpenAnswer("a", Said("2"), tuple((Said(text), verdict) for text, verdict in old)),  # type: ignore[misc]
            OpenAnswer("b", Said("1")),
        ]
    )
    assert (swapped.at_most, swapped.winner) == (0, None)
    assert swapped.warnings == ("a calls answers the same that differ; what it declared is ignored",)


def test_what_contradicts_itself_is_unknown() -> None:
    mixed = answers("x", "y", "x", a=(("y", "same"),), c=(("y", "different"),))
    assert [(pair.verdict, pair.evidence) for pair in find_camps(mixed).pairs] == [(None, "contested")]
    twice = find_camps(answers("x", "y", a=(("y", "same"), ("y", "different"))))
    assert [(pair.verdict, pair.evidence) for pair in twice.pairs] == [(None, "unknown")]
    assert twice.warnings == ("a calls one answer both the same and different; that is ignored",)


@pytest.mark.parametrize(
    ("declared", "read", "verdict", "evidence"),
    [
        ((), {("a", "b"): "same"}, "same", "read"),
        ((), {("b", "a"): "different"}, "different", "read"),
        ((("y", "same"),), {("a", "b"): "same"}, "same", "read"),
        ((("y", "different"),), {("a", "b"): "same"}, None, "contested"),
        ((), {("a", "b"): "same", ("b", "a"): "different"}, None, "contested"),
        ((), {("a", "z"): "same"}, None, "unknown"),
    ],
)
def test_a_reader_and_the_authors(
    declared: tuple[tuple[str, SameOrDifferent], ...],
    read: dict[tuple[str, str], SameOrDifferent],
    verdict: str | None,
    evidence: str,
) -> None:
    (pair,) = find_camps(answers("x", "y", a=declared), read).pairs
    assert (pair.first, pair.second, pair.verdict, pair.evidence) == ("x", "y", verdict, evidence)


def test_a_reader_does_not_overrule_numbers() -> None:
    (pair,) = find_camps(answers("1", "2"), {("a", "b"): "same"}).pairs
    assert (pair.verdict, pair.evidence) == ("different", "marked")
    assert find_camps(answers("x", "x", "y"), {("a", "b"): "different", ("a", "c"): "same"}).at_least == 1


def test_stances_tell_apart_and_join_nobody() -> None:
    sides = ["YES", "NO", "YES", "NEUTRAL"]
    said = [
        OpenAnswer(name, Said(text, stance=side))
        for name, text, side in zip("abcd", ("It pays", "It pays", "It helps", "Well"), sides, strict=True)
    ]
    found = find_camps(said)
    assert [camp.agents for camp in found.camps] == [("c",), ("b",), ("a",), ("d",)]
    verdicts = {frozenset((pair.first, pair.second)): pair.verdict for pair in found.pairs}
    assert verdicts[frozenset(("It helps", "Well"))] is None
    assert [pair.verdict for pair in found.pairs if pair.first == pair.second == "It pays"] == ["different"]


def test_a_bare_yes_against_ones_own_stance_voids_it() -> None:
    found = find_camps([OpenAnswer("a", Said("Yes", stance="NO")), OpenAnswer("b", Said("no"))])
    assert found.warnings == ("a says YES with the stance NO; the stance is ignored",)
    assert (found.at_most, found.is_measured) == (0, True)


def test_options_are_told_apart_by_their_names() -> None:
    chosen = [OpenAnswer("a", Said("I think", choice="Tea")), OpenAnswer("b", Said("I think", choice="coffee"))]
    found = find_camps([*chosen, OpenAnswer("c", Said("I don't know", choice="tea")), OpenAnswer("d", Said("Milk"))])
    assert [camp.agents for camp in found.camps] == [("a", "c"), ("d",), ("b",)] or found.camps[0].agents == ("a", "c")
    assert {pair.evidence for pair in found.pairs} == {"marked", "unknown"}


def test_the_name_of_a_camp_is_its_most_used_wording() -> None:
    found = find_camps(answers("the tea", "Tea", "tea", "TEA", "Tea"))
    assert found.camps[0].name == "Tea"


def test_an_own_answer_called_different_is_ignored() -> None:
    found = find_camps(answers("x", "y", a=(("x", "different"), ("y", "same"))))
    assert found.warnings == ("a calls an answer different that equals its own; that is ignored",)
    assert found.at_least == 1


def test_an_agent_answers_once() -> None:
    with pytest.raises(ValueError, match="two answers"):
        find_camps([OpenAnswer("a", Said("x")), OpenAnswer("a", Said("y"))])


def test_a_refusal_abstains() -> None:
    found = find_camps([OpenAnswer("a", Said("x")), OpenAnswer("b", Said("I must decline"), abstains=True)])
    assert (found.abstained, found.winner) == (("b",), Camp("x", ("a",)))


def test_a_search_that_takes_too_long_lets_nothing_win() -> None:
    weight = {("text", str(number), ""): 1 for number in range(60)}
    by_place = {node: place for place, node in enumerate(weight)}
    assert _has_set_of(31, weight, lambda one, other: by_place[one] // 2 != by_place[other] // 2)
    assert not _has_set_of(2, weight, lambda one, other: False)


def test_a_table_of_a_hundred_takes_no_search_without_end() -> None:
    """A leader of 30, and 70 others of whom every twelfth pair is told apart by its numbers."""
    answers = [OpenAnswer(f"l{place}", Said("Lisbon")) for place in range(30)]
    answers += [OpenAnswer(f"o{place}", Said(f"{place % 35} {'abcdefgh'[place % 8]}")) for place in range(70)]
    found = find_camps(answers)
    assert found.winner is None or found.winner.name == "Lisbon"
    assert found.camps[0].agents == tuple(f"l{place}" for place in range(30))


def test_who_contradicts_whom_is_said() -> None:
    lisbon, capital = OpenAnswer("ada", Said("Lisbon")), OpenAnswer("bo", Said("The capital"))
    again = OpenAnswer("cy", Said("lisbon"))
    found = find_camps([lisbon, capital, again], {("ada", "bo"): "same", ("cy", "bo"): "different"})
    assert found.warnings == ("the reader contradicts itself on whether 'Lisbon' and 'The capital' are the same",)
    declared = replace(lisbon, declared=((Said("The capital"), "different"),))
    found = find_camps([declared, capital], {("ada", "bo"): "same"})
    assert found.warnings == ("the agents contradict the reader on whether 'Lisbon' and 'The capital' are the same",)


def test_two_agents_that_call_themselves_the_same_as_a_third_are_compared() -> None:
    """Each compared its own answer with the third; what a third says about both joins them only with itself."""
    star = find_camps(
        answers("ten", "ten to twelve", "twelve", a=(("ten to twelve", "same"),), c=(("ten to twelve", "same"),))
    )
    assert (star.camps[0].agents, star.at_least) == (("a", "b", "c"), 1)
    left = find_camps(answers("ten", "fifty", "twelve", a=(("ten to twelve", "same"),), c=(("ten to twelve", "same"),)))
    assert left.camps[0].agents == ("a", "c")
    middle = find_camps(answers("ten", "ten to twelve", "twelve", b=(("ten", "same"), ("twelve", "same"))))
    assert (len(middle.camps), middle.at_least, middle.at_most) == (3, 0, 1)
    apart = find_camps(answers("ten", "x", "twelve", a=(("x", "same"),), c=(("x", "different"),)))
    assert {(pair.first, pair.second): pair.verdict for pair in apart.pairs}["ten", "twelve"] == "different"


def test_a_contradiction_by_way_of_a_third_answer_is_said_to_be_one() -> None:
    found = find_camps(
        answers(
            *("x", "y", "z"),
            a=(("y", "same"), ("z", "different")),
            b=(("x", "same"), ("z", "same")),
            c=(("y", "same"), ("x", "different")),
        )
    )
    third = "though what they say about other answers contradicts that"
    assert found.warnings == (
        f"the agents call 'x' and 'y' the same, {third}",
        f"the agents call 'x' and 'z' different, {third}",
        f"the agents call 'y' and 'z' the same, {third}",
    )
