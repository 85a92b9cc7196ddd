"""The provider `local`: a small language model inside this process, without a key."""

from __future__ import annotations

from roundtable.providers.local.model import LocalModel, LocalProvider
from roundtable.providers.local.weights import SMOLLM2, Weights, find_weights

__all__ = ["SMOLLM2", "LocalModel", "LocalProvider", "Weights", "find_weights"]
