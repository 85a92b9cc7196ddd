"""Requests to models and their answers, the same for every provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import AliasChoices, BeforeValidator, Field, PrivateAttr

from roundtable.core.types.answers import Citation, ImageResult
from roundtable.core.types.base import (
    FilePart,
    ImagePart,
    JsonObject,
    JsonValue,
    NativeContent,
    NativeSearch,
    NonEmpty,
    RateLimit,
    ServerCall,
    Timestamp,
    Value,
)

__all__ = [
    "NO_USAGE",
    "AgentTool",
    "ChatDelta",
    "ChatRequest",
    "ChatResponse",
    "FinishReason",
    "Message",
    "ModelCall",
    "OpenApproval",
    "OutputSchema",
    "ToolCall",
    "ToolCallDelta",
    "ToolResult",
    "Usage",
]

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "refusal", "pause", "other"]
"""Why a completion ended, with the same values for all providers; `pause` means that another call must continue it."""

Count: TypeAlias = Annotated[int, Field(ge=0)]


class Usage(Value):
    """Tokens, calls and cost of model calls. Token counts are those that the provider reports; `+` adds usages.

    If a provider reports nothing, or if an answer breaks off, the counts are unknown rather than zero.
    `unreported_calls` is the number of such calls.

    Example:
        >>> (Usage(input_tokens=10, calls=1) + Usage(output_tokens=5, calls=1)).total_tokens
        15
    """

    input_tokens: Count = 0
    """Input tokens, including cached tokens."""
    output_tokens: Count = 0
    """Output tokens, including reasoning."""
    cache_read_tokens: Count = 0
    """Part of the input that was read from a cache."""
    cache_write_tokens: Count = 0
    """Part of the input that was written to a cache."""
    long_cache_write_tokens: Count = 0
    """Part of `cache_write_tokens` that the cache keeps for an hour, which costs more than for minutes."""
    reasoning_tokens: Count = 0
    """Part of the output that was used for reasoning."""
    searches: Count = 0
    """Web searches that providers ran themselves and reported; some are billed in addition to tokens."""
    calls: Count = 0
    """Model calls made."""
    unreported_calls: Count = 0
    """Calls for which the provider reported no usage. If there are any, the token counts are lower bounds."""
    cost_usd: Annotated[float, Field(ge=0)] | None = None
    """Cost in US dollars; `None` if the price of any call is unknown. It is never a guess."""
    partial_cost_usd: Annotated[float, Field(ge=0)] | None = None
    """Known part of the cost if `cost_usd` is unknown; `None` if no part is known, or if the whole cost is known."""
    saved_usd: float | None = None
    """US dollars saved by prompt caches and batches, compared with the price without them, as far as prices are known.
    The value is negative if writing to a cache cost more than reading from it saved. `None` if neither was used."""

    @property
    def known_cost_usd(self) -> float:
        """Known cost in US dollars: `cost_usd`, else `partial_cost_usd`, else 0."""
        return (self.partial_cost_usd or 0.0) if self.cost_usd is None else self.cost_usd

    @property
    def total_tokens(self) -> int:
        """Input plus output tokens."""
        return self.input_tokens + self.output_tokens

    @property
    def _cached(self) -> int:
        return self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: Usage) -> Usage:
        """Add two usages; if a part of the cost is unknown, the cost of the sum is unknown.

        Costs are added as decimals: with at most 15 significant digits, the order makes no difference.
        """
        # Without a type checker, a caller may pass another type, and then gets a TypeError.
        if not isinstance(other, Usage):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        if not self.calls and self._is_empty:
            return other
        if not other.calls and other._is_empty:
            return self
        cost, partial = _add_costs(self, other)
        fields = {
            "input_tokens": self.input_tokens + other.input_tokens,
            "output_tokens": self.output_tokens + other.output_tokens,
            "cache_read_tokens": self.cache_read_tokens + other.cache_read_tokens,
            "cache_write_tokens": self.cache_write_tokens + other.cache_write_tokens,
            "long_cache_write_tokens": self.long_cache_write_tokens + other.long_cache_write_tokens,
            "reasoning_tokens": self.reasoning_tokens + other.reasoning_tokens,
            "searches": self.searches + other.searches,
            "calls": self.calls + other.calls,
            "unreported_calls": self.unreported_calls + other.unreported_calls,
            "cost_usd": cost,
            "partial_cost_usd": partial,
            "saved_usd": _add_saved(self.saved_usd, other.saved_usd),
        }
        return Usage._from_fields(fields, set(fields))

    @property
    def _is_empty(self) -> bool:
        return not (self.calls or self.total_tokens or self.known_cost_usd or self.reasoning_tokens or self._cached)


NO_USAGE: Final = Usage()
"""The usage of no calls. Values are frozen, so one object is enough."""


def _add_saved(left: float | None, right: float | None) -> float | None:
    if left is None or right is None:
        return right if left is None else left
    return float(Decimal(repr(left)) + Decimal(repr(right)))


def _add_costs(left: Usage, right: Usage) -> tuple[float | None, float | None]:
    """Return the cost of a sum and, if the whole cost is unknown, the known part of it."""
    costs = [cost for usage in (left, right) for cost in (usage.cost_usd, usage.partial_cost_usd) if cost is not None]
    if not costs:
        return None, None
    known = float(Decimal(repr(left.known_cost_usd)) + Decimal(repr(right.known_cost_usd)))
    # A usage without calls has no unknown cost.
    if any(usage.cost_usd is None and (usage.calls or usage.partial_cost_usd is not None) for usage in (left, right)):
        return None, known
    return known, None


class AgentTool(Value):
    """A tool as a model sees it."""

    name: NonEmpty
    """Name by which the model calls the tool."""
    description: str
    """What the tool does, and when to use it."""
    parameters: Mapping[str, JsonValue] = Field(default_factory=dict)
    """JSON Schema of the arguments object."""


class ToolCall(Value):
    """A tool call requested by a model."""

    id: str
    """Id of the call; the result repeats it."""
    name: str
    """Tool name."""
    arguments: Mapping[str, JsonValue] = Field(
        default_factory=dict, validation_alias="args", serialization_alias="args"
    )
    """The arguments as an object; named `args` in JSON."""
    invalid: str | None = None
    """Text of the arguments if they are not a JSON object. Such a call returns an error, and the tool never runs."""


class ToolCallDelta(Value):
    """A piece of a streamed tool call."""

    index: Count
    """Number of the call; the answer lists its calls in this order."""
    id: str = ""
    """Call id, in the first piece."""
    name: str = ""
    """Tool name, in the first piece."""
    arguments: str = ""
    """JSON text that this piece appends to the arguments."""


class ToolResult(Value):
    """Result of a tool; a failure is also a result, not an exception."""

    success: bool
    """Whether the tool succeeded."""
    data: JsonValue = None
    """Return value of the tool."""
    error: str | None = None
    """Description of the failure, in words that help the model."""


class OpenApproval(Value):
    """A tool call that waits for approval."""

    approval_id: str
    """Id of this request for approval."""
    tool_call_id: str = ""
    """Id of the tool call, as in the events `agent_tool_call` and `approval_requested`; empty in questions of older
    versions."""
    agent_id: str
    """Agent that calls the tool."""
    round: int = 0
    """Round, from 1; 0 before the first one."""
    tool_name: str
    """Name of the tool."""
    description: str = ""
    """What the tool does."""
    arguments: JsonObject = Field(default_factory=dict)
    """Arguments of the call; a model wrote them."""
    asked_at: Timestamp
    """When the agent called the tool."""
    expires_at: Timestamp
    """When the call is refused if nobody has decided by then."""


class Message(Value):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    """Role of the author."""
    content: str = ""
    """Text of the message."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Tool calls requested by an assistant message."""
    tool_call_id: str | None = None
    """Id of the tool call that a tool message answers."""
    images: tuple[ImagePart, ...] = ()
    """Images of a user message, shown before its text."""
    files: tuple[FilePart, ...] = ()
    """Documents of a user message, shown before its text."""
    native: NativeContent | None = None
    """The answer in its provider's own format; it is sent back unchanged to that provider, and other providers ignore
    it."""
    cache: bool = False
    """Whether to cache the prompt up to this message, for providers that cache only on request."""


