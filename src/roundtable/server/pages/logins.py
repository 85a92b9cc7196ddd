"""Logins of browsers: cookies, stored logins, and a throttle for failed attempts."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Self

from pydantic import Field, ValidationError
from starlette.requests import cookie_parser

from roundtable.auth import Identity, Unauthorized
from roundtable.auth.guard import bearer
from roundtable.core.types.base import Timestamp, Value
from roundtable.server.addresses import network_of
from roundtable.server.request_context import ROOT_PATH
from roundtable.storage.key_values import key_values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue
    from starlette.responses import Response

    from roundtable.auth import Authenticator
    from roundtable.core.capabilities import KeyValue
    from roundtable.core.protocols import Clock, Storage

__all__ = ["LOGIN_S", "BrowserLogin", "LoginCookie", "LoginThrottle", "Logins", "PageUser", "PeopleAuthenticator"]

FREE: Final = 5
"""Number of attempts after which each further attempt must wait."""
LONGEST_S: Final = 300.0
"""Maximum wait in seconds."""
FORGOTTEN_S: Final = 900.0
"""Seconds after the last counted attempt until all attempts are forgotten."""

_TENANT: Final = ":pages"

LOGIN_S: Final = 12 * 3600
"""Seconds after which a login ends."""

_BYTES: Final = 32
_LONGEST: Final = 128

_LOGIN_PREFIX: Final = "\0"  # headers cannot contain it, so a token never looks like a login


class LoginThrottle:
    """Slows down guessing: after a few attempts, each wait is twice as long; all processes share the counts.

    Args:
        values: Key-value store that counts the attempts.
        clock: Clock that measures the waits.
    """

    def __init__(self, values: KeyValue, clock: Clock) -> None:
        self._values = values
        self._clock = clock

    async def take(self, client: str) -> float:
        """Count an attempt of a client and return the seconds to wait; 0 allows it.

        An attempt that comes too early is not counted.

        Args:
            client: Client address of the request.
        """
        now = self._clock.now().timestamp()
        left_s = 0.0

        def count(value: JsonValue) -> JsonValue:
            nonlocal left_s
            tries, until = _parse_attempts(value)
            left_s = max(0.0, until - now)
            if left_s:
                return value
            tries += 1
            wait_s = min(2.0 ** (tries - FREE), LONGEST_S) if tries >= FREE else 0.0
            return {"tries": min(tries, 64), "until": now + wait_s}

        await self._values.update(_attempt_key(client), count, ttl_s=FORGOTTEN_S, tenant=_TENANT)
        return left_s

    async def forget(self, client: str) -> None:
        """Reset the attempts of a client that has logged in."""
        await self._values.delete(_attempt_key(client), tenant=_TENANT)


def _parse_attempts(value: JsonValue) -> tuple[int, float]:
    match value:
        case {"tries": int(tries), "until": int() | float() as until}:
            return tries, float(until)
        case _:
            return 0, 0.0


def _attempt_key(client: str) -> str:
    return f"tries/{network_of(client)}"


class PageUser(Identity):
    """A user whose browser sent the cookie of a login."""

    login: str
    """Key of the stored login: the digest of its number."""
    csrf: str = Field(repr=False)
    """CSRF token that forms and scripts of this user's pages send with every change."""


class _Login(Value):
    identity: Identity
    expires_at: Timestamp


class Logins:
    """The logins of a server, in the key-value store of its sessions.

    Args:
        values: Key-value store for the logins.
        authenticator: Checks the token of a login, at the start of the login and later.
        clock: Clock that decides when logins expire.
    """

    def __init__(self, values: KeyValue, authenticator: Authenticator, clock: Clock) -> None:
        self._values = values
        self._authenticator = authenticator
        self._clock = clock

    async def begin(self, token: str) -> str:
        """Create a login and return its number for the cookie.

        Raises:
            Unauthorized: The token is not valid.
        """
        identity = await self._authenticator.authenticate(token)
        number = secrets.token_urlsafe(_BYTES)
        ends = self._clock.now() + timedelta(seconds=LOGIN_S)
        login = _Login(identity=identity, expires_at=min(ends, identity.expires_at or ends))
        await self._values.put(
            _login_key(_digest(number)), login.model_dump(mode="json"), ttl_s=LOGIN_S, tenant=_TENANT
        )
        return number

    async def find(self, number: str) -> PageUser:
        """Return the user of a login.

        Raises:
            Unauthorized: The login does not exist, has expired, or its token is no longer valid.
        """
        digest = _digest(number)
        login = await self._load(digest) if len(number) <= _LONGEST else None
        if login is None or not await self._authenticator.still_valid(login.identity):
            raise Unauthorized
        identity = {name: getattr(login.identity, name) for name in ("user", "scopes", "token_id")}
        return PageUser(**identity, expires_at=login.expires_at, login=digest, csrf=_csrf_token(number))

    async def holds(self, user: PageUser) -> bool:
        """Check whether a login is still valid."""
        login = await self._load(user.login)
        return login is not None and await self._authenticator.still_valid(login.identity)

    async def end(self, number: str) -> None:
        """End a login; idempotent."""
        await self._values.delete(_login_key(_digest(number)), tenant=_TENANT)

    async def _load(self, digest: str) -> _Login | None:
        value = await self._values.get(_login_key(digest), tenant=_TENANT)
        if value is None:
            return None
        try:
            login = _Login.model_validate(value, strict=False)
        except ValidationError:
            return None  # stored by another version of this library; the user must log in again
        return login if login.expires_at > self._clock.now() else None


