"""Asking a model to put a debate together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from roundtable.errors import ParseError
from roundtable.gateway.metering import SYNTHESIS
from roundtable.parsing import find_document
from roundtable.types import ChatRequest, Message, SynthesisResult

if TYPE_CHECKING:
    from roundtable.prompts import Fence
    from roundtable.protocols import ChatModel
    from roundtable.types import AgentConfig, DebateContext, JsonValue

__all__ = ["ask_for_synthesis"]

_FORMAT = """Put the debate together. Answer with one JSON object and nothing else:
- "commonGround": a list of points that all share
- "keyDifferences": a list of points on which they differ
- "evolutionSummary": how positions moved over the rounds
- "conclusion": what follows from the debate
- "recommendation": what to do
- "confidence": a number from 0 to 1, how well the debate supports the conclusion"""


async def ask_for_synthesis(
    model: ChatModel, config: AgentConfig, context: DebateContext, fence: Fence
) -> SynthesisResult:
    """Ask for a synthesis of `context.previous_responses`.

    Raises:
        ParseError: The answer holds no synthesis.
        RoundtableError: The model failed.
    """
    system = "You summarise debates fairly, in the debaters' own terms, without taking sides. " + fence.rule
    parts = [fence.quote(context.topic, label="question")]
    parts += [
        fence.quote(f"Position: {said.position}\nReasoning: {said.reasoning}", label=f"answer of {said.agent_name}")
        for said in context.previous_responses
    ]
    messages = (Message(role="system", content=system), Message(role="user", content="\n".join([*parts, _FORMAT])))
    request = ChatRequest(
        model=config.model or model.model,
        messages=messages,
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        metadata={"agent": config.id, "session": context.session_id, "purpose": SYNTHESIS},
    )
    response = await model.complete(request)
    found = find_document(response.text, lambda fields: "conclusion" in fields)
    conclusion = _text(found.fields["conclusion"]) if found is not None else ""
    if found is None or not conclusion or "conclusion" in found.partial:
        msg = 'the answer holds no JSON object with a whole text in "conclusion"'
        raise ParseError(msg, provider=config.provider)
    fields = found.fields
    return SynthesisResult(
        common_ground=_texts(fields.get("commonGround")),
        key_differences=_texts(fields.get("keyDifferences")),
        evolution_summary=_text(fields.get("evolutionSummary")),
        conclusion=conclusion,
        recommendation=_text(fields.get("recommendation")),
        confidence=_share(fields.get("confidence")),
        synthesizer_id=config.id,
    )


def _text(value: JsonValue) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(_text(item) for item in value if _text(item)) if isinstance(value, list) else ()


def _share(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0.5
    return min(1.0, max(0.0, float(value)))
