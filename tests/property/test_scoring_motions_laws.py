"""Laws of the vote on motions: neither clones nor letters nor orders of voters change who wins."""

from __future__ import annotations

from random import Random
from typing import Final

from hypothesis import strategies as st
from property.scoring_strategies import law

from roundtable.modes.vote import voting_orders
from roundtable.scoring import Abstention, Approval, Ballot, Choice, Ranking, Scores
from roundtable.scoring.motions import Motions, MotionVote, count_vote, find_motions
from roundtable.types import AgentResponse, Decision, Motion

NAMES: Final = ("a", "b", "c", "d")
CLONE: Final = "a clone of a"
RULES: Final = {
    "choice": ("plurality", "majority", "supermajority", "unanimity", "random-dictator"),
    "ranking": (
        "schulze",
        "ranked-pairs",
        "condorcet",
        "copeland",
        "kemeny-young",
        "irv",
        "coombs",
        "borda",
        "dowdall",
    ),
    "approval": ("approval",),
    "scores": ("score", "median", "star", "score(by=sum)"),
}


@st.composite
def ballots(draw: st.DrawFn, form: str) -> Ballot:
    """Draw a ballot; sometimes it is short, tied, or an abstention."""
    if draw(st.integers(0, 9)) == 0:
        return Abstention()
    if form == "choice":
        return Choice(draw(st.sampled_from(NAMES)))
    if form == "approval":
        return Approval(draw(st.frozensets(st.sampled_from(NAMES))))
    if form == "scores":
        return Scores(draw(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 5))))
    order = draw(st.permutations(NAMES))[: draw(st.integers(1, 4))]
    cuts = draw(st.tuples(*[st.booleans()] * len(order)))
    groups: list[tuple[str, ...]] = []
    for name, is_tied in zip(order, cuts, strict=True):
        groups = [*groups[:-1], (*groups[-1], name)] if is_tied and groups else [*groups, (name,)]
    return Ranking(tuple(groups))


@st.composite
def votes(draw: st.DrawFn) -> tuple[str, list[MotionVote]]:
    """Draw a rule, and votes with ballots that it reads."""
    form = draw(st.sampled_from(sorted(RULES)))
    same = st.lists(st.sampled_from(NAMES), min_size=2, max_size=3, unique=True).map(tuple)
    drawn = draw(st.lists(st.tuples(ballots(form), st.lists(same, max_size=2).map(tuple)), min_size=1, max_size=7))
    return draw(st.sampled_from(RULES[form])), [MotionVote(f"v{k}", *vote) for k, vote in enumerate(drawn)]


def moved(*names: str) -> Motions:
    """Put forward motions; the first voters are authors."""
    return Motions(tuple(Motion(name=name, agents=(f"v{k}",)) for k, name in enumerate(names)), names)


def with_clone(vote: MotionVote, *, tied: bool) -> MotionVote:
    """Return a vote that treats an exact clone like the motion, and says so."""
    ballot = vote.ballot
    match ballot:
        case Ranking():
            groups: list[tuple[str, ...]] = []
            for group in map(tuple, ballot.groups):
                groups += [group] if "a" not in group else [(*group, CLONE)] if tied else [group, (CLONE,)]
            ballot = Ranking(tuple(groups))
        case Approval():
            ballot = Approval(frozenset(ballot.options) | ({CLONE} if "a" in ballot.options else set()))
        case Scores():
            ballot = Scores({**ballot.scores, CLONE: ballot.scores["a"]} if "a" in ballot.scores else ballot.scores)
        case _:
            pass
    inside = [tuple([*group, CLONE] if "a" in group else group) for group in vote.same]
    first = next((k for k, group in enumerate(inside) if CLONE in group), None)
    return vote._replace(ballot=ballot, same=tuple(inside) if first is not None else (("a", CLONE), *inside))


def winners(decision: Decision) -> set[str]:
    return {"a" if name == CLONE else name for name in decision.winners}


@law(drawn=votes(), tied=st.booleans())
def test_an_exact_clone_that_all_voters_join_changes_no_winner_under_any_rule(
    drawn: tuple[str, list[MotionVote]], *, tied: bool
) -> None:
    rule, cast = drawn
    cast = [vote._replace(same=()) for vote in cast]
    alone = count_vote(moved(*NAMES), cast, rule=rule)
    cloned = count_vote(moved(*NAMES, CLONE), [with_clone(vote, tied=tied) for vote in cast], rule=rule)
    assert winners(cloned) == winners(alone)
    assert (cloned.is_tie, cloned.passed, dict(cloned.scores)) == (alone.is_tie, alone.passed, dict(alone.scores))


