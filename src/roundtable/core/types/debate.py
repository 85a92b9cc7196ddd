"""A debate from its configuration to its record: turns, exits, sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from roundtable.core.base.outages import is_outage
from roundtable.core.types.agents import AgentConfig, AgentId, GeneratedPerspective, Perspective
from roundtable.core.types.answers import AgentResponse, Answer, ContextRequest, ContextResult, ToolCallRecord, TurnKey
from roundtable.core.types.attachments import Attachment, AttachmentInfo
from roundtable.core.types.base import JsonObject, JsonValue, NonEmpty, Share, Timestamp, Value, as_named, utc_now
from roundtable.core.types.budget import Budget
from roundtable.core.types.chat import FinishReason, Usage
from roundtable.core.types.consensus import AnyConsensus, Decision, SynthesisResult
from roundtable.core.types.plan import BASELINE_STAGE, CHAIR_STAGE, JUDGE_STAGE, MODERATOR_STAGE, VOTE_STAGE, TurnSpec
from roundtable.core.types.teams import Team

__all__ = [
    "ASSUMED_CONFIDENCE",
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
    "ProviderWait",
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
"""`consensus`, `convergence`, `confidence`, `max_rounds`, `stopped`, `paused`, `cancelled`, `deadline`, `budget`,
`quorum_lost`, `error`, `skipped`, `needs_context`, or the reason of a mode or of a plugin's exit criterion."""

SCHEMA_VERSION: Final = 3
"""Version of the format of stored and exported sessions; `roundtable.record.read_record` also reads earlier
versions."""


class ExitCriteria(Value):
    """Thresholds that end a debate."""

    max_rounds: Annotated[int, Field(ge=1)]
    """The debate ends after this many rounds."""
    consensus_threshold: Share | None = None
    """The debate ends at this agreement level."""
    convergence_rounds: Annotated[int, Field(ge=1)] | None = None
    """The debate ends when no position has changed for this many rounds."""
    confidence_threshold: Share | None = None
    """The debate ends when every agent reports at least this confidence."""


class ExitResult(Value):
    """Whether a debate ends, and the figures on which that decision is based."""

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
    """What happened, and what to do."""
    code: str
    """Stable machine-readable code."""
    provider: str | None = None
    """Provider that failed."""
    retryable: bool = False
    """Whether the same call may succeed later."""
    cause: str | None = None
    """Message of the wrapped error."""
    hint: str | None = None
    """How to fix the error."""
    request_id: str | None = None
    """The provider's id of the failed call."""
    retry_after_s: float | None = None
    """Seconds to wait before a retry, as the provider requested."""
    details: JsonObject | None = None
    """Facts specific to this kind of error."""
    stack: str | None = None
    """Stack trace; only in debug mode, never stored."""

    @property
    def is_outage(self) -> bool:
        """Whether the provider was out or overloaded; see `RoundtableError.is_outage`."""
        return is_outage(self.code, retryable=self.retryable, details=self.details)


class TurnResult(Value):
    """Result of one turn of an agent: the answer and what it consumed."""

    answer: Answer
    """The answer."""
    usage: Usage = Usage()
    """Tokens and calls of this turn, including attempts to repair an answer."""
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
    """Notes for a reader of the answer, such as a missing confidence."""
    request_ids: tuple[str, ...] = ()
    """The provider's ids of the calls."""
    prompt_version: str | None = None
    """Version of the prompt texts in this turn."""
    context_requests: tuple[ContextRequest, ...] = ()
    """Information that the agent requested from the caller."""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    """Tools that the agent used; empty if the answer is a position, which has its own list."""


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
    """Display name of the agent."""
    provider: str | None = None
    """Provider that received the request; unknown for older turns that did not record it."""
    model: str | None = None
    """Requested model; `TurnResult.model` is the model that answered."""
    role: str = "participant"
    """Role in this turn."""
    decides: bool = False
    """Whether the turn is a vote in a stage of the mode that the decision rule counts; see `TurnSpec.counts`."""
    duration_s: Annotated[float, Field(ge=0)] = 0.0
    """Duration in seconds."""
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
    """The answer, with its usage and other facts."""
    independent: bool = False
    """Whether the agent had seen no other answer before it answered."""

    @property
    def answer(self) -> Answer:
        """The answer itself."""
        return self.result.answer

    @property
    def as_stated(self) -> Turn:
        """The turn with the confidence `None` if it was only assumed, so that figures leave it out."""
        if ASSUMED_CONFIDENCE not in self.result.warnings:
            return self
        answer = self.answer.model_copy(update={"confidence": None})
        return self.model_copy(update={"result": self.result.model_copy(update={"answer": answer})})

    @property
    def tools_used(self) -> tuple[ToolCallRecord, ...]:
        """Tools that the agent used, for every kind of answer."""
        answer = self.result.answer
        return answer.tool_calls if answer.kind == "position" else self.result.tool_calls


