"""Price each call, and only allow the calls that a budget covers."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from roundtable.core.base.ledger import Amount, Ledger
from roundtable.core.chat_models import WrappedModel, close_stream, facts_of
from roundtable.core.errors import BudgetExceeded, RoundtableError
from roundtable.core.prompts.compose import estimate_tokens
from roundtable.core.types.attachments import IMAGE_TOKENS, PAGE_TOKENS
from roundtable.core.types.chat import ChatDelta, ChatResponse
from roundtable.core.types.model_facts import ModelFacts
from roundtable.gateway.prices import FULL_PRICE, sane_usage, to_usd, usage_of_failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from roundtable.core.base.ledger import Ticket
    from roundtable.core.protocols import ChatModel
    from roundtable.core.types.chat import ChatRequest, Usage
    from roundtable.core.types.providers import ProviderInfo
    from roundtable.gateway.prices import PriceTable

__all__ = ["SEARCH_TOKENS", "SYNTHESIS", "MeteredModel", "ReservedModel", "prompt_tokens", "search_tokens"]


SYNTHESIS: Final = "synthesis"
"""Value of `metadata["purpose"]` in a request that may use the amount reserved for the synthesis."""
SEARCH_TOKENS: Final = 10_000
"""Tokens that the pages of one provider search add to a prompt; an upper estimate."""
MESSAGE_TOKENS: Final = 8
"""Tokens that each message needs in addition to its text."""
_POLL_S: Final = 0.02


def prompt_tokens(request: ChatRequest) -> int:
    """Return an estimate of a request's tokens without a tokenizer: messages, tools, schema, images and documents.

    For texts, it is an upper estimate.

    Example:
        >>> from roundtable.types import ChatRequest, Message
        >>> prompt_tokens(ChatRequest(model="m", messages=(Message(role="user", content="Tea or coffee?"),)))
        13
    """
    total = 0
    for message in request.messages:
        total += MESSAGE_TOKENS + estimate_tokens(message.content)
        if message.images or message.files:
            total += IMAGE_TOKENS * len(message.images) + PAGE_TOKENS * sum(file.pages for file in message.files)
        total += sum(estimate_tokens(f"{call.name}{json.dumps(dict(call.arguments))}") for call in message.tool_calls)
    total += sum(MESSAGE_TOKENS + estimate_tokens(tool.to_json()) for tool in request.tools)
    return total + (estimate_tokens(request.output_schema.to_json()) if request.output_schema else 0)


def search_tokens(request: ChatRequest, provider: ProviderInfo) -> int:
    """Return an upper estimate of the tokens that a provider's own searches add to the prompt.

    Example:
        >>> from roundtable.types import ChatRequest
        >>> from roundtable.vendors import known_provider
        >>> search_request = ChatRequest(model="m", messages=(), search={"max_uses": 2})
        >>> [search_tokens(search_request, known_provider(name)) for name in ("anthropic", "perplexity")]
        [20000, 0]
    """
    return request.search.max_uses * SEARCH_TOKENS if request.search and provider.search_pages_billed else 0


class MeteredModel(WrappedModel):
    """A `ChatModel` that adds the price to its responses, and enforces the budgets of a ledger.

    A call belongs to the debate named in `metadata["session"]` of its request, if that debate makes the call. If a
    budget applies, the worst case is reserved before the call: an estimate of the prompt, `max_tokens` of output, and
    the highest price. While the budget does not cover that, the call waits until other calls are settled. A price that
    the model itself reports is not changed.

    Inside a gateway, each try of a call is a separate call for this model. The reservation comes before the try. So the
    wait for the budget does not count as time of the provider, and a try that the budget does not cover is not made.

    Args:
        inner: The wrapped model.
        prices: Prices of calls.
        ledger: Budgets to enforce; no budgets when left out.

    Example:
        >>> import anyio
        >>> from roundtable.gateway.prices import PriceTable
        >>> from roundtable.providers import ScriptedModel
        >>> from roundtable.types import ChatRequest
        >>> prices = PriceTable({"scripted:scripted": {"input": 0, "output": 1000}})
        >>> model = MeteredModel(ScriptedModel(["Four letters each token."]), prices)
        >>> anyio.run(model.complete, ChatRequest(model="", messages=())).usage.cost_usd
        0.006
    """

    def __init__(self, inner: ChatModel, prices: PriceTable, ledger: Ledger | None = None) -> None:
        super().__init__(inner)
        self.prices = prices
        self.ledger: Ledger = ledger or Ledger()
        self._kind = ""
        self._has_prices = False

    @classmethod
    def of(
        cls,
        model: ChatModel,
        prices: PriceTable,
        ledger: Ledger,
        *,
        inside: Callable[[ChatModel], ChatModel] | None = None,
    ) -> MeteredModel:
        """Return a model with a meter; the meter of a model that has one already is replaced.

        Args:
            model: The model.
            prices: As for the class.
            ledger: As for the class; a meter with the same ledger stays.
            inside: Wraps a model that had no meter, below the new one.
        """
        if isinstance(model, MeteredModel):
            return model if model.ledger is ledger else cls(model.inner, prices, ledger)
        return cls(model if inside is None else inside(model), prices, ledger)

    @property
    def facts(self) -> ModelFacts:
        """What the inner model declares."""
        return facts_of(self.inner)

    @property
    def provider_info(self) -> ProviderInfo:
        """What the provider declares; for a named endpoint, what the provider declares that it was made from."""
        if not self._kind:
            self._kind = self.facts.kind or self.provider
        return self.prices.provider(self._kind)

    @property
    def is_priced(self) -> bool:
        """Whether the price of the model is known, or the model enforces its own limit."""
        return self.facts.cost_limit_usd is not None or self.worst_cost(self.model, 1, 1) is not None

    async def prepare(self) -> None:
        """Prepare the model, and load the packaged prices if they are needed.

        Raises:
            RoundtableError: The model is unavailable.
        """
        await self._read_prices()
        await super().prepare()

    async def _read_prices(self) -> None:
        if self._has_prices:
            return
        # This takes about a second, only once. It runs on a thread, so that it does not block the event loop.
        facts = self.facts
        if not self.prices.can_skip_load(facts.kind or self.provider, facts.endpoint):
            await anyio.to_thread.run_sync(self.prices.load)
        self._has_prices = True

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once; raises the errors of the model.

        Raises:
            BudgetExceeded: The budget does not cover the call, which was not made.
        """
        return await (await self.reserved(request)).complete(request)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        """Answer in pieces, then with the whole response; raises the errors of the model.

        Raises:
            BudgetExceeded: The budget does not cover the call, which was not made.
        """
        pieces = (await self.reserved(request)).stream(request)
        try:
            async for piece in pieces:
                yield piece
        finally:
            await close_stream(pieces)

    async def reserved(self, request: ChatRequest) -> ReservedModel:
        """Wait until the budgets cover a call; return a model that is valid for this call only.

        Raises:
            BudgetExceeded: The budgets cannot cover the call, even if all other reservations are released.
        """
        await self._read_prices()
        account = self.ledger.account(request.metadata.get("session"))
        if not account.is_limited:
            account.calls_begun += 1
            return ReservedModel(self, None)
        worst_case = self.worst_case(request, prices=account.needs_prices)
        reserve = partial(
            account.reserve,
            worst_case,
            may_use_reserve=request.metadata.get("purpose") == SYNTHESIS,
            # If a call is refused because of its search, it can be made without a search.
            has_cheaper_form=bool(request.search),
        )
        try:
            # The reservation may be released in another event loop, which cannot set an anyio event of this loop.
            while (ticket := reserve()) is None:  # noqa: ASYNC110  (see above)
                await anyio.sleep(_POLL_S)
        except BudgetExceeded as error:
            error.provider = self.provider
            raise
        account.calls_begun += 1
        return ReservedModel(self, ticket)

    def worst_case(self, request: ChatRequest, *, prices: bool = True) -> Amount:
        """Return the most that a call may consume, by an estimate of its prompt; with a price only if needed."""
        tokens_in, tokens_out = self.worst_tokens(request)
        if request.search:
            tokens_in += search_tokens(request, self.provider_info)
        cost = self._worst_cost(request, tokens_in, tokens_out) if prices else None
        return Amount(cost, tokens_in + tokens_out, 1)

    def worst_tokens(self, request: ChatRequest) -> tuple[int, int]:
        """Return the most input and output tokens of a call; 0 if its provider counts no tokens."""
        return (prompt_tokens(request), request.max_tokens) if self.provider_info.counts_tokens else (0, 0)

    def _worst_cost(self, request: ChatRequest, tokens_in: int, tokens_out: int) -> Decimal | None:
        cost_limit = self.facts.cost_limit_usd
        if cost_limit is not None:
            return Decimal(repr(float(cost_limit)))
        searches = request.search.max_uses if request.search else 0
        return self.worst_cost(request.model or self.model, tokens_in, tokens_out, searches=searches)

    def worst_cost(self, model: str, tokens_in: int, tokens_out: int, *, searches: int = 0) -> Decimal | None:
        """Return the most US dollars that a call of a model with these tokens may cost; `None` if that is unknown."""
        facts = self.facts
        return self.prices.worst(
            self._priced_as(self.provider, model, facts),
            model,
            tokens_in,
            tokens_out,
            endpoint=facts.endpoint,
            searches=searches,
            share=facts.price_share,
        )

    def priced(self, usage: Usage, request: ChatRequest, response: ChatResponse | None = None) -> Usage:
        """Return usage with its price, for the requested model or else for the model that the provider reports.

        The price remains unknown if no table has it, or if the provider does not report the usage. If the usage
        already has a `partial_cost_usd`, the list price does not apply, and only a price that the caller states counts.
        """
        if usage.cost_usd is not None or usage.unreported_calls or not usage.calls:
            return usage
        listed = usage.partial_cost_usd is None
        provider = (response and response.provider) or self.provider
        facts = self.facts
        share, endpoint = facts.price_share, facts.endpoint
        for name in dict.fromkeys((request.model or self.model, (response and response.model) or "")):
            listed_as = self._priced_as(provider, name, facts)
            exact = self.prices.cost(listed_as, name, usage, endpoint=endpoint, share=share, listed=listed)
            cost = to_usd(exact)
            if cost is None:
                continue
            priced: dict[str, float | None] = {"cost_usd": cost, "partial_cost_usd": None}
            if usage.cache_read_tokens or usage.cache_write_tokens or share != FULL_PRICE:
                saved = self.prices.saved(listed_as, name, usage, share, endpoint=endpoint)
                priced["saved_usd"] = to_usd(saved)
            return usage.model_copy(update=priced)
        return usage

    def _priced_as(self, provider: str, model: str, facts: ModelFacts) -> str:
        """Return the provider whose prices apply: for a named endpoint without stated prices, the one of its kind."""
        if not facts.kind or provider != self.provider or self.prices.states(provider, model):
            return provider
        return facts.kind


