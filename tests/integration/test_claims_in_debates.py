"""Claims in whole debates: asked for, stored, shown to the others under labels, and never at the cost of an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from integration.engine_kit import CountingModel, said, table_of
from integration.mcp_kit import connected, server_of
from integration.server_kit import client_of, served_table

from roundtable import DebateResult
from roundtable.analysis.arguments import ArgumentGraph
from roundtable.client import RoundtableClient
from roundtable.prompts import claim_id
from roundtable.record import Fold, read_archive
from roundtable.storage import MemoryStorage
from roundtable.testing import scripted_agents
from roundtable.types import ChatRequest, ModelProfile, TurnKey

TOPIC = "Tea or coffee?"


def label(round_: int, slot: int, number: int, stage: str = "positions") -> str:
    return claim_id(TOPIC, 0, TurnKey(round_, stage, slot), number)


TEA = {"text": "Tea keeps.", "evidence": [{"url": "https://example.org/tea", "quote": "tea keeps"}]}
SCRIPT: dict[str, list[dict[str, Any]]] = {
    "ada": [
        said("Tea", claims=[TEA, "It is cheap."]),
        said("Tea", claims=[{"text": "So.", "supports": [label(1, 0, 1)]}]),
    ],
    "bo": [
        said("Coffee", claims=["It wakes."]),
        said("Tea", claims=[{"text": "Sleep matters.", "attacks": [label(1, 1, 1)], "supports": ["R7-KTBM-1"]}]),
    ],
}


def by_round(request: ChatRequest) -> dict[str, Any]:
    return SCRIPT[request.metadata["agent"]][int(request.metadata["round"]) - 1]


async def debated(script: dict[str, Any] = SCRIPT, **more: Any) -> DebateResult:
    async with served_table(agents=scripted_agents(script)) as table:
        return await table.debate(TOPIC, rounds=2, **more)


async def test_claims_are_stored_with_labels_and_references() -> None:
    result = await debated(claims=True)
    (ada, bo), (ada_again, bo_again) = (held.responses for held in result.rounds)
    assert [claim.id for claim in ada.claims] == [label(1, 0, 1), label(1, 0, 2)]
    assert ada.claims[0].evidence[0].quote == "tea keeps"
    assert ada_again.claims[0].supports == (ada.claims[0].id,)
    rows = result.frames("turns", "records")
    assert json.loads(rows[0]["claims"])[0]["evidence"][0]["quote"] == "tea keeps"
    so = {"id": ada_again.claims[0].id, "text": "So.", "supports": [ada.claims[0].id]}
    assert json.loads(rows[2]["claims"]) == [so]
    assert (bo_again.claims[0].attacks, bo_again.claims[0].supports) == ((bo.claims[0].id,), ())
    warnings = [turn.result.warnings for held in result.rounds for turn in held.turns if turn.outcome == "answered"]
    assert warnings == [(), (), (), ("no claim was shown under the label 'R7-KTBM-1'",)]
    assert DebateResult.from_json(result.to_json()) == result


async def test_without_the_option_no_claims_are_asked_for_shown_or_stored() -> None:
    result = await debated()
    assert [answer.claims for held in result.rounds for answer in held.responses] == [()] * 4
    assert '"claims": [' not in json.dumps([held.model_dump(mode="json") for held in result.rounds]).replace(
        '"claims": []', ""
    )


HOSTILE: list[Any] = [
    None,
    7,
    "one text",
    {"text": "one object"},
    [None, [], {}, True],
    [f"Claim {number}" for number in range(50)],
    [{"text": "x" * 100_000, "supports": ["a"] * 10_000, "attacks": {"b": []}, "evidence": [[{}]] * 1_000}],
    [{"text": "</div><script>alert(1)</script>\x1b[2J\nEND QUOTE", "evidence": ["javascript:alert(1)"]}],
]


@pytest.mark.parametrize("claims", HOSTILE, ids=range(len(HOSTILE)))
async def test_no_answer_is_lost_whatever_its_claims_contain(claims: Any) -> None:
    script = {"ada": said("Tea", claims=claims), "bo": said("Tea", claims=["It is cheap."])}
    result = await debated(script, claims=True)
    assert result.roster.complete
    assert [answer.position for held in result.rounds for answer in held.responses] == ["Tea"] * 4
    for held in result.rounds:
        assert len(held.responses[0].claims) <= 5
        assert all(len(claim.text) <= 300 and claim.text.isprintable() for claim in held.responses[0].claims)
    assert result.usage.calls == 4
    assert "<script" not in result.to_html()


async def test_readers_see_labels_that_show_neither_name_nor_seat() -> None:
    model = CountingModel(by_round)
    async with table_of(model, "ada", "bo") as table:
        await table.debate(TOPIC, rounds=2, mode="delphi", claims=True)
    prompts = {(who, number): text for who, number, text in model.prompts}
    stage = "positions"
    for who in ("ada", "bo"):
        assert f"Claim {label(1, 0, 1, stage)}: Tea keeps." in prompts[who, "2"]
        assert f"Claim {label(1, 1, 1, stage)}: It wakes." in prompts[who, "2"]
        assert "Ada" not in prompts[who, "2"]


async def test_a_private_baseline_has_no_claims() -> None:
    asked: list[ChatRequest] = []

    def reply(request: ChatRequest) -> dict[str, Any]:
        asked.append(request)
        return said("Tea", claims=["It is cheap."])

    async with table_of(CountingModel(reply), "ada", "bo") as table:
        await table.debate(TOPIC, rounds=1, claims=True, baseline=True)
    with_claims = ['"claims"' in request.messages[-1].content for request in asked]
    assert sorted(with_claims) == [False, False, True, True]


async def test_an_exported_and_a_forked_debate_keep_their_labels() -> None:
    async with table_of(CountingModel(by_round), "ada", "bo") as table:
        result = await table.debate(TOPIC, rounds=2, claims=True)
        exported = await table.export(result.session_id, "json")
        forked = await table.fork(result.session_id, at_round=1)
        assert (await table.verify(result.session_id)).verdict == "intact"
    record, events = read_archive(exported)
    folded = [DebateResult.from_record(Fold(record, events).to_record()).argument_graph() for _ in range(2)]
    assert folded == [result.argument_graph()] * 2
    assert label(1, 0, 2) in json.dumps([event.model_dump(mode="json") for event in events])
    assert forked.config.claims
    assert forked.rounds[0].responses[0].claims == result.rounds[0].responses[0].claims
    assert forked.rounds[1].responses[1].claims[0].attacks == (label(1, 1, 1),)


async def test_a_resumed_debate_continues_with_claims() -> None:
    async with served_table(agents=scripted_agents(SCRIPT)) as table:
        handle = await table.start(TOPIC, rounds=2, claims=True, step=True)
        first = await handle.result()
        assert len(first.rounds) == 1
        result = await table.resume(first.session_id)
    assert result.rounds[1].responses[0].claims[0].supports == (label(1, 0, 1),)


async def test_the_estimate_says_what_claims_add() -> None:
    async with served_table(agents=scripted_agents(SCRIPT)) as table:
        without = table.estimate(TOPIC, rounds=3)
        whole = table.estimate(TOPIC, rounds=3, claims=True)
    assert whole.input_tokens > without.input_tokens
    (note,) = (text for text in whole.notes if text.startswith("claims are included"))
    added = whole.input_tokens - without.input_tokens
    assert f"at most {added:,} input tokens" in note
    assert not [text for text in without.notes if "claims" in text]


async def test_the_estimate_is_not_below_the_real_usage_of_a_debate_with_claims() -> None:
    full = [{"text": "x" * 290, "evidence": []}] * 1 + [f"{place} {'y' * 280}" for place in range(4)]
    sizes: list[int] = []

    def reply(request: ChatRequest) -> dict[str, Any]:
        sizes.append(sum(len(message.content) for message in request.messages))
        return said("Tea", claims=full)

    async with table_of(CountingModel(reply), "ada", "bo") as table:
        estimate = table.estimate(TOPIC, rounds=3, claims=True)
        await table.debate(TOPIC, rounds=3, claims=True)
    assert sum(sizes) / 4 < estimate.input_tokens


@pytest.mark.parametrize("structured", [True, False])
async def test_a_tiny_model_gives_claims_too(structured: bool) -> None:
    model = CountingModel(lambda _: said("Tea.", claims=["It is cheap.", "It keeps."]))
    model.profile = ModelProfile(prompt_style="compact", context_tokens=2048, structured_output=structured)
    async with table_of(model, "ada", "bo") as table:
        result = await table.debate(TOPIC, rounds=2, claims=True)
    assert [len(answer.claims) for held in result.rounds for answer in held.responses] == [2] * 4


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # uvicorn knows no other
async def test_claims_are_read_over_http_and_mcp() -> None:
    storage = MemoryStorage()
    table = served_table(storage=storage, tenant="default", agents=scripted_agents(SCRIPT))
    async with table, client_of(table) as web:
        given = await web.post("/api/debates?wait=20", json={"topic": TOPIC, "rounds": 2, "claims": True})
        assert given.status_code == 200, given.text
        session = given.json()["sessionId"]
        rounds = (await web.get(f"/api/sessions/{session}/export?format=json")).text
        assert label(1, 1, 1) in rounds
        graph = ArgumentGraph.from_json((await web.get(f"/api/sessions/{session}/arguments")).text)
        assert graph == (await table.session(session)).argument_graph()
        assert (await web.get("/api/sessions/none/arguments")).status_code == 404
        async with RoundtableClient(str(web.base_url)) as remote:
            assert await remote.arguments(session) == graph
    async with connected(server_of(storage=storage)) as client:
        told = (await client.call_tool("get_consensus", {"sessionId": session, "arguments": True})).structured_content
        assert ArgumentGraph.model_validate(told["arguments"]) == graph
        assert "arguments" not in (await client.call_tool("get_consensus", {"sessionId": session})).structured_content
        arguments = {"sessionId": session, "roundNumber": 2}
        details = (await client.call_tool("get_round_details", arguments)).structured_content
    claims = [answer["claims"] for answer in details["responses"]]
    assert claims[0][0]["supports"] == [label(1, 0, 1)]
    assert claims[1][0]["attacks"] == [label(1, 1, 1)]
