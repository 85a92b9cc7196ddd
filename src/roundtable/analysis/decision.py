"""Functions that turn a round's positions into ballots and a decision, and return the independent agreement."""

from __future__ import annotations

import logging
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

from roundtable.core.base.text import error_text
from roundtable.core.base.words import listing, shortened, span_in_words
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.answers import AgentResponse, PlanAnswer, TextAnswer
from roundtable.core.types.consensus import Decision, VoteReport
from roundtable.core.types.plan import CHAIR_STAGE, JUDGE_STAGE, LAST_VOTE_STAGE, VOTE_SIDES, VOTE_STAGE
from roundtable.logs import ROOT
from roundtable.modes import answers_by_name
from roundtable.scoring import (
    Approval,
    Choice,
    Ranking,
    Rule,
    Scores,
    decide,
    find_rule,
    first_places,
    open_key,
    rule_registry,
)
from roundtable.scoring.camps import abstains
from roundtable.scoring.motions import count_vote, motions_of, vote_in
from roundtable.scoring.rules import judges_of
from roundtable.scoring.swing import decides
from roundtable.scoring.unread import unread_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from roundtable.core.base.registry import Registry
    from roundtable.core.types.consensus import AnyConsensus
    from roundtable.core.types.debate import AnyTurn, DebateConfig, RoundRecord, Turn
    from roundtable.scoring import Ballot, BallotForm, Normalise, TieRule
    from roundtable.scoring.motions import Motions

__all__ = [
    "BallotBasis",
    "CastVote",
    "ballots_of",
    "cast_votes",
    "check_decider",
    "check_rule",
    "check_stored_vote",
    "decide_record",
    "decided_by_judges",
    "is_unread",
    "own_vote",
    "own_vote_options",
    "own_vote_stage",
    "unread_turns",
]

BallotBasis: TypeAlias = Literal["choice", "stance", "cluster"]
"""The part of a position that counts as its vote."""

logger: logging.Logger = logging.getLogger(f"{ROOT}.analysis")

_MOST_NAMED: Final = 3
_NAME_CHARS: Final = 60
_UNSTATED = 0.5
"""Confidence that is used for a vote without a stated confidence; the same as for a position without one."""
_EXAMPLES = (Choice("one", confidence=1), Choice("other", confidence=1))
_FORM_BY_KIND: Final[Mapping[str, BallotForm]] = {
    "ballot": "choice",
    "ranking": "ranking",
    "approval": "approval",
    "scores": "scores",
}
_WORD_BY_FORM: Final[Mapping[BallotForm, str]] = {
    "choice": "choices of one motion",
    "ranking": "rankings",
    "approval": "approvals",
    "scores": "scores",
}
_VOTE_EXAMPLES: Final[Mapping[BallotForm, tuple[Ballot, ...]]] = {
    "choice": (Choice("one"), Choice("other")),
    "ranking": (Ranking(("one", "other")), Ranking(("other", "one"))),
    "approval": (Approval(("one",)), Approval(("other",))),
    "scores": (Scores({"one": 1, "other": 1}), Scores({"one": 1, "other": 1})),
}


_TRIED: Final[dict[tuple[str, str, bool], object]] = {}
"""Rules that could decide the examples, by name, parameters and whether there is a vote, so that a process tries each
rule only once."""
_MOST_TRIED: Final = 256


