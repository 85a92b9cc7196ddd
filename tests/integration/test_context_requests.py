"""Agents ask the caller for information: the debate waits, the answer reaches all, and nothing is lost by a kill."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import roundtable
from roundtable import sync
from roundtable.agents import AgentRegistry, BaseAgent
from roundtable.engine import DebateEngine, Extension, SessionManager
from roundtable.errors import SessionConflict, StorageError
from roundtable.modes import ModeRegistry
from roundtable.providers.scripted import ScriptedModel
from roundtable.storage import MemoryStorage
from roundtable.types import (
    AgentConfig,
    ChatRequest,
    ChatResponse,
    ContextResult,
    DebateConfig,
    JsonObject,
    ToolCall,
)

TOPIC = "Tea or coffee?"
TEA = '{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}'
QUERY = "How much tea is in stock?"


def ask(query: str = QUERY, **more: Any) -> ChatResponse:
    arguments: JsonObject = {"query": query, "reason": "It decides.", **more}
    call = ToolCall(id="c", name="request_context", arguments=arguments)
    return ChatResponse(text="", finish_reason="tool_calls", tool_calls=(call,))


def asks_in(numbers: set[int], *wishes: ChatResponse) -> Callable[[ChatRequest], Any]:
    """Script a model that asks in some rounds before it answers."""

    def reply(request: ChatRequest) -> Any:
        made = sum(bool(message.tool_calls) for message in request.messages)
        asking = request.metadata["round"] in {str(number) for number in numbers}
        return wishes[made] if asking and made < len(wishes) and request.tools else TEA

    return reply


def seat(name: str, script: Callable[[ChatRequest], Any]) -> BaseAgent:
    return BaseAgent(AgentConfig(id=name, name=name.title(), provider="scripted"), ScriptedModel(script))


def table(*agents: BaseAgent, storage: Any = "memory://") -> roundtable.Roundtable:
    return roundtable.Roundtable(agents, storage=storage, tools=["request_context"])


def supplied(result: Any, text: str = "Two boxes.") -> list[ContextResult]:
    return [ContextResult(request_id=one.id, success=True, result=text) for one in result.context_requests]


def prompts(agent: BaseAgent, number: int) -> list[str]:
    requests = agent.chat_model.requests  # type: ignore[attr-defined]
    return [request.messages[1].content for request in requests if request.metadata["round"] == str(number)]


async def test_a_required_request_makes_the_debate_wait_until_it_is_answered() -> None:
    ada, bo = seat("ada", asks_in({1}, ask())), seat("bo", asks_in(set()))
    at_table = table(ada, bo)
    waiting = await at_table.debate(TOPIC, rounds=3)
    assert (waiting.status, waiting.session_status, len(waiting.rounds)) == ("needs_context", "paused", 1)
    assert waiting.exit is not None
    assert (waiting.exit.reason, QUERY in waiting.exit.details) == ("needs_context", True)
    (asked,) = waiting.context_requests
    assert (asked.agent_id, asked.query, asked.reason, asked.priority) == ("ada", QUERY, "It decides.", "required")
    result = await at_table.resume(waiting.session_id, context_results=supplied(waiting))
    assert (result.status, len(result.rounds), result.total_rounds) == ("completed", 3, 3)
    assert result.context_requests == ()
    for agent in (ada, bo):
        (told,) = prompts(agent, 2)
        assert f"| Asked: {QUERY}\n| Answer: Two boxes." in told
        assert "Two boxes." not in prompts(agent, 3)[0]


@pytest.mark.parametrize("way", ["resume", "extend"])
async def test_continuing_without_required_information_is_refused_with_the_list(way: str) -> None:
    at_table = table(seat("ada", asks_in({1}, ask(), ask("Who brews?", priority="optional"))))
    waiting = await at_table.debate(TOPIC, rounds=2)
    with pytest.raises(SessionConflict, match="waits for information that its agents require") as caught:
        await getattr(at_table, way)(waiting.session_id)
    assert QUERY in caught.value.message
    assert "Who brews?" not in caught.value.message
    assert caught.value.details is not None
    (missing,) = caught.value.details["missing"]  # type: ignore[misc]
    assert (missing["query"], missing["agentId"]) == (QUERY, "ada")  # type: ignore[index,call-overload]
    wrong = [ContextResult(request_id="ctx-other", success=True, result="x")]
    with pytest.raises(SessionConflict):
        await getattr(at_table, way)(waiting.session_id, context_results=wrong)
    assert (await at_table.session(waiting.session_id)).to_json() == waiting.to_json()


@pytest.mark.parametrize(("way", "rounds"), [("resume", 2), ("extend", 3)])
async def test_a_forced_debate_continues_and_its_agents_are_told(way: str, rounds: int) -> None:
    ada = seat("ada", asks_in({1}, ask()))
    at_table = table(ada)
    waiting = await at_table.debate(TOPIC, rounds=2)
    result = await getattr(at_table, way)(waiting.session_id, force=True)
    assert (result.status, len(result.rounds), result.context_requests) == ("completed", rounds, ())
    assert "| Answer: the caller went on without it" in prompts(ada, 2)[0]


@pytest.mark.parametrize("way", ["extend", "fork"])
async def test_an_answer_without_a_request_needs_a_question(way: str) -> None:
    agent = seat("ada", asks_in({1}, ask(priority="optional")))
    async with table(agent) as debates:
        result = await debates.debate(TOPIC, rounds=2)
        (request,) = result.context_requests
        wrong = ContextResult(request_id=request.id[:-1], success=True, result="Two boxes.")
        more: dict[str, Any] = {"at_round": 1} if way == "fork" else {}
        with pytest.raises(SessionConflict, match=f"no context request .*without an answer: {request.id}"):
            await getattr(debates, way)(result.session_id, context_results=[wrong], **more)
        assert len(await debates.sessions()) == 1
        added = wrong.model_copy(update={"query": "How much is left?"})
        await getattr(debates, way)(result.session_id, context_results=[added], **more)
        assert "How much is left?" in prompts(agent, 3 if way == "extend" else 2)[-1]


async def test_a_failed_result_is_a_valid_answer_to_a_request() -> None:
    at_table = table(seat("ada", asks_in({1}, ask())))
    waiting = await at_table.debate(TOPIC, rounds=2)
    none = [ContextResult(request_id=waiting.context_requests[0].id, success=False, error="nobody knows")]
    assert (await at_table.resume(waiting.session_id, context_results=none)).status == "completed"


async def test_an_optional_request_is_reported_and_blocks_nothing() -> None:
    at_table = table(seat("ada", asks_in({1}, ask(priority="optional"))))
    result = await at_table.debate(TOPIC, rounds=2)
    assert (result.status, len(result.rounds)) == ("completed", 2)
    assert [asked.query for asked in result.context_requests] == [QUERY]
    more = await at_table.extend(result.session_id, context_results=supplied(result))
    assert more.context_requests == ()


@pytest.mark.parametrize("forced", [False, True], ids=["answered", "forced"])
async def test_a_fork_after_an_answered_request_does_not_wait(forced: bool) -> None:
    at_table = table(seat("ada", asks_in({1}, ask())), seat("bo", asks_in(set())))
    waiting = await at_table.debate(TOPIC, rounds=3)
    results = [] if forced else supplied(waiting)
    whole = await at_table.resume(waiting.session_id, context_results=results, force=forced)
    fork = await at_table.fork(whole.session_id, at_round=2)
    assert (fork.status, len(fork.rounds), fork.context_requests) == ("completed", 3, ())
    twice = await at_table.fork(fork.session_id, at_round=2)
    assert (twice.status, twice.context_requests) == ("completed", ())


async def test_a_fork_at_an_open_request_needs_the_answer_before_anything_is_stored() -> None:
    ada = seat("ada", asks_in({1}, ask()))
    at_table = table(ada)
    waiting = await at_table.debate(TOPIC, rounds=2)
    results = supplied(waiting)
    await at_table.resume(waiting.session_id, context_results=results)
    with pytest.raises(SessionConflict, match="waits for information that its agents require") as caught:
        await at_table.fork(waiting.session_id, at_round=1)
    assert caught.value.details is not None
    assert len(caught.value.details["missing"]) == 1  # type: ignore[arg-type]
    assert [one.id for one in await at_table.sessions()] == [waiting.session_id]
    fork = await at_table.fork(waiting.session_id, at_round=1, context_results=supplied(waiting, "Three boxes."))
    assert (fork.status, fork.context_requests) == ("completed", ())
    assert f"| Asked: {QUERY}\n| Answer: Three boxes." in prompts(ada, 2)[-1]


@pytest.mark.parametrize("rounds", [2, 3])
async def test_a_rerun_repeats_the_last_round_with_the_information_that_it_had(rounds: int) -> None:
    ada = seat("ada", asks_in({1}, ask()))
    at_table = table(ada, seat("bo", asks_in(set())))
    waiting = await at_table.debate(TOPIC, rounds=rounds)
    whole = await at_table.resume(waiting.session_id, context_results=supplied(waiting))
    audit = await at_table.rerun(whole.session_id, times=2)
    assert (audit.round, audit.held) == (rounds, 2)
    assert ["Two boxes." in prompt for prompt in prompts(ada, rounds)] == [rounds == 2] * 3
    assert (await at_table.estimate_rerun(whole.session_id, times=2)).calls >= 4


async def test_the_same_question_of_several_agents_is_one_request() -> None:
    one = seat("ada", asks_in({1}, ask(priority="optional"), ask(f"  {QUERY.upper()} ")))
    two = seat("bo", asks_in({1}, ask(QUERY.replace(" ", "  "))))
    waiting = await table(one, two).debate(TOPIC, rounds=2)
    (asked,) = waiting.context_requests
    assert (asked.agent_id, asked.priority) == ("ada", "required")


async def test_no_information_is_requested_in_the_last_round() -> None:
    ada = seat("ada", asks_in({1, 2}, ask()))
    at_table = table(ada)
    assert (await at_table.debate(TOPIC, rounds=1)).status == "completed"
    assert [request.tools for request in ada.chat_model.requests] == [()]  # type: ignore[attr-defined]


async def test_an_invalid_request_is_reported_to_the_model() -> None:
    at_table = table(seat("ada", asks_in({1}, ask("q" * 1001), ask(priority="urgent"))))
    result = await at_table.debate(TOPIC, rounds=2)
    assert (result.status, result.context_requests) == ("completed", ())
    errors = [record.error for record in result.rounds[0].responses[0].tool_calls]
    assert [str(error).split(":")[1].strip() for error in errors] == ["query", "priority"]


async def test_requests_of_an_answer_of_another_kind_count_too() -> None:
    at_table = table(*(seat(name, asks_in({1}, ask())) for name in ("ada", "bo")))
    waiting = await at_table.debate(TOPIC, mode="council", rounds=2)
    assert waiting.status == "needs_context"
    others = [turn for turn in waiting.rounds[0].turns if turn.outcome == "answered" and turn.answer.kind != "position"]
    assert all(turn.result.tool_calls for turn in others if turn.result.context_requests)


async def test_a_request_is_reported_before_the_round_ends_and_stored_once() -> None:
    heard: list[str] = []
    ada = seat("ada", asks_in({1}, ask()))
    at_table = roundtable.Roundtable(
        [ada], storage="memory://", tools=["request_context"], observers=[lambda event: heard.append(event.type)]
    )
    await at_table.debate(TOPIC, rounds=2)
    assert heard[heard.index("context_requested") :] == [
        "context_requested",
        "consensus",
        "round_complete",
        "exit",
        "debate_complete",
    ]


async def test_requests_survive_the_end_of_their_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'debates.db'}"
    async with table(seat("ada", asks_in({1}, ask())), storage=url) as first:
        waiting = await first.debate(TOPIC, rounds=2)
    ada = seat("ada", asks_in(set()))
    async with table(ada, storage=url) as second:
        found = await second.session(waiting.session_id)
        assert found.context_requests == waiting.context_requests
        with pytest.raises(SessionConflict):
            await second.resume(waiting.session_id)
        result = await second.resume(waiting.session_id, context_results=supplied(found))
    assert result.status == "completed"
    assert "| Answer: Two boxes." in prompts(ada, 2)[0]


async def test_a_run_that_dies_between_the_answers_and_the_end_of_the_round_loses_no_request() -> None:
    class Failing(MemoryStorage):
        """Takes no measure, as if the process had died just before."""

        async def append(self, session_id: str, expected_seq: Any, token: Any, events: Any, **more: Any) -> int:
            if any(event.type == "consensus" for event in events) and not healed:
                raise StorageError("the disk is full")
            return await super().append(session_id, expected_seq, token, events, **more)

    healed: list[bool] = []
    storage = Failing()
    at_table = table(seat("ada", asks_in({1}, ask())), storage=storage)
    prepared = await at_table._debates.prepare(TOPIC, rounds=2)
    with pytest.raises(StorageError):
        await prepared.run(lambda _: None)
    healed.append(True)
    again = table(seat("ada", asks_in(set())), storage=storage)
    waiting = await again.resume(prepared.session_id)
    assert (waiting.status, len(waiting.context_requests)) == ("needs_context", 1)
    assert (await again.resume(prepared.session_id, context_results=supplied(waiting))).status == "completed"


async def test_an_engine_without_a_table_waits_and_continues_too() -> None:
    from roundtable.tools import DefaultAgentToolkit, RequestContext

    kit = DefaultAgentToolkit(standard=False)
    kit.register_tool(RequestContext())
    agents = AgentRegistry()
    agents.add_agent(seat("ada", asks_in({1}, ask())))
    engine = DebateEngine(SessionManager(MemoryStorage()), agents, ModeRegistry(), kit)
    session = await engine.start_debate(DebateConfig(topic=TOPIC, agents=("ada",), rounds=2))
    held = await engine.run_round(session.id)
    assert held.context_requests is not None
    answer = ContextResult(request_id=held.context_requests[0].id, success=True, result="Two boxes.")
    with pytest.raises(SessionConflict):
        await engine.run(session.id)
    fold = await engine.run(session.id, extension=Extension(rounds=0, context_results=(answer,)))
    assert (fold.progress.status, len(fold.rounds), fold.context_requests) == ("completed", 2, ())
    with pytest.raises(SessionConflict, match="is completed"):
        await engine.run(session.id, extension=Extension(rounds=0))


def test_the_blocking_facade_answers_requests_too() -> None:
    seats = [seat("ada", asks_in({1}, ask()))]
    with sync.Roundtable(seats, storage="memory://", tools=["request_context"]) as at_table:
        waiting = at_table.debate(TOPIC, rounds=2)
        assert at_table.resume(waiting.session_id, context_results=supplied(waiting)).status == "completed"
        waiting = at_table.debate(TOPIC, rounds=2)
        assert at_table.extend(waiting.session_id, force=True).status == "completed"
