"""Prompt texts with versions, the layers that they form, and the fence around all untrusted text."""

from roundtable.core.prompts.answer_format import (
    JSON_WANTED,
    answer_example,
    answer_format,
    answer_schema,
    value_schema_of,
)
from roundtable.core.prompts.claims import asks_claims, claim_id, label_claims
from roundtable.core.prompts.compose import (
    PROMPT_VERSION,
    Quotation,
    comparable,
    compose_system,
    compose_user,
    estimate_tokens,
    find_reference,
    fit_texts,
    label_quotations,
    quote_answer,
    resolve_comparisons,
    shown_claims,
)
from roundtable.core.prompts.fence import Fence, fresh_nonce, neutralise
from roundtable.core.prompts.layers import (
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
    "asks_claims",
    "claim_id",
    "comparable",
    "compose_system",
    "compose_user",
    "estimate_tokens",
    "find_reference",
    "fit_texts",
    "fresh_nonce",
    "label_claims",
    "label_quotations",
    "load_mode_prompt",
    "neutralise",
    "quote_answer",
    "render_layers",
    "resolve_comparisons",
    "shown_claims",
    "value_schema_of",
]
