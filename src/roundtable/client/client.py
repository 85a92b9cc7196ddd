"""The async client of the HTTP server, with one method for each endpoint."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final, NamedTuple, Self, Unpack

from pydantic.alias_generators import to_camel
from pydantic_core import to_jsonable_python

from roundtable.analysis.arguments import ArgumentGraph
from roundtable.client.connection import ApiRequest, Connection, object_of, path_of
from roundtable.client.streams import EventStream
from roundtable.core.base.arguments import explains_arguments
from roundtable.core.errors import APINetworkError, ConfigurationError
from roundtable.core.record.fold import Fold
from roundtable.core.types.chat import OpenApproval
from roundtable.core.types.consensus import SynthesisResult
from roundtable.core.types.storage import SessionSummary
from roundtable.core.types.teams import ChatMessage
from roundtable.exits import Exit
from roundtable.record.archive import read_archive
from roundtable.results.audit import DecisionAudit
from roundtable.results.debate_result import DebateResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from roundtable.client.keywords import (
        ConversationKeywords,
        DebateKeywords,
        ExtendKeywords,
        ForkKeywords,
        ResumeKeywords,
    )
    from roundtable.core.types.base import JsonObject
    from roundtable.core.types.debate import SessionStatus
    from roundtable.core.types.events import RunningCalls

__all__ = ["RoundtableClient", "SessionPage"]

_TRIES: Final = 3


class SessionPage(NamedTuple):
    """One page of a list of sessions."""

    sessions: tuple[SessionSummary, ...]
    """Sessions of this page, newest first."""
    next_cursor: str | None
    """`cursor` of the next page; `None` on the last page."""


@explains_arguments
class RoundtableClient:
    """A client that runs debates and teams on a server. Use it with `async with`, or close it with `aclose`.

    Args:
        base_url: URL of the server, such as `https://debates.example.org`.
        token: Token to send; leave it out for a server on this machine that needs no token.
        client: Your own `httpx.AsyncClient`, used as it is and never closed.
        timeout_s: Seconds to wait for one response that is not a stream.

    Raises:
        ConfigurationError: The URL is not valid, or would send a token over plain http to another machine.

    Every method raises `ServerError` if the server refuses the request or fails, `SessionNotFound` if the user has no
    such session, `APINetworkError` if the server cannot be reached, and `APITimeoutError` if it takes too long.

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
        """Close the connections; idempotent. Sessions on the server continue."""
        await self._connection.aclose()

    async def debate(self, topic: str, **request: Unpack[DebateKeywords]) -> DebateResult:
        """Run a debate on the server, wait for its end and return its result."""
        return await self._wait_for_result(await self.start(topic, **request))

    async def start(self, topic: str, **request: Unpack[DebateKeywords]) -> str:
        """Start a debate on the server and return the id of its session.

        If the response is lost, the request is sent again with the same idempotency key, so only one debate starts.
        """
        return await self._start(path_of("debates"), {"topic": topic, **request})

    async def converse(
        self, *, agents: Sequence[str], messages: str | Sequence[ChatMessage], **request: Unpack[ConversationKeywords]
    ) -> DebateResult:
        """Run a team of the server's agents on a request, wait for the end and return the result.

        Args:
            agents: One to five names of profiles, in speaking order; see `profiles`.
            messages: The request, or a conversation that ends with the request.
            request: See `ConversationKeywords`.
        """
        return await self._wait_for_result(await self.start_conversation(agents=agents, messages=messages, **request))

    async def start_conversation(
        self, *, agents: Sequence[str], messages: str | Sequence[ChatMessage], **request: Unpack[ConversationKeywords]
    ) -> str:
        """Start a team and return the id of its session; see `converse`."""
        conversation = [ChatMessage(role="user", content=messages)] if isinstance(messages, str) else messages
        return await self._start(path_of("conversations"), {"agents": agents, "messages": conversation, **request})

    def watch(self, session_id: str, *, after: int = 0) -> EventStream:
        """Return the events of a session after number `after`, and reconnect as often as needed."""
        return EventStream(self._connection, session_id, after=after)

    async def result(self, session_id: str) -> DebateResult:
        """Return the current result of a session, like `Roundtable.session`."""
        record, events = read_archive(await self.export(session_id, "json"))
        return DebateResult.from_record(Fold(record, events).to_record())

    async def audit(self, session_id: str) -> DecisionAudit:
        """Return what would change the decision of a session, like `DebateResult.audit`."""
        call = ApiRequest("GET", path_of("sessions", session_id, "audit"))
        return DecisionAudit.from_json((await self._connection.ask(call)).body)

    async def arguments(self, session_id: str) -> ArgumentGraph:
        """Return the claims of a session and their references, like `DebateResult.argument_graph`."""
        call = ApiRequest("GET", path_of("sessions", session_id, "arguments"))
        return ArgumentGraph.from_json((await self._connection.ask(call)).body)

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
            words: Only sessions that contain these words; see `Roundtable.search`.
            status: Only sessions in this state.
            mode: Only sessions in this mode.
            limit: Maximum number of sessions on a page.
            cursor: `next_cursor` of the previous page.
        """
        query = {"q": words, "status": status, "mode": mode, "limit": limit, "cursor": cursor}
        return _page(await self._get(path_of("sessions"), query))

    async def export(self, session_id: str, format: str = "md") -> bytes:
        """Return a session as a document: `json` can be imported again; `md`, `html` and others are for reading."""
        call = ApiRequest("GET", path_of("sessions", session_id, "export"), {"format": format}, accept="*/*")
        return (await self._connection.ask(call)).body

    async def pause(self, session_id: str, *, running: RunningCalls = "settle") -> None:
        """Ask a session to pause; `resume` continues it."""
        await self._post(session_id, "pause", {"running": running})

    async def stop(self, session_id: str, *, running: RunningCalls = "cancel") -> None:
        """Ask a session to stop for good."""
        await self._post(session_id, "stop", {"running": running})

    async def resume(self, session_id: str, **request: Unpack[ResumeKeywords]) -> None:
        """Resume a session that was paused or interrupted; `watch` returns its events."""
        await self._post(session_id, "resume", request)

    async def extend(self, session_id: str, **request: Unpack[ExtendKeywords]) -> None:
        """Run more rounds of a session, on a narrower question if one is given; `watch` returns their events."""
        await self._post(session_id, "extend", request)

    async def fork(self, session_id: str, *, at_round: int, **request: Unpack[ForkKeywords]) -> str:
        """Start a session that shares another session's first rounds, and return its id; `watch` returns its events.

        If the response is lost, the request is sent again with the same idempotency key, so only one fork starts.

        Args:
            session_id: Session to fork.
            at_round: Last round that both sessions share; 0 shares only the question.
            request: Options that differ from the original session.
        """
        return await self._start(path_of("sessions", session_id, "fork"), {"at_round": at_round, **request})

    async def approvals(self, session_id: str) -> tuple[OpenApproval, ...]:
        """Return the tool calls of a session that wait for approval, oldest first."""
        return _approvals(await self._get(path_of("sessions", session_id, "approvals")))

    async def decide_approval(
        self, session_id: str, approval_id: str, *, allowed: bool, reason: str = ""
    ) -> tuple[OpenApproval, ...]:
        """Allow or refuse a tool call; return the calls that still wait for approval.

        Args:
            session_id: The session.
            approval_id: `approval_id` of the call.
            allowed: Whether the tool may be called.
            reason: Why the call is refused, at most 400 characters; the agent reads it.

        Raises:
            ServerError: No such call waits for approval (`NOT_FOUND`).
        """
        path = path_of("sessions", session_id, "approvals", approval_id)
        body = _json_of({"allowed": allowed, "reason": reason})
        return _approvals(object_of(await self._connection.ask(ApiRequest("POST", path, body=body))))

    async def synthesize(self, session_id: str, *, by: str | None = None) -> SynthesisResult:
        """Return a synthesis of a session: the stored one, or a new one that one model writes.

        Args:
            session_id: Session to summarise.
            by: Id of the agent whose model writes the synthesis.
        """
        return SynthesisResult.model_validate(await self._post(session_id, "synthesize", {"by": by}))

    async def delete(self, session_id: str) -> None:
        """Delete a session with all its contents."""
        await self._connection.ask(ApiRequest("DELETE", path_of("sessions", session_id)))

    async def agents(self) -> JsonObject:
        """Return the agents and models that can debate on this server."""
        return await self._get(path_of("agents"))

    async def modes(self) -> JsonObject:
        """Return the debate modes of this server."""
        return await self._get(path_of("modes"))

    async def profiles(self) -> JsonObject:
        """Return the profiles that teams of this server can use."""
        return await self._get(path_of("profiles"))

    async def me(self) -> JsonObject:
        """Return the user of this client, as the server sees it, and how much of its limits is left."""
        return await self._get(path_of("me"))

    async def _wait_for_result(self, session_id: str) -> DebateResult:
        async with self.watch(session_id) as events:
            async for _ in events:
                pass
        return await self.result(session_id)

    async def _start(self, path: str, request: Mapping[str, object]) -> str:
        call = ApiRequest("POST", path, body=_json_of(request), idempotency_key=secrets.token_hex(16))
        tries_left = _TRIES
        while True:
            tries_left -= 1
            try:
                return str(object_of(await self._connection.ask(call))["sessionId"])
            except APINetworkError as error:
                if not tries_left or not error.retryable:
                    raise

    async def _post(self, session_id: str, action: str, request: Mapping[str, object]) -> JsonObject:
        body = _json_of({name: value for name, value in request.items() if value is not None})
        return object_of(
            await self._connection.ask(ApiRequest("POST", path_of("sessions", session_id, action), body=body))
        )

    async def _get(self, path: str, query: Mapping[str, str | int | None] | None = None) -> JsonObject:
        return object_of(await self._connection.ask(ApiRequest("GET", path, query)))


def _json_of(request: Mapping[str, object]) -> JsonObject:
    """Convert a request to JSON with camelCase names.

    Raises:
        ConfigurationError: A value has no form in JSON.
    """
    body: JsonObject = {}
    for name, value in request.items():
        try:
            body[to_camel(name)] = to_jsonable_python(_plain(value), exclude_none=True)
        except ValueError as error:
            why = "not valid Unicode" if isinstance(error, UnicodeError) else str(error)
            raise ConfigurationError(f"{to_camel(name)}: the value cannot be sent as JSON: {why}") from None
    return body


def _plain(value: object) -> object:
    return value.to_spec() if isinstance(value, Exit) else value


def _approvals(answer: JsonObject) -> tuple[OpenApproval, ...]:
    waiting = answer["approvals"]
    return tuple(OpenApproval.model_validate(entry) for entry in (waiting if isinstance(waiting, list) else ()))


def _page(answer: JsonObject) -> SessionPage:
    """Parse a page of the list. Some fields of its entries have other names than in `SessionSummary`."""
    names = {"sessionId": "id", "sessionStatus": "status", "agents": "agentIds"}
    entries = answer["sessions"]
    summaries = [
        SessionSummary.model_validate({names.get(name, name): value for name, value in entry.items()})
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict)
    ]
    cursor = answer.get("nextCursor")
    return SessionPage(tuple(summaries), str(cursor) if cursor else None)
