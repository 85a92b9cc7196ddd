"""The audit of a decision: what the decision would be without an agent, by another rule, or before the debate.

The audit uses only the stored answers and ballots; no model is called. It counts the last complete round again several
times, each time with one change. The record shows whether two answers say the same. If nobody compared them, this stays
unknown, and an outcome that depends on it is not known.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias

from roundtable import report
from roundtable.analysis import ballots_of, cast_votes, check_rule, decide_record
from roundtable.analysis.decision import check_stored_vote, decided_by_judges, own_vote_options, own_vote_stage
from roundtable.analysis.findings import DebateFacts
from roundtable.analysis.health import compare_known
from roundtable.core.errors import ConfigurationError, SessionConflict
from roundtable.core.types.answers import BallotAnswer, RankingAnswer
from roundtable.core.types.base import Value
from roundtable.core.types.consensus import Cluster, ConsensusResult
from roundtable.core.types.debate import last_complete
from roundtable.core.types.plan import BASELINE_STAGE, CHAIR_STAGE, JUDGE_STAGE, VOTE_STAGE
from roundtable.results.audit_view import TOO_LARGE, audit_view
from roundtable.scoring import find_rule, open_key, rule_registry
from roundtable.scoring.camps import answers_by_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from roundtable.core.base.registry import Registry
    from roundtable.core.types.agents import AgentConfig
    from roundtable.core.types.answers import AgentResponse, TurnKey
    from roundtable.core.types.consensus import AnyConsensus, Decision
    from roundtable.core.types.debate import DebateConfig, RoundRecord, Turn
    from roundtable.scoring import Rule, TieRule
    from roundtable.scoring.camps import SameOrDifferent

__all__ = ["AuditBasis", "AuditedDebate", "Counterfactual", "DecisionAudit", "NotTried", "audit_decision"]

AuditBasis: TypeAlias = Literal["answers", "vote", "judges"]
"""What the decision counts: the agents' answers, a vote of the agents, or the votes of judges."""

_MOST_READINGS: Final = 256
"""Maximum number of ways to join answers that nobody compared; with more ways, outcomes that depend on them are not
known."""
_MOST_SWITCHES: Final = 500
"""Maximum number of single votes that are tried for another option."""
_MOST_WORK: Final = 25_000
"""Maximum number of ballots in all recounts of one kind; 25 options, or 16 compared pairs, count as one ballot."""


class AuditedDebate(DebateFacts, Protocol):
    """The data of a debate that an audit reads; `DebateResult` satisfies this protocol."""

    @property
    def agents(self) -> tuple[AgentConfig, ...]:
        """Configurations of the agents."""

    @property
    def decision(self) -> Decision | None:
        """Outcome of the decision rule over the last complete round."""

    @property
    def answer_source(self) -> str:
        """Where the answer comes from."""


class Counterfactual(Value):
    """The outcome with one change."""

    change: str
    """The change, in words."""
    agent_id: str | None = None
    """Id of the agent whose ballot is left out or changed."""
    option: str | None = None
    """Option that this agent votes for instead."""
    rule: str | None = None
    """Name of the rule that is applied instead."""
    winner: str | None = None
    """The winner; `None` if there is none, or if it is not known."""
    tied: tuple[str, ...] = ()
    """Options tied for the lead."""
    is_known: bool = True
    """Whether the winner is certain: it is the same whether or not answers that nobody compared say the same."""
    differs: bool | None
    """Whether the winner differs from the decision's winner; `None` if this is not known."""
    why: str = ""
    """The outcome in words, if answers that nobody compared count as different; empty for a changed vote."""


class NotTried(Value):
    """A change that this debate does not allow."""

    change: str
    """The change, in words; for a rule, the rule's name."""
    reason: str
    """Why the change is not tried."""


