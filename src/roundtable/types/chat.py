"""What goes to a model and what comes back, the same for every provider."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AliasChoices, BeforeValidator, Field, PrivateAttr

from roundtable.types.answers import Citation, ImageResult
from roundtable.types.base import JsonObject, JsonValue, NonEmpty, Value
from roundtable.types.content import ImagePart, NativeContent, NativeSearch, RateLimit, ServerCall

__all__ = [
    "AgentTool",
    "ChatDelta",
    "ChatRequest",
    "ChatResponse",
    "FinishReason",
    "Message",
    "OutputSchema",
    "ToolCall",
    "ToolCallDelta",
    "ToolResult",
    "Usage",
]

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "refusal", "pause", "other"]
"""Why a completion ended, in one vocabulary for all providers; `pause` asks to be called again to go on."""

Count: TypeAlias = Annotated[int, Field(ge=0)]


class Usage(Value):
    """What calls consumed. Counts are tokens as the provider reported them; they add up with `+`.

    A provider that reports nothing, or an answer that broke off, leaves counts unknown rather than zero:
    `unreported_calls` says of how many calls.

    Example:
        >>> (Usage(input_tokens=10, calls=1) + Usage(output_tokens=5, calls=1)).total_tokens
        15
    """

    input_tokens: Count = 0
    """Tokens sent, cached ones included."""
    output_tokens: Count = 0
    """Tokens generated, reasoning included."""
    cache_read_tokens: Count = 0
    """Part of the input served from a cache."""
    cache_write_tokens: Count = 0
    """Part of the input written to a cache."""
    reasoning_tokens: Count = 0
    """Part of the output spent on reasoning."""
    calls: Count = 0
    """Model calls made."""
    unreported_calls: Count = 0
    """Calls of these whose provider did not say what they consumed; the counts of tokens are then a lower bound."""
    cost_usd: Annotated[float, Field(ge=0)] | None = None
    """Price in US dollars; `None` when the price of any call is unknown, never a guess."""
    partial_cost_usd: Annotated[float, Field(ge=0)] | None = None
    """Of a price that is unknown as a whole: the part that is known; `None` where nothing is, or all."""

    @property
    def known_cost_usd(self) -> float:
        """What is known of the price in US dollars: `cost_usd`, else the part that is known, else 0."""
        return (self.partial_cost_usd or 0.0) if self.cost_usd is None else self.cost_usd

    @property
    def total_tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    @property
    def _cached(self) -> int:
        return self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: Usage) -> Usage:
        """Add two usages; the cost of a sum with an unknown part is unknown.

        Costs are added as decimals: with at most 15 significant digits the order makes no difference.
        """
        # A caller without a type checker gets a TypeError.
        if not isinstance(other, Usage):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        if self._is_nothing:
            return other
        if other._is_nothing:
            return self
        cost, partial = _add_costs(self, other)
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            calls=self.calls + other.calls,
            unreported_calls=self.unreported_calls + other.unreported_calls,
            cost_usd=cost,
            partial_cost_usd=partial,
        )

    @property
    def _is_nothing(self) -> bool:
        return not (self.calls or self.total_tokens or self.known_cost_usd or self.reasoning_tokens or self._cached)


def _add_costs(one: Usage, two: Usage) -> tuple[float | None, float | None]:
    """Give the price of a sum, and what is known of it where it is unknown."""
    stated = [cost for part in (one, two) for cost in (part.cost_usd, part.partial_cost_usd) if cost is not None]
    if not stated:
        return None, None
    known = float(Decimal(repr(one.known_cost_usd)) + Decimal(repr(two.known_cost_usd)))
    # Where nothing was called, nothing is unknown.
    if any(part.cost_usd is None and (part.calls or part.partial_cost_usd is not None) for part in (one, two)):
        return None, known
    return known, None


class AgentTool(Value):
    """A tool as a model sees it."""

    name: NonEmpty
    """Name the model calls."""
    description: str
    """What it does and when to use it."""
    parameters: Mapping[str, JsonValue] = Field(default_factory=dict)
    """JSON Schema of the arguments object."""


class ToolCall(Value):
    """A model's wish to call a tool."""

    id: str
    """Call id, echoed with the result."""
    name: str
    """Tool name."""
    arguments: Mapping[str, JsonValue] = Field(
        default_factory=dict, validation_alias="args", serialization_alias="args"
    )
    """Arguments object; `args` in JSON."""
    invalid: str | None = None
    """What the model wrote where it wrote no JSON object; such a call is answered with an error, never run."""


class ToolCallDelta(Value):
    """A piece of a streamed tool call."""

    index: Count
    """Number of the call; the answer holds its calls in the order of their numbers."""
    id: str = ""
    """Call id, in the first piece."""
    name: str = ""
    """Tool name, in the first piece."""
    arguments: str = ""
    """JSON text that this piece adds to the arguments."""


class ToolResult(Value):
    """What a tool returned; a failing tool is a result, not an exception."""

    success: bool
    """Whether the tool did its work."""
    data: JsonValue = None
    """The outcome."""
    error: str | None = None
    """What went wrong, in words the model can use."""


