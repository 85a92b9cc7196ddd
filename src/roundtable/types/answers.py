"""Answers of turns, as one tagged union, with their sources and tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, TypeAlias

from pydantic import Field

from roundtable.types.base import JsonObject, JsonValue, NonEmpty, Share, Timestamp, Value, utc_now

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

__all__ = [
    "MOST_CLAIMS",
    "AgentResponse",
    "Answer",
    "AnswerKind",
    "ApprovalAnswer",
    "BallotAnswer",
    "Citation",
    "Claim",
    "ClaimEvidence",
    "Comparison",
    "ContextRequest",
    "ContextResult",
    "ImageResult",
    "PlanAnswer",
    "RankingAnswer",
    "RoleViolation",
    "ScoresAnswer",
    "Stance",
    "TextAnswer",
    "ToolCallRecord",
    "TurnKey",
]

Stance: TypeAlias = Literal["YES", "NO", "NEUTRAL"]
"""Which side of a yes-or-no question an answer takes."""

AnswerKind: TypeAlias = Literal["position", "ballot", "ranking", "approval", "scores", "plan", "text"]
"""Kind of answer that a turn asks for."""

MOST_CLAIMS: Final = 5
"""Most claims of one answer."""


class TurnKey(NamedTuple):
    """Position of a turn in a session: round (from 1), stage name, slot (from 0)."""

    round: int
    stage: str
    slot: int

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the array; pydantic leaves the docstring of a named tuple out."""
        return {
            **handler(schema),
            "description": "Position of a turn: round (from 1), stage, slot (from 0).",
        }


class Comparison(Value):
    """What an agent says about an earlier answer that it was shown: whether its own answer now says the same."""

    turn: TurnKey
    """Key of the turn that gave the earlier answer: round, stage and slot."""
    verdict: Literal["same", "different"]
    """Whether both answers say the same, in whatever words."""


class Citation(Value):
    """A source an agent relied on."""

    title: str
    """Title of the page or document."""
    url: NonEmpty
    """Address of the source."""
    snippet: str | None = None
    """The passage used."""


class ClaimEvidence(Value):
    """A source of a claim, as the agent gave it; nobody has checked whether the page supports the claim."""

    url: NonEmpty
    """Address of the page."""
    quote: str | None = None
    """Words that the agent copied from the page."""


class Claim(Value):
    """A reason of an answer in one short sentence, with the earlier claims that it supports or attacks."""

    id: NonEmpty
    """Label of the claim, such as `R2-KTBM-1`: the round, letters that stand for the answer, and a number. It shows
    neither the agent nor its seat."""
    text: NonEmpty
    """The claim."""
    supports: tuple[str, ...] = ()
    """Labels of the earlier claims that it supports."""
    attacks: tuple[str, ...] = ()
    """Labels of the earlier claims that it attacks."""
    evidence: tuple[ClaimEvidence, ...] = ()
    """Its sources."""


class ImageResult(Value):
    """An image found by a search provider."""

    url: NonEmpty
    """Address of the image."""
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
    """When the call began; unknown for tools that the provider ran."""
    duration_s: Annotated[float, Field(ge=0)] = 0.0
    """Duration in seconds."""
    error: str | None = None
    """What went wrong; `None` if the call succeeded."""
    cached: bool = False
    """Whether the result was reused from the same call earlier in this round."""


class RoleViolation(Value):
    """An answer that takes another side than the agent was assigned."""

    expected: Stance
    """Side assigned to the agent."""
    actual: Stance | None = None
    """Side the answer took; `None` when it stated none."""


