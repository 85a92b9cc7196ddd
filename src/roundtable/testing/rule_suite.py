"""Conformance tests for decision rules, to inherit in the tests of a rule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roundtable.analysis import check_rule
from roundtable.core.base.registry import Registry
from roundtable.core.types.consensus import Decision
from roundtable.scoring import Choice, decide
from roundtable.testing.clocks import same_at_any_time
from roundtable.testing.suite import Suite, at_once, drawn_law

if TYPE_CHECKING:
    from roundtable.scoring import Ballot, Rule

__all__ = ["RuleSuite", "Threshold"]

Threshold: TypeAlias = tuple[Literal["at least", "more than"], Fraction]
"""The share of the votes that an option needs, and whether exactly this share is enough."""

_LAW = drawn_law(40)
_OPTIONS = ("tea", "coffee", "milk", "water")
_CONFIDENT_CHOICES = st.builds(Choice, st.sampled_from(_OPTIONS), confidence=st.sampled_from((0.2, 0.5, 0.9)))
_CHOICES = st.lists(st.sampled_from((*_OPTIONS, None)), max_size=7)
_TIE: list[str | Choice | None] = ["tea", "coffee", "milk"]
"""Tied ballots, which reveal whether a rule prefers a position, a name or a voter."""
_ANY_BALLOTS = st.lists(
    st.none()
    | st.sampled_from((*_OPTIONS, "", "\0", "something else"))
    | st.permutations(_OPTIONS)
    | st.sets(st.sampled_from(_OPTIONS))
    | st.dictionaries(st.sampled_from(_OPTIONS), st.integers(0, 10) | st.floats(allow_nan=True)),
    max_size=5,
)

_MAJORITIES: Final = ((2, 1), (3, 1), (3, 2), (3, 1, 1), (4, 2, 1), (5, 2, 2))
"""Votes for each option; more than half of them are for the first."""
_PLURALITIES: Final = ((2, 1, 1), (3, 2, 2), (2, 1, 1, 1))
"""Votes for each option; the first leads with half of them or fewer."""
_TIES: Final = ((1, 1), (2, 2), (3, 3), (2, 2, 1), (3, 3, 1, 1))
"""Votes for each option; the first two have equally many."""
_WEIGHED: Final[tuple[tuple[list[Ballot], list[int]], ...]] = (
    (["tea", "milk"], [2, 1]),
    (["tea", "milk"], [1, 3]),
    (["tea", "milk", "milk"], [3, 1, 1]),
    (["tea", "milk", "milk"], [2, 1, 1]),
    (["tea", "milk", "milk"], [0, 1, 1]),
    (["tea", "coffee", "milk", None], [2, 2, 3, 4]),
    ([["tea", "milk", "coffee", "water"], ["coffee", "tea", "milk", "water"]], [1, 2]),
    ([["tea", "milk", "coffee", "water"], ["milk", "coffee", "tea", "water"], ["coffee", "tea", "milk"]], [3, 2, 2]),
    ([{"tea", "milk"}, {"milk", "coffee"}, {"coffee"}], [1, 1, 3]),
    ([{"tea": 9, "milk": 1}, {"tea": 2, "milk": 8}], [1, 3]),
    ([{"tea": 0.7, "milk": 0.3}, {"tea": 0.4, "milk": 0.6}], [3, 1]),
)
"""Ballots of each form, with whole weights."""


def _cast(votes: Iterable[int], options: Sequence[str] = _OPTIONS) -> list[Ballot]:
    """Return the ballots of equally confident voters: `votes` of them for each option in turn."""
    return [Choice(option, confidence=0.9) for option, count in zip(options, votes, strict=False) for _ in range(count)]


class RuleSuite(Suite):
    """Tests of a decision rule: inherit this class, and define the fixture `rule`.

    Example:
        ```python
        class TestVeto(RuleSuite):
            @pytest.fixture
            def rule(self):
                return Rule("veto", veto)
        ```
    """

    reads_choices: ClassVar[bool] = True
    """Whether the rule can count positions, which are choices with a confidence. A debate needs this."""
    follows_unanimity: ClassVar[bool] = True
    """Whether a unanimous choice wins."""
    is_neutral: ClassVar[bool] = True
    """Whether the rule treats all options alike, independent of name and order."""
    follows_majority: ClassVar[bool] = True
    """Whether an option wins that more than half of the voters choose. A rule with a threshold sets `threshold`."""
    threshold: ClassVar[Threshold | None] = None
    """The share of the votes that an option needs, such as `("at least", Fraction(2, 3))`; `None` if the option with
    the most votes wins."""

    @pytest.fixture
    def rule(self) -> Rule:
        """Return the rule under test."""
        raise NotImplementedError("a rule suite needs a fixture `rule`")

    @pytest.fixture(autouse=True)
    def decides_at_once(self, rule: Rule) -> None:
        """Fail early if the rule waits."""
        self.refuse_waiting(partial(decide, ["tea", "coffee", "tea"], rule=rule))

    def test_it_can_be_registered_and_asked_for(self, rule: Rule) -> None:
        """The rule can be registered and found by its name."""
        rules = Registry["Rule"]("rule")
        rules.add(rule.name, rule, summary=rule.summary)
        assert decide([], rule=rule.name, rules=rules) == decide([], rule=rule)
        if self.reads_choices:
            check_rule(rule)

    @_LAW
    @given(ballots=_ANY_BALLOTS)
    def test_no_ballot_breaks_it(self, rule: Rule, ballots: list[object]) -> None:
        """Invalid ballots raise no error, scores are finite, and the decision can be stored and read back."""
        decision = decide(ballots, rule=rule)  # type: ignore[arg-type]  # ballots of all kinds, also invalid ones
        assert all(math.isfinite(score) for score in decision.scores.values())
        assert Decision.from_json(decision.to_json()) == decision
        assert decision.why.strip()
        assert decision.passed == (len(decision.winners) == 1)

    @_LAW
    @given(data=st.data(), ballots=_CHOICES | st.lists(_CONFIDENT_CHOICES, max_size=7))
    def test_the_order_of_ballots_does_not_matter(
        self, rule: Rule, data: st.DataObject, ballots: list[str | Choice | None]
    ) -> None:
        """The position of a ballot has no influence on the decision."""
        for votes in (ballots, _TIE):
            first = decide(votes, rule=rule, options=_OPTIONS)
            for shuffled in (data.draw(st.permutations(votes)), votes[::-1]):
                second = decide(shuffled, rule=rule, options=_OPTIONS)
                assert set(first.winners) == set(second.winners)
                assert (first.scores, first.is_tie) == (second.scores, second.is_tie)

    @_LAW
    @given(ballots=_CHOICES)
    def test_the_same_ballots_give_the_same_decision(self, rule: Rule, ballots: list[str | None]) -> None:
        """The rule is deterministic, has no state and does not wait."""
        assert at_once(partial(decide, ballots, rule=rule)) == decide(ballots, rule=rule)

    def test_it_does_not_read_the_clock(self, rule: Rule) -> None:
        """A decision does not depend on the wall clock."""
        decisions = [partial(decide, ballots, rule=rule, options=_OPTIONS) for ballots, _ in _WEIGHED]
        same_at_any_time(decisions, rule.count, f"the decision of the rule {rule.name!r}")

    @_LAW
    @given(ballots=_CHOICES)
    def test_winners_are_options(self, rule: Rule, ballots: list[str | None]) -> None:
        """Winners, ties and scores contain only the options."""
        decision = decide(ballots, rule=rule, options=_OPTIONS)
        assert set(decision.winners) | set(decision.tied) | set(decision.scores) <= set(_OPTIONS)

    def test_without_a_ballot_nobody_wins(self, rule: Rule) -> None:
        """Without ballots there is no winner."""
        for ballots in ([], [None], [None, None]):
            assert decide(ballots, rule=rule, options=_OPTIONS).winner is None

    def test_what_all_choose_wins(self, rule: Rule) -> None:
        """A unanimous choice wins, if `follows_unanimity` is set."""
        if self.follows_unanimity and self.reads_choices:
            ballots = [Choice("tea", confidence=0.9)] * 3
            assert decide(ballots, rule=rule, options=_OPTIONS).winner == "tea"

    @_LAW
    @given(ballots=_CHOICES, turn=st.integers(1, 3))
    @example(ballots=_TIE, turn=2)
    @example(ballots=_TIE, turn=3)
    def test_names_of_options_do_not_matter(self, rule: Rule, ballots: list[str | None], turn: int) -> None:
        """Renaming the options renames the winners, if the rule is neutral."""
        if not self.is_neutral:
            return
        names: dict[str, str] = dict(zip(_OPTIONS, (*_OPTIONS[turn:], *_OPTIONS[:turn]), strict=True))
        renamed = [None if vote is None else names[vote] for vote in ballots]
        before = decide(ballots, rule=rule, options=_OPTIONS).winners
        after = decide(renamed, rule=rule, options=tuple(names.values())).winners
        assert {names[winner] for winner in before} == set(after)

    @_LAW
    @given(ballots=_CHOICES, listed=st.permutations(_OPTIONS))
    @example(ballots=_TIE, listed=list(_OPTIONS[::-1]))
    def test_the_order_of_options_does_not_matter(
        self, rule: Rule, ballots: list[str | None], listed: list[str]
    ) -> None:
        """The order of the options has no influence, if the rule is neutral."""
        if self.is_neutral:
            first, second = (decide(ballots, rule=rule, options=options) for options in (_OPTIONS, listed))
            assert (set(first.winners), set(first.tied)) == (set(second.winners), set(second.tied))

    def test_what_more_than_half_choose_wins(self, rule: Rule) -> None:
        """A strict majority wins, if `follows_majority` is set: each equal ballot counts, as `vote.weight` says."""
        if not (self.reads_choices and self.follows_majority) or self.threshold is not None:
            return
        for votes in _MAJORITIES:
            for options in (_OPTIONS, _OPTIONS[::-1]):
                decision = decide(_cast(votes, options), rule=rule, options=_OPTIONS)
                assert decision.winner == options[0], (
                    f"{votes[0]} of {sum(votes)} choose {options[0]!r}, but the decision is {_shown(decision)}. Count "
                    "each vote with its `vote.weight`: equal ballots are one vote. If the rule needs a larger share, "
                    "set `threshold`; if it follows something else, set follows_majority = False"
                )

    def test_one_vote_decides_among_many(self, rule: Rule) -> None:
        """The count is exact: one vote more wins, also among two billion, if `follows_majority` is set."""
        if not (self.reads_choices and self.follows_majority) or self.threshold is not None:
            return
        for number in (1_000, 10**9):
            for first, second in (_OPTIONS[:2], _OPTIONS[1::-1]):
                ballots = [Choice(option, confidence=0.9) for option in (first, second)]
                decision = decide(ballots, rule=rule, options=_OPTIONS, weights=[number + 1, number])
                assert decision.winner == first, (
                    f"{first!r} has {number + 1:,} votes and {second!r} {number:,}, but the decision is "
                    f"{_shown(decision)}; compare exact numbers, not rounded shares or floats"
                )

    def test_its_threshold_is_exact(self, rule: Rule) -> None:
        """A rule with a threshold declares it; an option with exactly this share wins only under "at least"."""
        if not self.reads_choices:
            return
        if self.threshold is None:
            for votes in _PLURALITIES if self.follows_majority else ():
                decision = decide(_cast(votes), rule=rule, options=_OPTIONS)
                assert decision.winner is not None or decision.is_tie, (
                    f"nobody wins with {votes[0]} of {sum(votes)} votes: set `threshold` to the share that wins"
                )
            return
        kind, share = self.threshold
        most, whole = share.numerator, share.denominator
        for times in (2, 3):
            for more in (-1, 0, 1) if most < whole else (-1, 0):
                count, others = most * times + more, (whole - most) * times - more
                votes = (count, (others + 1) // 2, others // 2)
                enough = count > most * times or (count == most * times and kind == "at least")
                for ballots, weights in ((_cast(votes), None), (_cast(map(bool, votes)), [*filter(None, votes)])):
                    decision = decide(ballots, rule=rule, options=_OPTIONS, weights=weights)
                    assert (decision.winner == "tea") == enough, (
                        f"{count} of {sum(votes)} votes are {'' if enough else 'not '}{kind} {share}, "
                        f"but the decision is {_shown(decision)}"
                    )

    def test_two_options_with_equal_ballots_tie(self, rule: Rule) -> None:
        """If two options have equally many votes, neither of them wins alone, if the rule is neutral."""
        if not (self.reads_choices and self.is_neutral):
            return
        for votes in _TIES:
            for options in (_OPTIONS, _OPTIONS[::-1]):
                for ballots in (_cast(votes, options), _cast(votes, options)[::-1]):
                    decision = decide(ballots, rule=rule, options=_OPTIONS)
                    first, second = (option in decision.winners for option in options[:2])
                    assert first == second, (
                        f"{options[0]!r} and {options[1]!r} have {votes[0]} of {sum(votes)} votes each, "
                        f"but the decision is {_shown(decision)}; return both as leaders"
                    )

    def test_a_weight_counts_as_so_many_ballots(self, rule: Rule) -> None:
        """A ballot of weight 3 decides like three equal ballots; multiplying all weights changes nothing."""
        for ballots, weights in _WEIGHED:
            repeated = [ballot for ballot, weight in zip(ballots, weights, strict=True) for _ in range(weight)]
            expected = decide(repeated, rule=rule, options=_OPTIONS)
            for factor in (Fraction(1), Fraction(3), Fraction(1, 3)):
                scaled = [weight * factor for weight in weights]
                decision = decide(ballots, rule=rule, options=_OPTIONS, weights=scaled)
                assert (decision.winners, set(decision.tied)) == (expected.winners, set(expected.tied)), (
                    f"weights {weights} of {ballots} times {factor}: the decision is {_shown(decision)}, "
                    f"but with as many equal ballots it is {_shown(expected)}; count `vote.weight`, not ballots"
                )


def _shown(decision: Decision) -> str:
    tie = f"a tie of {', '.join(decision.tied)}" if decision.tied else "that nobody wins"
    return f"{tie} ({decision.why})" if decision.winner is None else repr(decision.winner)
