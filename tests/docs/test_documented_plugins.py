"""What the pages show as one's own rule, criterion, mode, analyzer, tool and provider keeps the laws of the kit."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pytest

from roundtable.exits import Exit
from roundtable.protocols import ChatModel, ConsensusMeter, DebateModeStrategy, Tool
from roundtable.providers import HttpProvider, ProviderSpec
from roundtable.scoring import Rule
from roundtable.settings import Settings
from roundtable.testing.analyzer_suite import AnalyzerSuite
from roundtable.testing.exit_suite import ExitSuite
from roundtable.testing.mode_suite import ModeSuite
from roundtable.testing.provider_suite import KEY, Capability, ProviderSuite
from roundtable.testing.rule_suite import RuleSuite
from roundtable.testing.servers import Seen, http_reply, sse_reply
from roundtable.testing.tool_suite import ToolSuite
from roundtable.tools import tool as as_tool
from roundtable.types import JsonObject, ModelProfile, ProviderConfig

pytestmark = pytest.mark.slow

DOCS = Path(__file__).resolve().parents[2] / "docs"


def shown(page: str, *starts: str) -> dict[str, Any]:
    """Run definitions of a block of a page, with its imports, and give what there is then."""
    found: dict[str, Any] = {}
    exec(source(page, *starts), found)
    return found


def source(page: str, *starts: str) -> str:
    """Return definitions of a block of a page, with its imports."""
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    block = next(one for one in blocks if starts[0] in one)
    parts = re.findall(r"^(?:from|import) .*$", block, re.MULTILINE)
    for start in starts:
        parts += re.findall(rf"^(?:@.*\n)?{re.escape(start)}.*\n(?:(?:[ \t].*)?\n)*", block, re.MULTILINE)
    return "\n".join(parts)


class TestRule(RuleSuite):
    threshold = ("at least", Fraction(1))

    @pytest.fixture
    def rule(self) -> Rule:
        return Rule("one-view", shown("how-to/choose-a-decision-rule.md", "def one_view")["one_view"])


class TestCriterion(ExitSuite):
    @pytest.fixture
    def criterion(self) -> Exit:
        found: Exit = shown("how-to/end-a-debate-early.md", "class SomebodySays")["SomebodySays"]("yes")
        return found


class TestMode(ModeSuite):
    most_agents = 4
    most_rounds = 3

    @pytest.fixture
    def mode(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DebateModeStrategy:
        # In a module of its own, as an author would have it: another process plans with it, too.
        (tmp_path / "shown_chair.py").write_text(source("how-to/write-a-mode.md", "class ChairMode"))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "shown_chair", raising=False)
        found: DebateModeStrategy = importlib.import_module("shown_chair").ChairMode()
        return found


class TestAnalyzer(AnalyzerSuite):
    @pytest.fixture
    def meter(self) -> ConsensusMeter:
        found: ConsensusMeter = shown("how-to/write-a-plugin.md", "class FirstWord")["FirstWord"]()
        return found


class TestTool(ToolSuite):
    good_input: ClassVar[JsonObject] = {"item": "tea"}

    @pytest.fixture
    def tool(self) -> Tool:
        return as_tool(shown("how-to/tools.md", "def price")["price"])


class TestWireOfItsOwn(ProviderSuite):
    capabilities = frozenset({Capability.HTTP, Capability.STREAMING})
    unsupported = frozenset({"temperature", "seed", "stop", "output_schema"})
    answer = http_reply(b'{"said": "Tea", "spent": [3, 1]}')
    stream_answer = sse_reply([b'{"said": "T"}\n', b'{"said": "ea"}\n', b'{"end": true, "spent": [3, 1]}\n'])
    stream_errors = (b'{"error": {"message": "Overloaded"}}\n',)
    consumed = (3, 1)

    @pytest.fixture
    def make_model(self) -> Callable[[str], ChatModel]:
        parley = shown("tutorial/write-a-provider.md", "class Parley", "class Lines", "def usage_of")["Parley"]
        spec = ProviderSpec(
            name="parley",
            dialect=parley(),
            base_url=None,
            key_required=False,
            default_model="p-1",
            profile=ModelProfile(streams=True, calls_tools=False),
        )
        return lambda url: HttpProvider(spec)("p-1", ProviderConfig(base_url=url, api_key=KEY), Settings())

    def wants_stream(self, seen: Seen) -> bool:
        return bool(seen.json["lines"])
