"""One meter out of several: the first that works measures, and the causes of each fallback are recorded."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable._foreign import error_text
from roundtable.analysis.basic import ConsensusAnalyzer
from roundtable.logs import ROOT
from roundtable.stages import is_fault
from roundtable.types import Measured, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.protocols import ConsensusMeter
    from roundtable.types import AgentResponse

__all__ = ["AnalyzerChain", "NamedMeter"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.analysis")

_CAUSE_CHARS: Final = 300


class NamedMeter(NamedTuple):
    """A meter and the name its causes go by."""

    name: str
    """Method, such as `"ai"`."""
    meter: ConsensusMeter
    """The meter."""


class AnalyzerChain:
    """Measures with the first meter that works; no paid round is lost, since the basic formula is always last.

    Args:
        meters: Meters in order; the basic formula need not be named.

    Example:
        >>> import anyio
        >>> from roundtable.analysis import AIConsensusAnalyzer
        >>> from roundtable.types import AgentResponse
        >>> said = [AgentResponse(agent_id=name, agent_name=name, position=name) for name in ("ada", "bo")]
        >>> chain = AnalyzerChain([NamedMeter("ai", AIConsensusAnalyzer())])
        >>> found = anyio.run(chain.measure, said, "Tea?").consensus
        >>> found.method, found.causes
        ('basic', ('ai: no model can read the answers: no model was given',))
    """

    def __init__(self, meters: Sequence[NamedMeter]) -> None:
        self.meters: tuple[NamedMeter, ...] = tuple(meters)

    async def measure(
        self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None = None, groupthink: bool = True
    ) -> Measured:
        """Measure; see `roundtable.protocols.ConsensusMeter`. Fails on nothing but a cancellation."""
        causes: list[str] = []
        spent = Usage()
        for name, meter in self.meters:
            try:
                found = await meter.measure(responses, topic, session_id=session_id, groupthink=groupthink)
                return _with_causes(found, causes, spent)
            except BaseException as error:  # a meter may be foreign code; a paid round is never lost to it
                if not is_fault(error):
                    raise
                message = error_text(error).split("\n", 1)[0][:_CAUSE_CHARS] or type(error).__name__
                causes.append(f"{name}: {message}")
                usage = getattr(error, "usage", None)
                spent += usage if isinstance(usage, Usage) else Usage()
                logger.debug("the analyzer %s did not measure: %s", name, message)
        basic = await ConsensusAnalyzer().measure(responses, topic, session_id=session_id, groupthink=groupthink)
        return _with_causes(basic, causes, spent)


def _with_causes(found: Measured, causes: Sequence[str], spent: Usage) -> Measured:
    if not isinstance(found, Measured):
        raise TypeError(f"the meter gave {type(found).__name__}, not Measured")
    if not causes:
        return found
    total = spent + (found.usage or Usage())
    known = found.consensus.model_copy(update={"causes": (*causes, *found.consensus.causes)})
    return Measured(consensus=known, usage=total if total.calls else None)
