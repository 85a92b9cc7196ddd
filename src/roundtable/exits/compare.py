"""Stop criteria that compare rounds: convergence, stability, no progress, an unassailable leader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal, Self, TypeAlias

from roundtable.core.base.arguments import explains_arguments
from roundtable.core.base.words import counted, listing, share_text
from roundtable.core.errors import ConfigurationError
from roundtable.core.protocols import ExitRound
from roundtable.core.types.answers import AgentResponse, TurnKey
from roundtable.core.types.base import JsonValue
from roundtable.core.types.debate import AnyTurn, ExitResult, FailedTurn, Turn
from roundtable.exits.base import Exit, Load, as_json, not_ended, whole
from roundtable.metrics.agreement import entropy, jensen_shannon, tally, total_variation
from roundtable.scoring.camps import compare_answers, to_open_answer
from roundtable.scoring.numbers import Number, exact, exact_or_none, share
from roundtable.scoring.open_answers import is_abstention, open_key

__all__ = [
    "Answers",
    "Basis",
    "Converged",
    "LeadIsDecisive",
    "NoProgress",
    "Stable",
    "answers_of",
    "count_answers",
    "kept_position",
    "turns_of",
]


Basis: TypeAlias = Literal["choice", "stance", "position"]
"""What is compared between answers: the chosen option, the assigned side, or the text."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of several rounds, compared on one basis."""

    basis: Basis
    """Basis of comparison."""
    rounds: tuple[dict[str, str], ...]
    """For each round, the latest answer of each agent."""


def answers_of(rounds: Sequence[ExitRound]) -> Answers:
    """Return the answers of several rounds: their choices if all have one, else their texts.

    The text of an answer is its bottom line or, without one, its position. Equal texts are equal answers; different
    texts may still say the same. Texts that abstain are left out. If the mode assigned sides, the stances are the
    answers. In other modes they are not, since agents that all say YES may still give different answers.
    """
    responses = [response for round_ in rounds for response in round_.responses]
    basis: Basis = "position"
    if responses and all(response.choice is not None for response in responses):
        basis = "choice"
    elif _are_sides_assigned(rounds) and all(response.stance in {"YES", "NO"} for response in responses):
        basis = "stance"
    by_round = [
        {response.agent_id: _answer(response, basis) for response in round_.responses if not _abstains(response, basis)}
        for round_ in rounds
    ]
    return Answers(basis, tuple(by_round))


def _are_sides_assigned(rounds: Sequence[ExitRound]) -> bool:
    return bool(rounds) and all(round_.consensus is not None and round_.consensus.assigned for round_ in rounds)


def _abstains(response: AgentResponse, basis: Basis) -> bool:
    return basis == "position" and is_abstention(response.bottom_line or response.position)


def _answer(response: AgentResponse, basis: Basis) -> str:
    if basis == "position":
        return open_key(response.bottom_line or response.position)
    return (response.choice if basis == "choice" else response.stance) or ""


def turns_of(exit_round: ExitRound) -> tuple[AnyTurn, ...]:
    """Return the turns of a round; empty if the round does not store them, as `RoundRecord` does."""
    turns: object = getattr(exit_round, "turns", ())
    return tuple(turn for turn in turns if isinstance(turn, Turn | FailedTurn)) if isinstance(turns, tuple) else ()


def count_answers(exit_round: ExitRound) -> tuple[int, int]:
    """Return how many agents gave an answer, without abstentions, and how many were asked."""
    missing: object = getattr(exit_round, "missing", ())
    spoke = {response.agent_id for response in exit_round.responses}
    abstained = spoke & set(exit_round.consensus.abstained if exit_round.consensus else ())
    return len(spoke) - len(abstained), len(spoke) + (len(missing) if isinstance(missing, tuple) else 0)


def kept_position(before: AgentResponse, after: AgentResponse) -> bool:
    """Check whether an agent certainly kept its position.

    The agent kept its position if its two answers are equal by the rules of `roundtable.scoring.camps`, or if it
    abstained twice. A different wording does not show that an answer is still the same, nor does the agent's own word.

    Args:
        before: The agent's earlier answer.
        after: The agent's later answer.

    Example:
        >>> def says(text):
        ...     return AgentResponse(agent_id="ada", agent_name="Ada", position=text)
        >>> [kept_position(says("Adopt it now"), says(later)) for later in ("adopt it now.", "Adopt it, now!")]
        [True, False]
    """
    verdicts = compare_answers([to_open_answer("before", before, {}), to_open_answer("after", after, {})])
    if not verdicts:
        return True
    return verdicts.get("before", {}).get("after") == "same"


