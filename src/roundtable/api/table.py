"""The facade: one object that wires everything, and one method for each thing a user does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self, Unpack

from roundtable.api.converse import TeamTable
from roundtable.api.files import SessionFiles
from roundtable.api.options import Options
from roundtable.api.stored import StoredSessions
from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from types import TracebackType

    from anyio.abc import TaskGroup

    from roundtable.api.debates import Debates
    from roundtable.api.handle import DebateHandle
    from roundtable.api.live import Prepared
    from roundtable.api.many import OnError
    from roundtable.api.options import DebateOptions, Perspectives, SeatLike
    from roundtable.api.profiles import ProfileLike
    from roundtable.api.seats import AgentLike
    from roundtable.api.stream import DebateStream, Watch
    from roundtable.api.tools import ToolLike
    from roundtable.api.wiring import Wiring
    from roundtable.exits import Exit
    from roundtable.gateway import StreamingModel
    from roundtable.gateway.prices import PriceLike
    from roundtable.plugins import PluginChoice
    from roundtable.protocols import ConsensusMeter, DebateModeStrategy, Observer, Storage
    from roundtable.providers import Cassette
    from roundtable.result import DebateResult
    from roundtable.results import Results
    from roundtable.scoring import Rule
    from roundtable.settings import Settings
    from roundtable.types import (
        Budget,
        Estimate,
        Event,
        JsonValue,
        ProviderConfig,
    )

__all__ = ["Roundtable"]


class Roundtable(SessionFiles, StoredSessions, TeamTable):
    """A table at which agents debate.

    `debate`, `resume` and `extend` work at once; `start` needs `async with`, which also releases
    connections and files at its end (or call `aclose`). Nothing is opened, read or connected before
    the first use.

    Args:
        agents: Who debates: `"provider:model"`, an `AgentConfig`, an agent, or a chat model. Left out, the
            environment decides: keys of providers, then `ROUNDTABLE_BASE_URL` or `OLLAMA_HOST`, then the
            embedded model.
        providers: Overrides by provider name.
        storage: `"sqlite:///path"`, `"memory://"`, or a storage of your own; `DATABASE_PATH` or
            `./data/roundtable.db` when left out.
        tools: What agents can do besides speaking: typed functions, tools, toolkits, or names of registered ones. An
            agent that has tools of its own keeps those.
        profiles: Profiles of specialised agents that `converse` may be asked for by name: `AgentProfile`s, or TOML or
            YAML files with several.
        analyzer: How agreement is measured: `"auto"`, `"ai"`, `"semantic"`, `"stance"`, `"basic"`, a plugin's, or
            a meter of yours.
        seats: Models beside the debate, such as `{"analyzer": "provider:model"}`; several on one seat are a panel.
            Seats are `analyzer`, `judge`, `facilitator` and `synthesizer`; where none is named, a light model of a
            debater's provider sits, for a panel of judges those of all.
        budget: The most that all debates of this table may consume together.
        quorum: Answers needed in each stage that asks for positions; one when left out.
        concurrency: Most calls under way at once per model.
        timeout_s: Total deadline of a model call in seconds, tries included; the provider's when left out.
        turn_timeout_s: Seconds an agent has for a turn, with all its calls and tools; no limit when left out.
        seed: Seed of everything random.
        observers: Functions, or objects with `notify`, that hear every event of this table's debates; see
            `roundtable.protocols.Observer`. Or names of observers of plugins, such as `"otel"`.
        plugins: Modules or objects with `@roundtable.hookimpl` functions, for this table alone; or which installed
            plugins to load, as `roundtable.plugins.Plugins`. An installed one is loaded when its name is asked for.
        prices: Prices by `"provider:model"`, before those of the packaged table (extra `prices`).
        cassette: A file of recorded calls; those it holds are not made, others are made and recorded. A
            `roundtable.providers.Cassette` says otherwise.
        tenant: Whose sessions these are.
        settings: What the environment says; read from it when left out.

    Example:
        >>> import anyio
        >>> from roundtable.testing import scripted_agents
        >>> table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea", "cy": "Coffee"}), storage="memory://")
        >>> async def main():
        ...     return await table.debate("Tea or coffee?", rounds=1)
        >>> result = anyio.run(main)
        >>> result.answer, result.decision.scores["Tea"]
        ('Tea', 2.0)
    """

    _wired: Wiring | None = None
    _lender: Roundtable | None = None
    _debating: Debates | None = None
    _group: TaskGroup | None = None

    def __init__(
        self,
        agents: Sequence[AgentLike] | None = None,
        *,
        providers: Mapping[str, ProviderConfig] | None = None,
        storage: str | Storage | None = None,
        tools: Sequence[ToolLike] = (),
        profiles: Sequence[ProfileLike] = (),
        analyzer: str | ConsensusMeter = "auto",
        seats: Mapping[str, SeatLike | Sequence[SeatLike]] | None = None,
        budget: Budget | None = None,
        quorum: int | None = None,
        concurrency: int = 8,
        timeout_s: float | None = None,
        turn_timeout_s: float | None = None,
        seed: int = 0,
        observers: Sequence[str | Observer | Callable[[Event], None]] = (),
        plugins: PluginChoice = None,
        prices: Mapping[str, PriceLike] | None = None,
        cassette: str | PathLike[str] | Cassette | None = None,
        tenant: str = "default",
        settings: Settings | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name != "self" and value is not None}
        self._options = Options(**given)

    def __repr__(self) -> str:
        return f"Roundtable({self._options.shown})"

    @property
    def wiring(self) -> Wiring:
        """The objects behind the table, made on first use: engine, registries, storage, gateway."""
        if self._wired is None:
            # Late on purpose: `import roundtable; roundtable.Roundtable` must not load the engine.
            from roundtable.api.wiring import Wiring

            lender = self._lender
            self._wired = Wiring(self._options) if lender is None else lender.wiring.lend(self._options)
        return self._wired

    @property
    def _debates(self) -> Debates:
        if self._debating is None:
            from roundtable.api.debates import Debates

            self._debating = Debates(self.wiring)
        return self._debating

    async def debate(
        self,
        topic: str,
        *,
        mode: str | DebateModeStrategy = "collaborative",
        rounds: int = 3,
        options: Sequence[str] | None = None,
        decide: str | Rule = "plurality",
        exit_when: Exit | None = None,
        exit_on_consensus: bool | None = None,
        focus_question: str | None = None,
        perspectives: Perspectives = None,
        agents: Sequence[AgentLike] | None = None,
        budget: Budget | None = None,
        baseline: bool = False,
        synthesize: bool = False,
        skip_rounds_when: float | None = None,
        deadline_s: float | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> DebateResult:
        """Hold a debate and give its result.

        A debate of which at least one turn is stored gives a result even when it ends early; its
        `status` and `exit` say so.

        Args:
            topic: The question, 1 to 10,000 characters.
            mode: Debate mode, by name or as an object. A session goes on with an object of yours on this table;
                elsewhere a plugin has to bring the mode under its name.
            rounds: Rounds to hold at most, 1 to 10 unless `ROUNDTABLE_MAX_ROUNDS` says otherwise.
            options: Options to choose from; left out, the agents find their own positions.
            decide: Rule that turns a round's positions into a decision: its name, as in `"supermajority(2/3)"`, or a
                rule of your own, which this table then knows by its name. `"judge"` and `"judge-panel"` have models
                that take no part vote after each round; see `seats`.
            exit_when: Criterion that ends the debate early, such as `ConsensusReached(0.9) & MinRounds(2)`.
            exit_on_consensus: Whether also to end when agreement, convergence or confidence reach the thresholds of
                `ROUNDTABLE_EXIT_*`; asked after `exit_when`.
            focus_question: Narrower question for the rounds.
            perspectives: Perspectives of an expert panel, by name or in full; `"auto"` has them written for the
                question.
            agents: Who debates, instead of the table's agents.
            budget: The most this debate may consume, beside what the table may.
            baseline: Whether everybody answers alone before the first round, at the price of one call each. Nobody ever
                sees these answers; `independent_agreement` and `baselines` are then theirs.
            synthesize: Whether one model puts the debate together at its end, at the price of a call: what is shared,
                what is not, what follows. It is the answer where the decision has no winner.
            skip_rounds_when: Agreement of independent answers, in [0, 1], from which no round after the first is held;
                `exit` says what was saved.
            deadline_s: Seconds after which running calls are cancelled and the result is partial.
            metadata: Your own notes, kept with the session.

        Raises:
            ConfigurationError: Something asked for does not exist or does not fit; nothing was called.
            BudgetExceeded: The budget covers not even the first call.
            QuorumLost: Too few agents answered; `partial` holds the result so far.
            StorageError: Something could not be stored.
        """
        return await self._debates.debate(
            topic,
            mode=mode,
            rounds=rounds,
            options=options,
            decide=decide,
            exit_when=exit_when,
            exit_on_consensus=exit_on_consensus,
            focus_question=focus_question,
            perspectives=perspectives,
            agents=agents,
            budget=budget,
            baseline=baseline,
            synthesize=synthesize,
            skip_rounds_when=skip_rounds_when,
            deadline_s=deadline_s,
            metadata=metadata,
        )

    async def debate_many(
        self,
        topics: Sequence[str],
        *,
        modes: Sequence[str | DebateModeStrategy] = ("collaborative",),
        concurrency: int = 8,
        on_error: OnError = "record",
        **options: Unpack[DebateOptions],
    ) -> Results:
        """Hold a debate of every question in every mode, a few at a time, and give all results.

        Each is a session of its own. Everything that can be checked is checked before the first call.

        Args:
            topics: The questions.
            modes: Debate modes, by name or as objects.
            concurrency: Most debates under way at once, 1 to 1000; the table has a limit for calls beside it.
            on_error: Whether a debate that fails becomes one of `Results.failures` (`"record"`), or ends the others and
                is raised (`"raise"`).
            options: The same for all debates, as for `debate`, without `mode`.

        Raises:
            ConfigurationError: Something asked for does not exist or does not fit; nothing was called.
            RoundtableError: With `on_error="raise"`, what the first debate that failed raised.

        Example:
            >>> import anyio
            >>> from roundtable.testing import scripted_agents
            >>> table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
            >>> async def main():
            ...     return await table.debate_many(["Tea or coffee?"], modes=["delphi", "council"], rounds=1)
            >>> [result.mode for result in anyio.run(main)]
            ['delphi', 'council']
        """
        from roundtable.api.many import ManyDebates
        from roundtable.results import Results

        many = ManyDebates(topics=topics, modes=modes, concurrency=concurrency, on_error=on_error, options=options)
        return Results(await many.hold(self._debates), rules=self.wiring.catalog.rules)

    def estimate(self, topic: str, *, most_calls: int | None = None, **options: Unpack[DebateOptions]) -> Estimate:
        """Give the most that a debate may take, without any call; see `debate` for the arguments.

        Every answer is as long as it may be and asked for once more; tokens of prompts are estimated from above.

        Raises:
            ConfigurationError: Something asked for does not exist or does not fit, or takes more than `most_calls`.

        Example:
            >>> from roundtable.testing import scripted_agents
            >>> table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
            >>> worst = table.estimate("Tea or coffee?", rounds=2)
            >>> worst.turns, worst.planned_calls, worst.calls, worst.cost_usd
            (4, 4, 8, None)
        """
        return self._debates.estimate(topic, most_calls=most_calls, **options)

    def stream(self, topic: str, **options: Unpack[DebateOptions]) -> DebateStream:
        """Hold a debate and give its events as they happen; see `debate` for the arguments.

        The table has to be entered with `async with`, and then the stream; leaving its block ends the debate.
        """
        from roundtable.api.stream import DebateStream

        return DebateStream(lambda: self._debates.prepare(topic, **options), lambda: self._tasks("stream"))

    async def start(self, topic: str, *, step: bool = False, **options: Unpack[DebateOptions]) -> DebateHandle:
        """Begin a debate that runs by itself while the table is entered; see `debate` for the other arguments.

        Leaving the table's block pauses it.

        Args:
            topic: The question.
            step: Whether to hold the first round alone; `carry_on` holds the next one.

        Raises:
            ConfigurationError: The table was not entered with `async with`, or as `debate`.
        """
        begin = self._starter("start")
        return begin(await self._debates.prepare(topic, step=step, **options))

    def _starter(self, method: str) -> Callable[[Prepared], DebateHandle]:
        """Give what lets a prepared session run by itself."""
        from roundtable.api.handle import DebateHandle
        from roundtable.api.live import Live

        self._tasks(method)

        def begin(prepared: Prepared) -> DebateHandle:
            live = Live(prepared)
            self._tasks(method).start_soon(live.drive)  # asked again: the table may have been left meanwhile
            return DebateHandle(self, live)

        return begin

    def _tasks(self, method: str) -> TaskGroup:
        """Give the tasks of the entered table."""
        if self._group is None:
            msg = f"{method}() needs an entered table, which holds the running debate"
            raise ConfigurationError(msg, hint="Write `async with roundtable.Roundtable(...) as table:`.")
        return self._group

    def watch(self, session_id: str, *, after: int = 0) -> Watch:
        """Follow a session that runs here or elsewhere, from the event after number `after`."""
        from roundtable.api.stream import Watch

        wiring = self.wiring
        return Watch(wiring.hub, wiring.storage, session_id, after=after, tenant=self._options.tenant)

    def for_tenant(self, tenant: str, *, observers: Sequence[Observer | Callable[[Event], None]] = ()) -> Roundtable:
        """Give a table with the sessions of somebody else and all else of this one, for servers with many users.

        Models, their limits, the budget, tools and the storage are shared, and released by this table alone.

        Args:
            tenant: Whose sessions; those of others do not exist there.
            observers: Who hears every event of their debates, besides the observers of this table.

        Example:
            >>> table = Roundtable(storage="memory://")
            >>> table.for_tenant("acme").wiring.storage is table.wiring.storage
            True
        """
        theirs = Roundtable()
        theirs._lender, theirs._options = self, replace(self._options, tenant=tenant, observers=observers)
        return theirs

    def chat_model(self, name: str) -> StreamingModel:
        """Give a guarded model by `"provider:model"`.

        Raises:
            ConfigurationError: The provider is unknown, or lacks a key, an address or an extra.
        """
        from roundtable.providers import split_model_name

        return self.wiring.models.get(*split_model_name(name))

    async def aclose(self) -> None:
        """Release connections, models and files; idempotent. The table can be used again afterwards."""
        wiring, self._wired, self._debating = self._wired, None, None
        if wiring is not None:
            await wiring.aclose()

    async def __aenter__(self) -> Self:
        if self._group is not None:
            msg = "this table is entered already"
            raise ConfigurationError(msg)
        from anyio import create_task_group

        self._group = create_task_group()
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        group, self._group = self._group, None
        try:
            if group is not None:
                group.cancel_scope.cancel()
                await group.__aexit__(None, None, None)
        finally:
            # Files and threads are let go also where the block is left by a cancellation; it takes bounded time.
            await self.aclose()
