"""When calls to a provider stop: by the share of failed calls, at once in a certain outage, and for a refused key."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import anyio
import pytest

from roundtable.agents.health import check_health
from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    CircuitOpen,
    ConfigurationError,
    QuorumLost,
    RoundtableError,
)
from roundtable.gateway import CircuitBreaker, Gateway, RetryRule
from roundtable.providers import Delay, ScriptedModel, chat_model
from roundtable.testing.doubles import ManualClock
from roundtable.testing.servers import LoopbackServer, http_reply
from roundtable.types import Breaker, ChatRequest, ErrorInfo, Message, RetryPolicy

pytestmark = pytest.mark.both_loops

CERTIFICATE = Path(__file__).parents[1] / "integration/loopback.pem"
ASK = ChatRequest(model="", messages=(Message(role="user", content="Tea?"),))
GONE = APINetworkError("gone", details={"status": 503})
NO_RETRIES = RetryRule(max_retries=0, answer_retries=0)
QUICK = RetryPolicy(max_attempts=4, base_delay_ms=1)


@pytest.fixture
def clock():
    return ManualClock()


async def failure(model):
    with pytest.raises(RoundtableError) as caught:
        await model.complete(ASK)
    return caught.value


async def outcomes(model, number):
    """What each of some calls ended with: a text, or the class of its error."""
    ended = []
    for _ in range(number):
        try:
            ended.append((await model.complete(ASK)).text)
        except RoundtableError as error:
            ended.append(type(error))
    return ended


async def test_a_share_of_failed_calls_opens_the_breaker(clock):
    model = Gateway(clock=clock, retry=NO_RETRIES).guard(ScriptedModel(["yes"] * 10 + [GONE] * 10))
    assert await outcomes(model, 19) == ["yes"] * 10 + [APINetworkError] * 9
    assert model.endpoint_state.breaker.state == "closed"
    assert await outcomes(model, 2) == [APINetworkError, CircuitOpen]
    error = await failure(model)
    assert (error.code, error.retryable, error.provider) == ("API_NETWORK_ERROR", False, "scripted")
    assert str(error) == (
        "Circuit breaker open for scripted:scripted: 10 of 20 calls within 60 s failed, the last: status 503; a call "
        f"is let through in 60 s, at {clock.now():%H}:01:00 UTC"
    )
    assert "another provider" in error.hint
    assert error.retry_after_s == 60


async def test_few_calls_leave_the_breaker_closed_though_all_fail(clock):
    model = Gateway(clock=clock, retry=NO_RETRIES).guard(ScriptedModel([GONE] * 20))
    assert await outcomes(model, 20) == [APINetworkError] * 20
    assert model.endpoint_state.breaker.state == "open"


async def test_calls_that_succeed_at_a_retry_count_as_successes(clock):
    """Every second try fails, and nobody notices."""
    model = Gateway(clock=clock).guard(ScriptedModel([GONE, "yes"] * 60))
    assert await outcomes(model, 60) == ["yes"] * 60
    assert (model.endpoint_state.breaker.state, model.endpoint_state.breaker.failures) == ("closed", 0)


async def test_a_call_with_four_failed_tries_counts_once(clock):
    model = Gateway(clock=clock).guard(ScriptedModel([GONE] * 8))
    assert await outcomes(model, 2) == [APINetworkError] * 2
    assert (model.endpoint_state.breaker.calls, model.endpoint_state.breaker.failures) == (2, 2)


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_calls_that_show_nothing_about_the_provider_do_not_count(clock, streamed):
    errors = [AgentError("refused"), APIRateLimitError(), APIRateLimitError(), ConfigurationError("wrong")]
    model = Gateway(clock=clock, retry=NO_RETRIES).guard(ScriptedModel([*errors, "yes"]))
    for _ in errors:
        with pytest.raises(RoundtableError):
            _ = [piece async for piece in model.stream(ASK)] if streamed else await model.complete(ASK)
    assert model.endpoint_state.breaker.calls == 0
    await model.complete(ASK)
    assert (model.endpoint_state.breaker.calls, model.endpoint_state.breaker.failures) == (1, 0)


async def test_a_breaker_can_be_set_to_open_after_five_failures(clock):
    """As the first implementation had it, but in calls instead of tries."""
    gateway, inner = Gateway(clock=clock), ScriptedModel([GONE] * 25 + ["back", "on"])
    model = gateway.guard(inner, breaker=Breaker(failures=5, window_s=60), retry=RetryPolicy(max_attempts=1))
    assert await outcomes(model, 6) == [APINetworkError] * 5 + [CircuitOpen]
    clock.move(60)
    assert await outcomes(model, 2) == [APINetworkError, CircuitOpen]
    inner = ScriptedModel(["back", "on"])
    clock.move(60)
    assert await outcomes(gateway.guard(inner), 2) == ["back", "on"]
    assert model.endpoint_state.breaker.state == "closed"


async def test_a_retry_that_the_breaker_would_refuse_is_not_waited_for(clock):
    gateway = Gateway(clock=clock)
    model = gateway.guard(ScriptedModel([GONE] * 9), breaker=Breaker(failures=1))
    assert await outcomes(model, 2) == [APINetworkError, CircuitOpen]
    began = clock.monotonic()
    clock.move(60)
    assert await outcomes(model, 1) == [APINetworkError]  # the probe, tried once
    assert clock.monotonic() == began + 60


async def test_without_a_breaker_every_call_is_made(clock):
    refused = APIAuthError(details={"status": 401})
    model = Gateway(clock=clock, retry=NO_RETRIES).guard(ScriptedModel([GONE] * 40 + [refused] * 3), breaker=None)
    assert await outcomes(model, 43) == [APINetworkError] * 40 + [APIAuthError] * 3
    assert repr(model.endpoint_state.breaker) == "CircuitBreaker('scripted:scripted', state='closed', failures=40)"


async def test_other_calls_are_refused_while_one_call_probes_the_provider(clock):
    gateway = Gateway(clock=clock, retry=NO_RETRIES)
    gateway.guard(ScriptedModel([])).endpoint_state.breaker.trip("its host is unknown")
    clock.move(60)
    probe = gateway.guard(ScriptedModel([Delay(0.05, "back")] * 3))
    ended = []

    async def call():
        try:
            ended.append((await probe.complete(ASK)).text)
        except CircuitOpen as error:
            ended.append(str(error).rpartition("; ")[2])

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(call)
    assert sorted(ended) == ["back", "one call is trying it now", "one call is trying it now"]


@pytest.mark.parametrize("end", [AgentError("refused"), APIAuthError(), None], ids=["refusal", "key", "cancelled"])
async def test_an_inconclusive_probe_lets_the_next_call_try(clock, end):
    gateway = Gateway(clock=clock, retry=NO_RETRIES)
    state = gateway.guard(ScriptedModel([])).endpoint_state
    state.breaker.trip("its host is unknown")
    clock.move(60)
    if end is None:
        with anyio.move_on_after(0.01):
            await gateway.guard(ScriptedModel([Delay(60, "x")])).complete(ASK)
    else:
        await failure(gateway.guard(ScriptedModel([end])))
    assert state.breaker.state == "half_open"
    state.key_breaker.reset()
    assert (await gateway.guard(ScriptedModel(["back"])).complete(ASK)).text == "back"
    assert state.breaker.state == "closed"


class Keyed(ScriptedModel):
    """A model of an address, with a key."""

    endpoint = "https://api.acme.test"

    def __init__(self, replies, account="one"):
        super().__init__(replies)
        self.account = account


@pytest.mark.parametrize("status", [401, 402])
async def test_a_refused_key_stops_only_calls_with_this_key(clock, status):
    refused = APIAuthError("acme: Ann's question", details={"status": status}, hint="Check the key.")
    gateway = Gateway(clock=clock)
    inner = Keyed([refused, "yes"])
    model, other = gateway.guard(inner), gateway.guard(Keyed(["mine"] * 3, "two"))
    assert await outcomes(model, 1) == [APIAuthError]
    blocked = await failure(model)
    assert (type(blocked), blocked.code, blocked.retry_after_s) == (APIAuthError, "API_AUTH_FAILED", 900)
    assert str(blocked) == (
        f"scripted:scripted at https://api.acme.test refused this key (status {status}), so it is not called; a call "
        f"is let through in 900 s, at {clock.now():%H}:15:00 UTC"
    )
    assert blocked.hint.startswith("Check the key. ")
    assert "Ann" not in f"{blocked.to_dict()}"
    assert len(inner.requests) == 1
    assert await outcomes(other, 3) == ["mine"] * 3
    assert other.endpoint_state.breaker is model.endpoint_state.breaker
    clock.move(900)
    assert await outcomes(model, 1) == ["yes"]
    assert model.endpoint_state.trouble is None


@pytest.mark.parametrize(("status", "message"), [(403, "not allowed"), (402, "fewer max_tokens")])
async def test_a_refusal_that_may_concern_one_request_stops_the_key_when_it_is_repeated(clock, status, message):
    refused = APIAuthError(message, details={"status": status})
    model = Gateway(clock=clock).guard(inner := Keyed([refused, "yes", refused, refused, "no"]))
    assert await outcomes(model, 4) == [APIAuthError, "yes", APIAuthError, APIAuthError]
    assert model.endpoint_state.trouble is not None
    assert await outcomes(model, 1) == [APIAuthError]
    assert len(inner.requests) == 4


@pytest.mark.parametrize("kind", [APINetworkError, APITimeoutError, APIRateLimitError, APIAuthError, AgentError])
def test_an_open_breaker_quotes_no_message_that_may_contain_text_of_another_caller(clock, kind):
    breaker = CircuitBreaker("acme", clock=clock)
    for _ in range(5):
        breaker.record_failure(kind("Claude agent error: Ann's secret plan"))
    with pytest.raises(CircuitOpen) as refused:
        breaker.enter()
    assert "Ann" not in str(refused.value)
    assert "the last: " in str(refused.value)


async def test_a_key_that_is_still_refused_waits_for_as_long_again(clock):
    refused = APIAuthError(details={"status": 401})
    model = Gateway(clock=clock).guard(inner := Keyed([refused] * 9))
    for _ in range(3):
        assert await outcomes(model, 3) == [APIAuthError] * 3
        clock.move(900)
    assert len(inner.requests) == 3


async def test_a_successful_call_with_a_refused_key_makes_the_key_valid_again(clock):
    """A provider may refuse one of several calls by mistake."""
    gateway = Gateway(clock=clock)
    began, refused = anyio.Event(), anyio.Event()

    class Late(Keyed):
        async def complete(self, request):
            began.set()
            await refused.wait()
            return await super().complete(request)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(gateway.guard(Late(["yes"])).complete, ASK)
        await began.wait()
        model = gateway.guard(Keyed([APIAuthError()]))
        assert await outcomes(model, 1) == [APIAuthError]
        assert model.endpoint_state.key_breaker.state == "open"
        refused.set()
    assert await outcomes(gateway.guard(Keyed(["on"])), 1) == ["on"]


async def test_a_health_check_tries_a_refused_key_again(clock):
    model = Gateway(clock=clock).guard(Keyed([APIAuthError(), APIAuthError(), "OK", "yes"]))
    assert await outcomes(model, 2) == [APIAuthError, APIAuthError]
    assert [(await check_health(model, "scripted", "ada")).healthy for _ in range(2)] == [False, True]
    assert await outcomes(model, 1) == ["yes"]


async def test_a_reset_lets_the_next_call_through(clock):
    gateway = Gateway(clock=clock, retry=NO_RETRIES)
    model = gateway.guard(Keyed([APIAuthError(), "yes"]))
    assert await outcomes(model, 2) == [APIAuthError, APIAuthError]
    model.endpoint_state.breaker.trip("its host is unknown")
    assert "its host is unknown" in repr(model.endpoint_state.trouble) or model.endpoint_state.refusal
    gateway.reset_breakers()
    assert await outcomes(model, 1) == ["yes"]


def closed_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def compatible(base_url, **options):
    return chat_model("compatible:m", base_url=base_url, **options)


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_a_refused_connection_opens_the_breaker_after_two_tries(streamed):
    url = f"http://127.0.0.1:{closed_port()}/v1"
    states = []

    async def before_try():
        states.append(model.endpoint_state.breaker.state)
        await anyio.lowlevel.checkpoint()

    model = Gateway(retry=RetryRule.of(QUICK)).guard(compatible(url))
    asking = model.asking(before_try)
    with pytest.raises(APINetworkError) as caught:
        _ = [piece async for piece in asking.stream(ASK)] if streamed else await asking.complete(ASK)
    # The call itself goes on with its retries, since a server may only be restarting.
    assert states == ["closed", "closed", "open", "open"]
    assert (caught.value.details["attempts"], caught.value.is_outage) == (4, True)
    error = await failure(model)
    assert (type(error), error.is_outage) == (CircuitOpen, True)
    assert f"Circuit breaker open for compatible:m at {url}: it refused two connections" in str(error)
    await model.aclose()


async def test_one_refused_connection_is_tried_again(clock):
    refused = APINetworkError("could not connect", details={"connected": False, "reason": "refused"})
    model = Gateway(clock=clock).guard(ScriptedModel([refused, "yes", refused, GONE, refused, "yes"]))
    assert await outcomes(model, 2) == ["yes", "yes"]
    assert model.endpoint_state.breaker.state == "closed"


async def test_a_retry_that_succeeds_closes_the_breaker_that_its_call_opened(clock):
    down = APINetworkError("could not connect", details={"connected": False, "reason": "unknown_host"})
    model = Gateway(clock=clock).guard(ScriptedModel([down, down, "yes", "on"]))
    assert await outcomes(model, 2) == ["yes", "on"]
    assert (model.endpoint_state.breaker.state, model.endpoint_state.breaker.calls) == ("closed", 2)


async def test_an_unknown_host_opens_the_breaker_at_once(monkeypatch):
    def lookup(code):
        def getaddrinfo(*_args, **_options):
            raise socket.gaierror(code, "no such host")

        return getaddrinfo

    for code, reason in ((socket.EAI_NONAME, "its host is unknown"), (socket.EAI_AGAIN, "its host was not found")):
        monkeypatch.setattr(socket, "getaddrinfo", lookup(code))
        model = Gateway(retry=RetryRule.of(QUICK)).guard(compatible("https://no-such-host.test/v1"))
        assert (await failure(model)).is_outage
        refused = await failure(model)
        assert (type(refused), reason in str(refused)) == (CircuitOpen, True)
        await model.aclose()


async def test_a_certificate_that_is_refused_opens_the_breaker_at_once(tls):
    with LoopbackServer(tls=tls) as server:
        model = Gateway(retry=RetryRule.of(QUICK)).guard(compatible(server.url))
        error = await failure(model)
        assert ("certificate" in str(error), error.is_outage, error.retryable) == (True, True, False)
        assert type(await failure(model)) is CircuitOpen
        await model.aclose()


@pytest.fixture
def tls():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


@pytest.mark.parametrize(
    ("error", "out"),
    [
        (APINetworkError(), True),
        (APINetworkError(retryable=False), False),
        (CircuitOpen(details={"reason": "circuit_open"}), True),
        (APITimeoutError(), True),
        (APIRateLimitError(retryable=False), True),
        (APIAuthError(), False),
        (AgentError(retryable=True), False),
        (QuorumLost(causes=[APITimeoutError(), APINetworkError()]), True),
        (QuorumLost(causes=[APITimeoutError(), AgentError()]), False),
        (QuorumLost(), False),
    ],
)
def test_an_error_says_whether_the_provider_is_out(error, out):
    assert error.is_outage is out
    if not isinstance(error, QuorumLost):
        assert ErrorInfo.model_validate(error.to_dict()).is_outage is out


@pytest.mark.slow
async def test_a_batch_is_not_stopped_by_scattered_errors_of_the_server():
    """One request in five fails, and is answered when it is made again."""
    failed = set()

    def answer(seen):
        question = seen.json["messages"][-1]["content"]
        if int(question) % 4 == 0 and question not in failed:
            failed.add(question)
            return http_reply(b"{}", status=500)
        return "yes"

    with LoopbackServer(answer) as server:
        model = Gateway(concurrency=8, retry=RetryRule.of(QUICK)).guard(compatible(server.url))
        texts = []

        async def call(number):
            message = Message(role="user", content=str(number))
            texts.append((await model.complete(ASK.model_copy(update={"messages": (message,)}))).text)

        async with anyio.create_task_group() as tasks:
            for number in range(100):
                tasks.start_soon(call, number)
        await model.aclose()
    assert (texts, len(failed)) == (["yes"] * 100, 25)


@pytest.mark.parametrize(
    "wrong",
    [
        {"failures": 0},
        {"failures": 1.5},
        {"failures": True},
        {"min_calls": 0},
        {"min_calls": 1001},
        {"share": 0},
        {"share": 1.1},
        {"window_s": 0},
        {"window_s": float("inf")},
        {"recovery_s": "60"},
    ],
)
def test_a_rule_with_a_number_out_of_its_range_is_refused(wrong):
    (name,) = wrong
    with pytest.raises(ConfigurationError, match=rf"Breaker\.{name} must be"):
        Breaker(**wrong)


def test_a_share_is_exact(clock):
    breaker = CircuitBreaker(clock=clock, share=0.7, min_calls=10)
    for _ in range(3):
        breaker.record_success()
    for _ in range(7):
        assert breaker.state == "closed"
        breaker.record_failure()
    assert breaker.state == "open"


def test_a_breaker_shows_its_state():
    assert repr(CircuitBreaker("acme:m")) == "CircuitBreaker('acme:m', state='closed', failures=0)"


def test_a_breaker_that_another_thread_closed_lets_a_call_in():
    assert CircuitBreaker()._enter_as_probe() is False


def test_calls_that_end_after_the_breaker_opened_change_nothing(clock):
    breaker = CircuitBreaker(clock=clock)
    for _ in range(5):
        breaker.record_failure()
    clock.move(30)
    breaker.record_failure()
    breaker.record_success()
    assert (breaker.state, breaker.wait_s) == ("open", 30)


def test_an_open_breaker_names_the_last_failure_and_its_remedy(clock):
    breaker = CircuitBreaker("acme", clock=clock)
    for _ in range(4):
        breaker.record_failure(APINetworkError("the answer is not JSON"))
    breaker.record_failure(APINetworkError("could not connect", hint="Start the server.", details={"connected": False}))
    with pytest.raises(CircuitOpen) as refused:
        breaker.enter()
    assert "5 failures within 60 s, the last: could not connect; a call is let through in 60 s" in str(refused.value)
    assert refused.value.hint == f"Start the server. {CircuitOpen.default_hint}"

    clock.move(60)
    breaker.record_failure(APITimeoutError("no answer in 9 s"), probe=breaker.enter())
    with pytest.raises(CircuitOpen, match="the last: no answer in time"):
        breaker.enter()


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        pytest.param(APINetworkError("acme: Ann's question", details={"status": 503}), "status 503", id="server"),
        pytest.param(
            AgentError("Codex exited 1: Ann's question", retryable=True, details={"exit_code": 1}),
            "exit code 1",
            id="program",
        ),
        pytest.param(AgentError("Ann's question", retryable=True), "an answer that cannot be used", id="answer"),
    ],
)
def test_an_open_breaker_shows_no_text_that_may_come_from_another_tenant(clock, error, shown):
    breaker = CircuitBreaker("acme", clock=clock)
    for _ in range(5):
        breaker.record_failure(error)
    with pytest.raises(CircuitOpen, match=f"the last: {shown};") as refused:
        breaker.enter()
    assert "Ann" not in f"{refused.value.to_dict()}"


def test_no_breaker_asks_for_a_longer_wait_than_its_own(clock):
    clock.move(4.281)  # 4.281 + 60 - 4.281 is more than 60
    breaker = CircuitBreaker(clock=clock)
    for _ in range(5):
        breaker.record_failure()
    with pytest.raises(CircuitOpen) as refused:
        breaker.enter()
    assert refused.value.retry_after_s == breaker.wait_s == 60


def test_a_refused_call_names_the_cause_of_a_certain_outage_and_no_older_one():
    breaker = CircuitBreaker("acme", clock=ManualClock(), recovery_s=60)
    breaker.trip("its certificate is refused", APINetworkError(details={"reason": "certificate"}))
    with pytest.raises(CircuitOpen) as caught:
        breaker.enter()
    assert caught.value.details == {"reason": "circuit_open", "cause": "certificate"}
    breaker.skip(60)
    breaker.record_failure(APITimeoutError(), probe=breaker.enter())
    with pytest.raises(CircuitOpen) as caught:
        breaker.enter()
    assert caught.value.details == {"reason": "circuit_open"}
