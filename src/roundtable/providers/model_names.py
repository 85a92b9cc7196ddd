"""Properties of models that follow from their names, for every wire format: routers pass calls on to any vendor."""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "CALL_ID",
    "UNSIGNED",
    "call_id_rule",
    "claude_rejects_temperature",
    "is_gemini_3_or_later",
    "is_openai_reasoning_model",
    "openai_rejects_temperature",
]

_OPENAI_REASONING: Final = re.compile(r"(?:.*[/:])?(?:(?:azure|openai)\.)?(?:o\d|codex-|gpt-(?:[5-9]|\d\d)(?!\d))")
_OPENAI_TEMPERATURE: Final = re.compile(r"gpt-5\.[124](?![\d.])(?!-(?:codex|pro))|-chat")

_MISTRAL: Final = re.compile(r"(?:^|[/:._-])(?:mistral|ministral|mixtral|magistral|devstral|codestral|pixtral)")
CALL_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Form of the ids of tool calls that Anthropic accepts, and OpenAI as well."""
_MISTRAL_CALL_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")

_CLAUDE: Final = re.compile(r"claude-(?:opus|sonnet|haiku)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_GEMINI: Final = re.compile(r"gemini-(\d+)")

UNSIGNED: Final = "skip_thought_signature_validator"
"""Placeholder that Gemini accepts as the thought signature of a call that another model made.

See https://ai.google.dev/gemini-api/docs/thought-signatures.
"""


def is_openai_reasoning_model(model: str) -> bool:
    """Check whether a model of OpenAI reasons before it answers.

    Example:
        >>> [is_openai_reasoning_model(model) for model in ("gpt-5.2", "o4-mini", "gpt-4.1", "gpt-5-chat-latest")]
        [True, True, False, False]
    """
    return bool(_OPENAI_REASONING.match(model)) and "-chat" not in model


def openai_rejects_temperature(model: str) -> bool:
    """Check whether a model of OpenAI rejects a sampling temperature. Models that always reason reject it.

    See https://platform.openai.com/docs/guides/latest-model.

    Example:
        >>> [openai_rejects_temperature(model) for model in ("gpt-5-mini", "o3", "gpt-5.2", "gpt-4.1")]
        [True, True, False, False]
    """
    return is_openai_reasoning_model(model) and not _OPENAI_TEMPERATURE.search(model)


def call_id_rule(model: str) -> tuple[re.Pattern[str], int] | None:
    """Return the form of the ids of tool calls that a model needs, and a length for new ids; `None` if any id will do.

    See https://docs.mistral.ai/capabilities/function_calling.

    Example:
        >>> [rule and rule[1] for rule in map(call_id_rule, ("mistral-large-latest", "claude-sonnet-4-5", "llama3"))]
        [9, 40, None]
    """
    if _MISTRAL.search(model.lower()):
        return _MISTRAL_CALL_ID, 9
    return (CALL_ID, 40) if "claude" in model.lower() else None


def claude_rejects_temperature(model: str) -> bool:
    """Check whether a model of Anthropic rejects sampling parameters. Models from version 4.7 on reject them.

    See https://platform.claude.com/docs/en/about-claude/models/migration-guide.

    Example:
        >>> [claude_rejects_temperature(f"claude-{model}") for model in ("sonnet-4-5", "opus-4.8", "sonnet-4-20250514")]
        [False, True, False]
    """
    version = _CLAUDE.search(model)
    if version is None:
        return bool(re.search(r"claude-(?:mythos|fable)", model))
    return (int(version[1]), int(version[2] or 0)) >= (4, 7)


def is_gemini_3_or_later(model: str) -> bool:
    """Check whether a model is Gemini 3 or later.

    These models can combine search, functions and a schema in one call, and expect a thought signature with calls. See
    https://ai.google.dev/gemini-api/docs/tool-combination and
    https://ai.google.dev/gemini-api/docs/thought-signatures.

    Example:
        >>> is_gemini_3_or_later("gemini-3-flash-preview"), is_gemini_3_or_later("gemini-2.5-flash")
        (True, False)
    """
    generation = _GEMINI.search(model)
    return generation is not None and int(generation[1]) >= 3
