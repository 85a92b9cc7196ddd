"""The report view of a result: facts and figures in words, and the answers of each round."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from roundtable.analysis import cast_votes, dissenting_votes
from roundtable.core.base.words import counted
from roundtable.core.types.answers import PlanAnswer, TextAnswer
from roundtable.core.types.debate import ASSUMED_CONFIDENCE, last_complete
from roundtable.core.types.plan import JUDGE_STAGE, VOTE_STAGE
from roundtable.modes import answers_by_name
from roundtable.report import (
    CampView,
    ChangeView,
    CostView,
    FlowCell,
    FlowView,
    OptionView,
    ReportView,
    RoundView,
    Sentence,
    SourceView,
    SpeakerView,
    compare_words,
    cost_in_words,
    in_words,
    new_sentences,
    short_answer,
    split_sentences,
    unmarked,
)
from roundtable.report.view import short_name
from roundtable.results.claims_view import arguments_view, claims_in_words
from roundtable.results.findings import (
    advice_in_words,
    agent_names,
    answer_note,
    finding_lines,
    head_to_head,
    how_it_came_about,
    interim_mark,
    is_stopped,
    missing_agents,
    swing_in_words,
    synthesis_parts,
    unread_in_words,
)
from roundtable.results.rows import compact_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from roundtable.analysis import CastVote
    from roundtable.analysis.movement import Opinion, OpinionFlow
    from roundtable.core.types.answers import AgentResponse, Reading
    from roundtable.core.types.chat import Usage
    from roundtable.core.types.consensus import AnyConsensus
    from roundtable.core.types.debate import AnyTurn, RosterEntry, RoundRecord, Turn
    from roundtable.report import Parts
    from roundtable.results.debate_result import DebateResult
    from roundtable.results.evidence import EvidenceReport

__all__ = ["CampMoves", "movement_of", "view_of", "with_names"]

_MOST_MOVES: Final = 6
_FLOW_CHARS: Final = 40
"""Maximum length of an answer in a sentence about who moved."""
_MOST_POINTS: Final = 3
_READ_CHARS: Final = 60
"""Maximum length of words in a sentence on how an answer was read."""
_MOST_CANDIDATES: Final = 4
_PLAIN_RULES: Final = frozenset({"option", "whole", "form"})
"""Rules for an answer that is nothing but the option or the text itself, which need no explanation."""

_STATES: Final = {
    "partial": "not finished",
    "running": "still running",
    "paused": "paused",
    "needs_context": "waiting for information that its agents requested",
}


class CampMoves:
    """The camps of a result and the moves between them, for a view.

    Args:
        flow: The opinion flow; `None` if the result has none.
        rounds: The rounds of the result.
        names: Names of the agents by id, in the order of the agents.
    """

    def __init__(self, flow: OpinionFlow | None, rounds: Sequence[RoundRecord], names: Mapping[str, str]) -> None:
        self._flow = flow
        self._rounds = rounds
        self._names = names
        self._held: dict[tuple[str, int], Opinion] = (
            {} if flow is None else {(opinion.agent_id, opinion.round): opinion for opinion in flow.opinions}
        )
        self._answers = {} if flow is None else {camp.label: unmarked(camp.name) for camp in flow.camps}
        self._sentences: dict[tuple[str, int], tuple[Sentence, ...]] = {}
        self._said: dict[tuple[str, int], AgentResponse] = {
            (response.agent_id, record.number): response
            for record in (rounds if flow is not None else ())
            for response in record.responses
        }

    def flow_view(self) -> FlowView | None:
        """Return who held which answer in each round; `None` with fewer than two rounds."""
        flow = self._flow
        if flow is None or len(flow.rounds) < 2:
            return None
        seats = {agent: seat for seat, agent in enumerate(self._names)}
        agents = [agent for agent in self._names if any(opinion.agent_id == agent for opinion in flow.opinions)]
        return FlowView(
            rounds=flow.rounds,
            camps=tuple(self._answers.items()),
            rows=tuple(
                (
                    self._names[agent],
                    seats[agent],
                    tuple(_flow_cell(self._held.get((agent, number))) for number in flow.rounds),
                )
                for agent in agents
            ),
            holders=tuple(
                ", ".join(f"{camp.holders[index]} {camp.label}" for camp in flow.camps if camp.holders[index])
                for index in range(len(flow.rounds))
            ),
            note=self._note(flow),
            counts=tuple(tuple(camp.holders[index] for camp in flow.camps) for index in range(len(flow.rounds))),
        )

    def _note(self, flow: OpinionFlow) -> str:
        moves = [words for opinion in flow.opinions if (words := self._move(opinion))]
        unknown = sum(opinion.moved == "unknown" for opinion in flow.opinions)
        more = f"; and {len(moves) - _MOST_MOVES} more" if len(moves) > _MOST_MOVES else ""
        note = f"{'; '.join(moves[:_MOST_MOVES])}{more}" if moves else "not known" if unknown else "nobody"
        if unknown:
            note += f"; {counted(unknown, 'answer was', 'answers were')} not compared with the one before"
        return note

    def _move(self, opinion: Opinion) -> str:
        steps = self._from_to(opinion)
        return f"{self._names[opinion.agent_id]} {steps} in round {opinion.round}" if steps else ""

    def _from_to(self, opinion: Opinion) -> str:
        before = self._held.get((opinion.agent_id, opinion.round - 1))
        if opinion.moved != "moved" or before is None:
            return ""
        return f"from {self._answer(before.camp)} to {self._answer(opinion.camp)}"

    def _answer(self, camp: str | None) -> str:
        return short_name(self._answers.get(camp or "", "no answer"), _FLOW_CHARS)

    def camps(self, answer: str | None, points: Mapping[str, Sequence[str]]) -> tuple[CampView, ...]:
        """Return the camps with their holders in the last complete round, and the holders' key points.

        Args:
            answer: The answer of the debate.
            points: Key points of each agent.
        """
        last = last_complete(self._rounds)
        if self._flow is None or last is None:
            return ()
        views = []
        for camp in self._flow.camps:
            holders = [
                agent
                for agent in self._names
                if (opinion := self._held.get((agent, last.number))) is not None and opinion.camp == camp.label
            ]
            theirs = dict.fromkeys(point for agent in holders for point in points.get(agent, ()))
            views.append(
                CampView(
                    label=camp.label,
                    name=self._answers[camp.label],
                    holders=tuple(self._names[agent] for agent in holders),
                    points=tuple(theirs)[:_MOST_POINTS],
                    is_answer=camp.name == answer,
                )
            )
        return tuple(views)

    def camp_of(self, answer: AgentResponse, number: int) -> str:
        """Return the label of an answer's camp; an empty text unless it is the agent's last answer in the round."""
        opinion = self._held.get((answer.agent_id, number))
        is_last = self._said.get((answer.agent_id, number)) is answer
        return opinion.camp or "" if opinion is not None and is_last else ""

    def change_of(self, answer: AgentResponse, number: int) -> ChangeView | None:
        """Return what changed from the agent's answer in the round before; `None` if there was no answer before."""
        before = self._said.get((answer.agent_id, number - 1))
        opinion = self._held.get((answer.agent_id, number))
        if before is None or opinion is None or self._said.get((answer.agent_id, number)) is not answer:
            return None
        position = compare_words(before.position, answer.position)
        sentences = new_sentences(self._sentences_of(before, number - 1), self._sentences_of(answer, number))
        return ChangeView(
            summary=self._summary(opinion, same=not position and not sentences),
            position=position,
            sentences=sentences,
        )

    def _sentences_of(self, answer: AgentResponse, number: int) -> tuple[Sentence, ...]:
        """Return the sentences of an answer's reasons, which are compared with the round before and the round after."""
        key = (answer.agent_id, number)
        if key not in self._sentences:
            self._sentences[key] = split_sentences(answer.reasoning)
        return self._sentences[key]

    def _summary(self, opinion: Opinion, *, same: bool) -> str:
        steps = self._from_to(opinion)
        if steps:
            return f"Moved {steps}"
        if same:
            return f"The same words as in round {opinion.round - 1}"
        if opinion.moved == "unknown":
            return f"Not known whether it is the answer of round {opinion.round - 1}"
        return f"Keeps its answer of round {opinion.round - 1}, in other words"