@explains_arguments
@dataclass(frozen=True, slots=True)
class Converged(Exit):
    """Ends when no agent changed its answer in the last rounds; reason `convergence`.

    An agent keeps its position if it chooses the same option, if it gives an equal answer, or if another agent says
    that its answer is still the same. Equal answers have the same bottom line or, without one, the same position; the
    letter case of words, outer quotes and a full stop at the end do not count. A different wording alone counts as a
    change. Agents that did not answer in each of these rounds are left out; the figures name them.

    Example:
        >>> Converged(rounds=2).to_spec()
        {'kind': 'convergence', 'rounds': 2}
    """

    kind = "convergence"
    rounds: int = 2
    """Number of rounds, up to the last one, that must have the same answers; at least 2."""

    def __post_init__(self) -> None:
        """Check the number.

        Raises:
            ConfigurationError: `rounds` is below 2.
        """
        whole(self.rounds, "Converged", 2)

    @classmethod
    def from_spec(cls, spec: Mapping[str, JsonValue], load: Load, /) -> Self:
        """Create the criterion from its JSON; `similarity`, from sessions of version 0.2, is ignored.

        Raises:
            ConfigurationError: A field is unknown or out of range.
        """
        known = {name: value for name, value in spec.items() if name != "similarity"}
        return super(Converged, cls).from_spec(known, load)

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Compare each agent's positions in the last rounds."""
        if len(rounds) < self.rounds:
            return not_ended(f"{counted(len(rounds), 'round')} of {self.rounds} to compare")
        last = rounds[-self.rounds :]
        window = [{response.agent_id: response for response in round_.responses} for round_ in last]
        everyone = sorted({agent for responses in window for agent in responses})
        present = [agent for agent in everyone if all(agent in responses for responses in window)]
        keys = [{turn.agent_id: turn.key for turn in _position_turns(round_)} for round_ in last]
        moved = [agent for agent in present if not _kept_through(agent, window, keys)]
        figures: dict[str, JsonValue] = {
            "rounds": self.rounds,
            "compared": list(present),
            "moved": list(moved),
            "absent": [agent for agent in everyone if agent not in present],
        }
        if not present:
            return not_ended(f"no agent answered in all of the last {self.rounds} rounds", **figures)
        if moved:
            return not_ended(f"{listing(moved)} moved", **figures)
        details = f"no agent moved in the last {self.rounds} rounds"
        return ExitResult(should_exit=True, reason=self.kind, details=details, figures=figures)


def _kept_through(
    agent: str, window: Sequence[Mapping[str, AgentResponse]], keys: Sequence[Mapping[str, TurnKey]]
) -> bool:
    """Check whether an agent kept its position in each pair of successive rounds."""
    return all(
        kept_position(before[agent], after[agent]) or _is_confirmed(agent, before, after, key)
        for (before, after), key in zip(pairwise(window), keys, strict=False)
    )


def _is_confirmed(
    agent: str, before: Mapping[str, AgentResponse], after: Mapping[str, AgentResponse], key: Mapping[str, TurnKey]
) -> bool:
    """Check whether another agent says that an agent's answer is still the same."""
    known = {turn: before[speaker] for speaker, turn in key.items() if speaker in before}
    earlier = to_open_answer("before", before[agent], {})
    later = [to_open_answer(f"after {speaker}", response, known) for speaker, response in after.items()]
    return compare_answers([earlier, *later]).get("before", {}).get(f"after {agent}") == "same"


def _position_turns(exit_round: ExitRound) -> Iterator[AnyTurn]:
    return (turn for turn in turns_of(exit_round) if turn.outcome == "answered" and turn.answer.kind == "position")


