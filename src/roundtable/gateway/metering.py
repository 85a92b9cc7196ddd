"""Knowing what each call costs, and letting through only what a budget covers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from roundtable.errors import APITimeoutError, BudgetExceeded, RoundtableError
from roundtable.gateway.budgets import Amount, Ledger
from roundtable.gateway.prices import to_usd
from roundtable.gateway.wrapping import WrappedModel
from roundtable.prompts import estimate_tokens
from roundtable.types import ChatDelta, ChatResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from decimal import Decimal

    from roundtable.gateway.budgets import Ticket
    from roundtable.gateway.prices import PriceTable
    from roundtable.protocols import ChatModel
    from roundtable.types import ChatRequest, Usage

__all__ = ["SYNTHESIS", "MeteredModel", "prompt_tokens"]

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
    that does not fit, the call waits for others to settle; its deadline runs meanwhile. A price that the model itself
    reports is kept.

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
        """Whether the price of the model is known."""
        return self.prices.worst(self.provider, self.model, 1, 1, endpoint=self.endpoint) is not None

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
        ticket = await self._reserve(request)
        try:
            response = self._priced(await self.inner.complete(request), request)
        except BaseException as error:
            _settle_failed(ticket, error, begun=False)
            raise
        return _settled(ticket, response)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        """Answer in pieces, then whole; raises what the model raises.

        Raises:
            BudgetExceeded: The budget does not cover the call; it was not made.
        """
        ticket = await self._reserve(request)
        pieces = self.inner.stream(request)
        begun = False
        try:
            async for piece in pieces:
                begun = True
                yield _settled(ticket, self._priced(piece, request)) if isinstance(piece, ChatResponse) else piece
        except BaseException as error:
            _settle_failed(ticket, error, begun=begun)
            raise
        finally:
            close = getattr(pieces, "aclose", None)
            if close is not None:
                await close()
            # A stream that ended without a response took nobody knows what.
            _settle_failed(ticket, None, begun=True)

    async def _reserve(self, request: ChatRequest) -> Ticket | None:
        await self._read_prices()
        account = self.ledger.account(request.metadata.get("session"))
        if not account.is_limited:
            return None
        want = self.worst_case(request, prices=account.needs_prices)
        from_aside = request.metadata.get("purpose") == SYNTHESIS
        try:
            while (ticket := account.reserve(want, from_aside=from_aside)) is None:  # noqa: ASYNC110  (what is given back may come from another event loop, and no event reaches across)
                await anyio.sleep(_POLL_S)
        except BudgetExceeded as error:
            error.provider = self.provider
            raise
        return ticket

    def worst_case(self, request: ChatRequest, *, prices: bool = True) -> Amount:
        """Give the most that a call may take, by the estimate of its prompt; without its price where none is needed."""
        tokens_in = prompt_tokens(request)
        name = request.model or self.model
        cost = (
            self.prices.worst(self.provider, name, tokens_in, request.max_tokens, endpoint=self.endpoint)
            if prices
            else None
        )
        return Amount(cost, tokens_in + request.max_tokens, 1)

    def _priced(self, response: ChatResponse, request: ChatRequest) -> ChatResponse:
        # A model of a plugin may give anything; the gateway says so.
        if not isinstance(response, ChatResponse) or response.usage.cost_usd is not None:  # pyright: ignore[reportUnnecessaryIsInstance]
            return response
        if response.usage.total_tokens == 0:
            # The provider reported nothing, and no answer takes no tokens: what it cost is unknown, not 0.
            return response
        cost = to_usd(self._cost(response, request))
        if cost is None:
            return response
        usage = response.usage.model_copy(update={"cost_usd": cost, "partial_cost_usd": None})
        return response.model_copy(update={"usage": usage})

    def _cost(self, response: ChatResponse, request: ChatRequest) -> Decimal | None:
        """Price a call by the model asked for, or else by the one the provider says has answered."""
        provider = response.provider or self.provider
        for name in dict.fromkeys((request.model or self.model, response.model or "")):
            cost = self.prices.cost(provider, name, _sane(response.usage), endpoint=self.endpoint)
            if cost is not None:
                return cost
        return None


def _sane(usage: Usage) -> Usage:
    return usage if usage.calls else usage.model_copy(update={"calls": 1})


def _settled(ticket: Ticket | None, response: ChatResponse) -> ChatResponse:
    if ticket is not None and isinstance(response, ChatResponse):  # pyright: ignore[reportUnnecessaryIsInstance]  # a plugin's model may give anything
        usage = _sane(response.usage)
        taken = Amount.of(usage)
        if not taken.tokens:
            # Nobody says what was taken.
            taken = Amount(None if usage.cost_usd is None else taken.cost_usd, ticket.amount.tokens, taken.calls)
        ticket.settle(Amount(None, taken.tokens, taken.calls) if usage.cost_usd is None else taken)
    return response


def _settle_failed(ticket: Ticket | None, error: BaseException | None, *, begun: bool) -> None:
    """Charge a call that gave no response; what is settled already stays as it is.

    What an error states is taken. A refusal, and a provider that could not be reached, take nothing but the call. In
    all other cases (an answer broke off, was awaited too long, or was given up) all that was reserved is charged.
    """
    if ticket is None:
        return
    if isinstance(error, RoundtableError):
        if error.usage is not None:
            ticket.settle(Amount.of(error.usage))
            return
        late = isinstance(error, APITimeoutError) and "status" not in (error.details or {})
        if not begun and not late:
            ticket.settle(Amount(calls=1))
            return
    ticket.settle()
