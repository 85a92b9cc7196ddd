"""What the tools give, as their output schemas say it. Fields that are empty are left out."""

from __future__ import annotations

from typing import Literal

from roundtable.types import (
    AgentResponseSummary,
    AnyConsensus,
    Citation,
    ContextRequest,
    DecisionLayer,
    ErrorInfo,
    EvidenceLayer,
    ExitResult,
    MetadataLayer,
    RoundtableStatus,
    SessionStatus,
    Share,
    Stance,
    SynthesisResult,
    Timestamp,
    Value,
)

__all__ = [
    "AgentEntry",
    "AgentsOutput",
    "AnswerView",
    "CitationView",
    "CitationsOutput",
    "ConfidencePoint",
    "ConsensusOutput",
    "ControlOutput",
    "DebateOutput",
    "DebateState",
    "DecisionView",
    "ExportOutput",
    "FailureView",
    "ListOutput",
    "NextStep",
    "ResponseOutput",
    "RoundOutput",
    "SessionEntry",
    "SynthesisOutput",
    "ThoughtsOutput",
    "ToolUse",
]


class NextStep(Value):
    """What to call next, and why."""

    tool: str
    """Name of the tool."""
    reason: str
    """Why."""


class DecisionView(Value):
    """What the decision rule made of a round."""

    rule: str
    """Name of the rule."""
    winners: tuple[str, ...] = ()
    """Winning options."""
    is_tie: bool = False
    """Whether several lead level."""
    passed: bool = False
    """Whether there is exactly one winner."""


class DebateState(Value):
    """Where a debate stands; part of every answer about one."""

    session_id: str
    """Handle of the debate: all other tools take it."""
    status: RoundtableStatus
    """`completed`, `needs_context` when agents wait for information, else `in_progress`."""
    session_status: SessionStatus
    """State of the stored session."""
    running: bool
    """Whether this server is running it now; an `in_progress` debate that does not run goes on with
    continue_roundtable."""
    current_round: int
    """Rounds begun."""
    total_rounds: int
    """Rounds planned."""


class FailureView(Value):
    """A turn without an answer."""

    agent_id: str
    """Who."""
    agent_name: str
    """Display name."""
    round_number: int
    """Round."""
    error: ErrorInfo
    """Why."""


class DebateOutput(DebateState):
    """The four layers of the last complete round, and how the debate stands."""

    topic: str
    """The question."""
    mode: str
    """Debate mode."""
    round_number: int
    """Round shown in the layers; 0 while none is complete."""
    decision: DecisionLayer | None = None
    """Layer 1: can I act on this?"""
    agent_responses: tuple[AgentResponseSummary, ...] = ()
    """Layer 2: who says what."""
    evidence: EvidenceLayer | None = None
    """Layer 3: what it rests on."""
    metadata: MetadataLayer | None = None
    """Layer 4: where to dig."""
    answer: str | None = None
    """What the decision rule chose."""
    answer_reason: str | None = None
    """Why there is no answer."""
    independent_agreement: Share | None = None
    """Agreement of answers given before anybody had heard anybody."""
    exit: ExitResult | None = None
    """Why the debate ended or stopped."""
    failures: tuple[FailureView, ...] = ()
    """Turns that failed: with any of them fewer agents than asked stand behind this."""
    context_requests: tuple[ContextRequest, ...] = ()
    """What agents ask for; continue_roundtable takes the answers as contextResults."""
    error: ErrorInfo | None = None
    """What broke the debate, if it broke."""
    next_step: NextStep | None = None
    """What to call next."""


class ConsensusOutput(DebateState):
    """Agreement of one round, as it was measured when the round ended."""

    analyzed_round: int | None = None
    """Round measured; none yet when left out."""
    response_count: int = 0
    """Answers behind it."""
    consensus: AnyConsensus | None = None
    """The measure, with its method."""
    decision: DecisionView | None = None
    """What the decision rule made of the round."""
    answer: str | None = None
    """What the rule chose."""
    independent_agreement: Share | None = None
    """Agreement of answers given before anybody had heard anybody."""
    exit: ExitResult | None = None
    """Why the debate ended or stopped."""


class AgentEntry(Value):
    """An agent that can debate."""

    id: str
    """What start_roundtable takes in `agents`."""
    name: str
    """Display name."""
    provider: str
    """Provider."""
    model: str | None = None
    """Model; the provider's default when left out."""
    active: bool = True
    """Whether it can be used now."""


