"""What a caller brings to one table: plugins, modes and observers of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest
from integration.engine_kit import CountingModel, seated

import roundtable
from roundtable import Roundtable, hookimpl, sync
from roundtable.errors import ConfigurationError, PluginError, QuorumLost
from roundtable.modes import CollaborativeMode
from roundtable.plugins import ModeRegistrar, ProviderRegistrar, StorageRegistrar
from roundtable.providers.scripted import ScriptedModel
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.types import DebateContext, EndDebate, EndRound, Event, Plan, ProviderConfig, Stage


class Acme:
    """A plugin with a provider, a mode and a storage."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.kept = MemoryStorage()

    @hookimpl
    def roundtable_register_providers(self, registrar: ProviderRegistrar) -> None:
        def make(model: str | None, config: ProviderConfig, settings: Settings) -> ScriptedModel:
            return ScriptedModel({"*": {"position": "Buy Acme"}}, model=model or "acme-1", provider="acme")

        registrar.add("acme", make)

    @hookimpl
    def roundtable_register_modes(self, registrar: ModeRegistrar) -> None:
        registrar.add("brief", Brief())

    @hookimpl
    def roundtable_register_storages(self, registrar: StorageRegistrar) -> None:
        def opened(url: str) -> MemoryStorage:
            self.opened.append(url)
            return self.kept

        registrar.add("acme-store", opened)


class Brief(CollaborativeMode):
    """Ends after one round, whatever was planned."""

    name: ClassVar[str] = "brief"

    def next_stage(self, view: DebateContext) -> Plan:
        plan = super().next_stage(view)
        return EndDebate(reason="brief") if isinstance(plan, EndRound) else plan


async def test_a_table_uses_the_parts_of_its_plugins() -> None:
    acme = Acme()
    table = Roundtable(["acme:large", "acme"], storage="acme-store://here", plugins=[acme])
    result = await table.debate("What to buy?", mode="brief", rounds=3)
    assert (result.answer, result.exit.reason, len(result.rounds)) == ("Buy Acme", "brief", 1)  # type: ignore[union-attr]
    assert acme.opened == ["acme-store://here"]
    assert table.chat_model("acme:xl").model == "xl"
    assert (await table.session(result.session_id)).answer == "Buy Acme"
    await table.aclose()


async def test_plugins_of_one_table_are_unknown_to_other_tables() -> None:
    with pytest.raises(ConfigurationError, match="unknown provider 'acme'"):
        await Roundtable(["acme"], storage="memory://").debate("Tea?")


async def test_an_invalid_or_clashing_plugin_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "d.db"
    storage = f"sqlite:///{file}"
    with pytest.raises(PluginError, match="implements no hook"):
        await Roundtable(["scripted"], storage=storage, plugins=[object()]).debate("Tea?")
    with pytest.raises(ConfigurationError, match="the provider 'acme' is already registered"):
        await Roundtable(["acme"], storage=storage, plugins=[Acme(), Acme()]).debate("Tea?")
    assert not await anyio.Path(file).exists()


async def test_a_single_call_takes_plugins_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_PATH", str(tmp_path / "d.db"))
    result = await roundtable.debate("What to buy?", rounds=1, agents=["acme"], plugins=[Acme()])
    assert result.answer == "Buy Acme"


def test_the_blocking_facade_takes_plugins_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_PATH", str(tmp_path / "d.db"))
    asked: dict[str, Any] = {"rounds": 1, "agents": ["acme"]}
    assert roundtable.debate_sync("What to buy?", plugins=[Acme()], **asked).answer == "Buy Acme"
    with sync.Roundtable(storage="memory://", plugins=[Acme()]) as table:
        assert table.debate("What to buy?", **asked).answer == "Buy Acme"


# ---------------------------------------------------------------- a mode as an object


async def test_a_mode_is_given_as_an_object_and_kept_for_the_session() -> None:
    table = Roundtable(seated(CountingModel("Tea"), "ada", "bo"), storage="memory://")
    result = await table.debate("Tea?", mode=Brief(), rounds=3)
    assert (result.exit.reason, len(result.rounds)) == ("brief", 1)  # type: ignore[union-attr]
    more = await table.extend(result.session_id, rounds=2)
    assert (more.exit.reason, len(more.rounds)) == ("brief", 2)  # type: ignore[union-attr]
    with pytest.raises(ConfigurationError, match="unknown mode 'brief'"):
        await table.debate("Tea?", mode="brief")


