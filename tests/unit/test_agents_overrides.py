"""The override points of an agent, the steps they call, and what errors in them cost."""

from __future__ import annotations

import pytest
from snapshots.agent_kit import SPENT, Ear, costly
from snapshots.prompt_views import ADA, TOPIC, planned, view

from roundtable.agents import BaseAgent
from roundtable.errors import AgentError
from roundtable.parsing import Parsed, ParseFailure
from roundtable.prompts import Fence
from roundtable.providers.scripted import ScriptedModel
from roundtable.types import AgentResponse, DebateContext, Message, Usage


class Loud(BaseAgent):
    """Overrides the three points."""

    def build_messages(self, context: DebateContext, fence: Fence) -> tuple[Message, ...]:
        return (Message(role="user", content=fence.quote(context.topic, label="q")),)

    def parse(self, text: str, context: DebateContext) -> Parsed | ParseFailure:
        return Parsed(position=text.upper()) if text != "again" else ParseFailure("not loud enough", text)

    def repair(self, failure: ParseFailure, context: DebateContext) -> Message | None:
        return Message(role="user", content=f"Louder: {failure.reason}")


async def test_the_three_override_points_are_called() -> None:
    model = ScriptedModel(["again", "yes"])
    result = await Loud(ADA, model).take_turn(planned(view()))
    assert isinstance(result.answer, AgentResponse)
    assert result.answer.position == "YES"
    assert [len(request.messages) for request in model.requests] == [1, 3]
    assert model.requests[1].messages[2].content == "Louder: not loud enough"


class Once(BaseAgent):
    """Never asks again."""

    def repair(self, failure: ParseFailure, context: DebateContext) -> Message | None:
        return None


async def test_an_agent_can_skip_the_second_question() -> None:
    model = ScriptedModel(["Plainly yes.", "{}"])
    once = Once(ADA, model)
    result = await once.take_turn(planned(view()))
    assert (result.usage.calls, result.repaired) == (1, True)
    result = await once.take_turn(planned(view()))
    assert isinstance(result.answer, AgentResponse)
    assert (result.usage.calls, result.answer.is_unread) == (1, True)


class Stepwise(BaseAgent):
    """Overrides the steps that the first design of the product named."""

    def build_system_prompt(self, context: DebateContext) -> str:
        return super().build_system_prompt(context) + "\n\nSpeak in verse."

    def build_user_message(self, context: DebateContext) -> str:
        return "Well?\n" + super().build_user_message(context)

    def parse_response(self, raw_text: str, context: DebateContext) -> Parsed | ParseFailure:
        return super().parse_response(raw_text.replace("Nay", "No"), context)


async def test_the_steps_of_the_override_points_can_be_overridden_too() -> None:
    model = ScriptedModel([{"position": "Nay", "confidence": 1}])
    answer = await Stepwise(ADA, model).generate_response(planned(view()))
    system, user = model.requests[0].messages
    assert answer.position == "No"
    assert system.content.endswith("Speak in verse.")
    assert user.content.startswith("Well?\nRound 1 of 3.")


class Broken(BaseAgent):
    """Fails in its own code."""

    def parse(self, text: str, context: DebateContext) -> Parsed | ParseFailure:
        raise KeyError("oops" + "!" * 1000)


async def test_an_error_in_an_override_is_charged_too() -> None:
    with pytest.raises(AgentError, match="'ada' raised KeyError: 'oops!") as raised:
        await Broken(ADA, ScriptedModel([costly("x")])).take_turn(planned(view()))
    assert raised.value.usage == SPENT
    assert isinstance(raised.value.__cause__, KeyError)
    assert len(raised.value.message) < 600


class Own(BaseAgent):
    """Overrides `generate_response` alone."""

    async def generate_response(self, context: DebateContext) -> AgentResponse:
        return AgentResponse(agent_id=self.id, agent_name=self.name, position=f"I say {context.topic}")


async def test_an_agent_that_only_generates_needs_no_model_call() -> None:
    model, ear = ScriptedModel([]), Ear()
    result = await Own(ADA, model).take_turn(planned(view()), ear)
    assert isinstance(result.answer, AgentResponse)
    assert result.answer.position == f"I say {TOPIC}"
    assert (result.usage, result.provider, model.calls, ear.calls) == (Usage(), "scripted", 0, 1)
    assert (await Own(ADA, model).take_turn(planned(view()))).answer.kind == "position"


async def test_an_agent_that_only_generates_refuses_other_turns() -> None:
    with pytest.raises(AgentError, match="can only give positions, not a ballot"):
        await Own(ADA, ScriptedModel([])).take_turn(planned(view(), answer="ballot"))
