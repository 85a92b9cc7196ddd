"""The gateway between agents and models: limits, retries, deadlines, one kind of error."""

from __future__ import annotations

from roundtable.core.base.ledger import DebateKey, Ledger
from roundtable.core.types.model_facts import RetryNotice
from roundtable.gateway.breaker import BreakerState, CircuitBreaker, KeyBreaker
from roundtable.gateway.budget import MeteredModel
from roundtable.gateway.fallback import FallbackModel
from roundtable.gateway.gateway import Gateway
from roundtable.gateway.guarded import GuardedModel
from roundtable.gateway.prices import ModelPrice, PriceTable
from roundtable.gateway.retry import RetryRule, retry_with_backoff
from roundtable.gateway.state import EndpointKey, EndpointState, RateBucket, RetryBudget
from roundtable.gateway.streams import ChatStream, DeltaStream, StreamingModel

__all__ = [
    "BreakerState",
    "ChatStream",
    "CircuitBreaker",
    "DebateKey",
    "DeltaStream",
    "EndpointKey",
    "EndpointState",
    "FallbackModel",
    "Gateway",
    "GuardedModel",
    "KeyBreaker",
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
