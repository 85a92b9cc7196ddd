"""A plugin with a fault fails the law of its suite that the fault breaks, and keeps that law without the fault."""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import anyio.lowlevel
import pytest
from jsonschema import ValidationError

from roundtable.analysis import ConsensusAnalyzer
from roundtable.core.base.registry import Entry
from roundtable.errors import PluginError, SessionNotFound
from roundtable.exits import Exit
from roundtable.modes import BaseModeStrategy
from roundtable.plugins.errors import make
from roundtable.protocols import ExitRound, KeyValue
from roundtable.providers import ChatServer, HttpProvider, OpenAIChat, ProviderSpec
from roundtable.scoring import Outcome, Rule, decide, first_places, rule_registry
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.testing.analyzer_suite import AnalyzerSuite
from roundtable.testing.doubles import ManualClock
from roundtable.testing.exit_suite import ExitSuite
from roundtable.testing.key_value_suite import KeyValueSuite
from roundtable.testing.mode_suite import ModeSuite, _waiting_error
from roundtable.testing.provider_suite import KEY, Capability, ProviderSuite
from roundtable.testing.rule_suite import RuleSuite
from roundtable.testing.servers import LoopbackServer, Seen, http_reply
from roundtable.testing.storage_suite import StorageSuite
from roundtable.testing.suite import refuse_waiting
from roundtable.testing.tool_suite import ToolSuite
from roundtable.tools import ToolDefinition
from roundtable.types import (
    AgentResponse,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    ConsensusResult,
    DebateContext,
    EndRound,
    ExitResult,
    JsonValue,
    Message,
    ModelProfile,
    Plan,
    ProviderConfig,
    Stage,
    TurnSpec,
    Usage,
)

pytestmark = pytest.mark.slow

# ------------------------------------------------------------------ providers

ACME = ProviderSpec(
    name="acme",
    dialect=OpenAIChat("acme", server=ChatServer(name="acme", done_required=True)),
    base_url="https://api.acme.example/v1",
    key_env=("ACME_API_KEY",),
    default_model="acme-1",
    profile=ModelProfile(streams=True),
)


class Acme:
    """A model that does everything well; each planted fault overrides one thing."""

    spec: ClassVar[ProviderSpec] = ACME

    def __init__(self, url: str) -> None:
        self.inner = HttpProvider(self.spec)("acme-1", ProviderConfig(base_url=url, api_key=KEY), Settings())
        self.provider, self.model, self.profile = "acme", "acme-1", self.inner.profile

    async def complete(self, request: ChatRequest) -> ChatResponse:
        return await self.inner.complete(request)

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        return self.inner.stream(request)

    async def aclose(self) -> None:
        await self.inner.aclose()


