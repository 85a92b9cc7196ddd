"""Build the answer of a turn from what the model wrote and the evidence that the turn gathered."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from roundtable.core.types.answers import (
    AgentResponse,
    ApprovalAnswer,
    BallotAnswer,
    PlanAnswer,
    RankingAnswer,
    ScoresAnswer,
    TextAnswer,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.agent.conversation import Conversation
    from roundtable.core.types.agents import AgentConfig
    from roundtable.core.types.answers import Answer, AnswerKind, Citation, Claim, Comparison, ToolCallRecord
    from roundtable.core.types.chat import ChatResponse
    from roundtable.parsing import Parsed

__all__ = ["answer_tool_calls", "to_answer"]


def to_answer(
    parsed: Parsed,
    kind: AnswerKind,
    config: AgentConfig,
    talk: Conversation,
    response: ChatResponse,
    *,
    compared: tuple[Comparison, ...] = (),
    claims: tuple[Claim, ...] = (),
) -> Answer:
    """Build the answer of one kind, with the evidence that the turn gathered.

    Args:
        parsed: What the model wrote.
        kind: Kind of answer that the turn requires.
        config: The agent.
        talk: The calls of the turn.
        response: The last response of the model.
        compared: What the agent says about earlier answers.
        claims: The reasons of the agent, as claims.
    """
    reasoning, same, reading = parsed.reasoning, parsed.same, parsed.reading
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
                bottom_line=parsed.bottom_line,
                compared=compared,
                claims=claims,
                value=parsed.value,
                citations=_unique_by_url(talk.sources),
                tool_calls=talk.tool_calls,
                images=response.images,
                related_questions=response.related_questions,
                reading=parsed.reading,
            )
        case "ballot":
            return BallotAnswer(choice=parsed.choice, reasoning=reasoning, same=same, reading=reading)
        case "ranking":
            return RankingAnswer(ranking=parsed.ranking, reasoning=reasoning, same=same, reading=reading)
        case "approval":
            return ApprovalAnswer(approved=parsed.approved, reasoning=reasoning, same=same, reading=reading)
        case "scores":
            return ScoresAnswer(scores=dict(parsed.scores), reasoning=reasoning, same=same, reading=reading)
        case "plan":
            return PlanAnswer(goal=parsed.goal, strategy=parsed.strategy, success_criteria=parsed.success_criteria)
        case "text":
            return TextAnswer(text=parsed.text)
        case _:
            assert_never(kind)


def answer_tool_calls(kind: AnswerKind, talk: Conversation) -> tuple[ToolCallRecord, ...]:
    """Return the tool calls for an answer whose type does not list them itself."""
    return () if kind == "position" else talk.tool_calls


def _unique_by_url(citations: Sequence[Citation]) -> tuple[Citation, ...]:
    by_url: dict[str, Citation] = {}
    for citation in citations:
        by_url.setdefault(citation.url, citation)
    return tuple(by_url.values())
