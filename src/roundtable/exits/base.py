"""Base class of stop criteria: frozen values that are combined by `|` and `&`, and stored as JSON."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from typing import ClassVar, Final, Self, TypeAlias

from pydantic.alias_generators import to_camel, to_snake

from roundtable.core.base.text import error_text
from roundtable.core.errors import ConfigurationError
from roundtable.core.protocols import ExitCriterion, ExitRound
from roundtable.core.types.base import JsonObject, JsonValue
from roundtable.core.types.debate import ExitResult
from roundtable.logs import ROOT
from roundtable.scoring.numbers import exact

__all__ = [
    "DEEPEST",
    "AllOf",
    "AnyOf",
    "CheckedExits",
    "Exit",
    "Load",
    "as_json",
    "failed_criteria",
    "guarded",
    "members",
    "not_ended",
    "too_deep",
    "whole",
    "without_met",
]

logger: logging.Logger = logging.getLogger(f"{ROOT}.exits")

Load: TypeAlias = Callable[[JsonObject], ExitCriterion]
"""A function that creates the criterion that a JSON object describes."""


DEEPEST: Final = 30
"""How deep joined criteria can be nested."""


@dataclass(frozen=True, slots=True)
class Exit:
    """A stop criterion: a frozen value that checks the complete rounds, and decides whether the debate ends.

    For a criterion of your own, write a subclass that is a frozen dataclass, set `kind` and override `check`. If all
    its fields are JSON values, you need nothing else.

    `first | second` ends the debate if either criterion holds, `first & second` if both hold in the same round. `&`
    binds tighter, as in Python.

    Example:
        >>> from roundtable.exits import MaxRounds, MinRounds
        >>> (MaxRounds(5) | MaxRounds(3) & MinRounds(2)).to_spec()["kind"]
        'any'
    """

    kind: ClassVar[str] = ""
    """Name of this class in JSON; by convention also the reason in its results."""

    @property
    def needs_moderator(self) -> bool:
        """Whether a model that does not debate decides after each round, except the last, if the debate should end.

        Its decision is the ballot `end` or `continue` in the stage `MODERATOR_STAGE` of the round.
        """
        return False

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Check the complete rounds so far, of which there is at least one. A pure function."""
        raise NotImplementedError(f"{type(self).__name__} must override check, which decides whether a debate ends")

    def __or__(self, other: ExitCriterion) -> AnyOf:
        """Join two criteria: either is enough to end the debate. If both hold, the result of the first one counts."""
        return AnyOf((self, other))

    def __and__(self, other: ExitCriterion) -> AllOf:
        """Join two criteria: both must hold in the same round."""
        return AllOf((self, other))

    def to_spec(self) -> JsonObject:
        """Return this criterion as JSON, from which `exit_from_spec` builds an equal criterion."""
        spec: JsonObject = {"kind": self.kind}
        for field in fields(self):
            value: object = getattr(self, field.name)
            spec[to_camel(field.name)] = as_json(value)
        return spec

    @classmethod
    def from_spec(cls, spec: Mapping[str, JsonValue], _load: Load, /) -> Self:
        """Create a criterion from its JSON.

        Raises:
            ConfigurationError: A field is unknown, missing or out of range.
        """
        values = {to_snake(name): value for name, value in spec.items() if name != "kind"}
        known = {field.name for field in fields(cls)}
        if unknown := sorted(values.keys() - known):
            names = ", ".join(sorted(known)) or "none"
            raise ConfigurationError(f"the stop criterion {cls.kind!r} has no field {unknown[0]!r}; it has: {names}")
        missing = [
            field.name
            for field in fields(cls)
            if field.name not in values and field.default is MISSING and field.default_factory is MISSING
        ]
        if missing:
            raise ConfigurationError(f"the stop criterion {cls.kind!r} needs {', '.join(map(repr, missing))}")
        try:
            return cls(**values)
        except TypeError as error:
            raise ConfigurationError(f"the stop criterion {cls.kind!r} cannot be built: {error_text(error)}") from error


def as_json(value: object) -> JsonValue:
    """Return the value of a field as JSON; fractions that are decimals become numbers, other fractions become text.

    Example:
        >>> as_json(Fraction(9, 10)), as_json(Fraction(2, 3))
        (0.9, '2/3')
    """
    if isinstance(value, Fraction):
        number = float(value)
        return number if Fraction(str(number)) == value == exact(number) else str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ConfigurationError(f"a field of a stop criterion must be a JSON value, not {value!r}; override to_spec")


def not_ended(details: str = "", **figures: JsonValue) -> ExitResult:
    """Create the result of a criterion that does not end the debate."""
    return ExitResult(should_exit=False, details=details, figures=figures)


