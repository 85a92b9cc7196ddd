"""From what a caller shows to who they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from roundtable.auth.identity import SCOPES, Identity
from roundtable.auth.tokens import TokenStore

if TYPE_CHECKING:
    from roundtable.protocols import SleepingClock

__all__ = ["Authenticator", "LocalUser", "TokenAuthenticator", "until_invalid"]

CHECK_S = 60.0


class Authenticator(Protocol):
    """Recognises callers. Write your own to accept the sessions of your web application."""

    async def authenticate(self, credential: str | None) -> Identity:
        """Say who shows this credential: the text behind `Bearer`, or `None` where there was none.

        Raises:
            Unauthorized: Nobody is known by it.
        """

    async def still_valid(self, identity: Identity) -> bool:
        """Tell whether somebody who was recognised may stay; asked while a stream is open."""


class TokenAuthenticator:
    """Recognises the tokens of a `TokenStore`.

    Args:
        tokens: The tokens.
        audience: Name of the server that asks; tokens made for another one are refused.
    """

    def __init__(self, tokens: TokenStore, *, audience: str | None = None) -> None:
        self._tokens = tokens
        self._audience = audience

    async def authenticate(self, credential: str | None) -> Identity:
        """Say whose token this is. See `Authenticator.authenticate`."""
        return await self._tokens.verify(credential, audience=self._audience)

    async def still_valid(self, identity: Identity) -> bool:
        """Tell whether the token was neither revoked nor has expired."""
        return identity.token_id is not None and await self._tokens.holds(identity.token_id)


class LocalUser:
    """Takes every caller for one user: for a server that only this machine can reach.

    Args:
        user: Who that is.

    Raises:
        pydantic.ValidationError: The name is none.
    """

    def __init__(self, user: str = "default") -> None:
        self._identity = Identity(user=user, scopes=SCOPES)

    async def authenticate(self, credential: str | None) -> Identity:
        """Say who is here."""
        return self._identity

    async def still_valid(self, identity: Identity) -> bool:
        """Tell whether this is the user."""
        return identity == self._identity


async def until_invalid(
    authenticator: Authenticator, identity: Identity, clock: SleepingClock, *, check_s: float = CHECK_S
) -> None:
    """Wait as long as somebody may stay; to be run beside an open stream, which ends when this returns.

    Args:
        authenticator: Who recognised them.
        identity: Who they are.
        clock: What is waited on.
        check_s: Seconds between two looks; a revocation takes effect within them, an expiry at its time.
    """
    while await authenticator.still_valid(identity):
        left = check_s
        if identity.expires_at is not None:
            left = min(left, (identity.expires_at - clock.now()).total_seconds())
        await clock.sleep(max(left, 0.001))
