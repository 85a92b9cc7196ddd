"""What stands between an agent and a model: limits, deadlines, one kind of error."""

from __future__ import annotations

from roundtable.gateway.gateway import Gateway, GuardedModel
from roundtable.gateway.streams import ChatStream, DeltaStream, StreamingModel

__all__ = ["ChatStream", "DeltaStream", "Gateway", "GuardedModel", "StreamingModel"]
