"""What each way of answering says to one question, at the price of the debate it stands beside."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final, TypeAlias

from roundtable._foreign import error_text
from roundtable.errors import ConfigurationError
from roundtable.modes.oxford import LAST_VOTE
from roundtable.scoring import Choice, Normalise, Rule, Transitions, decide, normaliser, transitions
from roundtable.types import Share, Usage, Value

if TYPE_CHECKING:
    from roundtable.bench.questions import Question
    from roundtable.result import DebateResult
    from roundtable.types import AgentResponse, RoundRecord

__all__ = ["BASELINES", "Drawn", "Extract", "Reader", "StudyAnswer", "answers_of", "drawn_from", "extract_last"]

Extract: TypeAlias = Callable[[str], str | None]
"""From a position to the answer in it; `None` where there is none."""

_NUMBER: Final = r"(?<!\w)[-+\u2212]?\d+(?:,\d{3})*(?:\.\d+)?(?:/\d+)?"

BASELINES: Final = ("single", "self-consistency", "independent-vote")
"""What stands beside a debate: one answer of one agent, many of one agent, and some of each."""


def extract_last(pattern: str) -> Extract:
    r"""Give an `extract` for a study: the last match of a pattern in a position, or its first group where it has one.

    Args:
        pattern: A regular expression, read without regard to case; `"number"` stands for a number, as in 408, -1/2 and
            1,024.5.

    Raises:
        ConfigurationError: It is no regular expression.

    Example:
        >>> extract_last("number")("17 times 24 is 408."), extract_last("answer is (\\w+)")("The answer is B.")
        ('408', 'B')
        >>> extract_last("number")("I do not know.") is None
        True
    """
    try:
        wanted = re.compile(_NUMBER if pattern == "number" else pattern, re.IGNORECASE)
    except re.error as error:
        raise ConfigurationError(f"{pattern!r} is no regular expression: {error}", cause=error) from error

    def extract(text: str) -> str | None:
        found = [*wanted.finditer(text)]
        return found[-1][1 if wanted.groups else 0] if found else None

    return extract


class StudyAnswer(Value):
    """What one way of answering said to one question."""

    question_id: str
    """Which question."""
    arm: str
    """Which way: a mode, or a baseline, with the mode whose price it had."""
    answer: str | None
    """The answer; `None` on a tie, or where nobody gave one."""
    correct: bool
    """Whether it is right. No answer is not."""
    confidence: Share | None = None
    """Mean confidence of those behind it."""
    usage: Usage = Usage()
    """What it consumed."""
    answers: tuple[str | None, ...] = ()
    """The single answers that were counted."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One independent answer."""

    said: AgentResponse
    usage: Usage


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads answers, counts them and compares them with the right one; the same for every way of answering."""

    question: Question
    decide: str | Rule = "plurality"
    normalise: Normalise = "casefold"
    extract: Extract | None = None

    def read(self, said: AgentResponse) -> str | None:
        """Give the answer in a position: the option chosen, what `extract` finds, or the position itself.

        Raises:
            ConfigurationError: `extract` broke, or gave something else than a text or `None`.
        """
        if self.question.options is not None:
            return said.choice
        if self.extract is None:
            return said.position
        try:
            found = self.extract(said.position)
        except Exception as error:
            msg = f"extract broke on {said.position[:80]!r}: {type(error).__name__}: {error_text(error)}"
            raise ConfigurationError(msg, cause=error) from error
        if found is not None and not isinstance(found, str):
            raise ConfigurationError(f"extract gave {found!r} for {said.position[:80]!r}, no text")
        return found

    def right(self, answer: str | None) -> bool:
        """Tell whether an answer is the right one."""
        key_of = normaliser(self.normalise)
        return answer is not None and key_of(answer) == key_of(self.question.gold)

    def count(self, arm: str, said: Sequence[AgentResponse], usage: Usage) -> StudyAnswer:
        """Count answers by the rule of the study."""
        ballots = [Choice(self.read(one), confidence=one.confidence) for one in said]
        options = self.question.options
        winner = decide(ballots, rule=self.decide, options=options, normalise=self.normalise).winner
        return self.answer(arm, winner, said, usage)

    def answer(self, arm: str, winner: str | None, said: Sequence[AgentResponse], usage: Usage) -> StudyAnswer:
        """Note an answer and who is behind it."""
        ballots, key_of = tuple(self.read(one) for one in said), normaliser(self.normalise)
        votes = [None if ballot is None else key_of(ballot) for ballot in ballots]
        behind = [one.confidence for one, vote in zip(said, votes, strict=True) if winner and vote == key_of(winner)]
        return StudyAnswer(
            question_id=self.question.id,
            arm=arm,
            answer=winner,
            correct=self.right(winner),
            confidence=fmean(behind) if behind else None,
            usage=usage,
            answers=ballots,
        )

    def moved(self, result: DebateResult) -> Transitions:
        """Count who was right before the debate and who is after it."""
        held = _complete(result)
        if len(held) < 2:
            return Transitions()
        before, after = ({one.agent_id: self.read(one) for one in held[place].responses} for place in (0, -1))
        return transitions(before, after, self.question.gold, normalise=self.normalise)


def _complete(result: DebateResult) -> list[RoundRecord]:
    return [held for held in result.rounds if held.complete]


def drawn_from(result: DebateResult) -> list[Drawn]:
    """Give the answers of a debate in which nobody saw anybody, one by one, in the order they were asked for."""
    turns = [turn for held in result.rounds for turn in held.turns if turn.outcome == "answered"]
    return [Drawn(turn.answer, turn.result.usage) for turn in turns if turn.answer.kind == "position"]


def answers_of(
    reader: Reader, debates: Sequence[DebateResult], sampled: Sequence[Drawn], voted: Sequence[Drawn]
) -> list[StudyAnswer]:
    """Give what each mode answered, each followed by the two baselines at its price, after the single answer.

    Args:
        reader: Reads and counts.
        debates: The question in every mode.
        sampled: Answers of one agent.
        voted: Answers of all agents in turn, at least one.
    """
    found = [reader.count("single", [voted[0].said], voted[0].usage)]
    for result in debates:
        found.append(_debated(reader, result))
        price = max(1, result.usage.calls)
        for name, drawn in (("self-consistency", sampled), ("independent-vote", voted)):
            part = drawn[:price]
            spent = sum((one.usage for one in part), Usage())
            found.append(reader.count(f"{name} as {result.mode}", [one.said for one in part], spent))
    return found


def _debated(reader: Reader, result: DebateResult) -> StudyAnswer:
    """Give what a debate answered: its chair's word, the vote it ended in, else its positions as they are counted."""
    last = _complete(result)[-1]
    if last.conclusion is not None:
        return reader.answer(result.mode, reader.read(last.conclusion), last.spoken, result.usage)
    voted = any(turn.stage == LAST_VOTE for turn in last.turns)
    if voted or reader.question.options is not None:
        winner = None if last.decision is None else last.decision.winner
        return reader.answer(result.mode, winner, last.responses, result.usage)
    return reader.count(result.mode, last.responses, result.usage)
