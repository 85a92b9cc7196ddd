"""Where a server over HTTP is reached, and by whom; the same for all servers of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from roundtable.auth import Authenticator
    from roundtable.cli.desk import Desk
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

    async def open(self, desk: Desk) -> None:
        """Make sure that whoever comes in can be served, before anybody is let in.

        Raises:
            ConfigurationError: It would be open to everybody or nobody, or the agents named cannot debate.
            StorageError: The sessions cannot be read.
        """
        from roundtable.types import SessionFilter

        self.check()
        if self.asks and not desk.place.lasts:
            msg = "tokens are kept with the sessions, and these are kept in memory, where nobody can make one"
            raise ConfigurationError(msg, hint="Name a file with --db, or add --no-auth.")
        wiring = desk.table.wiring
        try:
            wiring.seats(None)
        except ConfigurationError as error:
            if wiring.options.agents is not None:
                raise
            desk.screen.remark(f"No debate can be begun: {error.message}. {error.hint or ''}".rstrip())
        await wiring.storage.list(SessionFilter(limit=1))

    def tell(self, desk: Desk, url: str, audience: str) -> None:
        """Say where the server is reached, and how callers get a token."""
        desk.screen.remark(f"AI Roundtable answers at {url}")
        if self.asks:
            made = desk.place.command("tokens", "create", "NAME", "--audience", audience)
            desk.screen.remark(f"Make a token for each user: {made}")

    def authenticator(self, storage: Storage, audience: str) -> Authenticator:
        """Give what recognises callers: by the tokens of a storage, or everybody as the user of this machine."""
        from roundtable.auth import LocalUser, TokenAuthenticator, TokenStore

        return TokenAuthenticator(TokenStore.of(storage), audience=audience) if self.asks else LocalUser()
