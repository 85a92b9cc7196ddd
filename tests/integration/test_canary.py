"""A key that a provider repeats in every form gets into no sink."""

from __future__ import annotations

import json
import logging
import pickle
import traceback

import pytest
from integration.wires import WIRES, Said
from unit.secrets_kit import traces

from roundtable import ProviderConfig, Roundtable
from roundtable.errors import QuorumLost
from roundtable.providers import Cassette
from roundtable.settings import Settings
from roundtable.testing.servers import LoopbackServer, http_reply

KEY = "sk-canary+/=0123456789?"
ECHO = json.dumps({"error": {"message": f"no such key: {' '.join(traces(KEY))}", "code": "invalid_api_key"}}).encode()
FORMS = [*traces(KEY), KEY[:12]]


GOOD = Said(json.dumps({"position": "Tea", "reasoning": "Because.", "confidence": 0.8}))
OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in WIRES]


def answers(provider):
    """Answer as a provider does, and let one of its models fail with the key in every form."""

    def answer(seen):
        if b"model-that-fails" in seen.body or "model-that-fails" in seen.path:
            return http_reply(ECHO, status=401, headers={"x-request-id": f"id-{KEY}"})
        wire = WIRES.get(provider, WIRES["openai-chat"])
        return wire.reply(GOOD, streamed="stream" in seen.path.lower() or seen.wants_stream)

    return answer


def held(text):
    return [form for form in FORMS if form in text]


@pytest.mark.parametrize("provider", ["compatible", *OTHERS])
@pytest.mark.parametrize("mode", ["record", "replay"])
async def test_an_echoed_key_gets_into_no_output(tmp_path, caplog, mode, provider):
    caplog.set_level(logging.DEBUG)
    path, database = tmp_path / "tape.jsonl", tmp_path / "debates.db"
    with LoopbackServer(answers(provider)) as server:
        config = {provider: ProviderConfig(api_key=KEY, base_url=server.url)}
        for step in ["record", "replay"][: 1 + (mode == "replay")]:
            table = Roundtable(
                [f"{provider}:model-that-fails", f"{provider}:good"],
                providers=config,
                storage=f"sqlite:///{database}",
                cassette=Cassette(path, step),
                settings=Settings(),
            )
            async with table:
                told = []
                async with table.stream("Tea or coffee?", rounds=1) as events:
                    async for event in events:
                        told.append(json.dumps(event.to_wire()) + repr(event))  # noqa: PERF401  (one form each)
                result = events.result
                shown = [
                    repr(table),
                    repr(table._wiring.models.cassette),
                    repr(table.chat_model(f"{provider}:good")),
                    *told,
                ]
                with pytest.raises(QuorumLost) as lost:
                    await table.debate("Tea?", rounds=1, agents=[f"{provider}:model-that-fails"])
    error = lost.value
    # What httpcore logs by itself at DEBUG is out of our hands: it shows headers as a server sent them.
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("roundtable")]
    shown += [result.to_json(), result.to_markdown(), result.to_html(), result.to_text(), repr(result)]
    shown += [
        str(error),
        repr(error),
        json.dumps(error.to_dict(debug=True)),
        repr(vars(pickle.loads(pickle.dumps(error)))),
    ]
    shown += ["".join(traceback.TracebackException.from_exception(error, capture_locals=False).format()), *ours]
    shown += [path.read_text(), *(file.read_bytes().decode("latin-1") for file in tmp_path.glob("debates.db*"))]
    assert [held(text) for text in shown] == [[]] * len(shown)
    assert result.rounds[0].turns[0].error.code == "API_AUTH_FAILED"
