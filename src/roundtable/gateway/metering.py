"""Knowing what each call costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread

from roundtable.gateway.prices import to_usd
from roundtable.gateway.wrapping import WrappedModel
from roundtable.types import ChatDelta, ChatResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from decimal import Decimal

    from roundtable.gateway.prices import PriceTable
    from roundtable.protocols import ChatModel
    from roundtable.types import ChatRequest, Usage

__all__ = ["MeteredModel"]


class MeteredModel(WrappedModel):
    """A `ChatModel` that states in its responses what they cost.

    A price that the model itself reports is kept.

    Args:
        inner: The model that answers.
        prices: What calls cost.

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

    def __init__(self, inner: ChatModel, prices: PriceTable) -> None:
        super().__init__(inner)
        self.prices = prices

    async def prepare(self) -> None:
        """Let the model fetch or load what it needs; read the table of prices, where it will be asked.

        Raises:
            RoundtableError: The model cannot be had.
        """
        if not self.prices.knows_without(self.provider):
            await anyio.to_thread.run_sync(self.prices.load)
        await super().prepare()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once; raises what the model raises."""
        return self._priced(await self.inner.complete(request), request)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        """Answer in pieces, then whole; raises what the model raises."""
        pieces = self.inner.stream(request)
        try:
            async for piece in pieces:
                yield self._priced(piece, request) if isinstance(piece, ChatResponse) else piece
        finally:
            close = getattr(pieces, "aclose", None)
            if close is not None:
                await close()

    def _priced(self, response: ChatResponse, request: ChatRequest) -> ChatResponse:
        # A model of a plugin may give anything; the gateway says so.
        if not isinstance(response, ChatResponse) or response.usage.cost_usd is not None:  # pyright: ignore[reportUnnecessaryIsInstance]
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
