"""The plan of a mode as plain data: stages of turns that run concurrently."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, model_validator

from roundtable.core.types.answers import AnswerKind, Stance, TurnKey
from roundtable.core.types.base import NonEmpty, Value

__all__ = [
    "BASELINE_STAGE",
    "CHAIR_STAGE",
    "EXTERNAL",
    "FIRST_VOTE_STAGE",
    "JUDGE_STAGE",
    "LAST_VOTE_STAGE",
    "MAX_STAGES",
    "MODERATOR_STAGE",
    "REVIEWER_ROLE",
    "VOTE_SIDES",
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
"""Stage of private answers before the first round. They do not count in any round, and no agent sees them."""

JUDGE_STAGE: Final = "judgement"
"""Stage of the votes of judges, who take no part in the debate."""

MODERATOR_STAGE: Final = "moderation"
"""Stage of a moderator, who does not debate and decides whether the debate ends or continues."""

VOTE_STAGE: Final = "vote"
"""Stage of the vote on motions, after the answers of a round; no agent sees the votes."""

MAX_STAGES: Final = 256
"""Maximum stages of a round; a mode that plans more stages counts as endless. The largest table has 100 agents, and no
mode uses more than two separate stages per agent in a round."""

CHAIR_STAGE: Final = "chair"
"""Stage of the chair's conclusion: the answer of the round, which does not count as a position."""

FIRST_VOTE_STAGE: Final = "vote-before"
"""Stage of a vote before the first speech that only informs, in a mode that ends in its own vote. Reports compare the
two votes of each agent."""

LAST_VOTE_STAGE: Final = "vote-after"
"""Stage of the vote that decides in Oxford debates. In sessions that were stored before turns had `decides`, only this
name shows that the vote decides; a mode may give the stage another name."""

VOTE_SIDES: Final = ("For", "Against")
"""Options of the vote in `LAST_VOTE_STAGE` if the debate has none, and its mode is not known."""

REVIEWER_ROLE: Final = "reviewer"
"""Role of an agent that ranks the answers of others for a chair; its ranking is not listed among the ballots."""

EXTERNAL: Final = "external"
"""Stage of positions from outside the debate; also the provider of agents that have only such positions."""


class Visible(Value):
    """An earlier turn that a turn may see, and the name under which its speaker is shown."""

    turn: TurnKey
    """Key of the earlier turn."""
    shown_as: NonEmpty
    """Name of the speaker in the prompt; in anonymous modes, an alias."""


class ToolPolicy(Value):
    """Number of tool calls that a turn may make, and the allowed tools."""

    min: Annotated[int, Field(ge=0)] = 0
    """Minimum number of tool calls that the prompt requests."""
    max: Annotated[int, Field(ge=0)] = 8
    """Maximum number of tool calls that are executed."""
    allow: tuple[str, ...] | None = None
    """Names of allowed tools; `None` allows all tools of the debate."""


class ContextPolicy(Value):
    """How many of the visible turns are part of the prompt."""

    max_tokens: Annotated[int, Field(gt=0)] | None = None
    """Maximum tokens of quoted turns; `None` uses the size of the model's context window."""
    keep: Literal["latest", "earliest"] = "latest"
    """Which turns to keep if there is no space for all."""


class Note(Value):
    """Material for a turn in addition to earlier answers: statistics, a perspective, or the side to argue.

    The material may contain text by others, so it is quoted in the user message like any untrusted text.
    """

    label: NonEmpty
    """Heading; the mode writes it."""
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
    """Alias of the agent in its own prompt; if empty, the agent's name."""
    stance: Stance | None = None
    """Side that the agent must argue. An answer that takes another side is marked, but never changed."""
    sees: tuple[Visible, ...] = ()
    """Earlier turns that the prompt shows, in this order."""
    notes: tuple[Note, ...] = ()
    """More material, quoted after the earlier turns."""
    answer: AnswerKind = "position"
    """Requested kind of answer."""
    options: tuple[str, ...] | None = None
    """Options to choose from."""
    counts: Literal["decide", "inform"] | None = None
    """Purpose of the ballots in a stage of the mode; the same for each turn of the stage. `"decide"`: with
    `answer="ballot"`, the decision rule of the debate counts these ballots instead of the positions. `"inform"`: only
    the mode reads the ballots, and nothing counts them. A stage of ballots must have one of these values, and a turn
    with another kind of answer must have none."""
    motions: Mapping[str, str] = Field(default_factory=dict)
    """In a vote on motions: the motion for each option; the vote is stored under the name of the motion. If options and
    motions differ, the options are letters, and the turn also asks which motions say the same."""
    scale: tuple[float | None, float | None] = (None, None)
    """If the turn requests scores: the lowest and the highest score; `None` for no limit. A ballot with a score off
    this scale is invalid as a whole: the agent is asked once more, and then the turn fails."""
    tools: ToolPolicy = ToolPolicy()
    """Tool calls that the turn may make."""
    context: ContextPolicy = ContextPolicy()
    """How to shorten the visible turns if there is no space for all."""
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    """Maximum tokens of the answer; `None` uses the agent's limit."""
    max_steps: Annotated[int, Field(gt=0)] | None = None
    """Maximum model calls in this turn, including those after tool calls."""


class Stage(Value):
    """Turns that run concurrently; none sees another turn of the same stage."""

    kind: Literal["stage"] = "stage"
    name: NonEmpty
    """Name of the stage; unique within its round."""
    turns: tuple[TurnSpec, ...]
    """The turns in the order of their slots, 0 to n-1."""

    @model_validator(mode="after")
    def _slots_in_order(self) -> Stage:
        if [turn.slot for turn in self.turns] != list(range(len(self.turns))):
            msg = f"stage {self.name!r}: slots must be 0 to {len(self.turns) - 1} in order"
            raise ValueError(msg)
        return self


class EndRound(Value):
    """The round is over: consensus is measured, exit criteria are checked, and then the next round is planned."""

    kind: Literal["end_round"] = "end_round"


class EndDebate(Value):
    """The mode ends the debate."""

    kind: Literal["end_debate"] = "end_debate"
    reason: NonEmpty = "mode"
    """Exit reason of the debate."""


Plan: TypeAlias = Stage | EndRound | EndDebate
"""Everything that a mode can plan next."""
