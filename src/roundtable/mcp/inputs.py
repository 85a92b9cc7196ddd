"""What the tools take. Names are camelCase on the wire; snake_case is accepted too, unknown names are refused."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from roundtable.types import (
    AnyPerspective,
    ContextResult,
    DebateMode,
    NonEmpty,
    SessionStatus,
    Timestamp,
    Topic,
    Value,
)
from roundtable.types.storage import Cursor

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
"""Seconds a call that runs a debate waits for its end, unless it says otherwise."""
LONGEST_WAIT_S: Final = 600.0
"""Most seconds a call waits."""

_Wait: TypeAlias = Annotated[
    float,
    Field(
        ge=0,
        le=LONGEST_WAIT_S,
        description="Seconds to wait for the end, 0 to 600. The debate goes on after them: the answer then has status "
        "in_progress. Keep it below the time your client gives a call.",
    ),
]
_Look: TypeAlias = Annotated[
    float,
    Field(
        ge=0,
        le=LONGEST_WAIT_S,
        description="Seconds to wait, 0 to 600, while a debate is running, for what is asked for. 0 looks once.",
    ),
]
_SessionId: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=200, description="The handle that start_roundtable gave, or list_sessions.")
]
_OnCancel: TypeAlias = Annotated[
    Literal["detach", "stop"],
    Field(
        description="What becomes of the debate when this call is cancelled: it goes on by itself (detach), or ends "
        "with what it has (stop). A lost connection cancels too, but not over HTTP in protocols before 2026-07-28."
    ),
]
_Step: TypeAlias = Annotated[
    bool, Field(description="Hold one round and return; continue_roundtable holds the next one.")
]
_Focus: TypeAlias = Annotated[
    str | None, Field(min_length=1, max_length=10_000, description="A narrower question for the rounds to come.")
]
_Round: TypeAlias = Annotated[int, Field(ge=1, description="Number of the round, from 1.")]
_DATE: Final = "a date alone is its first moment, UTC"
_AgentId: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=200, description="Id of the agent, as the answers show it.")
]


class NoInput(Value):
    """Nothing."""


class StartInput(Value):
    """What start_roundtable takes."""

    topic: Annotated[Topic, Field(description="The question, 1 to 10,000 characters.")]
    mode: Annotated[DebateMode, Field(description="Debate mode; the guides are resources: roundtable://modes.")] = (
        "collaborative"
    )
    agents: Annotated[
        tuple[NonEmpty, ...] | None,
        Field(
            min_length=1,
            max_length=50,
            description='Who debates: ids that get_agents lists, or "provider:model" of a provider it lists. All of '
            "them when left out. Not together with agentCount.",
        ),
    ] = None
    agent_count: Annotated[
        int | None,
        Field(ge=2, le=10, description="How many agents debate; they share models where there are fewer of these."),
    ] = None
    rounds: Annotated[int, Field(ge=1, description="Rounds to hold, all of them unless step is true.")] = 3
    options: Annotated[
        tuple[NonEmpty, ...] | None,
        Field(min_length=2, max_length=50, description="Options to decide between; each agent then chooses one."),
    ] = None
    exit_on_consensus: Annotated[
        bool | None, Field(description="End before the last round once agreement is reached; the answer says why.")
    ] = None
    perspectives: Annotated[
        Literal["auto"] | tuple[AnyPerspective, ...] | None,
        Field(description='Angles of an expert panel, by name or with a description; "auto" has them written.'),
    ] = None
    focus_question: _Focus = None
    step: _Step = False
    wait: _Wait = DEFAULT_WAIT_S
    on_cancel: _OnCancel = "detach"


class ContinueInput(Value):
    """What continue_roundtable takes."""

    session_id: _SessionId
    rounds: Annotated[
        int | None,
        Field(ge=1, description="Rounds to add to those planned. Left out: those planned; of a completed one, one."),
    ] = None
    focus_question: _Focus = None
    context_results: Annotated[
        tuple[ContextResult, ...],
        Field(max_length=100, description="Answers to contextRequests: requestId, success, and result or error."),
    ] = ()
    force: Annotated[bool, Field(description="Go on without what agents require; they are told.")] = False
    step: _Step = False
    wait: _Wait = DEFAULT_WAIT_S
    on_cancel: _OnCancel = "detach"


class ConsensusInput(Value):
    """What get_consensus takes."""

    session_id: _SessionId
    round_number: Annotated[int | None, Field(ge=1, description="Which round; the last measured one if left out.")] = (
        None
    )
    wait: _Look = 0.0


class ListInput(Value):
    """What list_sessions takes."""

    topic: Annotated[
        str | None, Field(min_length=1, max_length=1000, description="Part of the question, in any case.")
    ] = None
    mode: Annotated[DebateMode | None, Field(description="Only this mode.")] = None
    status: Annotated[SessionStatus | None, Field(description="Only this state.")] = None
    from_date: Annotated[Timestamp | None, Field(description=f"Created then or later, ISO 8601; {_DATE}.")] = None
    to_date: Annotated[Timestamp | None, Field(description=f"Created then or earlier, ISO 8601; {_DATE}.")] = None
    limit: Annotated[int, Field(ge=1, le=200, description="Most sessions on a page.")] = 50
    cursor: Annotated[Cursor | None, Field(max_length=200, description="nextCursor of the page before.")] = None


class ThoughtsInput(Value):
    """What get_thoughts takes."""

    session_id: _SessionId
    agent_id: _AgentId


class ExportInput(Value):
    """What export_session takes."""

    session_id: _SessionId
    format: Annotated[
        Literal["markdown", "json", "html", "csv"],
        Field(description="markdown and html to read, csv for one line per turn, json to keep and import again."),
    ] = "markdown"


class ControlInput(Value):
    """What control_session takes."""

    session_id: _SessionId
    action: Annotated[
        Literal["pause", "resume", "stop"],
        Field(description="pause keeps the place, resume goes on by itself, stop ends the debate with what it has."),
    ]


class RoundInput(Value):
    """What get_round_details takes."""

    session_id: _SessionId
    round_number: _Round
    wait: _Look = 0.0


class ResponseInput(Value):
    """What get_response_detail takes."""

    session_id: _SessionId
    agent_id: _AgentId
    round_number: Annotated[int | None, Field(ge=1, description="Only this round.")] = None


class CitationsInput(Value):
    """What get_citations takes."""

    session_id: _SessionId
    round_number: Annotated[int | None, Field(ge=1, description="Only this round.")] = None
    agent_id: Annotated[str | None, Field(min_length=1, max_length=200, description="Only this agent.")] = None


class SynthesisInput(Value):
    """What synthesize_debate takes."""

    session_id: _SessionId
    synthesizer: Annotated[
        str | None,
        Field(min_length=1, max_length=200, description="Agent whose model writes it; a light model if left out."),
    ] = None
