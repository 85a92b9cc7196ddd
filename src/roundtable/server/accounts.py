"""What a user has used of their limits: arithmetic alone, over values that are stored as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, Self, TypeAlias

from pydantic import Field

from roundtable.types.base import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

    from roundtable.settings import Settings

__all__ = ["DAY_S", "HOUR_S", "LEASE_S", "Account", "Further", "Limits", "Request", "Standing"]

HOUR_S: Final = 3_600
DAY_S: Final = 86_400
LEASE_S: Final = 30
"""Seconds for which a place is held unless it is renewed."""
_SECOND: Final = 1_000_000

_Most: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)] | None


class Limits(Value):
    """How much each user may do; `None` is no limit.

    Example:
        >>> Limits(conversations_per_hour=20).rounds_per_day
        100
    """

    conversations_per_hour: _Most = 5
    """Conversations and debates that may begin within any 60 minutes."""
    concurrent: _Most = 2
    """Conversations and debates that may run at the same time."""
    rounds_per_day: _Most = 100
    """Rounds that may be asked for within any 24 hours."""
    streams_per_user: _Most = 6
    """Streams of events that may be open at this process, and answers that may wait for the end of a run; as many
    connections as a browser opens to one host."""
    streams_total: _Most = 1_000
    """The same of all users."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Take the limits that the environment says.

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
    """What somebody asks for."""

    id: str
    """Names it, so that it is never counted twice and can be taken back."""
    conversations: int
    """How many begin: 1, or 0 where one goes on."""
    rounds: int
    """How many rounds it may hold."""
    session: str = ""
    """Which session goes on; empty where one begins, until it has an id."""
    through: int = 0
    """Number of the last round of the session that it may hold."""


class Further(NamedTuple):
    """The rounds that a session may hold when it goes on."""

    session: str
    """Which session."""
    held: int
    """How many are complete."""
    through: int
    """Number of the last one that it may hold now."""
    least: int = 0
    """How many count at least: those that are added, or 1 where calls are made once more."""


class Standing(NamedTuple):
    """Where a user stands with one limit."""

    name: str
    """`conversations`, `rounds` or `concurrent`."""
    quota: int
    """The limit."""
    window_s: int | None
    """The time it goes by, in seconds; `None` for what counts while it lasts."""
    spent: tuple[tuple[int, int], ...]
    """What counts now, as microseconds until it no longer does and how much, the first to go first."""

    @property
    def remaining(self) -> int:
        """How much is left."""
        return max(0, self.quota - sum(amount for _, amount in self.spent))

    @property
    def reset_s(self) -> int | None:
        """Seconds until there is more left, rounded up; `None` when nothing is used."""
        return _seconds(self.spent[0][0]) if self.spent else None

    def wait_s(self, amount: int) -> int | None:
        """Give the seconds until an amount fits, rounded up; 0 when it fits now, `None` when it never will.

        Example:
            >>> standing = Standing("rounds", 10, 86_400, ((5_000_000, 4), (9_000_000, 4)))
            >>> [standing.wait_s(amount) for amount in (2, 6, 7, 11)]
            [0, 5, 9, None]
        """
        if amount == 0:
            return 0  # also where more was used than there is, as under a higher limit
        if amount > self.quota:
            return None
        missing = amount - (self.quota - sum(used for _, used in self.spent))
        wait_us = 0
        for leaves_us, used in self.spent:
            if missing <= 0:
                break
            missing -= used
            wait_us = leaves_us
        return _seconds(wait_us)


class _Taken(NamedTuple):
    at_us: int
    id: str
    conversations: int
    rounds: int
    session: str = ""
    through: int = 0

    def left_us(self, window_s: int, now_us: int) -> int:
        """Give the time until it no longer counts; 0 once it does not.

        What was written under a clock that ran a window ahead counts for nothing, rather than until that time comes.
        """
        passed = now_us - self.at_us
        return max(0, window_s * _SECOND - passed) if passed > -window_s * _SECOND else 0


