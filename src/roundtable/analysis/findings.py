"""What a finished debate shows beside its agreement: who dissents, what a plain vote had said, what moved. No model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.analysis.decision import CastVote, ballots_of, cast_votes
from roundtable.scoring import casefold, decide
from roundtable.types import Share, Usage, Value
from roundtable.types.plan import BASELINE_STAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.types import AnyConsensus, AnyTurn, DebateRecord, RoundRecord, Turn

__all__ = [
    "Baselines",
    "Dissent",
    "MinorityReport",
    "Vote",
    "answer_changed",
    "baselines_of",
    "conformity_delta",
    "independent_turns",
    "minority_report",
    "votes_of",
]


class Dissent(Value):
    """An answer, or a vote where the mode ends in one, outside the largest camp."""

    agent_id: str
    """Who."""
    agent_name: str
    """Display name."""
    position: str
    """What they hold."""
    choice: str | None = None
    """The option they chose or voted for."""
    confidence: Share | None = None
    """How sure they say they are; `None` for a vote."""


class Vote(Value):
    """What one agent's ballot was."""

    agent_id: str
    """Who."""
    agent_name: str
    """Display name."""
    choice: str | None
    """Option, cluster or side; `None` where it voted for none."""


class MinorityReport(Value):
    """Who stands against whom at the end of a debate."""

    majority: str | None
    """What the largest camp holds; `None` where two are equally large."""
    supporters: tuple[str, ...] = ()
    """Ids of the agents in it."""
    dissents: tuple[Dissent, ...] = ()
    """Answers or votes outside it; empty when all agree."""


class Baselines(Value):
    """What answers given before anybody had seen another say by themselves; nothing was paid for them again."""

    single: str | None
    """The answer of one agent alone: the first that answered."""
    single_agent_id: str | None = None
    """Which."""
    majority: str | None = None
    """The most common answer; `None` on a tie."""
    votes: int = 0
    """Answers counted."""
    reason: str | None = None
    """Why there are no such answers."""
    usage: Usage = Usage()
    """What these answers took."""
    cost_multiple: float | None = None
    """Model calls of the whole debate for each call of these answers."""
    answer_changed: bool | None = None
    """Whether the debate decided otherwise than the vote; `None` where that cannot be told by the words."""


def conformity_delta(level: float | None, independent: float | None) -> float | None:
    """Give agreement after the debate less agreement of independent answers, in [-1, 1]; `None` without either.

    Example:
        >>> conformity_delta(1.0, 0.25)
        0.75
    """
    return None if level is None or independent is None else round(level - independent, 9)


def votes_of(held: RoundRecord, *, by_choice: bool) -> tuple[Vote, ...]:
    """Tell who voted for what in a round, as `cast_votes` does.

    Args:
        held: The round.
        by_choice: Whether the debate has options.
    """
    cast = cast_votes(held, held.consensus, options=by_choice)
    return tuple(Vote(agent_id=one.agent_id, agent_name=one.agent_name, choice=one.vote) for one in cast)


def minority_report(held: RoundRecord, *, by_choice: bool) -> MinorityReport:
    """Tell the largest camp of a round from those outside it; where the mode ends in a vote, by that.

    Args:
        held: The round.
        by_choice: Whether the debate has options.
    """
    cast = [one for one in cast_votes(held, held.consensus, options=by_choice) if one.said or one.vote]
    keys = [None if one.vote is None else casefold(one.vote) for one in cast]
    sizes = {key: keys.count(key) for key in keys if key is not None}
    top = [key for key, size in sizes.items() if size == max(sizes.values())]
    leader = top[0] if len(top) == 1 else None
    inside = [key is not None and key == leader for key in keys]
    return MinorityReport(
        majority=None if leader is None else cast[keys.index(leader)].vote,
        supporters=tuple(one.agent_id for one, within in zip(cast, inside, strict=True) if within),
        dissents=tuple(_dissent(one) for one, within in zip(cast, inside, strict=True) if not within),
    )


def _dissent(cast: CastVote) -> Dissent:
    said = cast.said
    return Dissent(
        agent_id=cast.agent_id,
        agent_name=cast.agent_name,
        position=said.position if said else cast.vote or "",
        choice=said.choice if said else cast.vote,
        confidence=said.confidence if said else None,
    )


def independent_turns(turns: Sequence[AnyTurn]) -> tuple[Turn, ...]:
    """Give the positions of a round whose agents had seen nobody's."""
    return tuple(
        turn for turn in turns if turn.outcome == "answered" and turn.answer.kind == "position" and turn.independent
    )


def baselines_of(record: DebateRecord, answer: str | None) -> Baselines | None:
    """Give what independent answers say by themselves; `None` before the first round is measured.

    Args:
        record: The debate.
        answer: What the debate decided.
    """
    if not record.rounds or not record.rounds[0].complete:
        return None
    if record.independent_agreement is None:
        return Baselines(single=None, reason=record.independent_agreement_reason)
    first = record.rounds[0]
    alone = [turn for turn in first.turns if turn.stage == BASELINE_STAGE]
    turns = independent_turns(alone or first.turns)
    said = [turn.answer for turn in turns if turn.answer.kind == "position"]
    measured: AnyConsensus | None = first.baseline or first.consensus
    options = record.session.config.options
    if not said:
        return Baselines(single=None, reason="no independent answer is stored")
    votes = ballots_of(said, measured, "cluster" if options is None else "choice")
    majority = decide(votes, rule="plurality", options=options).winner
    spent = sum((turn.result.usage for turn in turns), Usage())
    return Baselines(
        single=said[0].choice or said[0].position,
        single_agent_id=said[0].agent_id,
        majority=majority,
        votes=sum(vote is not None for vote in votes),
        usage=spent,
        cost_multiple=round(record.usage.calls / spent.calls, 3) if spent.calls else None,
        answer_changed=answer_changed(answer, majority, by_choice=options is not None),
    )


def answer_changed(answer: str | None, majority: str | None, *, by_choice: bool) -> bool | None:
    """Tell whether a debate decided otherwise than the vote; `None` where that cannot be told by the words.

    Args:
        answer: What the debate decided.
        majority: What the vote of the independent answers decided.
        by_choice: Whether both are options, so that other words are another answer.

    Example:
        >>> answer_changed("Tea", "tea", by_choice=False), answer_changed("Tea", "A tea", by_choice=False)
        (False, None)
    """
    if answer is not None and majority is not None and casefold(answer) == casefold(majority):
        return False
    return answer != majority if by_choice else None
