"""The result of a debate: a frozen value that can be rebuilt byte for byte from the stored session."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from pydantic import ModelWrapValidatorHandler, TypeAdapter, computed_field, model_validator

from roundtable import report
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
    independent_consensus,
    minority_report,
    votes_of,
)
from roundtable.analysis.decision import decided_by_judges, is_unread, own_vote
from roundtable.core.base.arguments import explains_arguments
from roundtable.core.base.words import counted
from roundtable.core.record.chain import ChainHead
from roundtable.core.record.fold import team_outcome
from roundtable.core.types.agents import AgentConfig
from roundtable.core.types.answers import ContextRequest
from roundtable.core.types.base import JsonObject, Share, Timestamp, Value
from roundtable.core.types.chat import NO_USAGE, Usage
from roundtable.core.types.consensus import AnyConsensus, Decision, SynthesisResult
from roundtable.core.types.debate import (
    DebateConfig,
    DebateStatus,
    ErrorInfo,
    ExitResult,
    Roster,
    RosterEntry,
    RoundRecord,
    Session,
    SessionStatus,
    last_complete,
)
from roundtable.core.types.layers import RoundtableResponse
from roundtable.core.types.plan import VOTE_STAGE
from roundtable.core.types.teams import TeamOutcome
from roundtable.results.declarations import Declarations, declarations_of, score_meaning_of
from roundtable.results.rows import TURN_COLUMNS, frame_of, turn_row
from roundtable.results.view import view_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from pandas import DataFrame

    from roundtable.analysis.arguments import ArgumentGraph
    from roundtable.analysis.findings import Vote
    from roundtable.analysis.movement import OpinionFlow
    from roundtable.core.base.registry import Registry
    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.consensus import Decision
    from roundtable.core.types.debate import DebateRecord, ProviderWait, RoundRecord
    from roundtable.results.audit import DecisionAudit
    from roundtable.results.evidence import EvidenceReport
    from roundtable.results.frames import Frame, FrameBackend, FrameKind
    from roundtable.results.pictures import ResultPictures
    from roundtable.scoring import Rule

__all__ = ["AnswerSource", "DebateResult", "answer_of", "shared_value", "values_by_agent", "with_decision"]

_DECIDED: Final = ("option", "cluster", "judge", "vote")
"""Sources of an answer that comes from a decision, not from a synthesis."""

_VIEWS: Final = frozenset({"baselines", "health", "response", "value"})
"""Fields of the JSON that are computed from the other fields."""

AnswerSource = Literal["option", "cluster", "judge", "vote", "synthesis", "none"]


@explains_arguments
class DebateResult(Value):
    """The outcome of a debate and everything behind it.

    `answer` is the winner of `decision`, or the conclusion of the synthesis if there is no winner. In a mode with a
    chair, `answer` is the chair's conclusion unless the debaters vote on motions, and `decision` is a separate vote. If
    there is no winner and no conclusion, `answer` is `None`, `answer_reason` says why, and `rounds` has the positions.
    `consensus` is the agreement after the debate; `independent_agreement` is the agreement before any agent had seen
    another agent's answer. `print(result)` shows these values in a few lines; `to_text()` adds every round.

    `baselines`, `health`, `response` and `value` are computed from the rounds when they are first read.
    """

    session_id: str
    """Session id; `Roundtable.session(id)` returns this result again."""
    topic: str
    """The question."""
    mode: str
    """Debate mode."""
    status: DebateStatus
    """State of the debate."""
    answer: str | None
    """The winner of a vote on motions, else the chair's conclusion, else the winner of `decision`, else the conclusion
    of a readable `synthesis`."""
    answer_source: AnswerSource
    """Where the answer comes from."""
    answer_reason: str | None
    """Why there is no answer."""
    decision: Decision | None
    """Outcome of the decision rule over the last complete round."""
    votes: tuple[Vote, ...] = ()
    """Votes in the last complete round; `ballots()` returns them for `roundtable.decide`."""
    consensus: AnyConsensus | None
    """Agreement of the last complete round."""
    independent_agreement: Share | None
    """Agreement of the answers that were given before any agent had seen another agent's answer."""
    independent_agreement_at_most: Share | None = None
    """Upper bound of the independent agreement, for the case that all answers that nobody compared say the same; see
    `ConsensusResult.agreement_at_most`."""
    independent_agreement_reason: str | None
    """Why there is no independent agreement."""
    conformity_delta: float | None = None
    """`consensus.agreement_level` minus `independent_agreement`: the effect of the debate on agreement. `None` if one
    of the two is not a single figure."""
    minority_report: MinorityReport | None = None
    """Agents outside the largest camp of the last complete round, with their positions."""
    synthesis: SynthesisResult | None = None
    """Synthesis of the debate, written by one model."""
    synthesis_reason: str | None = None
    """Why there is no readable synthesis, if one was requested."""
    rounds: tuple[RoundRecord, ...]
    """All rounds with their turns."""
    roster: Roster
    """Agents that were asked, with the turns that they answered, those whose answers could not be read, and those that
    failed."""
    exit: ExitResult | None
    """Why the debate stopped."""
    usage: Usage
    """Usage of all calls."""
    team: TeamOutcome | None = None
    """Result of the team, if this was a team conversation."""
    error: ErrorInfo | None = None
    """Error that ended the debate, if there was one."""
    context_requests: tuple[ContextRequest, ...] = ()
    """Information that agents requested from the caller."""
    session_status: SessionStatus
    """State of the stored session."""
    total_rounds: int
    """Rounds planned."""
    config: DebateConfig
    """Configuration of the debate."""
    agents: tuple[AgentConfig, ...]
    """Configurations of the agents."""
    created_at: Timestamp
    """When the session was created."""
    updated_at: Timestamp
    """When the session last changed."""
    head: ChainHead | None = None
    """Hash of the stored log and its number of events; any change of a stored event changes the hash. Pass
    `str(result.head)` to `Roundtable.verify` to compare."""

    @model_validator(mode="wrap")
    @classmethod
    def _keep_views(cls, data: Any, build: ModelWrapValidatorHandler[Self]) -> Self:  # noqa: ANN401  (pydantic's signature)
        """Keep the computed fields of a JSON text unchanged, instead of computing them again."""
        if not isinstance(data, dict):
            return build(data)
        result = build({name: value for name, value in data.items() if name not in _VIEWS})
        for name in _VIEWS & data.keys():
            vars(result)[name] = _view_reader(cls, name).validate_python(data[name])
        return result

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @cached_property
    def baselines(self) -> Baselines | None:
        """Result that the independent answers alone would have, without a debate."""
        return baselines_of(self, self.answer if self.answer_source in _DECIDED else None)

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @cached_property
    def health(self) -> DebateHealth | None:
        """How positions changed, and signs that the agreement may mean little."""
        complete = [round_record for round_record in self.rounds if round_record.complete]
        return None if self.config.team else debate_health(complete, self.agents)

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @cached_property
    def response(self) -> RoundtableResponse | None:
        """The last complete round in four layers."""
        return None if self.config.team else build_response(self)

    @property
    def declared(self) -> Declarations:
        """What the mode and the rule of the debate declare for reports.

        This is not part of the JSON. A result that is read from JSON knows only the built-in modes and rules.
        """
        return self._declared

    @cached_property
    def _declared(self) -> Declarations:
        # The underscore keeps it out of `dict(result)`, which has the fields.
        return declarations_of(self.config, [agent.id for agent in self.agents], self.decision)

    @property
    def waits(self) -> tuple[ProviderWait, ...]:
        """Waits of complete rounds for providers, in seconds each, oldest first; see `Roundtable.debate_many`."""
        return tuple(wait for debate_round in self.rounds for wait in debate_round.waits)

    @property
    def values(self) -> Mapping[str, JsonObject]:
        """Values in the last complete round by agent id, of agents whose value fits `config.answer_schema`.

        Example:
            >>> from roundtable import sync
            >>> from roundtable.testing import scripted_agents
            >>> from pydantic import BaseModel
            >>> class City(BaseModel):
            ...     name: str
            >>> said = {"position": "Lisbon.", "bottom_line": "Lisbon", "reasoning": "", "value": {"name": "Lisbon"}}
            >>> with sync.Roundtable(scripted_agents({"ada": said, "bo": said}), storage="memory://") as table:
            ...     result = table.debate("What is the capital of Portugal?", rounds=1, answer_schema=City)
            >>> City.model_validate(result.values["bo"])
            City(name='Lisbon')
        """
        return values_by_agent(last_complete(self.rounds))

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @cached_property
    def value(self) -> JsonObject | None:
        """The value, in the type of `answer_schema`, that more than half of the agents with the winning answer gave.

        `None` if there is no winner, or no value has such a majority; `values` has the values of all agents.
        """
        return shared_value(self.values, self.decision, self.votes)

    @property
    def independent_level_in_words(self) -> str:
        """The agreement before the debate as text, or the reason why there is none."""
        measured = independent_consensus(self.rounds)
        if self.independent_agreement is None or measured is None:
            return f"none ({self.independent_agreement_reason})"
        return measured.level_in_words

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields changed, as `Value.model_copy` does; it keeps `declared`."""
        copied = super().model_copy(update=update, deep=deep)
        vars(copied)["_declared"] = self._declared
        return copied

    @classmethod
    def from_record(
        cls,
        record: DebateRecord,
        thresholds: ResponseSettings | None = None,
        *,
        mode: DebateModeStrategy | None = None,
        rules: Registry[Rule] | None = None,
    ) -> Self:
        """Build the result of a stored session; a pure function.

        Args:
            record: The session.
            thresholds: Thresholds of the four-layer response; the defaults if omitted.
            mode: The mode, for what it declares for reports; the built-in mode of that name if omitted.
            rules: Registry in which the rule is looked up for the same purpose; the built-in rules if omitted.
        """
        config = record.session.config
        last = last_complete(record.rounds)
        decision = last.decision if last else None
        answer, source = _answer(record, last)
        result = cls(
            session_id=record.session.id,
            topic=config.topic,
            mode=config.mode,
            status=_status(record),
            answer=answer,
            answer_source=source,
            answer_reason=None if answer is not None else _why_no_answer(record, last, decision),
            decision=decision,
            votes=votes_of(last, by_choice=config.options is not None) if last else (),
            consensus=last.consensus if last else None,
            independent_agreement=record.independent_agreement,
            independent_agreement_at_most=_independent_at_most(record),
            independent_agreement_reason=record.independent_agreement_reason,
            conformity_delta=_conformity_delta(record, last),
            minority_report=minority_report(last, by_choice=config.options is not None) if last else None,
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
            head=None if record.log_hash is None else ChainHead(events=record.last_seq, hash=record.log_hash),
        )
        if thresholds is not None and thresholds != ResponseSettings() and not config.team:
            vars(result)["response"] = build_response(result, thresholds)
        if mode is not None or rules is not None:
            agents = [agent.id for agent in result.agents]
            vars(result)["_declared"] = declarations_of(config, agents, decision, mode=mode, rules=rules)
        return result

    @property
    def session(self) -> Session:
        """The session in the format of the session manager."""
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
                for round_record in self.rounds
                for turn in round_record.turns
                if turn.outcome == "answered" and turn.answer.kind == "position"
            ),
            consensus=self.consensus,
            perspectives=self.config.perspectives,
            exit_on_consensus=self.config.exit_on_consensus,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )

    def ballots(self, round: int = -1, by: BallotBasis | None = None) -> tuple[str | None, ...]:
        """Return the votes of a round as ballots for `roundtable.decide`.

        Each agent has one ballot, for its last position in the round; the ballots are in the order of these positions.
        If the mode ends in a vote, as Oxford does, the ballot is this vote. Agents that were asked but gave no position
        come last, with `None`. The ballot of an answer that could not be read is also `None`; `decision.unread` names
        its voter. To count such ballots again, pass the names to `roundtable.decide` as `unread`.

        Args:
            round: Round number, from 1; negative numbers count from the end, so -1 is the last round.
            by: Which part of a position counts as the vote. If omitted, this is the vote of a mode that ends in a vote,
                else the chosen option if the debate has options, else the cluster.

        Raises:
            IndexError: The round does not exist.
            ConfigurationError: The value of `by` is unknown.
        """
        if not isinstance(round, int) or round == 0 or abs(round) > len(self.rounds):
            raise IndexError(f"there is no round {round!r}; {len(self.rounds)} have started")
        chosen = self.rounds[round if round < 0 else round - 1]
        votes = cast_votes(chosen, chosen.consensus, options=self.config.options is not None, by=by)
        return tuple(cast.vote for cast in votes)

    def audit(self, *, rules: Registry[Rule] | None = None) -> DecisionAudit:
        """Audit the decision: count the stored ballots again, with one change each time. No model is called.

        The audit contains these outcomes: without each agent, with one vote for another option, under each decision
        rule that can count the ballots, under each tie rule, with votes weighted by confidence, and before the debate.
        An outcome is not known if it depends on whether answers that nobody compared say the same.

        Args:
            rules: Registry in which rules are looked up, such as `roundtable.scoring.rule_registry()` with your own
                rules added; the built-in rules if omitted.

        Raises:
            SessionConflict: There is no decision to audit, or a recount does not confirm the stored decision.
            ConfigurationError: The rule of the debate is not in `rules`.

        Example:
            >>> from roundtable import sync
            >>> from roundtable.testing import scripted_agents
            >>> agents = scripted_agents({"ada": "Tea", "bo": "Tea", "cy": "Milk"})
            >>> with sync.Roundtable(agents, storage="memory://") as table:
            ...     audit = table.debate("Tea or milk?", rounds=1, options=["Tea", "Milk"]).audit()
            >>> audit.winner, audit.pivotal, audit.fragile
            ('Tea', ('ada', 'bo'), True)
        """
        from roundtable.results.audit import audit_decision

        return audit_decision(self, rules, vote_options=self.declared.vote_options)

    def opinion_flow(self) -> OpinionFlow | None:
        """Return who held which answer in each complete round, and who moved; `None` if sides were assigned.

        Example:
            >>> from roundtable import sync
            >>> from roundtable.testing import scripted_agents
            >>> agents = scripted_agents({"ada": ["Tea", "Tea"], "bo": ["Milk", "Tea"], "cy": ["Tea", "Tea"]})
            >>> with sync.Roundtable(agents, storage="memory://") as table:
            ...     flow = table.debate("Tea or milk?", rounds=2, options=["Tea", "Milk"]).opinion_flow()
            >>> [(camp.label, camp.name, camp.holders) for camp in flow.camps]
            [('A', 'Tea', (2, 3)), ('B', 'Milk', (1, 0))]
            >>> [(one.agent_id, one.round) for one in flow.opinions if one.moved == "moved"]
            [('bo', 2)]
        """
        from roundtable.analysis.movement import opinion_flow

        return opinion_flow([record for record in self.rounds if record.complete])

    def argument_graph(self) -> ArgumentGraph:
        """Return the claims of the debate, what they support and attack, and how others reacted; no model is called.

        The graph is empty unless the debate was run with `claims=True`. Its methods `to_records()`, `to_json()` and
        `to_graphml()` export it, and `plot.arguments()` draws it.

        Example:
            >>> from roundtable import sync
            >>> from roundtable.testing import scripted_agents
            >>> says = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8, "claims": ["Tea keeps."]}
            >>> with sync.Roundtable(scripted_agents({"ada": says, "bo": says}), storage="memory://") as table:
            ...     graph = table.debate("Tea or coffee?", rounds=2, claims=True).argument_graph()
            >>> [(claim.id, claim.agent_id, claim.state) for claim in graph.claims][:2]
            [('R1-TZHL-1', 'ada', 'unanswered'), ('R1-WVFN-1', 'bo', 'unanswered')]
        """
        from roundtable.analysis.arguments import argument_graph

        return argument_graph(self.rounds)

    async def check_evidence(
        self,
        *,
        allow: Collection[str] = (),
        domains: Collection[str] = (),
        timeout_s: float = 20.0,
        most_pages: int = 50,
    ) -> EvidenceReport:
        """Fetch the pages that claims cite, and look in them for the words that the claims quote (extra `fetch`).

        Only pages of the public web are opened. No model is called, and nothing is stored, so every call fetches the
        pages again. A source is `found` if the text of its page contains the quoted words. Capitals, spaces, and the
        forms of quotation marks and dashes make no difference; `...` in a quote matches any words. A quote of fewer
        than three words is not looked for, because it proves nothing.

        Args:
            allow: Hosts with their port, such as `127.0.0.1:8080`, that need not be public.
            domains: The only domains to open, with their subdomains; any domain if empty.
            timeout_s: Maximum seconds for each page.
            most_pages: Maximum number of pages to fetch.

        Raises:
            ConfigurationError: The extra `fetch` is not installed, or an argument is not valid.

        Example:
            >>> import anyio
            >>> from roundtable import sync
            >>> from roundtable.testing import scripted_agents
            >>> claim = {"text": "Tea keeps.", "evidence": [{"url": "http://127.0.0.1/", "quote": "tea keeps well"}]}
            >>> says = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8, "claims": [claim]}
            >>> with sync.Roundtable(scripted_agents({"ada": says, "bo": "Tea"}), storage="memory://") as table:
            ...     result = table.debate("Tea or coffee?", rounds=1, claims=True)
            >>> [(check.status, check.reason) for check in anyio.run(result.check_evidence).checks]
            [('not fetched', 'http://127.0.0.1/: the IP address is not public, or not in the usual spelling')]
        """
        from roundtable.results.evidence import CheckedDebate, check_evidence

        return await check_evidence(
            CheckedDebate(self.session_id, self.topic, self.answer),
            self.argument_graph(),
            allow=allow,
            domains=domains,
            timeout_s=timeout_s,
            most_pages=most_pages,
        )

    def check_evidence_sync(
        self,
        *,
        allow: Collection[str] = (),
        domains: Collection[str] = (),
        timeout_s: float = 20.0,
        most_pages: int = 50,
    ) -> EvidenceReport:
        """Check the evidence as `check_evidence` does, but without `await`, for scripts and notebooks.

        Args:
            allow: Hosts with their port, such as `127.0.0.1:8080`, that need not be public.
            domains: The only domains to open, with their subdomains; any domain if empty.
            timeout_s: Maximum seconds for each page.
            most_pages: Maximum number of pages to fetch.

        Raises:
            ConfigurationError: The extra `fetch` is not installed, or an argument is not valid.
        """
        from roundtable.core.base.portal import shared_portal

        return shared_portal().call(
            lambda: self.check_evidence(allow=allow, domains=domains, timeout_s=timeout_s, most_pages=most_pages)
        )

    def to_records(self) -> list[JsonObject]:
        """Return one flat row per turn, for data frames and CSV."""
        return [turn_row(self.session_id, turn) for round_record in self.rounds for turn in round_record.turns]

    def to_frame(self) -> DataFrame:
        """Return `to_records` as a pandas data frame (extra `frames`).

        Raises:
            ConfigurationError: pandas is not installed.
        """
        return frame_of(self.to_records(), TURN_COLUMNS)

    def frames(self, kind: FrameKind = "turns", backend: FrameBackend = "pandas") -> Frame:
        """Return the turns, the session, the votes or the pairs of agents as a frame with typed columns.

        The columns are `roundtable.results.frames.FRAME_COLUMNS`, with the topic, mode, models, usage and versions.

        Args:
            kind: Kind of rows: `turns`, `sessions`, `votes` or `pairs`. `Roundtable.frames` also has `events`.
            backend: `pandas` (extra `frames`), `polars` or `arrow` (`pip install polars`, `pyarrow`); or `records`,
                `csv` or `latex`, which need no further library.

        Raises:
            ConfigurationError: An argument is not valid, or the library of the backend is not installed.

        Example:
            >>> from roundtable import sync
            >>> from roundtable.testing import scripted_agents
            >>> with sync.Roundtable(scripted_agents({"ada": "Tea", "bo": "Milk"}), storage="memory://") as table:
            ...     result = table.debate("Tea or milk?", rounds=1)
            >>> [(row["agentId"], row["otherId"], row["relation"]) for row in result.frames("pairs", "records")]
            [('ada', 'bo', 'unknown')]
        """
        from roundtable.results.frames import frame_of_rows, rows_of

        return frame_of_rows(kind, rows_of(kind, self), backend)

    @property
    def plot(self) -> ResultPictures:
        """Pictures of the debate, drawn with matplotlib (extra `plot`).

        `plot()` draws agreement and confidence by round, and `plot.opinions()` draws who held which answer. Other
        methods are `pairs`, `influence`, `arguments`, `votes`, `confidence`, `tokens` and `time`. Each method returns
        its axes.
        """
        from roundtable.results.pictures import ResultPictures

        return ResultPictures(
            self.rounds,
            self.agents,
            title=f"{self.mode}: {'no answer' if self.answer is None else self.answer}",
            independent=(self.independent_agreement, self.independent_agreement_at_most),
            decision=self.decision,
        )

    def to_markdown(self, evidence: EvidenceReport | None = None) -> str:
        """Render as Markdown; text of agents is escaped.

        Args:
            evidence: Result of `check_evidence`, which is shown next to the claims.
        """
        return report.to_markdown(view_of(self, evidence))

    def to_html(self, evidence: EvidenceReport | None = None) -> str:
        """Render as one self-contained, static HTML page.

        The page has a light and a dark theme, and fits phones and paper. It contains no scripts and no pictures, and
        loads no other files. Text of agents is escaped, and links lead only to http, https and mailto addresses.

        Args:
            evidence: Result of `check_evidence`, which is shown next to the claims.

        Example:
            >>> from roundtable import sync
            >>> from roundtable.testing import scripted_agents
            >>> with sync.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://") as table:
            ...     page = table.debate("Tea or coffee?", rounds=1).to_html()
            >>> page.startswith("<!doctype html>"), "<script" in page
            (True, False)
        """
        return report.to_page(view_of(self, evidence))

    def to_csv(self) -> str:
        """Return `to_records` as CSV, one line per turn; cells that look like formulas are made harmless."""
        return "".join(report.csv_parts(TURN_COLUMNS, self.to_records()))

    def to_text(self) -> str:
        """Render as plain text."""
        return report.to_text(view_of(self))

    def __str__(self) -> str:
        return report.to_text(view_of(self, rounds=False), rounds=False)

    def __repr_args__(self) -> Iterable[tuple[str | None, object]]:
        # A whole result would fill several screens.
        return [(name, getattr(self, name)) for name in ("session_id", "topic", "mode", "status", "answer")]

    def _repr_html_(self) -> str:
        return report.render_within(view_of(self), report.to_fragment)

    def _repr_markdown_(self) -> str:
        return report.render_within(view_of(self), report.to_markdown)


@cache
def _view_reader(kind: type[DebateResult], name: str) -> TypeAdapter[Any]:
    return TypeAdapter(kind.model_computed_fields[name].return_type)


def with_decision(result: DebateResult, *, rules: Registry[Rule] | None = None, **changes: object) -> DebateResult:
    """Return a result with another decision, and baselines compared with this decision; other views do not change.

    Args:
        result: The result.
        rules: Registry in which the rule of the decision is looked up; the built-in rules if omitted.
        **changes: The fields that change.
    """
    changed = result.model_copy(update={**changes})
    score = score_meaning_of(changed.decision, changed.config.decide, rules)
    declared = result.declared._replace(score=score)
    vars(changed).update(health=result.health, response=result.response, _declared=declared)
    vars(changed).pop("baselines", None)
    return changed


def _status(record: DebateRecord) -> DebateStatus:
    if any(request.priority == "required" for request in record.context_requests):
        return "needs_context"
    reason = record.exit.reason if record.exit else None
    if record.status == "completed":
        return "partial" if reason == "stopped" else "completed"
    return "paused" if record.status == "paused" and reason == "paused" else "partial"


def _answer(record: DebateRecord, last: RoundRecord | None) -> tuple[str | None, AnswerSource]:
    """Return the answer and its source: a team's summary, or the answer of the chair, decision or synthesis."""
    team, config = team_outcome(record), record.session.config
    if team is not None:
        return team.summary, "none" if team.summary is None else "synthesis"
    conclusion = last.conclusion if last and not decided_by_judges(last) and not _has_winning_motion(last) else None
    if conclusion is not None:
        answer = conclusion.position if config.options is None else conclusion.choice
        if answer is not None:
            return answer, "judge"
    return answer_of(last, record.synthesis, config)


