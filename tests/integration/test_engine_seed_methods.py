"""The engine and the session manager by the names of the seeds: each method on its own."""

from __future__ import annotations

import pytest
from integration.engine_kit import (
    CountingModel,
    asking,
    by_agent,
    engine_of,
    eventually,
    fold_of,
    late,
    log_of,
    said,
    seated,
)

from roundtable.agents import AgentRegistry
from roundtable.engine import DebateEngine, RunLimits, SessionManager
from roundtable.errors import AgentError, ConfigurationError, QuorumLost, SessionError
from roundtable.modes import ModeRegistry
from roundtable.protocols import TurnListener
from roundtable.results.debate_result import DebateResult
from roundtable.storage import MemoryStorage
from roundtable.types import (
    AgentConfig,
    AgentHealth,
    AgentInfo,
    AgentResponse,
    AgentTool,
    DebateConfig,
    DebateContext,
    JsonObject,
    SessionFilter,
    ToolResult,
    TurnResult,
)


def answer(position: str, agent: str = "guest") -> AgentResponse:
    return AgentResponse(agent_id=agent, agent_name=agent.title(), position=position)


def two(model: CountingModel) -> DebateEngine:
    return engine_of(MemoryStorage(), seated(model, "ada", "bo"))


async def test_starting_a_debate_creates_it_without_any_call() -> None:
    model = CountingModel("Tea")
    engine = two(model)
    session = await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada", "bo"), rounds=2))
    assert (session.status, session.current_round, session.total_rounds) == ("created", 0, 2)
    assert (session.agent_ids, session.responses, session.consensus) == (("ada", "bo"), (), None)
    assert model.begun == []
    assert await log_of(engine.sessions.storage, session.id) == ()
    assert await engine.get_session(session.id) == session
    record, _ = await engine.sessions.storage.read(session.id)
    assert [agent.model for agent in record.agents] == ["counting", "counting"]


async def test_running_a_round_runs_exactly_one_round() -> None:
    model = CountingModel(by_agent({"ada": said("1 cup"), "bo": said("2 cup")}))
    engine = two(model)
    session = await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada", "bo"), rounds=2))
    first = await engine.run_round(session.id)
    assert (first.round_number, [response.position for response in first.responses]) == (1, ["1 cup", "2 cup"])
    assert first.consensus.agreement_level == 0.5
    assert first.decision is not None
    assert first.decision.is_tie
    assert (first.failed, first.context_requests) == ((), None)
    between = await engine.get_session(session.id)
    assert between is not None
    assert (between.status, between.current_round) == ("active", 1)
    assert [event.type for event in await log_of(engine.sessions.storage, session.id)][-1] == "round_complete"

    second = await engine.run_round(session.id, focus_question="And at night?")
    assert second.round_number == 2
    assert "And at night?" in model.prompts[-1][2]
    ended = await engine.get_session(session.id)
    assert ended is not None
    assert ended.status == "completed"
    with pytest.raises(SessionError, match="is completed; run_round needs a created or active one"):
        await engine.run_round(session.id)
    assert len(model.begun) == 4
    await fold_of(engine.sessions.storage, session.id)


async def test_a_round_names_failed_agents_and_a_round_without_answers_is_an_error() -> None:
    replies = {"ada": said("Tea"), "bo": AgentError("no")}
    engine = two(CountingModel(by_agent(replies)))
    session = await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada", "bo")))
    first = await engine.run_round(session.id)
    assert [error.message for error in first.failed] == ["no"]
    replies["ada"] = AgentError("neither")
    with pytest.raises(QuorumLost):
        await engine.run_round(session.id)
    with pytest.raises(SessionError, match="is error"):
        await engine.run_round(session.id)


async def test_an_interrupted_round_is_finished_by_the_next_call() -> None:
    import anyio

    hold = {"bo": True}
    model = CountingModel(lambda r: late(30, "x") if hold.get(r.metadata["agent"]) else "Tea")
    engine = two(model)
    session = await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada", "bo")))
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run_round, session.id)
        await eventually(lambda: len(model.begun) == 2 and model.under_way == 1)
        group.cancel_scope.cancel()
    with pytest.raises(SessionError, match="is paused"):
        await engine.run_round(session.id)
    hold.clear()
    await engine.sessions.control(session.id, "resume")
    assert (await engine.run_round(session.id)).round_number == 1
    assert sorted(who for who, _ in model.begun) == ["ada", "bo", "bo"]


async def test_a_round_that_is_paused_midway_has_no_result() -> None:
    import anyio

    model = CountingModel(late(0.2, "Tea"))
    engine = two(model)
    session = await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada", "bo")))

    async def pause() -> None:
        await eventually(lambda: model.under_way == 2)
        await engine.sessions.control(session.id, "pause")

    async with anyio.create_task_group() as group:
        group.start_soon(pause)
        with pytest.raises(SessionError, match="was not completed"):
            await engine.run_round(session.id)


