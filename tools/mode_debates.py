"""Hold the sample debate of each mode on what `mode_debates.toml` has the agents say, and write it down."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path
from typing import Any

from roundtable import AgentConfig, DebateResult, Roundtable
from roundtable.agents import BaseAgent
from roundtable.prompts import JSON_WANTED
from roundtable.providers.scripted import ScriptedModel
from roundtable.report import in_words
from roundtable.types import AnyTurn, ChatRequest, JsonObject

SAMPLES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_FENCE = re.compile(r"(BEGIN|END) QUOTE [0-9a-f]{16}")


def speakers(sample: dict[str, Any]) -> list[str]:
    """Return the names of the agents, in speaking order."""
    return list(sample.get("said") or sample["samples"])


def rounds_of(mode: str) -> int:
    """Return the number of rounds in the sample of a mode."""
    return int(SAMPLES[mode].get("rounds", 2))


def _answer(request: ChatRequest, sample: dict[str, Any]) -> JsonObject:
    name, user = request.metadata["agent"].title(), request.messages[-1].content
    if '"choice": the option you vote for' in user:
        choice, why = sample["votes"][name]["answer of" in user]
        return {"choice": choice, "reasoning": why}
    if '"ranking"' in user:
        return {"ranking": _ranking(user, sample), "reasoning": "By how much a new colleague could do with it."}
    if "(how members ranked the answers)" in user:
        position, reasoning, confidence = sample["chair"]
    elif "samples" in sample:
        position, reasoning, confidence = sample["samples"][name][int(request.metadata["slot"])]
    else:
        position, reasoning, confidence = sample["said"][name][int(request.metadata["round"]) - 1]
    answer: JsonObject = {"position": position, "reasoning": reasoning, "confidence": confidence / 100}
    answer |= {"stance": sample["stances"][name]} if "stances" in sample else {}
    return answer | ({"choice": sample["choices"][name]} if "choices" in sample else {})


def _ranking(user: str, sample: dict[str, Any]) -> list[str]:
    """Rank the answers as the sample prefers their authors, whom the prompt does not name."""
    shown = dict(re.findall(r"answer of (Answer \d+)\)\n\| Position: (.+)", user))
    author = {entries[0][0]: name for name, entries in sample["said"].items()}
    return sorted(shown, key=lambda label: sample["prefers"].index(author[shown[label]]))


async def hold(mode: str) -> tuple[DebateResult, list[ChatRequest]]:
    """Hold the sample debate of a mode; give its result, and what was asked."""
    sample = SAMPLES[mode]
    model = ScriptedModel(lambda request: _answer(request, sample))
    agents = [
        BaseAgent(AgentConfig(id=name.lower(), name=name, provider="scripted", model="sample"), model)
        for name in speakers(sample)
    ]
    async with Roundtable(agents, storage="memory://") as table:
        options = sample.get("options")
        result = await table.debate(sample["topic"], mode=mode, rounds=rounds_of(mode), options=options)
    return result, model.requests


def transcript(result: DebateResult) -> str:
    """Write a debate down, one list a stage."""
    parts = []
    for held in result.rounds:
        parts.append(f"### Round {held.number}")
        # Where one speaks after another, each is a stage; they make one list.
        for name, turns in itertools.groupby(held.turns, lambda turn: re.sub(r"-\d+$", "", turn.stage)):
            told = "\n".join(_line(turn) for turn in turns)
            kind = "One after another" if name == "speaker" else f"At once, stage `{name}`"
            parts.append(f"{kind}:\n\n{told}")
    return "\n\n".join(parts)


def _line(turn: AnyTurn) -> str:
    if turn.outcome == "failed":
        return f"- **{turn.agent_name}** failed: {turn.error.message}"
    says, why = in_words(turn.answer)
    sure = f", {turn.answer.confidence:.0%}" if turn.answer.kind == "position" else ""
    return f"- **{turn.agent_name}** ({turn.role}{sure}): *{says}* {why}".rstrip()


def reading(mode: str, requests: list[ChatRequest]) -> str:
    """Return what one agent reads before its last position; empty if no agent reads anything."""
    reader = SAMPLES[mode].get("reads", "").lower()
    own = [one.messages[-1].content for one in requests if one.metadata["agent"] == reader]
    texts = [text for text in own if '"position"' in text.partition(JSON_WANTED)[2]]
    if not texts:
        return ""
    shown = _FENCE.sub(r"\1 QUOTE ...", texts[-1].partition(f"\n\n{JSON_WANTED}")[0])
    return f"What {reader.title()} reads before the last answer:\n\n```text\n{shown}\n```"
