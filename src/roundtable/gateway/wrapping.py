"""Common base of models that wrap other models."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from roundtable.errors import RoundtableError
    from roundtable.protocols import ChatModel
    from roundtable.types import ChatRequest, ModelProfile

__all__ = [
    "WrappedModel",
    "account_of",
    "calls_at_once_of",
    "close_stream",
    "cost_limit_of",
    "default_rate_of",
    "endpoint_of",
    "is_replayed",
    "keeps_deadline",
    "make_ready",
    "notify_timeout",
    "price_share_of",
]


class WrappedModel:
    """A model that passes the attributes of its inner model on; subclasses add `complete` and `stream`.

    Args:
        inner: The wrapped model.
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
        """Model id for requests without one."""
        return self.inner.model

    @property
    def endpoint(self) -> str:
        """Root of the provider's API; empty where there is none."""
        return endpoint_of(self.inner)

    @property
    def account(self) -> str:
        """Mark of the API key that pays; empty where there is none."""
        return account_of(self.inner)

    @property
    def requests_per_minute(self) -> float | None:
        """Default rate of the provider; `None` where it has none."""
        return default_rate_of(self.inner)

    def is_replayed(self, request: ChatRequest) -> bool:
        """Check whether a call is answered from a recording; see `is_replayed`."""
        return is_replayed(self.inner, request)

    @property
    def cost_limit_usd(self) -> float | None:
        """Most US dollars that a call may cost, where the model itself enforces a limit."""
        return cost_limit_of(self.inner)

    @property
    def calls_at_once(self) -> int | None:
        """Most calls in progress at once, where the model itself states it."""
        return calls_at_once_of(self.inner)

    @property
    def price_share(self) -> Decimal:
        """Share of the list price of tokens that a call costs; see `price_share_of`."""
        return price_share_of(self.inner)

    @property
    def profile(self) -> ModelProfile:
        """Facts about the model that prompts depend on."""
        return self.inner.profile

    def deadline_missed(self, request: ChatRequest, error: RoundtableError, shown: Sequence[str]) -> None:
        """Report to the inner model that a call ended at its deadline; see `notify_timeout`."""
        notify_timeout(self.inner, request, error, shown)

    async def prepare(self) -> None:
        """Download or load what the model needs.

        Raises:
            RoundtableError: The model is unavailable.
        """
        await make_ready(self.inner)

    async def aclose(self) -> None:
        """Close the model; idempotent."""
        await self.inner.aclose()


def endpoint_of(model: object) -> str:
    """Return the root of a model's API (see `HasEndpoint`); empty where there is none."""
    # Read several times per call, and an isinstance check of a protocol takes 20 times as long as getattr.
    value: object = getattr(model, "endpoint", "")
    return value if isinstance(value, str) else ""


def account_of(model: object) -> str:
    """Return the mark of the API key that pays for a model's calls; empty where there is none."""
    value: object = getattr(model, "account", "")
    return value if isinstance(value, str) else ""


def default_rate_of(model: object) -> float | None:
    """Return the default rate of a model's provider in calls per minute; `None` for no limit.

    It is the model's attribute `requests_per_minute`.
    """
    value: object = getattr(model, "requests_per_minute", None)
    return float(value) if isinstance(value, int | float) and value > 0 else None


def is_replayed(model: object, request: ChatRequest) -> bool:
    """Check whether a model answers a call from a recording, without reaching a provider."""
    check: Callable[[ChatRequest], bool] | None = getattr(model, "is_replayed", None)
    return check is not None and check(request)


def calls_at_once_of(model: object) -> int | None:
    """Return how many calls of a model may be in progress at once; `None` leaves it to the gateway.

    It is the attribute `calls_at_once` of a model whose calls wait without using anything, such as those in a batch.
    """
    value: object = getattr(model, "calls_at_once", None)
    return value if isinstance(value, int) and value > 0 else None


def cost_limit_of(model: object) -> float | None:
    """Return the limit in US dollars that a model itself enforces for each call; `None` where there is none.

    It is the attribute `cost_limit_usd` of a model that knows what its calls cost.
    """
    value: object = getattr(model, "cost_limit_usd", None)
    return float(value) if isinstance(value, int | float) else None


def price_share_of(model: object) -> Decimal:
    """Return the share of the list price of tokens that a model's calls cost, 1 unless it says otherwise.

    It is the attribute `price_share` of a model, such as of one that answers in batches.
    """
    value: object = getattr(model, "price_share", None)
    return value if isinstance(value, Decimal) else Decimal(1)


def keeps_deadline(model: object) -> bool:
    """Check whether a model ends its calls by itself at the deadline that `roundtable.http.message.ending_at` sets.

    It is the model's attribute `keeps_deadline`. The calls of other models are cancelled at the deadline, which needs a
    cancel scope for each piece of a stream.
    """
    return getattr(model, "keeps_deadline", False) is True


async def make_ready(model: object) -> None:
    """Prepare a model, if it has a method `prepare`, before the deadline of any call runs.

    Raises:
        RoundtableError: The model is unavailable.
    """
    # Called for each agent of each debate, at every layer; see `endpoint_of`.
    prepare: Callable[[], Awaitable[None]] | None = getattr(model, "prepare", None)
    if prepare is not None:
        await prepare()


def notify_timeout(model: object, request: ChatRequest, error: RoundtableError, shown: Sequence[str]) -> None:
    """Report to a model that records its calls that one ended at the gateway's deadline.

    The model itself only sees a cancellation, as when the caller gives up.

    Args:
        model: The model; without a method `deadline_missed`, nothing happens.
        request: The call.
        error: Error that the call ended with.
        shown: Pieces of text that its stream passed on before.
    """
    notify: Callable[[ChatRequest, RoundtableError, Sequence[str]], None] | None = getattr(
        model, "deadline_missed", None
    )
    if notify is not None:
        notify(request, error, shown)


async def close_stream(pieces: object) -> None:
    """Close a stream that has `aclose`: the protocol only promises an iterator, but generators must be closed."""
    close: Callable[[], Awaitable[None]] | None = getattr(pieces, "aclose", None)
    if close is not None:
        await close()