def _digest(number: str) -> str:
    return sha256(number.encode("utf-8", "replace")).hexdigest()


def _login_key(digest: str) -> str:
    return f"login/{digest}"


def _csrf_token(number: str) -> str:
    """Derive the CSRF token of a login. It does not reveal the number, and is valid as long as the login."""
    return hmac.new(number.encode("utf-8", "replace"), b"csrf", sha256).hexdigest()


class PeopleAuthenticator:
    """Identifies programs by the server's authenticator, and browsers by their login.

    Args:
        authenticator: Authenticator for tokens.
        logins: Logins of browsers.
    """

    def __init__(self, authenticator: Authenticator, logins: Logins) -> None:
        self._authenticator = authenticator
        self._logins = logins

    async def authenticate(self, credential: str | None) -> Identity:
        """Return the identity behind a token or a cookie. See `Authenticator.authenticate`."""
        if credential is None or not credential.startswith(_LOGIN_PREFIX):
            return await self._authenticator.authenticate(credential)
        try:
            return await self._logins.find(credential.removeprefix(_LOGIN_PREFIX))
        except Unauthorized:
            # A server without tokens must ignore cookies of other servers on the same host with another port.
            return await self._authenticator.authenticate(None)

    async def still_valid(self, identity: Identity) -> bool:
        """Check whether the token, or the login and its token, are still valid."""
        if isinstance(identity, PageUser):
            return await self._logins.holds(identity)
        return await self._authenticator.still_valid(identity)


class LoginCookie:
    """The cookie of a login.

    Args:
        https: Whether browsers reach the server over https; with `None`, the scheme of each request decides.
    """

    def __init__(self, *, https: bool | None = None) -> None:
        self._https = https

    @property
    def credential(self) -> Callable[[Mapping[str, str]], str | None]:
        """Function that returns the credential of a request: a token in a header, else the cookie."""

        def find(headers: Mapping[str, str]) -> str | None:
            token = bearer(headers)
            number = None if token is not None else self.read(headers, headers.get(":scheme", "http"))
            return token if number is None else _LOGIN_PREFIX + number

        return find

    def read(self, headers: Mapping[str, str], scheme: str) -> str | None:
        """Return the login number in the cookie of a request, if any."""
        return cookie_parser(headers.get("cookie", "")).get(self._name(scheme)) or None

    def put(self, response: Response, number: str, scheme: str) -> None:
        """Set the cookie of a login."""
        secure = self._is_secure(scheme)
        response.set_cookie(
            self._name(scheme),
            number,
            max_age=LOGIN_S,
            path=self._path(scheme),
            httponly=True,
            samesite="strict",
            secure=secure,
        )

    def drop(self, response: Response, scheme: str) -> None:
        """Delete the cookie."""
        response.delete_cookie(
            self._name(scheme),
            path=self._path(scheme),
            httponly=True,
            samesite="strict",
            secure=self._is_secure(scheme),
        )

    def _is_secure(self, scheme: str) -> bool:
        return scheme == "https" if self._https is None else self._https

    def _path(self, scheme: str) -> str:
        # A cookie with the prefix `__Host-` always applies to the whole host, wherever the application is mounted.
        return "/" if self._is_secure(scheme) else ROOT_PATH.get() or "/"

    def _name(self, scheme: str) -> str:
        # Pages of sibling domains cannot set a cookie with this prefix.
        return "__Host-roundtable" if self._is_secure(scheme) else "roundtable"


@dataclass(frozen=True, slots=True)
class BrowserLogin:
    """Login and authentication for browsers and programs."""

    people: PeopleAuthenticator
    """Identifies programs and browsers."""
    logins: Logins
    """Logins of browsers."""
    tries: LoginThrottle
    """Throttle of login attempts."""
    cookie: LoginCookie
    """Cookie of a login."""

    @classmethod
    def of(cls, storage: Storage, authenticator: Authenticator, clock: Clock, *, https: bool | None) -> Self:
        """Create the objects for logins, which are kept in the storage of sessions.

        Raises:
            ConfigurationError: The storage has no key-value store.
        """
        values = key_values_of(storage, "logins")
        logins = Logins(values, authenticator, clock)
        people = PeopleAuthenticator(authenticator, logins)
        return cls(people=people, logins=logins, tries=LoginThrottle(values, clock), cookie=LoginCookie(https=https))