def check_rule(rule: str | Rule, rules: Registry[Rule] | None = None, *, vote: bool = False) -> None:
    """Try a rule on two examples, so that a rule that cannot decide a debate is rejected before any paid call.

    Args:
        rule: The rule, or its name with parameters.
        rules: Registry in which to look up the name; `None` for the built-in rules.
        vote: Whether the debate ends in a vote. If so, the examples are ballots of the form that the rule reads;
            otherwise they are positions: choices with a confidence.

    Raises:
        ConfigurationError: The rule or a parameter is unknown or out of range, or the rule does not accept such
            examples.
    """
    resolved_rule, parameters = (rule, {}) if isinstance(rule, Rule) else find_rule(rule, rules)
    examples = _VOTE_EXAMPLES[resolved_rule.form] if vote else _EXAMPLES
    tried = resolved_rule.name, repr({**resolved_rule.parameters, **parameters}), vote
    if _TRIED.get(tried) is resolved_rule.count:
        return
    try:
        trial = decide(examples, rule=rule, rules=rules)
    except ConfigurationError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  (foreign code; it may still work on a real round)
        logger.info("the rule %r fails on two example positions: %s", _rule_name(rule), error_text(error))
        return
    out_of_scale = resolved_rule.form == "scores" and vote  # examples outside the rule's scale prove nothing
    if len(trial.invalid) == len(examples) and not out_of_scale:
        reason = next(iter(trial.invalid.values()))
        ballot_noun, voted = ("a vote", "a vote on motions") if vote else ("a position", "a debate")
        msg = f"the rule {_rule_name(rule)!r} cannot decide {voted}: it rejects {ballot_noun} with {reason!r}"
        hint = f"Choose one of {', '.join(_usable_rules(vote=vote))}."
        if resolved_rule.form != "choice" and not vote:
            hint = f"Ask for a vote with vote=True, in which agents give such ballots. {hint}"
        raise ConfigurationError(msg, hint=hint)
    if len(_TRIED) >= _MOST_TRIED:
        _TRIED.clear()
    _TRIED[tried] = resolved_rule.count


def check_stored_vote(rule: str | Rule, kinds: Iterable[str], rules: Registry[Rule] | None = None) -> None:
    """Check that a rule can read the ballots of a stored vote.

    Args:
        rule: The rule, or its name with parameters.
        kinds: The kinds of answers in the vote.
        rules: Registry in which to look up the name; `None` for the built-in rules.

    Raises:
        ConfigurationError: The rule cannot read ballots of one of these kinds.
    """
    resolved_rule = rule if isinstance(rule, Rule) else find_rule(rule, rules)[0]
    for kind in kinds:
        form = _FORM_BY_KIND.get(kind)
        if form is None or form == resolved_rule.form:
            continue
        try:
            trial = decide(_VOTE_EXAMPLES[form], rule=rule, rules=rules)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (foreign code; it may still work on a real vote)
            logger.info("the rule %r fails on two example ballots: %s", _rule_name(rule), error_text(error))
            continue
        if len(trial.invalid) == len(_VOTE_EXAMPLES[form]):
            words = f"the stored vote holds {_WORD_BY_FORM[form]}"
            msg = f"{words}, and the rule {_rule_name(rule)!r} needs {_WORD_BY_FORM[resolved_rule.form]}"
            raise ConfigurationError(msg, hint=f"Run the vote again with decide={_rule_name(rule)!r}.")


def check_decider(config: DebateConfig, rules: Registry[Rule] | None = None) -> None:
    """Reject a debate that cannot be decided.

    Raises:
        ConfigurationError: The reasons are those of `check_rule`, or judges decide and their number is wrong.
    """
    check_rule(config.decide, rules, vote=bool(config.vote))
    judges, number = judges_of(config.decide, rules), len(config.seats.get("judge", ()))
    if judges is None or judges.allows(number):
        return
    hint = "Name more judges, or use decide='judge' with one."
    if judges.most is not None and number > judges.most:
        hint = "Name fewer judges."
    if judges.most == 1:
        hint = "Name exactly one, or use decide='judge-panel' with several."
    wanted = span_in_words(judges.least, judges.most, "judge")
    msg = f"decide={config.decide!r} needs {wanted} in seats['judge'], not {number}"
    raise ConfigurationError(msg, hint=hint)


def ballots_of(
    responses: Sequence[AgentResponse], consensus: AnyConsensus | None, by: BallotBasis
) -> tuple[str | None, ...]:
    """Convert positions to ballots, one per position, in the same order.

    Args:
        responses: The positions of a round; `RoundRecord.responses` does not contain answers that their agent replaced
            later.
        consensus: The consensus of these positions; without it, no position is in a cluster.
        by: What counts as the vote: the chosen option, the stance, or the cluster. An answer without it abstains, and
            so does a text such as `ABSTAIN` with a stance.

    Raises:
        ConfigurationError: `by` is none of the three.
    """
    if by not in get_args(BallotBasis):
        raise ConfigurationError(f"by must be one of {', '.join(get_args(BallotBasis))}, not {by!r}")
    if by == "cluster":
        return _themes(responses, consensus)
    if by == "choice":
        return tuple(response.choice for response in responses)
    return tuple(None if abstains(response) else response.stance for response in responses)


