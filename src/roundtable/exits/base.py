"""The algebra of stop criteria: frozen values, joined by `|` and `&`, kept as JSON."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar, Self, TypeAlias

from pydantic.alias_generators import to_camel, to_snake

from roundtable._foreign import error_text
from roundtable.errors import ConfigurationError
from roundtable.logs import ROOT
from roundtable.protocols import ExitCriterion, ExitRound
from roundtable.types import ExitResult, JsonObject, JsonValue

__all__ = ["AllOf", "AnyOf", "Exit", "Load", "as_json", "broken_in", "going_on", "guarded", "members", "unmet", "whole"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.exits")

Load: TypeAlias = Callable[[JsonObject], ExitCriterion]
"""Builds the criterion that a JSON object describes."""


@dataclass(frozen=True, slots=True)
class Exit:
    """A stop criterion: a frozen value that looks at the complete rounds and says whether the debate ends.

    Subclass it as a frozen dataclass, set `kind` and write `check`; fields that JSON can hold need no more.
    `one | other` ends when one of them does, `one & other` when both do; `&` binds tighter, as in Python.

    Example:
        >>> from roundtable.exits import MaxRounds, MinRounds
        >>> (MaxRounds(5) | MaxRounds(3) & MinRounds(2)).to_spec()["kind"]
        'any'
    """

    kind: ClassVar[str] = ""
    """Name under which this class is found again in JSON; also the reason it gives, unless stated."""

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Look at the complete rounds so far, of which there is one at the least; pure."""
        raise NotImplementedError(f"{type(self).__name__} must say when it ends a debate")

    def __or__(self, other: ExitCriterion) -> AnyOf:
        """End when either does; the first that does, in the order written, gives the reason."""
        return AnyOf((self, other))

    def __and__(self, other: ExitCriterion) -> AllOf:
        """End when both do at once."""
        return AllOf((self, other))

    def to_spec(self) -> JsonObject:
        """Give this criterion as JSON, from which `exit_from_spec` builds an equal one."""
        spec: JsonObject = {"kind": self.kind}
        for field in fields(self):
            value: object = getattr(self, field.name)
            spec[to_camel(field.name)] = as_json(value)
        return spec

    @classmethod
    def from_spec(cls, spec: Mapping[str, JsonValue], _load: Load, /) -> Self:
        """Build a criterion from its JSON.

        Raises:
            ConfigurationError: A field is unknown, missing or out of range.
        """
        given = {to_snake(name): value for name, value in spec.items() if name != "kind"}
        known = {field.name for field in fields(cls)}
        if unknown := sorted(given.keys() - known):
            names = ", ".join(sorted(known)) or "none"
            raise ConfigurationError(f"the exit {cls.kind!r} has no field {unknown[0]!r}; it has: {names}")
        try:
            return cls(**given)
        except TypeError as error:
            raise ConfigurationError(f"the exit {cls.kind!r} cannot be built: {error_text(error)}") from error


def as_json(value: object) -> JsonValue:
    """Give a field as JSON: decimals as numbers, other fractions as text.

    Example:
        >>> as_json(Fraction(9, 10)), as_json(Fraction(2, 3))
        (0.9, '2/3')
    """
    if isinstance(value, Fraction):
        return float(value) if Fraction(str(float(value))) == value else str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ConfigurationError(f"a field of an exit must be a JSON value, not {value!r}; override to_spec")


def going_on(details: str = "", **figures: JsonValue) -> ExitResult:
    """Say that the debate goes on."""
    return ExitResult(should_exit=False, details=details, figures=figures)


def whole(value: object, what: str, least: int = 1) -> int:
    """Read a whole number.

    Raises:
        ConfigurationError: It is none, or below `least`.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigurationError(f"{what} must be a whole number of at least {least}, not {value!r}")
    return value


@dataclass(frozen=True, slots=True)
class _Joined(Exit):
    of: tuple[ExitCriterion, ...]
    """The criteria, in the order they are asked."""

    def __post_init__(self) -> None:
        """Put the members of a joined criterion of the same kind in its place.

        Raises:
            ConfigurationError: There is none, or one of them is no criterion.
        """
        flat: list[ExitCriterion] = []
        for member in self.of:
            if not callable(getattr(member, "check", None)) or not callable(getattr(member, "to_spec", None)):
                raise ConfigurationError(f"{member!r} is no stop criterion")
            flat.extend(member.of if isinstance(member, _Joined) and type(member) is type(self) else (member,))
        if not flat:
            raise ConfigurationError("a joined exit needs at least one criterion")
        object.__setattr__(self, "of", tuple(flat))

    def to_spec(self) -> JsonObject:
        """Give this criterion as JSON."""
        return {"kind": self.kind, "of": [member.to_spec() for member in self.of]}

    @classmethod
    def from_spec(cls, spec: Mapping[str, JsonValue], load: Load, /) -> Self:
        """Build the criterion and its members from JSON.

        Raises:
            ConfigurationError: `of` is no list of criteria.
        """
        members = spec.get("of")
        if not isinstance(members, list):
            raise ConfigurationError(f"the exit {cls.kind!r} needs a list of criteria in 'of'")
        found = [load(member) for member in members if isinstance(member, dict)]
        if len(found) < len(members):
            raise ConfigurationError(f"each criterion in 'of' of the exit {cls.kind!r} must be an object")
        return cls(tuple(found))


def _checked(member: ExitCriterion, result: ExitResult) -> JsonObject:
    return {
        "exit": str(member.to_spec().get("kind", type(member).__name__)),
        "ends": result.should_exit,
        "figures": dict(result.figures),
    }


@dataclass(frozen=True, slots=True)
class AnyOf(_Joined):
    """Ends when one of several criteria does: the first in the order written gives reason and details.

    `figures["checked"]` lists every criterion asked with its figures, up to the one that ended the debate.
    """

    kind = "any"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Ask the criteria in order."""
        checked: list[JsonValue] = []
        for member in self.of:
            result = member.check(rounds)
            checked.append(_checked(member, result))
            if result.should_exit:
                return result.model_copy(update={"figures": {"checked": checked}})
        return going_on(checked=checked)


