"""Identities and scopes of callers, and the errors for callers without a valid identity or scope."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from pydantic import AfterValidator

from roundtable.core.errors import RoundtableError, StorageError
from roundtable.core.types.base import Timestamp, Value

__all__ = ["SCOPES", "Forbidden", "Identity", "Scope", "Unauthorized", "User", "public_error"]

SCOPES: Final[tuple[Scope, ...]] = ("read", "write", "admin")
"""All scopes, from least to most permissive."""

_USER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}")


class Unauthorized(RoundtableError):
    """The credential is not valid. The caller does not learn whether it is missing, wrong, expired or revoked."""

    default_message = "Authentication required"
    default_code = "UNAUTHORIZED"
    default_hint: ClassVar[str | None] = "Send a valid token: `Authorization: Bearer rt_...`."


class Forbidden(RoundtableError):
    """The caller is known, but may not do this."""

    default_message = "Not allowed"
    default_code = "FORBIDDEN"
    default_hint: ClassVar[str | None] = "Use a token with the scope that this request needs."


def public_error(error: RoundtableError) -> RoundtableError:
    """Return an error without details of the server's machine: the message of a storage may name files.

    Example:
        >>> from roundtable.errors import StorageError
        >>> public_error(StorageError("'/srv/debates.db' is locked", retryable=True)).message
        'The storage failed'
    """
    if not isinstance(error, StorageError):
        return error
    hint = "Try again, or ask the operator of the server: its log says what happened."
    public = StorageError(retryable=error.retryable, hint=hint, retry_after_s=error.retry_after_s)
    public.session_id = error.session_id
    return public


Scope: TypeAlias = Literal["read", "write", "admin"]
"""A permission: `read` to read sessions, `write` to run debates, `admin` to see the metrics of all users. Each scope
includes the scopes before it."""


def _user(name: str) -> str:
    if not _USER.fullmatch(name):
        msg = "a user name has 1 to 128 of the characters A-Z a-z 0-9 . _ @ + - and begins with a letter or a digit"
        raise ValueError(msg)
    return name


User: TypeAlias = Annotated[str, AfterValidator(_user)]
"""Name of a user: 1 to 128 of the characters `A-Z a-z 0-9 . _ @ + -`; the first one is a letter or a digit."""


class Identity(Value):
    """An authenticated user, with the user's scopes.

    Example:
        >>> Identity(user="ada", scopes=("write",)).may("read")
        True
    """

    user: User
    """Name of the user."""
    scopes: tuple[Scope, ...] = ()
    """Scopes of the user."""
    token_id: str | None = None
    """Id of the user's token; `None` if no token was needed."""
    expires_at: Timestamp | None = None
    """When the token expires; `None` if it never expires."""

    @property
    def tenant(self) -> str:
        """Tenant whose sessions the user sees: the user's own."""
        return self.user

    def may(self, scope: Scope) -> bool:
        """Check whether the user has a scope, or another scope that includes it."""
        return any(SCOPES.index(own) >= SCOPES.index(scope) for own in self.scopes)

    def require(self, scope: Scope) -> None:
        """Raise an error unless the user has a scope.

        Raises:
            Forbidden: The user lacks the scope.
        """
        if not self.may(scope):
            msg = f"this request needs a token with the scope {scope!r}"
            raise Forbidden(msg, hint=f"Ask for such a token: roundtable tokens create {self.user} --scope {scope}")
