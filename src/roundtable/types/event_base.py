"""What all events have, and what tells the numbered from the others."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from roundtable.types.base import JsonObject, Timestamp, Value

__all__ = ["DurableBase", "EventBase", "LiveBase"]


class EventBase(Value):
    """What all events have."""

    session_id: str
    """Session id."""
    timestamp: Timestamp
    """When it happened."""

    def to_wire(self) -> JsonObject:
        """Give the form every event stream sends: `{"type": ..., "data": {...}}` in camelCase."""
        data = self.model_dump(mode="json", exclude_none=True)
        kind = data.pop("type")
        return {"type": kind, "data": data}


class DurableBase(EventBase):
    """What all numbered events have."""

    durable: ClassVar[Literal[True]] = True

    seq: Annotated[int, Field(ge=0)] = 0
    """Number of this event in its session, from 1; 0 until it is stored."""


class LiveBase(EventBase):
    """What all events have that are told but not stored."""

    durable: ClassVar[Literal[False]] = False

    after: Annotated[int, Field(ge=0)] = 0
    """Number of the last durable event before this one."""
