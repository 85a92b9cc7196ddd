"""The rates of providers that nobody set: the library's defaults, and what headers of answers state."""

from __future__ import annotations

import json

import anyio
import anyio.lowlevel
import pytest

from roundtable import Roundtable
from roundtable.errors import APIRateLimitError, ConfigurationError
from roundtable.gateway import Gateway
from roundtable.gateway.state import RateBucket
from roundtable.providers import Cassette, ScriptedModel, chat_model
from roundtable.settings import Settings
from roundtable.testing.doubles import ManualClock
from roundtable.testing.servers import LoopbackServer, http_reply
from roundtable.types import ChatRequest, ChatResponse, Message, ModelProfile, ProviderConfig, RateLimit, Usage

ASK = ChatRequest(model="", messages=(Message(role="user", content="Tea?"),))
VENDORS = {"anthropic": 50, "openai": 60, "openai-chat": 60, "google": 60, "perplexity": 20}


class Waiting(ManualClock):
    """A manual clock that remembers how long it was waited on."""

    def __init__(self):
        super().__init__()
        self.waits = []

    async def sleep(self, seconds):
        self.waits.append(round(seconds, 3))
        await super().sleep(seconds)


class Stating:
    """A model of a provider with a rate of its own, whose answers state what is left of it."""

    provider, model, profile = "acme", "m", ModelProfile()
    requests_per_minute = 2.0

    def __init__(self, *limits, account=""):
        self.limits = list(limits)
        self.account = account

    async def complete(self, request):
        limit = self.limits.pop(0) if self.limits else None
        return ChatResponse(text="x", rate_limit=limit)

    async def aclose(self):
        pass


@pytest.fixture
def clock():
    return Waiting()


@pytest.fixture
def gateway(clock):
    return Gateway(clock=clock, timeout_s=100)


def chat_answer(headers=None):
    said = {"model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Tea."}}]}
    said["choices"][0]["finish_reason"] = "stop"
    return http_reply(json.dumps(said).encode(), headers=headers or {})


@pytest.mark.parametrize(("vendor", "rate"), VENDORS.items())
async def test_each_vendor_has_the_rate_that_the_seeds_name(vendor, rate, gateway):
    model = chat_model(f"{vendor}:m", api_key="k", settings=Settings())
    assert gateway.guard(model).guard.rates.requests_per_minute == rate
    assert gateway.guard(model).guard.rates.learns
    await model.aclose()


@pytest.mark.parametrize("name", ["compatible:m", "scripted:{script}", "human:me", "command:cat"])
async def test_own_servers_people_and_programs_have_no_default_rate(name, gateway, tmp_path):
    script = tmp_path / "script.json"
    script.write_text('["Tea."]')
    settings = Settings(compatible_base_url="http://127.0.0.1:9/v1")
    # Only people are asked through a function.
    asks = {"client": input} if name.startswith("human") else {}
    model = chat_model(name.format(script=script), settings=settings, **asks)
    guarded = gateway.guard(model)
    assert (guarded.guard.rates.requests_per_minute, guarded.endpoint_state.has_rate) == (None, False)
    await model.aclose()


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    "base_url",
    ["http://127.0.0.1:9/v1", "http://localhost:9", "https://proxy.acme.test", "https://openai.com.acme.test"],
)
async def test_the_rate_of_a_vendor_does_not_apply_to_another_address(vendor, base_url, gateway):
    given = {"base_url": base_url}
    for config in (given, {"settings": Settings(**{f"{vendor.partition('-')[0]}_base_url": base_url})}):
        model = chat_model(f"{vendor}:m", api_key="k", **{"settings": Settings(), **config})
        assert gateway.guard(model).guard.rates.requests_per_minute is None
        await model.aclose()


@pytest.mark.parametrize("base_url", ["https://api.openai.com/v1", "https://eu.api.openai.com/v1"])
async def test_the_rate_of_a_vendor_applies_to_its_own_address_however_it_is_given(base_url, gateway):
    model = chat_model("openai:m", api_key="k", base_url=base_url, settings=Settings())
    assert gateway.guard(model).guard.rates.requests_per_minute == 60
    await model.aclose()


