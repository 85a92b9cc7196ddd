"""Studies: debates and baselines with the same price answer the same questions; defined in Python or in a file."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Unpack

from anyio import current_time
from pydantic import Field, ValidationError, model_validator

from roundtable.api.checks import check_job_name, check_list, check_progress, check_whole
from roundtable.api.many import run_in_slots
from roundtable.api.progress import Cause, WaitNews
from roundtable.api.slots import BatchPatience, Slots
from roundtable.bench.arms import Extract, Reader, StudyAnswer, answers_of, extract_last, read_option
from roundtable.bench.experiments import read_data
from roundtable.bench.questions import Question, read_questions
from roundtable.bench.report import StudyReport, report_of
from roundtable.bench.statistics import check_resamples
from roundtable.core.base.arguments import explains_arguments
from roundtable.core.base.eventloop import on_thread
from roundtable.core.base.functions import is_async, reporter
from roundtable.core.base.words import quoted, shortened
from roundtable.core.errors import ConfigurationError, ContextTooLong, RoundtableError
from roundtable.core.types.base import JsonValue, NonEmpty, Value, invalid_field_text
from roundtable.core.types.chat import Usage
from roundtable.core.types.request import DebateRequest
from roundtable.results.debate_result import DebateResult
from roundtable.results.many import FailedDebate, Progress
from roundtable.scoring import Normalise, Rule, normaliser
from roundtable.scoring.rules import judges_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike
    from typing import Self

    from roundtable.api import Roundtable
    from roundtable.api.many import DebateQueue
    from roundtable.api.options import DebateOptions
    from roundtable.bench.report import StudyReport
    from roundtable.core.engine.patience import WaitFor
    from roundtable.core.types.base import JsonObject, JsonValue

__all__ = ["Study", "read_study", "run_study"]

logger: logging.Logger = logging.getLogger("roundtable.bench")

_ROUNDS: Final = 2
_QUEUED: Final = 1_000
"""Number of questions whose debates are queued together."""
_MOST_DIFFERENCES: Final = 20
_MOST_SHOWN: Final = 60
# The answers to known questions are on the web, where only arms with tools would find them.
_NO_SEARCH: Final[DebateOptions] = {"search": False}

_OF_QUESTIONS: Final = frozenset({"topic", "mode", "options", "attachments"})
"""Options of a debate that the questions and modes of a study set."""


@dataclass(slots=True)
class _Study:
    table: Roundtable
    modes: Sequence[str]
    normalise: Normalise
    extract: Extract | None
    options: DebateOptions
    name: str | None = None
    """Name under which debates are kept; with `None`, nothing is kept."""
    on: DebateQueue | None = None
    concurrency: int = 8
    patience: BatchPatience = field(default_factory=BatchPatience)
    progress: _Total | None = None
    answers: dict[str, list[StudyAnswer]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    async def ask(self, questions: Sequence[Question], _: object = None) -> None:
        """Ask questions in every arm, and record why a question failed."""
        results = await self._hold([self.plan_debate(question, mode) for question in questions for mode in self.modes])
        by_question = [results[start : start + len(self.modes)] for start in range(0, len(results), len(self.modes))]
        debated = {
            question.id: debates
            for question, outcomes in zip(questions, by_question, strict=True)
            if (debates := self._complete(question, outcomes))
        }
        comparable = [
            question
            for question in questions
            if question.id in debated and self._has_baselines(question, debated[question.id])
        ]
        drawn = await self._hold(
            [baseline for question in comparable for baseline in self._baselines(question, debated[question.id])]
        )
        for number, question in enumerate(comparable):
            if (samples := self._complete(question, drawn[2 * number : 2 * number + 2])) is not None:
                self._count(question, debated[question.id], *samples)

    def _has_baselines(self, question: Question, debates: Sequence[DebateResult]) -> bool:
        """Check whether baselines may have as many calls as the most expensive debate, else record why not."""
        needed, most = _rounds_at(_price(debates), debates), self.table.settings.max_rounds
        if needed > most:
            self.failed[question.id] = (
                f"its dearest debate made {_price(debates)} calls, as many as {needed} rounds of independent answers, "
                f"but ROUNDTABLE_MAX_ROUNDS allows {most}"
            )
        return needed <= most

    def _baselines(self, question: Question, debates: Sequence[DebateResult]) -> list[dict[str, Any]]:
        """Return the sessions of the baselines for a question, at the price of its most expensive debate."""
        price = _price(debates)
        return [
            self.plan_debate(question, f"self-consistency:samples={price}", 1),
            self.plan_debate(question, "independent-vote", _rounds_at(price, debates)),
        ]

    def _complete(
        self, question: Question, outcomes: Sequence[DebateResult | FailedDebate]
    ) -> list[DebateResult] | None:
        """Return the results if all debates of a question completed, else record why not."""
        if why := _failure(outcomes):
            self.failed[question.id] = why
            return None
        return [outcome for outcome in outcomes if isinstance(outcome, DebateResult)]

    def _count(
        self, question: Question, debates: Sequence[DebateResult], sampled: DebateResult, voted: DebateResult
    ) -> None:
        """Count the answers of every arm to one question."""
        rule = self.options.get("decide") or ("schulze" if self.options.get("vote") else "plurality")
        reader = Reader(question, rule, self.normalise, self.extract)
        try:
            answers = answers_of(reader, debates, sampled, voted)
        except RoundtableError as error:
            self.failed[question.id] = error.message
            return
        sources = [voted, *(source for result in debates for source in (result, sampled, voted))]
        self.answers[question.id] = [
            answer.with_origin(question, source) for answer, source in zip(answers, sources, strict=True)
        ]

    async def _hold(self, planned: Sequence[Mapping[str, Any]]) -> tuple[DebateResult | FailedDebate, ...]:
        if not planned:
            return ()
        on_progress = None if self.progress is None else self.progress.part()
        results = await self.table.debate_many(
            planned,
            name=self.name,
            on=self.on,
            concurrency=self.concurrency,
            on_progress=on_progress,
            wait_for=self.patience.wait_for,
            outage_s=self.patience.outage_s,
            adapt=False,  # the study adapts the number of questions
        )
        return results.held

    def plan_debate(self, question: Question, mode: str, baseline_rounds: int | None = None) -> dict[str, Any]:
        """Return a debate to run, with its options.

        Args:
            question: The question.
            mode: The mode.
            baseline_rounds: Number of rounds of a baseline; `None` for a debate.
        """
        options: DebateOptions = {"rounds": _ROUNDS, **_NO_SEARCH, **self.options, "options": question.options}
        if baseline_rounds is not None:
            options = {**options, "rounds": baseline_rounds}
            # Options that control a debate would end a baseline early, or do not apply to it.
            options = {**options, "exit_when": None, "exit_on_consensus": False, "perspectives": None}
            options = {**options, "baseline": False, "skip_rounds_when": None, "synthesize": False}
        set_options = {name: value for name, value in options.items() if value is not None or name != "options"}
        return {"topic": question.question, "mode": mode, **set_options}


def _price(debates: Sequence[DebateResult]) -> int:
    """Return the number of calls of the most expensive debate."""
    return max(max(1, result.usage.calls) for result in debates)


def _rounds_at(price: int, debates: Sequence[DebateResult]) -> int:
    """Return the number of rounds in which the agents of these debates answer at least `price` times."""
    return -(-price // len(debates[0].agents))


class _Total:
    """The total progress of all parts of a study."""

    def __init__(self, total: int, show: Callable[[Progress], None], slots: Slots | None) -> None:
        self._total = total
        self._show = show
        self._slots = slots
        self._begun = current_time()
        self._parts: list[Progress] = []
        self._news = WaitNews()

    def part(self) -> Callable[[Progress], None]:
        """Return the function to which one part of the study reports its progress."""
        number = len(self._parts)
        self._parts.append(Progress(ended=0, total=0, elapsed_s=0.0))

        def report(progress: Progress) -> None:
            self._parts[number] = progress
            elapsed_s = current_time() - self._begun
            waits = self._waits(progress, elapsed_s)
            self._show(
                Progress(
                    ended=sum(part.ended for part in self._parts),
                    total=self._total,
                    failed=sum(part.failed for part in self._parts),
                    stored=sum(part.stored for part in self._parts),
                    has_ended=progress.has_ended,
                    at_once=None if self._slots is None else self._slots.at_once,
                    usage=sum((part.usage for part in self._parts), Usage()),
                    elapsed_s=elapsed_s,
                    worked_s=self._worked_s(elapsed_s),
                    **waits,
                )
            )

        return report

    def _waits(self, latest: Progress, elapsed_s: float) -> dict[str, Any]:
        """Return the fields about waits; the cause is the one of the latest part that waits."""
        waiting = [part for part in (latest, *self._parts) if part.waiting]
        if not waiting:
            return {}
        part = waiting[0]
        cause = Cause(part.waiting_provider, part.waiting_code or "")
        state = self._news.note(cause, elapsed_s, part.wait_left_s or 0.0)
        return {
            "waiting": sum(part.waiting for part in self._parts),
            "waiting_for": part.waiting_for,
            "waiting_provider": part.waiting_provider,
            "waiting_code": part.waiting_code,
            "wait_s": max(part.wait_s for part in self._parts),
            "wait_left_s": part.wait_left_s,
            "waited_s": state.waited_s,
            "is_wait_news": state.is_news,
        }

    def _worked_s(self, elapsed_s: float) -> float | None:
        """Return the seconds of work, by the share of work in the time of all parts."""
        worked_s = [part.elapsed_s if part.worked_s is None else part.worked_s for part in self._parts]
        all_s = sum(part.elapsed_s for part in self._parts)
        return elapsed_s * sum(worked_s) / all_s if all_s else None


async def _keep(table: Roundtable, name: str, plan: JsonObject) -> None:
    """Store the plan of a study, or check that the stored study of this name has the same plan.

    Raises:
        ConfigurationError: The stored plan differs, or the storage has no key-value store.
    """
    try:
        values = table.key_value("a study")
    except ConfigurationError as error:
        hint = "Use sqlite:///... or postgresql://..., or leave out study=."
        raise ConfigurationError(error.message, hint=hint) from error
    stored = await values.update(f"studies/{name}", lambda old: plan if old is None else old, tenant=table.tenant)
    changes = [*_differences(stored, plan)]
    if changes:
        more = f" (and {len(changes) - 3} more differences)" if len(changes) > 3 else ""
        raise ConfigurationError(
            f"the study {name!r} was started with other questions or settings: {'; '.join(changes[:3])}{more}",
            hint="Use the same questions and settings as before, or give this study another name.",
            details={"differences": list(changes[:_MOST_DIFFERENCES])},
        )


def _plan(table: Roundtable, questions: Sequence[Question], study: _Study) -> JsonObject:
    """Return everything that determines the debates of a study, with hashes instead of its questions."""
    settings: dict[str, JsonValue] = {}
    for mode in study.modes:
        plan = table.describe(**study.plan_debate(questions[0], mode))
        settings[mode] = {name: value for name, value in plan.items() if name not in {"topic", "options", "mode"}}
    return {
        "questions": {
            question.id: hashlib.sha256(question.model_dump_json().encode()).hexdigest()[:16] for question in questions
        },
        "normalise": _name_of(study.normalise),
        "extract": _name_of(study.extract),
        "modes": settings,
    }


def _name_of(value: object) -> JsonValue:
    """Return a text as it is, and a function by its name."""
    return value if value is None or isinstance(value, str) else getattr(value, "__qualname__", type(value).__name__)


def _differences(old: JsonValue, new: JsonValue, where: str = "") -> Iterator[str]:
    """Yield each difference between two JSON values, in words."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        if old != new:
            yield f"{where} was {_format_value(old)} and is {_format_value(new)}"
        return
    for name in {**old, **new}:
        path = f"{where}.{name}" if where else name
        if where == "questions":
            if old.get(name) != new.get(name):
                yield f"{path} {'is missing' if name not in new else 'is new' if name not in old else 'has changed'}"
        elif name not in new:
            yield f"{path} was {_format_value(old[name])} and is left out"
        elif name not in old:
            yield f"{path} was left out and is {_format_value(new[name])}"
        else:
            yield from _differences(old[name], new[name], path)


