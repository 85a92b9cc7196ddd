"""Every model behaves alike behind the gateway, whoever wrote it."""

from __future__ import annotations

import asyncio
from functools import partial

import anyio
import pytest

from roundtable.errors import AgentError, APIRateLimitError, APITimeoutError, ConfigurationError
from roundtable.gateway import Gateway, GuardedModel
from roundtable.gateway.prices import sane_usage
from roundtable.providers import Delay, ScriptedModel
from roundtable.testing.doubles import ManualClock
from roundtable.types import ChatDelta, ChatRequest, ChatResponse, ModelProfile, Usage

pytestmark = pytest.mark.both_loops

ASK = ChatRequest(model="", messages=())


async def test_a_lane_shows_its_state():
    gateway = Gateway()
    await gateway.guard(ScriptedModel(["Yes."])).complete(ASK)
    assert (
        repr(gateway.endpoint_states)
        == "(EndpointState('scripted:scripted', breaker='closed', failures=0, budget=500),)"
    )


class Plain:
    """A model as a plugin might write it: just the methods."""

    provider = "plugin"
    model = "m"
    profile = ModelProfile()

    def __init__(self, act):
        self._act = act
        self.closed = 0
        self.running = 0
        self.most = 0

    async def complete(self, request):
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await self._act()
        finally:
            self.running -= 1

    async def stream(self, request):
        yield ChatDelta(text="a")
        try:
            yield await self.complete(request)
        finally:
            self.closed += 1

    async def aclose(self):
        self.closed += 1


def raising(error):
    async def act():
        raise error

    return Plain(act)


def giving(value):
    async def act():
        return value

    return Plain(act)


async def collect(model):
    return [piece async for piece in model.stream(ASK)]


async def both(model):
    """The errors of the plain and the streamed call."""
    with pytest.raises(Exception) as plain:
        await model.complete(ASK)
    with pytest.raises(Exception) as streamed:
        await collect(model)
    return plain.value, streamed.value


async def test_a_guarded_model_behaves_like_the_model():
    inner = ScriptedModel(["one", "both"], chunks=2)
    model = Gateway().guard(inner)
    assert (model.provider, model.model, model.profile) == ("scripted", "scripted", inner.profile)
    assert (await model.complete(ASK)).text == "one"
    assert [piece.text for piece in await collect(model)] == ["bo", "th", "both"]


async def test_a_guarded_stream_is_a_block_too():
    inner = ScriptedModel(["both"], chunks=2)
    for model in (Gateway().guard(inner), Gateway().guard(giving(ChatResponse(text="a")))):
        async with model.stream(ASK) as deltas:
            with pytest.raises(AgentError, match="has not been read to its end"):
                _ = deltas.response
            text = "".join([delta.text async for delta in deltas])
            assert [delta async for delta in deltas] == []
        assert deltas.response.text == text


async def test_leaving_the_block_of_a_guarded_stream_ends_the_call():
    inner = giving(ChatResponse(text="a"))
    gateway = Gateway(concurrency=1)
    model = gateway.guard(inner)
    async with model.stream(ASK) as deltas:
        assert (await anext(deltas)).text == "a"
    with anyio.fail_after(5):
        assert (await model.complete(ASK)).text == "a"


async def test_closing_is_passed_on():
    inner = giving(None)
    await Gateway().guard(inner).aclose()
    assert inner.closed == 1


def test_guarding_twice_is_guarding_once():
    gateway = Gateway()
    model = gateway.guard(giving(None))
    assert gateway.guard(model) is model
    assert isinstance(Gateway().guard(model), GuardedModel)
    assert "GuardedModel(" in repr(model)


async def test_errors_of_the_library_pass_unchanged():
    error = APIRateLimitError("slow down", retryable=False)
    plain, streamed = await both(Gateway().guard(raising(error)))
    assert plain is error
    # Of a stream the pieces that were given out are kept, on a copy.
    assert (type(streamed), str(streamed), streamed.details) == (type(error), str(error), {"partial_answer": "a"})
    assert error.details is None


async def test_foreign_errors_are_wrapped_once_with_their_cause():
    cause = ValueError("bad\n  luck " + "x" * 5000)
    for error in await both(Gateway().guard(raising(cause))):
        assert type(error) is AgentError
        assert error.__cause__ is cause
        assert error.provider == "plugin"
        assert "ValueError: bad luck" in str(error)
        assert len(str(error)) < 600
    twice = Gateway().guard(Gateway().guard(raising(cause)))
    assert (await both(twice))[0].__cause__ is cause


async def test_a_foreign_error_without_words_is_named():
    error, _ = await both(Gateway().guard(raising(KeyError())))
    assert str(error) == "the model call failed: KeyError"


