"""Results from debates that other projects recorded, so that tables, pictures, audits and reports work with them."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from roundtable.analysis import decide_record, independent_agreement
from roundtable.analysis.declared import DeclaredAnalyzer
from roundtable.results.debate_result import DebateResult
from roundtable.types import (
    AgentConfig,
    AgentResponse,
    DebateConfig,
    DebateRecord,
    ExitResult,
    RoundRecord,
    SessionRecord,
    Turn,
    TurnKey,
    TurnResult,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.metrics import Transcript, Utterance

__all__ = ["result_of_transcript"]

_MODE: Final = "transcript"
_STAGE: Final = "positions"
_UNKNOWN: Final = "(the question is not known)"
_ABSTAINS: Final = "ABSTAIN"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_TOPIC: Final = 10_000


def result_of_transcript(
    transcript: Transcript, extract: Callable[[str], str | None] | None = None, *, independent: bool = True
) -> DebateResult:
    """Return a recorded debate as a result: its decision is the plurality of the last round.

    If answers are known, the answers are compared, and a text without an answer counts as an abstention. If no answers
    are known, whole texts are compared. Agreement is measured as with `analyzer="declared"`, which needs no model.
    Times, costs and confidences are not known; every confidence is 0.5, and the time is 1970.

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
        AgentConfig(id=f"agent-{number}", name=name, provider=_MODE)
        for number, name in enumerate(transcript.agents or ("nobody",), 1)
    )
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
            _turn(ids[utterance.agent], utterance, answer or (_ABSTAINS if known else None), (number, slot))
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
    first = rounds[0] if rounds else None
    measured: tuple[float | None, str | None] = (None, "nobody said anything")
    if first is not None and first.consensus is not None:
        measured = independent_agreement(first.turns, first.consensus, assigned=False)
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


def _turn(agent: AgentConfig, utterance: Utterance, line: str | None, key: tuple[int, int]) -> Turn:
    number, slot = key
    answer = AgentResponse(
        agent_id=agent.id, agent_name=agent.name, position=utterance.text, bottom_line=line, timestamp=_EPOCH
    )
    return Turn(
        round=number,
        stage=_STAGE,
        slot=slot,
        agent_id=agent.id,
        agent_name=agent.name,
        provider=agent.provider,
        timestamp=_EPOCH,
        result=TurnResult(answer=answer),
    )
