"""Opaque tokens of 256 random bits. Only a digest of each token is stored."""

from __future__ import annotations

import hmac
import math
import secrets
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import TypeAdapter, ValidationError

from roundtable.auth.identity import SCOPES, Identity, Scope, Unauthorized, User
from roundtable.core.base.clock import SystemClock
from roundtable.core.errors import ConfigurationError, StorageError
from roundtable.core.types.base import Timestamp, Value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pydantic import JsonValue

    from roundtable.core.capabilities import KeyValue
    from roundtable.core.protocols import Clock, Storage

__all__ = ["DEFAULT_DAYS", "IssuedToken", "TokenInfo", "TokenStore"]

DEFAULT_DAYS: Final = 90
"""Days for which a token is valid by default."""
LONGEST_DAYS: Final = 36_500
_TENANT: Final = ":auth"  # not a valid user name
_PREFIX: Final = "rt_"
_BYTES: Final = 32
_LONGEST: Final = 512
_ID_CHARS: Final = 16
_KEY: Final = "token/"

_SCOPES: TypeAdapter[tuple[Scope, ...]] = TypeAdapter(tuple[Scope, ...])


class TokenInfo(Value):
    """What is stored about a token, without its secret."""

    id: str
    """Id of the token: 16 hexadecimal digits."""
    user: User
    """Owner of the token."""
    scopes: tuple[Scope, ...]
    """Scopes that it grants."""
    audience: str | None = None
    """The only server that accepts the token, such as `mcp`; `None` means any server."""
    label: str = ""
    """Free text that says what the token is for."""
    created_at: Timestamp
    """When the token was created."""
    expires_at: Timestamp | None = None
    """When the token expires; `None` if it never expires."""

    def expired(self, now: datetime) -> bool:
        """Check whether the token has expired."""
        return self.expires_at is not None and self.expires_at <= now


class IssuedToken(NamedTuple):
    """A new token. This is the only place that shows its secret."""

    secret: str
    """The token that its owner sends. It is stored nowhere."""
    info: TokenInfo
    """What is stored about the token."""


class _StoredToken(TokenInfo):
    digest: str
    """SHA-256 of the secret, in hexadecimal digits."""


class TokenStore:
    """The tokens of a server, in the key-value store of its sessions.

    Args:
        values: Key-value store that holds the tokens.
        clock: Clock that decides when tokens expire; if left out, the system's clock.
    """

    def __init__(self, values: KeyValue, *, clock: Clock | None = None) -> None:
        self._values = values
        self._clock: Clock = clock or SystemClock()

    @classmethod
    def of(cls, storage: Storage, *, clock: Clock | None = None) -> TokenStore:
        """Create a token store in a storage of sessions.

        Raises:
            ConfigurationError: The storage has no key-value store.
        """
        # Imported here because those who only list what a server offers need no storage.
        from roundtable.storage.key_values import key_values_of

        return cls(key_values_of(storage, "tokens"), clock=clock)

    @property
    def clock(self) -> Clock:
        """Clock that decides when tokens expire."""
        return self._clock

    async def create(
        self,
        user: str,
        *,
        scopes: Sequence[Scope] = ("read", "write"),
        days: float | None = DEFAULT_DAYS,
        audience: str | None = None,
        label: str = "",
    ) -> IssuedToken:
        """Create a token.

        Args:
            user: Owner of the token; also the tenant whose sessions the token gives access to.
            scopes: Scopes that the token grants.
            days: Days until the token expires, up to 36,500; with `None`, it never expires.
            audience: The only server that accepts the token; if left out, any server.
            label: Free text that says what the token is for.

        Raises:
            ConfigurationError: The user name, a scope or the number of days is not valid.
        """
        if days is not None and not (math.isfinite(days) and 0 < days <= LONGEST_DAYS):
            raise ConfigurationError(
                f"a token is valid for more than 0 and at most {LONGEST_DAYS:,} days, not {days!r}"
            )
        secret = _PREFIX + secrets.token_urlsafe(_BYTES)
        digest = _digest(secret)
        now = self._clock.now()
        try:
            granted = _SCOPES.validate_python(tuple(scopes))
            stored = _StoredToken(
                id=digest[:_ID_CHARS],
                user=user,
                scopes=tuple(scope for scope in SCOPES if scope in granted),
                audience=audience,
                label=label,
                created_at=now,
                expires_at=None if days is None else now + timedelta(days=days),
                digest=digest,
            )
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            message = first["msg"].removeprefix("Value error, ")
            raise ConfigurationError(f"cannot create this token: {message}, not {first['input']!r}") from None
        if not stored.scopes:
            raise ConfigurationError("a token needs at least one scope", hint=f"Scopes are {', '.join(SCOPES)}.")
        await self._values.put(_KEY + stored.id, stored.model_dump(mode="json"), tenant=_TENANT)
        return IssuedToken(secret, _info(stored))

    async def list(self, user: str | None = None) -> tuple[TokenInfo, ...]:
        """Return all tokens, or the tokens of one user, oldest first. Expired tokens are listed until revoked."""
        tokens = [_info(_read(value)) for _, value in await self._values.scan(_KEY, tenant=_TENANT)]
        tokens.sort(key=lambda info: (info.created_at, info.id))
        return tuple(info for info in tokens if user in {None, info.user})

    async def revoke(self, token_id: str) -> bool:
        """Revoke a token; return whether it existed."""
        return await self._values.delete(_KEY + token_id, tenant=_TENANT)

    async def verify(self, secret: str | None, *, audience: str | None = None) -> Identity:
        """Return the identity of the owner of a token.

        Args:
            secret: The token that the caller sent; `None` if the caller sent none.
            audience: Name of the server that checks the token.

        Raises:
            Unauthorized: The token is missing, unknown, expired, revoked, or for another server. The error does not say
                which of these is the case.
        """
        if secret is None or len(secret) > _LONGEST:
            raise Unauthorized
        digest = _digest(secret)
        stored = await self._find(digest[:_ID_CHARS])
        # The lookup uses a digest, so its duration reveals nothing about the token.
        if stored is None or not hmac.compare_digest(stored.digest, digest) or not self._is_valid(stored, audience):
            raise Unauthorized
        return Identity(user=stored.user, scopes=stored.scopes, token_id=stored.id, expires_at=stored.expires_at)

    async def holds(self, token_id: str) -> bool:
        """Check whether a token exists and has not expired."""
        stored = await self._find(token_id)
        return stored is not None and not stored.expired(self._clock.now())

    async def _find(self, token_id: str) -> _StoredToken | None:
        value = await self._values.get(_KEY + token_id, tenant=_TENANT)
        return None if value is None else _read(value)

    def _is_valid(self, stored: _StoredToken, audience: str | None) -> bool:
        return not stored.expired(self._clock.now()) and stored.audience in {None, audience}


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def _info(stored: _StoredToken) -> TokenInfo:
    return TokenInfo(**{name: getattr(stored, name) for name in TokenInfo.model_fields})


def _read(value: JsonValue) -> _StoredToken:
    try:
        return _StoredToken.model_validate(value, strict=False)
    except ValidationError as error:
        raise StorageError("a stored token cannot be read", cause=error) from error
