"""Exit criteria as thresholds, from arguments and from the environment's variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from roundtable.errors import ConfigurationError
from roundtable.exits.agreement import AllConfident, ConsensusReached
from roundtable.exits.base import AnyOf, Exit, whole
from roundtable.exits.limits import MaxRounds
from roundtable.exits.movement import Converged
from roundtable.scoring.precise import share
from roundtable.settings import Settings
from roundtable.types import ExitCriteria

__all__ = [
    "ExitSettings",
    "create_default_exit_criteria",
    "early_exit",
    "exit_from_criteria",
    "read_exit_settings",
    "validate_exit_criteria",
]


@dataclass(frozen=True, slots=True)
class ExitSettings:
    """When debates end, unless told otherwise; thresholds are exact decimals."""

    enabled: bool = True
    """Whether debates may end before their last round."""
    consensus_threshold: Fraction = Fraction(9, 10)
    """Agreement level in [0, 1]."""
    convergence_rounds: int = 2
    """Rounds in a row without movement."""
    confidence_threshold: Fraction = Fraction(17, 20)
    """Confidence of every agent in [0, 1]."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Take the part of the settings that is about exits.

        Example:
            >>> ExitSettings.from_settings(Settings(exit_enabled=False)).enabled
            False
        """
        return cls(
            enabled=settings.exit_enabled,
            consensus_threshold=Fraction(settings.exit_consensus_threshold),
            convergence_rounds=settings.exit_convergence_rounds,
            confidence_threshold=Fraction(settings.exit_confidence_threshold),
        )


_VARIABLES = tuple(
    variable
    for name in ("exit_enabled", "exit_consensus_threshold", "exit_convergence_rounds", "exit_confidence_threshold")
    for variable in Settings.variables(name)
)


def read_exit_settings(environment: Mapping[str, str]) -> ExitSettings:
    """Read `ROUNDTABLE_EXIT_ENABLED`, `..._CONSENSUS_THRESHOLD`, `..._CONVERGENCE_ROUNDS`, `..._CONFIDENCE_THRESHOLD`.

    Thresholds are decimals, so that 0.8 is 0.8. A variable that is missing or empty leaves the default.

    Args:
        environment: The variables; none but these four is looked at.

    Raises:
        ConfigurationError: A value is out of range; the message names the variable and what is allowed.

    Example:
        >>> read_exit_settings({"ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD": "0.8"}).consensus_threshold
        Fraction(4, 5)
    """
    given = {name: environment[name] for name in _VARIABLES if name in environment}
    return ExitSettings.from_settings(Settings.from_env(given))


def create_default_exit_criteria(max_rounds: int, settings: ExitSettings | None = None) -> ExitCriteria:
    """Give the usual criteria for a number of rounds: agreement 0.9, two rounds without movement, confidence 0.85.

    Args:
        max_rounds: Rounds to hold at most, from 1.
        settings: Other thresholds, as read from the environment; with `enabled=False` only `max_rounds` is left.

    Raises:
        ConfigurationError: `max_rounds` is no whole number of at least 1.

    Example:
        >>> create_default_exit_criteria(3).consensus_threshold
        0.9
    """
    rounds, given = whole(max_rounds, "max_rounds"), settings or ExitSettings()
    if not given.enabled:
        return ExitCriteria(max_rounds=rounds)
    return ExitCriteria(
        max_rounds=rounds,
        consensus_threshold=float(given.consensus_threshold),
        convergence_rounds=given.convergence_rounds,
        confidence_threshold=float(given.confidence_threshold),
    )


def validate_exit_criteria(criteria: ExitCriteria | Mapping[str, object]) -> tuple[str, ...]:
    """List everything that is wrong with exit criteria; nothing listed means that they can be used.

    Args:
        criteria: Criteria, or their fields in camelCase or snake_case, as they come from elsewhere.

    Example:
        >>> validate_exit_criteria({"maxRounds": 0, "consensusThreshold": 1.5})
        ('maxRounds must be a whole number of at least 1, not 0', 'consensusThreshold must lie in [0, 1], not 1.5')
    """
    given = criteria.model_dump() if isinstance(criteria, ExitCriteria) else dict(criteria)
    checks: tuple[tuple[str, str, Callable[[object, str], object]], ...] = (
        ("maxRounds", "max_rounds", whole),
        ("consensusThreshold", "consensus_threshold", share),
        ("convergenceRounds", "convergence_rounds", whole),
        ("confidenceThreshold", "confidence_threshold", share),
    )
    errors: list[str] = []
    for camel, snake, check in checks:
        value = given.pop(camel, given.pop(snake, None))
        if value is None and snake != "max_rounds":
            continue
        try:
            check(value, camel)
        except ConfigurationError as error:
            errors.append(error.message)
    return (*errors, *(f"{name!r} is no exit criterion" for name in given))


def exit_from_criteria(criteria: ExitCriteria) -> Exit:
    """Build the stop criterion of thresholds: consensus, convergence, confidence, most rounds, in this order.

    One round of convergence is read as two: a single round has nothing to compare.

    Example:
        >>> exit_from_criteria(ExitCriteria(max_rounds=3, consensus_threshold=0.9))
        AnyOf(of=(ConsensusReached(threshold=Fraction(9, 10)), MaxRounds(rounds=3)))
    """
    last = MaxRounds(criteria.max_rounds)
    early = early_exit(criteria)
    return last if early is None else early | last


def early_exit(criteria: ExitCriteria) -> Exit | None:
    """Build what may end a debate before its last round: consensus, convergence, confidence; `None` if nothing may.

    Example:
        >>> early_exit(ExitCriteria(max_rounds=3, consensus_threshold=0.9))
        ConsensusReached(threshold=Fraction(9, 10))
    """
    members: list[Exit] = []
    if criteria.consensus_threshold is not None:
        members.append(ConsensusReached(criteria.consensus_threshold))
    if criteria.convergence_rounds is not None:
        members.append(Converged(rounds=max(2, criteria.convergence_rounds)))
    if criteria.confidence_threshold is not None:
        members.append(AllConfident(criteria.confidence_threshold))
    if len(members) < 2:
        return members[0] if members else None
    return AnyOf(tuple(members))