def _flow_cell(opinion: Opinion | None) -> FlowCell:
    if opinion is None or opinion.camp is None:
        return FlowCell()
    moved = {"moved": "moved", "unknown": "not compared"}.get(opinion.moved or "", "")
    return FlowCell(camp=opinion.camp, confidence=opinion.confidence, moved=moved)


def with_names(text: str, numbered: Mapping[str, str]) -> str:
    """Return the text with the author's name after each alias of an answer.

    Args:
        text: The text.
        numbered: Names of the authors by alias.

    Example:
        >>> with_names("Answer 2 > Answer 3", {"Answer 2": "Bo"})
        'Answer 2 (Bo) > Answer 3'
    """
    if not numbered:
        return text
    longest_first = sorted(numbered, key=len, reverse=True)
    aliases = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    return aliases.sub(lambda match: f"{match.group()} ({numbered[match.group()]})", text)


def view_of(result: DebateResult, checked: EvidenceReport | None = None, *, rounds: bool = True) -> ReportView:
    """Return the report view of a result; a pure function.

    Args:
        result: The result.
        checked: Result of the check of the pages that its claims cite, if they were checked.
        rounds: Whether the view includes the rounds, which take most of the time.
    """
    graph = result.argument_graph()
    seats = {agent.id: number for number, agent in enumerate(result.agents)}
    missing, note = missing_agents(result), _answer_note(result)
    opinions = None if result.team is not None else result.opinion_flow()
    movement, story = movement_of(result, opinions), how_it_came_about(result, opinions)
    flow = movement.flow_view()
    names = _agents(result)
    numbered = {alias: names[agent] for alias, agent in result.declared.aliases.items()}
    round_views = tuple(
        _RoundReader(result, record, seats, movement, numbered).view() for record in (result.rounds if rounds else ())
    )
    return ReportView(
        title=result.topic,
        facts=tuple(_facts_of(result, flow, claims_in_words(graph) if graph.claims else "")),
        advice=advice_in_words(result),
        story=story,
        answer=result.answer and with_names(result.answer, numbered),
        answer_reason=result.answer_reason,
        missing=tuple(_failures(entry) for entry in result.roster.agents if entry.agent_id in missing),
        failed=tuple(
            _failures(entry) for entry in result.roster.agents if entry.failed and entry.agent_id not in missing
        ),
        unread=unread_in_words(result),
        rounds=round_views,
        state=_state(result),
        about=_about(result),
        is_decided=result.decision is not None and result.decision.winner is not None,
        answer_note=f"{interim_mark(result)}{note}" if note else "",
        seats=tuple(agent.name for agent in result.agents),
        rule=_decision_line(result),
        options=_options(result),
        counted="" if result.decision is None else result.declared.score.words,
        swing=swing_in_words(result),
        flow=flow,
        camps=movement.camps(result.answer, _key_points(result)),
        arguments=arguments_view(graph, _agents(result), checked),
        pairs=head_to_head(result),
        synthesis=synthesis_parts(result),
        goal=_goal(result),
        figures=_figures(result),
        independent=_measured_level(result),
        minority=_minority(result, seats),
        sources=_sources(result),
        costs=tuple(_cost(entry) for entry in result.roster.agents),
        cost=f"{_usage_line(result.usage)}.",
    )


