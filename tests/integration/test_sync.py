"""The facade without `await`: the same methods, one loop behind them, and a clean end whatever happens."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import pytest
from integration.engine_kit import CountingModel, late, said, seated

import roundtable
from roundtable import sync
from roundtable.api.runs import DebateHandle, DebateStream, Watch
from roundtable.core.base.portal import BlockingIterator, Portal, _serve
from roundtable.errors import ConfigurationError, QuorumLost, SessionError
from roundtable.providers import ScriptedModel
from roundtable.storage import MemoryStorage
from roundtable.testing import scripted_agents
from roundtable.testing.servers import LoopbackServer, chat_reply
from roundtable.types import Event

PAIRS = [
    pytest.param(roundtable.Roundtable, sync.Roundtable, id="Roundtable"),
    pytest.param(DebateHandle, sync.DebateHandle, id="DebateHandle"),
    pytest.param(DebateStream, sync.DebateStream, id="DebateStream"),
    pytest.param(Watch, sync.Watch, id="Watch"),
]
RENAMED = {
    "aclose": "close",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
}


NEED_A_LOOP = {
    *("approver", "gateway", "key_value", "storage", "subscribe"),  # objects whose methods are asynchronous
    "estimate_aside",  # `estimate` does the same where nothing waits
    "from_engine",  # an engine is asynchronous
}


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Make Ctrl-C interrupt, even if the tests run in the background, where programs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def public(kind: type) -> dict[str, Any]:
    """Return the public members of a class, those of its own bases included."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__[:-1]):
        found |= {name: member for name, member in vars(base).items() if not name.startswith("_") or name in RENAMED}
    return found


def shape(member: Any) -> object:
    if isinstance(member, property):
        return "property", member.fget.__annotations__["return"]
    signature = inspect.signature(member)
    parameters = [
        (name, given.kind, given.default, given.annotation)
        for name, given in signature.parameters.items()
        if name != "self"
    ]
    return parameters, signature.return_annotation


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_every_public_method_is_there_with_the_same_parameters_and_annotations(ours: type, theirs: type) -> None:
    for name, member in public(ours).items():
        if ours is roundtable.Roundtable and name in NEED_A_LOOP:
            continue
        mirror = getattr(theirs, RENAMED.get(name, name), None)
        assert mirror is not None, f"{theirs.__qualname__} lacks {name}"
        if name == "__anext__":
            assert theirs.__orig_bases__ == (BlockingIterator[Event],)  # type: ignore[attr-defined]
            continue
        assert shape(mirror) == shape(member), name


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_the_blocking_facade_adds_no_methods(ours: type, theirs: type) -> None:
    names = {RENAMED.get(name, name) for name in public(ours)}
    assert {name for name in vars(theirs) if not name.startswith("_")} <= names


def test_the_blocking_constructor_has_the_same_parameters() -> None:
    assert inspect.signature(sync.Roundtable) == inspect.signature(roundtable.Roundtable)
    ours, theirs = (inspect.signature(made) for made in (roundtable.debate, roundtable.debate_sync))
    assert ours.parameters == theirs.parameters


def table(**more: Any) -> sync.Roundtable:
    says = {"ada": "Tea", "bo": "Tea", "cy": "Coffee"}
    return sync.Roundtable(scripted_agents(says), **({"storage": "memory://"} | more))


def test_a_debate_is_held_without_await() -> None:
    with table() as made:
        result = made.debate("Tea?", rounds=1)
        assert result.answer == "Tea"
        assert made.session(result.session_id) == result
        assert [found.id for found in made.sessions()] == [result.session_id]
        assert len(made.extend(result.session_id).rounds) == 2
        capped = made.extend(result.session_id, budget=roundtable.Budget(max_calls=7), deadline_s=60)
        assert (capped.exit and capped.exit.reason, len(capped.rounds)) == ("budget", 3)
        made.stop(result.session_id)
        with pytest.raises(SessionError, match="is completed"):
            made.resume(result.session_id)
        with pytest.raises(SessionError):
            made.pause(result.session_id)
        with pytest.raises(SessionError):
            made.stop(result.session_id)
        with made.watch(result.session_id) as watch:
            assert [event.type for event in watch][-1] == "debate_complete"
        with pytest.raises(SessionError, match="unknown session 'nope'"):
            made.watch("nope").__enter__()
        with pytest.raises(ConfigurationError, match="needs a file"):
            made.chat_model("scripted")
    made.close()
    assert repr(made).startswith("sync.Roundtable(")


