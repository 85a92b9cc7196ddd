"""Authentication for the servers: opaque tokens, scopes, and a protocol for your own authenticator.

Nothing here depends on a web framework; the MCP server and the HTTP server both use an `Authenticator`.

Example:
    >>> import anyio
    >>> from roundtable.storage import MemoryStorage
    >>> async def main() -> str:
    ...     tokens = TokenStore.of(MemoryStorage())
    ...     issued = await tokens.create("ada", scopes=("read", "write"))
    ...     identity = await TokenAuthenticator(tokens).authenticate(issued.secret)
    ...     return identity.tenant
    >>> anyio.run(main)
    'ada'
"""

from __future__ import annotations

from roundtable.auth.authenticators import Authenticator, LocalUser, TokenAuthenticator, until_invalid
from roundtable.auth.identity import SCOPES, Forbidden, Identity, Scope, Unauthorized
from roundtable.auth.tokens import IssuedToken, TokenInfo, TokenStore

__all__ = [
    "SCOPES",
    "Authenticator",
    "Forbidden",
    "Identity",
    "IssuedToken",
    "LocalUser",
    "Scope",
    "TokenAuthenticator",
    "TokenInfo",
    "TokenStore",
    "Unauthorized",
    "until_invalid",
]