class AgentsOutput(Value):
    """Who can debate."""

    agents: tuple[AgentEntry, ...]
    """The agents."""
    count: int
    """How many."""


class SessionEntry(Value):
    """A session in a list."""

    id: str
    """Handle."""
    topic: str
    """The question."""
    mode: str
    """Debate mode."""
    status: SessionStatus
    """State."""
    current_round: int
    """Rounds begun."""
    total_rounds: int
    """Rounds planned."""
    agent_count: int
    """How many debate."""
    response_count: int
    """Stored positions."""
    created_at: Timestamp
    """When it was created."""
    updated_at: Timestamp
    """When it last changed."""


class ListOutput(Value):
    """A page of sessions, newest first."""

    sessions: tuple[SessionEntry, ...]
    """The sessions."""
    count: int
    """How many are on this page."""
    next_cursor: str | None = None
    """Cursor of the next page, if there is one."""


class ToolUse(Value):
    """A tool that an agent used."""

    tool_name: str
    """Name."""
    timestamp: Timestamp
    """When."""


class AnswerView(Value):
    """One answer in full."""

    agent_id: str
    """Who."""
    agent_name: str
    """Display name."""
    round_number: int
    """Round."""
    position: str
    """The answer."""
    reasoning: str
    """Why."""
    confidence: Share
    """What the agent says of its own confidence."""
    stance: Stance | None = None
    """Side taken."""
    choice: str | None = None
    """Option chosen."""
    citations: tuple[Citation, ...] = ()
    """Sources."""
    tool_calls: tuple[ToolUse, ...] = ()
    """Tools used."""
    timestamp: Timestamp
    """When."""


class ConfidencePoint(Value):
    """Confidence in one round."""

    round: int
    """Round."""
    confidence: Share
    """Confidence."""


class ThoughtsOutput(Value):
    """All that one agent said."""

    session_id: str
    """Session."""
    agent_id: str
    """Who."""
    agent_name: str
    """Display name."""
    total_responses: int
    """Answers it gave."""
    rounds: int
    """Rounds in which it answered."""
    responses: tuple[AnswerView, ...]
    """The answers, oldest first."""
    confidence_evolution: tuple[ConfidencePoint, ...]
    """Its confidence by round."""


class ExportOutput(Value):
    """An exported session."""

    session_id: str
    """Session."""
    format: Literal["markdown", "json", "html", "csv"]
    """Form."""
    content: str
    """The document."""


class ControlOutput(Value):
    """What became of a request to pause, resume or stop."""

    session_id: str
    """Session."""
    action: Literal["pause", "resume", "stop"]
    """What was asked."""
    previous_status: SessionStatus
    """State before."""
    new_status: SessionStatus
    """State now; a running debate gets there with its next step."""
    message: str
    """The same in words."""


class RoundOutput(DebateState):
    """One round in full."""

    round_number: int
    """Round."""
    complete: bool
    """Whether it ran to its end."""
    focus_question: str | None = None
    """Narrower question of the round."""
    responses: tuple[AnswerView, ...] = ()
    """Answers."""
    failures: tuple[FailureView, ...] = ()
    """Turns that failed."""
    consensus: AnyConsensus | None = None
    """Agreement, measured when the round ended."""
    decision: DecisionView | None = None
    """What the decision rule made of it."""


class ResponseOutput(Value):
    """Answers of one agent."""

    session_id: str
    """Session."""
    agent_id: str
    """Who."""
    agent_name: str
    """Display name."""
    round_number: int | None = None
    """The round asked for."""
    responses: tuple[AnswerView, ...]
    """The answers."""


class CitationView(Citation):
    """A source, with the agent that cited it first."""

    agent_id: str
    """Who."""
    agent_name: str
    """Display name."""
    round_number: int
    """Round."""
    timestamp: Timestamp
    """When."""


class CitationsOutput(Value):
    """Sources, each once."""

    session_id: str
    """Session."""
    round_number: int | None = None
    """The round asked for."""
    agent_id: str | None = None
    """The agent asked for."""
    citations: tuple[CitationView, ...]
    """The sources, in the order in which they were first cited."""
    total_citations: int
    """How many."""


class SynthesisOutput(Value):
    """A debate put together by one model."""

    session_id: str
    """Session."""
    synthesizer_id: str
    """Who wrote it."""
    synthesis: SynthesisResult
    """The synthesis."""
