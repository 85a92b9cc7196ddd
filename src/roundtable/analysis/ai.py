"""Agreement measured by a model, called the reader: its prompt, its parsed answer, and the resulting consensus."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, ClassVar, Final

import anyio

from roundtable.analysis.basic import ConsensusAnalyzer
from roundtable.analysis.declared import RoundCamps
from roundtable.analysis.health import detect_groupthink
from roundtable.core.base.text import error_text
from roundtable.core.base.words import counted
from roundtable.core.errors import ConfigurationError, ParseError, RoundtableError
from roundtable.core.prompts.fence import Fence, fresh_nonce
from roundtable.core.stages import is_fault
from roundtable.core.types.base import Value
from roundtable.core.types.chat import ChatRequest, Message, OutputSchema, Usage
from roundtable.core.types.consensus import AIConsensusResult, Cluster, GroupthinkWarning, Measured, Nuances
from roundtable.parsing import find_document
from roundtable.parsing.members import text_in, texts_in
from roundtable.reading import without_thoughts
from roundtable.tools import ModelCall

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roundtable.core.protocols import ChatModel
    from roundtable.core.types.answers import AgentResponse, TurnKey
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.scoring.camps import SameOrDifferent

__all__ = [
    "ANALYSIS_SCHEMA",
    "AIConsensusAnalyzer",
    "AnalyzerDiagnostics",
    "analysis_messages",
    "answer_names",
    "list_of_texts",
    "read_analysis",
    "reading_order",
    "share_of",
]

_MOST_ITEMS: Final = 20
_MOST_POINTS: Final = 4
_LEVEL: Final = re.compile(
    r"[\"']?agreement_?level[\"']?\s*[:=]\s*[\"']?([01](?:\.\d+)?|\.\d+)"
    r"(?![\w.]|,\d|\s*[%/]|\s*[-\u2013]\s*[\d.]|\s+(?:out\s+of|of|to)\b)",
    re.IGNORECASE,
)
"""A level in prose; the part of a fraction, a range, a percentage or a decimal with a comma isn't a level."""
_ANSWER: Final = re.compile(r"\bA[1-9]\d*\b", re.IGNORECASE)
_EXCEPTION: Final = re.compile(r"\b(?:not|but|except|excluding|without)\b", re.IGNORECASE)
"""A word in front of an answer that is not meant, as in "all except A3"."""
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

_STRING: Final[JsonObject] = {"type": "string"}
_STRINGS: Final[JsonObject] = {"type": "array", "items": _STRING}

_ONE_FIGURE: Final = 0.005
"""Bounds whose distance is less than this are reported as one figure."""
_CONTRADICTION: Final = 0.5
"""If the reader's level is farther than this from the lead of its own largest group, the two contradict each other."""
_MAX_TOKENS: Final = 8192
_SAMPLING: Final = 0.7
_UNAVAILABLE: Final = "AI_ANALYSIS_UNAVAILABLE"


def answer_names(responses: Sequence[AgentResponse]) -> dict[str, AgentResponse]:
    """Return the answers by their names in the prompt, `A1`, `A2` and so on, which hide who wrote them."""
    return {f"A{number}": response for number, response in enumerate(responses, start=1)}


def reading_order(responses: Sequence[AgentResponse], reading: int = 0) -> list[int]:
    """Return the indices of answers in the order in which a model reads them, which does not depend on the agents.

    The answers are shuffled, and their texts are the seed.

    Args:
        responses: The answers.
        reading: Number of the model call, from 0; each call gets a different order.
    """

    def text_of(index: int) -> str:
        response = responses[index]
        facts = (
            response.position,
            response.bottom_line,
            response.choice,
            response.stance,
            response.reasoning,
            str(response.confidence),
        )
        return "\0".join(fact or "" for fact in facts)

    ordered = sorted(range(len(responses)), key=text_of)
    Random("\0".join((str(reading), *map(text_of, ordered)))).shuffle(ordered)
    return ordered


