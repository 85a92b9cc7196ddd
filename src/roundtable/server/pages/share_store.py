"""The store of read-only links to sessions: secret tokens that expire and can be revoked."""

from __future__ import annotations

import re
import secrets
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import ValidationError

from roundtable.core.errors import ConfigurationError
from roundtable.core.types.base import Timestamp, Value

if TYPE_CHECKING:
    from pydantic import JsonValue

    from roundtable.core.capabilities import KeyValue
    from roundtable.core.protocols import Clock
    from roundtable.server.state import ServerState

__all__ = ["SHARE_DAYS", "SharedSession", "Shares", "shares_of"]

SHARE_DAYS: Final = 7
"""Days after which a link expires."""

_LIST_S: Final = 366 * 86_400.0
"""Seconds for which the list of a session's links is kept: longer than any link is valid."""
_MOST_DAYS: Final = 365
_BYTES: Final = 32
_TOKEN: Final = re.compile(r"[0-9A-Za-z_-]{43}")
_TENANT: Final = ":shares"


class _Share(Value):
    """A link as it is stored; its key is the digest of its token."""

    tenant: str
    session_id: str
    expires_at: Timestamp


class SharedSession(NamedTuple):
    """The session that a link shows."""

    tenant: str
    """Tenant that the session belongs to."""
    session_id: str
    """Id of the session."""


class Shares:
    """The links of a server, in the key-value store of its sessions. Only digests of their tokens are stored.

    Args:
        values: Key-value store for the links.
        clock: Clock that decides when links expire.
    """

    def __init__(self, values: KeyValue, clock: Clock) -> None:
        self._values = values
        self._clock = clock

    async def create(self, tenant: str, session_id: str, days: int = SHARE_DAYS) -> str:
        """Create a link and return its token, which cannot be read again.

        Args:
            tenant: Tenant of the session.
            session_id: The session to show.
            days: Days until the link expires, up to 365.

        Raises:
            ConfigurationError: The number of days is not valid.
        """
        if not 1 <= days <= _MOST_DAYS:
            raise ConfigurationError(f"a link is valid for 1 to {_MOST_DAYS} days, not {days!r}")
        token = secrets.token_urlsafe(_BYTES)
        digest, expires_at = _digest(token), self._clock.now() + timedelta(days=days)
        share = _Share(tenant=tenant, session_id=session_id, expires_at=expires_at)
        # The list decides which links are active, so that one deletion revokes them all.

        def add(listed: JsonValue) -> JsonValue:
            return {**self._parse_links(listed), digest: expires_at.isoformat()}

        await self._values.update(_list_key(tenant, session_id), add, ttl_s=_LIST_S, tenant=_TENANT)
        stored = share.model_dump(mode="json")
        await self._values.put(f"link/{digest}", stored, ttl_s=days * 86_400.0, tenant=_TENANT)
        return token

    async def find(self, token: str) -> SharedSession | None:
        """Return the session that a token shows; `None` if the token is unknown, expired or revoked."""
        if not _TOKEN.fullmatch(token):
            return None
        digest = _digest(token)
        try:
            share = _Share.model_validate(await self._values.get(f"link/{digest}", tenant=_TENANT))
        except ValidationError:  # nothing is stored under this token
            return None
        listed = self._parse_links(await self._values.get(_list_key(share.tenant, share.session_id), tenant=_TENANT))
        return SharedSession(share.tenant, share.session_id) if digest in listed else None

    async def active(self, tenant: str, session_id: str) -> tuple[datetime, ...]:
        """Return when each active link of a session expires, soonest first."""
        listed = self._parse_links(await self._values.get(_list_key(tenant, session_id), tenant=_TENANT))
        return tuple(sorted(datetime.fromisoformat(expires) for expires in listed.values()))

    async def revoke(self, tenant: str, session_id: str) -> int:
        """Revoke all links of a session, and return how many there were."""
        key = _list_key(tenant, session_id)
        listed = self._parse_links(await self._values.get(key, tenant=_TENANT))
        await self._values.delete(key, tenant=_TENANT)
        for digest in listed:
            await self._values.delete(f"link/{digest}", tenant=_TENANT)
        return len(listed)

    def _parse_links(self, value: JsonValue) -> dict[str, str]:
        """Parse the list of a session's links, without expired links."""
        entries = value.items() if isinstance(value, dict) else ()
        listed = {digest: expires for digest, expires in entries if isinstance(expires, str)}
        now = self._clock.now()
        return {digest: expires for digest, expires in listed.items() if datetime.fromisoformat(expires) > now}


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def _list_key(tenant: str, session_id: str) -> str:
    return f"links/{sha256(f'{tenant}/{session_id}'.encode()).hexdigest()}"


def shares_of(state: ServerState) -> Shares:
    """Return the links of a server."""
    return Shares(state.table.key_value("links"), state.clock)
