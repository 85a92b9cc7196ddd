"""Stop criteria on what surrounds the answers: what was spent, what a judge said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from roundtable.errors import ConfigurationError
from roundtable.exits.answers import turns_of
from roundtable.exits.base import Exit, as_json, going_on, whole
from roundtable.protocols import ExitRound
from roundtable.scoring.precise import Number, exact
from roundtable.scoring.spelling import casefold
from roundtable.scoring.words import listing
from roundtable.types import AgentResponse, AnyTurn, BallotAnswer, ExitResult, JsonValue, TextAnswer, Turn, Usage

__all__ = ["BudgetSpent", "StopRequested"]


@dataclass(frozen=True, slots=True)
class BudgetSpent(Exit):
    """Ends when the turns so far used up one of the amounts given; reason `budget`.

    Counts every stored turn of every round, failed ones, judges and facilitators included; analysis after a round is
    not a turn. Of a cost that is unknown as a whole the known part counts; the figures say that it is unknown.

    This looks back after a round. What keeps calls from starting is a `Budget`, which leaves the debate paused.

    Example:
        >>> BudgetSpent(max_tokens=50_000).to_spec()["maxTokens"]
        50000
    """

    kind = "budget"
    max_cost_usd: Number | None = None
    """Most US dollars."""
    max_tokens: int | None = None
    """Most tokens, input and output together."""
    max_calls: int | None = None
    """Most model calls."""
    max_seconds: Number | None = None
    """Most seconds from the start of the first turn to the end of the last."""

    def __post_init__(self) -> None:
        """Check the amounts.

        Raises:
            ConfigurationError: None is given, or one is no number above 0.
        """
        for name in ("max_tokens", "max_calls"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), f"{name} of BudgetSpent")
        for name in ("max_cost_usd", "max_seconds"):
            value = getattr(self, name)
            if value is None:
                continue
            bound = exact(value, f"{name} of BudgetSpent")
            if bound <= 0:
                raise ConfigurationError(f"{name} of BudgetSpent must be above 0, not {value!r}")
            object.__setattr__(self, name, bound)
        if not self._bounds():
            raise ConfigurationError("BudgetSpent needs at least one amount, such as max_tokens")

    def _bounds(self) -> dict[str, Number]:
        bounds = {
            "costUsd": self.max_cost_usd,
            "tokens": self.max_tokens,
            "calls": self.max_calls,
            "seconds": self.max_seconds,
        }
        return {name: bound for name, bound in bounds.items() if bound is not None}

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Add up the turns."""
        turns = [turn for one in rounds for turn in turns_of(one)]
        usage = sum((turn.result.usage if isinstance(turn, Turn) else turn.usage for turn in turns), Usage())
        spent: dict[str, float | int | None] = {
            "costUsd": usage.cost_usd,
            "tokens": usage.total_tokens,
            "calls": usage.calls,
            "seconds": _seconds(turns),
        }
        bounds = self._bounds()
        known = {**spent, "costUsd": usage.known_cost_usd}
        over = [name for name, bound in bounds.items() if exact(known[name] or 0) >= exact(bound)]
        figures: dict[str, JsonValue] = {
            "spent": {name: spent[name] for name in bounds},
            "limits": {name: as_json(bound) for name, bound in bounds.items()},
        }
        words = ", ".join(
            f"{name} {_shown(spent[name])} of {float(exact(bound)):.6g}" for name, bound in bounds.items()
        )
        if not over:
            return going_on(words, **figures)
        return ExitResult(should_exit=True, reason=self.kind, details=words, figures=figures)


def _shown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"


def _seconds(turns: Sequence[AnyTurn]) -> float:
    if not turns:
        return 0.0
    end = max(turn.timestamp for turn in turns)
    return max((end - turn.timestamp).total_seconds() + turn.duration_s for turn in turns)


@dataclass(frozen=True, slots=True)
class StopRequested(Exit):
    """Ends when everybody with a role who answered in the last round asks to stop; reason `stop_requested`.

    Reads stored answers only: the choice of a ballot, the choice or else the position of a position, or a text. The
    whole answer must be the word, up to case and punctuation: a text that merely contains it does not stop anything. Of
    several answers of one agent the last counts.

    Example:
        >>> StopRequested(role="judge").to_spec()
        {'kind': 'stop_requested', 'role': 'judge', 'word': 'stop'}
    """

    kind = "stop_requested"
    role: str = "judge"
    """Role whose answers are read."""
    word: str = "stop"
    """The answer that asks to stop."""

    def __post_init__(self) -> None:
        """Check role and word.

        Raises:
            ConfigurationError: One of them is empty.
        """
        if not self.role.strip() or not self.word.strip():
            raise ConfigurationError("StopRequested needs a role and a word")

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Read the last round's answers of this role."""
        turns = turns_of(rounds[-1]) if rounds else ()
        said = {turn.agent_id: _said(turn) for turn in turns if isinstance(turn, Turn) and turn.role == self.role}
        stopping = [agent for agent, answer in said.items() if answer == casefold(self.word)]
        figures: dict[str, JsonValue] = {"role": self.role, "asked": list(said), "stopping": list(stopping)}
        if not said:
            return going_on(f"no {self.role} answered in the last round", **figures)
        if len(stopping) < len(said):
            return going_on(f"{len(stopping)} of {len(said)} in the role of {self.role} ask to stop", **figures)
        words = f"{listing(stopping)}, in the role of {self.role}, asked to stop"
        return ExitResult(should_exit=True, reason=self.kind, details=words, figures=figures)


def _said(turn: Turn) -> str | None:
    answer = turn.answer
    if isinstance(answer, AgentResponse):
        return casefold(answer.choice or answer.position)
    if isinstance(answer, BallotAnswer):
        return None if answer.choice is None else casefold(answer.choice)
    return casefold(answer.text) if isinstance(answer, TextAnswer) else None
