"""Logins of browsers: a random number in a cookie, of which only a digest is stored."""

from __future__ import annotations

import hmac
import secrets
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from pydantic import Field, ValidationError

from roundtable.auth import Identity, Unauthorized
from roundtable.types import Timestamp
from roundtable.types.base import Value

if TYPE_CHECKING:
    from roundtable.auth import Authenticator
    from roundtable.protocols import Clock, KeyValue

__all__ = ["LOGIN_S", "Logins", "PageUser"]

LOGIN_S: Final = 12 * 3600
"""Seconds after which a login ends."""

_TENANT: Final = ":pages"  # no user is called so
_BYTES: Final = 32
_LONGEST: Final = 128


class PageUser(Identity):
    """Somebody whose browser showed the cookie of a login."""

    login: str
    """What the login is stored under: the digest of its number."""
    csrf: str = Field(repr=False)
    """What forms and scripts of their pages send along with every change, and nobody else knows."""


class _Login(Value):
    identity: Identity
    expires_at: Timestamp


class Logins:
    """The logins of a server, kept beside its sessions.

    Args:
        values: Where they are kept.
        authenticator: Recognises the tokens that logins begin with, and tells whether these still hold.
        clock: Decides when they end.
    """

    def __init__(self, values: KeyValue, authenticator: Authenticator, clock: Clock) -> None:
        self._values = values
        self._authenticator = authenticator
        self._clock = clock

    async def begin(self, token: str) -> str:
        """Give the number of a new login, to be put into a cookie.

        Raises:
            Unauthorized: Nobody is known by the token.
        """
        identity = await self._authenticator.authenticate(token)
        number = secrets.token_urlsafe(_BYTES)
        ends = self._clock.now() + timedelta(seconds=LOGIN_S)
        login = _Login(identity=identity, expires_at=min(ends, identity.expires_at or ends))
        await self._values.put(_key(_digest(number)), login.model_dump(mode="json"), ttl_s=LOGIN_S, tenant=_TENANT)
        return number

    async def find(self, number: str) -> PageUser:
        """Say whose login this is.

        Raises:
            Unauthorized: There is none, it has ended, or its token no longer holds.
        """
        digest = _digest(number)
        login = await self._held(digest) if len(number) <= _LONGEST else None
        if login is None or not await self._authenticator.still_valid(login.identity):
            raise Unauthorized
        known = {name: getattr(login.identity, name) for name in ("user", "scopes", "token_id")}
        return PageUser(**known, expires_at=login.expires_at, login=digest, csrf=_csrf(number))

    async def holds(self, user: PageUser) -> bool:
        """Tell whether a login goes on."""
        login = await self._held(user.login)
        return login is not None and await self._authenticator.still_valid(login.identity)

    async def end(self, number: str) -> None:
        """End a login; idempotent."""
        await self._values.delete(_key(_digest(number)), tenant=_TENANT)

    async def _held(self, digest: str) -> _Login | None:
        value = await self._values.get(_key(digest), tenant=_TENANT)
        if value is None:
            return None
        try:
            login = _Login.model_validate(value, strict=False)
        except ValidationError:
            return None  # of another version of this library: one logs in anew
        return login if login.expires_at > self._clock.now() else None


def _digest(number: str) -> str:
    return sha256(number.encode("utf-8", "replace")).hexdigest()


def _key(digest: str) -> str:
    return f"login/{digest}"


def _csrf(number: str) -> str:
    """Derive what changes carry along; it tells nothing of the number, and ends with it."""
    return hmac.new(number.encode("utf-8", "replace"), b"csrf", sha256).hexdigest()
