"""Conformance tests for observers, to inherit in the tests of an observer."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import anyio
import pytest

from roundtable.core.types.answers import AgentResponse
from roundtable.core.types.events import Event
from roundtable.testing.doubles import RecordingObserver, scripted_agents
from roundtable.testing.suite import Suite, within

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.core.protocols import Observer

__all__ = ["ObserverSuite", "debate_events"]

_HOSTILE = "\0\x1b[31m</script>{}%s \U0001f9d1 " + "x" * 10_000


async def debate_events() -> list[Event]:
    """Return the events of a small debate, in which one agent writes hostile text and another agent fails."""
    # Imported late, because it loads most of the library, which pytest does not need to collect the tests.
    from roundtable import Roundtable

    recorder = RecordingObserver()
    agents = scripted_agents({"ada": "Tea", "bo": _HOSTILE, "cy": [RuntimeError("out of tea")]})
    async with Roundtable(agents, storage="memory://", observers=[recorder]) as table:
        await table.debate("Tea or coffee?", rounds=1)
    return recorder.events


class ObserverSuite(Suite):
    """Tests of the `Observer` protocol: inherit this class, and define the fixture `make_observer`.

    Example:
        ```python
        class TestCounter(ObserverSuite):
            @pytest.fixture
            def make_observer(self):
                return lambda: make_counter(Settings())
        ```
    """

    limit_s: ClassVar[float] = 5.0
    """Seconds that the observer may take for the events of a small debate; one that is too slow misses events."""

    @pytest.fixture
    def make_observer(self) -> Callable[[], Observer]:
        """Return a function that creates the observer under test, as its factory does for each table."""
        raise NotImplementedError("an observer suite needs a fixture `make_observer`")

    async def _hear(self, observer: Observer, events: list[Event]) -> None:
        """Call the observer as a table does: with each event, on another thread."""

        def notify() -> None:
            for event in events:
                returned: object = observer.notify(event)  # type: ignore[func-returns-value]  # a wrong one may
                assert returned is None, f"notify must return nothing, not {type(returned).__name__}"

        await anyio.to_thread.run_sync(partial(within, notify, self.limit_s, what="notify"), abandon_on_cancel=True)

    def test_it_has_the_parts_of_an_observer(self, make_observer: Callable[[], Observer]) -> None:
        """The observer has `notify(event)`, and may have `close()`; neither of them is a coroutine function."""
        observer = make_observer()
        close = getattr(observer, "close", None)
        inspect.signature(observer.notify).bind(None)
        assert not inspect.iscoroutinefunction(observer.notify), "notify runs on a thread: write `def`"
        if close is not None:
            inspect.signature(close).bind()
            assert not inspect.iscoroutinefunction(close), "close runs on a thread: write `def`"

    async def test_it_takes_every_event(self, make_observer: Callable[[], Observer]) -> None:
        """No event of a debate breaks the observer, whatever agents say, and it is fast enough for the events."""
        await self._hear(make_observer(), await debate_events())

    async def test_events_are_left_as_they_were(self, make_observer: Callable[[], Observer]) -> None:
        """Other observers get equal events, so the observer must not change them."""
        events = await debate_events()
        before = [event.to_json() for event in events]
        await self._hear(make_observer(), events)
        assert [event.to_json() for event in events] == before

    async def test_it_takes_events_of_debates_at_once(self, make_observer: Callable[[], Observer]) -> None:
        """Events of several debates arrive mixed, and the events of a resumed debate start in the middle."""
        events = await debate_events()
        other_events = [event.model_copy(update={"session_id": "another"}) for event in events]
        mixed = [
            event
            for pair in zip(events, other_events[len(other_events) // 2 :] + other_events, strict=False)
            for event in pair
        ]
        await self._hear(make_observer(), mixed)

    async def test_two_do_not_disturb_each_other(self, make_observer: Callable[[], Observer]) -> None:
        """Each table has its own observer: after one is closed, the other still works."""
        first, second = make_observer(), make_observer()
        assert first is not second, "the factory must create an observer for each table"
        events = await debate_events()
        await self._hear(first, events)
        self._close(first)
        await self._hear(second, events)

    async def test_it_closes_twice(self, make_observer: Callable[[], Observer]) -> None:
        """Closing before the first event, and a second time, does nothing."""
        observer = make_observer()
        self._close(observer)
        self._close(observer)

    def _close(self, observer: Observer) -> None:
        close: Callable[[], object] | None = getattr(observer, "close", None)
        if close is not None:
            within(close, self.limit_s, what="close")

    async def test_a_debate_goes_on_beside_it(self, make_observer: Callable[[], Observer]) -> None:
        """A debate has the same answers with the observer and without it."""
        from roundtable import Roundtable

        agents = scripted_agents({"ada": "Tea", "bo": "Coffee"})
        async with Roundtable(agents, storage="memory://", observers=[make_observer()]) as table:
            result = await table.debate("Tea or coffee?", rounds=1)
        answers: list[AgentResponse] = list(result.rounds[0].responses)
        assert [answer.position for answer in answers] == ["Tea", "Coffee"]