def test_a_model_on_this_machine_has_no_default_rate_whatever_it_declares(gateway):
    class Near(Stating):
        endpoint = "http://127.0.0.1:9/v1"

    assert gateway.guard(Near()).guard.rates.requests_per_minute is None
    assert gateway.guard(Stating()).guard.rates.requests_per_minute == 2


async def test_calls_beyond_the_default_wait_and_those_below_do_not(gateway, clock):
    model = gateway.guard(Stating())
    for _ in range(2):
        await model.complete(ASK)
    assert clock.waits == []
    await model.complete(ASK)
    assert clock.waits == [30.0]


async def test_calls_to_an_own_server_do_not_wait(gateway, clock):
    with LoopbackServer(lambda seen: chat_answer()) as server:
        model = gateway.guard(chat_model("openai-chat:m", base_url=server.url, api_key="k", settings=Settings()))
        for _ in range(70):
            await model.complete(ASK)
        await model.aclose()
    assert (clock.waits, model.endpoint_state.has_rate) == ([], False)


async def test_headers_of_an_answer_set_the_rate_even_without_a_default(gateway, clock):
    left = {
        "x-ratelimit-limit-requests": "3",
        "x-ratelimit-remaining-requests": "1",
        "x-ratelimit-reset-requests": "40s",
    }
    with LoopbackServer(lambda seen: chat_answer(left if len(server.seen) == 1 else None)) as server:
        model = gateway.guard(chat_model("openai-chat:m", base_url=server.url, api_key="k", settings=Settings()))
        for _ in range(3):
            await model.complete(ASK)
        await model.aclose()
    assert clock.waits == [20.0]  # 2 of 3 come back in 40 s


@pytest.mark.parametrize(
    ("limit", "waits"),
    [
        (RateLimit(requests_limit=4), [15.0, 15.0]),  # one of them was used by the answer that said it
        (RateLimit(requests_limit=100, requests_remaining=80, requests_reset_s=12), []),
        (RateLimit(requests_limit=100, requests_remaining=0, requests_reset_s=30), [0.3] * 5),
        (RateLimit(requests_limit=2, requests_remaining=2, requests_reset_s=0), [30.0, 30.0, 30.0]),
        (RateLimit(requests_limit=10_000, requests_remaining=9_999, requests_reset_s=8.64), []),
        (RateLimit(requests_limit=0), [30.0] * 4),
        (RateLimit(tokens_limit=5), [30.0] * 4),
    ],
    ids=["limit alone", "much left", "nothing left", "all left", "a limit of a day", "no number", "tokens alone"],
)
async def test_a_stated_limit_is_respected_from_the_next_call_on(limit, waits, gateway, clock):
    model = gateway.guard(Stating(limit))
    for _ in range(6):
        await model.complete(ASK)
    assert clock.waits == waits


async def test_usage_of_the_key_by_other_programs_counts(gateway, clock):
    said = [RateLimit(requests_limit=60, requests_remaining=left, requests_reset_s=60 - left) for left in (59, 30, 0)]
    model = gateway.guard(Stating(*said))
    for _ in range(4):
        await model.complete(ASK)
    assert clock.waits == [1.0]


async def test_calls_under_way_are_not_forgotten_when_a_limit_is_learnt(gateway, clock):
    held = anyio.Event()

    class Held(Stating):
        async def complete(self, request):
            if request.max_tokens == 1:
                await held.wait()
            return await super().complete(request)

    model = gateway.guard(Held(RateLimit(requests_limit=4, requests_remaining=1, requests_reset_s=30)))
    async with anyio.create_task_group() as group:
        group.start_soon(model.complete, ASK.model_copy(update={"max_tokens": 1}))
        await anyio.wait_all_tasks_blocked()
        await model.complete(ASK)
        assert clock.waits == []
        await model.complete(ASK)  # the one that is left belongs to the call under way; 3 come back in 30 s
        held.set()
    assert clock.waits == [10.0]


async def test_a_late_answer_does_not_replace_the_limit_of_a_newer_one(gateway, clock):
    held = anyio.Event()
    old, new = (RateLimit(requests_limit=9, requests_remaining=left, requests_reset_s=90) for left in (8, 0))

    class Held(Stating):
        async def complete(self, request):
            if request.max_tokens == 1:
                await held.wait()
                return ChatResponse(text="x", rate_limit=old)
            return await super().complete(request)

    model = gateway.guard(Held(new))
    async with anyio.create_task_group() as group:
        group.start_soon(model.complete, ASK.model_copy(update={"max_tokens": 1}))
        await anyio.wait_all_tasks_blocked()
        clock.move(1)
        await model.complete(ASK)
        held.set()
    await model.complete(ASK)
    assert clock.waits == [20.0]  # of 9 in 90 s, one for the call under way, one for this


