"""Agents of a debate: configurations, personas and perspectives."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from roundtable.core.base.arguments import explains_arguments
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.argument_value import ArgumentValue
from roundtable.core.types.base import JsonValue, KeepsNulls, NativeSearch, NonEmpty, SearchProfile, Value, as_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "AIProvider",
    "AgentConfig",
    "AgentHealth",
    "AgentId",
    "AgentInfo",
    "AgentProfile",
    "BatchOptions",
    "Breaker",
    "ErrorAction",
    "GeneratedPerspective",
    "InputKind",
    "ModelProfile",
    "Persona",
    "Perspective",
    "ProviderConfig",
    "RetryKind",
    "RetryPolicy",
]


ErrorAction: TypeAlias = Literal["skip", "retry", "abort"]
"""What happens when an agent's turn fails: `skip` continues without the turn, `retry` takes it once more and then
continues, `abort` ends the run."""

_PROFILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MAX_STEPS: Final = 50
_MOST_CALLS: Final = 1000


@dataclass(frozen=True)
class AgentProfile:
    """A specialised agent of a team, with its own instructions, tools and limits.

    Args:
        name: Name that selects this agent; up to 100 letters, digits, `.`, `_` and `-`.
        instructions: Who the agent is and what it does; trusted text at the start of its system prompt.
        model: `"provider:model"`, or a chat model; a model of the table if omitted.
        tools: Tools that the agent may call: names of tools of the table or of plugins, typed functions, or tool
            objects. A session stores only the names. To resume the session at another table, that table needs tools
            with the same names.
        max_steps: Maximum model calls of one turn, 1 to 50.
        on_error: What happens when the agent's turn fails: continue without it (`"skip"`), take it once more and then
            continue (`"retry"`), or end the conversation (`"abort"`).
        temperature: Sampling temperature in [0, 2]; with `None`, requests contain no temperature.
        max_tokens: Maximum tokens of one answer.

    Raises:
        ConfigurationError: A value is out of range.

    Example:
        >>> AgentProfile("data-steward", instructions="You know the customer database.").max_steps
        4
    """

    name: str
    instructions: str = ""
    model: object | None = None
    tools: Sequence[object] = ()
    max_steps: int = 4
    on_error: ErrorAction = "skip"
    temperature: float | None = 0.7
    max_tokens: int = 4096

    def __post_init__(self) -> None:
        """Check the values."""
        problem = _find_problem(self)
        if problem is not None:
            raise ConfigurationError(f"profile {self.name!r}: {problem}")


def _find_problem(profile: AgentProfile) -> str | None:
    """Return a description of the first invalid value of a profile; `None` if all values are valid."""
    steps, actions = profile.max_steps, get_args(ErrorAction)
    if not isinstance(profile.name, str) or not _PROFILE_NAME.fullmatch(profile.name):
        return "the name must have 1 to 100 letters, digits, '.', '_' or '-', and begin with a letter or digit"
    if not isinstance(profile.instructions, str):
        return "instructions must be a string"
    if isinstance(profile.tools, str) or not hasattr(profile.tools, "__iter__"):
        return "tools must be a list"
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= _MAX_STEPS:
        return f"max_steps must be a whole number from 1 to {_MAX_STEPS}, not {steps!r}"
    if profile.on_error not in actions:
        return f"on_error must be one of {', '.join(map(repr, actions))}, not {profile.on_error!r}"
    return None


AIProvider: TypeAlias = str
"""Name of a provider, such as `"anthropic"`; any name is accepted, since plugins add providers."""


def _without_spaces(value: str) -> str:
    if any(letter.isspace() or letter < " " for letter in value):
        raise ValueError("an agent id must not contain white space or control characters")
    return value


AgentId: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=128, json_schema_extra={"pattern": r"^[^\s\u0000-\u001f]+$"}),
    AfterValidator(_without_spaces),
]
"""One to 128 characters without white space or control characters."""


class Persona(ArgumentValue):
    """A point of view from which an agent speaks; plain data."""

    name: NonEmpty
    """Short display name, such as `"Skeptic"`."""
    description: str = ""
    """What is important to this persona, in a sentence."""


class Perspective(ArgumentValue):
    """A subject area for one agent of an expert panel."""

    name: NonEmpty
    """Short name, such as `"Economic"`."""
    description: str | None = None
    """What the perspective covers."""


class GeneratedPerspective(Perspective):
    """A perspective that was written for one topic, with material from which an expert can start."""

    focus_areas: tuple[str, ...] = ()
    """Aspects that this expert examines first."""
    evidence_types: tuple[str, ...] = ()
    """Evidence that this expert accepts."""
    key_questions: tuple[str, ...] = ()
    """Questions that this expert asks."""
    anti_patterns: tuple[str, ...] = ()
    """Kinds of reasoning that this expert must avoid."""


RetryKind: TypeAlias = Literal["rate_limit", "network", "timeout", "answer"]
"""Kinds of failures: a rate limit, a failure of the network or server, a time-out, or an unusable answer."""


class RetryPolicy(ArgumentValue):
    """How often a model call is tried; replaces the gateway's default.

    If the provider requests a wait, that wait replaces the delay set here. No wait exceeds the deadline of the call.

    Example:
        >>> RetryPolicy(max_attempts=5).on
        ('rate_limit', 'network', 'timeout', 'answer')
        >>> RetryPolicy(on=("rate_limit",)).max_attempts
        3
    """

    max_attempts: Annotated[int, Field(ge=1)] = 3
    """Maximum attempts in total, with the first one."""
    base_delay_ms: Annotated[int, Field(ge=0)] = 1000
    """Milliseconds before the second attempt; doubled for each further attempt, up to 32 s."""
    on: tuple[RetryKind, ...] = ("rate_limit", "network", "timeout", "answer")
    """Failures after which to retry; when omitted, all failures that may be temporary. An unusable answer is still
    billed."""


class AgentConfig(ArgumentValue, KeepsNulls):
    """Configuration from which one agent is built.

    Example:
        >>> AgentConfig(id="skeptic", name="Skeptic", provider="google", model="gemini-3-flash-preview").temperature
        0.7
    """

    id: AgentId
    """Id of the agent; unique within a debate."""
    name: NonEmpty
    """Display name."""
    provider: NonEmpty
    """Name of a registered provider, such as `"anthropic"`, `"compatible"` or `"local"`."""
    model: str | None = None
    """The provider's model id; `None` uses the provider's default model."""
    system_prompt: str | None = None
    """Replaces the default opening of the system prompt."""
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] | None = 0.7
    """Sampling temperature in [0, 2]; with `None`, requests contain no temperature."""
    max_tokens: Annotated[int, Field(gt=0)] = 4096
    """Maximum tokens of one completion."""
    persona: Annotated[Persona | None, BeforeValidator(as_named)] = None
    """Point of view from which this agent speaks. A plain string is its name; a plugin may provide a persona by
    name."""
    retry: RetryPolicy | None = None
    """How often a model call is tried. `None` uses the gateway's default: up to four attempts if the failure may be
    temporary."""
    max_tool_rounds: Annotated[int, Field(ge=1, le=50)] = 10
    """Maximum model calls of one turn that may request tools, 1 to 50; after that, one more call is made without
    tools."""
    search: NativeSearch | bool | None = None
    """Web search by the agent's provider. `False` turns it off. `True` uses the options of the provider and the table,
    and options set here replace those. `None` uses the table's setting."""