def _themes(responses: Sequence[AgentResponse], consensus: AnyConsensus | None) -> tuple[str | None, ...]:
    """Return the theme of the cluster of each position, `None` if it is in no cluster.

    If clusters list agents, but not answers, an agent that answered several times may be in several clusters. Each of
    its answers then counts in the cluster whose theme is the wording of the answer, else in the agent's first cluster.
    """
    clusters = consensus.clusters if consensus else ()
    by_index = {index: cluster.theme for cluster in clusters for index in cluster.answers}
    if by_index and max(by_index) < len(responses):
        return tuple(by_index.get(index) for index in range(len(responses)))
    themes: dict[str, list[str]] = {}
    for cluster in clusters:
        for agent_id in dict.fromkeys(cluster.agent_ids):
            themes.setdefault(agent_id, []).append(cluster.theme)
    result: list[str | None] = []
    for response in responses:
        wording = open_key(response.bottom_line or response.position)
        candidates = themes.get(response.agent_id, [])
        first = candidates[0] if candidates else None
        result.append(next((theme for theme in candidates if open_key(theme) == wording), first))
    return tuple(result)


class CastVote(NamedTuple):
    """Vote of one agent in a round."""

    agent_id: str
    """Id of the agent."""
    agent_name: str
    """Display name."""
    vote: str | None
    """Option, cluster or side; `None` abstains."""
    said: AgentResponse | None
    """The position that counts as this vote; `None` if there was a separate vote."""
    reasoning: str = ""
    """Reasoning of a separate vote."""
    is_unread: bool = False
    """Whether the agent gave an answer or a vote that could not be read, so that it counts for nothing."""


def cast_votes(
    record: RoundRecord, consensus: AnyConsensus | None, *, options: bool, by: BallotBasis | None = None
) -> tuple[CastVote, ...]:
    """Return what each agent voted for in a round.

    If the round has a vote on motions, an agent's vote is the motion that its ballot puts first; if several motions are
    tied for first, the agent abstains. If the mode has its own vote, as Oxford has, that vote counts. Otherwise, each
    position counts as a vote; agents that were asked but gave no position come last and abstain.

    Args:
        record: The round.
        consensus: The consensus of its positions.
        options: Whether the debate has options. If so, a position counts as a vote for its chosen option, otherwise for
            its cluster.
        by: The part of a position that counts: its choice, its stance or its cluster. If this argument is given, only
            positions count, even if the round has a vote.
    """
    if by is None and (ballots := _motion_ballots(record)):
        return tuple(_first_choice(turn, record.decision) for turn in ballots)
    if by is None and (final := own_vote(record)):
        return tuple(_vote_of(turn) for turn in final)
    basis = by or ("choice" if options else "cluster")
    implied = ballots_of(record.responses, consensus, basis)
    votes = (
        CastVote(
            response.agent_id,
            response.agent_name,
            None if response.is_unread else ballot,  # a text that is compared with others, but states no answer
            response,
            is_unread=response.is_unread,
        )
        for ballot, response in zip(implied, record.responses, strict=True)
    )
    missing = (CastVote(turn.agent_id, turn.agent_name or turn.agent_id, None, None) for turn in record.missing)
    return (*votes, *missing)


def own_vote(record: RoundRecord) -> tuple[AnyTurn, ...]:
    """Return the turns of the mode's own deciding vote, such as Oxford's; of several votes in a round, the last one."""
    stages = [turn.stage for turn in record.turns if decides(turn)]
    return tuple(turn for turn in record.turns if turn.stage == stages[-1]) if stages else ()


def own_vote_stage(record: RoundRecord) -> str | None:
    """Return the stage name of the mode's own deciding vote; `None` if there was no such vote."""
    own = own_vote(record)
    return own[0].stage if own else None


def own_vote_options(record: RoundRecord, declared: Sequence[str] = ()) -> tuple[str, ...] | None:
    """Return the options of the mode's own vote in a debate without options; `None` if there is no such vote.

    They are also `None` if the mode declares none, unless the vote has the stage of Oxford's: the mode of a stored
    session may not be installed.

    Args:
        record: The round.
        declared: What the mode declares in `vote_options`.
    """
    own = own_vote_stage(record)
    return None if own is None else tuple(declared) or (VOTE_SIDES if own == LAST_VOTE_STAGE else None)


