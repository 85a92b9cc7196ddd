"""Answers of turns, as one tagged union, with their sources and tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, TypeAlias

from pydantic import Field

from roundtable.core.types.base import JsonObject, JsonValue, KeepsNulls, NonEmpty, Share, Timestamp, Value, utc_now

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
    "Reading",
    "RoleViolation",
    "ScoresAnswer",
    "Stance",
    "TextAnswer",
    "ToolCallRecord",
    "TurnKey",
]

Stance: TypeAlias = Literal["YES", "NO", "NEUTRAL"]
"""The side that an answer takes on a yes-or-no question."""

AnswerKind: TypeAlias = Literal["position", "ballot", "ranking", "approval", "scores", "plan", "text"]
"""Kind of answer that a turn requests."""

MOST_CLAIMS: Final = 5
"""Most claims of one answer."""


class TurnKey(NamedTuple):
    """Position of a turn in a session: round (from 1), stage name, slot (from 0)."""

    round: int
    stage: str
    slot: int

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the array, since pydantic leaves out the docstring of a named tuple."""
        return {
            **handler(schema),
            "description": "Position of a turn: round (from 1), stage, slot (from 0).",
        }


class Comparison(Value):
    """An agent's statement about an earlier answer: whether the agent's own answer now says the same."""

    turn: TurnKey
    """Key of the turn that gave the earlier answer: round, stage and slot."""
    verdict: Literal["same", "different"]
    """Whether both answers say the same, even in different words."""


class Citation(Value):
    """A source on which an agent relied."""

    title: str
    """Title of the page or document."""
    url: NonEmpty
    """Address of the source."""
    snippet: str | None = None
    """The passage that was used."""


class ClaimEvidence(Value):
    """A source of a claim, as the agent gave it; it was not checked whether the page supports the claim."""

    url: NonEmpty
    """Address of the page."""
    quote: str | None = None
    """Words that the agent copied from the page."""


class Claim(Value):
    """A reason for an answer in one short sentence, with the earlier claims that the reason supports or attacks."""

    id: NonEmpty
    """Label of the claim, such as `R2-KTBM-1`: the round, letters that identify the answer, and a number. The label
    reveals neither the agent nor its position in the speaking order."""
    text: NonEmpty
    """The claim."""
    supports: tuple[str, ...] = ()
    """Labels of the earlier claims that this claim supports."""
    attacks: tuple[str, ...] = ()
    """Labels of the earlier claims that this claim attacks."""
    evidence: tuple[ClaimEvidence, ...] = ()
    """Sources of the claim."""


class ImageResult(Value):
    """An image that a search provider found."""

    url: NonEmpty
    """Address of the image."""
    description: str | None = None
    """What the image shows."""


class ToolCallRecord(Value):
    """The record of one tool call."""

    tool_name: NonEmpty
    """Name of the tool that the model called."""
    input: JsonValue = None
    """Arguments, as the model sent them."""
    output: JsonValue = None
    """Result, as it was returned to the model."""
    timestamp: Timestamp = Field(default_factory=utc_now)
    """When the call ended."""
    started_at: Timestamp | None = None
    """When the call began; unknown for tools that the provider ran."""
    duration_s: Annotated[float, Field(ge=0)] = 0.0
    """Duration in seconds."""
    error: str | None = None
    """What went wrong; `None` if the call succeeded."""
    cached: bool = False
    """Whether the result was taken from the same call earlier in this round."""


class RoleViolation(Value):
    """An answer that takes a different side from the one assigned to the agent."""

    expected: Stance
    """Side that was assigned to the agent."""
    actual: Stance | None = None
    """Side that the answer took; `None` if it stated none."""


