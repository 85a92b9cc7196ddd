"""Approval of tool calls by the people who use a server: on the page of the session, and over the API."""

from __future__ import annotations

import logging
import secrets
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Final, TypeVar

from anyio import move_on_after
from pydantic import ValidationError

from roundtable.core.errors import ConfigurationError, RoundtableError, StorageError
from roundtable.core.types.chat import OpenApproval
from roundtable.tools.approval import MOST_REASON_CHARS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from pydantic import JsonValue

    from roundtable.core.capabilities import KeyValue
    from roundtable.core.protocols import SleepingClock
    from roundtable.server.state import ServerState
    from roundtable.tools import ToolRequest

__all__ = ["APPROVAL_WAIT_S", "OpenApprovals", "ServerApproval", "approvals_of"]

T = TypeVar("T")

logger: logging.Logger = logging.getLogger("roundtable.server")

APPROVAL_WAIT_S: Final = 600.0
"""Seconds after which a call that nobody has decided about is refused."""

_LONGEST_WAIT_S: Final = 7 * 86_400.0
_POLL_S: Final = 0.25
_RENEW_S: Final = 5.0
_KEPT_S: Final = 20.0
"""Seconds after which a stored question expires if its process has died."""
_DELETE_S: Final = 5.0
_TRIES: Final = 5
_LATE: Final = "nobody answered in time"
_TENANT: Final = ":approvals"


class _StoredApproval(OpenApproval):
    """A question as it is stored, with its answer."""

    allowed: bool | None = None
    reason: str = ""

    @property
    def verdict(self) -> bool | str:
        """The answer: `True`, or the reason for a refusal; an empty text is a refusal without a reason."""
        return True if self.allowed else self.reason


class OpenApprovals:
    """The tool calls that wait for approval, in the key-value store of the sessions.

    Servers with the same storage share these calls: a call of a debate on one server can be approved on another server.

    Args:
        values: Key-value store for the questions.
        clock: Clock that decides when they expire.
    """

    def __init__(self, values: KeyValue, clock: SleepingClock) -> None:
        self._values = values
        self._clock = clock

    def shares(self, other: OpenApprovals) -> bool:
        """Check whether the approvals of two servers belong to the same table."""
        return self._values is other._values

    async def ask(self, request: ToolRequest, wait_s: float) -> bool | str:
        """Store a question and wait for its answer.

        Args:
            request: The call.
            wait_s: Seconds to wait.

        Returns:
            Whether the call is allowed, or the reason why not.

        Raises:
            StorageError: The question cannot be stored or read.
        """
        asked_at = self._clock.now()
        question = _StoredApproval(
            approval_id=secrets.token_hex(8),
            tool_call_id=request.call_id,
            agent_id=request.agent_id,
            round=request.round,
            tool_name=request.tool_name,
            description=request.description,
            arguments=request.arguments,
            asked_at=asked_at,
            expires_at=asked_at + timedelta(seconds=wait_s),
        )
        key = _prefix(request.tenant, request.session_id) + question.approval_id
        try:
            stored = question.model_dump(mode="json")
            await self._retry_failures(lambda: self._values.put(key, stored, ttl_s=_KEPT_S, tenant=_TENANT))
            return await self._answer(key, question)
        finally:
            with move_on_after(_DELETE_S, shield=True):
                await self._delete(key)

    async def _answer(self, key: str, question: _StoredApproval) -> bool | str:
        renewed_at = question.asked_at
        while (now := self._clock.now()) < question.expires_at:
            try:
                stored = await self._values.get(key, tenant=_TENANT)
                if (now - renewed_at).total_seconds() >= _RENEW_S:
                    # Renewed often and expiring soon, so that a question does not stay open after its process dies.
                    stored = await self._values.update(key, _renewed(question), ttl_s=_KEPT_S, tenant=_TENANT)
                    renewed_at = now
            except StorageError as error:
                if not error.retryable:
                    raise
                logger.info("the answer to a question about a tool call is read again: %s", error.message)
            else:
                read = _StoredApproval.model_validate(stored or question)
                if read.allowed is not None:
                    return read.verdict
            await self._clock.sleep(_POLL_S)
        # A decision that arrives at the same moment either counts or is refused as too late.
        closed = await self._retry_failures(
            lambda: self._values.update(key, _closed(question), ttl_s=_KEPT_S, tenant=_TENANT)
        )
        return _StoredApproval.model_validate(closed).verdict

    async def _retry_failures(self, change: Callable[[], Awaitable[T]]) -> T:
        """Make a change; if the storage fails temporarily, try again a few times."""
        for _ in range(_TRIES - 1):
            try:
                return await change()
            except StorageError as error:
                if not error.retryable:
                    raise
                logger.info("a question about a tool call is stored again: %s", error.message)
            await self._clock.sleep(_POLL_S)
        return await change()

    async def _delete(self, key: str) -> None:
        try:
            await self._values.delete(key, tenant=_TENANT)
        except StorageError as error:
            logger.info("a question about a tool call was not deleted, and will expire: %s", error.message)

    async def waiting(self, tenant: str, session_id: str) -> tuple[OpenApproval, ...]:
        """Return the calls of a session that wait for approval, oldest first."""
        questions = await self._open_questions(_prefix(tenant, session_id))
        return tuple(
            OpenApproval.model_validate(question.model_dump(exclude={"allowed", "reason"}))
            for _, question in sorted(questions, key=lambda pair: (pair[1].asked_at, pair[1].approval_id))
        )

    async def waiting_sessions(self, tenant: str, session_ids: Collection[str]) -> frozenset[str]:
        """Return the sessions, among those given, in which a call waits for approval; reads all questions at once."""
        if not session_ids:
            return frozenset()
        prefixes = {_prefix(tenant, session_id): session_id for session_id in session_ids}
        questions = await self._open_questions("")
        return frozenset(
            session_id for prefix, session_id in prefixes.items() if any(key.startswith(prefix) for key, _ in questions)
        )

    async def _open_questions(self, prefix: str) -> list[tuple[str, _StoredApproval]]:
        now = self._clock.now()
        questions: list[tuple[str, _StoredApproval]] = []
        for key, value in await self._values.scan(prefix, tenant=_TENANT):
            try:
                question = _StoredApproval.model_validate(value)
            except ValidationError:
                logger.warning("a stored question about a tool call is damaged or from another version: %s", key)
                continue
            if question.allowed is None and question.expires_at > now:
                questions.append((key, question))
        return questions

    async def decide(self, tenant: str, session_id: str, approval_id: str, *, allowed: bool, reason: str = "") -> None:
        """Allow a call or refuse it; the first answer counts.

        Args:
            tenant: Tenant of the session.
            session_id: The session.
            approval_id: Id of the question.
            allowed: Whether the tool may be called.
            reason: Reason for a refusal, which the agent reads; at most 400 characters are kept.

        Raises:
            RoundtableError: No call with this id waits for approval (`NOT_FOUND`).
        """

        def decided(stored: JsonValue) -> JsonValue:
            if not isinstance(stored, dict) or stored.get("allowed") is not None:
                msg = "this call is not waiting for approval: it is unknown, was already decided, or has expired"
                raise RoundtableError(msg, code="NOT_FOUND")
            return {**stored, "allowed": allowed, "reason": reason.strip()[:MOST_REASON_CHARS]}

        key = _prefix(tenant, session_id) + approval_id
        await self._values.update(key, decided, ttl_s=_KEPT_S, tenant=_TENANT)


