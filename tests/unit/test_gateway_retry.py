"""What is tried again, how often, after how long, and what is said about it."""

from __future__ import annotations

import logging
import math
from random import Random

import anyio
import pytest

from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    CircuitOpen,
    ConfigurationError,
    ContextTooLong,
    RoundtableError,
    error_kinds,
)
from roundtable.gateway import Gateway, RetryRule, retry_with_backoff
from roundtable.gateway.retry import EVERY_KIND, kind_of
from roundtable.providers import Delay
from roundtable.testing.doubles import ManualClock
from roundtable.types import AgentConfig, ChatDelta, ChatRequest, ChatResponse, ModelProfile, RetryPolicy, Usage

pytestmark = pytest.mark.both_loops

ASK = ChatRequest(model="", messages=())
GONE = APINetworkError("gone")
BUSY = APIRateLimitError("too many requests")


class Script:
    """A model that does what its list says: raises, answers, or gives pieces first."""

    provider = "acme"
    model = "m"
    profile = ModelProfile(streams=True)

    def __init__(self, *acts):
        self.acts = list(acts)
        self.calls = 0

    async def complete(self, request):
        self.calls += 1
        act = self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]
        if isinstance(act, Delay):
            await anyio.sleep(act.seconds)
            act = act.reply
        if isinstance(act, BaseException):
            raise act
        return act if isinstance(act, ChatResponse) else ChatResponse(text=act)

    async def stream(self, request):
        act = self.acts[0]
        if isinstance(act, tuple):
            *pieces, end = self.acts.pop(0)
            self.calls += 1
            for piece in pieces:
                yield ChatDelta(text=piece)
            if isinstance(end, BaseException):
                raise end
            yield ChatResponse(text=end)
            return
        yield await self.complete(request)

    async def aclose(self):
        pass


class Waiting(ManualClock):
    """A manual clock that remembers how long it was waited on."""

    def __init__(self):
        super().__init__()
        self.waits = []

    async def sleep(self, seconds):
        self.waits.append(seconds)
        await super().sleep(seconds)


@pytest.fixture
def clock():
    return Waiting()


@pytest.fixture
def gateway(clock):
    return Gateway(clock=clock, timeout_s=100, seed=7)


async def failure(model, request=ASK):
    with pytest.raises(RoundtableError) as caught:
        await model.complete(request)
    return caught.value


async def pieces_of(model):
    return [piece.text async for piece in model.stream(ASK)]


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_a_temporary_error_is_retried(gateway, clock, streamed):
    inner = Script(GONE, BUSY, APITimeoutError(), "yes")
    model = gateway.guard(inner)
    text = (await pieces_of(model))[-1] if streamed else (await model.complete(ASK)).text
    assert (text, inner.calls) == ("yes", 4)
    for wait, least in zip(clock.waits, (1, 2, 4), strict=True):
        assert least <= wait < least * 1.2


async def test_four_tries_are_made_in_all_and_named(gateway, clock):
    inner = Script(BUSY)
    error = await failure(gateway.guard(inner))
    assert inner.calls == 4
    assert type(error) is APIRateLimitError
    assert str(error) == "too many requests (after 4 attempts)"
    assert error.details == {"attempts": 4}
    # The model's own object stays as it is: it may be raised again.
    assert (str(BUSY), BUSY.details) == ("too many requests", None)


@pytest.mark.parametrize(
    "error",
    [AgentError("no"), APIAuthError(), ContextTooLong(), APINetworkError(retryable=False), ValueError("a bug")],
    ids=repr,
)
async def test_a_permanent_error_is_not_retried(gateway, clock, error):
    inner = Script(error)
    await failure(gateway.guard(inner))
    assert (inner.calls, clock.waits) == (1, [])


async def test_a_useless_answer_is_requested_once_more_and_charged(gateway):
    inner = Script(AgentError("no JSON", retryable=True))
    error = await failure(gateway.guard(inner))
    assert inner.calls == 2
    assert error.usage == Usage(calls=2, unreported_calls=2)
    inner = Script(AgentError("no JSON", retryable=True), ChatResponse(text="x", usage=Usage(input_tokens=5, calls=1)))
    answer = await gateway.guard(inner).complete(ASK)
    assert answer.usage == Usage(input_tokens=5, calls=2, unreported_calls=1)


