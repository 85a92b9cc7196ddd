"""The typed values of the library: frozen, round-trip through camelCase JSON, no behaviour beyond arithmetic.

Nothing is loaded before it is asked for, so that importing one module of this package costs no more than that module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.types.agents import (
        AgentConfig,
        AgentHealth,
        AgentId,
        AgentInfo,
        AIProvider,
        GeneratedPerspective,
        ModelProfile,
        Persona,
        Perspective,
        ProviderConfig,
        RetryKind,
        RetryPolicy,
    )
    from roundtable.types.answers import (
        AgentResponse,
        Answer,
        AnswerKind,
        BallotAnswer,
        Citation,
        ImageResult,
        PlanAnswer,
        RankingAnswer,
        RoleViolation,
        ScoresAnswer,
        Stance,
        TextAnswer,
        ToolCallRecord,
    )
    from roundtable.types.base import (
        JsonObject,
        JsonValue,
        NonEmpty,
        Share,
        Timestamp,
        Value,
        utc_now,
    )
    from roundtable.types.budget import AgentEstimate, Budget, Estimate
    from roundtable.types.chat import (
        AgentTool,
        ChatDelta,
        ChatRequest,
        ChatResponse,
        FinishReason,
        Message,
        OutputSchema,
        ToolCall,
        ToolCallDelta,
        ToolResult,
        Usage,
    )
    from roundtable.types.consensus import (
        AIConsensusResult,
        AnyConsensus,
        Cluster,
        ConsensusResult,
        Decision,
        GroupthinkWarning,
        Measured,
        Nuances,
        PairReading,
        SynthesisResult,
    )
    from roundtable.types.content import (
        ImagePart,
        NativeContent,
        NativeSearch,
        RateLimit,
        ServerCall,
    )
    from roundtable.types.debate import (
        SCHEMA_VERSION,
        AnyPerspective,
        DebateConfig,
        DebateContext,
        DebateMode,
        DebateRecord,
        DebateStatus,
        ForkOrigin,
        Roster,
        RosterEntry,
        RoundRecord,
        RoundResult,
        Seat,
        Session,
        SessionRecord,
        SessionStatus,
        Topic,
    )
    from roundtable.types.events import (
        AgentComplete,
        AgentError,
        AgentResponseChunk,
        AgentStart,
        AgentToolCall,
        AgentToolResult,
        ConsensusMeasured,
        ContextRequested,
        Control,
        ControlAction,
        DebateComplete,
        DebateError,
        DebateExit,
        DebateStart,
        DurableEvent,
        Event,
        EventBase,
        LiveEvent,
        Retry,
        RoundComplete,
        RoundStart,
        RunningCalls,
        SynthesisComplete,
        durable_event,
    )
    from roundtable.types.exits import (
        ExitCriteria,
        ExitReason,
        ExitResult,
    )
    from roundtable.types.layers import (
        ActionRecommendation,
        ActionRecommendationType,
        AgentResponseSummary,
        ConfidenceChange,
        Conflict,
        ConflictPosition,
        ConsensusLevel,
        DecisionLayer,
        DetailReference,
        EvidenceLayer,
        EvidenceUsed,
        MetadataLayer,
        RoundtableResponse,
        RoundtableStatus,
        VerificationHint,
    )
    from roundtable.types.plan import (
        ContextPolicy,
        EndDebate,
        EndRound,
        Note,
        Plan,
        Stage,
        ToolPolicy,
        TurnKey,
        TurnSpec,
        Visible,
    )
    from roundtable.types.requests import ContextRequest, ContextResult
    from roundtable.types.storage import (
        Lease,
        Owner,
        SearchHit,
        SearchQuery,
        SessionFilter,
        SessionSummary,
    )
    from roundtable.types.team_events import (
        ConversationComplete,
        ConversationStart,
        InitiatorComplete,
        InitiatorStart,
        InitiatorToolCall,
        SummarizerChunk,
        SummarizerStart,
    )
    from roundtable.types.teams import AgentResult, ChatMessage, Team, TeamMember, TeamOutcome
    from roundtable.types.turns import (
        AnyTurn,
        ErrorInfo,
        FailedTurn,
        Turn,
        TurnResult,
    )

__all__ = [
    "SCHEMA_VERSION",
    "AIConsensusResult",
    "AIProvider",
    "ActionRecommendation",
    "ActionRecommendationType",
    "AgentComplete",
    "AgentConfig",
    "AgentError",
    "AgentEstimate",
    "AgentHealth",
    "AgentId",
    "AgentInfo",
    "AgentResponse",
    "AgentResponseChunk",
    "AgentResponseSummary",
    "AgentResult",
    "AgentStart",
    "AgentTool",
    "AgentToolCall",
    "AgentToolResult",
    "Answer",
    "AnswerKind",
    "AnyConsensus",
    "AnyPerspective",
    "AnyTurn",
    "BallotAnswer",
    "Budget",
    "ChatDelta",
    "ChatMessage",
    "ChatRequest",
    "ChatResponse",
    "Citation",
    "Cluster",
    "ConfidenceChange",
    "Conflict",
    "ConflictPosition",
    "ConsensusLevel",
    "ConsensusMeasured",
    "ConsensusResult",
    "ContextPolicy",
    "ContextRequest",
    "ContextRequested",
    "ContextResult",
    "Control",
    "ControlAction",
    "ConversationComplete",
    "ConversationStart",
    "DebateComplete",
    "DebateConfig",
    "DebateContext",
    "DebateError",
    "DebateExit",
    "DebateMode",
    "DebateRecord",
    "DebateStart",
    "DebateStatus",
    "Decision",
    "DecisionLayer",
    "DetailReference",
    "DurableEvent",
    "EndDebate",
    "EndRound",
    "ErrorInfo",
    "Estimate",
    "Event",
    "EventBase",
    "EvidenceLayer",
    "EvidenceUsed",
    "ExitCriteria",
    "ExitReason",
    "ExitResult",
    "FailedTurn",
    "FinishReason",
    "ForkOrigin",
    "GeneratedPerspective",
    "GroupthinkWarning",
    "ImagePart",
    "ImageResult",
    "InitiatorComplete",
    "InitiatorStart",
    "InitiatorToolCall",
    "JsonObject",
    "JsonValue",
    "Lease",
    "LiveEvent",
    "Measured",
    "Message",
    "MetadataLayer",
    "ModelProfile",
    "NativeContent",
    "NativeSearch",
    "NonEmpty",
    "Note",
    "Nuances",
    "OutputSchema",
    "Owner",
    "PairReading",
    "Persona",
    "Perspective",
    "Plan",
    "PlanAnswer",
    "ProviderConfig",
    "RankingAnswer",
    "RateLimit",
    "Retry",
    "RetryKind",
    "RetryPolicy",
    "RoleViolation",
    "Roster",
    "RosterEntry",
    "RoundComplete",
    "RoundRecord",
    "RoundResult",
    "RoundStart",
    "RoundtableResponse",
    "RoundtableStatus",
    "RunningCalls",
    "ScoresAnswer",
    "SearchHit",
    "SearchQuery",
    "Seat",
    "ServerCall",
    "Session",
    "SessionFilter",
    "SessionRecord",
    "SessionStatus",
    "SessionSummary",
    "Share",
    "Stage",
    "Stance",
    "SummarizerChunk",
    "SummarizerStart",
    "SynthesisComplete",
    "SynthesisResult",
    "Team",
    "TeamMember",
    "TeamOutcome",
    "TextAnswer",
    "Timestamp",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallRecord",
    "ToolPolicy",
    "ToolResult",
    "Topic",
    "Turn",
    "TurnKey",
    "TurnResult",
    "TurnSpec",
    "Usage",
    "Value",
    "VerificationHint",
    "Visible",
    "durable_event",
    "utc_now",
]

_NAMES = {
    "agents": (
        "AIProvider AgentConfig AgentHealth AgentId AgentInfo GeneratedPerspective ModelProfile Persona "
        "Perspective ProviderConfig RetryKind RetryPolicy"
    ),
    "answers": (
        "AgentResponse Answer AnswerKind BallotAnswer Citation ImageResult PlanAnswer RankingAnswer RoleViolation "
        "ScoresAnswer Stance TextAnswer ToolCallRecord"
    ),
    "budget": "AgentEstimate Budget Estimate",
    "base": "JsonObject JsonValue NonEmpty Share Timestamp Value utc_now",
    "chat": (
        "AgentTool ChatDelta ChatRequest ChatResponse FinishReason Message OutputSchema ToolCall ToolCallDelta "
        "ToolResult Usage"
    ),
    "consensus": (
        "AIConsensusResult AnyConsensus Cluster ConsensusResult Decision GroupthinkWarning Measured Nuances "
        "PairReading SynthesisResult"
    ),
    "content": "ImagePart NativeContent NativeSearch RateLimit ServerCall",
    "debate": (
        "AnyPerspective DebateConfig DebateContext DebateMode DebateRecord "
        "DebateStatus ForkOrigin Roster RosterEntry RoundRecord RoundResult SCHEMA_VERSION Seat Session SessionRecord "
        "SessionStatus Topic"
    ),
    "events": (
        "AgentComplete AgentError AgentResponseChunk AgentStart AgentToolCall AgentToolResult "
        "ConsensusMeasured ContextRequested Control ControlAction DebateComplete DebateError DebateExit "
        "DebateStart DurableEvent Event EventBase LiveEvent Retry RoundComplete RoundStart RunningCalls "
        "SynthesisComplete durable_event"
    ),
    "exits": "ExitCriteria ExitReason ExitResult",
    "layers": (
        "ActionRecommendation ActionRecommendationType AgentResponseSummary ConfidenceChange Conflict "
        "ConflictPosition ConsensusLevel DecisionLayer DetailReference EvidenceLayer EvidenceUsed "
        "MetadataLayer RoundtableResponse RoundtableStatus VerificationHint"
    ),
    "plan": "ContextPolicy EndDebate EndRound Note Plan Stage ToolPolicy TurnKey TurnSpec Visible",
    "requests": "ContextRequest ContextResult",
    "storage": "Lease Owner SearchHit SearchQuery SessionFilter SessionSummary",
    "team_events": (
        "ConversationComplete ConversationStart InitiatorComplete InitiatorStart InitiatorToolCall SummarizerChunk "
        "SummarizerStart"
    ),
    "teams": "AgentResult ChatMessage Team TeamMember TeamOutcome",
    "turns": "AnyTurn ErrorInfo FailedTurn Turn TurnResult",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, {name: home for home, names in _NAMES.items() for name in names.split()})
