"""Authenticators turn the credential of a caller into an identity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from roundtable.auth.identity import SCOPES, Identity
from roundtable.auth.tokens import TokenStore

if TYPE_CHECKING:
    from roundtable.core.protocols import SleepingClock

__all__ = ["Authenticator", "LocalUser", "TokenAuthenticator", "until_invalid"]

CHECK_S = 60.0


class Authenticator(Protocol):
    """Interface that identifies callers. Write your own authenticator to accept sessions of your web application."""

    async def authenticate(self, credential: str | None) -> Identity:
        """Return the identity behind a credential: the text after `Bearer`, or `None` if none was sent.

        Raises:
            Unauthorized: The credential belongs to no user.
        """

    async def still_valid(self, identity: Identity) -> bool:
        """Check whether an identity is still valid; called repeatedly while a stream is open."""


class TokenAuthenticator:
    """Authenticator that identifies callers by the tokens of a `TokenStore`.

    Args:
        tokens: The stored tokens.
        audience: Name of this server; tokens that were issued for another server are refused.
    """

    def __init__(self, tokens: TokenStore, *, audience: str | None = None) -> None:
        self._tokens = tokens
        self._audience = audience

    async def authenticate(self, credential: str | None) -> Identity:
        """Return the owner of a token. See `Authenticator.authenticate`."""
        return await self._tokens.verify(credential, audience=self._audience)

    async def still_valid(self, identity: Identity) -> bool:
        """Check that the token is neither revoked nor expired."""
        return identity.token_id is not None and await self._tokens.holds(identity.token_id)


class LocalUser:
    """Authenticator that treats every caller as the same user, for a server that only this machine can reach.

    Args:
        user: Name of this user.

    Raises:
        pydantic.ValidationError: The name is not a valid user name.
    """

    def __init__(self, user: str = "default") -> None:
        self._identity = Identity(user=user, scopes=SCOPES)

    async def authenticate(self, credential: str | None) -> Identity:
        """Return the user."""
        return self._identity

    async def still_valid(self, identity: Identity) -> bool:
        """Check whether the identity is the user's."""
        return identity == self._identity


async def until_invalid(
    authenticator: Authenticator, identity: Identity, clock: SleepingClock, *, check_s: float = CHECK_S
) -> None:
    """Wait until an identity is no longer valid. Run it next to an open stream, and end the stream when it returns.

    Args:
        authenticator: Authenticator that returned the identity.
        identity: Identity to check.
        clock: Clock to sleep on.
        check_s: Seconds between two checks. A revocation takes effect within this time, an expiry immediately.
    """
    while await authenticator.still_valid(identity):
        wait_s = check_s
        if identity.expires_at is not None:
            wait_s = min(wait_s, (identity.expires_at - clock.now()).total_seconds())
        await clock.sleep(max(wait_s, 0.001))
