"""Laws of the audit, against counts of their own that share no code with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st
from property.scoring_strategies import law
from unit.test_results_audit import answer, result_of

from roundtable import DebateResult
from roundtable.results import Counterfactual, DecisionAudit
from roundtable.types import AgentResponse

OPTIONS = ("Tea", "Milk", "Mate")
AGENTS = ("ada", "bo", "cy", "di", "ed", "fay")
WORDS = ("4 km", "5 km", "6 km", "Tea", "A hot drink", "yes", "no")
"""Open answers: numbers of one unit and yes and no are told apart, nothing else is."""

choices = st.lists(st.sampled_from((*OPTIONS, None)), min_size=1, max_size=6)
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)


def by_choice(votes: Sequence[str | None], agents: Sequence[str] = AGENTS) -> DebateResult:
    said = [answer(name, f"It is {vote}", choice=vote) for name, vote in zip(agents, votes, strict=False)]
    return result_of(said, options=OPTIONS)


def by_words(texts: Sequence[str], agents: Sequence[str] = AGENTS) -> DebateResult:
    return result_of([answer(name, text) for name, text in zip(agents, texts, strict=False)])


def most(votes: Sequence[str | None]) -> str | None:
    """Return the sole option with the most votes."""
    ranked = Counter(vote for vote in votes if vote is not None).most_common()
    return ranked[0][0] if ranked and (len(ranked) == 1 or ranked[0][1] > ranked[1][1]) else None


@law(5, votes=choices)
def test_leaving_an_agent_out_is_a_debate_without_its_ballot(votes: list[str | None]) -> None:
    audit = by_choice(votes).audit()
    rest = [votes[:seat] + votes[seat + 1 :] for seat in range(len(votes))]
    assert [row.winner for row in audit.without] == [most(ballots) for ballots in rest]
    assert [row.differs for row in audit.without] == [most(ballots) != most(votes) for ballots in rest]
    for row, ballots in zip(audit.without, rest, strict=True):
        if ballots:
            kept = [name for name in AGENTS[: len(votes)] if name != row.agent_id]
            decision = by_choice(ballots, kept).decision
            assert decision is not None
            assert (row.winner, row.why) == (decision.winner, decision.why)


@law(5, votes=choices)
def test_a_switched_vote_is_a_debate_with_that_vote(votes: list[str | None]) -> None:
    audit = by_choice(votes).audit()
    expected: dict[tuple[str, str], str | None] = {}
    tried = 0
    for seat, vote in enumerate(votes):
        for option in OPTIONS:
            if option != vote:
                tried += 1
                winner = most([*votes[:seat], option, *votes[seat + 1 :]])
                if winner != most(votes):
                    expected[AGENTS[seat], option] = winner
    assert {(str(row.agent_id), str(row.option)): row.winner for row in audit.switches} == expected
    assert audit.switches_tried == tried
    assert audit.fragile == (bool(expected) or any(row.differs for row in audit.without))
    assert audit.pivotal == tuple(row.agent_id for row in audit.without if row.differs)


def readings(texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield each way to read some answers: a number for what each of them says."""

    def fits(one: str, other: str) -> bool | None:
        if one == other:
            return True
        both = {one, other}
        return False if both == {"yes", "no"} or all(text.endswith("km") for text in both) else None

    def extend(given: list[int]) -> Iterator[list[int]]:
        if len(given) == len(texts):
            yield given
            return
        for meaning in range(max(given, default=-1) + 2):
            same = [fits(texts[seat], texts[len(given)]) for seat, held in enumerate(given) if held == meaning]
            others = [fits(texts[seat], texts[len(given)]) for seat, held in enumerate(given) if held != meaning]
            if False not in same and True not in others:
                yield from extend([*given, meaning])

    return extend([])


def winning_texts(texts: Sequence[str], kept: Sequence[int]) -> list[frozenset[str]]:
    """Return for each reading of all answers what wins among those that are kept; an empty set if nothing does."""
    won: list[frozenset[str]] = []
    for meanings in readings(texts):
        first = most([str(meanings[seat]) for seat in kept])
        won.append(frozenset(texts[seat] for seat, meaning in enumerate(meanings) if str(meaning) == first))
    return won


@law(5, texts=words)
def test_the_audit_of_open_answers_knows_only_what_holds_in_every_reading(texts: list[str]) -> None:
    audit = by_words(texts).audit()
    seats = range(len(texts))
    assert audit.is_known == (
        len({audit.winner in won if audit.winner else bool(won) for won in winning_texts(texts, seats)}) == 1
    )
    for row, seat in zip(audit.without, seats, strict=True):
        won = winning_texts(texts, [other for other in seats if other != seat])
        same = {audit.winner in texts_won if audit.winner else not texts_won for texts_won in won}
        expected = not same.pop() if len(same) == 1 and audit.is_known else None
        assert row.differs is expected, (texts, row)
        if row.winner is not None:
            assert all(row.winner in texts_won for texts_won in won), (texts, row)


@law(5, vote=st.sampled_from(OPTIONS), size=st.integers(3, 6), is_open=st.booleans())
def test_a_unanimous_debate_has_no_pivotal_agent(vote: str, size: int, is_open: bool) -> None:
    audit = (by_words([vote] * size) if is_open else by_choice([vote] * size)).audit()
    assert (audit.winner, audit.pivotal) == (vote, ())
    assert not any(row.differs for row in audit.without)


def shape(row: Counterfactual) -> tuple[object, ...]:
    return row.agent_id, row.option, row.rule, row.winner, frozenset(row.tied), row.is_known, row.differs


def seatless(audit: DecisionAudit) -> tuple[object, ...]:
    sets = [frozenset(map(shape, rows)) for rows in (audit.without, audit.switches, audit.rules, audit.ties)]
    weighted = None if audit.weighted is None else shape(audit.weighted)
    return audit.winner, audit.is_known, audit.fragile, frozenset(audit.pivotal), sets, weighted


@law(5, said=st.one_of(words, choices), order=st.permutations(AGENTS))
def test_the_order_of_the_seats_changes_nothing(said: list[str | None], order: list[str]) -> None:
    held = {name: text or "ABSTAIN" for name, text in zip(AGENTS, said, strict=False)}
    is_open = any(text in WORDS for text in said if text != "Tea")

    def audit(agents: Sequence[str]) -> DecisionAudit:
        answers: list[AgentResponse] = [
            answer(name, held[name], choice=None if is_open or held[name] not in OPTIONS else held[name])
            for name in agents
        ]
        return result_of(answers, **({} if is_open else {"options": OPTIONS})).audit()

    assert seatless(audit([name for name in order if name in held])) == seatless(audit(list(held)))