async def test_the_known_cost_of_a_failed_try_is_kept(gateway):
    spent = APINetworkError("cut")
    spent.usage = Usage(input_tokens=7, calls=1)
    told = ChatResponse(text="x", usage=Usage(output_tokens=2, calls=1))
    answer = await gateway.guard(Script(spent, told)).complete(ASK)
    assert answer.usage == Usage(input_tokens=7, output_tokens=2, calls=2)
    error = await failure(gateway.guard(Script(spent)))
    assert error.usage == Usage(input_tokens=28, calls=4)
    assert (await failure(gateway.guard(Script(AgentError("refused"))))).usage is None


async def test_a_wait_that_the_provider_asks_for_is_respected(gateway, clock):
    await gateway.guard(Script(APIRateLimitError(retry_after_s=20), "x")).complete(ASK)
    assert 20 <= clock.waits[0] < 24


@pytest.mark.parametrize(
    ("asked", "timeout_s", "why"),
    [
        pytest.param(121, 1000, "the requested wait is 121 s; the longest allowed wait is 120 s", id="too long"),
        pytest.param(86400, None, "the requested wait is 86400 s; the longest allowed wait is 120 s", id="a day"),
        pytest.param(50, 40, "the requested wait of 50 s goes past the call's deadline of 40 s", id="too late"),
        pytest.param(39.9666, 40, "the requested wait of 40 s goes past the call's deadline of 40 s", id="by chance"),
        pytest.param(1e12, 40, "the requested wait of 1e+12 s goes past the call's deadline of 40 s", id="both"),
    ],
)
async def test_a_wait_that_is_too_long_ends_the_call_at_once_and_is_named(gateway, clock, asked, timeout_s, why):
    gateway.timeout_s = timeout_s
    inner = Script(cause := APIRateLimitError("slow down", retry_after_s=asked))
    error = await failure(gateway.guard(inner))
    assert (inner.calls, clock.waits, error.retry_after_s) == (1, [], asked)
    assert str(error) == f"slow down ({why})"
    assert "`timeout_s`" in error.hint
    assert str(cause) == "slow down"


async def test_a_later_wait_that_is_too_long_names_the_tries_too(gateway):
    gateway.timeout_s = 40
    error = await failure(gateway.guard(Script(BUSY, APIRateLimitError("slow down", retry_after_s=60))))
    why = "the requested wait of 60 s goes past the call's deadline of 40 s"
    assert str(error) == f"slow down ({why}; after 2 attempts)"


@pytest.mark.parametrize("error", [APIAuthError("no", retry_after_s=500), APIRateLimitError("no")], ids=repr)
async def test_an_error_does_not_mention_waits_unless_a_wait_ended_the_call(gateway, error):
    assert "wait" not in str(await failure(gateway.guard(Script(error))))


async def test_a_deadline_around_the_call_counts_like_its_own(clock):
    model = Gateway(clock=clock).guard(Script(APINetworkError("down", retry_after_s=50), "x"))
    with anyio.fail_after(30):
        error = await failure(model)
    assert error.retry_after_s == 50
    assert str(error) == "down (the requested wait of 50 s goes past the deadline of the turn or the debate)"
    assert clock.waits == []


async def test_the_tries_share_one_deadline(clock):
    model = Gateway(clock=clock, timeout_s=4).guard(Script(GONE))
    assert "after 3 attempts" in str(await failure(model))  # 1 s and 2 s; the 4 s after that do not fit
    assert len(clock.waits) == 2


async def test_a_policy_wins_over_the_rule_of_the_gateway(gateway, clock):
    inner = Script(BUSY)
    error = await failure(gateway.guard(inner, retry=RetryPolicy()))
    assert inner.calls == 3
    assert str(error).endswith("(after 3 attempts)")
    inner = Script(GONE)
    await failure(gateway.guard(inner, retry=RetryPolicy(on=("rate_limit",))))
    assert inner.calls == 1
    inner = Script(GONE)
    await failure(gateway.guard(inner, retry=RetryPolicy(max_attempts=1, on=("network",))))
    assert inner.calls == 1


