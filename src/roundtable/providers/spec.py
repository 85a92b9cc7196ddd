"""What a provider is: a dialect bound to a vendor, or a factory of models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from roundtable.types import ModelProfile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roundtable.errors import RoundtableError
    from roundtable.http.messages import HttpRequest
    from roundtable.protocols import ChatModel
    from roundtable.settings import Settings
    from roundtable.types import ChatDelta, ChatRequest, ChatResponse, ProviderConfig

__all__ = ["Decoder", "Dialect", "ProviderEntry", "ProviderFactory", "ProviderSpec"]


class Decoder(Protocol):
    """Puts one streamed answer together; pure, made anew for each answer."""

    def feed(self, chunk: bytes) -> Sequence[ChatDelta]:
        """Take the next bytes, cut anywhere; give what they complete.

        Raises:
            RoundtableError: The stream reports an error or breaks its format.
        """

    def finish(self) -> ChatResponse:
        """Give the whole answer after the last bytes.

        Raises:
            APINetworkError: The stream ended before its terminator.
        """


class Dialect(Protocol):
    """One wire format, as pure functions; it never waits and never sends."""

    def build_request(self, request: ChatRequest, *, base_url: str, stream: bool) -> HttpRequest:
        """Put a request into the wire's words, without a key."""

    def parse_response(self, status: int, headers: Mapping[str, str], body: bytes) -> ChatResponse:
        """Read a complete answer.

        Raises:
            RoundtableError: The body reports an error, or is no answer.
        """

    def stream_decoder(self, headers: Mapping[str, str]) -> Decoder:
        """Give a decoder for one streamed answer."""

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> RoundtableError:
        """Read the answer of a status other than 2xx; never raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSpec:
    """A dialect bound to a vendor, as data.

    Example:
        >>> from roundtable.providers.openai_chat import OpenAIChat
        >>> ProviderSpec(
        ...     name="acme",
        ...     dialect=OpenAIChat("acme"),
        ...     base_url="https://api.acme.example/v1",
        ...     key_env=("ACME_API_KEY",),
        ...     default_model="acme-large",
        ... ).auth
        'bearer'
    """

    name: str
    """Name the provider is asked for by."""
    dialect: Dialect
    """The wire it speaks."""
    base_url: str | None
    """Root of the API, in the vendor's own convention; `None` where the user must name it."""
    base_url_env: str | None = None
    """Variable that redirects the provider."""
    host_env: str | None = None
    """Variable that names a local server as Ollama does, used where no address is given; its first model is
    used where no model is named."""
    key_env: tuple[str, ...] = ()
    """Variables the key is read from, the first one set wins."""
    key_required: bool = True
    """Whether the provider refuses calls without a key."""
    auth: Literal["bearer", "x-api-key", "x-goog-api-key", "api-key"] = "bearer"
    """Header the key travels in; `bearer` is `Authorization`."""
    default_model: str | None = None
    """Model used when none is named; `None` where the user must name it."""
    model_env: str | None = None
    """Variable that names the default model."""
    light_model: str | None = None
    """Small model for summaries and analysis; the default model where there is none."""
    profile: ModelProfile = field(default_factory=ModelProfile)
    """What prompts are made for."""
    profiles: Mapping[str, ModelProfile] = field(default_factory=dict)
    """Exceptions by the beginning of the model id; the longest match wins."""
    variants: Mapping[str, ProviderSpec] = field(default_factory=dict)
    """Particulars by the name of a server, for a dialect that several vendors speak."""
    variant_at: Callable[[str], str | None] | None = None
    """Recognises a server by its address; gives its name among `variants`."""
    summary: str = ""
    """What it is, in a line."""

    def profile_of(self, model: str) -> ModelProfile:
        """Give the profile of a model."""
        matches = [start for start in self.profiles if model.startswith(start)]
        return self.profiles[max(matches, key=len)] if matches else self.profile


class ProviderFactory(Protocol):
    """Makes models of one provider; imports nothing heavy before it is called.

    A factory may also have `async aclose()`, for what its models share.
    """

    def __call__(self, model: str | None, config: ProviderConfig, settings: Settings, /) -> ChatModel:
        """Make a model.

        Args:
            model: Model id; `None` takes the default.
            config: The caller's overrides.
            settings: What the environment says.

        Raises:
            ConfigurationError: A key, address, model or extra is missing; the message says how to give it.
        """


class ProviderEntry(NamedTuple):
    """A provider as it is registered."""

    name: str
    """Name it is asked for by."""
    factory: ProviderFactory
    """Makes its models."""
    summary: str
    """What it is, in a line."""