async def test_groups_of_exceptions_never_get_out():
    ours = APIRateLimitError("inside", retryable=False)
    error, _ = await both(Gateway().guard(raising(ExceptionGroup("g", [ExceptionGroup("h", [ours]), ValueError()]))))
    assert error is ours
    foreign = ValueError("inside")
    error, _ = await both(Gateway().guard(raising(ExceptionGroup("g", [foreign]))))
    assert (type(error), error.__cause__) == (AgentError, foreign)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
async def test_exceptions_that_end_the_program_pass_unchanged(kind):
    stop = kind()
    with pytest.raises(kind) as caught:
        await Gateway(timeout_s=5).guard(raising(stop)).complete(ASK)
    assert caught.value is stop


@pytest.mark.parametrize("value", [None, "text", ChatDelta(text="x")])
async def test_a_model_that_returns_a_wrong_type_is_named_as_faulty(value):
    error, streamed = await both(Gateway().guard(giving(value)))
    assert "instead of a ChatResponse" in str(error)
    assert "instead of a ChatResponse" in str(streamed)


async def test_a_call_ends_at_its_deadline():
    model = Gateway(timeout_s=0.05).guard(ScriptedModel([Delay(60, "x"), Delay(60, "x")]))
    start = anyio.current_time()
    for error in await both(model):
        assert type(error) is APITimeoutError
        assert "within 0.05 s" in str(error)
        assert error.retryable
    assert anyio.current_time() - start < 2 * 0.05 + 2


async def test_a_model_may_have_its_own_deadline():
    gateway = Gateway(timeout_s=60)
    with pytest.raises(APITimeoutError, match=r"within 0\.02 s"):
        await gateway.guard(ScriptedModel([Delay(60, "x")]), timeout_s=0.02).complete(ASK)


async def test_a_stream_that_never_waits_ends_at_the_deadline():
    """No cancel scope can end a step that does not wait; the answer itself counts, however late."""
    clock = ManualClock()

    class Rushing(Plain):
        async def stream(self, request):
            for _ in range(pieces):
                clock.move(1)
                yield ChatDelta(text="a")
            yield ChatResponse(text="a" * pieces)

    pieces = 4
    assert (await collect(Gateway(timeout_s=5, clock=clock).guard(Rushing(None))))[-1].text == "aaaa"
    pieces = 9
    with pytest.raises(APITimeoutError, match="within 5 s") as caught:
        await collect(Gateway(timeout_s=5, clock=clock).guard(Rushing(None)))
    assert caught.value.details["partial_answer"] == "aaaa"


async def test_a_slow_stream_ends_at_the_deadline_of_the_whole():
    class Dripping(Plain):
        async def stream(self, request):
            for _ in range(1000):
                await anyio.sleep(0.02)
                yield ChatDelta(text="a")

    start = anyio.current_time()
    with pytest.raises(APITimeoutError):
        await collect(Gateway(timeout_s=0.1).guard(Dripping(None)))
    assert anyio.current_time() - start < 0.1 + 2


async def test_timeouts_inside_a_model_are_errors_of_the_model():
    error, _ = await both(Gateway(timeout_s=60).guard(raising(TimeoutError("inner"))))
    assert type(error) is AgentError


async def test_cancelling_from_outside_is_not_a_timeout():
    with anyio.move_on_after(0.02) as scope:
        await Gateway(timeout_s=60).guard(ScriptedModel([Delay(60, "x")])).complete(ASK)
    assert scope.cancelled_caught


async def test_no_more_calls_than_allowed_run_at_once():
    async def act():
        await anyio.sleep(0.01)
        return ChatResponse(text="x")

    gateway, one, other = Gateway(concurrency=3), Plain(act), Plain(act)
    other.model = "another"
    models = [gateway.guard(one), gateway.guard(other)]

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            for model in models:
                tasks.start_soon(model.complete, ASK)
                tasks.start_soon(collect, model)
    assert (one.most, other.most) == (3, 3)


async def test_a_limit_of_a_provider_covers_all_its_models_and_can_change():
    now = most = 0

    async def act():
        nonlocal now, most
        now += 1
        most = max(most, now)
        await anyio.sleep(0.01)
        now -= 1
        return ChatResponse(text="x")

    gateway, one, other = Gateway(concurrency=3), Plain(act), Plain(act)
    other.model = "another"
    for limits, expected in (({one.provider: 2}, 2), ({one.provider: 4}, 4), ({"others": 1}, 6)):
        gateway.limit_providers(limits)
        most = 0
        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                for model in (one, other):
                    tasks.start_soon(gateway.guard(model).complete, ASK)
                    tasks.start_soon(collect, gateway.guard(model))
        assert most == expected


