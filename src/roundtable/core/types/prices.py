"""The price of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final, TypeAlias

from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from roundtable.core.types.chat import Usage

__all__ = ["FULL_PRICE", "ModelPrice", "PriceAmount", "as_amount", "as_price"]

_MILLION: Final = Decimal(1_000_000)
FULL_PRICE: Final = Decimal(1)

PriceAmount: TypeAlias = "Decimal | float | str"
"""An amount in US dollars; a text such as `"0.3"` is exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """Price of one model, in US dollars per million tokens. Numbers are converted to exact decimals.

    Cached tokens are part of the input, and reasoning tokens are part of the output. Without a price of their own, they
    cost as much as the other tokens.

    Raises:
        ConfigurationError: A price is negative or not a number.

    Example:
        >>> from roundtable.types import Usage
        >>> price = ModelPrice(input=3, output=15, cache_read="0.3")
        >>> price.cost(Usage(input_tokens=1000, cache_read_tokens=400, output_tokens=100, calls=1))
        Decimal('0.00342')
    """

    input: PriceAmount
    """Price of a million tokens of input."""
    output: PriceAmount
    """Price of a million tokens of output."""
    cache_read: PriceAmount | None = None
    """Price of a million tokens of input that a cache provides."""
    cache_write: PriceAmount | None = None
    """Price of a million tokens of input that are written to a cache."""
    long_cache_write: PriceAmount | None = None
    """Price of a million tokens of input that a cache keeps for an hour; when left out, `cache_write`."""
    reasoning: PriceAmount | None = None
    """Price of a million tokens of reasoning."""
    per_call: PriceAmount = 0
    """Price of one call, in addition to its tokens."""
    per_search: PriceAmount | None = None
    """Price of one web search that the provider makes itself; when left out, the list price, if it is known."""

    def __post_init__(self) -> None:
        """Convert the prices to decimals."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                object.__setattr__(self, field.name, as_amount(field.name, value))

    def cost(self, usage: Usage, share: Decimal = FULL_PRICE) -> Decimal:
        """Return the exact price of calls in US dollars.

        Args:
            usage: Usage of the calls.
            share: Share of the price of tokens that is charged, such as 0.5 in a batch.
        """
        read, write, reasoning = usage.cache_read_tokens, usage.cache_write_tokens, usage.reasoning_tokens
        write_long = min(write, usage.long_cache_write_tokens)
        plain_in = max(0, usage.input_tokens - read - write)
        plain_out = max(0, usage.output_tokens - reasoning)
        write_price = self.input if self.cache_write is None else self.cache_write
        parts = (
            (plain_in, self.input),
            (read, self.input if self.cache_read is None else self.cache_read),
            (write - write_long, write_price),
            (write_long, write_price if self.long_cache_write is None else self.long_cache_write),
            (plain_out, self.output),
            (reasoning, self.output if self.reasoning is None else self.reasoning),
        )
        tokens = sum((Decimal(count) * Decimal(price) for count, price in parts), Decimal(0))
        searches = Decimal(usage.searches) * Decimal(self.per_search or 0)
        return share * tokens / _MILLION + Decimal(max(1, usage.calls)) * Decimal(self.per_call) + searches


def as_amount(field: str, value: object) -> Decimal:
    """Return an amount as an exact number.

    Raises:
        ConfigurationError: It is not a finite number of at least 0.
    """
    if isinstance(value, bool) or not isinstance(value, Decimal | int | float | str):
        raise ConfigurationError(f"the price {field!r} must be a number, not {value!r}")
    try:
        price = Decimal(str(value))
    except InvalidOperation:
        raise ConfigurationError(f"the price {field!r} must be a number, not {value!r}") from None
    if not price.is_finite() or price < 0:
        raise ConfigurationError(f"the price {field!r} must be a finite number of at least 0, not {value!r}")
    return price


def as_price(name: str, price: object) -> ModelPrice:
    """Return a price that is a `ModelPrice`, or a mapping with its fields.

    Raises:
        ConfigurationError: It is anything else.
    """
    if isinstance(price, ModelPrice):
        return price
    hint = "Use ModelPrice(input=..., output=...), or a mapping with the same keys; US dollars per million tokens."
    if not isinstance(price, Mapping):
        raise ConfigurationError(f"the price of {name!r} must be a ModelPrice, not {price!r}", hint=hint)
    try:
        return ModelPrice(**price)
    except TypeError as error:
        raise ConfigurationError(f"the price of {name!r} cannot be read: {error}", hint=hint) from error
