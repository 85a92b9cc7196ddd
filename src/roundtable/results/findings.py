"""The findings of a debate in words, for reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable.analysis.decision import decided_by_judges, own_vote_stage, unread_turns
from roundtable.core.base.words import amount, counted, listing
from roundtable.core.types.debate import last_complete, status_in_words
from roundtable.core.types.plan import JUDGE_STAGE, VOTE_STAGE
from roundtable.report import PairTable
from roundtable.report.view import short_name
from roundtable.scoring import VOTES, Approval, first_places
from roundtable.scoring.motions import MOST_MOTIONS, vote_in
from roundtable.scoring.numbers import exact
from roundtable.scoring.swing import first_votes, last_votes, vote_swing
from roundtable.scoring.unread import unread_in_words as names_of_unread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from roundtable.analysis.movement import OpinionFlow
    from roundtable.core.types.answers import AgentResponse
    from roundtable.core.types.debate import RoundRecord
    from roundtable.results.debate_result import DebateResult

__all__ = [
    "advice_in_words",
    "agent_names",
    "answer_note",
    "finding_lines",
    "head_to_head",
    "how_it_came_about",
    "interim_mark",
    "is_stopped",
    "missing_agents",
    "swing_in_words",
    "synthesis_parts",
    "unread_in_words",
]

_ANSWER_CHARS: Final = 60
"""Maximum length of an answer within a line of findings."""
_MOST_NAMED: Final = 5
"""Maximum number of agents that a line of findings names."""

_SOURCES: Final = {
    "option": "the rule, over the options chosen",
    "cluster": "the rule, over positions that say the same",
    "judge": "the votes of judges",
    "vote": "the votes of the debaters on motions",
}

_ADVICE: Final[Mapping[str, str]] = {
    "proceed": "You can proceed",
    "verify": "Verify this before you rely on it",
    "query_detail": "Look at the details before you rely on it",
}
_ADVICE_WITHOUT_ANSWER: Final = "Compare the positions yourself"
"""Advice for a debate without an answer."""

_NO_VOTE: Final[Mapping[_NoVote, tuple[str, str]]] = {
    "several": ("without a single choice", "without a single choice"),
    "abstained": ("abstains", "abstain"),
    "unread": ("could not be read", "could not be read"),
    "failed": ("did not vote", "did not vote"),
}


def agent_names(result: DebateResult, agents: Iterable[str]) -> tuple[str, ...]:
    """Return the display names of agents by their ids."""
    names = {agent.id: agent.name for agent in result.agents}
    return tuple(names.get(agent, agent) for agent in agents)


def is_stopped(result: DebateResult) -> bool:
    """Check whether somebody stopped the debate early and for good."""
    reason = None if result.exit is None else result.exit.reason
    return status_in_words(result.session_status, reason) == "stopped"


def interim_mark(result: DebateResult) -> str:
    """Return the prefix for a decision that later rounds may still change; an empty text after the last round."""
    complete = sum(record.complete for record in result.rounds)
    has_ended = result.session_status == "completed" or (result.session_status == "active" and result.exit is not None)
    if has_ended or not 0 < complete < result.total_rounds:
        return ""
    return f"Interim, after round {complete} of {result.total_rounds}: "


def missing_agents(result: DebateResult) -> tuple[str, ...]:
    """Return the ids of the agents that failed and gave no answer, in the whole debate or in the last round."""
    last = {turn.agent_id for turn in result.rounds[-1].missing} if result.rounds else set()
    silent = {entry.agent_id for entry in result.roster.agents if entry.failed and not entry.answered}
    return tuple(agent.id for agent in result.agents if agent.id in last | silent)


def unread_in_words(result: DebateResult) -> str:
    """Return in one line whose answers in the last complete round could not be read; empty if all could be read.

    If an option would win without these answers, but they could have overturned it, the line names it.
    """
    last = last_complete(result.rounds)
    turns = () if last is None else unread_turns(last)
    if not turns:
        return ""
    names = tuple(dict.fromkeys(turn.agent_name or turn.agent_id for turn in turns))
    decision = result.decision
    so = ""
    # An option is also withheld if agents failed that had chosen another one; its reason then says so.
    is_cause = decision is not None and f"{names_of_unread(decision.unread)}, which could change" in decision.why
    if decision is not None and decision.withheld is not None and is_cause:
        votes = len(decision.voters) - len(decision.abstained) - len(decision.invalid)
        score = decision.scores.get(decision.withheld, 0)
        share = f", with {score:g} of {counted(votes, 'vote')}," if result.declared.score == VOTES else ""
        so = f", so that {_short(decision.withheld)}{share} is not the answer"
    return f"{counted(len(turns), 'answer')} could not be read: {listing(names)}{so}."


def answer_note(result: DebateResult) -> str:
    """Return a note on an answer that is not the decision's winner, with the decision; empty if it is the winner."""
    decision = "no decision" if result.decision is None else result.decision.why
    if result.answer_source == "synthesis" and result.team is None:
        return f"From the synthesis: {decision}"
    last = last_complete(result.rounds)
    if result.answer_source == "judge" and not (last and decided_by_judges(last)):
        return f"The chair gave the answer. A vote on the answers before it: {decision}"
    return ""


