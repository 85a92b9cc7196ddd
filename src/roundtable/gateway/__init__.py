"""What stands between an agent and a model: limits, retries, deadlines, one kind of error."""

from __future__ import annotations

from roundtable.gateway.breaker import BreakerState, CircuitBreaker
from roundtable.gateway.buckets import RateBucket, RetryBudget
from roundtable.gateway.gateway import Gateway
from roundtable.gateway.guarded import GuardedModel
from roundtable.gateway.lanes import Lane, LaneKey
from roundtable.gateway.retry import RetryRule, retry_with_backoff
from roundtable.gateway.streams import ChatStream, DeltaStream, StreamingModel
from roundtable.gateway.tries import RetryNotice

__all__ = [
    "BreakerState",
    "ChatStream",
    "CircuitBreaker",
    "DeltaStream",
    "Gateway",
    "GuardedModel",
    "Lane",
    "LaneKey",
    "RateBucket",
    "RetryBudget",
    "RetryNotice",
    "RetryRule",
    "StreamingModel",
    "retry_with_backoff",
]
