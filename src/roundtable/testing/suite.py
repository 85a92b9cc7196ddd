"""The base of all suites: tests run on asyncio and trio, and no test can be removed unnoticed."""

from __future__ import annotations

import contextvars
import inspect
import signal
import threading
import time
import warnings
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, ClassVar, Final, ParamSpec, TypeVar

import anyio
import pytest
from packaging.version import Version

from roundtable._version import __version__

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Iterator
    from types import FrameType

    from hypothesis import settings

__all__ = [
    "LIMIT_S",
    "EndlessLawError",
    "NewLawWarning",
    "Suite",
    "at_once",
    "drawn_law",
    "ends_within",
    "laws_of",
    "new_law",
    "refuse_waiting",
    "runs_beside",
    "within",
]

P = ParamSpec("P")
R = TypeVar("R")


WAIT_S: Final = 0.1
"""Maximum seconds that a pure function may take in addition to its CPU time, even on a busy machine. If it takes
longer, it waits for something."""


LIMIT_S: Final = 10.0
"""Seconds that a pure function may take in total; a longer time counts as endless."""


_GRACE_S: Final = 5.0
"""Seconds for which a law may end by itself after it was cancelled, before it is interrupted."""


BLOCKED_S: Final = 0.25
"""Seconds for which a call may block the event loop, even on a busy machine."""


class EndlessLawError(BaseException):
    """A law did not end in time. Not an `Exception`: neither a plugin nor hypothesis may catch it and go on."""


class NewLawWarning(UserWarning):
    """A new test of a suite fails; the warning becomes a failure in the version that the message names."""


def new_law(*, fails_from: str) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R | None]]]:
    """Mark an `async` test that is new in a suite: before the version `fails_from`, its failure is only a warning.

    Args:
        fails_from: First version of the library in which the test can fail: one minor version after the version that
            adds the test.

    Example:
        >>> import anyio
        >>> @new_law(fails_from="0.1")
        ... async def test_tea_is_hot():
        ...     assert "tea" == "hot"
        >>> anyio.run(test_tea_is_hot)
        Traceback (most recent call last):
        AssertionError
    """

    def mark(law: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R | None]]:
        @wraps(law)
        async def run(*args: P.args, **keywords: P.kwargs) -> R | None:
            try:
                return await law(*args, **keywords)
            except Exception as error:
                if Version(Version(__version__).base_version) >= Version(fails_from):
                    raise
                message = f"{law.__name__} is new and becomes a failure in roundtable-sdk {fails_from}: {error}"
                warnings.warn(message, NewLawWarning, stacklevel=2)
                return None

        return run

    return mark


class Suite:
    """Base of the suites: their tests, called laws, must be inherited unchanged.

    A subclass that replaces a law, or sets it to `None`, raises an error. To exclude a law for now, define it again in
    the subclass and mark it with `@pytest.mark.xfail(reason="...")`.

    A law that does not end within `law_s` seconds fails, and all later laws of the class fail at once.

    Raises:
        TypeError: Laws are removed or replaced; the message lists them.
    """

    pytestmark: ClassVar[list[pytest.MarkDecorator]] = [pytest.mark.anyio]
    law_s: ClassVar[float] = 45.0
    """Seconds that one law may take. Raise it if the plugin calls something slow, such as a distant database."""
    _endless: ClassVar[str | None] = None

    @pytest.fixture(autouse=True)
    def law_ends(self, request: pytest.FixtureRequest) -> Generator[None]:
        """Stop a law that computes or blocks without end."""
        self.fail_after_endless_law()
        what = f"{request.node.name} did not end within {self.law_s:g} s; something computes or blocks without end"
        # Between the law and the end of this fixture, pytest reports: that must not be interrupted.
        with ends_within(self.law_s + _GRACE_S, what, self.fail_later_laws, inside="pytest_pyfunc_call"):
            yield

    def refuse_waiting(self, call: Callable[[], object]) -> None:
        """Fail early, and fail all later laws, if a pure function waits or never ends."""
        self.fail_after_endless_law()
        try:
            refuse_waiting(call)
        except AssertionError as error:
            self.fail_later_laws(str(error))
            raise

    @classmethod
    def endless_law(cls) -> str | None:
        """Return why an earlier law of the class never ended; `None` if all ended."""
        return cls._endless

    def fail_after_endless_law(self) -> None:
        """Fail if an earlier law of the class never ended."""
        if self._endless is not None:
            pytest.fail(f"not tried, because of another law: {self._endless}")

    @classmethod
    def fail_later_laws(cls, why: str) -> None:
        """Fail all later laws of this class at once, with a reason."""
        cls._endless = why

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        if cls.__module__.startswith("roundtable.testing."):
            for name, law in laws_of(cls).items():
                if inspect.iscoroutinefunction(law):
                    setattr(cls, name, _cancelled_in_time(law))
        changed = [
            name
            for name, law in laws_of(cls).items()
            if getattr(cls, name, None) is not law and not _is_excused(getattr(cls, name, None))
        ]
        if changed:
            msg = f"{cls.__name__} removes or replaces, without @pytest.mark.xfail(reason=...): {', '.join(changed)}"
            raise TypeError(msg)


def laws_of(cls: type) -> dict[str, object]:
    """Return the laws that a class inherits from suites, by name.

    Example:
        >>> laws_of(Suite)
        {}
    """
    laws: dict[str, object] = {}
    for base in cls.__mro__:
        if base.__module__.startswith("roundtable.testing."):
            for name, law in vars(base).items():
                if name.startswith("test_"):
                    laws.setdefault(name, law)
    return laws


