"""Results from debates that other projects recorded, so that tables, pictures, audits and reports work with them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from datetime import UTC, datetime
from string import ascii_uppercase
from typing import TYPE_CHECKING, Final

from roundtable.analysis import decide_record, independent_agreement
from roundtable.analysis.declared import DeclaredAnalyzer
from roundtable.analysis.health import RECORDED
from roundtable.core.base.words import shortened
from roundtable.core.prompts.compose import Quotation, find_reference, label_quotations
from roundtable.core.types.agents import AgentConfig
from roundtable.core.types.answers import AgentResponse, TurnKey
from roundtable.core.types.debate import (
    DebateConfig,
    DebateRecord,
    ExitResult,
    RoundRecord,
    SessionRecord,
    Turn,
    TurnResult,
)
from roundtable.parsing import read_reply
from roundtable.reading import Asked, as_stated
from roundtable.results.debate_result import DebateResult
from roundtable.scoring import normalise
from roundtable.scoring.numbers import exact_or_none

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roundtable.core.types.answers import Reading
    from roundtable.metrics import Transcript, Utterance

__all__ = ["result_of_transcript"]

_MODE: Final = RECORDED
_STAGE: Final = "positions"
_UNKNOWN: Final = "(the question is not known)"
_ABSTAINS: Final = "ABSTAIN"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_TOPIC: Final = 10_000
_MOST_LINE: Final = 60
_LABEL: Final = re.compile(r"(?<!\w)([A-Z])\)\s")


def result_of_transcript(
    transcript: Transcript, extract: Callable[[str], str | None] | None = None, *, independent: bool = True
) -> DebateResult:
    """Return a recorded debate as a result: its decision is the plurality of the last round.

    If answers are known, the answers are compared, and a text without an answer counts as an abstention. If no answers
    are known, whole texts are compared. Agreement is measured as with `analyzer="declared"`, which needs no model.
    Times and costs are not known; the time is 1970. A confidence that the file does not state is `None`, so no figure,
    rule or recommendation builds on it.

    Every answer also has a `reading`: what the library's own reader finds in the whole text, as one of the options, as
    a number if the known answers are numbers, or in words. It stands beside the answer of the file and does not replace
    it. If the two differ, the turn has a warning. An answer that only points to an earlier one, such as *I agree with
    Ada*, is read as the last answer of that speaker in the rounds before, as in live debates; if no answers are known,
    it is also compared as that answer.

    Args:
        transcript: The debate, from `roundtable.metrics.read_transcript`.
        extract: Function that returns the answer in a text, or `None` if it has no answer; by default, the answers in
            the file are used.
        independent: Whether agents answered the first round without seeing each other.

    Example:
        >>> from roundtable.metrics import Transcript, Utterance
        >>> said = ((Utterance("ada", "4"), Utterance("bo", "5")), (Utterance("ada", "4"), Utterance("bo", "4")))
        >>> result = result_of_transcript(Transcript("1", "2 + 2?", ("ada", "bo"), said))
        >>> result.answer, result.decision.is_unanimous, len(result.opinion_flow().followed())
        ('4', True, 1)
    """
    answers = [
        [extract(utterance.text) if extract is not None else utterance.answer for utterance in utterances]
        for utterances in transcript.rounds
    ]
    known = extract is not None or any(answer is not None for row in answers for answer in row)
    agents = tuple(
        AgentConfig(id=f"agent-{number}", name=name, provider=RECORDED, model=_model_of(name, transcript))
        for number, name in enumerate(transcript.agents or ("nobody",), 1)
    )
    asked = _asked(transcript, [answer for row in answers for answer in row if answer is not None])
    config = DebateConfig(
        topic=transcript.question.strip()[:_MOST_TOPIC] or _UNKNOWN,
        mode=_MODE,
        agents=tuple(agent.id for agent in agents),
        rounds=max(1, len(transcript.rounds)),
        metadata={**transcript.metadata},
    )
    ids = {agent.name: agent for agent in agents}
    rounds: list[RoundRecord] = []
    earlier: dict[TurnKey, AgentResponse] = {}
    for number, (utterances, row) in enumerate(zip(transcript.rounds, answers, strict=True), 1):
        turns = tuple(
            _turn(
                ids[utterance.agent],
                replace(utterance, model=_model(utterance, transcript)),
                answer or (_ABSTAINS if known else None),
                asked,
                (number, slot),
                shown=_shown(earlier),
            )
            for slot, (utterance, answer) in enumerate(zip(utterances, row, strict=True))
        )
        record = RoundRecord(number=number, turns=turns, complete=bool(turns))
        consensus = DeclaredAnalyzer().analyze(record.responses, earlier) if turns else None
        record = record.model_copy(update={"consensus": consensus})
        decision = decide_record(record, consensus, config, before=rounds) if turns else None
        rounds.append(record.model_copy(update={"decision": decision}))
        earlier |= {turn.key: turn.answer for turn in turns if turn.answer.kind == "position"}
    if rounds and independent:
        alone = tuple(turn.model_copy(update={"independent": True}) for turn in rounds[0].turns)
        rounds[0] = rounds[0].model_copy(update={"turns": alone})
    measured: tuple[float | None, str | None] = (None, "nobody said anything")
    if rounds and rounds[0].consensus is not None:
        measured = independent_agreement(rounds[0].turns, rounds[0].consensus, assigned=False)
    identity = hashlib.sha256(repr(transcript).encode("utf-8", "replace")).hexdigest()[:32]
    return DebateResult.from_record(
        DebateRecord(
            session=SessionRecord(id=identity, config=config, agents=agents, created_at=_EPOCH, imported=True),
            status="completed",
            total_rounds=config.rounds,
            rounds=tuple(rounds),
            independent_agreement=measured[0],
            independent_agreement_reason=measured[1],
            exit=ExitResult(should_exit=True, reason="max_rounds", details="the recorded debate ends here"),
            updated_at=_EPOCH,
        )
    )


def _model_of(name: str, transcript: Transcript) -> str | None:
    """Return the model of an agent; `None` if the file names none, or several for this agent."""
    models = {_model(said, transcript) for spoken in transcript.rounds for said in spoken if said.agent == name}
    return models.pop() if len(models) == 1 else None


def _model(utterance: Utterance, transcript: Transcript) -> str | None:
    return utterance.model or transcript.metadata.get("model")


def _asked(transcript: Transcript, answers: Sequence[str]) -> Asked:
    """Return what the question asks for, as far as its options and the known answers show it."""
    if transcript.options:
        return Asked("choice", transcript.options)
    labels = _labels(transcript.question)
    if len(labels) > 1 and answers and {answer.strip() for answer in answers} <= {*labels}:
        return Asked("choice", labels)
    if answers and all(exact_or_none(answer) is not None for answer in answers):
        return Asked("number")
    return Asked()


def _labels(question: str) -> tuple[str, ...]:
    """Return the letters under which a question lists its options: "A) one, B) two"."""
    labels: list[str] = []
    for found in _LABEL.finditer(question):
        if found[1] == ascii_uppercase[len(labels) % len(ascii_uppercase)]:
            labels.append(found[1])
    return tuple(dict.fromkeys(labels))


def _shown(earlier: Mapping[TurnKey, AgentResponse]) -> list[Quotation]:
    """Return the answers of the rounds before, as their readers saw them."""
    return label_quotations(
        [
            Quotation(shown_as=answer.agent_name, round=key.round, own=False, response=answer, turn=key)
            for key, answer in earlier.items()
        ]
    )


def _resolved(
    reading: Reading, agent: AgentConfig, asked: Asked, shown: Sequence[Quotation]
) -> tuple[Reading, str | None]:
    """Return the reading of an answer that points to an earlier one, and that answer's words, if only one is meant."""
    if not shown and asked.kind == "open":
        return as_stated(reading, {}), None
    quotations = [replace(quotation, own=quotation.response.agent_id == agent.id) for quotation in shown]
    found = find_reference(reading.points_to or "", quotations, None)
    source = found.response.reading if found is not None else None
    if found is None or source is None or source.certainty != "certain":
        return reading, None
    words = found.response.bottom_line or found.response.position
    value = source.value or (words if asked.kind == "open" else None)
    if value is None or any(stated.casefold() != value.casefold() for stated in reading.candidates):
        return reading, None  # the answer also states something else
    update = {"certainty": "certain", "rule": "reference", "value": value, "source": found.turn}
    return reading.model_copy(update=update), words


