"""Outputs of the tools; their output schemas are made from these classes. Fields that are `None` are omitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from roundtable.core.types.answers import Citation, Claim, ContextRequest, ImageResult, Reading, Stance
from roundtable.core.types.base import JsonObject, Share, Timestamp, Value
from roundtable.core.types.consensus import AnyConsensus, SynthesisResult, VoteReport
from roundtable.core.types.debate import ErrorInfo, ExitReason, ExitResult, SessionStatus
from roundtable.core.types.layers import (
    AgentResponseSummary,
    DecisionLayer,
    EvidenceLayer,
    MetadataLayer,
    RoundtableStatus,
)

__all__ = [
    "AgentEntry",
    "AgentsOutput",
    "AnswerView",
    "BallotView",
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
    """The tool to call next, and why."""

    tool: str
    """Name of the tool."""
    reason: str
    """Why to call it."""


class DecisionView(Value):
    """Outcome of the decision rule for a round."""

    rule: str
    """Name of the rule."""
    winners: tuple[str, ...] = ()
    """Winning options."""
    is_tie: bool = False
    """Whether several options are tied for the lead."""
    passed: bool = False
    """Whether there is exactly one winner."""
    unread: tuple[str, ...] = ()
    """Voters whose ballots could not be read; no option wins that these ballots could have overturned."""
    why: str = ""
    """The outcome in words."""
    vote: VoteReport | None = None
    """The motions, if the agents voted on answers or options: who gave each motion, which others were counted as the
    same motion, how often voters put their own motion first (a share), and what could not be counted."""
    pairs: tuple[tuple[float, ...], ...] | None = None
    """The motions compared in pairs, as a table: the number of ballots that put the motion of the row above the motion
    of the column. Rows and columns are in the order of `vote.motions`."""


class DebateState(Value):
    """State of a debate; part of every output about a debate."""

    session_id: str
    """Handle of the debate, for all other tools."""
    status: RoundtableStatus
    """`completed`, `needs_context` if agents wait for information, else `in_progress`."""
    session_status: SessionStatus
    """State of the stored session."""
    running: bool
    """Whether the debate is running now, on this server or another server with the same storage; continue_roundtable
    continues an `in_progress` debate that is not running."""
    current_round: int
    """Rounds started."""
    total_rounds: int
    """Rounds planned."""


class FailureView(Value):
    """A turn without an answer."""

    agent_id: str
    """Agent id."""
    agent_name: str
    """Display name of the agent."""
    round_number: int
    """Round."""
    error: ErrorInfo
    """Why the turn failed."""


class DebateOutput(DebateState):
    """The four layers of the last complete round, and the state of the debate."""

    topic: str
    """The question."""
    mode: str
    """Debate mode."""
    round_number: int
    """Round shown in the layers; 0 until the first round is complete."""
    decision: DecisionLayer | None = None
    """Layer 1: whether you can act on the result."""
    agent_responses: tuple[AgentResponseSummary, ...] = ()
    """Layer 2: each agent in brief."""
    evidence: EvidenceLayer | None = None
    """Layer 3: evidence and contradictions."""
    metadata: MetadataLayer | None = None
    """Layer 4: where to find the details."""
    answer: str | None = None
    """The option that the decision rule chose."""
    answer_reason: str | None = None
    """Why there is no answer."""
    unread: str | None = None
    """Whose answers of the round could not be read, in one line, and what follows; omitted if all could be read."""
    value: JsonObject | None = None
    """The object that fits the answer schema, if the debate has a schema and most agents with the chosen answer gave
    this object."""
    independent_agreement: Share | None = None
    """Agreement of the answers that agents gave before they had seen any other answer."""
    independent_agreement_at_most: Share | None = None
    """The largest possible value of the independent agreement: all answers that nobody compared count as the same."""
    exit: ExitResult | None = None
    """Why the debate ended or stopped."""
    failures: tuple[FailureView, ...] = ()
    """Turns that failed; if there are any, the result is based on fewer answers than planned."""
    context_requests: tuple[ContextRequest, ...] = ()
    """Information that agents request; pass the answers to continue_roundtable as contextResults."""
    error: ErrorInfo | None = None
    """Error that ended the debate, if any."""
    next_step: NextStep | None = None
    """The tool to call next."""


class ConsensusOutput(DebateState):
    """Agreement of one round, as measured when the round ended."""

    analyzed_round: int | None = None
    """Round that was measured; omitted if no round has been measured yet."""
    response_count: int = 0
    """Number of answers compared."""
    consensus: AnyConsensus | None = None
    """Measured agreement, with the method."""
    decision: DecisionView | None = None
    """Outcome of the decision rule for the round."""
    answer: str | None = None
    """The option that the rule chose."""
    independent_agreement: Share | None = None
    """Agreement of the answers that agents gave before they had seen any other answer."""
    independent_agreement_at_most: Share | None = None
    """The largest possible value of the independent agreement: all answers that nobody compared count as the same."""
    exit: ExitResult | None = None
    """Why the debate ended or stopped."""
    audit: JsonObject | None = None
    """What would change the decision of the debate, if the call requested an audit: a `DecisionAudit`."""
    arguments: JsonObject | None = None
    """The claims of the debate and what they refer to, if the call requested them: an `ArgumentGraph`."""


class AgentEntry(Value):
    """An agent that can debate."""

    id: str
    """Id for `agents` of start_roundtable."""
    name: str
    """Display name."""
    provider: str
    """Provider name."""
    model: str | None = None
    """Model id; omitted if a local server decides."""
    active: bool = True
    """Whether the agent can be used, according to its last call or health check; false if its key was refused."""
    error: str | None = None
    """Why the agent is not active."""


class AgentsOutput(Value):
    """The agents that can debate."""

    agents: tuple[AgentEntry, ...]
    """The agents."""
    count: int
    """Number of agents."""


class SessionEntry(Value):
    """A session in a list."""

    id: str
    """Handle of the debate."""
    topic: str
    """The question."""
    mode: str
    """Debate mode."""
    status: SessionStatus
    """State."""
    current_round: int
    """Rounds started."""
    total_rounds: int
    """Rounds planned."""
    agent_count: int
    """Number of debating agents."""
    response_count: int
    """Number of stored positions."""
    created_at: Timestamp
    """When it was created."""
    updated_at: Timestamp
    """When it last changed."""
    exit_reason: ExitReason | None = None
    """Why its last run ended, such as `max_rounds` or `stopped`; omitted until a run has ended."""
    error: str | None = None
    """Why the session cannot be read, if it is damaged."""


class ListOutput(Value):
    """A page of sessions, newest first."""

    sessions: tuple[SessionEntry, ...]
    """The sessions."""
    count: int
    """Number of sessions on this page."""
    next_cursor: str | None = None
    """Cursor of the next page, if there is one."""


class ToolUse(Value):
    """A tool that an agent used."""

    tool_name: str
    """Tool name."""
    timestamp: Timestamp
    """When the call ended."""
    error: str | None = None
    """Why the call failed, or was not approved."""


class AnswerView(Value):
    """One answer in full."""

    agent_id: str
    """Agent id."""
    agent_name: str
    """Display name of the agent."""
    round_number: int
    """Round."""
    position: str
    """The answer."""
    reasoning: str
    """Reasoning behind the answer."""
    bottom_line: str | None = None
    """The bare answer in a few words, by which answers are compared; null if the agent gave none."""
    confidence: Share | None = None
    """Confidence that the agent reports; null if none is stated."""
    stance: Stance | None = None
    """Side taken on a yes-or-no question."""
    choice: str | None = None
    """Option chosen, if the debate has options."""
    reading: Reading | None = None
    """How the answer was read; null in sessions that were stored before answers had readings."""
    claims: tuple[Claim, ...] = ()
    """The reasons as claims, with the labels of the earlier claims that they support or attack."""
    value: JsonObject | None = None
    """The object that fits the debate's answer schema, if the debate has a schema and the agent gave such an object."""
    citations: tuple[Citation, ...] = ()
    """Sources used."""
    images: tuple[ImageResult, ...] = ()
    """Images that the provider's search found."""
    related_questions: tuple[str, ...] = ()
    """Follow-up questions that the provider's search suggested."""
    tool_calls: tuple[ToolUse, ...] = ()
    """Tools used."""
    timestamp: Timestamp
    """When the answer was complete."""


