"""The client without `await`, for scripts and notebooks."""

# Written by `tools/twins.py` from the asynchronous classes; change those.

from __future__ import annotations

from typing import TYPE_CHECKING, Self, Unpack

from roundtable.client.client import RoundtableClient
from roundtable.core.base.arguments import explains_arguments
from roundtable.core.base.portal import BlockingIterator, shared_portal
from roundtable.core.types.events import Event

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from roundtable.analysis.arguments import ArgumentGraph
    from roundtable.client.client import SessionPage
    from roundtable.client.keywords import (
        ConversationKeywords,
        DebateKeywords,
        ExtendKeywords,
        ForkKeywords,
        ResumeKeywords,
    )
    from roundtable.client.streams import EventStream
    from roundtable.core.types.base import JsonObject
    from roundtable.core.types.chat import OpenApproval
    from roundtable.core.types.consensus import SynthesisResult
    from roundtable.core.types.debate import SessionStatus
    from roundtable.core.types.events import RunningCalls
    from roundtable.core.types.teams import ChatMessage
    from roundtable.results.audit import DecisionAudit
    from roundtable.results.debate_result import DebateResult

__all__ = ["SyncEventStream", "SyncRoundtableClient"]


class SyncEventStream(BlockingIterator[Event]):
    """`EventStream` without `await`; created by `SyncRoundtableClient.watch`."""

    _source: EventStream

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self._source.session_id

    @property
    def last_seq(self) -> int:
        """Number of the last durable event that was returned."""
        return self._source.last_seq

    def close(self) -> None:
        """Stop watching; idempotent. The session continues."""
        self._portal.call(self._source.aclose)


@explains_arguments
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
        """Close the connections; idempotent. The blocking version of `aclose`."""
        self._portal.call(self._client.aclose)

    def debate(self, topic: str, **request: Unpack[DebateKeywords]) -> DebateResult:
        """Run a debate on the server, wait for its end and return its result."""
        return self._portal.call(lambda: self._client.debate(topic, **request))

    def start(self, topic: str, **request: Unpack[DebateKeywords]) -> str:
        """Start a debate on the server and return the id of its session."""
        return self._portal.call(lambda: self._client.start(topic, **request))

    def converse(
        self, *, agents: Sequence[str], messages: str | Sequence[ChatMessage], **request: Unpack[ConversationKeywords]
    ) -> DebateResult:
        """Run a team of the server's agents on a request, wait for the end and return the result."""
        return self._portal.call(lambda: self._client.converse(agents=agents, messages=messages, **request))

    def start_conversation(
        self, *, agents: Sequence[str], messages: str | Sequence[ChatMessage], **request: Unpack[ConversationKeywords]
    ) -> str:
        """Start a team and return the id of its session; see `converse`."""
        return self._portal.call(lambda: self._client.start_conversation(agents=agents, messages=messages, **request))

    def watch(self, session_id: str, *, after: int = 0) -> SyncEventStream:
        """Return the events of a session after number `after`, and reconnect as often as needed."""
        return SyncEventStream(self._portal.make(lambda: self._client.watch(session_id, after=after)), self._portal)

    def result(self, session_id: str) -> DebateResult:
        """Return the current result of a session, like `Roundtable.session`."""
        return self._portal.call(lambda: self._client.result(session_id))

    def audit(self, session_id: str) -> DecisionAudit:
        """Return what would change the decision of a session, like `DebateResult.audit`."""
        return self._portal.call(lambda: self._client.audit(session_id))

    def arguments(self, session_id: str) -> ArgumentGraph:
        """Return the claims of a session and their references, like `DebateResult.argument_graph`."""
        return self._portal.call(lambda: self._client.arguments(session_id))

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
        return self._portal.call(
            lambda: self._client.sessions(words=words, status=status, mode=mode, limit=limit, cursor=cursor)
        )

    def export(self, session_id: str, format: str = "md") -> bytes:
        """Return a session as a document: `json` can be imported again; `md`, `html` and others are for reading."""
        return self._portal.call(lambda: self._client.export(session_id, format))

    def pause(self, session_id: str, *, running: RunningCalls = "settle") -> None:
        """Ask a session to pause; `resume` continues it."""
        self._portal.call(lambda: self._client.pause(session_id, running=running))

    def stop(self, session_id: str, *, running: RunningCalls = "cancel") -> None:
        """Ask a session to stop for good."""
        self._portal.call(lambda: self._client.stop(session_id, running=running))

    def resume(self, session_id: str, **request: Unpack[ResumeKeywords]) -> None:
        """Resume a session that was paused or interrupted; `watch` returns its events."""
        self._portal.call(lambda: self._client.resume(session_id, **request))

    def extend(self, session_id: str, **request: Unpack[ExtendKeywords]) -> None:
        """Run more rounds of a session, on a narrower question if one is given; `watch` returns their events."""
        self._portal.call(lambda: self._client.extend(session_id, **request))

    def fork(self, session_id: str, *, at_round: int, **request: Unpack[ForkKeywords]) -> str:
        """Start a session that shares another session's first rounds, and return its id; `watch` returns its events."""
        return self._portal.call(lambda: self._client.fork(session_id, at_round=at_round, **request))

    def approvals(self, session_id: str) -> tuple[OpenApproval, ...]:
        """Return the tool calls of a session that wait for approval, oldest first."""
        return self._portal.call(lambda: self._client.approvals(session_id))

    def decide_approval(
        self, session_id: str, approval_id: str, *, allowed: bool, reason: str = ""
    ) -> tuple[OpenApproval, ...]:
        """Allow or refuse a tool call; return the calls that still wait for approval."""
        return self._portal.call(
            lambda: self._client.decide_approval(session_id, approval_id, allowed=allowed, reason=reason)
        )

    def synthesize(self, session_id: str, *, by: str | None = None) -> SynthesisResult:
        """Return a synthesis of a session: the stored one, or a new one that one model writes."""
        return self._portal.call(lambda: self._client.synthesize(session_id, by=by))

    def delete(self, session_id: str) -> None:
        """Delete a session with all its contents."""
        self._portal.call(lambda: self._client.delete(session_id))

    def agents(self) -> JsonObject:
        """Return the agents and models that can debate on this server."""
        return self._portal.call(self._client.agents)

    def modes(self) -> JsonObject:
        """Return the debate modes of this server."""
        return self._portal.call(self._client.modes)

    def profiles(self) -> JsonObject:
        """Return the profiles that teams of this server can use."""
        return self._portal.call(self._client.profiles)

    def me(self) -> JsonObject:
        """Return the user of this client, as the server sees it, and how much of its limits is left."""
        return self._portal.call(self._client.me)
