"""How an agent takes a turn: compose the prompt, call the model, parse the answer, ask once more where that helps."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from roundtable.core.agent.answer import answer_tool_calls, to_answer
from roundtable.core.agent.conversation import Conversation
from roundtable.core.agent.repair import (
    ONLY_REASONING,
    WRITTEN_CALL,
    closed_question,
    cut_off,
    failure_hint,
    is_given_text,
    points_to_first,
    unread_failure,
    unread_position,
    unread_vote,
    with_reference,
    with_second_answer,
)
from roundtable.core.base.text import error_text
from roundtable.core.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    BudgetExceeded,
    ParseError,
    RoundtableError,
)
from roundtable.core.prompts.answer_format import answer_example, answer_schema, value_schema_of
from roundtable.core.prompts.claims import asks_claims, label_claims
from roundtable.core.prompts.compose import (
    PROMPT_VERSION,
    Quotation,
    comparable,
    compose_system,
    compose_user,
    label_quotations,
    resolve_comparisons,
    shown_claims,
)
from roundtable.core.prompts.fence import Fence, fresh_nonce
from roundtable.core.stages import HALTED, TurnCancelled, is_fault
from roundtable.core.types.agents import AgentInfo
from roundtable.core.types.answers import AgentResponse
from roundtable.core.types.chat import ChatRequest, ChatResponse, Message, OutputSchema
from roundtable.core.types.debate import TurnResult
from roundtable.parsing import Parsed, ParseFailure, parse_answer, parse_prose, value_problem
from roundtable.parsing.tool_markup import form_in_call, text_beside_tool_calls
from roundtable.reading import without_thoughts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from roundtable.core.protocols import ChatModel, TurnListener
    from roundtable.core.types.agents import AgentConfig
    from roundtable.core.types.answers import AnswerKind, Claim, Comparison, TurnKey
    from roundtable.core.types.base import NativeSearch
    from roundtable.core.types.chat import AgentTool
    from roundtable.core.types.debate import DebateContext
    from roundtable.core.types.plan import TurnSpec

__all__ = ["AgentTemplate"]

_FAILED_CALLS: Final = (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    BudgetExceeded,
)
"""Errors that a call raises; other errors, such as the errors of a storage, end the debate."""
_VOTES: Final[frozenset[AnswerKind]] = frozenset({"ballot", "ranking", "approval", "scores"})

_COMPACT_MAX_TOKENS = 160
_COMPACT_CLAIMS_TOKENS = 80
# Measured on the embedded model: at 0.7 every second answer leaves the topic.
_COMPACT_TEMPERATURE = 0.4
_SHOWN_CHARS = 200


class AgentTemplate:
    """An agent that answers through a chat model, without tools and without a search.

    `roundtable.agents.BaseAgent` adds these. It is the base class of agents that are used with the library, and says
    which methods a subclass may override.

    Args:
        config: Configuration of the agent, such as its id, name and persona.
        model: The model that the agent calls.
        nonce: Source of fence ids; random unless a test needs repeatable prompts.

    Example:
        >>> import anyio
        >>> from roundtable.providers.scripted import ScriptedModel
        >>> from roundtable.types import AgentConfig, DebateContext
        >>> model = ScriptedModel([{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}])
        >>> ada = AgentTemplate(AgentConfig(id="ada", name="Ada", provider="scripted"), model)
        >>> view = DebateContext(session_id="s", topic="Tea or coffee?", mode="collaborative")
        >>> anyio.run(ada.generate_response, view).position
        'Tea'
    """

    def __init__(self, config: AgentConfig, model: ChatModel, *, nonce: Callable[[], str] = fresh_nonce) -> None:
        self.config = config
        self.chat_model = model
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

    def first_request(self, context: DebateContext) -> ChatRequest:
        """Return the first request of a turn, without its tools; nothing is sent.

        Raises:
            ContextTooLong: The prompt does not fit the model's context window.
        """
        return self._request(context, self.build_messages(context, Fence(self._nonce())))

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
        return getattr(type(self), name) is not getattr(AgentTemplate, name)

    async def _answer(self, context: DebateContext, listener: TurnListener | None) -> TurnResult:
        fence = Fence(self._nonce())
        conversation = self._open_conversation(context, fence, listener)
        try:
            return await self._converse(context, fence, conversation)
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

    def _open_conversation(self, context: DebateContext, fence: Fence, listener: TurnListener | None) -> Conversation:
        """Return the calls of a turn, before the first one; an agent with tools adds them here.

        Args:
            context: What the agent sees.
            fence: Fence that quotes text from others.
            listener: Listener that is notified of the steps of the turn.
        """
        del context, fence
        return Conversation(self.chat_model, listener)

    def _offered_tools(self, context: DebateContext) -> tuple[AgentTool, ...]:
        """Return the tools that a turn may call."""
        del context
        return ()

    def _search_setting(self, context: DebateContext) -> NativeSearch | Literal[False] | None:
        """Return the search setting of a turn's request: options, `False` to turn a built-in search off, or `None`."""
        del context
        return None

    async def _converse(self, context: DebateContext, fence: Fence, conversation: Conversation) -> TurnResult:
        request = self._request(context, self.build_messages(context, fence))
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
                *conversation.closing_warnings(),
            ),
            request_ids=tuple(conversation.request_ids),
            prompt_version=_prompt_version(turn),
            context_requests=conversation.context_requests,
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

    def _request(self, context: DebateContext, messages: tuple[Message, ...]) -> ChatRequest:
        profile, turn = self.chat_model.profile, context.turn
        return ChatRequest(
            model=self.model,
            messages=messages,
            temperature=self._temperature(),
            max_tokens=self._max_tokens(context),
            output_schema=self._output_schema(context, messages) if profile.structured_output else None,
            search=self._search_setting(context),
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
    def _options_of(context: DebateContext) -> tuple[str, ...] | None:
        return (context.turn.options if context.turn else None) or context.options

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
        options = self._options_of(context)
        parsed, failure = self._read_whole(response, context, request)
        repair_message = None if failure is None else self.repair(failure, context)
        again: ChatResponse | None = None
        if failure is not None and repair_message is not None:
            notice = ParseError(f"agent {self.id!r} is asked again: {failure.reason}", provider=self.provider)
            await conversation.announce_repeat(notice)
            if failure.asks != "form":  # a closed question has an answer of one word
                request = request.model_copy(update={"output_schema": None})
            is_given = not isinstance(parsed, ParseFailure) or (
                (failure.asks != "form" or self._answer_kind(context) in _VOTES)
                and isinstance(self._unread(parsed, response, context), Parsed)
            )
            again = await self._ask_again(repair_message, response, request, conversation, is_given=is_given)
            if again is not None:
                second = self._read_whole(again, context, request)[0]
                parsed, response = self._better((parsed, response), (second, again), failure, options)
        if isinstance(parsed, ParseFailure):
            response = response if without_thoughts(response.text) else first
            parsed = self._unread(parsed, response, context)
            if response.finish_reason == "length" and isinstance(parsed, Parsed):
                parsed = cut_off(parsed, response.text, options)[0]
        if again is not None and isinstance(parsed, Parsed) and parsed.reading is not None:
            parsed = replace(parsed, reading=parsed.reading.model_copy(update={"asked_again": True}))
        if isinstance(parsed, ParseFailure):
            msg = f"agent {self.id!r} gave no readable {self._answer_kind(context)}: {parsed.reason}"
            answer = " ".join(response.text.split())[:_SHOWN_CHARS]
            hint = failure_hint(parsed, response)
            raise ParseError(msg, provider=self.provider, hint=hint, details={"answer": answer} if answer else None)
        return parsed, response

    @staticmethod
    def _better(
        first: tuple[Parsed | ParseFailure, ChatResponse],
        second: tuple[Parsed | ParseFailure, ChatResponse],
        failure: ParseFailure,
        options: Sequence[str] | None,
    ) -> tuple[Parsed | ParseFailure, ChatResponse]:
        """Return what counts of a first answer and the answer to a message about it, with the response it is from."""
        is_readable, is_short = not isinstance(first[0], ParseFailure), _is_short(second[0])
        if failure.asks != "form":
            kept, response = first if is_short else second
            is_cut = second[1].finish_reason == "length"
            answer = with_second_answer(kept, second[1].text, options, is_cut=is_cut)
            return (replace(answer, truncated=True) if is_cut and isinstance(answer, Parsed) else answer), response
        if _is_unread(first[0]) and isinstance(second[0], ParseFailure) and second[0].reading is None:
            return first  # it was given, although it can't be read; the second one says nothing
        # A first answer stands if it is readable and the second is not in the form, or if the second says so.
        return first if is_short and (is_readable or points_to_first(second[1].text, options)) else second

    def _unread(
        self, parsed: Parsed | ParseFailure, response: ChatResponse, context: DebateContext
    ) -> Parsed | ParseFailure:
        """Return an answer that stays unread as prose, or as a vote that was given and could not be read."""
        if isinstance(parsed, Parsed):
            return parsed
        kind = self._answer_kind(context)
        if parsed.reason == WRITTEN_CALL or parsed.is_invalid:
            return parsed
        is_given = parsed.reading is not None or is_given_text(response)
        if kind == "position":
            scale = self.chat_model.profile.confidence_scale
            prose = parse_prose(response.text, self._options_of(context), confidence_scale=scale)
            if isinstance(prose, ParseFailure):
                return unread_position(parsed) if is_given else parsed
            return self._check_value(prose, response.text, context)[0]
        return unread_vote(parsed) if kind in _VOTES and is_given else parsed

    async def _ask_again(
        self,
        message: Message,
        response: ChatResponse,
        request: ChatRequest,
        conversation: Conversation,
        *,
        is_given: bool,
    ) -> ChatResponse | None:
        """Ask once more, with a message about the first response.

        Return `None` if the call failed but the first response counts as given, be it read or not.

        Args:
            message: What to ask.
            response: The first response.
            request: The request that it answers.
            conversation: The calls of the turn.
            is_given: Whether the first response counts as given.

        Raises:
            RoundtableError: The call failed, and the first response holds no answer; or the debate was asked to stop.
        """
        previous = (Message(role="assistant", content=response.text),) if response.text.strip() else ()
        # The first answer already used the search results; to write it in another form, no second search is needed.
        facts = {"messages": (*request.messages, *previous, message), "search": self.chat_model.profile.no_search}
        try:
            again = await conversation.call(request.model_copy(update=facts))
            self._check_refusal(again)
        except _FAILED_CALLS as error:
            if not is_given or error.code == HALTED:  # a halted turn is taken again when the debate continues
                raise
            conversation.warnings.append(f"the agent could not be asked again: {error.message}")
            return None
        return again

    def _read_whole(
        self, response: ChatResponse, context: DebateContext, request: ChatRequest
    ) -> tuple[Parsed | ParseFailure, ParseFailure | None]:
        """Parse an answer as `_read` does; what a text that broke off suggests is not certain."""
        parsed, failure = self._read(response.text, context, request)
        if isinstance(parsed, ParseFailure) and not response.text.strip() and response.reasoning.strip():
            parsed = failure = replace(parsed, reason=ONLY_REASONING)
        if response.finish_reason != "length" or failure is not None or isinstance(parsed, ParseFailure):
            return parsed, failure
        return cut_off(parsed, response.text, self._options_of(context), self._answer_kind(context))

    def _read(
        self, text: str, context: DebateContext, request: ChatRequest
    ) -> tuple[Parsed | ParseFailure, ParseFailure | None]:
        """Parse an answer. Return it, and the reason to ask the agent again, if there is one."""
        options = self._options_of(context)
        parsed = self._parse_beside_calls(text, context)
        if parsed.reading is not None and parsed.reading.points_to is not None:
            prompt = "\n".join(message.content for message in request.messages)
            parsed = with_reference(parsed, self._quotations(context), prompt, options)
        if isinstance(parsed, ParseFailure):
            return parsed, parsed
        checked, failure = self._check_value(parsed, text, context)
        return checked, failure or unread_failure(checked.reading, text, has_options=bool(options))

    def _parse_beside_calls(self, text: str, context: DebateContext) -> Parsed | ParseFailure:
        """Parse an answer. Of tool calls that were written as text, only the form within or beside them counts."""
        beside = text_beside_tool_calls(text)
        if beside is None:
            return self.parse(text, context)
        call = form_in_call(text, self._answer_kind(context))
        if call is not None and all(tool.name != call.name for tool in self._offered_tools(context)):
            return self.parse(json.dumps(call.fields), context)
        parsed = self.parse(beside, context)
        is_form = isinstance(parsed, Parsed) and not parsed.prose and "{" in beside
        return parsed if is_form else ParseFailure(WRITTEN_CALL, text)

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
            Message(role="system", content=system),
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
        tools = [tool.name for tool in self._offered_tools(context)]
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
        turn = context.turn
        return parse_answer(
            raw_text,
            self._answer_kind(context),
            confidence_scale=self.chat_model.profile.confidence_scale,
            options=self._options_of(context),
            motions=turn is not None and bool(turn.motions),
            claims=asks_claims(context),
            scale=turn.scale if turn else (None, None),
        )

    def parse(self, text: str, context: DebateContext) -> Parsed | ParseFailure:
        """Parse a model's text. Subclasses may override this; after a `ParseFailure`, the model is asked again."""
        return self.parse_response(text, context)

    def repair(self, failure: ParseFailure, context: DebateContext) -> Message | None:
        """Return the message that asks again after an unreadable answer; with `None`, the model is not asked again.

        Subclasses may override this method. The model's own answer precedes this message; do not quote any part of the
        answer outside the fence.
        """
        if failure.asks != "form":
            question = closed_question(failure, self._options_of(context), Fence(self._nonce()))
            return Message(role="user", content=question)
        return Message(
            role="user",
            content=f"Your answer could not be used: {Fence.inline(failure.reason)}. "
            "Give the same answer again, this time only as the JSON object described above.",
        )


def _is_unread(parsed: Parsed | ParseFailure) -> bool:
    return parsed.reading is not None and parsed.reading.certainty == "unread"


def _is_short(second: Parsed | ParseFailure) -> bool:
    """Check whether a second answer is not the whole form, but perhaps the answer alone."""
    return isinstance(second, ParseFailure) or second.prose


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
