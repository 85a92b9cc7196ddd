"""The client without `await`, for scripts and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, Unpack

from roundtable._portal import shared_portal
from roundtable.client.client import RoundtableClient

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from roundtable._portal import Portal
    from roundtable.client.client import ConversationRequest, DebateRequest, ForkRequest, GoOnRequest, SessionPage
    from roundtable.client.streams import EventStream
    from roundtable.result import DebateResult
    from roundtable.types import ChatMessage, Event, JsonObject, RunningCalls, SessionStatus, SynthesisResult

__all__ = ["SyncEventStream", "SyncRoundtableClient"]


class SyncEventStream:
    """`EventStream` without `await`; made by `SyncRoundtableClient.watch`."""

    def __init__(self, stream: EventStream, portal: Portal) -> None:
        self._stream = stream
        self._portal = portal

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self._stream.session_id

    @property
    def last_seq(self) -> int:
        """Number of the last durable event that was given."""
        return self._stream.last_seq

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        event = self._portal.call(self._next)
        if event is None:
            raise StopIteration
        return event

    def close(self) -> None:
        """Stop following; idempotent. The session goes on."""
        self._portal.call(self._stream.aclose)

    async def _next(self) -> Event | None:
        return await anext(self._stream, None)


class SyncRoundtableClient:
    """`RoundtableClient` without `await`; see there for arguments, results and errors.

    Example:
        ```python
        with SyncRoundtableClient("http://127.0.0.1:8000") as client:
            print(client.debate("Tea or coffee?", rounds=1).answer)
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
        self._portal = shared_portal()
        self._client = RoundtableClient(base_url, token=token, client=client, timeout_s=timeout_s)

    def __repr__(self) -> str:
        return f"Sync{self._client!r}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; idempotent. Stands for `aclose`."""
        self._portal.call(self._client.aclose)

    def debate(self, topic: str, **request: Unpack[DebateRequest]) -> DebateResult:
        """Hold a debate at the server, wait for its end and give its result."""
        return self._portal.call(lambda: self._client.debate(topic, **request))

    def start(self, topic: str, **request: Unpack[DebateRequest]) -> str:
        """Begin a debate at the server, and give the id of its session."""
        return self._portal.call(lambda: self._client.start(topic, **request))

    def converse(
        self, *, agents: Sequence[str], messages: str | Sequence[ChatMessage], **request: Unpack[ConversationRequest]
    ) -> DebateResult:
        """Have a team of the server's agents work on a request, wait for its end and give the result."""
        return self._portal.call(lambda: self._client.converse(agents=agents, messages=messages, **request))

    def start_conversation(
        self, *, agents: Sequence[str], messages: str | Sequence[ChatMessage], **request: Unpack[ConversationRequest]
    ) -> str:
        """Have a team begin, and give the id of its session."""
        return self._portal.call(lambda: self._client.start_conversation(agents=agents, messages=messages, **request))

    def watch(self, session_id: str, *, after: int = 0) -> SyncEventStream:
        """Follow a session from the event after number `after`, over as many connections as it takes."""
        return SyncEventStream(self._client.watch(session_id, after=after), self._portal)

    def result(self, session_id: str) -> DebateResult:
        """Give the result of a session as far as it is."""
        return self._portal.call(lambda: self._client.result(session_id))

    def sessions(
        self,
        *,
        words: str | None = None,
        status: SessionStatus | None = None,
        mode: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> SessionPage:
        """List sessions, newest first."""
        client = self._client
        return self._portal.call(
            lambda: client.sessions(words=words, status=status, mode=mode, limit=limit, cursor=cursor)
        )

    def export(self, session_id: str, format: str = "md") -> bytes:
        """Give a session as a document."""
        return self._portal.call(lambda: self._client.export(session_id, format))

    def pause(self, session_id: str, *, running: RunningCalls = "settle") -> None:
        """Ask a session to pause."""
        self._portal.call(lambda: self._client.pause(session_id, running=running))

    def stop(self, session_id: str, *, running: RunningCalls = "cancel") -> None:
        """Ask a session to stop for good."""
        self._portal.call(lambda: self._client.stop(session_id, running=running))

    def resume(self, session_id: str, **request: Unpack[GoOnRequest]) -> None:
        """Have the server go on with a session that was paused or interrupted."""
        self._portal.call(lambda: self._client.resume(session_id, **request))

    def extend(
        self, session_id: str, *, rounds: int = 1, focus_question: str | None = None, **request: Unpack[GoOnRequest]
    ) -> None:
        """Have a session go on for more rounds, on a narrower question if one is given."""
        client = self._client
        self._portal.call(lambda: client.extend(session_id, rounds=rounds, focus_question=focus_question, **request))

    def fork(self, session_id: str, *, at_round: int, **request: Unpack[ForkRequest]) -> str:
        """Begin a session that shares the past of another, and give its id."""
        return self._portal.call(lambda: self._client.fork(session_id, at_round=at_round, **request))

    def synthesize(self, session_id: str, *, by: str | None = None) -> SynthesisResult:
        """Have one model put a session together, or give what one wrote before."""
        return self._portal.call(lambda: self._client.synthesize(session_id, by=by))

    def delete(self, session_id: str) -> None:
        """Remove a session and all that was said in it."""
        self._portal.call(lambda: self._client.delete(session_id))

    def agents(self) -> JsonObject:
        """Say who may be asked to debate or to work in a team."""
        return self._portal.call(self._client.agents)

    def modes(self) -> JsonObject:
        """Say which debate modes there are."""
        return self._portal.call(self._client.modes)

    def profiles(self) -> JsonObject:
        """Say whom teams can be made of."""
        return self._portal.call(self._client.profiles)

    def me(self) -> JsonObject:
        """Say who the server takes this client for, and what is left of its limits."""
        return self._portal.call(self._client.me)
