"""What a debate came to: a frozen value, rebuilt from storage byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Self

from roundtable._frames import draw_debate, frame_of
from roundtable._view import COLUMNS, view_of
from roundtable.analysis import (
    BallotBasis,
    Baselines,
    DebateHealth,
    MinorityReport,
    ResponseSettings,
    Vote,
    baselines_of,
    build_response,
    cast_votes,
    conformity_delta,
    debate_health,
    minority_report,
    votes_of,
)
from roundtable.modes.oxford import LAST_VOTE
from roundtable.record import team_outcome
from roundtable.report import csv_parts, to_fragment, to_markdown, to_page, to_text
from roundtable.types import (
    AgentConfig,
    AnyConsensus,
    ContextRequest,
    DebateConfig,
    DebateStatus,
    Decision,
    ErrorInfo,
    ExitResult,
    Roster,
    RosterEntry,
    RoundRecord,
    RoundtableResponse,
    Session,
    SessionStatus,
    Share,
    SynthesisResult,
    TeamOutcome,
    Timestamp,
    Usage,
    Value,
)
from roundtable.types.plan import JUDGED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from pandas import DataFrame

    from roundtable.types import DebateRecord, JsonObject

__all__ = ["AnswerSource", "DebateResult", "answer_of"]

_DECIDED: Final = ("option", "cluster", "judge")
"""Sources of an answer that was decided upon, rather than put together."""

AnswerSource = Literal["option", "cluster", "judge", "synthesis", "none"]


class DebateResult(Value):
    """The outcome of a debate and everything behind it.

    `answer` is the winner of `decision`; where there is none, the conclusion of the synthesis. In a mode with a chair
    it is what the chair said, and the decision is the vote beside it. Without any of them `answer` is `None`,
    `answer_reason` says why, and the positions stand in `rounds`. `consensus` is the agreement after debate,
    `independent_agreement` the one before anybody had heard anybody. Printed, a result says these in lines; `to_text()`
    adds every round.
    """

    session_id: str
    """Session id; `Roundtable.session(id)` gives this result again."""
    topic: str
    """The question."""
    mode: str
    """Debate mode."""
    status: DebateStatus
    """How far the debate came."""
    answer: str | None
    """What the chair of the mode said, else the winner of `decision`, else the conclusion of `synthesis`."""
    answer_source: AnswerSource
    """Where the answer comes from."""
    answer_reason: str | None
    """Why there is no answer."""
    decision: Decision | None
    """Outcome of the decision rule over the last complete round."""
    votes: tuple[Vote, ...] = ()
    """Who voted for what in the last complete round; `ballots()` gives them for `roundtable.decide`."""
    consensus: AnyConsensus | None
    """Agreement of the last complete round."""
    independent_agreement: Share | None
    """Agreement of answers given before anyone had seen another."""
    independent_agreement_reason: str | None
    """Why there is none."""
    conformity_delta: float | None = None
    """`consensus.agreement_level` less `independent_agreement`: what hearing each other changed."""
    minority_report: MinorityReport | None = None
    """Who stands outside the largest camp of the last complete round, and with what."""
    baselines: Baselines | None = None
    """What the independent answers say by themselves, without a debate."""
    health: DebateHealth | None = None
    """How positions moved, and signs that agreement may mean little."""
    response: RoundtableResponse | None = None
    """The last complete round in four layers."""
    synthesis: SynthesisResult | None = None
    """The debate put together by one model."""
    synthesis_reason: str | None = None
    """Why there is none, where one was asked for."""
    rounds: tuple[RoundRecord, ...]
    """Everything that was said."""
    roster: Roster
    """Who was asked, who answered, who is missing."""
    exit: ExitResult | None
    """Why the debate stopped."""
    usage: Usage
    """What all calls consumed."""
    team: TeamOutcome | None = None
    """What a team came to, where this was no debate."""
    error: ErrorInfo | None = None
    """What broke the debate, if it broke."""
    context_requests: tuple[ContextRequest, ...] = ()
    """What agents asked the caller for."""
    session_status: SessionStatus
    """State of the stored session."""
    total_rounds: int
    """Rounds planned."""
    config: DebateConfig
    """What was asked for."""
    agents: tuple[AgentConfig, ...]
    """Who took part."""
    created_at: Timestamp
    """When the session was created."""
    updated_at: Timestamp
    """When it last changed."""

    @classmethod
    def from_record(cls, record: DebateRecord, thresholds: ResponseSettings | None = None) -> Self:
        """Build the result of a stored session; pure.

        Args:
            record: The session.
            thresholds: Thresholds of the four-layer response; its defaults when left out.
        """
        config = record.session.config
        complete = [held for held in record.rounds if held.complete]
        last = complete[-1] if complete else None
        decision = last.decision if last else None
        answer, source = _answer(record, last)
        return cls(
            session_id=record.session.id,
            topic=config.topic,
            mode=config.mode,
            status=_status(record),
            answer=answer,
            answer_source=source,
            answer_reason=None if answer is not None else _why_none(record, last, decision),
            decision=decision,
            votes=votes_of(last, by_choice=config.options is not None) if last else (),
            consensus=last.consensus if last else None,
            independent_agreement=record.independent_agreement,
            independent_agreement_reason=record.independent_agreement_reason,
            conformity_delta=_conformity(record, last),
            minority_report=minority_report(last, by_choice=config.options is not None) if last else None,
            baselines=baselines_of(record, answer if source in _DECIDED else None),
            health=None if config.team else debate_health(complete, record.session.agents),
            response=None if config.team else build_response(record, thresholds or ResponseSettings()),
            synthesis=record.synthesis,
            synthesis_reason=_why_no_synthesis(record),
            rounds=record.rounds,
            roster=_roster(record),
            exit=record.exit,
            usage=record.usage,
            team=team_outcome(record),
            error=record.error,
            context_requests=record.context_requests,
            session_status=record.status,
            total_rounds=record.total_rounds,
            config=config,
            agents=record.session.agents,
            created_at=record.session.created_at,
            updated_at=record.updated_at,
        )

    @property
    def session(self) -> Session:
        """The session as the TypeScript API shows it."""
        return Session(
            id=self.session_id,
            topic=self.topic,
            mode=self.mode,
            agent_ids=tuple(agent.id for agent in self.agents),
            status=self.session_status,
            current_round=len(self.rounds),
            total_rounds=self.total_rounds,
            responses=tuple(
                turn.answer
                for held in self.rounds
                for turn in held.turns
                if turn.outcome == "answered" and turn.answer.kind == "position"
            ),
            consensus=self.consensus,
            perspectives=self.config.perspectives,
            exit_on_consensus=self.config.exit_on_consensus,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )

    def ballots(self, round: int = -1, by: BallotBasis | None = None) -> tuple[str | None, ...]:
        """Give what was voted for in a round as ballots, for `roundtable.decide`.

        Each agent has one, for the last position it gave in the round, in the order in which these were given; where
        the mode ends in a vote, as Oxford does, for its vote.

        Args:
            round: Round number from 1, or from the end with -1 for the last one.
            by: What of a position counts as the vote. When left out, it is the option chosen where the debate has
                options, else the cluster, and a vote of the mode goes before either.

        Raises:
            IndexError: There is no such round.
            ConfigurationError: There is no such `by`.
        """
        if round == 0 or abs(round) > len(self.rounds):
            raise IndexError(f"there is no round {round}; {len(self.rounds)} were begun")
        held = self.rounds[round if round < 0 else round - 1]
        cast = cast_votes(held, held.consensus, options=self.config.options is not None, by=by)
        return tuple(one.vote for one in cast)

    def to_records(self) -> list[JsonObject]:
        """Give one flat row per turn, for data frames and CSV."""
        rows: list[JsonObject] = []
        for held in self.rounds:
            for turn in held.turns:
                row: JsonObject = {
                    "sessionId": self.session_id,
                    "round": turn.round,
                    "stage": turn.stage,
                    "slot": turn.slot,
                    "agentId": turn.agent_id,
                    "role": turn.role,
                    "outcome": turn.outcome,
                    "durationS": turn.duration_s,
                }
                spent = turn.usage if turn.outcome == "failed" else turn.result.usage
                row |= {"calls": spent.calls, "tokens": spent.total_tokens, "costUsd": spent.cost_usd}
                if turn.outcome == "failed":
                    row |= {"error": turn.error.message, "errorCode": turn.error.code}
                elif turn.answer.kind == "position":
                    said = turn.answer
                    row |= {"position": said.position, "confidence": said.confidence, "stance": said.stance}
                    row |= {"choice": said.choice, "reasoning": said.reasoning}
                rows.append(row)
        return rows

    def to_frame(self) -> DataFrame:
        """Give `to_records` as a data frame of pandas (extra `frames`).

        Raises:
            ConfigurationError: pandas is not installed.
        """
        return frame_of(self.to_records(), COLUMNS)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw agreement and each agent's confidence, round by round, with matplotlib (extra `plot`).

        Args:
            ax: Where to draw; a new figure when left out.

        Raises:
            ConfigurationError: matplotlib is not installed.
        """
        return draw_debate(self, ax)

    def to_markdown(self) -> str:
        """Render as Markdown; what agents wrote is escaped."""
        return to_markdown(view_of(self))

    def to_html(self) -> str:
        """Render as one HTML page that needs nothing beside it and in which nothing acts.

        Light and dark, from a phone to paper; no script, no picture, no address that is loaded. What agents wrote is
        escaped, and links lead to http, https and mailto only.

        Example:
            >>> from roundtable import sync
            >>> from roundtable.testing import scripted_agents
            >>> with sync.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://") as table:
            ...     page = table.debate("Tea or coffee?", rounds=1).to_html()
            >>> page.startswith("<!doctype html>"), "<script" in page
            (True, False)
        """
        return to_page(view_of(self))

    def to_csv(self) -> str:
        """Give `to_records` as CSV, one line per turn; no cell is a formula."""
        return "".join(csv_parts(COLUMNS, self.to_records()))

    def to_text(self) -> str:
        """Render as plain lines."""
        return to_text(view_of(self))

    def __str__(self) -> str:
        return to_text(view_of(self), rounds=False)

    def __repr_args__(self) -> Iterable[tuple[str | None, object]]:
        # The whole of a result would fill screens.
        return [(name, getattr(self, name)) for name in ("session_id", "topic", "mode", "status", "answer")]

    def _repr_html_(self) -> str:
        return to_fragment(view_of(self))

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def _status(record: DebateRecord) -> DebateStatus:
    if any(asked.priority == "required" for asked in record.context_requests):
        return "needs_context"
    reason = record.exit.reason if record.exit else None
    if record.status == "completed":
        return "partial" if reason == "stopped" else "completed"
    return "paused" if record.status == "paused" and reason == "paused" else "partial"


