"""From a round's positions to ballots, a decision, and the agreement of independent answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.scoring import decide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable._registry import Registry
    from roundtable.scoring import Rule
    from roundtable.types import AgentResponse, AnyConsensus, AnyTurn, DebateConfig, Decision

__all__ = ["ballots_of", "decide_round", "independent_agreement"]


def ballots_of(
    responses: Sequence[AgentResponse], consensus: AnyConsensus | None, options: Sequence[str] | None
) -> tuple[str | None, ...]:
    """Turn positions into ballots, one per response in order.

    With options a ballot is the option chosen, and an answer without a choice abstains. Without
    options the clusters of the consensus are the options.
    """
    if options is not None:
        return tuple(response.choice for response in responses)
    clusters = consensus.clusters if consensus else ()
    theme_of = {agent_id: cluster.theme for cluster in clusters for agent_id in cluster.agent_ids}
    return tuple(theme_of.get(response.agent_id) for response in responses)


def decide_round(
    responses: Sequence[AgentResponse],
    consensus: AnyConsensus | None,
    config: DebateConfig,
    rules: Registry[Rule] | None = None,
) -> Decision:
    """Apply the debate's decision rule to the positions of one round.

    The debate's quorum counts answers of a stage and is the engine's to enforce; it says nothing about ballots. The
    rule is looked up in `rules`; without them, among the built-in ones.
    """
    ballots = ballots_of(responses, consensus, config.options)
    return decide(ballots, rule=config.decide, options=config.options, rules=rules)


def independent_agreement(
    turns: Sequence[AnyTurn], consensus: AnyConsensus, *, assigned: bool
) -> tuple[float | None, str | None]:
    """Give the agreement of answers given before anyone had seen another, or the reason why there is none.

    Args:
        turns: All turns of the first round.
        consensus: Agreement measured over the positions of that round.
        assigned: Whether the mode told agents which side to take.
    """
    positions = [turn for turn in turns if turn.outcome == "answered" and turn.answer.kind == "position"]
    if assigned:
        return None, "the mode assigned stances, so no answer was independent"
    if len(positions) < 2:
        return None, "fewer than two agents answered in the first round"
    if not all(turn.independent for turn in positions):
        return None, "agents of the first round had seen answers of others"
    return consensus.agreement_level, None
