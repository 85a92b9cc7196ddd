"""Prompt texts with versions, the layers they form, and the fence round everything untrusted."""

from roundtable.prompts.answer_format import answer_example, answer_format, answer_schema
from roundtable.prompts.compose import PROMPT_VERSION, Quotation, compose_system, compose_user, estimate_tokens
from roundtable.prompts.fence import Fence, fresh_nonce, neutralise
from roundtable.prompts.layers import ModePrompt, load_mode_prompt, render_layers

__all__ = [
    "PROMPT_VERSION",
    "Fence",
    "ModePrompt",
    "Quotation",
    "answer_example",
    "answer_format",
    "answer_schema",
    "compose_system",
    "compose_user",
    "estimate_tokens",
    "fresh_nonce",
    "load_mode_prompt",
    "neutralise",
    "render_layers",
]
