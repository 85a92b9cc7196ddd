"""Debates recorded by others, read so that they can be measured. The one module of this package that reads files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from roundtable.errors import ConfigurationError
from roundtable.types import JsonValue

__all__ = ["Transcript", "TranscriptFormat", "Utterance", "read_transcript"]

TranscriptFormat: TypeAlias = Literal["jsonl", "du", "dylan", "mad", "mallm"]
"""Who wrote the file; see `read_transcript`."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """What one agent said in one round."""

    agent: str
    """Who."""
    text: str
    """What, whole."""
    answer: str | None = None
    """The answer in it, where the file says so."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A recorded debate.

    Example:
        >>> debate = Transcript("1", "2 + 2?", ("ada",), ((Utterance("ada", "It is 4.", "4"),),), gold="4")
        >>> debate.positions()
        [{'ada': '4'}]
    """

    id: str
    """Name of the debate in its file."""
    question: str
    """What was debated; empty where the file does not say."""
    agents: tuple[str, ...]
    """Who took part."""
    rounds: tuple[tuple[Utterance, ...], ...]
    """What was said, round by round; an agent that did not speak in a round is missing there."""
    gold: str | None = None
    """The right answer, where it is known."""
    answer: str | None = None
    """What the debate itself concluded, where the file says so."""
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Further plain facts from the file, such as source and licence."""

    def positions(self, extract: Callable[[str], str | None] | None = None) -> list[dict[str, str | None]]:
        """Give the rounds as the metrics of dynamics read them: agent to answer.

        Args:
            extract: From a text to its answer, or `None` where there is none; without it the answers of the file are
                taken, and a text without one is its own answer when no text of the file has one.

        Returns:
            One mapping for each round.
        """
        said = [utterance for one in self.rounds for utterance in one]
        known = any(utterance.answer is not None for utterance in said)

        def answer(utterance: Utterance) -> str | None:
            if extract is not None:
                return extract(utterance.text)
            return utterance.answer if known else utterance.text

        return [{utterance.agent: answer(utterance) for utterance in one} for one in self.rounds]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)


class _Said(_Record):
    agent: str
    text: str


class _JsonlDebate(_Record):
    id: str
    question: str = ""
    agents: tuple[str, ...]
    rounds: tuple[tuple[_Said, ...], ...]
    gold_answer: str | None = None
    extracted_answers: tuple[tuple[str | None, ...], ...] | None = None
    source: str | None = None
    licence: str | None = None
    task: str | None = None
    model: str | None = None


class _Message(_Record):
    role: str
    content: str


_Contexts: TypeAlias = tuple[tuple[_Message, ...], ...]


class _MadDebate(_Record):
    players: dict[str, tuple[_Message, ...]]
    question: Annotated[str, Field(alias="source")] = ""
    topic: Annotated[str, Field(alias="debate_topic")] = ""
    reference: str | None = None
    correct_reference: Annotated[str | None, Field(alias="correct reference")] = None
    debate_translation: str | None = None
    spaced_translation: Annotated[str | None, Field(alias="debate translation")] = None
    debate_answer: str | None = None


class _Memory(_Record):
    turn: int
    agent_id: str
    persona: str = ""
    message: str
    solution: str | None = None


class _MallmDebate(_Record):
    id: Annotated[str, Field(alias="exampleId")]
    input: tuple[str, ...] | str = ""
    references: tuple[str, ...] = ()
    final_answer: Annotated[str | None, Field(alias="finalAnswer")] = None
    memory: Annotated[tuple[_Memory, ...] | None, Field(alias="globalMemory")] = None
    paradigm: str | None = None
    dataset: str | None = None


def _facts(**given: str | None) -> dict[str, str]:
    return {name: value for name, value in given.items() if value is not None}


def _jsonl(text: str) -> Iterator[Transcript]:
    for place, record in _lines(text):
        debate = _JsonlDebate.model_validate(record)
        answers = debate.extracted_answers
        if answers is None:
            answers = tuple((None,) * len(one) for one in debate.rounds)
        if [len(one) for one in answers] != [len(one) for one in debate.rounds]:
            raise ConfigurationError(f"line {place}: extracted_answers do not fit the rounds")
        rounds = tuple(
            tuple(Utterance(said.agent, said.text, answer) for said, answer in zip(one, given, strict=True))
            for one, given in zip(debate.rounds, answers, strict=True)
        )
        facts = _facts(source=debate.source, licence=debate.licence, task=debate.task, model=debate.model)
        yield Transcript(debate.id, debate.question, debate.agents, rounds, debate.gold_answer, metadata=facts)


def _lines(text: str) -> Iterator[tuple[int, JsonValue]]:
    for place, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                record: JsonValue = json.loads(line)
            except ValueError as error:
                raise ConfigurationError(f"line {place} is not JSON: {error}") from error
            yield place, record


def _by_column(names: Sequence[str], columns: Sequence[Sequence[str | None]]) -> tuple[tuple[Utterance, ...], ...]:
    """Turn what each agent said, round by round, into rounds."""
    length = max((len(column) for column in columns), default=0)
    return tuple(
        tuple(
            Utterance(name, text)
            for name, column in zip(names, columns, strict=True)
            if place < len(column) and (text := column[place]) is not None
        )
        for place in range(length)
    )


def _names(count: int) -> tuple[str, ...]:
    return tuple(f"agent_{number}" for number in range(1, count + 1))