def movement_of(result: DebateResult, flow: OpinionFlow | None) -> CampMoves:
    """Return who held which answer and who moved.

    Args:
        result: The result.
        flow: The opinion flow of the result, if it has one.
    """
    return CampMoves(flow, result.rounds, _agents(result))


def _agents(result: DebateResult) -> dict[str, str]:
    return {agent.id: agent.name for agent in result.agents}


def _key_points(result: DebateResult) -> dict[str, tuple[str, ...]]:
    layers = result.response
    return {} if layers is None else {summary.agent_id: summary.key_points for summary in layers.agent_responses}


def _failures(entry: RosterEntry) -> str:
    turns = entry.failed + entry.answered
    return f"{entry.agent_name}: {entry.failed} of {counted(turns, 'turn')} failed ({entry.errors[-1].message})"


def _state(result: DebateResult) -> str:
    if result.status == "completed":
        return ""
    if is_stopped(result):
        return "stopped"
    reason = f" ({result.exit.reason})" if result.exit is not None and result.status == "partial" else ""
    return _STATES[result.status] + reason


def _about(result: DebateResult) -> str:
    rounds = f"{len(result.rounds)} of {counted(result.total_rounds, 'round')}"
    agents = counted(len(result.agents), "agent")
    return f"{result.mode} \u00b7 {rounds} \u00b7 {agents} \u00b7 {result.created_at:%d %B %Y}"


def _votes(result: DebateResult) -> tuple[CastVote, ...]:
    """Return the votes of the last complete round."""
    last = last_complete(result.rounds)
    return () if last is None else cast_votes(last, last.consensus, options=result.config.options is not None)


