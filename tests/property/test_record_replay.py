"""Whatever agents say, what is stored folds to what was alive; and a fold may be cut anywhere."""

from __future__ import annotations

import json

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from integration.engine_kit import CountingModel, asking, by_agent, engine_of, lawful, seated

from roundtable.errors import AgentError
from roundtable.providers.scripted import Reply
from roundtable.record import Fold, advance, start_progress
from roundtable.results.debate_result import DebateResult
from roundtable.storage import MemoryStorage
from roundtable.types import DurableEvent, SessionRecord

TEXTS = st.text(max_size=60)
REPLIES: st.SearchStrategy[Reply] = st.one_of(
    TEXTS,
    st.builds(AgentError, TEXTS),
    st.fixed_dictionaries(
        {},
        optional={
            "position": TEXTS,
            "reasoning": TEXTS,
            "confidence": st.floats() | st.integers() | TEXTS | st.none(),
            "choice": TEXTS,
            "stance": TEXTS,
        },
    ),
)


async def held(
    replies: dict[str, Reply], rounds: int, topic: str
) -> tuple[Fold, SessionRecord, tuple[DurableEvent, ...]]:
    storage = MemoryStorage()
    agents = seated(CountingModel(by_agent(replies)), *replies)
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=rounds).model_copy(update={"topic": topic}))
    folds: list[Fold] = []
    try:
        await engine.run(session.id, on_start=lambda run: folds.append(run.fold))
    except Exception as error:  # noqa: BLE001  (whatever it is, it must be ours)
        assert type(error).__name__ == "QuorumLost"  # noqa: PT017  (the other way to end)
    return folds[0], *(await storage.read(session.id))


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    replies=st.dictionaries(st.sampled_from(["ada", "bo", "cy"]), REPLIES, min_size=1),
    rounds=st.integers(1, 2),
    topic=TEXTS.filter(str.strip),
)
def test_the_stored_events_give_the_same_state_as_the_live_debate(
    replies: dict[str, Reply], rounds: int, topic: str
) -> None:
    alive, record, events = anyio.run(held, replies, rounds, topic)
    stored = lawful(record, events)
    assert stored.to_record().to_json() == alive.to_record().to_json()
    assert stored.to_session().to_json() == alive.to_session().to_json()
    assert stored.view() == alive.view()
    result = DebateResult.from_record(stored.to_record())
    assert DebateResult.from_json(result.to_json()) == result
    for shown in (result.to_text(), result.to_markdown(), result.to_html(), json.dumps(result.to_records())):
        shown.encode()
    for cut in range(len(events) + 1):
        halves = Fold(record, events[:cut])
        for event in events[max(0, cut - 2) :]:  # what overlaps is passed over
            halves.apply(event)
        assert halves.to_record() == stored.to_record()
        assert advance(start_progress(record), events[:cut]) == Fold(record, events[:cut]).progress


def test_half_a_surrogate_pair_in_an_answer_causes_no_error() -> None:
    text = '{"position": "a\\ud800b", "reasoning": "r", "confidence": 0.5}'
    alive, record, events = anyio.run(held, {"ada": text}, 1, "Tea?")
    assert lawful(record, events).to_record().to_json() == alive.to_record().to_json()
    assert alive.progress.status == "completed"
    json.loads(alive.to_record().to_json())
