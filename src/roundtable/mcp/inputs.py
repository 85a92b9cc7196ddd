"""Arguments of the tools. Names are camelCase on the wire; snake_case is also accepted; unknown names are refused."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field

from roundtable.core.types.base import Timestamp, Value
from roundtable.core.types.debate import DebateMode, SessionStatus
from roundtable.core.types.request import DebateRequest, ResumeRequest
from roundtable.core.types.storage import Cursor

__all__ = [
    "DEFAULT_WAIT_S",
    "LONGEST_WAIT_S",
    "CitationsInput",
    "ConsensusInput",
    "ContinueInput",
    "ControlInput",
    "ExportInput",
    "ListInput",
    "NoInput",
    "ResponseInput",
    "RoundInput",
    "StartInput",
    "SynthesisInput",
    "ThoughtsInput",
]

DEFAULT_WAIT_S: Final = 25.0
"""Seconds that a call waits for the end of its debate by default."""
LONGEST_WAIT_S: Final = 600.0
"""Maximum seconds that a call waits."""

_Wait: TypeAlias = Annotated[
    float,
    Field(
        ge=0,
        le=LONGEST_WAIT_S,
        description="Seconds to wait for the end of the debate, 0 to 600. If the debate takes longer, it continues and "
        "the result has the status in_progress. Keep this below the time limit of your client for a call.",
    ),
]
_Look: TypeAlias = Annotated[
    float,
    Field(
        ge=0,
        le=LONGEST_WAIT_S,
        description="Seconds to wait for the requested data while a debate is running, 0 to 600. With 0, "
        "the call does not wait.",
    ),
]
_SessionId: TypeAlias = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="Id of the session (its handle), from start_roundtable or list_sessions.",
    ),
]
_OnCancel: TypeAlias = Annotated[
    Literal["detach", "stop"],
    Field(
        description="What happens to the debate if this call is cancelled: with detach, it continues by itself; with "
        "stop, it ends with its results so far. A lost connection also cancels the call, except over HTTP with "
        "protocol versions before 2026-07-28."
    ),
]
_Step: TypeAlias = Annotated[
    bool, Field(description="Run one round and return; continue_roundtable runs the next one.")
]
_Focus: TypeAlias = Annotated[
    str | None, Field(min_length=1, max_length=10_000, description="A narrower question for the next rounds.")
]
_Round: TypeAlias = Annotated[int, Field(ge=1, description="Number of the round, from 1.")]
_DATE: Final = "a date without a time means 00:00 UTC"
_AgentId: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=200, description="Id of the agent, as in the results.")
]


def _builtin_modes(field: dict[str, Any]) -> None:
    # Imported late on purpose: listing the tools must not load the modes.
    from roundtable.mcp.listing import mode_schema
    from roundtable.modes import BUILTIN_MODES

    del field["type"]
    field |= mode_schema(name for name, _, _ in BUILTIN_MODES)


class NoInput(Value):
    """No arguments."""


class StartInput(DebateRequest):
    """Arguments of start_roundtable."""

    mode: Annotated[
        DebateMode,
        Field(
            description="Debate mode. The resources at roundtable://modes describe the modes.",
            json_schema_extra=_builtin_modes,
        ),
    ] = "collaborative"
    agent_count: Annotated[
        int | None,
        Field(
            ge=2,
            le=10,
            description="Number of debating agents, instead of `agents`; at most ROUNDTABLE_MAX_AGENTS of the server, "
            "which is 5 by default. If the server has fewer agents, they are copied, or several personas share a "
            "model.",
        ),
    ] = None
    step: _Step = False
    wait: _Wait = DEFAULT_WAIT_S
    on_cancel: _OnCancel = "detach"


class ContinueInput(ResumeRequest):
    """Arguments of continue_roundtable."""

    session_id: _SessionId
    rounds: Annotated[
        int | None,
        Field(
            ge=1,
            description="Rounds to add to the planned rounds; needed for a completed debate. If omitted, only the "
            "planned rounds run.",
        ),
    ] = None
    focus_question: _Focus = None
    step: _Step = False
    wait: _Wait = DEFAULT_WAIT_S
    on_cancel: _OnCancel = "detach"


class ConsensusInput(Value):
    """Arguments of get_consensus."""

    session_id: _SessionId
    round_number: Annotated[
        int | None, Field(ge=1, description="Number of the round; the last measured one if omitted.")
    ] = None
    audit: Annotated[
        bool,
        Field(
            description="Whether to add an audit of the decision: what it would be without each agent, if an agent had "
            "voted differently, and by other rules and tie rules. Stored ballots are counted again; no model is called."
        ),
    ] = False
    arguments: Annotated[
        bool,
        Field(
            description="Whether to add the claims of the debate: what they support and attack, which claims nobody "
            "answered, which claims were dropped, and whose claims changed other agents' minds. Empty if the debate "
            "ran without claims."
        ),
    ] = False
    wait: _Look = 0.0


class ListInput(Value):
    """Arguments of list_sessions."""

    topic: Annotated[
        str | None, Field(min_length=1, max_length=1000, description="Part of the question, case-insensitive.")
    ] = None
    mode: Annotated[DebateMode | None, Field(description="Only debates in this mode.")] = None
    status: Annotated[SessionStatus | None, Field(description="Only debates in this state.")] = None
    from_date: Annotated[
        Timestamp | None, Field(description=f"Only debates created at this time or later, ISO 8601; {_DATE}.")
    ] = None
    to_date: Annotated[
        Timestamp | None, Field(description=f"Only debates created at this time or earlier, ISO 8601; {_DATE}.")
    ] = None
    limit: Annotated[int, Field(ge=1, le=200, description="Maximum sessions per page.")] = 50
    cursor: Annotated[Cursor | None, Field(max_length=200, description="nextCursor of the previous page.")] = None


class ThoughtsInput(Value):
    """Arguments of get_thoughts."""

    session_id: _SessionId
    agent_id: _AgentId


class ExportInput(Value):
    """Arguments of export_session."""

    session_id: _SessionId
    format: Annotated[
        Literal["markdown", "json", "html", "csv"],
        Field(description="markdown and html are for reading, csv has one line per turn, json is for a later import."),
    ] = "markdown"


class ControlInput(Value):
    """Arguments of control_session."""

    session_id: _SessionId
    action: Annotated[
        Literal["pause", "resume", "stop"],
        Field(
            description="pause interrupts the debate, resume continues it in the background, stop ends it with its "
            "results so far."
        ),
    ]


class RoundInput(Value):
    """Arguments of get_round_details."""

    session_id: _SessionId
    round_number: _Round
    wait: _Look = 0.0


class ResponseInput(Value):
    """Arguments of get_response_detail."""

    session_id: _SessionId
    agent_id: _AgentId
    round_number: Annotated[int | None, Field(ge=1, description="Only this round.")] = None


class CitationsInput(Value):
    """Arguments of get_citations."""

    session_id: _SessionId
    round_number: Annotated[int | None, Field(ge=1, description="Only this round.")] = None
    agent_id: Annotated[str | None, Field(min_length=1, max_length=200, description="Only this agent.")] = None


class SynthesisInput(Value):
    """Arguments of synthesize_debate."""

    session_id: _SessionId
    synthesizer: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=200,
            description="Agent whose model writes the synthesis; a light model if omitted.",
        ),
    ] = None
