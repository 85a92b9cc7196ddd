"""Prices of calls: first those that the caller states, then those of a packaged table. Never uses the network."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from decimal import ROUND_UP, Decimal, localcontext
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

from roundtable.core.base.text import error_text
from roundtable.core.errors import APITimeoutError, ConfigurationError
from roundtable.core.types.chat import Usage
from roundtable.core.types.prices import FULL_PRICE, ModelPrice, as_price
from roundtable.gateway.retry import kind_of
from roundtable.http.guard_public import is_loopback
from roundtable.vendors import known_provider

if TYPE_CHECKING:
    from types import ModuleType

    from roundtable.core.errors import RoundtableError
    from roundtable.core.types.prices import PriceAmount
    from roundtable.core.types.providers import ProviderInfo, ProviderLookup

__all__ = [
    "FULL_PRICE",
    "HALF_PRICE",
    "ModelPrice",
    "PriceLike",
    "PriceTable",
    "sane_usage",
    "to_usd",
    "usage_of_failure",
]

_log: logging.Logger = logging.getLogger(__name__)

HALF_PRICE: Final = Decimal("0.5")
SMALLEST_USD: Final = Decimal("1e-12")
"""Unit to which prices of calls are rounded up, in US dollars."""


def sane_usage(usage: Usage, *, counts_tokens: bool = True) -> Usage:
    """Correct usage so that it can be summed: no negative count, at least one call, and a finite price or no price.

    Args:
        usage: Usage in a response.
        counts_tokens: Whether a call consumes tokens (see `ProviderInfo.counts_tokens`), so that a call without any
            tokens counts as unreported.

    Example:
        >>> sane_usage(Usage(input_tokens=3)).calls
        1
        >>> (
        ...     sane_usage(Usage(calls=1)).unreported_calls,
        ...     sane_usage(Usage(calls=1), counts_tokens=False).unreported_calls,
        ... )
        (1, 0)
    """
    cost = usage.cost_usd
    counts = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.long_cache_write_tokens,
        usage.reasoning_tokens,
        usage.searches,
        usage.unreported_calls,
    )
    is_silent = usage.input_tokens <= 0 and usage.output_tokens <= 0 and counts_tokens
    if usage.calls >= 1 and min(counts) >= 0 and (cost is None or (math.isfinite(cost) and cost >= 0)):
        if not is_silent or usage.unreported_calls:
            return usage
        return usage.model_copy(update={"unreported_calls": usage.calls})
    return Usage(
        input_tokens=max(0, usage.input_tokens),
        output_tokens=max(0, usage.output_tokens),
        cache_read_tokens=max(0, usage.cache_read_tokens),
        cache_write_tokens=max(0, usage.cache_write_tokens),
        long_cache_write_tokens=max(0, usage.long_cache_write_tokens),
        reasoning_tokens=max(0, usage.reasoning_tokens),
        searches=max(0, usage.searches),
        calls=max(1, usage.calls),
        unreported_calls=max(0, usage.unreported_calls, usage.calls if is_silent else 0),
        cost_usd=cost if cost is not None and math.isfinite(cost) and cost >= 0 else None,
        partial_cost_usd=usage.partial_cost_usd,
    )


def usage_of_failure(error: RoundtableError, *, begun: bool) -> Usage:
    """Return the usage of a failed try.

    If the error has a usage, that usage counts. Otherwise, the usage is unknown if the answer had begun, was useless,
    or was still missing at the deadline. A refusal or an unreachable provider consumes nothing.

    Args:
        error: Why the try failed.
        begun: Whether the provider had begun to answer.
    """
    if error.usage is not None:
        return error.usage
    timed_out = isinstance(error, APITimeoutError) and "status" not in (error.details or {})
    if begun or timed_out or kind_of(error) == "answer":
        return Usage(calls=1, unreported_calls=1)
    return Usage()


PriceLike: TypeAlias = "ModelPrice | Mapping[str, PriceAmount]"
"""A price, or its fields as a mapping."""


class PriceTable:
    """Prices of models by `provider:model`.

    The caller's prices have priority; `provider:*` applies to all other models of a provider. Next come the prices that
    a provider declares (`ProviderInfo.prices`), and then the table in the package `genai-prices`, if it is installed
    (extra `prices`). The embedded model costs nothing. A server on this machine is not a vendor, so its models have
    prices only if the caller or the provider states them.

    Args:
        stated: The caller's prices.
        packaged: Whether to use the packaged table.
        providers: What is known about providers; only the built-in ones are known by default.

    Raises:
        ConfigurationError: A name is not a `provider:model`, or a price is not valid.

    Example:
        >>> table = PriceTable({"acme:large": {"input": 2, "output": "8.5"}}, packaged=False)
        >>> table.cost("acme", "large", Usage(input_tokens=1_000_000, calls=1))
        Decimal('2')
        >>> table.cost("acme", "small", Usage(calls=1)) is None
        True
    """

    def __init__(
        self,
        stated: Mapping[str, PriceLike] | None = None,
        *,
        packaged: bool = True,
        providers: ProviderLookup = known_provider,
    ) -> None:
        if stated is not None and not isinstance(stated, Mapping):
            raise ConfigurationError(
                f"prices must be a mapping from 'provider:model' to prices, not {stated!r}",
                hint='Pass a mapping such as {"openai:*": {"input": 1.25, "output": 10}}.',
            )
        self._stated = {_split_name(name): as_price(name, price) for name, price in (stated or {}).items()}
        self._packaged = packaged
        self.provider: Final = providers
        """Function that returns what is known about a provider."""
        self._library: ModuleType | None = None
        self._loaded = False

    @property
    def source(self) -> str:
        """The sources of the prices and their versions, such as `"stated, genai-prices 0.2.3"`."""
        library = self.load()
        packaged = [] if library is None else [f"genai-prices {library.__version__}"]
        return ", ".join([*(["stated"] if self._stated else []), *packaged]) or "none"

    def load(self) -> ModuleType | None:
        """Load the packaged table, if it is used and installed; takes about a second the first time."""
        if self._packaged and not self._loaded:
            try:
                import genai_prices
            except ImportError:
                _log.debug("genai-prices is not installed; only stated prices are known")
            else:
                self._library = genai_prices
            self._loaded = True
        return self._library

    def can_skip_load(self, provider: str, endpoint: str = "") -> bool:
        """Check whether the prices of a provider at an address are known without loading the packaged table."""
        info = self.provider(provider)
        return not self._packaged or self._loaded or info.billing == "free" or _has_no_vendor(info, endpoint)

    def cost(
        self,
        provider: str,
        model: str,
        usage: Usage,
        *,
        endpoint: str = "",
        share: Decimal = FULL_PRICE,
        listed: bool = True,
    ) -> Decimal | None:
        """Return the price of calls in US dollars, rounded up to 1e-12; `None` if it is unknown.

        Args:
            provider: Name of the provider.
            model: Model id.
            usage: Usage of the calls.
            endpoint: Root of the API that received the calls; empty for the vendor's own API.
            share: Share of the price of tokens that is charged, such as 0.5 in a batch.
            listed: Whether the list price applies; if not, only prices that the caller states count.
        """
        info = self.provider(provider)
        stated = self._stated_price(provider, model) or (info.price_of(model) if listed else None)
        if stated is not None:
            searches = _search_cost(info, model, usage) if stated.per_search is None else 0
            return _rounded(stated.cost(usage, share) + (searches or 0))
        if info.billing == "free":
            return Decimal(0)
        if not listed:
            return None
        tokens, searches = self._packaged_cost(info, model, usage, endpoint), _search_cost(info, model, usage)
        return None if tokens is None or searches is None else _rounded(tokens * share + searches)

    def saved(self, provider: str, model: str, usage: Usage, share: Decimal, *, endpoint: str = "") -> Decimal | None:
        """Return how many US dollars caches and a discount saved; `None` if this is unknown.

        Args:
            provider: Name of the provider.
            model: Model id.
            usage: Usage of the calls.
            share: Fraction of the list price that is charged for tokens; 0.5 is half the price.
            endpoint: Root of the API that received the calls.
        """
        uncached = usage.model_copy(
            update={"cache_read_tokens": 0, "cache_write_tokens": 0, "long_cache_write_tokens": 0}
        )
        full = self.cost(provider, model, uncached, endpoint=endpoint)
        paid = self.cost(provider, model, usage, endpoint=endpoint, share=share)
        return None if full is None or paid is None else full - paid

    def worst(
        self,
        provider: str,
        model: str,
        input_tokens: int,
        output_tokens: int,
        *,
        endpoint: str = "",
        searches: int = 0,
        share: Decimal = FULL_PRICE,
    ) -> Decimal | None:
        """Return the most that one call with these tokens and searches may cost; `None` if that is unknown."""
        plain = Usage(input_tokens=input_tokens, output_tokens=output_tokens, searches=searches, calls=1)
        writes = [{}, {"cache_write_tokens": input_tokens}]
        stated = self._stated_price(provider, model) or self.provider(provider).price_of(model)
        if stated is not None and stated.long_cache_write is not None:
            # Without a stated price, the short cache counts: only that one is used unless the caller requests more.
            writes.append({"cache_write_tokens": input_tokens, "long_cache_write_tokens": input_tokens})
        cases = [{**write, **thought} for write in writes for thought in ({}, {"reasoning_tokens": output_tokens})]
        usages = [plain.model_copy(update=case) for case in cases]
        costs = [self.cost(provider, model, usage, endpoint=endpoint, share=share) for usage in usages]
        known = [cost for cost in costs if cost is not None]
        return max(known) if costs[0] is not None else None

    def states(self, provider: str, model: str) -> bool:
        """Check whether the caller states a price for a model."""
        return self._stated_price(provider, model) is not None

    def _stated_price(self, provider: str, model: str) -> ModelPrice | None:
        return self._stated.get((provider, model)) or self._stated.get((provider, "*"))

    def _packaged_cost(self, info: ProviderInfo, model: str, usage: Usage, endpoint: str) -> Decimal | None:
        if _has_no_vendor(info, endpoint):
            return None
        library = self.load()
        if library is None or not model:
            return None
        by_address = info.billing == "by_address"
        vendor = {"provider_api_url": endpoint} if by_address else {"provider_id": info.price_table or info.name}
        long_writes = usage.long_cache_write_tokens
        counts = library.Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            **({"cache_write_1h_tokens": min(long_writes, usage.cache_write_tokens)} if long_writes else {}),
        )
        try:
            price = library.calc_price(counts, model_ref=model, **vendor).total_price
        except (LookupError, ValueError) as error:
            # The model is not in the table, or the counts contradict each other.
            _log.debug("no price for %s:%s: %s", info.name, model, error)
            return None
        # The price already includes the fee per call once.
        return _rounded(Decimal(price))


def _search_cost(info: ProviderInfo, model: str, usage: Usage) -> Decimal | None:
    """Return the list price of searches; `None` if the function that a provider declares for it fails."""
    try:
        return info.search_cost(model, usage)
    except Exception as error:  # noqa: BLE001  (third-party code; the answer is paid, and must not be lost)
        _log.warning("search_usd of %s failed: %s: %s", info.name, type(error).__name__, error_text(error))
        return None


def to_usd(amount: Decimal | None) -> float | None:
    """Convert an exact amount to a float."""
    return None if amount is None else float(amount)


def _rounded(amount: Decimal) -> Decimal:
    with localcontext() as context:
        context.prec = 50
        return amount.quantize(SMALLEST_USD, rounding=ROUND_UP).normalize() + 0


def _has_no_vendor(info: ProviderInfo, endpoint: str) -> bool:
    """Check whether a provider at an address is not a vendor, so that the packaged table cannot apply."""
    return info.billing == "unlisted" or _is_local(endpoint) or (info.billing == "by_address" and not endpoint)


def _is_local(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    return is_loopback(host) or host.endswith(".localhost")


def _split_name(name: object) -> tuple[str, str]:
    provider, colon, model = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not (provider and colon and model):
        raise ConfigurationError(f"prices are for 'provider:model' or 'provider:*', not {name!r}")
    return provider, model