class Reading(Value):
    """How an answer was read from the text that an agent wrote.

    Example:
        >>> from roundtable.reading import Asked, read_answer
        >>> read_answer("I weighed both. The answer is **Porto**.", Asked("choice", ("Lisbon", "Porto"))).value
        'Porto'
    """

    certainty: Literal["certain", "likely", "unread"]
    """`certain`: the text can be read in one way only. `likely`: there is a reading, but a part of the text contradicts
    it. `unread`: no answer was found, or several. Only a certain reading counts as an answer."""
    rule: str
    """Name of the rule that found the answer, such as `boxed` or `label`; the page *How answers are read* lists the
    rules."""
    value: str | None = None
    """What was read: the option as the question spells it, a number in plain notation, `yes` or `no`, a formula, or a
    text. `None` if nothing was found."""
    place: Literal["reply", "choice", "bottom_line", "position"] = "reply"
    """The part of the answer in which it was found; `reply` is the whole text of the agent."""
    span: tuple[int, int] | None = None
    """Start and end of the words that were read, in characters of that part; `None` if nothing was found."""
    candidates: tuple[str, ...] = ()
    """Other readings that were found in the text."""
    points_to: str | None = None
    """For a text that only points to an earlier answer: `you` for the agent's own one, else the name that the text
    gives."""
    source: TurnKey | None = None
    """The turn of the earlier answer that the text points to, if exactly one was shown to the agent."""
    asked_again: bool = False
    """Whether the agent was asked once more, because its first answer was not certain or not in the form."""
    version: int = 1
    """Version of the reader's rules."""


class AgentResponse(KeepsNulls):
    """A position with its reasoning, and with the confidence that the agent reports.

    Confidence is a claim of the agent, not a probability. It is a weight only if the decision rule uses it.

    Example:
        >>> AgentResponse(agent_id="ada", agent_name="Ada", position="Yes", reasoning="It scales.", confidence=0.8).kind
        'position'
    """

    kind: Literal["position"] = "position"
    agent_id: str
    """Id of the agent that answered."""
    agent_name: str
    """Display name of the agent."""
    position: str
    """The agent's answer to the question, in a sentence or two."""
    reasoning: str = ""
    """Reasoning behind the position."""
    confidence: Share | None = 0.5
    """Reported confidence in [0, 1]; 0.5 if a model was asked for it and gave none (`RoundRecord.as_stated` leaves it
    out). `None` if nobody asked, as in most debates that other projects recorded: figures and rules then leave it out.
    """
    stance: Stance | None = None
    """Side that the agent took on a yes-or-no question, if it stated one."""
    choice: str | None = None
    """The option that the agent chose, if the debate has options."""
    bottom_line: str | None = None
    """The answer alone, in at most about a dozen words; `"ABSTAIN"` if the agent gives no answer. `None` if it was not
    requested, or if the model left it out."""
    compared: tuple[Comparison, ...] = ()
    """Earlier answers that the agent calls the same as its own, or different; about other answers, nothing is known."""
    claims: tuple[Claim, ...] = ()
    """The agent's reasons as claims, at most five, if the debate requests claims."""
    value: JsonObject | None = None
    """The agent's value in the caller's own type, if the debate has an `answer_schema`; the value fits this schema.
    `None` if the agent gave no value that fits; the turn then has a warning."""
    citations: tuple[Citation, ...] = ()
    """Sources that the agent used."""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    """Tools that the agent used, in order."""
    images: tuple[ImageResult, ...] = ()
    """Images that a search provider returned."""
    related_questions: tuple[str, ...] = ()
    """Follow-up questions that a search provider returned."""
    role_violation: RoleViolation | None = None
    """How the answer differs from the assigned side; the answer itself is not changed."""
    reading: Reading | None = None
    """How the answer was read; `None` in sessions that were stored before answers had readings."""
    timestamp: Timestamp = Field(default_factory=utc_now)
    """When the answer was complete."""

    @property
    def is_unread(self) -> bool:
        """Whether the agent gave an answer that could not be read with certainty; it then counts for no option."""
        # Files of recorded debates may state the answer, and the reading of the whole text only stands beside it.
        is_stated = self.reading is not None and self.reading.place == "reply" and self.bottom_line is not None
        return _is_unread(self.reading, is_empty=self.choice is None) and not is_stated


