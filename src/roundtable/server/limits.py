"""Limits per user, counted in the storage across processes.

While a conversation or debate runs, it occupies one of its user's slots; `Limits.concurrent` is the number of slots.
"""

from __future__ import annotations

import logging
import math
import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Protocol

import anyio
from pydantic import ValidationError

from roundtable.core.errors import RoundtableError, StorageError
from roundtable.logs import ROOT
from roundtable.server.quota import DAY_S, LEASE_S, Account, Further, Limits, LimitUsage, Request
from roundtable.storage.rules import to_micros

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from anyio.abc import TaskGroup
    from pydantic import JsonValue

    from roundtable.core.capabilities import KeyValue
    from roundtable.core.protocols import SleepingClock

__all__ = [
    "Admission",
    "Further",
    "Limits",
    "RateLimited",
    "UserLimits",
]


logger: logging.Logger = logging.getLogger(f"{ROOT}.server")

_TENANT: Final = ":limits"  # no user is called so
_KEY: Final = "user/"
_RENEW_S: Final = LEASE_S / 3
_MESSAGES: Final = {
    "conversations": "You may start at most {quota} debates and conversations per hour",
    "rounds": "You may run at most {quota} rounds per day",
    "concurrent": "You may run at most {quota} debates and conversations at the same time",
    "streams": "You may open at most {quota} streams",
}


