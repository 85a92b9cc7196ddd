"""Stop criteria on rounds, agreement, confidence, costs and requests to stop, and the default criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, TypeAlias

from roundtable.core.base.arguments import explains_arguments
from roundtable.core.base.registry import Registry
from roundtable.core.base.words import listing, percent, share_text, shortened
from roundtable.core.errors import ConfigurationError
from roundtable.core.protocols import ExitCriterion, ExitRound
from roundtable.core.types.answers import AgentResponse, BallotAnswer, TextAnswer
from roundtable.core.types.base import JsonObject, JsonValue
from roundtable.core.types.chat import Usage
from roundtable.core.types.debate import AnyTurn, ExitCriteria, ExitResult, Turn
from roundtable.core.types.plan import MODERATOR_STAGE
from roundtable.exits.base import DEEPEST, AllOf, AnyOf, Exit, Load, as_json, not_ended, too_deep, whole
from roundtable.exits.compare import (
    Converged,
    LeadIsDecisive,
    NoProgress,
    Stable,
    answers_of,
    count_answers,
    turns_of,
)
from roundtable.scoring.normalisation import casefold
from roundtable.scoring.numbers import Number, exact, share
from roundtable.settings import Settings

__all__ = [
    "BUILTIN_EXITS",
    "AllConfident",
    "BudgetSpent",
    "ConsensusReached",
    "ExitFactory",
    "ExitSettings",
    "MaxRounds",
    "MinRounds",
    "ModeratorEnds",
    "StopRequested",
    "asks_moderator",
    "create_default_exit_criteria",
    "early_exit",
    "exit_from_criteria",
    "exit_from_spec",
    "exit_registry",
    "read_exit_settings",
    "validate_exit_criteria",
]


LEAST_AGENTS = 2
"""Minimum number of answers for an agreement: a single answer only agrees with itself."""


@explains_arguments
@dataclass(frozen=True, slots=True)
class ConsensusReached(Exit):
    """Ends when the measured agreement of the last round reaches a threshold; reason `consensus`.

    If the agreement is an interval, its lower bound counts. The criterion never holds for a single answer, if only half
    of the asked agents or fewer answered, if the round was not measured, or with assigned stances, where agreement does
    not show what the agents believe. The level and the threshold are compared as exact decimals.

    Example:
        >>> ConsensusReached(0.9).to_spec()
        {'kind': 'consensus', 'threshold': 0.9}
    """

    kind = "consensus"
    threshold: Number = 0.9
    """Agreement level in [0, 1] from which on the debate ends."""

    def __post_init__(self) -> None:
        """Read the threshold exactly.

        Raises:
            ConfigurationError: It is not in [0, 1].
        """
        object.__setattr__(self, "threshold", share(self.threshold, "ConsensusReached"))

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Compare the agreement level of the last round."""
        consensus = rounds[-1].consensus if rounds else None
        if consensus is None:
            return not_ended("agreement was not measured")
        answered, asked = count_answers(rounds[-1])
        level, threshold = exact(consensus.agreement_level), exact(self.threshold)
        figures: dict[str, JsonValue] = {
            "agreementLevel": consensus.agreement_level,
            "agreementAtMost": consensus.agreement_at_most,
            "threshold": as_json(threshold),
            "method": consensus.method,
            "answered": answered,
        }
        if consensus.assigned:
            return not_ended("stances were assigned, so agreement says nothing about belief", **figures)
        if answered < LEAST_AGENTS:
            return not_ended("a single answer cannot agree", **figures)
        if 2 * answered <= asked:
            return not_ended(f"only {answered} of {asked} agents gave an answer", **figures)
        at_most = "" if consensus.is_measured else f" to {share_text(exact(consensus.agreement_at_most))}"
        measured = f"{share_text(level)}{at_most} ({consensus.method})"
        details = f"agreement is {measured}, the threshold {share_text(threshold)}"
        if level < threshold:
            return not_ended(details, **figures)
        return ExitResult(should_exit=True, reason=self.kind, details=details, figures=figures)


