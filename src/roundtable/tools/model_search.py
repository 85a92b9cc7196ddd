"""An answering search made of a chat model that searches the web by itself."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from roundtable.tools.sources import PerplexitySearchResult
from roundtable.tools.turn import ModelAsk
from roundtable.types import ChatRequest, Message, NativeSearch

if TYPE_CHECKING:
    from typing import Self

    from roundtable.protocols import ChatModel
    from roundtable.tools.sources import PerplexitySearchInput
    from roundtable.tools.turn import ToolTurn

__all__ = ["ModelSearch"]

_SYSTEM = "Answer the question from what you find, in a few sentences, with figures and dates."


class ModelSearch:
    """Answers through a chat model whose provider searches, such as `perplexity:sonar`.

    In a debate its calls are limited, tried again, recorded and charged to the turn like the agent's own.

    Args:
        model: The model.
        max_tokens: Most tokens of an answer.

    Example:
        >>> import anyio
        >>> from roundtable.providers.scripted import ScriptedModel
        >>> from roundtable.tools import PerplexitySearchInput
        >>> search = ModelSearch(ScriptedModel(["Tea came to Europe in 1610."]))
        >>> anyio.run(search.search, PerplexitySearchInput(query="When did tea come to Europe?")).answer
        'Tea came to Europe in 1610.'
    """

    def __init__(self, model: ChatModel, *, max_tokens: int = 1024) -> None:
        self._model = model
        self._max_tokens = max_tokens
        self._turn: ToolTurn | None = None

    def for_turn(self, turn: ToolTurn) -> Self:
        """Give the search for one turn, which its calls are charged to."""
        own = copy.copy(self)
        own._turn = turn  # noqa: SLF001  (its own class)
        return own

    def asks(self) -> tuple[ModelAsk, ...]:
        """Give the call that a search makes; see `AsksModels`."""
        return (ModelAsk(self._model, self._request("", NativeSearch())),)

    def _request(self, query: str, wanted: NativeSearch) -> ChatRequest:
        return ChatRequest(
            messages=(Message(role="system", content=_SYSTEM), Message(role="user", content=query)),
            max_tokens=self._max_tokens,
            search=wanted,
        )

    async def search(self, search_input: PerplexitySearchInput) -> PerplexitySearchResult:
        """Answer.

        Raises:
            RoundtableError: The model's call failed.
        """
        wanted = NativeSearch(
            recency=search_input.recency_filter,
            allowed_domains=search_input.domain_filter or (),
            images=search_input.return_images,
            related_questions=search_input.return_related_questions,
        )
        request = self._request(search_input.query, wanted)
        asking = self._model.complete(request) if self._turn is None else self._turn.ask(self._model, request)
        answer = await asking
        return PerplexitySearchResult(
            answer=answer.text,
            citations=answer.citations or None,
            images=answer.images or None,
            related_questions=answer.related_questions or None,
        )