async def test_rates_are_learnt_for_each_key_and_model(gateway, clock):
    none_left = RateLimit(requests_limit=1, requests_remaining=0, requests_reset_s=50)
    first, second = (gateway.guard(Stating(none_left, account=name)) for name in ("one", "two"))
    await first.complete(ASK)
    await second.complete(ASK.model_copy(update={"model": "other"}))
    await second.complete(ASK)
    assert clock.waits == []
    await first.complete(ASK)
    assert clock.waits == [50.0]
    assert len(gateway.endpoint_states) == 3


async def test_two_keys_of_one_provider_have_separate_limits(gateway):
    models = [chat_model("openai:m", api_key=key, settings=Settings()) for key in ("sk-1", "sk-2", "sk-1")]
    endpoint_states = [gateway.guard(model).endpoint_state for model in models]
    assert endpoint_states[0] is endpoint_states[2]
    assert endpoint_states[0] is not endpoint_states[1]
    assert not any("sk-" in str(endpoint_state.key) for endpoint_state in endpoint_states)
    for model in models:
        await model.aclose()


async def test_a_wait_above_a_minute_is_an_error_with_a_hint(gateway, clock):
    model = gateway.guard(Stating(RateLimit(requests_limit=1, requests_remaining=0, requests_reset_s=61)))
    await model.complete(ASK)
    with pytest.raises(APIRateLimitError, match="in 61 s") as caught:
        await model.complete(ASK)
    assert (clock.waits, caught.value.retryable) == ([], False)
    assert "requests_per_minute" in caught.value.hint
    clock.move(2)
    await model.complete(ASK)
    assert clock.waits == [59.0]


async def test_a_configured_rate_is_kept_whatever_headers_say(gateway, clock):
    model = gateway.guard(Stating(RateLimit(requests_limit=1, requests_remaining=0)), requests_per_minute=600)
    for _ in range(5):
        await model.complete(ASK)
    assert clock.waits == []
    off = gateway.guard(Stating(account="off"), requests_per_minute=None)
    for _ in range(5):
        await off.complete(ASK)
    assert (clock.waits, off.endpoint_state.has_rate) == ([], False)


async def test_a_call_that_is_not_sent_takes_nothing_of_the_rate(gateway, clock):
    async def unwanted():
        raise ConfigurationError("not wanted")

    model = gateway.guard(Stating())
    for _ in range(5):
        with pytest.raises(ConfigurationError):
            await model.asking(unwanted).complete(ASK)
    await model.complete(ASK)
    await model.complete(ASK)
    assert clock.waits == []


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), "fast", True, [50]])
async def test_an_invalid_rate_is_refused_with_a_hint(rate):
    table = Roundtable(["openai:m"], providers={"openai": ProviderConfig(api_key="k", requests_per_minute=rate)})
    with pytest.raises(ConfigurationError) as caught:
        await table.debate("Tea?", rounds=1)
    assert repr(rate) in caught.value.message
    assert "None" in caught.value.hint


@pytest.mark.parametrize(
    ("given", "rate"), [({}, 60), ({"requests_per_minute": None}, None), ({"requests_per_minute": 7}, 7)]
)
async def test_tables_take_the_rate_from_the_configuration_of_the_provider(given, rate):
    async with Roundtable(["openai:m"], providers={"openai": ProviderConfig(api_key="k", **given)}) as table:
        assert table.chat_model("openai:m").guard.rates.requests_per_minute == rate


async def test_recorded_calls_do_not_wait_for_a_rate_and_change_none(tmp_path, clock):
    path = tmp_path / "calls.jsonl"
    stated = RateLimit(requests_limit=1, requests_remaining=0, requests_reset_s=30)
    for mode, waits in (("record", [30.0]), ("auto", [30.0])):
        model = Gateway(clock=clock).guard(Cassette(path, mode).over(Stating(stated, stated)))
        assert model.guard.rates.requests_per_minute == 2
        for number in range(2):
            await model.complete(ASK.model_copy(update={"max_tokens": 1000 + number}))
        assert clock.waits == waits, mode


