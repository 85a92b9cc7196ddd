"""Everything that callers can request: a debate, a fork, a conversation of a team, or the continuation of a session.

This module is the list of options, with defaults, limits and descriptions. The signatures of `Roundtable`, the bodies
of the HTTP API, the inputs of the MCP tools and the keywords of the client are derived from it. `tools/generate.py`
writes the derived parts that are code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field
from pydantic_core import to_json

from roundtable.core.base.strict_json import TOO_DEEP, is_too_deep
from roundtable.core.types.answers import ContextResult
from roundtable.core.types.attachments import Attachment
from roundtable.core.types.base import JsonObject, JsonValue, NativeSearch, Share, Value
from roundtable.core.types.budget import Budget
from roundtable.core.types.debate import AnyPerspective, Topic
from roundtable.core.types.teams import ChatMessage, TeamOrder

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

__all__ = ["ConversationRequest", "DebateRequest", "ExtendRequest", "ForkRequest", "ResumeRequest", "SearchRequest"]

_LONGEST_DEADLINE_S: Final = 86_400.0
_MOST_METADATA_BYTES: Final = 16 * 1024


def _check_metadata(metadata: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    if is_too_deep(metadata):
        raise ValueError(f"metadata is {TOO_DEEP}")
    if len(to_json(metadata)) > _MOST_METADATA_BYTES:
        raise ValueError(f"metadata takes at most {_MOST_METADATA_BYTES} bytes as JSON")
    return metadata


SearchRequest: TypeAlias = Literal["auto"] | bool | NativeSearch
"""How agents search the web: `"auto"` uses the provider's search if there is one, `False` turns it off; or options."""

_Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
_Names: TypeAlias = Annotated[tuple[_Name, ...], Field(min_length=1, max_length=50)]
_Option: TypeAlias = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"\S")]
_Options: TypeAlias = Annotated[tuple[_Option, ...], Field(min_length=2, max_length=50)]
_Attachments: TypeAlias = Annotated[tuple[Attachment, ...], Field(max_length=20)]
_Perspectives: TypeAlias = Literal["auto"] | Annotated[tuple[AnyPerspective, ...], Field(min_length=1, max_length=50)]
_Rounds: TypeAlias = Annotated[int, Field(ge=1)]
_Question: TypeAlias = Annotated[str, Field(min_length=1, max_length=10_000)]
_Quorum: TypeAlias = Annotated[int, Field(ge=1)]
_Deadline: TypeAlias = Annotated[float, Field(gt=0, le=_LONGEST_DEADLINE_S)]
_Metadata: TypeAlias = Annotated[Mapping[str, JsonValue], Field(max_length=100), AfterValidator(_check_metadata)]
_Results: TypeAlias = Annotated[tuple[ContextResult, ...], Field(max_length=100)]


class _Request(Value):
    """A request of a caller; in its JSON schema, required fields come first."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema with required properties before optional ones."""
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        resolved = handler.resolve_ref_schema(schema)
        required = resolved.get("required", [])
        properties = resolved.get("properties", {})
        resolved["properties"] = dict(sorted(properties.items(), key=lambda item: item[0] not in required))
        return schema


class _DebateOptions(_Request):
    """Options of a debate and of a fork."""

    mode: _Name = "collaborative"
    """Name of a debate mode from `GET /api/modes`, optionally with options after a colon, as in
    `expert-panel:facilitated=true`."""
    rounds: _Rounds = 3
    """Maximum number of rounds, 1 to 10 unless `ROUNDTABLE_MAX_ROUNDS` allows more."""
    agents: _Names | None = None
    """Agents that debate: ids of offered agents (see `GET /api/agents` or `get_agents`), or `provider:model`. Over
    MCP, the provider of the model must be one of these agents' providers; over HTTP, the model must be one of these
    agents' models, or one that the server lists in `models`. When left out, all offered agents debate."""
    options: _Options | None = None
    """Options to choose from, 2 to 50. When left out, the agents find their own positions."""
    attachments: _Attachments = ()
    """Files that belong to the question, at most 20: PNG, JPEG, GIF and WebP images, PDF documents, and texts. All
    agents must be able to see them."""
    decide: _Name | None = None
    """Name of the rule that derives a decision from a round's positions or votes, with parameters as in
    `supermajority(2/3)`. When left out: `schulze` if there is a vote, otherwise `plurality`. A rule for rankings,
    grades or approvals turns on the vote, unless the debate has options."""
    vote: bool | Literal["every"] = False
    """Whether the debating agents vote after the last round, or with `"every"` after every round. They vote on each
    other's answers, or on the options if the debate has any. Each vote costs one call per debating agent. Voters see
    the answers without names, and no agent sees the votes."""
    exit_when: _Question | JsonObject | None = None
    """Criterion that ends the debate early, as text (`consensus(0.9) & min_rounds(2)`) or as JSON
    (`{"kind": "consensus", "threshold": 0.9}`)."""
    exit_on_consensus: bool | None = None
    """Whether the debate also ends when agreement, convergence or confidence reaches its threshold in
    `ROUNDTABLE_EXIT_*`. An exit criterion, if given, is checked first."""
    quorum: _Quorum | None = None
    """Minimum number of answers per stage, or per round if agents answer one after another; with fewer answers, the
    debate fails (`QUORUM_LOST`). When left out: the quorum of the table or server, or 1 if they set none."""
    focus_question: _Question | None = None
    """Narrower question for the rounds."""
    perspectives: _Perspectives | None = None
    """Perspectives of an expert panel, by name or in full; with `"auto"`, a model writes them for the question."""
    search: SearchRequest | None = None
    """Whether agents search the web with their provider's own search: `"auto"` uses it if the provider has one, `false`
    turns it off, and an object sets its options. When left out, the setting of the table or server applies."""
    baseline: bool = False
    """Whether all agents first answer alone and in private, which costs one call per agent. No agent sees these
    answers. They are the basis of the independent agreement and the baselines in the result."""
    synthesize: bool = False
    """Whether one model summarizes the debate at its end (common ground, differences, conclusion), which costs one
    call. If the decision has no winner, this conclusion is the answer."""
    claims: bool = False
    """Whether agents also give their reasons as claims: at most five short sentences, each with its sources and with
    the earlier claims that it supports or attacks. Claims make answers and prompts longer; the estimate shows how
    much."""
    answer_schema: JsonObject | None = None
    """JSON Schema of an object that every agent returns in addition to its position, for use in your program. If the
    object does not match the schema, the agent is asked once more. `value` of the result is the object that more than
    half of the agents with the winning answer gave."""
    skip_rounds_when: Share | None = None
    """Level, 0 to 1: if the independent answers agree at least this much, the debate ends after the first round. `exit`
    of the result states how many rounds and turns this saved."""
    budget: Budget | None = None
    """Limits for this debate, in addition to those of the table or server."""
    deadline_s: _Deadline | None = None
    """Seconds after which running calls are cancelled and the result is partial."""
    metadata: _Metadata = Field(default_factory=dict)
    """Your own notes, stored with the session: at most 100 entries and 16 KiB as JSON."""

    def given_options(self) -> dict[str, object]:
        """Return the options that the caller gave, by name; options that were left out have no entry."""
        return {name: getattr(self, name) for name in _DebateOptions.model_fields if name in self.model_fields_set}


