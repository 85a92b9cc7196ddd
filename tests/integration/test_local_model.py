"""The embedded model itself: real weights, real answers, in this process."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import anyio
import pytest
from integration.embedded_kit import loaded

from roundtable import Roundtable
from roundtable.errors import AgentError, ConfigurationError, ContextTooLong
from roundtable.providers import LocalProvider
from roundtable.settings import Settings
from roundtable.types import ChatRequest, Message, OutputSchema, ProviderConfig

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(not LocalProvider.is_installed(), reason="the extra `local` is not installed"),
]

SCHEMA = OutputSchema(
    name="position",
    definition={
        "type": "object",
        "properties": {
            "position": {"type": "string", "minLength": 3, "maxLength": 90},
            "confidence": {"type": "integer", "minimum": 0, "maximum": 100},
        },
        "required": ["position", "confidence"],
        "additionalProperties": False,
    },
)
ASK = ChatRequest(
    model="",
    messages=(
        Message(role="system", content="You are Ada, an expert. Answer in JSON."),
        Message(role="user", content="Should offices allow dogs? Give position and confidence."),
    ),
    temperature=0.7,
    seed=3,
    output_schema=SCHEMA,
)


@pytest.fixture(scope="module")
def provider():
    """One provider whose model stays loaded from test to test."""
    made = LocalProvider()
    with loaded(made):
        yield made


@pytest.fixture
async def model(provider):
    made = provider(None, ProviderConfig(), Settings.from_env())
    yield made
    await made.aclose()


@pytest.mark.slow
async def test_the_model_answers_in_the_requested_form_and_equally_for_equal_seeds(model, capfd):
    first, second = await model.complete(ASK), await model.complete(ASK)
    assert first == second
    answer = json.loads(first.text)
    assert answer.keys() == {"position", "confidence"}
    assert 0 <= answer["confidence"] <= 100
    assert 3 <= len(answer["position"]) <= 90
    assert first.finish_reason == "stop"
    assert first.usage.input_tokens > 20
    assert first.usage.output_tokens > 5
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
async def test_the_pieces_of_a_stream_make_up_the_answer(model):
    async with model.stream(ASK) as stream:
        pieces = [piece.text async for piece in stream if piece.text]
    assert len(pieces) > 10
    assert "".join(pieces) == stream.response.text
    assert stream.response == await model.complete(ASK)


@pytest.mark.slow
async def test_a_listener_of_a_debate_gets_pieces_of_the_embedded_model(provider):
    heard, said = {}, {}
    async with (
        Roundtable(("local", "local"), storage="memory://", seed=3) as table,
        table.stream("Should offices allow dogs?", rounds=1) as events,
    ):
        async for event in events:
            if event.type == "agent_response_chunk":
                heard.setdefault(event.agent, []).append(event.chunk)
            if event.type == "agent_complete":
                said[event.turn.agent_id] = event.turn.result.answer
    assert heard.keys() == said.keys() == {"synthesizer", "analyst"}
    for agent, pieces in heard.items():
        assert len(pieces) > 10
        assert json.loads("".join(pieces))["position"] == said[agent].position


@pytest.mark.slow
async def test_cancelling_an_answer_frees_the_model(model):
    long = ASK.model_copy(update={"output_schema": None, "max_tokens": 200, "seed": 1})
    start = time.monotonic()
    with anyio.move_on_after(0.3):
        await model.complete(long)
    assert time.monotonic() - start < 0.3 + 2
    with anyio.fail_after(10):
        assert (await model.complete(long.model_copy(update={"max_tokens": 5}))).finish_reason == "length"


async def test_a_prompt_beyond_the_context_window_has_its_own_error(model):
    message = Message(role="user", content="word " * 4000)
    with pytest.raises(ContextTooLong):
        await model.complete(ASK.model_copy(update={"messages": (message,)}))


async def test_an_invalid_schema_is_refused(model):
    broken = OutputSchema(name="x", definition={"type": "bogus"})
    with pytest.raises(AgentError, match="rejects the request"):
        await model.complete(ASK.model_copy(update={"output_schema": broken}))


async def test_a_file_that_is_not_a_model_is_refused_quietly(provider, tmp_path, capfd):
    (tmp_path / "junk.gguf").write_bytes(b"junk" * 100)
    made = provider(str(tmp_path / "junk.gguf"), ProviderConfig(), Settings())
    with pytest.raises(ConfigurationError, match="cannot be loaded as a model"):
        await made.complete(ASK)
    await made.aclose()
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_program_that_ends_without_closing_ends_cleanly(provider):
    code = (
        "import anyio\n"
        "from roundtable.providers import chat_model\n"
        "from roundtable.types import ChatRequest, Message\n"
        "model = chat_model('local')\n"
        "ask = ChatRequest(model='', messages=(Message(role='user', content='Hi'),), max_tokens=5)\n"
        "print(anyio.run(model.complete, ask).usage.calls)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
