"""What calls cost: a table of prices, the caller's before the packaged ones. Never reaches the network."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import ROUND_UP, Decimal, InvalidOperation, localcontext
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

from roundtable.errors import ConfigurationError
from roundtable.http.addresses import is_loopback
from roundtable.types import Usage

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["ModelPrice", "PriceLike", "PriceTable", "to_usd"]

_log: logging.Logger = logging.getLogger(__name__)
MILLION: Final = Decimal(1_000_000)
SMALLEST_USD: Final = Decimal("1e-12")
"""Prices of calls are rounded up to this."""

_SAME_VENDOR: Final = {"openai-chat": "openai"}
"""Providers of ours whose packaged prices stand under another name."""
_UNBILLED: Final = frozenset({"human", "local"})
"""Providers whose models run in this process, and people: nobody sends a bill."""
_NO_VENDOR: Final = frozenset({"scripted", "replay", "command", "claude-cli", "codex-cli", "gemini-cli"})
"""Providers of ours that are no vendor, and must not be taken for one of that name."""

_Amount: TypeAlias = "Decimal | float | str"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """Price of one model, in US dollars per million tokens. Numbers are read as decimals, as they are written.

    Cached tokens are part of the input and reasoning tokens part of the output: what has no price of its own costs what
    the rest does.

    Raises:
        ConfigurationError: A price is negative or no number.

    Example:
        >>> price = ModelPrice(input=3, output=15, cache_read="0.3")
        >>> price.cost(Usage(input_tokens=1000, cache_read_tokens=400, output_tokens=100, calls=1))
        Decimal('0.00342')
    """

    input: _Amount
    """A million tokens of input."""
    output: _Amount
    """A million tokens of output."""
    cache_read: _Amount | None = None
    """A million tokens of input served from a cache."""
    cache_write: _Amount | None = None
    """A million tokens of input written to a cache."""
    reasoning: _Amount | None = None
    """A million tokens of reasoning."""
    per_call: _Amount = 0
    """One call, whatever it holds."""

    def __post_init__(self) -> None:
        """Read the numbers."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                object.__setattr__(self, field.name, _price(field.name, value))

    def cost(self, usage: Usage) -> Decimal:
        """Give the exact price of calls in US dollars."""
        read, write, thought = usage.cache_read_tokens, usage.cache_write_tokens, usage.reasoning_tokens
        plain_in = max(0, usage.input_tokens - read - write)
        plain_out = max(0, usage.output_tokens - thought)
        parts = (
            (plain_in, self.input),
            (read, self.input if self.cache_read is None else self.cache_read),
            (write, self.input if self.cache_write is None else self.cache_write),
            (plain_out, self.output),
            (thought, self.output if self.reasoning is None else self.reasoning),
        )
        tokens = sum((Decimal(count) * Decimal(price) for count, price in parts), Decimal(0))
        return tokens / MILLION + Decimal(max(1, usage.calls)) * Decimal(self.per_call)


PriceLike: TypeAlias = "ModelPrice | Mapping[str, _Amount]"
"""A price, or its fields as a mapping."""


