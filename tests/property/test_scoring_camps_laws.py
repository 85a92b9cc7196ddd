"""Laws of camps: what is called certain is so, whatever agents say, declare or leave out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Final

from hypothesis import strategies as st
from property.scoring_strategies import law

from roundtable.prompts import Fence, Quotation, comparable, label_quotations, resolve_comparisons
from roundtable.scoring.camps import (
    Camps,
    OpenAnswer,
    Said,
    SameOrDifferent,
    compare_answers,
    find_camps,
    find_round_camps,
)
from roundtable.scoring.open_answers import contradict, is_abstention, open_key, yes_or_no
from roundtable.types import AgentResponse, Comparison, TurnKey

NAMES: Final = "abcdefghij"
WORDS: Final = ("Lisbon", "lisbon.", "The capital", "Porto", "It is Porto", "42", "43", "yes", "No", "5 km", "6 km")
VERDICTS: Final = st.sampled_from(["same", "different"])
STANCES: Final = st.sampled_from([None, "YES", "NO", "NEUTRAL"])
Reading = dict[tuple[str, str], SameOrDifferent]


def anything_said() -> st.SearchStrategy[Said]:
    return st.builds(Said, st.sampled_from(WORDS), st.sampled_from([None, None, None, "Tea", "Coffee"]), STANCES)


@st.composite
def any_rounds(draw: st.DrawFn) -> tuple[list[OpenAnswer], Reading]:
    """Draw rounds in which nobody needs to make sense."""
    names = NAMES[: draw(st.integers(0, 7))]
    declared = st.lists(st.tuples(anything_said(), VERDICTS), max_size=4).map(tuple)
    answers = [
        OpenAnswer(name, draw(anything_said()), draw(declared), draw(st.integers(0, 9)) == 0, draw(declared))
        for name in names
    ]
    pairs = list(combinations(names, 2))
    read = draw(st.dictionaries(st.sampled_from(pairs), VERDICTS, max_size=6)) if pairs else {}
    return answers, read


@dataclass(frozen=True)
class Truth:
    """A round in which everybody says what is true: who means what, and who says so of whom."""

    answers: list[OpenAnswer]
    meant: dict[str, int]
    read: Reading


@st.composite
def truthful_rounds(draw: st.DrawFn) -> Truth:
    """Draw rounds in which each meaning has several wordings, and all verdicts are right."""
    names = NAMES[: draw(st.integers(1, 8))]
    before = {name: draw(st.integers(0, 3)) for name in names}
    meant = {name: draw(st.sampled_from([before[name], *before.values()])) for name in names}
    worded = st.integers(0, 2)
    earlier = {name: Said(f"meaning {'abcd'[before[name]]} said as {'xyz'[draw(worded)]}") for name in names}
    answers = []
    for name in names:
        now = Said(f"meaning {'abcd'[meant[name]]} said as {'xyz'[draw(worded)]}")
        compared = [other for other in names if draw(st.booleans())]
        claims: list[tuple[str, tuple[Said, SameOrDifferent]]] = [
            (other, (earlier[other], "same" if before[other] == meant[name] else "different")) for other in compared
        ]
        declared = tuple(claim for other, claim in claims if other != name)
        own = tuple(claim for other, claim in claims if other == name)
        answers.append(OpenAnswer(name, now, declared, about_self=own))
    pairs = [pair for pair in combinations(names, 2) if draw(st.integers(0, 2)) == 0]
    read: Reading = {(one, two): "same" if meant[one] == meant[two] else "different" for one, two in pairs}
    return Truth(answers, meant, read)


def shape(found: Camps) -> object:
    return (
        [(camp.name, tuple(sorted(camp.agents))) for camp in found.camps],
        found.at_least,
        found.at_most,
        found.winner and (found.winner.name, tuple(sorted(found.winner.agents))),
        found.pairs,
        sorted(found.abstained),
        found.warnings,
    )


@law(drawn=any_rounds(), order=st.randoms(use_true_random=False))
def test_the_order_of_seats_changes_nothing(drawn: tuple[list[OpenAnswer], Reading], order: st.Random) -> None:  # type: ignore[name-defined]
    answers, read = drawn
    shuffled = list(answers)
    order.shuffle(shuffled)
    turned = {(two, one): verdict for (one, two), verdict in reversed(read.items())}
    assert shape(find_camps(shuffled, turned)) == shape(find_camps(answers, read))


@law(drawn=any_rounds())
def test_names_of_agents_change_nothing(drawn: tuple[list[OpenAnswer], Reading]) -> None:
    answers, read = drawn
    new = {answer.agent: name for answer, name in zip(answers, "zyxwvut", strict=False)}
    renamed = find_camps(
        [replace(answer, agent=new[answer.agent]) for answer in answers],
        {(new[one], new[two]): verdict for (one, two), verdict in read.items()},
    )
    found = find_camps(answers, read)
    assert (renamed.at_least, renamed.at_most) == (found.at_least, found.at_most)
    assert [(camp.name, len(camp.agents)) for camp in renamed.camps] == [
        (camp.name, len(camp.agents)) for camp in found.camps
    ]
    assert sorted(renamed.pairs, key=str) == sorted(found.pairs, key=str)


@law(drawn=any_rounds())
def test_figures_are_an_interval_and_camps_are_cliques(drawn: tuple[list[OpenAnswer], Reading]) -> None:
    answers, read = drawn
    found = find_camps(answers, read)
    assert 0 <= found.at_least <= found.at_most <= 1
    counted = [agent for camp in found.camps for agent in camp.agents]
    assert sorted([*counted, *found.abstained]) == sorted(answer.agent for answer in answers)
    said = {answer.agent: answer.said for answer in answers}
    for camp in found.camps:
        for one, two in combinations(camp.agents, 2):
            if said[one].choice is None and said[two].choice is None:
                assert not contradict(said[one].text, said[two].text)
            elif said[one].choice is not None and said[two].choice is not None:
                assert said[one].choice == said[two].choice
    sizes = [len(camp.agents) for camp in found.camps]
    assert sizes == sorted(sizes, reverse=True)
    assert found.winner in (None, *found.camps[:1])


@law(truth=truthful_rounds())
def test_certain_verdicts_are_true(truth: Truth) -> None:
    found = find_camps(truth.answers, truth.read)
    total = len(truth.answers)
    sizes = Counter(truth.meant.values()).most_common()
    lead = max(Fraction(0), Fraction(2 * sizes[0][1], total) - 1)
    assert found.at_least <= lead <= found.at_most
    if found.is_measured:
        assert found.at_least == lead
    for camp in found.camps:
        assert len({truth.meant[agent] for agent in camp.agents}) == 1
    if found.winner is not None:
        assert len(sizes) == 1 or sizes[0][1] > sizes[1][1]
        assert {truth.meant[agent] for agent in found.winner.agents} == {sizes[0][0]}
    assert found.warnings == ()


@law(truth=truthful_rounds())
def test_without_verdicts_camps_are_the_equal_texts(truth: Truth) -> None:
    silent = [replace(answer, declared=()) for answer in truth.answers]
    found = find_camps(silent)
    groups = Counter(open_key(answer.said.text) for answer in silent)
    assert sorted(len(camp.agents) for camp in found.camps) == sorted(groups.values())


@law(drawn=any_rounds())
def test_doubling_every_voice_changes_no_figure(drawn: tuple[list[OpenAnswer], Reading]) -> None:
    answers, read = drawn
    twins = [*answers, *(replace(answer, agent=answer.agent.upper()) for answer in answers)]
    found, doubled = find_camps(answers, read), find_camps(twins, read)
    assert (doubled.at_least, doubled.at_most) == (found.at_least, found.at_most)
    assert (doubled.winner and doubled.winner.name) == (found.winner and found.winner.name)
    assert [(camp.name, len(camp.agents)) for camp in doubled.camps] == [
        (camp.name, 2 * len(camp.agents)) for camp in found.camps
    ]


@law(truth=truthful_rounds(), kept=st.data())
def test_fewer_true_verdicts_never_lower_what_is_possible(truth: Truth, kept: st.DataObject) -> None:
    fewer = [
        replace(answer, declared=tuple(item for item in answer.declared if kept.draw(st.booleans())))
        for answer in truth.answers
    ]
    read = {pair: verdict for pair, verdict in truth.read.items() if kept.draw(st.booleans())}
    assert find_camps(fewer, read).at_most >= find_camps(truth.answers, truth.read).at_most


@law(drawn=any_rounds(), place=st.integers(0, 6))
def test_an_unread_answer_can_only_make_known_figures_uncertain(
    drawn: tuple[list[OpenAnswer], Reading], place: int
) -> None:
    """It joins nobody and is told apart from nobody; between the others, no marks and no equal texts change."""
    answers, read = drawn
    if place >= len(answers):
        return
    name = answers[place].agent
    lost = replace(answers[place], said=replace(answers[place].said, unread=name), abstains=False)
    changed = [*answers[:place], lost, *answers[place + 1 :]]
    relations = compare_answers(changed, read)
    assert relations[name] == {name: "same"}
    assert all(name not in others for other, others in relations.items() if other != name)
    found = find_camps(changed, read)
    assert found.winner is None or name not in found.winner.agents
    assert (name,) in [camp.agents for camp in found.camps]


@law(truth=truthful_rounds())
def test_no_option_wins_that_an_unread_answer_could_overturn(truth: Truth) -> None:
    winner = find_camps(truth.answers, truth.read).winner
    unread = [OpenAnswer(f"unread {number}", Said("x", unread=f"{number}")) for number in range(len(truth.answers))]
    for number in range(len(unread) + 1):
        found = find_camps([*truth.answers, *unread[:number]], truth.read).winner
        assert found in (None, winner)
        assert found is None or len(found.agents) > number


@law(size=st.integers(2, 6), shift=st.integers(1, 5))
def test_agents_that_swap_answers_are_never_joined(size: int, shift: int) -> None:
    """Each takes over what another one said before, and declares that it now says the same."""
    old = [Said(f"the answer {'abcdef'[place]}") for place in range(size)]
    moved = [
        OpenAnswer(NAMES[place], old[(place + shift) % size], ((old[(place + shift) % size], "same"),))
        for place in range(size)
    ]
    assert all(len(camp.agents) == 1 for camp in find_camps(moved).camps)


@law(size=st.integers(1, 7), shown=st.data())
def test_only_agents_that_take_over_one_answer_are_joined(size: int, shown: st.DataObject) -> None:
    """Rings, chains and swaps: each says in its own words what somebody else said before, and declares that."""
    old = [Said(f"the answer {'abcdefg'[place]}") for place in range(size)]
    place = st.integers(0, size - 1)
    taken = [shown.draw(place) for _ in range(size)]
    moved = []
    for name, source in zip(NAMES, taken, strict=False):
        now = Said(f"{old[source].text}{shown.draw(st.sampled_from(['', ' once more', ', in short']))}")
        others = shown.draw(st.sets(place)) - {source}
        verdicts = ((old[other], "different") for other in sorted(others))
        moved.append(OpenAnswer(name, now, ((old[source], "same"), *verdicts)))
    found = find_camps(moved)
    groups = Counter(taken)
    assert sorted(len(camp.agents) for camp in found.camps) == sorted(groups.values())
    for camp in found.camps:
        assert len({taken[NAMES.index(agent)] for agent in camp.agents}) == 1


ENDS: Final = (
    (Said("42 km"), Said("43 km")),
    (Said("Yes"), Said("No")),
    (Said("We ought to", stance="YES"), Said("We ought not to", stance="NO")),
    (Said("Tea", "Tea"), Said("Coffee", "Coffee")),
    (Said("Lisbon"), Said("Porto")),
)
"""Opposites: by numbers, a bare yes and no, stances and options, and by what both authors declare."""


@law(length=st.integers(1, 6), drawn=st.data())
def test_no_chain_of_declarations_joins_opposites(length: int, drawn: st.DataObject) -> None:
    """Each agent between two opposites says the same as its neighbours, and perhaps as either end."""
    first, last = drawn.draw(st.sampled_from(ENDS))
    texts = [first, *(Said(f"something like {'abcdef'[place]}") for place in range(length)), last]
    chain = []
    for place, said in enumerate(texts):
        near = [texts[other] for other in (place - 1, place + 1) if 0 <= other <= length + 1]
        same: list[tuple[Said, SameOrDifferent]] = [
            (other, "same") for other in near if other not in (first, last) or drawn.draw(st.booleans())
        ]
        if 0 < place <= length and drawn.draw(st.booleans()):
            same.append((drawn.draw(st.sampled_from([first, last])), "same"))
        if place in (0, length + 1):
            same.append((texts[length + 1 - place], "different"))
        chain.append(OpenAnswer(NAMES[place], said, tuple(same)))
    order = drawn.draw(st.permutations(chain))
    found = find_camps(order)
    for camp in found.camps:
        assert not {NAMES[0], NAMES[length + 1]} <= set(camp.agents)
    assert found.at_least < 1


@law(drawn=any_rounds() | truthful_rounds().map(lambda truth: (truth.answers, truth.read)))
def test_camps_are_the_connected_answers_if_equality_is_transitive(
    drawn: tuple[list[OpenAnswer], Reading],
) -> None:
    answers, read = drawn
    same = {
        one: {other for other, verdict in verdicts.items() if verdict == "same"}
        for one, verdicts in compare_answers(answers, read).items()
    }
    camps = {frozenset(camp.agents) for camp in find_camps(answers, read).camps}
    for component in connected(same):
        inside = {camp for camp in camps if camp & component}
        assert all(camp <= component for camp in inside)
        if all(same[agent] == component for agent in component):
            assert inside == {component}
    for camp in camps:
        assert len({frozenset(same[agent]) for agent in camp}) == 1


def connected(same: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the groups of agents between whom there is a path."""
    found: set[frozenset[str]] = set()
    for agent in same:
        group, new = set[str](), {agent}
        while new:
            group |= new
            new = {other for member in new for other in same[member]} - group
        found.add(frozenset(group))
    return found


