"""Observers of plugins hear on threads of their own: nothing they do reaches the debate."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from plugin_kit import Site, hook, site

from roundtable import Roundtable, hookimpl
from roundtable.errors import ConfigurationError, PluginError
from roundtable.plugins import ObserverRegistrar, Plugins
from roundtable.plugins.observer_thread import FAILURES, ObserverThread
from roundtable.settings import Settings
from roundtable.testing import scripted_agents
from roundtable.types import AgentToolResult, DebateComplete, Event, ModelCall

pytestmark = pytest.mark.both_loops

__all__ = ["site"]


def event(number: int = 1) -> Event:
    return DebateComplete(
        session_id="s", timestamp=datetime(2031, 1, 1, tzinfo=UTC), status="completed", total_rounds=number
    )


class Notes:
    """Notes what it hears, on which thread, and whether it was closed."""

    def __init__(self, does: Callable[[Event], object] = lambda _: None) -> None:
        self.heard: list[Event] = []
        self.threads: set[str] = set()
        self.closed = 0
        self._does = does

    def notify(self, event: Event) -> None:
        self.heard.append(event)
        self.threads.add(threading.current_thread().name)
        self._does(event)

    def close(self) -> None:
        self.closed += 1


def ends(_: Event) -> None:
    raise SystemExit(3)


def test_events_are_delivered_in_order_on_one_other_thread() -> None:
    notes = Notes()
    watcher = ObserverThread("notes", notes)
    for number in range(1, 50):
        watcher.notify(event(number))
    assert watcher.close()
    assert watcher.close()
    assert [getattr(one, "total_rounds", 0) for one in notes.heard] == list(range(1, 50))
    assert notes.threads == {"roundtable-observer-notes"}
    assert notes.closed == 1
    watcher.notify(event())
    assert (len(notes.heard), watcher.left_out) == (49, 1)


def test_an_observer_that_blocks_loses_events_and_delays_nothing(caplog: pytest.LogCaptureFixture) -> None:
    gate = threading.Event()
    notes = Notes(lambda _: gate.wait(60))
    watcher = ObserverThread("slow", notes, most=4)
    before = set(threading.enumerate())
    for _ in range(50):
        watcher.notify(event())
    assert 45 <= watcher.left_out <= 46
    assert caplog.text.count("the observer slow is too slow") == 1
    assert not watcher.close(0.01)
    assert "was not done when its table closed" in caplog.text
    gate.set()
    assert len(set(threading.enumerate()) - before) <= 1


def is_cancelled(_: Event) -> None:
    raise asyncio.CancelledError


class Stops(BaseException):
    """An error of a foreign library that is not an `Exception`."""


def stops(_: Event) -> None:
    raise Stops


@pytest.mark.parametrize(
    "fails",
    [lambda _: 1 / 0, ends, is_cancelled, stops],
    ids=["raises", "ends the program", "is cancelled", "raises what is not an Exception"],
)
def test_an_observer_that_fails_is_logged_and_switched_off(
    caplog: pytest.LogCaptureFixture, fails: Callable[[Event], object]
) -> None:
    notes = Notes(fails)
    watcher = ObserverThread("broken", notes)
    with caplog.at_level(logging.WARNING):
        for _ in range(2 * FAILURES):
            watcher.notify(event())
        assert watcher.close()
    assert len(notes.heard) == FAILURES
    assert watcher.left_out == FAILURES
    first, last = (record for record in caplog.records if "the observer broken failed on" in record.message)
    assert first.exc_info is not None
    assert last.exc_info is None
    assert "failed on debate_complete, 10 times so far: " in last.message
    assert caplog.text.count("it gets no more events") == 1


def test_one_success_forgives_failures() -> None:
    turns = iter(range(100))
    notes = Notes(lambda _: 1 / (next(turns) % FAILURES))
    watcher = ObserverThread("moody", notes)
    for _ in range(3 * FAILURES):
        watcher.notify(event())
    watcher.close()
    assert len(notes.heard) == 3 * FAILURES


class Caller(Notes):
    """Also hears calls of models."""

    def __init__(self, does: Callable[[Event], object] = lambda _: None) -> None:
        super().__init__(does)
        self.calls = 0

    def notify_call(self, call: ModelCall) -> None:
        self.calls += 1


def a_call() -> ModelCall:
    return ModelCall(provider="p", model="m", endpoint="", started_at=datetime(2031, 1, 1, tzinfo=UTC), duration_s=1.0)


def test_a_delivered_call_forgives_failures() -> None:
    notes = Caller(lambda _: 1 / 0)
    watcher = ObserverThread("moody", notes)
    for _ in range(2 * FAILURES):
        watcher.notify(event())
        watcher.notify_call(a_call())
    assert watcher.close()
    assert (len(notes.heard), notes.calls, watcher.left_out) == (2 * FAILURES, 2 * FAILURES, 0)


async def test_a_call_without_a_receiver_forgives_no_failures() -> None:
    notes = Notes(lambda _: 1 / 0)

    class Plugin:
        @hookimpl
        def roundtable_register_observers(self, registrar: ObserverRegistrar) -> None:
            registrar.add("moody", lambda settings: notes)

    used = table(Plugin())
    await used.debate("Tea?", rounds=4)
    await used.aclose()
    assert len(notes.heard) == FAILURES


@pytest.mark.parametrize("kind", [RuntimeError, asyncio.CancelledError])
def test_a_failure_at_the_end_is_logged(caplog: pytest.LogCaptureFixture, kind: type[BaseException]) -> None:
    class Stuck(Notes):
        def close(self) -> None:
            raise kind("stuck")

    watcher = ObserverThread("stuck", Stuck())
    watcher.notify(event())
    assert watcher.close()
    assert f"the observer stuck failed to close: {kind.__name__}: stuck" in caplog.text


def test_changes_of_an_observer_to_an_event_have_no_effect() -> None:
    def meddle(one: Any) -> None:
        one.result["spoiled"] = True

    result = {"fine": True}
    given = AgentToolResult(
        session_id="s", timestamp=datetime(2031, 1, 1, tzinfo=UTC), agent="ada", round=1, step=1, tool_call_id="t",
        result=result,
    )  # fmt: skip
    notes = Notes(meddle)
    watcher = ObserverThread("meddler", notes)
    watcher.notify(given)
    watcher.close()
    assert getattr(notes.heard[0], "result", None) == {"fine": True, "spoiled": True}
    assert given.result == {"fine": True}


def test_a_thread_without_events_ends_and_the_next_event_starts_another() -> None:
    notes = Notes()
    watcher = ObserverThread("idle", notes, idle_s=0.01)
    watcher.notify(event())
    until = time.monotonic() + 30
    while any(thread.name == "roundtable-observer-idle" for thread in threading.enumerate()):
        assert time.monotonic() < until
        time.sleep(0.005)
    watcher.notify(event())
    assert watcher.close()
    assert len(notes.heard) == 2


class Chatty:
    """A plugin with an observer."""

    def __init__(self, observer: object) -> None:
        self.observer = observer

    @hookimpl
    def roundtable_register_observers(self, registrar: ObserverRegistrar) -> None:
        registrar.add("chatty", lambda settings: self.observer)  # type: ignore[arg-type,return-value]  # any object


def table(*plugins: object, observers: Any = ()) -> Roundtable:
    agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
    return Roundtable(agents, storage="memory://", plugins=list(plugins), observers=observers, settings=Settings())


async def test_an_observer_of_a_chosen_plugin_gets_every_event_once() -> None:
    notes = Notes()
    made = table(Chatty(notes), observers=["chatty"])
    result = await made.debate("Tea?", rounds=1)
    await made.aclose()
    kinds = [one.type for one in notes.heard]
    assert (kinds[0], kinds[-1], kinds.count("debate_start")) == ("debate_start", "debate_complete", 1)
    assert result.status == "completed"
    assert notes.closed == 1


async def test_a_debate_is_unaffected_by_observers_that_block_or_exit() -> None:
    gate = threading.Event()
    try:
        made = table(Chatty(Notes(lambda _: gate.wait(60))))
        assert (await made.debate("Tea?", rounds=1)).answer == "Tea"
        again = table(Chatty(Notes(ends)))
        assert (await again.debate("Tea?", rounds=1)).answer == "Tea"
        await again.aclose()
    finally:
        gate.set()
    await made.aclose()


async def test_an_installed_observer_is_chosen_by_name(site: Site) -> None:
    site.install("roundtable-chatty", hook("observers", "registrar.add('chatty', lambda settings: settings)"))
    unasked = table()
    assert unasked._wiring.hub.has_listeners("s") is False
    asked = Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://", observers=["chatty"])
    with pytest.raises(PluginError, match="'chatty' of roundtable-chatty is Settings, which has no `notify`") as told:
        _ = asked._wiring
    assert told.value.hint == "Its factory must return an observer, an object with notify(event)."
    with pytest.raises(ConfigurationError, match="unknown observer 'nobody'"):
        _ = table(observers=["nobody"])._wiring


async def test_an_observer_that_cannot_be_made_is_left_out_unless_it_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made: list[str] = []

    class Refuses:
        @hookimpl
        def roundtable_register_observers(self, registrar: ObserverRegistrar) -> None:
            registrar.add("breaks", lambda settings: 1 / 0)  # type: ignore[arg-type,return-value]  # fails
            registrar.add("refuses", refuse)

    def refuse(settings: Settings) -> Notes:
        made.append("refuses")
        raise ConfigurationError("it needs ACME_TOKEN")

    async with table(Refuses()) as debating:
        assert (await debating.debate("Tea?", rounds=1)).answer == "Tea"
    assert made == ["refuses"]
    assert "the observer breaks failed on debate_start: PluginError: " in caplog.text
    assert "the observer refuses failed on debate_start: ConfigurationError: it needs ACME_TOKEN" in caplog.text
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        _ = table(Refuses(), observers=["breaks"])._wiring
    with pytest.raises(ConfigurationError, match="ACME_TOKEN"):
        _ = table(Refuses(), observers=["refuses"])._wiring
    assert Plugins().names == ()


async def test_an_observer_of_a_plugin_is_made_when_a_debate_begins() -> None:
    made: list[Notes] = []

    class Quiet:
        @hookimpl
        def roundtable_register_observers(self, registrar: ObserverRegistrar) -> None:
            registrar.add("notes", make)

    def make(settings: Settings) -> Notes:
        made.append(Notes())
        return made[-1]

    async with table(Quiet()) as idle:
        assert idle._wiring.plugins.reports()[0].provides == ("observer notes",)
        assert await idle.sessions() == ()
        idle.estimate("Tea?", rounds=1)
    assert made == []
    async with table(Quiet()) as debating:
        for _ in range(2):
            await debating.debate("Tea?", rounds=1)
    assert len(made) == 1


def test_an_observer_that_never_ends_is_released() -> None:
    class Endless:
        def __init__(self) -> None:
            self.heard: list[Event] = []

        def notify(self, event: Event) -> None:
            self.heard.append(event)

    observer = Endless()
    watcher = ObserverThread("endless", observer)
    watcher.notify(event())
    assert watcher.close()
    assert len(observer.heard) == 1


def test_an_observer_whose_queue_stays_full_is_abandoned(caplog: pytest.LogCaptureFixture) -> None:
    gate, begun = threading.Event(), threading.Event()
    watcher = ObserverThread("stuck", Notes(lambda _: (begun.set(), gate.wait(60))), most=1)
    watcher.notify(event())
    assert begun.wait(30)
    watcher.notify(event())
    assert not watcher.close(0.01)
    assert "the observer stuck was not done when its table closed" in caplog.text
    gate.set()
