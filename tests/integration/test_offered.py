"""What callers of a server may seat: what its owner offers, and nothing that runs or reads things of the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from roundtable import AgentConfig, ProviderConfig, Roundtable, hookimpl
from roundtable.api.offered import chosen_agents
from roundtable.errors import ConfigurationError, SessionNotFound
from roundtable.modes import CollaborativeMode
from roundtable.testing import scripted_agents

pytestmark = pytest.mark.anyio


def table_of(*agents: Any) -> Roundtable:
    keys = {"openai": ProviderConfig(api_key="sk-none")}
    return Roundtable([*agents], storage="memory://", providers=keys)


def config(name: str, provider: str, model: str | None = None) -> AgentConfig:
    return AgentConfig(id=name, name=name.title(), provider=provider, model=model)


async def test_agents_are_found_by_id_and_by_name() -> None:
    ada, bo = scripted_agents({"ada": "Tea", "bo": "Tea"})
    table = table_of(ada, bo)
    assert [one.config.id for one in table.agent_offers()] == ["ada", "bo"]
    assert chosen_agents(table, ["bo", "ada"]) == [bo, ada]
    assert chosen_agents(table, None) is None


@pytest.mark.parametrize(
    "name",
    [
        *("command:/bin/sh", "command:cat", "claude-cli", "claude-cli:opus", "local:/etc/passwd", "human", ":", ""),
        *("scripted:/etc/passwd", "replay:/etc/passwd", "mine.json"),
    ],
)
async def test_programs_and_files_of_the_machine_cannot_be_named(name: str, tmp_path: Path) -> None:
    script = tmp_path / "said.json"
    script.write_text("[]")
    (tmp_path / "kept.jsonl").touch()
    fixed = [config("played", "replay", str(tmp_path / "kept.jsonl")), config("said", "scripted", str(script))]
    table = table_of(
        config("mine", "command", "cat"), config("tiny", "local"), config("far", "openai", "gpt-5.2"), *fixed
    )
    with pytest.raises(ConfigurationError, match="offers no agent") as caught:
        chosen_agents(table, [name])
    assert caught.value.code == "AGENT_NOT_FOUND"
    assert chosen_agents(table, ["mine"]) == [table.agent_offers()[0].config]


async def test_other_models_of_offered_providers_may_be_named_unless_the_owner_lists_them() -> None:
    table = table_of(config("far", "openai", "gpt-5.2"))
    assert chosen_agents(table, ["openai:gpt-5-mini"]) == ["openai:gpt-5-mini"]
    assert chosen_agents(table, ["anthropic:x"], models={"anthropic:x"}) == ["anthropic:x"]
    assert chosen_agents(table, ["openai:gpt-5.2"], models=()) == chosen_agents(table, ["far"])
    with pytest.raises(ConfigurationError) as caught:
        chosen_agents(table, ["openai:gpt-5-mini"], models={"anthropic:x"})
    assert caught.value.hint == "Agents: 'far'; or a model: anthropic:x."
    with pytest.raises(ConfigurationError) as caught:
        chosen_agents(table, ["google:x"])
    assert caught.value.hint == "Agents: 'far'; or a model: openai:MODEL."


async def test_modes_are_listed_with_their_options() -> None:
    modes = {mode.name: mode for mode in Roundtable(storage="memory://").modes()}
    assert modes["self-consistency"].options.keys() == {"samples"}
    assert (modes["adversarial"].min_agents, modes["adversarial"].max_rounds) == (2, 10)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (range(5, 6), "5 agents"),
        (range(1, 2), "1 agent"),
        (range(2, 5), "2 to 4 agents"),
        (range(2, 101), "2 agents or more"),
        (None, "1 agent or more"),
    ],
)
async def test_a_mode_is_listed_with_the_numbers_of_agents_that_it_takes(counts: range | None, words: str) -> None:
    class Jury(CollaborativeMode):
        name = "jury"

    if counts is None:
        Jury.agent_counts = None  # type: ignore[assignment]  # as a mode of another base class
    else:
        Jury.agent_counts = counts

    class Court:
        @hookimpl
        def roundtable_register_modes(self, registrar: Any) -> None:
            registrar.add("jury", Jury(), summary="Jurors.")

    table = Roundtable(
        scripted_agents(dict.fromkeys(("ada", "bo", "cy"), "Tea")), storage="memory://", plugins=[Court()]
    )
    jury = next(mode for mode in table.modes() if mode.name == "jury")
    assert jury.agents_in_words == words
    if counts is not None:
        assert range(jury.min_agents, jury.max_agents + 1) == counts
    if counts == range(5, 6):
        with pytest.raises(ConfigurationError, match="mode 'jury' needs 5 agents, not 3"):
            await table.debate("Tea?", mode="jury", rounds=1)


async def test_a_run_reports_its_start_or_why_it_cannot_start() -> None:
    agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
    async with Roundtable(agents, storage="memory://") as table:
        first = await table.start("Tea?", rounds=2, step=True)
        await first.begun()
        await first.wait()
        handle = await table.start_fork(first.session_id, at_round=1)
        assert [held.complete for held in (await handle.result()).rounds] == [True, True]
        later = await table.start_resume(first.session_id, rounds=1, deadline_s=50)
        await later.begun()
        assert len((await later.result()).rounds) == 3
        gone = await table.start("Tea?", rounds=1)
        await table.delete(gone.session_id)
        with pytest.raises(SessionNotFound), anyio.fail_after(5):
            await gone.begun()


async def test_extra_agents_are_added_and_replace_none_of_the_owner() -> None:
    sceptic, optimist = config("sceptic", "openai", "gpt-5.2"), config("optimist", "openai", "gpt-5-mini")
    table = table_of(sceptic, optimist)
    assert chosen_agents(table, None, 1) == [sceptic.model_copy(update={"search": None})]
    agents = chosen_agents(table, None, 5)
    assert agents is not None
    assert [(agent.id, agent.name, agent.model) for agent in agents if isinstance(agent, AgentConfig)] == [
        ("sceptic", "Sceptic", "gpt-5.2"),
        ("optimist", "Optimist", "gpt-5-mini"),
        ("sceptic-2", "Sceptic (2)", "gpt-5.2"),
        ("optimist-2", "Optimist (2)", "gpt-5-mini"),
        ("sceptic-3", "Sceptic (3)", "gpt-5.2"),
    ]


async def test_a_copy_of_an_agent_has_its_own_id() -> None:
    ada = config("ada", "openai", "gpt-5.2")
    table = table_of(ada, ada.model_copy(update={"id": "ada-2"}))
    agents = chosen_agents(table, None, 4)
    assert agents is not None
    assert [agent.id for agent in agents if isinstance(agent, AgentConfig)] == ["ada", "ada-2", "ada-3", "ada-2-2"]


async def test_a_copy_searches_no_more_than_its_original() -> None:
    table = Roundtable(
        [config("ada", "openai", "gpt-5.2"), config("bo", "openai", "gpt-5-mini")],
        storage="memory://",
        providers={"openai": ProviderConfig(api_key="sk-none")},
        search="auto",
    )
    agents = chosen_agents(table, None, 4)
    assert agents is not None
    searches = [agent.search for agent in agents if isinstance(agent, AgentConfig)]
    assert len(searches) == 4
    assert searches[2:] == searches[:2]