class AgentResponse(Value):
    """A position with its reasoning and the confidence the agent reports.

    Confidence is the agent's own claim, not a probability. It is used as a weight only if a rule asks for it.

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
    """Reasoning behind the position."""
    confidence: Share = 0.5
    """Reported confidence in [0, 1]; 0.5 where the agent reported none."""
    stance: Stance | None = None
    """Side taken on a yes-or-no question, if the agent stated one."""
    choice: str | None = None
    """The option chosen, if the debate has options."""
    bottom_line: str | None = None
    """The answer alone, in at most a dozen words or so; `"ABSTAIN"` if the agent gives none. `None` if it was not asked
    for, or the model left it out."""
    compared: tuple[Comparison, ...] = ()
    """Which earlier answers the agent calls the same as its own, and which different; others are unknown."""
    claims: tuple[Claim, ...] = ()
    """The agent's reasons as claims, at most five, if the debate asks for them."""
    value: JsonObject | None = None
    """What the agent says in the caller's own type, if the debate has an `answer_schema`, which it fits. `None` if the
    agent gave none that does; then the turn has a warning."""
    citations: tuple[Citation, ...] = ()
    """Sources used."""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    """Tools used, in order."""
    images: tuple[ImageResult, ...] = ()
    """Images returned by a search provider."""
    related_questions: tuple[str, ...] = ()
    """Follow-up questions returned by a search provider."""
    role_violation: RoleViolation | None = None
    """How the answer departs from the assigned side; the answer itself is not changed."""
    timestamp: Timestamp = Field(default_factory=utc_now)
    """When the answer was complete."""


class BallotAnswer(Value):
    """A vote for one option; `choice=None` abstains."""

    kind: Literal["ballot"] = "ballot"
    choice: str | None = None
    """The option voted for."""
    reasoning: str = ""
    """Reasoning behind the vote."""
    same: tuple[tuple[str, ...], ...] = ()
    """In a vote on motions: groups of motions that say the same in other words."""


class RankingAnswer(Value):
    """Options from best to worst; options in one group are tied, options left out are unranked."""

    kind: Literal["ranking"] = "ranking"
    ranking: tuple[tuple[str, ...], ...]
    """Groups of tied options, best first."""
    reasoning: str = ""
    """Reasoning behind the ranking."""
    same: tuple[tuple[str, ...], ...] = ()
    """In a vote on motions: groups of motions that say the same in other words."""


class ApprovalAnswer(Value):
    """Every option that the agent can accept; an empty list accepts none, `approved=None` abstains."""

    kind: Literal["approval"] = "approval"
    approved: tuple[str, ...] | None = None
    """The options accepted."""
    reasoning: str = ""
    """Reasoning behind the vote."""
    same: tuple[tuple[str, ...], ...] = ()
    """In a vote on motions: groups of motions that say the same in other words."""


class ScoresAnswer(Value):
    """A score for each option that the agent wants to score."""

    kind: Literal["scores"] = "scores"
    scores: Mapping[str, float]
    """Score of each option; higher is better."""
    reasoning: str = ""
    """Reasoning behind the scores."""
    same: tuple[tuple[str, ...], ...] = ()
    """In a vote on motions: groups of motions that say the same in other words."""


class PlanAnswer(Value):
    """A shared goal for a team and how to reach it."""

    kind: Literal["plan"] = "plan"
    goal: NonEmpty
    """What the team works towards."""
    strategy: str = ""
    """How it plans to reach the goal."""
    success_criteria: tuple[str, ...] = ()
    """Conditions under which the goal is reached."""


class TextAnswer(Value):
    """Free text."""

    kind: Literal["text"] = "text"
    text: str
    """The text."""


Answer: TypeAlias = Annotated[
    AgentResponse | BallotAnswer | RankingAnswer | ApprovalAnswer | ScoresAnswer | PlanAnswer | TextAnswer,
    Field(discriminator="kind"),
]
"""Any answer, discriminated by `kind`."""


class ContextRequest(Value):
    """An agent's request to the caller for information it lacks."""

    id: NonEmpty
    """Id of the request, repeated in the result."""
    agent_id: str
    """Id of the agent that asks."""
    query: Annotated[str, Field(min_length=1, max_length=1000)]
    """The information needed."""
    reason: Annotated[str, Field(min_length=1, max_length=500)]
    """Why it is needed."""
    priority: Literal["required", "optional"] = "required"
    """Whether the debate waits for it."""
    timestamp: Timestamp = Field(default_factory=utc_now)
    """When the agent asked."""


class ContextResult(Value):
    """The caller's answer to a context request."""

    request_id: NonEmpty
    """Id of the request."""
    success: bool
    """Whether the information was found."""
    result: str | None = None
    """The information."""
    error: str | None = None
    """Why the information was not found."""
    query: str | None = None
    """The information requested; filled in from the request, and shown with the result."""