@pytest.mark.parametrize(
    "error",
    [
        BUSY,
        GONE,
        APINetworkError("fault of the server", details={"status": 503}),
        APITimeoutError(details={"status": 504}),
        AgentError("the answer is empty", retryable=True),
    ],
    ids=["rate limit", "network", "server", "time-out", "answer"],
)
async def test_a_policy_that_names_no_kinds_retries_all_that_the_gateway_retries(gateway, error):
    inner = Script(error, error, "fine")
    assert (await gateway.guard(inner, retry=RetryPolicy()).complete(ASK)).text == "fine"
    (kind,) = {kind_of(error)}
    narrowed = Script(error, error, "fine")
    others = tuple(other for other in RetryPolicy().on if other != kind)
    await failure(gateway.guard(narrowed, retry=RetryPolicy(on=others)))
    assert (inner.calls, narrowed.calls) == (3, 1)


@pytest.mark.parametrize("given", [{}, {"maxAttempts": 5}, {"base_delay_ms": 3}])
def test_a_policy_without_kinds_has_the_kinds_of_the_gateway_wherever_it_is_read(given):
    seat = {"id": "a", "name": "A", "provider": "acme", "retry": given}
    read = AgentConfig.model_validate(seat).retry
    again = AgentConfig.model_validate_json(AgentConfig.model_validate(seat).model_dump_json(by_alias=True)).retry
    assert read == again == RetryPolicy.model_validate(given)
    assert frozenset(read.on) == EVERY_KIND == RetryRule.of(read).on


async def test_rate_limited_once_then_fine_logs_one_retry(gateway, caplog):
    """The first test case of seed 001."""
    with caplog.at_level(logging.WARNING, "roundtable"):
        answer = await gateway.guard(Script(BUSY, "fine"), retry=RetryPolicy()).complete(ASK)
    assert answer.text == "fine"
    (record,) = caplog.records
    assert record.attempt == 1
    assert 1000 <= record.delay_ms <= 1200
    assert (record.provider, record.model, record.code) == ("acme", "m", "API_RATE_LIMIT")


async def test_rate_limited_three_times_fails_after_all_attempts(gateway, caplog):
    """The second test case of seed 001."""
    with caplog.at_level(logging.WARNING, "roundtable"):
        error = await failure(gateway.guard(Script(BUSY, BUSY, BUSY, "never"), retry=RetryPolicy()))
    assert (error.code, len(caplog.records)) == ("API_RATE_LIMIT", 2)
    assert [record.attempt for record in caplog.records] == [1, 2]


async def test_a_stream_is_not_restarted_after_a_piece_was_given_out(gateway):
    inner = Script(("a", "b", GONE), ("c", "cd"))
    with pytest.raises(APINetworkError) as caught:
        await pieces_of(gateway.guard(inner))
    assert inner.calls == 1
    assert caught.value.details == {"partial_answer": "ab"}
    assert caught.value.usage == Usage(calls=1, unreported_calls=1)


async def test_a_stream_is_restarted_if_its_reader_is_told(gateway):
    told = []

    async def wanted():
        told.append("wanted?")

    async def hear(notice):
        told.append((notice.attempt, notice.shown, notice.error.code))

    inner = Script(("a", "b", GONE), ("c", "cd"))
    model = gateway.guard(inner).asking(wanted, hear)
    assert await pieces_of(model) == ["a", "b", "c", "cd"]
    assert told == ["wanted?", (2, True, "API_NETWORK_ERROR"), "wanted?"]


async def test_the_text_of_a_broken_stream_is_kept_up_to_a_limit(gateway):
    with pytest.raises(APINetworkError) as caught:
        await pieces_of(gateway.guard(Script(("x" * 9000, GONE))))
    assert caught.value.details == {"partial_answer": "x" * 4000}


async def test_a_listener_that_refuses_the_next_try_ends_the_retries(gateway):
    asked = []

    async def wanted():
        asked.append(1)
        if len(asked) > 1:
            raise LookupError

    inner = Script(GONE)
    with pytest.raises(LookupError):
        await gateway.guard(inner).asking(wanted).complete(ASK)
    assert inner.calls == 1


async def test_a_cancellation_ends_the_wait_for_a_retry_at_once():
    model = Gateway(retry=RetryRule(base_delay_s=30)).guard(Script(GONE))
    began = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(model.complete, ASK)
        await anyio.sleep(0.05)
        tasks.cancel_scope.cancel()
    assert anyio.current_time() - began < 0.05 + 2
    assert model.endpoint_state.breaker.calls == 0


