"""What every mode that ships keeps in a real debate, down to the bytes of each prompt."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from integration.engine_kit import FailingStorage
from integration.mode_kit import CANARY, MODES, NAMES, TOPIC, Held, answer, hold, seats, table_of_run, text_of
from snapshots.prompt_views import COMPACT

from roundtable import Roundtable
from roundtable.errors import AgentError, ConfigurationError, QuorumLost, StorageError
from roundtable.modes import ModeRegistry, plan_table, rehearse
from roundtable.prompts import PROMPT_VERSION, estimate_tokens, load_mode_prompt
from roundtable.providers.scripted import Delay, Reply, ScriptedModel
from roundtable.storage import MemoryStorage
from roundtable.types import ChatRequest, Control, Seat, ToolPolicy, utc_now

pytestmark = pytest.mark.slow

PLANS = Path(__file__).resolve().parents[1] / "snapshots/plans"
TABLE = tuple(Seat(id=name, name=name.title()) for name in NAMES)
VARIANTS = [
    *MODES,
    "adversarial:visibility=predecessor",
    "expert-panel:facilitated=true",
    "red-team-blue-team:cross_team=true",
    "self-consistency:samples=2",
]
REASKED = ["devils-advocate:reask=true", "oxford:reask=true"]
UNLIKE = {"collaborative", "council", "delphi", "freeform", "red-team-blue-team", "self-consistency", REASKED[0]}
"""Modes whose stages are least alike: where every write of a debate is tried, these are every day."""


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """One backend for the laws; that every mode runs on the other is a law of its own."""
    return request.param


def golden(mode: str) -> Path:
    return PLANS / f"{mode.replace(':', '--').replace('=', '-')}.txt"


def planned(mode: str) -> str:
    return plan_table(ModeRegistry().get_mode(mode), agents=TABLE, topic=TOPIC)


@pytest.mark.parametrize("mode", VARIANTS)
def test_the_plan_of_four_agents_over_two_rounds_matches_its_snapshot(mode: str) -> None:
    assert golden(mode).is_file(), f"a new mode: run {Path(__file__).name} as a program to write its plan"
    assert planned(mode) == golden(mode).read_text("utf-8")


@pytest.mark.parametrize("mode", VARIANTS)
async def test_a_real_debate_follows_the_plan_of_its_snapshot(mode: str) -> None:
    held = await hold(mode)
    assert table_of_run(held) == golden(mode).read_text("utf-8")
    assert held.result.roster.complete


@pytest.mark.parametrize("mode", VARIANTS)
async def test_a_prompt_contains_only_the_answers_that_its_turn_may_see(mode: str) -> None:
    held = await hold(mode)
    words = {turn.key: CANARY.search(turn.answer.to_json())[0] for turn in held.turns() if turn.outcome == "answered"}  # type: ignore[index]
    strategy = ModeRegistry().get_mode(mode)
    for view, stage in rehearse(strategy, agents=TABLE, topic=TOPIC):
        for spec in stage.turns:
            turn = next(one for one in held.turns() if one.key == (view.current_round, stage.name, spec.slot))
            allowed = {words[seen.turn] for seen in spec.sees}
            found = set(CANARY.findall(text_of(held.request_of(turn))))
            assert found == allowed
            assert held.request_of(turn).metadata["agent"] == spec.agent


def delayed(request: ChatRequest) -> Reply:
    """Delay the answers of the earlier seats, so that the later ones finish first."""
    wait = {"ada": 0.03, "bo": 0.02, "cy": 0.01}.get(request.metadata["agent"], 0.0)
    return Delay(wait + 0.002 * int(request.metadata["slot"]), answer(request))


@pytest.mark.slow
@pytest.mark.parametrize("mode", VARIANTS)
async def test_the_order_in_which_agents_finish_changes_nothing(mode: str) -> None:
    straight, other = await hold(mode), await hold(mode, reply=delayed)
    assert other.said_by_place() == straight.said_by_place()
    assert [turn.key for turn in other.turns()] == [turn.key for turn in straight.turns()]


@pytest.mark.parametrize("mode", VARIANTS)
async def test_a_failed_agent_changes_no_other_prompt_of_its_stage(mode: str) -> None:
    def failing(request: ChatRequest) -> Reply:
        if request.metadata["agent"] == "bo" and request.metadata["round"] == "2":
            return AgentError("down")
        return answer(request)

    straight, broken = await hold(mode), await hold(mode, reply=failing)
    failed = [turn for turn in broken.turns() if turn.outcome == "failed"]
    assert {turn.agent_id for turn in failed} <= {"bo"}
    places = {turn.key for turn in straight.turns()}
    assert {turn.key for turn in broken.turns()} <= places
    first = min((turn.round, broken.turns().index(turn)) for turn in failed) if failed else None
    prompts, whole = broken.said_by_place(), straight.said_by_place()
    if first is not None:
        stage = broken.turns()[first[1]].stage
        same = [key for key in prompts if key.round == 1 or key.stage == stage]
        assert same
        assert all(prompts[key] == whole[key] for key in same)
    assert broken.result.status == "completed"
    assert broken.result.roster.complete is (not failed)


SEQUENTIAL = ["adversarial", "socratic", "devils-advocate", "freeform", "oxford"]


def down(*names: str, kind: str = "") -> Callable[[ChatRequest], Reply]:
    """Answer, except for some, whose model is down."""

    def reply(request: ChatRequest) -> Reply:
        voting = "You vote on the question" in request.messages[0].content
        broken = request.metadata["agent"] in names and not (voting and kind == "speech")
        return AgentError(f"{request.metadata['agent']} is down") if broken else answer(request)

    return reply


@pytest.mark.parametrize("mode", SEQUENTIAL)
async def test_a_failure_in_a_sequential_round_does_not_end_the_round(mode: str) -> None:
    held = await hold(mode, reply=down("ada", "cy"))
    assert held.result.status == "completed"
    assert {one.agent_id for one in held.result.rounds[0].responses} == {"bo", "dee"}
    assert not held.result.roster.complete


@pytest.mark.parametrize("mode", SEQUENTIAL)
async def test_a_round_without_answers_is_a_lost_quorum_with_every_cause(mode: str) -> None:
    with pytest.raises(QuorumLost, match="0 of 4 agents answered, 1 needed") as lost:
        await hold(mode, reply=down(*NAMES, kind="speech"))
    assert all(f"{name} is down" in lost.value.message for name in NAMES)
    assert lost.value.partial is not None


async def test_a_quorum_is_counted_over_the_whole_round_and_missing_agents_are_asked_again() -> None:
    broken = {"ada", "bo", "dee"}

    def reply(request: ChatRequest) -> Reply:
        return down(*broken)(request)

    model = ScriptedModel(reply)
    table = Roundtable(seats(model), storage=MemoryStorage(), quorum=2)
    with pytest.raises(QuorumLost, match="1 of 4 agents answered, 2 needed") as lost:
        await table.debate(TOPIC, mode="freeform", rounds=1)
    broken.clear()
    assert lost.value.partial is not None
    result = await table.resume(lost.value.partial.session_id)
    assert result.status == "completed"
    assert [one.agent_id for one in result.rounds[0].responses] == list(NAMES)


@pytest.mark.parametrize("mode", SEQUENTIAL)
@pytest.mark.parametrize(
    ("broken", "more"),
    [
        pytest.param(("ada", "bo"), {"quorum": 3}, id="two of four, three needed"),
        pytest.param(("ada", "bo"), {"quorum": 3, "baseline": True}, id="after answers given alone"),
        pytest.param(NAMES, {}, id="all"),
    ],
)
async def test_after_a_lost_round_all_failed_agents_are_asked_again_with_the_same_prompts(
    mode: str, broken: tuple[str, ...], more: dict[str, Any]
) -> None:
    names = set(broken)

    def reply(request: ChatRequest) -> Reply:
        alone = "You have seen no answer of anybody else" in text_of(request)
        return answer(request) if alone else down(*names, kind="speech")(request)

    model, storage = ScriptedModel(reply), MemoryStorage()
    table = Roundtable(seats(model), storage=storage)
    with pytest.raises(QuorumLost) as lost:
        await table.debate(TOPIC, mode=mode, rounds=1, **more)
    names.clear()
    first, asked = model.requests[:], len(model.requests)
    assert lost.value.session_id is not None
    result = await table.resume(lost.value.session_id)
    again = [request.metadata["agent"] for request in model.requests[asked : asked + len(broken)]]
    assert (result.status, again) == ("completed", list(broken))
    assert [one.agent_id for one in result.rounds[0].responses] == list(NAMES)
    assert await table.session(result.session_id) == result
    before = next(one for one in first if one.metadata["stage"] == "speaker-1")
    assert text_of(model.requests[asked]) == text_of(before)


async def test_after_a_crash_before_a_lost_round_was_stored_all_failed_agents_are_asked_again() -> None:
    inner = MemoryStorage()
    dying = Roundtable(seats(ScriptedModel(down("ada", "bo", "cy"))), storage=FailingStorage(inner, after=6), quorum=2)
    with pytest.raises(QuorumLost):
        await dying.debate(TOPIC, mode="freeform", rounds=1)
    table = Roundtable(seats(ScriptedModel(answer)), storage=inner)
    (found,) = await table.sessions()
    _, events = await inner.read(found.id)
    assert [event.type for event in events][-4:] == ["agent_error"] * 3 + ["agent_complete"]
    result = await table.resume(found.id)
    assert [turn.attempt for turn in result.rounds[0].turns] == [2, 2, 2, 1]


@pytest.mark.parametrize("mode", SEQUENTIAL)
async def test_a_failed_turn_is_not_repeated_after_a_pause_while_others_have_not_spoken(mode: str) -> None:
    class Pauses(MemoryStorage):
        async def append(self, session_id: str, *given: Any, **more: Any) -> int:
            last = await super().append(session_id, *given, **more)
            if any(event.type == "agent_error" for event in given[2]):
                pause = Control(session_id=session_id, timestamp=utc_now(), action="pause")
                await super().append(session_id, None, None, (pause,))
            return last

    storage = Pauses()
    table = Roundtable(seats(ScriptedModel(down("ada"))), storage=storage)
    paused = await table.debate(TOPIC, mode=mode, rounds=1)
    assert (paused.session_status, len(paused.rounds[0].responses) < len(NAMES)) == ("paused", True)
    result = await table.resume(paused.session_id)
    for _ in NAMES:
        if result.session_status == "paused":
            result = await table.resume(paused.session_id)
    assert result.status == "completed"
    assert {turn.attempt for turn in result.rounds[0].turns} == {1}


async def test_a_failed_vote_is_not_a_lost_quorum() -> None:
    def silent(request: ChatRequest) -> Reply:
        return AgentError("down") if "You vote on the question" in request.messages[0].content else answer(request)

    held = await hold("oxford", reply=silent)
    assert held.result.status == "completed"
    assert len(held.result.rounds[0].responses) == 4


def straying(request: ChatRequest) -> Reply:
    """Answer as everybody does, and always take the wrong side."""
    said = answer(request)
    assert isinstance(said, dict)
    return {**said, "stance": "NO" if said["stance"] == "YES" else "YES"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode", [pytest.param(mode, marks=() if mode in UNLIKE else pytest.mark.slow) for mode in [*VARIANTS, *REASKED]]
)
async def test_a_debate_that_failed_at_any_write_ends_as_if_it_had_not_failed(mode: str) -> None:
    reply = straying if mode in REASKED else answer
    straight = await hold(mode, reply=reply)
    assert any(turn.stage == "reask" for turn in straight.turns()) == (mode in REASKED)
    wanted = [(turn.key, turn.outcome == "answered" and turn.answer) for turn in straight.turns()]
    for writes in range(200):
        inner, model = MemoryStorage(), ScriptedModel(reply)
        storage = FailingStorage(inner, after=writes)
        table = Roundtable(seats(model), storage=storage)
        try:
            await table.debate(TOPIC, mode=mode, rounds=2)
        except StorageError:
            (found,) = await table.sessions() or (None,)
            storage.left = None
            if found is None:
                continue
            result = await table.resume(found.id) if found.status != "completed" else await table.session(found.id)
            resumed = Held(result, model.requests)
            assert [turn.key for turn in resumed.turns()] == [key for key, _ in wanted]
            assert resumed.said_by_place() == straight.said_by_place()
        else:
            break
    else:
        pytest.fail("the debate never came to its end")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 10])
async def test_a_mode_accepts_its_allowed_numbers_of_agents_and_refuses_others(mode: str, count: int) -> None:
    names = [f"seat{place}" for place in range(count)]
    strategy = ModeRegistry().get_mode(mode)
    if count not in strategy.agent_counts:  # type: ignore[attr-defined]
        with pytest.raises(ConfigurationError, match="needs 2 to 100 agents, not 1"):
            await hold(mode, names=names)
        return
    held = await hold(mode, names=names, rounds=strategy.rounds.start)
    assert held.result.status == "completed"
    assert len(held.requests) == len(held.turns())
    assert len({turn.key for turn in held.turns()}) == len(held.turns())


@pytest.mark.parametrize("mode", VARIANTS)
async def test_options_reach_every_answer_format_and_no_instruction(mode: str) -> None:
    held = await hold(mode, options=("For", "Against"))
    assert held.result.roster.complete
    assert held.result.decision is not None
    assert all("Against" not in request.messages[0].content for request in held.requests)


@pytest.mark.parametrize("mode", VARIANTS)
async def test_a_small_model_gets_a_short_prompt_and_sees_no_more(mode: str) -> None:
    held = await hold(mode, profile=COMPACT)
    assert held.result.roster.complete
    for request in held.requests:
        system, user = request.messages[0].content, request.messages[-1].content
        assert "CONTRACT" not in system
        assert estimate_tokens(system) + estimate_tokens(user) <= 350
    if mode == "delphi":
        assert not any(re.search(r"\b(ada|bo|cy|dee)\b", text_of(one), re.IGNORECASE) for one in held.requests)


@pytest.mark.slow
@pytest.mark.parametrize("mode", VARIANTS)
async def test_the_version_of_its_instructions_is_stored_with_every_turn(mode: str, tmp_path: Path) -> None:
    model = ScriptedModel(answer)
    address = f"sqlite:///{tmp_path / 'debates.db'}"
    async with Roundtable(seats(model), storage=address) as table:
        session_id = (await table.debate(TOPIC, mode=mode, rounds=2)).session_id
    async with Roundtable(seats(model), storage=address) as table:
        stored = await table.session(session_id)
    name = mode.partition(":")[0]
    version = load_mode_prompt(name).version
    for held in stored.rounds:
        for turn in held.turns:
            assert turn.outcome == "answered"
            told = turn.result.prompt_version
            assert told in {f"{PROMPT_VERSION} {name}/{turn.role}/{form}@{version}-en" for form in ("first", "later")}


@pytest.mark.parametrize("mode", VARIANTS)
def test_every_turn_states_how_often_it_may_call_tools(mode: str) -> None:
    allowed = {ToolPolicy(min=1, max=10), ToolPolicy(min=1, max=5), ToolPolicy(max=0)}
    for _, stage in rehearse(ModeRegistry().get_mode(mode)):
        assert {spec.tools for spec in stage.turns} <= allowed


@pytest.mark.parametrize("anyio_backend", ["trio"])
@pytest.mark.parametrize("mode", MODES)
async def test_a_mode_runs_on_trio(mode: str) -> None:
    with anyio.fail_after(60):
        assert (await hold(mode)).result.status == "completed"


if __name__ == "__main__":
    PLANS.mkdir(parents=True, exist_ok=True)
    for name in VARIANTS:
        golden(name).write_text(planned(name), "utf-8")
    sys.stdout.write(f"{len(VARIANTS)} plans\n")
