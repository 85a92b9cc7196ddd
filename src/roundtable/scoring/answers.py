"""From what agents answer in a debate to ballots."""

from __future__ import annotations

from typing import Literal

from roundtable.scoring.ballots import Abstention, Ballot, Choice, Ranking, Scores
from roundtable.types import AgentResponse, Answer, BallotAnswer, RankingAnswer, ScoresAnswer

__all__ = ["ballot_from_answer"]


def ballot_from_answer(answer: Answer, *, by: Literal["choice", "stance", "position"] = "choice") -> Ballot:
    """Turn an answer into a ballot, with the confidence the agent reported.

    Args:
        answer: Any answer of a turn; one that holds no vote abstains.
        by: What counts as the vote of a position: the option chosen, the side taken, or the wording.

    Example:
        >>> said = AgentResponse(agent_id="ada", agent_name="Ada", position="Yes, it scales.", stance="YES")
        >>> ballot_from_answer(said, by="stance")
        Choice(option='YES', confidence=0.5, accuracy=None)
    """
    match answer:
        case AgentResponse():
            vote = {"choice": answer.choice, "stance": answer.stance, "position": answer.position}[by]
            return Choice(vote, confidence=answer.confidence)
        case BallotAnswer():
            return Choice(answer.choice)
        case RankingAnswer():
            return Ranking(answer.ranking)
        case ScoresAnswer():
            return Scores(answer.scores)
        case _:
            return Abstention()