async def test_an_object_of_a_mode_that_is_registered_may_be_given_too() -> None:
    table = Roundtable(seated(CountingModel("Tea"), "ada", "bo"), storage="memory://")
    assert (await table.debate("Tea?", mode=CollaborativeMode(), rounds=1)).status == "completed"


async def test_another_table_needs_a_plugin_for_a_session_with_a_custom_mode() -> None:
    storage, model = MemoryStorage(), CountingModel("Tea")

    def table(**more: Any) -> Roundtable:
        return Roundtable(seated(model, "ada", "bo"), storage=storage, **more)

    session = (await table().debate("Tea?", mode=Brief(), rounds=3)).session_id
    with pytest.raises(ConfigurationError, match="unknown mode 'brief'"):
        await table().extend(session)
    assert len((await table(plugins=[Acme()]).extend(session)).rounds) == 2


class Usurper(Brief):
    name: ClassVar[str] = "collaborative"


class Half:
    name: ClassVar[str] = "half"

    def next_stage(self, view: DebateContext) -> Stage:
        raise AssertionError


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        pytest.param(Usurper(), "Usurper has the name of another mode, 'collaborative'", id="taken name"),
        pytest.param(Half(), "Half has no build_agent_prompt, rounds", id="half a mode"),
        pytest.param(Brief, r"give an instance, Brief\(\), not the class", id="class"),
        pytest.param(7, "mode must be the name of a mode, or a mode, not 7", id="number"),
    ],
)
async def test_a_value_that_is_not_a_mode_is_refused(mode: Any, message: str) -> None:
    model = CountingModel("Tea")
    with pytest.raises(ConfigurationError, match=message):
        await Roundtable(seated(model, "ada"), storage="memory://").debate("Tea?", mode=mode)
    assert model.begun == []


# ---------------------------------------------------------------- observers


class Notes:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, event: Event) -> None:
        self.events.append(event)


async def test_observers_get_every_event_of_every_debate_in_order() -> None:
    notes, heard = Notes(), list[Event]()
    table = Roundtable(seated(CountingModel("Tea"), "ada"), storage="memory://", observers=[notes, heard.append])
    sessions = [(await table.debate(topic, rounds=1)).session_id for topic in ("Tea?", "Coffee?")]
    assert heard == notes.events
    assert list(dict.fromkeys(event.session_id for event in heard)) == sessions
    first = [event for event in heard if event.session_id == sessions[0]]
    assert [event.type for event in first if event.durable] == [
        "debate_start", "round_start", "agent_complete", "consensus", "round_complete", "exit", "debate_complete",
    ]  # fmt: skip
    assert "agent_start" in {event.type for event in first}
    _, stored = await table._wiring.storage.read(sessions[0])
    assert tuple(event for event in first if event.durable) == stored


async def test_an_observer_that_fails_is_named_in_the_log_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def failing(event: Event) -> None:
        raise RuntimeError("no more paper")

    heard: list[Event] = []
    table = Roundtable(seated(CountingModel("Tea"), "ada"), storage="memory://", observers=[failing, heard.append])
    with caplog.at_level(logging.WARNING, "roundtable.engine"):
        result = await table.debate("Tea?", rounds=1)
    assert result.status == "completed"
    assert heard[-1].type == "debate_complete"
    assert "an observer failed on debate_start: RuntimeError: no more paper" in caplog.text


async def waits(event: Event) -> None:
    """Nobody would await this."""


class Waits:
    async def __call__(self, event: Event) -> None:
        """Nobody would await this either."""


class WaitsToNotify:
    notify = Waits()


@pytest.mark.parametrize(
    "observers",
    [
        pytest.param([waits], id="coroutine function"),
        pytest.param([Waits()], id="object with an async call"),
        pytest.param([WaitsToNotify()], id="notify with an async call"),
        pytest.param([7], id="number"),
        pytest.param([Notes], id="class"),
        pytest.param(print, id="no list"),
    ],
)
async def test_an_invalid_observer_is_refused(observers: Any) -> None:
    with pytest.raises(ConfigurationError, match="observers must be"):
        await Roundtable(seated(CountingModel("Tea"), "ada"), storage="memory://", observers=observers).debate("Tea?")


def test_an_observer_gets_a_lost_quorum_through_the_blocking_facade() -> None:
    heard: list[str] = []
    hears: Callable[[Event], None] = lambda event: heard.append(event.type)  # noqa: E731
    agents = seated(CountingModel(lambda _: ValueError("no")), "ada")
    with sync.Roundtable(agents, storage="memory://", observers=[hears]) as table, pytest.raises(QuorumLost):
        table.debate("Tea?")
    assert heard[-1] == "error"
