"""The caller's own model: an agent whose answers come from the MCP client that called the server."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol

from roundtable.core.errors import ConfigurationError
from roundtable.core.types.agents import ModelProfile
from roundtable.providers.http_model import NonStreamingModel

if TYPE_CHECKING:
    from roundtable.core.types.agents import ProviderConfig
    from roundtable.core.types.chat import ChatRequest, ChatResponse
    from roundtable.settings import Settings

__all__ = ["SAMPLER", "ClientModel", "ClientProvider", "Sampler"]

SAMPLER: Final[ContextVar[Sampler | None]] = ContextVar("roundtable.sampler", default=None)
"""Asks the model of the client whose call is being handled; debates that the call starts inherit this sampler."""
_HINT: Final = "Start the debate from an MCP client that supports sampling, or give the agent another provider."


class Sampler(Protocol):
    """Interface to the model of the client that made a call."""

    @property
    def obstacle(self) -> str:
        """Why the client cannot be asked; empty if it can."""

    async def sample(self, request: ChatRequest) -> ChatResponse:
        """Return the answer of the client's model.

        Raises:
            RoundtableError: The client refused, or is no longer connected.
        """


class ClientModel(NonStreamingModel):
    """A `ChatModel` of the MCP client that started the debate; the client chooses the model and pays for it.

    Args:
        model: Name of the model in the record until the client names its own.
    """

    provider = "client"
    profile: ModelProfile = ModelProfile(calls_tools=False)

    def __init__(self, model: str = "client") -> None:
        self.model = model

    def __repr__(self) -> str:
        return f"ClientModel({self.model!r})"

    async def prepare(self) -> None:
        """Check that the client can be asked.

        Raises:
            ConfigurationError: There is no client, or it does not support sampling.
        """
        self._sampler()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Ask the client's model.

        Raises:
            ConfigurationError: There is no client, or it does not support sampling.
            RoundtableError: The client refused, or is no longer connected.
        """
        return await self._sampler().sample(request)

    async def aclose(self) -> None:
        """Do nothing; the connection to the client does not belong to the model."""

    def _sampler(self) -> Sampler:
        sampler = SAMPLER.get()
        obstacle = "no MCP client started this debate" if sampler is None else sampler.obstacle
        if sampler is None or obstacle:
            msg = f"an agent of the provider 'client' cannot answer: {obstacle}"
            raise ConfigurationError(msg, provider=self.provider, hint=_HINT)
        return sampler


class ClientProvider:
    """Factory of models whose answers come from the MCP client; `client:NAME` distinguishes several of them."""

    def __call__(self, model: str | None, config: ProviderConfig, settings: Settings) -> ClientModel:
        """Create a model."""
        return ClientModel(model or "client")