def _is_criterion(value: object) -> bool:
    """Check whether a value looks like a stop criterion; a class such as `MaxRounds`, without rounds, is not one."""
    methods = (getattr(value, name, None) for name in ("check", "to_spec"))
    return not isinstance(value, type) and all(map(callable, methods))


def whole(value: object, what: str, least: int = 1) -> int:
    """Read a whole number.

    Raises:
        ConfigurationError: It is not a whole number, or it is below `least`.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigurationError(f"{what} must be a whole number of at least {least}, not {value!r}")
    return value


@dataclass(frozen=True, slots=True)
class _Joined(Exit):
    of: tuple[ExitCriterion, ...]
    """The criteria, in the order in which they are checked."""

    def __post_init__(self) -> None:
        """Replace a joined criterion of the same kind by its members.

        Raises:
            ConfigurationError: There are no members, a member is not a criterion, or the criterion is nested more than
                30 deep.
        """
        flat: list[ExitCriterion] = []
        for member in self.of:
            if not _is_criterion(member):
                raise ConfigurationError(f"{member!r} is not a stop criterion")
            flat.extend(member.of if isinstance(member, _Joined) and type(member) is type(self) else (member,))
        if not flat:
            raise ConfigurationError("a joined stop criterion needs at least one criterion")
        if 1 + max(map(_depth, flat)) > DEEPEST:
            raise too_deep()
        object.__setattr__(self, "of", tuple(flat))

    @property
    def needs_moderator(self) -> bool:
        """Whether one of the criteria needs a moderator."""
        return any(getattr(member, "needs_moderator", False) for member in self.of)

    def to_spec(self) -> JsonObject:
        """Return this criterion as JSON."""
        return {"kind": self.kind, "of": [member.to_spec() for member in self.of]}

    @classmethod
    def from_spec(cls, spec: Mapping[str, JsonValue], load: Load, /) -> Self:
        """Create the criterion and its members from JSON.

        Raises:
            ConfigurationError: `of` is not a list of criteria.
        """
        members = spec.get("of")
        if not isinstance(members, list):
            raise ConfigurationError(f"the stop criterion {cls.kind!r} needs a list of criteria under the key 'of'")
        loaded = [load(member) for member in members if isinstance(member, dict)]
        if len(loaded) < len(members):
            raise ConfigurationError(f"each member in 'of' of the stop criterion {cls.kind!r} must be an object")
        return cls(tuple(loaded))


def _depth(criterion: ExitCriterion) -> int:
    return 1 + max(map(_depth, criterion.of)) if isinstance(criterion, _Joined) else 0


def too_deep() -> ConfigurationError:
    """Return the error for a criterion that is nested too deeply."""
    return ConfigurationError(f"a stop criterion can be nested at most {DEEPEST} levels deep")


def _check_entry(member: ExitCriterion, result: ExitResult) -> JsonObject:
    return {
        "exit": str(member.to_spec().get("kind", type(member).__name__)),
        "ends": result.should_exit,
        "figures": dict(result.figures),
    }


@dataclass(frozen=True, slots=True)
class AnyOf(_Joined):
    """Ends when one of several criteria holds; the first that holds provides the reason and the details.

    `figures["checked"]` lists the criteria that were checked, each with its figures, up to the one that ended the
    debate.
    """

    kind = "any"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Check the criteria in order."""
        checked: list[JsonValue] = []
        for member in self.of:
            result = member.check(rounds)
            checked.append(_check_entry(member, result))
            if result.should_exit:
                return result.model_copy(update={"figures": {"checked": checked}})
        return not_ended(checked=checked)