def _answer(record: DebateRecord, last: RoundRecord | None) -> tuple[str | None, AnswerSource]:
    """Give the answer of a session: of a team its summary, of a debate what was said, decided or put together."""
    team, config = team_outcome(record), record.session.config
    if team is not None:
        return team.summary, "none" if team.summary is None else "synthesis"
    said = last.conclusion if last and config.decide not in JUDGED else None
    word = None if said is None else said.position if config.options is None else said.choice
    return (word, "judge") if word is not None else answer_of(last, record.synthesis, config)


def answer_of(
    last: RoundRecord | None, synthesis: SynthesisResult | None, config: DebateConfig
) -> tuple[str | None, AnswerSource]:
    """Give what was decided and where it comes from: the winner, else the conclusion of the synthesis."""
    winner = last.decision.winner if last and last.decision else None
    if winner is not None:
        by_choice = config.options is not None or _voted(last)
        return winner, "judge" if config.decide in JUDGED else "option" if by_choice else "cluster"
    if synthesis is not None:
        return synthesis.conclusion, "synthesis"
    return None, "none"


def _why_no_synthesis(record: DebateRecord) -> str | None:
    if record.synthesis is not None:
        return None
    if record.synthesis_error is not None:
        return record.synthesis_error.message
    return "the debate was not put together at its end" if record.session.config.synthesize else None


def _voted(last: RoundRecord | None) -> bool:
    return last is not None and any(turn.stage == LAST_VOTE for turn in last.turns)


def _conformity(record: DebateRecord, last: RoundRecord | None) -> float | None:
    level = last.consensus.agreement_level if last and last.consensus else None
    return conformity_delta(level, record.independent_agreement)


def _why_none(record: DebateRecord, last: RoundRecord | None, decision: Decision | None) -> str:
    if record.session.config.team is not None:
        return "the team was not summed up"
    if last is None:
        return "no round was completed"
    if decision is None:
        return "no decision rule was applied"
    return decision.why


def _roster(record: DebateRecord) -> Roster:
    turns = [turn for held in record.rounds for turn in held.turns]
    entries = []
    for agent in record.session.agents:
        own = [turn for turn in turns if turn.agent_id == agent.id]
        errors = tuple(turn.error for turn in own if turn.outcome == "failed")
        entries.append(
            RosterEntry(
                agent_id=agent.id,
                agent_name=agent.name,
                provider=agent.provider,
                model=agent.model,
                answered=len(own) - len(errors),
                failed=len(errors),
                errors=errors,
                usage=record.usage_by_agent.get(agent.id, Usage()),
            )
        )
    return Roster(agents=tuple(entries))
