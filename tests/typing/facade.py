"""What a type checker must see of the facade; checked by pyright and mypy, never run."""

from __future__ import annotations

from typing import assert_type

import roundtable as rt
from roundtable.providers import chat_model
from roundtable.sync import Roundtable as BlockingRoundtable
from roundtable.types import AgentResponse, Answer, ChatRequest, ChatResponse, Event, Message, SessionSummary


async def asynchronous(table: rt.Roundtable) -> None:
    result = await table.debate("Tea or coffee?", mode="collaborative", rounds=2, exit_when=rt.MaxRounds(2))
    assert_type(result, rt.DebateResult)
    assert_type(result.answer, str | None)
    assert_type(result.independent_agreement, float | None)
    assert_type(result.rounds[0].responses, tuple[AgentResponse, ...])
    assert_type(result.to_markdown(), str)
    async with table.stream("Tea or coffee?") as events:
        assert_type(events, rt.DebateStream)
        async for event in events:
            assert_type(event, Event)
            if event.type == "agent_complete":
                assert_type(event.turn.answer, Answer)
            if event.durable is True:  # a plain `if event.durable` narrows in mypy alone
                assert_type(event.seq, int)
            else:
                assert_type(event.after, int)
    handle = await table.start("Tea or coffee?")
    assert_type(handle.session_id, str)
    assert_type(await handle.result(), rt.DebateResult)
    assert_type(await table.resume("id"), rt.DebateResult)
    assert_type(await table.sessions(), tuple[SessionSummary, ...])
    results = await table.debate_many(["Tea?"], modes=["delphi"], rounds=1)
    assert_type(results, rt.Results)
    assert_type(results[0], rt.DebateResult)
    assert_type(results.redecide("majority"), rt.Results)


async def models(table: rt.Roundtable) -> None:
    ask = ChatRequest(messages=(Message(role="user", content="Tea or coffee?"),))
    for model in (table.chat_model("local"), chat_model("anthropic")):
        assert_type(await model.complete(ask), ChatResponse)
        async with model.stream(ask) as deltas:
            async for delta in deltas:
                assert_type(delta.text, str)
        assert_type(deltas.response, ChatResponse)


def blocking() -> None:
    assert_type(rt.debate_sync("Tea or coffee?"), rt.DebateResult)
    with BlockingRoundtable(storage="memory://") as table:
        assert_type(table.debate("Tea or coffee?"), rt.DebateResult)


def decisions() -> None:
    assert_type(rt.decide(["tea", "coffee"]), rt.Decision)
    assert_type(rt.__version__, str)


def errors(error: rt.RoundtableError) -> None:
    assert_type(error.code, str)
    assert_type(error.retryable, bool)
    assert_type(error.hint, str | None)
