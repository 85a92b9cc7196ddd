"""The template of every agent: build messages, call the model, parse, answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._foreign import error_text
from roundtable.agents.answers import to_answer, tools_beside
from roundtable.agents.conversation import Conversation
from roundtable.agents.health import checked
from roundtable.agents.synthesis import ask_for_synthesis
from roundtable.agents.tool_loop import allowed_tools
from roundtable.errors import AgentError, ParseError, RoundtableError
from roundtable.parsing import ParseFailure, parse_answer, parse_prose
from roundtable.prompts import (
    PROMPT_VERSION,
    Fence,
    Quotation,
    answer_example,
    answer_schema,
    compose_system,
    compose_user,
    fresh_nonce,
)
from roundtable.stages import Halt, is_fault
from roundtable.types import (
    AgentInfo,
    AgentResponse,
    ChatRequest,
    Message,
    TurnResult,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.parsing import Parsed
    from roundtable.protocols import AgentToolkit, ChatModel, TurnListener
    from roundtable.types import (
        AgentConfig,
        AgentHealth,
        AnswerKind,
        ChatResponse,
        DebateContext,
        NativeSearch,
        SynthesisResult,
        TurnSpec,
    )

__all__ = ["BaseAgent"]

_COMPACT_MAX_TOKENS = 160
# Measured on the embedded model: at 0.7 every second answer leaves the topic.
_COMPACT_TEMPERATURE = 0.4
_SHOWN_CHARS = 200
_LONGER = "The answer was cut off; raise `max_tokens` of the agent."


class BaseAgent:
    """An agent that answers through a chat model.

    Override `build_messages` to prompt differently (or one of the steps it calls, `build_system_prompt`
    and `build_user_message`), `parse` to read answers differently, `repair` to ask again differently;
    everything else is fixed. A subclass may instead override `generate_response` alone; it then answers
    positions only, what it spends on the way is not counted, and no model call of it is seen.

    Args:
        config: Who the agent is.
        model: The model it speaks through.
        toolkit: Tools it may use.
        search: How the provider searches the web for it, where it can; left out, it does not search.
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
        nonce: Callable[[], str] = fresh_nonce,
    ) -> None:
        self.config = config
        self.chat_model = model
        self.search: NativeSearch | None = search
        self._toolkit = toolkit
        self._nonce = nonce

    @property
    def id(self) -> str:
        """Unique within a debate."""
        return self.config.id

    @property
    def name(self) -> str:
        """Display name."""
        return self.config.name

    @property
    def provider(self) -> str:
        """Provider the agent speaks through."""
        return self.config.provider

    @property
    def model(self) -> str:
        """Model id in use."""
        return self.config.model or self.chat_model.model

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r}, provider={self.provider!r}, model={self.model!r})"

    @property
    def toolkit(self) -> AgentToolkit | None:
        """Tools the agent may use."""
        return self._toolkit

    def first_request(self, context: DebateContext) -> ChatRequest:
        """Give the request that a turn begins with, without its tools; nothing is sent.

        Raises:
            ContextTooLong: It does not fit the model's window.
        """
        return self._request(context, self.build_messages(context, Fence(self._nonce())))

    def set_toolkit(self, toolkit: AgentToolkit | None) -> None:
        """Offer the agent these tools from its next turn on."""
        self._toolkit = toolkit

    def set_search(self, search: NativeSearch | None) -> None:
        """Let the agent search the web like this from its next turn on; `None` does not search."""
        self.search = search

    def get_info(self) -> AgentInfo:
        """Say who this agent is."""
        return AgentInfo(id=self.id, name=self.name, provider=self.provider, model=self.model)

    async def generate_response(self, context: DebateContext) -> AgentResponse:
        """Give a position.

        Raises:
            RoundtableError: No position could be had.
        """
        answer = (await self._answer(context, None)).answer
        if not isinstance(answer, AgentResponse):
            msg = f"the turn asks for {answer.kind!r}, not for a position"
            raise AgentError(msg, hint="Use take_turn for turns of other kinds.")
        return answer

    async def take_turn(self, context: DebateContext, listener: TurnListener | None = None) -> TurnResult:
        """Answer `context.turn`; see `roundtable.protocols.Agent`."""
        if not self._overrides("generate_response"):
            return await self._answer(context, listener)
        if self._kind(context) != "position":
            msg = f"agent {self.id!r} can only give positions, not a {self._kind(context)}"
            raise AgentError(msg, provider=self.provider, hint="Override build_messages or parse instead.")
        if listener is not None:
            await listener.before_call()
        return TurnResult(answer=await self.generate_response(context), provider=self.provider, model=self.model)

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(BaseAgent, name)

    async def _answer(self, context: DebateContext, listener: TurnListener | None) -> TurnResult:
        fence = Fence(self._nonce())
        tools = allowed_tools(self, context, fence, listener)
        talk = Conversation(self.chat_model, fence, tools, listener)
        try:
            return await self._converse(context, talk)
        except RoundtableError as error:
            error.usage = talk.usage
            raise
        except Halt:
            raise
        except BaseException as error:
            # An override point is foreign code; what was paid for is charged all the same.
            if not is_fault(error):
                raise
            msg = f"agent {self.id!r} raised {type(error).__name__}: {error_text(error)[:500]}"
            failure = AgentError(msg, provider=self.provider, cause=error)
            failure.usage = talk.usage
            raise failure from error

    async def _converse(self, context: DebateContext, talk: Conversation) -> TurnResult:
        request = self._request(context, self.build_messages(context, talk.fence))
        turn = context.turn
        response = await talk.ask(request, turn.max_steps if turn else None)
        parsed, response = await self._read(response, context, request, talk)
        cut = ("the answer was cut off at max_tokens",) if response.finish_reason == "length" else ()
        return TurnResult(
            answer=to_answer(parsed, self._kind(context), self.config, talk, response),
            usage=talk.usage,
            usage_by_call=tuple(talk.usage_by_call),
            provider=response.provider or self.provider,
            model=response.model or self.model,
            finish_reason=response.finish_reason,
            truncated=parsed.truncated or response.finish_reason == "length",
            repaired=parsed.repaired,
            warnings=(*talk.warnings, *parsed.warnings, *cut, *talk.tools.shortfall()),
            request_ids=tuple(talk.request_ids),
            prompt_version=_version(turn),
            context_requests=talk.tools.requests,
            tool_calls=tools_beside(self._kind(context), talk),
        )

    def _request(self, context: DebateContext, messages: tuple[Message, ...]) -> ChatRequest:
        profile, turn = self.chat_model.profile, context.turn
        return ChatRequest(
            model=self.model,
            messages=messages,
            temperature=self._temperature(),
            max_tokens=self._max_tokens(context),
            output_schema=answer_schema(context, profile) if profile.structured_output else None,
            search=self.search,
            metadata={
                "agent": self.id,
                "session": context.session_id,
                "round": str(context.current_round),
                "slot": str(turn.slot if turn else 0),
            },
        )

    def _temperature(self) -> float | None:
        asked = self.config.temperature
        if asked is None or self.chat_model.profile.prompt_style != "compact":
            return asked
        return min(asked, _COMPACT_TEMPERATURE)

    def _max_tokens(self, context: DebateContext) -> int:
        asked = (context.turn.max_tokens if context.turn else None) or self.config.max_tokens
        if self.chat_model.profile.prompt_style == "compact":
            return min(asked, _COMPACT_MAX_TOKENS)
        return asked

    @staticmethod
    def _kind(context: DebateContext) -> AnswerKind:
        return context.turn.answer if context.turn else "position"

    async def _read(
        self, response: ChatResponse, context: DebateContext, request: ChatRequest, talk: Conversation
    ) -> tuple[Parsed, ChatResponse]:
        """Parse the answer; ask once more when it cannot be read, and charge that to the turn."""
        self._refuse(response)
        parsed = self.parse(response.text, context)
        if not isinstance(parsed, ParseFailure):
            return parsed, response
        again = self.repair(parsed, context)
        if again is not None:
            said = (Message(role="assistant", content=response.text),) if response.text.strip() else ()
            # What was found is in the answer; the same answer in another form needs no second search.
            request = request.model_copy(update={"messages": (*request.messages, *said, again), "search": None})
            response = await talk.ask(request, 1, tools=False)
            self._refuse(response)
            parsed = self.parse(response.text, context)
        if isinstance(parsed, ParseFailure) and self._kind(context) == "position":
            prose = parse_prose(response.text)
            parsed = parsed if isinstance(prose, ParseFailure) else prose
        if isinstance(parsed, ParseFailure):
            msg = f"agent {self.id!r} gave no readable {self._kind(context)}: {parsed.reason}"
            answer = " ".join(response.text.split())[:_SHOWN_CHARS]
            hint = _LONGER if response.finish_reason == "length" else None
            raise ParseError(msg, provider=self.provider, hint=hint, details={"answer": answer} if answer else None)
        return parsed, response

    def _refuse(self, response: ChatResponse) -> None:
        if response.finish_reason in {"refusal", "content_filter"}:
            what = "refused to answer" if response.finish_reason == "refusal" else "was stopped by a content filter"
            msg = f"agent {self.id!r} {what}"
            raise AgentError(msg, code="AGENT_REFUSED", provider=self.provider, request_id=response.request_id)

    def build_messages(self, context: DebateContext, fence: Fence) -> tuple[Message, ...]:
        """Write the prompt: a system message of our own words, a user message in which the rest is quoted.

        Override point. Quote whatever is not yours with `fence.quote`.
        """
        theirs = self._overrides("build_system_prompt")
        system = self.build_system_prompt(context) if theirs else self._system(context, fence)
        example = answer_example(context, self.chat_model.profile) or ()
        theirs = self._overrides("build_user_message")
        before = "\n".join([system, *example])
        user = self.build_user_message(context) if theirs else self._user(context, fence, before)
        return (
            Message(role="system", content=system),
            *_example_messages(example),
            Message(role="user", content=user),
        )

    def build_system_prompt(self, context: DebateContext) -> str:
        """Give the system prompt of a turn: who the agent is, what the mode asks, how quotations are read."""
        return self._system(context, Fence(self._nonce()))

    def build_user_message(self, context: DebateContext) -> str:
        """Give the user message of a turn: question, supplied information, earlier answers, answer format.

        Raises:
            ContextTooLong: It does not fit the model's window.
        """
        fence = Fence(self._nonce())
        return self._user(context, fence, self._system(context, fence))

    def _system(self, context: DebateContext, fence: Fence) -> str:
        tools = [tool.name for tool in allowed_tools(self, context, fence).offered]
        return compose_system(self.config, context, self.chat_model.profile, fence, tools=tools)

    def _user(self, context: DebateContext, fence: Fence, system: str) -> str:
        quotations = self._quotations(context)
        limit = self._max_tokens(context)
        return compose_user(context, self.chat_model.profile, fence, quotations, max_tokens=limit, system=system)

    def _quotations(self, context: DebateContext) -> list[Quotation]:
        """Pair what may be seen with its rounds, told by the turn that shows it."""
        positions = {
            turn.key for turn in context.transcript if turn.outcome == "answered" and turn.answer.kind == "position"
        }
        sees = context.turn.sees if context.turn else ()
        rounds = [visible.turn.round for visible in sees if visible.turn in positions]
        if len(rounds) != len(context.previous_responses):
            rounds = [max(1, context.current_round - 1)] * len(context.previous_responses)
        return [
            Quotation(response.agent_name, number, response.agent_id == self.id, response)
            for response, number in zip(context.previous_responses, rounds, strict=True)
        ]

    def parse_response(self, raw_text: str, context: DebateContext) -> Parsed | ParseFailure:
        """Read a model's text as the kind of answer the turn asks for."""
        options = (context.turn.options if context.turn else None) or context.options
        scale = self.chat_model.profile.confidence_scale
        return parse_answer(raw_text, self._kind(context), confidence_scale=scale, options=options)

    def parse(self, text: str, context: DebateContext) -> Parsed | ParseFailure:
        """Read a model's text. Override point; a `ParseFailure` leads to one repair try."""
        return self.parse_response(text, context)

    def repair(self, failure: ParseFailure, context: DebateContext) -> Message | None:
        """Say how to ask again after an unreadable answer; `None` does not ask. Override point.

        The model finds its own answer above the message; quote none of it outside the fence.
        """
        return Message(
            role="user",
            content=f"Your answer could not be used: {Fence.inline(failure.reason)}. "
            "Give the same answer again, this time only as the JSON object described above.",
        )

    async def generate_raw_completion(self, prompt: str, system_prompt: str | None = None) -> str:
        """Complete a prompt of the caller's as plain text, without tools."""
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
        """Put the visible answers together.

        Raises:
            RoundtableError: The model failed, or its text holds no synthesis.
        """
        return await ask_for_synthesis(self.chat_model, self.config, context, Fence(self._nonce()))

    async def health_check(self) -> AgentHealth:
        """Try a minimal call, once; a failure is reported, never raised, and so is no answer within 15 s."""
        return await checked(self.chat_model, self.model, self.id)


def _version(turn: TurnSpec | None) -> str:
    """Name the prompt texts of a turn: those of this library, and those of the mode where it names them."""
    return f"{PROMPT_VERSION} {turn.prompt_id}" if turn and turn.prompt_id else PROMPT_VERSION


def _example_messages(example: tuple[str, str] | tuple[()]) -> tuple[Message, ...]:
    """Put an example as an exchange that already took place."""
    if not example:
        return ()
    question, answer = example
    return (Message(role="user", content=question), Message(role="assistant", content=answer))
