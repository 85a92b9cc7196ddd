"""The arms of a study: for one question, the answers of debates, and of baselines with the same price."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final, TypeAlias

from roundtable._version import __version__
from roundtable.analysis.decision import own_vote
from roundtable.bench.statistics import exact_mean
from roundtable.core.base.text import error_text
from roundtable.core.errors import ConfigurationError, RoundtableError
from roundtable.core.types.base import Share, Value
from roundtable.core.types.chat import Usage
from roundtable.metrics import conformity, flip_rate, transitions
from roundtable.parsing import read_reply
from roundtable.reading import ABSTAIN, Asked, read_answer, read_parts
from roundtable.reading.units import are_different, stated_units
from roundtable.scoring import Choice, Measure, Normalise, Rule, decide, is_abstention, normaliser
from roundtable.scoring.normalisation import match_option

if TYPE_CHECKING:
    from roundtable.bench.questions import Question
    from roundtable.core.types.answers import AgentResponse, Reading
    from roundtable.core.types.debate import RoundRecord
    from roundtable.reading import Part
    from roundtable.results.debate_result import DebateResult

__all__ = [
    "BASELINES",
    "Drawn",
    "Extract",
    "Moves",
    "Reader",
    "StudyAnswer",
    "answers_of",
    "extract_last",
    "read_option",
]

Extract: TypeAlias = Callable[[str], str | None]
"""A function that returns the answer in a position or in a whole reply in prose; `None` if there is none."""

BASELINES: Final = ("single", "self-consistency", "independent-vote")
"""The baselines of a debate: one answer of one agent, many answers of one agent, and answers of all agents in turn."""


@dataclass(frozen=True, slots=True)
class _NumberReader:
    """The reader of numbers, as an `extract` function of a study."""

    def __call__(self, text: str) -> str | None:
        return _value(read_reply(text, _NUMBER))


_NUMBER: Final = Asked("number")


def _value(reading: Reading) -> str | None:
    """Return the answer that was read; `None` if it was not read for certain, or if it abstains."""
    return reading.value if reading.certainty == "certain" and reading.value != ABSTAIN else None


def extract_last(pattern: str) -> Extract:
    r"""Create an `extract` function for a study: the reader of numbers, or the last match of a pattern.

    Args:
        pattern: `"number"` reads the number that a text gives as its answer, as debates do: `408` of *17 x 24 is 408*,
            *408, because 17 x 20 = 340* and `\boxed{408}`. Otherwise, a regular expression that ignores letter case;
            the result is its last match, or the first group of it.

    Raises:
        ConfigurationError: The pattern is not a regular expression.

    Example:
        >>> extract_last("number")("17 times 24 is 408."), extract_last("answer is (\\w+)")("The answer is B.")
        ('408', 'B')
        >>> extract_last("number")("I do not know.") is None
        True
    """
    if pattern == "number":
        return _NumberReader()
    try:
        expression = re.compile(pattern, re.IGNORECASE)
    except (re.error, TypeError) as error:
        msg = f"the extract pattern {pattern!r} is not a regular expression: {error}"
        raise ConfigurationError(msg, cause=error) from error

    def extract(text: str) -> str | None:
        matches = [*expression.finditer(text)]
        return matches[-1][1 if expression.groups else 0] if matches else None

    return extract


def read_option(answer: str, options: Sequence[str], normalise: Normalise) -> str | None:
    """Return the only option that an answer means; `None` if it means none, or may mean several.

    Args:
        answer: An answer, or the right one: an option, its label, or a text that states it.
        options: The options.
        normalise: How spellings are compared.

    Example:
        >>> from roundtable.bench.arms import read_option
        >>> read_option("(b)", ("A) Lisbon", "B) Porto"), "casefold"), read_option("co", ("CO", "Co"), "casefold")
        ('B) Porto', None)
    """
    option = match_option(answer, options, normalise)
    return _value(read_reply(answer, Asked("choice", tuple(options)))) if option is None and options else option


class Moves(Value):
    """How debates changed the answers of agents, in numbers; `+` adds up the numbers of debates."""

    kept_right: int = 0
    """Agents that were right in the first round and in the last round."""
    right_to_wrong: int = 0
    """Agents that were right in the first round and wrong in the last round."""
    wrong_to_right: int = 0
    """Agents that were wrong in the first round and right in the last round."""
    kept_wrong: int = 0
    """Agents that were wrong in the first round and in the last round."""
    pairs: int = 0
    """Pairs of answers that one agent gave in successive rounds."""
    flips: int = 0
    """Number of these pairs in which the answer changed."""
    contested: int = 0
    """Number of these pairs in which another agent had a different answer in the earlier round."""
    followed: int = 0
    """Number of contested pairs in which the agent changed to an answer that another agent had given."""

    def __add__(self, other: Moves) -> Moves:
        """Add up the numbers of two debates."""
        return Moves(**{name: getattr(self, name) + getattr(other, name) for name in Moves.model_fields})


class StudyAnswer(Value):
    """The answer of one arm to one question."""

    question_id: str
    """Id of the question."""
    arm: str
    """The arm: a mode, or a baseline with the mode whose price it has."""
    answer: str | None
    """The answer; `None` on a tie, or if no agent gave an answer."""
    correct: bool
    """Whether it is right; `False` without an answer."""
    confidence: Share | None = None
    """Mean confidence of the agents that gave this answer."""
    usage: Usage = Usage()
    """Usage of the answer."""
    answers: tuple[str | None, ...] = ()
    """The individual answers that were counted."""
    moves: Moves | None = None
    """How the debate changed the answers of the agents; `None` for a baseline."""
    question: str = ""
    """The question."""
    gold: str = ""
    """The right answer."""
    category: str | None = None
    """Category of the question."""
    session_id: str = ""
    """Session of the debate, or of the independent answers."""
    mode: str = ""
    """Mode of this session."""
    seed: int = 0
    """Seed of this session."""
    models: tuple[str, ...] = ()
    """Models of this session, as `provider:model`; only the provider if its default model was used."""
    prompt_version: str = ""
    """Version of the prompt texts of this session."""
    library_version: str = ""
    """Version of this library with which the study was evaluated."""

    def with_origin(self, question: Question, result: DebateResult) -> StudyAnswer:
        """Return a copy of the answer with the question and its origin: session, mode, seed, models and versions."""
        turns = [turn for record in result.rounds for turn in record.turns if turn.outcome == "answered"]
        return self.model_copy(
            update={
                "question": question.question,
                "gold": question.gold,
                "category": question.category,
                "session_id": result.session_id,
                "mode": result.mode,
                "seed": result.config.seed,
                "models": tuple(
                    ":".join(filter(None, (agent.provider, agent.model))) for agent in result.roster.agents
                ),
                "prompt_version": (turns[0].result.prompt_version or "") if turns else "",
                "library_version": __version__,
            }
        )


@dataclass(frozen=True, slots=True)
class Drawn:
    """One independent answer."""

    said: AgentResponse
    usage: Usage
    confidence: float | None = None
    """The confidence that the answer states."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reader that reads answers, counts them and compares them with the right one, in the same way for every arm."""

    question: Question
    decide: str | Rule = "plurality"
    normalise: Normalise = "casefold"
    extract: Extract | None = None

    def read(self, response: AgentResponse) -> str | None:
        """Return the answer in a position: its option, the result of `extract`, the bottom line, or the whole position.

        An abstention is `None`, and so is an answer that was not read for certain.

        Raises:
            ConfigurationError: `extract` raised an exception, or returned neither a text nor `None`.
        """
        if self.question.options is not None:
            return response.choice
        if isinstance(self.extract, _NumberReader):
            return self._number(response)
        if self.extract is None:
            if response.is_unread:
                return None
            line = response.bottom_line or response.position
            return None if is_abstention(line) else line
        text = _whole_text(response)
        try:
            answer = self.extract(text)
        except Exception as error:
            msg = f"extract failed on {text[:80]!r}: {type(error).__name__}: {error_text(error)}"
            raise ConfigurationError(msg, cause=error) from error
        if answer is not None and not isinstance(answer, str):
            raise ConfigurationError(f"extract returned {answer!r} for {text[:80]!r}, not a text or None")
        return answer

    def _number(self, response: AgentResponse) -> str | None:
        """Return the number of an answer; with its unit if the right answer states another one."""
        reading = _number_reading(response)
        value = _value(reading)
        if value is None or reading.span is None:
            return value
        text = _whole_text(response) if reading.place == "reply" else response.position
        if reading.place == "bottom_line":
            text = response.bottom_line or ""
        units, wanted = stated_units(text, reading.span[0]), stated_units(self.question.gold)
        if are_different(units, wanted):
            return f"{value.rstrip('%‰')} {min(units)}"
        if "percent" in units & wanted:
            return value.rstrip("%") + "%" * self._key(self.question.gold).endswith("%")
        return value

    def right(self, answer: str | None) -> bool:
        """Check whether an answer is right."""
        return answer is not None and self._key(answer) == self._key(self.question.gold)

    def _key(self, answer: str) -> str:
        """Return a key that equal answers share: the option or number in an answer, else its normalised spelling."""
        if (option := read_option(answer, self.question.options or (), self.normalise)) is not None:
            return option
        number = None
        if isinstance(self.extract, _NumberReader) and not are_different(
            stated_units(answer), stated_units(self.question.gold)
        ):
            number = _value(read_reply(answer, _NUMBER))
        return normaliser(self.normalise)(answer) if number is None else number

    def count(
        self,
        arm: str,
        responses: Sequence[AgentResponse],
        usage: Usage,
        stated: Sequence[float | None] | None = None,
    ) -> StudyAnswer:
        """Count answers by the decision rule of the study.

        As in a debate, nothing wins that answers that were given and could not be read could have overturned.

        Args:
            arm: The arm.
            responses: The answers.
            usage: Usage of the answers.
            stated: The confidences that they state; by default, those that they have.
        """
        ballots = [Choice(self.read(response), confidence=response.confidence) for response in responses]
        voters = [f"{index}" for index in range(len(ballots))]
        unread = [
            voter
            for voter, ballot, response in zip(voters, ballots, responses, strict=True)
            if ballot.option is None and self._is_unread(response)
        ]
        winner = decide(
            ballots,
            rule=self.decide,
            options=self.question.options,
            normalise=self.normalise,
            voters=voters,
            unread=unread,
        ).winner
        return self.answer(arm, winner, responses, usage, stated)

    def _is_unread(self, response: AgentResponse) -> bool:
        """Check whether an answer without a vote was given and could not be read, so that it does not abstain."""
        if self.question.options is None and isinstance(self.extract, _NumberReader):
            return _number_reading(response).certainty != "certain"
        return response.is_unread

    def answer(
        self,
        arm: str,
        winner: str | None,
        responses: Sequence[AgentResponse],
        usage: Usage,
        stated: Sequence[float | None] | None = None,
    ) -> StudyAnswer:
        """Create the answer of an arm, with the mean confidence of the agents that gave it and state one."""
        ballots = tuple(self.read(response) for response in responses)
        stated = [response.confidence for response in responses] if stated is None else stated
        votes = [None if ballot is None else self._key(ballot) for ballot in ballots]
        confidences = [
            confidence
            for confidence, vote in zip(stated, votes, strict=True)
            if winner and vote == self._key(winner) and confidence is not None
        ]
        return StudyAnswer(
            question_id=self.question.id,
            arm=arm,
            answer=winner,
            correct=self.right(winner),
            confidence=exact_mean(confidences) if confidences else None,
            usage=usage,
            answers=ballots,
        )

    def moves(self, result: DebateResult) -> Moves:
        """Count how the debate changed the answers of the agents."""
        rounds = [
            {
                response.agent_id: None if (answer := self.read(response)) is None else self._key(answer)
                for response in record.responses
            }
            for record in _complete_rounds(result)
        ]
        if len(rounds) < 2:
            return Moves()
        change = transitions(rounds[0], rounds[-1], self._key(self.question.gold), normalise="exact")
        flips, pairs = _counts(flip_rate(rounds, normalise="exact"))
        followed, contested = _counts(conformity(rounds, normalise="exact"))
        return Moves(
            kept_right=change.kept_right,
            right_to_wrong=change.right_to_wrong,
            wrong_to_right=change.wrong_to_right,
            kept_wrong=change.kept_wrong,
            pairs=pairs,
            flips=flips,
            contested=contested,
            followed=followed,
        )


