"""A budget holds over the death of the process: what was stored is counted, what was under way is lost at most once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from roundtable import Budget, Roundtable
from roundtable.types import SessionFilter

CHILD = """
import os, signal, sys
import anyio
from roundtable import AgentConfig, BaseAgent, Budget, Roundtable
from roundtable.providers import ScriptedModel

folder, kill_at = sys.argv[1], int(sys.argv[2])

def reply(request):
    with open(f"{folder}/calls", "a") as file:
        file.write(request.metadata["agent"] + "\\n")
    if len(open(f"{folder}/calls").readlines()) == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"position": "Tea", "reasoning": "r", "confidence": 0.8}

def table():
    model = ScriptedModel(reply)
    agents = [BaseAgent(AgentConfig(id=name, name=name, provider="scripted"), model) for name in ("ada", "bo", "cy")]
    return Roundtable(agents, storage=f"sqlite:///{folder}/d.db")

async def main():
    async with table() as one:
        await one.debate("Tea or coffee?", rounds=5, budget=Budget(max_calls=7))

anyio.run(main)
"""


def run(folder, kill_at):
    command = [sys.executable, "-c", CHILD, str(folder), str(kill_at)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def calls(folder):
    return len((folder / "calls").read_text().splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("kill_at", [2, 5, 7])
async def test_a_budget_holds_after_a_kill(tmp_path, kill_at):
    from integration.engine_kit import CountingModel, seated

    assert run(tmp_path, kill_at).returncode == -9
    made = calls(tmp_path)
    model = CountingModel("Tea")
    async with Roundtable(seated(model, "ada", "bo", "cy"), storage=f"sqlite:///{tmp_path}/d.db") as table:
        (summary,) = await table.sessions(SessionFilter())
        stored = (await table.session(summary.id)).usage.calls
        result = await table.resume(summary.id, on_change="adopt")
        assert (result.exit.reason, result.usage.calls) == ("budget", 7)
        assert len(model.begun) == 7 - stored
        # No more than one stage was under way, and only that was paid for twice.
        assert made - stored <= 3
        done = await table.resume(summary.id, budget=Budget(max_calls=15), on_change="adopt")
        assert (done.status, done.usage.calls) == ("completed", 15)