@explains_arguments
@dataclass(frozen=True, slots=True)
class AllConfident(Exit):
    """Ends when every agent is confident, and no two agents oppose each other; reason `confidence`.

    If all answers have a choice, agents oppose each other if their choices differ. Without choices, they oppose each
    other if one says YES and another says NO, or if the lower bound of the agreement is below `agreement`; if the
    agreement was not measured, it is enough that their wordings differ. The criterion never holds for a single answer,
    if only half of the asked agents or fewer answered, or with assigned stances.

    Example:
        >>> AllConfident(0.85).to_spec()
        {'kind': 'confidence', 'threshold': 0.85, 'agreement': 0.7}
    """

    kind = "confidence"
    threshold: Number = 0.85
    """Reported confidence in [0, 1] that every agent must reach."""
    agreement: Number = 0.7
    """Agreement level in [0, 1] from which on answers without choices do not count as opposed."""

    def __post_init__(self) -> None:
        """Read both thresholds exactly.

        Raises:
            ConfigurationError: One of them is not in [0, 1].
        """
        object.__setattr__(self, "threshold", share(self.threshold, "AllConfident"))
        object.__setattr__(self, "agreement", share(self.agreement, "agreement of AllConfident"))

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Check the confidence and the answers of the last round."""
        responses = rounds[-1].responses if rounds else ()
        if not responses:
            return not_ended("nobody answered")
        last, threshold = rounds[-1], exact(self.threshold)
        stated = [exact(response.confidence) for response in responses if response.confidence is not None]
        if len(stated) < len(responses):
            return not_ended(f"{len(responses) - len(stated)} of {len(responses)} answers state no confidence")
        least = min(stated)
        opposed = self._has_opponents(last)
        answered, asked = count_answers(last)
        figures: dict[str, JsonValue] = {
            "leastConfidence": float(least),
            "threshold": as_json(threshold),
            "answered": answered,
            "opposed": opposed,
        }
        details = f"the least confidence is {percent(least)}, the threshold {percent(threshold)}"
        if least < threshold:
            return not_ended(details, **figures)
        if answered < LEAST_AGENTS:
            return not_ended(f"{details}; but a single answer cannot agree", **figures)
        if 2 * answered <= asked:
            return not_ended(f"{details}; but only {answered} of {asked} agents gave an answer", **figures)
        if last.consensus is not None and last.consensus.assigned:
            return not_ended(f"{details}; but stances were assigned", **figures)
        if opposed:
            return not_ended(f"{details}; but agents oppose each other", **figures)
        return ExitResult(should_exit=True, reason=self.kind, details=details, figures=figures)

    def _has_opponents(self, last: ExitRound) -> bool:
        answers = answers_of([last])
        if answers.basis == "position" and {"YES", "NO"} <= {response.stance for response in last.responses}:
            return True
        if answers.basis == "position" and last.consensus is not None:
            return exact(last.consensus.agreement_level) < exact(self.agreement)
        return len(set(answers.rounds[0].values())) > 1


def _last_number(rounds: Sequence[ExitRound]) -> int:
    return rounds[-1].number if rounds else 0


@explains_arguments
@dataclass(frozen=True, slots=True)
class MaxRounds(Exit):
    """Ends after a number of rounds; reason `max_rounds`.

    Example:
        >>> MaxRounds(3).to_spec()
        {'kind': 'max_rounds', 'rounds': 3}
    """

    kind = "max_rounds"
    rounds: int
    """Largest number of rounds, at least 1."""

    def __post_init__(self) -> None:
        """Check the number.

        Raises:
            ConfigurationError: It is not a whole number of at least 1.
        """
        whole(self.rounds, "MaxRounds")

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Compare the number of the last round."""
        number = _last_number(rounds)
        if number < self.rounds:
            return not_ended(f"round {number} of at most {self.rounds}", round=number, maxRounds=self.rounds)
        return ExitResult(
            should_exit=True,
            reason=self.kind,
            details=f"round {number} is the last of at most {self.rounds}",
            figures={"round": number, "maxRounds": self.rounds},
        )


