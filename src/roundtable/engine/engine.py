"""The engine: create, run, resume, extend and read debates, each under a lease."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from roundtable.agents import config_of, first_synthesizer
from roundtable.analysis import AnalyzerChain, ConsensusAnalyzer, NamedMeter, check_decider, decide_record
from roundtable.analysis.chain import safe_meter
from roundtable.core.base.ledger import Ledger
from roundtable.core.base.waits import reporting_to
from roundtable.core.base.words import counted
from roundtable.core.engine.closing import leaving_events
from roundtable.core.engine.context_requests import match_answers
from roundtable.core.engine.events import EventHub, notices
from roundtable.core.engine.journal import Journal
from roundtable.core.engine.lease import release, take_lease
from roundtable.core.engine.plan_limits import RunLimits, StepLimiter
from roundtable.core.engine.policy import DebatePolicy
from roundtable.core.engine.run import DebateRun
from roundtable.core.engine.spending import RunBudget
from roundtable.core.engine.stage_hooks import publish_wait
from roundtable.core.engine.synthesis import stored_synthesis, synthesize_stored
from roundtable.core.errors import ConfigurationError, RoundtableError, SessionConflict, StorageError
from roundtable.core.mode.base import BaseModeStrategy
from roundtable.core.mode.simulate import check_config
from roundtable.core.types.debate import RoundResult
from roundtable.core.types.events import Control, Waiting
from roundtable.engine.team import TeamPolicy
from roundtable.exits import (
    AnyOf,
    ExitSettings,
    create_default_exit_criteria,
    early_exit,
    exit_from_spec,
    exit_registry,
)
from roundtable.exits.base import CheckedExits
from roundtable.modes.prepare import prepare_mode
from roundtable.modes.team import TeamMode
from roundtable.scoring import rule_registry

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
    from datetime import datetime

    from roundtable.agents import AgentRegistry
    from roundtable.analysis import AIConsensusAnalyzer
    from roundtable.core.base.registry import Registry
    from roundtable.core.base.waits import Wait
    from roundtable.core.engine.policy import SessionPolicy
    from roundtable.core.engine.synthesis import Writer
    from roundtable.core.protocols import Agent, AgentToolkit, ConsensusMeter, DebateModeStrategy, ExitCriterion
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.agents import AgentConfig
    from roundtable.core.types.answers import AgentResponse, ContextResult
    from roundtable.core.types.attachments import Attachment
    from roundtable.core.types.consensus import AIConsensusResult, AnyConsensus, SynthesisResult
    from roundtable.core.types.debate import CallerObjects, DebateConfig, ForkOrigin, PluginUse, Session
    from roundtable.core.types.events import DurableEvent, LiveEvent
    from roundtable.engine.sessions import SessionManager
    from roundtable.exits import ExitFactory
    from roundtable.modes import ModeRegistry
    from roundtable.scoring import Rule

__all__ = [
    "Adoption",
    "DebateEngine",
    "Extension",
    "adoption_event",
    "agents_of",
    "check_open",
    "check_past",
    "extension_event",
    "mode_of",
]

logger: logging.Logger = logging.getLogger("roundtable.engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """The configuration with which a session is resumed."""

    agents: tuple[AgentConfig, ...]
    """Configurations of all agents of the session, in the order of the session."""
    prompt_version: str
    """Version of the prompt texts."""


def adoption_event(fold: Fold, adoption: Adoption, now: datetime) -> Control:
    """Return the event that resumes a session with a new configuration."""
    return Control(
        session_id=fold.record.id,
        timestamp=now,
        action="resume",
        agents=adoption.agents,
        prompt_version=adoption.prompt_version,
    )


def check_open(fold: Fold) -> None:
    """Check that a session is not completed.

    Raises:
        SessionConflict: The session is completed.
    """
    if fold.progress.status == "completed":
        msg = f"session {fold.record.id!r} is completed"
        raise SessionConflict(msg, hint="Extend it to run more rounds.")


def check_past(fold: Fold) -> Fold:
    """Return the session, unless it is a fork whose shared past was never stored, such as after a crash.

    Raises:
        SessionConflict: The shared past is missing.
    """
    origin = fold.record.forked_from
    if origin is not None and fold.last_seq < origin.events:
        msg = f"session {fold.record.id!r} is an incomplete fork of session {origin.session_id!r}"
        raise SessionConflict(msg, hint="Delete it, and fork the original session again.")
    return fold


def mode_of(config: DebateConfig, known: ModeRegistry) -> DebateModeStrategy:
    """Return the mode of a session. No registry contains the mode of a team, since it needs more than a name.

    Raises:
        ConfigurationError: The mode is unknown.
    """
    return TeamMode() if config.team is not None else known.get_mode(config.mode)


def agents_of(registry: AgentRegistry, fold: Fold) -> dict[str, Agent]:
    """Return the agents of a session by id: those that debate, and those with a role such as judge (`seats`)."""
    seated = {agent_id: registry.get_agent(agent_id) for ids in fold.record.config.seats.values() for agent_id in ids}
    return {
        **registry.resolve(fold.record.agents),
        **{agent_id: agent for agent_id, agent in seated.items() if agent is not None},
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """A request to extend a session."""

    rounds: int = 1
    """Rounds to add to the planned rounds or, if the session is completed, to the rounds that were run. 0 adds no
    round, only answers; the session must not be completed."""
    focus_question: str | None = None
    """Narrower question for these rounds."""
    context_results: tuple[ContextResult, ...] = ()
    """Answers to the agents' requests for context."""
    force: bool = False
    """Whether to continue without answers that agents require."""
    max_rounds: int | None = None
    """Most rounds that the session may have in total, with the rounds so far; the mode's limit when left out."""


