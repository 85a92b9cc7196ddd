"""How programs of command-line agents end: by themselves, with their call, and with this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from integration.command_kit import Stubs, is_alive, is_zombie

from roundtable.errors import AgentError, APITimeoutError
from roundtable.gateway import Gateway
from roundtable.providers.command import SpawnOptions, run_command, spawn_agent
from roundtable.providers.command.watchdog import WATCHDOG_SCRIPT
from roundtable.testing.doubles import ManualClock

SONNET = SpawnOptions(model="sonnet", max_budget_usd=1.5, system_prompt="")
SLACK_S = 2.0
"""How much later than documented a busy machine may be."""


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def gone(pid: object) -> None:
    """Wait for a process that was killed; whoever adopted it has to wait for it."""
    with anyio.fail_after(SLACK_S):
        while is_alive(pid):  # noqa: ASYNC110  (it is no child of this process)
            await anyio.sleep(0.01)


def gateway() -> Gateway:
    return Gateway(clock=ManualClock())


FORKS = """
child = subprocess.Popen(["/bin/sleep", "60"])
note(child=child.pid)
"""


@pytest.mark.slow
async def test_child_processes_of_a_program_do_not_delay_its_answer(stubs: Stubs) -> None:
    stubs.make("claude", FORKS + "envelope('Tea.')")
    began = time.monotonic()
    assert (await spawn_agent("?", SONNET, gateway=gateway())).content == "Tea."
    took = time.monotonic() - began
    assert took < 1 + SLACK_S, f"answered after {took:.2f} s"
    [child] = stubs.notes("claude", "child")
    await gone(child)


@pytest.mark.slow
async def test_a_program_that_takes_too_long_gets_a_termination_signal_first(stubs: Stubs) -> None:
    stubs.make("claude", "signal.signal(signal.SIGTERM, lambda *_: (note(polite=True), sys.exit(0)))\ntime.sleep(60)")
    hurried = SONNET.model_copy(update={"timeout_s": 1})
    with pytest.raises(APITimeoutError, match=r"^Claude timed out after 1000ms"):
        await spawn_agent("?", hurried, gateway=gateway())
    assert stubs.notes("claude", "polite")


@pytest.mark.slow
async def test_a_program_that_ignores_the_signal_is_killed_with_all_it_started(stubs: Stubs) -> None:
    ignores = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + FORKS + "time.sleep(60)"
    stubs.make("claude", ignores)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: spawn_agent("?", SONNET, gateway=gateway()))
        while not stubs.notes("claude", "child"):  # noqa: ASYNC110  (it is another process)
            await anyio.sleep(0.02)
        began = time.monotonic()
        group.cancel_scope.cancel()
    took = time.monotonic() - began
    assert took < 5 + 0.5 + SLACK_S, f"gone after {took:.2f} s"
    [start], [child] = stubs.starts("claude"), stubs.notes("claude", "child")
    assert not is_alive(start["pid"])
    assert not is_zombie(start["pid"])
    await gone(child)


@pytest.mark.slow
async def test_a_call_that_is_cancelled_at_any_time_leaves_nothing(stubs: Stubs) -> None:
    stubs.make("claude", FORKS + "time.sleep(60)")
    before = open_files()
    for step in range(12):
        with anyio.move_on_after(0.03 * step):
            await spawn_agent("?", SONNET, gateway=gateway())
    for start in stubs.starts("claude"):
        assert not is_alive(start["pid"])
        assert not is_zombie(start["pid"])
    for child in stubs.notes("claude", "child"):
        await gone(child)
    assert open_files() <= before + 2


@pytest.mark.slow
async def test_fifty_programs_at_once_respect_the_limit_and_end_within_six_seconds(stubs: Stubs) -> None:
    stubborn = "if int(argv[argv.index('--max-turns') + 1]) % 2: signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    stubs.make("claude", stubborn + "note(up=1)\ntime.sleep(60)")
    wide = Gateway(clock=ManualClock(), concurrency=50)
    before = open_files()

    async def ask(number: int) -> None:
        await spawn_agent("?", SONNET.model_copy(update={"max_turns": number}), gateway=wide)

    with anyio.fail_after(120):
        async with anyio.create_task_group() as group:
            for number in range(1, 51):
                group.start_soon(ask, number)
            while len(stubs.notes("claude", "up")) < 50:  # noqa: ASYNC110  (they are other processes)
                await anyio.sleep(0.1)
            began = time.monotonic()
            group.cancel_scope.cancel()
    pids = [start["pid"] for start in stubs.starts("claude")]
    assert len(pids) == 50
    limit = began + 6.5 + SLACK_S
    while any(is_alive(pid) or is_zombie(pid) for pid in pids):
        assert time.monotonic() < limit
        await anyio.sleep(0.05)
    took = time.monotonic() - began
    assert took < 6.5 + SLACK_S, f"50 programs gone after {took:.2f} s"
    assert open_files() <= before + 2


@pytest.mark.slow
async def test_no_more_programs_run_at_once_than_the_gateway_allows(stubs: Stubs) -> None:
    stubs.make("claude", "note(at=time.time())\ntime.sleep(0.2)\nnote(until=time.time())\nenvelope('Tea.')")
    restrict_view = Gateway(clock=ManualClock(), concurrency=2)
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(lambda: spawn_agent("?", SONNET, gateway=restrict_view))
    moments = [(at, 1) for at in stubs.notes("claude", "at")] + [(at, -1) for at in stubs.notes("claude", "until")]
    running, most = 0, 0
    for _, change in sorted(moments, key=str):
        running += change
        most = max(most, running)
    assert most <= 2


PARENT = """
import anyio
from roundtable.providers.command import SpawnOptions, spawn_agent
anyio.run(spawn_agent, "?", SpawnOptions(model="sonnet", max_budget_usd=1, system_prompt=""))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the keeper is for Linux alone")
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("time.sleep(60)", id="polite"),
        pytest.param(
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)", id="stubborn", marks=pytest.mark.slow
        ),
    ],
)
def test_a_program_ends_with_a_process_that_is_killed(stubs: Stubs, body: str) -> None:
    stubs.make("claude", FORKS + body)
    parent = subprocess.Popen([sys.executable, "-c", PARENT])
    try:
        until = time.monotonic() + 20
        while not stubs.notes("claude", "child") and time.monotonic() < until:
            time.sleep(0.05)
        [start], [child] = stubs.starts("claude"), stubs.notes("claude", "child")
        assert is_alive(start["pid"])
    finally:
        parent.kill()
        parent.wait()
    until = time.monotonic() + 6 + SLACK_S
    while (is_alive(start["pid"]) or is_alive(child)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_alive(start["pid"])
    assert not is_alive(child)


@pytest.mark.skipif(sys.platform != "linux", reason="the keeper is for Linux alone")
def test_a_program_outlives_the_thread_that_started_it(stubs: Stubs) -> None:
    """Trio starts programs on threads that end after ten idle seconds."""
    file = stubs.make("claude", "time.sleep(0.4)\nenvelope('Tea.')")
    started: list[subprocess.Popen[bytes]] = []
    words = [sys.executable, "-ISc", WATCHDOG_SCRIPT, str(os.getpid()), str(file), str(file)]
    thread = threading.Thread(target=lambda: started.append(subprocess.Popen(words, stdout=subprocess.PIPE)))
    thread.start()
    thread.join()
    output, _ = started[0].communicate(timeout=20)
    assert (started[0].returncode, b"Tea." in output) == (0, True)


async def test_a_program_that_leaves_its_group_ends_with_its_call(stubs: Stubs) -> None:
    stubs.make("claude", "os.setsid()\nnote(alone=os.getpid())\ntime.sleep(60)")
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: spawn_agent("?", SONNET, gateway=gateway()))
        while not stubs.notes("claude", "alone"):  # noqa: ASYNC110  (it is another process)
            await anyio.sleep(0.02)
        group.cancel_scope.cancel()
    [pid] = stubs.notes("claude", "alone")
    await gone(pid)


