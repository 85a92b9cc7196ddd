"""Findings about a finished debate, without a model: dissent, the result of a plain vote, changed answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from roundtable.analysis.decision import CastVote, ballots_of, cast_votes, decided_by_judges, own_vote_stage
from roundtable.core.types.base import Share, Value
from roundtable.core.types.chat import Usage
from roundtable.core.types.plan import BASELINE_STAGE, VOTE_STAGE
from roundtable.scoring import casefold, decide, open_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.types.answers import AgentResponse, ContextRequest
    from roundtable.core.types.consensus import AnyConsensus
    from roundtable.core.types.debate import AnyTurn, DebateConfig, RoundRecord, SessionStatus, Turn
    from roundtable.scoring import Normalise

__all__ = [
    "Baselines",
    "DebateFacts",
    "Dissent",
    "MinorityReport",
    "Vote",
    "answer_changed",
    "baselines_of",
    "conformity_delta",
    "dissenting_votes",
    "independent_consensus",
    "independent_turns",
    "minority_report",
    "votes_of",
]


class DebateFacts(Protocol):
    """The attributes of a debate that findings need; a `DebateResult` has them."""

    @property
    def session_id(self) -> str:
        """Session id."""

    @property
    def topic(self) -> str:
        """The question."""

    @property
    def mode(self) -> str:
        """Debate mode."""

    @property
    def session_status(self) -> SessionStatus:
        """State of the stored session."""

    @property
    def config(self) -> DebateConfig:
        """Configuration of the debate."""

    @property
    def rounds(self) -> tuple[RoundRecord, ...]:
        """All rounds with their turns."""

    @property
    def total_rounds(self) -> int:
        """Rounds planned."""

    @property
    def independent_agreement(self) -> float | None:
        """Agreement of the answers that agents gave before they had seen any other answer."""

    @property
    def independent_agreement_reason(self) -> str | None:
        """Why there is no independent agreement."""

    @property
    def context_requests(self) -> tuple[ContextRequest, ...]:
        """Information that agents requested from the caller."""

    @property
    def usage(self) -> Usage:
        """Usage of all calls."""


class Dissent(Value):
    """An answer outside the largest camp or, after a vote, a vote for an option other than the winner."""

    agent_id: str
    """Id of the agent."""
    agent_name: str
    """Display name."""
    position: str
    """Position of the agent."""
    choice: str | None = None
    """Option that the agent chose, or voted for."""
    confidence: Share | None = None
    """Stated confidence; `None` for a vote."""


class Vote(Value):
    """Vote of one agent."""

    agent_id: str
    """Id of the agent."""
    agent_name: str
    """Display name."""
    choice: str | None
    """Option, cluster or side; `None` for an abstention, and for an answer that could not be read."""


class MinorityReport(Value):
    """The camps at the end of a debate."""

    majority: str | None
    """Position of the largest camp, or the winner of a vote; `None` on a tie, or if no camp certainly leads."""
    supporters: tuple[str, ...] = ()
    """Ids of the agents in the largest camp, or of those that put the winner of the vote first."""
    dissents: tuple[Dissent, ...] = ()
    """Answers outside the largest camp, or votes for others than the winner; empty if all agree, or without a
    majority."""
    not_compared: tuple[str, ...] = ()
    """Ids of the agents outside the largest camp whose answers may say the same: they are not known to differ, or they
    could not be read."""


class Baselines(Value):
    """What the independent answers alone would have decided; no further model calls are needed."""

    single: str | None
    """The answer of the first agent that answered: its option, else its bottom line, else its position; `None` if it
    could not be read."""
    single_agent_id: str | None = None
    """Id of this agent."""
    majority: str | None = None
    """The most common answer; `None` on a tie."""
    votes: int = 0
    """Number of votes counted."""
    reason: str | None = None
    """Why there are no independent answers; `None` if there are some."""
    usage: Usage = Usage()
    """Usage of the independent answers."""
    cost_multiple: float | None = None
    """Model calls of the whole debate, divided by the calls for the independent answers."""
    answer_changed: bool | None = None
    """Whether the debate decided differently from the vote of the independent answers; `None` if the wording does not
    show it."""


def independent_consensus(rounds: Sequence[RoundRecord]) -> AnyConsensus | None:
    """Return the agreement before any agent had seen another answer, if it was measured.

    Otherwise, return the agreement of the first round.
    """
    return (rounds[0].baseline or rounds[0].consensus) if rounds else None


def conformity_delta(level: float | None, independent: float | None) -> float | None:
    """Return the agreement after the debate minus that of independent answers, in [-1, 1]; `None` if one is missing.

    Example:
        >>> conformity_delta(1.0, 0.25)
        0.75
    """
    return None if level is None or independent is None else round(level - independent, 9)


def votes_of(held: RoundRecord, *, by_choice: bool) -> tuple[Vote, ...]:
    """Return the votes of a round, as `cast_votes` does.

    Args:
        held: The round.
        by_choice: Whether the debate has options.
    """
    votes = cast_votes(held, held.consensus, options=by_choice)
    return tuple(Vote(agent_id=vote.agent_id, agent_name=vote.agent_name, choice=vote.vote) for vote in votes)


def minority_report(held: RoundRecord, *, by_choice: bool) -> MinorityReport:
    """Split the answers of a round, or its votes if it ends in a vote, into the majority and the dissents.

    The majority of answers is the largest camp. The majority of a vote is its winner, and the dissents are all other
    votes.

    Args:
        held: The round.
        by_choice: Whether the debate has options.
    """
    sides = _sides(held, by_choice=by_choice)
    return MinorityReport(
        majority=sides.majority,
        supporters=tuple(vote.agent_id for vote in sides.supporting),
        dissents=tuple(_dissent(vote) for vote in sides.dissenting),
        not_compared=sides.not_compared,
    )


def dissenting_votes(held: RoundRecord, *, by_choice: bool) -> tuple[CastVote, ...]:
    """Return the votes behind the dissents of the `minority_report`, in the same order.

    Args:
        held: The round.
        by_choice: Whether the debate has options.
    """
    return _sides(held, by_choice=by_choice).dissenting


class _Sides(NamedTuple):
    """The votes of a round for and against the majority; a vote whose side is not known is in neither list."""

    majority: str | None
    supporting: tuple[CastVote, ...] = ()
    dissenting: tuple[CastVote, ...] = ()
    not_compared: tuple[str, ...] = ()


def _sides(record: RoundRecord, *, by_choice: bool) -> _Sides:
    cast = cast_votes(record, record.consensus, options=by_choice)
    votes = [vote for vote in cast if vote.said or vote.vote or vote.is_unread]
    own = own_vote_stage(record)
    stages = {turn.stage for turn in record.turns} & {VOTE_STAGE, own}
    # Names of motions and camps, and options, are compared exactly: `5 mW` is not `5 MW`. Models spell sides.
    is_exact = by_choice or own is None
    keys = [vote.vote if vote.vote is None or is_exact else casefold(vote.vote) for vote in votes]
    if stages and not decided_by_judges(record):
        winner = record.decision.winner if record.decision is not None else None
        if winner is None:
            return _Sides(None)
        key_of_winner = winner if is_exact else casefold(winner)
        return _Sides(
            winner,
            tuple(vote for vote, key in zip(votes, keys, strict=True) if key == key_of_winner),
            tuple(vote for vote, key in zip(votes, keys, strict=True) if key != key_of_winner and not vote.is_unread),
        )
    sizes = {key: keys.count(key) for key in keys if key is not None}
    top = [key for key, size in sizes.items() if size == max(sizes.values())]
    consensus = None if by_choice or stages else record.consensus
    unknown = consensus.not_compared if consensus else ()
    is_open = consensus is not None and consensus.is_lead_open
    decision = record.decision
    unread = tuple(vote.agent_id for vote in votes if vote.is_unread)
    is_tied = len(top) != 1 or (decision is not None and (decision.is_tie or decision.withheld is not None))
    unknown = tuple(dict.fromkeys((*unknown, *unread)))
    not_compared = tuple(vote.agent_id for vote in votes) if is_open else unknown
    if is_tied or is_open:
        return _Sides(None, not_compared=not_compared)
    outside = {*unknown, *(consensus.abstained if consensus else ())}
    return _Sides(
        votes[keys.index(top[0])].vote,
        tuple(vote for vote, key in zip(votes, keys, strict=True) if key == top[0]),
        tuple(vote for vote, key in zip(votes, keys, strict=True) if key != top[0] and vote.agent_id not in outside),
        not_compared,
    )


def _dissent(vote: CastVote) -> Dissent:
    response = vote.said
    return Dissent(
        agent_id=vote.agent_id,
        agent_name=vote.agent_name,
        position=response.position if response else vote.vote or "",
        choice=response.choice if response else vote.vote,
        confidence=response.confidence if response else None,
    )


def independent_turns(turns: Sequence[AnyTurn]) -> tuple[Turn, ...]:
    """Return the independent position turns of a round, in which the agent had not seen any other position."""
    return tuple(
        turn for turn in turns if turn.outcome == "answered" and turn.answer.kind == "position" and turn.independent
    )


def baselines_of(result: DebateFacts, answer: str | None) -> Baselines | None:
    """Return what the independent answers alone would have decided; `None` before the first round is complete.

    Args:
        result: The debate.
        answer: What the debate decided.
    """
    if not result.rounds or not result.rounds[0].complete:
        return None
    if result.independent_agreement is None:
        return Baselines(single=None, reason=result.independent_agreement_reason)
    first = result.rounds[0]
    baseline_turns = [turn for turn in first.turns if turn.stage == BASELINE_STAGE]
    turns = independent_turns(baseline_turns or first.turns)
    answers = [turn.answer for turn in turns if turn.answer.kind == "position"]
    measured = independent_consensus(result.rounds)
    options = result.config.options
    if not answers:
        return Baselines(single=None, reason="no independent answer is stored")
    ballots = ballots_of(answers, measured, "cluster" if options is None else "choice")
    votes = [None if said.is_unread else ballot for ballot, said in zip(ballots, answers, strict=True)]
    normalise: Normalise = "exact" if options is None else "casefold"
    voters = [f"{index}" for index in range(len(votes))]
    unread = [voter for voter, said in zip(voters, answers, strict=True) if said.is_unread]
    majority = decide(
        votes, rule="plurality", options=options, normalise=normalise, voters=voters, unread=unread
    ).winner
    if options is None and measured is not None and measured.is_lead_open:
        majority = None
    usage = sum((turn.result.usage for turn in turns), Usage())
    return Baselines(
        single=_stated(answers[0]),
        single_agent_id=answers[0].agent_id,
        majority=majority,
        votes=sum(vote is not None for vote in votes),
        usage=usage,
        cost_multiple=round(result.usage.calls / usage.calls, 3) if usage.calls else None,
        answer_changed=answer_changed(answer, majority, by_choice=options is not None),
    )


def _stated(response: AgentResponse) -> str | None:
    """Return what an agent answered; `None` if it could not be read."""
    return None if response.is_unread else response.choice or response.bottom_line or response.position


def answer_changed(answer: str | None, majority: str | None, *, by_choice: bool) -> bool | None:
    """Check whether a debate decided differently from the vote of its independent answers.

    Args:
        answer: What the debate decided.
        majority: What the vote of the independent answers decided.
        by_choice: Whether both texts are options. Different options are different answers; other texts may differ in
            wording only, which gives `None`. Other texts are equal by the rules of `open_key`: `O-` is not `O`.

    Example:
        >>> answer_changed("Tea", "tea", by_choice=False), answer_changed("Tea", "A tea", by_choice=False)
        (False, None)
    """
    if by_choice:
        return answer != majority
    is_same = answer is not None and majority is not None and open_key(answer) == open_key(majority)
    return False if is_same else None