@law(drawn=any_rounds())
def test_answers_are_compared_as_camps_compare_them(drawn: tuple[list[OpenAnswer], Reading]) -> None:
    answers, read = drawn
    found, compared = find_camps(answers, read), compare_answers(answers, read)
    assert set(compared) == {agent for camp in found.camps for agent in camp.agents}
    assert all(compared[agent][agent] == "same" for agent in compared)
    camp_of = {agent: place for place, camp in enumerate(found.camps) for agent in camp.agents}
    for one, other in combinations(compared, 2):
        verdict = compared[one].get(other)
        assert compared[other].get(one) == verdict
        if camp_of[one] == camp_of[other]:
            assert verdict == "same"
        if tuple(sorted((camp_of[one], camp_of[other]))) in found.told_apart:
            assert verdict != "same"
    largest = found.camps[0].agents if found.camps else ()
    assert set(found.not_compared) == {
        agent
        for agent, verdicts in compared.items()
        if agent not in largest and all(verdicts.get(other) != "different" for other in largest)
    }


@law(drawn=any_rounds())
def test_every_two_wordings_are_compared_as_the_pairs_of_camps_say(drawn: tuple[list[OpenAnswer], Reading]) -> None:
    answers, read = drawn
    wordings = {answer.said.choice or open_key(answer.said.text): answer for answer in answers}
    answers = list(wordings.values())
    compared = compare_answers(answers, read)
    agent_of = {answer.said.choice or answer.said.text: answer.agent for answer in answers}
    pairs = find_camps(answers, read).pairs
    assert len(pairs) == len(compared) * (len(compared) - 1) // 2
    for pair in pairs:
        assert compared[agent_of[pair.first]].get(agent_of[pair.second]) == pair.verdict
        assert (pair.verdict is None) is (pair.evidence in {"contested", "unknown"})


