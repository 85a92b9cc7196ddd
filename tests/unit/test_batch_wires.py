"""The batch APIs of vendors: what a hostile or broken server may send."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roundtable.errors import AgentError
from roundtable.http.client import HttpRequest, HttpResponse
from roundtable.providers.batches.wires import (
    AnthropicBatches,
    BatchCall,
    BatchState,
    BatchWire,
    GoogleBatches,
    OpenAIBatches,
)

ANTHROPIC, GOOGLE, OPENAI = AnthropicBatches(), GoogleBatches(), OpenAIBatches()
URLS = {
    ANTHROPIC: "http://127.0.0.1/v1/messages",
    GOOGLE: "http://127.0.0.1/v1beta/models/gemini:generateContent",
    OPENAI: "http://127.0.0.1/v1/responses",
}
ENDED = BatchState(has_ended=True)


class Wire:
    """Answers each request with the next document, and keeps the requests."""

    def __init__(self, *documents: Any) -> None:
        self.documents = list(documents)
        self.requests: list[HttpRequest] = []

    async def __call__(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(request)
        document = self.documents.pop(0)
        return HttpResponse(200, {}, document if isinstance(document, bytes) else json.dumps(document).encode())


def calls_to(wire: BatchWire) -> list[BatchCall]:
    return [BatchCall(f"k{n}", HttpRequest("POST", URLS[wire], {}, b'{"model": "m"}')) for n in range(2)]  # type: ignore[index]


@pytest.mark.parametrize("wire", URLS, ids=lambda wire: type(wire).__name__)
@pytest.mark.parametrize(
    "document", [{}, {"id": 3, "name": None}, [], b"null"], ids=["empty", "numbers", "list", "null"]
)
async def test_a_batch_without_an_id_may_have_been_accepted(wire: BatchWire, document: Any) -> None:
    with pytest.raises(AgentError) as caught:
        await wire.submit(Wire(document, document), "b", calls_to(wire))
    assert caught.value.retryable


@pytest.mark.parametrize("wire", URLS, ids=lambda wire: type(wire).__name__)
async def test_an_unknown_state_is_not_the_end_of_a_batch(wire: BatchWire) -> None:
    for document in ({}, {"status": "new", "processing_status": "new", "metadata": {"state": "BATCH_STATE_NEW"}}):
        assert not (await wire.look(Wire(document), URLS[wire], "b/1?x=../y")).has_ended  # type: ignore[index]


@pytest.mark.parametrize("wire", [ANTHROPIC, OPENAI], ids=lambda wire: type(wire).__name__)
async def test_an_id_from_the_server_leads_to_no_other_address(wire: BatchWire) -> None:
    send = Wire({})
    await wire.look(send, URLS[wire], "../../../keys?x#y")  # type: ignore[index]
    assert send.requests[0].url.endswith("/batches/..%2F..%2F..%2Fkeys%3Fx%23y")


LINES = b"""
not JSON
[1]
{"custom_id": "k0", "result": {"type": "succeeded", "message": {"a": 1}}, "response": {"body": {"a": 1}}}
{"custom_id": "k0", "result": {"type": "errored"}, "response": {"status_code": 500, "body": {}}}
{"custom_id": ["k1"], "result": 3, "response": "x"}
{"custom_id": "k1", "result": {"type": "unheard of"}, "error": {"code": "batch_expired"}}
{"custom_id": "stranger", "result": {"type": "succeeded", "message": null}, "response": {"body": null}}
{"custom_id": "k2", "result": {"type": "succ
"""


async def test_whole_lines_of_a_damaged_file_count_and_only_the_first_for_each_call(monkeypatch: Any) -> None:
    found = await ANTHROPIC.answers(Wire(LINES), URLS[ANTHROPIC], "b", ENDED)
    assert (found["k0"].status, json.loads(found["k0"].body)) == (200, {"a": 1})
    assert found["k1"].outcome == "expired"
    assert "k2" not in found
    state = BatchState(has_ended=True, document={"output_file_id": "f", "error_file_id": None})
    found = await OPENAI.answers(Wire(LINES), URLS[OPENAI], "b", state)
    assert (found["k0"].status, json.loads(found["k0"].body)) == (200, {"a": 1})
    assert found["k1"].outcome == "expired"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"type": "overloaded_error"}, 529),
        ({"type": "rate_limit_error"}, 429),
        ({"type": "billing_error"}, 402),
        ({"type": "timeout_error"}, 504),
        ({"type": "new"}, 500),
        ({}, 500),
    ],
)
async def test_errors_of_anthropic_have_the_same_status_as_in_a_plain_call(error: dict[str, Any], status: int) -> None:
    line = {"custom_id": "k", "result": {"type": "errored", "error": {"type": "error", "error": error}}}
    found = await ANTHROPIC.answers(Wire(line), URLS[ANTHROPIC], "b", ENDED)
    assert found["k"].status == status


@pytest.mark.parametrize(("code", "status"), [(3, 400), (8, 429), (9, 400), (12, 501), (14, 500), ("x", 500)])
async def test_errors_of_google_have_the_same_status_as_in_a_plain_call(code: object, status: int) -> None:
    listed = [{"metadata": {"key": "k"}, "error": {"code": code}}]
    state = BatchState(has_ended=True, document={"response": {"inlinedResponses": listed}})
    assert (await GOOGLE.answers(Wire(), URLS[GOOGLE], "b", state))["k"].status == status


async def test_batches_that_failed_as_a_whole_say_why() -> None:
    with pytest.raises(AgentError, match="the batch was refused: line 3 is wrong") as caught:
        await OPENAI.look(
            Wire({"status": "failed", "errors": {"data": [{"message": "line 3 is wrong"}, 3]}}), URLS[OPENAI], "b"
        )
    assert not caught.value.retryable
    with pytest.raises(AgentError, match="the batch failed: no quota"):
        await GOOGLE.answers(
            Wire(), URLS[GOOGLE], "b", BatchState(has_ended=True, document={"error": {"message": "no quota"}})
        )


async def test_answers_of_google_may_be_in_a_list_of_their_own_or_in_the_metadata() -> None:
    listed = [{"metadata": {"key": "k"}, "response": {"a": 1}}, 3, {"error": {"code": 8}}, {"error": {"code": "x"}}]
    output = {"inlinedResponses": {"inlinedResponses": listed}}
    for document in (
        {"response": {"inlinedResponses": listed}},
        {"response": output},
        {"metadata": {"state": "BATCH_STATE_SUCCEEDED", "output": output}},
    ):
        found = await GOOGLE.answers(Wire(), URLS[GOOGLE], "b", BatchState(has_ended=True, document=document))
        assert json.loads(found["k"].body) == {"a": 1}
    assert await GOOGLE.answers(Wire(), URLS[GOOGLE], "b", BatchState(has_ended=True, document={"response": []})) == {}


async def test_a_batch_of_anthropic_that_still_runs_may_be_the_lost_one() -> None:
    running = {"data": [3, {}, {"id": "b1", "processing_status": "in_progress", "created_at": "soon"}]}
    with pytest.raises(AgentError, match="still running") as caught:
        await ANTHROPIC.find(Wire(running), URLS[ANTHROPIC], "b", "k", 2e9)
    assert caught.value.retryable
    old = {"data": [{"id": "b1", "processing_status": "ended", "created_at": "2001-01-01T00:00:00Z"}]}
    assert await ANTHROPIC.find(Wire(old), URLS[ANTHROPIC], "b", "k", 2e9) is None


async def test_calls_to_an_address_without_batches_are_refused() -> None:
    with pytest.raises(AgentError, match="calls of '/v1/embeddings' cannot be batched"):
        await OPENAI.find(Wire(), "http://127.0.0.1/v1/embeddings", "b", "k", 0)
