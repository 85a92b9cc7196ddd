"""A debate from its configuration to its record: turns, exits, sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from roundtable.types.agents import AgentConfig, AgentId, GeneratedPerspective, Perspective
from roundtable.types.answers import AgentResponse, Answer, ContextRequest, ContextResult, ToolCallRecord, TurnKey
from roundtable.types.attachments import Attachment, AttachmentInfo
from roundtable.types.base import JsonObject, JsonValue, NonEmpty, Share, Timestamp, Value, named, utc_now
from roundtable.types.budget import Budget
from roundtable.types.chat import FinishReason, Usage
from roundtable.types.consensus import AnyConsensus, Decision, SynthesisResult
from roundtable.types.plan import BASELINE_STAGE, CHAIR_STAGE, JUDGE_STAGE, MODERATOR_STAGE, VOTE_STAGE, TurnSpec
from roundtable.types.teams import Team

__all__ = [
    "SCHEMA_VERSION",
    "AnyPerspective",
    "AnyTurn",
    "BuiltinMode",
    "BuiltinRule",
    "CallerObjects",
    "DebateConfig",
    "DebateContext",
    "DebateMode",
    "DebateRecord",
    "DebateStatus",
    "ErrorInfo",
    "ExitCriteria",
    "ExitReason",
    "ExitResult",
    "FailedTurn",
    "ForkOrigin",
    "ModeName",
    "PluginUse",
    "Roster",
    "RosterEntry",
    "RoundRecord",
    "RoundResult",
    "RuleName",
    "Seat",
    "Session",
    "SessionRecord",
    "SessionStatus",
    "Topic",
    "Turn",
    "TurnResult",
    "last_complete",
    "responses_of",
    "status_in_words",
]

ExitReason: TypeAlias = str
"""`consensus`, `convergence`, `confidence`, `max_rounds`, `stopped`, `paused`, `cancelled`, `deadline`,
`budget`, `quorum_lost`, `error`, or the reason stated by a mode or an exit of a plugin."""

SCHEMA_VERSION: Final = 3
"""Version of the format of stored and exported sessions; `roundtable.record.read_record` reads earlier ones too."""


class ExitCriteria(Value):
    """Thresholds at which a debate ends."""

    max_rounds: Annotated[int, Field(ge=1)]
    """End after this many rounds."""
    consensus_threshold: Share | None = None
    """End at this agreement level."""
    convergence_rounds: Annotated[int, Field(ge=1)] | None = None
    """End when positions have not changed for this many rounds."""
    confidence_threshold: Share | None = None
    """End when every agent reports at least this confidence."""


class ExitResult(Value):
    """Whether a debate ends, and the figures behind it."""

    should_exit: bool
    """Whether the debate ends now."""
    reason: ExitReason | None = None
    """Short reason; `None` while the debate continues."""
    details: str = ""
    """The reason in words."""
    figures: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Numbers behind the decision."""


class ErrorInfo(Value):
    """An error as JSON, in the form of `RoundtableError.to_dict`; no secrets, and a stack trace only in debug mode."""

    name: str
    """Class name."""
    message: str
    """What happened and what to do."""
    code: str
    """Stable machine-readable code."""
    provider: str | None = None
    """Provider that failed."""
    retryable: bool = False
    """Whether the same call may succeed later."""
    cause: str | None = None
    """Message of the wrapped error."""
    hint: str | None = None
    """How to fix it."""
    request_id: str | None = None
    """The provider's id of the failed call."""
    retry_after_s: float | None = None
    """Seconds to wait, as requested by the provider."""
    details: JsonObject | None = None
    """Facts specific to this kind of error."""
    stack: str | None = None
    """Stack trace; only in debug mode, never stored."""