async def test_the_configuration_of_a_new_debate_is_checked() -> None:
    engine = two(CountingModel("Tea"))
    with pytest.raises(ConfigurationError, match=r"unknown agents: cy, di\. Known: ada, bo"):
        await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada", "cy", "di")))
    with pytest.raises(ConfigurationError, match="unknown mode 'court'"):
        await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada",), mode="court"))
    with pytest.raises(ConfigurationError, match="takes 1 to 100 rounds, not 101"):
        await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada",), rounds=101))
    with pytest.raises(ConfigurationError, match="unknown exit"):
        await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada",), exit={"kind": "whim"}))
    for agents in ((), ("ada", "ada")):
        with pytest.raises(ConfigurationError, match="at least one agent, and each agent only once"):
            await engine.start_debate(DebateConfig(topic="Tea?", agents=agents))
    assert await engine.list_sessions() == ()
    nobody = DebateEngine(SessionManager(MemoryStorage()), AgentRegistry(), ModeRegistry())
    with pytest.raises(ConfigurationError, match=r"unknown agents: ada\. Known: none"):
        await nobody.start_debate(DebateConfig(topic="Tea?", agents=("ada",)))


async def test_agents_can_be_passed_with_the_debate() -> None:
    engine = two(CountingModel("Tea"))
    di = AgentConfig(id="di", name="Di", provider="scripted")
    session = await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada", "di")), agents=[di])
    assert session.agent_ids == ("ada", "di")
    with pytest.raises(ConfigurationError, match="agents that are not in the debate"):
        await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada",)), agents=[di])
    with pytest.raises(ConfigurationError, match="unknown provider 'scripted'"):
        await engine.run(session.id)
    stored = await engine.get_session(session.id)
    assert stored is not None
    assert stored.status == "created"


async def test_agreement_is_read_from_the_log_and_measured_only_if_it_was_not_stored() -> None:
    engine = two(CountingModel("Tea"))
    session = await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada", "bo"), rounds=1))
    with pytest.raises(SessionError, match="has no answers yet"):
        await engine.get_consensus(session.id)
    await engine.sessions.add_response(session.id, answer("Tea"))
    await engine.sessions.add_response(session.id, answer("Milk", "other"))
    assert (await engine.get_consensus(session.id)).agreement_level == 0.5
    await engine.run(session.id)
    consensus = await engine.get_consensus(session.id)
    fold = await fold_of(engine.sessions.storage, session.id)
    assert fold.rounds[0].consensus == consensus
    with pytest.raises(SessionError):
        await engine.get_consensus("nobody")


async def test_an_answer_from_outside_is_added_to_the_current_round() -> None:
    engine = two(CountingModel("Tea"))
    session = await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada", "bo"), rounds=2))
    await engine.sessions.add_response(session.id, answer("Milk"))
    assert (await engine.run_round(session.id)).round_number == 1
    await engine.sessions.add_response(session.id, answer("Water"))
    await engine.sessions.add_response(session.id, answer("Wine", "other"))
    fold = await fold_of(engine.sessions.storage, session.id)
    turns = [(turn.stage, turn.slot, turn.agent_id) for turn in fold.rounds[0].in_order()]
    assert turns == [
        ("external", 0, "guest"),
        ("external", 1, "guest"),
        ("external", 2, "other"),
        ("positions", 0, "ada"),
        ("positions", 1, "bo"),
    ]
    assert fold.progress.current_round == 1
    second = await engine.run_round(session.id)
    assert second.round_number == 2
    kinds = [event.type for event in await log_of(engine.sessions.storage, session.id)]
    assert kinds.count("round_start") == 2
    with pytest.raises(SessionError):
        await engine.sessions.add_response("nobody", answer("Tea"))


async def test_an_agent_with_two_positions_in_a_round_counts_with_its_last() -> None:
    engine = two(CountingModel("Tea"))
    session = await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada", "bo"), rounds=1))
    await engine.sessions.add_response(session.id, answer("Coffee", "ada"))
    held = await engine.run_round(session.id)
    assert [response.position for response in held.responses] == ["Tea", "Tea"]
    assert held.decision is not None
    assert (held.decision.winner, held.decision.scores) == ("Tea", {"Tea": 2.0})
    assert held.consensus.agreement_level == 1.0
    result = DebateResult.from_record((await fold_of(engine.sessions.storage, session.id)).to_record())
    assert result.ballots() == ("Tea", "Tea")


async def test_an_outside_agent_counts_until_its_round_is_closed() -> None:
    engine = two(CountingModel("Tea"))
    session = await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada", "bo"), rounds=2))
    await engine.sessions.add_response(session.id, answer("Milk", "zed"))
    held = await engine.run_round(session.id)
    assert held.decision is not None
    assert held.decision.scores == {"Tea": 2.0, "Milk": 1.0}
    await engine.sessions.add_response(session.id, answer("Milk", "yan"))
    later = (await fold_of(engine.sessions.storage, session.id)).rounds[0].to_record()
    assert len(later.responses) == 4
    assert (later.decision, later.consensus) == (held.decision, held.consensus)


