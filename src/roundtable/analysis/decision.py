"""From a round's positions to ballots, a decision, and the agreement of independent answers."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from roundtable._foreign import error_text
from roundtable.errors import ConfigurationError
from roundtable.logs import ROOT
from roundtable.modes import answers_by_name
from roundtable.modes.oxford import LAST_VOTE, SIDES
from roundtable.scoring import Choice, Rule, casefold, decide, rule_registry
from roundtable.types import Decision
from roundtable.types.plan import CHAIR_STAGE, JUDGE_STAGE, JUDGED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable._registry import Registry
    from roundtable.types import AgentResponse, AnyConsensus, AnyTurn, DebateConfig, RoundRecord, Turn

__all__ = [
    "BallotBasis",
    "CastVote",
    "ballots_of",
    "cast_votes",
    "check_decider",
    "check_rule",
    "decide_record",
    "independent_agreement",
]

BallotBasis: TypeAlias = Literal["choice", "stance", "cluster"]
"""What of a position counts as its vote."""

logger: logging.Logger = logging.getLogger(f"{ROOT}.analysis")

_UNSTATED = 0.5
"""Confidence of a vote that states none, as of a position that states none."""
_TRIAL = (Choice("one", confidence=1), Choice("other", confidence=1))


def check_rule(rule: str | Rule, rules: Registry[Rule] | None = None) -> None:
    """Try a rule on two made-up positions, so that one that cannot decide a debate is refused before anybody is paid.

    Args:
        rule: The rule, or its name with parameters.
        rules: Where the name is looked up; `None` knows the built-in rules.

    Raises:
        ConfigurationError: The rule or a parameter is unknown or out of range, or the rule cannot count a position,
            which is a choice with a confidence.
    """
    try:
        trial = decide(_TRIAL, rule=rule, rules=rules)
    except ConfigurationError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  (foreign code; what it makes of a real round is decided there)
        logger.info("the rule %r breaks on two made-up positions: %s", _name(rule), error_text(error))
        return
    if len(trial.invalid) == len(_TRIAL):
        why = next(iter(trial.invalid.values()))
        msg = f"the rule {_name(rule)!r} cannot decide a debate: of a position it says {why!r}"
        raise ConfigurationError(msg, hint=f"In a debate these rules work: {', '.join(_usable())}.")


def check_decider(config: DebateConfig, rules: Registry[Rule] | None = None) -> None:
    """Refuse a debate that nothing can decide.

    Raises:
        ConfigurationError: As for `check_rule`; or judges are to decide and none is seated, or the wrong number.
    """
    if config.decide not in JUDGED:
        check_rule(config.decide, rules)
        return
    judges = config.seats.get("judge", ())
    if not judges or (config.decide == "judge") != (len(judges) == 1):
        wanted = "one judge" if config.decide == "judge" else "two judges or more"
        msg = f"decide={config.decide!r} takes {wanted} at seats['judge'], not {len(judges)}"
        raise ConfigurationError(msg, hint="Give several judges with decide='judge-panel'.")


def ballots_of(
    responses: Sequence[AgentResponse], consensus: AnyConsensus | None, by: BallotBasis
) -> tuple[str | None, ...]:
    """Turn positions into ballots, one per position in order.

    Args:
        responses: The positions of a round; `RoundRecord.responses` has left out those an agent has replaced.
        consensus: What was measured over them; without it nobody is in a cluster.
        by: What counts as the vote: the option chosen, the stance, or the cluster. An answer without one abstains.

    Raises:
        ConfigurationError: `by` is something else.
    """
    if by not in get_args(BallotBasis):
        raise ConfigurationError(f"by must be one of {', '.join(get_args(BallotBasis))}, not {by!r}")
    if by == "cluster":
        return _themes(responses, consensus)
    return tuple(response.choice if by == "choice" else response.stance for response in responses)


def _themes(responses: Sequence[AgentResponse], consensus: AnyConsensus | None) -> tuple[str | None, ...]:
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


class CastVote(NamedTuple):
    """What one agent voted for in a round."""

    agent_id: str
    """Who."""
    agent_name: str
    """Display name."""
    vote: str | None
    """Option, cluster or side; `None` abstains."""
    said: AgentResponse | None
    """The position that counts as this vote; `None` where the mode took a vote of its own."""
    reasoning: str = ""
    """Why, where it was a vote of its own."""


def cast_votes(
    record: RoundRecord, consensus: AnyConsensus | None, *, options: bool, by: BallotBasis | None = None
) -> tuple[CastVote, ...]:
    """Tell who votes for what in a round: the vote a mode ends in, as Oxford does, else the positions.

    Args:
        record: The round.
        consensus: What was measured over its positions.
        options: Whether the debate has options, so that of a position the option counts, and else the cluster.
        by: What of a position counts instead; then a vote of the mode is passed over.
    """
    if by is None and (last := [turn for turn in record.turns if turn.stage == LAST_VOTE]):
        return tuple(_vote_of(turn) for turn in last)
    basis = by or ("choice" if options else "cluster")
    votes = ballots_of(record.responses, consensus, basis)
    cast = zip(votes, record.responses, strict=True)
    return tuple(CastVote(said.agent_id, said.agent_name, vote, said) for vote, said in cast)


def _vote_of(turn: AnyTurn) -> CastVote:
    name = turn.agent_name or turn.agent_id
    if turn.outcome == "answered" and turn.answer.kind == "ballot":
        return CastVote(turn.agent_id, name, turn.answer.choice, None, turn.answer.reasoning)
    return CastVote(turn.agent_id, name, None, None)


def _counted(
    ballots: Sequence[Choice], config: DebateConfig, options: Sequence[str] | None, rules: Registry[Rule] | None
) -> Decision:
    try:
        return decide(ballots, rule=config.decide, options=options, rules=rules)
    except (Exception, SystemExit) as error:  # noqa: BLE001  (a rule may be foreign code)
        cause = f"{type(error).__name__}: {error_text(error)}"
        logger.warning("the rule %r broke: %s", config.decide, cause)
        return Decision(rule=config.decide, why=f"no decision: the rule {config.decide!r} broke ({cause}).")


def decide_record(
    record: RoundRecord, consensus: AnyConsensus | None, config: DebateConfig, rules: Registry[Rule] | None = None
) -> Decision:
    """Give the decision of a round: that of its judges where the debate has any, else that of its rule.

    Without judges the ballots are those of `cast_votes`: positions count with their confidence, and a vote of the mode,
    which states none, with 0.5. Judges of a panel decide by more than half of those that were asked; the one judge
    decides alone.
    The debate's quorum counts answers of a stage and is the engine's to enforce; it says nothing about ballots. The
    rule is looked up in `rules`; without them, among the built-in ones. A rule that breaks decides nothing, and
    the decision says so: a round that was paid for is closed all the same.
    """
    if config.decide not in JUDGED:
        cast = cast_votes(record, consensus, options=config.options is not None)
        ballots = [Choice(one.vote, confidence=one.said.confidence if one.said else _UNSTATED) for one in cast]
        voted = any(one.said is None for one in cast)
        return _counted(ballots, config, config.options or (SIDES if voted else None), rules)
    votes = [turn for turn in record.turns if turn.stage == JUDGE_STAGE]
    named = answers_by_name(record.turns, config.seed)
    clusters = consensus.clusters if consensus else ()
    themes = {agent: one.theme for one in reversed(clusters) for agent in one.agent_ids}
    judged: list[str | None] = []
    for turn in votes:
        choice = _vote_of(turn).vote
        judged.append(choice if config.options is not None or choice is None else _held(named, themes, choice))
    heard = sum(ballot is not None for ballot in judged)
    found = decide(judged, rule="majority", options=config.options, quorum=len(judged) // 2 + 1)
    who = "the judge" if len(judged) == 1 else f"{len(judged)} judges"
    return found.model_copy(
        update={"rule": config.decide, "why": f"{who}, {heard} of {len(judged)} voted: {found.why}"}
    )


def _held(named: Mapping[str, Turn], themes: Mapping[str, str], choice: str) -> str | None:
    """Give what the answer that a judge chose by its name holds."""
    turn = named.get(choice)
    if turn is None or turn.answer.kind != "position":
        return None
    return (None if turn.stage == CHAIR_STAGE else themes.get(turn.agent_id)) or turn.answer.position


@cache
def _usable() -> tuple[str, ...]:
    """List the built-in rules that can count positions."""
    known = rule_registry()
    return tuple(entry.name for entry in known if not decide(_TRIAL, rule=entry.thing).invalid)


def _name(rule: str | Rule) -> str:
    return rule.name if isinstance(rule, Rule) else rule


def independent_agreement(
    turns: Sequence[AnyTurn], consensus: AnyConsensus, *, assigned: bool
) -> tuple[float | None, str | None]:
    """Give the agreement of answers given before anyone had seen another, or the reason why there is none.

    Args:
        turns: All turns of the first round.
        consensus: Agreement measured over the positions of that round.
        assigned: Whether the mode told agents which side to take.
    """
    positions = [
        turn
        for turn in turns
        if turn.outcome == "answered" and turn.answer.kind == "position" and turn.stage != CHAIR_STAGE
    ]
    if assigned:
        return None, "the mode assigned stances, so no answer was independent"
    if len(positions) < 2:
        return None, "fewer than two agents answered in the first round"
    if not all(turn.independent for turn in positions):
        return None, "agents of the first round had seen answers of others"
    return consensus.agreement_level, None
