"""The base class of agents: build messages, call the model, parse, answer."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Self

from roundtable._core.strict_json import shallow
from roundtable._core.text import error_text
from roundtable.agents.answer import answer_tool_calls, to_answer
from roundtable.agents.health import check_health
from roundtable.agents.native_search import SeatSearch, refuses_request, refuses_search
from roundtable.agents.synthesis import ask_for_synthesis
from roundtable.agents.tool_loop import MOST_TOOL_ROUNDS, allowed_tools
from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    BudgetExceeded,
    ConfigurationError,
    ParseError,
    RoundtableError,
)
from roundtable.gateway import FallbackModel, GuardedModel
from roundtable.gateway.wrapping import close_stream
from roundtable.parsing import ParseFailure, parse_answer, parse_prose, value_problem
from roundtable.parsing.thoughts import without_thoughts
from roundtable.prompts import (
    PROMPT_VERSION,
    Fence,
    Quotation,
    answer_example,
    answer_schema,
    asks_claims,
    comparable,
    compose_system,
    compose_user,
    fresh_nonce,
    label_claims,
    label_quotations,
    resolve_comparisons,
    shown_claims,
    value_schema_of,
)
from roundtable.stages import TurnCancelled, is_fault
from roundtable.types import (
    AgentInfo,
    AgentResponse,
    ChatRequest,
    ChatResponse,
    Message,
    NativeSearch,
    OutputSchema,
    ToolCallRecord,
    TurnResult,
)
from roundtable.types.chat import NO_USAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from roundtable.agents.tool_loop import TurnTools
    from roundtable.gateway import RetryNotice
    from roundtable.parsing import Parsed
    from roundtable.protocols import AgentToolkit, ChatModel, TurnListener
    from roundtable.types import (
        AgentConfig,
        AgentHealth,
        AnswerKind,
        Citation,
        Claim,
        Comparison,
        DebateContext,
        JsonObject,
        JsonValue,
        SynthesisResult,
        TurnKey,
        TurnSpec,
        Usage,
    )

__all__ = ["BaseAgent", "CitingAgent", "Conversation"]

_MAX_RESULT_CHARS = 20_000
_FAILED_CALLS: Final = (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    BudgetExceeded,
)
"""Errors that a call raises; other errors, such as the errors of a storage, end the debate."""
_SEARCH_TOOL = "web_search"
_CITE_SOURCES: Final = (
    "Rest on recent sources of authority, and mark each statement with the number of its source, such as [1]."
)

_COMPACT_MAX_TOKENS = 160
_COMPACT_CLAIMS_TOKENS = 80
# Measured on the embedded model: at 0.7 every second answer leaves the topic.
_COMPACT_TEMPERATURE = 0.4
_SHOWN_CHARS = 200
_CUT_OFF_HINT = "The answer was cut off; raise `max_tokens` of the agent."


@dataclass(slots=True)
class Conversation:
    """The calls of one model for one turn. Their usage is counted, so that a failed turn is charged as well."""

    model: ChatModel
    """Model that is called."""
    fence: Fence
    """Fence that quotes the results of tools."""
    tools: TurnTools
    """Tools that run the calls that the model requests."""
    listener: TurnListener | None = None
    """Listener that is notified of the steps of the turn."""
    search: SeatSearch = field(default_factory=lambda: SeatSearch(None))
    """Web search, which knows the sessions in which the provider refused to search."""
    usage: Usage = NO_USAGE
    """The usage so far."""
    usage_by_call: list[Usage] = field(default_factory=list)
    """The usage of each call."""
    request_ids: list[str] = field(default_factory=list)
    """The provider's ids of the calls."""
    answered: bool = False
    """Whether the model has answered, so that at least one call was paid for."""
    citations: list[Citation] = field(default_factory=list)
    """Sources that the provider returned in all calls."""
    server_calls: list[ToolCallRecord] = field(default_factory=list)
    """Calls of tools that the provider ran itself, such as its search; they do not count against the allowance."""
    warnings: list[str] = field(default_factory=list)
    """Warnings about the calls; equal warnings are listed once."""

    async def ask(self, request: ChatRequest, max_steps: int | None = None, *, tools: bool = True) -> ChatResponse:
        """Call the model until it answers without requesting a tool.

        When the allowance of tool calls or the steps are used up, the model is called once more without tools. An
        answer that is submitted through a tool ends the conversation. If a model cannot search and call tools in the
        same request, a separate call searches first.

        Args:
            request: The request; tools are added to it.
            max_steps: The most model calls; if left out, 11, of which 10 may request tools.
            tools: Whether tools may be called.
        """
        available = self.tools.offered if tools else ()
        steps_left = step_limit = max_steps or MOST_TOOL_ROUNDS + 1
        if request.search and available and self.model.profile.search_alone:
            request = await self._search_first(request)
        text_so_far = ""
        while True:
            steps_left -= 1
            last = steps_left <= 0 or self.tools.spent
            step_request = request if last or not available else request.model_copy(update={"tools": available})
            response = await self._call_or_drop_search(step_request)
            if step_request.search and self.search.is_refused(step_request.metadata.get("session", "")):
                request = request.model_copy(update={"search": self.search.off})
            if response.finish_reason == "pause" and steps_left > 0:
                # The provider continues the answer when it gets the answer back.
                text_so_far += response.text
                messages = (*request.messages, response.to_message())
                request = request.model_copy(update={"messages": messages})
                continue
            if not response.tool_calls or not step_request.tools:
                return response.model_copy(update={"text": text_so_far + response.text}) if text_so_far else response
            text_so_far = ""
            calls = self.tools.with_unique_ids(response.tool_calls)
            answers = await self.tools.answer(calls, step_limit - steps_left)
            for usage in self.tools.take_usage():
                self.usage += usage
                self.usage_by_call.append(usage)
            if self.tools.submitted is not None:
                return self._submitted_response(response, self.tools.submitted)
            message = response.to_message().model_copy(update={"tool_calls": calls})
            request = request.model_copy(update={"messages": (*request.messages, message, *answers)})

    async def announce_repeat(self, error: RoundtableError) -> None:
        """Notify the listener that the model is asked once more, and that the text received so far does not count."""
        if self.listener is not None:
            await self.listener.retrying(2, 0.0, error)

    async def _call_or_drop_search(self, request: ChatRequest) -> ChatResponse:
        """Call the model. If it refuses the search, call it without a search, and stop searching in this session."""
        try:
            return await self._call(request)
        except RoundtableError as error:
            if not request.search or not (isinstance(error, BudgetExceeded) or refuses_search(error)):
                raise
            failure = error
        session = request.metadata.get("session", "")
        try:
            response = await self._call(request.model_copy(update={"search": self.search.off}))
        except RoundtableError as error:
            # If the request is refused without a search as well, the search was not the reason.
            if not (refuses_request(error) or isinstance(error, BudgetExceeded)):
                self.search.refuse(session, failure)
            raise
        self.search.refuse(session, failure)
        return response

    def _submitted_response(self, response: ChatResponse, answer: JsonObject) -> ChatResponse:
        """Return the response with the submitted answer as text; the confidence is converted to the model's scale."""
        confidence = answer.get("confidence")
        if isinstance(confidence, int | float):
            answer = answer | {"confidence": confidence * self.model.profile.confidence_scale}
        return response.model_copy(update={"text": json.dumps(answer), "tool_calls": (), "finish_reason": "stop"})

    async def _search_first(self, request: ChatRequest) -> ChatRequest:
        """Search in a separate call. Return the request with the results, and with the search turned off.

        If the search fails temporarily, the failure is recorded and mentioned in the prompt: the model can answer
        without results.
        """
        name = self.model.profile.search_model or request.model
        try:
            results = await self._call(
                request.model_copy(update={"model": name, "output_schema": None}), streamed=False
            )
        except RoundtableError as error:
            if isinstance(error, BudgetExceeded) or refuses_request(error):
                self.search.refuse(request.metadata.get("session", ""), error)
                return request.model_copy(update={"search": None})
            if not error.retryable:
                raise
            failure: JsonValue = {"error": error.code}
            self.server_calls.append(ToolCallRecord(tool_name=_SEARCH_TOOL, output=failure))
            note = "A search of the web was tried and failed; say so where your answer would need one."
        else:
            sources = [f"{number}. {link.title}: {link.url}" for number, link in enumerate(results.citations, 1)]
            text = "\n".join([*sources, results.text])[:_MAX_RESULT_CHARS]
            note = f"What a search of the web found:\n{self.fence.quote(text, label='results of a search of the web')}"
        last_message = request.messages[-1]
        message = last_message.model_copy(update={"content": f"{last_message.content}\n\n{note}"})
        return request.model_copy(update={"messages": (*request.messages[:-1], message), "search": None})

    async def _call(self, request: ChatRequest, *, streamed: bool = True) -> ChatResponse:
        model = self.model
        if self.listener is not None and isinstance(model, GuardedModel | FallbackModel):
            model = model.asking(partial(self._before_call, self.listener), partial(_notify_retry, self.listener))
        elif self.listener is not None:
            await self._before_call(self.listener)
        try:
            if streamed and self.listener is not None and self.listener.wants_pieces and model.profile.streams:
                response = await self._stream(model, request, self.listener)
            else:
                response = await model.complete(request)
        except RoundtableError as error:
            if error.usage is not None:
                self.usage += error.usage
                self.usage_by_call.append(error.usage)
            raise
        self.answered = True
        self.usage += response.usage
        self.usage_by_call.append(response.usage)
        self.citations.extend(response.citations)
        self.server_calls += [
            ToolCallRecord(tool_name=call.name, input=shallow(call.input), output=shallow(call.output))
            for call in response.server_calls
        ]
        self.warnings.extend(note for note in response.warnings if note not in self.warnings)
        if response.request_id:
            self.request_ids.append(response.request_id)
        return response

    async def _before_call(self, listener: TurnListener) -> None:
        """Announce a call to the listener. If a turn is cancelled after a paid call, raise an error with the cost."""
        try:
            await listener.before_call()
        except TurnCancelled as cancelled:
            if not self.answered:
                raise
            msg = "the debate was asked to stop within this turn"
            raise AgentError(msg, code="AGENT_HALTED", provider=self.model.provider, cause=cancelled) from cancelled

    async def _stream(self, model: ChatModel, request: ChatRequest, listener: TurnListener) -> ChatResponse:
        pieces = model.stream(request)
        try:
            async for piece in pieces:
                if isinstance(piece, ChatResponse):
                    return piece
                if piece.text:
                    await listener.chunk(piece.text)
        finally:
            await close_stream(pieces)
        msg = "the stream ended without its response"
        raise APINetworkError(msg, provider=model.provider)