class BallotAnswer(Value):
    """A vote for one option; `choice=None` is an abstention, unless the vote could not be read (`is_unread`)."""

    kind: Literal["ballot"] = "ballot"
    choice: str | None = None
    """The option that gets the vote."""
    reasoning: str = ""
    """Reasoning behind the vote."""
    same: tuple[tuple[str, ...], ...] = ()
    """In a vote on motions: groups of motions that say the same in other words."""
    reading: Reading | None = None
    """How the vote was read; `None` in sessions that were stored before votes had readings."""

    @property
    def is_unread(self) -> bool:
        """Whether the agent gave a vote that could not be read with certainty; it then counts for no option."""
        return _is_unread(self.reading, is_empty=self.choice is None)


def _is_unread(reading: Reading | None, *, is_empty: bool) -> bool:
    return reading is not None and reading.certainty != "certain" and is_empty


class RankingAnswer(Value):
    """Options from best to worst. Options in one group are tied; options that are left out are unranked."""

    kind: Literal["ranking"] = "ranking"
    ranking: tuple[tuple[str, ...], ...]
    """Groups of tied options, best first."""
    reasoning: str = ""
    """Reasoning behind the ranking."""
    same: tuple[tuple[str, ...], ...] = ()
    """In a vote on motions: groups of motions that say the same in other words."""
    reading: Reading | None = None
    """How the vote was read, if it was not in the form that was asked for."""

    @property
    def is_unread(self) -> bool:
        """Whether the agent gave a vote that could not be read with certainty; it then counts for no option."""
        return _is_unread(self.reading, is_empty=not self.ranking)


class ApprovalAnswer(Value):
    """All options that the agent can accept. An empty list accepts none; `approved=None` is an abstention."""

    kind: Literal["approval"] = "approval"
    approved: tuple[str, ...] | None = None
    """The accepted options."""
    reasoning: str = ""
    """Reasoning behind the vote."""
    same: tuple[tuple[str, ...], ...] = ()
    """In a vote on motions: groups of motions that say the same in other words."""
    reading: Reading | None = None
    """How the vote was read, if it was not in the form that was asked for."""

    @property
    def is_unread(self) -> bool:
        """Whether the agent gave a vote that could not be read with certainty; it then counts for no option."""
        return _is_unread(self.reading, is_empty=self.approved is None)


class ScoresAnswer(Value):
    """Scores for the options that the agent wants to score."""

    kind: Literal["scores"] = "scores"
    scores: Mapping[str, float]
    """Score of each option; higher is better."""
    reasoning: str = ""
    """Reasoning behind the scores."""
    same: tuple[tuple[str, ...], ...] = ()
    """In a vote on motions: groups of motions that say the same in other words."""
    reading: Reading | None = None
    """How the vote was read, if it was not in the form that was asked for."""

    @property
    def is_unread(self) -> bool:
        """Whether the agent gave a vote that could not be read with certainty; it then counts for no option."""
        return _is_unread(self.reading, is_empty=not self.scores)


class PlanAnswer(Value):
    """A shared goal for a team, and how to reach it."""

    kind: Literal["plan"] = "plan"
    goal: NonEmpty
    """The goal of the team."""
    strategy: str = ""
    """How the team plans to reach the goal."""
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
    """An agent's request to the caller for missing information."""

    id: NonEmpty
    """Id of the request, repeated in the result."""
    agent_id: str
    """Id of the agent that needs the information."""
    query: Annotated[str, Field(min_length=1, max_length=1000)]
    """The information that is needed."""
    reason: Annotated[str, Field(min_length=1, max_length=500)]
    """Why it is needed."""
    priority: Literal["required", "optional"] = "required"
    """Whether the debate waits for the information."""
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
    """The requested information. It is copied from the request, and shown with the result."""