class TurnResult(Value):
    """Result of one turn of an agent: the answer and its cost."""

    answer: Answer
    """The answer."""
    usage: Usage = Usage()
    """Tokens and calls of this turn, repair attempts included."""
    usage_by_call: tuple[Usage, ...] = ()
    """Usage of each model call, in order; empty if the agent does not report it."""
    provider: str | None = None
    """Provider that answered."""
    model: str | None = None
    """Model that answered."""
    finish_reason: FinishReason = "stop"
    """Why the completion ended."""
    truncated: bool = False
    """Whether the completion was cut off by its token limit."""
    repaired: bool = False
    """Whether the text needed repair before it could be parsed."""
    warnings: tuple[str, ...] = ()
    """What a reader of the answer should know, such as a missing confidence."""
    request_ids: tuple[str, ...] = ()
    """The provider's ids of the calls."""
    prompt_version: str | None = None
    """Version of the prompt texts used."""
    context_requests: tuple[ContextRequest, ...] = ()
    """Information that the agent requested from the caller."""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    """Tools used, unless the answer is a position, which lists them itself."""


class _TurnBase(Value):
    round: Annotated[int, Field(ge=1)]
    """Round, from 1."""
    stage: str
    """Stage name."""
    slot: Annotated[int, Field(ge=0)]
    """Slot within the stage, from 0."""
    attempt: Annotated[int, Field(ge=1)] = 1
    """Attempt at this slot, from 1."""
    agent_id: str
    """Id of the agent."""
    agent_name: str = ""
    """Its display name."""
    provider: str | None = None
    """Provider that was asked; unknown for older turns that did not record it."""
    model: str | None = None
    """Model that was requested; `TurnResult.model` is the one that answered."""
    role: str = "participant"
    """Role in this turn."""
    decides: bool = False
    """Whether it is a vote of the mode that the decision rule counts; see `TurnSpec.counts`."""
    duration_s: Annotated[float, Field(ge=0)] = 0.0
    """Wall time in seconds."""
    timestamp: Timestamp
    """When the turn ended."""

    @property
    def key(self) -> TurnKey:
        """Position of this turn in its session: round, stage and slot."""
        return TurnKey(self.round, self.stage, self.slot)


class Turn(_TurnBase):
    """A turn with an answer."""

    outcome: Literal["answered"] = "answered"
    result: TurnResult
    """The answer and its figures."""
    independent: bool = False
    """Whether the agent had seen no other answer before it gave this one."""

    @property
    def answer(self) -> Answer:
        """The answer itself."""
        return self.result.answer

    @property
    def tools_used(self) -> tuple[ToolCallRecord, ...]:
        """Tools that the agent used, for every kind of answer."""
        answer = self.result.answer
        return answer.tool_calls if answer.kind == "position" else self.result.tool_calls


class FailedTurn(_TurnBase):
    """A turn that failed; the debate continues without it and reports it."""

    outcome: Literal["failed"] = "failed"
    error: ErrorInfo
    """Why it failed."""
    usage: Usage = Usage()
    """Usage before the failure."""


AnyTurn: TypeAlias = Annotated[Turn | FailedTurn, Field(discriminator="outcome")]
"""A turn with either outcome, discriminated by `outcome`."""


DebateMode: TypeAlias = str
"""Name of a registered mode, such as `"collaborative"`; open, since plugins add modes."""

BuiltinMode: TypeAlias = Literal[
    "collaborative",
    "adversarial",
    "socratic",
    "expert-panel",
    "devils-advocate",
    "delphi",
    "red-team-blue-team",
    "freeform",
    "oxford",
    "council",
    "free-mad",
    "self-consistency",
    "independent-vote",
]
"""Name of a built-in mode."""

ModeName: TypeAlias = BuiltinMode | str
"""Name of a mode in signatures: editors offer the built-in ones, and type checkers accept those of plugins too."""

BuiltinRule: TypeAlias = Literal[
    "plurality",
    "majority",
    "supermajority",
    "unanimity",
    "hybrid",
    "random-dictator",
    "approval",
    "score",
    "median",
    "star",
    "cumulative",
    "borda",
    "dowdall",
    "irv",
    "coombs",
    "condorcet",
    "copeland",
    "schulze",
    "ranked-pairs",
    "kemeny-young",
    "confidence-weighted",
    "reconcile",
    "log-odds",
    "linear-pool",
    "log-pool",
    "soft-vote",
    "surprisingly-popular",
    "free-mad",
    "judge",
    "judge-panel",
]
"""Name of a built-in decision rule."""