def test_one_call_runs_a_debate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_PATH", str(tmp_path / "d.db"))
    assert roundtable.debate_sync("Tea?", rounds=1, agents=scripted_agents({"ada": "Tea"})).answer == "Tea"
    assert states(tmp_path) == ["completed"]


def test_errors_are_raised_unchanged() -> None:
    with sync.Roundtable(seated(CountingModel(lambda _: ValueError("no")), "ada"), storage="memory://") as made:
        with pytest.raises(QuorumLost) as caught:
            made.debate("Tea?")
        assert isinstance(caught.value.partial, roundtable.DebateResult)
        with pytest.raises(ConfigurationError, match="topic"):
            made.debate("")


def test_events_are_iterated_without_await() -> None:
    with table() as made:
        with made.stream("Tea?", rounds=1) as events:
            kinds = [event.type for event in events]
        assert kinds[0] == "debate_start"
        assert kinds[-1] == "debate_complete"
        assert events.result.answer == "Tea"
        assert events.session_id == events.result.session_id


def test_leaving_a_stream_starts_no_further_call() -> None:
    model = CountingModel(lambda request: late(0.02 if request.metadata["round"] == "1" else 30, "Tea"))
    with sync.Roundtable(seated(model, "ada", "bo"), storage="memory://") as made:
        with made.stream("Tea?", rounds=10) as events:
            for event in events:
                if event.type == "agent_complete":
                    break
        begun = len(model.begun)
        time.sleep(0.15)
        assert len(model.begun) == begun
        assert events.result.session_status == "paused"

        dropped = made.stream("Tea?", rounds=10)
        dropped.__enter__()
        next(dropped)
        del dropped
        gc.collect()
        time.sleep(0.1)
        begun = len(model.begun)
        time.sleep(0.15)
        assert len(model.begun) == begun


def test_a_started_debate_is_followed_paused_and_stopped() -> None:
    model = CountingModel(lambda request: late(0.02 if request.metadata["round"] == "1" else 0.3, "Tea"))
    with sync.Roundtable(seated(model, "ada", "bo"), storage="memory://") as made:
        handle = made.start("Tea?", rounds=10)
        with handle.events() as events:
            for event in events:
                if event.type == "agent_complete":
                    handle.pause()
                    break
        paused = handle.result()
        assert handle.done
        assert paused.session_status == "paused"
        assert paused.session_id == handle.session_id
        model._reply = lambda _: late(30, "Tea")
        second = made.start("Tea?")
        second.stop()
        stopped = second.result()
        assert stopped.session_status == "completed"
        assert stopped.exit is not None
        assert stopped.exit.reason == "stopped"
        watch = made.watch(handle.session_id)
        watch.close()
        assert list(watch) == []


def test_the_facade_works_inside_a_running_event_loop_as_in_a_notebook() -> None:
    async def cell() -> str | None:
        with table() as made:
            return made.debate("Tea?", rounds=1).answer

    assert asyncio.run(cell()) == "Tea"


def test_several_threads_may_use_one_table() -> None:
    with table() as made, ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda number: made.debate(f"Topic {number}?", rounds=1), range(16)))
    assert len({result.session_id for result in results}) == 16


def test_tables_share_one_thread() -> None:
    with table(), table():
        names = [thread.name for thread in threading.enumerate()]
    assert names.count("roundtable-portal") == 1


def test_an_interrupt_waits_until_the_debate_is_paused_and_is_then_raised() -> None:
    """The last write of a debate takes a while; the interrupt must not overtake it."""

    class Slow(MemoryStorage):
        async def append(self, session_id: str, *given: Any, **more: Any) -> int:
            import anyio

            await anyio.sleep(0.05)
            return await super().append(session_id, *given, **more)

    model, storage = CountingModel(lambda r: said("Tea") if r.metadata["agent"] == "ada" else late(30, "x")), Slow()
    with sync.Roundtable(seated(model, "ada", "bo"), storage=storage) as made:

        def interrupt() -> None:
            while not any(found.response_count for found in made.sessions()):
                time.sleep(0.01)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        threading.Thread(target=interrupt).start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            made.debate("Tea?")
        assert time.monotonic() - began < 10
        (found,) = made.sessions()
        assert (found.status, found.response_count) == ("paused", 1)
        assert model.under_way == 0


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_exceptions_that_end_the_program_are_raised_unchanged_and_later_debates_run(
    ending: type[BaseException],
) -> None:
    def end(_: object) -> NoReturn:
        raise ending("enough")

    enough = seated(ScriptedModel(end), "ada", "bo")
    with sync.Roundtable(enough, storage="memory://") as made:
        with pytest.raises(ending, match="enough"):
            made.debate("Tea?", rounds=1)
        (found,) = made.sessions()
        assert found.status == "paused"
        with pytest.raises(ending, match="enough"):
            made.debate_many(["Tea?", "Milk?"], rounds=1)
        with made.stream("Tea?", rounds=1) as events, pytest.raises(ending, match="enough"):
            list(events)
    assert sync.debate_sync("Tea?", agents=list(scripted_agents({"ada": "Tea"})), storage="memory://").answer == "Tea"


