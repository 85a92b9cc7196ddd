"""Synthesis: ask a model to summarise a debate and draw its conclusion."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Final

from roundtable.core.engine.synthesis import Synthesized
from roundtable.core.errors import ParseError, RoundtableError
from roundtable.core.prompts.compose import Quotation, estimate_tokens, fit_texts, quote_answer
from roundtable.core.prompts.fence import Fence, fresh_nonce
from roundtable.core.types.agents import AgentConfig
from roundtable.core.types.chat import ChatRequest, Message, OutputSchema, Usage
from roundtable.core.types.consensus import SynthesisResult
from roundtable.core.types.plan import BASELINE_STAGE
from roundtable.gateway.budget import SYNTHESIS
from roundtable.logs import ROOT
from roundtable.parsing import find_document
from roundtable.parsing.members import text_in, texts_in
from roundtable.reading import without_thoughts
from roundtable.report import in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roundtable.core.protocols import ChatModel
    from roundtable.core.types.agents import ModelProfile
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.chat import ChatResponse
    from roundtable.core.types.debate import AnyTurn, DebateContext

__all__ = ["Synthesizer", "ask_for_synthesis", "synthesis_request"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.agents")

_TASK: Final = "You summarise debates fairly, in the debaters' own terms, without taking sides. "
_FORMAT: Final = """Put the debate together. Answer with one JSON object and nothing else:
- "commonGround": a list of points that all share
- "keyDifferences": a list of points on which they differ
- "evolutionSummary": how positions moved over the rounds
- "conclusion": what follows from the debate
- "recommendation": what to do
- "confidence": a number from 0 to 1, how well the debate supports the conclusion"""
_MARGIN_TOKENS: Final = 64
_TEXTS: Final[JsonObject] = {"type": "array", "items": {"type": "string"}}
_PROPERTIES: Final[JsonObject] = {
    "commonGround": _TEXTS,
    "keyDifferences": _TEXTS,
    "evolutionSummary": {"type": "string"},
    "conclusion": {"type": "string"},
    "recommendation": {"type": "string"},
    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
}
_PLACEHOLDERS: Final[Mapping[str, str]] = {
    "evolutionSummary": "The synthesis does not say how positions moved.",
    "conclusion": "The synthesis draws no conclusion.",
    "recommendation": "The synthesis recommends nothing.",
}
"""Texts of fields that an answer leaves out."""
_SCHEMA: Final = OutputSchema(
    name="debate_synthesis",
    definition={
        "type": "object",
        "properties": _PROPERTIES,
        "required": list(_PROPERTIES),
        "additionalProperties": False,
    },
)


class Synthesizer:
    """Writer of the synthesis of a debate. If the answer of its model cannot be read, it asks the model once more.

    If the second answer cannot be read either, the readable parts of one of the answers are used. If there are none,
    the whole text of an answer becomes the conclusion. In both cases, `readable` is False.

    Args:
        model: The model.
        config: Configuration of the call. With an agent's configuration, that agent is the author of the synthesis.
        nonce: Source of fence ids; random unless a test needs repeatable prompts.

    Example:
        >>> import anyio
        >>> from roundtable.providers.scripted import ScriptedModel
        >>> from roundtable.types import DebateContext
        >>> view = DebateContext(session_id="s", topic="Tea or coffee?", mode="collaborative")
        >>> result = anyio.run(Synthesizer(ScriptedModel([{"conclusion": "Tea."}])).write, view)
        >>> result.synthesis.conclusion, result.synthesis.synthesizer_id
        ('Tea.', 'scripted:scripted')
    """

    def __init__(
        self, model: ChatModel, config: AgentConfig | None = None, *, nonce: Callable[[], str] = fresh_nonce
    ) -> None:
        self.model = model
        self.id: str = f"{model.provider}:{model.model}" if config is None else config.id
        """Value of `synthesizer_id`."""
        self._config = config or AgentConfig(
            id="synthesizer", name="Synthesizer", provider=model.provider, model=model.model, temperature=0.0
        )
        self._nonce = nonce

    def request(self, view: DebateContext) -> ChatRequest:
        """Return the first request of `write`."""
        return synthesis_request(self.model, self._config, view, Fence(self._nonce()))

    async def write(self, view: DebateContext) -> Synthesized:
        """Write the synthesis of a debate.

        Raises:
            ParseError: Both answers are blank; `usage` is the usage of both calls.
            RoundtableError: The model failed.
        """
        request = self.request(view)
        first = await self.model.complete(request)
        try:
            return Synthesized(self._read_and_sign(first), first.usage)
        except ParseError as error:
            logger.info("the model is asked once more for a synthesis: %s", error.message)
        try:
            second = await self.model.complete(request)
        except RoundtableError as error:
            error.usage = first.usage + (error.usage or Usage())
            raise
        usage = first.usage + second.usage
        try:
            synthesis = _read_leniently((second, first), self._config)
        except ParseError as error:
            error.usage = usage
            raise
        return Synthesized(synthesis.model_copy(update={"synthesizer_id": self.id}), usage)

    def _read_and_sign(self, response: ChatResponse) -> SynthesisResult:
        return _read(response, self._config).model_copy(update={"synthesizer_id": self.id})


async def ask_for_synthesis(
    model: ChatModel, config: AgentConfig, context: DebateContext, fence: Fence
) -> SynthesisResult:
    """Ask once for a synthesis of what `context` shows; if the answer cannot be read, its readable parts are used.

    Raises:
        ParseError: The answer is blank.
        RoundtableError: The model failed.
    """
    return _read_leniently((await model.complete(synthesis_request(model, config, context, fence)),), config)


def synthesis_request(model: ChatModel, config: AgentConfig, context: DebateContext, fence: Fence) -> ChatRequest:
    """Build the request. If the debate is too long for the model's context window, only the latest answers are quoted.

    Turns are quoted by round, with votes and rankings, but without private answers. If there are no turns, the
    positions of `context.previous_responses` are quoted.
    """
    system = _TASK + fence.rule
    head = [fence.quote(context.topic, label="question"), f"Mode: {context.mode}. Rounds: {context.current_round}."]
    turns = [turn for turn in context.transcript if turn.outcome == "answered" and turn.stage != BASELINE_STAGE]
    quotes = [_quote_turn(turn, fence) for turn in turns]
    quotes = quotes or [
        fence.quote(
            f"Position: {response.position}\nReasoning: {response.reasoning}", label=f"answer of {response.agent_name}"
        )
        for response in context.previous_responses
    ]
    fixed_tokens = estimate_tokens(system) + estimate_tokens("\n".join([*head, _FORMAT]))
    profile: ModelProfile = model.profile
    room_tokens = profile.context_tokens - config.max_tokens - fixed_tokens - _MARGIN_TOKENS
    shown_quotes, left_out = fit_texts(quotes, room_tokens, latest=True)
    note = [f"({left_out} earlier answers are left out for length.)"] if left_out else []
    messages = (
        Message(role="system", content=system),
        Message(role="user", content="\n".join([*head, *note, *shown_quotes, _FORMAT])),
    )
    return ChatRequest(
        model=config.model or model.model,
        messages=messages,
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        output_schema=_SCHEMA if profile.structured_output else None,
        search=profile.no_search,
        metadata={"agent": config.id, "session": context.session_id, "purpose": SYNTHESIS},
    )


def _quote_turn(turn: AnyTurn, fence: Fence) -> str:
    assert turn.outcome == "answered"  # noqa: S101  (callers pass answered turns only)
    name = turn.agent_name or turn.agent_id
    if turn.answer.kind == "position":
        return quote_answer(Quotation(name, turn.round, own=False, response=turn.answer), fence)
    says, why = in_words(turn.answer)
    return fence.quote(f"{says}\n{why}".rstrip(), label=f"round {turn.round}, {turn.role} {name}")


def _read(response: ChatResponse, config: AgentConfig) -> SynthesisResult:
    document = find_document(response.text, lambda fields: "conclusion" in fields)
    conclusion = text_in(document.fields["conclusion"]) if document is not None else ""
    if document is None or not conclusion or "conclusion" in document.partial:
        msg = 'the answer contains no JSON object with a complete text in "conclusion"'
        raise ParseError(msg, provider=config.provider)
    return _from_fields(document.fields, config)


def _read_leniently(responses: Sequence[ChatResponse], config: AgentConfig) -> SynthesisResult:
    """Parse the first response as a synthesis; if that fails, use the readable parts of any of the responses.

    Raises:
        ParseError: All responses are blank.
    """
    try:
        return _read(responses[0], config)
    except ParseError:
        pass
    for response in responses:
        document = find_document(response.text, lambda fields: any(_has_text(fields.get(name)) for name in _PROPERTIES))
        if document is not None:
            return _from_fields(document.fields, config).model_copy(update={"readable": False})
    text = next((stripped for response in responses if (stripped := without_thoughts(response.text))), "")
    if not text:
        raise ParseError("the answer is blank, so it contains no synthesis", provider=config.provider)
    return _from_fields({"conclusion": text}, config).model_copy(update={"readable": False})


def _has_text(value: JsonValue) -> bool:
    return bool(text_in(value) or texts_in(value))


def _from_fields(fields: JsonObject, config: AgentConfig) -> SynthesisResult:
    texts = {name: text_in(fields.get(name)) or unsaid for name, unsaid in _PLACEHOLDERS.items()}
    return SynthesisResult(
        common_ground=texts_in(fields.get("commonGround")),
        key_differences=texts_in(fields.get("keyDifferences")),
        evolution_summary=texts["evolutionSummary"],
        conclusion=texts["conclusion"],
        recommendation=texts["recommendation"],
        confidence=_confidence(fields.get("confidence")),
        synthesizer_id=config.id,
    )


def _confidence(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0.5
    return min(1.0, max(0.0, float(value)))
