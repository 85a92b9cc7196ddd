"""What a mode plans: stages of turns that run at once, as plain data."""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

from pydantic import Field, model_validator

from roundtable.types.answers import AnswerKind, Stance
from roundtable.types.base import NonEmpty, Value

__all__ = [
    "BASELINE_STAGE",
    "CHAIR_STAGE",
    "EXTERNAL",
    "JUDGED",
    "JUDGE_STAGE",
    "ContextPolicy",
    "EndDebate",
    "EndRound",
    "Note",
    "Plan",
    "Stage",
    "ToolPolicy",
    "TurnKey",
    "TurnSpec",
    "Visible",
]


BASELINE_STAGE: Final = "private-baseline"
"""Stage of answers given alone before the first round; they count in no round, and nobody sees them."""


JUDGE_STAGE: Final = "judgement"
"""Stage of the votes of judges, who take no part in the debate."""

CHAIR_STAGE: Final = "chair"
"""Stage of the word that concludes a round: the answer of the round, and no position among the others."""

EXTERNAL: Final = "external"
"""Stage of positions that come from outside of the debate, and provider of agents that only speak there."""

JUDGED: Final = ("judge", "judge-panel")
"""Names that stand in `decide` for a judge, or several of them, in place of a rule over positions."""


class TurnKey(NamedTuple):
    """Where a turn stands in a session: round (from 1), stage name, slot (from 0)."""

    round: int
    stage: str
    slot: int


class Visible(Value):
    """An earlier turn that a turn may see, and the name it is shown under."""

    turn: TurnKey
    """Which turn."""
    shown_as: NonEmpty
    """Name of its speaker in the prompt; anonymous modes give an alias."""


class ToolPolicy(Value):
    """How many tool calls a turn may make, and which."""

    min: Annotated[int, Field(ge=0)] = 0
    """Fewest calls asked for."""
    max: Annotated[int, Field(ge=0)] = 8
    """Most calls carried out."""
    allow: tuple[str, ...] | None = None
    """Names of allowed tools; `None` allows all that the debate has."""


class ContextPolicy(Value):
    """How much of the visible turns enters the prompt."""

    max_tokens: Annotated[int, Field(gt=0)] | None = None
    """Most tokens of quoted turns; `None` leaves it to the model's context window."""
    keep: Literal["latest", "earliest"] = "latest"
    """Which turns stay when not all fit."""


class Note(Value):
    """Material for a turn that is no earlier answer: statistics, a perspective, the side to argue.

    It may hold what others wrote, so it is quoted in the user message like any untrusted text.
    """

    label: NonEmpty
    """What it is; words of the mode."""
    text: NonEmpty
    """The material."""
    brief: str = ""
    """The material in a line, for models that are prompted compactly; the start of `text` when empty."""


class TurnSpec(Value):
    """One turn to be taken.

    Example:
        >>> TurnSpec(slot=0, agent="ada", role="participant", task="Give your position.").answer
        'position'
    """

    slot: Annotated[int, Field(ge=0)]
    """Place within the stage, from 0."""
    agent: NonEmpty
    """Id of the agent that speaks."""
    role: str = "participant"
    """Role played in this turn."""
    task: str = ""
    """Mode-specific instructions for this turn; trusted text, part of the system prompt."""
    brief: str = ""
    """The task in a sentence, for models that are prompted compactly."""
    prompt_id: str = ""
    """Which instructions `task` holds, with their version; recorded with the turn."""
    speaks_as: str = ""
    """Alias the agent goes by in its own prompt; its name when empty."""
    stance: Stance | None = None
    """Side the agent was given to argue; an answer that takes another is marked, never changed."""
    sees: tuple[Visible, ...] = ()
    """Earlier turns shown, in this order."""
    notes: tuple[Note, ...] = ()
    """Further material, quoted after the earlier turns."""
    answer: AnswerKind = "position"
    """Kind of answer asked for."""
    options: tuple[str, ...] | None = None
    """Options to choose from."""
    tools: ToolPolicy = ToolPolicy()
    """Tool allowance."""
    context: ContextPolicy = ContextPolicy()
    """How visible turns are cut to fit."""
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    """Most tokens of the answer; `None` takes the agent's."""
    max_steps: Annotated[int, Field(gt=0)] | None = None
    """Most model calls in this turn, tool loop included."""


class Stage(Value):
    """Turns that run at once; none sees another of the same stage."""

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
    """The round is over: consensus is measured, exits are asked, then the next round is planned."""

    kind: Literal["end_round"] = "end_round"


class EndDebate(Value):
    """The mode has nothing more to ask."""

    kind: Literal["end_debate"] = "end_debate"
    reason: NonEmpty = "mode"
    """Why, as recorded in the exit."""


Plan: TypeAlias = Stage | EndRound | EndDebate
"""What a mode can decide."""
