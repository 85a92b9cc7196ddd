"""Conformance tests for storages that report what other processes store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import anyio

from roundtable.core.base.eventloop import call_soon, running_loop
from roundtable.core.capabilities import Notify
from roundtable.core.protocols import Storage
from roundtable.testing.storage_samples import control, record

__all__ = ["NoticeLaws"]

WAIT_S: Final = 2.0
"""Maximum seconds to wait for the notice of one append."""
TRIES: Final = 5
"""Number of appends, of which at least one must be reported: a notice may be lost."""
APPENDS: Final = 6
"""Number of appends to other sessions; a listener that gets notices of more than half of them gets wrong notices."""


class _Listener:
    """Counter of the notices of one session, which may arrive on any thread."""

    def __init__(self, storage: Notify, session: str, tenant: str, error: Exception | None = None) -> None:
        self.session = session
        self.tenant = tenant
        self.count = 0
        self._storage = storage
        self._error = error
        self._loop = running_loop()
        self._changed = anyio.Event()

    def _hear(self) -> None:
        call_soon(self._loop, self._note)
        if self._error is not None:
            raise self._error

    def _note(self) -> None:
        self.count += 1
        self._changed.set()
        self._changed = anyio.Event()

    @contextmanager
    def listening(self) -> Generator[None]:
        """Listen while the block is open."""
        with self._storage.listen(self.session, self._hear, tenant=self.tenant):
            yield

    async def hears_more_than(self, count: int) -> bool:
        """Wait for notices; return whether more than `count` arrived in time."""
        with anyio.move_on_after(WAIT_S):
            while self.count <= count:
                await self._changed.wait()
        return self.count > count

    async def hears_appends(self, other_storage: Storage, number: int = 3) -> None:
        """Append through another instance of the storage, and check that each append, or one soon after, is reported.

        A notice may arrive without an event, so one notice alone proves nothing.
        """
        for _ in range(number):
            for _ in range(TRIES):
                before = self.count
                await other_storage.append(self.session, None, None, [control(self.session)], tenant=self.tenant)
                if await self.hears_more_than(before):
                    break
            else:
                msg = f"no notice of {TRIES} appends by another process came within {WAIT_S:g} s of each"
                raise AssertionError(msg)


@asynccontextmanager
async def _elsewhere(
    storage: Storage, reopen: Callable[[], Awaitable[Storage]] | None
) -> AsyncGenerator[tuple[Notify, Storage] | None]:
    """Open the storage as another process would; `None` if this is impossible, or the storage sends no notices."""
    if reopen is None or not isinstance(storage, Notify):
        yield None
        return
    other_storage = await reopen()
    try:
        yield storage, other_storage
    finally:
        await other_storage.aclose()


class NoticeLaws:
    """Tests of `Notify`, for storages with the method `listen` and suites with the fixture `reopen`."""

    async def test_a_listener_hears_what_another_process_appends(
        self, storage: Storage, reopen: Callable[[], Awaitable[Storage]] | None
    ) -> None:
        """After appends through another instance of the storage, every listener's `heard` is called."""
        async with _elsewhere(storage, reopen) as opened:
            if opened is None:
                return
            here, other_storage = opened
            await storage.create(record("s"))
            first, second = (_Listener(here, "s", "default") for _ in range(2))
            with first.listening():
                await first.hears_appends(other_storage)
                with second.listening():
                    await second.hears_appends(other_storage)
                await first.hears_appends(other_storage)

    async def test_a_listener_hears_nothing_of_other_sessions_or_tenants(
        self, storage: Storage, reopen: Callable[[], Awaitable[Storage]] | None
    ) -> None:
        """Appends to other sessions are not reported, even if a session of another tenant has the same id."""
        async with _elsewhere(storage, reopen) as opened:
            if opened is None:
                return
            here, other_storage = opened
            for session, tenant in (("s", "one"), ("t", "one"), ("s", "two")):
                await storage.create(record(session, tenant=tenant))
            mine = _Listener(here, "s", "one")
            with mine.listening():
                for session, tenant in (("t", "one"), ("s", "two")):
                    theirs = _Listener(here, session, tenant)
                    with theirs.listening():
                        await theirs.hears_appends(other_storage, 1)
                        before = mine.count
                        await theirs.hears_appends(other_storage, APPENDS)
                    assert mine.count - before <= APPENDS // 2, (
                        f"a listener of session 's' of tenant 'one' heard of session {session!r} of tenant {tenant!r}"
                    )
                await mine.hears_appends(other_storage)

    async def test_a_listener_that_has_left_hears_no_more(
        self, storage: Storage, reopen: Callable[[], Awaitable[Storage]] | None
    ) -> None:
        """After the block, `heard` is not called, except for a call that is already running; other listeners stay."""
        async with _elsewhere(storage, reopen) as opened:
            if opened is None:
                return
            here, other_storage = opened
            await storage.create(record("s"))
            leaves, stays = (_Listener(here, "s", "default") for _ in range(2))
            with stays.listening():
                with leaves.listening():
                    await leaves.hears_appends(other_storage)
                before = leaves.count
                await stays.hears_appends(other_storage, APPENDS)
                assert leaves.count - before <= APPENDS // 2, "a listener was called after it had left"
            with leaves.listening():
                await leaves.hears_appends(other_storage)

    async def test_a_listener_that_raises_does_not_silence_others(
        self, storage: Storage, reopen: Callable[[], Awaitable[Storage]] | None
    ) -> None:
        """The listener that raises, and the listeners before and after it, are still called."""
        async with _elsewhere(storage, reopen) as opened:
            if opened is None:
                return
            here, other_storage = opened
            await storage.create(record("s"))
            before, after = (_Listener(here, "s", "default") for _ in range(2))
            raising = _Listener(here, "s", "default", LookupError("a listener failed"))
            with before.listening(), raising.listening(), after.listening():
                for listener in (before, after, raising, after):
                    await listener.hears_appends(other_storage)
