"""The dialect of Perplexity's Sonar."""

from __future__ import annotations

from roundtable.providers.perplexity.dialect import PerplexitySonar

__all__ = ["PerplexitySonar"]
