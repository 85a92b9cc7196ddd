"""The plan of a mode as plain data: stages of turns that run concurrently."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, model_validator

from roundtable.types.answers import AnswerKind, Stance, TurnKey
from roundtable.types.base import NonEmpty, Value

__all__ = [
    "BASELINE_STAGE",
    "CHAIR_STAGE",
    "EXTERNAL",
    "JUDGED",
    "JUDGE_STAGE",
    "MAX_STAGES",
    "MODERATOR_STAGE",
    "VOTE_STAGE",
    "ContextPolicy",
    "EndDebate",
    "EndRound",
    "Note",
    "Plan",
    "Stage",
    "ToolPolicy",
    "TurnSpec",
    "Visible",
]


BASELINE_STAGE: Final = "private-baseline"
"""Stage of private answers before the first round; they count in no round, and no agent sees them."""

JUDGE_STAGE: Final = "judgement"
"""Stage of the votes of judges, who take no part in the debate."""

MODERATOR_STAGE: Final = "moderation"
"""Stage of the decisions of a moderator, who takes no part in the debate, to end it or to go on."""

VOTE_STAGE: Final = "vote"
"""Stage of the vote on motions, after the answers of a round; no agent sees the votes."""

MAX_STAGES: Final = 256
"""Maximum stages of a round; a mode that plans more counts as endless. The largest table has 100 agents, and no mode
asks each of them more than twice per round on its own."""

CHAIR_STAGE: Final = "chair"
"""Stage of the chair's conclusion: the answer of the round, which does not count as a position."""

EXTERNAL: Final = "external"
"""Stage of positions that come from outside the debate, and provider of agents that have only such positions."""

JUDGED: Final = ("judge", "judge-panel")
"""Values of `decide` that let one or several judges decide, instead of a rule over positions."""


class Visible(Value):
    """An earlier turn that a turn may see, and the name to show for its speaker."""

    turn: TurnKey
    """Key of the earlier turn."""
    shown_as: NonEmpty
    """Name of its speaker in the prompt; an alias in anonymous modes."""


class ToolPolicy(Value):
    """Number of tool calls that a turn may make, and the allowed tools."""

    min: Annotated[int, Field(ge=0)] = 0
    """Minimum calls requested."""
    max: Annotated[int, Field(ge=0)] = 8
    """Maximum calls executed."""
    allow: tuple[str, ...] | None = None
    """Names of allowed tools; `None` allows all tools of the debate."""


class ContextPolicy(Value):
    """How many of the visible turns the prompt contains."""

    max_tokens: Annotated[int, Field(gt=0)] | None = None
    """Maximum tokens of quoted turns; `None` uses the model's context window."""
    keep: Literal["latest", "earliest"] = "latest"
    """Which turns to keep if not all fit."""


class Note(Value):
    """Material for a turn besides earlier answers: statistics, a perspective, the side to argue.

    It may contain text by others, so it is quoted in the user message like any untrusted text.
    """

    label: NonEmpty
    """Heading, written by the mode."""
    text: NonEmpty
    """The material."""
    brief: str = ""
    """The material in one line, for models with compact prompts; if empty, the start of `text`."""


class TurnSpec(Value):
    """A planned turn.

    Example:
        >>> TurnSpec(slot=0, agent="ada", role="participant", task="Give your position.").answer
        'position'
    """

    slot: Annotated[int, Field(ge=0)]
    """Slot within the stage, from 0."""
    agent: NonEmpty
    """Id of the agent that speaks."""
    role: str = "participant"
    """Role in this turn."""
    task: str = ""
    """Mode-specific instructions for this turn; trusted text, part of the system prompt."""
    brief: str = ""
    """The task in one sentence, for models with compact prompts."""
    prompt_id: str = ""
    """Id and version of the instructions in `task`; recorded with the turn."""
    speaks_as: str = ""
    """Alias of the agent in its own prompt; if empty, its name."""
    stance: Stance | None = None
    """Side that the agent has to argue; an answer that takes another side is marked, never changed."""
    sees: tuple[Visible, ...] = ()
    """Earlier turns to show, in this order."""
    notes: tuple[Note, ...] = ()
    """Further material, quoted after the earlier turns."""
    answer: AnswerKind = "position"
    """Requested kind of answer."""
    options: tuple[str, ...] | None = None
    """Options to choose from."""
    counts: Literal["decide", "inform"] | None = None
    """What the ballots of a mode's own stage are for, the same in each of them. `"decide"`: they are the votes
    that the decision rule of the debate counts, instead of the positions, for `answer="ballot"`. `"inform"`: nothing
    counts them, but the mode reads them. A stage of ballots that says neither is refused, as are other answers that say
    one of them."""
    motions: Mapping[str, str] = Field(default_factory=dict)
    """In a vote on motions: the motion behind each option, under whose name the vote is stored. Where they differ, the
    options are letters, and the turn also asks which motions say the same."""
    scale: tuple[float | None, float | None] = (None, None)
    """In a vote on motions by scores: the lowest and the highest score; others are dropped with a warning."""
    tools: ToolPolicy = ToolPolicy()
    """Tool allowance."""
    context: ContextPolicy = ContextPolicy()
    """How to shorten visible turns to fit."""
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    """Maximum tokens of the answer; `None` uses the agent's limit."""
    max_steps: Annotated[int, Field(gt=0)] | None = None
    """Maximum model calls in this turn, tool loop included."""


class Stage(Value):
    """Turns that run concurrently; none sees another turn of the same stage."""

    kind: Literal["stage"] = "stage"
    name: NonEmpty
    """Unique within its round."""
    turns: tuple[TurnSpec, ...]
    """The turns, slots 0 to n-1 in order."""

    @model_validator(mode="after")
    def _slots_in_order(self) -> Stage:
        if [turn.slot for turn in self.turns] != list(range(len(self.turns))):
            msg = f"stage {self.name!r}: slots must be 0 to {len(self.turns) - 1} in order"
            raise ValueError(msg)
        return self


class EndRound(Value):
    """The round is over: consensus is measured, exits are checked, then the next round is planned."""

    kind: Literal["end_round"] = "end_round"


class EndDebate(Value):
    """The mode ends the debate."""

    kind: Literal["end_debate"] = "end_debate"
    reason: NonEmpty = "mode"
    """Reason recorded in the exit."""


Plan: TypeAlias = Stage | EndRound | EndDebate
"""What a mode can plan next."""