@explains_arguments
@dataclass(frozen=True, slots=True)
class MinRounds(Exit):
    """Holds from a number of rounds on; join it to other criteria with `&`, as a precondition. Reason `min_rounds`.

    Example:
        >>> from roundtable.exits import MaxRounds
        >>> (MaxRounds(2) & MinRounds(2)).kind
        'all'
    """

    kind = "min_rounds"
    rounds: int
    """Smallest number of rounds, at least 1."""

    def __post_init__(self) -> None:
        """Check the number.

        Raises:
            ConfigurationError: It is not a whole number of at least 1.
        """
        whole(self.rounds, "MinRounds")

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Compare the number of the last round."""
        number = _last_number(rounds)
        return ExitResult(
            should_exit=number >= self.rounds,
            reason=self.kind if number >= self.rounds else None,
            details=f"round {number} of at least {self.rounds}",
            figures={"round": number, "minRounds": self.rounds},
        )


@dataclass(frozen=True, slots=True)
class ExitSettings:
    """Settings of the default stop criteria; thresholds are exact decimals."""

    enabled: bool = True
    """Whether debates may end before their last round."""
    consensus_threshold: Fraction = Fraction(9, 10)
    """Agreement level in [0, 1] that ends a debate."""
    convergence_rounds: int = 2
    """Number of rounds in a row in which no agent changes its answer."""
    confidence_threshold: Fraction = Fraction(17, 20)
    """Confidence in [0, 1] that every agent must reach."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Create exit settings from the settings of the library.

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

    Thresholds are read as exact decimals. If a variable is missing or empty, the default applies.

    Args:
        environment: The environment variables; only the four listed ones are read.

    Raises:
        ConfigurationError: A value is out of range; the message names the variable and the allowed values.

    Example:
        >>> read_exit_settings({"ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD": "0.8"}).consensus_threshold
        Fraction(4, 5)
    """
    values = {name: environment[name] for name in _VARIABLES if name in environment}
    return ExitSettings.from_settings(Settings.from_env(values))


def create_default_exit_criteria(max_rounds: int, settings: ExitSettings | None = None) -> ExitCriteria:
    """Create the default criteria: agreement 0.9, two rounds without changes, confidence 0.85, a maximum of rounds.

    Args:
        max_rounds: Largest number of rounds, at least 1.
        settings: Other thresholds, such as those from the environment.
            With `enabled=False`, only `max_rounds` is set.

    Raises:
        ConfigurationError: `max_rounds` is not a whole number of at least 1.

    Example:
        >>> create_default_exit_criteria(3).consensus_threshold
        0.9
    """
    rounds, defaults = whole(max_rounds, "max_rounds"), settings or ExitSettings()
    if not defaults.enabled:
        return ExitCriteria(max_rounds=rounds)
    return ExitCriteria(
        max_rounds=rounds,
        consensus_threshold=float(defaults.consensus_threshold),
        convergence_rounds=defaults.convergence_rounds,
        confidence_threshold=float(defaults.confidence_threshold),
    )


def validate_exit_criteria(criteria: ExitCriteria | Mapping[str, object]) -> tuple[str, ...]:
    """List all errors in exit criteria; the list is empty if the criteria are valid.

    Args:
        criteria: Criteria, or a mapping of their fields in camelCase or snake_case.

    Example:
        >>> validate_exit_criteria({"maxRounds": 0, "consensusThreshold": 1.5})
        ('maxRounds must be a whole number of at least 1, not 0', 'consensusThreshold must lie in [0, 1], not 1.5')
    """
    values = criteria.model_dump() if isinstance(criteria, ExitCriteria) else dict(criteria)
    checks: tuple[tuple[str, str, Callable[[object, str], object]], ...] = (
        ("maxRounds", "max_rounds", whole),
        ("consensusThreshold", "consensus_threshold", share),
        ("convergenceRounds", "convergence_rounds", whole),
        ("confidenceThreshold", "confidence_threshold", share),
    )
    errors: list[str] = []
    for camel, snake, check in checks:
        value = values.pop(camel, values.pop(snake, None))
        if value is None and snake != "max_rounds":
            continue
        try:
            check(value, camel)
        except ConfigurationError as error:
            errors.append(error.message)
    return (*errors, *(f"{name!r} is not an exit criterion" for name in values))


def exit_from_criteria(criteria: ExitCriteria) -> Exit:
    """Create a stop criterion from thresholds: consensus, convergence, confidence, maximum of rounds, in this order.

    If `convergence_rounds` is 1, 2 is used: a single round cannot be compared.

    Example:
        >>> exit_from_criteria(ExitCriteria(max_rounds=3, consensus_threshold=0.9))
        AnyOf(of=(ConsensusReached(threshold=Fraction(9, 10)), MaxRounds(rounds=3)))
    """
    last = MaxRounds(criteria.max_rounds)
    early = early_exit(criteria)
    return last if early is None else early | last


def early_exit(criteria: ExitCriteria) -> Exit | None:
    """Create the criterion that may end a debate early, from the thresholds for consensus, convergence and confidence.

    It is `None` if no such threshold is set.

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