InputKind: TypeAlias = Literal["image", "pdf"]
"""Kind of input that a model can see in addition to text."""


class AgentInfo(Value):
    """Information that an agent returns about itself."""

    id: str
    """Agent id."""
    name: str
    """Display name."""
    provider: str
    """Provider name."""
    model: str
    """Id of the model that the agent uses."""


class AgentHealth(Value):
    """Outcome of a health check; a failure of the provider is reported here and never raised."""

    healthy: bool
    """Whether a minimal model call succeeded."""
    error: str | None = None
    """Why the call failed."""


class ModelProfile(Value):
    """Facts about a model that the library needs to write good prompts for it."""

    prompt_style: Literal["full", "compact"] = "full"
    """`compact` keeps prompts within 350 tokens, for models that are too small to follow long instructions."""
    context_tokens: Annotated[int, Field(gt=0)] = 128_000
    """Size of the context window in tokens."""
    structured_output: bool = False
    """Whether the model follows a JSON schema that is sent with the request."""
    confidence_scale: Literal[1, 100] = 1
    """Scale on which the model gives its confidence: 0 to 1, or integers from 0 to 100."""
    streams: bool = False
    """Whether the model can send its answer piece by piece."""
    inputs: tuple[InputKind, ...] = ()
    """Kinds of input that the model can see in addition to text."""
    calls_tools: bool = True
    """Whether the model can call tools; if not, its requests contain no tools."""
    gives_values: bool = True
    """Whether the prompt requests a value of the caller's own type (`answer_schema`). Compact prompts never do."""
    search_alone: bool = False
    """Whether one call cannot combine the provider's own search with tools."""
    search_model: str | None = None
    """Model that searches, if the search needs a separate call; the same model if omitted."""
    search: SearchProfile | None = None
    """Options that the provider's own web search supports; `None` if the model cannot search."""

    @property
    def no_search(self) -> Literal[False] | None:
        """Value of `ChatRequest.search` without a search: `False` if the model searches by default, else `None`."""
        return False if self.search is not None and self.search.built_in else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """When calls to a provider stop for a while, because too many of them fail; see `ProviderConfig.breaker`.

    A call counts once, when it ends, with all its retries. It fails if the cause is temporary and the provider's: a
    network error, a status of 500 and above, a time-out, an unusable answer. Rate limits and refused requests do not
    count. Whatever the numbers are, calls stop at once if the provider is certainly down: its host is unknown, its
    certificate is refused, or it refuses the connections of two tries of one call.

    Raises:
        ConfigurationError: A number is out of its range.

    Example:
        >>> Breaker().share, Breaker().min_calls
        (0.5, 20)
        >>> Breaker(failures=5, window_s=60).failures  # five failures in a minute, however many calls succeed
        5
    """

    failures: int | None = None
    """Number of failed calls within `window_s` seconds that stops further calls, in [1, 1000]. If it is set, `share`
    and `min_calls` do not apply."""
    window_s: float = 60.0
    """Seconds for which a call counts, above 0. Of more than 1000 calls, the newest 1000 count."""
    share: float = 0.5
    """Share of failed calls that stops further calls, in (0, 1]."""
    min_calls: int = 20
    """Least number of calls that must have ended before `share` applies, in [1, 1000]."""
    recovery_s: float = 60.0
    """Seconds until one call tests whether the provider is back, above 0."""

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigurationError: A number is out of its range.
        """
        for name, number, most in (
            ("failures", 1 if self.failures is None else self.failures, _MOST_CALLS),
            ("min_calls", self.min_calls, _MOST_CALLS),
        ):
            if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= most:
                raise ConfigurationError(f"Breaker.{name} must be a whole number from 1 to {most}, not {number!r}")
        for name, seconds, highest in (
            ("window_s", self.window_s, math.inf),
            ("recovery_s", self.recovery_s, math.inf),
            ("share", self.share, 1),
        ):
            is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
            if not is_number or not 0 < seconds <= highest or math.isinf(seconds):
                what = "above 0 and at most 1" if name == "share" else "of seconds above 0"
                raise ConfigurationError(f"Breaker.{name} must be a number {what}, not {seconds!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """Options for calls that are sent to the provider in batches; see `ProviderConfig.batch`.

    Example:
        >>> BatchOptions(wait_s=3600).collect_s
        2.0
    """

    wait_s: float = 86_400.0
    """Maximum seconds for a call. This is the deadline of the call; `timeout_s` does not apply."""
    collect_s: float = 2.0
    """Seconds for which calls are collected before they are sent as one batch."""
    poll_s: float = 60.0
    """Maximum seconds between two checks of a batch; the first check comes after 5 seconds at most."""
    most_calls: int = 500
    """Maximum calls in one batch."""
    journal: str | None = None
    """File that records batches, so that a call is not paid for twice after a crash; when left out, `batches.db` in the
    user's data folder."""


