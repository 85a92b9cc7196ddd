"""Conformance tests for decision rules, to inherit in the tests of a rule."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roundtable._core.registry import Registry
from roundtable.analysis import check_rule
from roundtable.scoring import Choice, decide
from roundtable.testing.suite import Suite, at_once, drawn_law, refuse_waiting
from roundtable.types import Decision

if TYPE_CHECKING:
    from roundtable.scoring import Rule

__all__ = ["RuleSuite"]

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

    @pytest.fixture
    def rule(self) -> Rule:
        """Return the rule under test."""
        raise NotImplementedError("a rule suite needs a fixture `rule`")

    @pytest.fixture(autouse=True)
    def decides_at_once(self, rule: Rule) -> None:
        """Fail early if the rule waits."""
        refuse_waiting(partial(decide, ["tea", "coffee", "tea"], rule=rule))

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