RuleName: TypeAlias = BuiltinRule | str
"""Name of a decision rule in signatures, offered by editors in the same way; parameters may follow in brackets."""

SessionStatus: TypeAlias = Literal["created", "active", "paused", "completed", "error"]
"""State of a stored session."""

DebateStatus: TypeAlias = Literal["completed", "partial", "needs_context", "paused"]
"""State of a debate's result."""


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("a topic needs at least one character that is not white space")
    return value


Topic: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=10_000, json_schema_extra={"pattern": r"\S"}), AfterValidator(_not_blank)
]
"""A question of one to 10,000 characters, not all white space."""


AnyPerspective: TypeAlias = Annotated[Perspective | GeneratedPerspective, BeforeValidator(named)]
"""A perspective; a plain string is its name."""


class DebateConfig(Value):
    """Configuration of a debate.

    Example:
        >>> DebateConfig(topic="Is P equal to NP?", agents=("ada", "bo")).rounds
        3
    """

    topic: Topic
    """The question."""
    mode: DebateMode = "collaborative"
    """Debate mode."""
    agents: tuple[str, ...]
    """Ids of the debating agents, in speaking order."""
    rounds: Annotated[int, Field(ge=1)] = 3
    """Maximum rounds to run."""
    focus_question: str | None = None
    """Narrower question for the rounds to come."""
    perspectives: tuple[AnyPerspective, ...] = ()
    """Perspectives for an expert panel."""
    exit_on_consensus: bool | None = None
    """Whether to end early on consensus; if `None`, `exit` decides."""
    options: tuple[NonEmpty, ...] | None = None
    """Options to choose from; `None` lets the agents find their own positions."""
    attachments: tuple[AttachmentInfo, ...] = ()
    """Files that belong to the question; `SessionRecord.contents` has their content."""
    decide: str = "plurality"
    """Decision rule, applied to the votes of the last round, else to its positions."""
    vote: bool | Literal["every"] = False
    """Whether the debaters vote on motions, after the last round or after every one."""
    exit: JsonObject | None = None
    """Stop criterion as data; `None` runs all rounds."""
    budget: Budget | None = None
    """Limits for this debate; `None` uses the table's."""
    quorum: Annotated[int, Field(ge=1)] | None = None
    """Answers needed in each stage that asks for positions; `None` needs one."""
    baseline: bool = False
    """Whether every agent answers alone, in private, before the first round."""
    seats: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Ids of agents that do not debate, by seat (`judge`, `facilitator`); they count only in usage."""
    synthesize: bool = False
    """Whether one model writes a synthesis at the end."""
    claims: bool = False
    """Whether agents give their reasons also as claims."""
    answer_schema: JsonObject | None = None
    """JSON Schema of a value that agents give beside their position; `None` asks for none."""
    skip_rounds_when: Share | None = None
    """Agreement of independent answers at which the rounds after the first are skipped; `None` never skips them."""
    seed: int = 0
    """Random seed."""
    team: Team | None = None
    """How the agents work together, if they are a team instead of debating."""
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)
    """The caller's own notes, stored with the session."""

    @property
    def everybody(self) -> tuple[str, ...]:
        """Ids of all agents that are asked: in a team, the initiator and the summarizer too."""
        team = self.team
        return self.agents if team is None else (*self.agents, team.initiator.agent, team.summarizer.agent)


class Seat(Value):
    """An agent's place at the table, as a mode sees it."""

    id: str
    """Agent id."""
    name: str
    """Display name."""
    persona: str | None = None
    """Name of its persona."""