class PriceTable:
    """Prices of models by `provider:model`.

    What the caller states comes first; `provider:*` stands for all models of a provider that are not stated. Then
    comes the table of `genai-prices`, where that is installed (extra `prices`): it comes with the package and is read
    from there. The embedded model costs nothing. A server on this machine is no vendor: its models have the prices
    stated for them, or none.

    Args:
        stated: The caller's prices.
        packaged: Whether the packaged table is used.

    Raises:
        ConfigurationError: A name is no `provider:model`, or a price cannot be read.

    Example:
        >>> table = PriceTable({"acme:large": {"input": 2, "output": "8.5"}}, packaged=False)
        >>> table.cost("acme", "large", Usage(input_tokens=1_000_000, calls=1))
        Decimal('2')
        >>> table.cost("acme", "small", Usage(calls=1)) is None
        True
    """

    def __init__(self, stated: Mapping[str, PriceLike] | None = None, *, packaged: bool = True) -> None:
        if stated is not None and not isinstance(stated, Mapping):
            raise ConfigurationError(
                f"prices must map 'provider:model' to prices, not be {stated!r}",
                hint='Give a mapping such as {"openai:*": {"input": 1.25, "output": 10}}.',
            )
        self._stated = {_name(name): _model_price(name, price) for name, price in (stated or {}).items()}
        self._packaged = packaged
        self._library: ModuleType | None = None
        self._loaded = False

    @property
    def source(self) -> str:
        """Where prices come from, such as `"stated, genai-prices 0.2.3"`, for those who must know how old they are."""
        library = self.load()
        packaged = [] if library is None else [f"genai-prices {library.__version__}"]
        return ", ".join([*(["stated"] if self._stated else []), *packaged]) or "none"

    def load(self) -> ModuleType | None:
        """Read the packaged table, if it is used and there; takes about a second, once."""
        if self._packaged and not self._loaded:
            try:
                import genai_prices
            except ImportError:
                _log.debug("genai-prices is not installed; only stated prices are known")
            else:
                self._library = genai_prices
            self._loaded = True
        return self._library

    def knows_without(self, provider: str, endpoint: str = "") -> bool:
        """Tell whether the packaged table has no say about a provider at an address, so that it need not be read."""
        return not self._packaged or self._loaded or provider in _UNBILLED or _has_no_vendor(provider, endpoint)

    def cost(self, provider: str, model: str, usage: Usage, *, endpoint: str = "") -> Decimal | None:
        """Give the price of calls in US dollars, rounded up to 1e-12; `None` when it is unknown.

        Args:
            provider: Name of the provider.
            model: Model id.
            usage: What the calls consumed.
            endpoint: Root of the API the calls went to; the vendor's own when empty.
        """
        stated = self._stated.get((provider, model)) or self._stated.get((provider, "*"))
        if stated is not None:
            return _rounded(stated.cost(usage))
        if provider in _UNBILLED:
            return Decimal(0)
        return self._packaged_cost(provider, model, usage, endpoint)

    def worst(
        self, provider: str, model: str, input_tokens: int, output_tokens: int, *, endpoint: str = ""
    ) -> Decimal | None:
        """Give the most that one call of this size may cost; `None` when it is unknown."""
        plain = Usage(input_tokens=input_tokens, output_tokens=output_tokens, calls=1)
        ways = (
            plain,
            plain.model_copy(update={"cache_write_tokens": input_tokens}),
            plain.model_copy(update={"reasoning_tokens": output_tokens}),
            plain.model_copy(update={"cache_write_tokens": input_tokens, "reasoning_tokens": output_tokens}),
        )
        found = [self.cost(provider, model, way, endpoint=endpoint) for way in ways]
        known = [cost for cost in found if cost is not None]
        return max(known) if found[0] is not None else None

    def _packaged_cost(self, provider: str, model: str, usage: Usage, endpoint: str) -> Decimal | None:
        if _has_no_vendor(provider, endpoint):
            return None
        library = self.load()
        if library is None or not model:
            return None
        where = (
            {"provider_api_url": endpoint}
            if provider == "compatible"
            else {"provider_id": _SAME_VENDOR.get(provider, provider)}
        )
        counts = library.Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        )
        try:
            found = library.calc_price(counts, model_ref=model, **where).total_price
        except (LookupError, ValueError) as error:
            # It knows no such model, or the counts contradict each other.
            _log.debug("no price for %s:%s: %s", provider, model, error)
            return None
        # Fees per call are in it once.
        return _rounded(Decimal(found))


def to_usd(amount: Decimal | None) -> float | None:
    """Give an exact amount as the float that values carry."""
    return None if amount is None else float(amount)


def _rounded(amount: Decimal) -> Decimal:
    with localcontext() as context:
        context.prec = 50
        return amount.quantize(SMALLEST_USD, rounding=ROUND_UP).normalize() + 0


def _has_no_vendor(provider: str, endpoint: str) -> bool:
    """Tell whether nobody sends a bill who could be in a table of vendors."""
    return provider in _NO_VENDOR or _is_here(endpoint) or (provider == "compatible" and not endpoint)


def _is_here(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    return is_loopback(host) or host.endswith(".localhost")


def _name(name: object) -> tuple[str, str]:
    provider, colon, model = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not (provider and colon and model):
        raise ConfigurationError(f"a price is stated for 'provider:model' or 'provider:*', not for {name!r}")
    return provider, model


def _model_price(name: str, price: object) -> ModelPrice:
    if isinstance(price, ModelPrice):
        return price
    hint = "Give ModelPrice(input=..., output=...), or the same as a mapping; US dollars per million tokens."
    if not isinstance(price, Mapping):
        raise ConfigurationError(f"the price of {name!r} must be a ModelPrice, not {price!r}", hint=hint)
    try:
        return ModelPrice(**price)
    except TypeError as error:
        raise ConfigurationError(f"the price of {name!r} cannot be read: {error}", hint=hint) from error


def _price(what: str, value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, Decimal | int | float | str):
        raise ConfigurationError(f"the price {what!r} must be a number, not {value!r}")
    try:
        price = Decimal(str(value))
    except InvalidOperation:
        raise ConfigurationError(f"the price {what!r} must be a number, not {value!r}") from None
    if not price.is_finite() or price < 0:
        raise ConfigurationError(f"the price {what!r} must be a finite number of at least 0, not {value!r}")
    return price
