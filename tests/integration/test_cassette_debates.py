"""A recorded debate, held again without a model, is the same debate."""

from __future__ import annotations

import json
import pickle
import traceback

import pytest
from integration.engine_kit import CountingModel, said, seated
from unit.secrets_kit import traces

from roundtable import AgentConfig, BaseAgent, Budget, ProviderConfig, Roundtable
from roundtable.errors import CassetteMiss, QuorumLost, RoundtableError
from roundtable.providers import Cassette, ScriptedModel
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.testing.servers import LoopbackServer
from roundtable.types import SessionFilter

KEY = "sk-canary+/=0123456789?"
PRICES = {"scripted:*": {"input": 1, "output": 2}, "compatible:*": {"input": 1, "output": 2}}


def same(result):
    """A result without what differs between any two runs."""
    return without(
        json.loads(result.to_json()), {"sessionId", "createdAt", "updatedAt", "timestamp", "durationS", "head"}
    )


def without(value, names):
    if isinstance(value, dict):
        return {name: without(item, names) for name, item in value.items() if name not in names}
    return [without(item, names) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("streams", [False, True])
async def test_a_replayed_debate_is_the_recorded_one(tmp_path, streams):
    path = tmp_path / "tape.jsonl"
    model = CountingModel(lambda request: f"{request.metadata['agent']} {request.metadata['round']}", streams=streams)
    agents = [agent.config for agent in seated(model, "ada", "bo", "cy")]
    kept = []
    for mode, speaker in (("record", model), ("replay", CountingModel("nobody asks", streams=streams))):
        table = Roundtable(
            [BaseAgent(config, speaker) for config in agents],
            storage="memory://",
            cassette=Cassette(path, mode),
            prices=PRICES,
        )
        chunks = []
        async with table, table.stream("Tea or coffee?", rounds=3) as events:
            async for event in events:
                if event.type == "agent_response_chunk":
                    chunks.append((event.agent, event.chunk))  # noqa: PERF401  (only of one type)
        kept.append((same(events.result), sorted(chunks)))
        assert len(speaker.begun) == (9 if mode == "record" else 0)
        assert table._wiring.models.cassette.unused == ()
    assert kept[0] == kept[1]
    assert kept[0][0]["usage"]["costUsd"] > 0


async def test_an_unknown_call_ends_the_debate_instead_of_failing_a_turn(tmp_path):
    path = tmp_path / "tape.jsonl"
    model = ScriptedModel({"*": said("Tea")})
    await Roundtable(seated(model, "ada", "bo"), storage="memory://", cassette=path).debate("Tea or coffee?", rounds=1)
    storage = MemoryStorage()
    table = Roundtable(seated(model, "ada", "bo"), storage=storage, cassette=Cassette(path, "replay"))
    with pytest.raises(CassetteMiss, match=r"recorded '.*coffee.*', asked '.*cocoa"):
        await table.debate("Tea or cocoa?", rounds=1)
    assert [session.status for session in await table.sessions(SessionFilter())] == ["error"]
    assert model.calls == 2


async def test_a_failing_debate_fails_again_in_the_same_way(tmp_path):
    path, causes = tmp_path / "tape.jsonl", []
    for mode, script in (("record", lambda _: RoundtableError("no", code="ODD")), ("replay", lambda _: "not asked")):
        table = Roundtable(seated(ScriptedModel(script), "ada"), storage="memory://", cassette=Cassette(path, mode))
        with pytest.raises(QuorumLost) as lost:
            await table.debate("Tea or coffee?")
        causes.append(str(lost.value))
    assert causes[0] == causes[1]


async def test_two_tables_record_into_one_cassette_and_replay_from_it(tmp_path):
    tape = Cassette(tmp_path / "tape.jsonl")
    for topic, position in (("Tea?", "Tea"), ("Milk?", "Milk")):
        model = ScriptedModel({"*": said(position)})
        await Roundtable(seated(model, "ada"), storage="memory://", cassette=tape).debate(topic, rounds=1)
    replay = Cassette(tape.path, "replay")
    for topic, position in (("Milk?", "Milk"), ("Tea?", "Tea")):
        table = Roundtable(seated(ScriptedModel([]), "ada"), storage="memory://", cassette=replay)
        assert (await table.debate(topic, rounds=1)).rounds[0].responses[0].position == position


async def test_a_replayed_debate_meets_its_budget_at_the_same_place(tmp_path):
    path, kept = tmp_path / "tape.jsonl", []
    for mode in ("record", "replay"):
        table = Roundtable(
            seated(ScriptedModel({"*": said("Tea")}), "ada", "bo"), storage="memory://", cassette=Cassette(path, mode)
        )
        kept.append(same(await table.debate("Tea or coffee?", rounds=3, budget=Budget(max_calls=4))))
    assert kept[0] == kept[1]
    assert kept[0]["exit"]["reason"] == "budget"


async def test_the_provider_replay_replaces_agents_with_the_same_names(tmp_path):
    path = tmp_path / "tape.jsonl"
    model = ScriptedModel({"ada": said("Tea"), "bo": said("Milk")})
    first = await Roundtable(seated(model, "ada", "bo"), storage="memory://", cassette=path).debate("Tea?", rounds=1)
    agents = [AgentConfig(id=name, name=name.title(), provider="replay", model=str(path)) for name in ("ada", "bo")]
    again = await Roundtable(agents, storage="memory://").debate("Tea?", rounds=1)
    positions = [[said.position for said in result.rounds[0].responses] for result in (first, again)]
    assert positions[0] == positions[1]


def answer(seen):
    return {"position": f"Tea, by {KEY}", "reasoning": "Because.", "confidence": 0.8}


@pytest.mark.parametrize("dies", [False, True])
async def test_a_debate_over_http_needs_no_server_and_no_key_to_be_replayed(tmp_path, dies):
    path = tmp_path / "tape.jsonl"
    agents = ["compatible:one", "compatible:two"]
    with LoopbackServer(answer) as server:
        config = ProviderConfig(api_key=KEY, base_url=server.url)
        table = Roundtable(
            agents, providers={"compatible": config}, storage="memory://", cassette=path, settings=Settings()
        )
        async with table:
            first = await table.debate(f"Tea or {KEY}?" if dies else "Tea or coffee?", rounds=1)
    written = path.read_text()
    assert all(trace not in written for trace in [*traces(KEY), KEY[:12]])
    assert first.usage.calls == 2
    replaying = Roundtable(agents, storage="memory://", cassette=Cassette(path, "replay"), settings=Settings())
    if dies:
        # The question held the key; whoever asks it with the key known finds the recording, others do not.
        with pytest.raises(CassetteMiss) as missed:
            await replaying.debate("Tea or another key?", rounds=1)
        shown = [str(missed.value), repr(missed.value), json.dumps(missed.value.to_dict(debug=True))]
        shown += [
            repr(pickle.loads(pickle.dumps(missed.value)).__dict__),
            "".join(traceback.format_exception(missed.value)),
        ]
        assert all(trace not in text for text in shown for trace in [*traces(KEY), KEY[:12]])
        return
    again = await replaying.debate("Tea or coffee?", rounds=1)
    positions = [[said.position for said in result.rounds[0].responses] for result in (first, again)]
    assert positions[1] == ["Tea, by [redacted]"] * 2
    assert again.usage == first.usage
