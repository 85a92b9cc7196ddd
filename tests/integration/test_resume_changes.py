"""What a session was begun with comes from the store; what has changed since is refused, or taken over and noted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from integration.engine_kit import CountingModel, eventually, fold_of, late, log_of, said, seated

import roundtable
from roundtable.agents import BaseAgent
from roundtable.analysis import ConsensusAnalyzer
from roundtable.api import AgentProfile
from roundtable.errors import AgentError, BudgetExceeded, ConfigurationError, SessionConflict, StorageError
from roundtable.modes import RedTeamBlueTeamMode
from roundtable.prompts import PROMPT_VERSION
from roundtable.record import read_record
from roundtable.scoring import BUILTIN_RULES, Rule
from roundtable.storage import MemoryStorage
from roundtable.testing import ScriptedModel, scripted_agents
from roundtable.types import (
    SCHEMA_VERSION,
    AgentConfig,
    Budget,
    ChatRequest,
    Control,
    DebateConfig,
    DebateContext,
    Measured,
    SessionRecord,
)

pytestmark = pytest.mark.both_loops


def agents(model: Any, *, persona: str | None = None, temperature: float = 0.7) -> list[BaseAgent]:
    return [
        BaseAgent(
            AgentConfig(
                id=name,
                name=name.title(),
                provider="scripted",
                persona=persona,
                temperature=temperature,  # type: ignore[arg-type]
            ),
            model,
        )
        for name in ("ada", "bo")
    ]


async def half_told(storage: MemoryStorage, model: CountingModel, **more: Any) -> str:
    """Begin a debate of two rounds that its budget ends after the first."""
    table = roundtable.Roundtable(agents(model, **more), storage=storage, seed=7)
    result = await table.debate("Tea?", rounds=2, budget=Budget(max_calls=2))
    assert result.status == "partial"
    return result.session_id


ENOUGH = Budget(max_calls=100)


async def test_the_used_model_is_stored_even_if_it_was_not_named() -> None:
    storage = MemoryStorage()
    session_id = await half_told(storage, CountingModel("Tea"))
    fold = await fold_of(storage, session_id)
    assert [agent.model for agent in fold.record.agents] == ["counting", "counting"]
    assert (fold.record.prompt_version, fold.record.config.seed) == (PROMPT_VERSION, 7)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"persona": "Skeptic"}, ["ada: persona", "bo: persona"]),
        ({"temperature": 0.1}, ["ada: temperature", "bo: temperature"]),
        ({}, ["ada: model", "bo: model"]),
    ],
)
async def test_a_changed_agent_is_refused_before_any_agent_is_asked(changed: dict[str, Any], what: list[str]) -> None:
    storage, model = MemoryStorage(), CountingModel("Tea")
    session_id = await half_told(storage, model)
    other = CountingModel("Coffee")
    other.model = "another" if not changed else "counting"
    table = roundtable.Roundtable(agents(other, **changed), storage=storage)
    with pytest.raises(ConfigurationError, match="started with another configuration") as caught:
        await table.resume(session_id, budget=ENOUGH)
    assert (caught.value.details or {})["changes"] == what
    with pytest.raises(ConfigurationError, match="started with another configuration"):
        await table.extend(session_id)
    assert other.begun == []


async def test_an_adopted_change_applies_from_then_on_and_is_recorded() -> None:
    storage = MemoryStorage()
    session_id = await half_told(storage, CountingModel("Tea"))
    model = CountingModel("Coffee")
    table = roundtable.Roundtable(agents(model, persona="Skeptic"), storage=storage)
    result = await table.resume(session_id, budget=ENOUGH, on_change="adopt")
    assert (result.status, [held.responses[0].position for held in result.rounds]) == ("completed", ["Tea", "Coffee"])
    assert all("Skeptic" in prompt for _, _, prompt in model.prompts)
    fold = await fold_of(storage, session_id)
    assert {agent.persona and agent.persona.name for agent in fold.record.agents} == {"Skeptic"}
    (noted,) = [event for event in await log_of(storage, session_id) if isinstance(event, Control) and event.agents]
    assert (noted.action, noted.prompt_version) == ("resume", PROMPT_VERSION)
    await table.extend(session_id, budget=Budget(max_calls=6))  # which is no change any more


async def test_unchanged_agents_need_no_adoption() -> None:
    storage, model = MemoryStorage(), CountingModel("Tea")
    session_id = await half_told(storage, model)
    others = [*agents(CountingModel("Tea")), *seated(CountingModel("Milk"), "dee")]
    result = await roundtable.Roundtable(others, storage=storage).resume(session_id, budget=ENOUGH, on_change="adopt")
    assert result.status == "completed"
    assert not any(isinstance(event, Control) and event.agents for event in await log_of(storage, session_id))


async def test_prompt_texts_of_another_version_count_as_a_change() -> None:
    storage, model = MemoryStorage(), CountingModel("Tea")
    table = roundtable.Roundtable(agents(model), storage=storage)
    session_id = await half_told(storage, model)
    held = storage._sessions["default", session_id]
    held.record = held.record.model_copy(update={"prompt_version": "0"})
    with pytest.raises(ConfigurationError, match=f"prompt texts: version 0 is now {PROMPT_VERSION}"):
        await table.resume(session_id, budget=ENOUGH)
    result = await table.resume(session_id, budget=ENOUGH, on_change="adopt")
    assert (await fold_of(storage, session_id)).record.prompt_version == PROMPT_VERSION
    assert result.status == "completed"


class FailsOnce(MemoryStorage):
    """Refuses the first agreement that it is to store."""

    has_failed = False

    async def append(self, session_id: str, *given: Any, **more: Any) -> int:
        if not self.has_failed and any(event.type == "consensus" for event in given[2]):
            self.has_failed = True
            raise StorageError("a hiccup")
        return await super().append(session_id, *given, **more)


@pytest.mark.parametrize("changed", [{}, {"temperature": 0.1}], ids=["as it was", "adopted"])
async def test_after_a_failed_run_failed_turns_are_taken_again_whether_a_change_is_adopted_or_not(
    changed: dict[str, Any],
) -> None:
    storage = FailsOnce()
    model = CountingModel(lambda request: AgentError("down") if request.metadata["agent"] == "ada" else "Tea")
    with pytest.raises(StorageError, match="a hiccup") as caught:
        await roundtable.Roundtable(agents(model), storage=storage).debate("Tea?", rounds=1)
    assert caught.value.session_id is not None
    table = roundtable.Roundtable(agents(CountingModel("Tea"), **changed), storage=storage)
    result = await table.resume(caught.value.session_id, on_change="adopt")
    assert [(turn.agent_id, turn.outcome, turn.attempt) for turn in result.rounds[0].turns] == [
        ("ada", "answered", 2),
        ("bo", "answered", 1),
    ]


async def test_a_member_that_a_team_needs_is_asked_again_after_an_adoption() -> None:
    storage, replies = MemoryStorage(), [AgentError("down"), "Acme is cold."]
    script = {"initiator": {"goal": "Find prospects."}, "ada": replies, "bo": "Acme first.", "summarizer": "Call Acme."}
    spoken, profiles = ScriptedModel(script), [AgentProfile("ada", on_error="abort"), AgentProfile("bo")]
    table = roundtable.Roundtable([spoken], storage=storage)
    with pytest.raises(AgentError, match="cannot continue without it") as caught:
        await table.converse(agents=profiles, messages="Go.", rounds=1, order="parallel")
    assert caught.value.session_id is not None
    held = storage._sessions["default", caught.value.session_id]
    held.record = held.record.model_copy(update={"prompt_version": "0"})
    assert (await table.resume(caught.value.session_id, on_change="adopt")).answer == "Call Acme."


async def test_a_changed_configuration_written_as_data_is_seen_too() -> None:
    storage = MemoryStorage()
    session_id = await half_told(storage, CountingModel("Tea"))
    config = AgentConfig(id="ada", name="Ada", provider="scripted", max_tokens=5)
    table = roundtable.Roundtable([config], storage=storage)
    with pytest.raises(ConfigurationError) as caught:
        await table.resume(session_id)
    assert (caught.value.details or {})["changes"] == ["ada: max_tokens"]


async def test_the_remaining_budget_is_what_the_session_has_not_spent() -> None:
    storage, model = MemoryStorage(), CountingModel("Tea")
    session_id = await half_told(storage, model)
    table = roundtable.Roundtable(agents(model), storage=storage)
    with pytest.raises(BudgetExceeded, match="made 2 calls; its budget is 2"):
        await table.resume(session_id)
    assert len(model.begun) == 2
    more = await table.resume(session_id, budget=Budget(max_calls=4))
    assert (more.status, len(model.begun)) == ("completed", 4)


@pytest.mark.parametrize("given", ["ignore", None, True])
async def test_an_invalid_value_of_on_change_is_refused(given: Any) -> None:
    storage = MemoryStorage()
    session_id = await half_told(storage, CountingModel("Tea"))
    with pytest.raises(ConfigurationError, match="on_change must be"):
        await roundtable.Roundtable(agents(CountingModel("Tea")), storage=storage).resume(session_id, on_change=given)


@pytest.mark.parametrize("verb", ["pause", "stop"])
@pytest.mark.parametrize("running", ["settle", "cancel"])
async def test_calls_under_way_settle_or_are_cancelled_by_choice(verb: str, running: Any) -> None:
    def reply(request: ChatRequest) -> Any:
        return late(0.3 if running == "settle" else 30, "Tea")

    storage, model = MemoryStorage(), CountingModel(reply)
    async with roundtable.Roundtable(agents(model), storage=storage) as table:
        handle = await table.start("Tea?", rounds=2)
        await eventually(lambda: model.under_way == 2)
        await getattr(handle, verb)(running=running)
        result = await handle.result()
    answered = 2 if running == "settle" else 0
    assert (len(model.begun), model.under_way) == (2, 0)
    assert sum(len(held.responses) for held in result.rounds) == answered
    assert result.session_status == {"pause": "paused", "stop": "completed"}[verb]


async def test_a_waiting_pause_can_be_replaced_by_an_immediate_one() -> None:
    model = CountingModel(late(30, "Tea"))
    async with roundtable.Roundtable(agents(model), storage=MemoryStorage()) as table:
        handle = await table.start("Tea?")
        await eventually(lambda: model.under_way == 2)
        await handle.pause()
        await handle.pause(running="cancel")
        result = await handle.result()
    assert result.session_status == "paused"


@pytest.mark.parametrize("verb", ["pause", "stop"])
async def test_an_unknown_choice_for_running_calls_is_refused(verb: str) -> None:
    table = roundtable.Roundtable(agents(CountingModel("Tea")), storage=MemoryStorage())
    with pytest.raises(ConfigurationError, match="running must be"):
        await getattr(table, verb)("s", running="wait")


async def test_a_debate_of_one_round_completes_and_a_failed_debate_has_the_status_error() -> None:
    storage = MemoryStorage()
    table = roundtable.Roundtable(agents(CountingModel("Tea")), storage=storage)
    result = await table.debate("Tea?", rounds=1)
    assert result.session_status == "completed"
    with pytest.raises(SessionConflict, match="is completed"):
        await table.resume(result.session_id)

    failing = roundtable.Roundtable(agents(CountingModel(lambda _: ValueError("no"))), storage=storage)
    with pytest.raises(roundtable.RoundtableError) as caught:
        await failing.debate("Tea?", rounds=1)
    broken = caught.value.session_id
    assert broken is not None
    assert (await table.session(broken)).session_status == "error"
    for verb in (table.pause, table.stop):
        with pytest.raises(SessionConflict, match="is error"):
            await verb(broken)
    assert (await table.resume(broken)).session_status == "completed"


def old_record(version: int) -> str:
    said_then = SessionRecord.model_validate(
        {"id": "s", "config": {"topic": "Tea?", "agents": ["ada"]}, "agents": []}
    ).model_dump(mode="json")
    for name in ("promptVersion", "forkedFrom"):
        del said_then[name]
    return json.dumps(said_then | {"schemaVersion": version})


def test_records_of_every_version_are_read_and_those_of_a_newer_one_refused() -> None:
    for version in range(1, SCHEMA_VERSION + 1):
        read = read_record(old_record(version))
        assert (read.schema_version, read.prompt_version) == (SCHEMA_VERSION, None)
    with pytest.raises(ValueError, match=f"has version {SCHEMA_VERSION + 1}"):
        read_record(old_record(SCHEMA_VERSION + 1))
    for text in ("[]", '{"schemaVersion": "x"}', '{"schemaVersion": 0}', "{"):
        with pytest.raises(ValueError, match=r"\S"):
            read_record(text)


# ------------------------------------------------- what only the program that began it has


class Loud(BaseAgent):
    """An agent of a program, with a provider that a name would make another agent of."""

    def build_system_prompt(self, context: DebateContext) -> str:
        return super().build_system_prompt(context).upper()


def add(left: int, right: int) -> int:
    """Add two numbers.

    Args:
        left: One.
        right: The other.
    """
    return left + right


class Count:
    """A meter of a program."""

    async def measure(self, responses: Any, topic: str, **more: Any) -> Measured:
        return await ConsensusAnalyzer().measure(responses, topic, **more)


class Enough(roundtable.MaxRounds):
    kind = "enough"


def loud() -> Loud:
    config = AgentConfig(id="lou", name="Lou", provider="openai", model="gpt-5.2")
    return Loud(config, ScriptedModel([said("Tea", choice="Tea")] * 9))


BEGUN_WITH: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "scripted": ({"agents": scripted_agents({"ada": "Tea", "cy": "Tea"})}, {}, r"agent 'cy' \(scripted:scripted\)"),
    "agent": ({"agents": [*scripted_agents({"ada": "Tea"}), loud()]}, {}, r"agent 'lou' \(openai:gpt-5.2\)"),
    "model": (
        {"agents": [*scripted_agents({"ada": "Tea"}), ScriptedModel([said("Tea", choice="Tea")] * 9)]},
        {},
        r"agent 'scripted-scripted'",
    ),
    "tool": ({"tools": [add]}, {}, "tool 'add'"),
    "seat": ({"seats": {"judge": ScriptedModel([{"choice": "Tea"}] * 9)}}, {"decide": "judge"}, r"seats\['judge'\]"),
    "analyzer": ({"analyzer": Count()}, {}, "analyzer Count"),
    "mode": ({}, {"mode": RedTeamBlueTeamMode(cross_team=True)}, "mode 'red-team-blue-team' with its settings"),
    "exit": ({}, {"exit_when": Enough(9)}, "unknown exit 'enough'"),
    "rule": ({}, {"decide": Rule("mine", BUILTIN_RULES[0].count)}, "'mine'"),
}


@pytest.mark.parametrize("what", BEGUN_WITH)
async def test_objects_that_a_table_lacks_for_a_session_are_named_before_any_agent_is_asked(what: str) -> None:
    table_of, debate_of, named = BEGUN_WITH[what]
    storage = MemoryStorage()
    agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
    options = ["Tea", "Coffee"]
    async with roundtable.Roundtable(**{"agents": agents, "storage": storage} | table_of) as table:
        handle = await table.start("Tea?", rounds=2, step=True, options=options, **debate_of)
        await handle.result()
        before = await log_of(storage, handle.session_id)
        other = roundtable.Roundtable(agents, storage=storage)
        for go_on in (other.resume, other.extend):
            with pytest.raises(ConfigurationError, match=named) as caught:
                await go_on(handle.session_id)
            assert caught.value.hint
        assert await log_of(storage, handle.session_id) == before
        assert len((await table.resume(handle.session_id)).rounds) == 2


@pytest.mark.slow
async def test_a_session_keeps_the_tools_that_every_table_has() -> None:
    def seats() -> tuple[ScriptedModel, list[BaseAgent]]:
        model = ScriptedModel({"a": said("Tea"), "b": said("Tea")})
        return model, [BaseAgent(AgentConfig(id=n, name=n, provider="scripted", model="s"), model) for n in ("a", "b")]

    def offered(model: ScriptedModel) -> list[set[str]]:
        names = [{tool.name for tool in request.tools} for request in model.requests]
        model.requests.clear()
        return names

    both, last = {"get_context", "request_context"}, {"get_context"}  # nobody could answer after the last round
    storage = MemoryStorage()
    model, begun = seats()
    async with roundtable.Roundtable(begun, storage=storage, tools=sorted(both)) as table:
        handle = await table.start("Tea?", rounds=3, step=True)
        await handle.result()
    assert offered(model) == [both] * 2
    model, here = seats()
    other = roundtable.Roundtable(here, storage=storage)
    copied = await other.fork(handle.session_id, at_round=1, rounds=3)
    assert offered(model) == [both, both, last, last]
    await roundtable.Roundtable(here, storage=storage).extend(copied.session_id, rounds=1)
    assert offered(model) == [last] * 2
    await other.resume(handle.session_id)
    assert offered(model) == [both, both, last, last]


@pytest.mark.parametrize("what", ["tool", "analyzer", "mode", "seat"])
async def test_adopting_continues_a_session_without_the_missing_objects(what: str) -> None:
    table_of, debate_of, _ = BEGUN_WITH[what]
    storage = MemoryStorage()
    agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
    async with roundtable.Roundtable(**{"agents": agents, "storage": storage} | table_of) as table:
        handle = await table.start("Tea?", rounds=2, step=True, options=["Tea", "Coffee"], **debate_of)
        await handle.result()
    judge = {"seats": {"judge": ScriptedModel([{"choice": "Tea"}] * 9)}} if what == "seat" else {}
    other = roundtable.Roundtable(agents, storage=storage, **judge)
    assert len((await other.resume(handle.session_id, on_change="adopt")).rounds) == 2


async def test_a_fork_of_agents_that_are_given_by_name_needs_no_objects(tmp_path: Path) -> None:
    script = tmp_path / "said.json"
    script.write_text(json.dumps({"*": [said("Tea", choice="Tea")] * 9}), "utf-8")
    storage, names = MemoryStorage(), [f"scripted:{script}"]
    table = roundtable.Roundtable(names, storage=storage)
    first = await table.debate("Tea?", rounds=1)
    forked = await table.fork(first.session_id, at_round=1, rounds=2, budget=Budget(max_calls=9))
    assert (await fold_of(storage, forked.session_id)).record.caller_objects.agents == ()
    assert len((await roundtable.Roundtable(storage=storage).extend(forked.session_id)).rounds) == 3


async def test_an_agent_of_an_older_session_that_cannot_be_created_by_name_is_named() -> None:
    storage = MemoryStorage()
    table = roundtable.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage=storage)
    config = DebateConfig(topic="Tea?", agents=("ada", "bo"), rounds=1)
    known = [seat.config for seat in table._wiring.seats(None)]
    session = await table._wiring.engine.start_debate(config, known)
    with pytest.raises(ConfigurationError, match="agent 'ada' of session") as caught:
        await roundtable.Roundtable(storage=storage).resume(session.id)
    assert "cannot be created here: cannot read the script" in caught.value.message
    assert "Roundtable(agents=[...])" in str(caught.value.hint)
    assert (await table.resume(session.id)).status == "completed"
