"""What a model is asked about a round, and how its answer is read."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from roundtable.analysis.basic import cluster_positions
from roundtable.parsing import find_document
from roundtable.parsing.texts import text_in, texts_in
from roundtable.scoring import casefold
from roundtable.types import AIConsensusResult, Cluster, GroupthinkWarning, Message, Nuances, OutputSchema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.prompts import Fence
    from roundtable.types import AgentResponse, JsonObject, JsonValue

__all__ = ["ANALYSIS_SCHEMA", "analysis_messages", "answer_names", "list_of_texts", "read_analysis", "share_of"]

_MOST_ITEMS: Final = 20
_MOST_POINTS: Final = 4
_LEVEL: Final = re.compile(
    r"[\"']?agreement_?level[\"']?\s*[:=]\s*[\"']?([01](?:\.\d+)?|\.\d+)(?![\d.%e])", re.IGNORECASE
)
_ANSWER: Final = re.compile(r"\bA[1-9]\d*\b", re.IGNORECASE)
_SUMMARY: Final = re.compile(r"[\"']summary[\"']\s*:\s*\"((?:[^\"\\]|\\.){1,2000})\"")

_TASK: Final = """You compare the answers that several agents gave to one question, and say how far they agree.
Judge what the answers mean, not how they are worded: other words for one thing are agreement, a negated statement is \
the opposite, and agreement has degrees. A position that holds only under a condition agrees only in part. How sure an \
agent is, and how well it argues, is no agreement. Answer with one JSON object and nothing else."""

_FORMAT: Final = """Answer with one JSON object without code fences:
- "agreementLevel": a number from 0 (all contradict each other) to 1 (all hold the same)
- "clusters": a list of groups of answers that say the same, each {"theme": their position in a sentence, "agentIds": \
a list of the names of its answers, "summary": what they say}; every answer is in exactly one group
- "commonGround": a list of points that ALL answers share; empty when there are none
- "disagreementPoints": a list of points on which they differ
- "nuances": {"partialAgreements": points that only some share, "conditionalPositions": positions that depend on a \
condition, "uncertainties": what the agents say they do not know}
- "summary": the state of the debate in two or three sentences
- "reasoning": why you chose this level
- "keyPoints": for each answer {"agentId": its name, "points": two to four points of its reasoning, each in one or two \
whole sentences that can be read alone}"""

_GROUPTHINK: Final = """- "groupthinkWarning": {"detected": true or false, "indicators": a list of signs, \
"recommendation": what to do about it}. A sign is any of these: all are at least 85 % sure without having disagreed; \
all conclude the same without weighing an alternative; nobody takes the contrary view of a controversial question; an \
answer argues that others think so too; dissent is brushed aside"""


def answer_names(responses: Sequence[AgentResponse]) -> dict[str, AgentResponse]:
    """Give each answer the name it goes by in the prompt; who said it is not told."""
    return {f"A{place}": response for place, response in enumerate(responses, start=1)}


def analysis_messages(
    responses: Sequence[AgentResponse], topic: str, fence: Fence, *, groupthink: bool
) -> tuple[Message, ...]:
    """Write the request; question and answers stand behind the fence, under the names of `answer_names`."""
    parts = ["The question:", fence.quote(topic, label="question"), "The answers:"]
    for name, said in answer_names(responses).items():
        lines = [f"Position: {said.position}"]
        lines += [f"Option chosen: {said.choice}"] if said.choice else []
        lines += [f"Stance: {said.stance}"] if said.stance else []
        lines += [f"Confidence: {round(said.confidence * 100)} %"]
        lines += [f"Reasoning: {said.reasoning}"] if said.reasoning else []
        parts.append(fence.quote("\n".join(lines), label=f"answer {name}"))
    wanted = f"{_FORMAT}\n{_GROUPTHINK}" if groupthink else _FORMAT
    return (
        Message(role="system", content=f"{_TASK}\n\n{fence.rule}"),
        Message(role="user", content="\n\n".join([*parts, wanted])),
    )


def read_analysis(text: str, responses: Sequence[AgentResponse], *, groupthink: bool) -> AIConsensusResult | None:
    """Read an answer; `None` where no agreement level can be had of it.

    The last JSON object with an agreement level counts, also one that is cut off behind it or has slips; without any,
    the level and the summary alone are looked for. A level is never made up, and zero is zero. Answers that the model
    put in no group are grouped by their wording, so that no vote is lost to a slip.
    """
    found = find_document(text, lambda fields: "agreementLevel" in fields or "agreement_level" in fields)
    cut = found is not None and bool(found.partial & {"agreementLevel", "agreement_level"})
    if found is not None and not cut:
        level = share_of(found.fields.get("agreementLevel", found.fields.get("agreement_level")))
        if level is not None:
            return _result(level, found.fields, responses, groupthink=groupthink)
    # Of an answer that is cut off within its level, the digits that came are another number.
    levels = [one[1] for one in _LEVEL.finditer(text) if not cut or one.end() < len(text.rstrip())]
    if not levels or not 0 <= float(levels[-1]) <= 1:
        return None
    summary = _SUMMARY.search(text)
    return AIConsensusResult(
        agreement_level=float(levels[-1]),
        summary=summary[1] if summary else "",
        method="ai",
        clusters=_whole((), responses),
    )


def share_of(value: JsonValue) -> float | None:
    """Read a share; a slip beyond an end is moved to it, what is no share is none.

    Example:
        >>> share_of(0), share_of("0.8"), share_of("80 %"), share_of(1.2), share_of(85), share_of(True)
        (0.0, 0.8, 0.8, 1.0, None, None)
    """
    scale = 1.0
    if isinstance(value, str):
        digits = value.strip()
        if digits.endswith("%"):
            digits, scale = digits[:-1].strip(), 100.0
        try:
            value = float(digits)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    share = value / scale
    return min(1.0, max(0.0, float(share))) if -1 <= share <= 2 else None


def _result(
    level: float, fields: JsonObject, responses: Sequence[AgentResponse], *, groupthink: bool
) -> AIConsensusResult:
    names = _ids(responses)
    return AIConsensusResult(
        agreement_level=level,
        common_ground=list_of_texts(fields.get("commonGround")),
        disagreement_points=list_of_texts(fields.get("disagreementPoints")),
        summary=text_in(fields.get("summary")),
        method="ai",
        clusters=_whole(_clusters(fields.get("clusters"), names), responses),
        groupthink_warning=_warning(fields.get("groupthinkWarning")) if groupthink else None,
        key_points=_points(fields.get("keyPoints"), names),
        nuances=_nuances(fields.get("nuances")),
        reasoning=text_in(fields.get("reasoning")) or None,
    )


def _ids(responses: Sequence[AgentResponse]) -> dict[str, str]:
    """Give agent ids by all names a model may call an answer."""
    told = {said.agent_id.casefold(): said.agent_id for said in responses}
    told |= {said.agent_name.casefold(): said.agent_id for said in responses}
    return told | {name.casefold(): said.agent_id for name, said in answer_names(responses).items()}


def _meant(name: str, names: Mapping[str, str]) -> str | None:
    """Give the agent a name means: one of its own, or a text such as "Answer A1" that holds one name of an answer."""
    known = names.get(name.casefold())
    held = {*_ANSWER.findall(name)} if known is None else set()
    return names.get(held.pop().casefold()) if len(held) == 1 else known


def list_of_texts(value: JsonValue, most: int = _MOST_ITEMS) -> tuple[str, ...]:
    """Read a list of texts: at most `most` of those that say something."""
    return texts_in(value, most)


def _clusters(value: JsonValue, names: Mapping[str, str]) -> tuple[Cluster, ...]:
    """Read clusters; of an agent in several the first counts, and one without a known agent is dropped."""
    placed: set[str] = set()
    found: list[Cluster] = []
    for item in value if isinstance(value, list) else []:
        if not isinstance(item, dict):
            continue
        told = [_meant(name, names) for name in list_of_texts(item.get("agentIds"), 1000)]
        ids = tuple(dict.fromkeys(agent for agent in told if agent is not None and agent not in placed))
        theme = text_in(item.get("theme")) or text_in(item.get("summary"))
        if ids and theme:
            placed.update(ids)
            found.append(Cluster(theme=theme, agent_ids=ids, summary=text_in(item.get("summary"))))
    return tuple(found)


def _whole(read: Sequence[Cluster], responses: Sequence[AgentResponse]) -> tuple[Cluster, ...]:
    """Add those in no cluster, by wording: to the cluster whose theme they word, else to one of their own."""
    placed = {agent for cluster in read for agent in cluster.agent_ids}
    found: dict[str, Cluster] = {}
    for cluster in (*read, *cluster_positions([said for said in responses if said.agent_id not in placed])):
        known = found.setdefault(casefold(cluster.theme), cluster)
        if known is not cluster:
            ids = (*known.agent_ids, *cluster.agent_ids)
            found[casefold(cluster.theme)] = known.model_copy(update={"agent_ids": ids})
    return tuple(sorted(found.values(), key=lambda cluster: len(cluster.agent_ids), reverse=True))


def _nuances(value: JsonValue) -> Nuances | None:
    given = value if isinstance(value, dict) else {}
    found = Nuances(
        partial_agreements=list_of_texts(given.get("partialAgreements")),
        conditional_positions=list_of_texts(given.get("conditionalPositions")),
        uncertainties=list_of_texts(given.get("uncertainties")),
    )
    return None if found == Nuances() else found


def _warning(value: JsonValue) -> GroupthinkWarning:
    if not isinstance(value, dict) or value.get("detected") is not True:
        return GroupthinkWarning(detected=False)
    return GroupthinkWarning(
        detected=True,
        indicators=list_of_texts(value.get("indicators")),
        recommendation=text_in(value.get("recommendation")),
    )


def _points(value: JsonValue, names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for item in value if isinstance(value, list) else []:
        if isinstance(item, dict):
            agent = _meant(text_in(item.get("agentId")), names)
            points = list_of_texts(item.get("points"), _MOST_POINTS)
            if agent is not None and points:
                found.setdefault(agent, points)
    return found


def _object(**properties: JsonValue) -> JsonObject:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_STRING: Final[JsonObject] = {"type": "string"}
_STRINGS: Final[JsonObject] = {"type": "array", "items": _STRING}

ANALYSIS_SCHEMA: Final = OutputSchema(
    name="consensus_analysis",
    definition=_object(
        agreementLevel={"type": "number", "minimum": 0, "maximum": 1},
        clusters={"type": "array", "items": _object(theme=_STRING, agentIds=_STRINGS, summary=_STRING)},
        commonGround=_STRINGS,
        disagreementPoints=_STRINGS,
        nuances=_object(partialAgreements=_STRINGS, conditionalPositions=_STRINGS, uncertainties=_STRINGS),
        summary=_STRING,
        reasoning=_STRING,
        keyPoints={"type": "array", "items": _object(agentId=_STRING, points=_STRINGS)},
        groupthinkWarning=_object(detected={"type": "boolean"}, indicators=_STRINGS, recommendation=_STRING),
    ),
)
"""Schema of the answer, for models that can be held to one."""