def _format_value(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return shortened(text, _MOST_SHOWN)


def _failure(outcomes: Sequence[DebateResult | FailedDebate]) -> str:
    """Return why debates cannot be counted; empty if all of them completed."""
    for outcome in outcomes:
        if isinstance(outcome, FailedDebate):
            return outcome.error.message
        if outcome.status != "completed":
            reason = outcome.exit.details if outcome.exit else outcome.answer_reason
            return f"{outcome.mode} is {outcome.status}: {reason}"
    return ""


def _check(table: Roundtable, questions: Sequence[Question], modes: Sequence[str], study: _Study) -> None:
    """Check the questions before the first paid call, and estimate one question per number of options."""
    name, count = Counter(question.id for question in questions).most_common(1)[0]
    if count > 1:
        raise ConfigurationError(f"{count} questions of a study have the id {name!r}")
    for question in questions:
        options = question.options
        if options is not None and read_option(question.gold, options, study.normalise) is None:
            msg = f"question {question.id!r}: the right answer {question.gold!r} is not one of its options"
            raise ConfigurationError(msg, hint=f"Its options are: {', '.join(options)}.")
    kinds = {None if question.options is None else len(question.options): question for question in questions}
    for question in kinds.values():
        for mode in modes:
            with suppress(ContextTooLong):  # the estimate assumes the longest answers; real ones may fit
                table.estimate(**study.plan_debate(question, mode))


def _check_questions(questions: object) -> None:
    """Check that the questions of a study are a list of at least one question."""
    hint = "Write Question(id=..., question=..., gold=...), or call read_questions."
    if isinstance(questions, str) or not isinstance(questions, Sequence):
        kind = type(questions).__name__
        raise ConfigurationError(f"questions must be a list of questions, not {quoted(questions)} ({kind})", hint=hint)
    if not questions:
        raise ConfigurationError("a study needs at least one question")
    if others := [question for question in questions if not isinstance(question, Question)]:
        msg = f"each question must be a Question, not {quoted(others[0])} ({type(others[0]).__name__})"
        raise ConfigurationError(msg, hint=hint)


def _check_settings(modes: Sequence[str], concurrency: int, extract: object, on_progress: object) -> None:
    """Check the arguments of a study that are not options of its debates."""
    check_list("modes", modes, "a list of modes")
    if not modes or len({*modes}) < len(modes):
        raise ConfigurationError(f"modes must name at least one mode, and no mode twice, not {[*modes]!r}")
    check_whole("concurrency", concurrency)
    if concurrency < 1:
        raise ConfigurationError(f"concurrency must be at least 1, not {concurrency}")
    if extract is not None and (not callable(extract) or is_async(extract)):
        hint = "Write extract=extract_last('number'), or pass a function of your own."
        raise ConfigurationError(f"extract must be a function that is not async, not {extract!r}", hint=hint)
    check_progress(on_progress)


@explains_arguments
async def run_study(
    table: Roundtable,
    questions: Sequence[Question],
    *,
    modes: Sequence[str] = ("collaborative",),
    normalise: Normalise = "casefold",
    extract: Extract | None = None,
    concurrency: int = 4,
    study: str | None = None,
    on: DebateQueue | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    wait_for: WaitFor = "all",
    outage_s: float = 600.0,
    adapt: bool = True,
    resamples: int = 10_000,
    seed: int = 0,
    **options: Unpack[DebateOptions],
) -> StudyReport:
    """Answer questions with and without debates, and test which differences are more than chance.

    Every question is debated in each mode, and answered without a debate in three ways:

    - `single`: one answer of one agent.
    - `self-consistency`: one agent answers many times.
    - `independent-vote`: all agents answer in turn, without seeing other answers.

    The last two are counted at the price of the debate: as many of their answers count as the debate needed calls. All
    answers are read and counted by the same rule; the answer of a council is its chair's conclusion, and the answer of
    an Oxford debate is its last vote. If a question fails in one arm, if one of its debates does not complete, or if a
    baseline has fewer answers than the debate made calls, all its answers are left out, since only pairs can be
    compared. Everything is checked before the first call.

    With `study`, every answer is stored as soon as it arrives. If you repeat the same call after an interruption or a
    crash, or with a larger `budget`, only missing answers are requested.

    Args:
        table: Table whose agents answer. Calls of the analyzer count as calls of the debate, so an `analyzer` without a
            model is cheapest.
        questions: Questions with their right answers.
        modes: Debate modes.
        normalise: How to find out whether two spellings are the same answer, as for `roundtable.decide`.
        extract: Function that takes a position, or a whole reply in prose, and returns the answer in it, for questions
            without options. `extract_last("number")` reads numbers as debates do, from the bottom line and the
            position. By default, the answer is the bottom line or, without one, the whole position. A question for
            which the function fails is left out.
        concurrency: Number of questions at the same time; with `on`, number of debates at the same time in each worker.
        study: Name of the study: 1 to 80 letters, digits, hyphens and underscores. If a study of this name was started
            with other questions or settings, it is rejected.
        on: A `roundtable.fleet.Fleet` whose workers run the debates. It needs `study`, and options that are plain data.
        on_progress: Function that is called after each debate, and when debates wait; `print_progress` shows a line.
        wait_for: Which agents a round waits for if their providers fail: `all`, `quorum` or `none`, as for
            `Roundtable.debate_many`. Without `all`, some debates lack agents, which biases the study.
        outage_s: Most seconds that a debate waits in each outage, as for `Roundtable.debate_many`.
        adapt: Whether the number of questions at the same time is halved when a provider answers that there are too
            many calls, and grows again up to `concurrency`.
        resamples: Number of resamples for each bootstrap interval.
        seed: Seed of the resampling.
        options: Options as for `Roundtable.debate`, except `mode` and `options`. The default of `rounds` is 2, and the
            providers' own web search is off unless `search` is given. `decide` is the rule of every arm, so judges are
            not possible.

    Raises:
        ConfigurationError: An argument or option does not exist or is not valid.

    Example:
        >>> import anyio
        >>> from roundtable import Roundtable
        >>> from roundtable.bench import Question
        >>> from roundtable.testing import scripted_agents
        >>> table = Roundtable(scripted_agents({"ada": "4", "bo": "5"}), storage="memory://", analyzer="basic")
        >>> report = anyio.run(run_study, table, [Question(id="1", question="2 + 2?", gold="4")])
        >>> [(arm.arm, arm.correct) for arm in report.arms][:2]
        [('single', 1), ('collaborative', 0)]
    """
    _check_questions(questions)
    _check_settings(modes, concurrency, extract, on_progress)
    normaliser(normalise)
    resamples = check_resamples(resamples)
    check_whole("seed", seed)
    if "options" in options:
        raise ConfigurationError("options belong to the questions of a study: set Question(options=...)")
    rule = options.get("decide")
    if isinstance(rule, str | Rule) and judges_of(rule, table.catalog.rules) is not None:
        hint = "Use Roundtable.debate_many for debates with judges."
        name = rule.name if isinstance(rule, Rule) else rule
        msg = f"decide={name!r} cannot be used in a study: one rule counts all answers, without judges"
        raise ConfigurationError(msg, hint=hint)
    if study is not None:
        check_job_name(study)
    elif on is not None:
        raise ConfigurationError("on= needs study=, the name under which the queue keeps the debates")
    patience = BatchPatience(wait_for, outage_s, adapt)
    asked = _Study(table, modes, normalise, extract, options, study, on, patience=patience)
    _check(table, questions, modes, asked)
    if study is not None:
        await _keep(table, study, _plan(table, questions, asked))
    # A queue gets many questions at a time, since workers are idle until the last debate of each part ends.
    size, at_once = (1, concurrency) if on is None else (_QUEUED, 1)
    asked.concurrency = concurrency if on is not None else asked.concurrency
    slots = Slots(at_once, adapts=adapt)
    if on_progress is not None:
        shown = reporter("on_progress", on_progress, logger)
        asked.progress = _Total(len(questions) * (len(modes) + 2), shown, slots if on is None else None)
    parts = [questions[start : start + size] for start in range(0, len(questions), size)]
    with slots.follow(table.gateway):
        await run_in_slots([partial(asked.ask, part) for part in parts], slots)
    answers = [answer for question in questions for answer in asked.answers.get(question.id, ())]
    # Thousands of questions take seconds, in which other debates must not wait.
    report = partial(report_of, answers, asked.failed, resamples=resamples, seed=seed)
    return await on_thread(report, name="roundtable report")


class Study(Value):
    """The questions and settings of a study; the table provides the agents that answer.

    `read_study` reads such an object from a file. To run the study, use `run`, `run_study(table, **study.arguments())`
    or `sync.run_study(table, **study.arguments())`.

    Example:
        >>> sums = Study(questions=(Question(id="1", question="2 + 2?", gold="4"),), debate={"rounds": 1})
        >>> sorted(sums.arguments())
        ['modes', 'normalise', 'questions', 'resamples', 'rounds', 'seed']
    """

    name: str | None = None
    """Name under which answers are kept, so that an interrupted study can continue; with `None`, nothing is kept."""
    description: str = ""
    """Purpose of the study."""
    questions: Annotated[tuple[Question, ...], Field(min_length=1)]
    """The questions with their right answers."""
    modes: Annotated[tuple[NonEmpty, ...], Field(min_length=1)] = ("collaborative",)
    """Debate modes."""
    normalise: Literal["casefold", "exact", "numeric"] = "casefold"
    """How to find out whether two spellings are the same answer."""
    extract: NonEmpty | None = None
    """Regular expression that finds the answer in a position; the last match counts. `number` reads the number
    that a text gives as its answer. With `None`, the answer is the bottom line or, without one, the whole position."""
    resamples: Annotated[int, Field(ge=1)] = 10_000
    """Number of resamples for each bootstrap interval."""
    seed: int = 0
    """Seed of the resampling."""
    debate: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Options of each debate, such as `rounds`, `decide` and `budget`, as for `Roundtable.debate`."""

    @model_validator(mode="after")
    def _has_valid_parts(self) -> Self:
        if own := sorted(_OF_QUESTIONS & self.debate.keys()):
            raise ValueError(f"debate cannot have {own[0]!r}, since the questions and modes of a study set it")
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
            problem = invalid_field_text(error, DebateRequest, left_out=_OF_QUESTIONS)
            raise ConfigurationError(f"debate: {problem}") from None

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
        """Run the study, or the part of it that is missing; see `run_study`.

        Args:
            table: Table whose agents answer.
            concurrency: Number of questions at the same time.
            on: A fleet whose workers run the debates. The study needs a name.
            on_progress: Function that is called after each debate.

        Raises:
            ConfigurationError: An option is not valid, or a study of this name was started with other questions or
                settings.
        """
        return await run_study(table, **self.arguments(), concurrency=concurrency, on=on, on_progress=on_progress)


def read_study(path: str | PathLike[str]) -> Study:
    """Read a study from a file: TOML (`.toml`), JSON (`.json`), or YAML with any other ending (extra `bench`).

    `questions` is a list of questions, or the path of a file for `read_questions`, relative to the file of the study.

    Raises:
        ConfigurationError: The file cannot be read, is not a study, or needs a library that is not installed.
    """
    file = Path(path).expanduser()
    data = read_data(file)
    if not isinstance(data, dict):
        raise ConfigurationError(
            f"{str(file)!r} is not a study", hint="A study needs questions, or the path of a file with questions."
        )
    questions = data.get("questions")
    if isinstance(questions, str):
        file_questions = read_questions(file.parent / Path(questions).expanduser())
        asked: list[JsonValue] = [question.model_dump(mode="json") for question in file_questions]
        data = {**data, "questions": asked}
    try:
        return Study.model_validate(data)
    except ValidationError as error:
        raise ConfigurationError(f"{str(file)!r}: {invalid_field_text(error, Study)}", cause=error) from None