def analysis_messages(
    responses: Sequence[AgentResponse], topic: str, fence: Fence, *, groupthink: bool
) -> tuple[Message, ...]:
    """Create the prompt; question and answers are quoted within the fence. Answers have the names of `answer_names`."""
    parts = ["The question:", fence.quote(topic, label="question"), "The answers:"]
    for name, answer in answer_names(responses).items():
        lines = [f"Position: {answer.position}"]
        lines += [f"Bottom line: {answer.bottom_line}"] if answer.bottom_line else []
        lines += [f"Option chosen: {answer.choice}"] if answer.choice else []
        lines += [f"Stance: {answer.stance}"] if answer.stance else []
        lines += [f"Confidence: {round(answer.confidence * 100)} %"] if answer.confidence is not None else []
        lines += [f"Reasoning: {answer.reasoning}"] if answer.reasoning else []
        parts.append(fence.quote("\n".join(lines), label=f"answer {name}"))
    instructions = f"{_FORMAT}\n{_GROUPTHINK}" if groupthink else _FORMAT
    return (
        Message(role="system", content=f"{_TASK}\n\n{fence.rule}"),
        Message(role="user", content="\n\n".join([*parts, instructions])),
    )


def read_analysis(text: str, responses: Sequence[AgentResponse], *, groupthink: bool) -> AIConsensusResult | None:
    """Parse the answer of a model; `None` if it has no agreement level.

    The last JSON object with an agreement level counts, even if it is malformed, or cut off after the level. Without
    such an object, only the level and the summary are searched for in the text. A level is never invented: there is
    none unless the model stated it. The clusters are those of the model; an answer that the model left out is not in
    any cluster.

    Args:
        text: The answer of the model.
        responses: The answers in the order in which the model read them.
        groupthink: Whether the prompt asked for signs of groupthink.
    """
    document = find_document(text, lambda fields: "agreementLevel" in fields or "agreement_level" in fields)
    is_cut = document is not None and bool(document.partial & {"agreementLevel", "agreement_level"})
    if document is not None and not is_cut:
        level = share_of(document.fields.get("agreementLevel", document.fields.get("agreement_level")))
        if level is not None:
            return _full_result(level, document.fields, responses, groupthink=groupthink)
    # If the answer is cut off within the level, its digits are a different number.
    text = without_thoughts(text)
    levels = [match[1] for match in _LEVEL.finditer(text) if not is_cut or match.end() < len(text)]
    if not levels or not 0 <= float(levels[-1]) <= 1:
        return None
    summary = _SUMMARY.search(text)
    return AIConsensusResult(
        agreement_level=float(levels[-1]),
        summary=summary[1] if summary else "",
        method="ai",
    )