async def test_failures_are_final_when_the_budget_is_used_up(gateway):
    model = gateway.guard(Script(BUSY))
    while model.endpoint_state.budget.take(5):
        pass
    inner = Script(BUSY)
    await failure(gateway.guard(inner))
    assert inner.calls == 1
    for _ in range(5):
        await gateway.guard(Script("x")).complete(ASK)
    await gateway.guard(Script(BUSY, "x")).complete(ASK)
    assert model.endpoint_state.budget.available == 5  # what the retry had cost came back with its success


async def test_a_provider_that_is_down_sees_few_more_calls_than_were_made(clock):
    """Of the first hundred retries each call makes four tries, after that hardly any."""
    gateway = Gateway(clock=clock)
    inner = Script(BUSY)  # rate limits leave the breaker closed, so that the budget alone holds back
    for _ in range(33):
        await failure(gateway.guard(inner))
    assert inner.calls <= 4 * 33
    before = inner.calls
    for _ in range(200):
        await failure(gateway.guard(inner))
    assert inner.calls - before <= 1.1 * 200


async def test_the_rates_of_a_provider_are_respected(gateway, clock):
    model = gateway.guard(Script("x"), requests_per_minute=2)
    for _ in range(4):
        await model.complete(ASK)
    assert clock.waits == [30, 30]


async def test_tokens_are_reserved_and_settled(gateway, clock):
    used = ChatResponse(text="x", usage=Usage(input_tokens=100, output_tokens=100, calls=1))
    model = gateway.guard(Script(used), tokens_per_minute=6000)
    ask = ASK.model_copy(update={"max_tokens": 6000})
    await model.complete(ask)
    assert clock.waits == []
    await model.complete(ask)
    assert clock.waits == [2.0]  # 200 of 6,000 had been used, not the 6,000 set aside
    await failure(gateway.guard(Script(AgentError("refused"))), ask)
    assert len(clock.waits) == 2


async def test_a_rate_that_would_take_too_long_is_an_error_at_once(gateway, clock):
    model = gateway.guard(Script("x"), requests_per_minute=0.1)
    await model.complete(ASK)
    error = await failure(model)
    assert (type(error), clock.waits) == (APIRateLimitError, [])
    assert "rate limit of 'acme'" in str(error)
    assert error.retry_after_s > 120
    clock.move(error.retry_after_s)
    await model.complete(ASK)  # what was refused took nothing


async def test_a_model_of_another_gateway_is_taken_over_and_not_guarded_twice(gateway, clock):
    inner = Script(BUSY)
    theirs = Gateway(timeout_s=9).guard(inner, retry=RetryPolicy(max_attempts=2))
    ours = gateway.guard(theirs)
    await failure(ours)
    assert inner.calls == 2
    assert (ours.inner, ours.guard.timeout_s, ours.gateway) == (inner, 9, gateway)
    assert gateway.guard(ours, retry=RetryPolicy()).guard.rule.max_retries == 2
    assert ours.endpoint == ""
    assert [endpoint_state.key.provider for endpoint_state in gateway.endpoint_states] == ["acme"]


@pytest.mark.parametrize("rate", [0, -1, math.nan])
def test_a_rate_is_positive(gateway, rate):
    with pytest.raises(RoundtableError, match="per_minute must be a number above 0, not"):
        gateway.guard(Script("x"), tokens_per_minute=rate)


def test_the_jitter_can_be_repeated():
    assert Gateway(seed=3).random.random() == Random(3).random()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (APIRateLimitError(), "rate_limit"),
        (APITimeoutError(), "timeout"),
        (APINetworkError(), "network"),
        (APIAuthError(retryable=True), "network"),
        (AgentError(retryable=True), "answer"),
        (AgentError(retryable=True, details={"status": 400}), "network"),
        (AgentError(), None),
        (CircuitOpen(), None),
    ],
)
def test_each_error_has_its_kind_of_trouble(error, kind):
    assert kind_of(error) == kind


def test_every_error_says_how_to_recover():
    """As the error classes of seed 002 do; of a wrong configuration the message itself says it."""
    without = {kind.__name__ for kind in error_kinds() if kind.default_hint is None}
    assert without == {"RoundtableError", "ConfigurationError", "PluginError"}