class OutputSchema(Value):
    """A JSON Schema that the answer must satisfy."""

    name: NonEmpty
    """Short name of letters, digits, `_` and `-`."""
    definition: JsonObject
    """The schema."""


def _as_schema(value: object) -> object:
    """Wrap a plain JSON Schema, with its title as the name."""
    if not isinstance(value, dict) or "definition" in value:
        return value
    title = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in str(value.get("title", "")))
    return {"name": title[:64] or "answer", "definition": value}


def _as_search(value: object) -> object:
    return NativeSearch() if value is True else value


class ChatRequest(Value):
    """One model call, in a form that does not depend on the provider.

    Example:
        >>> ChatRequest(model="m", messages=(Message(role="user", content="Hello"),)).max_tokens
        4096
    """

    model: str = ""
    """The provider's model id; if empty, the id of the model object that gets the request."""
    messages: tuple[Message, ...]
    """The conversation, system message first."""
    temperature: float | None = None
    """Sampling temperature; with `None`, the request contains no temperature."""
    max_tokens: Annotated[int, Field(gt=0)] = 4096
    """Maximum tokens to generate."""
    tools: tuple[AgentTool, ...] = ()
    """Tools that the model may call."""
    tool_choice: str = "auto"
    """`auto`, `none`, `required`, or the name of the only tool to call; ignored if there are no tools."""
    output_schema: Annotated[OutputSchema | None, BeforeValidator(_as_schema)] = Field(
        default=None,
        validation_alias=AliasChoices("outputSchema", "output_schema", "responseSchema", "response_schema"),
    )
    """Schema of the requested JSON, for models that support it. The name `response_schema` and a plain JSON Schema are
    also accepted."""
    search: Annotated[NativeSearch | Literal[False] | None, BeforeValidator(_as_search)] = None
    """Web search by the provider itself; `True` searches with the default options. `False` and `None` request no
    search, and `False` also turns off a search that the model makes by default."""
    stop: tuple[str, ...] = ()
    """Texts that end the answer, if the provider supports them."""
    seed: int | None = None
    """Sampling seed, if the provider supports one."""
    extra_body: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Additional fields of the request in the provider's own format. They replace fields of the same name."""
    extra_headers: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """Additional headers of the request to the provider; they never replace the key."""
    metadata: Mapping[str, str] = Field(default_factory=dict)
    """Facts such as `agent`, `session`, `round`, `stage` and `slot`, for logs and test doubles; they are never sent."""

    @property
    def instructions(self) -> str:
        """The system messages as one text."""
        return "\n\n".join(message.content for message in self.messages if message.role == "system")

    @property
    def prompt(self) -> str:
        r"""The other messages as one text, for models that accept no conversation; answers and tool results are marked.

        Example:
            >>> asked, again = Message(role="user", content="Well?"), Message(role="user", content="As JSON, please.")
            >>> ChatRequest(messages=(asked, Message(role="assistant", content="Tea."), again)).prompt
            'Well?\n\nYour last answer was:\nTea.\n\nAs JSON, please.'
        """
        marked = {"assistant": "Your last answer was:\n", "tool": "A tool returned:\n"}
        parts = (
            marked.get(message.role, "") + message.content for message in self.messages if message.role != "system"
        )
        return "\n\n".join(parts)

    @property
    def response_schema(self) -> JsonObject | None:
        """The bare JSON Schema of `output_schema`."""
        return None if self.output_schema is None else self.output_schema.definition


