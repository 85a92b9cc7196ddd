"""The suites find what is wrong, under the law that is broken; and no law can be left out in silence."""

from __future__ import annotations

import contextlib
import runpy
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest

from roundtable.analysis import ConsensusAnalyzer
from roundtable.errors import APITimeoutError, ConfigurationError
from roundtable.exits import Exit, MaxRounds
from roundtable.protocols import ExitRound
from roundtable.scoring import Electorate, Outcome, Parameters, Rule, decide, rule_registry
from roundtable.storage import MemoryStorage
from roundtable.testing import FaultyModel, ManualClock, RecordingObserver, ScriptedModel, pytest_plugin
from roundtable.testing.analyzer_suite import AnalyzerSuite, positions
from roundtable.testing.exit_suite import ExitSuite
from roundtable.testing.provider_suite import Capability, ProviderSuite
from roundtable.testing.pytest_plugin import roundtable_clock, roundtable_model, roundtable_table
from roundtable.testing.rule_suite import RuleSuite
from roundtable.testing.servers import LoopbackServer
from roundtable.testing.storage_suite import StorageSuite
from roundtable.testing.suite import EndlessLawError, NewLawWarning, ends_within, laws_of, new_law
from roundtable.testing.tool_suite import ToolSuite
from roundtable.tools import tool
from roundtable.types import AgentResponse, ChatRequest, ChatResponse, ConsensusResult, ExitResult, Message, Usage

FIXTURES = (roundtable_clock, roundtable_model, roundtable_table)
"""Found here also where the entry point is not installed."""

ASK = ChatRequest(model="", messages=(Message(role="user", content="Tea?"),))


def test_a_law_that_is_replaced_or_removed_is_noticed() -> None:
    for body in ({"test_it_closes_twice": None}, {"test_it_closes_twice": lambda self: None}):
        with pytest.raises(TypeError, match=r"Lax removes or replaces.*: test_it_closes_twice"):
            type("Lax", (ProviderSuite,), body)
    with pytest.raises(TypeError, match="test_deleting_removes_everything"):
        type("Lax", (StorageSuite,), {"test_deleting_removes_everything": None})


def test_a_law_that_is_expected_to_fail_says_why() -> None:
    @pytest.mark.xfail(reason="closing twice waits for a fix")
    def excused(self: object) -> None:
        raise AssertionError

    @pytest.mark.xfail
    def unexcused(self: object) -> None:
        raise AssertionError

    assert type("Frank", (ProviderSuite,), {"test_it_closes_twice": excused})
    with pytest.raises(TypeError):
        type("Vague", (ProviderSuite,), {"test_it_closes_twice": unexcused})


async def test_a_law_that_waits_without_end_fails_and_all_later_laws_of_the_class_at_once() -> None:
    class Waiting(MemoryStorage):
        async def append(self, *arguments: Any, **options: Any) -> int:
            await anyio.sleep_forever()
            raise AssertionError

    class Impatient(StorageSuite):
        law_s = 0.05

    law = Impatient().test_an_event_reads_back_as_it_was_given
    with pytest.raises(AssertionError, match=r"test_an_event_reads_back_.* did not end within 0.05 s; something waits"):
        await law(Waiting(ManualClock()))
    with pytest.raises(pytest.fail.Exception, match="not tried, because of another law: test_an_event_reads_back"):
        Impatient().fail_after_endless_law()
    StorageSuite().fail_after_endless_law()


def test_a_law_that_computes_without_end_is_interrupted_whatever_it_catches() -> None:
    noted: list[str] = []

    def stubborn() -> None:
        while True:
            with contextlib.suppress(Exception):
                while True:
                    pass

    with pytest.raises(EndlessLawError, match="no end"), ends_within(0.05, "no end", noted.append):
        stubborn()
    assert noted == ["no end"]
    with ends_within(60, "outer"), pytest.raises(EndlessLawError, match="inner"), ends_within(0.05, "inner"):
        stubborn()
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_rule_that_never_ends_is_tried_once() -> None:
    class Endless(RuleSuite):
        pass

    def waits() -> None:
        raise AssertionError("it took longer than 10 s")

    with pytest.raises(AssertionError, match="longer than 10 s"):
        Endless().refuse_waiting(waits)
    with pytest.raises(pytest.fail.Exception, match="not tried, because of another law: it took longer"):
        Endless().refuse_waiting(waits)


def test_laws_of_several_suites_are_all_kept() -> None:
    assert laws_of(RuleSuite).keys() < laws_of(type("Both", (RuleSuite, ExitSuite), {})).keys()


def plurality(electorate: Electorate, parameters: Parameters) -> Outcome:
    return rule_registry().get("plurality").count(electorate, parameters)


def alphabetic(electorate: Electorate, parameters: Parameters) -> Outcome:
    found = plurality(electorate, parameters)
    return Outcome(found.roll, found.scores, tuple(sorted(found.leaders))[:1], "the first of the alphabet")


def nobody(electorate: Electorate, parameters: Parameters) -> Outcome:
    return Outcome(plurality(electorate, parameters).roll, {}, (), "never")