ASSUMED_CONFIDENCE: Final = "no usable confidence was given; 0.5 is assumed"
"""Warning of a turn whose agent was asked for its confidence and stated none."""
_FACTS_OF_CALLS: Final = frozenset({"status", "exit_code", "batch"})
"""Details of errors of calls: the status of the answer, the exit code of the program, the batch that failed."""


class FailedTurn(_TurnBase):
    """A turn that failed. The debate continues without it, and the result reports it."""

    outcome: Literal["failed"] = "failed"
    error: ErrorInfo
    """Why the turn failed."""
    usage: Usage = Usage()
    """Usage before the failure."""

    @property
    def rejects_answer(self) -> bool:
        """Whether the turn failed because of an answer, such as one that could not be read, not because of a call."""
        if self.error.code == "AGENT_ERROR":  # also the code of calls that the provider refused
            return not self.error.retryable and not _FACTS_OF_CALLS & {*(self.error.details or {})}
        return self.error.code in {"PARSE_ERROR", "AGENT_REFUSED", "MODE_HOOK"}


AnyTurn: TypeAlias = Annotated[Turn | FailedTurn, Field(discriminator="outcome")]
"""A turn with either outcome, discriminated by `outcome`."""


DebateMode: TypeAlias = str
"""Name of a registered mode, such as `"collaborative"`; any name is accepted, since plugins add modes."""

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
"""Type of mode names in signatures: editors suggest the built-in modes, and type checkers also accept other names."""

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
"""Type of rule names in signatures: editors suggest the built-in rules. Parameters in brackets may follow the name."""

SessionStatus: TypeAlias = Literal["created", "active", "paused", "completed", "error"]
"""State of a stored session."""

DebateStatus: TypeAlias = Literal["completed", "partial", "needs_context", "paused", "running"]
"""State of the result of a debate. Only a session that is loaded while it runs is `running`."""


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("a topic needs at least one character that is not white space")
    return value


Topic: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=10_000, json_schema_extra={"pattern": r"\S"}), AfterValidator(_not_blank)
]
"""A question of one to 10,000 characters, not all white space."""