@dataclass(frozen=True, slots=True)
class AllOf(_Joined):
    """Ends when all of several criteria hold in the same round.

    The first criterion that is not just a precondition (`MinRounds`) provides the reason. The details of all are
    joined. `figures["checked"]` lists every criterion with its figures.
    """

    kind = "all"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Check all criteria."""
        results = [member.check(rounds) for member in self.of]
        checked: list[JsonValue] = [_check_entry(*pair) for pair in zip(self.of, results, strict=True)]
        if not all(result.should_exit for result in results):
            return not_ended(checked=checked)
        reasons = [result.reason for result in results if result.reason != "min_rounds"]
        return ExitResult(
            should_exit=True,
            reason=reasons[0] if reasons else "min_rounds",
            details="; ".join(result.details for result in results),
            figures={"checked": checked},
        )


def members(criterion: ExitCriterion) -> tuple[Exit, ...]:
    """List the parts of a criterion in the order in which they are checked; only subclasses of `Exit` are listed.

    Example:
        >>> from roundtable.exits import MaxRounds, MinRounds
        >>> members(MaxRounds(5) | MaxRounds(3) & MinRounds(2))
        (MaxRounds(rounds=5), MaxRounds(rounds=3), MinRounds(rounds=2))
    """
    if isinstance(criterion, _Joined):
        return tuple(part for member in criterion.of for part in members(member))
    return (criterion,) if isinstance(criterion, Exit) else ()


def _is_result(value: object) -> bool:
    return isinstance(value, ExitResult)


@dataclass(frozen=True, slots=True)
class _Guarded(Exit):
    """A criterion whose errors do not break the debate: on an error, it counts as not met."""

    inner: ExitCriterion

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Check the criterion; if it raises an error or returns no `ExitResult`, it counts as not met this time."""
        try:
            result = self.inner.check(rounds)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (criteria may be foreign code)
            return self._failed(f"{type(error).__name__}: {error_text(error)}")
        return result if _is_result(result) else self._failed(f"it returned {result!r:.80} instead of an ExitResult")

    def _failed(self, cause: str) -> ExitResult:
        name = str(self.to_spec().get("kind"))
        logger.warning("the stop criterion %r failed and was ignored: %s", name, cause)
        return not_ended("it failed and was ignored", broken=f"{name}: {cause}")

    def to_spec(self) -> JsonObject:
        """Return the criterion as JSON."""
        return self.inner.to_spec()


def failed_criteria(figures: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """List the criteria that failed, each with its cause; the input is the figures of a guarded criterion.

    Example:
        >>> failed_criteria({"checked": [{"exit": "mine", "ends": False, "figures": {"broken": "mine: KeyError: 1"}}]})
        ('mine: KeyError: 1',)
    """
    broken = figures.get("broken")
    if isinstance(broken, str):
        return (broken,)
    checked = figures.get("checked")
    entries = (
        [entry.get("figures") for entry in checked if isinstance(entry, dict)] if isinstance(checked, list) else []
    )
    return tuple(cause for nested in entries if isinstance(nested, dict) for cause in failed_criteria(nested))


def guarded(criterion: ExitCriterion) -> ExitCriterion:
    """Return a criterion whose errors, and the errors of its parts, do not break a debate.

    A part that raises an error, or returns anything but an `ExitResult`, counts as not met. The log names it, and the
    figures of its result contain the cause under `broken`.

    Example:
        >>> from roundtable.exits import ConsensusReached, MaxRounds
        >>> (guarded(ConsensusReached(0.9)) | MaxRounds(1)).to_spec()["of"][0]["kind"]
        'consensus'
    """
    if isinstance(criterion, _Joined):
        return type(criterion)(tuple(guarded(member) for member in criterion.of))
    return _Guarded(criterion)


def without_met(criterion: ExitCriterion, rounds: Sequence[ExitRound]) -> ExitCriterion | None:
    """Return a criterion without the parts that already hold, so that an extended debate continues in spite of them.

    Of criteria joined by `|`, those that hold are left out. Any other criterion that holds is left out as a whole; the
    result is then `None`.

    Args:
        criterion: The stop criterion of the debate.
        rounds: The complete rounds before the debate was extended; without rounds, nothing is left out.

    Example:
        >>> from roundtable.exits import ConsensusReached, MaxRounds
        >>> without_met(MaxRounds(3) | ConsensusReached(0.9), ())
        AnyOf(of=(MaxRounds(rounds=3), ConsensusReached(threshold=Fraction(9, 10))))
    """
    if not rounds:
        return criterion
    if not isinstance(criterion, AnyOf):
        return None if criterion.check(rounds).should_exit else criterion
    remaining = tuple(member for member in criterion.of if not member.check(rounds).should_exit)
    return AnyOf(remaining) if remaining else None


@dataclass(frozen=True, slots=True)
class CheckedExits:
    """The exit criteria of a debate, as its loop checks them after each round.

    Example:
        >>> from roundtable.exits import MaxRounds
        >>> from roundtable.types import ExitResult
        >>> CheckedExits(MaxRounds(3)).failed_in(ExitResult(should_exit=False, figures={"broken": "mine: KeyError: 1"}))
        ('mine: KeyError: 1',)
    """

    criterion: ExitCriterion

    def check(self, rounds: Sequence[ExitRound], extended_after: int) -> ExitResult | None:
        """Check the complete rounds; errors of criteria are logged, and are part of the result.

        Args:
            rounds: The rounds.
            extended_after: Number of rounds before the caller extended the debate. A criterion that already held then
                doesn't end the debate again.

        Returns:
            The result; `None` if no criterion is left.
        """
        left = without_met(guarded(self.criterion), rounds[:extended_after])
        return None if left is None else left.check(rounds)

    def failed_in(self, result: ExitResult) -> tuple[str, ...]:
        """List the criteria that raised an error, each with its cause."""
        return failed_criteria(result.figures)