class DecisionAudit(Value):
    """What a decision depends on: its outcome with one change at a time.

    `print(audit)` shows the audit in a few lines; notebooks show a table.
    """

    session_id: str
    """Session id."""
    topic: str
    """The question."""
    basis: AuditBasis
    """What the decision counts."""
    rule: str
    """Decision rule of the debate, with its parameters."""
    winner: str | None
    """Winner of the decision."""
    tied: tuple[str, ...] = ()
    """Options tied for the lead."""
    is_known: bool = True
    """Whether the decision is certain: it is the same whether or not answers that nobody compared say the same. If it
    is not certain, `differs` is `None` everywhere."""
    why: str = ""
    """The decision in words."""
    notes: tuple[str, ...] = ()
    """Notes that help to understand the audit."""
    fragile: bool | None
    """Whether a single ballot changes the winner if it is left out or cast for another option; `None` if not known."""
    pivotal: tuple[str, ...] = ()
    """Ids of the agents whose ballots decide: without one of these agents, the winner is different."""
    without: tuple[Counterfactual, ...] = ()
    """For each agent, the outcome without this agent, in the order of the ballots; see also `not_tried`."""
    switches: tuple[Counterfactual, ...] = ()
    """Single votes for another option that change the winner, or may change it."""
    switches_tried: int | None = None
    """Number of single votes for other options that were tried; `None` if none were tried, see `not_tried`."""
    rules: tuple[Counterfactual, ...] = ()
    """The outcome under each rule that can count these ballots."""
    ties: tuple[Counterfactual, ...] = ()
    """The outcome under each tie rule, if the options have an order: a tie is declared, or the first option wins it."""
    weighted: Counterfactual | None = None
    """The outcome with each ballot weighted by its stated confidence."""
    first_round: Counterfactual | None = None
    """The outcome if the debate had ended after its first round."""
    independent: Counterfactual | None = None
    """The outcome of the private answers before the first round. If there are none, the answers of `first_round` may be
    independent."""
    not_tried: tuple[NotTried, ...] = ()
    """Changes that this debate does not allow."""

    def to_text(self) -> str:
        """Render as plain text."""
        return report.to_text(audit_view(self))

    def to_markdown(self) -> str:
        """Render as Markdown; text of agents is escaped."""
        return report.to_markdown(audit_view(self))

    def to_html(self) -> str:
        """Render as an HTML fragment without scripts; text of agents is escaped."""
        return report.to_fragment(audit_view(self))

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return report.render_within(audit_view(self), report.to_fragment)

    def _repr_markdown_(self) -> str:
        return report.render_within(audit_view(self), report.to_markdown)


def audit_decision(
    result: AuditedDebate, rules: Registry[Rule] | None = None, *, vote_options: Sequence[str] = ()
) -> DecisionAudit:
    """Audit the decision of a debate; see `DebateResult.audit`.

    Args:
        result: The debate.
        rules: Registry in which rules are looked up; the built-in rules if omitted.
        vote_options: Options of the mode's own vote in a debate without options.

    Raises:
        SessionConflict: There is no decision to audit, or a recount does not confirm the stored decision.
        ConfigurationError: The rule of the debate is not in `rules`.
    """
    if result.config.team is not None:
        hint = "Audit a debate instead: a team does not use a decision rule."
        raise SessionConflict("a team conversation has no decision to audit", hint=hint)
    last = last_complete(result.rounds)
    if last is None or result.decision is None:
        reason = "no round was completed" if last is None else "no decision rule was applied"
        hint = "Complete a round first: resume the session, then audit it."
        raise SessionConflict(f"the debate has no decision to audit: {reason}", hint=hint)
    try:
        find_rule(result.config.decide, rules)
    except ConfigurationError as error:
        hint = "Pass a registry that has the rule: result.audit(rules=...)."
        raise ConfigurationError(error.message, hint=hint, cause=error) from error
    return _Audit(result, last, result.decision, rules, vote_options).run()


_Partition: TypeAlias = tuple[tuple[str, ...], ...]
"""Groups of joined camps; in each group, the largest camp comes first."""


@dataclass(frozen=True, slots=True)
class _Ballots:
    """The ballots of one round."""

    record: RoundRecord
    """The round, with all changes applied."""
    camps: tuple[str | None, ...] = ()
    """For an open question, the camp of each answer; `None` for an abstention."""
    partitions: tuple[_Partition, ...] | None = ((),)
    """The ways to join camps that nobody found to be different; the first way joins none. `None` if there are too
    many."""
    is_open: bool = False
    """Whether ballots are cast for camps."""


