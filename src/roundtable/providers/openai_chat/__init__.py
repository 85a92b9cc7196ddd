"""The dialect of Chat Completions."""

from __future__ import annotations

from roundtable.providers.openai_chat.dialect import OpenAIChat

__all__ = ["OpenAIChat"]
