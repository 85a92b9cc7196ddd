"""Approval of tool calls by the people who use a server: on the page of the session, and over the API."""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256
from math import inf
from typing import TYPE_CHECKING, Final

from anyio import CancelScope

from roundtable.auth.identity import values_of
from roundtable.errors import ConfigurationError, RoundtableError
from roundtable.types import OpenApproval

if TYPE_CHECKING:
    from pydantic import JsonValue

    from roundtable.protocols import KeyValue, SleepingClock
    from roundtable.server.state import ServerState
    from roundtable.tools import ToolRequest

__all__ = ["APPROVAL_WAIT_S", "OpenApprovals", "ServerApproval", "approvals_of"]

APPROVAL_WAIT_S: Final = 600.0
"""Seconds after which a call that nobody has decided about is refused."""

_POLL_S: Final = 0.25
_KEPT_S: Final = 60.0
"""Seconds that a question is kept beyond its end, if its process dies before it removes it."""
_MOST_REASON_CHARS: Final = 500
_TENANT: Final = ":approvals"


class _Kept(OpenApproval):
    """A question as it is stored, with its answer."""

    allowed: bool | None = None
    reason: str = ""


class OpenApprovals:
    """The tool calls that wait for approval, in the key-value store of the sessions.

    Servers with the same storage share them: a call of a debate on one server can be approved on another.

    Args:
        values: Key-value store that holds them.
        clock: Clock that decides when they expire.
    """

    def __init__(self, values: KeyValue, clock: SleepingClock) -> None:
        self._values = values
        self._clock = clock

    async def ask(self, request: ToolRequest, wait_s: float) -> bool | str:
        """Store a question and wait for its answer.

        Args:
            request: The call.
            wait_s: Seconds to wait.

        Returns:
            Whether the call is allowed, or the reason why not.
        """
        asked_at = self._clock.now()
        question = _Kept(
            approval_id=secrets.token_hex(8),
            agent_id=request.agent_id,
            round=request.round,
            tool_name=request.tool_name,
            description=request.description,
            arguments=request.arguments,
            asked_at=asked_at,
            expires_at=asked_at + timedelta(seconds=wait_s),
        )
        key = _prefix(request.tenant, request.session_id) + question.approval_id
        await self._values.put(key, question.model_dump(mode="json"), ttl_s=wait_s + _KEPT_S, tenant=_TENANT)
        try:
            return await self._answer(key, question)
        finally:
            with CancelScope(shield=True):
                await self._values.delete(key, tenant=_TENANT)

    async def _answer(self, key: str, question: _Kept) -> bool | str:
        while self._clock.now() < question.expires_at:
            stored = await self._values.get(key, tenant=_TENANT)
            if stored is None:
                return "the question was deleted before somebody answered it"
            kept = _Kept.model_validate(stored)
            if kept.allowed is not None:
                return kept.allowed or kept.reason
            await self._clock.sleep(_POLL_S)
        return "nobody answered in time"

    async def of(self, tenant: str, session_id: str) -> tuple[OpenApproval, ...]:
        """Return the calls of a session that wait for approval, oldest first."""
        stored = await self._values.scan(_prefix(tenant, session_id), tenant=_TENANT)
        kept = [_Kept.model_validate(value) for _, value in stored]
        now = self._clock.now()
        waiting = [question for question in kept if question.allowed is None and question.expires_at > now]
        return tuple(
            OpenApproval.model_validate(question.model_dump(exclude={"allowed", "reason"}))
            for question in sorted(waiting, key=lambda question: (question.asked_at, question.approval_id))
        )

    async def decide(self, tenant: str, session_id: str, approval_id: str, *, allowed: bool, reason: str = "") -> None:
        """Allow a call or refuse it; the first answer counts.

        Args:
            tenant: Tenant of the session.
            session_id: The session.
            approval_id: Id of the question.
            allowed: Whether the tool may be called.
            reason: Why not, for the agent; at most 500 characters are kept.

        Raises:
            RoundtableError: No such call waits for approval (`NOT_FOUND`).
        """
        waiting = {question.approval_id for question in await self.of(tenant, session_id)}
        decided = False

        def answer(stored: JsonValue) -> JsonValue:
            nonlocal decided
            decided = isinstance(stored, dict) and stored.get("allowed") is None
            if not isinstance(stored, dict) or not decided:
                return stored
            return {**stored, "allowed": allowed, "reason": reason.strip()[:_MOST_REASON_CHARS]}

        if approval_id in waiting:
            key = _prefix(tenant, session_id) + approval_id
            await self._values.update(key, answer, ttl_s=_KEPT_S, tenant=_TENANT)
        if not decided:
            raise RoundtableError(
                "no such call waits for approval: it was decided about, or its time is over", code="NOT_FOUND"
            )


class ServerApproval:
    """Asks the people who use a server before each call of a tool, for `Roundtable(approve_tools=...)`.

    `create_app` connects it to the server. A call that runs on no server is refused.

    Args:
        wait_s: Seconds after which a call that nobody has decided about is refused.

    Raises:
        ConfigurationError: The number of seconds is not above 0.

    Example:
        >>> from roundtable import Roundtable
        >>> from roundtable.server import ServerApproval, create_app
        >>> app = create_app(Roundtable(storage="memory://", tools=["fact_check"], approve_tools=ServerApproval()))
    """

    def __init__(self, wait_s: float = APPROVAL_WAIT_S) -> None:
        if isinstance(wait_s, bool) or not isinstance(wait_s, int | float) or not 0 < wait_s < inf:
            raise ConfigurationError(f"wait_s must be a number of seconds above 0, not {wait_s!r}")
        self._wait_s = wait_s
        self._open: OpenApprovals | None = None

    def connect(self, approvals: OpenApprovals) -> None:
        """Store the questions in the storage of a server from now on."""
        self._open = approvals

    async def __call__(self, request: ToolRequest) -> bool | str:
        """Ask about a call and wait for the answer; return whether it is allowed, or the reason why not."""
        if self._open is None:
            return "no server runs this debate, so nobody can be asked"
        return await self._open.ask(request, self._wait_s)


def approvals_of(state: ServerState) -> OpenApprovals:
    """Return the tool calls of a server's sessions that wait for approval."""
    return OpenApprovals(values_of(state.table.wiring.storage, "approvals"), state.clock)


def _prefix(tenant: str, session_id: str) -> str:
    return f"{sha256(f'{tenant}/{session_id}'.encode()).hexdigest()}/"
