"""The figures and the answer of a round of open answers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Literal

import pytest

from roundtable.scoring.camps import (
    Camp,
    OpenAnswer,
    Said,
    SameOrDifferent,
    _has_set_of,
    compare_answers,
    find_camps,
    find_round_camps,
    to_open_answer,
)
from roundtable.types import AgentResponse, Comparison, Reading, TurnKey


def answers(*texts: str, **declared: tuple[tuple[str, SameOrDifferent], ...]) -> list[OpenAnswer]:
    return [
        OpenAnswer(name, Said(text), tuple((Said(said), verdict) for said, verdict in declared.get(name, ())))
        for name, text in zip("abcdefgh", texts, strict=False)
    ]


@pytest.mark.parametrize(
    ("texts", "low", "high", "winner"),
    [
        (("tea", "Tea", "tea."), 1, 1, ("a", "b", "c")),
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
def test_the_figures_of_camps_are_those_of_the_table(
    texts: tuple[str, ...], low: Fraction, high: Fraction, winner: tuple[str, ...] | None
) -> None:
    found = find_camps(answers(*texts))
    assert (found.at_least, found.at_most) == (low, high)
    assert (found.winner and found.winner.agents) == winner
    assert found.is_measured is (low == high and len(texts) > 1)
    # A lead is open where wordings were not compared; numbers always are.
    assert found.is_lead_open is (winner is None and low != high)


def test_three_agents_that_declare_each_other_the_same_agree() -> None:
    same: tuple[tuple[str, SameOrDifferent], ...] = (("Lisbon", "same"), ("The capital", "same"), ("Lissabon", "same"))
    found = find_camps(answers("Lisbon", "The capital", "Lissabon", a=same, b=same, c=same))
    assert (found.at_least, found.is_measured, found.winner) == (1, True, Camp("Lisbon", ("a", "b", "c")))
    assert {pair.evidence for pair in found.pairs} == {"declared"}


def test_two_agents_that_swap_their_answers_are_not_joined() -> None:
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


def test_contradictory_declarations_are_unknown() -> None:
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
def test_a_reader_is_combined_with_the_declarations_of_authors(
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


def test_stances_separate_answers_and_never_join_them() -> None:
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


def test_a_bare_yes_against_its_own_stance_voids_the_stance() -> None:
    found = find_camps([OpenAnswer("a", Said("Yes", stance="NO")), OpenAnswer("b", Said("no"))])
    assert found.warnings == ("a says YES with the stance NO; the stance is ignored",)
    assert (found.at_most, found.is_measured) == (0, True)


def test_options_are_distinguished_by_their_names() -> None:
    chosen = [OpenAnswer("a", Said("I think", choice="Tea")), OpenAnswer("b", Said("I think", choice="coffee"))]
    found = find_camps([*chosen, OpenAnswer("c", Said("I don't know", choice="Tea")), OpenAnswer("d", Said("Milk"))])
    assert [camp.agents for camp in found.camps] == [("a", "c"), ("d",), ("b",)] or found.camps[0].agents == ("a", "c")
    assert {pair.evidence for pair in found.pairs} == {"marked", "unknown"}


def test_the_name_of_a_camp_is_its_most_used_wording() -> None:
    found = find_camps(answers("the tea", "Tea", "tea", "TEA", "Tea"))
    assert found.camps[0].name == "Tea"


def test_an_agent_that_calls_its_own_answer_different_is_ignored() -> None:
    found = find_camps(answers("x", "y", a=(("x", "different"), ("y", "same"))))
    assert found.warnings == ("a calls an answer different that equals its own; that is ignored",)
    assert found.at_least == 1


def test_an_agent_counts_once() -> None:
    with pytest.raises(ValueError, match="two answers"):
        find_camps([OpenAnswer("a", Said("x")), OpenAnswer("a", Said("y"))])


def test_a_refusal_is_an_abstention() -> None:
    found = find_camps([OpenAnswer("a", Said("x")), OpenAnswer("b", Said("I must decline"), abstains=True)])
    assert (found.abstained, found.winner) == (("b",), Camp("x", ("a",)))


def test_a_search_that_takes_too_long_lets_nothing_win() -> None:
    weight = {("text", str(number), ""): 1 for number in range(60)}
    by_place = {node: place for place, node in enumerate(weight)}
    assert _has_set_of(31, weight, lambda one, other: by_place[one] // 2 != by_place[other] // 2)
    assert not _has_set_of(2, weight, lambda one, other: False)


def test_a_table_of_a_hundred_agents_takes_bounded_time() -> None:
    """A leader of 30, and 70 others of whom every twelfth pair is told apart by its numbers."""
    answers = [OpenAnswer(f"l{place}", Said("Lisbon")) for place in range(30)]
    answers += [OpenAnswer(f"o{place}", Said(f"{place % 35} {'abcdefgh'[place % 8]}")) for place in range(70)]
    found = find_camps(answers)
    assert found.winner is None or found.winner.name == "Lisbon"
    assert found.camps[0].agents == tuple(f"l{place}" for place in range(30))


def test_contradicting_agents_are_named() -> None:
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


def test_a_contradiction_through_a_third_answer_is_reported() -> None:
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


LISBON, CAPITAL, PORTO = Said("Lisbon"), Said("The capital"), Said("Porto")


def relation(
    first: str, second: str, *said: OpenAnswer, read: dict[tuple[str, str], SameOrDifferent] | None = None
) -> str | None:
    return compare_answers(said, read)[first].get(second)


def test_a_claim_about_an_own_earlier_answer_counts_if_another_agent_agrees() -> None:
    """An agent left Lisbon for Porto, and believes that it still says the same."""
    stayed = OpenAnswer("b", LISBON)
    mover = OpenAnswer("a", PORTO, about_self=((LISBON, "same"),))
    assert relation("a", "b", mover, stayed) is None
    assert relation("a", "b", mover, stayed, read={("a", "b"): "same"}) == "same"
    assert relation("a", "b", mover, stayed, read={("a", "b"): "different"}) == "different"
    # Of the same text as the mover, or comparing itself with both answers.
    twin = OpenAnswer("c", PORTO, ((LISBON, "same"),))
    assert relation("a", "b", mover, stayed, twin) == "same"
    witness = OpenAnswer("c", CAPITAL, ((LISBON, "same"), (PORTO, "same")))
    assert relation("a", "b", mover, stayed, witness) == "same"
    assert relation("a", "b", mover, stayed, replace(witness, declared=((LISBON, "same"),))) is None
    fellow = OpenAnswer("c", PORTO, about_self=((LISBON, "same"),))
    assert relation("a", "b", mover, stayed, fellow) is None


def test_an_unconfirmed_claim_about_oneself_does_not_separate_answers_either() -> None:
    mover = OpenAnswer("a", PORTO, about_self=((LISBON, "same"),))
    assert relation("a", "b", mover, OpenAnswer("b", CAPITAL, ((LISBON, "different"),))) is None
    left = OpenAnswer("a", PORTO, about_self=((LISBON, "different"),))
    assert relation("a", "b", left, OpenAnswer("b", CAPITAL, ((LISBON, "same"),))) == "different"


def test_an_answer_of_another_agent_in_the_same_words_is_not_a_claim_about_oneself() -> None:
    both = OpenAnswer("a", PORTO, ((LISBON, "same"),), about_self=((LISBON, "same"),))
    assert relation("a", "b", both, OpenAnswer("b", LISBON)) == "same"
    unclear = find_camps([replace(both, about_self=((LISBON, "different"),)), OpenAnswer("b", LISBON)])
    assert unclear.warnings == ("a calls one answer both the same and different; that is ignored",)


def test_a_claim_about_oneself_that_is_certainly_wrong_costs_all_declarations() -> None:
    moved = OpenAnswer("a", Said("43"), ((Said("about forty"), "same"),), about_self=((Said("42"), "same"),))
    found = find_camps([moved, OpenAnswer("b", Said("about forty"))])
    assert found.warnings == ("a calls answers the same that differ; what it declared is ignored",)
    assert found.camps[0].agents != ("a", "b")
    rounded = replace(moved, said=Said("3.14"), about_self=((Said("3.14159"), "same"),))
    assert find_camps([rounded, OpenAnswer("b", Said("about forty"))]).at_least == 1


def unread(name: str, text: str = "Lisbon", **more: str) -> Said:
    return Said(text, unread=name, **more)


def test_an_unread_answer_is_unknown_against_every_other() -> None:
    same: tuple[tuple[Said, SameOrDifferent], ...] = ((LISBON, "same"), (unread("a"), "same"))
    said = [
        OpenAnswer("a", unread("a"), ((LISBON, "same"),)),
        OpenAnswer("b", unread("b"), same),
        OpenAnswer("c", LISBON, same),
        OpenAnswer("d", unread("d", "5", choice="5", stance="NO")),
        OpenAnswer("e", Said("6", choice="6", stance="YES")),
    ]
    found = find_camps(said, {("a", "b"): "same", ("a", "c"): "different"})
    assert {camp.agents for camp in found.camps} == {("a",), ("b",), ("c",), ("d",), ("e",)}
    assert {pair.verdict for pair in found.pairs} == {None}
    assert (found.at_least, found.at_most, found.winner, found.told_apart) == (0, 1, None, frozenset())


def test_an_unread_answer_may_overturn_a_lead_and_never_wins() -> None:
    two = [OpenAnswer("a", LISBON), OpenAnswer("b", LISBON), OpenAnswer("c", unread("c", "Porto"))]
    assert find_camps(two).winner == Camp("Lisbon", ("a", "b"))
    assert find_camps([*two, OpenAnswer("d", unread("d", "Porto"))]).winner is None
    alone = find_camps([OpenAnswer("a", unread("a", "A"))])
    assert (alone.winner, alone.abstained) == (None, ())
    first = find_camps([OpenAnswer("a", unread("a", "A")), OpenAnswer("b", Said("Z"))])
    assert [camp.name for camp in first.camps] == ["Z", "A"]


def test_an_unread_text_does_not_abstain_and_takes_no_side() -> None:
    found = find_camps([OpenAnswer("a", unread("a", "I don't know")), OpenAnswer("b", unread("b", "Yes", stance="NO"))])
    assert (found.abstained, found.warnings, len(found.camps)) == ((), (), 2)


def test_an_answer_counts_as_read_if_its_reading_is_certain() -> None:
    def said(agent: str, certainty: Literal["certain", "likely", "unread"]) -> AgentResponse:
        reading = Reading(certainty=certainty, rule="label", value="Tea")
        return AgentResponse(agent_id=agent, agent_name=agent, position="Tea", reading=reading)

    found = find_round_camps([said("a", "certain"), said("b", "certain"), said("c", "likely"), said("d", "unread")])
    assert [camp.agents for camp in found.camps] == [("a", "b"), ("c",), ("d",)]
    key = TurnKey(1, "positions", 0)
    later = said("b", "certain").model_copy(
        update={"choice": None, "compared": (Comparison(turn=key, verdict="same"),)}
    )
    answer = to_open_answer("b", later, {key: said("a", "unread")})
    assert answer.declared == ((Said("Tea", unread="1/positions/0"), "same"),)
    own = to_open_answer("a", later.model_copy(update={"agent_id": "a"}), {key: said("a", "certain")})
    assert (own.declared, own.about_self) == ((), ((Said("Tea"), "same"),))
