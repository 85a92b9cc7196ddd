"""A web application with debates in its own routes, one of whose agents is a person at a web page.

uvicorn app:app --port 8000                         no key: the other agents are scripted
MODELS=anthropic,openai uvicorn app:app             real models
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import anyio
from fastapi import Depends, FastAPI, Header, HTTPException, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

from roundtable import AgentConfig, Roundtable, RoundtableError
from roundtable.agents import BaseAgent
from roundtable.api import sse_messages
from roundtable.providers import HumanModel, HumanReply, HumanTurn
from roundtable.server.errors import status_of
from roundtable.testing import ScriptedModel
from roundtable.types import sse_event_id


class Desk:
    """Questions to people that wait for an answer, by session and turn."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], HumanTurn] = {}
        self._answered: dict[tuple[str, str], anyio.Event] = {}
        self._replies: dict[tuple[str, str], HumanReply] = {}

    async def ask(self, turn: HumanTurn) -> HumanReply:
        """Wait until a request brings the answer."""
        key = turn.session_id, turn.turn_id
        self._open[key], self._answered[key] = turn, anyio.Event()
        try:
            await self._answered[key].wait()
            return self._replies.pop(key)
        finally:
            del self._open[key], self._answered[key]

    def questions(self, session_id: str) -> list[HumanTurn]:
        """Return the open questions of a session."""
        return [turn for (session, _), turn in self._open.items() if session == session_id]

    def answer(self, session_id: str, turn_id: str, reply: HumanReply) -> bool:
        """Take an answer; return whether there was such a question."""
        event = self._answered.get((session_id, turn_id))
        if event is None or event.is_set():
            return False
        self._replies[session_id, turn_id] = reply
        event.set()
        return True


def make_table(desk: Desk, storage: str) -> Roundtable:
    """Seat a person beside the models of `MODELS`, or beside a scripted one."""
    person = BaseAgent(AgentConfig(id="you", name="You", provider="human"), HumanModel(desk.ask, model="you"))
    scripted = [ScriptedModel([{"position": "Coffee", "reasoning": "It wakes me up."}] * 100, model="cleo")]
    names = [name for name in os.environ.get("MODELS", "").split(",") if name]
    return Roundtable([person, *(names or scripted)], storage=storage)


class NewDebate(BaseModel):
    """Body of a request for a debate."""

    topic: str = Field(min_length=1, max_length=10_000)
    rounds: int = Field(default=1, ge=1, le=5)


class Answer(BaseModel):
    """Body of a request that answers a question."""

    text: str = Field(min_length=1, max_length=20_000)


def table_of(request: Request) -> Roundtable:
    """Return the table of the application."""
    table: Roundtable = request.app.state.table
    return table


Table = Annotated[Roundtable, Depends(table_of)]


def make_app(storage: str = "sqlite:///web.db") -> FastAPI:
    """Create the application."""
    desk = Desk()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        table = make_table(desk, storage)
        # Left first: it cancels debates that are recovered, and they are stored before the table closes.
        async with table, anyio.create_task_group() as tasks:
            app.state.table = table
            tasks.start_soon(table.recover)
            yield
            tasks.cancel_scope.cancel()

    app = FastAPI(title="Debates", lifespan=lifespan)

    @app.exception_handler(RoundtableError)
    async def on_error(_request: Request, error: RoundtableError) -> JSONResponse:
        return JSONResponse({"error": error.message, "code": error.code}, status_of(error))

    @app.post("/debates", status_code=202)
    async def begin(body: NewDebate, table: Table) -> dict[str, str]:
        """Begin a debate; it goes on when the caller is gone."""
        handle = await table.start(body.topic, rounds=body.rounds)
        return {"sessionId": handle.session_id}

    @app.get("/debates/{session_id}/events")
    async def events(
        session_id: str, table: Table, last_event_id: Annotated[str | None, Header()] = None
    ) -> StreamingResponse:
        """Stream the events, from the first, or after the last that the browser has."""
        _, after = sse_event_id(last_event_id)
        watch = table.watch(session_id, after=after)
        async with watch:  # an unknown session is answered with 404
            pass
        messages = sse_messages(table.watch(session_id, after=after))
        return StreamingResponse(messages, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    @app.get("/debates/{session_id}")
    async def result(session_id: str, table: Table) -> dict[str, object]:
        """Return what is known now; while the debate runs, its answer is only interim."""
        debate = await table.session(session_id)
        answer = "interimAnswer" if debate.status == "running" else "answer"
        return {"status": debate.status, answer: debate.answer, "rounds": len(debate.rounds)}

    @app.get("/debates/{session_id}/questions")
    async def questions(session_id: str) -> list[dict[str, object]]:
        """Return what people are asked."""
        return [
            {"turnId": turn.turn_id, "round": turn.round, "who": turn.agent, "prompt": turn.prompt}
            for turn in desk.questions(session_id)
        ]

    @app.post("/debates/{session_id}/questions/{turn_id:path}", status_code=204)
    async def reply(session_id: str, turn_id: str, body: Answer) -> None:
        """Answer a question."""
        if not desk.answer(session_id, turn_id, body.text):
            raise HTTPException(404, "There is no such question.")

    return app


app = make_app()
