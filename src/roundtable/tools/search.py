"""Web search through Brave, Tavily, SearXNG, fixed results or a model that searches."""

from __future__ import annotations

import copy
import html
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias
from urllib.parse import urlencode

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from roundtable.core.base.addresses import split_address
from roundtable.core.base.registry import Registry
from roundtable.core.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    ConfigurationError,
    RoundtableError,
)
from roundtable.core.types.base import NativeSearch, first_error
from roundtable.core.types.chat import ChatRequest, Message
from roundtable.http import HttpClient, HttpLimits, HttpRequest, checked_url
from roundtable.settings import Settings
from roundtable.tools.definition import ModelCall
from roundtable.tools.sources import PerplexitySearchResult, SearchOptions, SearchResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Self

    from pydantic import JsonValue

    from roundtable.core.protocols import ChatModel
    from roundtable.http import HttpResponse
    from roundtable.tools.definition import ToolTurn
    from roundtable.tools.sources import PerplexitySearchInput, WebSearchProvider

__all__ = [
    "SEARCH_TIMEOUT_S",
    "BraveSearch",
    "HttpSearch",
    "ModelSearch",
    "SearchFactory",
    "SearxngSearch",
    "StaticSearch",
    "TavilySearch",
    "builtin_searches",
    "search_provider",
    "short_query",
]

_SYSTEM = "Answer the question from what you find, in a few sentences, with figures and dates."

SEARCH_TIMEOUT_S: Final = 15.0
"""Seconds that a search may take."""
MOST_QUERY_CHARS: Final = 400
"""Maximum number of characters of a query that every service accepts."""
MOST_QUERY_WORDS: Final = 50
"""Maximum number of words of a query that every service accepts."""
_HTTP_LIMITS: Final = HttpLimits(body_bytes=4 * 2**20)

_FRESHNESS: Final = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}


