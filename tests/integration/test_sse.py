"""Events as server-sent events in an application's own routes: as the server sends them, with heartbeats, resumable."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx
import pytest
from integration.server_kit import served

from roundtable import Roundtable
from roundtable.api import sse_messages
from roundtable.api.sse import HEARTBEAT
from roundtable.auth import LocalUser
from roundtable.errors import ConfigurationError, StorageError
from roundtable.providers import Delay
from roundtable.server import create_app
from roundtable.testing import scripted_agents
from roundtable.types import AgentStart, RoundStart, sse_event_id

pytestmark = pytest.mark.both_loops


async def streamed(table: Roundtable, *, heartbeat_s: float = 15.0, rounds: int = 1) -> list[str]:
    async with table, table.stream("Tea?", rounds=rounds) as events:
        return [message async for message in sse_messages(events, heartbeat_s=heartbeat_s)]


async def test_heartbeats_are_sent_while_nothing_happens_and_no_event_is_lost() -> None:
    slow = scripted_agents({"ada": Delay(0.3, "Tea"), "bo": Delay(0.5, "Tea")})
    messages = await streamed(Roundtable(slow, storage="memory://"), heartbeat_s=0.04)
    assert messages.count(HEARTBEAT) >= 3
    numbers = [sse_event_id(message[4:].partition("\n")[0])[1] for message in messages if message.startswith("id: ")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert '"type":"debate_complete"' in [message for message in messages if message != HEARTBEAT][-1]


async def test_an_error_that_was_sent_is_not_raised_again() -> None:
    table = Roundtable(scripted_agents({"ada": StorageError("away")}), storage="memory://")
    messages = await streamed(table)
    assert '"type":"error"' in messages[-1]
    assert "QUORUM_LOST" in messages[-1]


async def test_a_reader_continues_after_the_last_id_it_has() -> None:
    table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
    result = await table.debate("Tea?", rounds=2)
    everything = [message async for message in sse_messages(table.watch(result.session_id))]
    session_id, number = sse_event_id(everything[2].partition("\n")[0].removeprefix("id: "))
    assert (session_id, number) == (result.session_id, 3)
    rest = [message async for message in sse_messages(table.watch(session_id, after=number))]
    assert rest == everything[3:]


@pytest.mark.parametrize("heartbeat_s", [0, -1.0])
async def test_the_time_between_heartbeats_is_checked(heartbeat_s: float) -> None:
    table = Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://")
    with pytest.raises(ConfigurationError, match="heartbeat_s must be above 0"):
        sse_messages(table.watch("any"), heartbeat_s=heartbeat_s)


@pytest.mark.parametrize("session_id", ["a b", "a\nb", "é", "x" * 101])
def test_an_event_id_never_breaks_the_format(session_id: str) -> None:
    event = RoundStart(
        session_id=session_id, timestamp=datetime(2026, 1, 1, tzinfo=UTC), round=1, agents=("ada",), seq=7
    )
    first, second, *end = event.to_sse().split("\n")
    assert (first, second[:6], end) == ("id: 7", "data: ", ["", ""])
    assert sse_event_id(first.removeprefix("id: ")) == ("", 7)


def test_a_live_event_has_no_id() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    event = AgentStart(session_id="s", timestamp=now, agent="ada", round=1, stage="positions", slot=0)
    assert event.to_sse().startswith('data: {"type":"agent_start"')


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_messages_are_those_of_the_server(anyio_backend: str) -> None:
    table = Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://")
    async with served(create_app(table, auth=LocalUser())) as url, httpx.AsyncClient(base_url=url, timeout=30) as web:
        begun = (await web.post("/api/debates", json={"topic": "Tea?", "rounds": 1})).json()
        text = (await web.get(f"{begun['links']['events']}?ids=1")).text
        owner = table.for_tenant("default")
        sent = "".join([message async for message in sse_messages(owner.watch(begun["sessionId"]))])
    durable = [part for part in text.split("\n\n") if part.startswith("id: ")]
    assert durable
    assert [part for part in sent.split("\n\n") if part.startswith("id: ")] == durable