class Message(Value):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    """Who speaks."""
    content: str = ""
    """Text of the message."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Calls an assistant message asks for."""
    tool_call_id: str | None = None
    """Which call a tool message answers."""
    images: tuple[ImagePart, ...] = ()
    """Images of a user message, shown before its text."""
    native: NativeContent | None = None
    """An answer as its provider wrote it; sent back unchanged to that provider, passed over by others."""
    cache: bool = False
    """Whether the prompt up to here is worth keeping in the provider's cache, where that has to be asked for."""


class OutputSchema(Value):
    """A JSON Schema the answer must satisfy."""

    name: NonEmpty
    """Short name, letters, digits, `_` and `-`."""
    definition: JsonObject
    """The schema."""


def _as_schema(value: object) -> object:
    """Take a bare JSON Schema for one that is named by its title."""
    if not isinstance(value, dict) or "definition" in value:
        return value
    title = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in str(value.get("title", "")))
    return {"name": title[:64] or "answer", "definition": value}


def _as_search(value: object) -> object:
    return {True: NativeSearch(), False: None}[value] if isinstance(value, bool) else value


class ChatRequest(Value):
    """One model call, in no provider's dialect.

    Example:
        >>> ChatRequest(model="m", messages=(Message(role="user", content="Hello"),)).max_tokens
        4096
    """

    model: str = ""
    """The provider's model id; empty takes the model's own."""
    messages: tuple[Message, ...]
    """The conversation, system message first."""
    temperature: float | None = None
    """Sampling temperature; `None` sends none."""
    max_tokens: Annotated[int, Field(gt=0)] = 4096
    """Most tokens to generate."""
    tools: tuple[AgentTool, ...] = ()
    """Tools offered."""
    tool_choice: str = "auto"
    """`auto`, `none`, `required`, or the name of the one tool to call; without tools it means nothing."""
    output_schema: Annotated[OutputSchema | None, BeforeValidator(_as_schema)] = Field(
        default=None,
        validation_alias=AliasChoices("outputSchema", "output_schema", "responseSchema", "response_schema"),
    )
    """Schema of the wanted JSON, for models that support it; `response_schema` is read as well, and so is a bare
    JSON Schema."""
    search: Annotated[NativeSearch | None, BeforeValidator(_as_search)] = None
    """Search of the web by the provider itself; `True` searches with the defaults."""
    stop: tuple[str, ...] = ()
    """Texts that end the answer, where the provider has them."""
    seed: int | None = None
    """Sampling seed, where the provider has one."""
    extra_body: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Fields of the provider's own request; they are merged into it last and win."""
    extra_headers: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """Headers of the provider's own; they never replace the key."""
    metadata: Mapping[str, str] = Field(default_factory=dict)
    """Facts such as `agent`, `round` and `slot` for logs and doubles; never sent."""

    @property
    def response_schema(self) -> JsonObject | None:
        """The schema of the wanted JSON, bare."""
        return None if self.output_schema is None else self.output_schema.definition


class ChatResponse(Value):
    """A completion, in no provider's dialect."""

    text: str
    """The generated text."""
    finish_reason: FinishReason = "stop"
    """Why it ended."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Tools the model wants called."""
    citations: tuple[Citation, ...] = ()
    """Sources the provider's own search returned."""
    images: tuple[ImageResult, ...] = ()
    """Images the provider's own search returned."""
    related_questions: tuple[str, ...] = ()
    """Follow-up questions the provider suggested."""
    server_calls: tuple[ServerCall, ...] = ()
    """Tools that the provider ran itself, such as its search of the web."""
    reasoning: str = ""
    """What the model shows of its reasoning."""
    native: NativeContent | None = None
    """The answer as the provider wrote it, where it asks to get that back in the next call."""
    usage: Usage = Usage(calls=1)
    """What the call consumed."""
    provider: str | None = None
    """Provider that answered, where several were asked in turn."""
    model: str | None = None
    """Model that answered, as the provider named it."""
    request_id: str | None = None
    """The provider's id of the call, for support requests."""
    warnings: tuple[str, ...] = ()
    """What a reader should know of the call, such as models that did not answer."""
    rate_limit: RateLimit | None = None
    """What is left of the provider's limits, where it says so."""
    _raw: JsonObject | None = PrivateAttr(default=None)

    @property
    def raw(self) -> JsonObject | None:
        """The answer as it came, for what this library does not know; of a stream only where it is said whole.

        It is no part of the JSON form, and is never stored.
        """
        return self._raw

    def with_raw(self, raw: JsonObject | None) -> Self:
        """Give the same answer with the provider's own form of it."""
        copy = self.model_copy()
        copy._raw = raw  # noqa: SLF001  (its own class)
        return copy

    def __eq__(self, other: object) -> bool:
        """Compare what the answers say; how their providers wrote it makes no difference."""
        return self.__dict__ == other.__dict__ if isinstance(other, ChatResponse) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))

    def to_message(self) -> Message:
        """Give the answer as a message of the conversation, with all that the provider needs to go on."""
        return Message(role="assistant", content=self.text, tool_calls=self.tool_calls, native=self.native)


class ChatDelta(Value):
    """A piece of a streamed completion; the pieces together say what the whole answer says."""

    text: str = ""
    """Text added by this piece."""
    reasoning: str = ""
    """Shown reasoning added by this piece."""
    tool_calls: tuple[ToolCallDelta, ...] = ()
    """Pieces of tool calls."""
    citations: tuple[Citation, ...] = ()
    """Sources that came to light with this piece."""
    usage: Usage | None = None
    """What the call consumed so far; the last one counts."""