@explains_arguments
@dataclass(frozen=True, slots=True)
class BudgetSpent(Exit):
    """Ends when the turns have used up one of the given amounts; reason `budget`.

    Every stored turn of every round counts, including failed turns and the turns of judges and facilitators. The
    analysis after a round is not a turn. If only a part of the cost is known, this part counts, and the figures show
    the cost as unknown.

    This criterion checks after each round. To stop calls before they start, use a `Budget`, which pauses the debate.

    Example:
        >>> BudgetSpent(max_tokens=50_000).to_spec()["maxTokens"]
        50000
    """

    kind = "budget"
    max_cost_usd: Number | None = None
    """Largest cost in US dollars."""
    max_tokens: int | None = None
    """Largest number of tokens, input and output together."""
    max_calls: int | None = None
    """Largest number of model calls."""
    max_seconds: Number | None = None
    """Longest time in seconds, from the start of the first turn to the end of the last."""

    def __post_init__(self) -> None:
        """Check the amounts.

        Raises:
            ConfigurationError: No amount is given, or an amount is not a number above 0.
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
        turns = [turn for round_ in rounds for turn in turns_of(round_)]
        usage = sum((turn.result.usage if isinstance(turn, Turn) else turn.usage for turn in turns), Usage())
        spent: dict[str, float | int | None] = {
            "costUsd": usage.cost_usd,
            "tokens": usage.total_tokens,
            "calls": usage.calls,
            "seconds": _elapsed_seconds(turns),
        }
        bounds = self._bounds()
        known = {**spent, "costUsd": usage.known_cost_usd}
        used_up = [name for name, bound in bounds.items() if exact(known[name] or 0) >= exact(bound)]
        figures: dict[str, JsonValue] = {
            "spent": {name: spent[name] for name in bounds},
            "limits": {name: as_json(bound) for name, bound in bounds.items()},
        }
        details = ", ".join(
            f"{name} {_amount_text(spent[name])} of {float(exact(bound)):.6g}" for name, bound in bounds.items()
        )
        if not used_up:
            return not_ended(details, **figures)
        return ExitResult(should_exit=True, reason=self.kind, details=details, figures=figures)


def _amount_text(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"


def _elapsed_seconds(turns: Sequence[AnyTurn]) -> float:
    if not turns:
        return 0.0
    end = max(turn.timestamp for turn in turns)
    return max((end - turn.timestamp).total_seconds() + turn.duration_s for turn in turns)


@explains_arguments
@dataclass(frozen=True, slots=True)
class StopRequested(Exit):
    """Ends when all agents of a role that answered in the last round ask to stop; reason `stop_requested`.

    Only stored answers count: the choice of a ballot, the choice of a position or, without one, its wording, or a text.
    The whole answer must be the word, except for letter case and punctuation; a text that only contains the word does
    not end the debate. If an agent answers several times, its last answer counts.

    Example:
        >>> StopRequested(role="judge").to_spec()
        {'kind': 'stop_requested', 'role': 'judge', 'word': 'stop'}
    """

    kind = "stop_requested"
    role: str = "judge"
    """Role whose answers count."""
    word: str = "stop"
    """The answer that asks to stop."""

    def __post_init__(self) -> None:
        """Check that the role and the word are texts that are not empty.

        Raises:
            ConfigurationError: One of them is empty, or not a text.
        """
        for name, value in (("role", self.role), ("word", self.word)):
            if not isinstance(value, str) or not value.strip():
                raise ConfigurationError(f"{name} of StopRequested must be a text that is not empty, not {value!r}")

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Check the answers that agents of this role gave in the last round."""
        turns = turns_of(rounds[-1]) if rounds else ()
        answers = {
            turn.agent_id: _answer_text(turn) for turn in turns if isinstance(turn, Turn) and turn.role == self.role
        }
        stopping = [agent for agent, answer in answers.items() if answer == casefold(self.word)]
        figures: dict[str, JsonValue] = {"role": self.role, "asked": list(answers), "stopping": list(stopping)}
        if not answers:
            return not_ended(f"no {self.role} answered in the last round", **figures)
        if len(stopping) < len(answers):
            return not_ended(f"{len(stopping)} of {len(answers)} in the role of {self.role} ask to stop", **figures)
        details = f"{listing(stopping)}, in the role of {self.role}, asked to stop"
        return ExitResult(should_exit=True, reason=self.kind, details=details, figures=figures)


_LONGEST_REASON = 300


