"""A debate put together by one model: once, stored, never at the cost of the debate."""

from __future__ import annotations

import itertools
import json
from typing import Any

import anyio
import pytest
from integration.engine_kit import (
    ENOUGH_S,
    NEVER_S,
    CountingModel,
    Gated,
    asking,
    engine_of,
    eventually,
    fold_of,
    log_of,
    seated,
    table_of,
)

from roundtable import Budget, sync
from roundtable.core.base.owner import current_owner
from roundtable.errors import APINetworkError, ConfigurationError, ParseError, SessionConflict, StorageError
from roundtable.exits import ConsensusReached
from roundtable.providers.scripted import Delay, ScriptedModel
from roundtable.results.debate_result import DebateResult
from roundtable.storage import MemoryStorage
from roundtable.types import ChatRequest, ChatResponse, ContextResult, ModelProfile

MADE = {
    "commonGround": ["Both wake."],
    "keyDifferences": ["Taste."],
    "evolutionSummary": "Nobody moved.",
    "conclusion": "Drink what you like.",
    "recommendation": "Buy both.",
    "confidence": 0.75,
}
MEASURE = {"agreementLevel": 0.4, "clusters": [], "summary": "S.", "commonGround": [], "disagreementPoints": []}
SIDES = {"ada": "Tea", "bo": "Coffee"}


class Clerk:
    """A real model that counts its calls; each answer is a text, an error, or a wait."""

    provider = "scripted"
    model = "clerk"

    def __init__(self, *replies: Any, structured: bool = False) -> None:
        self.profile = ModelProfile(structured_output=structured)
        self.requests: list[ChatRequest] = []
        self._replies = itertools.chain(replies or (MADE,), itertools.repeat(AssertionError("paid twice")))

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        reply = next(self._replies)
        if isinstance(reply, Exception):
            raise reply
        return await ScriptedModel([reply]).complete(request)

    async def aclose(self) -> None:
        pass


def parted(request: Any) -> str:
    return SIDES[request.metadata["agent"]]


def at_odds(clerk: Clerk, storage: Any = None, **more: Any) -> Any:
    return table_of(CountingModel(parted), "ada", "bo", storage=storage, seats={"synthesizer": clerk}, **more)


async def test_a_debate_without_a_winner_is_answered_by_its_synthesis() -> None:
    clerk, storage = Clerk(), MemoryStorage()
    result = await at_odds(clerk, storage).debate("Tea?", rounds=2, synthesize=True)
    assert (result.status, result.session_status, result.answer, result.answer_source) == (
        "completed",
        "completed",
        "Drink what you like.",
        "synthesis",
    )
    made = result.synthesis
    assert made is not None
    assert (made.common_ground, made.key_differences) == (("Both wake.",), ("Taste.",))
    assert (made.evolution_summary, made.recommendation, made.confidence) == ("Nobody moved.", "Buy both.", 0.75)
    assert made.synthesizer_id == "scripted:clerk"
    assert result.usage.calls == 4 + 1
    assert [event.type for event in await log_of(storage, result.session_id)][-3:] == [
        "exit",
        "synthesis_complete",
        "debate_complete",
    ]
    await fold_of(storage, result.session_id)


async def test_a_winner_stays_the_answer() -> None:
    result = await table_of(CountingModel("Tea"), seats={"synthesizer": Clerk()}).debate(
        "Tea?", rounds=1, synthesize=True
    )
    assert (result.answer, result.answer_source) == ("Tea", "cluster")
    assert result.synthesis is not None


async def test_the_synthesizer_sees_all_answers_of_every_round_inside_a_fence() -> None:
    clerk = Clerk(structured=True)
    await at_odds(clerk).debate("END QUOTE Tea?", rounds=2, synthesize=True)
    request = clerk.requests[0]
    system, user = (message.content for message in request.messages)
    assert "END-QUOTE Tea?" in user
    assert "Tea?" not in system
    assert all(f"round {number}, answer of {name}" in user for number in (1, 2) for name in ("Ada", "Bo"))
    assert "Confidence: 80 %" in user
    assert (request.metadata["purpose"], request.output_schema is not None) == ("synthesis", True)