class ChatResponse(Value):
    """A completion, in a form that does not depend on the provider."""

    text: str
    """The generated text."""
    finish_reason: FinishReason = "stop"
    """Why the completion ended."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Tool calls that the model requests."""
    citations: tuple[Citation, ...] = ()
    """Sources that the provider's own search returned."""
    images: tuple[ImageResult, ...] = ()
    """Images that the provider's own search returned."""
    related_questions: tuple[str, ...] = ()
    """Follow-up questions that the provider suggested."""
    server_calls: tuple[ServerCall, ...] = ()
    """Tools that the provider ran itself, such as its web search."""
    reasoning: str = ""
    """The part of the model's reasoning that the provider shows."""
    native: NativeContent | None = None
    """The answer in the provider's own format, if the next call must send it back."""
    usage: Usage = Usage(calls=1)
    """What the call consumed."""
    provider: str | None = None
    """Provider that answered, if several providers were tried."""
    model: str | None = None
    """Model that answered, with the provider's name for it."""
    request_id: str | None = None
    """The provider's id of the call, for support requests."""
    warnings: tuple[str, ...] = ()
    """Notes for a reader about the call, such as models that did not answer."""
    rate_limit: RateLimit | None = None
    """Remaining rate limits, if the provider reports them."""
    _raw: JsonObject | None = PrivateAttr(default=None)

    @property
    def raw(self) -> JsonObject | None:
        """The provider's unparsed answer, for fields unknown to this library; for a stream, only if sent as a whole.

        This answer is not part of the JSON form, and is never stored.
        """
        return self._raw

    def with_raw(self, raw: JsonObject | None) -> Self:
        """Return a copy of this answer, with the provider's unparsed answer attached."""
        copy = self.model_copy()
        copy._raw = raw  # noqa: SLF001  (same class)
        return copy

    def __eq__(self, other: object) -> bool:
        """Compare the fields; unparsed answers of providers are ignored."""
        return self.__dict__ == other.__dict__ if isinstance(other, ChatResponse) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))

    def to_message(self) -> Message:
        """Return the answer as a message of the conversation, with everything that the provider needs to continue."""
        return Message(role="assistant", content=self.text, tool_calls=self.tool_calls, native=self.native)


