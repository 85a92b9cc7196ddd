"""What may be asked of a server, one method for each thing."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Final, Self, TypedDict, Unpack

from pydantic.alias_generators import to_camel
from pydantic_core import to_jsonable_python

from roundtable.client.connection import Call, Connection, path_of
from roundtable.client.streams import EventStream, first_event
from roundtable.errors import APINetworkError, SessionError
from roundtable.record import Fold, read_archive
from roundtable.result import DebateResult
from roundtable.types import SessionSummary
from roundtable.types.base import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from roundtable.types import Budget, ChatMessage, ContextResult, JsonObject, JsonValue, RunningCalls, SessionStatus

__all__ = ["DebateRequest", "RoundtableClient"]

_TRIES: Final = 3


class DebateRequest(TypedDict, total=False):
    """What may be said about a debate besides its topic; `roundtable.Roundtable.debate` explains each.

    `agents` are names that the server offers; see `RoundtableClient.agents`.
    """

    mode: str
    rounds: int
    options: Sequence[str]
    decide: str
    exit_on_consensus: bool
    focus_question: str
    perspectives: Sequence[str] | str
    agents: Sequence[str]
    budget: Budget
    baseline: bool
    synthesize: bool
    skip_rounds_when: float
    deadline_s: float
    metadata: Mapping[str, JsonValue]


class _SessionPage(Value):
    sessions: tuple[SessionSummary, ...]


class RoundtableClient:
    """Debates and teams on a server, with the types of the library; used with `async with`, or closed by `aclose`.

    Args:
        base_url: Where the server is, such as `https://debates.example.org`.
        token: What is shown to it; none for a server of this machine that asks for none.
        client: An `httpx.AsyncClient` of yours, used as it is and never closed.
        timeout_s: Seconds for one answer that is no stream.

    Raises:
        ConfigurationError: The address is none, or plain http to another machine where a token goes.

    Every method raises `ServerError` where the server refuses or fails, `SessionNotFound` for a session that the user
    does not have, `APINetworkError` where the server cannot be reached, `APITimeoutError` where it takes too long.

    Example:
        ```python
        async with RoundtableClient("http://127.0.0.1:8000", token="rt_...") as client:
            session_id = await client.start("Tea or coffee?", rounds=2)
            async for event in client.watch(session_id):
                print(event.type)
            print((await client.result(session_id)).answer)
        ```
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8000",
        *,
        token: str | None = None,
        client: object | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        self._connection = Connection(base_url, token, client=client, timeout_s=timeout_s)

    def __repr__(self) -> str:
        return f"RoundtableClient({self._connection.base_url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; idempotent. What runs at the server goes on."""
        await self._connection.aclose()

    async def debate(self, topic: str, **request: Unpack[DebateRequest]) -> DebateResult:
        """Hold a debate at the server, wait for its end and give its result."""
        return await self._finished(await self.start(topic, **request))

    async def start(self, topic: str, **request: Unpack[DebateRequest]) -> str:
        """Begin a debate at the server, and give the id of its session.

        A request whose answer is lost is sent again under the same key, so that one debate begins.
        """
        body = {"topic": topic, **_json_of(request)}
        found = await self._once(Call("POST", path_of("debates"), body=body, idempotency_key=secrets.token_hex(16)))
        return str(found["sessionId"])

    async def converse(
        self, *, agents: Sequence[str], messages: str | Sequence[ChatMessage], rounds: int = 2
    ) -> DebateResult:
        """Have a team of the server's agents work on a request, wait for its end and give the result.

        Args:
            agents: One to five names of agents, in speaking order.
            messages: The request, or the conversation that ends with it.
            rounds: Rounds of work, 1 to 10.
        """
        return await self._finished(await self.start_conversation(agents=agents, messages=messages, rounds=rounds))

    async def start_conversation(
        self, *, agents: Sequence[str], messages: str | Sequence[ChatMessage], rounds: int = 2
    ) -> str:
        """Have a team begin, and give the id of its session; see `converse`."""
        said: list[JsonValue] = (
            [{"role": "user", "content": messages}]
            if isinstance(messages, str)
            else [message.model_dump(mode="json", exclude_none=True) for message in messages]
        )
        body: JsonObject = {"agents": [*agents], "rounds": rounds, "messages": said}
        call = Call("POST", path_of("chat", "multi"), body=body, accept="text/event-stream")
        async with self._connection.listen(call) as stream:
            return (await first_event(stream)).session_id

    def watch(self, session_id: str, *, after: int = 0) -> EventStream:
        """Follow a session from the event after number `after`, over as many connections as it takes."""
        return EventStream(self._connection, session_id, after=after)

    async def result(self, session_id: str) -> DebateResult:
        """Give the result of a session as far as it is, as `Roundtable.session` does."""
        record, events = read_archive(await self.export(session_id, "json"))
        return DebateResult.from_record(Fold(record, events).to_record())

    async def sessions(
        self,
        *,
        status: SessionStatus | None = None,
        mode: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> tuple[SessionSummary, ...]:
        """List sessions, newest first.

        Args:
            status: Only those in this state.
            mode: Only those in this mode.
            limit: Most sessions listed.
            after: The `cursor` of the last session of the page before.
        """
        query = {"status": status, "mode": mode, "limit": limit, "after": after}
        call = Call("GET", path_of("sessions"), query)
        return _SessionPage.model_validate_json((await self._connection.ask(call)).body).sessions

    async def export(self, session_id: str, format: str = "md") -> bytes:
        """Give a session as a document: `json` can be imported again, `md`, `html` and others are for reading."""
        call = Call("GET", path_of("sessions", session_id, "export"), {"format": format}, accept="*/*")
        return (await self._connection.ask(call)).body

    async def pause(self, session_id: str, *, running: RunningCalls = "settle") -> None:
        """Ask a session to pause; `resume` goes on with it."""
        await self._post(session_id, "pause", {"running": running})

    async def stop(self, session_id: str, *, running: RunningCalls = "cancel") -> None:
        """Ask a session to stop for good."""
        await self._post(session_id, "stop", {"running": running})

    async def resume(self, session_id: str) -> None:
        """Have the server go on with a session that was paused or interrupted; `watch` follows it."""
        await self._post(session_id, "resume", {})

    async def extend(
        self,
        session_id: str,
        *,
        rounds: int = 1,
        focus_question: str | None = None,
        context_results: Sequence[ContextResult] = (),
    ) -> None:
        """Have a session go on for more rounds; `watch` follows them."""
        more = [given.model_dump(mode="json", exclude_none=True) for given in context_results]
        asked: JsonObject = {"rounds": rounds, "focusQuestion": focus_question, "contextResults": [*more]}
        await self._post(session_id, "extend", asked)

    async def delete(self, session_id: str) -> None:
        """Remove a session and all that was said in it."""
        await self._connection.ask(Call("DELETE", path_of("sessions", session_id)))

    async def agents(self) -> JsonObject:
        """Say who may be asked to debate or to work in a team."""
        return await self._get(path_of("agents"))

    async def modes(self) -> JsonObject:
        """Say which debate modes there are."""
        return await self._get(path_of("modes"))

    async def me(self) -> JsonObject:
        """Say who the server takes this client for, and what is left of its limits."""
        return await self._get(path_of("me"))

    async def _finished(self, session_id: str) -> DebateResult:
        async with self.watch(session_id) as events:
            async for _ in events:
                pass
        return await self.result(session_id)

    async def _post(self, session_id: str, action: str, body: JsonObject) -> None:
        given: JsonObject = {name: value for name, value in body.items() if value not in (None, [])}
        await self._connection.ask(Call("POST", path_of("sessions", session_id, action), body=given))

    async def _get(self, path: str, query: Mapping[str, str | int | None] | None = None) -> JsonObject:
        return _object((await self._connection.ask(Call("GET", path, query))).body)

    async def _once(self, call: Call) -> JsonObject:
        for left in reversed(range(_TRIES)):
            try:
                return _object((await self._connection.ask(call)).body)
            except APINetworkError as error:
                if not left or not error.retryable:
                    raise
        raise AssertionError


def _object(body: bytes) -> JsonObject:
    found = json.loads(body)
    if not isinstance(found, dict):
        raise SessionError("the server answered with something else than a JSON object")
    return found


def _json_of(request: DebateRequest) -> JsonObject:
    """Give a request as JSON, in camelCase."""
    return {to_camel(name): to_jsonable_python(value, exclude_none=True) for name, value in request.items()}
