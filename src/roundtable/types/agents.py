"""Who takes part: agent configurations, personas and perspectives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from roundtable.types.base import NonEmpty, Value, named

__all__ = [
    "AIProvider",
    "AgentConfig",
    "AgentHealth",
    "AgentId",
    "AgentInfo",
    "GeneratedPerspective",
    "ModelProfile",
    "Persona",
    "Perspective",
    "ProviderConfig",
    "RetryKind",
    "RetryPolicy",
]

AIProvider: TypeAlias = str
"""Name of a provider, such as `"anthropic"`; open, since plugins add providers."""


def _unbroken(value: str) -> str:
    if any(letter.isspace() or letter < " " for letter in value):
        raise ValueError("an agent id holds no white space and no control characters")
    return value


AgentId: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=128, json_schema_extra={"pattern": r"^[^\s\u0000-\u001f]+$"}),
    AfterValidator(_unbroken),
]
"""One to 128 characters without white space or control characters."""


class Persona(Value):
    """A point of view an agent speaks from; data only, it never acts."""

    name: NonEmpty
    """Short display name, such as `"Skeptic"`."""
    description: str = ""
    """What this persona cares about, in a sentence."""


class Perspective(Value):
    """A subject-matter angle for an expert panel."""

    name: NonEmpty
    """Short name, such as `"Economic"`."""
    description: str | None = None
    """What falls under it."""


class GeneratedPerspective(Perspective):
    """A perspective written for one topic, with the material an expert would start from."""

    focus_areas: tuple[str, ...] = ()
    """Aspects this expert looks at first."""
    evidence_types: tuple[str, ...] = ()
    """Evidence this expert accepts."""
    key_questions: tuple[str, ...] = ()
    """Questions this expert asks."""
    anti_patterns: tuple[str, ...] = ()
    """Reasoning this expert must avoid."""


RetryKind: TypeAlias = Literal["rate_limit", "network", "timeout", "answer"]
"""What may be tried again: a rate limit, a fault of network or server, a time-out, an answer that is of no use."""


class RetryPolicy(Value):
    """How often a model call is tried, given instead of the gateway's own rule.

    What is not of a kind listed in `on` is not tried again. A wait that the provider asks for comes before the one
    stated here; neither ever goes past the deadline of the call.

    Example:
        >>> RetryPolicy(max_attempts=5, on=("rate_limit", "network")).base_delay_ms
        1000
    """

    max_attempts: Annotated[int, Field(ge=1)] = 3
    """Tries in all, the first included."""
    base_delay_ms: Annotated[int, Field(ge=0)] = 1000
    """Milliseconds before the second try; doubles with each further one, up to 32 s."""
    on: tuple[RetryKind, ...] = ("rate_limit",)
    """What is tried again."""


class AgentConfig(Value):
    """How to build one agent.

    Example:
        >>> AgentConfig(id="skeptic", name="Skeptic", provider="google", model="gemini-3-flash-preview").temperature
        0.7
    """

    id: AgentId
    """Unique within a debate."""
    name: NonEmpty
    """Display name."""
    provider: NonEmpty
    """Name of a registered provider, such as `"anthropic"`, `"compatible"` or `"local"`."""
    model: str | None = None
    """The provider's model id; `None` takes the provider's default model."""
    system_prompt: str | None = None
    """Replaces the default opening of the system prompt."""
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] | None = 0.7
    """Sampling temperature in [0, 2]; `None` sends none."""
    max_tokens: Annotated[int, Field(gt=0)] = 4096
    """Most tokens of one completion."""
    persona: Annotated[Persona | None, BeforeValidator(named)] = None
    """The point of view this agent speaks from; a plain string names one, such as one that a plugin brings."""
    retry: RetryPolicy | None = None
    """How often its model calls are tried; `None` leaves it to the gateway: four times in all, whatever may pass."""


class AgentInfo(Value):
    """What an agent says about itself."""

    id: str
    """Agent id."""
    name: str
    """Display name."""
    provider: str
    """Provider name."""
    model: str
    """Model id in use."""


class AgentHealth(Value):
    """Outcome of a health check; a failing provider is reported, never raised."""

    healthy: bool
    """Whether a minimal call succeeded."""
    error: str | None = None
    """Why not."""


class ModelProfile(Value):
    """What the library must know about a model to prompt it well."""

    prompt_style: Literal["full", "compact"] = "full"
    """`compact` keeps prompts within 350 tokens, for models too small to follow long instructions."""
    context_tokens: Annotated[int, Field(gt=0)] = 128_000
    """Size of the context window in tokens."""
    structured_output: bool = False
    """Whether a JSON schema sent with the request constrains the answer."""
    confidence_scale: Literal[1, 100] = 1
    """Scale on which the model is asked for its confidence: 0-1 or integers 0-100."""
    streams: bool = False
    """Whether the model can send its answer piece by piece."""
    calls_tools: bool = True
    """Whether the model can call tools; to one that cannot, none are offered."""
    search_alone: bool = False
    """Whether the provider's own search cannot be asked for in one call with tools."""
    search_model: str | None = None
    """Model that does the search where it has to be a call of its own; the same model when left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderConfig:
    """Overrides for one provider. Not a JSON value: it may hold a secret and a live client.

    Example:
        >>> ProviderConfig(api_key="sk-secret", base_url="http://127.0.0.1:8080/v1")
        ProviderConfig(base_url='http://127.0.0.1:8080/v1', timeout_s=120.0)
    """

    api_key: str | None = field(default=None, repr=False)
    """Secret key; `None` reads the provider's environment variable."""
    base_url: str | None = None
    """Root of the API; plain http is accepted for loopback addresses only."""
    client: object | None = field(default=None, repr=False)
    """An `httpx.AsyncClient` of the caller's, used as it is and never closed by the library."""
    timeout_s: float = 120.0
    """Total deadline of one call in seconds, tries and the waits between them included."""
    profile: str | None = field(default=None, repr=False)
    """Name of the server, such as `"groq"` or `"vllm"`, where a provider knows several; recognised by its address
    when left out. For `local` the way its model is prompted, `"full"` or `"compact"`; by its size when left out."""
    retry: RetryPolicy | None = field(default=None, repr=False)
    """How often a call is tried; `None` leaves it to the gateway. An agent's own policy wins."""
    requests_per_minute: float | None = field(default=None, repr=False)
    """Calls the provider allows in a minute; they are spread so that it need not refuse any."""
    tokens_per_minute: float | None = field(default=None, repr=False)
    """Tokens the provider allows in a minute, sent and generated together."""
    model: str | None = field(default=None, repr=False)
    """Model of agents that name none; the provider's default model when left out."""
    light_model: str | None = field(default=None, repr=False)
    """Small model for work beside the debate; the provider's when left out."""
