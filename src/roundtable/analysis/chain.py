"""The chain of analyzers that measures a round: it uses the first that works, and records why others failed."""

from __future__ import annotations

import logging
from inspect import isawaitable
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol, TypeGuard, runtime_checkable

from roundtable.analysis.basic import ConsensusAnalyzer
from roundtable.analysis.declared import DeclaredAnalyzer, RoundCamps, measured_camps
from roundtable.core.base.text import error_text
from roundtable.core.errors import PluginError, RoundtableError
from roundtable.core.stages import is_fault
from roundtable.core.types.chat import NO_USAGE, Usage
from roundtable.core.types.consensus import Measured
from roundtable.logs import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.core.capabilities import ComparingMeter
    from roundtable.core.protocols import ConsensusMeter
    from roundtable.core.types.answers import AgentResponse, TurnKey
    from roundtable.tools import ModelCall

__all__ = ["AnalyzerChain", "AskingMeter", "NamedMeter", "safe_meter"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.analysis")

_CAUSE_CHARS: Final = 300


@runtime_checkable
class AskingMeter(Protocol):
    """Optional part of a `ConsensusMeter` that calls models; `estimate` needs it.

    A meter without it counts as one that calls no model.
    """

    def asks(
        self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None = None
    ) -> Sequence[ModelCall]:
        """Return the model calls that `measure` makes at most for these answers; nothing is called.

        Args:
            responses: The answers of a round.
            topic: The question.
            session_id: The session that the calls are charged to.
        """


class NamedMeter(NamedTuple):
    """A meter, and its name in recorded causes."""

    name: str
    """Method, such as `"ai"`."""
    meter: ConsensusMeter
    """The meter."""
    plugin: str | None = None
    """Plugin that provides the meter; an error names it if the meter returns a wrong type."""


class AnalyzerChain:
    """Meter that uses the first of several meters that works.

    The fallback at the end needs no model by default, so no round is lost.

    Args:
        meters: The meters, in the order in which they are tried.
        fallback: Meter that is used if all others fail. Without it, the answers' own evidence is used.
        asks_if_settled: Whether the meters are used even if equal texts, options, stances and numbers show for every
            pair of answers whether the two are the same. What agents declared about each other's answers does not count
            here, since a reader may contradict it.

    Example:
        >>> import anyio
        >>> from roundtable.analysis import AIConsensusAnalyzer
        >>> from roundtable.types import AgentResponse
        >>> said = [AgentResponse(agent_id=name, agent_name=name, position=name) for name in ("ada", "bo")]
        >>> chain = AnalyzerChain([NamedMeter("ai", AIConsensusAnalyzer())])
        >>> found = anyio.run(chain.measure, said, "Tea?").consensus
        >>> found.method, found.level_in_words, found.causes
        ('declared', 'not measured', ('ai: no model can read the answers: no model was given',))
    """

    compares_earlier: ClassVar[bool] = True
    """Whether `measure` accepts the earlier answers."""

    def __init__(
        self,
        meters: Sequence[NamedMeter],
        *,
        fallback: ConsensusMeter | None = None,
        asks_if_settled: bool = True,
    ) -> None:
        self.meters: tuple[NamedMeter, ...] = tuple(meters)
        self.fallback: ConsensusMeter = fallback or DeclaredAnalyzer()
        self.asks_if_settled = asks_if_settled

    @property
    def leaves_out_calls(self) -> bool:
        """Whether no model is called for some rounds, since their answers themselves show which of them are the same.

        This also holds if one of the meters is such a chain.
        """
        return not self.asks_if_settled or any(getattr(meter, "leaves_out_calls", False) for _, meter, _ in self.meters)

    def asks(
        self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None = None
    ) -> tuple[ModelCall, ...]:
        """Return the model calls that `measure` makes at most: those of all meters, since any of them may fail.

        Raises:
            PluginError: The meter of a plugin raised an exception, which is the cause of this error.
        """
        calls: list[ModelCall] = []
        for name, meter, plugin in (*self.meters, NamedMeter("fallback", self.fallback)):
            if not isinstance(meter, AskingMeter):
                continue
            try:
                calls += meter.asks(responses, topic, session_id=session_id)
            except RoundtableError:
                raise
            except Exception as error:
                if plugin is None:
                    raise
                msg = f"the analyzer {name!r} of {plugin} failed: {type(error).__name__}: {error_text(error)}"
                raise PluginError(msg, plugin=plugin, stage="use", cause=error) from error
        return tuple(calls)

    async def measure(
        self,
        responses: Sequence[AgentResponse],
        topic: str,
        *,
        session_id: str | None = None,
        groupthink: bool = True,
        earlier: Mapping[TurnKey, AgentResponse] | None = None,
    ) -> Measured:
        """Measure a round; see `roundtable.protocols.ConsensusMeter`.

        If a meter fails, the next one is used. A failure of the last one, the fallback, is raised.
        """

        async def measure_with(meter: ConsensusMeter) -> Measured:
            measuring: object
            if _compares_earlier(meter):
                measuring = meter.measure(
                    responses, topic, session_id=session_id, groupthink=groupthink, earlier=earlier
                )
            else:
                measuring = meter.measure(responses, topic, session_id=session_id, groupthink=groupthink)
            if not isawaitable(measuring):
                raise _WrongTypeError(measuring, is_async=False)
            measured: object = await measuring
            if not isinstance(measured, Measured):
                raise _WrongTypeError(measured)
            fault = _fault_in(measured, responses)
            if fault is not None:
                raise _RefusedError(fault, measured.usage)
            return measured

        causes: list[str] = []
        usage_of_failures = NO_USAGE
        camps = RoundCamps(responses, earlier) if self.meters and not self.asks_if_settled else None
        for name, meter, plugin in () if camps is not None and camps.is_marked else self.meters:
            try:
                return _with_causes(await measure_with(meter), causes, usage_of_failures)
            except BaseException as error:  # a meter may be foreign code; its fault must not lose a paid round
                if not is_fault(error):
                    raise
                if isinstance(error, _WrongTypeError) and plugin is not None:
                    error = error.to_plugin_error(name, plugin)
                    logger.warning("%s %s", error.message, error.hint)
                message = error_text(error).split("\n", 1)[0][:_CAUSE_CHARS] or type(error).__name__
                causes.append(f"{name}: {message}")
                usage = getattr(error, "usage", None)
                usage_of_failures += usage if isinstance(usage, Usage) else NO_USAGE
                logger.debug("the analyzer %s did not measure: %s", name, message)
        if camps is not None and type(self.fallback) is DeclaredAnalyzer:
            measured = measured_camps(camps.to_consensus(), responses, groupthink=groupthink)
        else:
            measured = await measure_with(self.fallback)
        return _with_causes(measured, causes, usage_of_failures)


def safe_meter(meter: ConsensusMeter) -> AnalyzerChain:
    """Return a meter that loses no round: if the given one fails, the basic formula measures and names the cause.

    A chain is returned as it is, since it has a fallback of its own.
    """
    if isinstance(meter, AnalyzerChain):
        return meter
    return AnalyzerChain([NamedMeter("analyzer", meter)], fallback=ConsensusAnalyzer())


def _compares_earlier(meter: ConsensusMeter) -> TypeGuard[ComparingMeter]:
    # This runs at each measurement; an isinstance check of a protocol takes 20 times as long.
    return bool(getattr(meter, "compares_earlier", False))


def _fault_in(measured: Measured, responses: Sequence[AgentResponse]) -> str | None:
    """Return why a measurement is refused; `None` if it is consistent. The meter may be foreign code."""
    consensus = measured.consensus
    if consensus.agreement_at_most < consensus.agreement_level:
        bounds = f"{consensus.agreement_at_most:g}, below agreement_level, {consensus.agreement_level:g}"
        return f"agreement_at_most is {bounds}"
    named = {agent for cluster in consensus.clusters for agent in cluster.agent_ids}
    if unknown := sorted(named - {response.agent_id for response in responses}):
        return f"a group contains {unknown[0]!r}, who gave no answer"
    return None


class _RefusedError(ValueError):
    """A measurement contradicts itself, or it names agents without an answer."""

    def __init__(self, fault: str, usage: Usage | None) -> None:
        self.usage = usage
        """Usage of the measurement."""
        super().__init__(fault)


class _WrongTypeError(TypeError):
    """A meter returned a type other than `Measured`, or its `measure` is not `async`."""

    def __init__(self, returned: object, *, is_async: bool = True) -> None:
        self.returned = type(returned).__name__ if is_async else f"{type(returned).__name__} without `await`"
        super().__init__(f"the meter gave {self.returned}, not Measured")

    def to_plugin_error(self, name: str, plugin: str) -> PluginError:
        """Return an error that names the plugin, and the type that the meter should have returned."""
        msg = f"the analyzer {name!r} of {plugin} returned {self.returned}"
        hint = "Its `async def measure` must return a Measured(consensus=ConsensusResult(...))."
        return PluginError(msg, plugin=plugin, stage="use", cause=self, hint=hint)


def _with_causes(measured: Measured, causes: Sequence[str], usage_of_failures: Usage) -> Measured:
    if not causes:
        return measured
    total = usage_of_failures + (measured.usage or NO_USAGE)
    consensus = measured.consensus.model_copy(update={"causes": (*causes, *measured.consensus.causes)})
    return Measured(consensus=consensus, usage=total if total.calls else None)