class DebateContext(Value):
    """What a mode sees when it plans and, limited to one turn, what an agent sees when it answers.

    `previous_responses` and `transcript` hold only what the reader may see. For an agent, `turn` is the turn to
    take. For a mode, `turn` is `None` and everything up to now is visible.
    """

    session_id: str
    """Session id."""
    topic: str
    """The question."""
    mode: DebateMode
    """Debate mode."""
    current_round: int = 1
    """Current round, from 1."""
    total_rounds: int = 3
    """Rounds planned."""
    previous_responses: tuple[AgentResponse, ...] = ()
    """Visible positions in speaking order; for an agent, under the names that it is shown."""
    focus_question: str | None = None
    """Narrower question of this round."""
    mode_prompt: str | None = None
    """Additional mode instructions."""
    context_results: tuple[ContextResult, ...] = ()
    """Information supplied by the caller."""
    perspectives: tuple[AnyPerspective, ...] = ()
    """Perspectives for an expert panel."""
    options: tuple[str, ...] | None = None
    """Options to choose from."""
    attachments: tuple[Attachment, ...] = ()
    """Files that belong to the question."""
    agents: tuple[Seat, ...] = ()
    """The debating agents, in speaking order."""
    transcript: tuple[AnyTurn, ...] = ()
    """Visible turns in order; only the latest attempt of each slot."""
    turn: TurnSpec | None = None
    """The turn to take, for an agent."""
    stage: str = ""
    """Name of the stage of that turn."""
    team: Team | None = None
    """How the agents work together, if they are a team."""
    seed: int = 0
    """Random seed."""
    tenant: str = "default"
    """Tenant that owns the session."""
    claims: bool = False
    """Whether agents give their reasons also as claims."""
    answer_schema: JsonObject | None = None
    """JSON Schema of a value that agents give beside their position."""
    ends: bool = False
    """For a mode: whether an exit criterion ends the debate after this round, whatever round it is."""

    @property
    def turn_key(self) -> TurnKey | None:
        """Key of the turn to take, for an agent; it stays the same when the session is resumed."""
        return None if self.turn is None else TurnKey(self.current_round, self.stage, self.turn.slot)


class RoundRecord(Value):
    """A stored round."""

    number: int
    """Round, from 1."""
    turns: tuple[AnyTurn, ...] = ()
    """Latest attempt of each slot, in stage and slot order."""
    focus_question: str | None = None
    """Narrower question of this round."""
    consensus: AnyConsensus | None = None
    """Measured agreement; `None` until the round is complete."""
    decision: Decision | None = None
    """Outcome of the decision rule over this round's positions."""
    baseline: AnyConsensus | None = None
    """Agreement of the private answers given before the round, if there are any."""
    complete: bool = False
    """Whether the round ran to its end."""
    usage: Usage = Usage()
    """Usage of the round: all its turns, earlier attempts included, and its analysis."""

    @property
    def responses(self) -> tuple[AgentResponse, ...]:
        """Positions of this round, in speaking order; if a later stage asks an agent again, only the later ones."""
        return self._responses

    @cached_property
    def _responses(self) -> tuple[AgentResponse, ...]:
        return responses_of(self.turns)

    @cached_property
    def missing(self) -> tuple[FailedTurn, ...]:
        """The last failed turn of each agent that was asked for a position and gave none."""
        excluded = (BASELINE_STAGE, CHAIR_STAGE, JUDGE_STAGE, MODERATOR_STAGE, VOTE_STAGE)
        answered = {answer.agent_id for answer in self.responses}
        failed = {
            turn.agent_id: turn
            for turn in self.turns
            if turn.outcome == "failed" and turn.stage not in excluded and turn.role != "facilitator"
        }
        return tuple(turn for agent_id, turn in failed.items() if agent_id not in answered)

    @property
    def conclusion(self) -> AgentResponse | None:
        """The chair's conclusion, if the mode has a chair; it is the answer, and does not count as a position."""
        return next((answer for stage, answer in reversed(_positions(self.turns)) if stage == CHAIR_STAGE), None)

    @property
    def spoken(self) -> tuple[AgentResponse, ...]:
        """`responses`, followed by `conclusion` if there is one: what a reader of the round is shown."""
        return self.responses if self.conclusion is None else (*self.responses, self.conclusion)


def responses_of(turns: Iterable[AnyTurn]) -> tuple[AgentResponse, ...]:
    """Return the positions of a round's turns; if a later stage asks an agent again, only the later ones."""
    excluded = (BASELINE_STAGE, CHAIR_STAGE)
    positions = [(stage, answer) for stage, answer in _positions(turns) if stage not in excluded]
    last_stage = {answer.agent_id: stage for stage, answer in positions}
    return tuple(answer for stage, answer in positions if last_stage[answer.agent_id] == stage)


