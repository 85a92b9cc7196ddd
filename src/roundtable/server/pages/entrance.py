"""What logins need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from roundtable.auth.values import values_of
from roundtable.server.pages.logins import Logins
from roundtable.server.pages.people import LoginCookie, PeopleAuthenticator
from roundtable.server.pages.tries import Tries

if TYPE_CHECKING:
    from roundtable.auth import Authenticator
    from roundtable.protocols import Clock, Storage

__all__ = ["Entrance"]


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where browsers come in."""

    people: PeopleAuthenticator
    """Recognises callers, programs and browsers alike."""
    logins: Logins
    """Who is logged in."""
    tries: Tries
    """How often somebody may try."""
    cookie: LoginCookie
    """What browsers keep."""

    @classmethod
    def of(cls, storage: Storage, authenticator: Authenticator, clock: Clock, *, https: bool | None) -> Self:
        """Make it, with logins that are kept beside sessions.

        Raises:
            ConfigurationError: The storage keeps no values beside sessions.
        """
        values = values_of(storage, "logins")
        logins = Logins(values, authenticator, clock)
        people = PeopleAuthenticator(authenticator, logins)
        return cls(people=people, logins=logins, tries=Tries(values, clock), cookie=LoginCookie(https=https))
