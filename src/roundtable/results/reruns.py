"""Reruns: what a debate decides if its last round is repeated with a change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from pydantic import computed_field

from roundtable.core.base.words import counted
from roundtable.core.types.base import Share, Value
from roundtable.core.types.chat import Usage
from roundtable.metrics.intervals import wilson_interval
from roundtable.report.sanitize import plain, unmarked

__all__ = ["RerunAudit", "RerunChange", "RerunOutcome"]

RerunChange: TypeAlias = Literal["seats", "labels"]
"""What is changed: the order of the agents and the seed (`"seats"`), or only the seed (`"labels"`)."""

_HOLDS: Final[Mapping[bool | None, str]] = {True: "Held", False: "Changed", None: "Not compared"}


class RerunOutcome(Value):
    """One repetition of the last round."""

    session_id: str
    """Id of the repetition's session, which is a fork of the audited session."""
    answer: str | None
    """Answer of the repetition; `None` if it has no answer."""
    holds: bool | None
    """Whether the repetition's answer is the same as the audited answer; `None` if nobody compared the two wordings."""
    agreement: Share | None
    """Agreement of the repetition's answers, as far as it is certain; `None` if no agent answered."""
    agreement_in_words: str
    """The agreement as a figure or an interval."""


class RerunAudit(Value):
    """How often a debate's answer stays the same if the last round is repeated; see `Roundtable.rerun`."""

    session_id: str
    """The audited session."""
    topic: str
    """Question of the audited session."""
    answer: str | None
    """Answer of the audited session."""
    change: RerunChange
    """What was changed."""
    without: str | None
    """Name of the agent that was left out; `None` if all took part."""
    round: int
    """Round that was repeated, from 1."""
    outcomes: tuple[RerunOutcome, ...]
    """The repetitions, in the order of their seeds."""
    usage: Usage
    """What all repetitions consumed together."""

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def held(self) -> int:
        """Number of repetitions that certainly have the same answer."""
        return sum(outcome.holds is True for outcome in self.outcomes)

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def held_at_most(self) -> int:
        """Number of repetitions with the same answer, if every answer that nobody compared says the same too."""
        return sum(outcome.holds is not False for outcome in self.outcomes)

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def interval(self) -> tuple[float, float]:
        """Share of all possible repetitions in which the answer stays the same: 95 % Wilson interval, in [0, 1].

        The interval reaches from the lower bound for `held` to the upper bound for `held_at_most`.
        """
        times = len(self.outcomes)
        return wilson_interval(self.held, times).low, wilson_interval(self.held_at_most, times).high

    @property
    def answers(self) -> Mapping[str | None, int]:
        """Number of repetitions by answer, the most frequent answer first; different wordings are not joined."""
        return dict(Counter(outcome.answer for outcome in self.outcomes).most_common())

    def to_text(self) -> str:
        """Return the figures and every repetition in words."""
        low, high = self.interval
        shuffled = "agents in another order" if self.change == "seats" else "the same order of agents"
        others = "" if self.without is None else f", without {_in_line(self.without)}"
        held_count = f"{self.held}" if self.held == self.held_at_most else f"{self.held} to {self.held_at_most}"
        times = counted(len(self.outcomes), "time")
        lines = [
            f"Rerun: {_in_line(self.topic)}",
            "",
            f"Answer: {'none' if self.answer is None else _in_line(self.answer)}",
            f"Repeated: round {self.round}, {times}, with {shuffled} and another seed{others}",
            f"Held: {held_count} of {len(self.outcomes)}; 95 % interval {low:.0%} to {high:.0%}",
        ]
        lines += [f"{_HOLDS[outcome.holds]}: {_answer(outcome)}" for outcome in self.outcomes]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()


def _answer(outcome: RerunOutcome) -> str:
    answer = "no answer" if outcome.answer is None else _in_line(outcome.answer)
    return f"{answer}, agreement {outcome.agreement_in_words} (session {outcome.session_id})"


def _in_line(text: str) -> str:
    """Return text of agents or callers in one line, without Markdown marks and control characters."""
    return plain(unmarked(text))
