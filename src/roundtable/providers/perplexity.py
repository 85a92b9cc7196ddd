"""The wire format of Perplexity's Sonar API."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.core.types.answers import ImageResult
from roundtable.core.types.base import ServerCall
from roundtable.providers.chat_servers import ChatServer
from roundtable.providers.openai_chat import ChatResponseBuilder, OpenAIChat
from roundtable.providers.wire import items_of, object_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.core.types.base import JsonObject, JsonValue, NativeSearch
    from roundtable.core.types.chat import ChatRequest, ChatResponse
    from roundtable.http.client import HttpRequest

__all__ = ["PerplexitySonar"]


_THOUGHTS: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_MARK: Final = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_SERVER: Final = ChatServer(name="perplexity", seed=None, stream_usage=False, files="file_url")


class PerplexitySonar(OpenAIChat):
    """The dialect `perplexity`.

    Citations are the sources that the text refers to as `[n]`, outside of `<think>` tags. If the text refers to no
    source, all sources become citations.

    Args:
        provider: Name of the provider in errors.

    Example:
        >>> from roundtable.types import ChatRequest, Message, NativeSearch
        >>> ask = ChatRequest(
        ...     model="sonar",
        ...     messages=(Message(role="user", content="Hi"),),
        ...     max_tokens=9,
        ...     search=NativeSearch(recency="week"),
        ... )
        >>> PerplexitySonar().build_request(ask, base_url="https://api.perplexity.ai", stream=False).url
        'https://api.perplexity.ai/chat/completions'
    """

    def __init__(self, provider: str = "perplexity") -> None:
        super().__init__(provider, server=_SERVER)

    def build_request(self, request: ChatRequest, *, base_url: str, stream: bool) -> HttpRequest:
        """Build the HTTP request of a chat request, without the key and without tools; Sonar supports no tools."""
        search: JsonObject = {"disable_search": True} if request.search is False else {}
        if request.search:
            search = _search(request.search)
        changes = {"extra_body": {**search, **request.extra_body}, "tools": ()}
        return super().build_request(request.model_copy(update=changes), base_url=base_url, stream=stream)

    def _draft(self, headers: Mapping[str, str]) -> SonarBuilder:
        """Create an empty answer to fill."""
        return SonarBuilder(self.provider, headers)


class SonarBuilder(ChatResponseBuilder):
    """An answer of Sonar that is being received."""

    def __init__(self, provider: str, headers: Mapping[str, str]) -> None:
        super().__init__(provider, headers)
        self._results: list[JsonObject] = []
        self._urls: list[str] = []
        self._lists = 0
        self._cited_state = (-1, -1)

    def take_sources(self, answer: JsonObject) -> None:
        """Add the search results; every event of a stream lists all of them."""
        if answer.get("search_results") or answer.get("citations"):
            self._lists += 1
        if results := [object_of(item) for item in items_of(answer.get("search_results"))]:
            self._results = results
        if urls := [text_of(url) for url in items_of(answer.get("citations"))]:
            self._urls = urls
        self.set_searches(int(bool(self._results or self._urls)))
        if images := [image for item in items_of(answer.get("images")) if (image := _image(item))]:
            self.images[:] = images
        if related := [text_of(item) for item in items_of(answer.get("related_questions")) if text_of(item)]:
            self.related[:] = related

    def take_end(self) -> None:
        """Add the sources that the text refers to, after the whole text has arrived."""
        state = (len(self._text), self._lists)
        if state == self._cited_state:
            return
        self._cited_state = state
        sources = self._sources()
        marks = {int(number) for group in _MARK.findall(_THOUGHTS.sub("", self.text)) for number in group.split(",")}
        used = [source for number, source in enumerate(sources, 1) if number in marks]
        for source in used or sources:
            self.add_citation(text_of(source.get("url")), text_of(source.get("title")), text_of(source.get("snippet")))

    def response(self) -> ChatResponse:
        """Return the response."""
        self.take_end()
        if sources := self._sources():
            output: list[JsonValue] = [
                {name: source[name] for name in ("title", "url", "date") if source.get(name)} for source in sources
            ]
            self.server_calls.append(ServerCall(name="perplexity_search", output=output))
        return super().response()

    def _sources(self) -> list[JsonObject]:
        """Return the search results; if there are none, the bare addresses."""
        return self._results or [{"url": url} for url in self._urls]


def _image(value: JsonValue) -> ImageResult | None:
    if isinstance(value, str):
        return ImageResult(url=value) if value else None
    fields = object_of(value)
    url = text_of(fields.get("image_url")) or text_of(fields.get("url"))
    return ImageResult(url=url, description=text_of(fields.get("title")) or None) if url else None


def _search(search: NativeSearch) -> JsonObject:
    fields: JsonObject = {"web_search_options": {"search_context_size": search.context_size}}
    if search.recency is not None:
        fields["search_recency_filter"] = search.recency
    domains = [*search.allowed_domains, *(f"-{domain}" for domain in search.blocked_domains)]
    if domains:
        fields["search_domain_filter"] = list(domains)
    if search.images:
        fields["return_images"] = True
    if search.related_questions:
        fields["return_related_questions"] = True
    return fields
