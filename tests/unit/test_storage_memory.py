"""What the storage in memory does that the others get from the disk: it keeps what was stored, whoever changes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from roundtable.storage import MemoryStorage
from roundtable.testing.storage_samples import answered, owner_elsewhere, record
from roundtable.types import (
    AgentToolCall,
    DurableEvent,
    ScoresAnswer,
    ToolCall,
    ToolCallRecord,
    TurnResult,
    utc_now,
)

pytestmark = pytest.mark.anyio


def with_tool() -> tuple[DurableEvent, Any]:
    event = answered("s")
    call = ToolCallRecord(tool_name="search", input={"tea": 1.0}, duration_s=0.1)
    result = event.turn.result.model_copy(update={"tool_calls": (call,)})
    return event.model_copy(update={"turn": event.turn.model_copy(update={"result": result})}), call.input


def with_scores() -> tuple[DurableEvent, Any]:
    event, answer = answered("s"), ScoresAnswer(scores={"tea": 1.0})
    turn = event.turn.model_copy(update={"result": TurnResult(answer=answer)})
    return event.model_copy(update={"turn": turn}), answer.scores


def with_call() -> tuple[DurableEvent, Any]:
    call = ToolCall(id="c", name="search", arguments={"tea": 1.0})
    event = AgentToolCall(session_id="s", timestamp=utc_now(), agent="ada", round=1, step=1, tool_call=call)
    return event, call.arguments


@pytest.mark.parametrize("made", [with_tool, with_scores, with_call])
async def test_changing_an_object_after_storing_does_not_change_the_stored_one(
    made: Callable[[], tuple[DurableEvent, Any]],
) -> None:
    storage = MemoryStorage()
    event, held = made()
    await storage.create(record("s"))
    lease = await storage.lease("s", owner_elsewhere("me"), 60)
    await storage.append("s", 0, lease.token, [event])
    held["tea"] = 2.0
    held["milk"] = 1.0
    assert "milk" in event.to_json()  # the caller changed the very event
    _, (read,) = await storage.read("s")
    assert '"tea":1.0' in read.to_json()
    assert "milk" not in read.to_json()
