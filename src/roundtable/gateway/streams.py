"""A streamed answer as an object: an iterator, or a context manager that closes the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

from roundtable.core.errors import AgentError
from roundtable.core.protocols import ChatModel
from roundtable.core.types.chat import ChatResponse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable
    from types import TracebackType

    from roundtable.core.types.chat import ChatDelta, ChatRequest

__all__ = ["ChatStream", "DeltaStream", "StreamingModel"]


class ChatStream:
    """A streamed answer.

    As an iterator, it returns the deltas and finally the whole response. As a context manager, it returns only the
    deltas, and stores the response. Leaving the block early ends the call.

    ```
    async with model.stream(request) as deltas:
        async for delta in deltas:
            print(delta.text, end="")
    print(deltas.response.usage)
    ```

    Args:
        pieces: Source of the pieces; closing the stream closes it too.
    """

    def __init__(self, pieces: AsyncGenerator[ChatDelta | ChatResponse]) -> None:
        self._pieces = pieces

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Awaitable[ChatDelta | ChatResponse]:
        """Return the next piece.

        Raises:
            RoundtableError: The call failed, or the stream ended before its terminator.
        """
        return anext(self._pieces)

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
    """The deltas of a streamed answer, and the response after all deltas were read.

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
            AgentError: Not all deltas have been read yet.
        """
        if self._response is None:
            raise AgentError("the stream has not been read to its end", hint="Iterate over the whole stream first.")
        return self._response

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChatDelta:
        """Return the next delta.

        Raises:
            RoundtableError: The call failed, or the stream ended before its terminator.
        """
        piece = await anext(self._stream)
        if isinstance(piece, ChatResponse):
            self._response = piece
            await self._stream.aclose()
            raise StopAsyncIteration
        return piece


class StreamingModel(ChatModel, Protocol):
    """A model whose streams are also context managers, like all models that the library creates."""

    def stream(self, request: ChatRequest) -> ChatStream:
        """Answer in pieces; see `ChatStream`."""
