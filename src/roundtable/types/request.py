"""What callers can ask for: a debate, a fork, a team's conversation, more of a stored session.

This is the list of options, with defaults, limits and descriptions. The signatures of `Roundtable`, the bodies of the
HTTP API, the inputs of the MCP tools and the keywords of the client follow from it; `tools/generate.py` writes those
that are code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field
from pydantic_core import to_json

from roundtable.types.answers import ContextResult
from roundtable.types.attachments import Attachment
from roundtable.types.base import JsonObject, JsonValue, NativeSearch, Share, Value
from roundtable.types.budget import Budget
from roundtable.types.debate import AnyPerspective, Topic
from roundtable.types.teams import ChatMessage, TeamOrder

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

__all__ = ["ConversationRequest", "DebateRequest", "ExtendRequest", "ForkRequest", "ResumeRequest", "SearchRequest"]

_LONGEST_DEADLINE_S: Final = 86_400.0
_MOST_METADATA_BYTES: Final = 16 * 1024


def _check_size(metadata: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    if len(to_json(metadata)) > _MOST_METADATA_BYTES:
        raise ValueError(f"metadata takes at most {_MOST_METADATA_BYTES} bytes as JSON")
    return metadata


SearchRequest: TypeAlias = Literal["auto"] | bool | NativeSearch
"""How agents search the web: `"auto"` where their provider has a search, `False` not at all, or its options."""

_Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
_Names: TypeAlias = Annotated[tuple[_Name, ...], Field(min_length=1, max_length=50)]
_Option: TypeAlias = Annotated[str, Field(min_length=1, max_length=1_000)]
_Options: TypeAlias = Annotated[tuple[_Option, ...], Field(min_length=2, max_length=50)]
_Attachments: TypeAlias = Annotated[tuple[Attachment, ...], Field(max_length=20)]
_Perspectives: TypeAlias = Literal["auto"] | Annotated[tuple[AnyPerspective, ...], Field(min_length=1, max_length=50)]
_Rounds: TypeAlias = Annotated[int, Field(ge=1)]
_Question: TypeAlias = Annotated[str, Field(min_length=1, max_length=10_000)]
_Quorum: TypeAlias = Annotated[int, Field(ge=1)]
_Deadline: TypeAlias = Annotated[float, Field(gt=0, le=_LONGEST_DEADLINE_S)]
_Metadata: TypeAlias = Annotated[Mapping[str, JsonValue], Field(max_length=100), AfterValidator(_check_size)]
_Results: TypeAlias = Annotated[tuple[ContextResult, ...], Field(max_length=100)]


class _Request(Value):
    """What a caller asks for; its JSON schema lists first what has to be given."""

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
    """Options of a debate, and of a fork of one."""

    mode: _Name = "collaborative"
    """Debate mode: its name (`GET /api/modes` lists them), with its options after a colon, as in
    `expert-panel:facilitated=true`."""
    rounds: _Rounds = 3
    """Maximum number of rounds, 1 to 10 unless `ROUNDTABLE_MAX_ROUNDS` allows more."""
    agents: _Names | None = None
    """Who debates: ids of agents that are offered (`GET /api/agents`, `get_agents`), or `provider:model` of one of
    their providers. All agents when left out."""
    options: _Options | None = None
    """Options to choose from, 2 to 50. When left out, the agents find their own positions."""
    attachments: _Attachments = ()
    """Files that belong to the question, at most 20: PNG, JPEG, GIF and WebP images, PDF documents, and texts. All
    agents must be able to see them."""
    decide: _Name | None = None
    """Rule that turns a round's positions, or its votes, into a decision: its name, with parameters as in
    `supermajority(2/3)`. When left out, `schulze` with a vote, else `plurality`. A rule for rankings, grades or
    approvals asks for a vote by itself, unless the debate has options."""
    vote: bool | Literal["every"] = False
    """Whether the debaters vote on each other's answers, or on the options, after the last round, or with `"every"`
    after every round, at the price of one call each. They see the answers without names, and no agent sees the
    votes."""
    exit_when: _Question | JsonObject | None = None
    """Criterion that ends the debate early, as text (`consensus(0.9) & min_rounds(2)`) or as JSON
    (`{"kind": "consensus", "threshold": 0.9}`)."""
    exit_on_consensus: bool | None = None
    """Whether to end also when agreement, convergence or confidence reach the thresholds of `ROUNDTABLE_EXIT_*`;
    checked after the criterion."""
    quorum: _Quorum | None = None
    """Minimum number of answers per stage, or per round if agents answer one after another; with fewer, the debate
    fails (`QUORUM_LOST`). When left out, as set for the table or server, else 1."""
    focus_question: _Question | None = None
    """Narrower question for the rounds."""
    perspectives: _Perspectives | None = None
    """Perspectives of an expert panel, by name or in full; `"auto"` has a model write them for the question."""
    search: SearchRequest | None = None
    """Whether agents search the web with their provider's own search: `"auto"` where it has one, `false` not at all,
    or options of that search. When left out, as set for the table or server."""
    baseline: bool = False
    """Whether all agents first answer alone and in private, at the price of one call each. No agent sees these answers;
    the independent agreement and the baselines of the result are computed from them."""
    synthesize: bool = False
    """Whether one model sums the debate up at its end, at the price of one call: common ground, differences,
    conclusion. It is the answer where the decision has no winner."""
    claims: bool = False
    """Whether agents give their reasons also as claims: at most five short sentences, each with the earlier claims that
    it supports or attacks, and its sources. Answers and prompts grow by it; the estimate says by how much."""
    answer_schema: JsonObject | None = None
    """JSON Schema of an object that every agent gives beside its position, such as the type of your program. It is
    checked against the schema, and the agent is asked once more if it does not fit. `value` of the result is what those
    who hold the answer agree on."""
    skip_rounds_when: Share | None = None
    """Hold no round after the first if the independent answers agree at least this much, 0 to 1; `exit` of the result
    says what was saved."""
    budget: Budget | None = None
    """Limits for this debate, in addition to those of the table or server."""
    deadline_s: _Deadline | None = None
    """Seconds after which running calls are cancelled and the result is partial."""
    metadata: _Metadata = Field(default_factory=dict)
    """Your own notes, stored with the session: at most 100, and 16 KiB as JSON."""

    def given_options(self) -> dict[str, object]:
        """Return the options that the caller gave, by name; those left out have no entry."""
        return {name: getattr(self, name) for name in _DebateOptions.model_fields if name in self.model_fields_set}


class DebateRequest(_DebateOptions):
    """A debate to hold.

    Example:
        >>> DebateRequest(topic="Tea or coffee?", options=("Tea", "Coffee"), exit_when="consensus(0.9)").rounds
        3
    """

    topic: Topic
    """The question, 1 to 10,000 characters."""


class ForkRequest(_DebateOptions):
    """A new session that shares the past of another; an option that is left out is as it was."""

    rounds: _Rounds = 3
    """Rounds in all, the shared ones included."""
    agents: _Names | None = None
    """Who debates from now on: ids of agents that are offered (`GET /api/agents`), or `provider:model` of one of their
    providers."""
    options: _Options | None = None
    """Options to choose from, 2 to 50; null lets the agents find their own positions."""
    quorum: _Quorum | None = None
    """Minimum number of answers per stage, or per round if agents answer one after another; with fewer, the debate
    fails (`QUORUM_LOST`)."""
    search: SearchRequest | None = None
    """Whether agents search the web with their provider's own search: `"auto"` where it has one, `false` not at all,
    or options of that search."""
    at_round: Annotated[int, Field(ge=0)]
    """Last round that both share; 0 shares the question alone."""
    context_results: _Results = ()
    """Answers to what the agents asked for, for the rounds to come."""

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
    """Who works on it: one to five names of profiles (`GET /api/profiles`), in speaking order."""
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=1_000)]
    """The conversation, which ends with the request: at least one message of the user."""
    rounds: _Rounds = 2
    """Rounds of work, 1 to 10."""
    order: TeamOrder = "sequential"
    """Whether agents work one after another and read the reports before theirs (`sequential`), or at the same time
    (`parallel`)."""
    timeout_s: _Deadline | None = None
    """Seconds after which running calls are cancelled and the result is partial. At most, and when left out, what the
    server allows: 600 unless set otherwise."""
    budget: Budget | None = None
    """Limits for this conversation, in addition to those of the table or server."""
    metadata: _Metadata = Field(default_factory=dict)
    """Your own notes, stored with the session: at most 100, and 16 KiB as JSON."""


class ResumeRequest(_Request):
    """How to resume a session that was paused, broke, or whose process died."""

    context_results: _Results = ()
    """Answers to what the agents asked for, in `contextRequests` of the result."""
    force: bool = False
    """Resume without information that agents require and nobody gave; the agents read that it is missing."""
    budget: Budget | None = None
    """Limits for the whole debate, from its start. When left out, the limits that it started with."""
    deadline_s: _Deadline | None = None
    """Seconds after which running calls are cancelled and the result is partial. A team's conversation has its time
    limit anew, and can be given less."""
    on_change: Literal["error", "adopt"] = "error"
    """What to do where agents or prompt texts differ from those the session began with: refuse (`error`), or use the
    new ones and note it in the session (`adopt`). `adopt` also accepts that tools are called without the approval that
    the session began with, and that calls that wait in a batch are paid for again."""


class ExtendRequest(ResumeRequest):
    """Further rounds of a session."""

    rounds: _Rounds = 1
    """Rounds to add."""
    focus_question: _Question | None = None
    """Narrower question for these rounds."""
