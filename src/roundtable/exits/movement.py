"""Stop criteria on movement: positions converged, distributions stable, no progress, leader unassailable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from roundtable.errors import ConfigurationError
from roundtable.exits.answers import answers_of, held, turns_of
from roundtable.exits.base import Exit, as_json, going_on, whole
from roundtable.protocols import ExitRound
from roundtable.scoring.agreement import entropy, jensen_shannon, tally, total_variation
from roundtable.scoring.precise import Number, exact, exact_or_none, share
from roundtable.scoring.words import counted, listing
from roundtable.types import AgentResponse, ExitResult, FailedTurn, JsonValue

__all__ = ["Converged", "LeaderUnassailable", "NoProgress", "Stable"]


@dataclass(frozen=True, slots=True)
class Converged(Exit):
    """Ends when no agent moved through the last rounds; reason `convergence`.

    An agent holds its position when it chooses the same option; without options, when its stance is the same and its
    wording is equal, or overlaps by `similarity` with the same numbers and negations: in any script. Agents that did
    not answer in each of these rounds are left out, and named in the figures.

    Example:
        >>> Converged(rounds=2).to_spec()
        {'kind': 'convergence', 'rounds': 2, 'similarity': 0.7}
    """

    kind = "convergence"
    rounds: int = 2
    """Rounds in a row, the last one included, in which nobody may have moved; from 2."""
    similarity: Number = 0.7
    """Share of common words (Jaccard) in [0, 1] from which two wordings count as one position."""

    def __post_init__(self) -> None:
        """Check both numbers.

        Raises:
            ConfigurationError: Fewer than two rounds, or a similarity that is no share.
        """
        whole(self.rounds, "Converged", 2)
        object.__setattr__(self, "similarity", share(self.similarity, "similarity of Converged"))

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Compare each agent's positions through the last rounds."""
        if len(rounds) < self.rounds:
            return going_on(f"{counted(len(rounds), 'round')} of {self.rounds} to compare")
        window = [{said.agent_id: said for said in one.responses} for one in rounds[-self.rounds :]]
        everyone = sorted({agent for one in window for agent in one})
        present = [agent for agent in everyone if all(agent in one for one in window)]
        moved = [agent for agent in present if not self._held(agent, window)]
        figures: dict[str, JsonValue] = {
            "rounds": self.rounds,
            "compared": list(present),
            "moved": list(moved),
            "absent": [agent for agent in everyone if agent not in present],
        }
        if not present:
            return going_on(f"no agent answered in all of the last {self.rounds} rounds", **figures)
        if moved:
            return going_on(f"{listing(moved)} moved", **figures)
        words = f"no agent moved in the last {self.rounds} rounds"
        return ExitResult(should_exit=True, reason=self.kind, details=words, figures=figures)

    def _held(self, agent: str, window: Sequence[Mapping[str, AgentResponse]]) -> bool:
        return all(held(before[agent], after[agent], exact(self.similarity)) for before, after in pairwise(window))


