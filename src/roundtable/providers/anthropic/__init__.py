"""The dialect of Anthropic's Messages."""

from __future__ import annotations

from roundtable.providers.anthropic.dialect import AnthropicMessages

__all__ = ["AnthropicMessages"]
