"""Call a pure function at other times of the day, week and year: its result must be the same."""

from __future__ import annotations

import datetime as dt
import sys
import time
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from datetime import tzinfo
    from types import ModuleType

__all__ = ["MOMENTS", "clock_at", "same_at_any_time"]

MOMENTS: Final = tuple(
    datetime(2031, 10, 5, 2, 3, 5, tzinfo=UTC) + number * timedelta(days=31, hours=5, minutes=17, seconds=29)
    for number in range(7)
)
"""Seven times: each weekday, seven months of two years, and even and odd days, hours, minutes and seconds."""

_CLOCK: Final = (time.time, time.time_ns, time.localtime, time.gmtime, time.ctime, time.asctime, time.strftime)


class _OtherKind(type):
    """The type of a class that stands for another class; real objects are its instances."""

    real: type

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.real)


def _classes_at(moment: datetime) -> tuple[type, type]:
    """Return stand-ins for `datetime` and `date`, for which it is always the same time."""

    class OtherDate(date, metaclass=_OtherKind):
        real = date

        @classmethod
        def today(cls) -> Self:
            return cls(moment.year, moment.month, moment.day)

    class OtherDatetime(datetime, metaclass=_OtherKind):
        real = datetime

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            now = cls.fromisoformat(moment.isoformat())
            return now.astimezone(tz) if tz else now.replace(tzinfo=None)

        @classmethod
        def utcnow(cls) -> Self:
            return cls.now()

        @classmethod
        def today(cls) -> Self:
            return cls.now()

    return OtherDatetime, OtherDate


def _functions_at(moment: datetime) -> Iterator[tuple[object, object]]:
    """Yield each function of `time` that reads the wall clock, with a function for which it is always the same time."""
    now_s, fields = moment.timestamp(), moment.utctimetuple()
    real_time, real_time_ns, real_localtime, real_gmtime, real_ctime, real_asctime, real_strftime = _CLOCK

    def localtime(seconds: float | None = None) -> time.struct_time:
        return fields if seconds is None else real_localtime(seconds)

    def gmtime(seconds: float | None = None) -> time.struct_time:
        return fields if seconds is None else real_gmtime(seconds)

    def ctime(seconds: float | None = None) -> str:
        return real_asctime(fields) if seconds is None else real_ctime(seconds)

    def asctime(given: time.struct_time = fields) -> str:
        return real_asctime(given)

    def strftime(form: str, given: time.struct_time = fields) -> str:
        return real_strftime(form, given)

    yield real_time, lambda: now_s
    yield real_time_ns, lambda: int(now_s) * 10**9
    yield from (
        (real_localtime, localtime),
        (real_gmtime, gmtime),
        (real_ctime, ctime),
        (real_asctime, asctime),
        (real_strftime, strftime),
    )


def _modules_of(plugin: object) -> Iterator[ModuleType]:
    """Yield the module of a plugin and the other modules of its package, which may have imported the clock by name."""
    name: str = getattr(plugin, "__module__", None) or type(plugin).__module__
    package = name.rpartition(".")[0] or name
    yield from (
        module for key, module in list(sys.modules.items()) if key == name or f"{key}.".startswith(f"{package}.")
    )


@contextmanager
def clock_at(moment: datetime, plugin: object) -> Generator[None]:
    """Stop the wall clock at a time, for the standard library's `time` and `datetime` and the plugin's modules.

    Args:
        moment: The time, in UTC.
        plugin: The function or object that may read the clock.

    Example:
        >>> with clock_at(MOMENTS[0], clock_at):
        ...     time.strftime("%A")
        'Sunday'
    """
    other_datetime, other_date = _classes_at(moment)
    pairs = [*_functions_at(moment), (datetime, other_datetime), (date, other_date)]
    stand_ins = {id(real): other for real, other in pairs}
    with ExitStack() as patched:
        for module in {time, dt, *_modules_of(plugin)}:
            for name, value in list(vars(module).items()):
                if id(value) in stand_ins:
                    setattr(module, name, stand_ins[id(value)])
                    patched.callback(setattr, module, name, value)
        yield


def same_at_any_time(calls: Sequence[Callable[[], object]], plugin: object, what: str) -> None:
    """Check that the results of pure functions are the same at all `MOMENTS`.

    Args:
        calls: The functions.
        plugin: The function or object that may read the clock.
        what: Name of the results in the message.

    Raises:
        AssertionError: A result depends on the wall clock.

    Example:
        >>> same_at_any_time([lambda: 1 + 1], clock_at, "the sum")
    """
    first, *others = MOMENTS
    with clock_at(first, plugin):
        expected = [call() for call in calls]
    for moment in others:
        with clock_at(moment, plugin):
            results = [call() for call in calls]
        for before, after in zip(expected, results, strict=True):
            assert before == after, (
                f"{what} depends on the clock: at {first:%A %Y-%m-%d %H:%M:%S} it is {before!r:.300}, "
                f"at {moment:%A %Y-%m-%d %H:%M:%S} it is {after!r:.300}"
            )
