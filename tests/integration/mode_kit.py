"""Debates of every mode on one scripted model whose answers can be told apart wherever they turn up."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from integration.engine_kit import fixed

from roundtable import DebateResult, Roundtable
from roundtable.agents import BaseAgent
from roundtable.modes import BUILTIN_MODES
from roundtable.providers.scripted import Reply, ScriptedModel
from roundtable.storage import MemoryStorage
from roundtable.types import AgentConfig, AnyTurn, ChatRequest, ModelProfile

MODES = [name for name, _, _ in BUILTIN_MODES]
NAMES = ("ada", "bo", "cy", "dee")
TOPIC = "Should we drink tea?"
LABEL = re.compile(r"BEGIN QUOTE \S+ \(round (\d+), answer(?: \d+)? of (.+?)\)\n\| Position: (k[0-9a-f]{12})")
CANARY = re.compile(r"k[0-9a-f]{12}")


def text_of(request: ChatRequest) -> str:
    """Return all text of a request that a model may read."""
    return json.dumps([message.to_json() for message in request.messages]) + request.model_dump_json(
        include={"tools", "output_schema"}
    )


def canary(request: ChatRequest) -> str:
    """Make a word that depends on what was asked and of whom, and on nothing else."""
    asked = json.dumps([request.metadata["agent"], request.metadata["slot"], text_of(request)])
    return "k" + hashlib.sha256(asked.encode()).hexdigest()[:12]


def answer(request: ChatRequest) -> Reply:
    """Answer any kind of turn, with the canary in every text."""
    word, user = canary(request), request.messages[-1].content
    options = re.findall(r"^\| ((?:Answer \d+|For|Against))$", user, re.MULTILINE)
    options = options or re.findall(r'"(Answer \d+|For|Against)"', user.partition("The options are: ")[2])
    role, stance = request.messages[0].content, "YES"
    if "take the stance NO" in role or "speak for the opposition" in role:
        stance = "NO"
    elif "take the stance NEUTRAL" in role:
        stance = "NEUTRAL"
    return {
        "position": word,
        "reasoning": f"{word} because.",
        "confidence": int(word[1:3], 16) / 255,
        "stance": stance,
        "choice": options[0] if options else None,
        "ranking": list(dict.fromkeys(options)),
    }


@dataclass
class Held:
    """A debate that was held, with every request that was made."""

    result: DebateResult
    requests: list[ChatRequest]

    def __post_init__(self) -> None:
        said = {canary(request): request for request in self.requests}
        self.asked = said
        """Request by the canary of its answer."""

    def request_of(self, turn: AnyTurn) -> ChatRequest:
        """Return the request that a turn answered."""
        assert turn.outcome == "answered"
        word = CANARY.search(turn.answer.to_json())
        assert word is not None
        return self.asked[word[0]]

    def turns(self) -> list[AnyTurn]:
        return [turn for held in self.result.rounds for turn in held.turns]

    def said_by_place(self) -> dict[tuple[int, str, int], str]:
        """Return what was asked in every turn of the debate, by round, stage and slot."""
        return {turn.key: text_of(self.request_of(turn)) for turn in self.turns() if turn.outcome == "answered"}


def seats(model: Any, names: Sequence[str] = NAMES) -> list[BaseAgent]:
    return [
        BaseAgent(AgentConfig(id=name, name=name.title(), provider="scripted", model="m"), model, nonce=fixed)
        for name in names
    ]


async def hold(
    mode: str,
    *,
    reply: Callable[[ChatRequest], Reply] = answer,
    names: Sequence[str] = NAMES,
    rounds: int = 2,
    storage: Any = None,
    profile: ModelProfile | None = None,
    **more: Any,
) -> Held:
    """Hold a debate of four over two rounds."""
    model = ScriptedModel(reply, profile=profile)
    table = Roundtable(seats(model, names), storage=MemoryStorage() if storage is None else storage)
    result = await table.debate(more.pop("topic", TOPIC), mode=mode, rounds=rounds, **more)
    return Held(result, model.requests)


def table_of_run(held: Held) -> str:
    """Write what a run shows as `plan_table` writes a plan: turns from the JSON, what they see from the prompts."""
    rounds = json.loads(held.result.to_json())["rounds"]
    places = {}
    for turn in held.turns():
        if turn.outcome == "answered" and turn.answer.kind == "position":
            places[turn.answer.position] = f"{turn.round}/{turn.stage}/{turn.slot}"
    own = {turn.key: turn for turn in held.turns()}
    lines = ["round | stage | slot | agent | role | answer | sees"]
    for turn in (turn for one in rounds for turn in one["turns"]):
        request = held.request_of(own[turn["round"], turn["stage"], turn["slot"]])
        seen = [(places[word], who) for _, who, word in LABEL.findall(request.messages[-1].content)]
        shown = ", ".join(f"{place} as {who}" for place, who in seen) or "-"
        kind = turn["result"]["answer"]["kind"]
        facts = (turn["round"], turn["stage"], turn["slot"], turn["agentId"], turn["role"], kind, shown)
        lines.append(" | ".join(map(str, facts)))
    return "\n".join(lines) + "\n"