@pytest.mark.parametrize(("base_url", "rate"), [(None, 60), ("http://127.0.0.1:9/v1", None)])
async def test_a_recorded_model_has_the_rate_of_the_address_that_it_would_call(tmp_path, base_url, rate):
    config = ProviderConfig(api_key="k", base_url=base_url)
    for _ in range(2):
        async with Roundtable(
            ["openai:m"], providers={"openai": config}, cassette=tmp_path / "calls.jsonl", storage="memory://"
        ) as table:
            assert table.chat_model("openai:m").guard.rates.requests_per_minute == rate


async def test_recorded_calls_take_no_tokens_of_a_rate(tmp_path, clock):
    class Wordy(Stating):
        async def complete(self, request):
            return ChatResponse(text="x", usage=Usage(input_tokens=5000, calls=1))

    for mode in ("record", "auto"):
        taped = Cassette(tmp_path / "calls.jsonl", mode).over(Wordy())
        model = Gateway(clock=clock).guard(taped, requests_per_minute=None, tokens_per_minute=5000)
        await model.complete(ASK)
    await model.complete(ASK.model_copy(update={"max_tokens": 1000}))
    assert clock.waits == []


async def test_no_call_waits_too_long_for_a_small_part_of_a_rate(clock):
    """Eight at once would wait for 96 s at five calls a minute, and fail; two at once wait for 24 s at most."""
    gateway = Gateway(clock=clock)
    running = most = 0

    class Slow(ScriptedModel):
        async def complete(self, request):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await anyio.lowlevel.checkpoint()
            running -= 1
            return await super().complete(request)

    model = gateway.guard(Slow({"*": "Yes"}), requests_per_minute=50)
    gateway.share_rates(20)
    async with anyio.create_task_group() as group:
        for _ in range(12):
            group.start_soon(model.complete, ChatRequest(model="", messages=()))
    assert most <= 2
    gateway.share_rates(1)
    (state,) = gateway.endpoint_states
    assert state.slots(8) == 8
    async with gateway.admitted(state):
        (limiter,) = gateway._limiters.get().values()
        assert limiter.most == 8


def test_a_shared_bucket_gives_an_equal_part():
    clock = ManualClock()
    bucket = RateBucket(60, clock=clock, parts=2)
    assert (bucket.available, bucket.take(30), bucket.take(1)) == (30, 0.0, 2.0)
    clock.move(40)
    bucket.share(4)
    assert bucket.available == 15  # not the 19 of the larger part
    assert (bucket.take(15), bucket.take(1)) == (0.0, 4.0)
    bucket.share(1)
    clock.move(61)
    assert (bucket.available, bucket.per_minute) == (60, 60)
    bucket.share(3)
    bucket.adopt_limit(90, remaining=30, reset_s=60, pending=0)
    assert (bucket.available, bucket.per_minute) == (10, 20)
    bucket.adopt_limit(120, remaining=None, reset_s=None, pending=0)
    assert (bucket.available, bucket.per_minute) == (20, 40)


async def test_a_gateway_shares_the_rates_of_models_called_before_and_after(clock):
    gateway = Gateway(clock=clock)
    early, late = (
        gateway.guard(ScriptedModel({"*": "Yes"}, model=name), requests_per_minute=4) for name in ("early", "late")
    )
    for _ in range(2):
        await early.complete(ChatRequest(model="", messages=()))
    gateway.share_rates(2)
    for model in (early, late):
        begun = clock.monotonic()
        for _ in range(3):
            await model.complete(ChatRequest(model="", messages=()))
        assert clock.monotonic() - begun == 30.0  # two at once, the third after half a minute
    gateway.share_rates(1)
    assert [state._requests.per_minute for state in gateway.endpoint_states] == [4, 4]


def test_a_bucket_learns_and_refills_up_to_the_stated_limit():
    clock = ManualClock()
    bucket = RateBucket(60, clock=clock)
    bucket.adopt_limit(10, remaining=4, reset_s=3, pending=1)
    assert bucket.available == 3
    clock.move(1)
    assert bucket.available == 5
    clock.move(100)
    assert bucket.available == 10
