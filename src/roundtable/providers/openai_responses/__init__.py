"""The dialect of OpenAI's Responses."""

from __future__ import annotations

from roundtable.providers.openai_responses.dialect import OpenAIResponses

__all__ = ["OpenAIResponses"]
