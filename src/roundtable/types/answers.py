"""What a turn can say: one tagged union of answers, and the evidence that hangs on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from roundtable.types.base import JsonValue, NonEmpty, Share, Timestamp, Value, utc_now

__all__ = [
    "AgentResponse",
    "Answer",
    "AnswerKind",
    "BallotAnswer",
    "Citation",
    "ImageResult",
    "PlanAnswer",
    "RankingAnswer",
    "RoleViolation",
    "ScoresAnswer",
    "Stance",
    "TextAnswer",
    "ToolCallRecord",
]

Stance: TypeAlias = Literal["YES", "NO", "NEUTRAL"]
"""Which side of a yes-or-no question an answer takes."""

AnswerKind: TypeAlias = Literal["position", "ballot", "ranking", "scores", "plan", "text"]
"""What a turn is asked for."""


class Citation(Value):
    """A source an agent relied on."""

    title: str
    """Title of the page or document."""
    url: NonEmpty
    """Where it is."""
    snippet: str | None = None
    """The passage that was used."""


class ImageResult(Value):
    """An image found by a search provider."""

    url: NonEmpty
    """Where it is."""
    description: str | None = None
    """What it shows."""


class ToolCallRecord(Value):
    """One tool call as it happened."""

    tool_name: NonEmpty
    """Name the model called."""
    input: JsonValue = None
    """Arguments as sent."""
    output: JsonValue = None
    """Result as returned to the model."""
    timestamp: Timestamp = Field(default_factory=utc_now)
    """When the call ended."""
    started_at: Timestamp | None = None
    """When it began; unknown of tools that the provider ran."""
    duration_s: Annotated[float, Field(ge=0)] = 0.0
    """Seconds it took."""
    error: str | None = None
    """What went wrong."""
    cached: bool = False
    """Whether the same call, made before in this round, had given the result."""


class RoleViolation(Value):
    """An answer on another side than the one the agent was given."""

    expected: Stance
    """Side the turn asked for."""
    actual: Stance | None = None
    """Side the answer took; `None` when it stated none."""


class AgentResponse(Value):
    """A position with its reasoning and the confidence the agent reports.

    Confidence is the agent's own claim, not a probability; nothing weighs by it unless a rule is told to.

    Example:
        >>> AgentResponse(agent_id="ada", agent_name="Ada", position="Yes", reasoning="It scales.", confidence=0.8).kind
        'position'
    """

    kind: Literal["position"] = "position"
    agent_id: str
    """Id of the agent that answered."""
    agent_name: str
    """Its display name."""
    position: str
    """The agent's answer to the question, in a sentence or two."""
    reasoning: str = ""
    """Why."""
    confidence: Share = 0.5
    """Reported confidence in [0, 1]; 0.5 where the agent reported none."""
    stance: Stance | None = None
    """Side taken on a yes-or-no question, if the agent gave one."""
    choice: str | None = None
    """The option chosen, when the debate has options."""
    citations: tuple[Citation, ...] = ()
    """Sources used."""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    """Tools used, in order."""
    images: tuple[ImageResult, ...] = ()
    """Images returned by a search provider."""
    related_questions: tuple[str, ...] = ()
    """Follow-up questions returned by a search provider."""
    role_violation: RoleViolation | None = None
    """How the answer departs from the side that was assigned; the answer itself is left as it was given."""
    timestamp: Timestamp = Field(default_factory=utc_now)
    """When the answer was complete."""


class BallotAnswer(Value):
    """A vote for one option; `choice=None` abstains."""

    kind: Literal["ballot"] = "ballot"
    choice: str | None = None
    """The option voted for."""
    reasoning: str = ""
    """Why."""


class RankingAnswer(Value):
    """Options from best to worst; options in one group are tied, options left out are unranked."""

    kind: Literal["ranking"] = "ranking"
    ranking: tuple[tuple[str, ...], ...]
    """Groups of tied options, best first."""
    reasoning: str = ""
    """Why."""


class ScoresAnswer(Value):
    """A grade for each option the agent wished to grade."""

    kind: Literal["scores"] = "scores"
    scores: Mapping[str, float]
    """Option to score; higher is better."""
    reasoning: str = ""
    """Why."""


class PlanAnswer(Value):
    """A shared goal for a team, with the way there."""

    kind: Literal["plan"] = "plan"
    goal: NonEmpty
    """What the team works towards."""
    strategy: str = ""
    """How."""
    success_criteria: tuple[str, ...] = ()
    """How the team knows that it is done."""


class TextAnswer(Value):
    """Free text."""

    kind: Literal["text"] = "text"
    text: str
    """The text."""


Answer: TypeAlias = Annotated[
    AgentResponse | BallotAnswer | RankingAnswer | ScoresAnswer | PlanAnswer | TextAnswer,
    Field(discriminator="kind"),
]
"""Any answer, told apart by `kind`."""
