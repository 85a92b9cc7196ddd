"""Connections to PostgreSQL, on an event loop of their own so that callers may use any, and their errors."""

from __future__ import annotations

import asyncio  # noqa: TID251  (psycopg supports only asyncio)
import logging
import os
import secrets
from collections import defaultdict
from contextlib import contextmanager
from threading import Lock, RLock, Thread, current_thread
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import unquote

import psycopg
from anyio import Event, to_thread
from anyio.lowlevel import checkpoint_if_cancelled
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from roundtable._core.eventloop import call_soon, running_loop
from roundtable.errors import ConfigurationError, StorageError
from roundtable.http import masked_url
from roundtable.logs import is_power_of_ten
from roundtable.storage.postgres_schema import migrate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator

__all__ = ["Address", "Background", "Listener", "PostgresPool", "parse_address", "storage_error"]

T = TypeVar("T")

_log: logging.Logger = logging.getLogger(__name__)
# Broken connections are its everyday business; without this, a program that sets up no logging would print them.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class Address:
    """Where a database is, and which of its schemas holds the tables.

    Args:
        conninfo: What libpq connects to; holds the password.
        libpq_url: The same as the user wrote it, without the schema.
        name: The address without secrets, for messages.
        schema: The schema.
    """

    def __init__(self, conninfo: str, libpq_url: str, name: str, schema: str) -> None:
        self.conninfo = conninfo
        self.libpq_url = libpq_url
        self.name = name
        """The address without secrets."""
        self.schema = schema
        """The PostgreSQL schema that holds the tables."""


_DEFAULT_SCHEMA: Final = "roundtable"
_LONGEST_NAME: Final = 63
_DEFAULTS: Final[dict[str, str | int]] = {
    "connect_timeout": 5,
    "application_name": "roundtable",
    "keepalives_idle": 30,
    "tcp_user_timeout": 30_000,
}
"""What is set for a connection unless the URL says otherwise."""


def parse_address(url: str) -> Address:
    """Return the parts of a storage URL.

    Args:
        url: A URL as libpq takes it, with one parameter more: `schema`, `"roundtable"` by default.

    Raises:
        ConfigurationError: It is not such a URL.

    Example:
        >>> address = parse_address("postgresql://me:secret@db.example.org/app?sslmode=require&schema=debates")
        >>> address.name, address.schema
        ('postgresql://db.example.org/app', 'debates')
    """
    hint = "Write 'postgresql://USER:PASSWORD@HOST:5432/DATABASE?sslmode=require'; quote special characters as %XX."
    # Cut out as text: what belongs to libpq must not be spelt anew.
    base, _, query = url.partition("?")
    parameters = query.split("&") if query else []
    schemas = [unquote(one.removeprefix("schema=")) for one in parameters if one.startswith("schema=")]
    rest = "&".join(one for one in parameters if not one.startswith("schema="))
    libpq_url = f"{base}?{rest}" if rest else base
    name = masked_url(url)
    if not url.startswith(("postgresql://", "postgres://")):
        raise ConfigurationError(f"{name!r} is not the URL of a PostgreSQL database", hint=hint)
    schema = schemas[-1] if schemas else _DEFAULT_SCHEMA
    if not schema or len(schema.encode()) > _LONGEST_NAME or "\0" in schema or schema.startswith("pg_"):
        msg = f"{schema!r} is not a name for a PostgreSQL schema"
        raise ConfigurationError(msg, hint="Use up to 63 letters, digits and underscores, not beginning with 'pg_'.")
    try:
        given = conninfo_to_dict(libpq_url)
        for port in str(given.get("port", "")).split(","):
            int(port or "0")
        conninfo = make_conninfo(libpq_url, **{name: value for name, value in _DEFAULTS.items() if name not in given})
        conninfo = make_conninfo(conninfo, client_encoding="UTF8")
    except (psycopg.Error, ValueError):  # the message may quote the password
        raise ConfigurationError(f"{name!r} is not a URL that PostgreSQL understands", hint=hint) from None
    return Address(conninfo, libpq_url, name, schema)