@dataclass(frozen=True, slots=True)
class AllOf(_Joined):
    """Ends when all of several criteria do at once.

    The first of them, in the order written, that is no mere precondition (`MinRounds`) gives the reason; the details
    of all are joined. `figures["checked"]` lists every criterion with its figures.
    """

    kind = "all"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Ask all criteria."""
        results = [member.check(rounds) for member in self.of]
        checked: list[JsonValue] = [_checked(*pair) for pair in zip(self.of, results, strict=True)]
        if not all(result.should_exit for result in results):
            return going_on(checked=checked)
        reasons = [result.reason for result in results if result.reason != "min_rounds"]
        return ExitResult(
            should_exit=True,
            reason=reasons[0] if reasons else "min_rounds",
            details="; ".join(result.details for result in results),
            figures={"checked": checked},
        )


def members(criterion: ExitCriterion) -> tuple[Exit, ...]:
    """List the criteria that one is made of, in the order they are asked; those of foreign classes are left out.

    Example:
        >>> from roundtable.exits import MaxRounds, MinRounds
        >>> members(MaxRounds(5) | MaxRounds(3) & MinRounds(2))
        (MaxRounds(rounds=5), MaxRounds(rounds=3), MinRounds(rounds=2))
    """
    if isinstance(criterion, _Joined):
        return tuple(found for member in criterion.of for found in members(member))
    return (criterion,) if isinstance(criterion, Exit) else ()


def _is_result(found: object) -> bool:
    return isinstance(found, ExitResult)


@dataclass(frozen=True, slots=True)
class _Guarded(Exit):
    """A criterion that may break without breaking the debate: then it does not hold."""

    inner: ExitCriterion

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        """Ask the criterion; one that raises, or gives no result, has no say this time."""
        try:
            found = self.inner.check(rounds)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (criteria may be foreign code)
            return self._broken(f"{type(error).__name__}: {error_text(error)}")
        return found if _is_result(found) else self._broken(f"it gave {found!r:.80} for an ExitResult")

    def _broken(self, cause: str) -> ExitResult:
        name = str(self.to_spec().get("kind"))
        logger.warning("the exit %r broke and was left out: %s", name, cause)
        return going_on("it broke and was left out", broken=f"{name}: {cause}")

    def to_spec(self) -> JsonObject:
        """Give the criterion as JSON."""
        return self.inner.to_spec()


def broken_in(figures: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """List the criteria that broke, each with its cause, in the figures of a guarded criterion.

    Example:
        >>> broken_in({"checked": [{"exit": "mine", "ends": False, "figures": {"broken": "mine: KeyError: 1"}}]})
        ('mine: KeyError: 1',)
    """
    found = figures.get("broken")
    if isinstance(found, str):
        return (found,)
    checked = figures.get("checked")
    entries = (
        [entry.get("figures") for entry in checked if isinstance(entry, dict)] if isinstance(checked, list) else []
    )
    return tuple(cause for inner in entries if isinstance(inner, dict) for cause in broken_in(inner))


def guarded(criterion: ExitCriterion) -> ExitCriterion:
    """Keep every criterion that one is made of from breaking a debate.

    One that raises, or gives something else than an `ExitResult`, does not hold; the log names it, and the figures of
    its result hold the cause under `broken`.

    Example:
        >>> from roundtable.exits import ConsensusReached, MaxRounds
        >>> (guarded(ConsensusReached(0.9)) | MaxRounds(1)).to_spec()["of"][0]["kind"]
        'consensus'
    """
    if isinstance(criterion, _Joined):
        return type(criterion)(tuple(guarded(member) for member in criterion.of))
    return _Guarded(criterion)


def unmet(criterion: ExitCriterion, rounds: Sequence[ExitRound]) -> ExitCriterion | None:
    """Leave out what already held after some rounds: a debate that is extended all the same goes on in spite of it.

    Of criteria joined by `|` those that held are left out, anything else as a whole.

    Args:
        criterion: When the debate was to end.
        rounds: The complete rounds before it was extended; without any, everything is kept.

    Example:
        >>> from roundtable.exits import ConsensusReached, MaxRounds
        >>> unmet(MaxRounds(3) | ConsensusReached(0.9), ())
        AnyOf(of=(MaxRounds(rounds=3), ConsensusReached(threshold=Fraction(9, 10))))
    """
    if not rounds:
        return criterion
    if not isinstance(criterion, AnyOf):
        return None if criterion.check(rounds).should_exit else criterion
    left = tuple(member for member in criterion.of if not member.check(rounds).should_exit)
    return AnyOf(left) if left else None
