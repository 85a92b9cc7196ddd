"""Our own providers, tools, rules, analyzers and exits keep the laws that plugins are held to."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

import pytest

from roundtable.analysis import (
    AIConsensusAnalyzer,
    AnalyzerChain,
    ConsensusAnalyzer,
    NamedMeter,
    SemanticAnalyzer,
    StanceAnalyzer,
)
from roundtable.exits import (
    AllConfident,
    BudgetSpent,
    ConsensusReached,
    Converged,
    Exit,
    LeadIsDecisive,
    MaxRounds,
    MinRounds,
    ModeratorEnds,
    NoProgress,
    Stable,
    StopRequested,
)
from roundtable.protocols import ChatModel, ConsensusMeter, Tool
from roundtable.providers import chat_model
from roundtable.scoring import BUILTIN_RULES, Rule, rule_registry
from roundtable.testing import ScriptedModel
from roundtable.testing.analyzer_suite import AnalyzerSuite
from roundtable.testing.exit_suite import ExitSuite
from roundtable.testing.provider_suite import KEY, Capability, ProviderSuite
from roundtable.testing.rule_suite import RuleSuite, Threshold
from roundtable.testing.tool_suite import ToolSuite
from roundtable.tools import tool
from roundtable.types import JsonObject

OTHER_BALLOTS = ("score", "median", "star", "cumulative", "log-odds", "linear-pool", "log-pool")
OTHER_BALLOTS += ("surprisingly-popular", "free-mad")
THRESHOLDS: dict[str, Threshold] = {
    "majority": ("more than", Fraction(1, 2)),
    "judge-panel": ("more than", Fraction(1, 2)),
    "supermajority": ("at least", Fraction(2, 3)),
    "unanimity": ("at least", Fraction(1)),
    "hybrid": ("at least", Fraction(1)),
    "judge": ("at least", Fraction(1)),
}


class TestOpenAIChat(ProviderSuite):
    capabilities = frozenset({Capability.HTTP, Capability.STREAMING, Capability.TOOLS})

    @pytest.fixture
    def make_model(self) -> Callable[[str], ChatModel]:
        return lambda url: chat_model("openai-chat:gpt", base_url=url, api_key=KEY)


class TestScripted(ProviderSuite):
    @pytest.fixture
    def make_model(self) -> Callable[[str], ChatModel]:
        return lambda _: ScriptedModel({"*": {"position": "Tea"}})


class _GivenRule(RuleSuite):
    @pytest.fixture
    def rule(self, request: pytest.FixtureRequest) -> Rule:
        found: Rule = request.param
        return found


EVERY_DAY = ("plurality", "schulze", "surprisingly-popular")


def rules(*, of_positions: bool, threshold: Threshold | None = None) -> list[object]:
    """Return rules that read positions, with a threshold or without, or the others; most are tried by .ci/run alone."""
    return [
        pytest.param(rule, id=rule.name, marks=() if rule.name in EVERY_DAY else pytest.mark.slow)
        for rule in BUILTIN_RULES
        if (rule.name not in OTHER_BALLOTS) == of_positions and rule.name != "random-dictator"
        if THRESHOLDS.get(rule.name) == threshold
    ]


@pytest.mark.parametrize("rule", rules(of_positions=True), indirect=True)
class TestRulesOfPositions(_GivenRule):
    pass


@pytest.mark.parametrize("rule", rules(of_positions=True, threshold=THRESHOLDS["majority"]), indirect=True)
class TestRulesOfMoreThanHalf(_GivenRule):
    threshold = THRESHOLDS["majority"]


@pytest.mark.parametrize("rule", rules(of_positions=True, threshold=THRESHOLDS["supermajority"]), indirect=True)
class TestRulesOfTwoThirds(_GivenRule):
    threshold = THRESHOLDS["supermajority"]


@pytest.mark.parametrize("rule", rules(of_positions=True, threshold=THRESHOLDS["unanimity"]), indirect=True)
class TestRulesOfAll(_GivenRule):
    threshold = THRESHOLDS["unanimity"]


@pytest.mark.parametrize("rule", rules(of_positions=False), indirect=True)
class TestRulesOfOtherBallots(_GivenRule):
    reads_choices = False


@pytest.mark.slow
class TestRandomDictator(RuleSuite):
    is_neutral = False  # it draws once over the options as they are listed; all alike have their chance
    follows_majority = False

    @pytest.fixture
    def rule(self) -> Rule:
        return rule_registry().get("random-dictator")


METERS = {
    "basic": ConsensusAnalyzer(),
    "semantic": SemanticAnalyzer(),
    "chain": AnalyzerChain([NamedMeter("stance", StanceAnalyzer()), NamedMeter("semantic", SemanticAnalyzer())]),
}


@pytest.mark.parametrize("meter", METERS, indirect=True)
class TestAnalyzers(AnalyzerSuite):
    @pytest.fixture
    def meter(self, request: pytest.FixtureRequest) -> ConsensusMeter:
        return METERS[request.param]


class TestAIAnalyzer(AnalyzerSuite):
    sees_equal_texts = False
    asks_models = True

    @pytest.fixture
    def meter(self) -> ConsensusMeter:
        read = AIConsensusAnalyzer(ScriptedModel({"*": "Tea, mostly."}))
        return AnalyzerChain([NamedMeter("ai", read)])


@pytest.mark.parametrize(
    "criterion",
    [
        MaxRounds(2),
        MinRounds(2),
        ConsensusReached(0.9),
        Converged(2),
        AllConfident(0.8),
        Stable(),
        LeadIsDecisive(),
        NoProgress(2),
        StopRequested(),
        ModeratorEnds(),
        BudgetSpent(max_calls=3),
    ],
    ids=lambda criterion: criterion.kind,
    indirect=True,
)
class TestBuiltinExits(ExitSuite):
    @pytest.fixture
    def criterion(self, request: pytest.FixtureRequest) -> Exit:
        found: Exit = request.param
        return found


@tool
def half(number: float) -> float:
    """Return half of a number.

    Args:
        number: Any number.
    """
    return number / 2


class TestFunctionTool(ToolSuite):
    good_input: ClassVar[JsonObject] = {"number": 3}

    @pytest.fixture
    def tool(self) -> Tool:
        return half