class ReservedModel(WrappedModel):
    """A metered model with the reservation for one call; `MeteredModel.reserved` creates it for that call only.

    Args:
        meter: The metered model.
        ticket: The reservation; `None` if no budget applies.
    """

    def __init__(self, meter: MeteredModel, ticket: Ticket | None) -> None:
        super().__init__(meter.inner)
        self._meter = meter
        self._ticket = ticket

    def release(self) -> None:
        """Release the reservation of a call that is not made."""
        if self._ticket is not None:
            self._ticket.release()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once; raises the errors of the model."""
        try:
            return self._with_cost(await self.inner.complete(request), request)
        except BaseException as error:
            self._settle_failed(error, request, begun=False)
            raise

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        """Answer in pieces, then with the whole response; raises the errors of the model."""
        pieces = self.inner.stream(request)
        begun = False
        try:
            async for piece in pieces:
                begun = True
                yield piece if isinstance(piece, ChatDelta) else self._with_cost(piece, request)
        except BaseException as error:
            self._settle_failed(error, request, begun=begun)
            raise
        finally:
            await close_stream(pieces)
            # The usage of a stream that ended without a response is unknown.
            if self._ticket is not None:
                self._ticket.settle()

    def _with_cost(self, response: ChatResponse, request: ChatRequest) -> ChatResponse:
        # A third-party model may return anything. The gateway then raises the error; here, the whole reservation is
        # charged.
        if not isinstance(response, ChatResponse):  # pyright: ignore[reportUnnecessaryIsInstance]
            if self._ticket is not None:
                self._ticket.settle()
            return response
        usage = sane_usage(response.usage, counts_tokens=self._meter.provider_info.counts_tokens)
        usage = self._meter.priced(usage, request, response)
        self._settle(usage)
        return response if usage is response.usage else response.model_copy(update={"usage": usage})

    def _settle_failed(self, error: BaseException, request: ChatRequest, *, begun: bool) -> None:
        """Charge a call without a response; a reservation that is already settled does not change.

        If the call was cancelled, or ended with an error of another library, its usage is unknown, so the whole
        reservation is charged.
        """
        if isinstance(error, RoundtableError):
            if error.usage is not None:
                error.usage = self._meter.priced(error.usage, request)
            self._settle(usage_of_failure(error, begun=begun))
        elif self._ticket is not None:
            self._ticket.settle()

    def _settle(self, usage: Usage) -> None:
        """Charge the known usage, and the reserved amount if the usage is unknown; always charge at least one call."""
        ticket = self._ticket
        if ticket is None:
            return
        reserved = ticket.amount.tokens if usage.unreported_calls else 0
        is_unknown = usage.cost_usd is None and usage.calls > 0
        ticket.settle(
            Amount(
                None if is_unknown else Decimal(repr(usage.known_cost_usd)),
                max(usage.total_tokens, reserved),
                max(1, usage.calls),
            )
        )
