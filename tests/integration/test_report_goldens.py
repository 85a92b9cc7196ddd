"""Reports of the built-in modes and rules that declare parts of them are as they were, byte for byte.

To write the snapshots, run `PYTHONPATH=src:tests python tests/integration/test_report_goldens.py`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from roundtable import AgentConfig, BaseAgent, Roundtable
from roundtable.providers import ScriptedModel
from roundtable.results import DebateResult
from roundtable.results.view import view_of
from roundtable.types import ChatRequest

FOLDER = Path(__file__).resolve().parents[1] / "snapshots/reports"
NAMES = ("ada", "bo", "cy")
VOTES = {"ada": ("For", "Against"), "bo": ("Against", "Against"), "cy": ("For", "For")}

DEBATES: dict[str, dict[str, Any]] = {
    "oxford": {"mode": "oxford", "rounds": 1},
    "oxford-two-rounds": {"mode": "oxford", "rounds": 2, "decide": "majority"},
    "oxford-options": {"mode": "oxford", "rounds": 1, "options": ["For", "Against"]},
    "oxford-of-two": {"mode": "oxford", "rounds": 1, "agents": ("bo", "eve")},
    "council": {"mode": "council", "rounds": 1},
    "council-options": {"mode": "council", "rounds": 1, "options": ["For", "Against"]},
    "council-of-two": {"mode": "council", "rounds": 1, "agents": ("ada", "bo")},
    "council-judged": {"mode": "council", "rounds": 1, "decide": "judge"},
    "delphi": {"mode": "delphi", "rounds": 2, "decide": "confidence-weighted"},
    "ranked": {"mode": "collaborative", "rounds": 1, "vote": True},
    "graded": {"mode": "collaborative", "rounds": 1, "decide": "score(0, 5)"},
    "approved": {"mode": "collaborative", "rounds": 1, "decide": "approval"},
    "eliminated": {"mode": "collaborative", "rounds": 1, "decide": "irv"},
}


def reply(request: ChatRequest) -> dict[str, Any] | str:
    """Answer by the kind of the turn; texts name answers by numbers, as agents of a council do."""
    asked, who = "\n".join(f"{message.content}" for message in request.messages), request.metadata["agent"]
    before, after = VOTES.get(who, ("Against", "Against"))
    later = "answer of" in asked
    said = {
        "position": f"{after if later else before}. Answer 2 beats Answer 12, says Answer 1.",
        "bottom_line": after if later else before,
        "choice": after if later else before,
        "reasoning": "Answer 3 says so. So does Participant 1.",
        "confidence": 0.5 if who == "bo" else 0.75,
    }
    letters = re.findall(r"motion ([A-Z])\b", asked)
    names = list(dict.fromkeys(re.findall(r"\bAnswer [0-9]\b", asked))) or list(dict.fromkeys(letters))
    if "ranking" in asked and names:
        said["ranking"] = sorted(names)
    if letters:
        ordered = list(dict.fromkeys(letters))
        said |= {"ranking": ordered, "approved": ordered[:1], "scores": {name: n for n, name in enumerate(ordered)}}
    if who not in VOTES and "judge" in asked:
        said["choice"] = "Answer 1"
    return said


async def held(name: str) -> DebateResult:
    asked = {**DEBATES[name]}
    agents = [
        BaseAgent(AgentConfig(id=one, name=one.title(), provider="scripted", model="x"), ScriptedModel(reply))
        for one in asked.pop("agents", NAMES)
    ]
    seats = {"judge": ScriptedModel(reply)} if asked.get("decide") == "judge" else {}
    async with Roundtable(agents, storage="memory://", observers=[], analyzer="declared", seats=seats) as table:
        return await table.debate("This house prefers tea.", **asked)


def shown(result: DebateResult) -> str:
    """Return what reports, findings and audits say, without what differs from run to run."""
    try:
        audit = result.audit().to_text()
    except Exception as error:  # noqa: BLE001  (what an audit refuses is said in the same words)
        audit = f"{type(error).__name__}: {error}"
    view, health = view_of(result), "" if result.health is None else result.health.to_json()
    drawn = "\n".join(f"{name}: {getattr(view, name)!r}" for name in ("counted", "options", "swing", "pairs", "story"))
    text = "\n\n".join((result.to_text(), drawn, audit, health, f"{result.ballots()}"))
    text = text.replace(result.session_id, "SESSION")
    return re.sub(r"20\d\d-\d\d-\d\d \d\d:\d\d", "TIME", re.sub(r"[0-9a-f]{64}", "HASH", text)) + "\n"


@pytest.mark.parametrize("name", DEBATES)
async def test_reports_equal_their_stored_versions(name: str) -> None:
    assert shown(await held(name)) == (FOLDER / f"{name}.txt").read_text("utf-8")


async def _write() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in DEBATES:
        (FOLDER / f"{name}.txt").write_text(shown(await held(name)), "utf-8")
    sys.stdout.write(f"{len(DEBATES)} reports\n")


if __name__ == "__main__":
    anyio.run(_write)
