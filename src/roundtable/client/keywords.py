"""The options that callers of a server can set for debates, conversations and stored sessions.

Written by `tools/generate.py` from `roundtable.core.types.request`; change it there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.core.types.answers import ContextResult
    from roundtable.core.types.attachments import Attachment
    from roundtable.core.types.base import JsonValue, NativeSearch
    from roundtable.core.types.budget import Budget
    from roundtable.core.types.teams import TeamOrder
    from roundtable.exits import Exit

__all__ = [
    "ConversationKeywords",
    "DebateKeywords",
    "ExtendKeywords",
    "ForkKeywords",
    "ResumeKeywords",
]


class DebateKeywords(TypedDict, total=False):
    """Options of a debate besides its topic; `roundtable.Roundtable.debate` explains each option."""

    mode: str
    rounds: int
    agents: Sequence[str]
    options: Sequence[str]
    attachments: Sequence[Attachment]
    decide: str
    vote: bool | Literal["every"]
    exit_when: str | Exit
    exit_on_consensus: bool
    quorum: int
    focus_question: str
    perspectives: Sequence[str] | Literal["auto"]
    search: Literal["auto"] | bool | NativeSearch
    baseline: bool
    synthesize: bool
    claims: bool
    answer_schema: Mapping[str, JsonValue]
    skip_rounds_when: float
    budget: Budget
    deadline_s: float
    metadata: Mapping[str, JsonValue]


class ForkKeywords(DebateKeywords, total=False):
    """Options that can differ in a fork; `roundtable.Roundtable.fork` explains each option."""

    context_results: Sequence[ContextResult]


class ConversationKeywords(TypedDict, total=False):
    """Options of a conversation; `roundtable.Roundtable.converse` explains each option."""

    rounds: int
    order: TeamOrder
    timeout_s: float
    budget: Budget
    metadata: Mapping[str, JsonValue]


class ResumeKeywords(TypedDict, total=False):
    """Options of a resumed session; `roundtable.Roundtable.start_resume` explains each option."""

    context_results: Sequence[ContextResult]
    force: bool
    budget: Budget
    deadline_s: float
    on_change: Literal["error", "adopt"]
    step: bool


class ExtendKeywords(ResumeKeywords, total=False):
    """Options of further rounds; `roundtable.Roundtable.start_resume` explains each option."""

    rounds: int
    focus_question: str