def _spoken(messages: Sequence[_Message]) -> list[str]:
    return [message.content for message in messages if message.role == "assistant"]


_WITH_GOLD: TypeAdapter[tuple[_Contexts, str | None]] = TypeAdapter(tuple[_Contexts, str | None])
_CONTEXTS: TypeAdapter[_Contexts] = TypeAdapter(_Contexts)
_COLUMNS: TypeAdapter[tuple[tuple[str | None, ...], ...]] = TypeAdapter(tuple[tuple[str | None, ...], ...])


def _du(text: str) -> Iterator[Transcript]:
    debates = json.loads(text)
    if not isinstance(debates, dict):
        raise ConfigurationError("a debate log of Du et al. is one object from question to contexts")
    for number, (question, value) in enumerate(debates.items(), 1):
        gold: str | None = None
        if _has_gold(value):
            answer = value[1]
            contexts, gold = _WITH_GOLD.validate_python((value[0], answer if answer is None else str(answer)))
        else:
            contexts = _CONTEXTS.validate_python(value)
        names = _names(len(contexts))
        rounds = _by_column(names, [_spoken(messages) for messages in contexts])
        yield Transcript(str(number), question, names, rounds, gold)


def _has_gold(value: JsonValue) -> bool:
    """Tell contexts with an answer from contexts alone: their first item is a list of contexts, not of messages."""
    match value:
        case [[[*_], *_], *rest]:
            return bool(rest)
        case _:
            return False


def _dylan(text: str) -> Iterator[Transcript]:
    if text.lstrip().startswith("{"):
        yield from _du(text)
        return
    for place, record in _lines(text):
        columns = _COLUMNS.validate_python(record)
        names = _names(len(columns))
        rounds = tuple(one for one in _by_column(names, columns) if one)
        yield Transcript(str(place), "", names, rounds)


_NOT_DEBATING = ("moderator", "judge", "baseline")


def _mad(text: str) -> Iterator[Transcript]:
    debate = _MadDebate.model_validate(json.loads(text))
    spoken = {
        name: _spoken(messages)
        for name, messages in debate.players.items()
        if not name.casefold().startswith(_NOT_DEBATING)
    }
    length = max((len(said) for said in spoken.values()), default=0)
    # The affirmative side may begin with a base answer of its own: the sides are aligned at the last round.
    columns = [[None] * (length - len(said)) + said for said in spoken.values()]
    names = tuple(spoken)
    yield Transcript(
        "1",
        debate.question or debate.topic,
        names,
        _by_column(names, columns),
        gold=debate.correct_reference or debate.reference or None,
        answer=debate.spaced_translation or debate.debate_translation or debate.debate_answer or None,
    )


def _mallm(text: str) -> Iterator[Transcript]:
    for debate in TypeAdapter(tuple[_MallmDebate, ...]).validate_python(json.loads(text)):
        memory = debate.memory or ()
        turns = sorted({said.turn for said in memory})
        rounds = tuple(
            tuple(Utterance(said.agent_id, said.message, said.solution or None) for said in memory if said.turn == turn)
            for turn in turns
        )
        yield Transcript(
            debate.id,
            debate.input if isinstance(debate.input, str) else "\n".join(debate.input),
            tuple(dict.fromkeys(said.agent_id for said in memory)),
            rounds,
            gold=debate.references[0] if debate.references else None,
            answer=debate.final_answer,
            metadata=_facts(paradigm=debate.paradigm, dataset=debate.dataset),
        )


_READERS: dict[str, Callable[[str], Iterator[Transcript]]] = {
    "jsonl": _jsonl,
    "du": _du,
    "dylan": _dylan,
    "mad": _mad,
    "mallm": _mallm,
}


def read_transcript(path: str | Path, format: TranscriptFormat = "jsonl") -> tuple[Transcript, ...]:
    """Read the debates of a file.

    - `jsonl`: one object a line with `id`, `question`, `agents`, `rounds` (lists of `agent`, `text`) and, where known,
      `gold_answer` and `extracted_answers`.
    - `du`: logs of Du et al., "Improving Factuality and Reasoning ... through Multiagent Debate" (ICML 2024): one
      object from question to the agents' message lists, with or without the answer.
    - `dylan`: logs of DyLAN (COLM 2024): one list a line, for each agent its text in each round or null; its logs in
      the form of Du et al. as well.
    - `mad`: logs of Liang et al., "Encouraging Divergent Thinking ..." (EMNLP 2024): one object with `players`.
      Moderator and judge do not debate and are left out.
    - `mallm`: logs of MALLM (EMNLP 2025): a list of objects with `globalMemory`.

    Args:
        path: The file, UTF-8.
        format: Who wrote it.

    Returns:
        The debates, in the order of the file.

    Raises:
        ConfigurationError: The format is unknown, or the file cannot be read or is not of this format.
    """
    reader = _READERS.get(format)
    if reader is None:
        raise ConfigurationError(f"unknown transcript format {format!r}; known: {', '.join(_READERS)}")
    try:
        return tuple(reader(Path(path).read_text("utf-8")))
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error.strerror}", cause=error) from error
    except ConfigurationError as error:
        raise ConfigurationError(f"{str(path)!r} is no transcript of format {format!r}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        message = f"{str(path)!r} is no transcript of format {format!r}: {where}: {first['msg']}"
        raise ConfigurationError(message) from error
    except (RecursionError, ValueError) as error:
        raise ConfigurationError(f"{str(path)!r} is no transcript of format {format!r}: {error}") from error