def extension_event(fold: Fold, extension: Extension, mode: DebateModeStrategy, now: datetime) -> Control:
    """Return the event that extends a session.

    Raises:
        ConfigurationError: The total exceeds the limit of rounds, or the mode cannot run so many.
        SessionConflict: An answer that agents require is missing, or the session is completed and `rounds` is 0.
    """
    results = match_answers(fold, extension.context_results, force=extension.force)
    planned = fold.progress.total_rounds
    if fold.progress.status == "completed":
        # A debate that ended early drops its remaining rounds. A round that was stopped halfway is finished first.
        planned = fold.current.number if fold.current is not None else 0
    total = planned + extension.rounds
    if extension.max_rounds is not None and total > extension.max_rounds:
        limit = f"session {fold.record.id!r} may have {extension.max_rounds} rounds at most"
        msg = f"{limit}; {extension.rounds} more would make {total}"
        raise ConfigurationError(msg, hint="Raise ROUNDTABLE_MAX_ROUNDS to allow more rounds.")
    if extension.rounds == 0 and fold.progress.status == "completed":
        raise SessionConflict(f"session {fold.record.id!r} is completed", hint="Extend it by at least one round.")
    if extension.rounds < 0 or total not in mode.rounds:
        allowed = f"{mode.rounds.start} to {mode.rounds.stop - 1}"
        msg = f"mode {mode.name!r} takes {allowed} rounds; {extension.rounds} more would make {total}"
        raise ConfigurationError(msg)
    return Control(
        session_id=fold.record.id,
        timestamp=now,
        action="extend",
        total_rounds=total,
        focus_question=extension.focus_question,
        context_results=results,
    )


