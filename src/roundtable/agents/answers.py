"""From what was parsed to the typed answer of a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from roundtable.types import AgentResponse, BallotAnswer, PlanAnswer, RankingAnswer, ScoresAnswer, TextAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.agents.conversation import Conversation
    from roundtable.parsing import Parsed
    from roundtable.types import AgentConfig, Answer, AnswerKind, ChatResponse, Citation, ToolCallRecord

__all__ = ["to_answer", "tools_beside"]


def to_answer(
    parsed: Parsed, kind: AnswerKind, config: AgentConfig, talk: Conversation, response: ChatResponse
) -> Answer:
    """Build the answer of one kind, with the evidence gathered on the way."""
    match kind:
        case "position":
            return AgentResponse(
                agent_id=config.id,
                agent_name=config.name,
                position=parsed.position,
                reasoning=parsed.reasoning,
                confidence=parsed.confidence,
                stance=parsed.stance,
                choice=parsed.choice,
                citations=_each_once([*talk.citations, *talk.tools.citations]),
                tool_calls=(*talk.server_calls, *talk.tools.records),
                images=response.images,
                related_questions=response.related_questions,
            )
        case "ballot":
            return BallotAnswer(choice=parsed.choice, reasoning=parsed.reasoning)
        case "ranking":
            return RankingAnswer(ranking=parsed.ranking, reasoning=parsed.reasoning)
        case "scores":
            return ScoresAnswer(scores=dict(parsed.scores), reasoning=parsed.reasoning)
        case "plan":
            return PlanAnswer(goal=parsed.goal, strategy=parsed.strategy, success_criteria=parsed.success_criteria)
        case "text":
            return TextAnswer(text=parsed.text)
        case _:
            assert_never(kind)


def tools_beside(kind: AnswerKind, talk: Conversation) -> tuple[ToolCallRecord, ...]:
    """Give the tools used for an answer that does not list them itself."""
    return () if kind == "position" else (*talk.server_calls, *talk.tools.records)


def _each_once(citations: Sequence[Citation]) -> tuple[Citation, ...]:
    first: dict[str, Citation] = {}
    for citation in citations:
        first.setdefault(citation.url, citation)
    return tuple(first.values())
