"""The double says what it was told, once each, and tells on whoever does not follow the script."""

from __future__ import annotations

import json

import anyio
import pytest

from roundtable.errors import AgentError, APIRateLimitError, ConfigurationError
from roundtable.providers import Delay, ScriptedModel, chat_model
from roundtable.settings import Settings
from roundtable.types import AgentResponse, ChatDelta, ChatRequest, ChatResponse, Message, ModelProfile, Usage


def ask(agent=None, **more):
    return ChatRequest(
        model="", messages=(Message(role="user", content="x" * 40),), metadata={"agent": agent} if agent else {}, **more
    )


async def texts(model, *agents):
    return [(await model.complete(ask(agent))).text for agent in agents]


async def test_a_sequence_is_used_in_order_for_all_agents():
    model = ScriptedModel(["one", "two", "three"])
    assert await texts(model, "ada", None, "bo") == ["one", "two", "three"]
    assert model.calls == 3
    assert [request.metadata for request in model.requests] == [{"agent": "ada"}, {}, {"agent": "bo"}]
    model.assert_consumed()


async def test_a_mapping_answers_by_agent():
    model = ScriptedModel({"ada": ["a1", "a2"], "bo": "always", "*": "anyone"})
    assert await texts(model, "bo", "ada", "cy", "ada", "bo", None) == [
        "always",
        "a1",
        "anyone",
        "a2",
        "always",
        "anyone",
    ]
    assert (model.calls_for("ada"), model.calls_for("bo"), model.calls_for("*"), model.calls_for("dan")) == (2, 2, 2, 0)
    model.assert_consumed()


async def test_another_key_may_be_read_from_the_request():
    model = ScriptedModel({"40": ["by length"]}, key=lambda request: str(len(request.messages[0].content)))
    assert await texts(model, "ada") == ["by length"]


async def test_a_function_can_return_any_reply():
    model = ScriptedModel(lambda request: f"for {request.metadata['agent']}")
    assert await texts(model, "ada", "bo") == ["for ada", "for bo"]
    model.assert_consumed()


async def test_objects_and_positions_are_rendered_as_their_json():
    position = AgentResponse(agent_id="ada", agent_name="Ada", position="Ja, schön", reasoning="Weil.", confidence=0.8)
    model = ScriptedModel([{"position": "No", "confidence": 1}, position])
    first, second = await texts(model, None, None)
    assert json.loads(first) == {"position": "No", "confidence": 1}
    assert json.loads(second) == {"position": "Ja, schön", "reasoning": "Weil.", "confidence": 0.8}


async def test_a_complete_response_is_returned_unchanged():
    response = ChatResponse(text="x", usage=Usage(input_tokens=5, calls=1), finish_reason="length")
    assert await ScriptedModel([response]).complete(ask()) is response


async def test_usage_is_plausible_and_always_the_same():
    model = ScriptedModel(["12345678", "12345678"])
    first, second = [await model.complete(ask()) for _ in range(2)]
    assert first.usage == second.usage == Usage(input_tokens=10, output_tokens=2, calls=1)


async def test_exceptions_are_raised():
    model = ScriptedModel([APIRateLimitError(), ValueError("foreign"), "then fine"])
    with pytest.raises(APIRateLimitError):
        await model.complete(ask())
    with pytest.raises(ValueError, match="foreign"):
        await model.complete(ask())
    assert await texts(model, None) == ["then fine"]


async def test_delays_wait_and_may_hold_an_exception():
    model = ScriptedModel({"ada": [Delay(0.05, Delay(0.01, "late"))], "bo": [Delay(0, APIRateLimitError())]})
    start = anyio.current_time()
    assert await texts(model, "ada") == ["late"]
    assert anyio.current_time() - start >= 0.05
    with pytest.raises(APIRateLimitError):
        await model.complete(ask("bo"))


async def test_a_delay_ends_with_the_call():
    model = ScriptedModel([Delay(60, "never")])
    with anyio.move_on_after(0.02) as scope:
        await model.complete(ask())
    assert scope.cancelled_caught


async def test_parallel_calls_of_several_agents_get_their_own_replies():
    model = ScriptedModel({name: [f"{name}{turn}" for turn in range(20)] for name in "abcde"})
    found = {}

    async def speak(name):
        found[name] = await texts(model, *([name] * 20))

    async with anyio.create_task_group() as tasks:
        for name in "abcde":
            tasks.start_soon(speak, name)
    assert found == {name: [f"{name}{turn}" for turn in range(20)] for name in "abcde"}
    model.assert_consumed()