def answer_of(
    last: RoundRecord | None, synthesis: SynthesisResult | None, config: DebateConfig
) -> tuple[str | None, AnswerSource]:
    """Return the answer and its source: the winner of the decision, else the conclusion of the synthesis."""
    winner = last.decision.winner if last and last.decision else None
    if winner is not None:
        if _has_winning_motion(last):
            return winner, "vote"
        by_choice = config.options is not None or _has_vote(last)
        return winner, "judge" if last and decided_by_judges(last) else "option" if by_choice else "cluster"
    if synthesis is not None and synthesis.readable:
        return synthesis.conclusion, "synthesis"
    return None, "none"


def _why_no_synthesis(record: DebateRecord) -> str | None:
    if record.synthesis is not None:
        return None if record.synthesis.readable else "the answer of the synthesizer could not be read"
    if record.synthesis_error is not None:
        return record.synthesis_error.message
    return "no synthesis was written at the end of the debate" if record.session.config.synthesize else None


def _has_vote(last: RoundRecord | None) -> bool:
    return last is not None and bool(own_vote(last))


def _has_winning_motion(last: RoundRecord | None) -> bool:
    """Check whether a vote on motions has a winner; if so, not even a chair overrules the vote."""
    has_ballots = last is not None and any(turn.stage == VOTE_STAGE for turn in last.turns)
    return has_ballots and last is not None and last.decision is not None and last.decision.winner is not None