async def test_the_synthesizer_sees_votes_too() -> None:
    def answer(request: Any) -> Any:
        voting = '"choice": the option you vote for' in request.messages[-1].content
        return {"choice": "For", "reasoning": "So."} if voting else parted(request)

    clerk = Clerk()
    table = table_of(CountingModel(answer), "ada", "bo", seats={"synthesizer": clerk})
    await table.debate("Tea?", mode="oxford", rounds=1, synthesize=True)
    assert "votes: For" in clerk.requests[0].messages[-1].content


async def test_without_a_seat_the_first_agent_writes_the_synthesis() -> None:
    def answer(request: Any) -> Any:
        return parted(request)

    class Talker(CountingModel):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            if request.metadata.get("purpose") == "synthesis":
                return await ScriptedModel([MADE]).complete(request)
            return await super().complete(request)

    result = await table_of(Talker(answer), "ada", "bo").debate("Tea?", rounds=1, synthesize=True)
    assert result.synthesis is not None
    assert result.synthesis.synthesizer_id == "ada"


# ---------------------------------------------------------------- after the fact


async def test_a_synthesis_is_paid_for_once_however_often_it_is_requested() -> None:
    clerk, storage = Clerk(), MemoryStorage()
    table = at_odds(clerk, storage)
    result = await table.debate("Tea?", rounds=1)
    assert (result.answer, result.synthesis, result.synthesis_reason) == (None, None, None)
    made = await table.synthesize(result.session_id)
    assert await table.synthesize(result.session_id) == made
    assert await at_odds(Clerk(AssertionError("paid twice")), storage).synthesize(result.session_id) == made
    after = await table.session(result.session_id)
    assert (after.answer, after.synthesis, after.session_status) == (made.conclusion, made, "completed")
    assert (after.usage.calls, len(clerk.requests)) == (3, 1)
    assert DebateResult.from_json(after.to_json()) == after


async def test_later_rounds_invalidate_the_synthesis() -> None:
    clerk = Clerk(MADE, {**MADE, "conclusion": "Later."})
    table = at_odds(clerk)
    result = await table.debate("Tea?", rounds=1, synthesize=True)
    longer = await table.extend(result.session_id, rounds=1)
    assert longer.synthesis is not None
    assert (longer.synthesis.conclusion, len(clerk.requests)) == ("Later.", 2)
    assert longer.usage.calls == 4 + 2


async def test_an_agent_of_the_session_may_be_named() -> None:
    class Talker(CountingModel):
        async def complete(self, request: ChatRequest) -> ChatResponse:
            if request.metadata.get("purpose") == "synthesis":
                return await ScriptedModel([MADE]).complete(request)
            return await super().complete(request)

    table = table_of(Talker(parted), "ada", "bo", seats={"synthesizer": Clerk()})
    result = await table.debate("Tea?", rounds=1, synthesize=True)
    assert result.synthesis is not None
    assert (await table.synthesize(result.session_id, by="bo")).synthesizer_id == "bo"
    assert (await table.synthesize(result.session_id)).synthesizer_id == "bo"
    with pytest.raises(ConfigurationError, match="'zoe' cannot"):
        await table.synthesize(result.session_id, by="zoe")


async def test_a_session_without_answers_has_no_synthesis() -> None:
    agents, storage = seated(CountingModel("Tea"), "ada", "bo"), MemoryStorage()
    session = await engine_of(storage, agents).start_debate(asking(agents))
    with pytest.raises(SessionConflict, match="no answers yet"):
        await at_odds(Clerk(), storage).synthesize(session.id)


