"""Stop criteria that count rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from roundtable.exits.base import Exit, going_on, whole
from roundtable.protocols import ExitRound
from roundtable.types import ExitResult

__all__ = ["MaxRounds", "MinRounds"]


def _round(rounds: Sequence[ExitRound]) -> int:
    return rounds[-1].number if rounds else 0


@dataclass(frozen=True, slots=True)
class MaxRounds(Exit):
    """Ends after a number of rounds; reason `max_rounds`.

    Example:
        >>> MaxRounds(3).to_spec()
        {'kind': 'max_rounds', 'rounds': 3}
    """

    kind = "max_rounds"
    rounds: int
    """Rounds held at most, from 1."""

    def __post_init__(self) -> None:
        """Check the number.

        Raises:
            ConfigurationError: It is no whole number of at least 1.
        """
        whole(self.rounds, "MaxRounds")

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Compare the number of the last round."""
        number = _round(rounds)
        if number < self.rounds:
            return going_on(f"round {number} of at most {self.rounds}", round=number, maxRounds=self.rounds)
        return ExitResult(
            should_exit=True,
            reason=self.kind,
            details=f"round {number} is the last of at most {self.rounds}",
            figures={"round": number, "maxRounds": self.rounds},
        )


@dataclass(frozen=True, slots=True)
class MinRounds(Exit):
    """Holds from a number of rounds on: a precondition to join to others with `&`; alone it gives `min_rounds`.

    Example:
        >>> from roundtable.exits import MaxRounds
        >>> (MaxRounds(2) & MinRounds(2)).kind
        'all'
    """

    kind = "min_rounds"
    rounds: int
    """Rounds held at least, from 1."""

    def __post_init__(self) -> None:
        """Check the number.

        Raises:
            ConfigurationError: It is no whole number of at least 1.
        """
        whole(self.rounds, "MinRounds")

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Compare the number of the last round."""
        number = _round(rounds)
        return ExitResult(
            should_exit=number >= self.rounds,
            reason=self.kind if number >= self.rounds else None,
            details=f"round {number} of at least {self.rounds}",
            figures={"round": number, "minRounds": self.rounds},
        )
