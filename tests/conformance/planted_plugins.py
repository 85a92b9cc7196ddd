"""Wrong plugins, each with the law that it must break; `test_planted_plugins.py` runs each on that law.

This is a test file of a plugin author's kind: pytest collects it by its name, never with the other tests.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import anyio
import pytest
from hypothesis import Phase, settings

# Found is enough: to make an example small takes longer than all else. Suites read the profile when they are imported.
settings.register_profile(
    "planted", max_examples=60, phases=[Phase.explicit, Phase.generate], deadline=None, database=None
)
settings.load_profile("planted")

from conformance.test_modes import FAULTS as MODE_FAULTS  # noqa: E402
from conformance.test_plugin_faults import (  # noqa: E402
    Acme,
    AnswersShort,
    Counting,
    DropsCalls,
    DropsTheLimit,
    DropsUsage,
    FirstHeard,
    Flattering,
    FollowsRedirects,
    ForgetsWhenToTryAgain,
    KeepsItsConnection,
    LocksForEver,
    LogsItsKey,
    Null,
    RaisesItsKey,
    Remembering,
    ShowsItsKey,
    Sound,
    StreamsNoUsage,
    fair,
    first_letter,
    first_listed,
    first_voter,
    led_by,
)

from roundtable.analysis import ConsensusAnalyzer  # noqa: E402
from roundtable.errors import RoundtableError  # noqa: E402
from roundtable.exits import Exit  # noqa: E402
from roundtable.modes import BaseModeStrategy  # noqa: E402
from roundtable.protocols import ExitRound  # noqa: E402
from roundtable.scoring import Outcome, Rule  # noqa: E402
from roundtable.testing import RecordingObserver, ScriptedModel  # noqa: E402
from roundtable.testing.analyzer_suite import AnalyzerSuite  # noqa: E402
from roundtable.testing.exit_suite import ExitSuite  # noqa: E402
from roundtable.testing.mode_suite import ModeSuite  # noqa: E402
from roundtable.testing.observer_suite import ObserverSuite  # noqa: E402
from roundtable.testing.provider_suite import Capability, ProviderSuite  # noqa: E402
from roundtable.testing.rule_suite import RuleSuite  # noqa: E402
from roundtable.testing.tool_suite import ToolSuite  # noqa: E402
from roundtable.tools import ToolDefinition  # noqa: E402
from roundtable.types import (  # noqa: E402
    AgentResponse,
    AgentTool,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    ConsensusResult,
    DebateContext,
    EndRound,
    Event,
    ExitResult,
    JsonObject,
    Message,
    ModelProfile,
    Plan,
    Stage,
    ToolResult,
    TurnSpec,
)

PLANTED: list[tuple[str, str, str]] = []
"""Suite, law and class of each planted plugin."""


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run on one event loop."""
    return str(request.param)


def plant(suite: type, law: str, wrong: type | str, **parts: object) -> None:
    """Create the test class of a wrong plugin, which has to break one law."""
    name = f"Test{len(PLANTED):03}{wrong if isinstance(wrong, str) else wrong.__name__}"
    kind = next(base.__name__ for base in suite.__mro__ if base.__module__.startswith("roundtable.testing."))
    globals()[name] = type(name, (suite,), {**parts, "__module__": __name__})
    PLANTED.append((kind, law, name))


def fixture(make: Callable[[], object]) -> Callable[[object], object]:
    """Return a fixture that creates the plugin under test."""

    @pytest.fixture
    def created(self: object) -> object:
        return make()

    return cast("Callable[[object], object]", created)


# ------------------------------------------------------------------ providers


class Http(ProviderSuite):
    """All capabilities, and little patience."""

    capabilities = frozenset({Capability.HTTP, Capability.STREAMING, Capability.TOOLS})
    limit_s = 1.5


def provider(law: str, wrong: type[Any], suite: type = Http) -> None:
    """Plant a provider; `wrong` is created with the base URL of the API."""
    plant(suite, law, wrong, make_model=fixture(lambda: wrong))