def _independent_at_most(record: DebateRecord) -> float | None:
    measured = independent_consensus(record.rounds)
    if record.independent_agreement is None or measured is None:
        return None
    return max(measured.agreement_at_most, record.independent_agreement)


def _conformity_delta(record: DebateRecord, last: RoundRecord | None) -> float | None:
    after, before = last.consensus if last else None, independent_consensus(record.rounds)
    if after is None or before is None or not (after.is_measured and before.is_measured):
        return None
    return conformity_delta(after.agreement_level, record.independent_agreement)


def _why_no_answer(record: DebateRecord, last: RoundRecord | None, decision: Decision | None) -> str:
    if record.session.config.team is not None:
        return "no summary of the team's reports was written"
    if last is None:
        return f"no round was completed{_cut_off_vote(record)}"
    if decision is None:
        return "no decision rule was applied"
    if not decision.is_tie and not any(round_record.turns for round_record in record.rounds):
        return f"no agent was asked: the mode {record.session.config.mode!r} planned no turn"
    return decision.why


def _cut_off_vote(record: DebateRecord) -> str:
    """Return how many answers and votes an unfinished round has, if it may have ended during its vote on motions."""
    last = record.rounds[-1] if record.rounds else None
    if not record.session.config.vote or last is None or not last.responses:
        return ""
    votes = sum(turn.stage == VOTE_STAGE and turn.outcome == "answered" for turn in last.turns)
    counts = f"{counted(len(last.responses), 'answer')} and {votes} of {counted(len(record.session.agents), 'vote')}"
    advice = "; resume the session to continue" if record.status == "paused" else ""
    return f": round {last.number} has {counts}{advice}"