async def _notify_retry(listener: TurnListener, notice: RetryNotice) -> None:
    await listener.retrying(notice.attempt, notice.delay_s, notice.error)


class BaseAgent:
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

    _cites_sources: ClassVar[bool] = False

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
        if search is None:
            search = NativeSearch() if config.search is True else config.search or None
        self._search = self._seat_search(search)
        self._toolkit = toolkit
        self._nonce = nonce

    @property
    def id(self) -> str:
        """Id of the agent, unique within a debate."""
        return self.config.id

    @property
    def name(self) -> str:
        """Display name."""
        return self.config.name

    @property
    def provider(self) -> str:
        """Provider of the agent's model."""
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

    @property
    def search(self) -> NativeSearch | None:
        """Options of the provider's own web search; `None` means no search."""
        return self._search.wanted or None

    def first_request(self, context: DebateContext) -> ChatRequest:
        """Return the first request of a turn, without its tools; nothing is sent.

        Raises:
            ContextTooLong: The prompt does not fit the model's context window.
        """
        return self._request(context, self.build_messages(context, Fence(self._nonce())))

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
        search = NativeSearch() if config.search is True else config.search or None
        agent._search = agent._seat_search(search, notes)  # noqa: SLF001  (an instance of this class)
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

    def get_info(self) -> AgentInfo:
        """Describe this agent."""
        return AgentInfo(id=self.id, name=self.name, provider=self.provider, model=self.model)

    async def generate_response(self, context: DebateContext) -> AgentResponse:
        """Answer with a position.

        Raises:
            RoundtableError: The agent could not give a position.
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
        if self._answer_kind(context) != "position":
            msg = f"agent {self.id!r} can only give positions, not a {self._answer_kind(context)}"
            raise AgentError(
                msg, provider=self.provider, hint="Override build_messages or parse instead of generate_response."
            )
        if listener is not None:
            await listener.before_call()
        return TurnResult(answer=await self.generate_response(context), provider=self.provider, model=self.model)

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(BaseAgent, name)

    async def _answer(self, context: DebateContext, listener: TurnListener | None) -> TurnResult:
        fence = Fence(self._nonce())
        tools = allowed_tools(self, context, fence, listener)
        conversation = Conversation(self.chat_model, fence, tools, listener, self._search)
        try:
            return await self._converse(context, conversation)
        except RoundtableError as error:
            error.usage = conversation.usage
            raise
        except TurnCancelled:
            raise
        except BaseException as error:
            # Overridden methods are foreign code; calls that were paid for are charged even if they fail.
            if not is_fault(error):
                raise
            msg = f"agent {self.id!r} raised {type(error).__name__}: {error_text(error)[:500]}"
            failure = AgentError(msg, provider=self.provider, cause=error)
            failure.usage = conversation.usage
            raise failure from error

    async def _converse(self, context: DebateContext, conversation: Conversation) -> TurnResult:
        request = self._request(context, self.build_messages(context, conversation.fence))
        turn = context.turn
        response = await conversation.ask(request, (turn and turn.max_steps) or self.config.max_tool_rounds + 1)
        parsed, response = await self._parse_or_repair(response, context, request, conversation)
        cut_off = ("the answer was cut off at max_tokens",) if response.finish_reason == "length" else ()
        kind = self._answer_kind(context)
        compared, claims, uncounted = self._references(parsed, context, request)
        return TurnResult(
            answer=to_answer(parsed, kind, self.config, conversation, response, compared=compared, claims=claims),
            usage=conversation.usage,
            usage_by_call=tuple(conversation.usage_by_call),
            provider=response.provider or self.provider,
            model=response.model or self.model,
            finish_reason=response.finish_reason,
            truncated=parsed.truncated or response.finish_reason == "length",
            repaired=parsed.repaired,
            warnings=(
                *conversation.warnings,
                *parsed.warnings,
                *uncounted,
                *cut_off,
                *conversation.tools.shortfall(),
                *self._search_notes(context),
            ),
            request_ids=tuple(conversation.request_ids),
            prompt_version=_prompt_version(turn),
            context_requests=conversation.tools.requests,
            tool_calls=answer_tool_calls(kind, conversation),
        )

    def _references(
        self, parsed: Parsed, context: DebateContext, request: ChatRequest
    ) -> tuple[tuple[Comparison, ...], tuple[Claim, ...], tuple[str, ...]]:
        """Return the answer's comparisons and claims, and warnings about those that cannot be counted."""
        if not parsed.compared and not parsed.claims:
            return (), (), ()
        prompt = "\n".join(message.content for message in request.messages)
        quotations = self._quotations(context)
        compared, uncounted = resolve_comparisons(parsed.compared, quotations, prompt)
        claims, unknown = label_claims(parsed.claims, context, shown_claims(quotations, prompt))
        return compared, claims, uncounted + unknown

    def _search_notes(self, context: DebateContext) -> tuple[str, ...]:
        """Return the warnings about the search, once per session."""
        return self._search.take_notes(context.session_id)

    def _request(self, context: DebateContext, messages: tuple[Message, ...]) -> ChatRequest:
        profile, turn = self.chat_model.profile, context.turn
        return ChatRequest(
            model=self.model,
            messages=messages,
            temperature=self._temperature(),
            max_tokens=self._max_tokens(context),
            output_schema=self._output_schema(context, messages) if profile.structured_output else None,
            search=self._search.setting_for(context),
            metadata={
                "agent": self.id,
                "session": context.session_id,
                "round": str(context.current_round),
                "stage": context.stage,
                "slot": str(turn.slot if turn else 0),
            },
        )

    def _output_schema(self, context: DebateContext, messages: Sequence[Message]) -> OutputSchema | None:
        prompt = "\n".join(message.content for message in messages)
        quotations = self._quotations(context)
        labels = dict.fromkeys(claim.id for claim in shown_claims(quotations, prompt))
        return answer_schema(context, self.chat_model.profile, comparable(quotations, prompt), labels)

    def _temperature(self) -> float | None:
        temperature = self.config.temperature
        if temperature is None or self.chat_model.profile.prompt_style != "compact":
            return temperature
        return min(temperature, _COMPACT_TEMPERATURE)

    def _max_tokens(self, context: DebateContext) -> int:
        max_tokens = (context.turn.max_tokens if context.turn else None) or self.config.max_tokens
        if self.chat_model.profile.prompt_style == "compact":
            return min(max_tokens, _COMPACT_MAX_TOKENS + (_COMPACT_CLAIMS_TOKENS if asks_claims(context) else 0))
        return max_tokens

    @staticmethod
    def _answer_kind(context: DebateContext) -> AnswerKind:
        return context.turn.answer if context.turn else "position"

    async def _parse_or_repair(
        self, response: ChatResponse, context: DebateContext, request: ChatRequest, conversation: Conversation
    ) -> tuple[Parsed, ChatResponse]:
        """Parse the answer. If it cannot be used, ask once more, and charge the second call to the turn.

        If the second answer cannot be used either, prose counts as a position: that of the second answer or, if the
        second answer is empty, that of the first.
        """
        self._check_refusal(response)
        first = response
        parsed, failure = self._read(response.text, context)
        repair_message = None if failure is None else self.repair(failure, context)
        if failure is not None and repair_message is not None:
            notice = ParseError(f"agent {self.id!r} is asked again: {failure.reason}", provider=self.provider)
            await conversation.announce_repeat(notice)
            again = await self._ask_again(
                repair_message, response, request, conversation, readable=parsed is not failure
            )
            second = parsed if again is None else self._read(again.text, context)[0]
            # A readable first answer is kept if the second answer is not readable.
            if again is not None and (parsed is failure or not isinstance(second, ParseFailure)):
                parsed, response = second, again
        if isinstance(parsed, ParseFailure) and self._answer_kind(context) == "position":
            response = response if without_thoughts(response.text) else first
            prose = parse_prose(response.text)
            parsed = parsed if isinstance(prose, ParseFailure) else self._check_value(prose, response.text, context)[0]
        if isinstance(parsed, ParseFailure):
            msg = f"agent {self.id!r} gave no readable {self._answer_kind(context)}: {parsed.reason}"
            answer = " ".join(response.text.split())[:_SHOWN_CHARS]
            hint = _CUT_OFF_HINT if response.finish_reason == "length" else None
            raise ParseError(msg, provider=self.provider, hint=hint, details={"answer": answer} if answer else None)
        return parsed, response

    async def _ask_again(
        self,
        message: Message,
        response: ChatResponse,
        request: ChatRequest,
        conversation: Conversation,
        *,
        readable: bool,
    ) -> ChatResponse | None:
        """Ask once more, with a message about the first response.

        Return `None` if the call failed but the first response is readable.

        Raises:
            RoundtableError: The call failed, and the first response is not readable.
        """
        previous = (Message(role="assistant", content=response.text),) if response.text.strip() else ()
        # The first answer already used the search results; to write it in another form, no second search is needed.
        facts = {"messages": (*request.messages, *previous, message), "search": self.chat_model.profile.no_search}
        try:
            again = await conversation.ask(request.model_copy(update=facts), 1, tools=False)
            self._check_refusal(again)
        except _FAILED_CALLS as error:
            if not readable:
                raise
            conversation.warnings.append(f"the agent could not be asked again: {error.message}")
            return None
        return again

    def _read(self, text: str, context: DebateContext) -> tuple[Parsed | ParseFailure, ParseFailure | None]:
        """Parse an answer. Return it, and the reason to ask the agent again, if there is one."""
        parsed = self.parse(text, context)
        return (parsed, parsed) if isinstance(parsed, ParseFailure) else self._check_value(parsed, text, context)

    def _check_value(self, parsed: Parsed, text: str, context: DebateContext) -> tuple[Parsed, ParseFailure | None]:
        """Remove the answer's value if it does not fit the schema, and return the reason; the position still counts."""
        schema = value_schema_of(context, self.chat_model.profile)
        problem = "" if schema is None else value_problem(parsed.value, schema)
        if not problem:
            is_as_asked = schema is not None or parsed.value is None
            return (parsed if is_as_asked else replace(parsed, value=None)), None
        warnings = (*parsed.warnings, f"the value does not count: {problem}")
        return replace(parsed, value=None, warnings=warnings), ParseFailure(problem, text)

    def _check_refusal(self, response: ChatResponse) -> None:
        if response.finish_reason in {"refusal", "content_filter"}:
            reason = "refused to answer" if response.finish_reason == "refusal" else "was stopped by a content filter"
            msg = f"agent {self.id!r} {reason}"
            raise AgentError(msg, code="AGENT_REFUSED", provider=self.provider, request_id=response.request_id)

    def build_messages(self, context: DebateContext, fence: Fence) -> tuple[Message, ...]:
        """Build the prompt: a system message in the library's own words, and a user message that quotes all other text.

        Subclasses may override this method. They must quote text from others with `fence.quote`.
        """
        is_overridden = self._overrides("build_system_prompt")
        system = self.build_system_prompt(context) if is_overridden else self._system(context, fence)
        example = answer_example(context, self.chat_model.profile) or ()
        is_overridden = self._overrides("build_user_message")
        preceding = "\n".join([system, *example])
        user = self.build_user_message(context) if is_overridden else self._user(context, fence, preceding)
        return (
            Message(role="system", content=f"{system}\n\n{_CITE_SOURCES}" if self._cites_sources else system),
            *_example_messages(example),
            _question_message(user, context),
        )

    def build_system_prompt(self, context: DebateContext) -> str:
        """Return the system prompt of a turn: who the agent is, what the mode requires, how to read quotations."""
        return self._system(context, Fence(self._nonce()))

    def build_user_message(self, context: DebateContext) -> str:
        """Return the user message of a turn: question, supplied information, earlier answers, answer format.

        Raises:
            ContextTooLong: The prompt does not fit the model's context window.
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
        """Return the visible positions and the turns that they come from; the turn's spec decides what is visible."""
        positions = {
            turn.key for turn in context.transcript if turn.outcome == "answered" and turn.answer.kind == "position"
        }
        sees = context.turn.sees if context.turn else ()
        turns: list[TurnKey | None] = [visible.turn for visible in sees if visible.turn in positions]
        if len(turns) != len(context.previous_responses):
            turns = [None] * len(context.previous_responses)
        last_round = max(1, context.current_round - 1)
        quotations = [
            Quotation(
                shown_as=response.agent_name,
                round=turn.round if turn else last_round,
                own=response.agent_id == self.id,
                response=response,
                turn=turn,
            )
            for response, turn in zip(context.previous_responses, turns, strict=True)
        ]
        return label_quotations(quotations)

    def parse_response(self, raw_text: str, context: DebateContext) -> Parsed | ParseFailure:
        """Parse a model's text as the kind of answer that the turn requires."""
        options = (context.turn.options if context.turn else None) or context.options
        scale = self.chat_model.profile.confidence_scale
        is_vote = context.turn is not None and bool(context.turn.motions)
        kind = self._answer_kind(context)
        claims = asks_claims(context)
        return parse_answer(raw_text, kind, confidence_scale=scale, options=options, motions=is_vote, claims=claims)

    def parse(self, text: str, context: DebateContext) -> Parsed | ParseFailure:
        """Parse a model's text. Subclasses may override this; after a `ParseFailure`, the model is asked again."""
        return self.parse_response(text, context)

    def repair(self, failure: ParseFailure, context: DebateContext) -> Message | None:
        """Return the message that asks again after an unreadable answer; with `None`, the model is not asked again.

        Subclasses may override this method. The model's own answer precedes this message; do not quote any part of the
        answer outside the fence.
        """
        return Message(
            role="user",
            content=f"Your answer could not be used: {Fence.inline(failure.reason)}. "
            "Give the same answer again, this time only as the JSON object described above.",
        )

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


def _question_message(text: str, context: DebateContext) -> Message:
    """Return the user message with the images and documents of the question; texts are in the prompt."""
    if not context.attachments:
        return Message(role="user", content=text)
    images = tuple(attachment.image for attachment in context.attachments if attachment.kind == "image")
    files = tuple(attachment.file for attachment in context.attachments if attachment.kind == "pdf")
    return Message(role="user", content=text, images=images, files=files)


def _prompt_version(turn: TurnSpec | None) -> str:
    """Return the version of a turn's prompt texts: the library's version and, if there is one, the mode's prompt id."""
    return f"{PROMPT_VERSION} {turn.prompt_id}" if turn and turn.prompt_id else PROMPT_VERSION


def _example_messages(example: tuple[str, str] | tuple[()]) -> tuple[Message, ...]:
    """Return an example as an earlier exchange of messages."""
    if not example:
        return ()
    question, answer = example
    return (Message(role="user", content=question), Message(role="assistant", content=answer))


class CitingAgent(BaseAgent):
    """An agent whose model searches for every answer; its prompt therefore requests sources."""

    _cites_sources = True
