"""Rows for tables of turns and tables of debates."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol, assert_never

from roundtable.analysis.findings import DebateFacts
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.answers import (
    ApprovalAnswer,
    BallotAnswer,
    PlanAnswer,
    RankingAnswer,
    ScoresAnswer,
    TextAnswer,
)
from roundtable.core.types.debate import ASSUMED_CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pandas import DataFrame

    from roundtable.analysis import Baselines
    from roundtable.core.types.agents import AgentConfig
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.consensus import AnyConsensus, Decision
    from roundtable.core.types.debate import AnyTurn, ErrorInfo, Roster, RoundRecord

__all__ = ["DEBATE_COLUMNS", "TURN_COLUMNS", "DebateFields", "compact_json", "debate_row", "frame_of", "turn_row"]

TURN_COLUMNS: Final = (
    *("sessionId", "round", "stage", "slot", "agentId", "role", "outcome", "position", "choice", "confidence"),
    *("stance", "reasoning", "error", "errorCode", "durationS", "calls", "tokens", "costUsd"),
    *("bottomLine", "compared", "ballot", "same", "value", "claims", "readingRule", "readingCertainty"),
)
"""Columns of a table of turns, in order."""

DEBATE_COLUMNS: Final = (
    *("sessionId", "topic", "mode", "status", "answer", "answerSource", "rule", "passed"),
    *("agreement", "agreementAtMost", "method"),
    *("independentAgreement", "independentAgreementAtMost", "conformityDelta", "baselineMajority"),
    *("rounds", "answered", "failed"),
    *("calls", "tokens", "costUsd", "durationS", "error", "errorCode"),
)
"""Columns of a table of debates, in order."""

_READS_AS_JSON: Final = re.compile(r'\s*(?:["\[{]|null\s*\Z|\Z)')
"""Matches choices that must be quoted in a table, because they look like another kind of ballot or like an empty
cell."""


class DebateFields(DebateFacts, Protocol):
    """The fields of `DebateResult` from which rows are made; a protocol, because `DebateResult` imports this module."""

    @property
    def status(self) -> str:
        """State of the debate."""

    @property
    def answer(self) -> str | None:
        """The answer."""

    @property
    def answer_source(self) -> str:
        """Where the answer comes from."""

    @property
    def decision(self) -> Decision | None:
        """Outcome of the decision rule."""

    @property
    def consensus(self) -> AnyConsensus | None:
        """Agreement of the last complete round."""

    @property
    def independent_agreement_at_most(self) -> float | None:
        """Upper bound of the independent agreement, if answers that nobody compared say the same."""

    @property
    def conformity_delta(self) -> float | None:
        """Effect of the debate on agreement."""

    @cached_property
    def baselines(self) -> Baselines | None:
        """Result of the independent answers alone."""

    @property
    def roster(self) -> Roster:
        """Agents that were asked, with the turns that they answered and the turns that failed."""

    @property
    def error(self) -> ErrorInfo | None:
        """Error that ended the debate."""

    @property
    def agents(self) -> tuple[AgentConfig, ...]:
        """Configurations of the agents."""

    @property
    def created_at(self) -> datetime:
        """When the session was created."""

    @property
    def updated_at(self) -> datetime:
        """When the session last changed."""


def turn_row(session_id: str, turn: AnyTurn) -> JsonObject:
    """Return a turn as a flat row."""
    row: JsonObject = {
        "sessionId": session_id,
        "round": turn.round,
        "stage": turn.stage,
        "slot": turn.slot,
        "agentId": turn.agent_id,
        "role": turn.role,
        "outcome": turn.outcome,
        "durationS": turn.duration_s,
    }
    usage = turn.usage if turn.outcome == "failed" else turn.result.usage
    row |= {"calls": usage.calls, "tokens": usage.total_tokens, "costUsd": usage.cost_usd}
    if turn.outcome == "failed":
        row |= {"error": turn.error.message, "errorCode": turn.error.code}
        return row
    if not isinstance(turn.answer, PlanAnswer | TextAnswer) and turn.answer.reading is not None:
        row |= {"readingRule": turn.answer.reading.rule, "readingCertainty": turn.answer.reading.certainty}
    if turn.answer.kind == "position":
        response = turn.answer
        confidence = None if ASSUMED_CONFIDENCE in turn.result.warnings else response.confidence
        row |= {"position": response.position, "confidence": confidence, "stance": response.stance}
        row |= {"choice": response.choice, "reasoning": response.reasoning, "bottomLine": response.bottom_line}
        row["compared"] = "; ".join(
            f"{comparison.turn.round}/{comparison.turn.stage}/{comparison.turn.slot}: {comparison.verdict}"
            for comparison in response.compared
        )
        row["value"] = None if response.value is None else compact_json(response.value)
        claims: list[JsonValue] = [claim.model_dump(mode="json", exclude_defaults=True) for claim in response.claims]
        row["claims"] = compact_json(claims) if claims else None
    elif not isinstance(turn.answer, PlanAnswer | TextAnswer):
        row |= {"ballot": _ballot_cell(turn.answer), "reasoning": turn.answer.reasoning}
        row["same"] = compact_json([[*group] for group in turn.answer.same]) if turn.answer.same else None
    return row


def _ballot_cell(answer: BallotAnswer | RankingAnswer | ApprovalAnswer | ScoresAnswer) -> str:
    """Return a ballot for a table: a single choice as text, any other as compact JSON, an abstention as `null`."""
    match answer:
        case BallotAnswer():
            if answer.choice is not None and not _READS_AS_JSON.match(answer.choice):
                return answer.choice
            return compact_json(answer.choice)
        case RankingAnswer():
            return compact_json([[*group] for group in answer.ranking] or None)
        case ApprovalAnswer():
            return compact_json(None if answer.approved is None else [*answer.approved])
        case ScoresAnswer():
            return compact_json({**answer.scores} or None)
        case _:
            assert_never(answer)


def compact_json(value: JsonValue) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def debate_row(result: DebateFields) -> JsonObject:
    """Return a debate as a flat row."""
    consensus, decision, baselines = result.consensus, result.decision, result.baselines
    entries = result.roster.agents
    return {
        "sessionId": result.session_id,
        "topic": result.topic,
        "mode": result.mode,
        "status": result.status,
        "answer": result.answer,
        "answerSource": result.answer_source,
        "rule": decision.rule if decision else None,
        "passed": decision.passed if decision else None,
        "agreement": consensus.agreement_level if consensus else None,
        "agreementAtMost": consensus.agreement_at_most if consensus else None,
        "method": consensus.method if consensus else None,
        "independentAgreement": result.independent_agreement,
        "independentAgreementAtMost": result.independent_agreement_at_most,
        "conformityDelta": result.conformity_delta,
        "baselineMajority": baselines.majority if baselines else None,
        "rounds": len(result.rounds),
        "answered": sum(entry.answered for entry in entries),
        "failed": sum(entry.failed for entry in entries),
        "calls": result.usage.calls,
        "tokens": result.usage.total_tokens,
        "costUsd": result.usage.cost_usd,
        "durationS": round(sum(map(_seconds, result.rounds)), 6),
        "error": result.error.message if result.error else None,
        "errorCode": result.error.code if result.error else None,
    }


def _seconds(round_record: RoundRecord) -> float:
    """Return the time from the start of the first turn to the end of the last one."""
    turns = round_record.turns
    if not turns:
        return 0.0
    ends = [turn.timestamp.timestamp() for turn in turns]
    return max(ends) - min(end - turn.duration_s for end, turn in zip(ends, turns, strict=True))


def frame_of(rows: Sequence[JsonObject], columns: Sequence[str]) -> DataFrame:
    """Return rows as a data frame with these columns, in this order.

    Raises:
        ConfigurationError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        hint = "Install it: pip install 'roundtable-sdk[frames]'"
        raise ConfigurationError("to_frame() needs pandas", hint=hint, cause=error) from error
    return pd.DataFrame(rows, columns=[*columns])