@dataclass(frozen=True)
class Debate:
    """Rounds that all agents have seen but the last, with claims of the last about the round before."""

    earlier: dict[TurnKey, AgentResponse]
    last: list[AgentResponse]


@st.composite
def debates(draw: st.DrawFn) -> Debate:
    """Draw three rounds; answers of the first two claim things about other turns, too."""
    names = NAMES[: draw(st.integers(1, 6))]
    rounds: list[list[AgentResponse]] = []
    for number in (1, 2, 3):
        seen = [TurnKey(number - 1, "positions", slot) for slot in range(len(names))] if number > 1 else []
        rounds.append(
            [
                AgentResponse(
                    agent_id=name,
                    agent_name=name,
                    position=draw(st.sampled_from(WORDS)),
                    stance=draw(STANCES),
                    compared=tuple(
                        Comparison(turn=turn, verdict=draw(VERDICTS)) for turn in seen if draw(st.booleans())
                    ),
                )
                for name in names
            ]
        )
    said = [(number, slot, answer) for number, held in enumerate(rounds, 1) for slot, answer in enumerate(held)]
    return Debate({TurnKey(number, "positions", slot): answer for number, slot, answer in said}, rounds[-1])


def without_warnings(found: Camps) -> Camps:
    return replace(found, warnings=())


