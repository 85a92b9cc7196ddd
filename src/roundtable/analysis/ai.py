"""Agreement as a model reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import anyio

from roundtable._foreign import error_text
from roundtable.analysis.basic import ConsensusAnalyzer
from roundtable.analysis.groupthink import detect_groupthink
from roundtable.analysis.reading import ANALYSIS_SCHEMA, analysis_messages, read_analysis
from roundtable.errors import ConfigurationError, ParseError, RoundtableError
from roundtable.prompts import Fence, fresh_nonce
from roundtable.stages import is_fault
from roundtable.types import AIConsensusResult, ChatRequest, Cluster, Measured, Usage, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.protocols import ChatModel
    from roundtable.types import AgentResponse

__all__ = ["AIConsensusAnalyzer", "AnalyzerDiagnostics"]

_MAX_TOKENS: Final = 8192
_SAMPLING: Final = 0.7
_UNAVAILABLE: Final = "AI_ANALYSIS_UNAVAILABLE"


class AnalyzerDiagnostics(Value):
    """Whether a model can read a round, and why not."""

    available: bool
    """Whether there is a model to ask."""
    reason: str | None = None
    """Why there is none."""
    models: tuple[str, ...] = ()
    """Models asked, as `provider:model`."""
    readings: int = 0
    """Calls a round takes."""


class AIConsensusAnalyzer:
    """Has a light model say how far answers agree, where, and on what; falls back to the basic formula.

    Several models are several judges, and `samples` asks each of them more than once; the level is then the median, and
    `spread` says how far the readings lie apart. The model is not told who said what, and answers stand behind a fence.
    No web search is asked for.

    Args:
        models: The model, or the judges; without any, `analyze_consensus` falls back.
        samples: Readings of each model.
        fallback_to_rule_based: Whether a failure gives the basic formula, with the cause, rather than an error.
        max_tokens: Most tokens of an answer.
        why_none: Why there is no model, for the message.
        nonce: Source of fence ids; random unless a test needs repeatable prompts.

    Raises:
        ConfigurationError: `samples` is less than 1.

    Example:
        >>> import anyio
        >>> from roundtable.providers.scripted import ScriptedModel
        >>> from roundtable.types import AgentResponse
        >>> said = [AgentResponse(agent_id=name, agent_name=name, position="Tea") for name in ("ada", "bo")]
        >>> model = ScriptedModel([{"agreementLevel": 0, "summary": "They differ."}])
        >>> found = anyio.run(AIConsensusAnalyzer(model).analyze_consensus, said, "Tea or coffee?")
        >>> found.method, found.agreement_level
        ('ai', 0.0)
    """

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
        """Say whether there is a model to ask, and which."""
        return AnalyzerDiagnostics(
            available=bool(self.models),
            reason=None if self.models else self._why_none,
            models=tuple(f"{model.provider}:{model.model}" for model in self.models),
            readings=len(self.models) * self.samples,
        )

    async def analyze_consensus(
        self, responses: Sequence[AgentResponse], topic: str, *, include_groupthink_detection: bool = True
    ) -> AIConsensusResult:
        """Read answers; one or none needs no reading.

        Raises:
            ConfigurationError: There is no model, and no fallback is wanted; the code is `AI_ANALYSIS_UNAVAILABLE`.
            RoundtableError: The model failed, and no fallback is wanted.
        """
        if len(responses) < 2:
            return _trivial(responses)
        try:
            measured = await self.measure(responses, topic, groupthink=include_groupthink_detection)
        except RoundtableError as error:
            if not self.fallback_to_rule_based:
                raise
            return _basic(responses, str(error), groupthink=include_groupthink_detection)
        assert isinstance(measured.consensus, AIConsensusResult)  # noqa: S101  (what this class makes)
        return measured.consensus

    async def measure(
        self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None = None, groupthink: bool = True
    ) -> Measured:
        """Read answers as the meter of a debate; see `roundtable.protocols.ConsensusMeter`.

        Raises:
            ConfigurationError: There is no model.
            RoundtableError: No reading succeeded; `usage` says what was spent.
        """
        if not self.models:
            raise ConfigurationError(
                f"no model can read the answers: {self._why_none}",
                code=_UNAVAILABLE,
                hint="Name one with seats={'analyzer': 'provider:model'}, or set a provider's key.",
            )
        if len(responses) < 2:
            return Measured(consensus=_trivial(responses))
        request = self.request(responses, topic, session_id, groupthink=groupthink)
        readings = await self._ask(request, responses, groupthink=groupthink)
        spent = sum((reading.usage for reading in readings), Usage())
        good = [reading.result for reading in readings if reading.result is not None]
        failures = [reading.error for reading in readings if reading.error is not None]
        if not good:
            failures[0].usage = spent
            raise failures[0]
        causes = tuple(f"ai: {error.message}" for error in failures)
        return Measured(consensus=_together(good).model_copy(update={"causes": causes}), usage=spent)

    def request(
        self,
        responses: Sequence[AgentResponse],
        topic: str,
        session_id: str | None = None,
        *,
        groupthink: bool = True,
    ) -> ChatRequest:
        """Give the request that every reading of these answers makes."""
        metadata = {"agent": "analyzer", "purpose": "analysis"}
        return ChatRequest(
            messages=analysis_messages(responses, topic, Fence(self._nonce()), groupthink=groupthink),
            temperature=0.0 if self.samples == 1 else _SAMPLING,
            max_tokens=self._max_tokens,
            output_schema=ANALYSIS_SCHEMA,
            metadata=metadata if session_id is None else {**metadata, "session": session_id},
        )

    async def _ask(
        self, request: ChatRequest, responses: Sequence[AgentResponse], *, groupthink: bool
    ) -> list[_Reading]:
        asked = [model for model in self.models for _ in range(self.samples)]
        readings: list[_Reading] = [_Reading() for _ in asked]

        async def read(place: int) -> None:
            await readings[place].take(asked[place], request, responses, groupthink=groupthink)

        async with anyio.create_task_group() as group:
            for place in range(len(asked)):
                group.start_soon(read, place)
        return readings


class _Reading:
    """One call: its result, or why there is none, and what it took."""

    def __init__(self) -> None:
        self.result: AIConsensusResult | None = None
        self.error: RoundtableError | None = None
        self.usage = Usage()

    async def take(
        self, model: ChatModel, request: ChatRequest, responses: Sequence[AgentResponse], *, groupthink: bool
    ) -> None:
        if not model.profile.structured_output:
            request = request.model_copy(update={"output_schema": None})
        try:
            response = await model.complete(request)
            self.usage = response.usage
            result = read_analysis(response.text, responses, groupthink=groupthink)
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
                self.error = ParseError("the answer holds no readable agreement level", provider=model.provider)
                return
            who = {"analyzer_id": f"{model.provider}:{response.model or model.model}"}
            self.result = result.model_copy(update={**who, "analyzer_provider": model.provider})


def _together(readings: Sequence[AIConsensusResult]) -> AIConsensusResult:
    """Put readings together: the middle one speaks, the lower of two."""
    ordered = sorted(readings, key=lambda reading: reading.agreement_level)
    middle = ordered[(len(ordered) - 1) // 2]
    if len(ordered) == 1:
        return middle
    apart = round(ordered[-1].agreement_level - ordered[0].agreement_level, 9)
    return middle.model_copy(update={"samples": len(ordered), "spread": apart})


def _trivial(responses: Sequence[AgentResponse]) -> AIConsensusResult:
    """Give the consensus of one answer or none, for which nobody has to be asked."""
    found = ConsensusAnalyzer().analyze(responses)
    shared = tuple(said.position for said in responses)
    return AIConsensusResult(
        agreement_level=found.agreement_level,
        common_ground=shared,
        summary=found.summary,
        method="ai",
        clusters=tuple(
            Cluster(theme=said.choice or said.position, agent_ids=(said.agent_id,), summary=said.position)
            for said in responses
        ),
        analyzer_id="self" if responses else None,
    )


def _basic(responses: Sequence[AgentResponse], cause: str, *, groupthink: bool) -> AIConsensusResult:
    """Give the basic formula in the shape of a model's reading, with the cause."""
    found = ConsensusAnalyzer().analyze(responses)
    return AIConsensusResult(
        **dict(found),
        reasoning=f"Measured by the basic formula, since no model could read the answers: {cause}",
    ).model_copy(
        update={
            "causes": (f"ai: {cause}",),
            "groupthink_warning": detect_groupthink(responses) if groupthink else None,
        }
    )