def share_of(value: JsonValue, *, clip: bool = True) -> float | None:
    """Parse a share in [0, 1]; `None` for any other value.

    Args:
        value: The value.
        clip: Whether a number from -1 to 2 that is outside [0, 1] becomes the nearer end of this range.

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
    clipped = min(1.0, max(0.0, float(share)))
    return clipped if clipped == share or (clip and -1 <= share <= 2) else None


def _full_result(
    level: float, fields: JsonObject, responses: Sequence[AgentResponse], *, groupthink: bool
) -> AIConsensusResult:
    names = _answers_by_name(responses)
    several = len(_in_several_clusters(fields.get("clusters"), names))
    unknown = _unknown_answers(fields.get("clusters"), names)
    causes: list[str] = []
    raw_level = fields.get("agreementLevel", fields.get("agreement_level"))
    if share_of(raw_level, clip=False) is None:
        causes.append(f"ai: the reader's level of {str(raw_level)[:20]} is off the scale, so it counts as {level:g}")
    clusters = _clusters(fields.get("clusters"), names, responses)
    if not clusters:
        causes.append("ai: the reader gave no groups of answers, only a level")
    if several:
        causes.append(f"ai: the reader put {counted(several, 'answer')} into several groups, so they count in none")
    if unknown:
        causes.append(f"ai: the reader's groups name {counted(unknown, 'answer')} that it was not shown")
    return AIConsensusResult(
        agreement_level=level,
        causes=tuple(causes),
        common_ground=list_of_texts(fields.get("commonGround")),
        disagreement_points=list_of_texts(fields.get("disagreementPoints")),
        summary=text_in(fields.get("summary")),
        method="ai",
        clusters=clusters,
        groupthink_warning=_warning(fields.get("groupthinkWarning")) if groupthink else None,
        key_points=_key_points_in(fields.get("keyPoints"), names, responses),
        nuances=_nuances(fields.get("nuances")),
        reasoning=text_in(fields.get("reasoning")) or None,
    )


def _answers_by_name(responses: Sequence[AgentResponse]) -> dict[str, int]:
    """Return the index of each answer by all names that a model may use for it; the names are case-folded.

    An agent's name is included only if the agent has exactly one answer.
    """
    by_agent: dict[str, set[int]] = {}
    for index, response in enumerate(responses):
        for name in (response.agent_id, response.agent_name):
            by_agent.setdefault(name.casefold(), set()).add(index)
    names = {name: next(iter(indices)) for name, indices in by_agent.items() if len(indices) == 1}
    return names | {f"a{number}": number - 1 for number in range(1, len(responses) + 1)}


def _answer_named(name: str, names: Mapping[str, int]) -> int | None:
    """Return the index of the answer that a text names: a known name, or a text such as "Answer A1"."""
    index = names.get(name.casefold())
    mentions = {*_ANSWER.findall(name)} if index is None and not _EXCEPTION.search(name) else set()
    return names.get(mentions.pop().casefold()) if len(mentions) == 1 else index


def list_of_texts(value: JsonValue, most: int = _MOST_ITEMS) -> tuple[str, ...]:
    """Return at most `most` texts of a list, without blank ones."""
    return texts_in(value, most)


def _clusters(value: JsonValue, names: Mapping[str, int], responses: Sequence[AgentResponse]) -> tuple[Cluster, ...]:
    """Parse clusters. An answer in several clusters is dropped from all, and a cluster without answers is dropped."""
    several = _in_several_clusters(value, names)
    clusters: list[Cluster] = []
    for item in value if isinstance(value, list) else []:
        if not isinstance(item, dict):
            continue
        answers = tuple(index for index in _members(item, names) if index not in several)
        theme = text_in(item.get("theme")) or text_in(item.get("summary"))
        if answers and theme:
            ids = tuple(dict.fromkeys(responses[index].agent_id for index in answers))
            summary = text_in(item.get("summary"))
            clusters.append(Cluster(theme=theme, agent_ids=ids, summary=summary, answers=answers))
    return tuple(clusters)


def _members(item: Mapping[str, JsonValue], names: Mapping[str, int]) -> tuple[int, ...]:
    indices = [_answer_named(name, names) for name in list_of_texts(item.get("agentIds"), 1000)]
    return tuple(dict.fromkeys(index for index in indices if index is not None))


def _unknown_answers(value: JsonValue, names: Mapping[str, int]) -> int:
    """Return how many names in a reader's groups do not belong to any answer."""
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    named = {name for item in items for name in list_of_texts(item.get("agentIds"), 1000)}
    return sum(_answer_named(name, names) is None for name in named)


def _in_several_clusters(value: JsonValue, names: Mapping[str, int]) -> set[int]:
    """Return the answers that a reader put into several groups."""
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    counts = Counter(index for item in items for index in _members(item, names))
    return {index for index, count in counts.items() if count > 1}


def _nuances(value: JsonValue) -> Nuances | None:
    fields = value if isinstance(value, dict) else {}
    nuances = Nuances(
        partial_agreements=list_of_texts(fields.get("partialAgreements")),
        conditional_positions=list_of_texts(fields.get("conditionalPositions")),
        uncertainties=list_of_texts(fields.get("uncertainties")),
    )
    return None if nuances == Nuances() else nuances


def _warning(value: JsonValue) -> GroupthinkWarning:
    if not isinstance(value, dict) or value.get("detected") is not True:
        return GroupthinkWarning(detected=False)
    return GroupthinkWarning(
        detected=True,
        indicators=list_of_texts(value.get("indicators")),
        recommendation=text_in(value.get("recommendation")),
    )


def _key_points_in(
    value: JsonValue, names: Mapping[str, int], responses: Sequence[AgentResponse]
) -> dict[str, tuple[str, ...]]:
    points_by_agent: dict[str, tuple[str, ...]] = {}
    for item in value if isinstance(value, list) else []:
        if isinstance(item, dict):
            index = _answer_named(text_in(item.get("agentId")), names)
            points = list_of_texts(item.get("points"), _MOST_POINTS)
            if index is not None and points:
                points_by_agent.setdefault(responses[index].agent_id, points)
    return points_by_agent


def _object(**properties: JsonValue) -> JsonObject:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


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
"""JSON Schema of the model's answer, for models with structured output."""


class AnalyzerDiagnostics(Value):
    """Whether a model can analyse a round, and why not."""

    available: bool
    """Whether there is a model to ask."""
    reason: str | None = None
    """Why there is no model to ask."""
    models: tuple[str, ...] = ()
    """The models to ask, as `provider:model`."""
    readings: int = 0
    """Number of model calls per round."""


