"""From a round's positions to ballots, a decision, and the agreement of independent answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.scoring import casefold, decide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable._registry import Registry
    from roundtable.scoring import Rule
    from roundtable.types import AgentResponse, AnyConsensus, AnyTurn, DebateConfig, Decision

__all__ = ["ballots_of", "decide_round", "independent_agreement", "themes_of"]


def ballots_of(
    responses: Sequence[AgentResponse], consensus: AnyConsensus | None, options: Sequence[str] | None
) -> tuple[str | None, ...]:
    """Turn positions into ballots, one per response in order.

    With options a ballot is the option chosen, and an answer without a choice abstains. Without
    options the clusters of the consensus are the options.
    """
    if options is not None:
        return tuple(response.choice for response in responses)
    return themes_of(responses, consensus)


def themes_of(responses: Sequence[AgentResponse], consensus: AnyConsensus | None) -> tuple[str | None, ...]:
    """Give the theme of the cluster each position is in, `None` where it is in none.

    An agent that answered several times may be in several clusters; each of its answers is counted in the one
    whose theme it words, else in the first.
    """
    themes: dict[str, list[str]] = {}
    for cluster in consensus.clusters if consensus else ():
        for agent_id in dict.fromkeys(cluster.agent_ids):
            themes.setdefault(agent_id, []).append(cluster.theme)
    found: list[str | None] = []
    for response in responses:
        said, own = casefold(response.position), themes.get(response.agent_id, [])
        found.append(next((theme for theme in own if casefold(theme) == said), own[0] if own else None))
    return tuple(found)


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
