"""A study: many questions with known answers, each debated, and answered without debate at the same price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Unpack

from roundtable.api.checks import check_list
from roundtable.api.together import together
from roundtable.bench.arms import Extract, Reader, StudyAnswer, answers_of, drawn_from
from roundtable.bench.statistics import check_resamples
from roundtable.bench.study_report import StudyReport, report_of
from roundtable.errors import ConfigurationError, ContextTooLong
from roundtable.scoring import Normalise, Transitions, normaliser
from roundtable.types.plan import JUDGED

if TYPE_CHECKING:
    from roundtable.api import Roundtable
    from roundtable.api.options import DebateOptions
    from roundtable.bench.questions import Question
    from roundtable.results import Results

__all__ = ["run_study"]

_ROUNDS: Final = 2


@dataclass(slots=True)
class _Study:
    table: Roundtable
    modes: Sequence[str]
    normalise: Normalise
    extract: Extract | None
    options: DebateOptions
    answers: dict[str, list[StudyAnswer]] = field(default_factory=dict)
    moved: dict[str, Transitions] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    async def ask(self, question: Question) -> None:
        """Hold one question in every way, or note why that could not be."""
        rule = self.options.get("decide", "plurality")
        reader = Reader(question, rule, self.normalise, self.extract)
        debates = await self._hold(question, self.modes, self.options.get("rounds", _ROUNDS))
        if why := _broken(debates):
            self.failed[question.id] = why
            return
        price = max(max(1, result.usage.calls) for result in debates)
        seats = len(debates[0].agents)
        wanted = -(-price // seats)
        most = self.table.wiring.settings.max_rounds
        sampled = await self._hold(question, [f"self-consistency:samples={price}"], 1, alone=True)
        voted = await self._hold(question, ["independent-vote"], min(wanted, most), alone=True)
        if why := _broken(sampled) or _broken(voted):
            self.failed[question.id] = why
            return
        drawn = [[one for result in held for one in drawn_from(result)] for held in (sampled, voted)]
        try:
            found = answers_of(reader, debates, *drawn)
            moved = {result.mode: reader.moved(result) for result in debates}
        except ConfigurationError as error:
            self.failed[question.id] = error.message
            return
        self.answers[question.id] = found
        for mode, change in moved.items():
            self.moved[mode] = self.moved.get(mode, Transitions()) + change

    async def _hold(self, question: Question, modes: Sequence[str], rounds: int, *, alone: bool = False) -> Results:
        asked: DebateOptions = {**self.options, "rounds": rounds, "options": question.options}
        if alone:
            # What steers a debate would end a vote early, or does not go with it.
            asked = {**asked, "exit_when": None, "exit_on_consensus": False, "perspectives": None}
            asked = {**asked, "baseline": False, "skip_rounds_when": None, "synthesize": False}
        return await self.table.debate_many([question.question], modes=modes, **asked)


def _broken(held: Results) -> str:
    """Say why debates cannot be counted; empty where all were held to their end."""
    if held.failures:
        return held.failures[0].error.message
    cut = next((result for result in held if result.status != "completed"), None)
    if cut is None:
        return ""
    return f"{cut.mode} is {cut.status}: {cut.exit.details if cut.exit else cut.answer_reason}"


def _check(table: Roundtable, questions: Sequence[Question], modes: Sequence[str], study: _Study) -> None:
    """Refuse what cannot be asked before anybody is paid: one question for each number of options stands for all."""
    name, times = Counter(one.id for one in questions).most_common(1)[0]
    if times > 1:
        raise ConfigurationError(f"{times} questions of a study have the id {name!r}")
    key_of = normaliser(study.normalise)
    for one in questions:
        if one.options is not None and key_of(one.gold) not in {key_of(option) for option in one.options}:
            msg = f"question {one.id!r}: the right answer {one.gold!r} is none of its options"
            raise ConfigurationError(msg, hint=f"Its options are: {', '.join(one.options)}.")
    kinds = {None if one.options is None else len(one.options): one for one in questions}
    for one in kinds.values():
        for mode in modes:
            asked: DebateOptions = {"rounds": _ROUNDS, **study.options, "mode": mode, "options": one.options}
            with suppress(ContextTooLong):  # of the longest answers that could be given; shorter ones may fit
                table.estimate(one.question, **asked)


async def run_study(
    table: Roundtable,
    questions: Sequence[Question],
    *,
    modes: Sequence[str] = ("collaborative",),
    normalise: Normalise = "casefold",
    extract: Extract | None = None,
    concurrency: int = 4,
    resamples: int = 10_000,
    seed: int = 0,
    **options: Unpack[DebateOptions],
) -> StudyReport:
    """Answer questions with and without debate, and say what is chance and what is not.

    Every question is debated in each mode, and answered by one agent often and by all agents in turn without a debate.
    Of those answers as many are counted as the debate took calls, so that both have one price; one answer of one agent
    stands beside them. All are read and counted by the same rule; of a council its chair's word is the answer, of
    Oxford its last vote. With a question that fails in one way, or is not debated to the end, none of its answers is
    counted, since only pairs can be compared. Everything is checked before the first call.

    Args:
        table: Who answers. Calls of an analyzer count as part of the debate: an `analyzer` without a model is cheapest.
        questions: What to ask, each with its right answer.
        modes: Debate modes.
        normalise: When two spellings are one answer, as for `roundtable.decide`.
        extract: From a position to the answer in it, for questions without options, such as `extract_last("number")`;
            the whole position when left out. A question on which it breaks is left out.
        concurrency: Questions under way at once.
        resamples: Draws of each bootstrap interval.
        seed: Seed of these draws.
        options: As for `Roundtable.debate`, without `mode` and `options`; two rounds are held when `rounds` is left
            out, and `decide` is the rule for every way, so that judges cannot be it.

    Raises:
        ConfigurationError: Something asked for does not exist or does not fit.

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
    if not questions:
        raise ConfigurationError("a study needs at least one question")
    check_list("modes", modes, "a list of modes")
    if not modes or len({*modes}) < len(modes):
        raise ConfigurationError("a study needs at least one mode, and each once")
    if concurrency < 1:
        raise ConfigurationError(f"concurrency must be at least 1, not {concurrency}")
    normaliser(normalise)
    check_resamples(resamples)
    if "options" in options:
        raise ConfigurationError("the options of a study stand with its questions")
    if options.get("decide") in JUDGED:
        hint = "Hold debates with judges by debate_many."
        raise ConfigurationError("a study counts all answers by one rule, which judges are not", hint=hint)
    study = _Study(table, modes, normalise, extract, options)
    _check(table, questions, modes, study)
    await together([partial(study.ask, question) for question in questions], at_once=concurrency)
    answers = [one for question in questions for one in study.answers.get(question.id, ())]
    return report_of(answers, study.moved, study.failed, resamples=resamples, seed=seed)