def finding_lines(result: DebateResult) -> Iterator[tuple[str, str]]:
    """Yield a label and a line for each finding."""
    if result.answer is not None and result.team is None:
        yield "Answer from", answer_note(result) or _SOURCES[result.answer_source]
    vote = None if result.decision is None else result.decision.vote
    if vote is not None and result.config.options is None:
        motions = (f"{motion.name} ({', '.join(agent_names(result, motion.agents))})" for motion in vote.motions)
        yield "Motions, with the agents that proposed them", "; ".join(motions)
    if result.votes:
        yield "Votes", _votes(result)
    if vote is not None and vote.warnings:
        yield "Not counted in the vote", "; ".join(vote.warnings)
    if result.consensus is not None and result.consensus.causes:
        yield "Why measured this way", "; ".join(result.consensus.causes)
    if result.consensus is not None and result.consensus.warnings:
        yield "Not counted", "; ".join(result.consensus.warnings)
    if result.conformity_delta is not None:
        yield "Change through the debate", f"{result.conformity_delta:+.2f}"
    minority = result.minority_report
    yield from _dissents(result)
    if minority is not None and minority.not_compared:
        answers = {response.agent_id: response for response in _last_answers(result)}
        unclear = [answers[agent] for agent in minority.not_compared if agent in answers]
        yield (
            "Not compared",
            "; ".join(f"{answer.agent_name}: {answer.bottom_line or answer.position}" for answer in unclear),
        )
    yield from _baselines(result)
    swing = swing_in_words(result)
    if swing:
        yield "Swing", swing
    warning = result.consensus.groupthink_warning if result.consensus is not None else None
    if warning is not None and warning.detected:
        yield "Groupthink", f"{'; '.join(warning.indicators)}. {warning.recommendation}".strip()
    yield from _health(result)
    yield from _layers(result)


def advice_in_words(result: DebateResult) -> tuple[str, str] | None:
    """Return the recommendation and its reason; `None` for teams, and as long as further rounds are planned."""
    if result.response is None or interim_mark(result):
        return None
    advice = result.response.decision.action_recommendation
    return _ADVICE_WITHOUT_ANSWER if result.answer is None else _ADVICE[advice.type], advice.reason


def how_it_came_about(result: DebateResult, flow: OpinionFlow | None) -> str:
    """Return in one line what happened between the first and the last answers; empty if there is nothing to say.

    Args:
        result: The result.
        flow: The opinion flow of the result, if it has one.
    """
    return "; ".join(_story(result, flow))


def _story(result: DebateResult, flow: OpinionFlow | None) -> Iterator[str]:
    last = last_complete(result.rounds)
    if last is None or result.team is not None:
        return
    if swing := swing_in_words(result):
        yield f"swing: {swing}"
        yield _changed_votes_text(result)
    baselines = result.baselines
    if baselines is not None and baselines.single is not None:
        yield f"alone: {'no majority' if baselines.majority is None else _short(baselines.majority)}"
    votes = [vote.choice for vote in result.votes]
    if votes and result.answer is not None and result.answer_source not in {"synthesis", "judge"}:
        # The answer of a council's chair or of a synthesis does not result from votes.
        yield f"after: {votes.count(result.answer)} of {counted(len(votes), 'agent')} for {_short(result.answer)}"
    elif result.decision is not None and result.decision.winner is None:
        yield "after: a tie" if result.decision.tied else "after: no answer"
    if flow is None and (sides := _sides(last)):
        yield f"as assigned, {sides}"
    if flow is not None and len(flow.rounds) > 1:
        yield from _moves(result, flow)
    scores = result.health.sycophancy if result.health is not None else ()
    gave_way = agent_names(result, (score.agent_id for score in scores if score.gave_way))
    if gave_way:
        yield f"{', '.join(gave_way)} gave way to a majority without a new source"
    elif any(score.outvoted for score in scores):
        yield "nobody gave way to a majority without a new source"
    missing = missing_agents(result)
    if missing:
        yield f"missing: {', '.join(agent_names(result, missing))}"