AnyPerspective: TypeAlias = Annotated[Perspective | GeneratedPerspective, BeforeValidator(as_named)]
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
    """Narrower question for the coming rounds."""
    perspectives: tuple[AnyPerspective, ...] = ()
    """Perspectives for an expert panel."""
    exit_on_consensus: bool | None = None
    """Whether to end early on consensus; if `None`, `exit` decides."""
    options: tuple[NonEmpty, ...] | None = None
    """Options to choose from; `None` lets the agents find their own positions."""
    attachments: tuple[AttachmentInfo, ...] = ()
    """Files that belong to the question; `SessionRecord.contents` has their content."""
    decide: str = "plurality"
    """Decision rule; applied to the votes of the last round or, if there are none, to its positions."""
    vote: bool | Literal["every"] = False
    """Whether the debating agents vote on motions: after the last round, or with `"every"` after every round."""
    exit: JsonObject | None = None
    """Exit criterion as data; with `None`, all rounds run."""
    budget: Budget | None = None
    """Limits for this debate; `None` uses the limits of the table."""
    quorum: Annotated[int, Field(ge=1)] | None = None
    """Number of answers that each stage needs if it requests positions; `None` means one."""
    baseline: bool = False
    """Whether every agent answers alone and in private before the first round."""
    seats: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Ids of agents that have another role than debating, by role (`judge`, `facilitator`); they count only in
    usage."""
    synthesize: bool = False
    """Whether one model writes a synthesis at the end."""
    claims: bool = False
    """Whether agents also give their reasons as claims."""
    answer_schema: JsonObject | None = None
    """JSON Schema of a value that agents give in addition to their position; `None` requests no value."""
    skip_rounds_when: Share | None = None
    """Agreement of independent answers at which all rounds after the first are skipped; with `None`, none are
    skipped."""
    seed: int = 0
    """Random seed."""
    team: Team | None = None
    """How the agents work together, if they are a team and do not debate."""
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Notes of the caller, stored with the session."""

    @property
    def everybody(self) -> tuple[str, ...]:
        """Ids of all agents that are called; in a team, also the initiator and the summarizer."""
        team = self.team
        return self.agents if team is None else (*self.agents, team.initiator.agent, team.summarizer.agent)


class Seat(Value):
    """An agent of the debate, as a mode sees it."""

    id: str
    """Agent id."""
    name: str
    """Display name."""
    persona: str | None = None
    """Name of the agent's persona."""


class DebateContext(Value):
    """What a mode sees when it plans and, limited to one turn, what an agent sees when it answers.

    `previous_responses` and `transcript` contain only what the reader may see. For an agent, `turn` is the turn that it
    takes. For a mode, `turn` is `None`, and everything so far is visible.
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
    """Number of planned rounds."""
    previous_responses: tuple[AgentResponse, ...] = ()
    """Visible positions in speaking order; for an agent, with the speakers' names that it may see."""
    focus_question: str | None = None
    """Narrower question of this round."""
    mode_prompt: str | None = None
    """Additional instructions of the mode."""
    context_results: tuple[ContextResult, ...] = ()
    """Information that the caller supplied."""
    perspectives: tuple[AnyPerspective, ...] = ()
    """Perspectives for an expert panel."""
    options: tuple[str, ...] | None = None
    """Options to choose from."""
    attachments: tuple[Attachment, ...] = ()
    """Files that belong to the question."""
    agents: tuple[Seat, ...] = ()
    """The debating agents, in speaking order."""
    transcript: tuple[AnyTurn, ...] = ()
    """Visible turns in order; for each slot, only the latest attempt."""
    turn: TurnSpec | None = None
    """The turn that the agent takes."""
    stage: str = ""
    """Name of the stage of this turn."""
    team: Team | None = None
    """How the agents work together, if they are a team."""
    seed: int = 0
    """Random seed."""
    tenant: str = "default"
    """Tenant that owns the session."""
    claims: bool = False
    """Whether agents also give their reasons as claims."""
    answer_schema: JsonObject | None = None
    """JSON Schema of a value that agents give in addition to their position."""
    ends: bool = False
    """For a mode: whether an exit criterion ends the debate after this round, even if it is not the last planned
    round."""

    @property
    def turn_key(self) -> TurnKey | None:
        """Key of the turn that an agent takes; it is the same after the session is resumed."""
        return None if self.turn is None else TurnKey(self.current_round, self.stage, self.turn.slot)


class ProviderWait(Value):
    """A wait of a debate for a provider, before it took failed turns again."""

    provider: str | None = None
    """Provider that was waited for, if it is known."""
    code: str
    """Code of the error that caused the wait."""
    reason: str
    """The error in words."""
    seconds: Annotated[float, Field(ge=0)]
    """Duration in seconds."""