def endless(electorate: Electorate, parameters: Parameters) -> Outcome:
    found = plurality(electorate, parameters)
    return Outcome(found.roll, dict.fromkeys(found.roll.options, float("inf")), found.leaders, "beyond measure")


@pytest.mark.parametrize(
    ("count", "law", "drawn"),
    [
        (alphabetic, "test_names_of_options_do_not_matter", {"ballots": ["tea", "coffee", "milk"], "turn": 2}),
        (nobody, "test_what_all_choose_wins", {}),
        (endless, "test_no_ballot_breaks_it", {"ballots": ["tea"]}),
    ],
)
def test_a_rule_that_breaks_a_law_is_caught(
    count: Callable[[Electorate, Parameters], Outcome], law: str, drawn: dict[str, object]
) -> None:
    test = getattr(RuleSuite, law)
    # The law itself on one draw, which is certain to tell; what hypothesis draws may miss it.
    test = test.hypothesis.inner_test if drawn else test
    test(RuleSuite(), rule=Rule("plurality", plurality), **drawn)
    with pytest.raises((AssertionError, ValueError, ConfigurationError)):
        test(RuleSuite(), rule=Rule("flawed", count), **drawn)
    assert decide(["a"], rule=Rule("fine", plurality)).winner == "a"


class Flawed(ConsensusAnalyzer):
    """A meter that gives what it was made with."""

    def __init__(self, **changes: object) -> None:
        self.changes = changes

    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        return super().analyze(responses).model_copy(update=self.changes)


@pytest.mark.parametrize(
    ("changes", "law"),
    [
        ({"agreement_level": 1.5}, "test_a_round_is_measured"),
        ({"agreement_level": 0.5, "agreement_at_most": 0.4}, "test_a_round_is_measured"),
        ({"summary": " "}, "test_a_round_is_measured"),
        ({"agreement_level": 0.5}, "test_equal_positions_agree"),
    ],
    ids=str,
)
async def test_a_meter_that_breaks_a_law_is_caught(changes: dict[str, object], law: str) -> None:
    more = {"said": ("Tea", "Coffee")} if law == "test_a_round_is_measured" else {}
    await getattr(AnalyzerSuite(), law)(meter=ConsensusAnalyzer(), **more)
    with pytest.raises(AssertionError):
        await getattr(AnalyzerSuite(), law)(meter=Flawed(**changes), **more)


async def test_a_meter_that_forgets_an_agent_is_caught() -> None:
    whole = ConsensusAnalyzer().analyze(positions("Tea", "Coffee", "Tea", "Milk"))
    with pytest.raises(AssertionError):
        await AnalyzerSuite().test_nobody_is_forgotten_or_named_twice(Flawed(clusters=whole.clusters[1:]))


@dataclass(frozen=True, slots=True)
class Moody(Exit):
    """Ends every second time it is asked."""

    kind: ClassVar[str] = "moody"
    asked: ClassVar[list[int]] = []

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        self.asked.append(1)
        return ExitResult(should_exit=len(self.asked) % 2 == 0)


@dataclass(frozen=True, slots=True)
class Reasonless(Exit):
    """Ends at once and says nothing."""

    kind: ClassVar[str] = "reasonless"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=True)


class Soft(Exit):
    """Can be told nothing apart by its fields: equality is that of the object."""

    kind: ClassVar[str] = "soft"
    __eq__ = object.__eq__
    __hash__ = object.__hash__


@pytest.mark.parametrize(
    ("criterion", "law"),
    [
        (Moody(), "test_the_same_rounds_give_the_same_result"),
        (Reasonless(), "test_an_end_has_a_reason"),
        (Soft(), "test_it_is_a_value"),
    ],
)
def test_an_exit_that_breaks_a_law_is_caught(criterion: Exit, law: str) -> None:
    test = getattr(ExitSuite, law)
    drawn = {} if law == "test_it_is_a_value" else {"rounds": ()}
    # The law itself on one debate: hypothesis would try for seconds to explain what it found.
    test = test.hypothesis.inner_test if drawn else test
    test(ExitSuite(), criterion=MaxRounds(2), **drawn)
    with pytest.raises((AssertionError, TypeError)):
        test(ExitSuite(), criterion=criterion, **drawn)


@tool
def spoil(words: list[str]) -> int:
    """Count words, and throw them away."""
    raise ValueError("no words")


async def test_a_tool_that_breaks_a_law_is_caught() -> None:
    class Words(ToolSuite):
        good_input: ClassVar[Any] = {"words": ["a"]}

    with pytest.raises(AssertionError):
        await Words().test_it_succeeds_on_a_good_input(spoil)


def test_a_tool_suite_without_a_good_input_asks_for_one() -> None:
    with pytest.raises(AssertionError, match="set `good_input` in your class"):
        ToolSuite().test_its_schema_is_one_and_describes_its_arguments(spoil)


