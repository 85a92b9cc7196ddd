"""What stands between an agent and a model: limits, deadlines, one kind of error."""

from __future__ import annotations

from roundtable.gateway.budgets import Ledger
from roundtable.gateway.fallback import FallbackModel
from roundtable.gateway.gateway import Gateway, GuardedModel
from roundtable.gateway.metering import MeteredModel
from roundtable.gateway.prices import ModelPrice, PriceTable

__all__ = ["FallbackModel", "Gateway", "GuardedModel", "Ledger", "MeteredModel", "ModelPrice", "PriceTable"]
