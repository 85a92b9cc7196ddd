"""A debate from its configuration to its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from roundtable.types.agents import AgentConfig, GeneratedPerspective, Perspective
from roundtable.types.answers import AgentResponse
from roundtable.types.base import JsonObject, JsonValue, NonEmpty, Share, Timestamp, Value, named, utc_now
from roundtable.types.budget import Budget
from roundtable.types.chat import Usage
from roundtable.types.consensus import AnyConsensus, Decision, SynthesisResult
from roundtable.types.exits import ExitResult
from roundtable.types.plan import BASELINE_STAGE, CHAIR_STAGE, TurnSpec
from roundtable.types.requests import ContextRequest, ContextResult
from roundtable.types.teams import Team
from roundtable.types.turns import AnyTurn, ErrorInfo

__all__ = [
    "SCHEMA_VERSION",
    "AnyPerspective",
    "DebateConfig",
    "DebateContext",
    "DebateMode",
    "DebateRecord",
    "DebateStatus",
    "ForkOrigin",
    "Roster",
    "RosterEntry",
    "RoundRecord",
    "RoundResult",
    "Seat",
    "Session",
    "SessionRecord",
    "SessionStatus",
    "Topic",
    "last_complete",
]

SCHEMA_VERSION: Final = 2
"""Version of the form in which sessions are stored and exported; `roundtable.record.read_record` knows all before."""

DebateMode: TypeAlias = str
"""Name of a registered mode, such as `"collaborative"`; open, since plugins add modes."""

SessionStatus: TypeAlias = Literal["created", "active", "paused", "completed", "error"]
"""State of a stored session."""

DebateStatus: TypeAlias = Literal["completed", "partial", "needs_context", "paused"]
"""State of a result."""


def _asks(value: str) -> str:
    if not value.strip():
        raise ValueError("a topic needs at least one character that is not white space")
    return value


Topic: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=10_000, json_schema_extra={"pattern": r"\S"}), AfterValidator(_asks)
]
"""A question of one to 10,000 characters, not all white space."""


AnyPerspective: TypeAlias = Annotated[Perspective | GeneratedPerspective, BeforeValidator(named)]
"""A perspective; a plain string names one."""


class DebateConfig(Value):
    """What to debate and how.

    Example:
        >>> DebateConfig(topic="Is P equal to NP?", agents=("ada", "bo")).rounds
        3
    """

    topic: Topic
    """The question."""
    mode: DebateMode = "collaborative"
    """Debate mode."""
    agents: tuple[str, ...]
    """Ids of the agents that take part, in speaking order."""
    rounds: Annotated[int, Field(ge=1)] = 3
    """Rounds to run at most."""
    focus_question: str | None = None
    """Narrower question for the rounds to come."""
    perspectives: tuple[AnyPerspective, ...] = ()
    """Perspectives for an expert panel."""
    exit_on_consensus: bool | None = None
    """Whether to end early on consensus; `None` leaves it to `exit`."""
    options: tuple[NonEmpty, ...] | None = None
    """Options to choose from; `None` lets the agents find their own positions."""
    decide: str = "plurality"
    """Rule that turns the last round's positions into a decision."""
    exit: JsonObject | None = None
    """Stop criterion as data; `None` runs all rounds."""
    budget: Budget | None = None
    """The most this debate may consume; `None` leaves it to the table."""
    quorum: Annotated[int, Field(ge=1)] | None = None
    """Answers needed in each stage that asks for positions; `None` asks for one."""
    baseline: bool = False
    """Whether everybody answers alone, in private, before the first round."""
    seats: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Ids of agents beside the debate, by seat (`judge`, `facilitator`); they count in usage and in nothing else."""
    synthesize: bool = False
    """Whether one model puts the debate together at its end."""
    skip_rounds_when: Share | None = None
    """Agreement of independent answers from which the rounds after the first are not held; `None` holds them."""
    seed: int = 0
    """Seed of everything random."""
    team: Team | None = None
    """How the agents work together, where they are a team and do not debate."""
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)
    """The caller's own notes, kept with the session."""

    @property
    def everybody(self) -> tuple[str, ...]:
        """Ids of all that are asked: the agents, and of a team also who sets the goal and who sums up."""
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
    """The view: what a mode plans from, and, narrowed to one turn, what an agent answers from.

    `previous_responses` and `transcript` hold only what the reader may see. For an agent `turn` is
    the turn it is asked to take; for a mode `turn` is `None` and everything so far is visible.
    """

    session_id: str
    """Session id."""
    topic: str
    """The question."""
    mode: DebateMode
    """Debate mode."""
    current_round: int = 1
    """Round being held, from 1."""
    total_rounds: int = 3
    """Rounds planned."""
    previous_responses: tuple[AgentResponse, ...] = ()
    """Visible positions in speaking order; for an agent the names are those it is shown."""
    focus_question: str | None = None
    """Narrower question of this round."""
    mode_prompt: str | None = None
    """Additional mode instructions."""
    context_results: tuple[ContextResult, ...] = ()
    """Information the caller supplied."""
    perspectives: tuple[AnyPerspective, ...] = ()
    """Perspectives for an expert panel."""
    options: tuple[str, ...] | None = None
    """Options to choose from."""
    agents: tuple[Seat, ...] = ()
    """Who takes part, in speaking order."""
    transcript: tuple[AnyTurn, ...] = ()
    """Visible turns in order; the latest attempt of each slot."""
    turn: TurnSpec | None = None
    """The turn to be taken, for an agent."""
    team: Team | None = None
    """How the agents work together, where they are a team."""
    seed: int = 0
    """Seed of everything random."""


