"""A plain function's thread ends with its function, whatever became of the event loop that waited for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import anyio
import pytest
import trio

from roundtable.tools.definition import MOST_THREADS, run_in_thread

pytestmark = pytest.mark.both_loops

ENOUGH_S = 10.0


def of_tools() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "roundtable tool"]


async def leave_behind(function: Callable[[], object]) -> None:
    """Wait for a function only until its thread has begun."""
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(run_in_thread, function)
            while not of_tools():  # noqa: ASYNC110  (a thread sets no event of the loop)
                await anyio.sleep(0.001)
            scope.cancel()


def test_a_function_that_ends_after_the_last_pass_of_its_loop_leaves_no_thread() -> None:
    release = threading.Event()
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(leave_behind(release.wait))
        (thread,) = of_tools()
        release.set()  # the loop still takes calls, and never runs them
        thread.join(ENOUGH_S)
        assert not thread.is_alive()
    finally:
        release.set()
        loop.close()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_function_that_ends_after_its_loop_was_closed_leaves_no_thread(backend: str) -> None:
    release = threading.Event()
    anyio.run(leave_behind, release.wait, backend=backend)
    (thread,) = of_tools()
    release.set()
    thread.join(ENOUGH_S)
    assert not thread.is_alive()


def test_a_function_that_ends_while_trio_ends_leaves_no_thread() -> None:
    release = threading.Event()

    class AtTheEnd(trio.abc.Instrument):
        def after_run(self) -> None:
            release.set()

    trio.run(leave_behind, release.wait, instruments=[AtTheEnd()])
    for thread in of_tools():
        thread.join(ENOUGH_S)
    assert of_tools() == []


async def test_a_thread_that_cannot_start_occupies_no_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(MOST_THREADS + 1):
            with pytest.raises(RuntimeError, match="can't start"):
                await run_in_thread(lambda: None)
    with anyio.fail_after(ENOUGH_S):
        assert await run_in_thread(lambda: "done") == "done"