def _positions(turns: Iterable[AnyTurn]) -> list[tuple[str, AgentResponse]]:
    return [
        (turn.stage, turn.answer) for turn in turns if turn.outcome == "answered" and turn.answer.kind == "position"
    ]


def last_complete(rounds: Sequence[RoundRecord]) -> RoundRecord | None:
    """Return the last complete round; `None` if there is none yet.

    Example:
        >>> last_complete([RoundRecord(number=1, complete=True), RoundRecord(number=2)]).number
        1
    """
    return next((record for record in reversed(rounds) if record.complete), None)


def status_in_words(status: SessionStatus, exit_reason: ExitReason | None) -> str:
    """Return the state of a session for display: `stopped` if somebody ended it early, else its status.

    Args:
        status: State of the session.
        exit_reason: Why its last run ended.

    Example:
        >>> status_in_words("completed", "stopped"), status_in_words("completed", "max_rounds")
        ('stopped', 'completed')
    """
    return "stopped" if status == "completed" and exit_reason == "stopped" else status


class RosterEntry(Value):
    """Participation of one agent."""

    agent_id: str
    """Agent id."""
    agent_name: str
    """Display name."""
    provider: str
    """Provider name."""
    model: str | None = None
    """Requested model; `None` is the provider's default."""
    answered: int = 0
    """Turns answered."""
    failed: int = 0
    """Turns that failed."""
    errors: tuple[ErrorInfo, ...] = ()
    """Why they failed."""
    usage: Usage = Usage()
    """Usage of its turns, failed ones and earlier attempts included."""


class Roster(Value):
    """Who was asked, who answered and who is missing, so that a degraded debate never looks like a full one."""

    agents: tuple[RosterEntry, ...] = ()
    """One entry per agent, in speaking order."""

    @property
    def complete(self) -> bool:
        """Whether no turn failed."""
        return all(entry.failed == 0 for entry in self.agents)


class ForkOrigin(Value):
    """What a forked session shares with the one it was forked from."""

    session_id: NonEmpty
    """The session it was forked from."""
    at_round: Annotated[int, Field(ge=0)]
    """Last round of the shared past; 0 shares only the question."""
    events: Annotated[int, Field(ge=0)]
    """Number of events of its log that are the shared past."""


class CallerObjects(Value):
    """Objects passed when the session was created that cannot be rebuilt from names; pass them again to resume it."""

    agents: tuple[AgentId, ...] = ()
    """Ids of agents passed as objects, such as a person asked by a function, or a scripted model."""
    mode: bool = False
    """Whether the mode was an object with its own settings."""
    tools: tuple[str, ...] = ()
    """Names of the table's tools."""
    seats: tuple[str, ...] = ()
    """Seats that do not debate, for which the table named models."""
    analyzer: str | None = None
    """Class of the analyzer, if it was an object."""
    approval: bool = False
    """Whether each call of a tool had to be approved."""


class PluginUse(Value):
    """A plugin that took part in a session.

    Example:
        >>> str(PluginUse(name="roundtable-court", version="1.2", provides=("mode court",)))
        'roundtable-court 1.2'
    """

    name: NonEmpty
    """Name of its distribution; for a plugin passed as an object, the name of its module or class."""
    version: str | None = None
    """Version of the distribution; `None` without a distribution."""
    provides: tuple[str, ...] = ()
    """What the session used of it, as `"kind name"`, such as `"mode court"`."""

    def __str__(self) -> str:
        return f"{self.name} {self.version}" if self.version else self.name


