"""The same request twice is one session: keys that callers give, kept for a day."""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import anyio
from pydantic import Field, ValidationError

from roundtable.errors import RoundtableError, StorageError
from roundtable.types import Timestamp
from roundtable.types.base import Value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic import JsonValue

    from roundtable.protocols import KeyValue, SleepingClock

__all__ = ["KEPT_S", "Keys"]

KEPT_S: Final = 86_400
"""Seconds a key is remembered."""
_TENANT: Final = ":requests"  # no user is called so
_CLAIM_S: Final = 60
"""Seconds after which a request that never said what became of it is held to have died."""
_PATIENCE_S: Final = 10.0
_POLL_S: Final = 0.05


class _Claim(Value):
    """What a key stands for."""

    claim: str
    """Who took it."""
    request: str
    """Digest of what was asked for."""
    at: Timestamp
    """When."""
    session_id: str | None = Field(default=None)
    """What came of it; `None` while it is under way."""


class Keys:
    """The keys of all users.

    Args:
        values: Where they are kept.
        clock: Decides how old they are.
        patience_s: Seconds that a second request waits for the first one.
    """

    def __init__(self, values: KeyValue, clock: SleepingClock, *, patience_s: float = _PATIENCE_S) -> None:
        self._values = values
        self._clock = clock
        self._patience_s = patience_s

    async def once(self, user: str, key: str, request: bytes, begin: Callable[[], Awaitable[str]]) -> tuple[str, bool]:
        """Begin something, unless this user's key stands for it already.

        Args:
            user: Who asks.
            key: Their key.
            request: What is asked for; another one under the same key is refused.
            begin: Begins it and gives the id of its session; what it raises frees the key.

        Returns:
            The session, and whether it began now.

        Raises:
            RoundtableError: The key stands for another request (`IDEMPOTENCY_KEY_REUSED`), or the first one is still
                being answered (`IDEMPOTENCY_KEY_IN_USE`).
        """
        name = f"{user}/{sha256(key.encode()).hexdigest()}"
        mine = _Claim(
            claim=secrets.token_hex(8), request=sha256(request).hexdigest(), at=self._clock.now(), session_id=None
        )
        held = await self._claimed(name, mine)
        if held.claim != mine.claim:
            return await self._others(name, mine, held), False
        try:
            session_id = await begin()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._values.delete(name, tenant=_TENANT)
            raise
        done = mine.model_copy(update={"session_id": session_id})
        with anyio.CancelScope(shield=True):
            await self._values.put(name, done.model_dump(mode="json"), ttl_s=KEPT_S, tenant=_TENANT)
        return session_id, True

    async def _claimed(self, name: str, mine: _Claim) -> _Claim:
        def take(value: JsonValue) -> JsonValue:
            held = _read(value)
            return value if held is not None and not self._is_over(held) else mine.model_dump(mode="json")

        found = _read(await self._values.update(name, take, ttl_s=KEPT_S, tenant=_TENANT))
        return found or mine

    def _is_over(self, held: _Claim) -> bool:
        age_s = (self._clock.now() - held.at).total_seconds()
        return age_s > (_CLAIM_S if held.session_id is None else KEPT_S)

    async def _others(self, name: str, mine: _Claim, held: _Claim) -> str:
        if held.request != mine.request:
            msg = "this Idempotency-Key was used for another request"
            raise RoundtableError(msg, code="IDEMPOTENCY_KEY_REUSED", hint="Use a new key for each request.")
        with anyio.move_on_after(self._patience_s):
            while held.session_id is None:
                await anyio.sleep(_POLL_S)
                found = _read(await self._values.get(name, tenant=_TENANT))
                if found is None:
                    break
                held = found
        if held.session_id is None:
            msg = "the first request with this Idempotency-Key is still being answered, or failed just now"
            raise RoundtableError(msg, code="IDEMPOTENCY_KEY_IN_USE", retryable=True, retry_after_s=1)
        return held.session_id


def _read(value: JsonValue) -> _Claim | None:
    if value is None:
        return None
    try:
        return _Claim.model_validate(value, strict=False)
    except ValidationError as error:
        raise StorageError("what an Idempotency-Key stands for cannot be read", cause=error) from error
