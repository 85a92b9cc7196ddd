"""What models round other models have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from roundtable.errors import RoundtableError
    from roundtable.protocols import ChatModel
    from roundtable.types import ChatRequest, ModelProfile

__all__ = ["WrappedModel", "close_stream", "cost_limit_of", "endpoint_of", "make_ready", "tell_missed"]


class WrappedModel:
    """What a model says of itself, said by a model round it; `complete` and `stream` are the subclass's.

    Args:
        inner: The model that answers.
    """

    def __init__(self, inner: ChatModel) -> None:
        self.inner = inner

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"

    @property
    def provider(self) -> str:
        """Name of the provider."""
        return self.inner.provider

    @property
    def model(self) -> str:
        """Model id used when a request names none."""
        return self.inner.model

    @property
    def endpoint(self) -> str:
        """Root of the provider's API; empty where there is none."""
        return endpoint_of(self.inner)

    @property
    def cost_limit_usd(self) -> float | None:
        """Most that a call may cost, where the model itself keeps to a limit."""
        return cost_limit_of(self.inner)

    @property
    def profile(self) -> ModelProfile:
        """What the library must know to prompt this model."""
        return self.inner.profile

    def deadline_missed(self, request: ChatRequest, error: RoundtableError, shown: Sequence[str]) -> None:
        """Pass on that a call was ended at its deadline; see `tell_missed`."""
        tell_missed(self.inner, request, error, shown)

    async def prepare(self) -> None:
        """Let the model fetch or load what it needs.

        Raises:
            RoundtableError: The model cannot be had.
        """
        await make_ready(self.inner)

    async def aclose(self) -> None:
        """Release what the model holds; idempotent."""
        await self.inner.aclose()


def endpoint_of(model: object) -> str:
    """Give the root of a model's API (see `HasEndpoint`); empty where there is none."""
    # Asked several times a call, and a look at a whole protocol takes as long as twenty at one name.
    found: object = getattr(model, "endpoint", "")
    return found if isinstance(found, str) else ""


def cost_limit_of(model: object) -> float | None:
    """Give the limit in US dollars that a call of a model keeps to by itself; `None` where there is none.

    A model that states what its calls cost, and keeps to a limit, says so in an attribute `cost_limit_usd`.
    """
    found: object = getattr(model, "cost_limit_usd", None)
    return float(found) if isinstance(found, int | float) else None


async def make_ready(model: object) -> None:
    """Let a model make ready, if it has to, before the deadline of any call runs.

    Raises:
        RoundtableError: What it needs cannot be had.
    """
    # Asked of each agent of each debate, layer by layer; see `endpoint_of`.
    prepare: Callable[[], Awaitable[None]] | None = getattr(model, "prepare", None)
    if prepare is not None:
        await prepare()


def tell_missed(model: object, request: ChatRequest, error: RoundtableError, shown: Sequence[str]) -> None:
    """Tell a model that keeps a record of its calls that one was ended at the gateway's deadline.

    The model itself sees a cancellation, as when the caller gives up.

    Args:
        model: The model; one without a method `deadline_missed` is told nothing.
        request: The call.
        error: What it ended with.
        shown: The pieces of text that its stream gave before.
    """
    tell: Callable[[ChatRequest, RoundtableError, Sequence[str]], None] | None = getattr(model, "deadline_missed", None)
    if tell is not None:
        tell(request, error, shown)


async def close_stream(pieces: object) -> None:
    """Close what can be closed; the protocol promises an iterator, and generators go on until they are."""
    close: Callable[[], Awaitable[None]] | None = getattr(pieces, "aclose", None)
    if close is not None:
        await close()
