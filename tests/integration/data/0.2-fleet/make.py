"""Make the files of fleets that later versions must read and continue; run it with the last commit of 0.2 alone.

`python make.py STORAGE FOLDER` queues four questions; its worker dies within the third. It also writes the description
of a debate. The SQLite files and the dump of PostgreSQL (`pg_dump --inserts`) beside this script were made in this way;
no later version makes them again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio

from roundtable import BaseAgent, Roundtable
from roundtable.fleet import Fleet
from roundtable.providers import ScriptedModel
from roundtable.types import AgentConfig, ChatRequest

JOB = "drinks"
QUESTIONS = [f"question-{number}: tea or coffee?" for number in range(4)]


def said(request: ChatRequest) -> dict[str, str]:
    """Answer, or end the process without a warning while the second agent of the third question thinks."""
    if "question-2" in request.messages[-1].content and request.metadata["agent"] == "bo":
        os._exit(9)
    return {"position": "Tea", "reasoning": "It keeps."}


def table_of(storage: str) -> Roundtable:
    """Return two agents that share a scripted model."""
    model = ScriptedModel(said)
    configs = (AgentConfig(id=name, name=name.title(), provider="scripted", model="x") for name in ("ada", "bo"))
    return Roundtable(
        [BaseAgent(config, model) for config in configs], storage=storage, analyzer="declared", observers=[]
    )


async def submit(storage: str) -> str:
    async with table_of(storage) as table, Fleet(table) as fleet:
        await fleet.submit(JOB, QUESTIONS, rounds=2)
        described = table.describe("Tea or coffee?", rounds=2, options=["Tea", "Coffee"])
    return json.dumps(described, indent=1, sort_keys=True) + "\n"


async def work(storage: str) -> None:
    async with table_of(storage) as table, Fleet(table) as fleet:
        await fleet.work(concurrency=1, until_done=JOB)


if __name__ == "__main__":
    if sys.argv[3:] == ["work"]:
        anyio.run(work, sys.argv[1])
    Path(sys.argv[2], "description.json").write_text(anyio.run(submit, sys.argv[1]), "utf-8")
    worker = subprocess.run([sys.executable, __file__, *sys.argv[1:3], "work"], check=False)
    assert worker.returncode == 9, worker.returncode