class _Outcome(NamedTuple):
    decision: Decision
    winner: str | None
    is_known: bool
    differs: bool | None

    def to_counterfactual(
        self, change: str, *, agent: str | None = None, option: str | None = None, rule: str | None = None
    ) -> Counterfactual:
        return Counterfactual(
            change=change,
            agent_id=agent,
            option=option,
            rule=rule,
            winner=self.winner,
            tied=self.decision.tied if self.is_known and self.decision.is_tie else (),
            is_known=self.is_known,
            differs=self.differs,
            why="" if option is not None else self.decision.why,
        )


class _Audit:
    """Counts the ballots of a debate again, once for each change.

    Args:
        result: The debate.
        last: The last complete round of the debate.
        decision: The decision of that round.
        rules: Registry of rules.
        vote_options: Options of the mode's own vote in a debate without options.
    """

    def __init__(
        self,
        result: AuditedDebate,
        last: RoundRecord,
        decision: Decision,
        rules: Registry[Rule] | None,
        vote_options: Sequence[str],
    ) -> None:
        self.result, self.last, self.decision = result, last, decision
        self.rules, self.vote_options = rules, vote_options
        self.decide = partial(decide_record, rules=rules, vote_options=vote_options)
        self.config: DebateConfig = result.config
        self.before = [debate_round for debate_round in result.rounds if debate_round.number < last.number]
        self.known = answers_by_turn(turn for debate_round in result.rounds for turn in debate_round.turns)
        self.names = {agent.id: agent.name for agent in result.agents}
        self.names |= {turn.agent_id: turn.agent_name or turn.agent_id for turn in last.turns}
        self.stage = _stage_of(last)
        self.own_stage = own_vote_stage(last)
        self.ballots = self._ballots_of(last, last.consensus)
        self.not_tried: list[NotTried] = []
        self.is_known = True
        """Whether the decision itself is certain; set after it was counted again."""

    def run(self) -> DecisionAudit:
        """Return the audit."""
        base = self._count(self.ballots)
        confirmed = not base.is_known or self._is_same(base.decision)
        if not confirmed and not self._was_withheld():
            # Another version or another rule made the decision, so every comparison with it would be wrong.
            stored, counted = (repr(name) if name else "nobody" for name in (self.decision.winner, base.winner))
            msg = f"a recount does not confirm the stored decision: {stored} won, the recount gives {counted}"
            hint = "Another rule or version made the decision. Decide again first: Results([result]).redecide(rule)[0]."
            raise SessionConflict(msg, hint=hint)
        self.is_known = base.is_known and confirmed
        without = self._without()
        switches, tried = self._switches()
        is_complete = tried is not None and len(without) == len(self._voters)
        return DecisionAudit(
            session_id=self.result.session_id,
            topic=self.result.topic,
            basis=_basis_of(self.stage),
            rule=self.config.decide,
            winner=self.decision.winner,
            tied=self.decision.tied if self.decision.is_tie else (),
            is_known=self.is_known,
            why=self.decision.why,
            notes=tuple(self._notes()),
            fragile=_any_differs((*without, *switches), complete=is_complete),
            pivotal=tuple(row.agent_id for row in without if row.differs and row.agent_id is not None),
            without=without,
            switches=switches,
            switches_tried=tried,
            rules=tuple(self._rules()),
            ties=tuple(self._ties()),
            weighted=self._weigh_by_confidence(),
            first_round=self._first_round(),
            independent=self._independent(),
            not_tried=tuple(self.not_tried),
        )

    def _count(
        self,
        ballots: _Ballots,
        config: DebateConfig | None = None,
        *,
        before: Sequence[RoundRecord] | None = None,
        tie: TieRule = "declare",
        by_confidence: bool = False,
        is_same: Callable[[Decision], bool | None] | None = None,
    ) -> _Outcome:
        """Count ballots for each way in which answers may say the same, until the outcome is known to be uncertain."""
        compare, rounds = is_same or self._is_same, self.before if before is None else before
        decide = partial(self.decide, before=rounds, tie=tie, by_confidence=by_confidence)
        first: Decision | None = None
        winners: set[str | None] = set()
        verdicts: set[bool | None] = set()
        for consensus in self._readings(ballots):
            decision = decide(ballots.record, consensus, config or self.config)
            first = first or decision
            winners.add(decision.winner)
            verdicts.add(compare(decision))
            if len(verdicts) > 1:
                break
        assert first is not None  # noqa: S101  (there is always at least one way)
        is_known = len(winners) == 1 and ballots.partitions is not None
        settled = self.is_known and len(verdicts) == 1 and ballots.partitions is not None
        verdict = next(iter(verdicts)) if settled else None
        return _Outcome(first, first.winner if is_known else None, is_known, None if verdict is None else not verdict)

    def _is_same(self, decision: Decision) -> bool:
        """Check whether a decision over the same answers has the same winner; joined motions count as one."""
        ours, others = _names_of_winner(self.decision), _names_of_winner(decision)
        if self.result.config.options is None:
            # If an agent is left out, another agent's wording of the same answer may remain.
            ours, others = {open_key(name) for name in ours}, {open_key(name) for name in others}
        return bool(ours & others) if ours and others else not ours and not others

    def _was_withheld(self) -> bool:
        """Check whether the round has no winner because answers were not compared, though each reading has the same.

        Rules with weights are withheld if the largest camp is not known, even if the weights would settle the winner.
        """
        if self.decision.winner is not None:
            return False
        return self._is_same(self.decide(self.last, self.last.consensus, self.config, before=self.before))

    def _readings(self, ballots: _Ballots) -> Iterator[AnyConsensus | None]:
        if not ballots.is_open:
            yield ballots.record.consensus
            return
        single = (tuple((camp,) for camp in dict.fromkeys(ballots.camps) if camp is not None),)
        abstained = ballots.record.consensus.abstained if ballots.record.consensus else ()
        for partition in single if ballots.partitions is None else ballots.partitions:
            name_of = {camp: self._name(joined) for joined in partition for camp in joined}
            members: dict[str, list[int]] = {}
            for index, camp in enumerate(ballots.camps):
                if camp is not None:
                    members.setdefault(name_of.get(camp, camp), []).append(index)
            yield _consensus(members, ballots.record.responses, abstained)

    def _name(self, joined: Sequence[str]) -> str:
        """Return the name of joined camps: the winner's name if it is among them, else the largest camp's name."""
        return self.decision.winner if self.decision.winner in joined and self.decision.winner else joined[0]

    def _ballots_of(self, record: RoundRecord, consensus: AnyConsensus | None) -> _Ballots:
        has_vote = any(turn.stage in {VOTE_STAGE, own_vote_stage(record)} for turn in record.turns)
        if self.config.options is not None or (has_vote and self.stage != JUDGE_STAGE):
            return _Ballots(record)
        camps = ballots_of(record.responses, consensus, "cluster")
        record = record.model_copy(update={"consensus": consensus})
        partitions = _partitions(camps, _different_pairs(record, camps, self.known), consensus)
        return _Ballots(record, camps, partitions, is_open=True)

    # One ballot less, or for another option

    @cached_property
    def _voters(self) -> list[str]:
        """Ids of the agents that could vote."""
        if self.stage is not None:
            return list(dict.fromkeys(turn.agent_id for turn in self.last.turns if turn.stage == self.stage))
        speakers = [response.agent_id for response in self.last.responses]
        return list(dict.fromkeys([*speakers, *(turn.agent_id for turn in self.last.missing)]))

    def _without(self) -> tuple[Counterfactual, ...]:
        """Return the outcome without each agent; nothing if there are too many."""
        if not self._can_recount("one ballot less", len(self._voters)):
            return ()
        outcomes = [(agent, self._count(self._without_agent(agent))) for agent in self._voters]
        names = self.names
        return tuple(row.to_counterfactual(f"without {names.get(who, who)}", agent=who) for who, row in outcomes)

    def _can_recount(self, change: str, times: int) -> bool:
        """Check whether the ballots can be counted this many times; if not, the change is skipped."""
        options = len(self._options)
        is_ranking = find_rule(self.config.decide, self.rules)[0].form == "ranking"
        work = times * (len(self._voters) + options // 25 + (options**2 // 16 if is_ranking else 0))
        if work > _MOST_WORK:
            self._skip(change, f"there are too many ballots or options for {times} recounts")
        return work <= _MOST_WORK

    def _without_agent(self, agent: str) -> _Ballots:
        """Return the ballots without an agent's ballots; the answers that a separate vote is about remain."""
        ballots, stage = self.ballots, self.stage
        turns = tuple(
            turn
            for turn in ballots.record.turns
            if turn.agent_id != agent or (turn.stage == CHAIR_STAGE if stage is None else turn.stage != stage)
        )
        record = ballots.record.model_copy(update={"turns": turns})
        if stage is not None or not ballots.is_open:
            return replace(ballots, record=record)
        speakers = [response.agent_id for response in ballots.record.responses]
        camps = tuple(camp for camp, speaker in zip(ballots.camps, speakers, strict=True) if speaker != agent)
        return replace(ballots, record=record, camps=camps)

    def _switches(self) -> tuple[tuple[Counterfactual, ...], int | None]:
        """Return the votes for other options that change or may change the winner, and how many were tried, if any."""
        if self.stage == JUDGE_STAGE and self.config.options is None:
            self._skip("one vote for another option", "judges vote for answers, not for options")
            return (), None
        kinds = {
            turn.answer.kind for turn in self.last.turns if turn.stage == VOTE_STAGE and turn.outcome == "answered"
        }
        if kinds & {"approval", "scores"}:
            self._skip("one vote for another option", "a ballot of approvals or scores has no single option to replace")
            return (), None
        options, current = self._options, self._current_votes()
        pairs = [(agent, option) for agent, option in product(current, options) if current[agent] != option]
        if len(pairs) > _MOST_SWITCHES:
            self._skip("one vote for another option", f"there are more than {_MOST_SWITCHES} such votes")
            return (), None
        if not self._can_recount("one vote for another option", len(pairs)):
            return (), None
        rows = (
            self._count(self._with_other_option(agent, option)).to_counterfactual(
                f"{self.names.get(agent, agent)} for {option}", agent=agent, option=option
            )
            for agent, option in pairs
        )
        return tuple(row for row in rows if row.differs is not False), len(pairs)

    @cached_property
    def _options(self) -> tuple[str, ...]:
        """The options, or what the answers say."""
        if self.decision.vote is not None:
            return tuple(motion.name for motion in self.decision.vote.motions)
        if self.ballots.is_open:
            return tuple(dict.fromkeys(camp for camp in self.ballots.camps if camp is not None))
        if (options := self.config.options or own_vote_options(self.last, self.vote_options)) is not None:
            return options
        votes = cast_votes(self.last, self.last.consensus, options=False)
        return tuple(dict.fromkeys(vote.vote for vote in votes if vote.vote is not None))

    def _current_votes(self) -> dict[str, str | None]:
        """Return each agent's option, for readable ballots; `None` for an abstention or several options."""
        if self.stage is None:
            by_choice = self.config.options is not None
            votes = cast_votes(self.last, self.last.consensus, options=by_choice)
            return {vote.agent_id: vote.vote for vote in votes if vote.said is not None}
        answers = {
            turn.agent_id: turn.answer
            for turn in self.last.turns
            if turn.stage == self.stage and turn.outcome == "answered"
        }
        if self.stage == JUDGE_STAGE:
            return {judge: ballot.choice for judge, ballot in answers.items() if isinstance(ballot, BallotAnswer)}
        votes = cast_votes(self.last, self.last.consensus, options=self.config.options is not None)
        return {vote.agent_id: vote.vote for vote in votes if vote.agent_id in answers}

    def _with_other_option(self, agent: str, option: str) -> _Ballots:
        """Return the ballots with one agent's ballot changed to another option, which moves to the top of a ranking."""
        ballots = self.ballots
        if ballots.is_open:
            speakers = [response.agent_id for response in ballots.record.responses]
            camps = (
                option if speaker == agent else camp for camp, speaker in zip(ballots.camps, speakers, strict=True)
            )
            return replace(ballots, camps=tuple(camps))
        turns = tuple(
            _with_vote(turn, option)
            if turn.outcome == "answered" and turn.agent_id == agent and self._is_ballot(turn)
            else turn
            for turn in ballots.record.turns
        )
        return replace(ballots, record=ballots.record.model_copy(update={"turns": turns}))

    def _is_ballot(self, turn: Turn) -> bool:
        if self.stage is None:
            return turn.answer.kind == "position" and turn.stage not in {CHAIR_STAGE, BASELINE_STAGE}
        return turn.stage == self.stage

    # The same ballots, counted otherwise

    def _rules(self) -> Iterator[Counterfactual]:
        ballots = self._ballots_of_rules()
        vote_turns = [turn for turn in ballots.record.turns if turn.stage == VOTE_STAGE]
        kinds = sorted({turn.answer.kind for turn in vote_turns if turn.outcome == "answered"})
        own = find_rule(self.config.decide, self.rules)[0].name
        for entry in rule_registry() if self.rules is None else self.rules:
            if entry.thing.judges is not None:
                continue
            name = self.config.decide if entry.thing.name == own else entry.name
            try:
                check_rule(name, self.rules, vote=bool(vote_turns))
                check_stored_vote(name, kinds, self.rules)
            except ConfigurationError as error:
                self._skip(name, error.message)
                continue
            if reason := self._exceeds(entry.thing):
                self._skip(name, reason)
                continue
            outcome = self._count(ballots, self.config.model_copy(update={"decide": name}))
            if not outcome.decision.voters or outcome.decision.invalid.keys() - self.decision.invalid.keys():
                self._skip(name, outcome.decision.why)
                continue
            yield outcome.to_counterfactual(f"by {name}", rule=name)

    def _exceeds(self, rule: Rule) -> str:
        """Return why there are too many options or ballots for a rule; empty if there are not."""
        count = len(self._options)
        if rule.most_options is not None and count > rule.most_options:
            return f"{TOO_LARGE}the rule counts at most {rule.most_options}, and there are {count}"
        return f"{TOO_LARGE}there are {count} for so many ballots" if count * len(self._voters) > _MOST_WORK else ""

    def _ballots_of_rules(self) -> _Ballots:
        """Return the ballots that rules count; if judges decided, these are the answers that they judged."""
        if self.stage != JUDGE_STAGE or self.config.options is None:
            return self.ballots
        return _Ballots(self.last)

    def _ties(self) -> Iterator[Counterfactual]:
        if self.stage == JUDGE_STAGE:
            self._skip("ties go to the first option", "judges decide by a majority, which cannot tie")
            return
        if self.ballots.is_open:
            self._skip("ties go to the first option", "the answers have no order except the order of the agents")
            return
        yield self._count(self.ballots).to_counterfactual("ties are declared")
        yield self._count(self.ballots, tie="first").to_counterfactual("ties go to the first option")

    def _weigh_by_confidence(self) -> Counterfactual | None:
        if self.stage is not None:
            self._skip("votes weighted by confidence", "ballots of a separate vote state no confidence")
            return None
        if any(response.confidence is None for response in self.last.as_stated.responses):
            self._skip("votes weighted by confidence", "some answers state no confidence")
            return None
        return self._count(self.ballots, by_confidence=True).to_counterfactual("votes weighted by confidence")

    # Answers of an earlier time

    def _first_round(self) -> Counterfactual | None:
        first = self.result.rounds[0]
        if first.number == self.last.number or not first.complete:
            self._skip("the first round only", "the debate has one complete round")
            return None
        is_vote = self.stage is not None and self.stage in {JUDGE_STAGE, self.own_stage}
        if is_vote and not any(turn.stage == self.stage for turn in first.turns):
            self._skip("the first round only", "the decision is a vote, but nobody voted on these answers")
            return None
        answers = [turn for turn in first.turns if turn.outcome == "answered" and turn.answer.kind == "position"]
        alone = [turn.independent for turn in answers if turn.stage not in {BASELINE_STAGE, CHAIR_STAGE}]
        note = ", whose answers are independent" if alone and all(alone) else ""
        return self._earlier(first, first.consensus, f"the first round only{note}")

    def _independent(self) -> Counterfactual | None:
        first = self.result.rounds[0]
        private = [turn for turn in first.turns if turn.stage == BASELINE_STAGE]
        if not private:
            self._skip("private answers before the debate", "the debate was run without baseline=True")
            return None
        if self.stage is not None and self.stage in {JUDGE_STAGE, self.own_stage}:
            self._skip("private answers before the debate", "the decision is a vote, but nobody voted on these answers")
            return None
        # In another stage they count as answers. They contain no comparisons, because no agent had seen another answer.
        turns = tuple(turn.model_copy(update={"stage": "independent"}) for turn in private)
        record = first.model_copy(update={"turns": turns, "consensus": first.baseline})
        return self._earlier(record, first.baseline, "private answers before the debate")

    def _earlier(self, record: RoundRecord, consensus: AnyConsensus | None, change: str) -> Counterfactual:
        """Return the outcome of earlier answers, which may be worded differently."""
        ballots = self._ballots_of(record, consensus)
        relation = _Relation(self.result, (record, self.last), self.decision, self.known)
        outcome = self._count(ballots, before=(), is_same=relation.is_same)
        return outcome.to_counterfactual(change)

    # Words

    def _skip(self, change: str, reason: str) -> None:
        self.not_tried.append(NotTried(change=change, reason=reason))

    def _notes(self) -> Iterator[str]:
        source = self.result.answer_source
        if source == "judge" and self.stage != JUDGE_STAGE:
            yield "The chair gave the answer. This audit covers the vote on the answers before it."
        if source == "synthesis":
            yield "The answer is from the synthesis. This audit covers the decision, which has no winner."
        if self.stage == JUDGE_STAGE:
            yield "Judges decided. The other rules count the answers that they judged."
        if self.stage not in {None, JUDGE_STAGE}:
            yield "Without an agent means without its ballot: others can still vote for its motion."
        if self.decision.withheld is not None and self.decision.unread:
            yield f"{self.decision.withheld} does not win, because answers that could not be read could change that."
        if not self.is_known:
            yield "The decision depends on whether answers that nobody compared say the same."


class _Relation:
    """Checks whether the winner among earlier answers is the same as the winner of the decision.

    Args:
        result: The debate.
        rounds: The round with the earlier answers, and the round of the decision.
        decision: The decision.
        known: All answers by turn.
    """

    def __init__(
        self,
        result: AuditedDebate,
        rounds: tuple[RoundRecord, RoundRecord],
        decision: Decision,
        known: Mapping[TurnKey, AgentResponse],
    ) -> None:
        self.rounds, self.decision, self.known = rounds, decision, known
        self.by_choice = result.config.options is not None

    def is_same(self, decision: Decision) -> bool | None:
        """Check whether the winners are the same; `None` if nobody compared them."""
        if decision.winner is None or self.decision.winner is None:
            return decision.winner is self.decision.winner
        ours, others = _names_of_winner(self.decision), _names_of_winner(decision)
        if self.by_choice:
            return bool(ours & others)
        if {open_key(name) for name in ours} & {open_key(name) for name in others}:
            return True
        earlier, later = self._backers(decision, 0), self._backers(self.decision, 1)
        verdicts = {self.verdicts.get((0, old), {}).get((1, new)) for old, new in product(earlier, later)} - {None}
        return verdicts.pop() == "same" if len(verdicts) == 1 else None

    def _backers(self, decision: Decision, index: int) -> set[str]:
        names = _names_of_winner(decision)
        if decision.vote is not None:
            return {agent for motion in decision.vote.motions if motion.name in names for agent in motion.agents}
        record = self.rounds[index]
        clusters = record.consensus.clusters if record.consensus else ()
        return {agent for cluster in clusters if cluster.theme in names for agent in cluster.agent_ids}

    @cached_property
    def verdicts(self) -> Mapping[tuple[int, str], Mapping[tuple[int, str], SameOrDifferent]]:
        """Whether answers of both rounds say the same, by index of the round and agent."""
        placed = {
            (index, response.agent_id): response
            for index, record in enumerate(self.rounds)
            for response in record.responses
        }
        return compare_known(placed, self.known, self.rounds)


def _stage_of(record: RoundRecord) -> str | None:
    """Return the stage that contains the ballots of a decision; `None` if the positions are the ballots."""
    if decided_by_judges(record):
        return JUDGE_STAGE
    stages = {turn.stage for turn in record.turns}
    return VOTE_STAGE if VOTE_STAGE in stages else own_vote_stage(record)


def _basis_of(stage: str | None) -> AuditBasis:
    if stage is None:
        return "answers"
    return "judges" if stage == JUDGE_STAGE else "vote"


def _names_of_winner(decision: Decision) -> set[str]:
    """Return the names of the winner and of the motions that were joined with it; an empty set without a winner."""
    if decision.winner is None:
        return set()
    motions = decision.vote.motions if decision.vote else ()
    joined = [name for motion in motions if motion.name == decision.winner for name in motion.joined]
    return {decision.winner, *joined}


def _any_differs(rows: Iterable[Counterfactual], *, complete: bool) -> bool | None:
    """Check whether a change of one ballot changes the winner; `None` if a change that is untried or uncertain may."""
    verdicts = {row.differs for row in rows}
    if True in verdicts:
        return True
    return False if complete and None not in verdicts else None


def _with_vote(turn: Turn, option: str) -> Turn:
    """Return a turn whose ballot or position is for another option."""
    answer = turn.answer
    if isinstance(answer, RankingAnswer):
        groups = (tuple(name for name in group if name != option) for group in answer.ranking)
        changes: dict[str, object] = {"ranking": ((option,), *filter(None, groups))}
    else:
        changes = {"choice": option}
    changed = answer.model_copy(update=changes)
    return turn.model_copy(update={"result": turn.result.model_copy(update={"answer": changed})})


def _consensus(
    members: Mapping[str, Sequence[int]], responses: Sequence[AgentResponse], abstained: tuple[str, ...]
) -> ConsensusResult:
    """Return the consensus that a round would have if its answers were divided into these camps."""
    clusters = (
        Cluster(
            theme=name,
            agent_ids=tuple(dict.fromkeys(responses[index].agent_id for index in indices)),
            answers=tuple(indices),
        )
        for name, indices in sorted(members.items(), key=lambda item: (-len(item[1]), item[0]))
    )
    speakers = {response.agent_id for response in responses}
    silent = tuple(agent for agent in abstained if agent in speakers)
    return ConsensusResult(agreement_level=0.0, agreement_at_most=1.0, clusters=tuple(clusters), abstained=silent)


def _different_pairs(
    record: RoundRecord, camps: Sequence[str | None], known: Mapping[TurnKey, AgentResponse]
) -> set[frozenset[str]]:
    """Return the pairs of camps with answers that somebody found to be different."""
    placed = {(0, response.agent_id): response for response in record.responses}
    camp_of = {response.agent_id: camp for response, camp in zip(record.responses, camps, strict=True)}
    apart: set[frozenset[str]] = set()
    for (_, agent), verdicts in compare_known(placed, known, (record,)).items():
        for (_, other_agent), verdict in verdicts.items():
            first, second = camp_of[agent], camp_of[other_agent]
            if verdict == "different" and first is not None and second is not None and first != second:
                apart.add(frozenset((first, second)))
    return apart


def _partitions(
    camps: Sequence[str | None], apart: set[frozenset[str]], consensus: AnyConsensus | None
) -> tuple[_Partition, ...] | None:
    """Return the ways to join camps that may say the same; the first way joins none. `None` if there are too many.

    The round was measured when it ended. If the measurement found that the lead is certain, no joined camps can reach
    the size of the leading camp. If the lead is certain but there is no leader, all camps were found to be different.
    """
    sizes = Counter(camp for camp in camps if camp is not None)
    names = sorted(sizes, key=lambda camp: (-sizes[camp], camp))
    separate: _Partition = tuple((name,) for name in names)
    most = len(camps) + 1
    if consensus is None or not consensus.is_lead_open:
        has_leader = len(names) > 1 and sizes[names[0]] > sizes[names[1]]
        if not has_leader:
            return (separate,)
        most = sizes[names[0]]
    partitions: list[_Partition] = []
    for partition in _divisions(names, apart, lambda block: block[0] == names[0] or _size(block, sizes) < most):
        partitions.append(partition)
        if len(partitions) > _MOST_READINGS:
            return None
    return tuple(partitions)


def _size(block: Iterable[str], sizes: Mapping[str, int]) -> int:
    return sum(sizes[name] for name in block)


def _divisions(
    names: Sequence[str], apart: set[frozenset[str]], may_be: Callable[[Sequence[str]], bool]
) -> Iterator[_Partition]:
    """Yield the ways to divide names into blocks without two different camps; in the first way, all are single."""

    def extend(blocks: tuple[tuple[str, ...], ...], remaining: Sequence[str]) -> Iterator[_Partition]:
        if not remaining:
            yield blocks
            return
        name, left = remaining[0], remaining[1:]
        yield from extend((*blocks, (name,)), left)
        for index, block in enumerate(blocks):
            joined = (*block, name)
            if all(frozenset((name, member)) not in apart for member in block) and may_be(joined):
                yield from extend((*blocks[:index], joined, *blocks[index + 1 :]), left)

    return extend((), names)