class ModelSearch:
    """Search that answers through a chat model whose provider searches, such as `perplexity:sonar`.

    In a debate, the calls of this model have the same limits and retries as the calls of the agent. They are recorded
    and charged to the turn.

    Args:
        model: The chat model.
        max_tokens: Maximum tokens of an answer.

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
        """Return the search for one turn; its calls are charged to the turn."""
        bound = copy.copy(self)
        bound._turn = turn  # noqa: SLF001  (its own class)
        return bound

    def asks(self) -> tuple[ModelCall, ...]:
        """Return the model call that a search makes; see `CallsModels`."""
        return (ModelCall(self._model, self._request("", NativeSearch())),)

    def _request(self, query: str, options: NativeSearch) -> ChatRequest:
        return ChatRequest(
            messages=(Message(role="system", content=_SYSTEM), Message(role="user", content=query)),
            max_tokens=self._max_tokens,
            search=options,
        )

    async def search(self, search_input: PerplexitySearchInput) -> PerplexitySearchResult:
        """Answer a question from a search.

        Raises:
            RoundtableError: A domain is invalid, or the call of the model failed.
        """
        domains = search_input.domain_filter or ()
        try:
            options = NativeSearch(
                recency=search_input.recency_filter,
                allowed_domains=tuple(domain for domain in domains if not domain.startswith("-")),
                blocked_domains=tuple(domain[1:] for domain in domains if domain.startswith("-")),
                images=search_input.return_images,
                related_questions=search_input.return_related_questions,
            )
        except ValidationError as error:
            # A model wrote the domain; it sees this error and can correct it.
            raise AgentError(first_error(error)[1], retryable=False, provider=self._model.provider) from error
        request = self._request(search_input.query, options)
        call = self._model.complete(request) if self._turn is None else self._turn.ask(self._model, request)
        response = await call
        return PerplexitySearchResult(
            answer=response.text,
            citations=response.citations or None,
            images=response.images or None,
            related_questions=response.related_questions or None,
        )


_TITLE_CHARS, _SNIPPET_CHARS, _URL_CHARS = 300, 1_000, 2_000


class HttpSearch(ABC):
    """Base of search services that answer with JSON over HTTP.

    A subclass builds the request and names the fields of the response; see the source of `TavilySearch`. A search makes
    one request; the tool that searches is responsible for retries.

    Args:
        timeout_s: Seconds a search may take.
        client: Your own `httpx.AsyncClient`, used as it is and never closed.
    """

    name: ClassVar[str]
    """Name of the service."""
    places: ClassVar[tuple[str, ...]]
    """Path of the list of results in the response."""
    title: ClassVar[str] = "title"
    """Field with the title of a result."""
    url: ClassVar[str] = "url"
    """Field with the address of a result."""
    snippet: ClassVar[str]
    """Field with the passage of a result."""
    date: ClassVar[str]
    """Field with the date of a result."""

    def __init__(self, *, timeout_s: float = SEARCH_TIMEOUT_S, client: object | None = None) -> None:
        self._timeout_s = timeout_s
        self._client = client

    @abstractmethod
    def build_request(self, query: str, options: SearchOptions) -> HttpRequest:
        """Return the request of a search; `query` is within the limits of every service."""

    def status_error(self, answer: HttpResponse) -> RoundtableError:
        """Return the error for an unsuccessful response, without quoting its body."""
        message = f"{self.name} answered with status {answer.status}"
        match answer.status:
            case 401 | 403:
                return APIAuthError(message, provider=self.name, hint=f"Check the key of {self.name}.")
            case 429:
                return APIRateLimitError(message, provider=self.name)
            case status if status >= 500:
                return APINetworkError(message, provider=self.name)
            case _:
                return AgentError(message, provider=self.name, retryable=False)

    async def search(self, query: str, options: SearchOptions | None = None) -> tuple[SearchResult, ...]:
        """Return pages, best first; results without an http address are left out.

        Raises:
            APIAuthError: The service rejects the key.
            APIRateLimitError: Too many searches.
            APITimeoutError: No response within `timeout_s`.
            APINetworkError: The service cannot be reached, or fails.
            AgentError: The query is empty or rejected, or the response cannot be parsed.
        """
        options = options or SearchOptions()
        if not (short := short_query(query)):
            raise AgentError("the search query is empty", provider=self.name, retryable=False)
        # Each search has its own client, so no connection is left open, however the program uses its event loops.
        client = HttpClient(self.name, client=self._client, limits=_HTTP_LIMITS)
        try:
            response = await client.send(self.build_request(short, options), timeout_s=self._timeout_s)
        finally:
            await client.aclose()
        if response.status != 200:
            raise self.status_error(response)
        return tuple(self._results(response.body))[: options.max_results]

    def _results(self, body: bytes) -> Iterator[SearchResult]:
        for item in self._items(body):
            url = _text(item, self.url)
            if len(url) <= _URL_CHARS and _is_web_url(url):
                yield SearchResult(
                    title=_plain_text(_text(item, self.title))[:_TITLE_CHARS] or url,
                    url=url,
                    snippet=_plain_text(_text(item, self.snippet))[:_SNIPPET_CHARS],
                    published_date=_text(item, self.date)[:40] or None,
                )

    def _items(self, body: bytes) -> Iterator[dict[str, JsonValue]]:
        try:
            document: JsonValue = from_json(body)
        except ValueError as exc:
            # The message of the parser may quote the response.
            raise self._invalid_response() from exc
        if not isinstance(document, dict):
            raise self._invalid_response()
        for name in self.places:
            document = document.get(name) if isinstance(document, dict) else None
        if document is not None and not isinstance(document, list):
            raise self._invalid_response()
        yield from (item for item in document or () if isinstance(item, dict))

    def _invalid_response(self) -> AgentError:
        return AgentError(
            f"{self.name} sent a response that cannot be read",
            provider=self.name,
            retryable=True,
            hint="Check the address of the service.",
        )


def short_query(query: str) -> str:
    r"""Return a query that every service accepts: one line, at most 50 words and 400 characters.

    Example:
        >>> short_query("  green\n tea ")
        'green tea'
    """
    return " ".join(query.split()[:MOST_QUERY_WORDS])[:MOST_QUERY_CHARS].strip()


def _is_web_url(url: str) -> bool:
    try:
        parts = split_address(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc) and url.isprintable()


def _text(item: Mapping[str, JsonValue], name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


def _plain_text(text: str) -> str:
    return " ".join(html.unescape(text).split())


class BraveSearch(HttpSearch):
    """Search Brave's own index of the web.

    Args:
        api_key: Key of the plan; `search_provider("brave")` takes it from `BRAVE_API_KEY`.
        base_url: Address of the API.
        timeout_s: Seconds a search may take.
        client: Your own `httpx.AsyncClient`.

    Raises:
        ConfigurationError: There is no key, or `base_url` is not an address to which a key may be sent.

    Example:
        >>> from roundtable.tools import SearchOptions
        >>> BraveSearch("key").build_request("green tea", SearchOptions(recency="week")).url.partition("?")[2]
        'q=green+tea&count=5&result_filter=web&text_decorations=false&freshness=pw'
    """

    name: ClassVar[str] = "brave"
    places: ClassVar[tuple[str, ...]] = ("web", "results")
    snippet: ClassVar[str] = "description"
    date: ClassVar[str] = "page_age"

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str = "https://api.search.brave.com/res/v1",
        timeout_s: float = SEARCH_TIMEOUT_S,
        client: object | None = None,
    ) -> None:
        super().__init__(timeout_s=timeout_s, client=client)
        if not api_key.strip():
            raise ConfigurationError("Brave needs a key", hint="Set BRAVE_API_KEY.")
        self._url = checked_url(base_url) + "/web/search"
        self._headers = {"accept": "application/json", "x-subscription-token": api_key.strip()}

    def build_request(self, query: str, options: SearchOptions) -> HttpRequest:
        """Return the request of a search."""
        parameters = {"q": query, "count": options.max_results, "result_filter": "web", "text_decorations": "false"}
        if options.recency:
            parameters["freshness"] = _FRESHNESS[options.recency]
        return HttpRequest("GET", f"{self._url}?{urlencode(parameters)}", self._headers)

    def status_error(self, answer: HttpResponse) -> RoundtableError:
        """Return the error for an unsuccessful response; Brave answers an invalid key with status 422."""
        if answer.status == 422 and b"SUBSCRIPTION_TOKEN_INVALID" in answer.body:
            return APIAuthError("brave rejected the key", provider=self.name, hint="Check BRAVE_API_KEY.")
        return super().status_error(answer)


class SearxngSearch(HttpSearch):
    """Search through your own SearXNG server, without a key.

    Its settings must allow JSON (`search.formats: [html, json]`); many public servers do not.

    Args:
        base_url: Address of the server, such as `http://127.0.0.1:8080`; plain http is allowed, because no key is sent.
        timeout_s: Seconds a search may take.
        client: Your own `httpx.AsyncClient`.

    Raises:
        ConfigurationError: `base_url` is not an http address.

    Example:
        >>> from roundtable.tools import SearchOptions
        >>> SearxngSearch("http://127.0.0.1:8080/").build_request("green tea", SearchOptions(recency="year")).url
        'http://127.0.0.1:8080/search?q=green+tea&format=json&time_range=year'
    """

    name: ClassVar[str] = "searxng"
    places: ClassVar[tuple[str, ...]] = ("results",)
    snippet: ClassVar[str] = "content"
    date: ClassVar[str] = "publishedDate"

    def __init__(self, base_url: str, *, timeout_s: float = SEARCH_TIMEOUT_S, client: object | None = None) -> None:
        super().__init__(timeout_s=timeout_s, client=client)
        self._url = checked_url(base_url, what="the address of SearXNG", has_key=False) + "/search"

    def build_request(self, query: str, options: SearchOptions) -> HttpRequest:
        """Return the request of a search."""
        parameters = {"q": query, "format": "json"}
        if options.recency:
            parameters["time_range"] = options.recency
        return HttpRequest("GET", f"{self._url}?{urlencode(parameters)}", {"accept": "application/json"})

    def status_error(self, answer: HttpResponse) -> RoundtableError:
        """Return the error for an unsuccessful response; status 403 means that JSON is not allowed."""
        if answer.status == 403:
            return AgentError(
                "the SearXNG server does not allow JSON responses",
                provider=self.name,
                retryable=False,
                hint="Add json to search.formats in its settings.yml.",
            )
        return super().status_error(answer)


class TavilySearch(HttpSearch):
    """Search through Tavily, whose passages are written for models.

    Args:
        api_key: API key; `search_provider("tavily")` takes it from `TAVILY_API_KEY`.
        base_url: Address of the API.
        timeout_s: Seconds a search may take.
        client: Your own `httpx.AsyncClient`.

    Raises:
        ConfigurationError: There is no key, or `base_url` is not an address to which a key may be sent.

    Example:
        >>> from roundtable.tools import SearchOptions
        >>> TavilySearch("key").build_request("green tea", SearchOptions(max_results=3)).body
        b'{"query":"green tea","max_results":3,"search_depth":"basic"}'
    """

    name: ClassVar[str] = "tavily"
    places: ClassVar[tuple[str, ...]] = ("results",)
    snippet: ClassVar[str] = "content"
    date: ClassVar[str] = "published_date"

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str = "https://api.tavily.com",
        timeout_s: float = SEARCH_TIMEOUT_S,
        client: object | None = None,
    ) -> None:
        super().__init__(timeout_s=timeout_s, client=client)
        if not api_key.strip():
            raise ConfigurationError("Tavily needs a key", hint="Set TAVILY_API_KEY.")
        self._url = checked_url(base_url) + "/search"
        self._headers = {"content-type": "application/json", "authorization": f"Bearer {api_key.strip()}"}

    def build_request(self, query: str, options: SearchOptions) -> HttpRequest:
        """Return the request of a search."""
        body = {"query": query, "max_results": options.max_results, "search_depth": "basic"}
        if options.recency:
            body["time_range"] = options.recency
        return HttpRequest("POST", self._url, self._headers, to_json(body))

    def status_error(self, answer: HttpResponse) -> RoundtableError:
        """Return the error for an unsuccessful response; 432 and 433 mean that the plan is used up."""
        if answer.status in {432, 433}:
            return APIRateLimitError("the Tavily plan is used up", provider=self.name, retryable=False)
        return super().status_error(answer)


class StaticSearch:
    """Search that returns the same pages for every query.

    Args:
        results: The pages, best first.

    Example:
        >>> import anyio
        >>> from roundtable.tools import SearchResult
        >>> search = StaticSearch([SearchResult(title="Tea", url="https://tea.example/")])
        >>> anyio.run(search.search, "green tea")[0].title, search.queries
        ('Tea', ['green tea'])
    """

    def __init__(self, results: Sequence[SearchResult] = ()) -> None:
        self._results = tuple(results)
        self.queries: list[str] = []
        """The queries, in order."""

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Load the pages from a JSON file: a list of objects with `title`, `url` and optionally `snippet`.

        Raises:
            ConfigurationError: The file does not exist, or is not such a list.
        """
        try:
            results = TypeAdapter(tuple[SearchResult, ...]).validate_json(Path(path).expanduser().read_bytes())
        except (OSError, RuntimeError) as exc:
            reason = getattr(exc, "strerror", None) or str(exc)
            raise ConfigurationError(
                f"{str(path)!r} cannot be read: {reason}", cause=exc, hint="Name a JSON file."
            ) from exc
        except ValidationError as exc:
            msg = f"{str(path)!r} is not a list of search results"
            raise ConfigurationError(
                msg, cause=exc, hint='For example [{"title": "Tea", "url": "https://..."}].'
            ) from exc
        return cls(results)

    async def search(self, query: str, options: SearchOptions | None = None) -> tuple[SearchResult, ...]:
        """Return the pages, at most as many as `options` allows."""
        self.queries.append(query)
        return self._results[: (options or SearchOptions()).max_results]