@explains_arguments
@dataclass(frozen=True, slots=True)
class ModeratorEnds(Exit):
    """Ends when a moderator, who takes no part in the debate, decides to end it; reason `moderator`.

    With this criterion in `exit_when`, a model in the seat `facilitator` is asked after each round except the last. Its
    decision is stored with its reason. Only the moderator's turn counts: nothing that debaters write ends the debate.
    If there is no decision, because the model failed or abstained, the debate continues.

    Example:
        >>> ModeratorEnds().to_spec()
        {'kind': 'moderator'}
    """

    kind = "moderator"

    @property
    def needs_moderator(self) -> bool:
        """Whether a moderator is asked: always."""
        return True

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Check the moderator's decision after the last round."""
        turns = [turn for turn in (turns_of(rounds[-1]) if rounds else ()) if turn.stage == MODERATOR_STAGE]
        decision = turns[-1] if turns else None
        if not isinstance(decision, Turn) or not isinstance(decision.answer, BallotAnswer):
            return not_ended("no moderator decided after this round")
        reason = shortened(" ".join(decision.answer.reasoning.split()) or "no reason given", _LONGEST_REASON)
        figures: dict[str, JsonValue] = {"moderator": decision.agent_id, "decision": decision.answer.choice}
        if decision.answer.choice != "end":
            return not_ended(f"the moderator did not end the debate: {reason}", **figures)
        return ExitResult(
            should_exit=True, reason=self.kind, details=f"the moderator ended the debate: {reason}", figures=figures
        )


def asks_moderator(spec: Mapping[str, JsonValue] | None, exits: Registry[ExitFactory] | None = None) -> bool:
    """Check whether a criterion, or a member of a joined criterion, needs the decisions of a moderator.

    Args:
        spec: The criterion as JSON.
        exits: Registry in which kinds are looked up; `None` for the built-in ones.

    Raises:
        ConfigurationError: As for `exit_from_spec`.

    Example:
        >>> asks_moderator((ModeratorEnds() | MaxRounds(3)).to_spec()), asks_moderator(MaxRounds(3).to_spec())
        (True, False)
    """
    return spec is not None and bool(getattr(exit_from_spec(spec, exits), "needs_moderator", False))


def _answer_text(turn: Turn) -> str | None:
    answer = turn.answer
    if isinstance(answer, AgentResponse):
        return casefold(answer.choice or answer.position)
    if isinstance(answer, BallotAnswer):
        return None if answer.choice is None else casefold(answer.choice)
    return casefold(answer.text) if isinstance(answer, TextAnswer) else None


ExitFactory: TypeAlias = Callable[[Mapping[str, JsonValue], Load], ExitCriterion]
"""A function that creates a criterion from its JSON; its argument `load` creates the members of a joined criterion.
`YourExit.from_spec` is such a factory."""

BUILTIN_EXITS: tuple[type[Exit], ...] = (
    AnyOf,
    AllOf,
    MaxRounds,
    MinRounds,
    ConsensusReached,
    Converged,
    AllConfident,
    Stable,
    LeadIsDecisive,
    BudgetSpent,
    NoProgress,
    StopRequested,
    ModeratorEnds,
)
"""Every criterion that comes with the library."""


def exit_registry() -> Registry[ExitFactory]:
    """Create a registry of the built-in criteria by kind, to which other criteria can be added.

    Example:
        >>> "max_rounds" in exit_registry()
        True
    """
    exits = Registry[ExitFactory]("exit")
    for criterion in BUILTIN_EXITS:
        exits.add(criterion.kind, criterion.from_spec, summary=(criterion.__doc__ or "").partition("\n")[0])
    return exits


_BUILT_IN = exit_registry()


def exit_from_spec(spec: Mapping[str, JsonValue], exits: Registry[ExitFactory] | None = None) -> ExitCriterion:
    """Create a criterion from its JSON, the inverse of `to_spec`.

    Args:
        spec: The JSON object, with field names in camelCase or snake_case.
        exits: Registry in which kinds are looked up; `None` for the built-in ones.

    Raises:
        ConfigurationError: The kind is unknown, its fields are not valid, or the criterion is nested more than 30 deep.

    Example:
        >>> exit_from_spec({"kind": "max_rounds", "rounds": 3})
        MaxRounds(rounds=3)
    """
    return _load_criterion(spec, _BUILT_IN if exits is None else exits)


def _load_criterion(spec: Mapping[str, JsonValue], exits: Registry[ExitFactory], depth: int = 0) -> ExitCriterion:
    if depth > DEEPEST:
        raise too_deep()

    def load(member: JsonObject) -> ExitCriterion:
        return _load_criterion(member, exits, depth + 1)

    kind = spec.get("kind")
    if not isinstance(kind, str):
        raise ConfigurationError(
            f"a stop criterion needs the name of its kind, not {kind!r}; known: {', '.join(exits.names())}"
        )
    return exits.get(kind)(spec, load)