async def test_a_debate_with_only_outside_agents_is_stored_and_read_back() -> None:
    sessions = SessionManager(MemoryStorage())
    session = await sessions.create_session(DebateConfig(topic="Tea?", agents=("ada", "bo")))
    await sessions.add_response(session.id, answer("Tea", "ada"))
    await sessions.add_response(session.id, answer("Tea", "bo"))
    stored = await sessions.get_session(session.id)
    assert stored is not None
    assert [response.agent_id for response in stored.responses] == ["ada", "bo"]


async def test_a_session_is_saved_as_the_difference() -> None:
    engine = two(CountingModel("Tea"))
    sessions = engine.sessions
    session = await engine.start_debate(DebateConfig(topic="Tea?", agents=("ada", "bo")))
    await engine.run_round(session.id)
    stored = await sessions.get_session(session.id)
    assert stored is not None
    await sessions.update_session(stored.model_copy(update={"status": "paused", "total_rounds": 5}))
    again = await sessions.get_session(session.id)
    assert again is not None
    assert (again.status, again.total_rounds, again.responses) == ("paused", 5, stored.responses)
    with pytest.raises(SessionError, match="never changed or dropped"):
        await sessions.update_session(again.model_copy(update={"responses": ()}))
    fold = await engine.run(session.id)
    assert (len(fold.rounds), fold.progress.status) == (5, "completed")
    await fold_of(sessions.storage, session.id)


async def test_sessions_are_found_listed_and_deleted() -> None:
    engine = two(CountingModel("Tea"))
    sessions = engine.sessions
    ids = [(await engine.start_debate(DebateConfig(topic=f"Topic {n}?", agents=("ada",)))).id for n in range(3)]
    assert {session.id for session in await engine.list_sessions()} == set(ids)
    assert [found.topic for found in await sessions.summaries(SessionFilter(topic="2"))] == ["Topic 2?"]
    assert [found.topic for found in await sessions.list_sessions(SessionFilter(topic="1"))] == ["Topic 1?"]
    await sessions.delete_session(ids[0])
    assert await engine.get_session(ids[0]) is None
    with pytest.raises(SessionError):
        await sessions.delete_session(ids[0])
    assert len(set(ids)) == 3
    assert all(len(session_id) == 32 for session_id in ids)


async def test_other_errors_are_not_mistaken_for_an_unknown_session() -> None:
    class Odd(MemoryStorage):
        async def read(self, session_id: str, after: int = 0, *, tenant: str = "default") -> object:  # type: ignore[override]
            raise SessionError("odd")

    with pytest.raises(SessionError, match="odd"):
        await SessionManager(Odd()).get_session("x")


class Bare:
    """An agent that is nothing but the protocol."""

    id, name = "bare", "Bare"

    async def take_turn(self, context: DebateContext, listener: TurnListener | None = None) -> TurnResult:
        return TurnResult(answer=answer("Tea", "bare"))

    async def health_check(self) -> AgentHealth:
        return AgentHealth(healthy=True)

    def get_info(self) -> AgentInfo:
        return AgentInfo(id="bare", name="Bare", provider="acme", model="m1")


async def test_an_agent_that_only_implements_the_protocol_takes_part() -> None:
    registry = AgentRegistry()
    registry.add_agent(Bare())
    engine = DebateEngine(SessionManager(MemoryStorage()), registry, ModeRegistry())
    session = await engine.start_debate(DebateConfig(topic="Tea?", agents=("bare",), rounds=1))
    assert (await engine.run_round(session.id)).responses[0].position == "Tea"
    record, _ = await engine.sessions.storage.read(session.id)
    assert (record.agents[0].provider, record.agents[0].model) == ("acme", "m1")


async def test_a_toolkit_given_to_the_engine_is_offered_to_its_agents() -> None:
    class Kit:
        def get_tools(self) -> tuple[AgentTool, ...]:
            return ()

        async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
            return ToolResult(success=False)

    kit, registry = Kit(), AgentRegistry()
    (ada,) = seated(CountingModel("Tea"), "ada")
    registry.add_agent(ada)
    DebateEngine(SessionManager(MemoryStorage()), registry, ModeRegistry(), kit)
    assert ada._toolkit is kit


async def test_a_session_that_was_paused_before_its_start_starts_when_it_is_run() -> None:
    engine = two(CountingModel("Tea"))
    session = await engine.start_debate(asking(seated(CountingModel(), "ada", "bo"), rounds=1))
    await engine.sessions.control(session.id, "pause")
    with pytest.raises(SessionError, match="run_round needs"):
        await engine.run_round(session.id)
    fold = await engine.run(session.id, RunLimits(resume=True))
    assert fold.progress.status == "completed"
    kinds = [event.type for event in await log_of(engine.sessions.storage, session.id)]
    assert kinds[:3] == ["control", "control", "debate_start"]