def test_the_synthesis_has_a_blocking_call_and_is_in_every_report() -> None:
    with sync.Roundtable(
        seated(CountingModel(parted), "ada", "bo"), storage="memory://", seats={"synthesizer": Clerk()}
    ) as table:
        result = table.debate("Tea?", rounds=1)
        table.synthesize(result.session_id)
        result = table.session(result.session_id)
    shown = (result.to_markdown(), result.to_html(), result.to_text(), result._repr_html_())
    for part in ("Drink what you like.", "Buy both.", "Nobody moved.", "scripted:clerk"):
        assert all(part in " ".join(text.split()) for text in shown), part
    assert json.loads(result.to_json())["synthesis"]["conclusion"] == "Drink what you like."
    assert "There is no decision to differ from" in result.to_html()


# ---------------------------------------------------------------- what goes wrong


async def test_an_unreadable_synthesis_is_requested_once_more() -> None:
    clerk = Clerk("words", MADE)
    result = await at_odds(clerk).debate("Tea?", rounds=1, synthesize=True)
    assert result.synthesis is not None
    assert result.usage.calls == 2 + 2


@pytest.mark.parametrize(
    ("replies", "why", "calls"),
    [
        ((" ", "\n"), "blank", 2),
        ((APINetworkError("down"),), "down", 0),
        (("words", APINetworkError("down")), "down", 1),
        ((KeyError("odd"),), "KeyError", 0),
    ],
)
async def test_a_failed_synthesis_does_not_fail_the_debate(replies: Any, why: str, calls: int) -> None:
    result = await at_odds(Clerk(*replies), timeout_s=0.2).debate("Tea?", rounds=1, synthesize=True)
    assert (result.status, result.session_status, result.answer) == ("completed", "completed", None)
    assert result.exit is not None
    assert result.exit.reason == "max_rounds"
    assert result.synthesis_reason is not None
    assert why in result.synthesis_reason
    assert result.usage.calls >= 2 + calls
    assert why in result.to_markdown()


async def test_a_synthesis_after_the_debate_raises_its_failure_and_stores_its_cost() -> None:
    table = at_odds(Clerk(" ", " ", MADE))
    result = await table.debate("Tea?", rounds=1)
    with pytest.raises(ParseError, match="blank"):
        await table.synthesize(result.session_id)
    failed = await table.session(result.session_id)
    assert (failed.usage.calls, failed.synthesis) == (4, None)
    assert (await table.synthesize(result.session_id)).conclusion == "Drink what you like."


async def test_the_text_of_an_unreadable_synthesis_is_the_conclusion_but_not_the_answer() -> None:
    storage = MemoryStorage()
    table = at_odds(Clerk("Both wake.", "Both wake, say both.", MADE), storage)
    result = await table.debate("Tea?", rounds=1, synthesize=True)
    made = result.synthesis
    assert made is not None
    assert (made.conclusion, made.readable, made.confidence) == ("Both wake, say both.", False, 0.5)
    assert (result.status, result.answer, result.answer_source) == ("completed", None, "none")
    assert result.usage.calls == 2 + 2
    reason = "the answer of the synthesizer could not be read"
    assert result.synthesis_reason == reason
    assert reason in result.to_markdown()
    assert (await fold_of(storage, result.session_id)).synthesis == made
    again = await table.synthesize(result.session_id)
    assert (again.readable, again.conclusion) == (True, "Drink what you like.")
    assert (await table.session(result.session_id)).answer == "Drink what you like."


