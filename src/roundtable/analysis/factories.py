"""How analyzers are created for a debate, and the built-in analyzers by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.analysis.ai import AIConsensusAnalyzer
from roundtable.analysis.basic import ConsensusAnalyzer
from roundtable.analysis.chain import AnalyzerChain, NamedMeter
from roundtable.analysis.semantic import SemanticAnalyzer, StanceAnalyzer

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.core.protocols import ChatModel, ConsensusMeter

__all__ = ["BUILTIN_ANALYZERS", "AnalyzerSetup", "DebateAnalyzerFactory", "Readers"]


class Readers(NamedTuple):
    """The models that can read the answers of a debate."""

    models: tuple[ChatModel, ...]
    """The models: those of the seat `analyzer`, else a light model of the agents' providers. May be empty."""
    why_none: str = ""
    """Why there is no model; empty if there is one."""


@dataclass(frozen=True, slots=True)
class AnalyzerSetup:
    """What a debate offers to its analyzer."""

    options: tuple[str, ...] | None
    """Options that the agents choose from; `None` for an open question."""
    readers: Callable[[], Readers]
    """Creates the models that can read the answers; an analyzer without a model does not call it.

    It raises `ConfigurationError` if a model that the caller named cannot be created.
    """


@dataclass(frozen=True, slots=True)
class DebateAnalyzerFactory:
    """Factory of an analyzer that needs more than one light model, such as several models or the options.

    A plugin registers it like any factory: `registrar.add("themes", DebateAnalyzerFactory(make_meter))`. The built-in
    analyzers are registered in this way.

    Example:
        >>> factory = DebateAnalyzerFactory(lambda setup: AIConsensusAnalyzer(setup.readers().models, samples=3))
        >>> factory(None).get_diagnostics().available
        False
    """

    for_debate: Callable[[AnalyzerSetup], ConsensusMeter]
    """Creates the meter of one debate."""

    def __call__(self, model: ChatModel | None) -> ConsensusMeter:
        """Create the meter of an open question that one model reads, or none."""
        readers = Readers((), "no model was given") if model is None else Readers((model,))
        return self.for_debate(AnalyzerSetup(None, lambda: readers))


def _reader(setup: AnalyzerSetup) -> NamedMeter:
    models, why_none = setup.readers()
    return NamedMeter("ai", AIConsensusAnalyzer(models, why_none=why_none))


def _auto(setup: AnalyzerSetup) -> ConsensusMeter:
    if setup.options is not None:
        return _stance(setup)
    return AnalyzerChain([_reader(setup)], asks_if_settled=False)


def _ai(setup: AnalyzerSetup) -> ConsensusMeter:
    return AnalyzerChain([_reader(setup)])


def _declared(_: AnalyzerSetup) -> ConsensusMeter:
    return AnalyzerChain([])


def _semantic(_: AnalyzerSetup) -> ConsensusMeter:
    return AnalyzerChain([NamedMeter("semantic", SemanticAnalyzer())])


def _stance(setup: AnalyzerSetup) -> ConsensusMeter:
    return AnalyzerChain([NamedMeter("stance", StanceAnalyzer(options_only=setup.options is not None))])


def _basic(_: AnalyzerSetup) -> ConsensusMeter:
    return ConsensusAnalyzer()


BUILTIN_ANALYZERS: Final = (
    ("auto", DebateAnalyzerFactory(_auto), "By the options, or by a model where the answers leave agreement open."),
    ("ai", DebateAnalyzerFactory(_ai), "By a model that reads the answers of each round."),
    ("declared", DebateAnalyzerFactory(_declared), "By equal answers and the agents' own comparisons."),
    ("semantic", DebateAnalyzerFactory(_semantic), "As `declared`, with hints from the words of the answers."),
    ("stance", DebateAnalyzerFactory(_stance), "By the chosen options or stances."),
    ("basic", DebateAnalyzerFactory(_basic), "By counting different texts."),
)
"""Name, factory and summary of each built-in analyzer."""
