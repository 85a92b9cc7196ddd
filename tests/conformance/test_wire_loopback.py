"""The recorded answers once more, served over HTTP on the loopback address and read by the real models."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from conformance.recordings import APIS, TOOLS, WIRE, needs_recordings, of_api
from conformance.test_wire import DIFFERENCES, differences
from conformance.wire_reader import read

from roundtable.errors import RoundtableError
from roundtable.protocols import ChatModel
from roundtable.providers import chat_model
from roundtable.types import ChatRequest, ChatResponse, Message

pytestmark = needs_recordings

MODELS = {
    "anthropic.messages": "anthropic:m",
    "openai.responses": "openai:m",
    "openai.chat": "compatible:m",
    "google.generate_content": "google:m",
    "perplexity.chat": "perplexity:m",
}
KEY = "sk-loopback-secret-0123456789"


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """Serve the recordings."""
    spec = importlib.util.spec_from_file_location("replay_server", TOOLS / "replay_server.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    server = module.make_server([str(WIRE)])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(5)


async def ask(model: ChatModel, record: dict[str, Any]) -> ChatResponse | RoundtableError:
    """Replay one recording through a model."""
    knobs = {"x-replay-id": record["id"], "x-replay-max-chunk": "400"}
    request = ChatRequest(messages=(Message(role="user", content="Hi"),), extra_headers=knobs)
    try:
        if not record["stream"]:
            return await model.complete(request)
        async with model.stream(request) as deltas:
            text = "".join([delta.text async for delta in deltas])
        # A fixture that was cut by hand says other pieces than its end.
        assert deltas.response.text.startswith(text) or record["trust"] == 3
        return deltas.response
    except RoundtableError as error:
        return error


@pytest.mark.parametrize("step", [pytest.param(6, id="everyday"), pytest.param(1, id="ci", marks=pytest.mark.slow)])
@pytest.mark.parametrize("api", APIS)
def test_a_replayed_answer_is_read_as_the_reader_reads_it(api: str, step: int, served: str) -> None:
    """Every day each sixth recording is read, in CI each."""
    records = of_api(api)[::step]
    found: dict[str, list[str]] = {}

    async def one(model: ChatModel, record: dict[str, Any], limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            answer = await ask(model, record)
        found[record["id"]] = differences(record, answer, read(record))
        if isinstance(answer, RoundtableError):
            assert KEY not in f"{answer}{answer.to_dict()}"
            assert answer.provider == MODELS[api].partition(":")[0]

    async def main() -> None:
        model = chat_model(MODELS[api], api_key=KEY, base_url=served)
        limiter = anyio.CapacityLimiter(8)
        async with anyio.create_task_group() as group:
            for record in records:
                group.start_soon(one, model, record, limiter)
        await model.aclose()

    anyio.run(main)
    assert {name: what for name, what in found.items() if what and name not in DIFFERENCES} == {}
    assert len(found) == len(records)