def _motion_ballots(record: RoundRecord) -> list[AnyTurn]:
    return [turn for turn in record.turns if turn.stage == VOTE_STAGE]


def _first_choice(turn: AnyTurn, decision: Decision | None) -> CastVote:
    """Return the motion that a ballot puts first, by the name under which it was counted; a tie is an abstention."""
    name = turn.agent_name or turn.agent_id
    if turn.outcome == "failed":
        return CastVote(turn.agent_id, name, None, None)
    motions = decision.vote.motions if decision is not None and decision.vote is not None else ()
    counted_as = {joined: motion.name for motion in motions for joined in motion.joined}
    first = first_places(vote_in(turn.agent_id, turn.answer).ballot, str) or ()
    choices = {counted_as.get(option, option) for option in first}
    reasoning = "" if turn.answer.kind in {"plan", "text"} else getattr(turn.answer, "reasoning", "")
    vote = choices.pop() if len(choices) == 1 else None
    return CastVote(turn.agent_id, name, vote, None, reasoning, is_unread=is_unread(turn))


def _vote_of(turn: AnyTurn) -> CastVote:
    name = turn.agent_name or turn.agent_id
    if turn.outcome == "answered" and turn.answer.kind == "ballot":
        return CastVote(
            turn.agent_id, name, turn.answer.choice, None, turn.answer.reasoning, is_unread=turn.answer.is_unread
        )
    return CastVote(turn.agent_id, name, None, None)


def unread_turns(record: RoundRecord) -> tuple[AnyTurn, ...]:
    """Return the turns of a round whose answers or votes count but could not be read with certainty.

    An answer that its agent replaced later does not count, and neither does a vote in which nothing is decided.

    Args:
        record: The round.
    """
    own = own_vote_stage(record)
    counting = {id(response) for response in record.responses}
    return tuple(
        turn
        for turn in record.turns
        if is_unread(turn)
        and (
            turn.stage in {VOTE_STAGE, JUDGE_STAGE, own} or (turn.outcome == "answered" and id(turn.answer) in counting)
        )
    )


def is_unread(turn: AnyTurn) -> bool:
    """Check whether a turn gave an answer or a vote that could not be read with certainty."""
    return turn.outcome == "answered" and not isinstance(turn.answer, PlanAnswer | TextAnswer) and turn.answer.is_unread


def _voters(agent_ids: Iterable[str]) -> tuple[str, ...]:
    """Return a unique name for each ballot: the agent id, with a number from the agent's second answer on."""
    names: list[str] = []
    counts: Counter[str] = Counter()
    for name in agent_ids:
        unused = name
        while unused in names:
            counts[name] += 1
            unused = f"{name} ({counts[name] + 1})"
        names.append(unused)
    return tuple(names)


def _decide_by_rule(
    ballots: Mapping[str, Choice],
    config: DebateConfig,
    options: Sequence[str] | None,
    rules: Registry[Rule] | None,
    *,
    tie: TieRule,
    by_confidence: bool,
    unread: Collection[str],
) -> Decision:
    # Names of camps are compared exactly: `O-` is not `O`. Options are spelt by models.
    normalise: Normalise = "exact" if options is None else "casefold"
    try:
        return decide(
            ballots.values(),
            rule=config.decide,
            tie=tie,
            # What an unread answer says is not known, so it may be as certain as any.
            weights=[1 if voter in unread else ballot.confidence or 0 for voter, ballot in ballots.items()]
            if by_confidence
            else None,
            options=options,
            rules=rules,
            voters=tuple(ballots),
            normalise=normalise,
            unread=unread,
        )
    except (Exception, SystemExit) as error:  # noqa: BLE001  (a rule may be foreign code)
        return _broken_rule(config.decide, error)


