"""What is recorded is given back in order, once, to whoever asks the same; all else is refused or recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import anyio
import pytest
from unit.test_gateway_retry import Waiting

from roundtable.errors import (
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    CassetteMiss,
    ConfigurationError,
    RoundtableError,
)
from roundtable.gateway import Gateway, RetryRule
from roundtable.prompts import Fence
from roundtable.providers import Cassette, ScriptedModel
from roundtable.providers.cassette.tape import CassetteFile
from roundtable.settings import Settings
from roundtable.types import ChatDelta, ChatRequest, ChatResponse, Message, ModelProfile, ProviderConfig, Usage


def ask(text="Tea?", **more):
    return ChatRequest(model="", messages=(Message(role="user", content=text),), **more)


async def collect(model, request):
    return [piece async for piece in model.stream(request)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "calls" / "tape.jsonl"


async def record(path, *replies, requests=None, mode="record", **more):
    tape = Cassette(path, mode, **more)
    model = tape.over(ScriptedModel(list(replies)))
    for request in requests or [ask()] * len(replies):
        await model.complete(request)
    return tape


def offline(path):
    return Cassette(path, "replay").over(ScriptedModel([]))


async def test_equal_calls_are_replayed_in_order_and_each_once(path):
    await record(path, "one", "two")
    model = offline(path)
    assert [(await model.complete(ask())).text for _ in range(2)] == ["one", "two"]
    with pytest.raises(CassetteMiss, match="already replayed as often as it was recorded"):
        await model.complete(ask())


async def test_the_agent_and_the_time_are_not_part_of_a_recorded_question(path):
    first, second = (ask(Fence().quote("Tea?", label="question")) for _ in range(2))
    assert first != second
    await record(path, "Yes.", requests=[first.model_copy(update={"metadata": {"session": "1"}})])
    assert (await offline(path).complete(second)).text == "Yes."


@pytest.mark.parametrize(
    "other",
    [
        ask("Milk?"),
        ask(temperature=0.5),
        ask(max_tokens=5),
        ask(seed=1),
        ask().model_copy(update={"model": "another"}),
        ask().model_copy(update={"messages": (*ask().messages, *ask().messages)}),
    ],
    ids=["text", "temperature", "max_tokens", "seed", "model", "messages"],
)
async def test_another_question_is_another_call(path, other):
    await record(path, "Yes.")
    with pytest.raises(CassetteMiss):
        await offline(path).complete(other)


async def test_the_recording_made_for_the_same_turn_comes_first(path):
    who = [ask(metadata={"agent": name, "round": "1"}) for name in ("ada", "bo")]
    await record(path, "of ada", "of bo", requests=who)
    model = offline(path)
    assert (await model.complete(who[1])).text == "of bo"
    assert (await model.complete(ask())).text == "of ada"


async def test_a_miss_names_the_nearest_call_and_where_it_differs(path):
    near = ask("Should we drink tea or coffee?", metadata={"agent": "ada"})
    await record(path, "1", "2", requests=[ask("What is the time?"), near])
    with pytest.raises(CassetteMiss, match=r"recorded '.*tea or coffee.*', asked '.*tea or cocoa") as missed:
        await offline(path).complete(ask("Should we drink tea or cocoa?"))
    details = missed.value.details
    assert details["path"] == "request.messages[0].content"
    assert details["nearest"]["line"] == 3
    assert details["nearest"]["for"] == {"agent": "ada"}
    assert not missed.value.retryable
    with pytest.raises(CassetteMiss, match=r"differs in request.messages\[1\]"):
        await offline(path).complete(near.model_copy(update={"messages": (*near.messages, *near.messages)}))
    with pytest.raises(CassetteMiss, match="recorded with scripted:scripted, not scripted:big"):
        await offline(path).complete(near.model_copy(update={"model": "big"}))
    (path.parent / "empty.jsonl").write_text('{"kind": "cassette", "version": 1}\n')
    with pytest.raises(CassetteMiss, match="it is empty"):
        await offline(path.parent / "empty.jsonl").complete(ask())


async def test_a_stream_is_replayed_in_its_pieces_and_whole(path):
    tape = Cassette(path)
    streamed = await collect(tape.over(ScriptedModel(["All of it"], chunks=3)), ask())
    assert await collect(offline(path), ask()) == streamed
    assert len(streamed) == 4
    assert (await offline(path).complete(ask())).text == "All of it"


async def test_an_answer_that_was_not_streamed_is_replayed_in_one_piece(path):
    await record(path, "All of it")
    piece, response = await collect(offline(path), ask())
    assert (piece, response.text) == (ChatDelta(text="All of it"), "All of it")


async def test_errors_are_replayed_with_all_their_fields(path):
    error = APIRateLimitError("Slow down.", provider="acme", retry_after_s=7, request_id="r1", details={"status": 429})
    error.usage = Usage(calls=1, input_tokens=3)
    error.__cause__ = KeyError("inner")
    tape = Cassette(path)
    with pytest.raises(APIRateLimitError):
        await tape.over(ScriptedModel([error])).complete(ask())
    with pytest.raises(APITimeoutError):
        await collect(tape.over(ScriptedModel([APITimeoutError()])), ask())
    model = offline(path)
    with pytest.raises(APIRateLimitError) as found:
        await model.complete(ask())
    assert found.value.to_dict() == error.to_dict()
    assert found.value.usage == error.usage
    with pytest.raises(APITimeoutError):
        await collect(model, ask())


async def test_errors_from_outside_the_library_are_not_recorded(path):
    with pytest.raises(KeyError):
        await Cassette(path).over(ScriptedModel([KeyError("bug")])).complete(ask())
    pieces = Cassette(path).over(ScriptedModel(["left early"], chunks=3)).stream(ask())
    await anext(pieces)
    await pieces.aclose()
    assert not path.exists()


async def test_auto_makes_only_calls_that_are_not_recorded(path):
    await record(path, "one")
    real = ScriptedModel(["two"])
    model = Cassette(path).over(real)
    assert [(await model.complete(ask(text))).text for text in ("Tea?", "Milk?")] == ["one", "two"]
    assert real.calls == 1
    assert [(await offline(path).complete(ask(text))).text for text in ("Tea?", "Milk?")] == ["one", "two"]


async def test_record_replaces_the_file_with_the_first_call_and_not_before(path):
    await record(path, "old")
    tape = Cassette(path, "record")
    assert (await offline(path).complete(ask())).text == "old"
    await tape.over(ScriptedModel(["new"])).complete(ask())
    model = offline(path)
    assert (await model.complete(ask())).text == "new"
    assert model._cassette.unused == ()


async def test_recordings_can_be_replayed_once_more(path):
    tape = await record(path, "one")
    assert tape.unused == ()
    tape = Cassette(path, "replay")
    assert [call.label for call in tape.unused] == [{}]
    model = tape.over(ScriptedModel([]))
    await model.complete(ask())
    tape.rewind()
    assert (await model.complete(ask())).text == "one"


async def test_two_cassettes_on_one_file_lose_nothing_and_see_each_other(path):
    one, two = Cassette(path), Cassette(path)
    await one.over(ScriptedModel(["of one"])).complete(ask("1"))
    await two.over(ScriptedModel(["of two"])).complete(ask("2"))
    silent = ScriptedModel([])
    assert (await one.over(silent).complete(ask("2"))).text == "of two"
    assert (await two.over(silent).complete(ask("1"))).text == "of one"
    lines = [json.loads(line)["kind"] for line in path.read_text().splitlines()]
    assert lines == ["cassette", "call", "call"]


async def test_a_rewritten_cassette_is_noticed_by_others(path):
    await record(path, "old")
    reader = Cassette(path)
    await record(path, "new", requests=[ask("Milk?")])
    assert (await reader.over(ScriptedModel([])).complete(ask("Milk?"))).text == "new"


WRITER = """
import sys, anyio
from roundtable.providers import Cassette, ScriptedModel
from roundtable.types import ChatRequest, Message
async def main():
    model = Cassette(sys.argv[1]).over(ScriptedModel(lambda request: "x" * 5000))
    for number in range(30):
        await model.complete(ChatRequest(model="", messages=(Message(role="user", content=f"{sys.argv[2]} {number}"),)))
