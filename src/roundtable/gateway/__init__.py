"""What stands between an agent and a model: limits, retries, deadlines, one kind of error."""

from __future__ import annotations

from roundtable._ledger import Ledger
from roundtable.gateway.breaker import BreakerState, CircuitBreaker
from roundtable.gateway.buckets import RateBucket, RetryBudget
from roundtable.gateway.fallback import FallbackModel
from roundtable.gateway.gateway import Gateway
from roundtable.gateway.guarded import GuardedModel
from roundtable.gateway.lanes import Lane, LaneKey
from roundtable.gateway.metering import MeteredModel
from roundtable.gateway.prices import ModelPrice, PriceTable
from roundtable.gateway.retry import RetryRule, retry_with_backoff
from roundtable.gateway.streams import ChatStream, DeltaStream, StreamingModel
from roundtable.gateway.tries import RetryNotice

__all__ = [
    "BreakerState",
    "ChatStream",
    "CircuitBreaker",
    "DeltaStream",
    "FallbackModel",
    "Gateway",
    "GuardedModel",
    "Lane",
    "LaneKey",
    "Ledger",
    "MeteredModel",
    "ModelPrice",
    "PriceTable",
    "RateBucket",
    "RetryBudget",
    "RetryNotice",
    "RetryRule",
    "StreamingModel",
    "retry_with_backoff",
]
