"""The address of an HTTP server and who can call it; shared by `serve` and `mcp --http`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from roundtable.auth import Authenticator
    from roundtable.cli.context import CommandContext
    from roundtable.core.protocols import Storage

__all__ = ["HttpBinding"]


class HttpBinding(NamedTuple):
    """The address of an HTTP server, and who can call it."""

    host: str
    port: int
    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    asks: bool
    """Whether callers need a token."""

    @property
    def names(self) -> frozenset[str]:
        """Host names accepted in a `Host` header."""
        from roundtable.auth.guard import LOOPBACK

        return frozenset({*LOOPBACK, self.host, *self.hosts})

    def check(self) -> None:
        """Check that the server is neither open to everybody nor closed to everybody.

        Raises:
            ConfigurationError: The server would be open or closed to everybody.
        """
        from roundtable.auth.guard import is_this_machine

        if not self.asks and (self.hosts or not is_this_machine(self.host)):
            msg = "--no-auth needs a loopback address, and does not allow --allow-host"
            raise ConfigurationError(msg, hint="Leave out --host and --allow-host, or leave out --no-auth.")
        if not self.hosts and not is_this_machine(self.host):
            msg = f"--host {self.host} needs --allow-host: the host name that clients use to call the server"
            raise ConfigurationError(msg, hint=f"For example: --host {self.host} --allow-host debates.example.org")

    async def open(self, context: CommandContext) -> None:
        """Check that requests can be served, before the server starts.

        Raises:
            ConfigurationError: The server would be open or closed to everybody, or the named agents cannot debate.
            StorageError: The sessions cannot be read.
        """
        from roundtable.core.types.storage import SessionFilter

        self.check()
        if self.asks and not context.place.is_persistent:
            msg = "clients need a token, but a storage in memory cannot keep tokens"
            raise ConfigurationError(msg, hint="Name a file with --db, or add --no-auth.")
        table = context.table
        try:
            table.agents()
        except ConfigurationError as error:
            if table.given_agents is not None:
                raise
            context.screen.write_note(f"Debates cannot start: {error.message}. {error.hint or ''}".rstrip())
        await table.storage.list(SessionFilter(limit=1))

    def show_address(self, context: CommandContext, url: str, audience: str) -> None:
        """Show the address of the server, and how to create tokens for callers."""
        context.screen.write_note(f"AI Roundtable answers at {url}")
        if self.asks:
            command = context.place.command("tokens", "create", "NAME", "--audience", audience)
            context.screen.write_note(f"Create a token for each user: {command}")

    def authenticator(self, storage: Storage, audience: str) -> Authenticator:
        """Return the authenticator: it checks tokens in the storage, or accepts all callers as this machine's user."""
        from roundtable.auth import LocalUser, TokenAuthenticator, TokenStore

        return TokenAuthenticator(TokenStore.of(storage), audience=audience) if self.asks else LocalUser()
