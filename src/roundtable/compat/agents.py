"""One agent class per provider, as in the TypeScript API: an agent with its model, key and search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

from pydantic import Field

from roundtable.agents.base import BaseAgent
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.base import NativeSearch, NonEmpty, Value
from roundtable.gateway import Gateway

if TYPE_CHECKING:
    from roundtable.core.protocols import AgentToolkit, ChatModel
    from roundtable.core.types.agents import AgentConfig

__all__ = [
    "ChatGPTAgent",
    "ClaudeAgent",
    "GeminiAgent",
    "PerplexityAgent",
    "PerplexitySearchOptions",
    "create_chatgpt_agent",
    "create_claude_agent",
    "create_gemini_agent",
    "create_perplexity_agent",
]


_SEARCH: Final = NativeSearch()


class _VendorAgent(BaseAgent):
    """An agent of one provider; by default, it searches the web with the provider's own search.

    Args:
        config: Who the agent is.
        model: The model that the agent calls; created from the configuration when left out.
        api_key: Secret key; the provider's environment variable when left out.
        client: Your own `httpx.AsyncClient`, for tests and proxies.
        base_url: Root URL of the API, instead of the provider's own.
        toolkit: Tools that the agent may use.
        search: Options of the web search; `None` for no search. When left out, the options in `config.search` apply,
            else the defaults.
    """

    vendor: ClassVar[str]

    def __init__(
        self,
        config: AgentConfig,
        model: ChatModel | None = None,
        *,
        api_key: str | None = None,
        client: object | None = None,
        base_url: str | None = None,
        toolkit: AgentToolkit | None = None,
        search: NativeSearch | None = _SEARCH,
    ) -> None:
        if model is None:
            if config.provider != self.vendor:
                raise ConfigurationError(
                    f"{type(self).__name__} needs the provider {self.vendor!r}, not {config.provider!r}",
                    hint="Set that provider in the configuration, or pass a model.",
                )
            # Imported here, so that importing agents does not load every provider.
            from roundtable.providers import chat_model

            name = f"{self.vendor}:{config.model}" if config.model else self.vendor
            model = Gateway().guard(chat_model(name, api_key=api_key, client=client, base_url=base_url))
        is_configured = search is _SEARCH and config.search is not None
        super().__init__(config, model, toolkit=toolkit, search=None if is_configured else search)
        if search is None:
            self.set_search(None)


class ClaudeAgent(_VendorAgent):
    """An agent with a model of Anthropic.

    Example:
        >>> from roundtable.types import AgentConfig
        >>> ClaudeAgent(AgentConfig(id="c", name="Claude", provider="anthropic"), api_key="sk-ant-1").model
        'claude-sonnet-4-5'
    """

    vendor = "anthropic"


class ChatGPTAgent(_VendorAgent):
    """An agent with a model of OpenAI, called through the Responses API.

    Example:
        >>> from roundtable.types import AgentConfig
        >>> ChatGPTAgent(AgentConfig(id="g", name="ChatGPT", provider="openai"), api_key="sk-1").model
        'gpt-5.2'
    """

    vendor = "openai"


class GeminiAgent(_VendorAgent):
    """An agent with a model of Google. If a model cannot search and call tools in one request, it is called twice.

    Example:
        >>> from roundtable.types import AgentConfig
        >>> GeminiAgent(AgentConfig(id="g", name="Gemini", provider="google"), api_key="k").model
        'gemini-3-flash-preview'
    """

    vendor = "google"


class PerplexitySearchOptions(Value):
    """Search options of Perplexity.

    Example:
        >>> PerplexitySearchOptions(recency_filter="week", domain_filter=("example.org",)).to_search().recency
        'week'
    """

    recency_filter: Literal["hour", "day", "week", "month", "year"] | None = None
    """Maximum age of a result."""
    domain_filter: Annotated[tuple[NonEmpty, ...], Field(max_length=3)] = ()
    """At most three domains to search; a leading `-` excludes a domain."""
    return_images: bool = False
    """Whether to return images as well."""
    return_related_questions: bool = False
    """Whether to return related questions."""

    def to_search(self) -> NativeSearch:
        """Convert to the search options of a request."""
        return NativeSearch(
            recency=self.recency_filter,
            allowed_domains=tuple(domain for domain in self.domain_filter if not domain.startswith("-")),
            blocked_domains=tuple(domain[1:] for domain in self.domain_filter if domain[:1] == "-" and domain[1:]),
            images=self.return_images,
            related_questions=self.return_related_questions,
        )


class PerplexityAgent(_VendorAgent):
    """An agent with a model of Perplexity, which always searches.

    The prompt asks for recent, authoritative sources. In the prompt, the question comes first and the answer format
    last, so that Perplexity searches for the question.

    Args:
        config: Who the agent is.
        model: The model that the agent calls; created from the configuration when left out.
        api_key: Secret key; `PERPLEXITY_API_KEY` when left out.
        client: Your own `httpx.AsyncClient`, for tests and proxies.
        base_url: Root URL of the API, instead of the provider's own.
        toolkit: Tools; Perplexity's models do not call tools.
        search_options: Options of the model's search.

    Example:
        >>> from roundtable.types import AgentConfig
        >>> agent = PerplexityAgent(AgentConfig(id="p", name="Perplexity", provider="perplexity"), api_key="k")
        >>> agent.set_search_options(PerplexitySearchOptions(recency_filter="day"))
        >>> agent.get_search_options().recency_filter
        'day'
    """

    vendor = "perplexity"

    def __init__(
        self,
        config: AgentConfig,
        model: ChatModel | None = None,
        *,
        api_key: str | None = None,
        client: object | None = None,
        base_url: str | None = None,
        toolkit: AgentToolkit | None = None,
        search_options: PerplexitySearchOptions | None = None,
    ) -> None:
        super().__init__(config, model, api_key=api_key, client=client, base_url=base_url, toolkit=toolkit)
        self.cites_sources = True
        self._options = search_options or PerplexitySearchOptions()
        if search_options is not None or config.search is None:
            self.set_search(self._options.to_search())

    def set_search_options(self, options: PerplexitySearchOptions) -> None:
        """Change the search options from the next turn on; fields that `options` does not set stay unchanged."""
        changes = {name: getattr(options, name) for name in options.model_fields_set}
        self._options = self._options.model_copy(update=changes)
        self.set_search(self._options.to_search())

    def get_search_options(self) -> PerplexitySearchOptions:
        """Return the search options."""
        return self._options


def create_claude_agent(
    config: AgentConfig,
    toolkit: AgentToolkit | None = None,
    *,
    api_key: str | None = None,
    client: object | None = None,
) -> ClaudeAgent:
    """Create an agent with a model of Anthropic; when left out, the key is `ANTHROPIC_API_KEY`."""
    return ClaudeAgent(config, api_key=api_key, client=client, toolkit=toolkit)


def create_chatgpt_agent(
    config: AgentConfig,
    toolkit: AgentToolkit | None = None,
    *,
    api_key: str | None = None,
    client: object | None = None,
) -> ChatGPTAgent:
    """Create an agent with a model of OpenAI; when left out, the key is `OPENAI_API_KEY`."""
    return ChatGPTAgent(config, api_key=api_key, client=client, toolkit=toolkit)


def create_gemini_agent(
    config: AgentConfig,
    toolkit: AgentToolkit | None = None,
    *,
    api_key: str | None = None,
    client: object | None = None,
) -> GeminiAgent:
    """Create an agent with a model of Google; when left out, the key is `GOOGLE_API_KEY`."""
    return GeminiAgent(config, api_key=api_key, client=client, toolkit=toolkit)


def create_perplexity_agent(
    config: AgentConfig,
    toolkit: AgentToolkit | None = None,
    *,
    api_key: str | None = None,
    client: object | None = None,
    search_options: PerplexitySearchOptions | None = None,
) -> PerplexityAgent:
    """Create an agent with a model of Perplexity; when left out, the key is `PERPLEXITY_API_KEY`."""
    return PerplexityAgent(config, api_key=api_key, client=client, toolkit=toolkit, search_options=search_options)