def _answer_note(result: DebateResult) -> str:
    votes = _votes(result)
    note = answer_note(result)
    if note or result.answer is None or result.team is not None or not votes:
        return note
    if len(votes) == 1:
        return "The only answer of the last complete round."
    backers = sum(cast.vote == result.answer for cast in votes)
    if result.answer_source == "vote":
        return f"{backers} of {len(votes)} agents put it first in the vote."
    return f"{backers} of {len(votes)} agents {'holds' if backers == 1 else 'hold'} it in the last complete round."


def _decision_line(result: DebateResult) -> str:
    decision = result.decision
    return "" if decision is None else f"{interim_mark(result)}{decision.rule}: {decision.why}"


def _options(result: DebateResult) -> tuple[OptionView, ...]:
    decision = result.decision
    if decision is None:
        return ()
    meaning = result.declared.score
    leading = {*decision.winners, *decision.tied}
    motions = decision.vote.motions if decision.vote is not None and result.config.options is None else ()
    given_by = {motion.name: agent_names(result, motion.agents) for motion in motions}
    ranked = sorted(decision.scores.items(), key=lambda entry: (-entry[1], entry[0]))
    return tuple(
        OptionView(
            name=name,
            score=f"{score:g}" if meaning.words else "",
            share=meaning.share(score, decision.scores, cast=decision.cast),
            won=name in leading,
            backers=tuple(cast.agent_name for cast in _votes(result) if cast.vote == name),
            given_by=given_by.get(name, ()),
        )
        for name, score in ranked
    )


def _goal(result: DebateResult) -> Parts:
    team = result.team
    if team is None:
        return ()
    parts = (
        ("", (team.goal or "Not set yet.",)),
        ("How", (team.strategy or "",)),
        ("Done when", team.success_criteria),
    )
    return tuple((label, texts) for label, texts in parts if any(texts))


def _figures(result: DebateResult) -> tuple[tuple[str, str, str], ...]:
    consensus, before = result.consensus, result.independent_agreement
    level, open_pairs = _level("none" if consensus is None else consensus.level_in_words)
    level_before, open_before = _level("none" if before is None else result.independent_level_in_words)
    usage, answered = result.usage, sum(entry.answered for entry in result.roster.agents)
    turns = answered + sum(entry.failed for entry in result.roster.agents)
    cost = f"{usage.known_cost_usd:.4f} USD" if usage.cost_usd is not None else "unknown"
    costs = (("Turns answered", f"{answered} of {turns}", ""), ("Cost", cost, f"{usage.total_tokens:,} tokens"))
    if result.team is not None:
        return costs
    return (
        ("Agreement after the debate", level, f"{open_pairs}{_method_line(result)}"),
        (
            "Agreement before the debate",
            level_before,
            f"{open_before}independent answers" if before is not None else result.independent_agreement_reason or "",
        ),
        *costs,
    )


def _level(words: str) -> tuple[str, str]:
    """Split an agreement in words into the figure and the beginning of its note."""
    figure, _, note = words.partition(": ")
    return figure, f"{note}; " if note else ""


def _method_line(result: DebateResult) -> str:
    if result.consensus is None:
        return "no round was completed"
    assigned = ", sides were assigned" if result.consensus.assigned else ""
    return f"method: {result.consensus.method}{assigned}"


def _minority(result: DebateResult, seats: Mapping[str, int]) -> tuple[SpeakerView, ...]:
    last = last_complete(result.rounds)
    if last is None:
        return ()
    others = [*dissenting_votes(last, by_choice=result.config.options is not None)]
    report = result.minority_report
    if report is not None and report.majority is not None:
        others += [cast for cast in _votes(result) if cast.agent_id in report.not_compared]
    return tuple(_voter(cast, seats) for cast in others)


def _voter(cast: CastVote, seats: Mapping[str, int]) -> SpeakerView:
    if cast.said is not None:
        return _position(cast.said, seats, role="participant")
    seat = seats.get(cast.agent_id, len(seats))
    return SpeakerView(
        name=cast.agent_name, seat=seat, role="voter", position=cast.vote or "", reasoning=cast.reasoning
    )


