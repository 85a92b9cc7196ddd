"""Make the files of version 0.2 that later versions must read and continue; run it with that version alone.

`python make.py FOLDER` writes the sessions as SQLite, two of them as exports, and a cassette. The files beside this
script were made with 0.2.0; no later version makes them again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio

from roundtable import AgentConfig, BaseAgent, Budget, Roundtable
from roundtable.providers import Cassette, ScriptedModel
from roundtable.types import ChatRequest

NAMES = {"ada": "Ada", "bo": "Bo", "cy": "Cy"}
DRINKS = ["Tea", "Coffee"]


def said(request: ChatRequest) -> dict[str, Any]:
    """Ada and Cy want tea, Bo wants coffee until round 2; every answer has the fields of its question."""
    drink = "Coffee" if request.metadata["agent"] == "bo" and request.metadata["round"] == "1" else "Tea"
    return {"position": drink, "reasoning": f"{drink} is at hand.", "confidence": 0.75, "choice": drink}


def table_of(storage: str, reply: Any = said, **options: Any) -> Roundtable:
    """Return a table of three agents that share a scripted model."""
    model = ScriptedModel(reply)
    configs = (AgentConfig(id=one, name=name, provider="scripted", model="x") for one, name in NAMES.items())
    return Roundtable([BaseAgent(config, model) for config in configs], storage=storage, analyzer="basic", **options)


def stored_in(folder: Path) -> str:
    return f"sqlite:///{folder}/sessions.db"


def crash_in_round_2(request: ChatRequest) -> dict[str, Any]:
    """End the process without a warning while the second agent of round 2 thinks."""
    if (request.metadata["agent"], request.metadata["round"]) == ("bo", "2"):
        os._exit(9)
    return said(request)


async def crash(folder: Path) -> None:
    await table_of(stored_in(folder), crash_in_round_2).debate("Crashed: tea or coffee?", rounds=3, options=DRINKS)


async def others(folder: Path) -> None:
    table = table_of(stored_in(folder))
    finished = await table.debate("Finished: tea or coffee?", rounds=2, options=DRINKS, decide="majority", vote=True)
    for mode in ("delphi", "expert-panel", "red-team-blue-team"):
        await table.debate(f"Finished in {mode}: what do we drink?", mode=mode, rounds=2)
    await table.debate("Half finished: tea or coffee?", rounds=3, options=DRINKS, budget=Budget(max_calls=4))
    async with table:
        await (await table.start("Paused: tea or coffee?", rounds=2, options=DRINKS, step=True)).wait()
    paused = (await table.sessions())[0].id
    for name, session in (("finished", finished.session_id), ("paused", paused)):
        (folder / f"{name}.json").write_text(await table.export(session, "json"), "utf-8")
    cassette = Cassette(folder / "cassette.jsonl", "record")
    recorded = table_of("memory://", cassette=cassette)
    await recorded.debate("Recorded: tea or coffee?", rounds=2, options=DRINKS)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    if sys.argv[2:] == ["crash"]:
        anyio.run(crash, target)
    target.mkdir(exist_ok=True)
    crashed = subprocess.run([sys.executable, __file__, str(target), "crash"], check=False)
    assert crashed.returncode == 9
    anyio.run(others, target)