class Background:
    """An event loop of asyncio on a thread, which starts with the first call; any event loop may call it.

    Args:
        name: Name of the thread.
        address: Address of the database, for messages.
    """

    def __init__(self, name: str, address: str) -> None:
        self._name = name
        self._address = address
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._closed = False
        self._pid = os.getpid()
        self._tasks: set[asyncio.Task[None]] = set()
        self._last: asyncio.Task[None] | None = None

    async def call(self, work: Callable[[], Coroutine[None, None, T]]) -> T:
        """Run a coroutine in the background and wait for its result.

        Once submitted, it runs to its end even if the caller is cancelled.

        Raises:
            StorageError: The storage is closed, or belongs to another process.
        """
        await checkpoint_if_cancelled()
        done, caller = Event(), running_loop()
        results: list[T] = []
        errors: list[BaseException] = []

        async def run() -> None:
            try:
                results.append(await work())
            except BaseException as error:  # noqa: BLE001  (raised to the caller)
                errors.append(error)
            if not call_soon(caller, done.set):
                _log.debug("the event loop ended before a result could be delivered")

        self.start(run)
        await done.wait()
        if errors:
            try:
                raise errors[0]
            finally:
                errors.clear()  # the traceback refers to this frame
        return results[0]

    def start(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Start a coroutine in the background, without waiting for it.

        Raises:
            StorageError: The storage is closed, or belongs to another process.
        """
        if self._pid != os.getpid():
            raise StorageError(
                f"the storage of {self._address!r} was opened in another process",
                hint="Open a new storage in each forked process.",
            )
        with self._lock:
            if self._closed:
                raise StorageError(f"the storage of {self._address!r} is closed", hint="Open a new storage.")
            if self._loop is None:
                self._loop = asyncio.SelectorEventLoop()  # psycopg cannot use the default loop of Windows
                # A daemon thread: a script that never closes its storage must still exit.
                self._thread = Thread(target=_run, args=(self._loop,), name=self._name, daemon=True)
                self._thread.start()
            self._loop.call_soon_threadsafe(self._start, work)

    def _start(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        self.spawn(work())

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        """Start a coroutine from inside the background; `end` waits for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def end(self, last: Callable[[], Coroutine[None, None, None]]) -> None:
        """Accept no more calls; run `last` and end the thread once those submitted have ended; returns at once.

        Only the first call has an effect.
        """
        with self._lock:
            if not self._closed and self._loop is not None and self._pid == os.getpid():
                self._loop.call_soon_threadsafe(self._finish_soon, last)
            self._closed = True

    def _finish_soon(self, last: Callable[[], Coroutine[None, None, None]]) -> None:
        async def finish() -> None:
            while self._tasks:
                await asyncio.gather(*self._tasks, return_exceptions=True)
            try:
                await last()
            finally:
                asyncio.get_running_loop().stop()

        self._last = asyncio.get_running_loop().create_task(finish())

    async def ended(self) -> None:
        """Wait until the thread has ended after `end`."""
        await to_thread.run_sync(self.join, abandon_on_cancel=True)

    def join(self, timeout_s: float | None = None) -> None:
        """Wait, blocking, until the thread has ended after `end`."""
        thread = self._thread
        if thread is None or self._pid != os.getpid() or thread is current_thread():
            return
        thread.join(timeout_s)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


class PostgresPool:
    """A pool of connections, which is opened, and its tables created or upgraded, on the first use.

    Only for use in the background.

    Args:
        address: The database.
        connections: Most connections of the pool.
        reconnect_s: How long calls wait for a server that restarts, in seconds.
    """

    def __init__(self, address: Address, connections: int, reconnect_s: float) -> None:
        self.address = address
        self._connections = connections
        self._reconnect_s = reconnect_s
        self._pool: AsyncConnectionPool[psycopg.AsyncConnection] | None = None
        self._was_open = False
        self._opening = asyncio.Lock()

    async def use(self, work: Callable[[psycopg.AsyncConnection], Awaitable[T]], *, repeatable: bool) -> T:
        """Call a function with a connection in autocommit mode; connect again if the connection breaks.

        Args:
            work: What to do with the connection.
            repeatable: Whether to call `work` again if the connection broke during the call, so that nobody knows
                what was committed. A transaction that was certainly rolled back is always tried again.

        Raises:
            StorageError: The server cannot be reached, or refuses.
        """
        deadline = monotonic() + self._reconnect_s
        pause_s = 0.02
        while True:
            began = False
            pool = None
            try:
                pool = await self._open_pool()
                async with pool.connection(timeout=max(deadline - monotonic(), 1.0)) as connection:
                    if not repeatable:
                        await connection.execute("SELECT 1")  # it may have broken while nobody used it
                    began = True
                    return await work(connection)
            except psycopg.Error as error:
                await self._drop_broken(pool, error)
                may_repeat = _was_rolled_back(error) or (_is_disconnect(error) and (repeatable or not began))
                if not may_repeat or monotonic() >= deadline or not self._was_open:
                    raise await self._to_error(error) from None
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, 0.5)

    async def _drop_broken(
        self, pool: AsyncConnectionPool[psycopg.AsyncConnection] | None, error: psycopg.Error
    ) -> None:
        """Begin with a new pool after the server went away: the old one would try again at ever longer intervals."""
        if pool is None or pool is not self._pool or not _is_disconnect(error):
            return
        if not isinstance(error, PoolTimeout) or not pool.get_stats().get("pool_size"):
            self._pool = None
            await pool.close(timeout=0)

    async def connect(self) -> psycopg.AsyncConnection:
        """Return a new connection in autocommit mode, outside of the pool."""
        return await psycopg.AsyncConnection.connect(self.address.conninfo, autocommit=True)

    async def aclose(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            await self._pool.close()

    async def _open_pool(self) -> AsyncConnectionPool[psycopg.AsyncConnection]:
        async with self._opening:
            if self._pool is None:
                # The pool would hide why it cannot connect.
                connection = await self.connect()
                async with connection:
                    await migrate(connection, self.address.schema, self.address.name)
                pool: AsyncConnectionPool[psycopg.AsyncConnection] = AsyncConnectionPool(
                    self.address.conninfo,
                    kwargs={"autocommit": True},
                    min_size=1,
                    max_size=self._connections,
                    configure=_configure,
                    open=False,
                    name=f"roundtable-{secrets.token_hex(3)}",
                    reconnect_timeout=self._reconnect_s,
                )
                await pool.open()
                self._pool = pool
                self._was_open = True
        return self._pool

    async def _to_error(self, error: psycopg.Error) -> StorageError:
        if isinstance(error, PoolTimeout):
            try:  # to find out why
                await (await self.connect()).close()
            except psycopg.Error as reason:
                error = reason
            else:
                return StorageError(
                    f"all connections of this storage to {self.address.name!r} are in use",
                    hint="Allow it more connections: PostgresStorage(url, connections=16).",
                    retryable=True,
                    cause=error,
                    details={"path": self.address.name, "reason": "busy"},
                )
        return storage_error(error, self.address.name)


async def _configure(connection: psycopg.AsyncConnection) -> None:
    # Locks are taken first, and what they protect is read then.
    await connection.execute("SET default_transaction_isolation TO 'read committed'")


def _was_rolled_back(error: psycopg.Error) -> bool:
    return error.sqlstate in {"40001", "40P01"}


def _is_disconnect(error: psycopg.Error) -> bool:
    """Check whether the server went away, restarts, or cannot take another connection now."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate[:2] == "08" or error.sqlstate[:3] == "57P" or error.sqlstate == "53300"


_FORBIDDEN: Final = (
    "forbidden",
    "{address!r} refuses this user",
    "Check the user, its password and its rights; it must be able to create a schema, or own the schema.",
)
_UNREACHABLE: Final = (
    "unreachable",
    "the database {address!r} cannot be reached",
    "Check that the server runs, and that its address, port and TLS settings are right.",
)
_DAMAGED: Final = ("corrupt", "{address!r} is damaged", "Check the log of the server, and restore a backup.")
_KINDS: Final[dict[str, tuple[str, str, str]]] = {
    "08": _UNREACHABLE,
    "28": _FORBIDDEN,
    "42501": _FORBIDDEN,
    "3D000": (
        "unreachable",
        "{address!r} names a database that does not exist",
        "Create it: createdb --encoding=UTF8 --template=template0 NAME",
    ),
    "53300": (
        "busy",
        "{address!r} has no connection left",
        "Raise max_connections of the server, or lower `connections` of each storage.",
    ),
    "53100": ("full", "the disk of {address!r} is full", "Free space on the server's disk, then try again."),
    "53": ("busy", "{address!r} lacks resources", "Check the memory and the limits of the server."),
    "25006": (
        "read-only",
        "{address!r} accepts no changes: it is a replica, or read-only",
        "Connect to the primary server, such as with ?target_session_attrs=read-write; sessions can still be shown.",
    ),
    "57P": _UNREACHABLE,
    "40": ("locked", "{address!r} is busy with the same session", "Try again."),
    "55P03": ("locked", "{address!r} is busy with the same session", "Try again."),
    "54": ("too-big", "a value is too large for {address!r}", "Store less than a gigabyte in one event or value."),
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
}
_OTHER: Final = ("other", "the database {address!r} failed", "Check the log of the server.")
_RETRYABLE: Final = frozenset({"unreachable", "busy", "full", "locked"})


def storage_error(error: psycopg.Error, address: str) -> StorageError:
    """Return the `StorageError` for an error of PostgreSQL, without the values of the statement."""
    reason, message, hint = _OTHER
    state = error.sqlstate
    if state is None and isinstance(error, psycopg.OperationalError):
        reason, message, hint = _UNREACHABLE
        if "password authentication failed" in str(error) or "no password supplied" in str(error):
            reason, message, hint = _FORBIDDEN
        elif "too many c" in str(error) or "remaining connection slots" in str(error):
            reason, message, hint = _KINDS["53300"]
        elif "database" in str(error) and "does not exist" in str(error):
            reason, message, hint = _KINDS["3D000"]
    for length in (5, 4, 3, 2):
        if state is not None and state[:length] in _KINDS:
            reason, message, hint = _KINDS[state[:length]]
            break
    detail = error.diag.message_primary or str(error).partition("\n")[0]
    return StorageError(
        f"{message.format(address=address)}: {detail}",
        hint=hint,
        retryable=reason in _RETRYABLE,
        cause=error,
        details={"path": address, "reason": reason},
    )


class Listener:
    """Listens to the announcements of other storages on a connection of its own, and notifies those they concern.

    Announcements are lost while the connection is broken, so it then notifies everybody once.

    Args:
        background: Where the listener runs.
        pool: Makes the connection.
        channel: Name of the channel.
        own: Begin of the announcements of this storage, which are ignored.
    """

    def __init__(self, background: Background, pool: PostgresPool, channel: str, own: str) -> None:
        self._background = background
        self._pool = pool
        self._channel = channel
        self._own = own
        self._lock = RLock()  # the garbage collector may close a block anywhere
        self._heard: defaultdict[str, list[Callable[[], object]]] = defaultdict(list)
        self._task: asyncio.Task[None] | None = None
        self._failures = 0

    @contextmanager
    def listen(self, key: str, heard: Callable[[], object]) -> Generator[None]:
        """Call a function, on any thread, for each announcement of a key while the block is open."""
        with self._lock:
            is_first = not self._heard
            self._heard[key].append(heard)
        try:
            if is_first:
                self._background.start(self._begin)
            yield
        finally:
            with self._lock:
                self._heard[key].remove(heard)
                if not self._heard[key]:
                    del self._heard[key]

    async def _begin(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def aclose(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        pause_s = 0.1
        while True:
            try:
                async with await self._pool.connect() as connection:
                    await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
                    self._tell(None)
                    pause_s = 0.1
                    async for notice in connection.notifies():
                        key, _, sender = notice.payload.partition(" ")
                        if sender != self._own:
                            self._tell(key)
            except Exception as error:  # noqa: BLE001  (whatever it is, others wait for notices)
                _log.info("not listening to %s, trying again: %s", self._pool.address.name, type(error).__name__)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, 5.0)

    def _tell(self, key: str | None) -> None:
        with self._lock:
            keys = tuple(self._heard) if key is None else (key,)
            concerned = [heard for one in keys for heard in self._heard.get(one, ())]
        for heard in concerned:
            try:
                heard()
            except Exception as error:  # noqa: BLE001  (others still have to be told)
                self._failures += 1
                if is_power_of_ten(self._failures):
                    _log.warning(
                        "a listener failed, %s times so far: %s",
                        f"{self._failures:,}",
                        type(error).__name__,
                        exc_info=error,
                    )
