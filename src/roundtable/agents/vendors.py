"""Agents of the providers by name, as the TypeScript API has them: an agent with its model, key and search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

from pydantic import Field

from roundtable.agents.base import BaseAgent
from roundtable.errors import ConfigurationError
from roundtable.gateway import Gateway
from roundtable.types import NativeSearch, NonEmpty, Value

if TYPE_CHECKING:
    from roundtable.prompts import Fence
    from roundtable.protocols import AgentToolkit, ChatModel
    from roundtable.types import AgentConfig, DebateContext, Message

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
    """An agent of one provider; it searches the web with the provider's own search unless told not to.

    Args:
        config: Who the agent is.
        model: The model it speaks through; made from the configuration when left out.
        api_key: Secret key; the provider's environment variable when left out.
        client: An `httpx.AsyncClient` of yours, for tests and proxies.
        base_url: Root of the API, where it is not the provider's own.
        toolkit: Tools it may use.
        search: How it searches; `None` does not search.
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
                    f"{type(self).__name__} speaks through {self.vendor!r}, not through {config.provider!r}",
                    hint="Give the configuration that provider, or give a model.",
                )
            # Late: whoever imports agents need not load every dialect.
            from roundtable.providers import chat_model

            name = f"{self.vendor}:{config.model}" if config.model else self.vendor
            model = Gateway().guard(chat_model(name, api_key=api_key, client=client, base_url=base_url))
        super().__init__(config, model, toolkit=toolkit, search=search)


class ClaudeAgent(_VendorAgent):
    """An agent that speaks through Anthropic.

    Example:
        >>> from roundtable.types import AgentConfig
        >>> ClaudeAgent(AgentConfig(id="c", name="Claude", provider="anthropic"), api_key="sk-ant-1").model
        'claude-sonnet-4-5'
    """

    vendor = "anthropic"


class ChatGPTAgent(_VendorAgent):
    """An agent that speaks through OpenAI's Responses.

    Example:
        >>> from roundtable.types import AgentConfig
        >>> ChatGPTAgent(AgentConfig(id="g", name="ChatGPT", provider="openai"), api_key="sk-1").model
        'gpt-5.2'
    """

    vendor = "openai"


class GeminiAgent(_VendorAgent):
    """An agent that speaks through Google; models that cannot search and call tools at once are asked twice.

    Example:
        >>> from roundtable.types import AgentConfig
        >>> GeminiAgent(AgentConfig(id="g", name="Gemini", provider="google"), api_key="k").model
        'gemini-3-flash-preview'
    """

    vendor = "google"


class PerplexitySearchOptions(Value):
    """How Perplexity searches.

    Example:
        >>> PerplexitySearchOptions(recency_filter="week", domain_filter=("example.org",)).to_search().recency
        'week'
    """

    recency_filter: Literal["hour", "day", "week", "month", "year"] | None = None
    """How old a result may be."""
    domain_filter: Annotated[tuple[NonEmpty, ...], Field(max_length=3)] = ()
    """At most three domains to search; one with `-` before it is left out."""
    return_images: bool = False
    """Whether to look for images too."""
    return_related_questions: bool = False
    """Whether to suggest questions that follow."""

    def to_search(self) -> NativeSearch:
        """Give the same in the words of a request."""
        return NativeSearch(
            recency=self.recency_filter,
            allowed_domains=tuple(domain for domain in self.domain_filter if not domain.startswith("-")),
            blocked_domains=tuple(domain[1:] for domain in self.domain_filter if domain[:1] == "-" and domain[1:]),
            images=self.return_images,
            related_questions=self.return_related_questions,
        )


class PerplexityAgent(_VendorAgent):
    """An agent that speaks through Perplexity, which always searches.

    Its prompt asks for recent sources of authority; the question comes first and the answer format last, so that the
    search is for the question.

    Args:
        config: Who the agent is.
        model: The model it speaks through; made from the configuration when left out.
        api_key: Secret key; `PERPLEXITY_API_KEY` when left out.
        client: An `httpx.AsyncClient` of yours, for tests and proxies.
        base_url: Root of the API, where it is not the provider's own.
        toolkit: Tools; Perplexity's models call none.
        search_options: How it searches.

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
        self._options = search_options or PerplexitySearchOptions()
        self.set_search(self._options.to_search())

    def set_search_options(self, options: PerplexitySearchOptions) -> None:
        """Change how it searches from its next turn on; what `options` leaves out stays as it was."""
        given = {name: getattr(options, name) for name in options.model_fields_set}
        self._options = self._options.model_copy(update=given)
        self.set_search(self._options.to_search())

    def get_search_options(self) -> PerplexitySearchOptions:
        """Say how it searches."""
        return self._options

    def build_messages(self, context: DebateContext, fence: Fence) -> tuple[Message, ...]:
        """Write the prompt, with a wish for sources."""
        first, *rest = super().build_messages(context, fence)
        wish = (
            "Rest on recent sources of authority, and mark each statement with the number of its source, such as [1]."
        )
        return (first.model_copy(update={"content": f"{first.content}\n\n{wish}"}), *rest)


def create_claude_agent(
    config: AgentConfig,
    toolkit: AgentToolkit | None = None,
    *,
    api_key: str | None = None,
    client: object | None = None,
) -> ClaudeAgent:
    """Make an agent that speaks through Anthropic; its key is `ANTHROPIC_API_KEY` when left out."""
    return ClaudeAgent(config, api_key=api_key, client=client, toolkit=toolkit)


def create_chatgpt_agent(
    config: AgentConfig,
    toolkit: AgentToolkit | None = None,
    *,
    api_key: str | None = None,
    client: object | None = None,
) -> ChatGPTAgent:
    """Make an agent that speaks through OpenAI; its key is `OPENAI_API_KEY` when left out."""
    return ChatGPTAgent(config, api_key=api_key, client=client, toolkit=toolkit)


def create_gemini_agent(
    config: AgentConfig,
    toolkit: AgentToolkit | None = None,
    *,
    api_key: str | None = None,
    client: object | None = None,
) -> GeminiAgent:
    """Make an agent that speaks through Google; its key is `GOOGLE_API_KEY` when left out."""
    return GeminiAgent(config, api_key=api_key, client=client, toolkit=toolkit)


def create_perplexity_agent(
    config: AgentConfig,
    toolkit: AgentToolkit | None = None,
    *,
    api_key: str | None = None,
    client: object | None = None,
    search_options: PerplexitySearchOptions | None = None,
) -> PerplexityAgent:
    """Make an agent that speaks through Perplexity; its key is `PERPLEXITY_API_KEY` when left out."""
    return PerplexityAgent(config, api_key=api_key, client=client, toolkit=toolkit, search_options=search_options)