@explains_arguments
@dataclass(frozen=True, slots=True)
class Stable(Exit):
    """Ends when the distribution of answers hardly changes any more; reason `stable`.

    Each given threshold must hold for the last `patience` pairs of successive rounds. If none is given, `jsd` is 0.05.
    Answers are compared by choice if all have one, else by side if sides were assigned, else by wording.

    Example:
        >>> Stable(ks="0.1").to_spec()
        {'kind': 'stable', 'entropy': None, 'jsd': None, 'ks': 0.1, 'patience': 2}
    """

    kind = "stable"
    entropy: Number | None = None
    """Largest change of the Shannon entropy, in bits."""
    jsd: Number | None = None
    """Largest Jensen-Shannon divergence, in bits, in [0, 1]."""
    ks: Number | None = None
    """Largest Kolmogorov-Smirnov distance in [0, 1]. If all answers are numbers, it is the distance between their
    distributions; otherwise it is the widest gap over all orders of the options, which is the total variation."""
    patience: int = 2
    """Number of pairs of successive rounds that must be stable, at least 1."""

    def __post_init__(self) -> None:
        """Read the thresholds exactly.

        Raises:
            ConfigurationError: A threshold is not a number of at least 0, or `patience` is below 1.
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
            return not_ended(f"{counted(len(rounds), 'round')} of {self.patience + 1} to compare")
        answers = answers_of(rounds[-self.patience - 1 :])
        pairs = list(pairwise([list(answer_of.values()) for answer_of in answers.rounds]))
        if not all(before and after for before, after in pairs):
            return not_ended("a round has no answers")
        bounds = {"entropy": self.entropy, "jsd": self.jsd, "ks": self.ks}
        thresholds = {name: exact(bound) for name, bound in bounds.items() if bound is not None}
        widest = {name: max(_change(name, before, after) for before, after in pairs) for name in thresholds}
        figures: dict[str, JsonValue] = {
            "basis": answers.basis,
            "patience": self.patience,
            "widest": {name: float(change) for name, change in widest.items()},
            "thresholds": {name: as_json(bound) for name, bound in thresholds.items()},
        }
        moves = (
            f"{name} moved by {float(widest[name]):.4g} of {float(bound):.4g}" for name, bound in thresholds.items()
        )
        details = ", ".join(moves)
        if any(widest[name] > bound for name, bound in thresholds.items()):
            return not_ended(details, **figures)
        return ExitResult(should_exit=True, reason=self.kind, details=details, figures=figures)


def _change(name: str, before: Sequence[str], after: Sequence[str]) -> Fraction | float:
    if name == "entropy":
        return abs(entropy(tally(after, "exact").values()) - entropy(tally(before, "exact").values()))
    if name == "jsd":
        return float(jensen_shannon(before, after, normalise="exact"))
    numbers = [exact_or_none(answer) for answer in (*before, *after)]
    known = [number for number in numbers if number is not None]
    if len(known) == len(numbers):
        return _kolmogorov_smirnov(known[: len(before)], known[len(before) :])
    return total_variation(before, after, normalise="exact").value or Fraction(0)


def _kolmogorov_smirnov(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    """Return the widest gap between the two empirical distribution functions."""
    return max(
        abs(
            Fraction(sum(value <= threshold for value in first), len(first))
            - Fraction(sum(value <= threshold for value in second), len(second))
        )
        for threshold in {*first, *second}
    )


@explains_arguments
@dataclass(frozen=True, slots=True)
class NoProgress(Exit):
    """Ends when the last rounds did not bring more agreement than the rounds before; reason `no_progress`.

    This detects a deadlock, including one in which agents swap positions. The criterion never holds if the agreement of
    a round was not measured or is an interval, if rounds were measured by different methods, or if stances were
    assigned.

    Example:
        >>> NoProgress().to_spec()
        {'kind': 'no_progress', 'rounds': 2, 'gain': 0.0}
    """

    kind = "no_progress"
    rounds: int = 2
    """Number of rounds without progress after which the debate ends, at least 1. The debate needs at least one round
    more."""
    gain: Number = 0
    """Smallest rise of the agreement level that counts as progress, in [0, 1]; with 0, any rise counts."""

    def __post_init__(self) -> None:
        """Check both numbers.

        Raises:
            ConfigurationError: `rounds` is below 1, or `gain` is not in [0, 1].
        """
        whole(self.rounds, "NoProgress")
        object.__setattr__(self, "gain", share(self.gain, "gain of NoProgress"))

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Compare the best agreement of the last rounds with the best agreement before them."""
        if len(rounds) <= self.rounds:
            return not_ended(f"{counted(len(rounds), 'round')} of {self.rounds + 1} to compare")
        measured = [round_.consensus for round_ in rounds]
        usable = [
            consensus
            for consensus in measured
            if consensus is not None and not consensus.assigned and consensus.is_measured
        ]
        if len(usable) < len(measured):
            return not_ended("agreement was not measured in every round, or stances were assigned")
        if len(methods := sorted({consensus.method for consensus in usable})) > 1:
            return not_ended(f"agreement was measured in different ways: {listing(methods)}")
        levels = [exact(consensus.agreement_level) for consensus in usable]
        before, since = max(levels[: -self.rounds]), max(levels[-self.rounds :])
        rise = since - before
        figures: dict[str, JsonValue] = {"before": float(before), "since": float(since), "rounds": self.rounds}
        details = f"best agreement was {share_text(before)}, and {share_text(since)} in the last {self.rounds}"
        if rise > 0 and rise >= exact(self.gain):
            return not_ended(details, **figures)
        return ExitResult(should_exit=True, reason=self.kind, details=details, figures=figures)