def test_a_rule_follows_from_a_policy():
    rule = RetryRule.of(RetryPolicy(max_attempts=5, base_delay_ms=200, on=("answer", "timeout")))
    assert (rule.max_retries, rule.base_delay_s, rule.answer_retries) == (4, 0.2, 4)
    assert rule.on == {"answer", "timeout"}


async def test_the_helper_of_seed_000_waits_twice_as_long_each_time(clock):
    inner = Script(GONE)

    async def operation():
        return await inner.complete(ASK)

    with pytest.raises(APINetworkError) as caught:
        await retry_with_backoff(operation, clock=clock)
    assert caught.value is GONE
    assert inner.calls == 4
    for wait, most in zip(clock.waits, (1, 2, 4), strict=True):
        assert most / 2 <= wait <= most


async def test_the_helper_waits_at_most_thirty_seconds_or_the_given_limit(clock):
    inner = Script(GONE)
    for told, most in (({}, 30), ({"max_delay_ms": 2500}, 2.5), ({"max_delay_ms": 0}, 0)):
        clock.waits.clear()
        with pytest.raises(APINetworkError):
            await retry_with_backoff(lambda: inner.complete(ASK), 8, random=Random(7), clock=clock, **told)
        assert len(clock.waits) == 8
        assert all(most / 2 <= wait <= most for wait in clock.waits[5:])
    # As many as a number can hold, and more.
    with pytest.raises(APINetworkError):
        await retry_with_backoff(lambda: inner.complete(ASK), 1200, 1, random=Random(7), clock=clock)
    assert max(clock.waits) <= 30


async def test_chance_spreads_the_waits_of_the_helper(clock):
    inner = Script(GONE)
    for seed in range(200):
        with pytest.raises(APINetworkError):
            await retry_with_backoff(lambda: inner.complete(ASK), 1, random=Random(seed), clock=clock)
    waits = sorted(clock.waits)
    assert 0.5 <= waits[0] < 0.55
    assert 0.7 < waits[100] < 0.8
    assert 0.95 < waits[-1] <= 1
    with pytest.raises(APINetworkError):
        await retry_with_backoff(lambda: inner.complete(ASK), 1, random=Random(0), clock=clock)
    assert clock.waits[-1] == clock.waits[0]


async def test_the_helper_of_seed_000_raises_permanent_errors_at_once(clock):
    inner = Script(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        await retry_with_backoff(lambda: inner.complete(ASK), 5, 10, clock=clock)
    assert (inner.calls, clock.waits) == (1, [])


async def test_an_error_that_a_model_keeps_is_never_changed(gateway):
    kept = AgentError("no JSON", retryable=True)
    model = gateway.guard(Script(kept), retry=RetryPolicy(max_attempts=1))
    for _ in range(2):
        error = await failure(model)
        assert (error.usage, str(error), error.details) == (Usage(calls=1, unreported_calls=1), "no JSON", None)
    assert kept.usage is None


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"max_retries": "3"}, "max_retries must be a whole number"),
        ({"max_retries": -1}, "max_retries"),
        ({"max_retries": True}, "max_retries"),
        ({"base_delay_ms": "1"}, "base_delay_ms must be a number"),
        ({"base_delay_ms": -1}, "base_delay_ms"),
        ({"base_delay_ms": math.nan}, "base_delay_ms"),
        ({"base_delay_ms": math.inf}, "base_delay_ms"),
        ({"base_delay_ms": True}, "base_delay_ms"),
        ({"max_delay_ms": -1}, "max_delay_ms must be a number of at least 0, not -1"),
        ({"max_delay_ms": None}, "max_delay_ms"),
        ({"random": 7}, "random must be a random.Random, not 7"),
    ],
)
async def test_the_helper_refuses_numbers_that_make_no_sense(wrong, what):
    with pytest.raises(ConfigurationError, match=what) as caught:
        await retry_with_backoff(lambda: None, **wrong)
    assert caught.value.hint


def test_a_rule_says_how_many_tries_it_allows_at_most():
    rules = [
        RetryRule(max_retries=5),
        RetryRule(answer_retries=7),
        RetryRule(on=frozenset()),
        RetryRule(on=frozenset({"answer"})),
        RetryRule.of(RetryPolicy(max_attempts=2)),
    ]
    assert [rule.most_tries for rule in rules] == [6, 8, 1, 2, 2]
