"""Usage of a user's limits: pure arithmetic on values that are stored as JSON.

While a conversation or debate runs, it occupies one of its user's slots; `Limits.concurrent` is the number of slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, Self, TypeAlias

from pydantic import Field

from roundtable.core.types.base import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

    from roundtable.settings import Settings

__all__ = ["DAY_S", "HOUR_S", "LEASE_S", "Account", "Further", "LimitUsage", "Limits", "Request"]


HOUR_S: Final = 3_600
DAY_S: Final = 86_400
LEASE_S: Final = 30
"""Seconds until a slot becomes free unless it is renewed."""
_SECOND: Final = 1_000_000

_Limit: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)] | None


class Limits(Value):
    """How much each user may do; `None` means no limit.

    Example:
        >>> Limits(conversations_per_hour=20).rounds_per_day
        100
    """

    conversations_per_hour: _Limit = 5
    """Conversations and debates that may start within any 60 minutes."""
    concurrent: _Limit = 2
    """Conversations and debates that may run at the same time."""
    rounds_per_day: _Limit = 100
    """Rounds that may be requested within any 24 hours."""
    streams_per_user: _Limit = 6
    """Connections that may be open to this process at the same time: event streams, and responses that wait for the end
    of a run. The default is the number of connections that a browser opens to one host."""
    streams_total: _Limit = 1_000
    """Such connections of all users together."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Create limits from the settings of the environment.

        Example:
            >>> from roundtable.settings import Settings
            >>> Limits.from_settings(Settings.from_env({"ROUNDTABLE_LIMIT_ROUNDS": "none"})).rounds_per_day is None
            True
        """
        return cls(
            conversations_per_hour=settings.limit_conversations,
            concurrent=settings.limit_concurrent,
            rounds_per_day=settings.limit_rounds,
            streams_per_user=settings.limit_user_streams,
            streams_total=settings.limit_streams,
        )


class Request(NamedTuple):
    """A request that counts for the limits."""

    id: str
    """Id of the request, so that it is never counted twice and can be removed."""
    conversations: int
    """How many conversations the request starts: 1, or 0 if it continues one."""
    rounds: int
    """How many rounds the request may run."""
    session: str = ""
    """Id of the session that runs; empty for a new session until it has an id."""
    through: int = 0
    """Number of the last round of the session that the request may run."""


class Further(NamedTuple):
    """The rounds that a session may run when it is resumed."""

    session: str
    """Id of the session."""
    held: int
    """How many rounds are complete."""
    through: int
    """Number of the last round that the session may run now."""
    least: int = 0
    """Minimum number of rounds to count: the number of added rounds, or 1 if calls are made again."""


class LimitUsage(NamedTuple):
    """How much a user has used of one limit."""

    name: str
    """`conversations`, `rounds` or `concurrent`."""
    quota: int
    """The limit."""
    window_s: int | None
    """Time window of the limit in seconds; `None` if it counts only what runs now."""
    spent: tuple[tuple[int, int], ...]
    """Pairs in order of expiry: microseconds until an amount no longer counts, and the amount."""

    @property
    def remaining(self) -> int:
        """How much is left."""
        return max(0, self.quota - sum(amount for _, amount in self.spent))

    @property
    def reset_s(self) -> int | None:
        """Seconds until more is available, rounded up; `None` if nothing is used."""
        return _seconds(self.spent[0][0]) if self.spent else None

    def wait_s(self, amount: int) -> int | None:
        """Return the seconds until an amount fits, rounded up; 0 if it fits now, `None` if it can never fit.

        Example:
            >>> standing = LimitUsage("rounds", 10, 86_400, ((5_000_000, 4), (9_000_000, 4)))
            >>> [standing.wait_s(amount) for amount in (2, 6, 7, 11)]
            [0, 5, 9, None]
        """
        if amount == 0:
            return 0  # even if more is used than allowed, for example because the limit was lowered
        if amount > self.quota:
            return None
        missing = amount - (self.quota - sum(used for _, used in self.spent))
        wait_us = 0
        for expires_us, used in self.spent:
            if missing <= 0:
                break
            missing -= used
            wait_us = expires_us
        return _seconds(wait_us)


class _Taken(NamedTuple):
    at_us: int
    id: str
    conversations: int
    rounds: int
    session: str = ""
    through: int = 0

    def remaining_us(self, window_s: int, now_us: int) -> int:
        """Return the microseconds until the entry no longer counts; 0 if it already does not count.

        An entry whose time is more than a window in the future, because of a wrong clock, does not count at all.
        """
        age_us = now_us - self.at_us
        return max(0, window_s * _SECOND - age_us) if age_us > -window_s * _SECOND else 0


class Account(Value):
    """Usage of one user: their requests within a day, and the slots that their runs occupy.

    Accounts are immutable: methods return a new account. Times are microseconds since 1970.

    Example:
        >>> account = Account().with_request(Request("a", 1, 3), now_us=0)
        >>> [(limit.name, limit.remaining) for limit in account.standings(Limits(), now_us=0)]
        [('conversations', 4), ('rounds', 97), ('concurrent', 1)]
    """

    taken: tuple[_Taken, ...] = ()
    """Counted requests, oldest first."""
    places: dict[str, int] = Field(default_factory=dict)
    """Ids of requests that occupy a slot, with the time when the slot expires."""

    @classmethod
    def read(cls, value: JsonValue) -> Self:
        """Parse a stored account; `None` is an empty account.

        Raises:
            pydantic.ValidationError: The value is not an account.
        """
        return cls() if value is None else cls.model_validate(value, strict=False)

    def stored(self) -> JsonValue:
        """Return the account as JSON to store."""
        return {"taken": [list(entry) for entry in self.taken], "places": dict(self.places)}

    def standings(self, limits: Limits, *, now_us: int) -> tuple[LimitUsage, ...]:
        """Return the usage of each configured limit."""
        started = ((entry.remaining_us(HOUR_S, now_us), entry.conversations) for entry in self.taken)
        rounds = ((entry.remaining_us(DAY_S, now_us), entry.rounds) for entry in self.taken)
        running = ((_lease_left_us(until_us, now_us), 1) for until_us in self.places.values())
        usages = (
            ("conversations", limits.conversations_per_hour, HOUR_S, started),
            ("rounds", limits.rounds_per_day, DAY_S, rounds),
            ("concurrent", limits.concurrent, None, running),
        )
        return tuple(
            LimitUsage(name, quota, window_s, _by_expiry(spent)) for name, quota, window_s, spent in usages if quota
        )

    def with_request(self, request: Request, *, now_us: int) -> Account:
        """Count a request and give it a slot. A request that was counted before is counted only once."""
        cleared = self.without_request(request.id, now_us=now_us)
        entry = _Taken(now_us, *request)
        taken = (*cleared.taken, entry) if request.conversations or request.rounds else cleared.taken
        return Account(taken=taken, places=cleared.places).with_slot(request.id, now_us=now_us)

    def missing(self, further: Further, *, now_us: int) -> int:
        """Return how many rounds of a resumed session must still be counted.

        Rounds that were requested within the last day are already counted, no matter how often the session stops and is
        resumed. All other rounds count now, unless they are complete.

        Example:
            >>> account = Account().with_request(Request("a", 1, 3, "tea", 3), now_us=0)
            >>> [account.missing(Further("tea", 1, through), now_us=0) for through in (3, 5)]
            [0, 2]
            >>> account.missing(Further("elsewhere", 1, 3), now_us=0)
            2
        """
        counted = (
            entry.through
            for entry in self.taken
            if entry.session == further.session and entry.remaining_us(DAY_S, now_us)
        )
        return max(further.through - max(further.held, *counted, 0), further.least)

    def with_session(self, request: Request) -> Account:
        """Add the id of the session that a counted request started, and the number of its last round."""
        session, through = request.session, request.through
        taken = tuple(
            entry._replace(session=session, through=through) if entry.id == request.id else entry
            for entry in self.taken
        )
        return Account(taken=taken, places=self.places)

    def with_slot(self, request_id: str, *, now_us: int) -> Account:
        """Occupy a slot for a request, or renew its slot."""
        return Account(taken=self.taken, places={**self.places, request_id: now_us + LEASE_S * _SECOND})

    def without_slot(self, request_id: str, *, now_us: int) -> Account:
        """Release the slot of a request; the request itself still counts."""
        places = {
            name: until for name, until in self.places.items() if _lease_left_us(until, now_us) and name != request_id
        }
        return Account(taken=tuple(entry for entry in self.taken if entry.remaining_us(DAY_S, now_us)), places=places)

    def without_request(self, request_id: str, *, now_us: int) -> Account:
        """Remove a request as if it had never been made, and all entries that no longer count."""
        current = self.without_slot(request_id, now_us=now_us)
        return Account(taken=tuple(entry for entry in current.taken if entry.id != request_id), places=current.places)


def _lease_left_us(until_us: int, now_us: int) -> int:
    left_us = until_us - now_us
    # A lease that ends much later than possible comes from a wrong clock; waiting for its end would take too long.
    return left_us if 0 < left_us <= 2 * LEASE_S * _SECOND else 0


def _by_expiry(spent: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((left_us, amount) for left_us, amount in spent if left_us and amount))


def _seconds(us: int) -> int:
    return -(-us // _SECOND)
