"""The provider `replay`: a cassette as a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio.lowlevel

from roundtable.errors import ConfigurationError
from roundtable.gateway import ChatStream
from roundtable.providers.cassette.cassette import Cassette
from roundtable.providers.cassette.taped import recorded_deltas, replayed
from roundtable.types import ChatDelta, ModelProfile

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from roundtable.providers.cassette.tape import Call
    from roundtable.settings import Settings
    from roundtable.types import ChatRequest, ChatResponse, ProviderConfig

__all__ = ["ReplayModel", "ReplayProvider"]


class ReplayModel:
    """A `ChatModel` that gives what a cassette holds, of whichever model it was recorded.

    Args:
        cassette: The recordings.
    """

    provider = "replay"

    def __init__(self, cassette: Cassette) -> None:
        self._cassette = cassette
        known = cassette.first_model()
        self.model: str = cassette.path
        self.profile: ModelProfile = ModelProfile() if known is None else known.profile

    def __repr__(self) -> str:
        return f"ReplayModel({self._cassette!r})"

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Give what is recorded.

        Raises:
            CassetteMiss: Nothing is.
            RoundtableError: What is recorded as raised.
        """
        found = self._found(request)
        await anyio.lowlevel.checkpoint()
        return replayed(found)

    def _found(self, request: ChatRequest) -> Call:
        found = self._cassette.find(request, None, "")
        assert found is not None  # noqa: S101  (a cassette that only replays raises instead)
        return found

    def stream(self, request: ChatRequest) -> ChatStream:
        """Give what is recorded, in the pieces that it came in; what iterates gets what `complete` raises."""
        return ChatStream(self._stream(request))

    async def _stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse]:
        found = self._found(request)
        for piece in recorded_deltas(found):
            await anyio.lowlevel.checkpoint()
            yield piece
        yield replayed(found)

    async def aclose(self) -> None:
        """Do nothing; there is nothing to release."""


class ReplayProvider:
    """Makes models from `replay:FILE`; models of one file give each recording once, whoever of them is asked.

    Prompts hold the agents' names: give the agents the names (and ids) that they were recorded under, with
    `AgentConfig(id=..., name=..., provider="replay", model="FILE")`. `cassette=` of a table needs no such care.
    """

    reads_files: Final = True
    """Whether the name of a model is that of a file here; servers let no caller choose one."""

    def __init__(self) -> None:
        self._cassettes: dict[str, Cassette] = {}

    def __call__(self, model: str | None, _config: ProviderConfig, _settings: Settings) -> ReplayModel:
        """Make a model.

        Raises:
            ConfigurationError: No file is named, or it is no cassette.
        """
        if model is None:
            raise ConfigurationError(
                "the provider 'replay' needs a cassette", provider="replay", hint="Write 'replay:FILE.jsonl'."
            )
        if model not in self._cassettes:
            self._cassettes[model] = Cassette(model, "replay")
        return ReplayModel(self._cassettes[model])
