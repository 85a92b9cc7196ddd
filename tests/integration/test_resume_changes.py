"""What a session was begun with comes from the store; what has changed since is refused, or taken over and noted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from integration.engine_kit import CountingModel, eventually, fold_of, late, log_of, seated

import roundtable
from roundtable.agents import BaseAgent
from roundtable.errors import ConfigurationError, SessionConflict
from roundtable.prompts import PROMPT_VERSION
from roundtable.record import read_record
from roundtable.storage import MemoryStorage
from roundtable.types import SCHEMA_VERSION, AgentConfig, Budget, ChatRequest, Control, SessionRecord


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


async def test_the_model_that_was_used_is_stored_also_where_nobody_named_it() -> None:
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
async def test_a_changed_agent_is_refused_before_anybody_is_asked(changed: dict[str, Any], what: list[str]) -> None:
    storage, model = MemoryStorage(), CountingModel("Tea")
    session_id = await half_told(storage, model)
    other = CountingModel("Coffee")
    other.model = "another" if not changed else "counting"
    table = roundtable.Roundtable(agents(other, **changed), storage=storage)
    with pytest.raises(ConfigurationError, match="begun with another configuration") as caught:
        await table.resume(session_id, budget=ENOUGH)
    assert (caught.value.details or {})["changes"] == what
    with pytest.raises(ConfigurationError, match="begun with another configuration"):
        await table.extend(session_id)
    assert other.begun == []


async def test_what_is_adopted_holds_from_then_on_and_is_noted() -> None:
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
    await table.extend(session_id)  # which is no change any more


async def test_agents_that_are_as_they_were_change_nothing() -> None:
    storage, model = MemoryStorage(), CountingModel("Tea")
    session_id = await half_told(storage, model)
    others = [*agents(CountingModel("Tea")), *seated(CountingModel("Milk"), "dee")]
    result = await roundtable.Roundtable(others, storage=storage).resume(session_id, budget=ENOUGH, on_change="adopt")
    assert result.status == "completed"
    assert not any(isinstance(event, Control) and event.agents for event in await log_of(storage, session_id))


async def test_prompt_texts_of_another_version_are_a_change() -> None:
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


async def test_a_changed_configuration_written_as_data_is_seen_too() -> None:
    storage = MemoryStorage()
    session_id = await half_told(storage, CountingModel("Tea"))
    config = AgentConfig(id="ada", name="Ada", provider="scripted", max_tokens=5)
    table = roundtable.Roundtable([config], storage=storage)
    with pytest.raises(ConfigurationError) as caught:
        await table.resume(session_id)
    assert (caught.value.details or {})["changes"] == ["ada: max_tokens"]


async def test_the_budget_that_is_left_is_what_the_session_has_not_spent() -> None:
    storage, model = MemoryStorage(), CountingModel("Tea")
    session_id = await half_told(storage, model)
    table = roundtable.Roundtable(agents(model), storage=storage)
    again = await table.resume(session_id)
    assert (again.status, len(model.begun)) == ("partial", 2)
    more = await table.resume(session_id, budget=Budget(max_calls=4))
    assert (more.status, len(model.begun)) == ("completed", 4)


@pytest.mark.parametrize("given", ["ignore", None, True])
async def test_what_says_nothing_about_changes_is_refused(given: Any) -> None:
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


async def test_a_pause_that_waits_can_be_made_one_that_does_not() -> None:
    model = CountingModel(late(30, "Tea"))
    async with roundtable.Roundtable(agents(model), storage=MemoryStorage()) as table:
        handle = await table.start("Tea?")
        await eventually(lambda: model.under_way == 2)
        await handle.pause()
        await handle.pause(running="cancel")
        result = await handle.result()
    assert result.session_status == "paused"


@pytest.mark.parametrize("verb", ["pause", "stop"])
async def test_another_choice_is_refused(verb: str) -> None:
    table = roundtable.Roundtable(agents(CountingModel("Tea")), storage=MemoryStorage())
    with pytest.raises(ConfigurationError, match="running must be"):
        await getattr(table, verb)("s", running="wait")


async def test_a_single_round_completes_and_error_is_really_used() -> None:
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


def test_records_of_every_version_are_read_and_of_a_newer_one_refused() -> None:
    for version in range(1, SCHEMA_VERSION + 1):
        read = read_record(old_record(version))
        assert (read.schema_version, read.prompt_version) == (SCHEMA_VERSION, None)
    with pytest.raises(ValueError, match=f"of version {SCHEMA_VERSION + 1}"):
        read_record(old_record(SCHEMA_VERSION + 1))
    for text in ("[]", '{"schemaVersion": "x"}', '{"schemaVersion": 0}', "{"):
        with pytest.raises(ValueError, match=r"\S"):
            read_record(text)