def decide_record(
    record: RoundRecord,
    consensus: AnyConsensus | None,
    config: DebateConfig,
    rules: Registry[Rule] | None = None,
    before: Sequence[RoundRecord] = (),
    *,
    tie: TieRule = "declare",
    by_confidence: bool = False,
    vote_options: Sequence[str] = (),
) -> Decision:
    """Return the decision of a round: by its judges if the debate has judges, else by its rule.

    The rule counts the vote on motions, if the round has one. `before` are the earlier rounds, to whose answers the
    answers of this round may refer.

    Without judges, the ballots are those of `cast_votes`. Positions count with their confidence; the votes of a final
    vote and of judges have no confidence and count with 0.5. In a panel of judges, more than half of the judges that
    were asked must agree; a single judge decides alone. The quorum of the debate is about the answers of a stage; the
    engine enforces it, not this function. The rule is looked up in `rules` or, without `rules`, among the built-in
    ones. If the rule raises an error, the decision has no winner and states the error, so that a paid round is
    completed anyway.

    In a debate with options, no option wins only because agents failed: if the votes that they gave last, in an earlier
    round, would overturn the winner, there is none, and the decision states the reason.

    An answer or a vote that was given, but could not be read, counts for no option. If such answers could have
    overturned the outcome, the decision has no winner, and says so. Ties stay ties.

    Debates report ties and give all ballots the same weight. Only an audit passes another `tie` rule, or weights
    ballots `by_confidence`. These have no effect on judges, and confidence has no effect on a vote on motions, which
    states none. The `vote_options` are those that the mode declares for its own vote in a debate without options.
    """
    judges = judges_of(config.decide, rules)
    if judges is not None:
        return _decide_by_judges(record, consensus, config, rules, counted_by=judges.counted_by)
    if config.vote or _motion_ballots(record):
        decision = _decide_by_vote(record, config, rules, before, tie)
        if decision is not None:
            return decision
    votes = cast_votes(record, consensus, options=config.options is not None)
    ballots = [Choice(vote.vote, confidence=vote.said.confidence if vote.said else _UNSTATED) for vote in votes]
    own = own_vote(record)
    voters = _voters(vote.agent_id for vote in votes)
    by_voter = dict(zip(voters, ballots, strict=True))
    unread = frozenset(voter for voter, vote in zip(voters, votes, strict=True) if vote.is_unread)
    options = config.options or own_vote_options(record, vote_options)
    decision = _decide_by_rule(by_voter, config, options, rules, tie=tie, by_confidence=by_confidence, unread=unread)
    if config.options is None and not own and consensus is not None and _is_open(decision, consensus):
        decision = _without_open_lead(decision, consensus)
    if config.options is not None and not own:
        decision = _without_lead_by_failures(
            decision,
            record,
            before,
            lambda known: _decide_by_rule(
                {**by_voter, **known}, config, options, rules, tie=tie, by_confidence=by_confidence, unread=unread
            ),
        )
    if config.vote:
        reason = (
            "This round ended without a vote, so its answers were counted."
            if decision.cast
            else "No vote was held, as nobody gave an answer to vote on."
        )
        decision = decision.model_copy(update={"why": f"{decision.why} {reason}"})
    return decision


def _decide_by_vote(
    record: RoundRecord,
    config: DebateConfig,
    rules: Registry[Rule] | None,
    before: Sequence[RoundRecord],
    tie: TieRule,
) -> Decision | None:
    """Return the decision by the round's vote on motions, or for its only motion; `None` if there is neither."""
    earlier = [turn for debate_round in before for turn in debate_round.turns]
    motions = motions_of(record.turns, config.options, earlier)
    ballots = _motion_ballots(record)
    if ballots:
        votes = [vote_in(turn.agent_id, turn.answer if turn.outcome == "answered" else None) for turn in ballots]
        try:
            unread = [turn.agent_id for turn in ballots if is_unread(turn)]
            return count_vote(motions, votes, rule=config.decide, tie=tie, rules=rules, unread=unread)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (a rule may be foreign code)
            return _broken_rule(config.decide, error)
    if len(motions.motions) == 1 and config.options is None:
        return _decide_unopposed(motions, record, config)
    return None