class AIConsensusAnalyzer:
    """Analyzer that asks a light model how far answers agree and on what; the basic formula is its fallback.

    Several models act as several judges, and with `samples`, each of them is asked more than once. In both cases, the
    level is the median of all levels, and `spread` is the distance between the highest and the lowest level. A model
    does not see who gave which answer, and answers are quoted within a fence. No web search is used.

    Args:
        models: The model, or several models. Without a model, `analyze_consensus` uses its fallback.
        samples: Number of calls to each model per round.
        fallback_to_rule_based: Whether, on a failure, the result of the basic formula is returned with the cause;
            otherwise an error is raised.
        max_tokens: Maximum tokens of a model's answer.
        why_none: Reason why there is no model, for the error message.
        nonce: Function that returns fence ids; random by default. Tests pass their own for repeatable prompts.

    Raises:
        ConfigurationError: `samples` is less than 1.

    Example:
        >>> import anyio
        >>> from roundtable.providers.scripted import ScriptedModel
        >>> from roundtable.types import AgentResponse
        >>> said = [AgentResponse(agent_id=word, agent_name=word, position=word) for word in ("Tea", "Coffee")]
        >>> model = ScriptedModel([{"agreementLevel": 0, "summary": "They differ."}])
        >>> found = anyio.run(AIConsensusAnalyzer(model).analyze_consensus, said, "Tea or coffee?")
        >>> found.method, found.agreement_level
        ('ai', 0.0)
    """

    compares_earlier: ClassVar[bool] = True
    """Whether `measure` accepts the earlier answers."""

    def __init__(
        self,
        models: ChatModel | Sequence[ChatModel] = (),
        *,
        samples: int = 1,
        fallback_to_rule_based: bool = True,
        max_tokens: int = _MAX_TOKENS,
        why_none: str = "no model was given",
        nonce: Callable[[], str] = fresh_nonce,
    ) -> None:
        if samples < 1:
            raise ConfigurationError(f"samples must be at least 1, not {samples}")
        self.models: tuple[ChatModel, ...] = tuple(models) if isinstance(models, Sequence) else (models,)
        self.samples = samples
        self.fallback_to_rule_based = fallback_to_rule_based
        self._max_tokens = max_tokens
        self._why_none = why_none
        self._nonce = nonce

    def get_diagnostics(self) -> AnalyzerDiagnostics:
        """Return whether there are models to ask, and which."""
        return AnalyzerDiagnostics(
            available=bool(self.models),
            reason=None if self.models else self._why_none,
            models=tuple(f"{model.provider}:{model.model}" for model in self.models),
            readings=len(self.models) * self.samples,
        )

    async def analyze_consensus(
        self, responses: Sequence[AgentResponse], topic: str, *, include_groupthink_detection: bool = True
    ) -> AIConsensusResult:
        """Measure how far answers agree; for fewer than two answers, no model is asked.

        Raises:
            ConfigurationError: There is no model, and the fallback is off; the code is `AI_ANALYSIS_UNAVAILABLE`.
            RoundtableError: All calls failed, and the fallback is off.
        """
        if len(responses) < 2:
            return _without_model(responses)
        try:
            measured = await self.measure(responses, topic, groupthink=include_groupthink_detection)
        except RoundtableError as error:
            if not self.fallback_to_rule_based:
                raise
            return _basic(responses, str(error), groupthink=include_groupthink_detection)
        assert isinstance(measured.consensus, AIConsensusResult)  # noqa: S101  (`measure` of this class returns it)
        return measured.consensus

    async def measure(
        self,
        responses: Sequence[AgentResponse],
        topic: str,
        *,
        session_id: str | None = None,
        groupthink: bool = True,
        earlier: Mapping[TurnKey, AgentResponse] | None = None,
    ) -> Measured:
        """Measure a round, as the meter of a debate; see `roundtable.protocols.ConsensusMeter`.

        Args:
            responses: The answers; the model does not see answers that abstain.
            topic: The question.
            session_id: Id of the session to which the usage belongs.
            groupthink: Whether to look for signs of groupthink.
            earlier: Earlier answers by turn, to which comparisons of the answers may refer.

        Raises:
            ConfigurationError: There is no model.
            RoundtableError: All calls failed; the `usage` of the error is what they consumed.
        """
        if not self.models:
            raise ConfigurationError(
                f"no model can read the answers: {self._why_none}",
                code=_UNAVAILABLE,
                hint="Name one with seats={'analyzer': 'provider:model'}, or set a provider's key.",
            )
        own = RoundCamps(responses)
        positions = [responses[index] for index in own.positions]
        if len(positions) < 2:
            return Measured(consensus=_without_model(responses))
        readings = await self._ask_models(positions, topic, session_id, groupthink=groupthink)
        usage = sum((reading.usage for reading in readings), Usage())
        results = [reading.result for reading in readings if reading.result is not None]
        failures = [reading.error for reading in readings if reading.error is not None]
        if not results:
            failures[0].usage = usage
            raise failures[0]
        causes = tuple(f"ai: {error.message}" for error in failures)
        groups = [_groups(result, own.positions) for result in results if result.clusters]
        consensus = _with_camps(_median_reading(results), groups, own, earlier)
        return Measured(consensus=consensus.model_copy(update={"causes": (*causes, *consensus.causes)}), usage=usage)

    def asks(self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None = None) -> list[ModelCall]:
        """Return the calls of one measurement; see `roundtable.analysis.AskingMeter`."""
        if len(responses) < 2:
            return []
        request = self.request(responses, topic, session_id)
        return [ModelCall(model, request) for model in self.models for _ in range(self.samples)]

    def request(
        self,
        responses: Sequence[AgentResponse],
        topic: str,
        session_id: str | None = None,
        *,
        groupthink: bool = True,
        reading: int = 0,
    ) -> ChatRequest:
        """Create the request to a model; requests for the same answers differ only in their order and in fence ids."""
        metadata = {"agent": "analyzer", "purpose": "analysis"}
        return ChatRequest(
            messages=analysis_messages(
                [responses[index] for index in reading_order(responses, reading)],
                topic,
                Fence(self._nonce()),
                groupthink=groupthink,
            ),
            temperature=0.0 if self.samples == 1 else _SAMPLING,
            max_tokens=self._max_tokens,
            output_schema=ANALYSIS_SCHEMA,
            metadata=metadata if session_id is None else {**metadata, "session": session_id},
        )

    async def _ask_models(
        self, responses: Sequence[AgentResponse], topic: str, session_id: str | None, *, groupthink: bool
    ) -> list[_Reading]:
        models = [model for model in self.models for _ in range(self.samples)]
        readings: list[_Reading] = [_Reading() for _ in models]

        async def read(index: int) -> None:
            request = self.request(responses, topic, session_id, groupthink=groupthink, reading=index)
            await readings[index].take(
                models[index], request, responses, reading_order(responses, index), groupthink=groupthink
            )

        async with anyio.create_task_group() as group:
            for index in range(len(models)):
                group.start_soon(read, index)
        return readings


