"""Stop criteria on agreement: consensus reached, everybody confident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from roundtable.exits.answers import answers_of
from roundtable.exits.base import Exit, as_json, going_on
from roundtable.protocols import ExitRound
from roundtable.scoring.precise import Number, exact, share
from roundtable.scoring.spelling import casefold
from roundtable.scoring.words import percent
from roundtable.types import ExitResult, JsonValue

__all__ = ["AllConfident", "ConsensusReached"]

LEAST_AGENTS = 2
"""One answer agrees with itself: nothing is agreed on between fewer agents than this."""


@dataclass(frozen=True, slots=True)
class ConsensusReached(Exit):
    """Ends when the measured agreement of the last round reaches a threshold; reason `consensus`.

    Never on one answer alone, on a round without measure, or where stances were assigned: there agreement says nothing
    about belief. Level and threshold are compared as exact decimals.

    Example:
        >>> ConsensusReached(0.9).to_spec()
        {'kind': 'consensus', 'threshold': 0.9}
    """

    kind = "consensus"
    threshold: Number = 0.9
    """Agreement level in [0, 1] that ends the debate."""

    def __post_init__(self) -> None:
        """Read the threshold exactly.

        Raises:
            ConfigurationError: It is no share.
        """
        object.__setattr__(self, "threshold", share(self.threshold, "ConsensusReached"))

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Compare the agreement level of the last round."""
        consensus = rounds[-1].consensus if rounds else None
        if consensus is None:
            return going_on("agreement was not measured")
        answered = len(rounds[-1].responses)
        level, threshold = exact(consensus.agreement_level), exact(self.threshold)
        figures: dict[str, JsonValue] = {
            "agreementLevel": consensus.agreement_level,
            "threshold": as_json(threshold),
            "method": consensus.method,
            "answered": answered,
        }
        if consensus.assigned:
            return going_on("stances were assigned, so agreement says nothing about belief", **figures)
        if answered < LEAST_AGENTS:
            return going_on("one answer agrees with nobody", **figures)
        words = f"agreement is {percent(level)} ({consensus.method}), the threshold {percent(threshold)}"
        if level < threshold:
            return going_on(words, **figures)
        return ExitResult(should_exit=True, reason=self.kind, details=words, figures=figures)


@dataclass(frozen=True, slots=True)
class AllConfident(Exit):
    """Ends when every agent is confident and no two of them oppose each other; reason `confidence`.

    Confident opponents do not end a debate. Opposed are two different choices; else a YES and a NO; else, where agents
    only worded their positions, a measured agreement below `agreement`, or different wordings when it was not measured.
    Never on one answer alone, nor where stances were assigned.

    Example:
        >>> AllConfident(0.85).to_spec()
        {'kind': 'confidence', 'threshold': 0.85, 'agreement': 0.7}
    """

    kind = "confidence"
    threshold: Number = 0.85
    """Reported confidence in [0, 1] that every agent must reach."""
    agreement: Number = 0.7
    """Agreement level in [0, 1] from which worded positions do not count as opposed."""

    def __post_init__(self) -> None:
        """Read both thresholds exactly.

        Raises:
            ConfigurationError: One of them is no share.
        """
        object.__setattr__(self, "threshold", share(self.threshold, "AllConfident"))
        object.__setattr__(self, "agreement", share(self.agreement, "agreement of AllConfident"))

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Look at the confidence and the answers of the last round."""
        responses = rounds[-1].responses if rounds else ()
        if not responses:
            return going_on("nobody answered")
        last, threshold = rounds[-1], exact(self.threshold)
        least = min(exact(response.confidence) for response in responses)
        opposed = self._opposed(last)
        figures: dict[str, JsonValue] = {
            "leastConfidence": float(least),
            "threshold": as_json(threshold),
            "answered": len(responses),
            "opposed": opposed,
        }
        words = f"the least confidence is {percent(least)}, the threshold {percent(threshold)}"
        if least < threshold:
            return going_on(words, **figures)
        if len(responses) < LEAST_AGENTS:
            return going_on(f"{words}; but one answer agrees with nobody", **figures)
        if last.consensus is not None and last.consensus.assigned:
            return going_on(f"{words}; but stances were assigned", **figures)
        if opposed:
            return going_on(f"{words}; but agents oppose each other", **figures)
        return ExitResult(should_exit=True, reason=self.kind, details=words, figures=figures)

    def _opposed(self, last: ExitRound) -> bool:
        answers = answers_of([last])
        found = set(answers.rounds[0].values())
        if answers.basis == "stance":
            return {casefold("YES"), casefold("NO")} <= found
        if answers.basis == "position" and last.consensus is not None:
            return exact(last.consensus.agreement_level) < exact(self.agreement)
        return len(found) > 1