def _roster(record: DebateRecord) -> Roster:
    turns = [turn for round_record in record.rounds for turn in round_record.turns]
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
                unread=sum(map(is_unread, own)),
                failed=len(errors),
                errors=errors,
                usage=record.usage_by_agent.get(agent.id, NO_USAGE),
            )
        )
    return Roster(agents=tuple(entries))


def values_by_agent(last: RoundRecord | None) -> dict[str, JsonObject]:
    """Return the value of each agent that gave one in a round, from its last position in the round."""
    values: dict[str, JsonObject] = {}
    for response in () if last is None else last.responses:
        values.pop(response.agent_id, None)
        if response.value is not None:
            values[response.agent_id] = response.value
    return values


def shared_value(
    values: Mapping[str, JsonObject], decision: Decision | None, votes: Iterable[Vote]
) -> JsonObject | None:
    """Return the value that more than half of the agents with the winning answer gave.

    Numbers are compared by value, so `1` equals `1.0`, but not `true`. The order of the members of an object makes no
    difference.

    Args:
        values: Value of each agent that gave one.
        decision: Outcome of the last complete round.
        votes: Votes of that round.
    """
    winner = None if decision is None else decision.winner
    winning_values = [values.get(vote.agent_id) for vote in votes if winner is not None and vote.choice == winner]
    told_apart = [_mark_booleans(value) for value in winning_values]
    for value, its in zip(winning_values, told_apart, strict=True):
        if value is not None and 2 * told_apart.count(its) > len(winning_values):
            return value
    return None


def _mark_booleans(value: JsonValue) -> object:
    """Return a copy in which `true` is not equal to 1; in Python, `True == 1`."""
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, dict):
        return {name: _mark_booleans(member) for name, member in value.items()}
    return [_mark_booleans(member) for member in value] if isinstance(value, list) else value
