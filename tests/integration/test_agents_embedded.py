"""Agents on the embedded model: short prompts, valid answers, whole sentences, within a minute."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator

import pytest
from integration.embedded_kit import loaded
from snapshots.prompt_views import COMPACT, SKEPTIC, ask, planned, said, view

from roundtable.agents import BaseAgent, seat_personas
from roundtable.core.stages import run_stage
from roundtable.modes import CollaborativeMode
from roundtable.protocols import ChatModel
from roundtable.providers import LocalProvider
from roundtable.types import (
    AgentConfig,
    AgentResponse,
    AnyTurn,
    ChatRequest,
    DebateContext,
    Seat,
    Stage,
)

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(not LocalProvider.is_installed(), reason="the extra `local` is not installed"),
]

SENTENCE = re.compile(r"[^a-z\s].*[\w%][.!]")


@pytest.fixture(scope="module")
def model() -> Iterator[ChatModel]:
    """The embedded model, loaded once."""
    with loaded() as made:
        yield made


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """One backend: a model that takes seconds a turn says nothing new on the other."""
    return request.param


@pytest.mark.slow
async def test_a_debate_of_three_embedded_agents_is_valid_and_short_enough(model: ChatModel) -> None:
    agents = [BaseAgent(config, model) for config in seat_personas([("local", None)] * 3)]
    seats = tuple(Seat(id=agent.id, name=agent.name) for agent in agents)
    context = DebateContext(session_id="s", topic="Is remote work better than office work?", mode="m", agents=seats)
    transcript: tuple[AnyTurn, ...] = ()
    began, cpu = time.monotonic(), time.process_time()
    for number in (1, 2):
        current = context.model_copy(update={"current_round": number, "transcript": transcript})
        plan = CollaborativeMode().next_stage(current)
        assert isinstance(plan, Stage)
        transcript += await run_stage(plan, {agent.id: agent for agent in agents}, current)
    wall, cpu = time.monotonic() - began, time.process_time() - cpu
    results = [turn.result for turn in transcript if turn.outcome == "answered"]
    answers = [result.answer for result in results if isinstance(result.answer, AgentResponse)]
    sys.stdout.write(f"3 x 2 turns: {wall:.1f} s, {cpu:.1f} CPU-s\n" + "".join(f"{a.position}\n" for a in answers))
    assert len(answers) == 6
    assert [(result.usage.calls, result.truncated, result.repaired) for result in results] == [(1, False, False)] * 6
    assert all(SENTENCE.fullmatch(answer.position) for answer in answers)
    assert all(SENTENCE.fullmatch(answer.reasoning) for answer in answers)
    assert len({answer.position for answer in answers}) >= 4
    assert max(result.usage.input_tokens for result in results) <= 350
    assert cpu < 60


TOPICS = (
    "Should a five-person startup adopt microservices?",
    "Should the city replace its diesel buses by electric ones within the next five years, or wait for hydrogen?",
    "Which of PostgreSQL, SQLite and MongoDB should a small web shop with a single developer begin with, and why?",
)


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic[:20])
async def test_a_prompt_with_three_peers_is_at_most_350_tokens_long(model: ChatModel, topic: str) -> None:
    peers = [
        said(name, "A position of quite some length " * 6, slot=slot) for slot, name in enumerate(("Bo", "Cy", "Dee"))
    ]
    context = planned(view(*peers, topic=topic, focus_question="What would it cost?", options=("Yes", "No", "Later")))
    messages = tuple(ask(SKEPTIC, COMPACT, context))
    assert messages[-1].content.count(" says: ") >= 2
    response = await model.complete(ChatRequest(model="", messages=messages, max_tokens=1))
    assert response.usage.input_tokens <= 350


@pytest.mark.slow
@pytest.mark.parametrize(
    "topic",
    ["Soll die Stadt Autos verbieten, ja oder nein?", "クラウドは必要ですか", "Нужны ли нам микросервисы?"],
    ids=ascii,
)
async def test_the_schema_of_an_answer_is_understood_for_topics_in_any_script(model: ChatModel, topic: str) -> None:
    ada = BaseAgent(AgentConfig(id="ada", name="Ada", provider="local"), model)
    answer = await ada.generate_response(planned(view(topic=topic, options=("Ja", "Nein"))))
    assert answer.position
    assert answer.reading is not None
    assert answer.reading.value in {"Ja", "Nein"}  # the position of so small a model may say the opposite of its choice


@pytest.mark.slow
async def test_other_kinds_of_turns_are_answered_too(model: ChatModel) -> None:
    ada = BaseAgent(AgentConfig(id="ada", name="Ada", provider="local"), model)
    result = await ada.take_turn(planned(view(options=("Yes", "No")), answer="ballot"))
    assert result.answer.kind == "ballot"
    assert (await ada.health_check()).healthy