def _is_closed(reading: Reading | None) -> bool:
    """Check whether a reading is the answer to a closed question, whose text is not stored."""
    return reading is not None and reading.asked_again and reading.span is None


def _whole_text(response: AgentResponse) -> str:
    """Return the position or, of an answer in prose, the whole reply; an answer to a closed question is only itself."""
    if _is_closed(response.reading) and response.reading is not None and response.reading.certainty == "certain":
        return response.reading.value or ""
    is_prose = response.reading is not None and response.reading.place == "reply"
    return (response.reasoning or response.position) if is_prose else response.position


def _number_reading(response: AgentResponse) -> Reading:
    """Read an answer as a number: a reply in prose as a whole, else its bottom line and its position."""
    if response.reading is not None and (response.reading.place == "reply" or _is_closed(response.reading)):
        return read_answer(_whole_text(response), _NUMBER)
    parts: dict[Part, str] = {"position": response.position}
    if response.bottom_line is not None:
        parts["bottom_line"] = response.bottom_line
    return read_parts(_NUMBER, parts)


def _counts(share: Measure) -> tuple[int, int]:
    """Return how often something happened, and how often it could have happened."""
    of = int(share.figures["of"]) if share.value is not None else 0
    return round((share.value or 0) * of), of


def _complete_rounds(result: DebateResult) -> list[RoundRecord]:
    return [record for record in result.rounds if record.complete]


