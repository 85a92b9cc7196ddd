"""Who asks."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator

from roundtable.auth.errors import Forbidden
from roundtable.types import Timestamp
from roundtable.types.base import Value

__all__ = ["SCOPES", "Identity", "Scope", "User"]

Scope: TypeAlias = Literal["read", "write", "admin"]
"""What one may do: look at sessions, run debates, see the figures of all users. Each includes those before it."""

SCOPES: Final[tuple[Scope, ...]] = ("read", "write", "admin")
"""All scopes, the least first."""

_USER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}")


def _user(name: str) -> str:
    if not _USER.fullmatch(name):
        msg = "a user name has 1 to 128 of the characters A-Z a-z 0-9 . _ @ + - and begins with a letter or a digit"
        raise ValueError(msg)
    return name


User: TypeAlias = Annotated[str, AfterValidator(_user)]
"""Name of a user: 1 to 128 of `A-Z a-z 0-9 . _ @ + -`, the first a letter or a digit."""


class Identity(Value):
    """A user who was recognised, with what they may do.

    Example:
        >>> Identity(user="ada", scopes=("write",)).may("read")
        True
    """

    user: User
    """Who it is."""
    scopes: tuple[Scope, ...] = ()
    """What they may do."""
    token_id: str | None = None
    """The token they showed; `None` where none was needed."""
    expires_at: Timestamp | None = None
    """When they have to show another one; `None` never."""

    @property
    def tenant(self) -> str:
        """Whose sessions they see: their own."""
        return self.user

    def may(self, scope: Scope) -> bool:
        """Tell whether a scope is among theirs, or included in one of theirs."""
        return any(SCOPES.index(held) >= SCOPES.index(scope) for held in self.scopes)

    def require(self, scope: Scope) -> None:
        """Let them pass, or not.

        Raises:
            Forbidden: They lack the scope.
        """
        if not self.may(scope):
            msg = f"this needs the scope {scope!r}"
            raise Forbidden(msg, hint=f"Ask for a token with it: roundtable tokens create {self.user} --scope {scope}")