def _moves(result: DebateResult, flow: OpinionFlow) -> Iterator[str]:
    agents = {opinion.agent_id for opinion in flow.opinions}
    moved = {opinion.agent_id for opinion in flow.opinions if opinion.moved == "moved"}
    unknown = {opinion.agent_id for opinion in flow.opinions if opinion.moved == "unknown"} - moved
    if moved or not unknown:
        yield f"{len(moved)} of {counted(len(agents), 'agent')} moved" if moved else "nobody moved"
    if unknown:
        names = agent_names(result, (agent.id for agent in result.agents if agent.id in unknown))
        who = listing(names) if len(names) <= _MOST_NAMED else counted(len(names), "agent")
        yield f"it isn't known whether {who} moved"


def _sides(record: RoundRecord) -> str:
    """Return who argued which assigned side in a round; empty if the round has no positions."""
    sides: dict[str, dict[str, None]] = {}
    for turn in record.turns:
        if turn.outcome == "answered" and turn.answer.kind == "position" and turn.stage != JUDGE_STAGE:
            sides.setdefault(turn.role, {})[turn.agent_name or turn.agent_id] = None
    argued = (f"{listing(tuple(names))} argued as {side}" for side, names in sides.items())
    return ", ".join(argued)


def _changed_votes_text(result: DebateResult) -> str:
    turns = [turn for record in result.rounds for turn in record.turns]
    before, after = first_votes(turns), last_votes(turns)
    changed = (
        f"{name} changed from {before[agent] or 'an abstention'} to {after[agent] or 'an abstention'}"
        for agent, name in zip(before, agent_names(result, before), strict=True)
        if agent in after and before[agent] != after[agent]
    )
    return ", ".join(changed) or "nobody changed their vote"


def _short(text: str) -> str:
    return short_name(text, _ANSWER_CHARS)


def swing_in_words(result: DebateResult) -> str:
    """Return how votes moved from the first vote to the last; empty if the mode does not have both votes."""
    swing = vote_swing([turn for round_record in result.rounds for turn in round_record.turns])
    if not swing.swing:
        return ""
    gained = ", ".join(f"{option} {votes:+d}" for option, votes in swing.swing.items())
    before, after = (
        ", ".join(f"{option} {votes}" for option, votes in counts.items()) for counts in (swing.before, swing.after)
    )
    return f"{gained} (first vote: {before}; last vote: {after})"


def _dissents(result: DebateResult) -> Iterator[tuple[str, str]]:
    minority = result.minority_report
    if minority is not None and minority.dissents:
        dissents = (f"{dissent.agent_name}: {dissent.choice or dissent.position}" for dissent in minority.dissents)
        label = "Voted otherwise" if result.answer_source == "vote" else "Outside the largest camp"
        yield label, "; ".join(dissents)


def _votes(result: DebateResult) -> str:
    """Return the votes in words: who voted for what, and whose vote counts for no single answer."""
    voters: dict[str, list[str]] = {}
    silent: dict[_NoVote, list[str]] = {}
    reasons = _missing_votes(result)
    for vote in result.votes:
        if vote.choice is not None:
            voters.setdefault(vote.choice, []).append(vote.agent_name)
        else:
            silent.setdefault(reasons.get(vote.agent_id, "failed"), []).append(vote.agent_name)
    parts = [f"{', '.join(names)} for {choice}" for choice, names in voters.items()]
    for reason, (singular, plural) in _NO_VOTE.items():
        if names := silent.get(reason):
            parts.append(f"{', '.join(names)} {singular if len(names) == 1 else plural}")
    return "; ".join(parts)


_NoVote: TypeAlias = Literal["several", "abstained", "unread", "failed"]


def _missing_votes(result: DebateResult) -> dict[str, _NoVote]:
    """Return, by agent, why its vote is for no single answer; an agent that is not included gave no vote."""
    last = last_complete(result.rounds)
    if last is None:
        return {}
    stages = [stage for stage in (VOTE_STAGE, own_vote_stage(last)) if any(turn.stage == stage for turn in last.turns)]
    if not stages:
        abstained = set(last.consensus.abstained) if last.consensus is not None else set[str]()
        unread = {response.agent_id for response in last.responses if response.is_unread}
        spoke = (response.agent_id for response in last.responses)
        return {
            agent: "abstained" if agent in abstained else "unread" if agent in unread else "several" for agent in spoke
        }
    ballots = {
        turn.agent_id: vote_in(turn.agent_id, turn.answer).ballot
        for turn in last.turns
        if turn.stage == stages[0] and turn.outcome == "answered"
    }
    unread = {turn.agent_id for turn in unread_turns(last) if turn.stage == stages[0]}
    # A ballot that approves no answer is a vote against all answers.
    return {
        agent: "several"
        if isinstance(ballot, Approval) or first_places(ballot, str)
        else "unread"
        if agent in unread
        else "abstained"
        for agent, ballot in ballots.items()
    }