def _cancelled_in_time(law: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
    """Return an `async` law that is cancelled after `law_s` seconds, and then fails."""

    @wraps(law)
    async def run(self: Suite, *args: object, **keywords: object) -> object:
        try:
            with anyio.move_on_after(self.law_s):
                return await law(self, *args, **keywords)
        except (EndlessLawError, BaseExceptionGroup) as error:
            # The runner of the tests ends if anything but an `Exception` reaches it.
            if isinstance(error, BaseExceptionGroup) and error.subgroup(EndlessLawError) is None:
                raise
            raise AssertionError(self.endless_law()) from error
        why = f"{law.__name__} did not end within {self.law_s:g} s; something waits without end"
        self.fail_later_laws(why)
        raise AssertionError(why)

    return run


@contextmanager
def ends_within(
    limit_s: float, what: str, note: Callable[[str], object] = str, *, inside: str | None = None
) -> Generator[None]:
    """Interrupt the code of a block that runs too long; only in the main thread, and not on Windows.

    Args:
        limit_s: Seconds that the block may take.
        what: The message.
        note: Function that is called with the message first.
        inside: Name of a function; if set, the code is interrupted only inside a call of this function.

    Raises:
        EndlessLawError: The block took longer.

    Example:
        >>> with ends_within(60, "the sum took too long"):
        ...     1 + 1
        2
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, frame: FrameType | None) -> None:
        if inside is not None and not any(caller.f_code.co_name == inside for caller in _callers(frame)):
            return
        note(what)
        raise EndlessLawError(what)

    start_s = time.monotonic()
    handler = signal.signal(signal.SIGALRM, stop)
    # Again and again, since a plugin may catch everything.
    left_s, interval_s = signal.setitimer(signal.ITIMER_REAL, limit_s, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left_s:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, left_s - (time.monotonic() - start_s)), interval_s)


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_excused(test: object) -> bool:
    marks: list[pytest.Mark] = getattr(test, "pytestmark", [])
    return any(mark.name == "xfail" and mark.kwargs.get("reason") for mark in marks)


def at_once(call: Callable[[], R]) -> R:
    """Return the result of a pure function, which may compute but must not wait.

    Raises:
        AssertionError: The function waited in all of three calls, so it sleeps or does I/O.

    Example:
        >>> at_once(lambda: 1 + 1)
        2
    """
    waited_s = 0.0
    for _ in range(3):
        start_s, start_cpu_s = time.perf_counter(), time.thread_time()
        result = call()
        waited_s = time.perf_counter() - start_s - (time.thread_time() - start_cpu_s)
        if waited_s < WAIT_S:
            return result
    msg = f"it waited for {waited_s:.2f} s; a pure function must not sleep or do I/O"
    raise AssertionError(msg)


def drawn_law(most_examples: int) -> settings:
    """Return the hypothesis settings of a law: as many examples as the profile says, but at most `most_examples`.

    The object under test is pure and has no state, so one fixture may serve all examples.
    """
    # Imported late: most suites do not need hypothesis.
    from hypothesis import HealthCheck, settings

    return settings(
        max_examples=min(most_examples, settings().max_examples),
        deadline=None,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.differing_executors,
            HealthCheck.too_slow,
        ],
    )


def within(call: Callable[[], R], limit_s: float = LIMIT_S, *, what: str = "it") -> R:
    """Return the result of a function that runs on its own thread, so that an endless loop fails a test.

    Args:
        call: The function.
        limit_s: Seconds that it may take.
        what: Name of the function in the message.

    Raises:
        AssertionError: The function took longer. Its thread cannot be stopped, but does not keep the program from
            ending.
        Exception: The exception that the function raises.

    Example:
        >>> within(lambda: 1 + 1)
        2
    """
    results: list[R] = []
    errors: list[Exception] = []

    def work() -> None:
        try:
            results.append(call())
        except Exception as error:  # noqa: BLE001  (raised to the caller)
            errors.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name="roundtable law", daemon=True)
    thread.start()
    thread.join(limit_s)
    if thread.is_alive():
        msg = f"{what} took longer than {limit_s:g} s"
        raise AssertionError(msg)
    if errors:
        raise errors[0]
    assert results, f"{what} ended its thread"
    return results[0]


def refuse_waiting(call: Callable[[], object], limit_s: float = LIMIT_S) -> None:
    """Fail early if a pure function waits or never ends; otherwise, each of hundreds of drawn examples would wait.

    Other errors of the function are ignored; the laws report them.

    Raises:
        AssertionError: The function waited, or took longer than the limit.
    """
    try:
        within(partial(at_once, call), limit_s)
    except AssertionError:
        raise
    except Exception:  # noqa: BLE001  (the laws report it with its input)
        return


async def runs_beside(call: Callable[[], Awaitable[object]]) -> None:
    """Check that an `async` function lets the event loop run, in at least one of three calls.

    Raises:
        AssertionError: The function blocked the event loop in each call.
    """
    longest_s = 0.0
    for _ in range(3):
        longest_s = await _longest_pause(call)
        if longest_s < BLOCKED_S:
            return
    msg = f"it blocked the event loop for {longest_s:.2f} s; await, or use a thread (anyio.to_thread.run_sync)"
    raise AssertionError(msg)


async def _longest_pause(call: Callable[[], Awaitable[object]]) -> float:
    """Return the longest time in seconds between two steps of a task that runs beside a call."""
    pauses = [0.0]

    async def step() -> None:
        last = time.perf_counter()
        while True:
            await anyio.sleep(0.005)
            now = time.perf_counter()
            pauses.append(now - last)
            last = now

    async with anyio.create_task_group() as group:
        group.start_soon(step)
        await anyio.sleep(0.01)
        try:
            await call()
            await anyio.sleep(0.01)
        finally:
            group.cancel_scope.cancel()
    return max(pauses)
