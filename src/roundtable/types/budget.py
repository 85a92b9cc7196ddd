"""What a debate may consume, and what it would at most."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from roundtable.types.base import Share, Value

__all__ = ["AgentEstimate", "Budget", "Estimate"]


class Budget(Value):
    """The most that a debate, or all debates of a table, may consume; what is left out is not limited.

    Every model call reserves its worst case before it starts and settles what it took afterwards, so that calls that
    run at once never overspend together. A call that does not fit is not made: the debate ends with exit reason
    `budget`, its session is left `paused`, and `Roundtable.resume` with a larger budget goes on.

    Example:
        >>> Budget(max_cost_usd=0.50, max_tokens=200_000).max_tokens
        200000
    """

    max_cost_usd: Annotated[float, Field(gt=0)] | None = None
    """Most US dollars. Every model needs a known price then."""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """Most tokens, input and output together."""
    max_seconds: Annotated[float, Field(gt=0)] | None = None
    """Most seconds during which turns are taken; time between runs does not count."""
    max_calls: Annotated[int, Field(ge=1)] | None = None
    """Most model calls, tries that failed included."""
    synthesis_share: Share = 0.0
    """Part of the dollars and tokens that only a synthesis may use, so that a debate never dies before its verdict; of
    the calls, one is kept then."""


class _Most(Value):
    planned_calls: int = 0
    """Model calls if every answer can be read at once and no tool is used."""
    calls: int = 0
    """Most model calls: each answer asked for once more, every tool call made, every model of a fallback tried."""
    input_tokens: int = 0
    """Most tokens sent, as estimated from above."""
    output_tokens: int = 0
    """Most tokens generated: `max_tokens` in every call."""
    cost_usd: float | None = None
    """Most US dollars; `None` when the price of any call is unknown."""
    tries: int = 0
    """Most requests: `calls`, each tried again as often as its rule for retries allows."""
    cost_with_retries_usd: float | None = None
    """Most US dollars if every try of every call is billed in full, though most providers bill none that failed."""

    @property
    def total_tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


class AgentEstimate(_Most):
    """The worst case of one agent."""

    agent_id: str
    """Agent id."""
    turns: int = 0
    """Turns it takes."""


class Estimate(_Most):
    """The worst case of a debate, before anything is spent; see `Roundtable.estimate`."""

    turns: int = 0
    """Turns taken in all rounds."""
    by_agent: tuple[AgentEstimate, ...] = ()
    """The same by agent, in speaking order."""
    notes: tuple[str, ...] = ()
    """What the figures leave out."""