def _sources(result: DebateResult) -> tuple[SourceView, ...]:
    cited: dict[str, tuple[str, str, dict[str, None]]] = {}
    for round_record in result.rounds:
        for response in round_record.spoken:
            for citation in response.citations:
                snippet = citation.snippet or ""
                title, first_snippet, agents = cited.get(citation.url, (citation.title, snippet, {}))
                cited[citation.url] = title, first_snippet or snippet, {**agents, response.agent_name: None}
    return tuple(
        SourceView(title=title, url=url, snippet=snippet, cited_by=tuple(agents))
        for url, (title, snippet, agents) in cited.items()
    )


def _cost(entry: RosterEntry) -> CostView:
    usage = entry.usage
    tokens = f"{usage.input_tokens:,} in, {usage.output_tokens:,} out"
    failed = f"{entry.failed} failed" if entry.failed else ""
    unread = f" ({entry.unread} could not be read)" if entry.unread else ""
    answered = f"{entry.answered} answered{unread}" if entry.answered or not failed else ""
    return CostView(
        name=entry.agent_name,
        model=entry.provider if entry.model is None else f"{entry.provider}:{entry.model}",
        turns=", ".join(part for part in (answered, failed) if part),
        tokens=tokens,
        cost=cost_in_words(usage).removeprefix("cost "),
    )


def _usage_line(usage: Usage) -> str:
    tokens = f"{usage.input_tokens} tokens in, {usage.output_tokens} out"
    return f"{counted(usage.calls, 'call')}, {tokens}, {cost_in_words(usage)}"


def _facts_of(result: DebateResult, flow: FlowView | None, claims: str) -> Iterator[tuple[str, str]]:
    yield "Status", "stopped" if is_stopped(result) else result.status
    if result.config.attachments:
        yield "Files", "; ".join(attachment.in_words for attachment in result.config.attachments)
    yield "Mode", result.mode
    yield "Rounds", f"{len(result.rounds)} of {result.total_rounds}"
    if result.consensus is not None:
        consensus = result.consensus
        yield "Agreement", f"{consensus.level_in_words} ({_method(result)}) — {consensus.summary}"
    if result.config.team is None:
        yield "Independent agreement", result.independent_level_in_words
    if flow is not None:
        yield "Who moved", flow.note
    if claims:
        yield "Claims", claims
    yield from finding_lines(result)
    if result.decision is not None:
        yield "Decision", _decision_line(result)
    if result.exit is not None:
        yield "Ended", f"{result.exit.reason} — {result.exit.details}"
    yield "Usage", _usage_line(result.usage)
    yield "Held", f"{result.created_at:%Y-%m-%d %H:%M} to {result.updated_at:%Y-%m-%d %H:%M} UTC"
    yield "Session", result.session_id
    if result.head is not None:
        yield "Record", f"head {result.head}"


def _method(result: DebateResult) -> str:
    """Return how the agreement was measured; a later vote may join answers that nobody had compared before."""
    method = "" if result.consensus is None else result.consensus.method
    return f"{method}, before the vote" if result.answer_source == "vote" else method


def _bounds(consensus: AnyConsensus | None) -> tuple[float, float] | None:
    if consensus is None or consensus.answers in {0, 1} or consensus.is_measured:
        return None
    return consensus.agreement_level, consensus.agreement_at_most


def _measured_level(result: DebateResult) -> float | None:
    """Return the agreement of the independent answers, if it is a single figure."""
    level = result.independent_agreement
    return level if level == result.independent_agreement_at_most else None


