"""Where a server over HTTP is reached, and by whom; the same for all servers of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from roundtable.auth import Authenticator
    from roundtable.protocols import Storage

__all__ = ["Door"]


class Door(NamedTuple):
    """Where a server over HTTP is reached, and by whom."""

    host: str
    port: int
    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    asks: bool
    """Whether it asks for a token."""

    @property
    def names(self) -> frozenset[str]:
        """Names that may stand in a `Host` header."""
        from roundtable.auth.guard import LOOPBACK

        return frozenset({*LOOPBACK, self.host, *self.hosts})

    def check(self) -> None:
        """Refuse to be open to everybody, or to nobody.

        Raises:
            ConfigurationError: It would be.
        """
        from roundtable.auth.guard import is_this_machine

        if not self.asks and (self.hosts or not is_this_machine(self.host)):
            msg = "--no-auth goes with an address of this machine, and with its own names"
            raise ConfigurationError(msg, hint="Leave out --host and --allow-host, or let it ask for tokens.")
        if not self.hosts and not is_this_machine(self.host):
            msg = "on an address of the network, --allow-host has to say by which name clients call the server"
            raise ConfigurationError(msg, hint=f"Such as --host {self.host} --allow-host debates.example.org")

    def authenticator(self, storage: Storage, audience: str) -> Authenticator:
        """Give what recognises callers: by the tokens of a storage, or everybody as the user of this machine."""
        from roundtable.auth import LocalUser, TokenAuthenticator, TokenStore

        return TokenAuthenticator(TokenStore.of(storage), audience=audience) if self.asks else LocalUser()