class Changed(Acme):
    """Changes each request before it is sent."""

    def change(self, request: ChatRequest) -> ChatRequest:
        return request

    async def complete(self, request: ChatRequest) -> ChatResponse:
        return await super().complete(self.change(request))

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        return super().stream(self.change(request))


def dropping(**values: object) -> type[Changed]:
    """Return a provider that sends these values instead of those of the call."""

    class Drops(Changed):
        def change(self, request: ChatRequest) -> ChatRequest:
            return request.model_copy(update=values)

    Drops.__name__ = f"Drops{''.join(name.title().replace('_', '') for name in values)}"
    return Drops


class NoSignature(Acme):
    async def complete(self) -> ChatResponse:  # type: ignore[override]
        raise NotImplementedError


class AwaitsItsStream(Acme):
    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:  # type: ignore[override]
        return self.inner.stream(request)


class CountsNoCalls(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        response = await super().complete(request)
        return response.model_copy(update={"usage": response.usage.model_copy(update={"calls": 0})})


class EndsWithAPiece(Acme):
    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        async for item in super().stream(request):
            yield item
        yield ChatDelta(text="!")


class OneAtATime(Acme):
    """Does not answer again after a stream was left."""

    busy = False

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        self.busy = True
        async for item in super().stream(request):
            yield item
        self.busy = False

    async def complete(self, request: ChatRequest) -> ChatResponse:
        if self.busy:
            await anyio.sleep_forever()
        return await super().complete(request)


class ClosesOnce(Acme):
    closed = False

    async def aclose(self) -> None:
        if self.closed:
            raise RuntimeError("closed")
        self.closed = True
        await super().aclose()


class SharesAnswers(Acme):
    """Gives the last answer to all who wait."""

    last: ChatResponse | None = None

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.last = await super().complete(request)
        await anyio.sleep(0.2)
        return self.last


class Persistent(Acme):
    """Calls again until there is an answer, whatever the deadline."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        with anyio.CancelScope(shield=True):
            return await super().complete(request)


class TriesAgain(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        try:
            return await super().complete(request)
        except RoundtableError:
            return await super().complete(request)


class TakesAnything(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        try:
            return await super().complete(request)
        except RoundtableError:
            return ChatResponse(text="")


class RaisesItsOwn(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        try:
            return await super().complete(request)
        except RoundtableError as error:
            raise KeyError("choices") from error


class Undeclared(ProviderSuite):
    """Declares nothing, as if all of its capabilities were strings."""


class NotTelling(ProviderSuite):
    """Declares neither streams nor tools."""

    capabilities = frozenset({Capability.HTTP})


class Silent(ScriptedModel):
    """Answers without the API."""

    profile = ModelProfile(streams=True)

    def __init__(self, url: str) -> None:
        super().__init__({"*": "Tea"})


class SendsNothing(Changed):
    """Asks something else than the agent did."""

    def change(self, request: ChatRequest) -> ChatRequest:
        return request.model_copy(update={"messages": (Message(role="user", content="Hello"),)})


class AllAsUser(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        messages = tuple(message.model_copy(update={"role": "user"}) for message in request.messages)
        return request.model_copy(update={"messages": messages})


class SystemAsUser(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        messages = tuple(
            message.model_copy(update={"role": "user"}) if message.role == "system" else message
            for message in request.messages
        )
        return request.model_copy(update={"messages": messages})


class LastAlone(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        return request.model_copy(update={"messages": request.messages[-1:]})


class Backwards(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        return request.model_copy(update={"messages": request.messages[::-1]})


class StreamsTheLastAlone(Acme):
    """Sends everything, but for a stream the last message only."""

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        return super().stream(request.model_copy(update={"messages": request.messages[-1:]}))


class AlwaysWarm(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        return request.model_copy(update={"temperature": 0.375})


class StreamsWithoutSchema(Acme):
    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        return super().stream(request.model_copy(update={"output_schema": None}))


class NoParameters(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        tools = tuple(tool.model_copy(update={"parameters": {}}) for tool in request.tools)
        return request.model_copy(update={"tools": tools})


class NoDescriptions(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        tools = tuple(
            AgentTool(
                name=tool.name,
                description=tool.description,
                parameters={"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
            )
            for tool in request.tools
        )
        return request.model_copy(update={"tools": tools})


class NoRequirement(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        choice = "auto" if request.tool_choice == "required" else request.tool_choice
        return request.model_copy(update={"tool_choice": choice})


class ForgetsArguments(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        messages = tuple(
            message.model_copy(
                update={"tool_calls": tuple(call.model_copy(update={"arguments": {}}) for call in message.tool_calls)}
            )
            for message in request.messages
        )
        return request.model_copy(update={"messages": messages})


class SwapsResults(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        ids = [message.tool_call_id for message in request.messages if message.tool_call_id]
        turned = iter(ids[::-1])
        messages = tuple(
            message.model_copy(update={"tool_call_id": next(turned)}) if message.tool_call_id else message
            for message in request.messages
        )
        return request.model_copy(update={"messages": messages})


class StreamsNoCalls(Acme):
    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        async for item in super().stream(request):
            yield item.model_copy(update={"tool_calls": ()}) if isinstance(item, ChatResponse) else item


provider("test_it_has_the_parts_of_a_model", NoSignature)
provider("test_it_has_the_parts_of_a_model", AwaitsItsStream)
provider("test_it_answers", DropsUsage)
provider("test_it_answers", CountsNoCalls)
provider("test_a_stream_ends_with_the_whole_answer", StreamsNoUsage)
provider("test_a_stream_ends_with_the_whole_answer", EndsWithAPiece)
provider("test_a_stream_may_be_left", OneAtATime)
provider("test_a_stream_that_is_left_lets_its_connection_go", KeepsItsConnection)
provider("test_a_stream_that_breaks_off_is_an_error", AnswersShort)
provider("test_it_closes_twice", ClosesOnce)
provider("test_tools_are_described_to_it", DropsCalls)
provider("test_calls_at_once_do_not_disturb_each_other", SharesAnswers)
provider("test_a_call_that_is_cancelled_holds_up_no_other", LocksForEver)
provider("test_a_deadline_ends_a_call", Persistent)
provider("test_a_refusal_is_an_error_of_ours", TriesAgain)
provider("test_a_refusal_is_an_error_of_ours", ForgetsWhenToTryAgain)
provider("test_an_answer_that_is_none_is_an_error_of_ours", TakesAnything)
provider("test_an_answer_with_a_part_that_is_wrong_never_breaks_it", RaisesItsOwn)
provider("test_a_redirect_is_not_followed", FollowsRedirects)
provider("test_a_key_shows_nowhere", ShowsItsKey)
provider("test_a_key_shows_nowhere", LogsItsKey)
provider("test_a_key_shows_nowhere", RaisesItsKey)
provider("test_it_declares_what_it_does", Acme, Undeclared)
provider("test_it_declares_what_it_does", Acme, NotTelling)
provider("test_it_declares_what_it_does", Silent)
provider("test_the_model_is_named", dropping(model="acme-0"))
provider("test_messages_are_sent_in_order_with_their_roles", SendsNothing)
provider("test_messages_are_sent_in_order_with_their_roles", AllAsUser)
provider("test_messages_are_sent_in_order_with_their_roles", SystemAsUser)
provider("test_messages_are_sent_in_order_with_their_roles", LastAlone)
provider("test_messages_are_sent_in_order_with_their_roles", Backwards)
provider("test_messages_are_sent_in_order_with_their_roles", StreamsTheLastAlone)
provider("test_an_option_is_sent", dropping(temperature=None))
provider("test_an_option_is_sent", dropping(seed=None))
provider("test_an_option_is_sent", dropping(stop=()))
provider("test_an_option_is_sent", AlwaysWarm)
provider("test_the_token_limit_is_sent", DropsTheLimit)
provider("test_a_schema_is_sent", dropping(output_schema=None))
provider("test_a_schema_is_sent", StreamsWithoutSchema)
provider("test_a_tool_is_sent_with_its_parameters", dropping(tools=()))
provider("test_a_tool_is_sent_with_its_parameters", NoParameters)
provider("test_a_tool_is_sent_with_its_parameters", NoDescriptions)
provider("test_the_choice_of_a_tool_is_sent", dropping(tool_choice="auto"))
provider("test_the_choice_of_a_tool_is_sent", NoRequirement)
provider("test_calls_and_results_are_sent_back", ForgetsArguments)
provider("test_calls_and_results_are_sent_back", SwapsResults)
provider("test_calls_and_results_are_sent_back", LastAlone)
provider("test_a_streamed_call_is_parsed", StreamsNoCalls)

# ------------------------------------------------------------------ modes


class SmallModeSuite(ModeSuite):
    """Small debates, and little patience."""

    most_agents = 4
    most_rounds = 3
    plan_s = 1.0


def mode(law: str, wrong: type[BaseModeStrategy]) -> None:
    """Plant a mode."""
    plant(SmallModeSuite, law, wrong, mode=fixture(wrong))


class Shuffled(Sound):
    """Asks all agents, in the order of a set."""

    def next_stage(self, view: DebateContext) -> Plan:
        if self.turns_of_round(view):
            return EndRound()
        agents = {seat.id for seat in view.agents}
        turns = [TurnSpec(slot=slot, agent=agent, task="Speak.") for slot, agent in enumerate(agents)]
        return Stage(name="speech", turns=tuple(turns))


class LatestFirst(Sound):
    """Shows earlier positions in the order in which they came in."""

    def next_stage(self, view: DebateContext) -> Plan:
        if self.turns_of_round(view):
            return EndRound()
        shown = {turn.key: turn.timestamp for turn in view.transcript}
        sees = tuple(sorted(self.earlier_positions(view), key=lambda visible: shown[visible.turn]))
        turns = (
            TurnSpec(slot=slot, agent=seat.id, task="Speak.", sees=sees, options=view.options)
            for slot, seat in enumerate(view.agents)
        )
        return Stage(name="speech", turns=tuple(turns))


class Looping(Sound):
    """Never returns a second plan."""

    def next_stage(self, view: DebateContext) -> Plan:
        while self.turns_of_round(view):
            time.sleep(0)
        return super().next_stage(view)


class AsksOnce(Sound):
    """Asks in the first round, and nobody after it."""

    rounds = range(2, 4)

    def next_stage(self, view: DebateContext) -> Plan:
        return EndRound() if view.current_round > 1 else super().next_stage(view)


class Waiting(Sound):
    def task(self) -> str:
        time.sleep(0.15)
        return "Speak."


class Balloting(Sound):
    """Asks for ballots, and does not say what they are for."""

    facts: ClassVar[dict[str, object]] = {}

    def next_stage(self, view: DebateContext) -> Plan:
        if self.turns_of_round(view):
            return EndRound()
        turns = [
            TurnSpec.model_validate(
                {
                    "slot": slot,
                    "agent": seat.id,
                    "task": "Vote.",
                    "answer": "ballot",
                    "options": view.options or ("tea", "milk"),
                    **self.facts,
                }
            )
            for slot, seat in enumerate(view.agents)
        ]
        return Stage(name="poll", turns=tuple(turns))


class DecidesInSecret(Balloting):
    """Decides by a vote, and does not say that it has one."""

    facts: ClassVar[dict[str, object]] = {"counts": "decide"}


class DecidesByRanking(Balloting):
    """Lets rankings decide, which nothing counts."""

    has_own_vote = True
    facts: ClassVar[dict[str, object]] = {"counts": "decide", "answer": "ranking"}


for wrong_mode, broken_law in MODE_FAULTS.items():
    mode(broken_law, wrong_mode)
mode("test_every_round_asks_somebody", AsksOnce)
mode("test_ballots_say_how_they_count", Balloting)
mode("test_ballots_say_how_they_count", DecidesInSecret)
mode("test_ballots_say_how_they_count", DecidesByRanking)
mode("test_every_round_ends", Looping)
mode("test_the_same_transcript_gives_the_same_plan", Waiting)
mode("test_it_does_not_matter_in_which_order_the_turns_of_a_stage_ended", LatestFirst)
mode("test_the_plan_is_the_same_in_every_process", Shuffled)

# ------------------------------------------------------------------ analyzers


def analyzer(law: str, wrong: type[ConsensusAnalyzer], *arguments: object) -> None:
    """Plant an analyzer."""
    plant(AnalyzerSuite, law, wrong, meter=fixture(lambda: wrong(*arguments)))


class Halved(ConsensusAnalyzer):
    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        return super().analyze(responses).model_copy(update={"agreement_level": 0.5})


class Forgetful(ConsensusAnalyzer):
    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        result = super().analyze(responses)
        return result.model_copy(update={"clusters": result.clusters[1:]})


class ByTheSecond(ConsensusAnalyzer):
    """Looks at the agent in the second place: the first order and its reverse look alike."""

    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        inner = {response.position for response in responses[1:3]}
        changes = {"agreement_level": 0.1} if inner == {"Tea"} and len(responses) == 4 else {}
        return super().analyze(responses).model_copy(update=changes)


class Rewriting(ConsensusAnalyzer):
    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        for response in responses:
            vars(response)["position"] = response.position.casefold()
        return super().analyze(responses)


class Weary(ConsensusAnalyzer):
    """Agreement falls with each round that it measured."""

    def __init__(self) -> None:
        self.count = itertools.count()

    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        level = 0.5 / (1 + next(self.count))
        return super().analyze(responses).model_copy(update={"agreement_level": level})


class Blocking(ConsensusAnalyzer):
    async def measure(self, responses: Any, topic: str, **more: Any) -> Any:
        time.sleep(0.4)  # noqa: ASYNC251  (the fault itself)
        return await super().measure(responses, topic, **more)


analyzer("test_a_round_is_measured", Null, "summary")
analyzer("test_equal_positions_agree", Halved)
analyzer("test_nobody_is_forgotten_or_named_twice", Forgetful)
analyzer("test_unlike_positions_do_not_agree_fully", Flattering)
analyzer("test_the_order_of_agents_does_not_matter", FirstHeard)
analyzer("test_the_order_of_agents_does_not_matter", ByTheSecond)
analyzer("test_rounds_do_not_disturb_each_other", Remembering)
analyzer("test_the_round_is_left_as_it_was", Rewriting)
analyzer("test_the_same_round_is_measured_alike", Weary)
analyzer("test_it_lets_other_debates_run", Blocking)

# ------------------------------------------------------------------ tools

CITY: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Weather(ToolSuite):
    """Little patience."""

    good_input: ClassVar[JsonObject] = {"city": "Oslo"}
    limit_s = 1.0


def answer(given: Any) -> str:
    return "blue" if isinstance(given.get("city"), str) else "grey"


def tool(law: str, name: str, make: Callable[[], object]) -> None:
    """Plant a tool."""
    plant(Weather, law, name, tool=fixture(make))


class Handmade:
    """A tool without fault that needs no library; each wrong one overrides one thing."""

    definition = AgentTool(name="weather", description="Tells the weather.", parameters=CITY)

    async def run(self, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=True, data=answer(tool_input))


class ReturnsText(Handmade):
    async def run(self, tool_input: JsonObject) -> Any:
        return answer(tool_input)


class NotAsync(Handmade):
    def run(self, tool_input: JsonObject) -> Any:
        return ToolResult(success=True, data=answer(tool_input))


class BlocksTheLoop(Handmade):
    async def run(self, tool_input: JsonObject) -> ToolResult:
        time.sleep(0.4)  # noqa: ASYNC251  (the fault itself)
        return await super().run(tool_input)


class SucceedsWithAnError(Handmade):
    async def run(self, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=True, data="blue", error="it rains")


class ChangesItsInput(Handmade):
    async def run(self, tool_input: JsonObject) -> ToolResult:
        tool_input["city"] = "Bergen"
        return await super().run(tool_input)


class FailsInSilence(Handmade):
    async def run(self, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=len(str(tool_input["city"])) < 100)


class OnlyOne(Handmade):
    busy = False

    async def run(self, tool_input: JsonObject) -> ToolResult:
        if self.busy:
            return ToolResult(success=False, error="busy")
        self.busy = True
        await anyio.sleep(0.05)
        self.busy = False
        return await super().run(tool_input)


class Spaced(Handmade):
    definition = AgentTool(name="the weather", description="Tells the weather.", parameters=CITY)


tool("test_a_model_is_told_what_it_does", "Spaced", Spaced)
tool(
    "test_its_schema_is_one_and_describes_its_arguments",
    "Undescribed",
    lambda: ToolDefinition("weather", "Tells the weather.", {"type": "object", "properties": {}}, answer),
)
tool("test_it_succeeds_on_a_good_input", "SucceedsWithAnError", SucceedsWithAnError)
tool("test_it_returns_a_tool_result", "ReturnsText", ReturnsText)
tool("test_it_returns_a_tool_result", "NotAsync", NotAsync)
tool("test_it_lets_other_agents_run", "BlocksTheLoop", BlocksTheLoop)
tool("test_an_input_is_left_as_it_was", "ChangesItsInput", ChangesItsInput)
tool("test_a_bad_input_is_a_result", "FailsInSilence", FailsInSilence)
tool("test_calls_at_once_do_not_disturb_each_other", "OnlyOne", OnlyOne)

# ------------------------------------------------------------------ exits


def criterion(law: str, wrong: type[Exit]) -> None:
    """Plant a stop criterion."""
    plant(ExitSuite, law, wrong, criterion=fixture(wrong))


@dataclass(frozen=True, slots=True)
class Borrowed(Exit):
    """Has the kind of another criterion."""

    kind: ClassVar[str] = "max_rounds"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=False)


@dataclass(frozen=True, slots=True)
class Amnesiac(Exit):
    """Forgets its limit when it is stored."""

    kind: ClassVar[str] = "amnesiac"
    limit: int = 3

    @classmethod
    def from_spec(cls, spec: Any, registry: Any = None) -> Amnesiac:
        return cls(limit=1)

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=len(rounds) >= self.limit, reason="limit")


@dataclass(frozen=True, slots=True)
class Lenient(Exit):
    """Takes any field."""

    kind: ClassVar[str] = "lenient"

    @classmethod
    def from_spec(cls, spec: Any, registry: Any = None) -> Lenient:
        return cls()

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=False)


class Soft(Exit):
    """Equal to itself alone."""

    kind: ClassVar[str] = "soft"
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=False)


@dataclass(frozen=True, slots=True)
class Reasonless(Exit):
    kind: ClassVar[str] = "reasonless"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=bool(rounds))


@dataclass(frozen=True, slots=True)
class ByTheFirst(Exit):
    """Ends when the first agent says yes."""

    kind: ClassVar[str] = "by-the-first"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        responses = rounds[-1].responses if rounds else ()
        return ExitResult(should_exit=bool(responses) and responses[0].position == "yes", reason="yes")


@dataclass(frozen=True, slots=True)
class ByTheLast(Exit):
    """Ends when the agent that answered last says yes."""

    kind: ClassVar[str] = "by-the-last"

    def check(self, rounds: Sequence[Any]) -> ExitResult:
        turns = sorted((turn for record in rounds for turn in record.turns), key=lambda turn: turn.timestamp)
        return ExitResult(should_exit=bool(turns) and turns[-1].answer.position == "yes", reason="yes")


@dataclass(frozen=True, slots=True)
class Fragile(Exit):
    kind: ClassVar[str] = "fragile"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=rounds[-1].responses[0].confidence > 0.5, reason="sure")


class Texting(Reasonless):
    """Returns a text."""

    kind: ClassVar[str] = "texting"

    def check(self, rounds: Sequence[ExitRound]) -> Any:
        return "stop"


criterion("test_it_has_a_kind_of_its_own", Borrowed)
criterion("test_it_comes_back_from_its_json", Amnesiac)
criterion("test_a_field_it_does_not_have_is_refused", Lenient)
criterion("test_it_is_a_value", Soft)
criterion("test_the_same_rounds_give_the_same_result", Counting)
criterion("test_the_same_rounds_give_the_same_result", Texting)
criterion("test_an_end_has_a_reason", Reasonless)
criterion("test_the_order_of_agents_does_not_matter", ByTheFirst)
criterion("test_the_order_of_agents_does_not_matter", ByTheLast)
criterion("test_a_round_in_which_nobody_answered_never_breaks_it", Fragile)

# ------------------------------------------------------------------ rules


def rule(law: str, name: str, count: Callable[[Any, Any], Outcome]) -> None:
    """Plant a decision rule."""
    plant(RuleSuite, law, name, rule=fixture(lambda: Rule("planted", count)))


def endless(ballots: Any, parameters: Any) -> Outcome:
    found = fair(ballots, parameters)
    return Outcome(found.roll, dict.fromkeys(found.roll.options, float("inf")), found.leaders, "beyond measure")


def nobody(ballots: Any, parameters: Any) -> Outcome:
    return Outcome(fair(ballots, parameters).roll, {}, (), "never")


def breaks(ballots: Any, parameters: Any) -> Outcome:
    raise LookupError("no votes")


TIMES = itertools.count()
write_in = led_by(lambda ballots, found: ("write-in",) if found.leaders else ())
default = led_by(lambda ballots, found: found.leaders or found.roll.options[:1])
by_turns = led_by(lambda ballots, found: found.leaders if next(TIMES) % 2 else ())

rule("test_it_can_be_registered_and_asked_for", "Breaks", breaks)
rule("test_no_ballot_breaks_it", "Endless", endless)
rule("test_the_order_of_ballots_does_not_matter", "FirstVoter", first_voter)
rule("test_the_same_ballots_give_the_same_decision", "ByTurns", by_turns)
rule("test_winners_are_options", "WriteIn", write_in)
rule("test_without_a_ballot_nobody_wins", "Default", default)
rule("test_what_all_choose_wins", "Nobody", nobody)
rule("test_names_of_options_do_not_matter", "FirstLetter", first_letter)
rule("test_the_order_of_options_does_not_matter", "FirstListed", first_listed)

# ------------------------------------------------------------------ observers


class ImpatientObserverSuite(ObserverSuite):
    """Little patience."""

    limit_s = 0.5


def observer(law: str, wrong: type[Any], make: Callable[[], object] | None = None) -> None:
    """Plant an observer."""
    plant(ImpatientObserverSuite, law, wrong, make_observer=fixture(lambda: make or wrong))


class AsyncObserver(RecordingObserver):
    async def notify(self, event: Event) -> None:  # type: ignore[override]
        self.events.append(event)


class KnowsSome(RecordingObserver):
    def notify(self, event: Event) -> None:
        if event.type == "agent_error":
            raise LookupError(event.type)


class SlowObserver(RecordingObserver):
    def notify(self, event: Event) -> None:
        time.sleep(0.2)


class ReturnsSomething(RecordingObserver):
    def notify(self, event: Event) -> Any:
        return event


class ChangesEvents(RecordingObserver):
    def notify(self, event: Event) -> None:
        vars(event)["session_id"] = "hidden"


class OneDebate(RecordingObserver):
    def notify(self, event: Event) -> None:
        if self.events and self.events[0].session_id != event.session_id:
            raise LookupError("another debate")
        super().notify(event)


class ClosesOnceObserver(RecordingObserver):
    closed = False

    def close(self) -> None:
        if self.closed:
            raise RuntimeError("closed")
        self.closed = True


class RewritesAnswers(RecordingObserver):
    def notify(self, event: Event) -> None:
        if event.type == "agent_complete":
            vars(event.turn.result.answer)["position"] = "Milk"


SHARED = RecordingObserver()
observer("test_it_has_the_parts_of_an_observer", AsyncObserver)
observer("test_it_takes_every_event", KnowsSome)
observer("test_it_takes_every_event", SlowObserver)
observer("test_it_takes_every_event", ReturnsSomething)
observer("test_events_are_left_as_they_were", ChangesEvents)
observer("test_it_takes_events_of_debates_at_once", OneDebate)
observer("test_two_do_not_disturb_each_other", RecordingObserver, lambda: SHARED)
observer("test_it_closes_twice", ClosesOnceObserver)
observer("test_a_debate_goes_on_beside_it", RewritesAnswers)
