"""Asks for conversations as one of several processes would; prints how many were admitted.

Arguments: the database, the user, how many calls.
"""

from __future__ import annotations

import sys
from functools import partial

import anyio

from roundtable.core.base.clock import SystemClock
from roundtable.server import Limits
from roundtable.server.limits import RateLimited, UserLimits
from roundtable.storage import SQLiteStorage


async def main(path: str, user: str, calls: int) -> None:
    storage = SQLiteStorage(path)
    limits = UserLimits(
        storage.kv, Limits(conversations_per_hour=37, concurrent=None, rounds_per_day=None), clock=SystemClock()
    )
    admitted = 0

    async def ask() -> None:
        nonlocal admitted
        try:
            await limits.admit(user, rounds=1)
        except RateLimited:
            return
        admitted += 1

    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    async with anyio.create_task_group() as group:
        for _ in range(calls):
            group.start_soon(ask)
    await storage.aclose()
    sys.stdout.write(f"{admitted}\n")


if __name__ == "__main__":
    anyio.run(partial(main, sys.argv[1], sys.argv[2], int(sys.argv[3])))
