"""What callers send: read strictly from JSON, in camelCase, with nothing that is not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field, JsonValue
from pydantic_core import to_json

from roundtable.types import AnyPerspective, Budget, ChatMessage, ContextResult, JsonObject, RunningCalls, Share, Topic
from roundtable.types.base import Value

__all__ = [
    "LONGEST_WAIT_S",
    "ConversationBody",
    "DebateBody",
    "ExtendBody",
    "ForkBody",
    "PauseBody",
    "ResumeBody",
    "StopBody",
    "SynthesisBody",
]

LONGEST_WAIT_S: Final = 600.0
"""Most seconds a call waits for the end of what it began."""
_LONGEST_DEADLINE_S: Final = 86_400.0
_MOST_NOTES_BYTES: Final = 16 * 1024


def _small(notes: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    if len(to_json(notes)) > _MOST_NOTES_BYTES:
        msg = f"notes take at most {_MOST_NOTES_BYTES} bytes as JSON"
        raise ValueError(msg)
    return notes


Metadata: TypeAlias = Annotated[Mapping[str, JsonValue], Field(max_length=100), AfterValidator(_small)]
"""Notes of the caller's: at most 100, and 16 KiB as JSON."""
_Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
_Rounds: TypeAlias = Annotated[int, Field(ge=1)]
_Focus: TypeAlias = Annotated[str, Field(min_length=1, max_length=10_000)]
_Deadline: TypeAlias = Annotated[float, Field(gt=0, le=_LONGEST_DEADLINE_S)]
_Options: TypeAlias = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=1_000)], ...], Field(min_length=2, max_length=50)
]
_Perspectives: TypeAlias = Literal["auto"] | Annotated[tuple[AnyPerspective, ...], Field(min_length=1, max_length=50)]
_Agents: TypeAlias = Annotated[tuple[_Name, ...], Field(min_length=1, max_length=50)]
_Results: TypeAlias = Annotated[tuple[ContextResult, ...], Field(max_length=100)]


class DebateBody(Value):
    """A debate to be held."""

    topic: Topic
    """The question, 1 to 10,000 characters."""
    mode: _Name = "collaborative"
    """Debate mode: a name that `GET /api/modes` lists, with its options behind a colon if it takes any."""
    rounds: _Rounds = 3
    """Rounds to hold at most; 10 unless the server allows more."""
    agents: _Agents | None = None
    """Who debates: ids that `GET /api/agents` lists, or models that it lists; everybody when left out."""
    options: _Options | None = None
    """Options to choose from; left out, the agents find their own positions."""
    decide: _Name = "plurality"
    """Rule that turns a round's positions into a decision."""
    exit_when: JsonObject | None = None
    """Criterion that ends the debate early, such as `{"kind": "consensus", "threshold": 0.9}`."""
    exit_on_consensus: bool | None = None
    """Whether also to end when agreement, convergence or confidence reach the server's thresholds."""
    focus_question: _Focus | None = None
    """Narrower question for the rounds."""
    perspectives: _Perspectives | None = None
    """Perspectives of an expert panel, by name or in full; `"auto"` has them written for the question."""
    baseline: bool = False
    """Whether everybody answers alone, in private, before the first round."""
    synthesize: bool = False
    """Whether one model puts the debate together at its end."""
    skip_rounds_when: Share | None = None
    """Agreement of independent answers from which no round after the first is held."""
    budget: Budget | None = None
    """The most this debate may consume, beside what the server allows."""
    deadline_s: _Deadline | None = None
    """Seconds after which running calls are cancelled and the result is partial."""
    metadata: Metadata = Field(default_factory=dict)
    """Your own notes, kept with the session."""
    step: bool = False
    """Whether to hold the first round alone; `resume` with `step` holds the next one."""


class ConversationBody(Value):
    """A request for a team."""

    agents: Annotated[tuple[_Name, ...], Field(min_length=1, max_length=5)]
    """Who works on it: names that `GET /api/profiles` lists, in speaking order."""
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=1_000)]
    """The conversation, which ends with the request: at least one message of the user."""
    rounds: _Rounds = 2
    """Rounds of work, 1 to 10."""
    order: Literal["sequential", "parallel"] = "sequential"
    """One after another, each seeing the reports before its own; or all at once."""
    timeout_s: _Deadline | None = None
    """Seconds after which running calls are cancelled and the result is partial; no more than the server allows a
    conversation, 600 as it comes, which also hold when left out."""
    budget: Budget | None = None
    """The most this conversation may consume, beside what the server allows."""
    metadata: Metadata = Field(default_factory=dict)
    """Your own notes, kept with the session."""


class PauseBody(Value):
    """How to pause."""

    running: RunningCalls = "settle"
    """Whether calls under way `settle`, so that what they cost is not lost, or are cancelled (`cancel`)."""


class StopBody(Value):
    """How to stop."""

    running: RunningCalls = "cancel"
    """Whether calls under way are cancelled (`cancel`), or `settle` first."""


class _GoOnBody(Value):
    """What goes on with a session takes."""

    step: bool = False
    """Whether to hold the next round alone."""
    context_results: _Results = ()
    """Answers to what the agents asked for, in `contextRequests` of the result."""
    force: bool = False
    """Go on without what the agents require and nobody answered; they are told so."""
    deadline_s: _Deadline | None = None
    """Seconds after which running calls are cancelled and the result is partial. A conversation of a team has as many
    anew as one that begins, and may be given fewer."""
    on_change: Literal["error", "adopt"] = "error"
    """What to do where the server's agents or prompt texts are not those the session began with."""


class ResumeBody(_GoOnBody):
    """How to go on with a session that was paused, broke, or whose process died."""

    budget: Budget | None = None
    """The most the debate may consume in all, from its start; what it began with when left out."""


class ExtendBody(_GoOnBody):
    """Further rounds of a session."""

    rounds: _Rounds = 1
    """Rounds to hold besides."""
    focus_question: _Focus | None = None
    """Narrower question for them."""


class ForkBody(Value):
    """A new session that shares the past of another; what is left out is as it was."""

    at_round: Annotated[int, Field(ge=0)]
    """Last round that both share; 0 shares the question alone."""
    mode: _Name | None = None
    """Debate mode."""
    rounds: _Rounds | None = None
    """Rounds in all, the shared ones included."""
    agents: _Agents | None = None
    """Who debates, as in `POST /api/debates`."""
    options: _Options | None = None
    """Options to choose from."""
    decide: _Name | None = None
    """Rule that turns a round's positions into a decision."""
    exit_when: JsonObject | None = None
    """Criterion that ends the debate early."""
    exit_on_consensus: bool | None = None
    """Whether also to end on consensus."""
    focus_question: _Focus | None = None
    """Narrower question for the rounds to come."""
    perspectives: _Perspectives | None = None
    """Perspectives of an expert panel."""
    synthesize: bool | None = None
    """Whether one model puts the debate together at its end."""
    budget: Budget | None = None
    """The most the fork may consume."""
    deadline_s: _Deadline | None = None
    """Seconds after which running calls are cancelled and the result is partial."""
    metadata: Metadata | None = None
    """Your own notes."""
    step: bool = False
    """Whether to hold one round alone."""
    context_results: _Results = ()
    """Answers to what the agents asked for."""


class SynthesisBody(Value):
    """Who is to put a session together."""

    by: _Name | None = None
    """Id of the agent whose model does it; a model of the server's when left out."""
