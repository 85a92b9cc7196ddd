"""Prompt texts with versions, the layers they form, and the fence round everything untrusted."""

from roundtable.prompts.answer_format import JSON_WANTED, answer_example, answer_format, answer_schema
from roundtable.prompts.compose import (
    PROMPT_VERSION,
    Quotation,
    compose_system,
    compose_user,
    estimate_tokens,
    fit_texts,
    quote_answer,
)
from roundtable.prompts.fence import Fence, fresh_nonce, neutralise
from roundtable.prompts.layers import (
    BUILTIN_PROMPTS,
    Headings,
    ModePrompt,
    PromptLibrary,
    RolePrompt,
    load_mode_prompt,
    render_layers,
)

__all__ = [
    "BUILTIN_PROMPTS",
    "JSON_WANTED",
    "PROMPT_VERSION",
    "Fence",
    "Headings",
    "ModePrompt",
    "PromptLibrary",
    "Quotation",
    "RolePrompt",
    "answer_example",
    "answer_format",
    "answer_schema",
    "compose_system",
    "compose_user",
    "estimate_tokens",
    "fit_texts",
    "fresh_nonce",
    "load_mode_prompt",
    "neutralise",
    "quote_answer",
    "render_layers",
]