class Account(Value):
    """What one user has used: what they took within a day, and the places they hold.

    Methods give a new account and never change one. Times are microseconds since 1970.

    Example:
        >>> account = Account().taking(Request("a", 1, 3), now_us=0)
        >>> [(one.name, one.remaining) for one in account.standings(Limits(), now_us=0)]
        [('conversations', 4), ('rounds', 97), ('concurrent', 1)]
    """

    taken: tuple[_Taken, ...] = ()
    """What was asked for, oldest first."""
    places: dict[str, int] = Field(default_factory=dict)
    """Who holds a place, and until when."""

    @classmethod
    def read(cls, value: JsonValue) -> Self:
        """Read what was stored; nothing stored is nothing used.

        Raises:
            pydantic.ValidationError: It is no account.
        """
        return cls() if value is None else cls.model_validate(value, strict=False)

    def stored(self) -> JsonValue:
        """Give what is stored of it."""
        return {"taken": [list(one) for one in self.taken], "places": dict(self.places)}

    def standings(self, limits: Limits, *, now_us: int) -> tuple[Standing, ...]:
        """Say where the user stands with each limit there is."""
        begun = ((one.left_us(HOUR_S, now_us), one.conversations) for one in self.taken)
        rounds = ((one.left_us(DAY_S, now_us), one.rounds) for one in self.taken)
        running = ((_held_us(until_us, now_us), 1) for until_us in self.places.values())
        every = (
            ("conversations", limits.conversations_per_hour, HOUR_S, begun),
            ("rounds", limits.rounds_per_day, DAY_S, rounds),
            ("concurrent", limits.concurrent, None, running),
        )
        return tuple(
            Standing(name, quota, window_s, _counting(spent)) for name, quota, window_s, spent in every if quota
        )

    def taking(self, request: Request, *, now_us: int) -> Account:
        """Count a request and give it a place; one that was counted already is not counted again."""
        gone = self.without(request.id, now_us=now_us)
        entry = _Taken(now_us, *request)
        taken = (*gone.taken, entry) if request.conversations or request.rounds else gone.taken
        return Account(taken=taken, places=gone.places).holding(request.id, now_us=now_us)

    def missing(self, further: Further, *, now_us: int) -> int:
        """Give how many rounds of a session that goes on are still to be counted.

        Those that were asked for within the window of rounds are counted already, however often the session stops and
        goes on; of others, those that are not held yet count now.

        Example:
            >>> account = Account().taking(Request("a", 1, 3, "tea", 3), now_us=0)
            >>> [account.missing(Further("tea", 1, through), now_us=0) for through in (3, 5)]
            [0, 2]
            >>> account.missing(Further("elsewhere", 1, 3), now_us=0)
            2
        """
        counted = (one.through for one in self.taken if one.session == further.session and one.left_us(DAY_S, now_us))
        return max(further.through - max(further.held, *counted, 0), further.least)

    def naming(self, request: Request) -> Account:
        """Note which session a request began that was counted, and how far its rounds go."""
        session, through = request.session, request.through
        taken = tuple(
            one._replace(session=session, through=through) if one.id == request.id else one for one in self.taken
        )
        return Account(taken=taken, places=self.places)

    def holding(self, request_id: str, *, now_us: int) -> Account:
        """Hold a place from now on."""
        return Account(taken=self.taken, places={**self.places, request_id: now_us + LEASE_S * _SECOND})

    def leaving(self, request_id: str, *, now_us: int) -> Account:
        """Give a place back; what was counted stays counted."""
        lived = {name: until for name, until in self.places.items() if _held_us(until, now_us) and name != request_id}
        return Account(taken=tuple(one for one in self.taken if one.left_us(DAY_S, now_us)), places=lived)

    def without(self, request_id: str, *, now_us: int) -> Account:
        """Forget a request, as if it had never been made, and what no longer counts."""
        left = self.leaving(request_id, now_us=now_us)
        return Account(taken=tuple(one for one in left.taken if one.id != request_id), places=left.places)


def _held_us(until_us: int, now_us: int) -> int:
    left = until_us - now_us
    # Further ahead than a lease lasts: written under another clock, and nobody would wait for that.
    return left if 0 < left <= 2 * LEASE_S * _SECOND else 0


def _counting(spent: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((left_us, amount) for left_us, amount in spent if left_us and amount))


def _seconds(us: int) -> int:
    return -(-us // _SECOND)