def _decide_unopposed(motions: Motions, record: RoundRecord, config: DebateConfig) -> Decision:
    """Return the decision for the only motion of a round, which needs no vote."""
    motion = motions.motions[0]
    voters = tuple(
        dict.fromkeys([*(response.agent_id for response in record.responses), *(t.agent_id for t in record.missing)])
    )
    given = {response.agent_id for response in record.responses if response.is_unread}
    unread = tuple(voter for voter in voters if voter in given and voter not in motion.agents)
    abstained = tuple(voter for voter in voters if voter not in motion.agents and voter not in given)
    silent = f"; {listing(abstained)} gave no answer" if abstained else ""
    silent += f"; {unread_in_words(unread)}" if unread else ""
    cause = "all answers say the same, so there is one motion" if len(motion.agents) > 1 else "it is the only answer"
    link = " and" if len(motion.agents) > 1 else ", so"
    why = f"{motion.name} wins: {cause}{link} no vote is needed{silent}."
    # The unread answers may all give another answer, which would then have as many agents.
    is_safe = len(unread) < len(motion.agents)
    if not is_safe:
        why = (
            f"no decision: {motion.name} is the only answer that could be read{silent}, which could change the result."
        )
    return Decision(
        rule=config.decide,
        winners=(motion.name,) if is_safe else (),
        passed=is_safe,
        is_unanimous=not abstained and not unread,
        cast=len(motion.agents),
        voters=voters,
        abstained=abstained,
        unread=unread,
        withheld=None if is_safe else motion.name,
        why=why,
        vote=VoteReport(motions=(motion,)),
    )


def _broken_rule(rule: str, error: BaseException) -> Decision:
    cause = f"{type(error).__name__}: {error_text(error)}"
    logger.warning("the rule %r failed: %s", rule, cause)
    return Decision(rule=rule, why=f"no decision: the rule {rule!r} failed ({cause}).")


def _is_open(decision: Decision, consensus: AnyConsensus) -> bool:
    """Check whether the outcome could change if answers that nobody compared turn out to say the same.

    A rule with other weights than one per agent may prefer an answer other than that of the largest camp. In this case,
    the outcome is open unless every answer outside the largest camp is known to differ from it.
    """
    leads = bool(consensus.clusters) and decision.winner == consensus.clusters[0].theme
    if consensus.is_lead_open or (bool(consensus.not_compared) and decision.winner is not None and not leads):
        return True
    return leads and _may_be_outweighed(decision, consensus)


def _may_be_outweighed(decision: Decision, consensus: AnyConsensus) -> bool:
    """Check whether the smaller camps together may weigh as much as the largest camp, which has won."""
    scores = [decision.scores.get(cluster.theme, 0) for cluster in consensus.clusters]
    if all(score == len(cluster.agent_ids) for score, cluster in zip(scores, consensus.clusters, strict=True)):
        return False  # heads were counted
    unknown = set(consensus.not_compared)
    rivals = [
        score
        for score, cluster in zip(scores[1:], consensus.clusters[1:], strict=True)
        if unknown.intersection(cluster.agent_ids)
    ]
    # Negative scores are logarithms, which do not add up.
    return len(rivals) > 1 and (min(scores) < 0 or sum(rivals) >= scores[0])


def _without_open_lead(decision: Decision, consensus: AnyConsensus) -> Decision:
    """Remove a winner or a tie that could change if answers that nobody compared turn out to say the same."""
    if decision.winner is None and not decision.is_tie:
        return decision
    names = [repr(shortened(cluster.theme, _NAME_CHARS)) for cluster in consensus.clusters[:_MOST_NAMED]]
    more = len(consensus.clusters) - len(names)
    named = listing([*names, f"{more} more"] if more else names)
    counted = "" if decision.winner is None else f" Counted as they are worded, {decision.why}"
    why = f"no decision: it depends on whether {named} say the same, which isn't settled.{counted}"
    return decision.model_copy(update={"winners": (), "passed": False, "is_tie": False, "tied": (), "why": why})


def _without_lead_by_failures(
    decision: Decision,
    record: RoundRecord,
    before: Sequence[RoundRecord],
    recount: Callable[[Mapping[str, Choice]], Decision],
) -> Decision:
    """Remove a winner that has not won any more if the agents that failed in the round keep their last known votes.

    Args:
        decision: The decision over the votes of the round.
        record: The round.
        before: The earlier rounds.
        recount: Counts the votes of the round together with other votes by agent.
    """
    known = [
        (turn, said)
        for turn in record.missing
        if (said := _last_said(turn.agent_id, before)) is not None and said.choice is not None
    ]
    if decision.winner is None or not known:
        return decision
    votes = {turn.agent_id: Choice(said.choice, confidence=said.confidence) for turn, said in known}
    if recount(votes).winner == decision.winner:
        return decision
    by_choice: dict[str | None, list[str]] = {}
    for turn, said in known:
        by_choice.setdefault(said.choice, []).append(turn.agent_name or turn.agent_id)
    had_chosen = listing([f"{listing(names)} had chosen {choice}" for choice, names in by_choice.items()])
    reason = f"{had_chosen} before failing in this round, which could change the result"
    why = f"no decision: {reason}. Counted without them, {decision.why}"
    return decision.model_copy(
        update={"winners": (), "passed": False, "tied": (), "withheld": decision.winner, "why": why}
    )


