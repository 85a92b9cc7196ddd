"""What may be asked of a server, one method for each thing."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Self, TypedDict, Unpack

from pydantic.alias_generators import to_camel
from pydantic_core import to_jsonable_python

from roundtable.client.connection import Call, Connection, path_of
from roundtable.client.streams import EventStream
from roundtable.errors import APINetworkError, SessionError
from roundtable.exits import Exit
from roundtable.record import Fold, read_archive
from roundtable.result import DebateResult
from roundtable.types import ChatMessage, SessionSummary, SynthesisResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from roundtable.http import HttpResponse
    from roundtable.types import Budget, ContextResult, JsonObject, JsonValue, RunningCalls, SessionStatus
    from roundtable.types.teams import TeamOrder

__all__ = ["ConversationRequest", "DebateRequest", "ForkRequest", "GoOnRequest", "RoundtableClient", "SessionPage"]

_TRIES: Final = 3


class ForkRequest(TypedDict, total=False):
    """What may be different in a fork; `roundtable.Roundtable.debate` explains each.

    `agents` are names that the server offers; see `RoundtableClient.agents`.
    """

    mode: str
    rounds: int
    options: Sequence[str]
    decide: str
    exit_when: Exit
    exit_on_consensus: bool
    focus_question: str
    perspectives: Sequence[str] | Literal["auto"]
    agents: Sequence[str]
    budget: Budget
    synthesize: bool
    deadline_s: float
    metadata: Mapping[str, JsonValue]


class DebateRequest(ForkRequest, total=False):
    """What may be said about a debate besides its topic; `roundtable.Roundtable.debate` explains each."""

    baseline: bool
    skip_rounds_when: float


class ConversationRequest(TypedDict, total=False):
    """What may be said about a conversation; `roundtable.Roundtable.converse` explains each."""

    rounds: int
    order: TeamOrder
    timeout_s: float
    budget: Budget
    metadata: Mapping[str, JsonValue]


class GoOnRequest(TypedDict, total=False):
    """What may be said when a session goes on; `roundtable.Roundtable.resume` explains each."""

    step: bool
    context_results: Sequence[ContextResult]
    force: bool
    deadline_s: float
    on_change: Literal["error", "adopt"]


class SessionPage(NamedTuple):
    """Some sessions of a list."""

    sessions: tuple[SessionSummary, ...]
    """Those of this page, newest first."""
    next_cursor: str | None
    """`cursor` of the next page; `None` on the last one."""


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
        return await self._begin(path_of("debates"), {"topic": topic, **request})

    async def converse(
        self, *, agents: Sequence[str], messages: str | Sequence[ChatMessage], **request: Unpack[ConversationRequest]
    ) -> DebateResult:
        """Have a team of the server's agents work on a request, wait for its end and give the result.

        Args:
            agents: One to five names of profiles, in speaking order; see `profiles`.
            messages: The request, or the conversation that ends with it.
            request: See `ConversationRequest`.
        """
        return await self._finished(await self.start_conversation(agents=agents, messages=messages, **request))

    async def start_conversation(
        self, *, agents: Sequence[str], messages: str | Sequence[ChatMessage], **request: Unpack[ConversationRequest]
    ) -> str:
        """Have a team begin, and give the id of its session; see `converse`."""
        said = [ChatMessage(role="user", content=messages)] if isinstance(messages, str) else messages
        return await self._begin(path_of("conversations"), {"agents": agents, "messages": said, **request})

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
        words: str | None = None,
        status: SessionStatus | None = None,
        mode: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> SessionPage:
        """List sessions, newest first.

        Args:
            words: Only those in which this was said; see `Roundtable.search`.
            status: Only those in this state.
            mode: Only those in this mode.
            limit: Most sessions of a page.
            cursor: `next_cursor` of the page before.
        """
        query = {"q": words, "status": status, "mode": mode, "limit": limit, "cursor": cursor}
        return _page(await self._get(path_of("sessions"), query))

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

    async def resume(self, session_id: str, **request: Unpack[GoOnRequest]) -> None:
        """Have the server go on with a session that was paused or interrupted; `watch` follows it."""
        await self._post(session_id, "resume", request)

    async def extend(
        self, session_id: str, *, rounds: int = 1, focus_question: str | None = None, **request: Unpack[GoOnRequest]
    ) -> None:
        """Have a session go on for more rounds, on a narrower question if one is given; `watch` follows them."""
        await self._post(session_id, "extend", {"rounds": rounds, "focus_question": focus_question, **request})

    async def fork(self, session_id: str, *, at_round: int, **request: Unpack[ForkRequest]) -> str:
        """Begin a session that shares the past of another, and give its id; `watch` follows it.

        A request whose answer is lost is sent again under the same key, so that one fork begins.

        Args:
            session_id: Whose past.
            at_round: The last round that both share; 0 shares the question alone.
            request: What is to be different.
        """
        return await self._begin(path_of("sessions", session_id, "fork"), {"at_round": at_round, **request})

    async def synthesize(self, session_id: str, *, by: str | None = None) -> SynthesisResult:
        """Have one model put a session together, or give what one wrote before.

        Args:
            session_id: Which session.
            by: Id of the agent whose model does it.
        """
        return SynthesisResult.model_validate(await self._post(session_id, "synthesize", {"by": by}))

    async def delete(self, session_id: str) -> None:
        """Remove a session and all that was said in it."""
        await self._connection.ask(Call("DELETE", path_of("sessions", session_id)))

    async def agents(self) -> JsonObject:
        """Say who may be asked to debate or to work in a team."""
        return await self._get(path_of("agents"))

    async def modes(self) -> JsonObject:
        """Say which debate modes there are."""
        return await self._get(path_of("modes"))

    async def profiles(self) -> JsonObject:
        """Say whom teams can be made of."""
        return await self._get(path_of("profiles"))

    async def me(self) -> JsonObject:
        """Say who the server takes this client for, and what is left of its limits."""
        return await self._get(path_of("me"))

    async def _finished(self, session_id: str) -> DebateResult:
        async with self.watch(session_id) as events:
            async for _ in events:
                pass
        return await self.result(session_id)

    async def _begin(self, path: str, request: Mapping[str, object]) -> str:
        call = Call("POST", path, body=_json_of(request), idempotency_key=secrets.token_hex(16))
        left = _TRIES
        while True:
            left -= 1
            try:
                return str(_object(await self._connection.ask(call))["sessionId"])
            except APINetworkError as error:
                if not left or not error.retryable:
                    raise

    async def _post(self, session_id: str, action: str, request: Mapping[str, object]) -> JsonObject:
        body = _json_of({name: value for name, value in request.items() if value is not None})
        return _object(await self._connection.ask(Call("POST", path_of("sessions", session_id, action), body=body)))

    async def _get(self, path: str, query: Mapping[str, str | int | None] | None = None) -> JsonObject:
        return _object(await self._connection.ask(Call("GET", path, query)))


def _object(response: HttpResponse) -> JsonObject:
    found = json.loads(response.body)
    if not isinstance(found, dict):
        raise SessionError("the server answered with something else than a JSON object")
    return found


def _json_of(request: Mapping[str, object]) -> JsonObject:
    """Give a request as JSON, in camelCase."""
    return {to_camel(name): to_jsonable_python(_plain(value), exclude_none=True) for name, value in request.items()}


def _plain(value: object) -> object:
    return value.to_spec() if isinstance(value, Exit) else value


def _page(found: JsonObject) -> SessionPage:
    """Read a page of the list; its entries name some fields as results do."""
    names = {"sessionId": "id", "sessionStatus": "status", "agents": "agentIds"}
    entries = found["sessions"]
    listed = [
        SessionSummary.model_validate({names.get(name, name): value for name, value in entry.items()})
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict)
    ]
    cursor = found.get("nextCursor")
    return SessionPage(tuple(listed), str(cursor) if cursor else None)