class BallotView(Value):
    """One agent's vote in a round, in the form that the decision rule reads.

    A vote that names nothing is an abstention; an empty `approved` list is a vote that accepts no option.
    """

    agent_id: str
    """Agent id."""
    agent_name: str
    """Display name of the agent."""
    stage: str
    """Stage of the round in which it voted."""
    choice: str | None = None
    """The option or motion chosen; a judge's choice is the id of the agent whose answer it prefers."""
    reading: Reading | None = None
    """How the vote was read, if it was read from prose; only a certain reading counts."""
    ranking: tuple[tuple[str, ...], ...] | None = None
    """Groups of tied motions, best first."""
    approved: tuple[str, ...] | None = None
    """All options that the agent accepts; an empty list means that the agent accepts none."""
    scores: Mapping[str, float] | None = None
    """Score of each motion; higher is better."""
    same: tuple[tuple[str, ...], ...] = ()
    """Groups of motions that say the same in different words, according to the agent."""
    reasoning: str = ""
    """Reasoning behind the vote."""
    warnings: tuple[str, ...] = ()
    """What could not be read."""


class ConfidencePoint(Value):
    """Confidence in one round."""

    round: int
    """Round."""
    confidence: Share | None = None
    """Confidence that the agent reported; null if none is stated."""


