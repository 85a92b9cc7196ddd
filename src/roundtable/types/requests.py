"""What agents ask the caller for, and what the caller answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from roundtable.types.base import NonEmpty, Timestamp, Value, utc_now

__all__ = ["ContextRequest", "ContextResult"]


class ContextRequest(Value):
    """An agent's request to the caller for information it lacks."""

    id: NonEmpty
    """Echoed by the result."""
    agent_id: str
    """Who asks."""
    query: Annotated[str, Field(min_length=1, max_length=1000)]
    """What is needed."""
    reason: Annotated[str, Field(min_length=1, max_length=500)]
    """Why."""
    priority: Literal["required", "optional"] = "required"
    """Whether the debate should wait for it."""
    timestamp: Timestamp = Field(default_factory=utc_now)
    """When it was asked."""


class ContextResult(Value):
    """The caller's answer to a context request."""

    request_id: NonEmpty
    """Which request."""
    success: bool
    """Whether the information was found."""
    result: str | None = None
    """The information."""
    error: str | None = None
    """Why there is none."""
    query: str | None = None
    """What was asked for; filled in from the request, and shown beside the information."""
