"""What a chat model declares about itself, besides its profile, and how it reports a retry."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from roundtable.core.errors import ConfigurationError, RoundtableError

__all__ = ["ModelFacts", "RetryNotice"]

_ABOVE_ZERO: Final = ("requests_per_minute", "calls_at_once", "patience_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What limits, prices and deadlines need to know about a `ChatModel`, which declares it in its attribute `facts`.

    Each field has a default, so state what applies. Models may share one object.

    Raises:
        ConfigurationError: A number is negative, zero where that makes no sense, or not a number.

    Example:
        >>> from decimal import Decimal
        >>> from roundtable.types import ModelFacts
        >>> class NightModel:
        ...     facts = ModelFacts(endpoint="https://api.acme.example/v1", price_share=Decimal("0.5"), patience_s=3600)
        >>> NightModel.facts.price_share, NightModel.facts.requests_per_minute
        (Decimal('0.5'), None)
    """

    kind: str = ""
    """Provider whose prices and `ProviderInfo` the model has; if empty, the provider that the model names."""
    endpoint: str = ""
    """Address that the calls go to. Models with the same provider and address share a circuit breaker. A server on this
    machine has no default rate."""
    account: str = ""
    """Hash of the API key that pays for the calls, never the key itself. Models with the same provider, address and
    account share rate limits. Without address and account, a refused key does not stop further calls."""
    requests_per_minute: float | None = None
    """Default rate limit in calls per minute, until headers of the answers state one; `None` for no limit."""
    calls_at_once: int | None = None
    """Most calls in progress at the same time, for models whose calls mostly wait, such as calls in a batch; `None`
    leaves that to the table."""
    price_share: Decimal = Decimal(1)
    """Share of the list price that tokens cost, from 0: `Decimal("0.5")` for half the price."""
    cost_limit_usd: float | None = None
    """Most US dollars that one call may cost, if the model itself enforces a limit. Budgets then need no price."""
    patience_s: float | None = None
    """Seconds that a call may take if no deadline is configured, such as for a person; `None` for the usual time."""
    keeps_deadline: bool = False
    """Whether calls end by themselves at the deadline that `roundtable.http.message.ending_at` sets. Calls of other
    models are cancelled at the deadline, which needs a cancel scope for each piece of a stream."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in _ABOVE_ZERO:
            value: object = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and value > 0):
                raise ConfigurationError(f"{name} must be a number above 0, or None, not {value!r}")
        if not isinstance(self.price_share, Decimal) or not self.price_share >= 0:
            raise ConfigurationError(f"price_share must be a Decimal of at least 0, not {self.price_share!r}")
        limit: object = self.cost_limit_usd
        if limit is not None and not (isinstance(limit, int | float) and limit >= 0):
            raise ConfigurationError(f"cost_limit_usd must be a number of at least 0, or None, not {limit!r}")


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """Notice that a call is retried."""

    attempt: int
    """Number of the next try, from 2."""
    delay_s: float
    """Seconds until the next try."""
    error: RoundtableError
    """Why the last try failed."""
    shown: bool
    """Whether pieces of the failed answer were passed on, which are void now."""