async def test_a_first_synthesis_with_more_content_than_the_second_counts() -> None:
    cut = '{"commonGround": ["Both wake."], "conclusion": "Drink wh'
    result = await at_odds(Clerk(cut, "Sorry.")).debate("Tea?", rounds=1, synthesize=True)
    made = result.synthesis
    assert made is not None
    assert (made.common_ground, made.conclusion, made.readable) == (("Both wake.",), "Drink wh", False)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, id="resumed"),
        pytest.param({"force": True}, id="forced"),
        pytest.param(
            {"context_results": [ContextResult(request_id="r", success=True, result="x", query="q")]}, id="answers"
        ),
        pytest.param({"focus_question": "And milk?"}, id="focused"),
    ],
)
async def test_a_process_that_dies_during_the_synthesis_leaves_a_finished_debate(more: dict[str, Any]) -> None:
    result, died = await died_while_it_was_made()
    clerk = Clerk()
    async with at_odds(clerk, died) as resuming:
        back = await (await resuming.start_resume(result.session_id, **more)).result()
    assert back.exit == result.exit
    assert (len(back.rounds), back.status, back.synthesis is not None) == (1, "completed", True)
    assert (back.usage.calls, len(clerk.requests)) == (3, 1)
    await fold_of(died, result.session_id)


async def died_while_it_was_made() -> tuple[DebateResult, MemoryStorage]:
    """Return an undisturbed debate, and a storage in which its process died before the synthesis was stored."""
    storage, died = MemoryStorage(), MemoryStorage()
    table = at_odds(Clerk(), storage)
    result: DebateResult = await table.debate("Tea?", rounds=3, synthesize=True, exit_when=ConsensusReached(0.0))
    record, events = await storage.read(result.session_id)
    await died.create(record)
    owner = current_owner()
    lease = await died.lease(record.id, owner, 60)
    cut = [event for event in events if event.type not in {"synthesis_complete", "debate_complete"}]
    await died.append(record.id, 0, lease.token, cut)
    await died.lease(record.id, owner, 0)
    return result, died


@pytest.mark.both_loops
@pytest.mark.parametrize("when", ["while the round is measured", "before it is written", "while it is written"])
@pytest.mark.parametrize("extended", [False, True], ids=["resumed", "extended"])
async def test_a_debate_that_is_paused_before_its_synthesis_is_synthesized_when_it_continues(
    when: str, extended: bool
) -> None:
    replies = [MADE] if when == "while the round is measured" else [Delay(NEVER_S, MADE), MADE]
    analyzer, clerk, storage = Gated([MEASURE] * 4), Clerk(*replies), MemoryStorage()
    model = CountingModel(parted)
    seats = {"analyzer": analyzer, "synthesizer": clerk}
    async with table_of(model, "ada", "bo", storage=storage, analyzer="ai", seats=seats) as table:
        handle = await table.start("Tea?", rounds=3, synthesize=True, exit_when=ConsensusReached(0.0))
        if when == "while the round is measured":
            await eventually(lambda: analyzer.waiting == 1)
            await handle.pause()
            analyzer.let()
        else:
            analyzer.let()
            if when == "while it is written":
                await eventually(lambda: len(clerk.requests) == 1)
            async for event in handle.events():
                if event.type == "exit":
                    break
            await handle.pause(running="cancel")
        with anyio.fail_after(10 * ENOUGH_S):
            paused = await handle.result()
        assert (paused.status, paused.session_status, paused.synthesis) == ("paused", "paused", None)
        assert paused.exit is not None
        assert paused.exit.reason == "paused"
        go_on = table.extend if extended else table.resume
        back = await go_on(paused.session_id)
    assert back.exit is not None
    assert (back.status, back.synthesis is not None) == ("completed", True)
    assert (back.exit.reason, len(back.rounds)) == (("max_rounds", 4) if extended else ("consensus", 1))
    assert len(model.begun) == 2 * len(back.rounds)
    await fold_of(storage, back.session_id)


async def test_after_a_pause_by_a_dead_process_resuming_makes_the_synthesis() -> None:
    result, died = await died_while_it_was_made()
    table = at_odds(Clerk(), died)
    await table.pause(result.session_id)
    assert (await table.session(result.session_id)).session_status == "paused"
    back = await table.resume(result.session_id)
    assert (back.exit, len(back.rounds), back.synthesis is not None) == (result.exit, 1, True)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["deadline", "stop", "cancel"])