async def test_a_call_without_a_reply_fails_at_once_and_is_reported_again_at_the_end():
    model = ScriptedModel({"ada": ["one"]})
    await model.complete(ask("ada"))
    for agent in ("ada", "bo"):
        with pytest.raises(AgentError, match=f"agent '{agent}'") as caught:
            await model.complete(ask(agent))
        assert not caught.value.retryable
    with pytest.raises(AssertionError, match=r"unexpected call 2.*unexpected call 3"):
        model.assert_consumed()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (["one", "two"], r"2 of 2 replies left for '\*'"),
        ({"ada": ["one"], "bo": "always"}, "1 of 1 replies left for 'ada'; never called for 'bo'"),
    ],
    ids=["sequence", "mapping"],
)
async def test_unused_replies_are_reported(script, message):
    with pytest.raises(AssertionError, match=message):
        async with ScriptedModel(script):
            pass


async def test_a_reply_for_anyone_need_not_be_used():
    async with ScriptedModel({"*": "x"}) as model:
        assert repr(model) == "ScriptedModel(model='scripted', calls=0)"


async def test_leaving_the_block_with_an_error_keeps_that_error():
    with pytest.raises(KeyError):
        async with ScriptedModel(["unused"]):
            raise KeyError


async def test_closing_never_complains():
    model = ScriptedModel(["unused"])
    await model.aclose()
    await model.aclose()


@pytest.mark.parametrize(
    ("chunks", "pieces"), [(0, []), (1, ["abcdefg"]), (3, ["abc", "def", "g"]), (50, list("abcdefg"))]
)
async def test_streams_come_in_the_requested_pieces_and_then_as_a_whole(chunks, pieces):
    model = ScriptedModel(["abcdefg"], chunks=chunks)
    *deltas, last = [piece async for piece in model.stream(ask())]
    assert deltas == [ChatDelta(text=piece) for piece in pieces]
    assert isinstance(last, ChatResponse)
    assert last.text == "abcdefg"
    assert model.profile == ModelProfile(streams=chunks > 0, inputs=("image", "pdf"))


async def test_a_stream_of_an_exception_raises_it():
    with pytest.raises(APIRateLimitError):
        async for _ in ScriptedModel([APIRateLimitError()], chunks=2).stream(ask()):
            pass


def test_names_and_profile_can_be_chosen():
    profile = ModelProfile(prompt_style="compact")
    model = ScriptedModel([], model="m", provider="p", profile=profile, chunks=2)
    assert (model.model, model.provider, model.profile) == ("m", "p", profile)


async def test_an_invalid_script_is_refused():
    with pytest.raises(TypeError, match="put a single text in a list"):
        ScriptedModel("text")
    with pytest.raises(TypeError, match="not int"):
        await ScriptedModel([7]).complete(ask())


class TestFiles:
    def model(self, path):
        return chat_model(f"scripted:{path}", settings=Settings())

    async def test_a_list_or_an_object_in_a_file_is_a_script(self, tmp_path):
        (tmp_path / "list.json").write_text('["one", {"position": "Zwölf"}]', "utf-8")
        (tmp_path / "map.json").write_text('{"ada": ["a"], "*": "b"}', "utf-8")
        assert await texts(self.model(tmp_path / "list.json"), None, None) == ["one", '{"position": "Zwölf"}']
        by_name = self.model(tmp_path / "map.json")
        assert await texts(by_name, "ada", "bo") == ["a", "b"]
        assert by_name.model == "map.json"

    @pytest.mark.parametrize("content", ['"text"', "7", "[1]", '{"a": [null]}', "{broken", "[" * 100_000, "\x00"])
    def test_other_files_are_refused(self, tmp_path, content):
        path = tmp_path / "script.json"
        path.write_text(content)
        with pytest.raises(ConfigurationError) as caught:
            self.model(path)
        assert caught.value.hint

    def test_a_missing_file_or_name_is_refused(self, tmp_path):
        with pytest.raises(ConfigurationError, match="cannot read"):
            self.model(tmp_path / "none.json")
        with pytest.raises(ConfigurationError, match="needs a file"):
            chat_model("scripted", settings=Settings())