class ThoughtsOutput(Value):
    """All answers of one agent."""

    session_id: str
    """Session id."""
    agent_id: str
    """Agent id."""
    agent_name: str
    """Display name of the agent."""
    total_responses: int
    """Number of answers."""
    rounds: int
    """Number of rounds in which it answered."""
    responses: tuple[AnswerView, ...]
    """The answers, oldest first."""
    confidence_evolution: tuple[ConfidencePoint, ...]
    """Its confidence by round."""


class ExportOutput(Value):
    """An exported session."""

    session_id: str
    """Session id."""
    format: Literal["markdown", "json", "html", "csv"]
    """Format of the document."""
    content: str
    """The document."""


class ControlOutput(Value):
    """Result of a request to pause, resume or stop."""

    session_id: str
    """Session id."""
    action: Literal["pause", "resume", "stop"]
    """Requested action."""
    previous_status: SessionStatus
    """State before the request."""
    new_status: SessionStatus
    """State now; the state of a running debate changes only at its next step."""
    message: str
    """The result in words."""


class RoundOutput(DebateState):
    """One round in full."""

    round_number: int
    """Round."""
    complete: bool
    """Whether the round ran to its end."""
    focus_question: str | None = None
    """Narrower question of the round."""
    responses: tuple[AnswerView, ...] = ()
    """Answers of the round."""
    ballots: tuple[BallotView, ...] = ()
    """Votes of the round, if the agents voted."""
    failures: tuple[FailureView, ...] = ()
    """Turns that failed."""
    consensus: AnyConsensus | None = None
    """Agreement, measured when the round ended."""
    decision: DecisionView | None = None
    """Outcome of the decision rule for the round."""


class ResponseOutput(Value):
    """Answers of one agent."""

    session_id: str
    """Session id."""
    agent_id: str
    """Agent id."""
    agent_name: str
    """Display name of the agent."""
    round_number: int | None = None
    """The requested round."""
    responses: tuple[AnswerView, ...]
    """The answers."""


class CitationView(Citation):
    """A source, with the agent that cited it first."""

    agent_id: str
    """Agent id."""
    agent_name: str
    """Display name of the agent."""
    round_number: int
    """Round."""
    timestamp: Timestamp
    """When the agent's answer was complete."""


class CitationsOutput(Value):
    """Cited sources; each source is listed once."""

    session_id: str
    """Session id."""
    round_number: int | None = None
    """The requested round."""
    agent_id: str | None = None
    """The requested agent."""
    citations: tuple[CitationView, ...]
    """The sources, in order of first citation."""
    total_citations: int
    """Number of sources."""


class SynthesisOutput(Value):
    """A summary of a debate, written by one model."""

    session_id: str
    """Session id."""
    synthesizer_id: str
    """Id of the agent that wrote it."""
    synthesis: SynthesisResult
    """The synthesis."""
