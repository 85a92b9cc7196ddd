"""Another process that uses a storage; started by the tests, which kill it."""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable

import anyio

from roundtable import Roundtable
from roundtable.core.base.owner import current_owner
from roundtable.core.engine import lease as engine_lease
from roundtable.errors import SessionError, StaleSequence
from roundtable.providers import Delay
from roundtable.storage import PostgresStorage, SQLiteStorage
from roundtable.testing import scripted_agents
from roundtable.testing.storage_samples import answered, control, record
from roundtable.types import AgentComplete, Event


def tell(*words: object) -> None:
    """Send a line to the parent at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def opened(path: str) -> SQLiteStorage | PostgresStorage:
    """Open the storage at a path or a URL."""
    return PostgresStorage(path) if path.startswith("postgresql:") else SQLiteStorage(path)


def turn(session: str, slot: int) -> AgentComplete:
    """Make a turn of the usual length."""
    return answered(session, slot, position="x" * 800)


async def write(path: str, sessions: str) -> None:
    """Append turns to each session for ever, telling each number once it is acknowledged."""
    storage = opened(path)

    async def one(session: str) -> None:
        try:
            await storage.create(record(session))
        except SessionError:
            tell("found", session)
        token = (await storage.lease(session, current_owner(), 15)).token
        _, events = await storage.read(session)
        tell("leased", session, token)
        last = len(events)
        if last:  # as after a crash: what was stored last may never have been acknowledged
            last = await storage.append(session, None, token, [turn(session, last - 1)])
        while True:
            tell("try", session, last + 1)
            last = await storage.append(session, last, token, [turn(session, last)])
            tell("ack", session, last)

    async with anyio.create_task_group() as group:
        for session in sessions.split(","):
            group.start_soon(one, session)


async def race(path: str, session: str) -> None:
    """Append 40 events against others, going on after each clash."""
    storage = opened(path)
    clashes, last = 0, 0
    for _ in range(40):
        while True:
            try:
                last = await storage.append(session, last, None, [control(session)])
                break
            except StaleSequence:
                clashes += 1
                last = len((await storage.read(session))[1])
        tell("ack", session, last)
    tell("clashes", clashes)
    await storage.aclose()


async def count(path: str, key: str) -> None:
    """Add one to a number, 50 times."""
    storage = opened(path)
    for _ in range(50):
        await storage.kv.update(key, lambda old: (old if isinstance(old, int) else 0) + 1)
    await storage.aclose()


async def lease(path: str, session: str) -> None:
    """Take and give up a lease, and count, for ever."""
    storage, owner = opened(path), current_owner()
    tell("leased", (await storage.lease(session, owner, 0)).token)
    while True:
        await storage.lease(session, owner, 15)
        await storage.lease(session, owner, 0)
        await storage.kv.update("mine", lambda old: (old if isinstance(old, int) else 0) + 1)


async def hold(path: str, session: str) -> None:
    """Take a short lease, wait to be told, then try to append with its token."""
    storage = opened(path)
    token = (await storage.lease(session, current_owner(), 0.3)).token
    tell("leased", session, token)
    await anyio.to_thread.run_sync(sys.stdin.readline)
    try:
        tell("ack", await storage.append(session, None, token, [answered(session)]))
    except SessionError as error:
        tell("refused", type(error).__name__)
    await storage.aclose()


async def debate(path: str, control_s: str) -> None:
    """Run a debate whose calls never end, and look for requests every so many seconds."""
    engine_lease._CONTROL_INTERVAL_S = float(control_s)

    def observe(event: Event) -> None:
        if event.type == "agent_start":
            tell("asked", event.session_id)

    storage = opened(path)
    agents = scripted_agents({"ada": Delay(3600, "Tea")})
    async with Roundtable(agents, storage=storage, observers=[observe]) as table:
        tell("ended", (await table.debate("Tea?", rounds=2)).session_status)
    await storage.aclose()


async def lock(path: str, seconds: str) -> None:
    """Keep everybody else from writing for a while."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    tell("locked")
    time.sleep(float(seconds))  # noqa: ASYNC251
    connection.execute("ROLLBACK")
    connection.close()


ROLES: dict[str, Callable[[str, str], Awaitable[None]]] = {
    "write": write,
    "race": race,
    "count": count,
    "hold": hold,
    "lease": lease,
    "debate": debate,
    "lock": lock,
}

if __name__ == "__main__":
    anyio.run(ROLES[sys.argv[1]], *sys.argv[2:])