def _draws_of(result: DebateResult) -> list[Drawn]:
    """Return the answers of a session with independent agents, in the order of the calls."""
    turns = [turn for record in result.rounds for turn in record.turns if turn.outcome == "answered"]
    drawn = [(turn.answer, turn.result.usage, turn.as_stated.answer) for turn in turns]
    return [
        Drawn(said, usage, stated.confidence)
        for said, usage, stated in drawn
        if said.kind == "position" and stated.kind == "position"
    ]


def _calls_of(draw: Drawn) -> int:
    return max(1, draw.usage.calls)


def _at_price(drawn: Sequence[Drawn], price: int) -> list[Drawn]:
    """Return the first answers that together cost at most `price` calls, and at least one answer."""
    spent = accumulate(map(_calls_of, drawn))
    return [draw for number, (draw, calls) in enumerate(zip(drawn, spent, strict=True)) if calls <= price or not number]


def answers_of(
    reader: Reader, debates: Sequence[DebateResult], sampled: DebateResult, voted: DebateResult
) -> list[StudyAnswer]:
    """Return the single answer, then for each mode its answer and the answers of the two baselines at its price.

    Args:
        reader: Reader that reads and counts the answers.
        debates: One debate on the question in every mode.
        sampled: Session with independent answers of one agent.
        voted: Session with independent answers of all agents in turn.

    Raises:
        RoundtableError: The answers of a baseline took fewer calls than a debate, or all answers of the first agent
            failed.
        ConfigurationError: An answer cannot be read.
    """
    baselines = {"self-consistency": _draws_of(sampled), "independent-vote": _draws_of(voted)}
    first = voted.agents[0].id
    single = next((draw for draw in baselines["independent-vote"] if draw.said.agent_id == first), None)
    if single is None:
        raise RoundtableError(f"all independent answers of the first agent, {first}, failed")
    answers = [reader.count("single", [single.said], single.usage, [single.confidence])]
    for result in debates:
        answers.append(_debate_answer(reader, result).model_copy(update={"moves": reader.moves(result)}))
        price = max(1, result.usage.calls)
        for name, drawn in baselines.items():
            if sum(_calls_of(draw) for draw in drawn) < price:
                raise RoundtableError(f"only {len(drawn)} of {price} answers of the baseline {name} succeeded")
            within_price = _at_price(drawn, price)
            usage = sum((draw.usage for draw in within_price), Usage())
            said, stated = [draw.said for draw in within_price], [draw.confidence for draw in within_price]
            answers.append(reader.count(f"{name} as {result.mode}", said, usage, stated))
    return answers


def _debate_answer(reader: Reader, result: DebateResult) -> StudyAnswer:
    """Return the answer of a debate: its chair's conclusion, its final vote, or the count of its positions.

    The debate must have a complete round; failed debates were left out before.
    """
    last = _complete_rounds(result)[-1]
    stated = [response.confidence for response in last.as_stated.responses]
    if last.conclusion is not None:
        spoken = [response.confidence for response in last.as_stated.spoken]
        return reader.answer(result.mode, reader.read(last.conclusion), last.spoken, result.usage, spoken)
    if own_vote(last) or reader.question.options is not None:
        winner = None if last.decision is None else last.decision.winner
        return reader.answer(result.mode, winner, last.responses, result.usage, stated)
    return reader.count(result.mode, last.responses, result.usage, stated)