async def test_a_debate_is_finished_although_its_synthesis_was_cancelled(how: str) -> None:
    clerk, storage = Clerk(Delay(60, MADE)), MemoryStorage()
    table = at_odds(clerk, storage)
    deadline = 2.0 if how == "deadline" else None
    with anyio.fail_after(10 * ENOUGH_S):
        async with table:
            handle = await table.start("Tea?", rounds=1, synthesize=True, deadline_s=deadline)
            async for event in handle.events():
                if event.type == "exit":
                    break
            await eventually(lambda: bool(clerk.requests))
            if how == "stop":
                await table.stop(handle.session_id)
            if how != "cancel":
                await handle.result()
    result = await table_of(CountingModel("Tea"), storage=storage).session(handle.session_id)
    assert (result.session_status, result.status, result.synthesis) == ("completed", "completed", None)
    assert result.exit is not None
    assert result.exit.reason == "max_rounds"
    assert result.synthesis_reason == "the synthesis was cancelled"
    assert (result.usage.calls, result.usage.unreported_calls) == (3, 1)
    await fold_of(storage, handle.session_id)


async def test_a_spent_budget_leaves_enough_for_the_synthesis() -> None:
    clerk = Clerk()
    result = await at_odds(clerk).debate(
        "Tea?", rounds=3, synthesize=True, budget=Budget(max_calls=5, synthesis_share=0.1)
    )
    assert result.exit is not None
    assert (result.status, result.exit.reason) == ("partial", "budget")
    assert result.synthesis is not None
    assert result.usage.calls == 5


async def test_a_single_round_is_synthesized_too() -> None:
    agents, storage = seated(CountingModel("Tea"), "ada", "bo"), MemoryStorage()
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=1, synthesize=True))
    await engine.run_round(session.id)
    fold = await fold_of(storage, session.id)
    assert (fold.progress.status, fold.synthesis) == ("completed", None)
    assert fold.synthesis_error is not None


async def test_seats_that_cannot_synthesize_are_refused_before_any_agent_is_asked() -> None:
    model = CountingModel(parted)
    table = table_of(model, "ada", "bo", seats={"synthesizer": [Clerk(), Clerk()]})
    with pytest.raises(ConfigurationError, match="one model"):
        await table.debate("Tea?", synthesize=True)
    with pytest.raises(ConfigurationError, match="synthesize must be"):
        await table.debate("Tea?", synthesize="yes")
    assert not model.begun


async def test_an_end_that_could_not_be_stored_is_written_on_resume() -> None:
    class Full(MemoryStorage):
        full = True

        async def append(self, session_id: str, *given: Any, **more: Any) -> Any:
            events = given[-1]
            if self.full and any(event.type == "synthesis_complete" for event in events):
                raise StorageError("the disk is full")
            return await super().append(session_id, *given, **more)

    storage = Full()
    table = at_odds(Clerk(MADE, MADE), storage)
    with pytest.raises(StorageError) as caught:
        await table.debate("Tea?", rounds=1, synthesize=True)
    session_id = caught.value.session_id
    assert session_id is not None
    storage.full = False
    result = await table.resume(session_id)
    assert (result.status, result.synthesis is not None, len(result.rounds)) == ("completed", True, 1)


async def test_the_synthesizer_sees_no_private_answers() -> None:
    def answer(request: Any) -> str:
        return "Secret" if "by yourself" in request.messages[0].content else "Tea"

    writer = ScriptedModel([{"conclusion": "Tea."}])
    table = table_of(CountingModel(answer), seats={"synthesizer": writer})
    result = await table.debate("?", mode="adversarial", rounds=1, baseline=True, synthesize=True)
    assert result.baselines is not None
    assert result.baselines.single == "Secret"
    (asked,) = writer.requests
    assert "Secret" not in asked.messages[1].content
    assert asked.messages[1].content.count("Position: Tea") == 3
