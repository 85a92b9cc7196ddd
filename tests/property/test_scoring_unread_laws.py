"""A winner beside unread ballots is one that no votes of theirs could have overturned, by trying all of them."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import strategies as st
from property.scoring_strategies import EFFORT, holds

from roundtable.scoring import Choice, decide

RULES = (
    *("plurality", "majority", "supermajority", "unanimity", "hybrid", "approval", "borda", "dowdall"),
    *("confidence-weighted", "reconcile", "soft-vote", "irv", "coombs", "condorcet", "copeland", "schulze"),
    *("ranked-pairs", "kemeny-young", "majority(of=seats)", "hybrid(turn=9, small=2)", "random-dictator"),
)
OPTIONS = ("a", "b", "c")


@EFFORT
@pytest.mark.parametrize("rule", RULES)
def test_a_winner_is_safe_from_all_votes_of_unread_voters(rule: str, effort: int) -> None:
    def check(given: list[tuple[str | None, float]], unread: int, declared: bool) -> None:
        cast = [Choice(option, confidence=confidence) for option, confidence in given]
        voters = [f"v{number}" for number in range(len(cast) + unread)]
        options = OPTIONS if declared else None
        named = OPTIONS if declared else (*sorted({option for option, _ in given if option}), "z", "y")
        decision = decide(
            [*cast, *[None] * unread], rule=rule, voters=voters, unread=voters[len(cast) :], options=options
        )
        without = decide([*cast, *[None] * unread], rule=rule, voters=voters, options=options)
        possible = {
            decide(
                [*cast, *(Choice(option, confidence=1) for option in way)], rule=rule, voters=voters, options=options
            ).winner
            for way in product(named, repeat=unread)
        }
        if decision.winner is not None:
            assert possible == {decision.winner} == {without.winner}
        elif without.winner is not None:
            assert possible != {without.winner}
        assert decision.withheld == (None if decision.winner else without.winner)
        assert (decision.scores, decision.cast, decision.tied) == (without.scores, without.cast, without.tied)
        assert {*decision.unread, *decision.abstained} == {*without.abstained}

    votes = st.tuples(st.sampled_from((*OPTIONS, *OPTIONS, None)), st.sampled_from((0.3, 0.7, 1.0)))
    # The draw of the random dictator depends on the names of all options, so without options it proves nothing.
    declared = st.just(True) if rule == "random-dictator" else st.booleans()
    holds(effort, check, st.lists(votes, max_size=6), st.integers(1, 3), declared)