class Leaky(ScriptedModel):
    """Shows a usage that takes something back, and never ends a stream."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        response = await super().complete(request)
        return response.model_copy(update={"usage": Usage.model_construct(input_tokens=-5, calls=1)})


async def test_a_model_that_breaks_a_law_is_caught() -> None:
    model = Leaky({"*": "Tea"})
    with pytest.raises(AssertionError):
        await ProviderSuite().test_it_answers(model)

    class Streams(ProviderSuite):
        capabilities = frozenset({Capability.STREAMING})

    with pytest.raises(AssertionError):
        await Streams().test_a_stream_ends_with_the_whole_answer(ScriptedModel({"*": "Tea"}))


async def test_a_model_that_retries_by_itself_is_caught() -> None:
    class Stubborn(ScriptedModel):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            for _ in range(2):
                with LoopbackServer():
                    pass
            return await super().complete(request)

    class Http(ProviderSuite):
        capabilities = frozenset({Capability.HTTP})

    with LoopbackServer() as server, pytest.raises(pytest.fail.Exception):
        await Http().test_a_refusal_is_an_error_of_ours(Stubborn({"*": "Tea"}), server, 500, None)


async def test_a_faulty_model_fails_as_configured_and_then_answers() -> None:
    model = FaultyModel(ScriptedModel({"*": "Tea"}, chunks=3), [APITimeoutError(), 0.001, None, APITimeoutError(), 0])
    with pytest.raises(APITimeoutError):
        await model.complete(ASK)
    assert [(await model.complete(ASK)).text for _ in range(2)] == ["Tea", "Tea"]
    with pytest.raises(APITimeoutError):
        _ = [one async for one in model.stream(ASK)]
    assert len([one async for one in model.stream(ASK)]) > 1
    assert (model.provider, model.model, model.profile.streams, model.calls) == ("scripted", "scripted", True, 5)
    await model.aclose()


async def test_a_faulty_stream_may_break_in_the_middle() -> None:
    model = FaultyModel(ScriptedModel({"*": "Tea"}, chunks=3), [APITimeoutError()], after_deltas=2)
    pieces = []

    async def read() -> None:
        async for one in model.stream(ASK):
            pieces.append(one)  # noqa: PERF401  (what came before the fault is what is looked at)

    with pytest.raises(APITimeoutError):
        await read()
    assert len(pieces) == 2


def test_an_observer_keeps_the_events_it_gets() -> None:
    assert RecordingObserver().types == []
    assert anyio.run(ScriptedModel(["Tea"]).complete, ASK).text == "Tea"


@pytest.mark.parametrize("broken", [True, False])
async def test_a_new_law_warns_until_the_version_it_fails_from(broken: bool) -> None:
    async def law() -> str:
        if broken:
            raise AssertionError("the tea is cold")
        return "hot"

    if not broken:
        assert await new_law(fails_from="99.0")(law)() == "hot"
        return
    with pytest.warns(
        NewLawWarning, match=r"law is new and becomes a failure in roundtable-sdk 99\.0: the tea is cold"
    ):
        assert await new_law(fails_from="99.0")(law)() is None
    with pytest.raises(AssertionError, match="cold"):
        await new_law(fails_from="0.0.1")(law)()


def test_the_fixtures_of_the_pytest_plugin_are_as_documented(request: pytest.FixtureRequest) -> None:
    """Read anew, since pytest loads the module before coverage is measured."""
    assert set(pytest_plugin.__all__) <= runpy.run_path(pytest_plugin.__file__).keys()
    assert {"roundtable_clock", "roundtable_model", "roundtable_table"} == set(pytest_plugin.__all__)
    make = request.getfixturevalue("roundtable_table")
    table = make({"ada": "Tea", "bo": "Tea"}, seed=3)
    assert anyio.run(lambda: table.debate("Tea?", rounds=1)).answer == "Tea"
    model = request.getfixturevalue("roundtable_model")(["Tea"])
    assert anyio.run(model.complete, ASK).text == "Tea"
    assert request.getfixturevalue("roundtable_clock").monotonic() == 0


USER = """
def test_a_table(roundtable_table, roundtable_clock):
    import anyio
    table = roundtable_table({"ada": "Tea", "bo": "Tea"}, seed=3)
    assert anyio.run(lambda: table.debate("Tea?", rounds=1)).answer == "Tea"
    roundtable_clock.move(5)
    assert roundtable_clock.monotonic() == 5

def test_left_over(roundtable_model):
    assert roundtable_model(["Tea"]).calls == 0
"""


@pytest.mark.slow
def test_the_pytest_plugin_provides_fixtures_and_loads_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "test_user.py").write_text(USER)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "roundtable.testing.pytest_plugin"]
    done = subprocess.run(
        [*words, "--rootdir", str(tmp_path), str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert "2 passed, 1 error" in done.stdout, done.stdout
    assert "1 of 1 replies left" in done.stdout
    code = "import sys, roundtable.testing.pytest_plugin as p; print(sorted({'pydantic', 'httpx', 'hypothesis', "
    code += "'pluggy', 'anyio', 'roundtable.types'} & set(sys.modules) - {'pluggy', 'anyio'}))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert shown.stdout.strip() == "[]"
