"""The definition of a provider: a dialect bound to a vendor, or a factory of models."""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from roundtable.core.errors import ConfigurationError
from roundtable.vendors import ModelApi

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roundtable.core.errors import RoundtableError
    from roundtable.core.protocols import ChatModel
    from roundtable.core.types.agents import ProviderConfig
    from roundtable.core.types.chat import ChatDelta, ChatRequest, ChatResponse
    from roundtable.http.client import HttpRequest
    from roundtable.settings import Settings

__all__ = [
    "Decoder",
    "Dialect",
    "ProviderEntry",
    "ProviderFactory",
    "ProviderSpec",
    "batch_refusal",
    "endpoint_key",
    "split_model_name",
]


class Decoder(Protocol):
    """Decoder that assembles one streamed answer. Pure; each answer has its own decoder.

    A decoder may also have the attribute `is_done`, which is true after the terminator of the stream, and the method
    `is_whole()`, which returns whether the answer may be complete. With them, a complete answer is not lost if the
    server keeps the connection open: the call ends at the terminator, or at its deadline if the answer may be complete.
    """

    def feed(self, chunk: bytes) -> Sequence[ChatDelta]:
        """Take the next bytes, which may end at any point, and return the deltas that they complete.

        Raises:
            RoundtableError: The stream reports an error or breaks its format.
        """

    def finish(self) -> ChatResponse:
        """Return the whole answer, after the last bytes.

        Raises:
            APINetworkError: The stream ended before its terminator.
        """


class Dialect(Protocol):
    """One wire format, as pure functions without I/O."""

    def build_request(self, request: ChatRequest, *, base_url: str, stream: bool) -> HttpRequest:
        """Build the HTTP request of a chat request, without the key."""

    def parse_response(self, status: int, headers: Mapping[str, str], body: bytes) -> ChatResponse:
        """Parse a complete answer.

        Raises:
            RoundtableError: The body reports an error, or is not an answer.
        """

    def stream_decoder(self, headers: Mapping[str, str]) -> Decoder:
        """Create the decoder of one streamed answer."""

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> RoundtableError:
        """Return the error of an answer with a status other than 2xx; never raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSpec(ModelApi):
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

    dialect: Dialect
    """Wire format of the provider."""
    variants: Mapping[str, ProviderSpec] = field(default_factory=dict)
    """Variants by the name of a server, for a dialect that several vendors speak."""
    variant_at: Callable[[str], str | None] | None = None
    """Function that returns the name among `variants` for a server's address; `None` for an unknown server."""

    def named(self, name: str) -> ProviderSpec:
        """Return this provider as a named endpoint: another server or account with the same API.

        Only the variable of the endpoint's own key is read from the environment, and no address. So a key of another
        provider is never sent to the endpoint.

        Example:
            >>> from roundtable.providers import BUILTIN_SPECS
            >>> box = BUILTIN_SPECS["compatible"].named("box-a")
            >>> box.name, box.kind, box.key_env
            ('box-a', 'compatible', ('ROUNDTABLE_BOX_A_API_KEY',))
        """
        dialect: Any = copy(self.dialect)
        if hasattr(dialect, "provider"):  # the built-in dialects have it, for messages
            dialect.provider = name
        return replace(
            self,
            name=name,
            kind=self.kind or self.name,
            display_name="",
            dialect=dialect,
            key_env=(endpoint_key(name),),
            base_url_env=None,
            host_env=None,
            model_env=None,
            variants={server: spec.named(name) for server, spec in self.variants.items()},
        )


class ProviderFactory(Protocol):
    """Function that creates the models of one provider; large imports must wait until its first call.

    A factory may also have `info`, a `ProviderInfo`: with it, the provider is used by debates that name no agents when
    its key is set, is listed by `roundtable agents` and `roundtable doctor`, and its calls have prices. It may have
    `async aclose()`, to release the resources that its models share; `named(name)`, which returns the factory of a
    named endpoint with the same API (see `ProviderConfig.kind`); and `show_progress(progress)`, if its models are
    downloaded (see `ProviderInfo.downloads`).
    """

    def __call__(self, model: str | None, config: ProviderConfig, settings: Settings, /) -> ChatModel:
        """Create a model.

        Args:
            model: Model id; `None` selects the default.
            config: The caller's overrides.
            settings: Settings from the environment.

        Raises:
            ConfigurationError: A key, address, model or extra is missing; the message says how to set it.
        """


class ProviderEntry(NamedTuple):
    """A provider to register."""

    name: str
    """Name that selects the provider."""
    factory: ProviderFactory
    """Function that creates its models."""
    summary: str
    """Description in one line."""


def endpoint_key(name: str) -> str:
    """Return the variable with the key of a named endpoint.

    Example:
        >>> endpoint_key("box-a")
        'ROUNDTABLE_BOX_A_API_KEY'
    """
    return f"ROUNDTABLE_{re.sub('[^A-Z0-9]', '_', name.upper())}_API_KEY"


def batch_refusal(provider: str) -> ConfigurationError:
    """Return the error for a provider whose calls cannot be made in batches."""
    return ConfigurationError(
        f"calls of the provider {provider!r} cannot be made in batches",
        provider=provider,
        hint="Leave out batch, or use anthropic, openai, openai-chat or google.",
    )


def split_model_name(name: str) -> tuple[str, str | None]:
    """Split `provider:model` at the first colon. A name without a colon is a provider, whose default model is used.

    Raises:
        ConfigurationError: The provider or the model is empty.

    Example:
        >>> split_model_name("compatible:llama3:8b"), split_model_name("local")
        (('compatible', 'llama3:8b'), ('local', None))
    """
    provider, colon, model = (part.strip() for part in name.partition(":"))
    if not provider or (colon and not model):
        raise ConfigurationError(
            f"{name!r} does not name a model", hint="Write 'provider:model', or 'provider' for its default model."
        )
    return provider, model or None