@law(drawn=st.lists(st.tuples(st.permutations(NAMES), st.booleans()), min_size=1, max_size=7))
def test_an_adjacent_clone_that_no_voter_joins_changes_no_winner_under_schulze(
    drawn: list[tuple[list[str], bool]],
) -> None:
    plain, cloned = [], []
    for number, (order, is_above) in enumerate(drawn):
        place = order.index("a") + (not is_above)
        plain.append(MotionVote(f"v{number}", Ranking(tuple(order))))
        cloned.append(MotionVote(f"v{number}", Ranking((*order[:place], CLONE, *order[place:]))))
    alone = count_vote(moved(*NAMES), plain, rule="schulze")
    assert winners(count_vote(moved(*NAMES, CLONE), cloned, rule="schulze")) == winners(alone)


@law(drawn=votes(), chance=st.randoms(use_true_random=False))
def test_orders_of_voters_and_of_motions_change_nothing(drawn: tuple[str, list[MotionVote]], chance: Random) -> None:
    rule, cast = drawn
    straight = count_vote(moved(*NAMES), cast, rule=rule)
    motions = list(moved(*NAMES).motions)
    shuffled = list(cast)
    chance.shuffle(motions)
    if not rule.startswith("random"):
        chance.shuffle(shuffled)
    other = count_vote(Motions(tuple(motions), tuple(motion.name for motion in motions)), shuffled, rule=rule)
    assert (set(other.winners), other.is_tie, dict(other.scores)) == (
        set(straight.winners),
        straight.is_tie,
        dict(straight.scores),
    )
    assert other.vote is not None
    assert straight.vote is not None
    assert (other.vote.motions, other.vote.own_share) == (straight.vote.motions, straight.vote.own_share)
    assert sorted(other.vote.warnings) == sorted(straight.vote.warnings)


@law(drawn=votes())
def test_joined_motions_are_cliques_that_most_voters_named(drawn: tuple[str, list[MotionVote]]) -> None:
    rule, cast = drawn
    decision = count_vote(moved(*NAMES), cast, rule=rule)
    assert decision.vote is not None
    assert sorted(name for motion in decision.vote.motions for name in (motion.name, *motion.joined)) == list(NAMES)
    for motion in decision.vote.motions:
        for joined in motion.joined:
            assert sum(any({motion.name, joined} <= set(group) for group in vote.same) for vote in cast) > len(cast) / 2


LINES: Final = ("Lisbon", "lisbon.", "The capital", "It depends", "42", "43 km", "ABSTAIN", "x" * 400, "x" * 500)


@law(
    drawn=st.lists(
        st.tuples(st.sampled_from(LINES), st.sampled_from([None, "YES", "NO"]), st.sampled_from(["So.", "Thus."])),
        max_size=14,
    ),
    chance=st.randoms(use_true_random=False),
)
def test_motions_have_distinct_names_that_do_not_depend_on_seats(
    drawn: list[tuple[str, str | None, str]], chance: Random
) -> None:
    said = [
        AgentResponse(agent_id=f"v{k}", agent_name=f"V{k}", position=position, bottom_line=line, stance=stance)
        for k, (line, stance, position) in enumerate(drawn)
    ]
    found = find_motions(said)
    assert len({*found.names, *found.left_out}) == len(found.names) + len(found.left_out)
    assert len(found.names) <= 9
    chance.shuffle(said)
    other = find_motions(said)
    assert (other.names, other.positions, other.left_out, other.told_apart) == (
        found.names,
        found.positions,
        found.left_out,
        found.told_apart,
    )
    assert [set(motion.agents) for motion in other.motions] == [set(motion.agents) for motion in found.motions]


@law(
    names=st.lists(st.text(min_size=1, max_size=3), min_size=2, max_size=9, unique=True),
    voters=st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=20, unique=True),
    chance=st.randoms(use_true_random=False),
)
def test_every_voter_gets_all_motions_in_an_order_that_does_not_depend_on_seats(
    names: list[str], voters: list[str], chance: Random
) -> None:
    orders = voting_orders(names, voters, "seed")
    assert all(sorted(order) == sorted(names) for order in orders.values())
    if len(voters) > 1:
        assert len(set(orders.values())) > 1
    again, seats = list(names), list(voters)
    chance.shuffle(again)
    chance.shuffle(seats)
    assert voting_orders(again, seats, "seed") == orders