def _turn(
    agent: AgentConfig,
    utterance: Utterance,
    line: str | None,
    asked: Asked,
    key: tuple[int, int],
    *,
    shown: Sequence[Quotation],
) -> Turn:
    number, slot = key
    reading = read_reply(utterance.text, asked)
    if reading.points_to is not None:
        reading, words = _resolved(reading, agent, asked, shown)
        line = line or words
    answer = AgentResponse(
        agent_id=agent.id,
        agent_name=agent.name,
        position=utterance.text,
        confidence=utterance.confidence,
        bottom_line=line,
        reading=reading,
        timestamp=_EPOCH,
    )
    return Turn(
        round=number,
        stage=_STAGE,
        slot=slot,
        agent_id=agent.id,
        agent_name=agent.name,
        provider=agent.provider,
        model=utterance.model,
        timestamp=_EPOCH,
        result=TurnResult(answer=answer, model=utterance.model, warnings=_differences(line, reading, asked)),
    )


def _differences(line: str | None, reading: Reading, asked: Asked) -> tuple[str, ...]:
    """Return a warning if the reader certainly found another option or number than the file states."""
    if asked.kind == "open" or reading.certainty != "certain" or reading.value is None or line is None:
        return ()  # in words, the same answer may be a name in the file and a sentence in the text
    is_label = reading.value.startswith(f"{line.strip()})")
    if is_label or normalise(reading.value, "numeric") == normalise(line, "numeric"):
        return ()
    stated = "no answer" if line == _ABSTAINS else repr(shortened(line, _MOST_LINE))
    return (f"the file states {stated}, but the text reads {shortened(reading.value, _MOST_LINE)!r}",)
