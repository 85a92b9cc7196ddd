"""What a provider declares about itself: its keys, addresses, default models and prices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from roundtable.core.errors import ConfigurationError
from roundtable.core.types.prices import ModelPrice, PriceAmount, as_amount, as_price

if TYPE_CHECKING:
    from roundtable.core.types.chat import Usage

__all__ = ["Billing", "ProviderInfo", "ProviderLookup", "SearchCost"]

Billing: TypeAlias = Literal["by_name", "by_address", "unlisted", "free"]
"""Which list prices apply if nobody states a price.

- `by_name`: those of the vendor with this name in the packaged table.
- `by_address`: those of the vendor at the address of the calls.
- `unlisted`: none, so the cost is unknown.
- `free`: calls cost nothing.
"""

SearchCost: TypeAlias = "Callable[[str, Usage], Decimal | None]"
"""Function that returns the list price of searches in US dollars, from the model and the usage; `None` if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderInfo:
    """What the library must know about a provider before and besides its models.

    Default agents, `roundtable agents`, `roundtable doctor`, prices and budgets use it. A provider declares it in the
    attribute `info` of its factory. Each field has a default, so state what applies.

    Raises:
        ConfigurationError: A field has a wrong type, or a price is negative or not a number.

    Example:
        >>> from roundtable.types import ModelPrice, ProviderInfo
        >>> info = ProviderInfo(
        ...     name="acme",
        ...     key_env=("ACME_API_KEY",),
        ...     default_model="acme-large",
        ...     prices={"acme-large": ModelPrice(input=2, output="8.5")},
        ... )
        >>> info.label, info.price_of("acme-large").output, info.price_of("acme-small")
        ('acme', Decimal('8.5'), None)
    """

    name: str
    """Name that selects the provider, as in `name:model`."""
    kind: str | None = None
    """Provider that this named endpoint was made from; `None` for other providers."""
    display_name: str = ""
    """Name shown to people; `name` if empty."""
    summary: str = ""
    """Description in one line."""
    base_url: str | None = None
    """Root of the API, in the vendor's own convention; `None` if the user must name it, or if there is none."""
    base_url_env: str | None = None
    """Environment variable that replaces `base_url`. If it or `host_env` is set, and the provider has no `base_url` and
    needs no key, it is used by debates that name no agents."""
    host_env: str | None = None
    """Environment variable with the host of a local server, in Ollama's format; used when no address is set. If no
    model is named, the first model that this server lists is used."""
    key_env: tuple[str, ...] = ()
    """Environment variables of the key; the first one that is set wins. If one is set and `key_required` is true, the
    provider is used by debates that name no agents."""
    key_required: bool = True
    """Whether calls need a key."""
    default_model: str | None = None
    """Model used when no model is named; `None` if the user must name one."""
    model_env: str | None = None
    """Environment variable of the default model."""
    light_model: str | None = None
    """Small model for summaries and analysis; if there is none, the default model is used."""
    prices: Mapping[str, ModelPrice] = field(default_factory=dict)
    """Prices by model id; `"*"` is the price of all other models. Prices of the user win, and these win over the
    packaged table."""
    billing: Billing = "by_name"
    """Which list prices apply to models without a price in `prices`."""
    price_table: str | None = None
    """Vendor whose list prices apply, by its name in the packaged table; `name` if `None`."""
    search_usd: PriceAmount | SearchCost | None = None
    """List price of one search that the provider makes itself, in US dollars; or a function for prices that depend on
    the model; `None` if it is unknown."""
    search_pages_billed: bool = True
    """Whether the pages that a search finds are billed as input tokens."""
    counts_tokens: bool = True
    """Whether calls consume tokens; not so for a person, or for a model that somebody else runs and pays for."""
    is_person: bool = False
    """Whether a person answers. A person cannot be replaced when a session continues, and the command shows a debate
    with a person only at its end, so that the person sees only what its turns show."""
    replays: bool = False
    """Whether its models answer from a recording. At a table with a cassette, such a model is created from its own
    recording; other models are created only when a call is not on the cassette."""
    no_auxiliary_roles: str = ""
    """Why its models do not analyse, judge or summarise debates unless `seats` names them; empty if they may."""
    stand_in: str = ""
    """What the provider offers without a key or an address, such as `"the embedded model"`. If it is set, debates that
    name no agents use the provider when no other provider is usable. An installed plugin with such a provider must be
    loaded for this."""
    needs_module: str = ""
    """Module that must be installed for its models; empty if there is none."""
    install_hint: str = ""
    """How to install that module, such as `"install it with: pip install acme-models"`."""
    caution: str = ""
    """What users should know about the default model, in one sentence; the command shows it before a debate in which
    all agents use default models with a caution."""
    downloads: bool = False
    """Whether a model may be downloaded before its first call. If so, the factory of the provider has a method
    `show_progress(progress)`; `progress` is called with the received and the total bytes, from any thread."""

    def __post_init__(self) -> None:
        """Check the fields, and convert prices to `ModelPrice` and `Decimal`."""
        if isinstance(self.key_env, str) or not all(isinstance(name, str) for name in self.key_env):
            raise ConfigurationError(f"key_env must be a tuple of variables, not {self.key_env!r}")
        if self.billing not in get_args(Billing):
            raise ConfigurationError(f"billing must be one of {', '.join(get_args(Billing))}, not {self.billing!r}")
        prices = {model: as_price(f"{self.name}:{model}", price) for model, price in self.prices.items()}
        object.__setattr__(self, "prices", prices)
        if self.search_usd is not None and not callable(self.search_usd):
            object.__setattr__(self, "search_usd", as_amount("search_usd", self.search_usd))

    @property
    def is_installed(self) -> bool:
        """Whether the module that its models need is installed; it is not imported.

        Example:
            >>> ProviderInfo(name="acme", needs_module="acme_engine").is_installed
            False
        """
        return not self.needs_module or find_spec(self.needs_module) is not None

    @property
    def label(self) -> str:
        """Name for people."""
        return self.display_name or self.name

    def price_of(self, model: str) -> ModelPrice | None:
        """Return the declared price of a model; `None` if there is none."""
        return self.prices.get(model) or self.prices.get("*")

    def search_cost(self, model: str, usage: Usage) -> Decimal | None:
        """Return the list price in US dollars of the searches that the provider made itself; `None` if it is unknown.

        Example:
            >>> from roundtable.types import Usage
            >>> usage = Usage(searches=3, calls=1)
            >>> ProviderInfo(name="acme", search_usd=Decimal("0.01")).search_cost("acme-large", usage)
            Decimal('0.03')
        """
        if not usage.searches:
            return Decimal(0)
        if self.search_usd is None:
            return None
        if callable(self.search_usd):
            return self.search_usd(model, usage)
        return Decimal(self.search_usd) * usage.searches


ProviderLookup: TypeAlias = Callable[[str], ProviderInfo]
"""Function that returns what is known about a provider, from its name; it knows at least the name."""