def claiming(answer: AgentResponse, turn: TurnKey, verdict: SameOrDifferent) -> AgentResponse:
    return answer.model_copy(update={"compared": (*answer.compared, Comparison(turn=turn, verdict=verdict))})


@law(
    debate=debates(),
    verdicts=st.lists(VERDICTS, min_size=6, max_size=6),
    unknown=st.sampled_from([(9, 0), (2, 6), (1, 6)]),
)
def test_claims_about_unknown_turns_and_about_oneself_change_nothing(
    debate: Debate, verdicts: list[SameOrDifferent], unknown: tuple[int, int]
) -> None:
    round_number, slot = unknown
    plain = find_round_camps(debate.last, debate.earlier)
    beyond = [
        claiming(answer, TurnKey(round_number, "positions", slot), verdict)
        for answer, verdict in zip(debate.last, verdicts, strict=False)
    ]
    assert find_round_camps(beyond, debate.earlier) == plain
    about_self = [
        claiming(answer, TurnKey(3, "positions", place), verdict)
        for place, (answer, verdict) in enumerate(zip(debate.last, verdicts, strict=False))
    ]
    assert without_warnings(find_round_camps(about_self, debate.earlier)) == without_warnings(plain)


@law(debate=debates())
def test_claims_of_earlier_rounds_change_nothing(debate: Debate) -> None:
    silent = {turn: answer.model_copy(update={"compared": ()}) for turn, answer in debate.earlier.items()}
    assert find_round_camps(debate.last, silent) == find_round_camps(debate.last, debate.earlier)


