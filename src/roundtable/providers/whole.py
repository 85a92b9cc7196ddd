"""Models whose answers come whole: those of programs, of people, and of a model so small that it is done at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from roundtable.gateway.streams import ChatStream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from roundtable.types import ChatDelta, ChatRequest, ChatResponse

__all__ = ["WholeAnswers"]


class WholeAnswers(ABC):
    """A model that gives the answer alone where pieces are asked for."""

    @abstractmethod
    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once."""

    def stream(self, request: ChatRequest) -> ChatStream:
        """Answer once; the answer is the only piece."""
        return ChatStream(self._whole(request))

    async def _whole(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse]:
        yield await self.complete(request)
