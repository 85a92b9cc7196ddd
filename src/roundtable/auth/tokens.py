"""Opaque tokens: 256 random bits, of which only a digest is stored."""

from __future__ import annotations

import hmac
import math
import secrets
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import TypeAdapter, ValidationError

from roundtable._clock import SystemClock
from roundtable.auth.errors import Unauthorized
from roundtable.auth.identity import SCOPES, Identity, Scope, User
from roundtable.auth.values import values_of
from roundtable.errors import ConfigurationError, StorageError
from roundtable.types import Timestamp
from roundtable.types.base import Value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pydantic import JsonValue

    from roundtable.protocols import Clock, KeyValue, Storage

__all__ = ["DEFAULT_DAYS", "IssuedToken", "TokenInfo", "TokenStore"]

DEFAULT_DAYS: Final = 90
"""Days that a token works, unless it is said otherwise."""
LONGEST_DAYS: Final = 36_500
_TENANT: Final = ":auth"  # no user is called so
_PREFIX: Final = "rt_"
_BYTES: Final = 32
_LONGEST: Final = 512
_ID_CHARS: Final = 16
_KEY: Final = "token/"


class TokenInfo(Value):
    """What is known of a token; not the token."""

    id: str
    """16 hexadecimal digits, to name it by."""
    user: User
    """Whose it is."""
    scopes: tuple[Scope, ...]
    """What it is good for."""
    audience: str | None = None
    """The only server that takes it, such as `mcp`; `None` means any."""
    label: str = ""
    """What it is for, in the words of who made it."""
    created_at: Timestamp
    """When it was made."""
    expires_at: Timestamp | None = None
    """When it stops working; `None` never."""

    def expired(self, now: datetime) -> bool:
        """Tell whether its time is over."""
        return self.expires_at is not None and self.expires_at <= now


class IssuedToken(NamedTuple):
    """A new token: the only time it is seen."""

    secret: str
    """What its user shows. It is stored nowhere."""
    info: TokenInfo
    """What is kept of it."""


class _Kept(TokenInfo):
    digest: str
    """SHA-256 of the secret, in hexadecimal digits."""


_SCOPES: TypeAdapter[tuple[Scope, ...]] = TypeAdapter(tuple[Scope, ...])


class TokenStore:
    """The tokens of a server, kept beside its sessions.

    Args:
        values: Where they are kept.
        clock: Decides when they expire; the machine's when left out.
    """

    def __init__(self, values: KeyValue, *, clock: Clock | None = None) -> None:
        self._values = values
        self._clock: Clock = clock or SystemClock()

    @classmethod
    def of(cls, storage: Storage, *, clock: Clock | None = None) -> TokenStore:
        """Keep tokens in a storage of sessions.

        Raises:
            ConfigurationError: The storage keeps no values beside sessions.
        """
        return cls(values_of(storage, "tokens"), clock=clock)

    @property
    def clock(self) -> Clock:
        """What decides when tokens expire."""
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
        """Make a token.

        Args:
            user: Whose it is; also the tenant whose sessions it opens.
            scopes: What it is good for.
            days: How long it works, up to 36,500; `None` for ever.
            audience: The only server that takes it; any when left out.
            label: What it is for.

        Raises:
            ConfigurationError: A user name, a scope or a time does not fit.
        """
        if days is not None and not (math.isfinite(days) and 0 < days <= LONGEST_DAYS):
            raise ConfigurationError(f"a token works for more than 0 and at most {LONGEST_DAYS:,} days, not {days!r}")
        secret = _PREFIX + secrets.token_urlsafe(_BYTES)
        digest = _digest(secret)
        now = self._clock.now()
        try:
            held = _SCOPES.validate_python(tuple(scopes))
            kept = _Kept(
                id=digest[:_ID_CHARS],
                user=user,
                scopes=tuple(scope for scope in SCOPES if scope in held),
                audience=audience,
                label=label,
                created_at=now,
                expires_at=None if days is None else now + timedelta(days=days),
                digest=digest,
            )
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            said = first["msg"].removeprefix("Value error, ")
            raise ConfigurationError(f"this token cannot be made: {said}, not {first['input']!r}") from None
        if not kept.scopes:
            raise ConfigurationError("a token needs a scope", hint=f"Scopes are {', '.join(SCOPES)}.")
        await self._values.put(_KEY + kept.id, kept.model_dump(mode="json"), tenant=_TENANT)
        return IssuedToken(secret, _info(kept))

    async def list(self, user: str | None = None) -> tuple[TokenInfo, ...]:
        """Give all tokens, or those of a user, oldest first; expired ones too, until they are revoked."""
        found = [_info(_read(value)) for _, value in await self._values.scan(_KEY, tenant=_TENANT)]
        found.sort(key=lambda info: (info.created_at, info.id))
        return tuple(info for info in found if user in {None, info.user})

    async def revoke(self, token_id: str) -> bool:
        """Make a token worthless from now on; tell whether there was one."""
        return await self._values.delete(_KEY + token_id, tenant=_TENANT)

    async def verify(self, secret: str | None, *, audience: str | None = None) -> Identity:
        """Recognise who shows a token.

        Args:
            secret: What was shown; `None` where nothing was.
            audience: The server that asks.

        Raises:
            Unauthorized: It is missing, unknown, expired, revoked, or for another server; which, is not said.
        """
        if secret is None or len(secret) > _LONGEST:
            raise Unauthorized
        digest = _digest(secret)
        kept = await self._find(digest[:_ID_CHARS])
        # What is looked up is a digest, so the time a look-up takes tells nothing of the token.
        if kept is None or not hmac.compare_digest(kept.digest, digest) or not self._holds(kept, audience):
            raise Unauthorized
        return Identity(user=kept.user, scopes=kept.scopes, token_id=kept.id, expires_at=kept.expires_at)

    async def holds(self, token_id: str) -> bool:
        """Tell whether a token is still there and in time."""
        kept = await self._find(token_id)
        return kept is not None and not kept.expired(self._clock.now())

    async def _find(self, token_id: str) -> _Kept | None:
        value = await self._values.get(_KEY + token_id, tenant=_TENANT)
        return None if value is None else _read(value)

    def _holds(self, kept: _Kept, audience: str | None) -> bool:
        return not kept.expired(self._clock.now()) and kept.audience in {None, audience}


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def _info(kept: _Kept) -> TokenInfo:
    return TokenInfo(**{name: getattr(kept, name) for name in TokenInfo.model_fields})


def _read(value: JsonValue) -> _Kept:
    try:
        return _Kept.model_validate(value, strict=False)
    except ValidationError as error:
        raise StorageError("a stored token cannot be read", cause=error) from error