@law(debate=debates(), drawn=st.data())
def test_references_to_superseded_unseen_and_unknown_answers_change_nothing(
    debate: Debate, drawn: st.DataObject
) -> None:
    """What a model writes is resolved to the last answer of each speaker that its prompt shows."""
    fence = Fence("0123456789abcdef")
    reader = debate.last[0].agent_id
    said = [
        Quotation(answer.agent_name.title(), turn.round, answer.agent_id == reader, answer, turn)
        for turn, answer in debate.earlier.items()
        if turn.round < 3 and drawn.draw(st.integers(0, 4)) > 0
    ]
    quotations = label_quotations(said)
    shown = [quotation for quotation in quotations if drawn.draw(st.integers(0, 4)) > 0]
    prompt = "\n".join(fence.quote(quotation.response.position, label=quotation.label) for quotation in shown)
    written = [(label, drawn.draw(VERDICTS)) for label in comparable(quotations) if drawn.draw(st.booleans())]
    compared, _ = resolve_comparisons(written, quotations, prompt)
    latest = {quotation.response.agent_id: quotation.turn for quotation in quotations}
    assert {comparison.turn for comparison in compared} <= {
        quotation.turn for quotation in shown if quotation.turn == latest[quotation.response.agent_id]
    }
    others = [quotation.label for quotation in quotations] + ["Zoe", "round 1", "", "1", reader.title()]
    noise = [(label, drawn.draw(VERDICTS)) for label in others if drawn.draw(st.booleans())]
    more, warnings = resolve_comparisons([*written, *noise], quotations, prompt)
    assert more == compared
    assert len(warnings) >= len(noise)
    camps = [
        find_round_camps([debate.last[0].model_copy(update={"compared": kept}), *debate.last[1:]], debate.earlier)
        for kept in (compared, more)
    ]
    assert camps[0] == camps[1]


@law(drawn=any_rounds(), silent=st.integers(1, 4))
def test_abstentions_change_no_camps(drawn: tuple[list[OpenAnswer], Reading], silent: int) -> None:
    answers, read = drawn
    more = [*answers, *(OpenAnswer(f"silent {number}", Said("ABSTAIN")) for number in range(silent))]
    found, wider = find_camps(answers, read), find_camps(more, read)
    assert (wider.camps, wider.at_least, wider.at_most, wider.winner) == (
        found.camps,
        found.at_least,
        found.at_most,
        found.winner,
    )


TEXTS = (
    st.text(max_size=20)
    | st.text(st.sampled_from("aAbB ßſŉΣσ５٣\u2013\u2212+.,'\"`*_()[]{}$\\%!\u00a0\u0301\u0344"), max_size=12)
    | st.from_regex(r"[+-]?[0-9]{0,4}(,[0-9]{3})?(\.[0-9]{0,4})? ?(km|MW|%|²)?", fullmatch=True)
)


@law(text=TEXTS)
def test_the_key_of_a_key_is_itself(text: str) -> None:
    key = open_key(text)
    assert open_key(key) == key


@law(one=TEXTS, other=TEXTS)
def test_equal_answers_do_not_contradict_each_other(one: str, other: str) -> None:
    assert contradict(one, other) is contradict(other, one)
    if open_key(one) == open_key(other):
        assert not contradict(one, other)
    assert not contradict(one, one)
    assert not (yes_or_no(one) and is_abstention(one))
