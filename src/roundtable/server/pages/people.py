"""Who calls: by a token in a header, or by the cookie of a login."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.requests import cookie_parser

from roundtable.auth import Unauthorized
from roundtable.auth.guard import bearer
from roundtable.server.pages.logins import LOGIN_S, PageUser

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.responses import Response

    from roundtable.auth import Authenticator, Identity
    from roundtable.server.pages.logins import Logins

__all__ = ["LoginCookie", "PeopleAuthenticator"]

_MARK: Final = "\0"  # no header holds it, so nobody can pass a token for a login or the other way round


class PeopleAuthenticator:
    """Recognises callers of programs by what the server's authenticator knows, and those of pages by their login.

    Args:
        authenticator: Recognises tokens.
        logins: The logins of browsers.
    """

    def __init__(self, authenticator: Authenticator, logins: Logins) -> None:
        self._authenticator = authenticator
        self._logins = logins

    async def authenticate(self, credential: str | None) -> Identity:
        """Say who shows a token or a cookie. See `Authenticator.authenticate`."""
        if credential is None or not credential.startswith(_MARK):
            return await self._authenticator.authenticate(credential)
        try:
            return await self._logins.find(credential.removeprefix(_MARK))
        except Unauthorized:
            # A server that knows everybody does not stumble over the cookie of its neighbour at another port.
            return await self._authenticator.authenticate(None)

    async def still_valid(self, identity: Identity) -> bool:
        """Tell whether the token, or the login and the token it began with, still hold."""
        if isinstance(identity, PageUser):
            return await self._logins.holds(identity)
        return await self._authenticator.still_valid(identity)


class LoginCookie:
    """The cookie of a login.

    Args:
        https: Whether browsers reach the server over https; by the scheme of each request when `None`.
    """

    def __init__(self, *, https: bool | None = None) -> None:
        self._https = https

    @property
    def credential(self) -> Callable[[Mapping[str, str]], str | None]:
        """Finds what a caller shows: a token in a header before the cookie."""

        def find(headers: Mapping[str, str]) -> str | None:
            token = bearer(headers)
            number = None if token is not None else self.read(headers, headers.get(":scheme", "http"))
            return token if number is None else _MARK + number

        return find

    def read(self, headers: Mapping[str, str], scheme: str) -> str | None:
        """Give the number of a login from the headers of a request."""
        return cookie_parser(headers.get("cookie", "")).get(self._name(scheme)) or None

    def put(self, response: Response, number: str, scheme: str) -> None:
        """Have a browser keep the number of a login."""
        secure = self._is_secure(scheme)
        response.set_cookie(
            self._name(scheme), number, max_age=LOGIN_S, path="/", httponly=True, samesite="strict", secure=secure
        )

    def drop(self, response: Response, scheme: str) -> None:
        """Have a browser forget it."""
        response.delete_cookie(
            self._name(scheme), path="/", httponly=True, samesite="strict", secure=self._is_secure(scheme)
        )

    def _is_secure(self, scheme: str) -> bool:
        return scheme == "https" if self._https is None else self._https

    def _name(self, scheme: str) -> str:
        # A page of a neighbouring host name cannot set a cookie that is called so.
        return "__Host-roundtable" if self._is_secure(scheme) else "roundtable"
