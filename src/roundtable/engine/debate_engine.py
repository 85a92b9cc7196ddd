"""The engine: starts debates, runs them under a lease, and answers questions about them."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from roundtable._ledger import Ledger
from roundtable.agents import config_of, first_writer
from roundtable.analysis import AnalyzerChain, ConsensusAnalyzer, NamedMeter, check_decider
from roundtable.engine.adoption import Adoption, adopted, check_open, check_past, present
from roundtable.engine.closing import leaving_events
from roundtable.engine.extension import Extension, extended
from roundtable.engine.hub import EventHub
from roundtable.engine.journal import Journal
from roundtable.engine.limits import RunLimits
from roundtable.engine.opening import mode_of
from roundtable.engine.owning import release, take_lease
from roundtable.engine.pacing import Pace
from roundtable.engine.requests import answered
from roundtable.engine.run import DebateRun
from roundtable.engine.spending import Funds
from roundtable.engine.synthesis import stored_synthesis, synthesize_stored
from roundtable.engine.team_run import TeamRun
from roundtable.errors import ConfigurationError, RoundtableError, SessionConflict
from roundtable.exits import (
    AnyOf,
    ExitSettings,
    create_default_exit_criteria,
    early_exit,
    exit_from_spec,
    exit_registry,
)
from roundtable.modes import check_config
from roundtable.scoring import rule_registry
from roundtable.types import RoundResult

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from roundtable._registry import Registry
    from roundtable.agents import AgentRegistry
    from roundtable.analysis import AIConsensusAnalyzer
    from roundtable.engine.session_manager import SessionManager
    from roundtable.engine.synthesis import Writer
    from roundtable.exits import ExitFactory
    from roundtable.modes import ModeRegistry
    from roundtable.protocols import Agent, AgentToolkit, ConsensusMeter, DebateModeStrategy, ExitCriterion
    from roundtable.record import Fold
    from roundtable.scoring import Rule
    from roundtable.types import (
        AgentConfig,
        AgentResponse,
        AIConsensusResult,
        AnyConsensus,
        DebateConfig,
        DurableEvent,
        ForkOrigin,
        LiveEvent,
        Session,
        SynthesisResult,
    )

__all__ = ["DebateEngine"]

logger: logging.Logger = logging.getLogger("roundtable.engine")


class DebateEngine:
    """Runs debates out of a session manager, an agent registry and a mode registry.

    Args:
        session_manager: Where sessions are kept.
        agent_registry: Where agents come from.
        mode_registry: Where modes come from.
        toolkit: Tools for all agents of the registry.
        ai_consensus_analyzer: Reads each round with a model; where it is missing or fails, equal positions count.
        meter: Measures each round instead.
        hub: Where events are told.
        rules: Where decision rules are found; the built-in ones when left out.
        exits: Where stop criteria are found; the built-in ones when left out.
        exit_settings: When `exit_on_consensus` ends a debate.
        turn_timeout_s: Seconds each turn has for all its calls; no limit when left out.
        ledger: Where the models reserve what their calls cost. Calls of models that know no ledger count against
            budgets once their turn is stored.

    Example:
        >>> import anyio
        >>> from roundtable.agents import AgentRegistry, BaseAgent
        >>> from roundtable.engine import SessionManager
        >>> from roundtable.modes import ModeRegistry
        >>> from roundtable.providers.scripted import ScriptedModel
        >>> from roundtable.storage import MemoryStorage
        >>> from roundtable.types import AgentConfig, DebateConfig
        >>> model = ScriptedModel({"*": {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.9}})
        >>> agents = AgentRegistry()
        >>> agents.register_provider("scripted", lambda config: BaseAgent(config, model), "scripted")
        >>> for name in ("ada", "bo"):
        ...     agent = agents.create_agent(AgentConfig(id=name, name=name.title(), provider="scripted"))
        >>> engine = DebateEngine(SessionManager(MemoryStorage()), agents, ModeRegistry())
        >>> async def one_round():
        ...     session = await engine.start_debate(DebateConfig(topic="Tea or coffee?", agents=("ada", "bo")))
        ...     return await engine.run_round(session.id)
        >>> anyio.run(one_round).consensus.agreement_level
        1.0
    """

    def __init__(
        self,
        session_manager: SessionManager,
        agent_registry: AgentRegistry,
        mode_registry: ModeRegistry,
        toolkit: AgentToolkit | None = None,
        *,
        ai_consensus_analyzer: AIConsensusAnalyzer | None = None,
        meter: ConsensusMeter | None = None,
        hub: EventHub | None = None,
        rules: Registry[Rule] | None = None,
        exits: Registry[ExitFactory] | None = None,
        exit_settings: ExitSettings | None = None,
        turn_timeout_s: float | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.turn_timeout_s = turn_timeout_s
        self.sessions = session_manager
        self.agents = agent_registry
        self.modes = mode_registry
        self.ai_consensus_analyzer: AIConsensusAnalyzer | None = ai_consensus_analyzer
        self.meter: ConsensusMeter = meter or _meter(ai_consensus_analyzer)
        self.hub: EventHub = hub or EventHub()
        self.rules: Registry[Rule] = rule_registry() if rules is None else rules
        self.exits: Registry[ExitFactory] = exit_registry() if exits is None else exits
        self.exit_settings: ExitSettings = exit_settings or ExitSettings()
        self.ledger: Ledger = ledger or Ledger()
        self.pace: Pace = Pace()
        if toolkit is not None:
            agent_registry.set_toolkit(toolkit)

    async def start_debate(
        self,
        config: DebateConfig,
        agents: Sequence[AgentConfig] = (),
        *,
        mode: DebateModeStrategy | None = None,
        forked_from: ForkOrigin | None = None,
    ) -> Session:
        """Create a session; nobody is asked anything yet.

        Args:
            config: What to debate and how.
            agents: Configurations of agents that the registry does not keep.
            mode: The mode itself, where the registry does not keep it.
            forked_from: Where the past of the session comes from; `SessionManager.give_past` stores it.

        Raises:
            ConfigurationError: The mode, the rule, the exit or an agent is unknown, a parameter of the rule is out of
                range, or the mode cannot be held for so many rounds or by so many agents.
        """
        mode = mode or mode_of(config, self.modes)
        check_config(mode, config)
        check_decider(config, self.rules)
        config = self._with_exit(config)
        if config.quorum is not None and config.quorum > len(config.agents):
            msg = f"a quorum of {config.quorum} cannot be met by {len(config.agents)} agents"
            raise ConfigurationError(msg, hint="Lower the quorum, or seat more agents.")
        known = {agent.id: agent for agent in agents}
        for agent_id in config.agents:
            kept = self.agents.get_agent(agent_id)
            if agent_id not in known and kept is not None:
                known[agent_id] = config_of(kept)
        missing = [agent_id for agent_id in config.agents if agent_id not in known]
        if missing:
            there = ", ".join(self.agents.get_all_agent_ids()) or "none"
            msg = f"unknown agents: {', '.join(missing)}. Known: {there}"
            raise ConfigurationError(msg, hint="Create them in the agent registry first.")
        return await self.sessions.create_session(config, tuple(known.values()), forked_from=forked_from)

    def _with_exit(self, config: DebateConfig) -> DebateConfig:
        """State in `exit` all that ends the debate, so that whoever resumes it does not depend on its environment.

        What `exit_on_consensus` adds comes after the criterion of the caller.
        """
        exits = self._exit_of(config)
        if config.exit_on_consensus:
            early = early_exit(create_default_exit_criteria(config.rounds, self.exit_settings))
            exits = AnyOf((exits, early)) if exits and early else exits or early
        return config.model_copy(update={"exit": exits and exits.to_spec()})

    def _exit_of(self, config: DebateConfig) -> ExitCriterion | None:
        return None if config.exit is None else exit_from_spec(config.exit, self.exits)

    async def run_round(self, session_id: str, focus_question: str | None = None) -> RoundResult:
        """Hold exactly one round, finishing one that was interrupted.

        Raises:
            SessionError: The session is unknown, paused, completed or broken.
            SessionBusy: Somebody else is running it.
            QuorumLost: Too few agents answered.
        """
        fold = await self.sessions.load(session_id)
        status = fold.progress.status
        if status not in {"created", "active"} or fold.pending_control is not None:
            msg = f"session {session_id!r} is {status}; run_round needs a created or active one"
            raise SessionConflict(msg, hint="Resume or extend it first.")
        runs: list[DebateRun] = []
        limits = RunLimits(rounds=1)
        fold = await self.run(session_id, limits, focus_question=focus_question, on_start=runs.append)
        held = [closed.to_record() for closed in fold.rounds if closed.complete]
        if not runs[0].held:
            why = fold.exit.details if fold.exit else "it was left"
            msg = f"the round of session {session_id!r} did not come to its end: {why}"
            raise SessionConflict(msg, hint="Resume or extend the session, then hold the round.")
        last = held[-1]
        assert last.consensus is not None  # noqa: S101  (a closed round was measured)
        return RoundResult(
            round_number=last.number,
            responses=last.responses,
            consensus=last.consensus,
            decision=last.decision,
            failed=tuple(turn.error for turn in last.turns if turn.outcome == "failed"),
            context_requests=fold.context_requests or None,
        )

    async def run(
        self,
        session_id: str,
        limits: RunLimits | None = None,
        *,
        agents: Mapping[str, Agent] | None = None,
        mode: DebateModeStrategy | None = None,
        meter: ConsensusMeter | None = None,
        writer: Writer | None = None,
        focus_question: str | None = None,
        extension: Extension | None = None,
        adoption: Adoption | None = None,
        on_start: Callable[[DebateRun], None] | None = None,
    ) -> Fold:
        """Run a session until it ends, pauses or breaks, or until the limits are reached.

        Args:
            session_id: Which session.
            limits: How far to go.
            agents: Who takes part; made by the registry from the stored configurations when left out.
            mode: The mode; the registry's of the stored name when left out.
            meter: Measures each round; the engine's when left out.
            writer: Puts the debate together where that was asked for; the first agent with a model when left out.
            focus_question: Narrower question for the rounds to come.
            extension: Rounds to add first; a completed session needs some.
            adoption: Configurations that hold from now on, instead of those stored.
            on_start: Is handed the run before anything is asked.

        Returns:
            The state of the session afterwards.

        Raises:
            SessionError: The session is unknown or completed, or waits for information that is not given.
            SessionBusy: Somebody else is running it.
            ConfigurationError: The mode or an agent is not to be had here, or so many rounds are not.
            QuorumLost: Too few agents answered.
            BudgetExceeded: The budget covers not even the first call.
            StorageError: Something could not be stored.
        """
        async with self._owned(session_id, limits := limits or RunLimits()) as journal:
            fold = check_past(journal.fold)
            mode = mode or mode_of(fold.record.config, self.modes)
            check_decider(fold.record.config, self.rules)
            table = agents if agents is not None else present(self.agents, fold)
            await self._change(journal, mode, extension, adoption)
            check_open(fold)
            answered(fold, ())
            fold.next_focus = focus_question or fold.next_focus
            with Funds(self.ledger, fold, limits.budget) as funds:
                run = (DebateRun if fold.record.config.team is None else TeamRun)(
                    journal,
                    mode,
                    table,
                    meter=meter or self.meter,
                    exits=self._exit_of(fold.record.config),
                    rules=self.rules,
                    limits=replace(limits, turn_timeout_s=limits.turn_timeout_s or self.turn_timeout_s),
                    funds=funds,
                    pace=self.pace,
                    writer=writer or first_writer(table.values()),
                )
                if on_start is not None:
                    on_start(run)
                await run.run()
            return fold

    async def _change(
        self, journal: Journal, mode: DebateModeStrategy, extension: Extension | None, adoption: Adoption | None
    ) -> None:
        """Store what is to be different from now on."""
        fold, now = journal.fold, self.sessions.clock.now()
        if extension is not None:
            await journal.append(extended(fold, extension, mode, now))
        if adoption is not None:
            await journal.append(adopted(fold, adoption, now))

    async def obey(self, session_id: str) -> None:
        """Carry out a pending request to pause or stop on a session that nobody runs.

        Raises:
            SessionBusy: Somebody runs it, and will obey by itself.
        """
        async with self._owned(session_id, RunLimits()) as journal:
            if journal.fold.pending_control is not None:
                await journal.append(*leaving_events(journal.fold, self.sessions.clock.now()))

    async def synthesize(self, session_id: str, writer: Writer, *, by: str | None = None) -> SynthesisResult:
        """Give the synthesis of a session, made now unless it is stored.

        Args:
            session_id: Which session.
            writer: Puts it together.
            by: Whose synthesis is wanted, by `synthesizer_id`; any when left out.

        Raises:
            SessionError: The session is unknown, or nobody has answered yet.
            SessionBusy: Somebody is running it.
            RoundtableError: No synthesis came of it; what was spent is stored all the same.
        """
        held = stored_synthesis(await self.sessions.load(session_id), by)
        if held is not None:
            return held
        limits = RunLimits()
        async with self._owned(session_id, limits) as journal:
            with Funds(self.ledger, check_past(journal.fold), None) as funds:
                funds.check()
                held = stored_synthesis(journal.fold, by)
                return held or await synthesize_stored(journal, writer, limits.lease_ttl_s)

    @asynccontextmanager
    async def _owned(self, session_id: str, limits: RunLimits) -> AsyncGenerator[Journal]:
        """Hold the lease of a session."""
        storage, tenant, owner = self.sessions.storage, self.sessions.tenant, self.sessions.owner()
        refused = False
        await self.pace.step()
        try:
            try:
                lease = await take_lease(self.sessions, session_id, owner, limits)
            except RoundtableError:
                refused = True
                raise
            fold = await self.sessions.load(session_id)
            hears = partial(self.hub.hears, session_id)
            yield Journal(storage, fold, lease, self.tell, self.sessions.clock, hears=hears)
        finally:
            # Also after a cancelled request: the storage may have granted it all the same.
            if not refused:
                await release(storage, session_id, owner, tenant)

    def tell(self, event: DurableEvent | LiveEvent) -> None:
        """Tell an event to whoever listens."""
        self.hub.publish(event)

    async def get_consensus(self, session_id: str) -> AnyConsensus:
        """Give the stored agreement of the last complete round; nothing is paid for again.

        Raises:
            SessionError: There is no such session, or nobody has answered yet.
        """
        fold = await self.sessions.load(session_id)
        for held in reversed(fold.rounds):
            if held.consensus is not None:
                return held.consensus
        responses = fold.view().previous_responses
        if not responses:
            msg = f"session {session_id!r} has no answers yet"
            raise SessionConflict(msg)
        # A model reads a round once, when it is closed.
        return ConsensusAnalyzer().analyze(responses)

    async def analyze_consensus_with_ai(self, responses: Sequence[AgentResponse], topic: str) -> AIConsensusResult:
        """Have answers read by the `ai_consensus_analyzer`; nothing is stored.

        Raises:
            ConfigurationError: The engine has none; the code is `MISSING_CONSENSUS_ANALYZER`.
        """
        if self.ai_consensus_analyzer is None:
            msg = "AI consensus analyzer not configured"
            hint = "Pass ai_consensus_analyzer=AIConsensusAnalyzer(model)."
            raise ConfigurationError(msg, code="MISSING_CONSENSUS_ANALYZER", hint=hint)
        return await self.ai_consensus_analyzer.analyze_consensus(responses, topic)

    async def get_session(self, session_id: str) -> Session | None:
        """Give a session, or `None` when there is none."""
        return await self.sessions.get_session(session_id)

    async def list_sessions(self) -> tuple[Session, ...]:
        """Give all sessions, newest first."""
        return await self.sessions.list_sessions()


def _meter(reader: AIConsensusAnalyzer | None) -> ConsensusMeter:
    return ConsensusAnalyzer() if reader is None else AnalyzerChain([NamedMeter("ai", reader)])
