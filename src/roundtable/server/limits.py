"""How much each user may do, right across processes: counted in the storage, in one transaction each time."""

from __future__ import annotations

import logging
import math
import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Protocol

import anyio
from pydantic import ValidationError

from roundtable.errors import RoundtableError, StorageError
from roundtable.logs import ROOT
from roundtable.server.accounts import DAY_S, LEASE_S, Account, Further, Limits, Request, Standing
from roundtable.storage.text import micros

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from anyio.abc import TaskGroup
    from pydantic import JsonValue

    from roundtable.protocols import KeyValue, SleepingClock

__all__ = ["Admission", "Further", "Limits", "RateLimited", "UserLimits"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.server")

_TENANT: Final = ":limits"  # no user is called so
_KEY: Final = "user/"
_RENEW_S: Final = LEASE_S / 3
_SAY: Final = {
    "conversations": "No more than {quota} conversations per hour",
    "rounds": "No more than {quota} rounds per day",
    "concurrent": "No more than {quota} conversations at the same time",
    "streams": "No more than {quota} open streams",
}


class RateLimited(RoundtableError):
    """A user has used up one of their limits. `headers` belong to the answer; `limit` names the limit.

    Args:
        limit: `conversations`, `rounds`, `concurrent` or `streams`.
        quota: How much it allows.
        window_s: The time it goes by.
        retry_after_s: Seconds until the same request may pass; `None` when that cannot be known.
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
        hint = "Wait as long as Retry-After says." if retry_after_s is not None else "Ask for less at once."
        super().__init__(
            _SAY[limit].format(quota=f"{quota:,}"),
            hint=hint,
            retryable=retry_after_s is not None,
            retry_after_s=retry_after_s,
            details=details,
        )
        self.limit = limit
        self.headers: dict[str, str] = dict(headers or {})


class Running(Protocol):
    """What holds a place: a `DebateHandle`."""

    async def wait(self) -> None:
        """Wait until it is over."""


class UserLimits:
    """The limits of all users of a server. Processes that share a storage share what is counted.

    A request counts for the user who is recognised, with whatever token and from whatever address.

    Args:
        values: Where it is counted.
        limits: How much each user may do.
        clock: Decides what still counts.
        refused: Is told the name of a limit that somebody met.
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
        """Conversations and debates that run at this process."""

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[UserLimits]:
        """Renew the places of what runs; on leaving, wait until places are given back, but not for ever."""
        async with anyio.create_task_group() as group:
            self._group = group
            yield self
            group.cancel_scope.deadline = anyio.current_time() + 2

    async def admit(self, user: str, *, rounds: int, begins: bool = True) -> Admission:
        """Count a request, right before what it asks for begins; one that is refused counts for nothing.

        Args:
            user: Who asks.
            rounds: How many rounds may be held, 0 where none is added.
            begins: Whether a conversation begins; not where one goes on.

        Raises:
            RateLimited: A limit is used up.
            StorageError: The storage does not answer.
        """
        request = Request(secrets.token_hex(8), int(begins), rounds)
        return await self._admit(user, request, lambda _account, _now_us: request)

    async def go_on(self, user: str, further: Further) -> Admission:
        """Count that a session goes on: its place, and those of its rounds that were not counted yet.

        Args:
            user: Who asks.
            further: The rounds that it may hold.

        Raises:
            RateLimited: A limit is used up.
            StorageError: The storage does not answer.
        """
        request = Request(secrets.token_hex(8), 0, 0, further.session, further.through)

        def counted(account: Account, now_us: int) -> Request:
            return request._replace(rounds=account.missing(further, now_us=now_us))

        return await self._admit(user, request, counted)

    async def _admit(self, user: str, asked: Request, counted: Callable[[Account, int], Request]) -> Admission:
        admission = Admission(self, user, asked)
        standings: list[tuple[Standing, ...]] = []

        def take(account: Account, now_us: int) -> Account:
            before, request = account.standings(self.limits, now_us=now_us), counted(account, now_us)
            _refuse(before, request)
            after = account.taking(request, now_us=now_us)
            standings.append(after.standings(self.limits, now_us=now_us))
            return after

        try:
            await self._change(user, take)
        except RateLimited as error:
            self.refused(error.limit)
            raise
        except anyio.get_cancelled_exc_class():
            # A transaction that was handed over is done all the same.
            with anyio.move_on_after(2, shield=True):
                await admission.undo()
            raise
        admission.headers.update(_headers(standings[-1]))
        return admission

    async def check(self, user: str, *, rounds: int) -> None:
        """Refuse a conversation that `admit` would refuse now, and count nothing: before work is put into it.

        Args:
            user: Who asks.
            rounds: How many rounds may be held.

        Raises:
            RateLimited: A limit is used up.
            StorageError: The storage does not answer.
        """
        try:
            _refuse(await self.standings(user), Request("", 1, rounds))
        except RateLimited as error:
            self.refused(error.limit)
            raise

    async def standings(self, user: str) -> tuple[Standing, ...]:
        """Say where a user stands, without counting anything."""
        value = await self._values.get(_KEY + user, tenant=_TENANT)
        return _read(value).standings(self.limits, now_us=micros(self._clock.now()))

    async def forget(self, user: str, request_id: str) -> None:
        """Take a request back, with its place."""
        await self._change(user, lambda account, now_us: account.without(request_id, now_us=now_us))

    def keep(self, user: str, request: Request, running: Running) -> None:
        """Renew a place as long as something runs, then give it back."""
        if self._group is None:
            raise RuntimeError("places are held only while `open` is entered")
        self._group.start_soon(self._keep, user, request, running)

    async def _keep(self, user: str, request: Request, running: Running) -> None:
        self.running += 1
        request_id = request.id
        try:
            if request.conversations and request.session:
                await self._try(user, lambda account, _: account.naming(request))
            async with anyio.create_task_group() as group:
                group.start_soon(self._renew, user, request_id)
                await running.wait()
                group.cancel_scope.cancel()
        finally:
            self.running -= 1
        await self._try(user, lambda account, now_us: account.leaving(request_id, now_us=now_us))

    async def _renew(self, user: str, request_id: str) -> None:
        while True:
            await self._clock.sleep(_RENEW_S)
            await self._try(user, lambda account, now_us: account.holding(request_id, now_us=now_us))

    async def _try(self, user: str, change: Callable[[Account, int], Account]) -> None:
        try:
            await self._change(user, change)
        except Exception as error:  # noqa: BLE001  (whatever a storage raises, conversations of others go on)
            # This one goes on too; the place comes free by itself when its lease ends.
            logger.warning("the place of a conversation of %r could not be noted: %s", user, error)

    async def _change(self, user: str, change: Callable[[Account, int], Account]) -> None:
        def changed(value: JsonValue) -> JsonValue:
            return change(_read(value), micros(self._clock.now())).stored()

        await self._values.update(_KEY + user, changed, ttl_s=DAY_S, tenant=_TENANT)


class Admission:
    """A request that was counted. `undo` or `hold` it; else its place comes free within half a minute."""

    def __init__(self, limits: UserLimits, user: str, request: Request) -> None:
        self._limits = limits
        self._user = user
        self._request = request
        self.headers: dict[str, str] = {}
        """`RateLimit` and `RateLimit-Policy` of the answer; empty where there are no limits."""

    async def undo(self) -> None:
        """Count it for nothing after all: what was asked for could not begin."""
        await self._limits.forget(self._user, self._request.id)

    def hold(self, running: Running, *, session: str = "", through: int = 0) -> None:
        """Keep the place as long as this runs.

        Args:
            running: What runs.
            session: The session that began, so that its rounds are not counted again when it goes on.
            through: Number of the last round that was counted.
        """
        request = self._request._replace(session=session, through=through) if session else self._request
        self._limits.keep(self._user, request, running)


def _refuse(standings: Sequence[Standing], request: Request) -> None:
    """Refuse what does not fit, by the limit that has to be waited for longest."""
    wanted = {"conversations": request.conversations, "rounds": request.rounds, "concurrent": 1}
    waits = [(standing.wait_s(wanted[standing.name]), standing) for standing in standings]
    wait_s, worst = max(waits, key=lambda one: math.inf if one[0] is None else one[0], default=(0, None))
    if worst is not None and wait_s != 0:
        raise RateLimited(
            worst.name, worst.quota, window_s=worst.window_s, retry_after_s=wait_s, headers=_headers(standings)
        )


def _headers(standings: Sequence[Standing]) -> dict[str, str]:
    """Tell limits as draft-ietf-httpapi-ratelimit-headers has it."""
    if not standings:
        return {}
    policies = (
        f'"{one.name}";q={one.quota}' + ("" if one.window_s is None else f";w={one.window_s}") for one in standings
    )
    left = (
        f'"{one.name}";r={one.remaining}' + ("" if one.window_s is None or not one.spent else f";t={one.reset_s}")
        for one in standings
    )
    return {"RateLimit-Policy": ", ".join(policies), "RateLimit": ", ".join(left)}


def _read(value: JsonValue) -> Account:
    try:
        return Account.read(value)
    except ValidationError as error:
        raise StorageError("what a user has used of their limits cannot be read", cause=error) from error