def _renewed(question: _StoredApproval) -> Callable[[JsonValue], JsonValue]:
    """Return a function that keeps a stored question, or stores it again if it has expired."""
    return lambda stored: stored if isinstance(stored, dict) else question.model_dump(mode="json")


def _closed(question: _StoredApproval) -> Callable[[JsonValue], JsonValue]:
    """Return a function that refuses a question that is still open."""

    def closed(stored: JsonValue) -> JsonValue:
        read = _StoredApproval.model_validate(stored or question)
        if read.allowed is None:
            read = read.model_copy(update={"allowed": False, "reason": _LATE})
        return read.model_dump(mode="json")

    return closed


class ServerApproval:
    """An approver of tool calls that asks the users of a server, for `Roundtable(approve_tools=...)`.

    `create_app` connects the approver to the server. Until then, every call is refused. To ask only about some tools,
    override `__call__` in a subclass.

    Args:
        wait_s: Seconds after which a call that nobody has decided about is refused, up to a week.

    Raises:
        ConfigurationError: The number of seconds is not above 0, or is more than a week.

    Example:
        >>> from roundtable import Roundtable
        >>> from roundtable.server import ServerApproval, create_app
        >>> app = create_app(Roundtable(storage="memory://", tools=["fact_check"], approve_tools=ServerApproval()))
    """

    def __init__(self, wait_s: float = APPROVAL_WAIT_S) -> None:
        is_number = isinstance(wait_s, int | float) and not isinstance(wait_s, bool)
        if not is_number or not 0 < wait_s <= _LONGEST_WAIT_S:
            raise ConfigurationError(f"wait_s must be a number of seconds above 0, at most a week, not {wait_s!r}")
        self._wait_s = wait_s
        self._open: OpenApprovals | None = None

    def connect(self, approvals: OpenApprovals) -> None:
        """Store the questions in the storage of a server from now on.

        Raises:
            ConfigurationError: A server of another table already uses this approver.
        """
        if self._open is not None and not self._open.shares(approvals):
            msg = "this ServerApproval already belongs to another table"
            raise ConfigurationError(msg, hint="Create one ServerApproval for each table.")
        self._open = approvals

    async def __call__(self, request: ToolRequest) -> bool | str:
        """Ask about a call and wait for the answer; return whether it is allowed, or the reason why not."""
        if self._open is None:
            return "no server runs this debate, so nobody can be asked"
        return await self._open.ask(request, self._wait_s)


def approvals_of(state: ServerState) -> OpenApprovals:
    """Return the tool calls of a server's sessions that wait for approval."""
    return OpenApprovals(state.table.key_value("approvals"), state.clock)


def _prefix(tenant: str, session_id: str) -> str:
    return f"{sha256(f'{tenant}/{session_id}'.encode()).hexdigest()}/"
