"""Exit criteria as thresholds, from arguments and from the environment's variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from roundtable.errors import ConfigurationError
from roundtable.exits.agreement import AllConfident, ConsensusReached
from roundtable.exits.base import Exit, whole
from roundtable.exits.limits import MaxRounds
from roundtable.exits.movement import Converged
from roundtable.scoring.precise import share
from roundtable.types import ExitCriteria

__all__ = [
    "ExitSettings",
    "create_default_exit_criteria",
    "exit_from_criteria",
    "read_exit_settings",
    "validate_exit_criteria",
]

T = TypeVar("T")

ENABLED = "ROUNDTABLE_EXIT_ENABLED"
CONSENSUS = "ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD"
CONVERGENCE = "ROUNDTABLE_EXIT_CONVERGENCE_ROUNDS"
CONFIDENCE = "ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD"

_SWITCH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


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


def read_exit_settings(environment: Mapping[str, str]) -> ExitSettings:
    """Read `ROUNDTABLE_EXIT_ENABLED`, `..._CONSENSUS_THRESHOLD`, `..._CONVERGENCE_ROUNDS`, `..._CONFIDENCE_THRESHOLD`.

    Thresholds are decimals, so that 0.8 is 0.8. A variable that is missing or empty leaves the default.

    Args:
        environment: The variables; nothing else is looked at.

    Raises:
        ConfigurationError: A value is out of range; the message names every such variable.

    Example:
        >>> read_exit_settings({"ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD": "0.8"}).consensus_threshold
        Fraction(4, 5)
    """
    errors: list[str] = []

    def read(name: str, default: T, parse: Callable[[str], T]) -> T:
        text = environment.get(name, "").strip()
        if not text:
            return default
        try:
            return parse(text)
        except (ConfigurationError, KeyError, ValueError):
            errors.append(f"{name}={text!r}")
            return default

    usual = ExitSettings()
    settings = ExitSettings(
        enabled=read(ENABLED, usual.enabled, lambda text: _SWITCH[text.casefold()]),
        consensus_threshold=read(CONSENSUS, usual.consensus_threshold, share),
        convergence_rounds=read(CONVERGENCE, usual.convergence_rounds, lambda text: whole(int(text), CONVERGENCE)),
        confidence_threshold=read(CONFIDENCE, usual.confidence_threshold, share),
    )
    if errors:
        raise ConfigurationError(
            f"the environment has unusable exit settings: {', '.join(errors)}",
            hint="Switches are true or false, thresholds decimals in [0, 1], rounds whole numbers from 1.",
        )
    return settings


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
    members: list[Exit] = []
    if criteria.consensus_threshold is not None:
        members.append(ConsensusReached(criteria.consensus_threshold))
    if criteria.convergence_rounds is not None:
        members.append(Converged(rounds=max(2, criteria.convergence_rounds)))
    if criteria.confidence_threshold is not None:
        members.append(AllConfident(criteria.confidence_threshold))
    last = MaxRounds(criteria.max_rounds)
    found: Exit = last
    for member in reversed(members):
        found = member | found
    return found
