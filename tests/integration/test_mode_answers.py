"""What modes with stages of their own come to: Oxford's last vote decides, a council's first answers are measured."""

from __future__ import annotations

from typing import Any

from integration.engine_kit import CountingModel, table_of


async def test_oxford_is_decided_by_its_last_vote_and_shows_the_swing() -> None:
    votes = {"ada": ["For", "For"], "bo": ["Against", "For"], "cy": ["Against", "Against"]}
    taken: dict[str, int] = {}

    def answer(request: Any) -> Any:
        who = request.metadata["agent"]
        if '"choice": the option you vote for' in request.messages[-1].content:
            taken[who] = taken.get(who, -1) + 1
            return {"choice": votes[who][taken[who]], "reasoning": "So."}
        return f"Speech of {who}"

    result = await table_of(CountingModel(answer)).debate("Tea?", mode="oxford", rounds=1)
    assert (result.answer, result.answer_source) == ("For", "option")
    assert result.decision is not None
    assert result.decision.scores == {"For": 2.0, "Against": 1.0}
    assert "Against -1, For +1" in result.to_text()


async def test_a_council_measures_the_answers_given_before_the_chair_spoke() -> None:
    def answer(request: Any) -> Any:
        text = request.messages[-1].content
        if '"ranking"' in text:
            return {"ranking": [], "reasoning": "So."}
        mean = "round 1" in text
        return "Water" if mean else {"ada": "Zebra", "bo": "Quince", "cy": "Moss"}[request.metadata["agent"]]

    result = await table_of(CountingModel(answer)).debate("Tea?", mode="council", rounds=1)
    assert (result.independent_agreement, result.independent_agreement_reason) == (0.0, None)
    assert result.baselines is not None
    assert (result.baselines.single, result.baselines.votes) == ("Zebra", 3)