class DebateRequest(_DebateOptions):
    """A debate to run.

    Example:
        >>> DebateRequest(topic="Tea or coffee?", options=("Tea", "Coffee"), exit_when="consensus(0.9)").rounds
        3
    """

    topic: Topic
    """The question, 1 to 10,000 characters."""


class ForkRequest(_DebateOptions):
    """A new session that shares the past of another session; options that are left out keep their earlier values."""

    rounds: _Rounds = 3
    """Total number of rounds, including the shared ones."""
    agents: _Names | None = None
    """Agents that debate from now on: ids of offered agents (see `GET /api/agents`), or `provider:model`
    with a model of these agents, or one that the server lists in `models`."""
    options: _Options | None = None
    """Options to choose from, 2 to 50; null lets the agents find their own positions."""
    quorum: _Quorum | None = None
    """Minimum number of answers per stage, or per round if agents answer one after another; with fewer answers, the
    debate fails (`QUORUM_LOST`)."""
    search: SearchRequest | None = None
    """Whether agents search the web with their provider's own search: `"auto"` uses it if the provider has one, `false`
    turns it off, and an object sets its options."""
    at_round: Annotated[int, Field(ge=0)]
    """Last round that both sessions share; with 0, they share only the question."""
    context_results: _Results = ()
    """Answers to the agents' requests for information, for the coming rounds."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema without the defaults of a new debate, which a fork does not have."""
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name in _DebateOptions.model_fields:
            properties.get(cls.model_fields[name].alias or name, {}).pop("default", None)
        return schema


class ConversationRequest(_Request):
    """A request for a team of specialised agents."""

    agents: Annotated[tuple[_Name, ...], Field(min_length=1, max_length=5)]
    """Members of the team: one to five names of profiles (see `GET /api/profiles`), in speaking order."""
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=1_000)]
    """The conversation so far. It must contain a message of the user; the last message of the user is the request."""
    rounds: _Rounds = 2
    """Rounds of work, 1 to 10."""
    order: TeamOrder = "sequential"
    """Whether agents work one after another and read the reports of earlier agents (`sequential`), or work at the same
    time (`parallel`)."""
    timeout_s: _Deadline | None = None
    """Seconds after which running calls are cancelled and the result is partial. The server sets the maximum, which is
    also the default: 600 seconds unless configured otherwise."""
    budget: Budget | None = None
    """Limits for this conversation, in addition to those of the table or server."""
    metadata: _Metadata = Field(default_factory=dict)
    """Your own notes, stored with the session: at most 100 entries and 16 KiB as JSON."""


class ResumeRequest(_Request):
    """How to resume a session that was paused, that failed, or whose process ended."""

    context_results: _Results = ()
    """Answers to the agents' requests in `contextRequests` of the result."""
    force: bool = False
    """Whether to resume even if information that the agents require is missing; their prompts then state that it is."""
    budget: Budget | None = None
    """Limits for the whole debate, from its start. When left out, the original limits apply."""
    deadline_s: _Deadline | None = None
    """Seconds after which running calls are cancelled and the result is partial. A conversation of a team gets its full
    time limit again, unless you set a lower limit."""
    on_change: Literal["error", "adopt"] = "error"
    """What to do if agents or prompt texts differ from those at the start of the session: refuse (`error`), or use the
    new ones and record that in the session (`adopt`). With `adopt`, tools may also be called without the approval that
    the session required at its start, and calls that still wait in a batch may be paid for twice."""


class ExtendRequest(ResumeRequest):
    """More rounds for a session."""

    rounds: _Rounds = 1
    """Rounds to add."""
    focus_question: _Question | None = None
    """Narrower question for these rounds."""
