"""Debates as the seeds tell them: engine, sessions, lifecycle and consensus, most of it in one run that tests share."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from contract.showing import shows
from integration.engine_kit import CountingModel, by_agent, engine_of, said, seated

from roundtable import Roundtable
from roundtable.agents import AgentRegistry
from roundtable.analysis import ConsensusAnalyzer, KeyPointsExtractor
from roundtable.engine import ConsensusAnalyzer as EngineAnalyzer
from roundtable.engine import DebateEngine, SessionManager
from roundtable.errors import AgentError, ConfigurationError, QuorumLost, SessionError, SessionNotFound
from roundtable.exits import create_default_exit_criteria, validate_exit_criteria
from roundtable.modes import ModeRegistry
from roundtable.providers.scripted import ScriptedModel
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.tools import create_default_toolkit
from roundtable.types import AgentResponse, DebateConfig, SessionFilter

TOPIC = "Tea or coffee?"


def config(**more: Any) -> DebateConfig:
    return DebateConfig(topic=TOPIC, agents=("ada", "bo"), rounds=2, **more)


def answer(agent: str, position: str) -> AgentResponse:
    return AgentResponse(agent_id=agent, agent_name=agent.title(), position=position)


async def run_debate() -> SimpleNamespace:
    """Start a debate, run its rounds with a pause between them, and keep what was seen at each step."""
    model = CountingModel(by_agent({"ada": said("Tea"), "bo": said("Coffee")}))
    engine = engine_of(MemoryStorage(), seated(model, "ada", "bo"))
    seen = SimpleNamespace(engine=engine, model=model)
    seen.created = await engine.start_debate(config())
    name = seen.created.id
    seen.first = await engine.run_round(name)
    seen.active = await engine.get_session(name)
    await engine.sessions.control(name, "pause")
    await engine.carry_out_control(name)
    seen.paused = await engine.get_session(name)
    with pytest.raises(SessionError, match="is paused"):
        await engine.run_round(name)
    await engine.sessions.control(name, "resume")
    seen.second = await engine.run_round(name, "And at night?")
    seen.ended = await engine.get_session(name)
    seen.consensus = await engine.get_consensus(name)
    seen.listed = await engine.list_sessions()
    seen.unknown = await engine.get_session("nobody")
    return seen


@pytest.fixture(scope="session")
def debate() -> SimpleNamespace:
    """A debate of two rounds that was paused between them."""
    return anyio.run(run_debate)


@shows(0, "class", "DebateEngine")
def test_an_engine_runs_a_debate_round_by_round(debate: SimpleNamespace) -> None:
    first, second = debate.first, debate.second
    assert (debate.created.status, debate.created.agent_ids) == ("created", ("ada", "bo"))
    assert [one.round_number for one in (first, second)] == [1, 2]
    assert [one.position for one in first.responses] == ["Tea", "Coffee"]
    assert first.consensus.agreement_level == 0.5
    assert [number for _, number, prompt in debate.model.prompts if "And at night?" in prompt] == ["2", "2"]
    assert debate.unknown is None


@shows(0, "class", "SessionManager")
async def test_sessions_are_kept_changed_and_deleted() -> None:
    manager = SessionManager(MemoryStorage())
    made = await manager.create_session(config())
    assert await manager.get_session(made.id) == made
    await manager.update_session(made.model_copy(update={"status": "active", "current_round": 1}))
    await manager.add_response(made.id, answer("ada", "Tea"))
    (listed,) = await manager.list_sessions()
    assert (listed.status, [one.position for one in listed.responses]) == ("active", ["Tea"])
    await manager.delete_session(made.id)
    assert await manager.get_session(made.id) is None


@shows(3, "behaviour", "Created → Active: first round starts")
def test_the_first_round_makes_a_session_active(debate: SimpleNamespace) -> None:
    assert (debate.created.status, debate.created.current_round) == ("created", 0)
    assert (debate.active.status, debate.active.current_round) == ("active", 1)


@shows(3, "behaviour", "Active → Completed: all rounds finished")
def test_the_last_round_completes_a_session(debate: SimpleNamespace) -> None:
    assert (debate.ended.status, debate.ended.current_round, len(debate.ended.responses)) == ("completed", 2, 4)
    assert debate.listed == (debate.ended,)


def test_a_paused_session_stays_paused_until_it_is_resumed(debate: SimpleNamespace) -> None:
    assert debate.paused.status == "paused"
    assert debate.second.round_number == 2


@shows(3, "behaviour", "Any → Error: unrecoverable error")
async def test_a_round_in_which_nobody_answers_is_an_error() -> None:
    engine = engine_of(MemoryStorage(), seated(CountingModel(AgentError("no")), "ada", "bo"))
    made = await engine.start_debate(config())
    with pytest.raises(QuorumLost):
        await engine.run_round(made.id)
    broken = await engine.get_session(made.id)
    assert broken is not None
    assert broken.status == "error"


@shows(3, "method", "ConsensusAnalyzer.analyzeConsensus(responses, topic)")
def test_the_consensus_of_a_session_is_the_one_of_its_last_round(debate: SimpleNamespace) -> None:
    assert debate.consensus == debate.second.consensus
    assert debate.consensus.agreement_level == 0.5
    assert debate.consensus.summary


@shows(0, "class", "ConsensusAnalyzer", "ConsensusAnalyzer (Core)")
@shows(3, "behaviour", "performBasicAnalysis: 1 - (unique - 1) / n")
def test_agreement_counts_positions_that_differ() -> None:
    assert EngineAnalyzer is ConsensusAnalyzer
    four = [answer(name, word) for name, word in (("a", "Tea"), ("b", "tea."), ("c", "Tea"), ("d", "Coffee"))]
    found = ConsensusAnalyzer().analyze(four)
    assert (found.agreement_level, found.method) == (0.75, "basic")
    assert ConsensusAnalyzer().analyze(four[:3]).agreement_level == 1.0


@shows(0, "class", "StorageProvider")
async def test_a_storage_is_a_log_that_any_engine_runs_on() -> None:
    storage = MemoryStorage()
    table = Roundtable(seated(CountingModel("Tea"), "ada", "bo"), storage=storage)
    result = await table.debate(TOPIC, rounds=1)
    _, events = await storage.read(result.session_id)
    assert [event.seq for event in events] == [*range(1, len(events) + 1)]
    assert {"round_start", "agent_complete", "round_complete", "debate_complete"} <= {event.type for event in events}
    assert [one.id for one in await storage.list(SessionFilter())] == [result.session_id]


@shows(0, "class", "SQLiteStorage")
async def test_sessions_outlive_the_storage_that_kept_them(tmp_path: Any) -> None:
    one = SQLiteStorage(tmp_path / "kept.db")
    made = await SessionManager(one).create_session(config())
    await one.save_session(made.model_copy(update={"status": "active", "current_round": 1}))
    await one.add_response(made.id, answer("ada", "Tea"))
    one.close()
    again = SQLiteStorage(tmp_path / "kept.db")
    (session,) = await again.get_all_sessions()
    assert (session.id, session.topic, session.status) == (made.id, TOPIC, "active")
    assert await again.get_session(made.id) == session
    assert [response.position for response in await again.get_responses(made.id)] == ["Tea"]
    await again.delete_session(made.id)
    assert await again.get_session(made.id) is None
    with pytest.raises(SessionNotFound):
        await again.get_responses(made.id)
    await again.aclose()


@shows(3, "field", "DebateEngineOptions.toolkit")
async def test_an_engine_seats_its_toolkit_with_every_agent() -> None:
    model = ScriptedModel({"*": said("Tea")})
    registry = AgentRegistry()
    for agent in seated(model, "ada", "bo"):
        registry.add_agent(agent)
    toolkit = create_default_toolkit()
    engine = DebateEngine(SessionManager(MemoryStorage()), registry, ModeRegistry(), toolkit)
    made = await engine.start_debate(config())
    await engine.run_round(made.id)
    assert {tool.name for tool in model.requests[0].tools} == {tool.name for tool in toolkit.get_tools()}


@shows(3, "field", "DebateEngineOptions.aiConsensusAnalyzer")
@shows(3, "method", "DebateEngine.analyzeConsensusWithAI", "AIConsensusAnalyzer.performAIAnalysis")
@shows(3, "class", "AIConsensusAnalyzer")
async def test_a_model_analyzes_the_round_and_rules_replace_it_if_it_fails() -> None:
    from roundtable.analysis import AIConsensusAnalyzer

    reading = {"agreementLevel": 0.9, "commonGround": ["Hot"], "disagreementPoints": [], "summary": "They agree."}
    reading["clusters"] = [{"theme": "A hot drink", "agentIds": ["ada", "bo"]}]
    said_by = [answer("ada", "Tea"), answer("bo", "Coffee")]
    engine = DebateEngine(
        SessionManager(MemoryStorage()),
        AgentRegistry(),
        ModeRegistry(),
        ai_consensus_analyzer=AIConsensusAnalyzer(ScriptedModel([reading, AgentError("no"), AgentError("no")])),
    )
    read = await engine.analyze_consensus_with_ai(said_by, TOPIC)
    assert (read.agreement_level, read.common_ground, read.method) == (0.9, ("Hot",), "ai")
    fallen = await engine.analyze_consensus_with_ai(said_by, TOPIC)
    assert (fallen.agreement_level, fallen.method) == (0.5, "basic")
    without = DebateEngine(SessionManager(MemoryStorage()), AgentRegistry(), ModeRegistry())
    with pytest.raises(ConfigurationError, match="analy"):
        await without.analyze_consensus_with_ai(said_by, TOPIC)


@shows(3, "class", "KeyPointsExtractor")
async def test_key_points_are_taken_from_the_reasoning() -> None:
    spoken = answer("ada", "Tea").model_copy(
        update={"reasoning": "- It keeps well for years.\n- It costs very little.\n- It warms in winter."}
    )
    points = await KeyPointsExtractor().extract([spoken])
    assert points["ada"] == ("It keeps well for years.", "It costs very little.", "It warms in winter.")


def test_exit_criteria_are_made_and_checked() -> None:
    made = create_default_exit_criteria(3)
    assert (made.max_rounds, made.consensus_threshold, made.convergence_rounds) == (3, 0.9, 2)
    assert validate_exit_criteria(made) == ()
    assert validate_exit_criteria({"maxRounds": 0}) == ("maxRounds must be a whole number of at least 1, not 0",)
