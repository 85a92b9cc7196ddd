"""Common base of models that wrap other models."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from roundtable.http.guard_public import is_loopback

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
    "is_recorded",
    "is_replayed",
    "keeps_deadline",
    "kind_of",
    "make_ready",
    "notify_timeout",
    "price_share_of",
]


class WrappedModel:
    """A model that has the attributes of its inner model; subclasses add `complete` and `stream`.

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
    def kind(self) -> str:
        """Provider whose API and prices the model has; see `kind_of`."""
        return kind_of(self.inner)

    @property
    def model(self) -> str:
        """Id of the model that answers requests without a model id."""
        return self.inner.model

    @property
    def endpoint(self) -> str:
        """Root of the provider's API; empty if there is none."""
        return endpoint_of(self.inner)

    @property
    def account(self) -> str:
        """Mark of the API key that pays; empty if there is no key."""
        return account_of(self.inner)

    @property
    def requests_per_minute(self) -> float | None:
        """Default rate of the provider, in calls per minute; `None` if there is none."""
        return default_rate_of(self.inner)

    def is_replayed(self, request: ChatRequest) -> bool:
        """Check whether a call is answered from a recording; see `is_replayed`."""
        return is_replayed(self.inner, request)

    def is_recorded(self, request: ChatRequest) -> bool:
        """Check whether a recording contains a call; see `is_recorded`."""
        return is_recorded(self.inner, request)

    @property
    def cost_limit_usd(self) -> float | None:
        """Most US dollars that a call may cost, if the model itself enforces a limit."""
        return cost_limit_of(self.inner)

    @property
    def calls_at_once(self) -> int | None:
        """Most calls in progress at the same time, if the model itself states this number."""
        return calls_at_once_of(self.inner)

    @property
    def price_share(self) -> Decimal:
        """Share of the list price of tokens that is charged; see `price_share_of`."""
        return price_share_of(self.inner)

    @property
    def profile(self) -> ModelProfile:
        """Facts about the model on which prompts depend."""
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
    """Return the root of a model's API (see `HasEndpoint`); empty if there is none."""
    # This runs several times per call, and an isinstance check of a protocol takes 20 times as long as getattr.
    value: object = getattr(model, "endpoint", "")
    return value if isinstance(value, str) else ""


def kind_of(model: ChatModel) -> str:
    """Return the provider whose API and prices a model has: for a named endpoint, the one that it was made from."""
    kind: object = getattr(model, "kind", None)
    return kind if isinstance(kind, str) and kind else model.provider


def account_of(model: object) -> str:
    """Return the mark of the API key that pays for a model's calls; empty if there is no key."""
    value: object = getattr(model, "account", "")
    return value if isinstance(value, str) else ""


def default_rate_of(model: object) -> float | None:
    """Return the default rate of a model's provider in calls per minute; `None` for no limit.

    The rate is the model's attribute `requests_per_minute`. A server on this machine never has a default rate.
    """
    value: object = getattr(model, "requests_per_minute", None)
    if not isinstance(value, int | float) or value <= 0 or is_loopback(urlsplit(endpoint_of(model)).hostname or ""):
        return None
    return float(value)


def is_replayed(model: object, request: ChatRequest) -> bool:
    """Check whether a model answers a call from a recording, without reaching a provider."""
    check: Callable[[ChatRequest], bool] | None = getattr(model, "is_replayed", None)
    return check is not None and check(request)


def is_recorded(model: object, request: ChatRequest) -> bool:
    """Check whether a recording contains a call, so that the call was allowed when it was recorded."""
    check: Callable[[ChatRequest], bool] | None = getattr(model, "is_recorded", None)
    return check is not None and check(request)


def calls_at_once_of(model: object) -> int | None:
    """Return how many calls of a model may be in progress at the same time; `None` leaves that to the gateway.

    The number is the model's attribute `calls_at_once`. Models whose calls wait without using resources, such as calls
    in a batch, have this attribute.
    """
    value: object = getattr(model, "calls_at_once", None)
    return value if isinstance(value, int) and value > 0 else None


def cost_limit_of(model: object) -> float | None:
    """Return the limit in US dollars that a model itself enforces for each call; `None` if there is none.

    The limit is the attribute `cost_limit_usd` of a model that knows the cost of its calls.
    """
    value: object = getattr(model, "cost_limit_usd", None)
    return float(value) if isinstance(value, int | float) else None


def price_share_of(model: object) -> Decimal:
    """Return the share of the list price of tokens that is charged for a model's calls; 1 by default.

    The share is the model's attribute `price_share`. A model that answers in batches has this attribute, for example.
    """
    value: object = getattr(model, "price_share", None)
    return value if isinstance(value, Decimal) else Decimal(1)


def keeps_deadline(model: object) -> bool:
    """Check whether a model ends its calls by itself at the deadline that `roundtable.http.message.ending_at` sets.

    The result is the model's attribute `keeps_deadline`. Calls of other models are cancelled at the deadline, which
    needs a cancel scope for each piece of a stream.
    """
    return getattr(model, "keeps_deadline", False) is True


async def make_ready(model: object) -> None:
    """Prepare a model, if it has a method `prepare`; this happens before the time of any call starts.

    Raises:
        RoundtableError: The model is unavailable.
    """
    # This runs for each agent of each debate, on every layer of wrapped models; see `endpoint_of`.
    prepare: Callable[[], Awaitable[None]] | None = getattr(model, "prepare", None)
    if prepare is not None:
        await prepare()


def notify_timeout(model: object, request: ChatRequest, error: RoundtableError, shown: Sequence[str]) -> None:
    """Report to a model that records its calls that one of them ended at the gateway's deadline.

    The model itself only sees a cancellation, the same as when the caller cancels the call.

    Args:
        model: The model; if it has no method `deadline_missed`, nothing happens.
        request: The call.
        error: Error with which the call ended.
        shown: Pieces of text that the stream passed on before that.
    """
    notify: Callable[[ChatRequest, RoundtableError, Sequence[str]], None] | None = getattr(
        model, "deadline_missed", None
    )
    if notify is not None:
        notify(request, error, shown)


async def close_stream(pieces: object) -> None:
    """Close a stream that has a method `aclose`. Not every iterator has one, but generators must be closed."""
    close: Callable[[], Awaitable[None]] | None = getattr(pieces, "aclose", None)
    if close is not None:
        await close()
