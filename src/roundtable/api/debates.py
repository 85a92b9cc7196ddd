"""One debate from the caller's words to a result: check everything, create, run, fold."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Unpack

from roundtable.analysis import ResponseSettings
from roundtable.api.asking import Ask, Asked, checked, config_of, facilitated
from roundtable.api.changes import check_on_change, effective, seated_again
from roundtable.api.checks import (
    check_budget,
    check_deadline,
    check_name,
    check_rounds,
    check_whole,
)
from roundtable.api.estimate import estimated
from roundtable.api.extras import analysis_extras, synthesis_extra
from roundtable.api.forks import first_events, inherited, kept
from roundtable.api.live import Prepared
from roundtable.api.naming import named_mode
from roundtable.api.programs import check_programs
from roundtable.api.seats import seat_agents
from roundtable.api.sharing import Shared
from roundtable.api.team_seats import restored
from roundtable.engine import Extension, RunLimits
from roundtable.engine.synthesis import stored_synthesis
from roundtable.errors import ConfigurationError, RoundtableError, SessionBusy, SessionConflict, SessionError
from roundtable.modes import check_config
from roundtable.record import Fold, past_until
from roundtable.result import DebateResult
from roundtable.types import ForkOrigin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roundtable.api.changes import OnChange
    from roundtable.api.options import DebateOptions
    from roundtable.api.wiring import Wiring
    from roundtable.engine import Adoption, DebateRun
    from roundtable.engine.synthesis import Writer
    from roundtable.protocols import Agent, ConsensusMeter, DebateModeStrategy
    from roundtable.types import Budget, ContextResult, Estimate, RunningCalls, SynthesisResult

__all__ = ["Debates", "finish"]

logger: logging.Logger = logging.getLogger("roundtable.api")


@dataclass(frozen=True, slots=True)
class _Cast:
    """Who and what a debate runs with, where the registries do not know it."""

    agents: Mapping[str, Agent]
    mode: DebateModeStrategy | None = None
    meter: ConsensusMeter | None = None
    writer: Writer | None = None


_KEPT = 1000


class Debates:
    """Creates, runs and continues the debates of one table."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._brought: dict[str, _Cast] = {}
        """Given for one debate, so that it can be continued with it; of the latest debates only."""
        self._syntheses: Shared[SynthesisResult] = Shared()

    async def prepare(self, topic: str, *, step: bool = False, **options: Unpack[DebateOptions]) -> Prepared:
        """Check everything and store an empty session; nobody is asked anything yet.

        Raises:
            ConfigurationError: Something asked for does not exist or does not fit.
            StorageError: The session could not be stored.
        """
        await self._wiring.engine.pace.step()
        return await self.begun(self._asked(topic, **options), step=step)

    async def begun(self, asked: Asked, forked_from: ForkOrigin | None = None, *, step: bool = False) -> Prepared:
        """Store an empty session for what is asked."""
        wiring, (ask, seats, config, own_mode, beside) = self._wiring, asked
        agents = {seat.config.id: seat.agent for seat in seats if seat.agent is not None} | {**beside}
        await self._make_ready(agents, ask.budget)
        configs = [effective(seat) for seat in seats]
        meter = wiring.meter(configs, ask.budget)
        writer = wiring.writer(configs, agents, ask.budget) if ask.synthesize else None
        session = await wiring.engine.start_debate(config, configs, mode=own_mode, forked_from=forked_from)
        if ask.agents is not None or own_mode is not None:
            self._keep(session.id, _Cast({} if ask.agents is None else agents, own_mode))
        limits = RunLimits(rounds=1 if step else None, deadline_s=ask.deadline_s)
        return self._prepared(session.id, limits, _Cast(agents, own_mode, meter, writer))

    def estimate(self, topic: str, *, most_calls: int | None = None, **options: Unpack[DebateOptions]) -> Estimate:
        """Give the worst case of a debate, or refuse one that takes too many calls as planned.

        Raises:
            ConfigurationError: Something asked for does not exist or does not fit.
        """
        asked, wiring = self._asked(topic, **options), self._wiring
        mode = asked.mode or wiring.engine.modes.get_mode(asked.config.mode)
        configs = [seat.config for seat in asked.seats]
        extras = analysis_extras(wiring.meter(configs, asked.ask.budget), asked.config)
        if asked.config.synthesize:
            agents = {seat.config.id: seat.agent for seat in asked.seats if seat.agent is not None}
            extras.append(synthesis_extra(wiring.writer(configs, agents, asked.ask.budget), asked.config))
        return estimated(asked.config, asked.seats, mode, beside=asked.beside, extras=extras, most_calls=most_calls)

    def check(self, topic: str, **options: Unpack[DebateOptions]) -> None:
        """Refuse what cannot be held; nothing is called.

        Raises:
            ConfigurationError: Something asked for does not exist or does not fit.
        """
        asked = self._asked(topic, **options)
        check_config(asked.mode or self._wiring.engine.modes.get_mode(asked.config.mode), asked.config)

    async def _make_ready(self, agents: Mapping[str, Agent], budget: Budget | None) -> None:
        """Let models and tools make ready, and refuse models without a price that a budget needs."""
        await self._wiring.tools.prepare()
        await self._wiring.models.make_ready(agents.values())
        self._wiring.models.check_prices(agents.values(), budget)

    def _asked(self, topic: str, **options: Unpack[DebateOptions]) -> Asked:
        """Check what is asked for, and seat who takes part."""
        wiring = self._wiring
        ask = checked(Ask(topic=topic, **options), wiring.settings.max_rounds)
        ask = facilitated(ask, wiring.engine.modes)
        name, own_mode = named_mode(ask.mode, wiring.engine.modes)
        rule = wiring.rule_name(ask.decide)
        mode = own_mode or wiring.engine.modes.get_mode(name)
        seats = wiring.seats(ask.agents, mode)
        config = config_of(ask, (name, rule), [seat.config.id for seat in seats], wiring)
        found = wiring.helpers.beside(config, mode, [seat.config for seat in seats])
        ids = {seat: tuple(one.id for one in agents) for seat, agents in found.items()}
        beside = {one.id: one for agents in found.values() for one in agents}
        return Asked(ask, seats, config.model_copy(update={"seats": ids}), own_mode, beside)

    def _keep(self, session_id: str, cast: _Cast) -> None:
        self._brought[session_id] = cast
        while len(self._brought) > _KEPT:
            del self._brought[next(iter(self._brought))]

    def _prepared(
        self,
        session_id: str,
        limits: RunLimits,
        cast: _Cast,
        extension: Extension | None = None,
        adoption: Adoption | None = None,
    ) -> Prepared:
        wiring = self._wiring

        async def run(on_start: Callable[[DebateRun], None]) -> Fold:
            runs: list[DebateRun] = []

            def started(run: DebateRun) -> None:
                runs.append(run)
                on_start(run)

            try:
                return await wiring.engine.run(
                    session_id,
                    limits,
                    agents=cast.agents,
                    mode=cast.mode,
                    meter=cast.meter,
                    writer=cast.writer,
                    extension=extension,
                    adoption=adoption,
                    on_start=started,
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

    async def debate(self, topic: str, **options: Unpack[DebateOptions]) -> DebateResult:
        """Hold a debate from its first to its last event."""
        return await finish(await self.prepare(topic, **options))

    async def forked(
        self,
        session_id: str,
        at_round: int,
        context_results: Sequence[ContextResult],
        changes: DebateOptions,
        *,
        step: bool = False,
    ) -> Prepared:
        """Prepare a new session that shares the past of another."""
        check_whole("at_round", at_round)
        wiring = self._wiring
        record, events = await wiring.storage.read(session_id, tenant=wiring.options.tenant)
        if record.config.team is not None:
            msg = f"session {session_id!r} is a team's; only debates can be forked"
            raise ConfigurationError(msg, hint="Ask the team again, with what it found among the messages.")
        # A fork speaks by the prompt texts of today, and its own record says so.
        fold = Fold(record.model_copy(update={"prompt_version": None}), events)
        past = past_until(fold, events, at_round)
        before = self._brought.get(session_id, _Cast({}))
        agents: list[Agent] = []
        if "agents" not in changes:
            cast, _ = await self._cast_of(session_id, fold)
            agents = [cast.agents[config.id] for config in fold.record.agents]
        asked = self._asked(record.config.topic, **inherited(fold, at_round, agents, before.mode, changes))
        asked = asked._replace(config=kept(asked.config, record.config, changes))
        first = first_events(fold, past, asked.config, context_results, wiring.sessions.clock.now())
        origin = ForkOrigin(session_id=session_id, at_round=at_round, events=len(first))
        prepared = await self.begun(asked, origin, step=step)
        if first:
            await wiring.sessions.give_past(prepared.session_id, first)
        return prepared

    async def continued(
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
    ) -> Prepared:
        """Prepare a stored session to go on from where it stopped, for further rounds too.

        Raises:
            SessionError: There is no such session, or it is completed, or it waits for information that is not given.
            ConfigurationError: An agent of the session cannot be made here.
        """
        most = self._wiring.settings.max_rounds
        if rounds:
            check_rounds(rounds, most)
        fold = await self._wiring.sessions.load(session_id)
        if not rounds and fold.progress.status == "completed":
            msg = f"session {session_id!r} is completed"
            raise SessionConflict(msg, hint="Extend it to hold further rounds.")
        check_budget(budget)
        check_deadline(deadline_s)
        own = RunLimits(rounds=1 if step else None, deadline_s=deadline_s, resume=True, budget=budget)
        limits = replace(own, wait_s=own.lease_ttl_s)
        extension: Extension | None = None
        if rounds or focus_question is not None or context_results or force:
            given = tuple(context_results)
            extension = Extension(rounds=rounds, focus_question=focus_question, context_results=given, force=force)
            extension = replace(extension, max_rounds=most if rounds else None)
        cast, adoption = await self._cast_of(session_id, fold, budget, on_change)
        return self._prepared(session_id, limits, cast, extension, adoption)

    async def _cast_of(
        self, session_id: str, fold: Fold, budget: Budget | None = None, on_change: OnChange = "error"
    ) -> tuple[_Cast, Adoption | None]:
        """Give the agents of a stored session: those brought along under the same ids, others made anew."""
        wiring, before = self._wiring, self._brought.get(session_id, _Cast({}))
        check_on_change(on_change)
        chosen = wiring.options.agents
        seats = () if chosen is None else seat_agents(chosen, wiring.models.guarded, before.mode or self._mode_of(fold))
        wanted = {config.id for config in fold.record.agents} - set(before.agents)
        here = [seat for seat in seats if seat.config.id in wanted]
        seating = seated_again(fold.record, {seat.config.id: effective(seat) for seat in here}, on_change)
        brought = {seat.config.id: wiring.tools.equip(seat.agent) for seat in here if seat.agent} | {**before.agents}
        missing = [config for config in seating.agents if config.id not in brought]
        check_programs(fold.record, missing, {seat.config.id: seat.config for seat in here}, wiring.catalog.providers)
        team = fold.record.config.team
        made = wiring.agents.resolve(missing) if team is None else restored(missing, team, wiring)
        agents = {**made, **brought, **self._beside(fold, before)}
        budget = budget or fold.record.config.budget
        await self._make_ready(agents, budget)
        meter = wiring.meter(seating.agents, budget)
        writer = wiring.writer(seating.agents, agents, budget) if fold.record.config.synthesize else None
        return _Cast(agents, before.mode, meter, writer), seating.adoption

    async def synthesize(self, session_id: str, by: str | None) -> SynthesisResult:
        """Give the synthesis of a stored session, made now unless it is stored; all who ask meanwhile share it."""
        check_name("session_id", session_id)
        return await self._syntheses.get(session_id, by, partial(self._synthesized, session_id, by))

    async def _synthesized(self, session_id: str, by: str | None) -> SynthesisResult:
        fold = await self._wiring.sessions.load(session_id)
        held = stored_synthesis(fold, by)
        if held is not None:
            return held
        cast, _ = await self._cast_of(session_id, fold, on_change="adopt")
        writer = self._wiring.writer(fold.record.agents, cast.agents, fold.record.config.budget, by=by)
        try:
            return await self._wiring.engine.synthesize(session_id, writer, by=by)
        except SessionError:
            held = stored_synthesis(await self._wiring.sessions.load(session_id), by)
            if held is None:
                raise
            return held  # another process was faster; its word stands

    def _beside(self, fold: Fold, before: _Cast) -> dict[str, Agent]:
        """Give who sits beside the table of a stored session."""
        mode, config = before.mode or self._mode_of(fold), fold.record.config
        if mode is None or not config.seats:
            return {}
        found = self._wiring.helpers.beside(config, mode, fold.record.agents)
        return {agent.id: agent for agents in found.values() for agent in agents}

    def _mode_of(self, fold: Fold) -> DebateModeStrategy | None:
        """Give the mode of a stored session, where it is known here; the run refuses one that is not."""
        name, modes = fold.record.config.mode, self._wiring.engine.modes
        return modes.get_mode(name) if modes.has_mode(name) else None

    async def extend(
        self,
        session_id: str,
        rounds: int,
        focus_question: str | None,
        context_results: Sequence[ContextResult],
        *,
        force: bool = False,
        on_change: OnChange = "error",
    ) -> DebateResult:
        """Hold further rounds of a stored session."""
        most = self._wiring.settings.max_rounds
        check_rounds(rounds, most)
        fold = await self._wiring.sessions.load(session_id)
        extension = Extension(
            rounds=rounds,
            focus_question=focus_question,
            context_results=tuple(context_results),
            force=force,
            max_rounds=most,
        )
        cast, adoption = await self._cast_of(session_id, fold, on_change=on_change)
        return await finish(self._prepared(session_id, RunLimits(), cast, extension, adoption))

    async def load(self, session_id: str) -> DebateResult:
        """Give the result of a stored session, as it stands now."""
        return self._to_result(await self._wiring.sessions.load(session_id))

    def _to_result(self, fold: Fold) -> DebateResult:
        return DebateResult.from_record(fold.to_record(), ResponseSettings.from_settings(self._wiring.settings))

    async def stop(self, session_id: str, running: RunningCalls) -> None:
        """Ask the session to stop; complete it here when nobody runs it."""
        sessions = self._wiring.sessions
        fold = await sessions.load(session_id)
        if fold.progress.status in {"completed", "error"}:
            msg = f"session {session_id!r} is {fold.progress.status}; there is nothing to stop"
            raise SessionConflict(msg)
        await sessions.control(session_id, "stop", running=running)
        try:
            await self._wiring.engine.obey(session_id)
        except SessionBusy:
            logger.debug("the owner of the session will stop it", extra={"session": session_id})

    async def pause(self, session_id: str, running: RunningCalls) -> None:
        """Ask the session to pause; put it to rest here when nobody runs it."""
        sessions = self._wiring.sessions
        fold = await sessions.load(session_id)
        if fold.progress.status not in {"created", "active"}:
            msg = f"session {session_id!r} is {fold.progress.status}; only a running one can be paused"
            raise SessionConflict(msg)
        await sessions.control(session_id, "pause", running=running)
        try:
            await self._wiring.engine.obey(session_id)
        except SessionBusy:
            logger.debug("the owner of the session will pause it", extra={"session": session_id})


async def finish(prepared: Prepared) -> DebateResult:
    """Run a prepared session to its end."""
    return prepared.to_result(await prepared.run(lambda _: None))
