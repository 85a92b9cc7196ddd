"""Functions as agents: text, fields, models and dataclasses, with usage, in every kind of turn, sync and async."""

from __future__ import annotations

import dataclasses
import inspect
import threading
from typing import Any, get_type_hints

import anyio
import anyio.to_thread
import pytest
from pydantic import BaseModel
from snapshots.prompt_views import planned, view

import roundtable as rt
from roundtable.agents import from_callable
from roundtable.api import as_function
from roundtable.errors import AgentError, ConfigurationError
from roundtable.providers import CallableModel
from roundtable.testing import scripted_agents
from roundtable.types import ChatRequest, ChatResponse, Message, Usage

pytestmark = pytest.mark.both_loops

ASK = ChatRequest(messages=(Message(role="system", content="Be brief."), Message(role="user", content="Well?")))


class Said(BaseModel):
    """An answer of another library."""

    position: str
    reasoning: str = ""
    confidence: float = 0.5


@dataclasses.dataclass
class SaidToo:
    """An answer of another library."""

    position: str
    confidence: float


@pytest.mark.parametrize(
    ("reply", "confidence"),
    [
        ("Tea", 0.5),
        ('{"position": "Tea", "confidence": 0.8}', 0.8),
        ('Here it is:\n```json\n{"position": "Tea", "confidence": 0.8}\n```', 0.8),
        ({"position": "Tea", "confidence": 0.8}, 0.8),
        (Said(position="Tea", confidence=0.8), 0.8),
        (SaidToo("Tea", 0.8), 0.8),
        (ChatResponse(text='{"position": "Tea"}'), 0.5),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_every_form_of_answer_is_a_position(reply: Any, confidence: float, is_async: bool) -> None:
    def plain(request: ChatRequest) -> Any:
        return reply

    async def late(request: ChatRequest) -> Any:
        await anyio.lowlevel.checkpoint()
        return reply

    agent = rt.from_callable(late if is_async else plain, id="ada", model="m")
    result = await agent.take_turn(planned(view()))
    answer = result.answer
    assert isinstance(answer, rt.AgentResponse)
    assert (answer.position, answer.confidence) == ("Tea", confidence)
    assert (result.provider, result.model, result.usage.calls) == ("callable", "m", 1)


@pytest.mark.parametrize(
    ("kind", "reply", "field", "value"),
    [
        ("ballot", "Yes", "choice", "Yes"),
        ("ranking", ["No", "Yes"], None, None),
        ("ranking", {"ranking": ["No", "Yes"]}, "ranking", (("No",), ("Yes",))),
        ("ranking", "No > Yes", "ranking", (("No",), ("Yes",))),
        ("scores", {"scores": {"Yes": 3, "No": 1}}, "scores", {"Yes": 3.0, "No": 1.0}),
        ("text", "Whatever.", "text", "Whatever."),
    ],
)
async def test_every_kind_of_turn_is_answered(kind: str, reply: Any, field: str | None, value: object) -> None:
    agent = rt.from_callable(lambda _: reply, id="ada")
    turn = planned(view(options=("Yes", "No")), answer=kind)
    if field is None:
        with pytest.raises(AgentError, match="returned an object of list"):
            await agent.take_turn(turn)
    else:
        assert getattr((await agent.take_turn(turn)).answer, field) == value


async def test_usage_is_counted_and_unknown_without_it() -> None:
    spent = Usage(calls=2, input_tokens=30, output_tokens=4, cost_usd=0.5)
    agents = [rt.from_callable(lambda _: ("Tea", spent), id="ada"), rt.from_callable(lambda _: "Tea", id="bo")]
    result = await rt.Roundtable(agents, storage="memory://", analyzer="declared").debate("Tea?", rounds=1)
    usage = {entry.agent_id: entry.usage for entry in result.roster.agents}
    assert (usage["ada"].total_tokens, usage["ada"].calls, usage["ada"].unreported_calls) == (34, 2, 0)
    assert usage["bo"].unreported_calls == 1


async def test_the_usage_next_to_a_complete_answer_is_counted() -> None:
    whole, spent = ChatResponse(text="Tea", usage=Usage(calls=1)), Usage(calls=2, input_tokens=30)
    assert (await CallableModel(lambda _: (whole, spent)).complete(ASK)).usage == spent
    assert (await CallableModel(lambda _: whole).complete(ASK)).usage == whole.usage


async def test_the_function_sees_instructions_prompt_and_schema() -> None:
    seen: list[ChatRequest] = []

    def ask(request: ChatRequest) -> str:
        seen.append(request)
        return "Tea"

    agent = rt.from_callable(ask, id="ada", persona="Skeptic", system_prompt="You know tea.")
    await agent.take_turn(planned(view()))
    (request,) = seen
    assert "You know tea." in request.instructions
    assert "Should a five-person startup" in request.prompt
    assert request.response_schema is not None
    assert "position" in request.response_schema["properties"]  # type: ignore[operator]
    assert request.metadata["agent"] == "ada"


@pytest.mark.parametrize(("reply", "what"), [(None, "nothing"), ("", "nothing"), (7, "an object of int"), ({}, "dict")])
async def test_an_invalid_answer_fails_with_the_returned_value(reply: Any, what: str) -> None:
    with pytest.raises(AgentError, match=what):
        await CallableModel(lambda _: reply).complete(ASK)


async def test_an_error_of_the_function_fails_the_turn_alone() -> None:
    def broken(_: ChatRequest) -> str:
        raise ValueError("no luck")

    agents = [rt.from_callable(broken, id="ada"), rt.from_callable(lambda _: "Tea", id="bo")]
    result = await rt.Roundtable(agents, storage="memory://", analyzer="declared").debate("Tea?", rounds=1)
    (failed,) = [turn for turn in result.rounds[0].turns if turn.outcome == "failed"]
    assert "no luck" in failed.error.message
    assert result.answer == "Tea"


def test_only_functions_are_accepted() -> None:
    with pytest.raises(ConfigurationError, match="must be a function"):
        rt.from_callable("ask", id="ada")  # type: ignore[arg-type]


def test_a_name_is_made_from_the_id() -> None:
    assert rt.from_callable(lambda _: "Tea", id="tea-expert").name == "Tea Expert"
    assert rt.from_callable(lambda _: "Tea", id="x", name="Xi").name == "Xi"


async def test_a_debate_is_a_typed_function_for_agents_of_other_libraries() -> None:
    table = rt.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
    consult = as_function(table, name="consult", description="Ask the panel.", rounds=1)
    signature = inspect.signature(consult)
    assert (consult.__name__, [*signature.parameters]) == ("consult", ["question"])
    assert get_type_hints(consult) == {"question": str, "return": str}
    assert (inspect.getdoc(consult) or "").startswith("Ask the panel.\n\nArgs:\n    question: ")
    text = await consult("Tea or coffee?")
    assert "Tea" in text
    (summary,) = await table.sessions()
    assert (summary.topic, summary.total_rounds) == ("Tea or coffee?", 1)


async def test_a_debate_that_fails_is_text_for_the_model_and_a_wrong_option_is_an_error() -> None:
    table = rt.Roundtable([rt.from_callable(lambda _: None, id="ada")], storage="memory://")
    text = await as_function(table)("Tea?")
    assert text.startswith("The debate failed: ")
    with pytest.raises(ConfigurationError):
        await as_function(table, mode="no-such-mode")("Tea?")


@pytest.mark.parametrize(
    ("question", "reason"), [("", "at least 1 character"), (" \n", "not white space"), ("x" * 10_001, "at most 10000")]
)
async def test_a_question_that_cannot_be_debated_is_text_for_the_model(question: str, reason: str) -> None:
    table = rt.Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://")
    text = await as_function(table)(question)
    assert text.startswith("The debate failed: ")
    assert reason in text
    assert await table.sessions() == ()


@pytest.mark.parametrize(
    "text",
    [
        "{tea} before coffee",
        "Write `{x}` in Go, not {0}.",
        'Choose {"tea": 1} over {"coffee": 2}, as a map.',
    ],
)
async def test_a_text_with_braces_that_is_not_an_answer_is_the_position(text: str) -> None:
    agent = from_callable(lambda request: text, id="ada")
    async with rt.Roundtable([agent], storage="memory://") as table:
        result = await table.debate("Which?", rounds=1)
    (said,) = result.rounds[0].responses
    assert (said.position, result.usage.calls) == (text, 1)


async def test_an_object_that_is_not_an_answer_is_not_mistaken_for_a_position() -> None:
    agent = from_callable(lambda request: '{"error": "out of tea"}', id="ada")
    async with rt.Roundtable([agent, *scripted_agents({"bo": "Tea"})], storage="memory://") as table:
        result = await table.debate("Which?", rounds=1)
    assert "out of tea" not in [said.position for said in result.rounds[0].responses]


async def test_functions_wait_on_their_own_threads() -> None:
    free = threading.Event()

    def waits(request: ChatRequest) -> str:
        free.wait(20)
        return "Tea"

    shared = anyio.to_thread.current_default_thread_limiter()
    agents = [from_callable(waits, id=f"a{number}") for number in range(5)]
    async with rt.Roundtable(agents, storage="memory://") as table:
        handle = await table.start("Which?", rounds=1)
        with anyio.fail_after(20):
            while threading.active_count() < 5 or handle.session_id is None:  # noqa: ASYNC110  (threads have no event)
                await anyio.sleep(0.01)
        assert shared.borrowed_tokens == 0
        free.set()
        assert (await handle.result()).answer == "Tea"


async def test_a_plain_function_may_return_an_awaitable() -> None:
    async def answer() -> str:
        await anyio.lowlevel.checkpoint()
        return "Tea."

    model = CallableModel(lambda request: answer())
    assert (await model.complete(ASK)).text == "Tea."
