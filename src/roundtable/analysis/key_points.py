"""Key points of an answer's reasoning, extracted by a model or by rules."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final

import anyio

from roundtable.analysis.ai import list_of_texts
from roundtable.core.base.text import error_text
from roundtable.core.errors import ConfigurationError, RoundtableError
from roundtable.core.prompts.fence import Fence, fresh_nonce
from roundtable.core.stages import is_fault
from roundtable.core.types.chat import ChatRequest, Message, OutputSchema, Usage
from roundtable.logs import ROOT
from roundtable.parsing import find_document

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundtable.core.protocols import ChatModel
    from roundtable.core.types.answers import AgentResponse

__all__ = ["KeyPointsExtractor", "key_points_by_rules"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.analysis")

_MAX_TOKENS: Final = 1024
_SHORTEST_LINE: Final = 10
_SHORTEST_SENTENCE: Final = 20
_HEAD_CHARS: Final = 200
_LISTED: Final = re.compile(r"^(?:\d{1,3}[.):]|[-*\u2022])\s+(.+)$", re.MULTILINE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_])|(?<=[。\uff01\uff1f])\s*(?=\S)")
_TASK: Final = (
    "You pick the key points out of an answer that an agent gave in a debate. Give two to four points, each in one or "
    "two whole sentences that can be understood alone; add nothing of your own. Answer with one JSON object and "
    "nothing else."
)
_FORMAT: Final = 'Answer with one JSON object: {"keyPoints": [a list of two to four texts]}'
_SCHEMA: Final = OutputSchema(
    name="key_points",
    definition={
        "type": "object",
        "properties": {"keyPoints": {"type": "array", "items": {"type": "string"}}},
        "required": ["keyPoints"],
        "additionalProperties": False,
    },
)


def key_points_by_rules(reasoning: str, most: int = 4) -> tuple[str, ...]:
    r"""Extract the points of a text without a model: its list items, else its sentences, else its beginning.

    List items start with a number, `-`, `*` or a bullet; indented items are ignored. A sentence does not begin with a
    lower-case letter.

    Example:
        >>> key_points_by_rules("1. It scales very well.\n2. Teams can work alone.")
        ('It scales very well.', 'Teams can work alone.')
        >>> key_points_by_rules("It is cheap.")
        ('It is cheap.',)
    """
    lines = [line.strip() for line in _LISTED.findall(reasoning)]
    points = [line for line in lines if len(line) > _SHORTEST_LINE]
    if not points:
        points = [part for part in _sentences(reasoning) if len(part) > _SHORTEST_SENTENCE]
    head = " ".join(reasoning[:_HEAD_CHARS].split())
    return tuple(points[:most]) or ((head,) if head else ())


def _sentences(text: str) -> list[str]:
    sentences: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if not text[end.end()].islower():
            sentences.append(text[start : end.start()])
            start = end.end()
    return [" ".join(part.split()) for part in (*sentences, text[start:])]


class KeyPointsExtractor:
    """Extractor of two to four key points of each answer's reasoning; answers are processed concurrently.

    In a debate, the analyzer extracts the points in its own call; use this class for other answers.

    Args:
        model: Model that is asked once for each answer; without it, `key_points_by_rules` is used.
        max_key_points: Maximum points of an answer.
        fallback_to_rule_based: Whether `key_points_by_rules` is used if the model fails; otherwise, such an answer has
            no points.
        nonce: Function that returns fence ids; random by default. Tests pass their own for repeatable prompts.

    Raises:
        ConfigurationError: `max_key_points` is less than 1.

    Example:
        >>> import anyio
        >>> from roundtable.types import AgentResponse
        >>> said = [AgentResponse(agent_id="ada", agent_name="Ada", position="Tea", reasoning="It keeps for years.")]
        >>> anyio.run(KeyPointsExtractor().extract, said)
        {'ada': ('It keeps for years.',)}
    """

    def __init__(
        self,
        model: ChatModel | None = None,
        *,
        max_key_points: int = 4,
        fallback_to_rule_based: bool = True,
        nonce: Callable[[], str] = fresh_nonce,
    ) -> None:
        if max_key_points < 1:
            raise ConfigurationError(f"max_key_points must be at least 1, not {max_key_points}")
        self.model = model
        self.max_key_points = max_key_points
        self.fallback_to_rule_based = fallback_to_rule_based
        self.usage: Usage = Usage()
        """Usage of all calls so far."""
        self._nonce = nonce

    async def extract(self, responses: Sequence[AgentResponse]) -> dict[str, tuple[str, ...]]:
        """Return the points of each answer, by agent id; if an agent has several answers, the last one counts."""
        points_of_each: list[tuple[str, ...]] = [()] * len(responses)

        async def read(index: int) -> None:
            points_of_each[index] = await self._points(responses[index])

        async with anyio.create_task_group() as group:
            for index in range(len(responses)):
                group.start_soon(read, index)
        return {response.agent_id: points for response, points in zip(responses, points_of_each, strict=True)}

    async def _points(self, response: AgentResponse) -> tuple[str, ...]:
        points = () if self.model is None else await self._ask_model(self.model, response)
        if points or not (self.model is None or self.fallback_to_rule_based):
            return points
        return key_points_by_rules(response.reasoning or response.position, self.max_key_points)

    async def _ask_model(self, model: ChatModel, answer: AgentResponse) -> tuple[str, ...]:
        fence = Fence(self._nonce())
        quoted = fence.quote(f"Position: {answer.position}\nReasoning: {answer.reasoning}", label="answer")
        request = ChatRequest(
            messages=(
                Message(role="system", content=f"{_TASK}\n\n{fence.rule}"),
                Message(role="user", content=f"{quoted}\n\n{_FORMAT}"),
            ),
            temperature=0.0,
            max_tokens=_MAX_TOKENS,
            output_schema=_SCHEMA if model.profile.structured_output else None,
            search=model.profile.no_search,
            metadata={"agent": answer.agent_id, "purpose": "key_points"},
        )
        try:
            response = await model.complete(request)
        except RoundtableError as error:
            self.usage += error.usage if isinstance(error.usage, Usage) else Usage()
            return ()
        except BaseException as error:  # a model may be foreign code; its fault must not lose the other points
            if not is_fault(error):
                raise
            logger.warning("the model of the key points raised %s: %s", type(error).__name__, error_text(error))
            return ()
        self.usage += response.usage
        document = find_document(response.text, lambda fields: "keyPoints" in fields)
        return () if document is None else list_of_texts(document.fields.get("keyPoints"), self.max_key_points)