class DropsUsage(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        return (await super().complete(request)).model_copy(update={"usage": Usage(calls=1)})


class StreamsNoUsage(Acme):
    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        async for one in super().stream(request):
            yield one.model_copy(update={"usage": Usage(calls=1)}) if isinstance(one, ChatResponse) else one


class ShowsItsKey(Acme):
    def __repr__(self) -> str:
        return f"Acme(key={KEY!r})"


class LogsItsKey(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        logging.getLogger("acme").debug("calling with %s", KEY)
        return await super().complete(request)


class RaisesItsKey(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        try:
            return await super().complete(request)
        except Exception as error:
            raise error from ValueError(f"Authorization: Bearer {KEY}")


class AnswersShort(Acme):
    """Takes a stream that broke off for a short answer."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        said = ""
        try:
            async for one in super().stream(request):
                said += one.text if isinstance(one, ChatDelta) else ""
                yield one
        except Exception:  # noqa: BLE001  (the fault itself)
            yield ChatResponse(text=said)


class DropsTheSystemPrompt(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        kept = tuple(message for message in request.messages if message.role != "system")
        return await super().complete(request.model_copy(update={"messages": kept}))


class DropsTheLimit(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        return await super().complete(request.model_copy(update={"max_tokens": 4096}))


class DropsCalls(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        return (await super().complete(request)).model_copy(update={"tool_calls": ()})


class ForgetsWhenToTryAgain(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        try:
            return await super().complete(request)
        except Exception as error:
            vars(error)["retry_after_s"] = None
            raise


class FollowsRedirects(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        import httpx

        async with httpx.AsyncClient(follow_redirects=True, headers={"authorization": f"Bearer {KEY}"}) as client:
            await client.post(f"{self.inner.endpoint}/chat/completions", json={})
        return await super().complete(request)


class KeepsItsConnection(Acme):
    """Reads a stream to its end, whoever has stopped listening."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.open: list[object] = []

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        stream = self.inner.stream(request)
        self.open.append(stream)

        class Deaf:
            def __aiter__(self) -> AsyncIterator[ChatDelta | ChatResponse]:
                return aiter(stream)

            async def aclose(self) -> None:
                """Do nothing."""

        return Deaf()  # type: ignore[return-value]


class LocksForEver(Acme):
    """Lets nobody in behind a call that was cancelled."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.lock = anyio.Semaphore(1)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        await self.lock.acquire()
        response = await super().complete(request)
        self.lock.release()
        return response


class Http(ProviderSuite):
    capabilities = frozenset({Capability.HTTP, Capability.STREAMING, Capability.TOOLS})


class Hurried(Http):
    limit_s = 0.5


SHAPES: dict[str, tuple[Callable[[str, str], object], bool]] = {
    "a field": (lambda role, text: {"from": role, "text": text}, True),
    "an object": (lambda role, text: {"author": {"kind": role}, "body": {"text": text}}, True),
    "a pair": (lambda role, text: [role, text], True),
    "the name": (lambda role, text: {role: {"text": text}}, True),
    "a flag": (
        lambda role, text: {"system": text} if role == "system" else {"bot": role == "assistant", "t": text},
        True,
    ),
    "nowhere": (lambda role, text: {"text": text}, False),
    "one for all": (lambda role, text: {"from": "user", "text": text}, False),
    "the system as a user": (lambda role, text: {"from": role.replace("system", "user"), "text": text}, False),
}
"""Where a wire format has the role of a message, and whether a law may pass it."""


@pytest.mark.parametrize("shape", SHAPES)
async def test_roles_are_found_wherever_a_wire_format_has_them(shape: str) -> None:
    say, is_sound = SHAPES[shape]

    class Shaped(Http):
        def body_of(self, seen: Seen) -> JsonValue:
            messages = [say(message["role"], message["content"]) for message in seen.json["messages"]]  # type: ignore[index, call-overload, union-attr]
            return {**seen.json, "messages": messages}  # type: ignore[dict-item]

    with LoopbackServer(lambda seen: Http.answer) as server:
        model = Acme(server.url)
        try:
            law = Shaped().test_messages_are_sent_in_order_with_their_roles(model, server, "complete")
            with contextlib.nullcontext() if is_sound else pytest.raises(AssertionError, match=r"field|system message"):
                await law
        finally:
            await model.aclose()


PROVIDERS: dict[type[Acme], tuple[str, dict[str, Any]]] = {
    DropsUsage: ("test_it_answers", {}),
    StreamsNoUsage: ("test_a_stream_ends_with_the_whole_answer", {}),
    ShowsItsKey: ("test_a_key_shows_nowhere", {}),
    LogsItsKey: ("test_a_key_shows_nowhere", {}),
    RaisesItsKey: ("test_a_key_shows_nowhere", {}),
    AnswersShort: ("test_a_stream_that_breaks_off_is_an_error", {}),
    DropsTheSystemPrompt: ("test_messages_are_sent_in_order_with_their_roles", {"way": "complete"}),
    DropsTheLimit: ("test_the_token_limit_is_sent", {"way": "complete"}),
    DropsCalls: ("test_tools_are_described_to_it", {}),
    ForgetsWhenToTryAgain: ("test_a_refusal_is_an_error_of_ours", {"status": 429, "kind": None}),
    FollowsRedirects: ("test_a_redirect_is_not_followed", {}),
    LocksForEver: ("test_a_call_that_is_cancelled_holds_up_no_other", {}),
    KeepsItsConnection: ("test_a_stream_that_is_left_lets_its_connection_go", {}),
}


@pytest.mark.parametrize("kind", PROVIDERS, ids=lambda kind: kind.__name__)
async def test_a_provider_with_a_fault_is_caught(
    kind: type[Acme], caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    name, more = PROVIDERS[kind]
    if "key" in name:
        more = {**more, "caplog": caplog}

    async def hold(suite: Http, made: type[Acme]) -> None:
        with LoopbackServer(lambda seen: Http.stream_answer if seen.wants_stream else Http.answer) as server:
            model = made(server.url)
            taken = {"server": server} if not name.endswith(("it_answers", "whole_answer", "no_other")) else {}
            try:
                await getattr(suite, name)(model=model, **taken, **more)
            finally:
                await model.aclose()

    await hold(Http(), Acme)
    caplog.clear()
    with pytest.raises((AssertionError, TimeoutError, pytest.fail.Exception)):
        await hold(Hurried(), kind)


# ------------------------------------------------------------------ modes


class Sound(BaseModeStrategy):
    name = "sound"

    def next_stage(self, view: DebateContext) -> Plan:
        if self.turns_of_round(view):
            return EndRound()
        return Stage(name="speech", turns=(TurnSpec(slot=0, agent=view.agents[0].id, task=self.task()),))

    def task(self) -> str:
        return "Speak."


class Slow(Sound):
    def task(self) -> str:
        time.sleep(0.15)
        return "Speak."


class Ticking(Sound):
    def task(self) -> str:
        return f"Speak before {time.monotonic_ns()}."


@pytest.mark.parametrize("kind", [Slow, Ticking])
def test_a_mode_that_is_not_pure_is_caught(kind: type[Sound]) -> None:
    class Small(ModeSuite):
        most_agents = 1
        most_rounds = 1

    law = ModeSuite.test_the_same_transcript_gives_the_same_plan.hypothesis.inner_test  # type: ignore[attr-defined]
    view = DebateContext(session_id="s", topic="Tea?", mode="sound", agents=({"id": "ada", "name": "Ada"},))  # type: ignore[arg-type]

    @dataclass
    class SimulatedDebate:
        steps: list[tuple[DebateContext, Plan]]

    def hold(mode: Sound) -> None:
        suite = Small()
        suite._draw_debate = lambda data, mode: SimulatedDebate([(view, mode.next_stage(view))])  # type: ignore[assignment, method-assign]
        law(suite, mode=mode, data=None)

    hold(Sound())
    with pytest.raises(AssertionError):
        hold(kind())


class Broken(Sound):
    def task(self) -> str:
        raise LookupError("no task")


@pytest.mark.parametrize(("kind", "waits"), [(Sound, False), (Slow, True), (Ticking, False), (Broken, False)])
def test_a_mode_that_waits_is_refused_before_any_debate_is_drawn(kind: type[Sound], waits: bool) -> None:
    found = _waiting_error(kind())
    assert (found or "").startswith("it waited for") is waits


# ------------------------------------------------------------------ rules


def fair(ballots: Any, parameters: Any) -> Outcome:
    return rule_registry().get("plurality").count(ballots, parameters)


def led_by(choose: Callable[[Any, Outcome], tuple[str, ...]]) -> Callable[[Any, Any], Outcome]:
    def count(ballots: Any, parameters: Any) -> Outcome:
        found = fair(ballots, parameters)
        return Outcome(found.roll, found.scores, choose(ballots, found), "by a fault")

    return count


first_voter = led_by(lambda ballots, found: ballots.read(first_places).votes[0].form if found.leaders else ())
first_listed = led_by(lambda ballots, found: found.leaders[:1])
first_letter = led_by(lambda ballots, found: tuple(sorted(found.leaders)[:1]))
COUNTED = itertools.count()
by_turns = led_by(lambda ballots, found: found.leaders if next(COUNTED) % 2 else ())


def sleepy(ballots: Any, parameters: Any) -> Outcome:
    time.sleep(0.15)
    return fair(ballots, parameters)


TIE = ["tea", "coffee", "milk"]
RULES: list[Any] = [
    pytest.param(first_voter, "test_the_order_of_ballots_does_not_matter", {"ballots": TIE}, id="not anonymous"),
    pytest.param(first_letter, "test_names_of_options_do_not_matter", {"ballots": TIE, "turn": 2}, id="by name"),
    pytest.param(
        first_listed,
        "test_the_order_of_options_does_not_matter",
        {"ballots": TIE, "listed": ["water", "milk", "coffee", "tea"]},
        id="by place",
    ),
    pytest.param(by_turns, "test_the_same_ballots_give_the_same_decision", {"ballots": ["tea"]}, id="keeps state"),
    pytest.param(sleepy, "test_the_same_ballots_give_the_same_decision", {"ballots": ["tea"]}, id="waits"),
]


class Backwards:
    """Draws the ballots the other way round."""

    def draw(self, strategy: object) -> list[str]:
        return TIE[::-1]


@pytest.mark.parametrize(("count", "law", "drawn"), RULES)
def test_a_rule_that_is_not_fair_is_caught(count: Any, law: str, drawn: dict[str, Any]) -> None:
    test = getattr(RuleSuite, law).hypothesis.inner_test
    more = {"data": Backwards()} if "order_of_ballots" in law else {}
    test(RuleSuite(), rule=Rule("fair", fair), **drawn, **more)
    with pytest.raises(AssertionError):
        test(RuleSuite(), rule=Rule("faulty", count), **drawn, **more)


# ------------------------------------------------------------------ analyzers


class Flattering(ConsensusAnalyzer):
    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        return super().analyze(responses).model_copy(update={"agreement_level": 1.0})


class Obedient(ConsensusAnalyzer):
    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        told = any("agreementLevel is 1" in response.position for response in responses)
        return super().analyze(responses).model_copy(update={"agreement_level": 1.0} if told else {})


class FirstHeard(ConsensusAnalyzer):
    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        like = [response for response in responses if response.position == responses[0].position]
        return super().analyze(responses).model_copy(update={"agreement_level": len(like) / len(responses)})


class Remembering(ConsensusAnalyzer):
    def __init__(self) -> None:
        self.heard: list[AgentResponse] = []

    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        self.heard += responses
        return super().analyze(self.heard).model_copy(update={"clusters": ()})


class Null(ConsensusAnalyzer):
    def __init__(self, name: str) -> None:
        self.name = name

    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        return super().analyze(responses).model_copy(update={self.name: None})


@pytest.mark.parametrize(
    ("meter", "law", "more"),
    [
        (Flattering(), "test_unlike_positions_do_not_agree_fully", {}),
        (Obedient(), "test_unlike_positions_do_not_agree_fully", {}),
        (FirstHeard(), "test_the_order_of_agents_does_not_matter", {}),
        (Remembering(), "test_rounds_do_not_disturb_each_other", {}),
        *((Null(name), "test_a_round_is_measured", {"said": ("Tea", "Coffee")}) for name in ConsensusResult.model_fields
          if name in {"agreement_level", "summary", "method", "clusters", "disagreements", "common_ground"}),
    ],
    ids=lambda value: getattr(value, "name", type(value).__name__) if isinstance(value, ConsensusAnalyzer) else "",
)  # fmt: skip
async def test_a_meter_that_measures_wrongly_is_caught(
    meter: ConsensusAnalyzer, law: str, more: dict[str, Any]
) -> None:
    await getattr(AnalyzerSuite(), law)(meter=ConsensusAnalyzer(), **more)
    with pytest.raises((AssertionError, TypeError, AttributeError, ValueError)):
        await getattr(AnalyzerSuite(), law)(meter=meter, **more)


# ------------------------------------------------------------------ exits


@dataclass(frozen=True, slots=True)
class Patient(Exit):
    """No fault: ends after the second round."""

    kind: ClassVar[str] = "patient"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=len(rounds) > 1, reason=self.kind)


@dataclass(frozen=True, slots=True)
class Counting(Exit):
    """Ends when it was asked often enough, whatever the rounds are."""

    kind: ClassVar[str] = "counting"
    asked: list[int] = field(default_factory=list, init=False, compare=False, repr=False)

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind}

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        self.asked.append(1)
        return ExitResult(should_exit=len(self.asked) > 2, reason=self.kind)


@dataclass(frozen=True, slots=True)
class Dozing(Exit):
    kind: ClassVar[str] = "dozing"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        time.sleep(0.15)
        return ExitResult(should_exit=False)


@pytest.mark.parametrize("criterion", [Counting(), Dozing()], ids=lambda one: one.kind)
def test_an_exit_that_is_not_pure_is_caught(criterion: Exit) -> None:
    law = ExitSuite.test_the_same_rounds_give_the_same_result.hypothesis.inner_test  # type: ignore[attr-defined]
    law(ExitSuite(), criterion=Patient(), rounds=())
    with pytest.raises(AssertionError):
        law(ExitSuite(), criterion=criterion, rounds=())


@pytest.mark.slow
def test_rules_and_exits_that_wait_are_refused_before_anything_is_drawn() -> None:
    for call in (partial(decide, ["tea"], rule=Rule("sleepy", sleepy)), partial(Dozing().check, ())):
        with pytest.raises(AssertionError, match="it waited for"):
            refuse_waiting(call)
    refuse_waiting(partial(decide, ["tea"], rule="plurality"))
    refuse_waiting(Broken().task)  # what breaks, the laws name


# ------------------------------------------------------------------ tools

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        pytest.param({**CITY, "properties": {"city": {"type": "text"}}}, "'text'", id="no type of JSON"),
        pytest.param({**CITY, "required": "city"}, "'city' is not of type 'array'", id="no list"),
        pytest.param({**CITY, "properties": {"city": {"type": "integer"}}}, "'Oslo' is not of type", id="another type"),
        pytest.param({**CITY, "required": ["town"]}, "'town' is a required property", id="another name"),
        pytest.param({"type": "object", "properties": {}}, "the schema does not describe", id="untold"),
    ],
)
def test_a_tool_with_a_wrong_schema_is_caught(schema: dict[str, Any], said: str) -> None:
    class Weather(ToolSuite):
        good_input: ClassVar[Any] = {"city": "Oslo"}

    def made(parameters: dict[str, Any]) -> ToolDefinition:
        return ToolDefinition("weather", "Tells the weather.", parameters, lambda given: {"sky": "blue"})

    Weather().test_its_schema_is_one_and_describes_its_arguments(made(CITY))
    with pytest.raises(Exception, match=said) as caught:
        Weather().test_its_schema_is_one_and_describes_its_arguments(made(schema))
    assert isinstance(caught.value, AssertionError | ValidationError) or "SchemaError" in type(caught.value).__name__


# ------------------------------------------------------------------ storages


class Racing(MemoryStorage):
    """Looks at the last number, waits, and stores."""

    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        if expected_seq is not None:
            _, held = await self.read(session_id, tenant=tenant)
            if len(held) == expected_seq:
                expected_seq = None
        await anyio.lowlevel.checkpoint()
        return await super().append(session_id, expected_seq, token, events, tenant=tenant)


class Piecemeal(MemoryStorage):
    """Stores one event after the other."""

    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        last = expected_seq or 0
        for event in events:
            await anyio.lowlevel.checkpoint()
            last = await super().append(session_id, None, token, [event], tenant=tenant)
        return last


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (Racing, "test_of_many_who_expect_the_same_one_appends"),
        (Piecemeal, "test_an_append_that_is_cancelled_is_whole_or_nothing"),
    ],
)
async def test_a_storage_that_is_not_atomic_is_caught(kind: Any, law: str) -> None:
    await getattr(StorageSuite(), law)(MemoryStorage(ManualClock()))
    with pytest.raises((AssertionError, BaseExceptionGroup)):
        await getattr(StorageSuite(), law)(kind(ManualClock()))


async def test_a_storage_whose_events_other_processes_cannot_read_is_caught(tmp_path: Path) -> None:
    clock = ManualClock()
    law = StorageSuite().test_another_process_finds_what_was_appended

    async def sqlite() -> SQLiteStorage:
        return SQLiteStorage(tmp_path / "x.db", clock=clock)

    async def memory() -> MemoryStorage:
        return MemoryStorage(clock)

    sound = await sqlite()
    await law(sound, sqlite)
    await sound.aclose()
    await law(MemoryStorage(clock), None)
    with pytest.raises(SessionNotFound):
        await law(MemoryStorage(clock), memory)


async def test_values_that_another_process_does_not_find_are_caught() -> None:
    async def elsewhere() -> KeyValue:
        return MemoryStorage(ManualClock()).kv

    here = MemoryStorage(ManualClock()).kv
    law = KeyValueSuite().test_another_process_finds_what_was_put
    await law(here, None)
    with pytest.raises(AssertionError):
        await law(here, elsewhere)


class Reporting(SQLiteStorage):
    """No fault: reports appends to the other openings of its file; each planted fault overrides one thing."""

    def __init__(self, path: Path, openings: list[Reporting]) -> None:
        super().__init__(path, clock=ManualClock())
        self.heard: dict[tuple[str, str], list[Callable[[], object]]] = {}
        self.openings = openings
        openings.append(self)

    async def append(
        self, session_id: str, expected_seq: Any, token: Any, events: Any, *, tenant: str = "default"
    ) -> int:
        last = await super().append(session_id, expected_seq, token, events, tenant=tenant)
        for other in self.openings:
            if other is not self:
                await anyio.to_thread.run_sync(other.tell, session_id, tenant)
        return last

    def tell(self, session_id: str, tenant: str) -> None:
        for heard in self.concerned(session_id, tenant):
            with contextlib.suppress(LookupError):
                heard()

    def concerned(self, session_id: str, tenant: str) -> list[Callable[[], object]]:
        return list(self.heard.get((tenant, session_id), ()))

    @contextlib.contextmanager
    def listen(self, session_id: str, heard: Callable[[], object], *, tenant: str = "default") -> Iterator[None]:
        listeners = self.heard.setdefault((tenant, session_id), [])
        listeners.append(heard)
        try:
            yield
        finally:
            self.leave(listeners, heard)

    def leave(self, listeners: list[Callable[[], object]], heard: Callable[[], object]) -> None:
        listeners.remove(heard)


class Forgotten(Reporting):
    """Tells a listener once, as it comes, and never again."""

    @contextlib.contextmanager
    def listen(self, session_id: str, heard: Callable[[], object], *, tenant: str = "default") -> Iterator[None]:
        heard()
        yield


class OneListener(Reporting):
    def concerned(self, session_id: str, tenant: str) -> list[Callable[[], object]]:
        return super().concerned(session_id, tenant)[:1]


class Gossip(Reporting):
    def concerned(self, session_id: str, tenant: str) -> list[Callable[[], object]]:
        return [heard for (owner, _), listeners in self.heard.items() if owner == tenant for heard in listeners]


class NoTenants(Reporting):
    def concerned(self, session_id: str, tenant: str) -> list[Callable[[], object]]:
        return [heard for (_, name), listeners in self.heard.items() if name == session_id for heard in listeners]


class Clinging(Reporting):
    def leave(self, listeners: list[Callable[[], object]], heard: Callable[[], object]) -> None:
        """Keep the listener."""


class EndsWithTheFirst(Reporting):
    def leave(self, listeners: list[Callable[[], object]], heard: Callable[[], object]) -> None:
        listeners.clear()


class Fragile(Reporting):
    def tell(self, session_id: str, tenant: str) -> None:
        with contextlib.suppress(LookupError):
            for heard in self.concerned(session_id, tenant):
                heard()


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (Forgotten, "test_a_listener_hears_what_another_process_appends"),
        (OneListener, "test_a_listener_hears_what_another_process_appends"),
        (Gossip, "test_a_listener_hears_nothing_of_other_sessions_or_tenants"),
        (NoTenants, "test_a_listener_hears_nothing_of_other_sessions_or_tenants"),
        (Clinging, "test_a_listener_that_has_left_hears_no_more"),
        (EndsWithTheFirst, "test_a_listener_that_has_left_hears_no_more"),
        (Fragile, "test_a_listener_that_raises_does_not_silence_others"),
    ],
)
async def test_a_storage_that_reports_wrongly_is_caught(
    kind: type[Reporting], law: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hold(kind: type[Reporting]) -> None:
        path, openings = tmp_path / f"{kind.__name__}.db", list[Reporting]()

        async def reopen() -> Reporting:
            return kind(path, openings)

        storage = await reopen()
        try:
            await getattr(StorageSuite(), law)(storage, reopen)
        finally:
            await storage.aclose()

    await hold(Reporting)
    monkeypatch.setattr("roundtable.testing.storage_notice_laws.WAIT_S", 0.05)
    with pytest.raises(AssertionError):
        await hold(kind)


# ------------------------------------------------------------------ dialects and factories


@pytest.mark.parametrize(
    ("method", "value", "said"),
    [
        ("build_request", {"url": "/chat"}, "build_request of Wrong, .*'acme', returned dict"),
        ("parse_response", "Tea", "parse_response of Wrong, .* returned str"),
        ("parse_error", "no", "parse_error of Wrong, .* returned str"),
    ],
)
async def test_a_dialect_that_returns_another_type_is_named_with_what_was_expected(
    method: str, value: object, said: str
) -> None:
    class Wrong(OpenAIChat):
        pass

    setattr(Wrong, method, lambda self, *arguments, **options: value)
    spec = ProviderSpec(
        name="acme",
        dialect=Wrong("acme"),
        base_url="https://api.acme.example/v1",
        key_env=(),
        default_model="acme-1",
        profile=ModelProfile(),
    )
    status = 500 if method == "parse_error" else 200
    with LoopbackServer(lambda seen: http_reply(b"{}", status=status)) as server:
        model = HttpProvider(spec)("acme-1", ProviderConfig(base_url=server.url, api_key=KEY), Settings())
        with pytest.raises(PluginError, match=said) as caught:
            await model.complete(ChatRequest(messages=(Message(role="user", content="Tea?"),)))
        await model.aclose()
    assert caught.value.plugin == "acme"
    assert (caught.value.hint or "").startswith("Return an object of the type ")


@pytest.mark.parametrize(
    ("kind", "made", "expected"),
    [
        ("provider", "gpt", "a chat model, an object with provider, model, profile, complete, stream and aclose"),
        ("storage", dict[str, str](), "a storage, an object with create, append, read, list, lease, delete"),
        ("analyzer", None, "an analyzer, such as a PlainAnalyzer"),
        ("tool", len, "a tool, such as a function marked with @roundtable.tool"),
        ("observer", print, "an observer, an object with notify"),
    ],
)
def test_a_factory_that_returns_another_type_is_named_with_what_was_expected(
    kind: str, made: object, expected: str
) -> None:
    with pytest.raises(PluginError, match=f"the {kind} 'x' of acme is {type(made).__name__}, which has no") as caught:
        make(kind, Entry("x", lambda: made, "", "acme"))
    assert expected in (caught.value.hint or "")


async def test_an_async_factory_is_refused_without_a_warning() -> None:
    async def factory() -> object:
        return None

    with pytest.raises(PluginError, match="is coroutine, which has no `definition`"):
        make("tool", Entry("x", factory, "", "acme"))
