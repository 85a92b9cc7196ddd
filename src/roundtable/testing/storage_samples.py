"""Sample sessions and events to store."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from roundtable.core.types.agents import AgentConfig
from roundtable.core.types.answers import AgentResponse
from roundtable.core.types.debate import DebateConfig, ErrorInfo, FailedTurn, SessionRecord, Turn, TurnResult
from roundtable.core.types.events import (
    AgentComplete,
    AgentError,
    AgentToolResult,
    Control,
    DebateComplete,
    DebateError,
    RoundStart,
)
from roundtable.core.types.storage import LeaseOwner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.debate import SessionStatus
    from roundtable.core.types.events import ControlAction

__all__ = [
    "NOON",
    "answered",
    "broken",
    "control",
    "ended",
    "failed",
    "nested",
    "owner_elsewhere",
    "record",
    "round_start",
    "session_id",
    "tool_result",
]

NOON = datetime(2031, 5, 17, 12, tzinfo=UTC)
"""Creation time of sample sessions."""


def session_id() -> str:
    """Return a new random session id."""
    return uuid.uuid4().hex


def record(
    id: str | None = None,
    *,
    tenant: str = "default",
    topic: str = "Tea or coffee?",
    mode: str = "collaborative",
    created_at: datetime = NOON,
    rounds: int = 3,
    metadata: Mapping[str, JsonValue] | None = None,
) -> SessionRecord:
    """Create the record of a session with two agents."""
    agents = tuple(AgentConfig(id=name, name=name.title(), provider="scripted") for name in ("ada", "bo"))
    config = DebateConfig(topic=topic, mode=mode, agents=("ada", "bo"), rounds=rounds)
    return SessionRecord(
        id=id or session_id(),
        tenant=tenant,
        # Without validation: metadata may be nested too deeply.
        config=config.model_copy(update={"metadata": metadata or {}}),
        agents=agents,
        created_at=created_at,
    )


def answered(
    session: str,
    slot: int = 0,
    *,
    round: int = 1,
    stage: str = "opening",
    attempt: int = 1,
    position: str = "Tea",
    timestamp: datetime = NOON,
) -> AgentComplete:
    """Create the event of an answered turn."""
    answer = AgentResponse(agent_id="ada", agent_name="Ada", position=position, timestamp=NOON)
    turn = Turn(
        round=round,
        stage=stage,
        slot=slot,
        attempt=attempt,
        agent_id="ada",
        timestamp=NOON,
        result=TurnResult(answer=answer),
    )
    return AgentComplete(session_id=session, timestamp=timestamp, turn=turn, agent="ada", round=round)


def failed(session: str, slot: int = 0, *, round: int = 1, stage: str = "opening", attempt: int = 1) -> AgentError:
    """Create the event of a failed turn."""
    turn = FailedTurn(
        round=round,
        stage=stage,
        slot=slot,
        attempt=attempt,
        agent_id="ada",
        timestamp=NOON,
        error=ErrorInfo(name="APITimeoutError", message="no answer", code="API_TIMEOUT"),
    )
    return AgentError(session_id=session, timestamp=NOON, turn=turn, agent="ada", round=round, error="no answer")


def round_start(session: str, round: int = 1, *, timestamp: datetime = NOON) -> RoundStart:
    """Create the event of the start of a round."""
    return RoundStart(session_id=session, timestamp=timestamp, round=round, agents=("ada", "bo"))


def nested(depth: int) -> JsonValue:
    """Create a list that is nested so many levels deep."""
    value: JsonValue = []
    for _ in range(depth - 1):
        value = [value]
    return value


def tool_result(session: str, result: JsonValue) -> AgentToolResult:
    """Create the event of a tool's result, without validation, as the event of a faulty agent might be."""
    event = AgentToolResult(session_id=session, timestamp=NOON, agent="ada", round=1, step=1, tool_call_id="c1")
    return event.model_copy(update={"result": result})


def control(session: str, action: ControlAction = "pause", *, total_rounds: int | None = None) -> Control:
    """Create a control event."""
    return Control(session_id=session, timestamp=NOON, action=action, total_rounds=total_rounds)


def ended(session: str, status: SessionStatus = "completed") -> DebateComplete:
    """Create the event of a run that ended."""
    return DebateComplete(session_id=session, timestamp=NOON, status=status, total_rounds=1)


def broken(session: str) -> DebateError:
    """Create the event of a run that failed."""
    info = ErrorInfo(name="StorageError", message="no room", code="STORAGE_ERROR")
    return DebateError(session_id=session, timestamp=NOON, error="no room", code=info.code, info=info)


def owner_elsewhere(name: str = "elsewhere") -> LeaseOwner:
    """Create an owner on an unknown host."""
    return LeaseOwner(name=name, host="another-host.invalid", boot_id="b", pid=7, process_start="1")
