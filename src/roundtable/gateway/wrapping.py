"""What models round other models have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from roundtable.protocols import ChatModel
    from roundtable.types import ModelProfile

__all__ = ["WrappedModel", "make_ready"]


class WrappedModel:
    """What a model says of itself, said by a model round it; `complete` and `stream` are the subclass's.

    Args:
        inner: The model that answers.
    """

    def __init__(self, inner: ChatModel) -> None:
        self.inner = inner

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"

    @property
    def provider(self) -> str:
        """Name of the provider."""
        return self.inner.provider

    @property
    def model(self) -> str:
        """Model id used when a request names none."""
        return self.inner.model

    @property
    def endpoint(self) -> str:
        """Root of the provider's API; empty where there is none."""
        return str(getattr(self.inner, "endpoint", ""))

    @property
    def profile(self) -> ModelProfile:
        """What the library must know to prompt this model."""
        return self.inner.profile

    async def prepare(self) -> None:
        """Let the model fetch or load what it needs.

        Raises:
            RoundtableError: The model cannot be had.
        """
        await make_ready(self.inner)

    async def aclose(self) -> None:
        """Release what the model holds; idempotent."""
        await self.inner.aclose()


async def make_ready(model: object) -> None:
    """Let a model, or the one it is put round, fetch or load what it needs before the deadline of any call runs.

    Raises:
        RoundtableError: The model cannot be had.
    """
    prepare: Callable[[], Awaitable[None]] | None = getattr(model, "prepare", None)
    inner = getattr(model, "inner", None)
    if prepare is not None:
        await prepare()
    elif inner is not None:
        await make_ready(inner)
