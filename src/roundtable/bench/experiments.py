"""Experiments: files that say which modes, numbers of rounds and questions to try with each other."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from pydantic import Field, ValidationError

from roundtable.bench.scenarios import BenchmarkScenario
from roundtable.errors import ConfigurationError
from roundtable.types import JsonValue, NonEmpty, Topic, Value
from roundtable.types.base import first_misfit

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Experiment", "ExperimentOptions", "ExperimentOutput", "ExperimentVariables", "read_experiment"]

_DEFAULT: Final = "default"
T = TypeVar("T", str, int)
_Rounds = Annotated[int, Field(ge=1, le=10)]


class ExperimentVariables(Value):
    """What is varied; every mode is tried with every number of rounds and every question."""

    modes: Annotated[tuple[NonEmpty, ...], Field(min_length=1)]
    """Debate modes."""
    rounds: Annotated[tuple[_Rounds, ...], Field(min_length=1)]
    """Numbers of rounds, 1 to 10."""
    topics: Annotated[tuple[Topic, ...], Field(min_length=1)]
    """Questions."""
    agents: Annotated[tuple[NonEmpty, ...], Field(min_length=1)] = (_DEFAULT,)
    """Who debates, as `"provider:model"`; `default` alone leaves it to the table."""


class ExperimentOptions(Value):
    """How the debates are held."""

    parallel: bool = False
    """Whether several go on at once."""
    delay_between: Annotated[int, Field(ge=0)] = 0
    """Milliseconds between two debates; providers' limits are kept without it."""
    retry_on_failure: Annotated[int, Field(ge=0, le=10)] = 2
    """How often a debate that failed is held again."""


class ExperimentOutput(Value):
    """What the files of results hold."""

    include_raw_responses: bool = True
    """Reasoning beside positions."""
    include_tool_calls: bool = True
    """Tools used."""
    include_citations: bool = True
    """Sources used."""


class Experiment(Value):
    """A plan of debates.

    Example:
        >>> varied = ExperimentVariables(modes=("delphi", "adversarial"), rounds=(1, 3), topics=("Tea or coffee?",))
        >>> [scenario.name for scenario in Experiment(name="drinks", variables=varied).scenarios(modes=["delphi"])]
        ['drinks/delphi/1/1', 'drinks/delphi/3/1']
    """

    name: NonEmpty
    """What it is called; also the folder of its results."""
    description: str = ""
    """What it is to show."""
    variables: ExperimentVariables
    """What is varied."""
    options: ExperimentOptions = ExperimentOptions()
    """How the debates are held."""
    output: ExperimentOutput = ExperimentOutput()
    """What is kept."""

    def scenarios(
        self, *, modes: Sequence[str] | None = None, rounds: Sequence[int] | None = None
    ) -> tuple[BenchmarkScenario, ...]:
        """Give every debate of the plan: modes, then rounds, then questions, in the order of the file.

        Args:
            modes: Only these modes.
            rounds: Only these numbers of rounds.

        Raises:
            ConfigurationError: A mode or number asked for is not in the plan.
        """
        varied = self.variables
        kept, numbers = _only(varied.modes, modes, "mode"), _only(varied.rounds, rounds, "number of rounds")
        agents = None if varied.agents == (_DEFAULT,) else varied.agents
        return tuple(
            BenchmarkScenario(
                name=f"{self.name}/{mode}/{number}/{place}", topic=topic, mode=mode, rounds=number, agents=agents
            )
            for mode in kept
            for number in numbers
            for place, topic in enumerate(varied.topics, 1)
        )


def _only(held: Sequence[T], wanted: Sequence[T] | None, what: str) -> Sequence[T]:
    if wanted is None:
        return held
    if strange := [one for one in wanted if one not in held]:
        msg = f"the experiment has no {what} {strange[0]!r}"
        raise ConfigurationError(msg, hint=f"It has: {', '.join(map(str, held))}.")
    return [one for one in held if one in wanted]


def read_experiment(path: str | PathLike[str]) -> Experiment:
    """Read an experiment from a file: YAML (extra `bench`), or TOML or JSON by its ending.

    Raises:
        ConfigurationError: The file cannot be read, says something else, or needs a library that is not installed.
    """
    file = Path(path).expanduser()
    try:
        text = file.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"{str(file)!r} cannot be read: {getattr(error, 'strerror', None) or error}", cause=error
        ) from error
    data = _data(file, text)
    if not isinstance(data, dict):
        raise ConfigurationError(f"{str(file)!r} holds no experiment", hint="It needs a name and variables.")
    try:
        return Experiment.model_validate(data)
    except ValidationError as error:
        raise ConfigurationError(f"{str(file)!r}: {': '.join(first_misfit(error))}", cause=error) from None


def _data(file: Path, text: str) -> JsonValue:
    ending = file.suffix.lower()
    try:
        if ending == ".toml":
            return tomllib.loads(text)
        return json.loads(text) if ending == ".json" else _yaml(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{str(file)!r} cannot be read: {error}", cause=error) from error


def _yaml(text: str) -> JsonValue:
    try:
        import yaml
    except ImportError as error:
        hint = "Install it: pip install 'roundtable-sdk[bench]'; or write the experiment as TOML or JSON."
        raise ConfigurationError("an experiment in YAML needs PyYAML", hint=hint, cause=error) from error
    try:
        data: JsonValue = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    return data
