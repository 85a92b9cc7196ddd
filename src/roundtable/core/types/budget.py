"""Limits for the consumption of a debate, and estimates of its worst case."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field

from roundtable.core.types.argument_value import ArgumentValue
from roundtable.core.types.base import Share, Value

__all__ = ["AgentEstimate", "Budget", "Estimate"]


class Budget(ArgumentValue):
    """Limits for one debate, or for all debates of a table; an omitted field sets no limit.

    Every model call reserves its worst case before it starts. After the call, the actual amount replaces the
    reservation. So concurrent calls never exceed the budget together. A call that the budget does not cover is not
    made: the debate ends with the exit reason `budget`, and its session becomes `paused`. `Roundtable.resume` with a
    larger budget continues it.

    Example:
        >>> Budget(max_cost_usd=0.50, max_tokens=200_000).max_tokens
        200000
    """

    max_cost_usd: Annotated[float, Field(gt=0)] | None = None
    """Maximum cost in US dollars. Requires a known price for every model."""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """Maximum tokens, input plus output."""
    max_seconds: Annotated[float, Field(gt=0)] | None = None
    """Maximum seconds in which turns run; time between runs does not count."""
    max_calls: Annotated[int, Field(ge=1)] | None = None
    """Maximum model calls, including failed attempts."""
    synthesis_share: Share = 0.0
    """Share of the dollars and tokens that is reserved for the synthesis, so that a debate can always pay for it. If
    the share is above 0, one call is reserved too."""


class _WorstCase(Value):
    planned_calls: int = 0
    """Model calls if every first answer is readable and no tool is used, with those of an analyzer for every round."""
    calls: int = 0
    """Maximum model calls: every answer is requested twice, since none could be read the first time; every allowed tool
    call is made; every fallback model is tried."""
    input_tokens: int = 0
    """Maximum input tokens; an upper estimate."""
    output_tokens: int = 0
    """Maximum output tokens: `max_tokens` for every call."""
    searches: int = 0
    """Maximum web searches that providers run themselves."""
    cost_usd: float | None = None
    """Maximum cost in US dollars; `None` if the price of any call is unknown."""
    tries: int = 0
    """Maximum requests: `calls`, each retried as often as its retry policy allows."""
    cost_with_retries_usd: float | None = None
    """Maximum cost in US dollars if every attempt is billed in full; most providers do not bill failed attempts."""

    @property
    def total_tokens(self) -> int:
        """Input plus output tokens."""
        return self.input_tokens + self.output_tokens


class AgentEstimate(_WorstCase):
    """The worst-case estimate of one agent."""

    agent_id: str
    """Agent id."""
    turns: int = 0
    """Turns of this agent."""


class Estimate(_WorstCase):
    """The worst case of a debate, computed before it spends anything; see `Roundtable.estimate`."""

    turns: int = 0
    """Turns in all rounds."""
    by_agent: tuple[AgentEstimate, ...] = ()
    """The same figures for each agent, in speaking order."""
    notes: tuple[str, ...] = ()
    """What the figures do not include, and which of the included calls may not be necessary."""

    def times(self, number: int) -> Self:
        """Return the estimate of `number` debates like this one.

        Example:
            >>> Estimate(calls=3, cost_usd=0.5).times(4).cost_usd
            2.0
        """
        agents = tuple(agent.model_copy(update=_times(agent, number)) for agent in self.by_agent)
        return self.model_copy(update={**_times(self, number), "by_agent": agents})


def _times(worst: AgentEstimate | Estimate, number: int) -> dict[str, float]:
    figures = {name: getattr(worst, name) for name in (*_WorstCase.model_fields, "turns")}
    return {name: figure * number for name, figure in figures.items() if figure is not None}