class RoundRecord(Value):
    """A stored round."""

    number: int
    """Round, from 1."""
    turns: tuple[AnyTurn, ...] = ()
    """Latest attempt of each slot, in the order of stages and slots."""
    focus_question: str | None = None
    """Narrower question of this round."""
    consensus: AnyConsensus | None = None
    """Measured agreement; `None` until the round is complete."""
    decision: Decision | None = None
    """Outcome of the decision rule over this round's positions."""
    baseline: AnyConsensus | None = None
    """Agreement of the private answers that were given before the round, if there are any."""
    complete: bool = False
    """Whether the round ran to its end."""
    usage: Usage = Usage()
    """Usage of the round: all its turns, including earlier attempts, and its analysis."""
    waits: tuple[ProviderWait, ...] = ()
    """Waits for providers, if the debate was one of many; see `Roundtable.debate_many`."""

    @property
    def responses(self) -> tuple[AgentResponse, ...]:
        """Positions of this round, in speaking order; if a later stage asks an agent again, the later one counts."""
        return self._responses

    @cached_property
    def _responses(self) -> tuple[AgentResponse, ...]:
        return responses_of(self.turns)

    @cached_property
    def as_stated(self) -> RoundRecord:
        """The round with the confidence `None` wherever it was only assumed, so that figures leave it out."""
        turns = tuple(turn.as_stated if turn.outcome == "answered" else turn for turn in self.turns)
        if turns == self.turns:
            return self
        facts = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_construct(None, **{**facts, "turns": turns})

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
        """The conclusion of a chair, if the mode has one: the answer of the round, not counted as a position."""
        return next((answer for stage, answer in reversed(_positions(self.turns)) if stage == CHAIR_STAGE), None)

    @property
    def spoken(self) -> tuple[AgentResponse, ...]:
        """`responses`, followed by `conclusion` if there is one: the texts that a reader of the round sees."""
        return self.responses if self.conclusion is None else (*self.responses, self.conclusion)


def responses_of(turns: Iterable[AnyTurn]) -> tuple[AgentResponse, ...]:
    """Return the positions of a round's turns; if a later stage asks an agent again, only the later position counts."""
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
    """Return the state of a session for display: `stopped` if someone ended it early, otherwise its status.

    Args:
        status: State of the session.
        exit_reason: Why the last run of the session ended.

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
    """Requested model; `None` for the provider's default model."""
    answered: int = 0
    """Number of answered turns."""
    unread: int = 0
    """Number of answered turns whose answer or vote could not be read."""
    failed: int = 0
    """Number of failed turns."""
    errors: tuple[ErrorInfo, ...] = ()
    """Errors of the failed turns."""
    usage: Usage = Usage()
    """Usage of the agent's turns, including failed turns and earlier attempts."""


class Roster(Value):
    """The agents that were asked, with their answers and failures, so that missing answers are always visible."""

    agents: tuple[RosterEntry, ...] = ()
    """One entry per agent, in speaking order."""

    @property
    def complete(self) -> bool:
        """Whether no turn failed."""
        return all(entry.failed == 0 for entry in self.agents)


class ForkOrigin(Value):
    """The past that a forked session shares with its original."""

    session_id: NonEmpty
    """Id of the original session."""
    at_round: Annotated[int, Field(ge=0)]
    """Last round of the shared past; 0 shares only the question."""
    events: Annotated[int, Field(ge=0)]
    """Number of events of the shared past in the log of the fork."""
    reread: Annotated[int, Field(ge=1)] | None = None
    """Version of the rules by which the answers of the past were read again; `None` if they are as they were."""


