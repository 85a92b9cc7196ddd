"""Why a debate ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from pydantic import Field

from roundtable.types.base import JsonValue, Share, Value

__all__ = ["ExitCriteria", "ExitReason", "ExitResult"]

ExitReason: TypeAlias = str
"""`consensus`, `convergence`, `confidence`, `max_rounds`, `stopped`, `paused`, `cancelled`, `deadline`,
`budget`, `quorum_lost`, `error`, or the reason a mode or a plug-in exit gives."""


class ExitCriteria(Value):
    """Thresholds at which a debate ends."""

    max_rounds: Annotated[int, Field(ge=1)]
    """End after this many rounds."""
    consensus_threshold: Share | None = None
    """End at this agreement level."""
    convergence_rounds: Annotated[int, Field(ge=1)] | None = None
    """End when positions have not moved for this many rounds."""
    confidence_threshold: Share | None = None
    """End when every agent reports at least this confidence."""


class ExitResult(Value):
    """Whether a debate ends, and the figures behind it."""

    should_exit: bool
    """Whether the debate ends now."""
    reason: ExitReason | None = None
    """Short reason; `None` while the debate goes on."""
    details: str = ""
    """The reason in words."""
    figures: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Numbers the decision rests on."""