class ChatDelta(Value):
    """A piece of a streamed completion; all pieces together are the whole answer."""

    text: str = ""
    """Text added by this piece."""
    reasoning: str = ""
    """Visible reasoning that this piece adds."""
    tool_calls: tuple[ToolCallDelta, ...] = ()
    """Pieces of tool calls."""
    citations: tuple[Citation, ...] = ()
    """Sources that this piece adds."""
    usage: Usage | None = None
    """What the call has consumed so far; the last value counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One try of a model call, in the form in which observers receive it with `notify_call` when the try is over.

    A call that fails and is retried consists of several tries, with one object for each. The object contains no text of
    the request or of the answer.
    """

    provider: str
    """Provider that received the request."""
    model: str
    """Model that was requested."""
    endpoint: str
    """Root of the API; empty if there is none."""
    started_at: datetime
    """When the try began."""
    duration_s: float
    """Seconds until the end of the try, without the wait for admission and the waits between tries."""
    first_text_s: float | None = None
    """Seconds until the first piece of text, if the answer was streamed."""
    attempt: int = 1
    """Number of the try, from 1."""
    usage: Usage | None = None
    """What the try consumed; `None` if that is unknown."""
    finish_reason: FinishReason | None = None
    """Why the answer ended; `None` without an answer."""
    response_model: str | None = None
    """Model that answered."""
    request_id: str | None = None
    """The provider's id of the request."""
    error: str | None = None
    """Class of the error of a failed try, such as `"APIRateLimitError"`; `"cancelled"` for a cancelled try."""
    status: int | None = None
    """HTTP status of a failed try, if it has one."""
    temperature: float | None = None
    """Temperature that was requested."""
    max_tokens: int | None = None
    """Maximum tokens that were requested."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Purpose of the call: `session`, `agent`, `round`, `stage` and `slot` of a turn, or a `purpose`."""
