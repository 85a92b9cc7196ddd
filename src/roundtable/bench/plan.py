"""A study as one object, the same from Python and from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field, ValidationError, model_validator

from roundtable.api.checks import check_job_name
from roundtable.bench.arms import extract_last
from roundtable.bench.experiments import read_data
from roundtable.bench.questions import Question, read_questions
from roundtable.bench.study import run_study
from roundtable.errors import ConfigurationError
from roundtable.types import JsonValue, NonEmpty, Value
from roundtable.types.base import first_error
from roundtable.types.request import DebateRequest

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from typing import Self

    from roundtable.api import Roundtable
    from roundtable.api.many import DebateQueue
    from roundtable.bench.report import StudyReport
    from roundtable.results.many import Progress

__all__ = ["Study", "read_study"]

_OF_QUESTIONS: Final = frozenset({"topic", "mode", "options", "attachments"})
"""Options of a debate that each question or mode of a study sets itself."""


class Study(Value):
    """What a study asks, and how; the table says who answers.

    `read_study` reads the same object from a file. `run_study(table, **study.arguments())` and
    `sync.run_study(table, **study.arguments())` hold it, as `run` does.

    Example:
        >>> sums = Study(questions=(Question(id="1", question="2 + 2?", gold="4"),), debate={"rounds": 1})
        >>> sorted(sums.arguments())
        ['modes', 'normalise', 'questions', 'resamples', 'rounds', 'seed']
    """

    name: str | None = None
    """Name under which answers are kept, so that the same study goes on; `None` keeps nothing."""
    description: str = ""
    """Its purpose."""
    questions: Annotated[tuple[Question, ...], Field(min_length=1)]
    """The questions with their right answers."""
    modes: Annotated[tuple[NonEmpty, ...], Field(min_length=1)] = ("collaborative",)
    """Debate modes."""
    normalise: Literal["casefold", "exact", "numeric"] = "casefold"
    """When two spellings are the same answer."""
    extract: NonEmpty | None = None
    """Regular expression for the answer in a position, whose last match counts; or `number`. `None` is the whole
    position."""
    resamples: Annotated[int, Field(ge=1)] = 10_000
    """Resamples of each bootstrap interval."""
    seed: int = 0
    """Seed of the resampling."""
    debate: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Options of each debate, such as `rounds`, `decide` and `budget`, as for `Roundtable.debate`."""

    @model_validator(mode="after")
    def _has_valid_parts(self) -> Self:
        if own := sorted(_OF_QUESTIONS & self.debate.keys()):
            raise ValueError(f"debate cannot have {own[0]!r}, which the questions and modes of a study set")
        try:
            self._debate_options()
            if self.name is not None:
                check_job_name(self.name)
            if self.extract is not None:
                extract_last(self.extract)
        except ConfigurationError as error:
            raise ValueError(error.message) from error
        return self

    def _debate_options(self) -> dict[str, Any]:
        try:
            return DebateRequest.model_validate({"topic": "-", **self.debate}).given_options()
        except ValidationError as error:
            raise ConfigurationError(f"debate: {': '.join(filter(None, first_error(error)))}") from None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `run_study`, without the table."""
        named = {"study": self.name, "extract": None if self.extract is None else extract_last(self.extract)}
        return {
            "questions": self.questions,
            "modes": self.modes,
            "normalise": self.normalise,
            "resamples": self.resamples,
            "seed": self.seed,
            **{name: value for name, value in named.items() if value is not None},
            **self._debate_options(),
        }

    async def run(
        self,
        table: Roundtable,
        *,
        concurrency: int = 4,
        on: DebateQueue | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> StudyReport:
        """Hold the study, or what is missing of it; see `run_study`.

        Args:
            table: Table whose agents answer.
            concurrency: Questions to run at the same time.
            on: A fleet whose workers hold the debates. Needs a name.
            on_progress: Called whenever a debate has ended.

        Raises:
            ConfigurationError: An option does not fit, or a study of this name asked something else.
        """
        return await run_study(table, **self.arguments(), concurrency=concurrency, on=on, on_progress=on_progress)


def read_study(path: str | PathLike[str]) -> Study:
    """Read a study from a file: TOML or JSON by its ending, otherwise YAML (extra `bench`).

    `questions` is a list of questions, or the path of a file that `read_questions` reads, relative to the study's.

    Raises:
        ConfigurationError: The file cannot be read, is not a study, or needs a library that is not installed.
    """
    file = Path(path).expanduser()
    data = read_data(file)
    if not isinstance(data, dict):
        raise ConfigurationError(f"{str(file)!r} is not a study", hint="It needs questions, or the path of their file.")
    questions = data.get("questions")
    if isinstance(questions, str):
        found = read_questions(file.parent / Path(questions).expanduser())
        asked: list[JsonValue] = [question.model_dump(mode="json") for question in found]
        data = {**data, "questions": asked}
    try:
        return Study.model_validate(data)
    except ValidationError as error:
        msg = f"{str(file)!r}: {': '.join(filter(None, first_error(error)))}"
        raise ConfigurationError(msg, cause=error) from None