class _Reading:
    """One call of a model, with its result or error, and its usage."""

    def __init__(self) -> None:
        self.result: AIConsensusResult | None = None
        self.error: RoundtableError | None = None
        self.usage = Usage()

    async def take(
        self,
        model: ChatModel,
        request: ChatRequest,
        responses: Sequence[AgentResponse],
        order: Sequence[int],
        *,
        groupthink: bool,
    ) -> None:
        # Models with their own web search must only read the answers.
        changes: dict[str, object] = {"search": model.profile.no_search}
        if not model.profile.structured_output:
            changes["output_schema"] = None
        request = request.model_copy(update=changes)
        try:
            response = await model.complete(request)
            self.usage = response.usage
            result = read_analysis(response.text, [responses[index] for index in order], groupthink=groupthink)
        except RoundtableError as error:
            self.error = error
            self.usage += error.usage if isinstance(error.usage, Usage) else Usage()
        except BaseException as error:  # a model may be foreign code; its error must not lose the round
            if not is_fault(error):
                raise
            self.error = RoundtableError(
                f"the model raised {type(error).__name__}: {error_text(error)[:500]}", cause=error
            )
        else:
            if result is None:
                self.error = ParseError("the answer has no readable agreement level", provider=model.provider)
                return
            analyzer = {
                "analyzer_id": f"{model.provider}:{response.model or model.model}",
                "analyzer_provider": model.provider,
            }
            clusters = tuple(_reindexed(cluster, order) for cluster in result.clusters)
            self.result = result.model_copy(update={**analyzer, "clusters": clusters})