def head_to_head(result: DebateResult) -> PairTable | None:
    """Return the comparison of options in pairs, for a vote on motions or a rule that compares pairs; else `None`."""
    decision = result.decision
    if decision is None or len(decision.pairwise) < 2:
        return None
    if decision.vote is None and result.declared.score.words:
        return None
    pairs = decision.pairwise
    ranked = sorted(pairs, key=lambda name: -decision.scores.get(name, 0))
    names = ranked[:MOST_MOTIONS]
    more = (
        f"; {len(names)} of {len(ranked)} {'options' if decision.vote is None else 'motions'}"
        if len(ranked) > len(names)
        else ""
    )
    return PairTable(
        caption=f"Head to head: ballots that put the row above the column{more}",
        names=tuple(names),
        cells=tuple(
            tuple("-" if name == other else amount(exact(pairs[name].get(other, 0))) for other in names)
            for name in names
        ),
    )


def _health(result: DebateResult) -> Iterator[tuple[str, str]]:
    health = result.health
    if health is None:
        return
    unclear = f"{counted(health.unclear_moves, 'answer')} could not be compared with the one before"
    if health.flip_rate is not None:
        changed = f"{health.flip_rate:.0%} of answers changed from round to round, compared by {health.compared_by}"
        if health.compared_by == "vote":
            changed = f"{health.flip_rate:.0%} of votes changed between the first vote and the last"
        yield "Movement", f"{changed}; {unclear}" if health.unclear_moves else changed
    elif health.unclear_moves:
        yield "Movement", unclear
    if health.conformity is not None and health.obstinacy is not None:
        reactions = f"{health.conformity:.0%} took another agent's answer, {health.obstinacy:.0%} kept their own"
        yield "Facing another position", reactions
    outvoted = [score for score in health.sycophancy if score.outvoted]
    if outvoted:
        names = {agent.id: agent.name for agent in result.agents}
        counts = (
            f"{names.get(score.agent_id, score.agent_id)} {score.gave_way} of {score.outvoted}" for score in outvoted
        )
        yield "Gave way when outvoted, with no new source", "; ".join(counts)
    for flag in health.flags:
        yield f"Sign: {flag.name}", flag.detail


def _layers(result: DebateResult) -> Iterator[tuple[str, str]]:
    layers = result.response
    if layers is None:
        return
    names = {agent.id: agent.name for agent in result.agents}
    advice = advice_in_words(result)
    if advice is not None:
        yield "Recommended", f"{advice[0]} — {advice[1]}"
    for conflict in layers.evidence.conflicts:
        sides = (f"{names.get(side.agent_id, side.agent_id)}: {side.stance}" for side in conflict.positions)
        yield "Conflict", f"{conflict.issue} — {'; '.join(sides)}"
    for hint in layers.metadata.verification_hints:
        yield "Look again", hint.reason
    for summary in layers.agent_responses:
        if summary.key_points:
            yield f"Key points of {summary.agent_name}", "; ".join(summary.key_points)


def synthesis_parts(result: DebateResult) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the heading and paragraphs of each part of the synthesis, or the reason if the synthesis failed."""
    synthesis = result.synthesis
    if synthesis is None:
        reason = result.synthesis_reason
        return () if reason is None else (("No synthesis", (reason,)),)
    parts = (
        ("Synthesis in part", (result.synthesis_reason or "",)),
        ("Conclusion", (synthesis.conclusion,)),
        ("Recommendation", (synthesis.recommendation,)),
        ("Common ground", synthesis.common_ground),
        ("Differences", synthesis.key_differences),
        ("How positions moved", (synthesis.evolution_summary,)),
        ("Synthesis by", (f"{synthesis.synthesizer_id}, {synthesis.confidence:.0%} confident",)),
    )
    nonempty = ((label, tuple(text for text in texts if text)) for label, texts in parts)
    return tuple((label, texts) for label, texts in nonempty if texts)


def _last_answers(result: DebateResult) -> tuple[AgentResponse, ...]:
    last = last_complete(result.rounds)
    return () if last is None else last.responses


def _baselines(result: DebateResult) -> Iterator[tuple[str, str]]:
    baselines = result.baselines
    if baselines is None or baselines.single is None:
        return
    majority = baselines.majority if baselines.majority is not None else "none"
    plurality = f"plurality of {counted(baselines.votes, 'answer')}: {majority}"
    yield "Without debate", f"{plurality}; one agent alone: {baselines.single}"
    if baselines.cost_multiple is not None:
        yield "Model calls", f"{baselines.cost_multiple:g} times as many as without a debate"
