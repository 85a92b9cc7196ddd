"""Load debates that other projects recorded. No other module of this package reads files."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from roundtable.core.base.text import well_formed_data
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.base import JsonValue, Share

__all__ = ["Transcript", "TranscriptFormat", "Utterance", "read_transcript"]

TranscriptFormat: TypeAlias = Literal["jsonl", "du", "dylan", "mad", "mallm"]
"""Format of the file; see `read_transcript`."""

_GZIP: Final = b"\x1f\x8b"
_MOST_BYTES: Final = 2**30
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Utterance:
    """What one agent said in one round."""

    agent: str
    """Agent that spoke."""
    text: str
    """The whole text."""
    answer: str | None = None
    """The answer in the text, if the file states it."""
    model: str | None = None
    """Model that wrote the text, if the file states it for each text."""
    confidence: float | None = None
    """Confidence in [0, 1] that the agent stated, if the file has it."""


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
    """The question of the debate; empty if the file does not state it."""
    agents: tuple[str, ...]
    """Agents that took part."""
    rounds: tuple[tuple[Utterance, ...], ...]
    """Utterances by round; a round has no entry for an agent that did not speak."""
    gold: str | None = None
    """The right answer, if it is known."""
    answer: str | None = None
    """The conclusion of the debate, if the file states it."""
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Other facts from the file, such as source, licence and the model of all agents (`model`)."""
    options: tuple[str, ...] = ()
    """Options to choose from, if the file lists them."""

    def positions(self, extract: Callable[[str], str | None] | None = None) -> list[dict[str, str | None]]:
        """Return the rounds in the form that `roundtable.metrics.dynamics` needs: agent to answer.

        Args:
            extract: Function that returns the answer in a text, or `None` if there is none. Without it, the answers in
                the file are used; if the file states no answers for this debate, each whole text is an answer.

        Returns:
            One mapping for each round.
        """
        has_answers = any(utterance.answer is not None for utterances in self.rounds for utterance in utterances)

        def answer(utterance: Utterance) -> str | None:
            if extract is not None:
                return extract(utterance.text)
            return utterance.answer if has_answers else utterance.text

        return [{utterance.agent: answer(utterance) for utterance in utterances} for utterances in self.rounds]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)


class _JsonlUtterance(_Record):
    agent: str
    text: str
    answer: str | None = None
    model: str | None = None
    confidence: Share | None = None


class _JsonlDebate(_Record):
    id: str
    question: str | None = None
    agents: tuple[str, ...]
    rounds: tuple[tuple[_JsonlUtterance, ...], ...]
    options: tuple[str, ...] = ()
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
    question: Annotated[str | None, Field(alias="source")] = None
    topic: Annotated[str | None, Field(alias="debate_topic")] = None
    reference: str | None = None
    correct_reference: Annotated[str | None, Field(alias="correct reference")] = None
    debate_translation: str | None = None
    spaced_translation: Annotated[str | None, Field(alias="debate translation")] = None
    debate_answer: str | None = None


class _MallmMessage(_Record):
    turn: int
    agent_id: str
    persona: str = ""
    message: str
    solution: str | None = None


class _MallmDebate(_Record):
    id: Annotated[str, Field(alias="exampleId")]
    input: tuple[str, ...] | str | None = None
    references: tuple[str, ...] = ()
    final_answer: Annotated[str | None, Field(alias="finalAnswer")] = None
    memory: Annotated[tuple[_MallmMessage, ...] | None, Field(alias="globalMemory")] = None
    paradigm: str | None = None
    dataset: str | None = None