class Held(Plain):
    """Holds each of its calls until the test releases it."""

    def __init__(self) -> None:
        super().__init__(self._hold)
        self._released = anyio.Semaphore(0)

    async def _hold(self) -> ChatResponse:
        await self._released.acquire()
        return ChatResponse(text="x")

    async def release(self, number: int) -> None:
        """End calls, and wait until others have taken their slots."""
        for _ in range(number):
            self._released.release()
        await anyio.wait_all_tasks_blocked()


async def test_a_raised_or_removed_limit_of_a_provider_admits_waiting_calls_at_once():
    gateway, inner = Gateway(concurrency=20), Held()
    running = []
    async with anyio.create_task_group() as tasks:
        gateway.limit_providers({"plugin": 1})
        for _ in range(9):
            tasks.start_soon(gateway.guard(inner).complete, ASK)
        for limits in ({"plugin": 1}, {"plugin": 3}, {"plugin": 3, "others": 1}, {"plugin": 4}, {"others": 1}):
            gateway.limit_providers(limits)
            await anyio.wait_all_tasks_blocked()
            running.append(inner.running)
        await inner.release(9)
    assert running == [1, 3, 3, 4, 9]


async def test_a_limit_of_a_provider_that_is_lowered_and_raised_counts_the_calls_in_progress():
    gateway, inner = Gateway(concurrency=20), Held()
    async with anyio.create_task_group() as tasks:
        gateway.limit_providers({"plugin": 4})
        for _ in range(12):
            tasks.start_soon(gateway.guard(inner).complete, ASK)
        await anyio.wait_all_tasks_blocked()
        gateway.limit_providers({"plugin": 2})
        await inner.release(1)
        assert inner.running == 3
        await inner.release(1)
        assert inner.running == 2
        await inner.release(1)
        assert inner.running == 2
        for most in (1, 4, 3, 4):
            gateway.limit_providers({"plugin": most})
        await anyio.wait_all_tasks_blocked()
        assert (inner.running, inner.most) == (4, 4)
        await inner.release(9)
    assert inner.most == 4