SearchFactory: TypeAlias = "Callable[[str, Settings], WebSearchProvider]"
"""Function that creates a provider from the text after the colon and the settings."""


def builtin_searches() -> Registry[SearchFactory]:
    """Return a new registry with the built-in services.

    Example:
        >>> builtin_searches().names()
        ('brave', 'tavily', 'searxng', 'static')
    """
    searches: Registry[SearchFactory] = Registry("search provider")
    searches.add("brave", _brave, summary="Brave's own index; needs BRAVE_API_KEY.")
    searches.add("tavily", _tavily, summary="Tavily, made for models; needs TAVILY_API_KEY.")
    searches.add("searxng", _searxng, summary="A SearXNG server of your own: searxng:URL, or SEARXNG_URL.")
    searches.add("static", _static, summary="Always the same pages, from a JSON file: static:FILE.")
    return searches


def search_provider(
    name: str, *, settings: Settings | None = None, searches: Registry[SearchFactory] | None = None
) -> WebSearchProvider:
    """Create a provider of web searches by its name.

    Args:
        name: `brave`, `tavily`, `searxng:URL` or `static:FILE`. `brave:URL` and `tavily:URL` use another address of the
            API. `searxng` without an address uses `SEARXNG_URL`.
        settings: Keys and addresses; by default, they come from the environment.
        searches: The known services; by default, the built-in services.

    Raises:
        ConfigurationError: The service is unknown, or a key or address is missing or invalid.

    Example:
        >>> search_provider("searxng:http://127.0.0.1:8080").name
        'searxng'
    """
    service, _, argument = name.strip().partition(":")
    factory = (searches or builtin_searches()).get(service)
    return factory(argument.strip(), settings or Settings.from_env())


def _brave(base_url: str, settings: Settings) -> WebSearchProvider:
    key = _required_key(settings.brave_api_key, "brave", "brave_api_key")
    return BraveSearch(key, base_url=base_url) if base_url else BraveSearch(key)


def _tavily(base_url: str, settings: Settings) -> WebSearchProvider:
    key = _required_key(settings.tavily_api_key, "tavily", "tavily_api_key")
    return TavilySearch(key, base_url=base_url) if base_url else TavilySearch(key)


def _searxng(address: str, settings: Settings) -> WebSearchProvider:
    url = address or settings.searxng_url
    if not url:
        msg = "searxng needs the address of a server"
        raise ConfigurationError(msg, hint="Write searxng:http://127.0.0.1:8080, or set SEARXNG_URL.")
    return SearxngSearch(url)


def _static(path: str, _settings: Settings) -> WebSearchProvider:
    return StaticSearch.from_file(path) if path else StaticSearch()


def _required_key(key: str | None, service: str, field: str) -> str:
    if key is None:
        msg = f"{service} needs a key, and none is set"
        raise ConfigurationError(msg, hint=f"Set {' or '.join(Settings.variables(field))}.")
    return key