def _median_reading(readings: Sequence[AIConsensusResult]) -> AIConsensusResult:
    """Return the result with the median level (of two middle ones, the lower), and set the spread of all levels."""
    ordered = sorted(readings, key=lambda reading: reading.agreement_level)
    middle = ordered[(len(ordered) - 1) // 2]
    if len(ordered) == 1:
        return middle
    spread = round(ordered[-1].agreement_level - ordered[0].agreement_level, 9)
    return middle.model_copy(update={"samples": len(ordered), "spread": spread})


def _reindexed(cluster: Cluster, order: Sequence[int]) -> Cluster:
    return cluster.model_copy(update={"answers": tuple(order[index] for index in cluster.answers)})


def _groups(reading: AIConsensusResult, positions: Sequence[int]) -> dict[int, int]:
    """Return the number of the group of each answer that the reader put into a group, by the index of the answer."""
    return {positions[index]: number for number, cluster in enumerate(reading.clusters) for index in cluster.answers}


def _with_camps(
    middle: AIConsensusResult,
    groups: Sequence[Mapping[int, int]],
    certain: RoundCamps,
    earlier: Mapping[TurnKey, AgentResponse] | None,
) -> AIConsensusResult:
    """Group the answers by the reader's groups and by their own evidence, which overrules the reader.

    Both the reader's level and the lead of the camps limit the agreement: `agreement_level` is the lower of the two,
    and `agreement_at_most` is the higher. First, the reader's level is moved into the range that equal answers,
    options, stances and numbers allow.
    """
    responses = certain.responses
    level = min(max(middle.agreement_level, float(certain.camps.at_least)), float(certain.camps.at_most))
    camps = RoundCamps(responses, earlier, _read_pairs(groups, len(responses)))
    low, high = min(level, float(camps.camps.at_least)), max(level, float(camps.camps.at_most))
    own = camps.to_consensus()
    causes = middle.causes
    if camps.camps.at_least == camps.camps.at_most and high - low > _CONTRADICTION:
        lead = float(camps.camps.at_least)
        causes += (f"ai: the reader's level of {level:.2f} contradicts its groups, whose lead is {lead:.2f}",)
    return middle.model_copy(
        update={
            "agreement_level": low,
            "agreement_at_most": low if high - low < _ONE_FIGURE else high,
            "clusters": tuple(
                _with_model_name(cluster, middle, camps.positions, responses) for cluster in own.clusters
            ),
            "summary": middle.summary or own.summary,
            "answers": own.answers,
            "causes": causes,
            "not_compared": own.not_compared,
            "is_lead_open": own.is_lead_open,
            "abstained": own.abstained,
            "warnings": own.warnings,
        }
    )


def _with_model_name(
    cluster: Cluster, reading: AIConsensusResult, positions: Sequence[int], responses: Sequence[AgentResponse]
) -> Cluster:
    """Name a group as the model does, unless its answers have options or bottom lines."""
    same = [
        group for group in reading.clusters if {positions[index] for index in group.answers} == set(cluster.answers)
    ]
    if not same or any(responses[index].choice or responses[index].bottom_line for index in cluster.answers):
        return cluster
    return cluster.model_copy(update={"theme": same[0].theme, "summary": same[0].summary or cluster.summary})


def _read_pairs(groups: Sequence[Mapping[int, int]], count: int) -> dict[tuple[int, int], SameOrDifferent]:
    """Return the verdicts of more than half of the readers with groups on pairs of answers, by their indices."""
    verdicts: dict[tuple[int, int], SameOrDifferent] = {}
    for first, second in combinations(range(count), 2):
        together = [placed[first] == placed[second] for placed in groups if first in placed and second in placed]
        if 2 * sum(together) > len(groups):
            verdicts[first, second] = "same"
        elif 2 * together.count(False) > len(groups):
            verdicts[first, second] = "different"
    return verdicts


def _without_model(responses: Sequence[AgentResponse]) -> AIConsensusResult:
    """Return the consensus of a round with at most one answer that does not abstain; this needs no model."""
    own = RoundCamps(responses).to_consensus()
    analyzer = "self" if own.answers else None
    return AIConsensusResult(**dict(own)).model_copy(update={"method": "ai", "analyzer_id": analyzer})


def _basic(responses: Sequence[AgentResponse], cause: str, *, groupthink: bool) -> AIConsensusResult:
    """Return the result of the basic formula as an `AIConsensusResult`, with the cause."""
    basic = ConsensusAnalyzer().analyze(responses)
    return AIConsensusResult(
        **dict(basic),
        reasoning=f"Measured by the basic formula, since no model could read the answers: {cause}",
    ).model_copy(
        update={
            "causes": (f"ai: {cause}",),
            "groupthink_warning": detect_groupthink(responses) if groupthink else None,
        }
    )