class RateLimited(RoundtableError):
    """A user has used up one of their limits.

    `limit` is the name of the limit; `headers` are for the response.

    Args:
        limit: `conversations`, `rounds`, `concurrent` or `streams`.
        quota: How much the limit allows.
        window_s: Time window of the limit in seconds.
        retry_after_s: Seconds until the same request may succeed; `None` if unknown.
        headers: `RateLimit` and `RateLimit-Policy`.
    """

    default_message = "Too many requests"
    default_code = "RATE_LIMIT_EXCEEDED"
    default_retryable = True

    def __init__(
        self,
        limit: str,
        quota: int,
        *,
        window_s: int | None = None,
        retry_after_s: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        details: dict[str, JsonValue] = {"limit": limit, "quota": quota}
        if window_s is not None:
            details["windowS"] = window_s
        wait = "Wait as long as Retry-After says" if retry_after_s is not None else "Request less"
        option = "--limit-user-streams" if limit == "streams" else f"--limit-{limit}"
        hint = f"{wait}. The owner of the server can raise the limit with {option}."
        super().__init__(
            _MESSAGES[limit].format(quota=f"{quota:,}"),
            hint=hint,
            retryable=retry_after_s is not None,
            retry_after_s=retry_after_s,
            details=details,
        )
        self.limit = limit
        self.headers: dict[str, str] = dict(headers or {})


class Running(Protocol):
    """A run that occupies a slot until it ends, such as a `DebateHandle`."""

    async def wait(self) -> None:
        """Wait until the run has ended."""


class UserLimits:
    """The limits of all users of a server. Processes that share a storage share the counts.

    A request counts for the authenticated user, no matter which token or address they use.

    Args:
        values: Key-value store for the counts.
        limits: How much each user may do.
        clock: Clock that decides which requests still count.
        refused: Called with the name of a limit when a request exceeds it.
    """

    def __init__(
        self,
        values: KeyValue,
        limits: Limits,
        *,
        clock: SleepingClock,
        refused: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.limits = limits
        self.refused = refused
        self._values = values
        self._clock = clock
        self._group: TaskGroup | None = None
        self.running: int = 0
        """Number of conversations and debates that run in this process."""

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[UserLimits]:
        """Renew the slots of running sessions; on exit, wait up to two seconds until they are released."""
        async with anyio.create_task_group() as group:
            self._group = group
            yield self
            group.cancel_scope.deadline = anyio.current_time() + 2

    async def admit(self, user: str, *, rounds: int, begins: bool = True) -> Admission:
        """Count a request right before its run starts; a refused request is not counted.

        Args:
            user: Who makes the request.
            rounds: How many rounds the request may run; 0 if it adds none.
            begins: Whether the request starts a conversation; false if it continues one.

        Raises:
            RateLimited: A limit is used up.
            StorageError: The storage does not answer.
        """
        request = Request(secrets.token_hex(8), int(begins), rounds)
        return await self._admit(user, request, lambda _account, _now_us: request)

    async def go_on(self, user: str, further: Further) -> Admission:
        """Count a resumed session: it takes a slot, and its rounds count unless they were counted before.

        Args:
            user: Who makes the request.
            further: Rounds that the session may run.

        Raises:
            RateLimited: A limit is used up.
            StorageError: The storage does not answer.
        """
        request = Request(secrets.token_hex(8), 0, 0, further.session, further.through)

        def with_missing_rounds(account: Account, now_us: int) -> Request:
            return request._replace(rounds=account.missing(further, now_us=now_us))

        return await self._admit(user, request, with_missing_rounds)

    async def _admit(self, user: str, template: Request, resolve: Callable[[Account, int], Request]) -> Admission:
        admission = Admission(self, user, template)
        standings: list[tuple[LimitUsage, ...]] = []

        def take(account: Account, now_us: int) -> Account:
            before, request = account.standings(self.limits, now_us=now_us), resolve(account, now_us)
            _check_standings(before, request)
            after = account.with_request(request, now_us=now_us)
            standings.append(after.standings(self.limits, now_us=now_us))
            return after

        try:
            await self._change(user, take)
        except RateLimited as error:
            self.refused(error.limit)
            raise
        except anyio.get_cancelled_exc_class():
            # The storage may still complete a transaction that it has already received.
            with anyio.move_on_after(2, shield=True):
                await admission.undo()
            raise
        admission.headers.update(_headers(standings[-1]))
        return admission

    async def check(self, user: str, *, rounds: int) -> None:
        """Check that `admit` would accept a new conversation now, without counting it.

        Args:
            user: Who makes the request.
            rounds: How many rounds the conversation may run.

        Raises:
            RateLimited: A limit is used up.
            StorageError: The storage does not answer.
        """
        try:
            _check_standings(await self.standings(user), Request("", 1, rounds))
        except RateLimited as error:
            self.refused(error.limit)
            raise

    async def standings(self, user: str) -> tuple[LimitUsage, ...]:
        """Return the state of a user's limits, without counting anything."""
        value = await self._values.get(_KEY + user, tenant=_TENANT)
        return _parse_account(value).standings(self.limits, now_us=to_micros(self._clock.now()))

    async def forget(self, user: str, request_id: str) -> None:
        """Remove a request from the counts, and release its slot."""
        await self._change(user, lambda account, now_us: account.without_request(request_id, now_us=now_us))

    def keep(self, user: str, request: Request, running: Running) -> None:
        """Renew the slot of a request while its run continues, then release the slot."""
        if self._group is None:
            raise RuntimeError("slots can be kept only inside `async with limits.open()`")
        self._group.start_soon(self._keep, user, request, running)

    async def _keep(self, user: str, request: Request, running: Running) -> None:
        self.running += 1
        request_id = request.id
        try:
            if request.conversations and request.session:
                await self._try_change(user, lambda account, _: account.with_session(request))
            async with anyio.create_task_group() as group:
                group.start_soon(self._renew, user, request_id)
                await running.wait()
                group.cancel_scope.cancel()
        finally:
            self.running -= 1
        await self._try_change(user, lambda account, now_us: account.without_slot(request_id, now_us=now_us))

    async def _renew(self, user: str, request_id: str) -> None:
        while True:
            await self._clock.sleep(_RENEW_S)
            await self._try_change(user, lambda account, now_us: account.with_slot(request_id, now_us=now_us))

    async def _try_change(self, user: str, change: Callable[[Account, int], Account]) -> None:
        try:
            await self._change(user, change)
        except Exception as error:  # noqa: BLE001  (whatever a storage raises, other conversations continue)
            # This conversation continues too; its slot becomes free when its lease ends.
            logger.warning("the slot of a conversation of %r could not be stored: %s", user, error)

    async def _change(self, user: str, change: Callable[[Account, int], Account]) -> None:
        def changed(value: JsonValue) -> JsonValue:
            return change(_parse_account(value), to_micros(self._clock.now())).stored()

        await self._values.update(_KEY + user, changed, ttl_s=DAY_S, tenant=_TENANT)


class Admission:
    """A request that was counted. Call `undo` or `hold`; otherwise its slot becomes free within half a minute."""

    def __init__(self, limits: UserLimits, user: str, request: Request) -> None:
        self._limits = limits
        self._user = user
        self._request = request
        self.headers: dict[str, str] = {}
        """`RateLimit` and `RateLimit-Policy` of the response; empty without limits."""

    async def undo(self) -> None:
        """Remove the request from the counts, because its run could not start."""
        await self._limits.forget(self._user, self._request.id)

    def hold(self, running: Running, *, session: str = "", through: int = 0) -> None:
        """Keep the slot until a run has ended.

        Args:
            running: The run that occupies the slot.
            session: Id of the session that started; with it, its rounds are not counted again when it is resumed.
            through: Number of the last round that was counted.
        """
        request = self._request._replace(session=session, through=through) if session else self._request
        self._limits.keep(self._user, request, running)


def _check_standings(standings: Sequence[LimitUsage], request: Request) -> None:
    """Check that a request exceeds no limit; if it exceeds several, the error names the one with the longest wait.

    Raises:
        RateLimited: A limit is used up.
    """
    amounts = {"conversations": request.conversations, "rounds": request.rounds, "concurrent": 1}
    waits = [(standing.wait_s(amounts[standing.name]), standing) for standing in standings]
    wait_s, worst = max(waits, key=lambda wait: math.inf if wait[0] is None else wait[0], default=(0, None))
    if worst is not None and wait_s != 0:
        raise RateLimited(
            worst.name, worst.quota, window_s=worst.window_s, retry_after_s=wait_s, headers=_headers(standings)
        )


def _headers(standings: Sequence[LimitUsage]) -> dict[str, str]:
    """Return the headers of draft-ietf-httpapi-ratelimit-headers."""
    if not standings:
        return {}
    policies = (
        f'"{limit.name}";q={limit.quota}' + ("" if limit.window_s is None else f";w={limit.window_s}")
        for limit in standings
    )
    remaining = (
        f'"{limit.name}";r={limit.remaining}'
        + ("" if limit.window_s is None or not limit.spent else f";t={limit.reset_s}")
        for limit in standings
    )
    return {"RateLimit-Policy": ", ".join(policies), "RateLimit": ", ".join(remaining)}


def _parse_account(value: JsonValue) -> Account:
    try:
        return Account.read(value)
    except ValidationError as error:
        raise StorageError("the stored usage of a user's limits cannot be read", cause=error) from error
