"""Asking a model to put a debate together."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.errors import ParseError, RoundtableError
from roundtable.gateway.metering import SYNTHESIS
from roundtable.logs import ROOT
from roundtable.parsing import find_document
from roundtable.parsing.texts import text_in, texts_in
from roundtable.prompts import Fence, Quotation, estimate_tokens, fit_texts, fresh_nonce, quote_answer
from roundtable.report import in_words
from roundtable.types import AgentConfig, ChatRequest, Message, OutputSchema, SynthesisResult, Usage
from roundtable.types.plan import BASELINE_STAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.protocols import ChatModel
    from roundtable.types import AnyTurn, ChatResponse, DebateContext, JsonObject, JsonValue, ModelProfile

__all__ = ["Synthesized", "Synthesizer", "ask_for_synthesis", "synthesis_request"]

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
_SCHEMA: Final = OutputSchema(
    name="debate_synthesis",
    definition={
        "type": "object",
        "properties": _PROPERTIES,
        "required": list(_PROPERTIES),
        "additionalProperties": False,
    },
)


class Synthesized(NamedTuple):
    """A synthesis, and what it took."""

    synthesis: SynthesisResult
    usage: Usage


class Synthesizer:
    """Has one model put a debate together; an answer that cannot be read is asked for once more.

    Args:
        model: The model.
        config: How it is asked; with the facts of an agent it is that agent who answers.
        nonce: Source of fence ids; random unless a test needs repeatable prompts.

    Example:
        >>> import anyio
        >>> from roundtable.providers.scripted import ScriptedModel
        >>> from roundtable.types import DebateContext
        >>> view = DebateContext(session_id="s", topic="Tea or coffee?", mode="collaborative")
        >>> made = anyio.run(Synthesizer(ScriptedModel([{"conclusion": "Tea."}])).write, view)
        >>> made.synthesis.conclusion, made.synthesis.synthesizer_id
        ('Tea.', 'scripted:scripted')
    """

    def __init__(
        self, model: ChatModel, config: AgentConfig | None = None, *, nonce: Callable[[], str] = fresh_nonce
    ) -> None:
        self.model = model
        self.id: str = f"{model.provider}:{model.model}" if config is None else config.id
        """What `synthesizer_id` says."""
        self._config = config or AgentConfig(
            id="synthesizer", name="Synthesizer", provider=model.provider, model=model.model, temperature=0.0
        )
        self._nonce = nonce

    def request(self, view: DebateContext) -> ChatRequest:
        """Give the request that `write` makes first."""
        return synthesis_request(self.model, self._config, view, Fence(self._nonce()))

    async def write(self, view: DebateContext) -> Synthesized:
        """Put a debate together.

        Raises:
            ParseError: Neither answer holds a synthesis; `usage` says what both took.
            RoundtableError: The model failed.
        """
        request = self.request(view)
        first = await self.model.complete(request)
        try:
            return Synthesized(self._signed(first), first.usage)
        except ParseError as error:
            logger.info("the synthesis is asked for once more: %s", error.message)
        try:
            again = await self.model.complete(request)
        except RoundtableError as error:
            error.usage = first.usage + (error.usage or Usage())
            raise
        spent = first.usage + again.usage
        try:
            return Synthesized(self._signed(again), spent)
        except ParseError as error:
            error.usage = spent
            raise

    def _signed(self, response: ChatResponse) -> SynthesisResult:
        return _read(response, self._config).model_copy(update={"synthesizer_id": self.id})


async def ask_for_synthesis(
    model: ChatModel, config: AgentConfig, context: DebateContext, fence: Fence
) -> SynthesisResult:
    """Ask once for a synthesis of what `context` shows.

    Raises:
        ParseError: The answer holds no synthesis.
        RoundtableError: The model failed.
    """
    return _read(await model.complete(synthesis_request(model, config, context, fence)), config)


def synthesis_request(model: ChatModel, config: AgentConfig, context: DebateContext, fence: Fence) -> ChatRequest:
    """Write the request; of a debate too long for the model's window the latest answers are shown.

    Turns are shown by round, with votes and rankings, but not private answers, which nobody sees; without any, the
    positions of `context.previous_responses` are.
    """
    system = _TASK + fence.rule
    head = [fence.quote(context.topic, label="question"), f"Mode: {context.mode}. Rounds: {context.current_round}."]
    heard = [turn for turn in context.transcript if turn.outcome == "answered" and turn.stage != BASELINE_STAGE]
    said = [_turn(turn, fence) for turn in heard]
    said = said or [
        fence.quote(f"Position: {one.position}\nReasoning: {one.reasoning}", label=f"answer of {one.agent_name}")
        for one in context.previous_responses
    ]
    fixed = estimate_tokens(system) + estimate_tokens("\n".join([*head, _FORMAT]))
    profile: ModelProfile = model.profile
    room = profile.context_tokens - config.max_tokens - fixed - _MARGIN_TOKENS
    shown, left_out = fit_texts(said, room, latest=True)
    note = [f"({left_out} earlier answers are left out for length.)"] if left_out else []
    messages = (
        Message(role="system", content=system),
        Message(role="user", content="\n".join([*head, *note, *shown, _FORMAT])),
    )
    return ChatRequest(
        model=config.model or model.model,
        messages=messages,
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        output_schema=_SCHEMA if profile.structured_output else None,
        metadata={"agent": config.id, "session": context.session_id, "purpose": SYNTHESIS},
    )


def _turn(turn: AnyTurn, fence: Fence) -> str:
    assert turn.outcome == "answered"  # noqa: S101  (who calls this has looked)
    name = turn.agent_name or turn.agent_id
    if turn.answer.kind == "position":
        return quote_answer(Quotation(name, turn.round, own=False, response=turn.answer), fence)
    says, why = in_words(turn.answer)
    return fence.quote(f"{says}\n{why}".rstrip(), label=f"round {turn.round}, {turn.role} {name}")


def _read(response: ChatResponse, config: AgentConfig) -> SynthesisResult:
    found = find_document(response.text, lambda fields: "conclusion" in fields)
    conclusion = text_in(found.fields["conclusion"]) if found is not None else ""
    if found is None or not conclusion or "conclusion" in found.partial:
        msg = 'the answer holds no JSON object with a whole text in "conclusion"'
        raise ParseError(msg, provider=config.provider)
    fields = found.fields
    return SynthesisResult(
        common_ground=texts_in(fields.get("commonGround")),
        key_differences=texts_in(fields.get("keyDifferences")),
        evolution_summary=text_in(fields.get("evolutionSummary")),
        conclusion=conclusion,
        recommendation=text_in(fields.get("recommendation")),
        confidence=_share(fields.get("confidence")),
        synthesizer_id=config.id,
    )


def _share(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0.5
    return min(1.0, max(0.0, float(value)))
