"""Tools and the process they run in: Ctrl-C ends the program, and no tool keeps it from ending."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

PROGRAM = """
import sys, time, anyio
import roundtable
from roundtable import tool
from roundtable.providers.scripted import ScriptedModel

@tool({options})
{colour}def wait() -> str:
    '''Wait.'''
    print("waiting", flush=True)
    {wait}
    return "done"

def script(request):
    asked = any(message.role == "tool" for message in request.messages)
    if request.tools and not asked:
        return {{"toolCalls": [{{"name": "wait"}}]}}
    return {{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}}

async def main():
    table = roundtable.Roundtable([ScriptedModel(script)], storage="memory://", tools=[wait], analyzer="basic")
    result = await table.debate("Tea?", rounds=1)
    print(result.rounds[0].responses[0].tool_calls[0].error, flush=True)

anyio.run(main, backend={backend!r})
"""


def start(*, colour: str = "", wait: str = "time.sleep(600)", options: str = "", backend: str = "asyncio"):
    code = PROGRAM.format(colour=colour, wait=wait, options=options, backend=backend)
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ, text=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize(
    ("colour", "wait"), [("", "time.sleep(600)"), ("async ", "await anyio.sleep(600)")], ids=["plain", "async"]
)
def test_ctrl_c_ends_a_program_whose_tool_is_running(backend: str, colour: str, wait: str) -> None:
    process = start(colour=colour, wait=wait, backend=backend)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert time.monotonic() - began < 20
        assert process.returncode != 0
        assert "KeyboardInterrupt" in err
    finally:
        process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_tool_that_never_ends_keeps_no_program_from_ending(backend: str) -> None:
    process = start(options="timeout_s=0.1", backend=backend)
    try:
        out, err = process.communicate(timeout=60)
        assert (out.splitlines(), err, process.returncode) == (
            ["waiting", 'Tool "wait" timed out after 100ms'],
            "",
            0,
        )
    finally:
        process.kill()


@pytest.mark.slow
def test_a_tool_that_raises_a_keyboard_interrupt_does_not_end_the_program() -> None:
    process = start(wait="raise KeyboardInterrupt")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "KeyboardInterrupt" in out
