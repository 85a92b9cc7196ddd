"""A worker of a fleet in a process of its own: `fleet_child.py STORAGE FOLDER JOB [DELAY]`.

Each call of a model appends a line to `calls.txt` in the folder: the session's question, the agent and the round. A
question that holds the word `poison` kills the process.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import anyio

from roundtable import Roundtable
from roundtable.fleet import Fleet
from roundtable.providers import Delay, ScriptedModel
from roundtable.types import ChatRequest

AGENTS = ("ada", "bo")


def table_for(storage: str, folder: Path, delay_s: float = 0.0) -> Roundtable:
    """Return a table whose calls are counted in a file."""

    def reply(request: ChatRequest) -> Delay | dict[str, str]:
        asked = request.messages[-1].content
        if "poison" in asked:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = {"position": "Tea", "reasoning": "It keeps."}
        number = next((word for word in asked.split() if word.startswith("question-")), "?")
        with (folder / "calls.txt").open("a") as file:
            file.write(f"{number.strip(':?')} {request.metadata['agent']} {request.metadata.get('round', '?')}\n")
        return Delay(delay_s, answer) if delay_s else answer

    return Roundtable([_seat(name, reply) for name in AGENTS], storage=storage, analyzer="declared", observers=[])


def _seat(name: str, reply: object) -> ScriptedModel:
    return ScriptedModel(reply, model=name)  # type: ignore[arg-type]


async def main(storage: str, folder: str, job: str, delay_s: float) -> None:
    """Hold debates until the job is done, or a signal ends this."""
    from roundtable._core.eventloop import hearing

    async with table_for(storage, Path(folder), delay_s) as table, Fleet(table) as fleet:
        with anyio.CancelScope() as scope:
            async with hearing(lambda _: scope.cancel()):
                await fleet.work(concurrency=4, until_done=job)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]) if len(sys.argv) > 4 else 0.0)
