"""A study in a process of its own: `study_child.py STORAGE FOLDER DELAY`; writes its report to `report.json`.

Each call of a model appends a line to `calls.txt` in the folder: the session, the agent, the round and the slot.
"""

from __future__ import annotations

import sys
from pathlib import Path

from roundtable import sync
from roundtable.bench import Question
from roundtable.providers import Delay, ScriptedModel
from roundtable.types import ChatRequest

AGENTS = ("ada", "bo", "cy")
MODES = ("collaborative", "delphi", "adversarial")


def questions(number: int) -> list[Question]:
    """Return questions that half of the agents answer rightly."""
    return [Question(id=str(n), question=f"Item {n}: yes or no?", gold="yes", category="odd") for n in range(number)]


def table_for(storage: str, folder: Path, delay_s: float) -> sync.Roundtable:
    """Return a table whose calls are counted in a file."""

    def reply(request: ChatRequest) -> Delay:
        said = request.metadata
        with (folder / "calls.txt").open("a") as file:
            file.write(f"{said['session']} {said['agent']} {said['round']} {said['slot']}\n")
        position = "yes" if said["agent"] != "cy" else "no"
        return Delay(delay_s, {"position": position, "reasoning": "So.", "confidence": 0.8})

    agents = [ScriptedModel(reply, model=name) for name in AGENTS]
    return sync.Roundtable(agents, storage=storage, analyzer="declared")


if __name__ == "__main__":
    place = Path(sys.argv[2])
    with table_for(sys.argv[1], place, float(sys.argv[3])) as table:
        report = sync.run_study(table, questions(6), modes=MODES, study="yes-or-no", resamples=200)
    (place / "report.json").write_text(report.model_dump_json())