def _last_said(agent_id: str, rounds: Sequence[RoundRecord]) -> AgentResponse | None:
    """Return the last answer of an agent; `None` if it gave none."""
    answers = (answer for record in reversed(rounds) for answer in reversed(record.responses))
    return next((answer for answer in answers if answer.agent_id == agent_id), None)


def decided_by_judges(record: RoundRecord) -> bool:
    """Check whether the decision of a round counts the votes of its judges, and not those of the debaters.

    The voters of the stored decision tell this even if the plugin of its rule is missing. Decisions of versions before
    0.2.0 name no voters; in their debates, judges decided if there were any.
    """
    judges = set(_voters(turn.agent_id for turn in _judgements(record)))
    return record.decision is not None and bool(judges) and judges.issuperset(record.decision.voters)


def _judgements(record: RoundRecord) -> list[AnyTurn]:
    return [turn for turn in record.turns if turn.stage == JUDGE_STAGE]


def _decide_by_judges(
    record: RoundRecord,
    consensus: AnyConsensus | None,
    config: DebateConfig,
    rules: Registry[Rule] | None,
    *,
    counted_by: str | None,
) -> Decision:
    turns = _judgements(record)
    answers = answers_by_name(record.turns, config.seed)
    clusters = consensus.clusters if consensus else ()
    silent = consensus.abstained if consensus else ()
    themes: dict[str, str | None] = dict.fromkeys(silent)
    themes |= {agent: cluster.theme for cluster in reversed(clusters) for agent in cluster.agent_ids}
    votes: list[str | None] = []
    voters = _voters(turn.agent_id for turn in turns)
    for turn in turns:
        choice = _vote_of(turn).vote
        votes.append(choice if config.options is not None or choice is None else _meaning(answers, themes, choice))
    try:
        decision = decide(
            [Choice(vote, confidence=_UNSTATED) for vote in votes],
            rule=config.decide if counted_by is None else find_rule(counted_by)[0],
            options=config.options,
            normalise="exact" if config.options is None else "casefold",
            quorum=len(votes) // 2 + 1,
            rules=rules,
            voters=voters,
            unread=[voter for voter, turn in zip(voters, turns, strict=True) if is_unread(turn)],
        )
    except (Exception, SystemExit) as error:  # noqa: BLE001  (a rule may be foreign code)
        decision = _broken_rule(config.decide, error)
    judges = "the judge" if len(votes) == 1 else f"{len(votes)} judges"
    count = sum(vote is not None for vote in votes)
    return decision.model_copy(
        update={"rule": config.decide, "why": f"{judges}, {count} of {len(votes)} voted: {decision.why}"}
    )


def _meaning(answers: Mapping[str, Turn], themes: Mapping[str, str | None], choice: str) -> str | None:
    """Return the theme or position of the answer that a judge chose by its name; `None` for an abstention."""
    turn = answers.get(choice)
    if turn is None or turn.answer.kind != "position":
        return None
    if turn.stage == CHAIR_STAGE or turn.agent_id not in themes:
        return turn.answer.position
    return themes[turn.agent_id]


@cache
def _usable_rules(*, vote: bool) -> tuple[str, ...]:
    """List the built-in rules that can count positions, or the ballots of a vote."""
    return tuple(
        entry.name
        for entry in rule_registry()
        if not (vote and entry.thing.judges is not None)
        and not decide(_VOTE_EXAMPLES[entry.thing.form] if vote else _EXAMPLES, rule=entry.thing).invalid
    )


def _rule_name(rule: str | Rule) -> str:
    return rule.name if isinstance(rule, Rule) else rule
