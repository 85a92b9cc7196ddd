"""Rules and stop criteria are foreign code: when one breaks, the round that was paid for is closed all the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from integration.engine_kit import CountingModel, table_of

import roundtable as rt
from roundtable.exits import Exit
from roundtable.protocols import ExitRound
from roundtable.scoring import Electorate, Outcome, Parameters, Rule
from roundtable.types import AgentResponse, ExitResult, Measured


def breaking(ballots: Electorate, _: Parameters) -> Outcome:
    raise ZeroDivisionError("no way")


@dataclass(frozen=True, slots=True)
class Breaks(Exit):
    """Breaks whenever it is asked."""

    kind = "breaks"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        raise KeyError(len(rounds))


@dataclass(frozen=True, slots=True)
class Mumbles(Exit):
    """Gives no result."""

    kind = "mumbles"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        found: Any = None
        return found


async def test_a_rule_that_fails_decides_nothing_and_the_round_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    model = CountingModel("Tea")
    result = await table_of(model).debate("Tea?", rounds=2, decide=Rule("mine", breaking))
    assert result.status == "completed"
    assert [held.complete for held in result.rounds] == [True, True]
    assert len(model.begun) == 6
    assert result.answer is None
    assert result.answer_reason == "no decision: the rule 'mine' failed (ZeroDivisionError: no way)."
    assert "the rule 'mine' failed: ZeroDivisionError: no way" in caplog.text


@pytest.mark.parametrize(
    ("exit_when", "broken"),
    [
        pytest.param(Breaks(), ["breaks: KeyError: 1"], id="alone"),
        pytest.param(rt.MinRounds(3) | Breaks(), ["breaks: KeyError: 1"], id="one of several"),
        pytest.param(
            rt.MinRounds(1) & Mumbles(), ["mumbles: it returned None instead of an ExitResult"], id="one of all"
        ),
        pytest.param(
            rt.MinRounds(1) & Mumbles() | Breaks(),
            ["mumbles: it returned None instead of an ExitResult", "breaks: KeyError: 1"],
            id="both",
        ),
    ],
)
async def test_an_exit_that_fails_is_skipped_and_named(
    exit_when: Exit, broken: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    result = await table_of(CountingModel("Tea")).debate("Tea?", rounds=1, exit_when=exit_when)
    assert (result.status, result.answer) == ("completed", "Tea")
    assert result.exit is not None
    assert (result.exit.reason, result.exit.figures["broken"]) == ("max_rounds", broken)
    assert all(name in result.exit.details for name in broken)
    assert f"the stop criterion {broken[0].partition(':')[0]!r} failed and was ignored" in caplog.text


async def test_an_exit_still_ends_the_debate_if_another_exit_fails() -> None:
    result = await table_of(CountingModel("Tea")).debate(
        "Tea?", rounds=4, exit_when=Breaks() | rt.ConsensusReached(0.9)
    )
    assert result.exit is not None
    assert (len(result.rounds), result.exit.reason) == (1, "consensus")
    more = await table_of(CountingModel("Tea")).debate("Tea?", rounds=2, exit_when=Breaks())
    assert len(more.rounds) == 2


async def test_a_debate_whose_exit_fails_can_be_extended() -> None:
    table = table_of(CountingModel("Tea"))
    result = await table.debate("Tea?", rounds=1, exit_when=Breaks() | rt.ConsensusReached(0.9))
    assert len((await table.extend(result.session_id)).rounds) == 2


class Breaking:
    """A meter that breaks."""

    async def measure(self, responses: Sequence[AgentResponse], topic: str, **_: object) -> Measured:
        raise ValueError("no measure")


async def test_a_failing_meter_never_loses_a_paid_round() -> None:
    model = CountingModel("Tea")
    table = table_of(model, analyzer=Breaking())
    result = await table.debate("Tea?", rounds=1)
    assert result.consensus is not None
    assert (result.status, result.consensus.method, result.consensus.causes) == (
        "completed",
        "basic",
        ("analyzer: no measure",),
    )
    table._wiring.engine.meter = Breaking()
    assert (await table._wiring.engine.get_consensus(result.session_id)) == result.consensus