async def test_a_call_that_is_cancelled_while_it_waits_or_as_it_is_admitted_leaves_its_slot_to_the_next():
    gateway = Gateway(concurrency=1)
    await gateway.guard(ScriptedModel(["Yes."])).complete(ASK)
    (state,) = gateway.endpoint_states
    admitted = []

    async def call(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            async with gateway.admitted(state):
                admitted.append(name)
                await anyio.lowlevel.checkpoint()

    scopes = {name: anyio.CancelScope() for name in ("waits", "is next", "follows")}
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            async with gateway.admitted(state):
                for name, scope in scopes.items():
                    tasks.start_soon(call, name, scope)
                    await anyio.wait_all_tasks_blocked()
                scopes["waits"].cancel()
                await anyio.wait_all_tasks_blocked()
            scopes["is next"].cancel()
    assert admitted[-1] == "follows"
    assert "waits" not in admitted


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # only its own way to cancel ends a task that is about to run
async def test_a_task_that_asyncio_itself_cancels_as_it_is_admitted_leaves_its_slot_to_the_next():
    gateway = Gateway(concurrency=1)
    await gateway.guard(ScriptedModel(["Yes."])).complete(ASK)
    (state,) = gateway.endpoint_states

    async def call() -> None:
        async with gateway.admitted(state):
            await anyio.sleep_forever()

    async with gateway.admitted(state):
        task = asyncio.create_task(call())
        await anyio.wait_all_tasks_blocked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with anyio.fail_after(30):
        async with gateway.admitted(state):
            pass


def test_a_limit_of_a_provider_that_another_event_loop_changes_reaches_waiting_calls():
    gateway = Gateway()

    async def change() -> None:
        gateway.limit_providers({"plugin": 2})

    async def call_twice() -> None:
        inner = Held()
        gateway.limit_providers({"plugin": 1})
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                for _ in range(2):
                    tasks.start_soon(gateway.guard(inner).complete, ASK)
                await anyio.wait_all_tasks_blocked()
                assert inner.running == 1
                await anyio.to_thread.run_sync(partial(anyio.run, change, backend="asyncio"))
                while inner.running < 2:  # noqa: ASYNC110  (the other loop's call has no event)
                    await anyio.sleep(0.01)
                await inner.release(2)

    for backend in ("asyncio", "trio"):
        anyio.run(call_twice, backend=backend)


async def test_models_of_one_endpoint_share_the_limit():
    async def act():
        await anyio.sleep(0.01)
        return ChatResponse(text="x")

    shared = Plain(act)
    shared.endpoint = "https://api.example.org"
    gateway = Gateway(concurrency=1)
    async with anyio.create_task_group() as tasks:
        for model in (gateway.guard(shared), gateway.guard(shared)):
            tasks.start_soon(model.complete, ASK)
    assert shared.most == 1


@pytest.mark.slow
async def test_waiting_for_a_slot_does_not_count_as_time_of_the_call():
    gateway, inner = Gateway(concurrency=1, timeout_s=2), ScriptedModel([Delay(2.3, "x"), "y"])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(gateway.guard(inner, timeout_s=60).complete, ASK)
        await anyio.wait_all_tasks_blocked()
        assert (await gateway.guard(inner).complete(ASK)).text == "y"


async def test_a_slot_is_freed_when_a_stream_is_closed_or_a_call_cancelled():
    inner = ScriptedModel({"a": Delay(60, "x"), "*": "x" * 50}, chunks=50)
    model = Gateway(concurrency=1).guard(inner)
    for _ in range(3):
        stream = model.stream(ASK)
        await anext(stream)
        await stream.aclose()
        with anyio.move_on_after(0.01):
            await model.complete(ASK.model_copy(update={"metadata": {"agent": "a"}}))
    with anyio.fail_after(20):
        assert (await model.complete(ASK)).text == "x" * 50


async def test_closing_a_stream_closes_the_stream_of_the_model():
    async def act():
        return ChatResponse(text="x")

    inner = Plain(act)
    async for _ in (stream := Gateway(timeout_s=5).guard(inner).stream(ASK)):
        if inner.running == 0:
            break
    await stream.aclose()
    rest = Gateway().guard(inner).stream(ASK)
    assert [type(piece) async for piece in rest] == [ChatDelta, ChatResponse]
    assert inner.closed == 1


async def test_an_iterator_without_close_can_be_a_stream():
    class Bare(Plain):
        def stream(self, request):
            return Once([ChatDelta(text="a"), ChatResponse(text="a")])

    class Once:
        def __init__(self, pieces):
            self._pieces = iter(pieces)

        def __aiter__(self):
            return self

        async def __anext__(self):
            return next(self._pieces)

    assert len(await collect(Gateway().guard(Bare(None)))) == 2


def test_one_gateway_serves_several_event_loops():
    gateway = Gateway(concurrency=1, timeout_s=5)
    model = gateway.guard(ScriptedModel({"*": "x"}))
    for backend in ("asyncio", "asyncio", "trio"):
        assert anyio.run(model.complete, ASK, backend=backend).text == "x"


async def test_invalid_usage_is_corrected():
    odd = Usage.model_construct(
        input_tokens=-5, output_tokens=3, cache_read_tokens=-1, cache_write_tokens=0, reasoning_tokens=-9, calls=0,
        cost_usd=float("nan"),
    )  # fmt: skip
    response = await Gateway().guard(giving(ChatResponse.model_construct(text="x", usage=odd))).complete(ASK)
    assert response.usage == Usage(output_tokens=3, calls=1)
    told = Usage(input_tokens=1, calls=2, cost_usd=0.5)
    assert sane_usage(told) is told
    assert sane_usage(Usage(calls=2, cost_usd=0.5)) == Usage(calls=2, cost_usd=0.5, unreported_calls=2)


@pytest.mark.parametrize("concurrency", [0, -1])
def test_a_limit_below_one_is_refused(concurrency):
    with pytest.raises(ConfigurationError, match="concurrency"):
        Gateway(concurrency=concurrency)


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan")])
def test_a_deadline_is_positive(timeout_s):
    with pytest.raises(ConfigurationError, match="timeout_s"):
        Gateway(timeout_s=timeout_s)
    with pytest.raises(ConfigurationError, match="timeout_s"):
        Gateway().guard(giving(None), timeout_s=timeout_s)


class Addressed(ScriptedModel):
    """A model with an address, and something to fetch first."""

    endpoint = "http://127.0.0.1:1/v1"
    prepared = 0

    async def prepare(self) -> None:
        self.prepared += 1


async def test_extra_attributes_of_a_model_are_visible_through_any_number_of_guards() -> None:
    inner = Addressed(["Yes."])
    once = Gateway().guard(inner)
    twice = Gateway().guard(once)
    assert isinstance(once, GuardedModel)
    assert isinstance(twice, GuardedModel)
    assert (once.endpoint, twice.endpoint) == (inner.endpoint, inner.endpoint)
    await twice.prepare()
    assert inner.prepared == 1
    plain = Gateway().guard(ScriptedModel(["Yes."]))
    assert isinstance(plain, GuardedModel)
    await plain.prepare()
    assert plain.endpoint == ""
    assert (await twice.complete(ChatRequest(model="", messages=()))).text == "Yes."