@explains_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderConfig:
    """Settings for one provider that replace its defaults. Not a JSON value: it may contain a secret and a live client.

    Example:
        >>> ProviderConfig(api_key="sk-secret", base_url="http://127.0.0.1:8080/v1")
        ProviderConfig(base_url='http://127.0.0.1:8080/v1', timeout_s=120.0)
    """

    api_key: str | None = field(default=None, repr=False)
    """Secret key; `None` reads the provider's environment variable."""
    base_url: str | None = None
    """Root of the API. Plain http is accepted for loopback addresses and, if no key is sent, for hosts on a local
    network: private addresses, and names without dots such as `http://ollama:11434/v1`."""
    client: object | None = field(default=None, repr=False)
    """Your own `httpx.AsyncClient`; the library uses it unchanged and never closes it. For `human`, it is the function
    that asks a person, as in `roundtable.providers.HumanModel`."""
    timeout_s: float = 120.0
    """Deadline of one call in seconds, with all retries and the waits between them."""
    profile: str | None = field(default=None, repr=False)
    """Name of the server, such as `"groq"` or `"vllm"`, for a provider that supports several servers; when omitted, it
    is recognised by its address. For `local`, it is the prompt style, `"full"` or `"compact"`; when omitted, the style
    depends on the model size."""
    retry: RetryPolicy | None = field(default=None, repr=False)
    """How often a call is tried; `None` uses the gateway's default. A policy of the agent has priority."""
    breaker: Breaker | None = field(default_factory=Breaker, repr=False)
    """When calls stop for a while because too many fail, for each address and model; also whether a refused key is not
    used for 15 minutes. `None` turns both off, so that every call is made."""
    requests_per_minute: float | Literal["auto"] | None = field(default="auto", repr=False)
    """Calls per minute, above 0, for each key and model; further calls wait for at most 60 seconds. `"auto"` uses the
    limit that response headers state for the key. Until then, the vendors' own addresses have a default: 50 for
    `anthropic`, 60 for `openai` and `google`, 20 for `perplexity`. Other servers, such as one on this machine or at a
    `base_url` of your own, have none. `None` sets no limit."""
    tokens_per_minute: float | None = field(default=None, repr=False)
    """Tokens per minute that the provider allows, input and output together."""
    model: str | None = field(default=None, repr=False)
    """Model for agents without a model; `None` uses the provider's default model."""
    light_model: str | None = field(default=None, repr=False)
    """Small model for additional work, such as analysis and synthesis; `None` uses the provider's default."""
    extra_body: Mapping[str, JsonValue] | None = field(default=None, repr=False)
    """Additional fields of every request to an HTTP provider, in the provider's own format, such as
    `{"reasoning": {"effort": "low"}}`. They replace fields of the same name."""
    inputs: tuple[InputKind, ...] | None = field(default=None, repr=False)
    """Inputs that the provider's models can see in addition to text, `"image"` and `"pdf"`. Set this if the library
    does not know the models, for example at compatible servers. `None` uses what the library knows."""
    search: NativeSearch | bool | None = field(default=None, repr=False)
    """Web search by this provider for its agents. `False` turns it off, and options replace those of the table. `None`
    uses the table's setting."""
    batch: BatchOptions | bool = field(default=False, repr=False)
    """Whether calls are sent in batches. Tokens then cost half the price, but an answer may take up to a day, and
    answers are not streamed. Supported by `anthropic`, `openai`, `openai-chat` and `google`."""
    cache_prompts: bool = field(default=False, repr=False)
    """Whether the provider caches the prompts of turns with tools, so that each further call of a turn reads the prompt
    of the previous call from the cache. Only `anthropic` needs a request for that: writing to its cache costs a quarter
    more than plain input, and reading costs a tenth. Other providers cache by themselves or not at all."""

    kind: str | None = field(default=None, repr=False)
    """Provider whose API a named endpoint has, such as `"compatible"`. In `providers={"box-a":
    ProviderConfig(kind="compatible", base_url=...)}`, `box-a` is a provider of its own, and `box-a:llama3` one of its
    models. Its key is `api_key`, or the variable `ROUNDTABLE_BOX_A_API_KEY`; keys of other providers are never sent to
    it. `None`: the name is that of an installed provider."""
    allow_plain_http: bool = field(default=False, repr=False)
    """Whether key and questions may be sent over plain http to any host. Others on the way can then read and change
    them. `ROUNDTABLE_ALLOW_PLAIN_HTTP` allows it for all providers."""
    proxy: str | None = field(default=None, repr=False)
    """Address of the HTTP proxy for calls to the provider, such as `http://proxy.example.org:3128`, with user name and
    password if it needs them. `None` uses that of `ROUNDTABLE_PROXY`, or no proxy. A client of your own has its own."""
    trust_env: bool = field(default=False, repr=False)
    """Whether `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` in the environment apply if `proxy` is not set.
    They never apply to loopback addresses."""

    @property
    def batch_options(self) -> BatchOptions | None:
        """Options for calls in batches; `None` if calls are not made in batches."""
        return BatchOptions() if self.batch is True else self.batch or None