@pytest.mark.slow
async def test_a_process_that_leaves_the_group_of_its_program_survives_the_call(stubs: Stubs) -> None:
    leaves = 'child = subprocess.Popen(["/bin/sleep", "60"], start_new_session=True)\nnote(left=child.pid)\n'
    stubs.make("claude", FORKS + leaves + "envelope('Tea.')")
    assert (await spawn_agent("?", SONNET, gateway=gateway())).content == "Tea."
    [child], [left] = stubs.notes("claude", "child"), stubs.notes("claude", "left")
    await gone(child)
    assert is_alive(left)
    assert isinstance(left, int)
    os.kill(left, signal.SIGKILL)
    await gone(left)


async def test_a_program_finds_signals_as_usual() -> None:
    words = ("/bin/sh", "-c", "grep -E 'SigIgn|SigBlk' /proc/self/status")
    finished = await run_command(words, stdin="", timeout_s=20, environment={"PATH": "/usr/bin:/bin"})
    masks = [int(line.split()[1], 16) for line in finished.stdout.splitlines()]
    assert len(masks) == 2
    assert not [mask for mask in masks for number in (signal.SIGPIPE, signal.SIGTERM) if mask >> number - 1 & 1]


async def test_on_other_systems_than_linux_a_program_is_started_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    asked: dict[str, Any] = {"stdin": "Tea?", "timeout_s": 20, "environment": {}}
    assert (await run_command(("/bin/cat",), **asked)).stdout == "Tea?"
    with pytest.raises(AgentError, match=r"Failed to spawn file: .*No such file"):
        await run_command(("/no/such/file",), **asked)


async def test_a_missing_folder_is_reported() -> None:
    with pytest.raises(AgentError, match=r"Failed to spawn cat: .*/no/such/folder") as caught:
        await run_command(("/bin/cat",), stdin="", timeout_s=20, environment={}, cwd="/no/such/folder")
    assert "working directory" in str(caught.value.hint)