@explains_arguments
@dataclass(frozen=True, slots=True)
class LeadIsDecisive(Exit):
    """Ends when the leader cannot be overtaken, whatever the remaining votes and changes are; reason `unassailable`.

    Each agent's latest answer counts. An agent that gave the same answer twice in a row is expected to keep it. An
    agent whose last two answers differ, or that answered only once, may still change.

    The leader's lead over the next option must exceed the number of agents without an answer, plus twice the number of
    agents that may change: such an agent can take one vote from the leader and give it to the next option. Agents that
    abstain count as agents without an answer. So a round in which all agents answer for the first time never ends a
    debate, except with `votes_once`: then answers are final, and only missing answers can overturn the leader.

    Without options, all other answers together count as the next option, since they may say the same in other words.

    Example:
        >>> LeadIsDecisive(voters=5).to_spec()
        {'kind': 'unassailable', 'voters': 5, 'votesOnce': False}
    """

    kind = "unassailable"
    voters: int | None = None
    """Number of agents that vote; `None` counts the agents that have answered or failed so far."""
    votes_once: bool = False
    """Whether each agent answers only once and cannot change its answer, for example if each speaks in its own
    round."""

    def __post_init__(self) -> None:
        """Check both fields.

        Raises:
            ConfigurationError: `voters` is below 1, or `votes_once` is not `True` or `False`.
        """
        if self.voters is not None:
            whole(self.voters, "voters of LeadIsDecisive")
        if not isinstance(self.votes_once, bool):
            msg = f"votes_once of LeadIsDecisive must be True or False, not {self.votes_once!r}"
            raise ConfigurationError(msg)

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Count the latest answers, and the agents that may still change theirs."""
        answers = answers_of(rounds)
        history: dict[str, list[str]] = {}
        for round_, answer_of in zip(rounds, answers.rounds, strict=True):
            for agent, answer in answer_of.items():
                history.setdefault(agent, []).append(answer)
            for response in round_.responses:
                if response.agent_id not in answer_of:
                    history.pop(response.agent_id, None)  # it abstains now
        if not history:
            return not_ended("nobody answered")
        failed = {turn.agent_id for round_ in rounds for turn in turns_of(round_) if isinstance(turn, FailedTurn)}
        spoke = {response.agent_id for round_ in rounds for response in round_.responses}
        expected = len(failed | spoke) if self.voters is None else self.voters
        missing = max(0, expected - len(history))
        movers = 0 if self.votes_once else sum(path[-1:] != path[-2:-1] for path in history.values())
        (leader, votes), *rivals = Counter(path[-1] for path in history.values()).most_common()
        rival_votes = [count for _, count in rivals]
        # Different positions may turn out to say the same; different choices cannot.
        next_votes = sum(rival_votes) if answers.basis == "position" else max(rival_votes, default=0)
        lead, needed = votes - next_votes, missing + 2 * movers
        figures: dict[str, JsonValue] = {
            "basis": answers.basis,
            "leader": leader,
            "lead": lead,
            "missing": missing,
            "movers": movers,
        }
        can_turn = f"{counted(missing, 'missing vote')} and {counted(movers, 'mover')} can turn {needed}"
        details = f"the lead is {lead}; {can_turn}"
        if lead <= needed:
            return not_ended(details, **figures)
        return ExitResult(should_exit=True, reason=self.kind, details=details, figures=figures)
