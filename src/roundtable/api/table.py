"""`Roundtable`, one object with a method for each task; and the function `debate` for a single question."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self, Unpack

from roundtable.api.converse import TeamTable
from roundtable.api.files import SessionFiles
from roundtable.api.fronts import FrontTable
from roundtable.api.stored_sessions import NEEDED, StoredSessions
from roundtable.api.table_options import TableOptions
from roundtable.core.base.arguments import explains_arguments
from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from types import TracebackType

    from anyio.abc import TaskGroup

    from roundtable.agents import AgentRegistry
    from roundtable.api.assembly import TableParts
    from roundtable.api.debates import Debates
    from roundtable.api.many import DebateQueue, OnError
    from roundtable.api.options import DebateOptions, Perspectives
    from roundtable.api.profiles import ProfileLike
    from roundtable.api.runs import DebateHandle, DebateStream, Prepared, Watch
    from roundtable.api.searching import SearchLike
    from roundtable.api.seats import AgentLike
    from roundtable.api.table_options import SeatLike
    from roundtable.api.tools import ToolLike
    from roundtable.core.engine.patience import WaitFor
    from roundtable.core.protocols import ConsensusMeter, DebateModeStrategy, Observer, Storage
    from roundtable.core.types.agents import ProviderConfig
    from roundtable.core.types.attachments import AttachmentLike
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.budget import Budget, Estimate
    from roundtable.core.types.debate import ModeName, RuleName
    from roundtable.core.types.events import Event
    from roundtable.core.types.request import DebateRequest
    from roundtable.engine import DebateEngine
    from roundtable.exits import Exit
    from roundtable.gateway import StreamingModel
    from roundtable.gateway.prices import PriceLike
    from roundtable.plugins import PluginChoice
    from roundtable.providers import Cassette
    from roundtable.results.debate_result import DebateResult
    from roundtable.results.many import Progress, Results
    from roundtable.scoring import Rule
    from roundtable.settings import Settings
    from roundtable.tools import Approver

__all__ = ["Roundtable", "debate"]


@explains_arguments
class Roundtable(FrontTable, SessionFiles, StoredSessions, TeamTable):
    """A table at which agents debate: the main object of the library.

    `debate`, `resume` and `extend` work without `async with`; `start` needs it. The end of the `async with` block also
    releases connections and files; without such a block, call `aclose`. Nothing is opened, read or connected before the
    first use.

    Args:
        agents: The agents that debate: `"provider:model"`, an `AgentConfig`, an agent, or a chat model. When left out,
            the agents are chosen from the environment: providers with a key come first, then `ROUNDTABLE_BASE_URL` or
            `OLLAMA_HOST`, then the embedded model.
        providers: Configurations by provider name, such as keys and addresses.
        storage: `"sqlite:///path"`, `"memory://"`, or your own storage; `DATABASE_PATH` or
            `./data/roundtable.db` when left out.
        tools: Tools of the agents: typed functions, tools, toolkits, or names of registered tools. An agent that has
            its own tools keeps only those.
        tool_dependencies: Your own object for tools, such as a database pool. Functions with a parameter of the type
            `roundtable.tools.ToolContext` receive it, together with the session, the tenant and the agent.
        approve_tools: A function that decides about each tool call before it is made, for example by asking a person;
            see `roundtable.tools.Approver`. When left out, no approval is needed.
        profiles: Profiles of specialised agents for `converse`, which takes their names: `AgentProfile`s, or TOML or
            YAML files with profiles.
        analyzer: How agreement is measured: `"auto"`, `"ai"`, `"declared"`, `"semantic"`, `"stance"`, `"basic"`, the
            name of a plugin's analyzer, or your own meter. With `"auto"`, a light model analyses each round in which
            equal texts, stances and numbers do not settle which answers agree. If the debate has options, the choices
            are known, so `"auto"` calls no model. `"ai"` calls the model in every round, with and without options.
        search: How agents search the web: `"auto"` uses their provider's own search if it has one, `False` turns the
            search off, and `roundtable.types.NativeSearch` sets options of the provider's search. With the name of a
            search service, such as `"brave"`, agents get the search tools of this service instead.
            `ProviderConfig.search` and `AgentConfig.search` override this setting; an agent or a model that has its own
            search setting keeps it.
        seats: Models for auxiliary roles, such as `{"analyzer": "provider:model"}`. The roles (seats) are `analyzer`,
            `judge`, `facilitator` and `synthesizer`; several models for one role form a panel. By default, a role uses
            the light model of a debater's provider, and a panel of judges uses the light models of all debaters'
            providers.
        budget: Limits for all debates of this table together.
        quorum: Minimum number of answers in each stage in which agents state positions; 1 when left out.
        concurrency: Maximum number of concurrent calls per model.
        timeout_s: Total deadline of a model call in seconds, including all tries; the provider's own when left out.
        turn_timeout_s: Seconds that an agent has for a turn, including all its calls and tools; no limit when left out.
        seed: Seed for all random choices.
        observers: Functions, or objects with `notify`, that receive every event of this table's debates (see
            `roundtable.protocols.Observer`); or names of observers that plugins provide, such as `"otel"`.
        plugins: Modules or objects with `@roundtable.hookimpl` functions, for this table only; or a
            `roundtable.plugins.Plugins`, which selects the installed plugins that may be loaded. An installed plugin is
            loaded when one of its names is used.
        prices: Prices by `"provider:model"`; they override the prices of the packaged table (extra `prices`).
        cassette: A file of recorded calls. Recorded calls are replayed; other calls are made and recorded. For other
            modes, pass a `roundtable.providers.Cassette`.
        tenant: Tenant that owns the sessions.
        settings: The settings; read from the environment when left out.

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

    _loaded_wiring: TableParts | None = None
    _parent: Roundtable | None = None
    _lender: TableParts | None = None
    """The objects of the parent that this table's objects were made from; the parent has others once it was closed."""
    _loaded_debates: Debates | None = None
    _group: TaskGroup | None = None

    def __init__(
        self,
        agents: Sequence[AgentLike] | None = None,
        *,
        providers: Mapping[str, ProviderConfig] | None = None,
        storage: str | Storage | None = None,
        tools: Sequence[ToolLike] = (),
        tool_dependencies: object = None,
        approve_tools: Approver | None = None,
        profiles: Sequence[ProfileLike] = (),
        analyzer: str | ConsensusMeter = "auto",
        search: SearchLike = "auto",
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
        arguments = {name: value for name, value in locals().items() if name != "self" and value is not None}
        arguments["search"] = search  # `None` is refused, not left out
        self._options = TableOptions(**arguments)

    def __repr__(self) -> str:
        return f"Roundtable({self._options.shown})"

    async def _load(self, agents: Sequence[AgentLike] | None = None) -> None:
        # Imported here on purpose: `import roundtable; roundtable.Roundtable` must not load anyio.
        from roundtable.core.base.eventloop import import_on_thread

        needed, storage = list(NEEDED), self._options.storage
        if storage is None or (isinstance(storage, str) and storage.startswith("sqlite:")):
            needed.append("roundtable.storage.sqlite")
        await import_on_thread(*needed)
        from roundtable.providers.builtin import provider_modules

        await import_on_thread(*provider_modules(self._options.provider_names(agents)))

    @property
    def _wiring(self) -> TableParts:
        """The objects of the table, created on first use: engine, registries, storage, gateway."""
        if self._parent is not None:
            lender = self._parent._wiring  # noqa: SLF001  (an instance of this class)
            if self._loaded_wiring is None or lender is not self._lender:
                self._lender, self._loaded_debates = lender, None
                self._loaded_wiring = lender.for_tenant(self._options)
        elif self._loaded_wiring is None:
            # Imported here on purpose: `import roundtable; roundtable.Roundtable` must not load the engine.
            from roundtable.api.assembly import TableParts

            self._loaded_wiring = TableParts(self._options)
        return self._loaded_wiring

    @property
    def may_be_extended(self) -> bool:
        """Whether this table may have parts that are neither built in nor from installed plugins; nothing is loaded."""
        parent = self._parent
        is_extended = self._loaded_wiring is not None or self._options.plugins is not None
        return is_extended or (parent is not None and parent.may_be_extended)

    @property
    def _debates(self) -> Debates:
        wiring = self._wiring  # first, since it may be new
        if self._loaded_debates is None:
            from roundtable.api.debates import Debates

            self._loaded_debates = Debates(wiring)
        return self._loaded_debates

    async def debate(
        self,
        topic: str,
        *,
        mode: ModeName | DebateModeStrategy = "collaborative",
        rounds: int = 3,
        agents: Sequence[AgentLike] | None = None,
        options: Sequence[str] | None = None,
        attachments: Sequence[AttachmentLike] = (),
        decide: RuleName | Rule | None = None,
        vote: bool | Literal["every"] = False,
        exit_when: str | Exit | None = None,
        exit_on_consensus: bool | None = None,
        quorum: int | None = None,
        focus_question: str | None = None,
        perspectives: Perspectives = None,
        search: SearchLike | None = None,
        baseline: bool = False,
        synthesize: bool = False,
        claims: bool = False,
        answer_schema: Mapping[str, JsonValue] | type | None = None,
        skip_rounds_when: float | None = None,
        budget: Budget | None = None,
        deadline_s: float | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> DebateResult:
        """Run a debate and return its result.

        If at least one turn is stored, there is a result even if the debate ends early; its `status` and `exit` show
        this.

        Args:
            topic: The question, 1 to 10,000 characters.
            mode: Debate mode: a mode object, or a name, with options after a colon, as in
                `expert-panel:facilitated=true`. A session with a mode object can be resumed on this table; on another
                table, a plugin must provide a mode of that name.
            rounds: Maximum number of rounds, 1 to 10 unless `ROUNDTABLE_MAX_ROUNDS` allows more.
            agents: Agents that debate instead of the table's agents: agents, models, configurations or names.
            options: Options that the agents choose from, at least 2. When left out, the agents find their own
                positions.
            attachments: Files that belong to the question, at most 20: PNG, JPEG, GIF and WebP images, PDF documents,
                and texts. Each is given as a path, as bytes, or as an `Attachment`. All agents must be able to see all
                files.
            decide: Rule that turns a round's positions or votes into a decision: a name, with parameters as in
                `"supermajority(2/3)"`, or your own `Rule`, which this table registers under its name. When left out,
                the rule is `"schulze"` with a vote, else `"plurality"`. A rule for rankings, grades or approvals
                implies a vote, unless the debate has options. With `"judge"` and `"judge-panel"`, models that do not
                debate vote after each round; see `seats`.
            vote: Whether the debating agents vote after the last round, or with `"every"` after every round. They vote
                on each other's answers, or on the options if the debate has any. Each vote costs one call per debating
                agent. Voters see the answers without names, and no agent sees the votes.
            exit_when: Exit criterion that ends the debate early, such as `ConsensusReached(0.9) & MinRounds(2)`, or the
                same as text: `"consensus(0.9) & min_rounds(2)"`.
            exit_on_consensus: Whether the debate also ends when agreement, convergence or confidence reaches its
                threshold in `ROUNDTABLE_EXIT_*`. An exit criterion, if given, is checked first.
            quorum: Minimum number of answers per stage, or per round if agents answer one after another. With fewer
                answers, the debate fails with `QuorumLost`. When left out, the table's `quorum` applies.
            focus_question: Narrower question for the rounds.
            perspectives: Perspectives of an expert panel, by name or in full; with `"auto"`, a model writes them for
                the question.
            search: How agents search the web in this debate: `"auto"`, `True`, `False`, or options. Replaces the
                table's setting, and is stored with the session.
            baseline: Whether all agents first answer alone and in private, which costs one call per agent. No agent
                sees these answers. They are the basis of the independent agreement and the baselines in the result.
            synthesize: Whether one model summarizes the debate at its end (common ground, differences, conclusion),
                which costs one call. If the decision has no winner, this conclusion is the answer.
            claims: Whether agents also give their reasons as claims: at most five short sentences, each with its
                sources and with the earlier claims that it supports or attacks. Claims make answers and prompts longer;
                the estimate shows how much.
            answer_schema: Type of an object that every agent returns in addition to its position: a pydantic model,
                another class that pydantic supports, or a JSON Schema. The object is checked against the JSON Schema
                (extra `schema`); if it does not fit, the agent is asked once more. `value` of the result contains the
                value that more than half of the agents with the winning answer gave.
            skip_rounds_when: Level, 0 to 1: if the independent answers agree at least this much, the debate ends after
                the first round. `exit` of the result states how many rounds and turns this saved.
            budget: Limits for this debate, in addition to the limits of the table.
            deadline_s: Seconds after which running calls are cancelled and the result is partial.
            metadata: Your own notes, stored with the session.

        Raises:
            ConfigurationError: An argument is not valid; no model was called.
            BudgetExceeded: The budget does not cover the first call.
            QuorumLost: Too few agents answered; `partial` is the result so far.
            StorageError: The session could not be stored.
        """
        await self._load(agents)
        return await self._debates.debate(
            topic,
            mode=mode,
            rounds=rounds,
            agents=agents,
            options=options,
            attachments=attachments,
            decide=decide,
            vote=vote,
            exit_when=exit_when,
            exit_on_consensus=exit_on_consensus,
            quorum=quorum,
            focus_question=focus_question,
            perspectives=perspectives,
            search=search,
            baseline=baseline,
            synthesize=synthesize,
            claims=claims,
            answer_schema=answer_schema,
            skip_rounds_when=skip_rounds_when,
            budget=budget,
            deadline_s=deadline_s,
            metadata=metadata,
        )

    async def debate_once(
        self,
        session_id: str,
        topic: str,
        *,
        wait_for: WaitFor = "none",
        outage_s: float = 600.0,
        **options: Unpack[DebateOptions],
    ) -> DebateResult:
        """Run a debate at most once under an id that you choose; a second call continues it or returns its result.

        This is for programs that may be stopped at any time, and for queues that may deliver a job twice. Stored
        answers are kept; no agent is asked for them again.

        Args:
            session_id: Id of the session, such as the id of a job: 1 to 200 characters, without slashes and
                backslashes.
            topic: The question.
            wait_for: Which agents a round waits for if their providers fail: `all`, `quorum` or `none`, as for
                `debate_many`.
            outage_s: Most seconds that the debate waits in each outage, as for `debate_many`.
            options: Options, as for `debate`. They apply when the session begins. Later calls use the options stored in
                the session, except for `budget` and `deadline_s`. If the session began with agents or a mode as
                objects, pass them again after a restart; they are used again.

        Raises:
            ConfigurationError: For the same reasons as in `debate`, or the id is too long or contains a slash.
            SessionBusy: Another process runs the session. If the process is dead, this call first waits until its lease
                ends.
            SessionConflict: The session is about another question, or waits for information.

        Example:
            >>> import anyio
            >>> from roundtable.testing import scripted_agents
            >>> table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
            >>> async def main():
            ...     first = await table.debate_once("job-17", "Tea or coffee?", rounds=1)
            ...     again = await table.debate_once("job-17", "Tea or coffee?", rounds=1)
            ...     return first.session_id, again.usage == first.usage
            >>> anyio.run(main)
            ('job-17', True)
        """
        await self._load(options.get("agents"))
        patience = self._debates.patience(wait_for=wait_for, outage_s=outage_s)
        return await self._debates.debate_once(session_id, topic, patience=patience, **options)

    def describe(self, topic: str, **options: Unpack[DebateOptions]) -> JsonObject:
        """Return what determines a debate, as JSON: its settings and its agents; see `debate` for the arguments.

        Default values and the budget are left out. No model is called.

        Raises:
            ConfigurationError: An argument is not valid, or an attribute of a mode object cannot be written as data.

        Example:
            >>> from roundtable.testing import scripted_agents
            >>> table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
            >>> plan = table.describe("Tea or coffee?", rounds=2)
            >>> plan["rounds"], [agent["id"] for agent in plan["agents"]]
            (2, ['ada', 'bo'])
        """
        return self._debates.describe(topic, **options)

    async def debate_many(
        self,
        topics: Sequence[str | DebateRequest | Mapping[str, JsonValue]],
        *,
        modes: Sequence[ModeName | DebateModeStrategy] = ("collaborative",),
        concurrency: int = 8,
        on_error: OnError = "record",
        name: str | None = None,
        on: DebateQueue | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        wait_for: WaitFor = "all",
        outage_s: float = 600.0,
        adapt: bool = True,
        **options: Unpack[DebateOptions],
    ) -> Results:
        """Run a debate of every question in every mode, a few at a time, and return all results.

        Each debate is a separate session. All arguments are checked before the first call. If you make the same call
        again with the same `name`, only the missing part is run: results of debates that ended are read from the
        storage, and interrupted debates continue. If another process currently runs a debate, this call waits for it.

        Where an agent fails because of its provider, the debate waits before anybody reads the incomplete round, lets
        the next debates run, and then asks only this agent again. During an outage (a rate limit, an open circuit
        breaker, no connection) it waits up to `outage_s` seconds; after any other failure, once. Then it goes on
        without the agent. Waits end at the deadline and the budget of the debate, and are listed in
        `DebateResult.waits`.

        Args:
            topics: The questions: texts, `DebateRequest`s, or mappings with `topic` and options. Options of a question
                take precedence over `options`. A question with a `mode` is debated only in this mode.
            modes: Debate modes, by name or as objects.
            concurrency: Maximum number of concurrent debates, 1 to 1000, without those that wait for a provider; the
                table also limits concurrent calls.
            on_error: What to do when a debate fails: add it to `Results.failures` (`"record"`), or end the other
                debates and raise its error (`"raise"`).
            name: Name of these debates, 1 to 80 letters, digits, hyphens and underscores. A debate with other options,
                agents or mode settings is a different debate under this name; only `budget` and `deadline_s` may
                change.
            on: A `roundtable.fleet.Fleet` that runs the debates on all its workers. It needs `name`, and options that
                are plain data.
            on_progress: Plain function, called whenever a debate has ended, begins to wait or continues;
                `roundtable.bench.print_progress` shows a line. A function that raises an error is not called again.
            wait_for: Which agents a round waits for if their providers fail: `all` of them; only as many as the debate
                needs to continue (`quorum`); or `none`, so that it goes on at once without those that failed.
            outage_s: Most seconds that a debate waits in each outage, at least 0; never longer. If a provider asks for
                a longer wait, the debate goes on at once, and a warning is logged: an open circuit breaker takes no
                call for 60 seconds, unless `ProviderConfig.breaker` sets its `recovery_s`.
            adapt: Whether the number of concurrent debates is halved when a provider answers that there are too many
                calls, and grows again up to `concurrency`. `Progress.at_once` shows it.
            options: Options of all debates, as for `debate`, without `mode`.

        With `on`, the workers decide how long they wait.

        Raises:
            ConfigurationError: An argument is not valid; no model was called. The message names the row of a question
                that is not valid.
            RoundtableError: With `on_error="raise"`, the error of the first debate that failed.

        Example:
            >>> import anyio
            >>> from roundtable.testing import scripted_agents
            >>> table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
            >>> async def main():
            ...     return await table.debate_many(["Tea or coffee?"], modes=["delphi", "council"], rounds=1)
            >>> [result.mode for result in anyio.run(main)]
            ['delphi', 'council']
        """
        await self._load(options.get("agents"))
        from roundtable.api.many import ManyDebates
        from roundtable.api.slots import BatchPatience
        from roundtable.results.many import Results

        many = ManyDebates(
            questions=topics,
            modes=modes,
            concurrency=concurrency,
            on_error=on_error,
            name=name,
            on=on,
            on_progress=on_progress,
            options=options,
            patience=BatchPatience(wait_for, outage_s, adapt),
        )
        return Results(await many.hold(self._debates), rules=self._wiring.catalog.rules)

    async def resume_many(
        self,
        results: Results,
        *,
        budget: Budget | None = None,
        deadline_s: float | None = None,
        concurrency: int = 8,
        on_error: OnError = "record",
        on_progress: Callable[[Progress], None] | None = None,
        wait_for: WaitFor = "all",
        outage_s: float = 600.0,
        adapt: bool = True,
    ) -> Results:
        """Continue the unfinished debates of many, a few at a time, and return all results in the same order.

        Debates that stopped early (because of a budget, a deadline, a pause or a failure) continue from where they
        stopped, and keep their stored answers. All other debates are returned unchanged: debates that ended, were
        stopped, wait for information, or failed before their session was stored.

        Args:
            results: Results of `debate_many`, called on this table or on another table with the same storage.
            budget: Limits of each debate, including its earlier runs. When left out, the original budget applies, so
                debates that have used it up stay unchanged.
            deadline_s: Seconds that each debate has for this run.
            concurrency: Maximum number of concurrent debates, 1 to 1000.
            on_error: What to do when a debate fails, as for `debate_many`.
            on_progress: Plain function, called as for `debate_many`; `total` is the number of debates that continue.
            wait_for: As for `debate_many`.
            outage_s: As for `debate_many`.
            adapt: As for `debate_many`.

        Raises:
            ConfigurationError: An argument is not valid; no model was called.
            RoundtableError: With `on_error="raise"`, the error of the first debate that failed.

        Example:
            >>> import anyio
            >>> from roundtable import Budget
            >>> from roundtable.testing import scripted_agents
            >>> table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
            >>> async def main():
            ...     half = await table.debate_many(["Tea or coffee?"], rounds=2, budget=Budget(max_calls=2))
            ...     whole = await table.resume_many(half, budget=Budget(max_calls=4))
            ...     return half[0].status, whole[0].status, whole.usage.calls
            >>> anyio.run(main)
            ('partial', 'completed', 4)
        """
        await self._load(None)
        from roundtable.api.many import ManyResumes
        from roundtable.api.slots import BatchPatience
        from roundtable.results.many import Results

        if not isinstance(results, Results):
            raise ConfigurationError(
                f"results must be Results of debate_many, not {type(results).__name__}",
                hint="To continue single sessions, call resume(session_id) for each.",
            )
        many = ManyResumes(
            held=results.held,
            budget=budget,
            deadline_s=deadline_s,
            concurrency=concurrency,
            on_error=on_error,
            on_progress=on_progress,
            patience=BatchPatience(wait_for, outage_s, adapt),
        )
        return Results(await many.hold(self._debates), rules=self._wiring.catalog.rules)

    def estimate(self, topic: str, *, most_calls: int | None = None, **options: Unpack[DebateOptions]) -> Estimate:
        """Return the most that a debate may consume, without any call; see `debate` for the arguments.

        The estimate assumes that every answer is as long as allowed and is repaired once; the tokens of prompts are an
        upper estimate.

        Raises:
            ConfigurationError: An argument is not valid, or the debate needs more than `most_calls` calls.

        Example:
            >>> from roundtable.testing import scripted_agents
            >>> table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
            >>> worst = table.estimate("Tea or coffee?", rounds=2)
            >>> worst.turns, worst.planned_calls, worst.calls, worst.cost_usd
            (4, 4, 8, None)
        """
        return self._debates.estimate(topic, most_calls=most_calls, **options)

    def stream(self, topic: str, **options: Unpack[DebateOptions]) -> DebateStream:
        """Run a debate and yield its events as they happen; see `debate` for the arguments.

        Enter first the table and then the stream with `async with`. Leaving the stream's block ends the debate.
        """
        from roundtable.api.runs import DebateStream

        return DebateStream(lambda: self._debates.prepare(topic, **options), lambda: self._tasks("stream"))

    def stream_fork(self, session_id: str, *, at_round: int, **changes: Unpack[DebateOptions]) -> DebateStream:
        """Fork a session, run the new one and yield its events as they happen; see `fork` for the arguments.

        The events of the shared past are left out. Enter first the table and then the stream with `async with`. Leaving
        the stream's block ends the debate.
        """
        from roundtable.api.runs import DebateStream

        async def prepare() -> Prepared:
            prepared = await self._debates.prepare_fork(session_id, at_round, (), changes)
            past = (await self.state(prepared.session_id)).last_seq
            return replace(prepared, subscribe=lambda: self.subscribe(prepared.session_id, after=past, catch_up=False))

        return DebateStream(prepare, lambda: self._tasks("stream_fork"))

    async def start(
        self,
        topic: str,
        *,
        step: bool = False,
        wait_for: WaitFor = "none",
        outage_s: float = 600.0,
        **options: Unpack[DebateOptions],
    ) -> DebateHandle:
        """Start a debate in the background, while the table is entered; see `debate` for the other arguments.

        Leaving the table's block pauses the debate.

        Args:
            topic: The question.
            step: Whether to run only the first round; `start_resume` runs the next round.
            wait_for: Which agents a round waits for if their providers fail: `all`, `quorum` or `none`, as for
                `debate_many`.
            outage_s: Most seconds that the debate waits in each outage, as for `debate_many`.

        Raises:
            ConfigurationError: The table was not entered with `async with`, or for the same reasons as in `debate`.
        """
        begin = self._starter("start")
        patience = self._debates.patience(wait_for=wait_for, outage_s=outage_s)
        return begin(await self._debates.prepare(topic, step=step, patience=patience, **options))

    def _starter(self, method: str) -> Callable[[Prepared], DebateHandle]:
        """Return a function that runs a prepared session in the background."""
        from roundtable.api.runs import BackgroundRun, DebateHandle

        self._tasks(method)

        def begin(prepared: Prepared) -> DebateHandle:
            live = BackgroundRun(prepared)
            self._tasks(method).start_soon(live.drive)  # checked again: the table may have been left meanwhile
            return DebateHandle(self, live)

        return begin

    def _tasks(self, method: str) -> TaskGroup:
        """Return the task group of the entered table."""
        if self._group is None:
            hint = "Write `async with Roundtable(...) as table:`, or `with` for the table of `roundtable.sync`."
            raise ConfigurationError(f"{method}() works only inside the `with` block of the table", hint=hint)
        return self._group

    def watch(self, session_id: str, *, after: int = 0) -> Watch:
        """Follow a session that runs here or in another process, from the event after number `after`.

        `async with table.watch(...) as events:` raises `SessionNotFound` at once if no session has this id, before a
        server has answered anything.
        """
        from roundtable.api.runs import Watch

        return Watch(self, session_id, after=after)

    def for_tenant(self, tenant: str, *, observers: Sequence[Observer | Callable[[Event], None]] = ()) -> Roundtable:
        """Return a table for the sessions of another tenant; it shares everything else with this table.

        Models, their limits, the budget, tools and the storage are shared; only this table releases them. If this table
        is closed and then used again, the new table uses its new objects.

        Args:
            tenant: Owner of the sessions; the new table does not see sessions of other tenants.
            observers: Observers that receive every event of the new table's debates, in addition to the observers of
                this table. Their `notify_call` is not called, because it would reveal calls of other tenants.

        Example:
            >>> table = Roundtable(storage="memory://")
            >>> table.for_tenant("acme").storage is table.storage
            True
        """
        table = Roundtable()
        table._parent, table._options = self, replace(self._options, tenant=tenant, observers=observers)
        return table

    @classmethod
    def from_engine(
        cls,
        engine: DebateEngine | None,
        registry: AgentRegistry | None = None,
        *,
        tools: Sequence[ToolLike] = (),
        tenant: str = "default",
    ) -> Roundtable:
        """Return a table with an engine's agents, storage, modes, rules, limits and listeners.

        Args:
            engine: The engine; `None` for a usual table.
            registry: Registry of the agents, which also knows whether they are active; the engine's when left out.
            tools: Tools of the agents, as for `Roundtable`.
            tenant: Tenant that owns the sessions.
        """
        agents = None if engine is None else engine.agents.get_active_agents()
        table = cls(
            (agents or None) if registry is None else registry.get_active_agents(),
            storage=None if engine is None else engine.sessions.storage,
            tools=tools,
            tenant=tenant,
        )
        table._wiring.adopt(engine, registry)
        return table

    def chat_model(self, name: str) -> StreamingModel:
        """Return a guarded model by `"provider:model"`.

        Raises:
            ConfigurationError: The provider is unknown, or lacks a key, an address or an extra.
        """
        from roundtable.providers import split_model_name

        return self._wiring.models.get(*split_model_name(name))

    def reset_breakers(self) -> None:
        """Close all circuit breakers, so that the next call to every provider is made.

        Use this when you know that a provider is back, or after you raised a quota. Refused keys are tried again too.

        Example:
            >>> Roundtable(["scripted:replies.json"], storage="memory://").reset_breakers()
        """
        self._wiring.models.gateway.reset_breakers()

    async def aclose(self) -> None:
        """Release connections, models and files; idempotent. The table can be used again afterwards."""
        wiring, self._loaded_wiring, self._loaded_debates = self._loaded_wiring, None, None
        if wiring is not None:
            await wiring.aclose()

    async def __aenter__(self) -> Self:
        await self._load()
        if self._group is not None:
            msg = "this table has already been entered"
            raise ConfigurationError(msg, hint="Use it within its `async with` block, or create another table.")
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
            # Files and threads are released even if a cancellation leaves the block; this takes bounded time.
            await self.aclose()


@explains_arguments
async def debate(
    topic: str,
    *,
    providers: Mapping[str, ProviderConfig] | None = None,
    plugins: PluginChoice = None,
    storage: str | Storage | None = None,
    **options: Unpack[DebateOptions],
) -> DebateResult:
    """Run one debate with models from the environment; see `Roundtable.debate` for the other arguments.

    Connections and files are released before this function returns.

    Args:
        topic: The question.
        providers: As for `Roundtable`: keys and addresses that are not in the environment.
        plugins: As for `Roundtable`.
        storage: As for `Roundtable`; `"memory://"` stores nothing permanently. For other options of a table, create a
            `Roundtable`.
        options: As for `Roundtable.debate`.
    """
    async with Roundtable(providers=providers, plugins=plugins, storage=storage) as table:
        return await table.debate(topic, **options)
