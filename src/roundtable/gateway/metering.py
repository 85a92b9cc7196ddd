"""Knowing what each call costs, and letting through only what a budget covers."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from roundtable._ledger import Amount, Ledger
from roundtable.errors import BudgetExceeded, RoundtableError
from roundtable.gateway.prices import to_usd
from roundtable.gateway.usage import TOKENLESS, sane_usage, usage_of_failure
from roundtable.gateway.wrapping import WrappedModel, close_stream, cost_limit_of
from roundtable.prompts import estimate_tokens
from roundtable.types import ChatDelta, ChatResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from roundtable._ledger import Ticket
    from roundtable.gateway.prices import PriceTable
    from roundtable.protocols import ChatModel
    from roundtable.types import ChatRequest, Usage

__all__ = ["SYNTHESIS", "MeteredModel", "ReservedModel", "prompt_tokens"]

SYNTHESIS: Final = "synthesis"
"""What stands in `metadata["purpose"]` of a request that may use what is kept for the synthesis."""
MESSAGE_TOKENS: Final = 8
"""What the frame of a message takes."""
_POLL_S: Final = 0.02


def prompt_tokens(request: ChatRequest) -> int:
    """Estimate the tokens of a request from above: messages, tools and schema; no tokenizer is at hand.

    Example:
        >>> from roundtable.types import ChatRequest, Message
        >>> prompt_tokens(ChatRequest(model="m", messages=(Message(role="user", content="Tea or coffee?"),)))
        13
    """
    total = 0
    for message in request.messages:
        total += MESSAGE_TOKENS + estimate_tokens(message.content)
        total += sum(estimate_tokens(f"{call.name}{json.dumps(dict(call.arguments))}") for call in message.tool_calls)
    total += sum(MESSAGE_TOKENS + estimate_tokens(tool.to_json()) for tool in request.tools)
    return total + (estimate_tokens(request.output_schema.to_json()) if request.output_schema else 0)


class MeteredModel(WrappedModel):
    """A `ChatModel` that states in its responses what they cost, and keeps to the budgets of a ledger.

    A call belongs to the debate named in `metadata["session"]` of its request. Where a budget holds for it, its worst
    case (an estimate of the prompt, `max_tokens` of output, the dearest price) is reserved before it starts. While
    that does not fit, the call waits for others to settle. A price that the model itself reports is kept.

    Inside a gateway each try of a call is one call here: it is reserved before the try's turn comes, so waiting for
    the budget is no time that the provider took, and a try that the budget refuses is not made.

    Args:
        inner: The model that answers.
        prices: What calls cost.
        ledger: Whose budgets hold; none do when left out.

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

    @property
    def is_priced(self) -> bool:
        """Whether the price of the model is known, or it keeps to a limit of its own."""
        return (
            cost_limit_of(self.inner) is not None
            or self.prices.worst(self.provider, self.model, 1, 1, endpoint=self.endpoint) is not None
        )

    async def prepare(self) -> None:
        """Let the model fetch or load what it needs; read the table of prices, where it will be asked.

        Raises:
            RoundtableError: The model cannot be had.
        """
        await self._read_prices()
        await super().prepare()

    async def _read_prices(self) -> None:
        # Takes the better part of a second, once; meanwhile others go on.
        if not self.prices.knows_without(self.provider, self.endpoint):
            await anyio.to_thread.run_sync(self.prices.load)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once; raises what the model raises.

        Raises:
            BudgetExceeded: The budget does not cover the call; it was not made.
        """
        return await (await self.reserved(request)).complete(request)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        """Answer in pieces, then whole; raises what the model raises.

        Raises:
            BudgetExceeded: The budget does not cover the call; it was not made.
        """
        pieces = (await self.reserved(request)).stream(request)
        try:
            async for piece in pieces:
                yield piece
        finally:
            await close_stream(pieces)

    async def reserved(self, request: ChatRequest) -> ReservedModel:
        """Wait until the budgets cover a call; give the model that makes it, once.

        Raises:
            BudgetExceeded: They never will, whatever others give back.
        """
        await self._read_prices()
        account = self.ledger.account(request.metadata.get("session"))
        if not account.is_limited:
            return ReservedModel(self, None)
        want = self.worst_case(request, prices=account.needs_prices)
        from_aside = request.metadata.get("purpose") == SYNTHESIS
        try:
            while (ticket := account.reserve(want, from_aside=from_aside)) is None:  # noqa: ASYNC110  (what is given back may come from another event loop, and no event reaches across)
                await anyio.sleep(_POLL_S)
        except BudgetExceeded as error:
            error.provider = self.provider
            raise
        return ReservedModel(self, ticket)

    def worst_case(self, request: ChatRequest, *, prices: bool = True) -> Amount:
        """Give the most that a call may take, by the estimate of its prompt; without its price where none is needed."""
        tokens_in, tokens_out = self.worst_tokens(request)
        cost = self._worst_cost(request, tokens_in, tokens_out) if prices else None
        return Amount(cost, tokens_in + tokens_out, 1)

    def worst_tokens(self, request: ChatRequest) -> tuple[int, int]:
        """Give the most tokens that a call may send and get; a person takes none."""
        return (0, 0) if self.provider in TOKENLESS else (prompt_tokens(request), request.max_tokens)

    def _worst_cost(self, request: ChatRequest, tokens_in: int, tokens_out: int) -> Decimal | None:
        own = cost_limit_of(self.inner)
        if own is not None:
            return Decimal(repr(own))
        name = request.model or self.model
        return self.prices.worst(self.provider, name, tokens_in, tokens_out, endpoint=self.endpoint)

    def priced(self, usage: Usage, request: ChatRequest, response: ChatResponse | None = None) -> Usage:
        """State what a call cost, by the model asked for or else by the one the provider says has answered.

        The price stays unknown where it is, and where the provider does not say what the call consumed.
        """
        if usage.cost_usd is not None or usage.unreported_calls or not usage.calls:
            return usage
        provider = (response and response.provider) or self.provider
        for name in dict.fromkeys((request.model or self.model, (response and response.model) or "")):
            cost = to_usd(self.prices.cost(provider, name, usage, endpoint=self.endpoint))
            if cost is not None:
                return usage.model_copy(update={"cost_usd": cost, "partial_cost_usd": None})
        return usage


class ReservedModel(WrappedModel):
    """A metered model with what is reserved for one call; made by `MeteredModel.reserved`, good for that call alone.

    Args:
        meter: Whose call it is.
        ticket: The reservation; `None` where no budget holds.
    """

    def __init__(self, meter: MeteredModel, ticket: Ticket | None) -> None:
        super().__init__(meter.inner)
        self._meter = meter
        self._ticket = ticket

    def release(self) -> None:
        """Give the reservation of a call that is not made back."""
        if self._ticket is not None:
            self._ticket.release()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once; raises what the model raises."""
        try:
            return self._settled(await self.inner.complete(request), request)
        except BaseException as error:
            self._settle_failed(error, request, begun=False)
            raise

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        """Answer in pieces, then whole; raises what the model raises."""
        pieces = self.inner.stream(request)
        begun = False
        try:
            async for piece in pieces:
                begun = True
                yield piece if isinstance(piece, ChatDelta) else self._settled(piece, request)
        except BaseException as error:
            self._settle_failed(error, request, begun=begun)
            raise
        finally:
            await close_stream(pieces)
            # A stream that ended without a response took nobody knows what.
            if self._ticket is not None:
                self._ticket.settle()

    def _settled(self, response: ChatResponse, request: ChatRequest) -> ChatResponse:
        # A model of a plugin may give anything; the gateway says so, and all that is reserved is charged.
        if not isinstance(response, ChatResponse):  # pyright: ignore[reportUnnecessaryIsInstance]
            if self._ticket is not None:
                self._ticket.settle()
            return response
        usage = self._meter.priced(sane_usage(response.usage, self.provider), request, response)
        self._settle(usage)
        return response if usage is response.usage else response.model_copy(update={"usage": usage})

    def _settle_failed(self, error: BaseException, request: ChatRequest, *, begun: bool) -> None:
        """Charge a call that gave no response; what is settled already stays as it is.

        Of a call that was given up (cancelled, or ended by a foreign error) nobody knows what it took: all that was
        reserved is charged.
        """
        if isinstance(error, RoundtableError):
            if error.usage is not None:
                error.usage = self._meter.priced(error.usage, request)
            self._settle(usage_of_failure(error, begun=begun))
        elif self._ticket is not None:
            self._ticket.settle()

    def _settle(self, usage: Usage) -> None:
        """Charge what is known, and what was reserved in place of what is not; a call that took nothing is a call."""
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
