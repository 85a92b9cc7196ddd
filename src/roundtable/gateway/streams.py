"""A streamed answer as an object: an iterator, and a block that closes the call when it is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

from roundtable.errors import AgentError
from roundtable.protocols import ChatModel
from roundtable.types import ChatResponse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType

    from roundtable.types import ChatDelta, ChatRequest

__all__ = ["ChatStream", "DeltaStream", "StreamingModel"]


class ChatStream:
    """A streamed answer.

    Iterated over as it is, it gives deltas and at last the whole response. As a block it gives the deltas alone, and
    keeps the response; leaving the block early ends the call.

    ```
    async with model.stream(request) as deltas:
        async for delta in deltas:
            print(delta.text, end="")
    print(deltas.response.usage)
    ```

    Args:
        pieces: What gives the pieces; it is closed with the stream.
    """

    def __init__(self, pieces: AsyncGenerator[ChatDelta | ChatResponse]) -> None:
        self._pieces = pieces

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChatDelta | ChatResponse:
        """Give the next piece.

        Raises:
            RoundtableError: The call failed, also when the stream ended before its terminator.
        """
        return await anext(self._pieces)

    async def aclose(self) -> None:
        """End the call; idempotent."""
        await self._pieces.aclose()

    async def __aenter__(self) -> DeltaStream:
        return DeltaStream(self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class DeltaStream:
    """The deltas of a streamed answer, and the answer once they have been read.

    Args:
        stream: The answer.
    """

    def __init__(self, stream: ChatStream) -> None:
        self._stream = stream
        self._response: ChatResponse | None = None

    @property
    def response(self) -> ChatResponse:
        """The whole answer.

        Raises:
            AgentError: The deltas have not been read to their end.
        """
        if self._response is None:
            raise AgentError("the stream has not been read to its end", hint="Iterate over all of it first.")
        return self._response

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChatDelta:
        """Give the next delta.

        Raises:
            RoundtableError: The call failed, also when the stream ended before its terminator.
        """
        piece = await anext(self._stream)
        if isinstance(piece, ChatResponse):
            self._response = piece
            await self._stream.aclose()
            raise StopAsyncIteration
        return piece


class StreamingModel(ChatModel, Protocol):
    """A model whose streams are blocks too, as those are that the library makes."""

    def stream(self, request: ChatRequest) -> ChatStream:
        """Answer in pieces; see `ChatStream`."""
