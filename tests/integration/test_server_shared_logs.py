"""Streams of one session share what they read: events are parsed and encoded once, however many clients come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import httpx
import pytest
from integration.server_kit import parsed, served, served_table
from starlette.responses import Response

from roundtable.api.tenants import TenantSession
from roundtable.auth import LocalUser
from roundtable.errors import SessionNotFound
from roundtable.server import create_app
from roundtable.server.limits import Limits
from roundtable.server.logs import SharedLogs
from roundtable.server.state import Reader
from roundtable.server.streams import event_stream, full_event
from roundtable.storage import MemoryStorage
from roundtable.types import DebateConfig, DebateStart, LeaseOwner, SessionRecord, utc_now

if TYPE_CHECKING:
    from roundtable import Roundtable
    from roundtable.types import DurableEvent, Event, JsonObject

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

CLIENTS = 40
FORMATTED: list[int] = []


class CountingStorage(MemoryStorage):
    """A storage that counts the events that it returns."""

    def __init__(self) -> None:
        super().__init__()
        self.returned = 0
        self.reads = 0

    async def read(
        self, session_id: str, after: int = 0, *, tenant: str = "default"
    ) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
        """Return events, and count them; a reader has to wait, so that others come meanwhile."""
        record, events = await super().read(session_id, after, tenant=tenant)
        self.reads += 1
        self.returned += len(events)
        await anyio.lowlevel.checkpoint()
        return record, events


def counted_format(event: Event) -> JsonObject:
    """Convert an event like `full_event`, and count it."""
    FORMATTED.append(event.after if event.durable is False else event.seq)
    return full_event(event)


async def test_clients_that_come_back_at_once_share_the_events_and_their_encoded_form() -> None:
    storage = CountingStorage()
    table = served_table(storage=storage)
    async with table:
        session = (await table.debate("Tea or coffee?", rounds=3)).session_id
        _, stored = await storage.read(session)
        app = create_app(table, auth=LocalUser(), limits=Limits(streams_per_user=None))

        @app.get("/told")
        async def told(caller: Reader) -> Response:
            return await event_stream(caller, session, format_event=counted_format)

        async with served(app) as url, httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as web:
            storage.returned = 0
            FORMATTED.clear()
            answers: list[list[int]] = []

            async def come_back() -> None:
                answer = await web.get("/told")
                assert answer.status_code == 200, answer.text
                events = parsed(answer.text)
                answers.append([event["data"]["seq"] for event in events])

            async with anyio.create_task_group() as group:
                for _ in range(CLIENTS):
                    group.start_soon(come_back)
        assert answers == [[event.seq for event in stored]] * CLIENTS
        assert [event.seq for event in stored] == FORMATTED
        # The whole log once, and otherwise only the last event, which shows that the log is still the same.
        assert storage.returned <= len(stored) + 4 * CLIENTS


def record_of(session: str) -> SessionRecord:
    return SessionRecord(id=session, config=DebateConfig(topic="Tea?", agents=("a",)), agents=())


def start_of(session: str, topic: str) -> DebateStart:
    return DebateStart(session_id=session, timestamp=utc_now(), topic=topic, mode="freeform", agents=("a",), rounds=1)


def logs_of(table: Roundtable) -> tuple[SharedLogs, TenantSession]:
    return SharedLogs(), TenantSession(table, "default", {})


async def test_simultaneous_readers_share_a_read_and_a_later_one_gets_newer_events() -> None:
    storage = CountingStorage()
    async with served_table(storage=storage) as table:
        logs, user = logs_of(table)
        session = (await table.debate("Tea or coffee?", rounds=1)).session_id
        storage.reads = 0
        found: list[int] = []

        async def read() -> None:
            found.append(len(await logs.read(user, session)))

        async with anyio.create_task_group() as group:
            for _ in range(CLIENTS):
                group.start_soon(read)
        assert len(set(found)) == 1
        assert storage.reads <= 2
        await table.extend(session, rounds=1)
        later = await logs.read(user, session, found[0])
        assert [event.seq for event in later] == list(range(found[0] + 1, found[0] + len(later) + 1))
        assert later[-1].type == "debate_complete"


async def test_a_session_that_was_deleted_and_created_again_is_read_again() -> None:
    storage = MemoryStorage()
    async with served_table(storage=storage) as table:
        logs, user = logs_of(table)
        for topic in ("Tea?", "Milk?"):
            await storage.create(record_of("s"))
            lease = await storage.lease(
                "s", LeaseOwner(name="test", host="here", boot_id="1", pid=1, process_start="1"), 60
            )
            await storage.append("s", 0, lease.token, [start_of("s", topic)])
            (event,) = await logs.read(user, "s")
            assert isinstance(event, DebateStart)
            assert event.topic == topic
            await storage.delete("s")
        with pytest.raises(SessionNotFound):
            await logs.read(user, "s")


async def test_more_sessions_than_are_kept_are_followed_without_reading_their_logs_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    storage = CountingStorage()
    async with served_table(storage=storage) as table:
        logs, user = logs_of(table)
        sessions = [(await table.debate(f"Tea or coffee {number}?", rounds=1)).session_id for number in range(4)]
        most = [len(await logs.read(user, session)) for session in sessions]
        monkeypatch.setattr("roundtable.server.logs._MAX_EVENTS", sum(most[:2]))
        storage.returned = 0
        for _ in range(3):
            for session, last in zip(sessions, most, strict=True):
                assert await logs.read(user, session, last) == ()
        assert storage.returned <= len(sessions) * 3  # the last known event at most, to see that the log is the same


async def test_a_cancelled_read_leaves_nothing_behind() -> None:
    storage = CountingStorage()
    async with served_table(storage=storage) as table:
        logs, user = logs_of(table)
        for number in range(5):
            with anyio.CancelScope() as scope:
                scope.cancel()
                await logs.read(user, f"{number}")
        assert not logs._logs