class _RoundReader:
    """Reads one round for a view.

    Args:
        result: The result that the round is part of.
        record: The round.
        seats: Position of each agent in the order of agents.
        movement: The camps and moves of the debate.
        numbered: Author of each answer, by the alias that the agents use for it.
    """

    def __init__(
        self,
        result: DebateResult,
        record: RoundRecord,
        seats: Mapping[str, int],
        movement: CampMoves,
        numbered: Mapping[str, str],
    ) -> None:
        self._held = record
        self._seats = seats
        self._movement = movement
        self._numbered = numbered
        self._judged = answers_by_name(record.turns, result.config.seed)

    def view(self) -> RoundView:
        """Return the view of the round."""
        record, consensus = self._held, self._held.consensus
        return RoundView(
            number=record.number,
            complete=record.complete,
            agreement=consensus.agreement_level if consensus and consensus.is_measured else None,
            bounds=_bounds(consensus),
            level=consensus.level_in_words if consensus else "",
            summary=consensus.summary if consensus else "",
            focus=record.focus_question or "",
            speakers=tuple(map(self._speaker, record.turns)),
        )

    def _speaker(self, turn: AnyTurn) -> SpeakerView:
        name, seat = turn.agent_name or turn.agent_id, self._seats.get(turn.agent_id, len(self._seats))
        if turn.outcome == "failed":
            return SpeakerView(name=name, seat=seat, role=turn.role, error=turn.error.message)
        if turn.answer.kind == "position":
            return self._answer(turn.answer, turn)
        position, reasoning = in_words(turn.answer)
        names = self._numbered
        if turn.stage == JUDGE_STAGE:
            position = self._verdict(turn) or position
            names = {number: judged.agent_name or judged.agent_id for number, judged in self._judged.items()}
        tools = tuple(dict.fromkeys(call.tool_name for call in turn.result.tool_calls))
        return SpeakerView(
            name=name,
            seat=seat,
            role=turn.role,
            position=with_names(position, names),
            reasoning=with_names(reasoning, names),
            tools=tools,
            notes=(
                *(() if isinstance(turn.answer, PlanAnswer | TextAnswer) else _unread_notes(turn.answer.reading)),
                *(turn.result.warnings if turn.stage == VOTE_STAGE else ()),
            ),
            votes=turn.stage == VOTE_STAGE,
            is_ballot=turn.answer.kind == "ballot" and turn.stage not in {VOTE_STAGE, JUDGE_STAGE},
        )

    def _answer(self, answer: AgentResponse, turn: Turn) -> SpeakerView:
        number = self._held.number
        view = _position(answer, self._seats, role=turn.role, notes=turn.result.warnings)
        return replace(
            view,
            position=with_names(view.position, self._numbered),
            reasoning=with_names(view.reasoning, self._numbered),
            confidence=None if ASSUMED_CONFIDENCE in turn.result.warnings else view.confidence,
            abstains=self._held.consensus is not None and answer.agent_id in self._held.consensus.abstained,
            camp=self._movement.camp_of(answer, number),
            change=self._movement.change_of(answer, number),
        )

    def _verdict(self, turn: Turn) -> str | None:
        """Return the agent and the answer that a judge voted for; judges see aliases instead of names."""
        choice = turn.answer.choice if turn.answer.kind == "ballot" else None
        chosen = self._judged.get(choice or "")
        if chosen is None or chosen.answer.kind != "position":
            return None
        return f"votes for {chosen.agent_name}: {chosen.answer.position}"


def _position(
    response: AgentResponse, seats: Mapping[str, int], *, role: str, notes: tuple[str, ...] = ()
) -> SpeakerView:
    return SpeakerView(
        name=response.agent_name,
        seat=seats.get(response.agent_id, len(seats)),
        role=role,
        position=response.position,
        choice=short_answer(response.choice, response.bottom_line, response.position),
        reasoning=response.reasoning,
        confidence=response.confidence,
        sources=tuple((citation.title, citation.url) for citation in response.citations),
        tools=tuple(dict.fromkeys(call.tool_name for call in response.tool_calls)),
        notes=(
            *(() if response.value is None else (f"Value: {compact_json(response.value)}",)),
            *_unread_notes(response.reading),
            *notes,
        ),
        reading=_reading_in_words(response),
    )


def _unread_notes(reading: Reading | None) -> Iterator[str]:
    """Yield a note on an answer that could not be read with certainty."""
    if reading is None or reading.certainty == "certain":
        return
    found = dict.fromkeys((*(() if reading.value is None else (reading.value,)), *reading.candidates))
    names = " or ".join(repr(short_name(text, _READ_CHARS)) for text in list(found)[:_MOST_CANDIDATES])
    certainly = f" with certainty; it may say {names}" if names else ""
    yield f"This answer could not be read{certainly}."


def _reading_in_words(response: AgentResponse) -> str:
    """Return how an answer was read with certainty; empty if the agent wrote nothing but the answer itself."""
    reading = response.reading
    if reading is None or reading.certainty != "certain" or reading.value is None or reading.rule in _PLAIN_RULES:
        return ""
    parts = {
        "bottom_line": response.bottom_line,
        "position": response.position,
        "reply": response.reasoning or response.position,
    }
    text, (start, end) = parts.get(reading.place) or "", reading.span or (0, 0)
    words = text[start:end].strip()
    is_new = bool(words) and words.casefold() != reading.value.casefold()
    source = f" from the words {short_name(words, _READ_CHARS)!r}" if is_new else ""
    return f"Read as {short_name(reading.value, _READ_CHARS)!r} by the rule {reading.rule}{source}."
