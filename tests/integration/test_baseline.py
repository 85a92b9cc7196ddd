"""A private round before the first, and rounds that are not held because independent answers agree."""

from __future__ import annotations

from typing import Any

import pytest
from integration.engine_kit import CountingModel, table_of

from roundtable.errors import ConfigurationError
from roundtable.modes import AdversarialMode, BaselineMode, with_baseline
from roundtable.providers.scripted import ScriptedModel
from roundtable.storage import MemoryStorage


def alone_then(request: Any) -> str:
    """Answer by oneself in round 0, and as everybody afterwards."""
    if "by yourself" in request.messages[0].content:
        return {"ada": "Zebratea", "bo": "Zebracoffee", "cy": "Zebramilk"}[request.metadata["agent"]]
    return "Water"


@pytest.mark.parametrize("mode", ["adversarial", "devils-advocate", "delphi", "collaborative", "council"])
async def test_private_answers_are_measured_separately_and_shown_to_no_agent(mode: str) -> None:
    requests: list[Any] = []

    def answer(request: Any) -> str:
        requests.append(request)
        return alone_then(request)

    table = table_of(CountingModel(answer), storage=MemoryStorage())
    result = await table.debate("Tea?", rounds=1, mode=mode, baseline=True)
    assert (result.status, result.independent_agreement, result.independent_agreement_reason) == (
        "completed",
        0.0,
        None,
    )
    assert result.answer == "Water"
    assert all(said.position == "Water" for said in result.rounds[0].responses)
    assert result.rounds[0].baseline is not None
    assert len(result.rounds[0].baseline.clusters) == 3
    assert result.baselines is not None
    assert (result.baselines.single, result.baselines.votes, result.baselines.usage.calls) == ("Zebratea", 3, 3)
    later = [request for request in requests if "by yourself" not in request.messages[0].content]
    assert later
    assert not any("Zebra" in message.content for request in later for message in request.messages)
    assert await table.session(result.session_id) == result


async def test_a_sequential_mode_without_a_private_round_has_no_independent_answers() -> None:
    result = await table_of(CountingModel(alone_then)).debate("Tea?", rounds=1, mode="adversarial")
    assert result.independent_agreement is None
    assert result.rounds[0].baseline is None


async def test_private_answers_are_analyzed_and_paid_for_once() -> None:
    reading = {"agreementLevel": 0.25, "summary": "They part."}
    async with ScriptedModel({"analyzer": [reading]}) as reader:  # the answers after it are equal: nothing to read
        table = table_of(CountingModel(alone_then), seats={"analyzer": reader})
        result = await table.debate("Tea?", rounds=1, baseline=True)
    assert (result.independent_agreement, result.independent_agreement_at_most) == (0.0, 1.0)  # no groups were read
    assert result.usage.calls == 3 + 3 + 1


async def test_an_estimate_counts_the_private_round() -> None:
    table = table_of(CountingModel("Tea"))
    without = table.estimate("Tea?", rounds=2)
    assert table.estimate("Tea?", rounds=2, baseline=True).turns == without.turns + 3


def test_the_wrapper_keeps_all_other_properties_of_its_mode() -> None:
    mode = AdversarialMode()
    wrapped = with_baseline(mode)
    assert isinstance(wrapped, BaselineMode)
    assert (wrapped.name, wrapped.rounds, wrapped.assigns_stances) == (mode.name, mode.rounds, mode.assigns_stances)
    assert wrapped.needs_groupthink_detection is False


# ---------------------------------------------------------------- the gate


async def test_rounds_are_skipped_when_independent_answers_agree_and_the_savings_are_recorded() -> None:
    model = CountingModel("Tea")
    result = await table_of(model).debate("Tea?", rounds=3, skip_rounds_when=1.0)
    assert result.exit is not None
    assert (result.exit.reason, len(result.rounds), len(model.begun), result.status) == ("skipped", 1, 3, "completed")
    assert result.exit.figures == {"independentAgreement": 1.0, "threshold": 1.0, "roundsSkipped": 2, "turnsSaved": 6}
    assert "6 turns saved" in result.exit.details


@pytest.mark.parametrize("mode", ["collaborative", "adversarial"])
async def test_rounds_are_run_when_private_answers_differ_or_are_missing(mode: str) -> None:
    says = {"ada": "Tea", "bo": "Coffee", "cy": "Milk"}
    model = CountingModel(lambda request: says[request.metadata["agent"]])
    result = await table_of(model).debate("Tea?", rounds=2, mode=mode, skip_rounds_when=0.1)
    assert len(result.rounds) == 2
    assert result.exit is not None
    assert result.exit.reason == "max_rounds"


async def test_a_private_round_opens_the_gate_of_a_sequential_mode() -> None:
    result = await table_of(CountingModel("Tea")).debate(
        "Tea?", rounds=3, mode="adversarial", baseline=True, skip_rounds_when=0.9
    )
    assert result.exit is not None
    assert (result.exit.reason, result.exit.figures["turnsSaved"]) == ("skipped", 6)


async def test_a_threshold_outside_its_range_is_refused() -> None:
    model = CountingModel("Tea")
    with pytest.raises(ConfigurationError, match=r"skip_?[rR]ounds_?[wW]hen"):
        await table_of(model).debate("Tea?", skip_rounds_when=2.0)
    with pytest.raises(ConfigurationError, match="baseline"):
        await table_of(model).debate("Tea?", baseline="yes")
    assert not model.begun