class DebateEngine:
    """Runs debates with a session manager, an agent registry and a mode registry.

    Args:
        session_manager: Stores the sessions.
        agent_registry: Creates and finds agents.
        mode_registry: Finds modes.
        toolkit: Tools for all agents of the registry.
        ai_consensus_analyzer: Measures each round with a model. If it is missing, the basic formula
            measures; if it fails, `DeclaredAnalyzer` does.
        meter: Measures each round instead of `ai_consensus_analyzer`.
        hub: Publishes events.
        rules: Finds decision rules; the built-in ones when left out.
        exits: Finds exit criteria; the built-in ones when left out.
        exit_settings: Settings that determine when `exit_on_consensus` ends a debate.
        turn_timeout_s: Seconds that each turn has for all its calls; no limit when left out.
        ledger: Reserves the cost of model calls. Calls of models that do not use a ledger count against the budget only
            when their turn is stored.

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
        self.meter: ConsensusMeter = meter or _default_meter(ai_consensus_analyzer)
        self.hub: EventHub = hub or EventHub()
        self.rules: Registry[Rule] = rule_registry() if rules is None else rules
        self.exits: Registry[ExitFactory] = exit_registry() if exits is None else exits
        self.exit_settings: ExitSettings = exit_settings or ExitSettings()
        self.ledger: Ledger = ledger or Ledger()
        self.pace: StepLimiter = StepLimiter()
        if toolkit is not None:
            agent_registry.set_toolkit(toolkit)

    async def start_debate(
        self,
        config: DebateConfig,
        agents: Sequence[AgentConfig] = (),
        *,
        mode: DebateModeStrategy | None = None,
        forked_from: ForkOrigin | None = None,
        caller_objects: CallerObjects | None = None,
        plugins: Sequence[PluginUse] = (),
        session_id: str | None = None,
        attachments: Sequence[Attachment] = (),
        has_whole_exit: bool = False,
    ) -> Session:
        """Create a session; this calls no agent yet.

        Args:
            config: What to debate and how.
            agents: Configurations of agents that are not in the registry.
            mode: The mode itself, if it is not in the registry.
            forked_from: Origin of a fork; `SessionManager.store_past` stores the shared past.
            caller_objects: Objects that the caller must pass again to resume the session; no objects when left out.
            plugins: Plugins that take part.
            session_id: Id of the session; a random one when left out.
            attachments: Files that belong to the question, checked by `read_attachments`.
            has_whole_exit: Whether `config.exit` already contains the criteria of `exit_on_consensus`, as in a stored
                session.

        Raises:
            ConfigurationError: The mode, the rule, the exit criterion or an agent is unknown, a parameter of the rule
                is out of range, or the mode does not support so many rounds or agents.
        """
        mode = mode or mode_of(config, self.modes)
        check_config(mode, config)
        check_decider(config, self.rules)
        config = config if has_whole_exit else self._with_exit(config)
        if config.quorum is not None and config.quorum > len(config.agents):
            msg = f"a quorum of {config.quorum} cannot be met by {counted(len(config.agents), 'agent')}"
            raise ConfigurationError(msg, hint="Lower the quorum, or add more agents.")
        configs = {agent.id: agent for agent in agents}
        for agent_id in config.agents:
            agent = self.agents.get_agent(agent_id)
            if agent_id not in configs and agent is not None:
                configs[agent_id] = config_of(agent)
        missing = [agent_id for agent_id in config.agents if agent_id not in configs]
        if missing:
            known = ", ".join(self.agents.get_all_agent_ids()) or "none"
            msg = f"unknown agents: {', '.join(missing)}. Known: {known}"
            raise ConfigurationError(msg, hint="Create them in the agent registry first.")
        return await self.sessions.create_session(
            config,
            tuple(configs.values()),
            forked_from=forked_from,
            caller_objects=caller_objects,
            plugins=plugins,
            session_id=session_id,
            attachments=attachments,
            prompts=mode.prompt_texts() if isinstance(mode, BaseModeStrategy) else None,
        )

    def _with_exit(self, config: DebateConfig) -> DebateConfig:
        """Return the configuration with every exit criterion in `exit`, so that a resume needs no other settings.

        The criteria that `exit_on_consensus` adds come after the caller's criteria.
        """
        exits = self._parse_exit(config)
        if config.exit_on_consensus:
            early = early_exit(create_default_exit_criteria(config.rounds, self.exit_settings))
            exits = AnyOf((exits, early)) if exits and early else exits or early
        return config.model_copy(update={"exit": exits and exits.to_spec()})

    def _parse_exit(self, config: DebateConfig) -> ExitCriterion | None:
        return None if config.exit is None else exit_from_spec(config.exit, self.exits)

    async def run_round(self, session_id: str, focus_question: str | None = None) -> RoundResult:
        """Run exactly one round, or finish a round that was interrupted.

        Raises:
            SessionError: The session is unknown, paused or completed, or has failed.
            SessionBusy: Another owner is running it.
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
        complete = [debate_round.to_record() for debate_round in fold.rounds if debate_round.complete]
        if not runs[0].state.rounds_closed:
            reason = fold.exit.details if fold.exit else "the run ended before the round was closed"
            msg = f"the round of session {session_id!r} was not completed: {reason}"
            raise SessionConflict(msg, hint="Resume or extend the session, then run the round.")
        last = complete[-1]
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
        """Run a session until it ends, pauses or fails, or until the limits are reached.

        Args:
            session_id: Which session.
            limits: Limits of this run.
            agents: The agents, by id; when left out, the registry creates them from the stored configurations.
            mode: The mode; when left out, the mode with the stored name.
            meter: Measures each round; the engine's meter when left out.
            writer: Writes the synthesis if one was requested; when left out, the first agent with a model.
            focus_question: Narrower question for the coming rounds.
            extension: Rounds to add first; a completed session needs at least one round.
            adoption: Configurations that replace the stored ones.
            on_start: Called with the run, before the first agent is called.

        Returns:
            The state of the session afterwards.

        Raises:
            SessionError: The session is unknown or completed, or waits for answers that are missing.
            SessionBusy: Another owner is running it.
            ConfigurationError: The mode or an agent is unavailable, or the mode does not support so many rounds.
            QuorumLost: Too few agents answered.
            BudgetExceeded: The budget does not cover the first call. A session that had already started is unchanged.
            StorageError: An event could not be stored.
        """
        async with self._lease(session_id, limits := limits or RunLimits()) as journal:
            fold = check_past(journal.fold)
            mode = mode or mode_of(fold.record.config, self.modes)
            check_decider(fold.record.config, self.rules)
            exits = self._parse_exit(fold.record.config)  # refused before anything is stored
            participants = agents if agents is not None else agents_of(self.agents, fold)
            has_failed = fold.error is not None  # read now: an adoption is stored as a resume, which clears the error
            with RunBudget(self.ledger, fold, limits.budget) as funds:
                await self._store_changes(journal, mode, extension, adoption, funds)
                fold.next_focus = focus_question or fold.next_focus
                mode = prepare_mode(mode, fold.record.config, self.rules)
                run = DebateRun(
                    journal,
                    mode,
                    participants,
                    policy=self._policy(fold, mode, meter or self.meter, exits),
                    limits=replace(limits, turn_timeout_s=limits.turn_timeout_s or self.turn_timeout_s),
                    funds=funds,
                    pace=self.pace,
                    writer=writer or first_synthesizer(participants.values()),
                    retries_failed=has_failed,
                )
                if on_start is not None:
                    on_start(run)
                with reporting_to(partial(publish_wait, journal)):
                    await run.run()
            return fold

    def _policy(
        self, fold: Fold, mode: DebateModeStrategy, meter: ConsensusMeter, criterion: ExitCriterion | None
    ) -> SessionPolicy:
        """Return what is particular to the session's kind: a team, or a debate with its meter, exits and rule."""
        if fold.record.config.team is not None:
            return TeamPolicy()
        exits = None if criterion is None else CheckedExits(criterion)
        return DebatePolicy(mode, safe_meter(meter), exits, partial(decide_record, rules=self.rules))

    async def _store_changes(
        self,
        journal: Journal,
        mode: DebateModeStrategy,
        extension: Extension | None,
        adoption: Adoption | None,
        funds: RunBudget,
    ) -> None:
        """Store the extension and the adoption, after a check that the session can continue.

        Raises:
            SessionConflict: The session is completed, or waits for answers that are missing.
            ConfigurationError: The mode or the limit does not allow so many rounds.
            BudgetExceeded: The budget of a resumed session is used up.
        """
        fold, now = journal.fold, self.sessions.clock.now()
        if extension is None:
            check_open(fold)
            match_answers(fold, ())
        extend_event = None if extension is None else extension_event(fold, extension, mode, now)
        funds.check_start(adds_rounds=extension is not None and extension.rounds > 0)
        if extend_event is not None:
            await journal.append(extend_event)
        if adoption is not None:
            await journal.append(adoption_event(fold, adoption, now))

    async def carry_out_control(self, session_id: str) -> None:
        """Carry out a pending request to pause or stop for a session that is not running.

        Raises:
            SessionBusy: The session is running; its run carries out the request.
        """
        async with self._lease(session_id, RunLimits()) as journal:
            if journal.fold.pending_control is not None:
                # If a session stopped after a complete round, its rounds are run one at a time.
                current = journal.fold.current
                step = current is not None and current.complete
                await journal.append(*leaving_events(journal.fold, self.sessions.clock.now(), step=step))

    async def synthesize(self, session_id: str, writer: Writer, *, by: str | None = None) -> SynthesisResult:
        """Return the synthesis of a session; if none is stored, write it.

        Args:
            session_id: Which session.
            writer: Writes the synthesis.
            by: The `synthesizer_id` of the wanted synthesis; any synthesis when left out.

        Raises:
            SessionError: The session is unknown, or has no answers yet.
            SessionBusy: Another owner is running it.
            RoundtableError: The synthesis failed; its usage is stored nevertheless.
        """
        synthesis = stored_synthesis(await self.sessions.load(session_id), by)
        if synthesis is not None:
            return synthesis
        limits = RunLimits()
        async with self._lease(session_id, limits) as journal:
            with RunBudget(self.ledger, check_past(journal.fold), None) as funds:
                funds.check()
                synthesis = stored_synthesis(journal.fold, by)
                return synthesis or await synthesize_stored(journal, writer, limits.lease_ttl_s)

    async def _tell_wait(self, session_id: str, wait: Wait) -> None:
        """Publish that this process waits for the lease of a session."""
        if self.hub.has_listeners(session_id):
            try:
                fold, now = await self.sessions.load(session_id), self.sessions.clock.now()
            except StorageError as error:  # the wait goes on, and the lease decides
                logger.info("a wait was not reported: %s", error.message, extra={"session": session_id})
                return
            self.publish(Waiting(session_id=session_id, timestamp=now, after=fold.last_seq, **wait._asdict()))

    @asynccontextmanager
    async def _lease(self, session_id: str, limits: RunLimits) -> AsyncGenerator[Journal]:
        """Hold the lease of a session while the block is open."""
        storage, tenant, owner = self.sessions.storage, self.sessions.tenant, self.sessions.owner()
        refused = False
        await self.pace.step()
        try:
            try:
                lease = await take_lease(
                    storage, session_id, owner, limits, partial(self._tell_wait, session_id), tenant=tenant
                )
            except RoundtableError:
                refused = True
                raise
            fold = await self.sessions.load(session_id)
            journal = Journal(
                storage,
                fold,
                lease,
                self.publish,
                self.sessions.clock,
                hears=partial(self.hub.has_listeners, session_id),
                hears_pieces=partial(self.hub.hears_pieces, session_id),
            )
            with (
                self.sessions.signals.listen(tenant, session_id, journal.expect_control),
                notices(storage, session_id, journal.expect_control, tenant=tenant),
            ):
                yield journal
        finally:
            # Release also after a cancelled request: the storage may have granted the lease before the cancellation.
            if not refused:
                await release(storage, session_id, owner, tenant)

    def publish(self, event: DurableEvent | LiveEvent) -> None:
        """Publish an event to all listeners."""
        self.hub.publish(event)

    async def get_consensus(self, session_id: str) -> AnyConsensus:
        """Return the stored agreement of the last measured round; makes no model call.

        Raises:
            SessionError: The session is unknown, or has no answers yet.
        """
        fold = await self.sessions.load(session_id)
        for debate_round in reversed(fold.rounds):
            if debate_round.consensus is not None:
                return debate_round.consensus
        responses = fold.view().previous_responses
        if not responses:
            msg = f"session {session_id!r} has no answers yet"
            raise SessionConflict(msg)
        # The engine's meter runs once per round, when the round is closed. Before that, the basic formula measures.
        return ConsensusAnalyzer().analyze(responses)

    async def analyze_consensus_with_ai(self, responses: Sequence[AgentResponse], topic: str) -> AIConsensusResult:
        """Analyze answers with the `ai_consensus_analyzer`; nothing is stored.

        Raises:
            ConfigurationError: The engine has no such analyzer; the code is `MISSING_CONSENSUS_ANALYZER`.
        """
        if self.ai_consensus_analyzer is None:
            msg = "AI consensus analyzer not configured"
            hint = "Pass ai_consensus_analyzer=AIConsensusAnalyzer(model)."
            raise ConfigurationError(msg, code="MISSING_CONSENSUS_ANALYZER", hint=hint)
        return await self.ai_consensus_analyzer.analyze_consensus(responses, topic)

    async def get_session(self, session_id: str) -> Session | None:
        """Return a session, or `None` when it is unknown."""
        return await self.sessions.get_session(session_id)

    async def list_sessions(self) -> tuple[Session, ...]:
        """Return all sessions, newest first."""
        return await self.sessions.list_sessions()


def _default_meter(analyzer: AIConsensusAnalyzer | None) -> ConsensusMeter:
    return ConsensusAnalyzer() if analyzer is None else AnalyzerChain([NamedMeter("ai", analyzer)])
