"""What a report shows of a result: facts and figures in words, and who said what, round by round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable._findings import beside_the_answer, findings_in_words, synthesis_in_words
from roundtable.analysis import cast_votes
from roundtable.modes import answers_by_name
from roundtable.report import (
    CostView,
    OptionView,
    ReportView,
    RoundView,
    SourceView,
    SpeakerView,
    cost_in_words,
    in_words,
)
from roundtable.scoring.words import counted
from roundtable.types.debate import last_complete
from roundtable.types.plan import JUDGE_STAGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from roundtable.analysis import CastVote
    from roundtable.report import Parts
    from roundtable.result import DebateResult
    from roundtable.types import AgentResponse, AnyTurn, RosterEntry, RoundRecord, Turn, Usage

__all__ = ["COLUMNS", "view_of"]

COLUMNS: Final = (
    *("sessionId", "round", "stage", "slot", "agentId", "role", "outcome", "position", "choice", "confidence"),
    *("stance", "reasoning", "error", "errorCode", "durationS", "calls", "tokens", "costUsd"),
)
"""Columns of a table of turns, in order."""

_STATES: Final = {
    "partial": "not finished",
    "paused": "paused",
    "needs_context": "waiting for information its agents asked for",
}


def view_of(result: DebateResult) -> ReportView:
    """Fill a report; pure."""
    seats = {agent.id: number for number, agent in enumerate(result.agents)}
    rounds = tuple(_round_view(held, seats, result.config.seed) for held in result.rounds)
    return ReportView(
        title=result.topic,
        facts=_facts(result),
        answer=result.answer,
        answer_reason=result.answer_reason,
        missing=tuple(_missing(entry) for entry in result.roster.agents if entry.failed),
        rounds=rounds,
        state=_state(result),
        about=_about(result),
        is_decided=result.decision is not None and result.decision.winner is not None,
        answer_note=_answer_note(result),
        seats=tuple(agent.name for agent in result.agents),
        rule=_decision_line(result),
        options=_options(result),
        synthesis=synthesis_in_words(result),
        goal=_goal(result),
        figures=_figures(result),
        independent=result.independent_agreement,
        minority=_minority(result, seats),
        sources=_sources(result),
        costs=tuple(_cost(entry) for entry in result.roster.agents),
        cost=f"{_usage_line(result.usage)}.",
    )


def _missing(entry: RosterEntry) -> str:
    turns = entry.failed + entry.answered
    return f"{entry.agent_name}: {entry.failed} of {turns} turns failed ({entry.errors[-1].message})"


def _state(result: DebateResult) -> str:
    if result.status == "completed":
        return ""
    ended = f" ({result.exit.reason})" if result.exit is not None and result.status == "partial" else ""
    return _STATES[result.status] + ended


def _about(result: DebateResult) -> str:
    rounds = f"{len(result.rounds)} of {result.total_rounds} rounds"
    agents = counted(len(result.agents), "agent")
    return f"{result.mode} \u00b7 {rounds} \u00b7 {agents} \u00b7 {result.created_at:%d %B %Y}"


def _cast(result: DebateResult) -> tuple[CastVote, ...]:
    """Give who voted for what in the last complete round."""
    last = last_complete(result.rounds)
    return () if last is None else cast_votes(last, last.consensus, options=result.config.options is not None)


def _answer_note(result: DebateResult) -> str:
    cast = _cast(result)
    beside = beside_the_answer(result)
    if beside or result.answer is None or result.team is not None or not cast:
        return beside
    behind = sum(one.vote == result.answer for one in cast)
    return f"{behind} of {len(cast)} agents hold it in the last complete round."


def _decision_line(result: DebateResult) -> str:
    return "" if result.decision is None else f"{result.decision.rule}: {result.decision.why}"


def _options(result: DebateResult) -> tuple[OptionView, ...]:
    decision = result.decision
    if decision is None:
        return ()
    ahead = {*decision.winners, *decision.tied}
    most = max((score for score in decision.scores.values() if score > 0), default=0.0)
    ranked = sorted(decision.scores.items(), key=lambda entry: (-entry[1], entry[0]))
    return tuple(
        OptionView(
            name=name,
            score=f"{score:g}",
            share=score / most if most else 0.0,
            won=name in ahead,
            backers=tuple(one.agent_name for one in _cast(result) if one.vote == name),
        )
        for name, score in ranked
    )


def _goal(result: DebateResult) -> Parts:
    team = result.team
    if team is None:
        return ()
    told = (("", (team.goal or "Not set yet.",)), ("How", (team.strategy or "",)), ("Done when", team.success_criteria))
    return tuple((label, parts) for label, parts in told if any(parts))


def _figures(result: DebateResult) -> tuple[tuple[str, str, str], ...]:
    level, before = result.consensus, result.independent_agreement
    usage, answered = result.usage, sum(entry.answered for entry in result.roster.agents)
    turns = answered + sum(entry.failed for entry in result.roster.agents)
    cost = f"{usage.known_cost_usd:.4f} USD" if usage.cost_usd is not None else "unknown"
    spent = (("Turns answered", f"{answered} of {turns}", ""), ("Cost", cost, f"{usage.total_tokens:,} tokens"))
    if result.team is not None:
        return spent
    return (
        ("Agreement after debate", "none" if level is None else f"{level.agreement_level:.2f}", _measured_by(result)),
        (
            "Agreement before debate",
            "none" if before is None else f"{before:.2f}",
            "before anyone heard anyone" if before is not None else result.independent_agreement_reason or "",
        ),
        *spent,
    )


def _measured_by(result: DebateResult) -> str:
    if result.consensus is None:
        return "no round was completed"
    assigned = ", sides were assigned" if result.consensus.assigned else ""
    return f"method: {result.consensus.method}{assigned}"


def _minority(result: DebateResult, seats: Mapping[str, int]) -> tuple[SpeakerView, ...]:
    winner = result.decision.winner if result.decision else None
    if winner is None:
        return ()
    outside = (one for one in _cast(result) if one.vote != winner and (one.said or one.vote))
    return tuple(_outside(one, seats) for one in outside)


def _outside(cast: CastVote, seats: Mapping[str, int]) -> SpeakerView:
    if cast.said is not None:
        return _position(cast.said, seats, role="participant")
    seat = seats.get(cast.agent_id, len(seats))
    return SpeakerView(
        name=cast.agent_name, seat=seat, role="voter", position=cast.vote or "", reasoning=cast.reasoning
    )


def _sources(result: DebateResult) -> tuple[SourceView, ...]:
    cited: dict[str, tuple[str, str, dict[str, None]]] = {}
    for held in result.rounds:
        for said in held.spoken:
            for citation in said.citations:
                snippet = citation.snippet or ""
                title, quoted, by = cited.get(citation.url, (citation.title, snippet, {}))
                cited[citation.url] = title, quoted or snippet, {**by, said.agent_name: None}
    return tuple(
        SourceView(title=title, url=url, snippet=quoted, cited_by=tuple(by))
        for url, (title, quoted, by) in cited.items()
    )


def _cost(entry: RosterEntry) -> CostView:
    usage = entry.usage
    tokens = f"{usage.input_tokens:,} in, {usage.output_tokens:,} out"
    failed = f"{entry.failed} failed" if entry.failed else ""
    answered = f"{entry.answered} answered" if entry.answered or not failed else ""
    return CostView(
        name=entry.agent_name,
        model=entry.provider if entry.model is None else f"{entry.provider}:{entry.model}",
        turns=", ".join(part for part in (answered, failed) if part),
        tokens=tokens,
        cost=cost_in_words(usage).removeprefix("cost "),
    )


def _usage_line(usage: Usage) -> str:
    tokens = f"{usage.input_tokens} tokens in, {usage.output_tokens} out"
    return f"{usage.calls} calls, {tokens}, {cost_in_words(usage)}"


def _facts(result: DebateResult) -> tuple[tuple[str, str], ...]:
    return tuple(_facts_of(result))


def _facts_of(result: DebateResult) -> Iterator[tuple[str, str]]:
    yield "Status", result.status
    yield "Mode", result.mode
    yield "Rounds", f"{len(result.rounds)} of {result.total_rounds}"
    if result.consensus is not None:
        level = result.consensus
        yield "Agreement", f"{level.agreement_level:.2f} ({level.method}) — {level.summary}"
    independent = result.independent_agreement
    why_none = f"none ({result.independent_agreement_reason})"
    yield "Independent agreement", f"{independent:.2f}" if independent is not None else why_none
    yield from findings_in_words(result)
    if result.decision is not None:
        yield "Decision", _decision_line(result)
    if result.exit is not None:
        yield "Ended", f"{result.exit.reason} — {result.exit.details}"
    yield "Usage", _usage_line(result.usage)
    yield "Held", f"{result.created_at:%Y-%m-%d %H:%M} to {result.updated_at:%Y-%m-%d %H:%M} UTC"
    yield "Session", result.session_id


def _round_view(held: RoundRecord, seats: Mapping[str, int], seed: int) -> RoundView:
    names = answers_by_name(held.turns, seed)
    return RoundView(
        number=held.number,
        complete=held.complete,
        agreement=held.consensus.agreement_level if held.consensus else None,
        summary=held.consensus.summary if held.consensus else "",
        focus=held.focus_question or "",
        speakers=tuple(_speaker(turn, seats, names) for turn in held.turns),
    )


def _verdict(turn: AnyTurn, names: Mapping[str, Turn]) -> str | None:
    """Say whose answer a judge, who heard no names, voted for."""
    choice = turn.answer.choice if turn.outcome == "answered" and turn.answer.kind == "ballot" else None
    chosen = names.get(choice or "")
    return (
        None
        if chosen is None or chosen.answer.kind != "position"
        else f"votes for {chosen.agent_name}: {chosen.answer.position}"
    )


def _speaker(turn: AnyTurn, seats: Mapping[str, int], names: Mapping[str, Turn]) -> SpeakerView:
    name, seat = turn.agent_name or turn.agent_id, seats.get(turn.agent_id, len(seats))
    if turn.outcome == "failed":
        return SpeakerView(name=name, seat=seat, role=turn.role, error=turn.error.message)
    if turn.answer.kind == "position":
        return _position(turn.answer, seats, role=turn.role, notes=turn.result.warnings)
    position, reasoning = in_words(turn.answer)
    if turn.stage == JUDGE_STAGE:
        position = _verdict(turn, names) or position
    tools = tuple(dict.fromkeys(call.tool_name for call in turn.result.tool_calls))
    return SpeakerView(name=name, seat=seat, role=turn.role, position=position, reasoning=reasoning, tools=tools)


def _position(said: AgentResponse, seats: Mapping[str, int], *, role: str, notes: tuple[str, ...] = ()) -> SpeakerView:
    return SpeakerView(
        name=said.agent_name,
        seat=seats.get(said.agent_id, len(seats)),
        role=role,
        position=said.position,
        choice=said.choice,
        reasoning=said.reasoning,
        confidence=said.confidence,
        sources=tuple((citation.title, citation.url) for citation in said.citations),
        tools=tuple(dict.fromkeys(call.tool_name for call in said.tool_calls)),
        notes=notes,
    )