class SessionRecord(Value):
    """The part of a session that is fixed when it is created."""

    id: NonEmpty
    """Session id: 128 random bits."""
    tenant: NonEmpty = "default"
    """Tenant that owns the session."""
    config: DebateConfig
    """Configuration of the debate."""
    agents: tuple[AgentConfig, ...]
    """Full configurations of the agents."""
    created_at: Timestamp = Field(default_factory=utc_now)
    """When it was created."""
    prompt_version: str | None = None
    """Version of the prompt texts at the start of the debate; unknown for older debates that did not record it."""
    forked_from: ForkOrigin | None = None
    """Origin of its past, if it was forked."""
    caller_objects: CallerObjects = CallerObjects()
    """Objects passed when it was created that are not in any registry."""
    plugins: tuple[PluginUse, ...] = ()
    """Plugins that took part, with their versions when the session was created; what is built in is left out."""
    imported: bool = False
    """Whether it came from a file, so that someone else may have chosen its agents. A program of this machine is never
    started just because the file names it as an agent."""
    contents: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """Contents of the files that belong to the question, by SHA-256: a text as it is, any other file in base64."""
    schema_version: int = SCHEMA_VERSION
    """Version of the stored format."""

    @model_validator(mode="after")
    def _has_contents(self) -> Self:
        for attachment in self.attachments:
            if not attachment.is_unchanged:
                msg = f"the content of the attachment {attachment.name!r} has changed since it was stored"
                raise ValueError(msg)
        return self

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """Files that belong to the question, with their content."""
        return tuple(self._attachment(info) for info in self.config.attachments)

    def _attachment(self, info: AttachmentInfo) -> Attachment:
        content = self.contents.get(info.sha256)
        if content is None:
            msg = f"the content of the attachment {info.name!r} is missing"
            raise ValueError(msg)
        return Attachment.stored(info, content)


class DebateRecord(Value):
    """A session and everything that happened in it, built from its events."""

    session: SessionRecord
    """The part of the session that is fixed at the start."""
    status: SessionStatus = "created"
    """State of the session."""
    total_rounds: int
    """Rounds planned, extensions included."""
    rounds: tuple[RoundRecord, ...] = ()
    """The rounds, in order."""
    independent_agreement: Share | None = None
    """Agreement of answers given before any agent had seen another's."""
    independent_agreement_reason: str | None = None
    """Why there is no independent agreement."""
    context_requests: tuple[ContextRequest, ...] = ()
    """Requests that the caller has not answered."""
    synthesis: SynthesisResult | None = None
    """Synthesis of the debate; `None` if anything was said after it."""
    synthesis_error: ErrorInfo | None = None
    """Why the synthesis failed, if it was tried."""
    exit: ExitResult | None = None
    """Why the debate last stopped."""
    usage: Usage = Usage()
    """Usage of all turns, failed ones included; for a forked session, without the shared past."""
    usage_by_agent: Mapping[str, Usage] = Field(default_factory=dict)
    """Usage by agent id, without analysis and synthesis, which are not turns of an agent."""
    error: ErrorInfo | None = None
    """Error that put the session into the state `error`."""
    last_seq: int = 0
    """Number of the last stored event."""
    log_hash: str | None = None
    """Hash of the whole log, 64 hexadecimal digits: it changes with any change of a stored event."""
    updated_at: Timestamp
    """When the last event was stored."""


class RoundResult(Value):
    """Result of one round, as returned by `DebateEngine.run_round`."""

    round_number: int
    """Round, from 1."""
    responses: tuple[AgentResponse, ...]
    """Positions in speaking order."""
    consensus: AnyConsensus
    """Measured agreement."""
    decision: Decision | None = None
    """Outcome of the decision rule."""
    failed: tuple[ErrorInfo, ...] = ()
    """Errors of the agents that are missing."""
    context_requests: tuple[ContextRequest, ...] | None = None
    """Information that agents requested from the caller; `None` if there is none."""


class Session(Value):
    """A session as one flat value, as the session manager and the storages return it."""

    id: str
    """Session id."""
    topic: str
    """The question."""
    mode: DebateMode
    """Debate mode."""
    agent_ids: tuple[str, ...]
    """Ids of the debating agents."""
    status: SessionStatus
    """State."""
    current_round: Annotated[int, Field(ge=0)]
    """Rounds started."""
    total_rounds: Annotated[int, Field(ge=1)]
    """Rounds planned."""
    responses: tuple[AgentResponse, ...] = ()
    """All positions, in order."""
    consensus: AnyConsensus | None = None
    """Agreement of the last complete round."""
    perspectives: tuple[AnyPerspective, ...] = ()
    """Perspectives for an expert panel."""
    exit_on_consensus: bool | None = None
    """Whether to end early on consensus."""
    created_at: Timestamp
    """When it was created."""
    updated_at: Timestamp
    """When it last changed."""