class CallerObjects(Value):
    """Objects passed when the session was created, which names cannot replace; pass them again to resume it."""

    agents: tuple[AgentId, ...] = ()
    """Ids of agents that were passed as objects, such as a person asked by a function, or a scripted model."""
    mode: bool = False
    """Whether the mode was an object with its own settings."""
    tools: tuple[str, ...] = ()
    """Names of the tools of the table."""
    seats: tuple[str, ...] = ()
    """Roles of agents that do not debate, such as judge, for which the table named models."""
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
    """Name of the plugin's distribution; for a plugin passed as an object, the name of its module or class."""
    version: str | None = None
    """Version of the distribution; `None` without a distribution."""
    provides: tuple[str, ...] = ()
    """Parts of the plugin that the session used, as `"kind name"`, such as `"mode court"`."""

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
    """When the session was created."""
    prompt_version: str | None = None
    """Version of the prompt texts at the start of the debate; unknown for older debates that did not record it."""
    library_version: str | None = None
    """Version of this library at the start of the debate; unknown for older debates that did not record it."""
    prompts: Mapping[str, str] = Field(default_factory=dict)
    """SHA-256 of the texts of the mode's instructions, by the name of their file; `Roundtable.prompt_texts` returns the
    texts."""
    forked_from: ForkOrigin | None = None
    """The session and the round from which this session was forked, if it was."""
    caller_objects: CallerObjects = CallerObjects()
    """Objects that were passed when the session was created and that are not in any registry."""
    plugins: tuple[PluginUse, ...] = ()
    """Plugins that took part, with their versions at the creation of the session; built-in parts are left out."""
    imported: bool = False
    """Whether the session came from a file, so that someone else may have chosen its agents. The library never starts a
    program on this machine only because the file names it as an agent."""
    contents: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """Contents of the files that belong to the question, by SHA-256: a text unchanged, any other file in base64."""
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
    """The part of the session that is fixed when it is created."""
    status: SessionStatus = "created"
    """State of the session."""
    total_rounds: int
    """Number of planned rounds, with extensions."""
    rounds: tuple[RoundRecord, ...] = ()
    """The rounds, in order."""
    independent_agreement: Share | None = None
    """Agreement of the answers that were given before any agent had seen another answer."""
    independent_agreement_reason: str | None = None
    """Why there is no independent agreement."""
    context_requests: tuple[ContextRequest, ...] = ()
    """Requests for information that the caller has not answered."""
    synthesis: SynthesisResult | None = None
    """Synthesis of the debate; `None` if a turn was added after it."""
    synthesis_error: ErrorInfo | None = None
    """Why the synthesis failed, if it did."""
    exit: ExitResult | None = None
    """Why the debate stopped the last time."""
    usage: Usage = Usage()
    """Usage of all turns, including failed turns; for a forked session, without the shared past."""
    usage_by_agent: Mapping[str, Usage] = Field(default_factory=dict)
    """Usage by agent id; without analysis and synthesis, which are not turns of an agent."""
    error: ErrorInfo | None = None
    """Error that caused the state `error` of the session."""
    last_seq: int = 0
    """Number of the last stored event."""
    log_hash: str | None = None
    """Hash of the whole log, 64 hexadecimal digits; any change of a stored event changes it."""
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
    """Errors of the agents whose answers are missing."""
    context_requests: tuple[ContextRequest, ...] | None = None
    """Information that agents requested from the caller; `None` if there is none."""


class Session(Value):
    """A session as one flat value, in the form that the session manager and the storages return."""

    id: str
    """Session id."""
    topic: str
    """The question."""
    mode: DebateMode
    """Debate mode."""
    agent_ids: tuple[str, ...]
    """Ids of the debating agents."""
    status: SessionStatus
    """State of the session."""
    current_round: Annotated[int, Field(ge=0)]
    """Number of rounds that have begun."""
    total_rounds: Annotated[int, Field(ge=1)]
    """Number of planned rounds."""
    responses: tuple[AgentResponse, ...] = ()
    """All positions, in order."""
    consensus: AnyConsensus | None = None
    """Agreement of the last complete round."""
    perspectives: tuple[AnyPerspective, ...] = ()
    """Perspectives for an expert panel."""
    exit_on_consensus: bool | None = None
    """Whether to end early on consensus."""
    created_at: Timestamp
    """When the session was created."""
    updated_at: Timestamp
    """When the session last changed."""