anyio.run(main)
"""


@pytest.mark.slow
def test_processes_that_write_at_once_never_mix_their_lines(path):
    running = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "abc"]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["kind"] for line in lines].count("cassette") == 1
    said = {line["request"]["messages"][0]["content"] for line in lines if line["kind"] == "call"}
    assert said == {f"{name} {number}" for name in "abc" for number in range(30)}


async def test_a_half_written_line_of_a_killed_process_is_skipped_and_repaired(path):
    await record(path, "one")
    with path.open("ab") as file:
        file.write(b'{"kind": "call", "key": "ab')
    assert (await offline(path).complete(ask())).text == "one"
    await record(path, "two", mode="auto", requests=[ask("Milk?")])
    assert (await offline(path).complete(ask("Milk?"))).text == "two"
    for line in path.read_text().splitlines():
        json.loads(line)
    path.write_bytes(b'{"kind": "cass')
    await record(path, "three", mode="auto")
    assert (await offline(path).complete(ask())).text == "three"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "line 1 .* is not JSON"),
        ("[]\n", "not an object with a 'kind'"),
        ('{"kind": "call"}\n', "not a cassette"),
        ('{"kind": "cassette", "version": 99}\n', "format 99"),
        ('{"kind": "cassette"}\n', "format None"),
        ('{"kind": "cassette", "version": 1}\n\n{"kind": "call"}\n', "line 3 .* lacks"),
        (
            '{"kind": "cassette", "version": 1}\n{"kind": "call", "key": "", "provider": "", "model": ""}\n',
            "line 2 .* lacks",
        ),
        ('{"kind": "cassette", "version": 1}\n{"kind": "model", "profile": 1}\n', "line 2 .* lacks"),
        ('{"kind": "cassette", "version": 1}\n{"kind": "model", "profile": {}}\n', "line 2 .* lacks"),
    ],
)
def test_an_invalid_cassette_is_refused_with_its_line(path, text, message):
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        Cassette(path)


async def test_lines_of_a_newer_kind_are_skipped(path):
    await record(path, "one")
    with path.open("a") as file:
        file.write('{"kind": "remark"}\n')
    assert (await offline(path).complete(ask())).text == "one"


@pytest.mark.parametrize(
    "outcome",
    [
        '"response": {"words": 1}',
        '"error": {"usage": {"calls": -1}}',
        '"response": {"text": "x"}, "deltas": [{"words": 1}]',
    ],
)
async def test_an_unreadable_response_is_reported_with_its_line(path, outcome):
    await record(path, "one")
    head, call = path.read_text().splitlines()
    before, _ = call.split('"response"')
    path.write_text(f"{head}\n{before}{outcome}}}\n")
    with pytest.raises(ConfigurationError, match="line 2 of the cassette"):
        await collect(offline(path), ask())


@pytest.mark.skipif(os.name == "nt", reason="there are no modes of files")
def test_a_new_cassette_is_private_and_no_link_is_followed(tmp_path):
    victim = tmp_path / "victim.txt"
    victim.write_text("keep me")
    path = tmp_path / "tape.jsonl"
    (tmp_path / f".{path.name}.{os.getpid()}.tmp").symlink_to(victim)
    path.symlink_to(victim)
    CassetteFile(path).begin_anew()
    assert victim.read_text() == "keep me"
    assert not path.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    other = tmp_path / "other.jsonl"
    CassetteFile(other).append([{"kind": "call"}])
    assert other.stat().st_mode & 0o777 == 0o600


def test_an_unusable_path_is_reported(tmp_path):
    with pytest.raises(ConfigurationError, match=r"cannot replay the cassette .* no such file"):
        Cassette(tmp_path / "none.jsonl", "replay")
    with pytest.raises(ConfigurationError, match="mode"):
        Cassette(tmp_path / "none.jsonl", "once")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Cassette(tmp_path)


@pytest.mark.parametrize("mode", ["auto", "record"])
async def test_a_file_that_cannot_be_written_is_reported(tmp_path, mode):
    tape = Cassette(tmp_path / "folder" / "tape.jsonl", mode)
    (tmp_path / "folder").write_text("a file where a folder is to be")
    with pytest.raises(ConfigurationError, match=r"cannot be (?:written|read)"):
        await tape.over(ScriptedModel(["x"])).complete(ask())


async def test_a_model_by_name_is_created_only_when_it_is_called(path):
    made = []

    def make():
        made.append(1)
        return ScriptedModel(["one", "two"], provider="acme", model="large", profile=ModelProfile(context_tokens=99))

    first = Cassette(path).model("acme", None, make)
    await first.complete(ask())
    assert (first.model, made) == ("large", [1])
    await first.prepare()
    await first.aclose()
    again = Cassette(path).model("acme", None, make)
    assert (await again.complete(ask())).text == "one"
    assert (again.provider, again.model, again.profile.context_tokens, made) == ("acme", "large", 99, [1])
    await again.aclose()
    replay = Cassette(path, "replay")
    assert (await replay.model("acme", None, make).complete(ask())).text == "one"
    with pytest.raises(CassetteMiss, match="knows no model 'acme:small'; it knows: acme:large"):
        replay.model("acme", "small", make)
    assert made == [1]
    assert "acme:large" in repr(again)
    assert "replay" in repr(replay)


async def test_a_model_that_has_to_load_does_so_before_its_first_call(path):
    class Loads(ScriptedModel):
        loaded = 0

        async def prepare(self):
            self.loaded += 1

    model = Loads(["one"])
    taped = Cassette(path, "record").over(model)
    await taped.prepare()
    await taped.complete(ask())
    assert model.loaded == 1


async def test_the_provider_replay_gives_recorded_answers_of_any_model(path):
    from roundtable.providers import chat_model
    from roundtable.providers.cassette import ReplayProvider

    await collect(Cassette(path).over(ScriptedModel(["one"], provider="acme", model="x", chunks=2)), ask())
    await record(path, "two", mode="auto", requests=[ask("Milk?")])
    model = chat_model(f"replay:{path}", settings=Settings())
    assert (model.provider, model.model) == ("replay", str(path))
    assert [piece.text for piece in await collect(model, ask())] == ["on", "e", "one"]
    assert (await model.complete(ask("Milk?"))).text == "two"
    with pytest.raises(CassetteMiss):
        await model.complete(ask("Milk?"))
    await model.aclose()
    assert "ReplayModel" in repr(model)
    provider = ReplayProvider()
    one, two = (provider(str(path), ProviderConfig(), Settings()) for _ in range(2))
    await one.complete(ask())
    with pytest.raises(CassetteMiss):
        await two.complete(ask())
    with pytest.raises(ConfigurationError, match="needs a cassette"):
        provider(None, ProviderConfig(), Settings())


CANARY = "sk-canary+/=0123456789?"


async def test_no_form_of_a_key_gets_into_the_file(path):
    from unit.secrets_kit import traces

    tape = Cassette(path, secrets=[CANARY])
    every = " ".join(traces(CANARY))
    error = APITimeoutError(f"GET https://host/?key={every}", details={"sent": every}, request_id=CANARY)
    replies = [ChatResponse(text=every, model=CANARY, request_id=CANARY), error]
    model = tape.over(ScriptedModel(replies, chunks=2))
    request = ask(f"My key is {every}", metadata={"agent": CANARY})
    await collect(model, request)
    with pytest.raises(APITimeoutError):
        await model.complete(ask(every))
    written = path.read_text()
    assert "canary" not in written
    assert all(trace not in written for trace in traces(CANARY))
    # Whoever replays knows no key, and the question is the same for them as long as it holds none.
    known = Cassette(path, "replay", secrets=[CANARY]).over(ScriptedModel([]))
    assert "[redacted]" in (await known.complete(request)).text


async def test_a_last_line_without_its_end_counts_when_it_is_whole(path):
    await record(path, "one")
    await record(path, "two", mode="auto", requests=[ask("Milk?")])
    stripped = path.read_bytes().rstrip(b"\n")
    path.write_bytes(stripped)
    reader = Cassette(path)
    assert len(reader.unused) == 2
    # Whoever goes on recording neither loses the line nor writes on behind it, and readers number lines alike.
    await record(path, "three", mode="auto", requests=[ask("Cocoa?")])
    assert path.read_bytes().startswith(stripped + b"\n{")
    assert (await reader.over(ScriptedModel([])).complete(ask("Cocoa?"))).text == "three"
    again = Cassette(path, "replay")
    assert [call.line for call in again.unused][:2] == [call.line for call in reader.unused]
    reader.rewind()
    assert reader.unused == again.unused


async def test_a_recorded_failure_is_tried_again_at_once(path, caplog):
    clock, notices = Waiting(), []
    tape = Cassette(path, "record")
    busy = [APITimeoutError(), APIRateLimitError(retry_after_s=90), "Tea"]
    recording = Gateway(clock=clock, timeout_s=500).guard(tape.over(ScriptedModel(busy)))
    assert (await recording.complete(ask())).text == "Tea"
    assert 91 < sum(clock.waits) < 111

    async def told(notice):
        notices.append(notice)

    async def wanted():
        pass

    for timeout_s, text in ((500, "Tea"), (80, None)):
        still = Waiting()
        model = Gateway(clock=still, timeout_s=timeout_s).guard(offline(path)).asking(wanted, told)
        if text is None:
            # The deadline that the recorded wait would have missed is missed by its replay.
            with pytest.raises(APIRateLimitError, match="after 2 attempts"):
                await model.complete(ask())
        else:
            assert (await model.complete(ask())).text == text
        assert still.waits == []
    assert {notice.delay_s for notice in notices} == {0.0}
    assert notices[0].error.is_recorded


async def test_a_breaker_uses_the_recorded_time_although_a_replay_does_not_wait(path):
    replies = [APINetworkError() for _ in range(20)]
    tape, clock = Cassette(path, "record"), Waiting()
    recorded, replayed = [], []
    for seen, time, inner in (
        (recorded, clock, tape.over(ScriptedModel(replies))),
        (replayed, Waiting(), None),
    ):
        model = Gateway(clock=time, seed=1, retry=RetryRule(base_delay_s=20)).guard(inner or offline(path))
        for _ in range(3):
            with pytest.raises(RoundtableError) as caught:
                await model.complete(ask())
            seen.append((type(caught.value), model.endpoint_state.breaker.state, model.endpoint_state.breaker.failures))
    assert recorded == replayed


async def test_a_recorded_call_is_replayed_though_the_breakers_would_refuse_it_now(path):
    """Two calls at once with a refused key were both made; a replay makes them one after the other."""

    class Refusing(ScriptedModel):
        endpoint = "https://api.acme.test"

    refused = APIAuthError("no", details={"status": 401})
    tape = Cassette(path, "record")
    for account in ("one", "two"):
        live = Refusing([refused])
        live.account = account
        with pytest.raises(APIAuthError):
            await Gateway(clock=Waiting()).guard(tape.over(live)).complete(ask())
    model = Gateway(clock=Waiting()).guard(Cassette(path, "replay").over(Refusing([])))
    for _ in range(2):
        with pytest.raises(APIAuthError, match=r"^no$"):
            await model.complete(ask())
    with pytest.raises(APIAuthError, match="refused this key"):
        await model.complete(ask())


@pytest.mark.parametrize("wrong", [0, [], {}, 1.5, None, ""])
def test_an_invalid_path_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="must be a path or a Cassette"):
        Cassette(wrong)


async def test_a_model_that_was_made_and_never_called_is_closed(path):
    class Closing(ScriptedModel):
        closed = 0

        async def aclose(self):
            self.closed += 1

    made = Closing([])
    await Cassette(path, "record").model("scripted", None, lambda: made).aclose()
    assert made.closed == 1


class Stalling(ScriptedModel):
    """Says a little, in a stream, and then nothing for long."""

    def __init__(self):
        super().__init__([])

    async def complete(self, request):
        await anyio.sleep(60)
        raise AssertionError

    async def stream(self, request):
        for text in ("Ear", "l Grey"):
            yield ChatDelta(text=text)
        yield await self.complete(request)


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_call_that_ended_at_its_deadline_is_replayed_as_such_and_not_retried(path, streamed):
    live = Stalling()
    failures = []
    for timeout_s, mode in ((0.05, "record"), (60, "replay")):
        inner = Cassette(path, mode, secrets=["Earl"]).over(live)
        model = Gateway(timeout_s=timeout_s, retry=RetryRule(base_delay_s=0)).guard(inner)
        with pytest.raises(APITimeoutError, match=r"no complete answer within 0\.05 s") as caught:
            await (collect(model, ask()) if streamed else model.complete(ask()))
        failures.append(
            (caught.value.message, caught.value.usage, caught.value.retryable, model.endpoint_state.breaker.failures)
        )
        assert ("partial_answer" in (caught.value.details or {})) is streamed
    assert failures[0] == failures[1]
    assert "Earl" not in path.read_text()


async def test_a_call_that_its_caller_gave_up_is_not_recorded(path):
    tape = Cassette(path, "auto")
    model = Gateway(timeout_s=60).guard(tape.over(Stalling()))
    with anyio.move_on_after(0.02):
        await model.complete(ask())
    assert not path.exists()


async def test_a_replay_that_ends_at_a_deadline_writes_nothing(path):
    await record(path, "Tea.")
    before = path.read_bytes()
    model = Gateway(timeout_s=1e-9).guard(offline(path))
    with pytest.raises(APITimeoutError):
        await model.complete(ask())
    assert path.read_bytes() == before
