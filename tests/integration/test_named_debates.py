"""`debate_many` with a name: the same call again holds what is missing, here or in a fleet."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from roundtable import Budget, Roundtable, sync
from roundtable.bench import print_progress
from roundtable.bench.progress import progress_line
from roundtable.core.types.request import DebateRequest
from roundtable.errors import APIAuthError, ConfigurationError, RoundtableError
from roundtable.exits import MaxRounds
from roundtable.modes import SelfConsistencyMode
from roundtable.providers import Delay, ScriptedModel
from roundtable.results.many import FailedDebate, Progress
from roundtable.testing import scripted_agents
from roundtable.types import ChatRequest, Usage

if TYPE_CHECKING:
    from pathlib import Path

    from roundtable.protocols import DebateModeStrategy

pytestmark = pytest.mark.anyio
ASKED = ["Tea?", "Milk?", "Mate?"]


class Counted:
    """A table whose calls are counted by question, agent and round."""

    def __init__(self, storage: str = "memory://", *, delay_s: float = 0.0, models: tuple[str, ...] = ("ada", "bo")):
        self.calls: Counter[tuple[str, str, str]] = Counter()
        self.broken: set[str] = set()
        self.delay_s = delay_s

        def reply(request: ChatRequest) -> Any:
            topic = next(topic for topic in (*ASKED, "Rum?") if topic in request.messages[-1].content)
            if topic in self.broken:
                return APIAuthError("no key")
            self.calls[topic, request.metadata["agent"], request.metadata["round"]] += 1
            return Delay(self.delay_s, {"position": "Yes"})

        agents = [ScriptedModel(reply, model=name) for name in models]
        self.table = Roundtable(agents, storage=storage, analyzer="declared")

    def of(self, topic: str) -> int:
        return sum(count for (asked, _, _), count in self.calls.items() if asked == topic)


async def test_repeating_a_request_makes_no_call_and_another_question_or_option_makes_its_own() -> None:
    counted = Counted()
    first = await counted.table.debate_many(ASKED, modes=["delphi", "adversarial"], rounds=1, name="drinks")
    asked = counted.calls.total()
    again = await counted.table.debate_many(ASKED[::-1], modes=["adversarial", "delphi"], rounds=1, name="drinks")
    assert counted.calls.total() == asked
    assert {result.session_id for result in again} == {result.session_id for result in first}
    assert len({result.session_id for result in first}) == 6
    assert [(result.topic, result.mode) for result in again][:2] == [("Mate?", "adversarial"), ("Mate?", "delphi")]
    more = await counted.table.debate_many([*ASKED, "Rum?"], modes=["delphi"], rounds=1, name="drinks")
    assert counted.calls.total() - asked == counted.of("Rum?") == 2
    other = await counted.table.debate_many(["Tea?"], modes=["delphi"], rounds=2, name="drinks")
    unnamed = await counted.table.debate_many(["Tea?"], modes=["delphi"], rounds=1)
    elsewhere = await counted.table.debate_many(["Tea?"], modes=["delphi"], rounds=1, name="drinks-2")
    ids = [results[0].session_id for results in (more, other, unnamed, elsewhere)]
    assert len({*ids}) == 4
    assert ids[0] == first[0].session_id


async def test_a_mode_object_with_other_settings_has_its_own_debates() -> None:
    counted = Counted()

    async def held(mode: DebateModeStrategy | str) -> str:
        (result,) = await counted.table.debate_many(["Tea?"], modes=[mode], rounds=1, name="drinks")
        return result.session_id

    by_name = await held("self-consistency")
    assert await held(SelfConsistencyMode()) == by_name, "a mode without settings is the mode of its name"
    three = await held(SelfConsistencyMode(samples=3))
    asked = counted.calls.total()
    assert await held(SelfConsistencyMode(samples=3)) == three
    assert counted.calls.total() == asked
    nine = await held(SelfConsistencyMode(samples=9))
    assert (counted.calls.total() - asked, len({by_name, three, nine})) == (9, 3)


async def test_a_mode_object_without_settings_keeps_the_id_of_earlier_versions() -> None:
    """Debates that were stored under a name are found again."""
    table = Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://", analyzer="declared")
    (result,) = await table.debate_many(["Tea?"], modes=[SelfConsistencyMode()], rounds=1, name="drinks")
    assert result.session_id == "e83f9d02b1b477b85d6b1d3d4df82bf2"


async def test_other_agents_and_tenants_have_their_own_debates(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/debates.db"
    first = await Counted(storage).table.debate_many(["Tea?"], rounds=1, name="drinks")
    others = Counted(storage, models=("ada", "cy"))
    second = await others.table.debate_many(["Tea?"], rounds=1, name="drinks")
    tenant = await others.table.for_tenant("acme").debate_many(["Tea?"], rounds=1, name="drinks")
    assert len({results[0].session_id for results in (first, second, tenant)}) == 3
    assert others.calls.total() == 4


async def test_a_question_that_is_listed_twice_has_two_debates() -> None:
    counted = Counted()
    twice = [await counted.table.debate_many(["Tea?", "Tea?"], rounds=1, name="drinks") for _ in range(2)]
    assert [result.session_id for result in twice[0]] == [result.session_id for result in twice[1]]
    assert len({result.session_id for result in twice[0]}) == 2
    assert counted.calls.total() == 4


async def test_a_cancelled_call_continues_and_repeats_nothing_that_is_stored(tmp_path: Path) -> None:
    counted = Counted(f"sqlite:///{tmp_path}/debates.db", delay_s=0.02)
    async with anyio.create_task_group() as group:
        group.start_soon(partial(counted.table.debate_many, ASKED, rounds=8, concurrency=2, name="drinks"))
        while counted.calls.total() < 12:  # at most four of them run  # noqa: ASYNC110
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    stored: set[tuple[str, str, str]] = set()
    for summary in await counted.table.sessions():
        held = await counted.table.session(summary.id)
        turns = [turn for record in held.rounds for turn in record.turns]
        stored |= {(held.topic, turn.agent_id, str(turn.round)) for turn in turns if turn.outcome == "answered"}
    assert 0 < len(stored) < 48
    counted.delay_s = 0
    results = await counted.table.debate_many(ASKED, rounds=8, concurrency=2, name="drinks")
    assert [len(result.rounds) for result in results] == [8, 8, 8]
    assert all(counted.calls[turn] == 1 for turn in stored)
    assert len(counted.calls) == 48
    await counted.table.aclose()


async def test_a_debate_that_another_table_runs_is_waited_for(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/debates.db"
    first, second = Counted(storage, delay_s=0.2), Counted(storage, delay_s=0.2)
    results: dict[str, Any] = {}

    async def hold(name: str, counted: Counted) -> None:
        results[name] = await counted.table.debate_many(ASKED, rounds=2, name="drinks")

    async with anyio.create_task_group() as group:
        group.start_soon(hold, "first", first)
        await anyio.sleep(0.1)
        group.start_soon(hold, "second", second)
    assert [len(found.failures) for found in results.values()] == [0, 0]
    assert (first.calls.total() + second.calls.total(), len(first.calls | second.calls)) == (12, 12)
    await first.table.aclose()
    await second.table.aclose()


async def test_failed_debates_and_debates_with_a_spent_budget_continue() -> None:
    counted = Counted()
    counted.broken = {"Milk?"}
    part = await counted.table.debate_many(ASKED, rounds=2, name="drinks", budget=Budget(max_calls=3))
    assert [result.status for result in part] == ["partial", "partial"]
    assert [failure.topic for failure in part.failures] == ["Milk?"]
    counted.broken = set()
    whole = await counted.table.debate_many(ASKED, rounds=2, name="drinks", budget=Budget(max_calls=30))
    assert [result.status for result in whole] == ["completed"] * 3
    assert set(counted.calls.values()) == {1}


async def test_a_deadline_counts_for_each_call() -> None:
    counted = Counted(delay_s=60)
    for _ in range(2):
        with anyio.fail_after(30):
            part = await counted.table.debate_many(["Tea?"], name="drinks", deadline_s=0.3)
        assert [result.exit and result.exit.reason for result in part] == ["deadline"]


async def test_questions_have_their_own_options_and_progress_counts_ended_debates() -> None:
    counted, seen = Counted(), list[Progress]()
    counted.broken = {"Mate?"}
    questions = [
        "Tea?",
        DebateRequest(topic="Milk?", mode="delphi", rounds=2),
        {"topic": "Mate?", "options": ["Yes", "No"], "exit_when": MaxRounds(1)},
    ]
    results = await counted.table.debate_many(
        questions, modes=["collaborative", "adversarial"], rounds=1, concurrency=1, on_progress=seen.append
    )
    held = [(one.topic, one.mode, isinstance(one, FailedDebate)) for one in results.held]
    assert held == [
        ("Tea?", "collaborative", False),
        ("Tea?", "adversarial", False),
        ("Milk?", "delphi", False),
        ("Mate?", "collaborative", True),
        ("Mate?", "adversarial", True),
    ]
    assert len(results[2].rounds) == 2
    assert [(one.ended, one.total, one.failed) for one in seen] == [
        (1, 5, 0),
        (2, 5, 0),
        (3, 5, 0),
        (4, 5, 1),
        (5, 5, 2),
    ]
    assert seen[-1].usage.calls == results.usage.calls
    assert seen[0].left_s == pytest.approx(4 * seen[0].elapsed_s)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "two words"}, "'two words' is not a valid name for a set of debates"),
        ({"name": ""}, "is not a valid name"),
        ({"name": "x" * 81}, "is not a valid name"),
        ({"name": 7}, "7 is not a valid name"),
        ({"on": object()}, "on= needs name="),
        ({"topics": [{"question": "Tea?"}]}, "question"),
        ({"topics": [{}]}, "topic"),
        ({"topics": [{"topic": "Tea?", "modes": ["delphi"]}]}, "a question has the unknown field 'modes'"),
        ({"topics": [7]}, "a question must be a text, a mapping or a DebateRequest, not 7"),
        ({"on_progress": 3}, "on_progress must be a function that is not async"),
        ({"topics": ["Tea?", {"topic": "Milk?", "mode": "nonsense"}]}, "nonsense"),
    ],
)
async def test_wrong_arguments_are_refused_before_any_call(given: dict[str, Any], message: str) -> None:
    counted = Counted()
    with pytest.raises(ConfigurationError, match=message):
        await counted.table.debate_many(**({"topics": ASKED} | given))
    assert not counted.calls


async def test_names_work_without_a_key_value_store() -> None:
    """Only studies keep what they ask; ids of debates follow from what is asked."""
    counted = Counted()
    plan = counted.table.describe("Tea?", rounds=2, budget=Budget(max_calls=9))
    assert (plan["topic"], plan["rounds"], "budget" in plan) == ("Tea?", 2, False)
    assert [agent["model"] for agent in plan["agents"]] == ["ada", "bo"]  # type: ignore[index,union-attr,call-overload]


def test_blocking_tables_take_names_too() -> None:
    counted = Counted()
    table = sync.Roundtable()
    table._table = counted.table
    one = table.debate_many(["Tea?"], rounds=1, name="drinks")
    assert table.debate_many(["Tea?"], rounds=1, name="drinks")[0].session_id == one[0].session_id
    assert counted.calls.total() == 2


@pytest.fixture
def progress() -> list[Progress]:
    usage = Usage(calls=12, input_tokens=5, output_tokens=5, cost_usd=0.25)
    return [Progress(ended=n, total=40, failed=n // 40, usage=usage, elapsed_s=float(n)) for n in range(1, 41)]


def test_a_log_gets_a_line_for_each_twentieth(progress: list[Progress], capsys: pytest.CaptureFixture[str]) -> None:
    for one in progress:
        print_progress(one)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 20
    assert lines[0] == "2 of 40 debates, 12 calls, 0.25 USD, 1 a second, 38 s left"
    assert lines[-1] == "40 of 40 debates, 1 failed, 12 calls, 0.25 USD, 1 a second, 40 s in all"


def test_a_terminal_has_one_line(progress: list[Progress], monkeypatch: pytest.MonkeyPatch) -> None:
    import os
    import pty

    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as terminal:
        monkeypatch.setattr("sys.stderr", terminal)
        for one in progress[-2:]:
            print_progress(one)
        shown = ""
        while not shown.endswith("\n"):  # a read may bring a part of what was written
            shown += os.read(leader, 4096).decode()
    os.close(leader)
    assert shown.count("\n") == 1
    assert shown.endswith("in all\x1b[K\r\n")
    assert shown.startswith("\r39 of 40 debates")


@pytest.mark.parametrize(("left_s", "words"), [(59.4, "59 s left"), (600, "10 min left"), (9000, "2.5 h left")])
def test_durations_have_readable_units(left_s: float, words: str) -> None:
    assert progress_line(Progress(ended=1, total=2, elapsed_s=left_s)).endswith(words)


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_fleet_runs_the_missing_debates(tmp_path: Path) -> None:
    pytest.importorskip("dbos")
    from roundtable.fleet import Fleet

    counted, seen = Counted(f"sqlite:///{tmp_path}/debates.db"), list[Progress]()
    counted.broken = {"Mate?"}
    local = await counted.table.debate_many(["Tea?"], rounds=1, name="drinks")
    async with counted.table, Fleet(counted.table) as fleet:
        with pytest.raises(RoundtableError):
            await counted.table.debate_many(
                ASKED, rounds=1, name="drinks", on=fleet, on_error="raise", on_progress=seen.append
            )
        assert (counted.of("Tea?"), counted.of("Milk?")) == (2, 2)
        assert (seen[-1].ended, seen[-1].total, seen[-1].failed) == (3, 3, 1)
        counted.broken = set()
        whole = await counted.table.debate_many(ASKED, rounds=1, name="drinks", on=fleet)
        assert [result.topic for result in whole] == ASKED
        assert whole[0].session_id == local[0].session_id
        assert set(counted.calls.values()) == {1}
        small, large = Budget(max_calls=3), Budget(max_calls=30)
        part = await counted.table.debate_many(["Rum?"], rounds=2, name="rum", on=fleet, budget=small)
        assert [failure.error.code for failure in part.failures] == ["SESSION_ERROR"]
        more = await counted.table.debate_many(["Rum?"], rounds=2, name="rum", on=fleet, budget=large)
        assert [result.status for result in more] == ["completed"]
        assert set(counted.calls.values()) == {1}
        with pytest.raises(ConfigurationError, match=r"cannot be queued: .*agents"):
            await counted.table.debate_many(ASKED, name="drinks", on=fleet, agents=[ScriptedModel(["Tea"])])
        assert list(await counted.table.debate_many([], name="drinks", on=fleet)) == []


@pytest.mark.slow
def test_many_results_are_shown_as_a_short_table() -> None:
    counted = Counted()
    counted.broken = {"Milk?"}
    table = sync.Roundtable()
    table._table = counted.table
    questions = ["Tea?", "Milk?", *[{"topic": "Mate?", "metadata": {"n": n}} for n in range(40)]]
    html = table.debate_many(questions, rounds=1)._repr_html_()
    assert html.count("<tr>") == 26
    assert "42 debates, 1 failed" in html
    assert '<td dir="auto">1.00</td>' in html
    assert "error: " in html
    assert "17 more; to_frame() has all." in html
    assert len(html) < 20_000
