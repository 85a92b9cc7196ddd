"""What an agent says arrives in the result, each field of it; and a largest number of rounds ends a debate."""

from __future__ import annotations

from typing import get_args

import pytest

from roundtable import MaxRounds, Roundtable
from roundtable.agents import BaseAgent
from roundtable.testing import ScriptedModel, scripted_agents
from roundtable.types import AgentConfig, AgentResponse, DebateContext, RoundRecord, Stance

SAID = {
    "position": "Tea, since it keeps.",
    "reasoning": "It keeps for years.",
    "confidence": 0.75,
    "stance": "NO",
    "choice": "tea",
    "bottom_line": "Tea",
}


@pytest.mark.parametrize("stance", get_args(Stance))
def test_a_stance_is_read(stance: str) -> None:
    agent = BaseAgent(AgentConfig(id="ada", name="Ada", provider="scripted"), ScriptedModel([]))
    view = DebateContext(session_id="s", topic="Tea?", mode="collaborative")
    answer = agent.parse_response(f'{{"position": "Tea", "stance": "{stance}"}}', view)
    assert answer.stance == stance
    assert agent.parse_response('{"position": "Tea"}', view).stance is None


async def test_no_field_of_an_answer_is_lost() -> None:
    async with Roundtable(scripted_agents({"ada": SAID, "bo": SAID}), storage="memory://") as table:
        result = await table.debate("Tea?", rounds=1, options=["tea", "milk"])
        stored = (await table.session(result.session.id)).rounds[0].responses
    for answers in (result.rounds[0].responses, stored):
        for answer in answers:
            assert isinstance(answer, AgentResponse)
            assert {name: getattr(answer, name) for name in SAID} == SAID


async def test_a_largest_number_of_rounds_ends_a_debate() -> None:
    ends = [MaxRounds(2).check([RoundRecord(number=number)]).should_exit for number in (1, 2, 3)]
    assert ends == [False, True, True]
    answers = [f"answer {number}" for number in range(4)]
    async with Roundtable(scripted_agents({"ada": answers, "bo": answers[::-1]}), storage="memory://") as table:
        result = await table.debate("Tea?", rounds=4, exit_when=MaxRounds(2))
    assert (len(result.rounds), result.exit.reason) == (2, "max_rounds")