def _metadata(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _jsonl(text: str) -> Iterator[Transcript]:
    for number, record in _lines(text):
        debate = _validate(_JsonlDebate, record, f"line {number}")
        answers = debate.extracted_answers
        if answers is None:
            answers = tuple(tuple(entry.answer for entry in entries) for entries in debate.rounds)
        if [len(row) for row in answers] != [len(entries) for entries in debate.rounds]:
            raise ConfigurationError(f"line {number}: extracted_answers must have one entry for each utterance")
        agents, rounds = _number_names(
            debate.agents,
            tuple(
                tuple(
                    Utterance(entry.agent, entry.text, answer, entry.model, entry.confidence)
                    for entry, answer in zip(entries, row, strict=True)
                )
                for entries, row in zip(debate.rounds, answers, strict=True)
            ),
            f"line {number}",
        )
        metadata = _metadata(source=debate.source, licence=debate.licence, task=debate.task, model=debate.model)
        yield Transcript(
            debate.id,
            debate.question or "",
            agents,
            rounds,
            debate.gold_answer,
            metadata=metadata,
            options=debate.options,
        )


def _validate(kind: type[M], record: JsonValue, where: str) -> M:
    """Return a record as a model, or raise an error that says where in the file the record is."""
    try:
        return kind.model_validate(record)
    except ValidationError as error:
        raise ConfigurationError(f"{where}: {_first_problem(error)}") from error


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _number_names(
    agents: tuple[str, ...], rounds: tuple[tuple[Utterance, ...], ...], where: str
) -> tuple[tuple[str, ...], tuple[tuple[Utterance, ...], ...]]:
    """Number agents that share a name: `qwen`, `qwen (2)`; their order is taken to be the same in each round."""
    if unknown := next(
        (utterance.agent for spoken in rounds for utterance in spoken if utterance.agent not in agents), None
    ):
        raise ConfigurationError(f"{where}: {unknown!r} speaks, but is not among the agents")
    shared = {name for name, count in Counter(agents).items() if count > 1}
    if not shared:
        return agents, rounds

    def numbered(names: Sequence[str]) -> list[str]:
        times: Counter[str] = Counter()
        unique = []
        for name in names:
            times[name] += 1
            unique.append(f"{name} ({times[name]})" if name in shared and times[name] > 1 else name)
        return unique

    renamed = tuple(numbered(agents))
    spoken_by = [numbered([utterance.agent for utterance in spoken]) for spoken in rounds]
    if unknown := next((name for names in spoken_by for name in names if name not in renamed), None):
        raise ConfigurationError(f"{where}: {unknown!r} speaks in a round, but there are fewer agents with this name")
    return renamed, tuple(
        tuple(replace(utterance, agent=name) for name, utterance in zip(names, spoken, strict=True))
        for names, spoken in zip(spoken_by, rounds, strict=True)
    )


def _lines(text: str) -> Iterator[tuple[int, JsonValue]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                record: JsonValue = _parsed(line)
            except ValueError as error:
                raise ConfigurationError(f"line {number} is not JSON: {error}") from error
            yield number, record


def _parsed(text: str) -> Any:  # noqa: ANN401  (any JSON, which the caller validates)
    """Parse JSON. Halves of characters, which programs leave when they cut a text, are replaced: they have no UTF-8."""
    data = json.loads(text)
    return well_formed_data(data) if "\\u" in text else data


def _rounds_of(names: Sequence[str], columns: Sequence[Sequence[str | None]]) -> tuple[tuple[Utterance, ...], ...]:
    """Convert one column of texts per agent to rounds."""
    length = max((len(column) for column in columns), default=0)
    return tuple(
        tuple(
            Utterance(name, text)
            for name, column in zip(names, columns, strict=True)
            if number < len(column) and (text := column[number]) is not None
        )
        for number in range(length)
    )


def _agent_names(count: int) -> tuple[str, ...]:
    return tuple(f"agent_{number}" for number in range(1, count + 1))


def _assistant_texts(messages: Sequence[_Message]) -> list[str]:
    return [message.content for message in messages if message.role == "assistant"]


_WITH_GOLD: TypeAdapter[tuple[_Contexts, str | None]] = TypeAdapter(tuple[_Contexts, str | None])
_CONTEXTS: TypeAdapter[_Contexts] = TypeAdapter(_Contexts)
_COLUMNS: TypeAdapter[tuple[tuple[str | None, ...], ...]] = TypeAdapter(tuple[tuple[str | None, ...], ...])


def _du(text: str) -> Iterator[Transcript]:
    debates = _parsed(text)
    if not isinstance(debates, dict):
        raise ConfigurationError("a debate log of Du et al. is one object that maps questions to contexts")
    for number, (question, value) in enumerate(debates.items(), 1):
        gold: str | None = None
        try:
            if _has_gold(value):
                answer = value[1]
                contexts, gold = _WITH_GOLD.validate_python((value[0], answer if answer is None else str(answer)))
            else:
                contexts = _CONTEXTS.validate_python(value)
        except ValidationError as error:
            raise ConfigurationError(f"debate {number}: {_first_problem(error)}") from error
        names = _agent_names(len(contexts))
        rounds = _rounds_of(names, [_assistant_texts(messages) for messages in contexts])
        yield Transcript(str(number), question, names, rounds, gold)


def _has_gold(value: JsonValue) -> bool:
    """Check whether contexts come with an answer. If so, the first item is a list of contexts, not of messages."""
    match value:
        case [[[*_], *_], *rest]:
            return bool(rest)
        case _:
            return False


def _dylan(text: str) -> Iterator[Transcript]:
    if text.lstrip().startswith("{"):
        yield from _du(text)
        return
    for number, record in _lines(text):
        try:
            columns = _COLUMNS.validate_python(record)
        except ValidationError as error:
            raise ConfigurationError(f"line {number}: {_first_problem(error)}") from error
        names = _agent_names(len(columns))
        rounds = tuple(utterances for utterances in _rounds_of(names, columns) if utterances)
        yield Transcript(str(number), "", names, rounds)


_NOT_DEBATING = ("moderator", "judge", "baseline")


def _mad(text: str) -> Iterator[Transcript]:
    debate = _MadDebate.model_validate(_parsed(text))
    texts_of = {
        name: _assistant_texts(messages)
        for name, messages in debate.players.items()
        if not name.casefold().startswith(_NOT_DEBATING)
    }
    length = max((len(texts) for texts in texts_of.values()), default=0)
    # The affirmative side may begin with an extra answer, so the sides are aligned at the last round.
    columns = [[None] * (length - len(texts)) + texts for texts in texts_of.values()]
    names = tuple(texts_of)
    yield Transcript(
        "1",
        debate.question or debate.topic or "",
        names,
        _rounds_of(names, columns),
        gold=debate.correct_reference or debate.reference or None,
        answer=debate.spaced_translation or debate.debate_translation or debate.debate_answer or None,
    )


def _mallm(text: str) -> Iterator[Transcript]:
    debates = _parsed(text)
    if not isinstance(debates, list):
        raise ConfigurationError("a log of MALLM is a list of objects")
    for number, record in enumerate(debates, 1):
        debate = _validate(_MallmDebate, record, f"debate {number}")
        memory = debate.memory or ()
        turns = sorted({entry.turn for entry in memory})
        rounds = tuple(
            tuple(
                Utterance(entry.agent_id, entry.message, entry.solution or None)
                for entry in memory
                if entry.turn == turn
            )
            for turn in turns
        )
        yield Transcript(
            debate.id,
            debate.input if isinstance(debate.input, str) else "\n".join(debate.input or ()),
            tuple(dict.fromkeys(entry.agent_id for entry in memory)),
            rounds,
            gold=debate.references[0] if debate.references else None,
            answer=debate.final_answer,
            metadata=_metadata(paradigm=debate.paradigm, dataset=debate.dataset),
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

    Agents that share a name are numbered: `qwen`, `qwen (2)`. `roundtable.results.result_of_transcript` converts a
    debate to a result, which has tables and pictures.

    - `jsonl`: one object per line with `id`, `question`, `agents`, `rounds` (lists of `agent`, `text` and, if known,
      `answer`, `model` and `confidence`) and, if known, `gold_answer`, `options` and `model`. If there is
      `extracted_answers`, a list for each round, it replaces the `answer` fields.
    - `du`: logs of Du et al., "Improving Factuality and Reasoning ... through Multiagent Debate" (ICML 2024): one
      object that maps each question to the agents' message lists, with or without the right answer.
    - `dylan`: logs of DyLAN (COLM 2024): one list per line, with a list for each agent: its text in each round, or
      null. DyLAN's logs in the format of Du et al. are also accepted.
    - `mad`: logs of Liang et al., "Encouraging Divergent Thinking ..." (EMNLP 2024): one object with `players`.
      The moderator and the judge do not debate, so they are left out.
    - `mallm`: logs of MALLM (EMNLP 2025): a list of objects with `globalMemory`.

    Args:
        path: The file, in UTF-8; it may be compressed with gzip.
        format: Its format, from the list above.

    Returns:
        The debates, in the order of the file.

    Raises:
        ConfigurationError: The format is unknown, or the file cannot be read or is not of this format.
    """
    reader = _READERS.get(format)
    if reader is None:
        raise ConfigurationError(f"unknown transcript format {format!r}; known: {', '.join(_READERS)}")
    try:
        return tuple(reader(_text(Path(path))))
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error.strerror or error}", cause=error) from error
    except ConfigurationError as error:
        raise ConfigurationError(f"{str(path)!r} is not a transcript of format {format!r}: {error}") from error
    except ValidationError as error:
        message = f"{str(path)!r} is not a transcript of format {format!r}: {_first_problem(error)}"
        raise ConfigurationError(message) from error
    except (RecursionError, ValueError) as error:
        raise ConfigurationError(f"{str(path)!r} is not a transcript of format {format!r}: {error}") from error


def _text(path: Path) -> str:
    """Return the text of a file, which may be compressed."""
    with path.open("rb") as file:
        is_compressed = file.read(len(_GZIP)) == _GZIP
    if not is_compressed:
        return path.read_text("utf-8")
    try:
        with gzip.open(path) as file:
            content = file.read(_MOST_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ConfigurationError(f"it is not valid gzip: {error}") from error
    if len(content) > _MOST_BYTES:
        raise ConfigurationError("uncompressed, it is larger than 1 GiB")
    return content.decode("utf-8")
