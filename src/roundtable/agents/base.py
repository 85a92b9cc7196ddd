"""The base class of agents: the turn of the core, with tools, web search, health checks and synthesis."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final, Self

from roundtable.agents.health import check_health
from roundtable.agents.native_search import SeatSearch
from roundtable.agents.synthesis import ask_for_synthesis
from roundtable.agents.tool_conversation import ToolConversation
from roundtable.agents.tool_loop import allowed_tools
from roundtable.core.agent.template import AgentTemplate
from roundtable.core.errors import ConfigurationError
from roundtable.core.prompts.fence import Fence, fresh_nonce
from roundtable.core.types.base import NativeSearch
from roundtable.core.types.chat import ChatRequest, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from roundtable.agents.native_search import Searching
    from roundtable.core.agent.conversation import Conversation
    from roundtable.core.protocols import AgentToolkit, ChatModel, TurnListener
    from roundtable.core.types.agents import AgentConfig, AgentHealth
    from roundtable.core.types.chat import AgentTool
    from roundtable.core.types.consensus import SynthesisResult
    from roundtable.core.types.debate import DebateContext

__all__ = ["BaseAgent"]

_CITE_SOURCES: Final = (
    "Rest on recent sources of authority, and mark each statement with the number of its source, such as [1]."
)


_NO_FENCE: Final = Fence("")
"""The fence where nothing is quoted: the tools are only listed."""


class BaseAgent(AgentTemplate):
    """An agent that answers through a chat model.

    A subclass may override these methods; everything else is fixed:

    - `build_messages` to change the prompt, or one of the steps that it calls: `build_system_prompt` and
      `build_user_message`
    - `parse` to change how answers are parsed
    - `repair` to change how the agent is asked again

    A subclass may instead override `generate_response` alone. The agent then answers with positions only, its usage is
    not counted, and its model calls are not reported.

    Args:
        config: Configuration of the agent, such as its id, name and persona.
        model: The model that the agent calls.
        toolkit: Tools that the agent may use.
        search: Options of the provider's own web search, if it has one; if left out, `config.search`.
        cites_sources: Whether the system prompt asks for sources.
        nonce: Source of fence ids; random unless a test needs repeatable prompts.

    Example:
        >>> import anyio
        >>> from roundtable.providers.scripted import ScriptedModel
        >>> from roundtable.types import AgentConfig, DebateContext
        >>> model = ScriptedModel([{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}])
        >>> ada = BaseAgent(AgentConfig(id="ada", name="Ada", provider="scripted"), model)
        >>> view = DebateContext(session_id="s", topic="Tea or coffee?", mode="collaborative")
        >>> anyio.run(ada.generate_response, view).position
        'Tea'
    """

    def __init__(
        self,
        config: AgentConfig,
        model: ChatModel,
        *,
        toolkit: AgentToolkit | None = None,
        search: NativeSearch | None = None,
        cites_sources: bool = False,
        nonce: Callable[[], str] = fresh_nonce,
    ) -> None:
        super().__init__(config, model, nonce=nonce)
        self._search = self._seat_search(_wanted_by(config) if search is None else search)
        self.cites_sources = cites_sources
        """Whether the system prompt asks for sources."""
        self._toolkit = toolkit

    @property
    def toolkit(self) -> AgentToolkit | None:
        """Tools the agent may use."""
        return self._toolkit

    @property
    def search(self) -> NativeSearch | None:
        """Options of the provider's own web search; `None` means no search."""
        return self._search.wanted or None

    def set_toolkit(self, toolkit: AgentToolkit | None) -> None:
        """Replace the agent's tools, starting with the next turn."""
        self._toolkit = toolkit

    def set_search(self, search: NativeSearch | None) -> None:
        """Set the options of the web search, starting with the next turn; `None` means no search.

        Raises:
            ConfigurationError: The provider's search does not support the options.
        """
        self._search = self._seat_search(search)

    def search_refused(self, session_id: str) -> None:
        """Turn the search off for a session in which the provider has already refused it."""
        self._search.refuse(session_id)

    def with_search_config(self, config: AgentConfig, notes: Iterable[str] = ()) -> Self:
        """Return a copy of this agent with another search configuration, for one seat.

        Args:
            config: Configuration of the agent; it should differ from the present one only in `search`.
            notes: Warnings about the search, to add to the first answer of each session.
        """
        agent = copy(self)
        agent.config = config
        agent._search = agent._seat_search(_wanted_by(config), notes)  # noqa: SLF001  (an instance of this class)
        return agent

    def _seat_search(self, search: NativeSearch | None, notes: Iterable[str] = ()) -> SeatSearch:
        profile = self.chat_model.profile.search
        if profile is None:
            return SeatSearch(search, notes)
        if search is not None and (unsupported := profile.misfits(search)):
            names = ", ".join(unsupported)
            raise ConfigurationError(
                f"agent {self.id!r}: the web search of {self.provider!r} does not support {names} as set here",
                hint="Leave these options out or change them; the guide on searching lists what providers support.",
            )
        is_off = search is None and self.config.search is False and profile.built_in
        return SeatSearch(False if is_off else search, notes, built_in=profile.built_in)

    def _open_conversation(self, context: DebateContext, fence: Fence, listener: TurnListener | None) -> Conversation:
        """Return the calls of a turn, with the agent's tools and its search; see `AgentTemplate`."""
        tools = allowed_tools(self, context, fence, listener)
        return ToolConversation(self.chat_model, listener, session=context.session_id, tools=tools, search=self._search)

    def _offered_tools(self, context: DebateContext) -> tuple[AgentTool, ...]:
        """Return the tools that a turn may call."""
        return allowed_tools(self, context, _NO_FENCE).offered

    def _search_setting(self, context: DebateContext) -> Searching:
        """Return the search setting of a turn; see `AgentTemplate`."""
        return self._search.setting_for(context)

    def build_messages(self, context: DebateContext, fence: Fence) -> tuple[Message, ...]:
        """Build the prompt: a system message in the library's own words, and a user message that quotes all other text.

        Subclasses may override this method. They must quote text from others with `fence.quote`.
        """
        system, *others = super().build_messages(context, fence)
        if self.cites_sources:
            system = system.model_copy(update={"content": f"{system.content}\n\n{_CITE_SOURCES}"})
        return (system, *others)

    async def generate_raw_completion(self, prompt: str, system_prompt: str | None = None) -> str:
        """Complete the caller's prompt as plain text, without tools."""
        system = system_prompt or "Answer exactly as the user asks, without any preamble."
        messages = (Message(role="system", content=system), Message(role="user", content=prompt))
        request = ChatRequest(
            model=self.model,
            messages=messages,
            temperature=self.config.temperature,
            max_tokens=self.config.max_tokens,
            metadata={"agent": self.id},
        )
        return (await self.chat_model.complete(request)).text

    async def generate_synthesis(self, context: DebateContext) -> SynthesisResult:
        """Write a synthesis of the visible answers.

        Raises:
            RoundtableError: The model failed, or its text does not contain a synthesis.
        """
        return await ask_for_synthesis(self.chat_model, self.config, context, Fence(self._nonce()))

    async def health_check(self) -> AgentHealth:
        """Make one minimal call. A failure, such as no answer within 15 s, is reported in the result, never raised."""
        return await check_health(self.chat_model, self.model, self.id)


def _wanted_by(config: AgentConfig) -> NativeSearch | None:
    return NativeSearch() if config.search is True else config.search or None