class RoundRecord(Value):
    """One round as stored."""

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
    """Agreement of the private answers given before the round, where there are any."""
    complete: bool = False
    """Whether the round ran to its end."""
    usage: Usage = Usage()
    """What the round consumed: all its turns, attempts that were made anew included, and its analysis."""

    @property
    def responses(self) -> tuple[AgentResponse, ...]:
        """Positions of this round, in speaking order; of an agent asked again in a later stage, the later ones."""
        beside = (BASELINE_STAGE, CHAIR_STAGE)
        said = [(stage, answer) for stage, answer in self._positions() if stage not in beside]
        last = {answer.agent_id: stage for stage, answer in said}
        return tuple(answer for stage, answer in said if last[answer.agent_id] == stage)

    @property
    def conclusion(self) -> AgentResponse | None:
        """What a chair made of this round, where the mode has one; it is the answer, and counts as no position."""
        return next((answer for stage, answer in reversed(self._positions()) if stage == CHAIR_STAGE), None)

    @property
    def spoken(self) -> tuple[AgentResponse, ...]:
        """`responses`, and `conclusion` after them where there is one: what a reader of the round is shown."""
        return self.responses if self.conclusion is None else (*self.responses, self.conclusion)

    def _positions(self) -> list[tuple[str, AgentResponse]]:
        return [
            (turn.stage, turn.answer)
            for turn in self.turns
            if turn.outcome == "answered" and turn.answer.kind == "position"
        ]


def last_complete(rounds: Sequence[RoundRecord]) -> RoundRecord | None:
    """Give the last round that was held to its end; `None` while there is none.

    Example:
        >>> last_complete([RoundRecord(number=1, complete=True), RoundRecord(number=2)]).number
        1
    """
    return next((held for held in reversed(rounds) if held.complete), None)


class RosterEntry(Value):
    """How one agent took part."""

    agent_id: str
    """Agent id."""
    agent_name: str
    """Display name."""
    provider: str
    """Provider name."""
    model: str | None = None
    """Model asked for; `None` is the provider's default."""
    answered: int = 0
    """Turns answered."""
    failed: int = 0
    """Turns that failed."""
    errors: tuple[ErrorInfo, ...] = ()
    """Why."""
    usage: Usage = Usage()
    """What its turns consumed, failed ones and attempts that were made anew included."""


class Roster(Value):
    """Who was asked, who answered, who is missing. A degraded debate never looks like a full one."""

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
    """Last round of the shared past; 0 shares the question alone."""
    events: Annotated[int, Field(ge=0)]
    """How many events of its log are the shared past."""


class SessionRecord(Value):
    """What is fixed when a session is created."""

    id: NonEmpty
    """Session id: 128 random bits."""
    tenant: NonEmpty = "default"
    """Whose session it is."""
    config: DebateConfig
    """What to debate and how."""
    agents: tuple[AgentConfig, ...]
    """Full configurations of the agents that take part."""
    created_at: Timestamp = Field(default_factory=utc_now)
    """When."""
    prompt_version: str | None = None
    """Version of the prompt texts the debate began with; unknown for one that began before they were noted."""
    forked_from: ForkOrigin | None = None
    """Where its past comes from, if it was forked."""
    imported: bool = False
    """Whether it came from a file, so that somebody else may have chosen its agents; none of them that is a program of
    this machine is started just because the file names it."""
    schema_version: int = SCHEMA_VERSION
    """Version of the stored format."""


class DebateRecord(Value):
    """A session and all that happened in it: the fold of its events."""

    session: SessionRecord
    """What was fixed at the start."""
    status: SessionStatus = "created"
    """State of the session."""
    total_rounds: int
    """Rounds planned, extensions included."""
    rounds: tuple[RoundRecord, ...] = ()
    """The rounds, in order."""
    independent_agreement: Share | None = None
    """Agreement of answers given before anyone had seen another."""
    independent_agreement_reason: str | None = None
    """Why there is none."""
    context_requests: tuple[ContextRequest, ...] = ()
    """Requests the caller has not answered."""
    synthesis: SynthesisResult | None = None
    """The debate put together; `None` once anything was said after it."""
    synthesis_error: ErrorInfo | None = None
    """Why there is none, where it was tried."""
    exit: ExitResult | None = None
    """Why the debate last stopped."""
    usage: Usage = Usage()
    """What all turns consumed, failed ones included; of a forked session without the past it shares."""
    usage_by_agent: Mapping[str, Usage] = Field(default_factory=dict)
    """The same by agent id, without analysis and synthesis, which are nobody's turn."""
    error: ErrorInfo | None = None
    """What put the session into `error`."""
    last_seq: int = 0
    """Number of the last stored event."""
    updated_at: Timestamp
    """When it was stored."""


class RoundResult(Value):
    """One round, as `DebateEngine.run_round` returns it."""

    round_number: int
    """Round, from 1."""
    responses: tuple[AgentResponse, ...]
    """Positions in speaking order."""
    consensus: AnyConsensus
    """Measured agreement."""
    decision: Decision | None = None
    """Outcome of the decision rule."""
    failed: tuple[ErrorInfo, ...] = ()
    """Why agents are missing."""
    context_requests: tuple[ContextRequest, ...] | None = None
    """What agents asked the caller for; absent when nothing was asked."""


class Session(Value):
    """A session in one flat value: what the session manager and the storages show of it."""

    id: str
    """Session id."""
    topic: str
    """The question."""
    mode: DebateMode
    """Debate mode."""
    agent_ids: tuple[str, ...]
    """Who takes part."""
    status: SessionStatus
    """State."""
    current_round: Annotated[int, Field(ge=0)]
    """Rounds begun."""
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