@dataclass(frozen=True, slots=True)
class Stable(Exit):
    """Ends when the distribution of answers barely moves any more; reason `stable`.

    Each threshold given must hold for `patience` successive pairs of rounds. Without any, `jsd` is 0.05. Answers are
    compared by choice where all have one, else by stance, else by wording.

    Example:
        >>> Stable(ks="0.1").to_spec()
        {'kind': 'stable', 'entropy': None, 'jsd': None, 'ks': 0.1, 'patience': 2}
    """

    kind = "stable"
    entropy: Number | None = None
    """Most change of the Shannon entropy, in bits."""
    jsd: Number | None = None
    """Largest Jensen-Shannon divergence, in bits, in [0, 1]."""
    ks: Number | None = None
    """Largest Kolmogorov-Smirnov distance in [0, 1]: between numbers when all answers are numbers; else the widest gap
    over every order of the options, which is the total variation."""
    patience: int = 2
    """Successive pairs of rounds that must be stable, from 1."""

    def __post_init__(self) -> None:
        """Read the thresholds exactly.

        Raises:
            ConfigurationError: One of them is no number of at least 0, or `patience` is below 1.
        """
        whole(self.patience, "patience of Stable")
        if self.entropy is None and self.jsd is None and self.ks is None:
            object.__setattr__(self, "jsd", Fraction(1, 20))
        for name in ("entropy", "jsd", "ks"):
            value = getattr(self, name)
            if value is None:
                continue
            bound = exact(value, f"{name} of Stable")
            if bound < 0:
                raise ConfigurationError(f"{name} of Stable must be at least 0, not {value!r}")
            object.__setattr__(self, name, bound)

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Measure the last pairs of successive rounds."""
        if len(rounds) <= self.patience:
            return going_on(f"{counted(len(rounds), 'round')} of {self.patience + 1} to compare")
        answers = answers_of(rounds[-self.patience - 1 :])
        pairs = list(pairwise([list(one.values()) for one in answers.rounds]))
        if not all(before and after for before, after in pairs):
            return going_on("a round has no answers")
        bounds = {"entropy": self.entropy, "jsd": self.jsd, "ks": self.ks}
        asked = {name: exact(bound) for name, bound in bounds.items() if bound is not None}
        widest = {name: max(_change(name, before, after) for before, after in pairs) for name in asked}
        figures: dict[str, JsonValue] = {
            "basis": answers.basis,
            "patience": self.patience,
            "widest": {name: float(change) for name, change in widest.items()},
            "thresholds": {name: as_json(bound) for name, bound in asked.items()},
        }
        moves = (f"{name} moved by {float(widest[name]):.4g} of {float(bound):.4g}" for name, bound in asked.items())
        words = ", ".join(moves)
        if any(widest[name] > bound for name, bound in asked.items()):
            return going_on(words, **figures)
        return ExitResult(should_exit=True, reason=self.kind, details=words, figures=figures)


def _change(name: str, before: Sequence[str], after: Sequence[str]) -> Fraction | float:
    if name == "entropy":
        return abs(entropy(tally(after).values()) - entropy(tally(before).values()))
    if name == "jsd":
        return float(jensen_shannon(before, after))
    numbers = [exact_or_none(answer) for answer in (*before, *after)]
    given = [number for number in numbers if number is not None]
    if len(given) == len(numbers):
        return _kolmogorov_smirnov(given[: len(before)], given[len(before) :])
    return total_variation(before, after).value or Fraction(0)


def _kolmogorov_smirnov(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """Give the widest gap between the two empirical distribution functions."""
    return max(
        abs(Fraction(sum(x <= at for x in one), len(one)) - Fraction(sum(x <= at for x in other), len(other)))
        for at in {*one, *other}
    )


@dataclass(frozen=True, slots=True)
class NoProgress(Exit):
    """Ends when the last rounds brought no more agreement than there was before; reason `no_progress`.

    A deadlock, also one in which agents swap positions. Never where a round was not measured or stances were assigned.

    Example:
        >>> NoProgress().to_spec()
        {'kind': 'no_progress', 'rounds': 2, 'gain': 0.0}
    """

    kind = "no_progress"
    rounds: int = 2
    """Rounds without progress that end the debate, from 1; as many plus one are needed."""
    gain: Number = 0
    """Rise of the agreement level in [0, 1] that is needed to count as progress; 0 takes any rise."""

    def __post_init__(self) -> None:
        """Check both numbers.

        Raises:
            ConfigurationError: Fewer rounds than one, or a gain that is no share.
        """
        whole(self.rounds, "NoProgress")
        object.__setattr__(self, "gain", share(self.gain, "gain of NoProgress"))

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Compare the best agreement of the last rounds with the best before."""
        if len(rounds) <= self.rounds:
            return going_on(f"{counted(len(rounds), 'round')} of {self.rounds + 1} to compare")
        measured = [one.consensus for one in rounds]
        known = [consensus for consensus in measured if consensus is not None and not consensus.assigned]
        if len(known) < len(measured):
            return going_on("agreement was not measured in every round, or stances were assigned")
        levels = [exact(consensus.agreement_level) for consensus in known]
        before, since = max(levels[: -self.rounds]), max(levels[-self.rounds :])
        rise = since - before
        figures: dict[str, JsonValue] = {"before": float(before), "since": float(since), "rounds": self.rounds}
        words = f"best agreement was {float(before):.4g}, and {float(since):.4g} in the last {self.rounds}"
        if rise > 0 and rise >= exact(self.gain):
            return going_on(words, **figures)
        return ExitResult(should_exit=True, reason=self.kind, details=words, figures=figures)


@dataclass(frozen=True, slots=True)
class LeaderUnassailable(Exit):
    """Ends when nobody who may still vote or change can overturn the leader; reason `unassailable`.

    Each agent's latest answer counts. Who gave the same answer twice in a row is taken to hold it; who changed the
    last one, and who answered only once, may still change. The leader's lead over the next must exceed the number of
    agents without an answer plus twice the number of those who may change, since each takes one vote from the leader
    and gives it to the next. A round in which everybody answers for the first time therefore never ends a debate, save
    with `votes_once`: then an answer stands, and only missing ones can turn the leader.

    Example:
        >>> LeaderUnassailable(voters=5).to_spec()
        {'kind': 'unassailable', 'voters': 5, 'votesOnce': False}
    """

    kind = "unassailable"
    voters: int | None = None
    """Agents that vote in all; `None` counts those that answered or failed so far."""
    votes_once: bool = False
    """Whether agents vote once and cannot change, as where each speaks in a round of its own."""

    def __post_init__(self) -> None:
        """Check the number.

        Raises:
            ConfigurationError: It is below 1.
        """
        if self.voters is not None:
            whole(self.voters, "voters of LeaderUnassailable")

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Count the latest answers, and who may still move."""
        answers = answers_of(rounds)
        history: dict[str, list[str]] = {}
        for one in answers.rounds:
            for agent, answer in one.items():
                history.setdefault(agent, []).append(answer)
        if not history:
            return going_on("nobody answered")
        failed = {turn.agent_id for one in rounds for turn in turns_of(one) if isinstance(turn, FailedTurn)}
        expected = len(failed | history.keys()) if self.voters is None else self.voters
        missing = max(0, expected - len(history))
        movers = 0 if self.votes_once else sum(given[-1:] != given[-2:-1] for given in history.values())
        ranked = [*Counter(given[-1] for given in history.values()).most_common(2), ("", 0)]
        (leader, votes), (_, next_votes) = ranked[:2]
        lead, needed = votes - next_votes, missing + 2 * movers
        figures: dict[str, JsonValue] = {
            "basis": answers.basis,
            "leader": leader,
            "lead": lead,
            "missing": missing,
            "movers": movers,
        }
        can_turn = f"{counted(missing, 'missing vote')} and {counted(movers, 'mover')} can turn {needed}"
        words = f"the lead is {lead}; {can_turn}"
        if lead <= needed:
            return going_on(words, **figures)
        return ExitResult(should_exit=True, reason=self.kind, details=words, figures=figures)
