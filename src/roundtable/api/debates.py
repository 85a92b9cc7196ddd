"""One debate from arguments to result: check, create, run, and build the result from its events."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Unpack

from roundtable.analysis import ResponseSettings
from roundtable.api.changes import (
    agent_unavailable_error,
    caller_objects,
    check_objects_present,
    check_on_change,
    check_programs,
    effective_config,
    end_after_round,
    first_events,
    fork_config,
    fork_options,
    keeps_exit,
    resolve_stored_seats,
)
from roundtable.api.checks import (
    check_budget,
    check_context_results,
    check_deadline,
    check_extension,
    check_name,
    check_rounds,
    check_seen,
    check_whole,
    is_path_safe,
)
from roundtable.api.estimate import estimate_debate, simulate_aside
from roundtable.api.mode_settings import mode_settings
from roundtable.api.models import analysis_extras, synthesis_extra
from roundtable.api.progress import WaitLog
from roundtable.api.request import (
    ResolvedDebate,
    config_of,
    read_files,
    request_of,
    resolve_mode,
    resolve_perspectives,
    resolve_vote,
)
from roundtable.api.runs import Prepared
from roundtable.api.searching import restore_refusals, restore_search
from roundtable.api.session_plugins import check_plugins, kinds_kept, plugins_in_use
from roundtable.api.slots import BatchPatience
from roundtable.api.teams import restore_agents, table_models_by_id
from roundtable.core.base.single_flight import SingleFlight
from roundtable.core.engine.context_requests import match_answers
from roundtable.core.engine.synthesis import stored_synthesis
from roundtable.core.errors import (
    ConfigurationError,
    RoundtableError,
    SessionBusy,
    SessionConflict,
    SessionError,
    SessionNotFound,
)
from roundtable.core.mode.simulate import check_config
from roundtable.core.record.fold import Fold
from roundtable.core.record.transitions import last_held_round, shared_past
from roundtable.core.types.debate import ForkOrigin
from roundtable.engine import Extension, RunLimits
from roundtable.results.debate_result import DebateResult

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from roundtable.api.assembly import TableParts
    from roundtable.api.changes import OnChange, Rearranged
    from roundtable.api.options import DebateOptions
    from roundtable.api.seats import Seated
    from roundtable.core.engine.patience import Patience, WaitFor
    from roundtable.core.engine.synthesis import Writer
    from roundtable.core.protocols import Agent, ConsensusMeter, DebateModeStrategy
    from roundtable.core.record.transitions import HeldRound
    from roundtable.core.types.agents import AgentConfig
    from roundtable.core.types.answers import ContextResult
    from roundtable.core.types.base import JsonObject
    from roundtable.core.types.budget import Budget, Estimate
    from roundtable.core.types.consensus import SynthesisResult
    from roundtable.core.types.debate import CallerObjects, SessionRecord
    from roundtable.core.types.events import DurableEvent, RunningCalls
    from roundtable.engine import Adoption, DebateRun
    from roundtable.gateway import Gateway

__all__ = ["Debates", "finish"]

logger: logging.Logger = logging.getLogger("roundtable.api")

_MOST_SESSIONS = 1000
_LONGEST_ID = 200
_UNFINISHED = frozenset({"created", "active"})


@dataclass(frozen=True, slots=True)
class _Fork:
    """A fork that is not stored yet."""

    resolved: ResolvedDebate
    origin: ForkOrigin
    first: tuple[DurableEvent, ...]
    """Events that the fork begins with."""
    given: CallerObjects | None
    """Caller objects of the forked session; `None` if the fork has other agents."""
    own: frozenset[str] | None
    """Ids of the agents that callers created."""
    session_id: str | None
    """Id of the new session; if `None`, a random id."""
    keeps_exit: bool
    """Whether the fork keeps the exit criteria of the forked session."""


@dataclass(frozen=True, slots=True)
class _RunObjects:
    """Objects that a debate runs with and that no registry contains."""

    agents: Mapping[str, Agent]
    mode: DebateModeStrategy | None = None
    meter: ConsensusMeter | None = None
    writer: Writer | None = None
    own: frozenset[str] = frozenset()
    """Ids of the agents that a caller created; their search setting is not changed."""


class Debates:
    """Creates, runs and continues the debates of one `Roundtable` (table)."""

    def __init__(self, wiring: TableParts) -> None:
        self._wiring = wiring
        self._objects_by_session: dict[str, _RunObjects] = {}
        """Objects that callers passed for single debates, to continue these with them; only for the latest debates."""
        self._syntheses: SingleFlight[SynthesisResult] = SingleFlight()
        self.wait_log: Final = WaitLog()

    async def prepare(
        self, topic: str, *, step: bool = False, patience: Patience | None = None, **options: Unpack[DebateOptions]
    ) -> Prepared:
        """Check all arguments and store an empty session; no model is called yet.

        Raises:
            ConfigurationError: An argument is not valid.
            StorageError: The session could not be stored.
        """
        await self._wiring.engine.pace.step()
        return await self.begin(self._resolve(topic, **options), step=step, patience=patience)

    async def begin(
        self,
        resolved: ResolvedDebate,
        forked_from: ForkOrigin | None = None,
        *,
        step: bool = False,
        fork_objects: CallerObjects | None = None,
        own: frozenset[str] | None = None,
        session_id: str | None = None,
        keeps_exit: bool = False,
        patience: Patience | None = None,
    ) -> Prepared:
        """Store an empty session for a debate.

        Args:
            resolved: The debate.
            forked_from: The session that the new session is a fork of.
            step: Whether to run one round only.
            fork_objects: Caller objects of the forked session; when left out, the caller objects of `resolved`.
            own: Ids of the agents that callers created; when left out, the ids of such agents in `resolved`.
            session_id: Id of the session; a random id when left out.
            keeps_exit: Whether the debate keeps the exit criteria of the forked session.
            patience: Decides whether the run waits for providers.
        """
        wiring, (request, seats, config, own_mode, auxiliary) = self._wiring, resolved
        agents = {seat.config.id: seat.agent for seat in seats if seat.agent is not None} | {**auxiliary}
        await self._make_ready(agents, request.budget)
        configs = [effective_config(seat) for seat in seats]
        meter = wiring.meter(configs, request.budget, config.options)
        writer = wiring.writer(configs, agents, request.budget) if request.synthesize else None
        objects = caller_objects(seats, config, own_mode, wiring)
        if fork_objects is not None:
            agent_ids = tuple(agent_id for agent_id in objects.agents if agent_id in fork_objects.agents)
            tools = wiring.tools.with_missing(fork_objects.tools).names
            objects = objects.model_copy(update={"agents": agent_ids, "tools": tools})
        made_here = [
            seat for seat in seats if not seat.is_object or (fork_objects and seat.config.id not in fork_objects.agents)
        ]
        providers = [seat.config.provider for seat in made_here]
        providers += [agent.get_info().provider for agent in auxiliary.values()]
        session = await wiring.engine.start_debate(
            config,
            configs,
            mode=own_mode,
            forked_from=forked_from,
            caller_objects=objects,
            plugins=plugins_in_use(config, providers, wiring, own_mode=own_mode is not None),
            session_id=session_id,
            attachments=read_files(request),
            has_whole_exit=keeps_exit,
        )
        if request.agents is not None or own_mode is not None:
            if own is None:
                own = frozenset(seat.config.id for seat in seats if seat.has_own_agent)
            self._remember(session.id, _RunObjects({} if request.agents is None else agents, own_mode, own=own))
        limits = RunLimits(rounds=1 if step else None, deadline_s=request.deadline_s, patience=patience)
        return self._prepare_run(session.id, limits, _RunObjects(agents, own_mode, meter, writer))

    def estimate(self, topic: str, *, most_calls: int | None = None, **options: Unpack[DebateOptions]) -> Estimate:
        """Return the worst case of a debate, or refuse a debate whose plan has too many calls.

        Raises:
            ConfigurationError: An argument is not valid, or the plan has more than `most_calls` calls.
        """
        return self._simulation(topic, most_calls, **options)()

    async def estimate_aside(
        self, topic: str, *, most_calls: int | None = None, **options: Unpack[DebateOptions]
    ) -> Estimate:
        """Return the worst case of a debate as `estimate` does, without blocking the event loop.

        The rounds are simulated on a separate thread, which cannot be stopped. After `ESTIMATE_S` seconds the wait
        ends; the thread continues, but does not prevent the program from ending. At most two simulations run at the
        same time; others wait, and the time that they wait does not count.

        Raises:
            ConfigurationError: An argument is not valid, the plan has more than `most_calls` calls, or the simulation
                takes too long. The last error is retryable, because the time depends on the load of the machine.
        """
        return await simulate_aside(self._simulation(topic, most_calls, **options))

    def _simulation(
        self, topic: str, most_calls: int | None, **options: Unpack[DebateOptions]
    ) -> Callable[[], Estimate]:
        """Resolve a debate, and return the function that simulates it; only this function takes time."""
        return self._simulation_of(self._resolve(topic, **options), most_calls)

    def _simulation_of(
        self, resolved: ResolvedDebate, most_calls: int | None, *, only: HeldRound | None = None
    ) -> Callable[[], Estimate]:
        wiring = self._wiring
        mode = resolved.mode or wiring.engine.modes.get_mode(resolved.config.mode)
        configs = [seat.config for seat in resolved.seats]
        extras = analysis_extras(
            wiring.meter(configs, resolved.request.budget, resolved.config.options), resolved.config
        )
        if resolved.config.synthesize:
            agents = {seat.config.id: seat.agent for seat in resolved.seats if seat.agent is not None}
            extras.append(synthesis_extra(wiring.writer(configs, agents, resolved.request.budget), resolved.config))
        return partial(
            estimate_debate,
            resolved.config,
            resolved.seats,
            mode,
            auxiliary_agents=resolved.auxiliary_agents,
            extras=extras,
            most_calls=most_calls,
            only=only,
            rules=wiring.catalog.rules,
            attachments=read_files(resolved.request),
        )

    def check(self, topic: str, **options: Unpack[DebateOptions]) -> None:
        """Check that a debate can be run; no model is called.

        Raises:
            ConfigurationError: An argument is not valid.
        """
        resolved = self._resolve(topic, **options)
        check_config(resolved.mode or self._wiring.engine.modes.get_mode(resolved.config.mode), resolved.config)

    @property
    def tenant(self) -> str:
        """Tenant of the sessions."""
        return self._wiring.options.tenant

    @property
    def gateway(self) -> Gateway:
        """Gateway of all model calls."""
        return self._wiring.models.gateway

    def patience(self, *, wait_for: WaitFor, outage_s: float) -> Patience:
        """Check the arguments; return the patience of a single debate."""
        return BatchPatience(wait_for, outage_s).of_debate(self.gateway, refused=self.wait_log.refused)

    def describe(self, topic: str, **options: Unpack[DebateOptions]) -> JsonObject:
        """Return what determines a debate; see `Roundtable.describe`."""
        resolved = self._resolve(topic, **options)
        config = resolved.config.model_dump(mode="json", exclude_defaults=True, exclude={"agents", "budget"})
        agents = [seat.config.model_dump(mode="json", exclude_defaults=True) for seat in resolved.seats]
        settings = resolved.mode and mode_settings(resolved.mode, self._wiring.engine.modes)
        return {**config, "agents": agents} | ({"mode_settings": settings} if settings else {})

    async def _make_ready(self, agents: Mapping[str, Agent], budget: Budget | None) -> None:
        """Prepare models and tools, and check that the prices that a budget needs are known."""
        await self._wiring.tools.prepare()
        await self._wiring.models.make_ready(agents.values())
        self._wiring.models.check_prices(agents.values(), budget)

    def _resolve(self, topic: str, **options: Unpack[DebateOptions]) -> ResolvedDebate:
        """Check the arguments, and create the agents that take part."""
        wiring = self._wiring
        request = request_of(topic, options, wiring.settings.max_rounds)
        request = resolve_perspectives(request, wiring.engine.modes)
        name, own_mode = resolve_mode(request.mode, wiring.engine.modes)
        mode = own_mode or wiring.engine.modes.get_mode(name)
        request = resolve_vote(request, mode, wiring.catalog.rules)
        rule = wiring.rule_name(request.decide or "plurality", vote=bool(request.vote))
        seats = wiring.seats(request.agents, mode, request.search)
        config = config_of(request, (name, rule), [seat.config.id for seat in seats], wiring)
        by_seat = wiring.auxiliary.agents_for(config, mode, [seat.config for seat in seats])
        ids = {seat: tuple(agent.id for agent in agents) for seat, agents in by_seat.items()}
        auxiliary = {agent.id: agent for agents in by_seat.values() for agent in agents}
        check_seen(read_files(request), [*(seat.agent for seat in seats), *auxiliary.values()])
        return ResolvedDebate(request, seats, config.model_copy(update={"seats": ids}), own_mode, auxiliary)

    def _remember(self, session_id: str, objects: _RunObjects) -> None:
        self._objects_by_session[session_id] = objects
        while len(self._objects_by_session) > _MOST_SESSIONS:
            del self._objects_by_session[next(iter(self._objects_by_session))]

    def _prepare_run(
        self,
        session_id: str,
        limits: RunLimits,
        objects: _RunObjects,
        extension: Extension | None = None,
        adoption: Adoption | None = None,
    ) -> Prepared:
        wiring = self._wiring

        async def run(on_start: Callable[[DebateRun], None]) -> Fold:
            runs: list[DebateRun] = []

            def on_run_start(run: DebateRun) -> None:
                runs.append(run)
                on_start(run)

            try:
                return await wiring.engine.run(
                    session_id,
                    limits,
                    agents=objects.agents,
                    mode=objects.mode,
                    meter=objects.meter,
                    writer=objects.writer,
                    extension=extension,
                    adoption=adoption,
                    on_start=on_run_start,
                )
            except RoundtableError as error:
                error.session_id = session_id
                error.partial = self._to_result(runs[0].fold) if runs else None
                raise

        return Prepared(
            session_id=session_id,
            run=run,
            to_result=self._to_result,
            subscribe=lambda: wiring.hub.subscribe(session_id, wiring.storage, tenant=wiring.options.tenant),
        )

    async def debate(
        self, topic: str, *, patience: Patience | None = None, **options: Unpack[DebateOptions]
    ) -> DebateResult:
        """Run a debate from its first to its last event."""
        return await finish(await self.prepare(topic, patience=patience, **options))

    async def debate_once(
        self,
        session_id: str,
        topic: str,
        *,
        patience: Patience | None = None,
        on_start: Callable[[DebateRun], None] | None = None,
        **options: Unpack[DebateOptions],
    ) -> DebateResult:
        """Run what is left of the debate of a session, if anything; see `Roundtable.debate_once`."""
        check_name("session_id", session_id)
        if len(session_id) > _LONGEST_ID:
            msg = f"session_id has {len(session_id)} characters; at most {_LONGEST_ID} are allowed"
            raise ConfigurationError(msg)
        budget, deadline_s = options.get("budget"), options.get("deadline_s")
        check_budget(budget)
        check_deadline(deadline_s)
        sessions = self._wiring.sessions
        try:
            fold = await sessions.load(session_id)
        except SessionNotFound:
            if not is_path_safe(session_id):
                msg = f"session_id {session_id!r} cannot be part of the address of a session"
                hint = "Use an id without slashes and backslashes, such as 'report-2026-11'."
                raise ConfigurationError(msg, hint=hint) from None
            try:
                prepared = await self.begin(self._resolve(topic, **options), session_id=session_id, patience=patience)
            except SessionConflict:  # another process was faster
                fold = await sessions.load(session_id)
            else:
                return await finish(prepared, on_start)
        if fold.record.config.topic != topic:
            msg = f"session {session_id!r} is about another question: {fold.record.config.topic[:80]!r}"
            raise SessionConflict(msg, hint="Use another id, or ask the same question.")
        if fold.progress.status == "completed":
            return self._to_result(fold)
        self._take_again(session_id, fold, options)
        try:
            prepared = await self.prepare_resume(session_id, budget=budget, deadline_s=deadline_s, patience=patience)
            return await finish(prepared, on_start)
        except SessionConflict:
            fold = await sessions.load(session_id)
            if fold.progress.status != "completed":
                raise
            return self._to_result(fold)  # another process completed it meanwhile

    def _take_again(self, session_id: str, fold: Fold, options: DebateOptions) -> None:
        """Remember those agents and the mode of this call that its session began with, for example after a restart.

        Raises:
            ConfigurationError: The configurations of these agents differ from those that the session began with.
        """
        if session_id in self._objects_by_session:
            return
        wiring, began_with, name = self._wiring, fold.record.caller_objects, fold.record.config.mode
        mode = resolve_mode(options["mode"], wiring.engine.modes)[1] if "mode" in options else None
        is_needed = began_with.mode or not wiring.engine.modes.has_mode(name)
        mode = mode if mode is not None and mode.name == name and is_needed else None
        agents = options.get("agents")
        seats = () if agents is None else wiring.seats_of(agents, mode or self.mode_of(fold.record))
        seats = tuple(seat for seat in seats if seat.is_object and seat.config.id in began_with.agents)
        resolve_stored_seats(fold.record, {seat.config.id: effective_config(seat) for seat in seats}, "error")
        stored = {config.id: config for config in fold.record.agents}
        restored_agents = {
            seat.config.id: wiring.tools.equip(restore_search(seat.agent, seat, stored[seat.config.id]))
            for seat in seats
            if seat.agent
        }
        if restored_agents or mode:
            own = frozenset(seat.config.id for seat in seats if seat.has_own_agent)
            self._remember(session_id, _RunObjects(restored_agents, mode, own=own))

    async def prepare_fork(
        self,
        session_id: str,
        at_round: int,
        context_results: Sequence[ContextResult],
        changes: DebateOptions,
        *,
        step: bool = False,
        patience: Patience | None = None,
    ) -> Prepared:
        """Prepare a new session that shares the past of another one."""
        fork = await self._fork(session_id, at_round, context_results, changes)
        return await self._begin_fork(fork, step=step, patience=patience)

    async def last_held_round(self, session_id: str) -> HeldRound:
        """Return the last complete round of a stored debate."""
        return last_held_round(*await self._wiring.storage.read(session_id, tenant=self.tenant))

    async def prepare_repetition(self, session_id: str, change: Rearranged) -> Prepared:
        """Prepare a session that repeats the last complete round of another session, with the given change."""
        return await self._begin_fork(await self._repetition(session_id, change), step=not change.round.ended)

    async def copy_past(self, session_id: str, change: Rearranged) -> None:
        """Store the shared past in the session of a repetition, if the process that created it has not stored it."""
        fork = await self._repetition(session_id, change)
        await self._wiring.sessions.store_past(change.session_id, fork.first)

    async def estimate_repeated(self, session_id: str, change: Rearranged) -> Estimate:
        """Return the worst case of the session that `prepare_repetition` prepares: it runs only the repeated round."""
        fork = await self._repetition(session_id, change)
        return await simulate_aside(self._simulation_of(fork.resolved, None, only=change.round))

    async def _repetition(self, session_id: str, change: Rearranged) -> _Fork:
        changes: DebateOptions = {"rounds": change.round.planned}
        if change.budget is not None:
            changes["budget"] = change.budget
        return await self._fork(session_id, change.round.number - 1, (), changes, change)

    async def _begin_fork(self, fork: _Fork, *, step: bool = False, patience: Patience | None = None) -> Prepared:
        prepared = await self.begin(
            fork.resolved,
            fork.origin,
            step=step,
            fork_objects=fork.given,
            own=fork.own,
            session_id=fork.session_id,
            keeps_exit=fork.keeps_exit,
            patience=patience,
        )
        if fork.first:
            await self._wiring.sessions.store_past(prepared.session_id, fork.first)
        return prepared

    async def _fork(
        self,
        session_id: str,
        at_round: int,
        context_results: Sequence[ContextResult],
        changes: DebateOptions,
        rearranged: Rearranged | None = None,
    ) -> _Fork:
        """Return a fork that is not stored yet."""
        check_whole("at_round", at_round)
        check_context_results(context_results)
        wiring = self._wiring
        record, events = await wiring.storage.read(session_id, tenant=wiring.options.tenant)
        if record.config.team is not None:
            msg = f"session {session_id!r} is a team conversation; only debates can be forked"
            raise ConfigurationError(msg, hint="Start a new conversation, with the team's results among the messages.")
        # A fork uses the current prompt texts, and its own record states their version.
        fold = Fold(record.model_copy(update={"prompt_version": None}), events)
        past = shared_past(fold, events, at_round)
        repeated_results = () if rearranged is None else fold.rounds[at_round].context_results
        context_results = match_answers(Fold(fold.record, past), (*repeated_results, *context_results))
        passed = self._objects_by_session.get(session_id, _RunObjects({}))
        agents: list[Agent] = []
        own: frozenset[str] | None = None
        original_objects = None if "agents" in changes else fold.record.caller_objects
        check_plugins(record, wiring, kinds_kept(changes, mode=passed.mode))
        if original_objects is not None:
            objects, _ = await self._restore_objects(session_id, fold, kinds=())
            agents, own = [objects.agents[config.id] for config in fold.record.agents], objects.own
            if (search := changes.get("search")) is not None:
                agents = [agent if agent.id in objects.own else wiring.with_search(agent, search) for agent in agents]
        if rearranged is not None:
            by_id = {agent.id: agent for agent in agents}
            if missing := [agent_id for agent_id in rearranged.seats if agent_id not in by_id]:
                msg = f"these agents of session {session_id!r} are not known here: {', '.join(missing)}"
                raise ConfigurationError(msg, hint="Fork the session with agents=[...] instead.")
            agents = [by_id[agent_id] for agent_id in rearranged.seats]
        options = fork_options(fold, at_round, agents, passed.mode, changes, exits=wiring.catalog.exits)
        if rearranged is not None:
            options["focus_question"] = fold.rounds[at_round].focus_question
        resolved = self._resolve(record.config.topic, **options)
        config = fork_config(resolved.config, record.config, changes)
        if rearranged is not None:
            config = config.model_copy(update={"seed": rearranged.seed})
            config = end_after_round(config, rearranged.round, wiring.catalog.exits)
        resolved = resolved._replace(config=config)
        first = first_events(fold, past, resolved.config, context_results, wiring.sessions.clock.now())
        origin = ForkOrigin(session_id=session_id, at_round=at_round, events=len(first))
        new_id = None if rearranged is None else rearranged.session_id
        return _Fork(resolved, origin, first, original_objects, own, new_id, keeps_exit=keeps_exit(changes))

    async def prepare_resume(
        self,
        session_id: str,
        *,
        rounds: int = 0,
        focus_question: str | None = None,
        step: bool = False,
        budget: Budget | None = None,
        deadline_s: float | None = None,
        context_results: Sequence[ContextResult] = (),
        force: bool = False,
        on_change: OnChange = "error",
        patience: Patience | None = None,
    ) -> Prepared:
        """Prepare a stored session to continue from where it stopped, or for further rounds.

        Raises:
            SessionError: The session does not exist, is completed, or waits for information that `context_results`
                lacks.
            ConfigurationError: An agent of the session cannot be created here.
        """
        max_rounds = self._wiring.settings.max_rounds
        if rounds:
            check_rounds(rounds, max_rounds)
        check_extension(focus_question, context_results)
        fold = await self._wiring.sessions.load(session_id)
        if not rounds and fold.progress.status == "completed":
            msg = f"session {session_id!r} is completed"
            raise SessionConflict(msg, hint="Extend it to run more rounds.")
        check_budget(budget)
        check_deadline(deadline_s)
        limits = RunLimits(
            rounds=1 if step else None, deadline_s=deadline_s, resume=True, budget=budget, patience=patience
        )
        limits = replace(limits, wait_s=limits.lease_ttl_s)
        extension: Extension | None = None
        if rounds or focus_question is not None or context_results or force:
            extension = Extension(
                rounds=rounds,
                focus_question=focus_question,
                context_results=tuple(context_results),
                force=force,
                max_rounds=max_rounds if rounds else None,
            )
        objects, adoption = await self._restore_objects(session_id, fold, budget, on_change)
        if fold.progress.status != "completed":
            adopts = on_change == "adopt"
            await self._wiring.models.check_waiting_batches(fold, objects.agents.values(), pays_again=adopts)
        check_seen(fold.record.attachments, objects.agents.values())
        return self._prepare_run(session_id, limits, objects, extension, adoption)

    async def _restore_objects(
        self,
        session_id: str,
        fold: Fold,
        budget: Budget | None = None,
        on_change: OnChange = "error",
        *,
        speaks: bool = True,
        kinds: Collection[str] | None = None,
    ) -> tuple[_RunObjects, Adoption | None]:
        """Return the objects of a stored session: agents passed with the same ids, and others created again.

        Args:
            session_id: Which session.
            fold: The session.
            budget: The most that the session may consume; its original budget when left out.
            on_change: What to do about changed or missing objects.
            speaks: Whether its agents will take turns; if not, agents that cannot be created are left out.
            kinds: Kinds of objects from plugins that the session needs besides its agents; all kinds when left out.
        """
        wiring, passed = self._wiring, self._objects_by_session.get(session_id, _RunObjects({}))
        if speaks:
            check_plugins(fold.record, wiring, kinds_kept({}, mode=passed.mode) if kinds is None else kinds)
        check_on_change(on_change)
        table_seats = self._matching_seats(fold, passed)
        seating = resolve_stored_seats(
            fold.record, {seat.config.id: effective_config(seat) for seat in table_seats}, on_change
        )
        stored = {config.id: config for config in seating.agents}
        available = {
            seat.config.id: wiring.tools.equip(restore_search(seat.agent, seat, stored[seat.config.id]))
            for seat in table_seats
            if seat.agent
        } | {**passed.agents}
        missing = [config for config in seating.agents if config.id not in available]
        if speaks:
            check_plugins(fold.record, wiring, ("provider",), names={config.provider for config in missing})
        await wiring.tools.prepare()
        tools = wiring.tools.with_missing(fold.record.caller_objects.tools)
        check_objects_present(
            fold.record,
            self._present_ids(fold, available, table_seats),
            passed.mode,
            wiring,
            on_change,
            needs_approval=kinds is None,
        )
        check_programs(
            fold.record, missing, {seat.config.id: seat.config for seat in table_seats}, wiring.catalog.providers
        )
        new_agents = self._make_agents(fold, missing, speaks=speaks)
        debaters = {name: tools.instead_of(wiring.tools, agent) for name, agent in {**new_agents, **available}.items()}
        agents = {**debaters, **self._auxiliary_agents(fold, passed)}
        restore_refusals(fold, agents)
        budget = budget or fold.record.config.budget
        await self._make_ready(agents, budget)
        meter = wiring.meter(seating.agents, budget, fold.record.config.options)
        writer = wiring.writer(seating.agents, agents, budget) if fold.record.config.synthesize else None
        own = passed.own | {seat.config.id for seat in table_seats if seat.agent is not None and seat.has_own_agent}
        return _RunObjects(agents, passed.mode, meter, writer, own), seating.adoption

    def _matching_seats(self, fold: Fold, passed: _RunObjects) -> list[Seated]:
        """Return the table's agents that take part in a stored session and were not passed for this session."""
        wiring = self._wiring
        if wiring.options.agents is None:
            return []
        ids = {config.id for config in fold.record.agents} - set(passed.agents)
        seats = wiring.seats_of(wiring.options.agents, passed.mode or self.mode_of(fold.record))
        return [seat for seat in seats if seat.config.id in ids]

    def _make_agents(self, fold: Fold, configs: Sequence[AgentConfig], *, speaks: bool) -> dict[str, Agent]:
        """Create agents of a stored session; if they will not take turns, leave out agents that cannot be created."""
        wiring, team = self._wiring, fold.record.config.team
        agents: dict[str, Agent] = {}
        for config in configs:
            try:
                agents |= wiring.agents.resolve([config]) if team is None else restore_agents([config], team, wiring)
            except ConfigurationError as error:
                if speaks:
                    raise agent_unavailable_error(fold.record, config, error) from error
                logger.info("agent %s cannot be created here: %s", config.id, error.message)
        return agents

    def _present_ids(self, fold: Fold, available: Mapping[str, Agent], table_seats: Sequence[Seated]) -> set[str]:
        """Return the ids of the agents of a stored session that this table has."""
        ids = {*available, *(seat.config.id for seat in table_seats)}
        if fold.record.config.team is not None:
            lent = table_models_by_id(self._wiring)
            ids |= {config.id for config in fold.record.agents if (config.provider, config.model) in lent}
        return ids

    async def synthesize(self, session_id: str, by: str | None) -> SynthesisResult:
        """Return the stored synthesis of a session, or write it now; concurrent callers share one call."""
        check_name("session_id", session_id)
        return await self._syntheses.get(session_id, by, partial(self._load_or_synthesize, session_id, by))

    async def _load_or_synthesize(self, session_id: str, by: str | None) -> SynthesisResult:
        fold = await self._wiring.sessions.load(session_id)
        stored = stored_synthesis(fold, by)
        if stored is not None:
            return stored
        objects, _ = await self._restore_objects(session_id, fold, on_change="adopt", speaks=False)
        writer = self._wiring.writer(fold.record.agents, objects.agents, fold.record.config.budget, by=by)
        try:
            return await self._wiring.engine.synthesize(session_id, writer, by=by)
        except SessionError:
            stored = stored_synthesis(await self._wiring.sessions.load(session_id), by)
            if stored is None:
                raise
            return stored  # another process was faster; its synthesis is kept

    def _auxiliary_agents(self, fold: Fold, passed: _RunObjects) -> dict[str, Agent]:
        """Return the auxiliary agents of a stored session, such as judges, by id."""
        mode, config = passed.mode or self.mode_of(fold.record), fold.record.config
        if mode is None or not config.seats:
            return {}
        by_seat = self._wiring.auxiliary.agents_for(config, mode, fold.record.agents)
        return {agent.id: agent for agents in by_seat.values() for agent in agents}

    async def extend(
        self,
        session_id: str,
        rounds: int,
        focus_question: str | None,
        context_results: Sequence[ContextResult],
        *,
        force: bool = False,
        budget: Budget | None = None,
        deadline_s: float | None = None,
        on_change: OnChange = "error",
    ) -> DebateResult:
        """Run further rounds of a stored session."""
        max_rounds = self._wiring.settings.max_rounds
        check_rounds(rounds, max_rounds)
        check_extension(focus_question, context_results)
        check_budget(budget)
        check_deadline(deadline_s)
        fold = await self._wiring.sessions.load(session_id)
        extension = Extension(
            rounds=rounds,
            focus_question=focus_question,
            context_results=tuple(context_results),
            force=force,
            max_rounds=max_rounds,
        )
        objects, adoption = await self._restore_objects(session_id, fold, budget, on_change)
        limits = RunLimits(deadline_s=deadline_s, budget=budget)
        return await finish(self._prepare_run(session_id, limits, objects, extension, adoption))

    async def load(self, session_id: str) -> DebateResult:
        """Return the current result of a stored session; its status is `running` while somebody runs the session."""
        result = self._to_result(await self._wiring.sessions.load(session_id))
        if result.session_status not in _UNFINISHED or not await self._wiring.sessions.is_run(session_id):
            return result
        # Read again: a run that has ended meanwhile must not look as if it were still running.
        result = self._to_result(await self._wiring.sessions.load(session_id))
        return result.model_copy(update={"status": "running"}) if result.session_status in _UNFINISHED else result

    def _to_result(self, fold: Fold) -> DebateResult:
        thresholds = ResponseSettings.from_settings(self._wiring.settings)
        mode, rules = self.mode_of(fold.record), self._wiring.catalog.rules
        return DebateResult.from_record(fold.to_record(), thresholds, mode=mode, rules=rules)

    def mode_of(self, record: SessionRecord) -> DebateModeStrategy | None:
        """Return the mode of a stored session, for its reports; `None` if it is not known here."""
        passed = self._objects_by_session.get(record.id)
        return (passed and passed.mode) or self._wiring.engine.modes.find_mode(record.config.mode)

    async def stop(self, session_id: str, running: RunningCalls) -> None:
        """Ask the session to stop; if nobody runs it, complete it here."""
        sessions = self._wiring.sessions
        fold = await sessions.load(session_id)
        if fold.progress.status in {"completed", "error"}:
            raise SessionConflict(f"session {session_id!r} is {fold.progress.status}; there is nothing to stop")
        await sessions.control(session_id, "stop", running=running)
        try:
            await self._wiring.engine.carry_out_control(session_id)
        except SessionBusy:
            logger.debug("the owner of the session will stop it", extra={"session": session_id})

    async def pause(self, session_id: str, running: RunningCalls) -> None:
        """Ask the session to pause; if nobody runs it, pause it here."""
        sessions = self._wiring.sessions
        fold = await sessions.load(session_id)
        if fold.progress.status not in {"created", "active"}:
            msg = f"session {session_id!r} is {fold.progress.status}; only a running session can be paused"
            raise SessionConflict(msg)
        await sessions.control(session_id, "pause", running=running)
        try:
            await self._wiring.engine.carry_out_control(session_id)
        except SessionBusy:
            logger.debug("the owner of the session will pause it", extra={"session": session_id})


async def finish(prepared: Prepared, on_start: Callable[[DebateRun], None] | None = None) -> DebateResult:
    """Run a prepared session to its end; `on_start` is called before the first agent is."""
    return prepared.to_result(await prepared.run(on_start or (lambda _: None)))