def test_an_observer_that_ends_the_program_counts_as_failed(caplog: pytest.LogCaptureFixture) -> None:
    def end(_: object) -> NoReturn:
        raise SystemExit("enough")

    with sync.Roundtable(list(scripted_agents({"ada": "Tea"})), storage="memory://", observers=[end]) as made:
        assert made.debate("Tea?", rounds=1).status == "completed"
    assert "enough" in caplog.text


@pytest.mark.slow
def test_an_interrupt_ends_a_debate_that_blocks_asyncio_run(tmp_path: Path) -> None:
    """asyncio asks its main task to end on the first Ctrl-C, and raises nothing; the session can be resumed."""
    script = """
        import asyncio

        def interrupt():
            with sync.Roundtable(storage="sqlite:///debates.db") as other:
                while not other.sessions() or other.sessions()[0].response_count < 1:
                    time.sleep(0.02)
            os.kill(os.getpid(), signal.SIGINT)

        async def main():
            threading.Thread(target=interrupt).start()
            began = time.monotonic()
            try:
                sync.debate_sync("Tea?", agents=list(scripted_agents(slow)), rounds=1, storage="sqlite:///debates.db")
            except KeyboardInterrupt:
                print("interrupted", time.monotonic() - began < 20)
                raise

        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            print("and out")
        quick = scripted_agents({"ada": "Tea", "bo": "Tea"})
        with sync.Roundtable(quick, storage="sqlite:///debates.db") as table:
            (found,) = table.sessions()
            print(found.status, found.response_count)
            print(table.resume(found.id, on_change="adopt").status)
    """
    assert run(script, tmp_path).split() == ["interrupted", "True", "and", "out", "paused", "1", "completed"]


START = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # programs begun in the background ignore it
import roundtable.sync as sync
from roundtable.testing import Delay, scripted_agents
slow = {"ada": "Tea", "bo": Delay(60, {"position": "Tea"})}
"""


def run(script: str, folder: Path, *, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", START + textwrap.dedent(script)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr or code
    return done.stdout


def states(folder: Path) -> list[str]:
    with table(storage=f"sqlite:///{folder / 'd.db'}") as made:
        return [found.status for found in made.sessions()]


def test_a_fork_and_a_continued_session_are_followed() -> None:
    with sync.Roundtable(seated(CountingModel("Tea"), "ada", "bo"), storage="memory://") as made:
        told = made.debate("Tea?", rounds=2)
        step = made.start_fork(told.session_id, at_round=1, step=True, rounds=3).result()
        assert (len(step.rounds), step.session_status) == (2, "active")
        handle = made.start_resume(step.session_id)
        with handle.events() as events:
            held = [event.round for event in events if event.type == "round_complete"]
        assert held == [1, 2, 3]
        assert (len(handle.result().rounds), handle.result().usage.calls) == (3, 4)


@pytest.mark.slow
def test_a_process_ends_even_if_a_table_was_never_closed(tmp_path: Path) -> None:
    """What still runs is cancelled and stored as paused; nothing waits for an answer that takes a minute."""
    run(
        """
        table = sync.Roundtable(scripted_agents(slow), storage="sqlite:///d.db")
        table.__enter__()
        handle = table.start("Tea?")
        while table.session(handle.session_id).session.responses == ():
            time.sleep(0.01)
        """,
        tmp_path,
    )
    assert states(tmp_path) == ["paused"]


@pytest.mark.slow
def test_a_process_ends_by_itself_after_a_debate(tmp_path: Path) -> None:
    said_there = run(
        """
        import roundtable
        agents = scripted_agents({"ada": "Tea"})
        print(roundtable.debate_sync("Tea?", rounds=1, agents=agents).answer)
        print(sync.Roundtable(agents, storage="memory://").debate("Tea?", rounds=1).answer)
        """,
        tmp_path,
    )
    assert said_there.split() == ["Tea", "Tea"]


@pytest.mark.slow
def test_an_interrupted_script_ends_and_its_session_can_be_resumed(tmp_path: Path) -> None:
    run(
        """
        def interrupt():
            other = sync.Roundtable(scripted_agents(slow), storage="sqlite:///d.db")
            while not any(found.response_count for found in other.sessions()):
                time.sleep(0.02)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        with sync.Roundtable(scripted_agents(slow), storage="sqlite:///d.db") as table:
            table.debate("Tea?")
        """,
        tmp_path,
        code=-signal.SIGINT,
    )
    assert states(tmp_path) == ["paused"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_gets_its_own_event_loop(tmp_path: Path) -> None:
    said_there = run(
        """
        table = sync.Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://")
        print(table.debate("Tea?", rounds=1).answer, flush=True)
        child = os.fork()
        if not child:
            print(sync.Roundtable(scripted_agents({"ada": "Milk"}), storage="memory://").debate("?", rounds=1).answer)
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(table.debate("Tea?", rounds=1).answer)
        """,
        tmp_path,
    )
    assert said_there.split() == ["Tea", "Milk", "Tea"]


def test_a_closed_portal_opens_again_and_closing_twice_is_harmless() -> None:
    portal = Portal()
    portal.close()

    async def one() -> int:
        return 1

    assert portal.call(one) == 1
    portal.close()
    portal.close()
    assert portal.call(one) == 1
    portal.close()


def test_an_event_loop_that_cannot_start_is_an_error_and_not_a_hang() -> None:
    opened: Future[Any] = Future()

    async def inside() -> None:
        _serve(opened)

    asyncio.run(inside())
    with pytest.raises(RuntimeError):
        opened.result(timeout=1)


def test_errors_of_a_table_that_was_not_entered_name_the_blocking_with() -> None:
    table = sync.Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://")
    with pytest.raises(ConfigurationError, match=r"start\(\) works only inside the `with` block") as not_started:
        table.start("Tea?", rounds=1)
    with pytest.raises(ConfigurationError, match="was not entered") as not_streamed:
        next(table.stream("Tea?", rounds=1))
    table.close()
    assert all("`with` for" in str(caught.value.hint) for caught in (not_started, not_streamed))


def test_one_debate_can_be_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = roundtable.debate_sync("Tea?", agents=scripted_agents({"ada": "Tea"}), rounds=1, storage="memory://")
    assert result.status == "completed"
    assert list(tmp_path.iterdir()) == []


def test_one_debate_takes_the_keys_and_addresses_of_its_providers() -> None:
    answer = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}
    with LoopbackServer(lambda seen: chat_reply(json.dumps(answer))) as server:
        served = {"compatible": roundtable.ProviderConfig(base_url=server.url, api_key="key-of-a-vault")}
        asked: Any = {"agents": ["compatible:m"], "providers": served, "rounds": 1, "storage": "memory://"}
        assert roundtable.debate_sync("Tea?", **asked).answer == "Tea"
        assert server.seen[0].headers["authorization"] == "Bearer key-of-a-vault"


@pytest.mark.slow
def test_the_blocking_facade_needs_no_separate_import() -> None:
    code = (
        "import roundtable as rt; print('roundtable.sync' in __import__('sys').modules, rt.sync.Roundtable.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "roundtable.sync"]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sync.Roundtable", "debate_sync", "asyncio"])
def test_a_model_of_the_caller_is_closed_without_warnings(how: str, tmp_path: Path) -> None:
    """Nobody can close it in the loop of a blocking table; its connections end with the loop."""
    program = textwrap.dedent(
        f"""
        import asyncio, gc
        import roundtable as rt
        from roundtable import sync
        from roundtable.providers import chat_model
        from roundtable.testing import VendorServer

        def blocking(model):
            with sync.Roundtable([model, model], storage="memory://", analyzer="basic") as table:
                return table.debate("Tea?", rounds=1)

        async def waiting(model):
            async with rt.Roundtable([model, model], storage="memory://", analyzer="basic") as table:
                return await table.debate("Tea?", rounds=1)

        with VendorServer("compatible", lambda _: {{"position": "Tea"}}) as server:
            model = chat_model("compatible:m", base_url=server.url)
            match {how!r}:
                case "sync.Roundtable":
                    result = blocking(model)
                case "debate_sync":
                    result = rt.debate_sync("Tea?", agents=[model, model], rounds=1)
                case _:
                    result = asyncio.run(waiting(model))
            del model
            gc.collect()
        print(result.answer)
        """
    )
    source = Path(roundtable.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(source), "DATABASE_PATH": str(tmp_path / "debates.db")}
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "Tea"
    assert "ResourceWarning" not in done.stderr
