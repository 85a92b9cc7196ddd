"""Connections to PostgreSQL, the announcements that arrive on them, and their errors."""

from __future__ import annotations

import asyncio  # noqa: TID251  (psycopg supports only asyncio)
import logging
import re
import socket
from collections import defaultdict, deque
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo, TransactionStatus

from roundtable.core.base.network import NetworkForbidden, check_host
from roundtable.core.base.outage_reports import Outage
from roundtable.core.base.repeats import is_power_of_ten
from roundtable.core.errors import ConfigurationError, StorageError
from roundtable.storage.postgres_background import Background, closed_error
from roundtable.storage.postgres_schema import check_new, has_tables, migrate, use_tables
from roundtable.storage.postgres_url import named_schema, shown_url

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator

__all__ = ["Address", "Limits", "Listener", "PostgresPool", "parse_address", "storage_error", "storage_error_of"]

T = TypeVar("T")

_log: logging.Logger = logging.getLogger(__name__)
# Psycopg often logs broken connections. Without this handler, a program without logging would print these messages.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

_LONGEST_NAME: Final = 63
_DEFAULTS: Final[dict[str, str | int]] = {
    "connect_timeout": 5,
    "application_name": "roundtable",
    "keepalives_idle": 30,
    "tcp_user_timeout": 30_000,
}
"""Parameters that are set for a connection unless the URL sets them."""

_LIFETIME_S: Final = 3600.0
_SHORT_OUTAGE_S: Final = 1.0
_IDLE_S: Final = 600.0
_UPGRADE_S: Final = 600.0
_CLOSE_S: Final = 1.0

_FORBIDDEN: Final = (
    "forbidden",
    "{address!r} refuses this user",
    "Check the user, the password and the rights of the user, who must be able to create a schema, or own the schema.",
)
_UNREACHABLE: Final = (
    "unreachable",
    "the database {address!r} cannot be reached",
    "Check that the server is running, and that its address and port are right.",
)
_TLS: Final = (
    "unreachable",
    "no encrypted connection to {address!r} is possible",
    "Check sslmode and sslrootcert of the URL, and the certificate of the server.",
)
_DAMAGED: Final = ("corrupt", "{address!r} is damaged", "Check the log of the server, and restore a backup.")
_KINDS: Final[dict[str, tuple[str, str, str]]] = {
    "08": _UNREACHABLE,
    "28": _FORBIDDEN,
    "42501": _FORBIDDEN,
    "3D000": (
        "unreachable",
        "the database {address!r} does not exist",
        "Create it: createdb --encoding=UTF8 --template=template0 NAME",
    ),
    "53300": (
        "busy",
        "{address!r} has no connection left",
        "Raise max_connections of the server, or lower `connections` of each storage.",
    ),
    "53100": ("full", "the disk of {address!r} is full", "Free space on the server's disk, then try again."),
    "53": ("busy", "the server of {address!r} lacks resources", "Check the memory and the limits of the server."),
    "25006": (
        "read-only",
        "{address!r} accepts no changes, because it is a replica or read-only",
        "Connect to the primary server, such as with ?target_session_attrs=read-write. Sessions can still be read.",
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

# Messages of libpq when it cannot connect; these errors have no code.
_SAID: Final[tuple[tuple[str, tuple[str, str, str]], ...]] = (
    (
        "password authentication failed|no password supplied|pg_hba.conf|role .* does not exist|not permitted to",
        _FORBIDDEN,
    ),
    ("too many c|remaining connection slots", _KINDS["53300"]),
    ("database .* does not exist", _KINDS["3D000"]),
    ("certificate|does not support SSL|invalid sslmode", _TLS),
)


class Address:
    """The location of a database, and the name of the schema with the tables.

    Args:
        conninfo: Connection string for libpq, with the password.
        libpq_url: The URL as the user wrote it, without the parameter `schema`.
        name: The address without secrets, for messages.
        schema: The schema.
    """

    def __init__(self, conninfo: str, libpq_url: str, name: str, schema: str) -> None:
        self.conninfo = conninfo
        self.libpq_url = libpq_url
        self.name = name
        """The address without secrets."""
        self.schema = schema
        """The PostgreSQL schema that contains the tables."""

    def hosts(self) -> tuple[str, ...]:
        """Return all hosts to which libpq may connect, also by environment variables; a service counts as a host."""
        parameters = conninfo_to_dict(self.conninfo)
        defaults = {
            option.keyword.decode(): (option.val or b"").decode("utf-8", "replace")
            for option in Conninfo.get_defaults()
        }
        named = {
            name: str(parameters.get(name) or defaults.get(name) or "") for name in ("host", "hostaddr", "service")
        }
        services = (f"service={named['service']}",) if named["service"] else ()
        # The file of a service may name any host, and also an address for a host that is given here.
        return (*named["host"].split(","), *named["hostaddr"].split(","), *services)


def parse_address(url: str) -> Address:
    """Return the parts of a storage URL.

    Args:
        url: A URL in the form that libpq expects, with one additional parameter, `schema`; `"roundtable"` by default.

    Raises:
        ConfigurationError: The URL has another form.

    Example:
        >>> address = parse_address("postgresql://me:secret@db.example.org/app?sslmode=require&schema=debates")
        >>> address.name, address.schema
        ('postgresql://db.example.org/app?schema=debates', 'debates')
    """
    hint = (
        "Write 'postgresql://USER@HOST:5432/DATABASE?sslmode=require', with special characters as %XX. Put the "
        "password in PGPASSWORD or a password file."
    )
    # The parameter is cut out as text, so that the rest of the URL reaches libpq unchanged.
    base, _, query = url.partition("?")
    parameters = query.split("&") if query else []
    libpq_query = "&".join(parameter for parameter in parameters if not parameter.startswith("schema="))
    libpq_url = f"{base}?{libpq_query}" if libpq_query else base
    name = shown_url(url)
    if not url.startswith(("postgresql://", "postgres://")):
        raise ConfigurationError(f"{name!r} is not the URL of a PostgreSQL database", hint=hint)
    schema = named_schema(url)
    if not schema or len(schema.encode()) > _LONGEST_NAME or "\0" in schema or schema.startswith("pg_"):
        msg = f"{schema!r} is not a valid name for a PostgreSQL schema"
        raise ConfigurationError(msg, hint="Use up to 63 letters, digits and underscores; don't begin with 'pg_'.")
    try:
        libpq_parameters = conninfo_to_dict(libpq_url)
        for port in str(libpq_parameters.get("port", "")).split(","):
            int(port or "0")
        conninfo = make_conninfo(
            libpq_url, **{name: value for name, value in _DEFAULTS.items() if name not in libpq_parameters}
        )
        conninfo = make_conninfo(conninfo, client_encoding="UTF8")
    except (psycopg.Error, ValueError) as error:  # its message may quote the password
        unknown = re.search(r'invalid URI query parameter: "([a-z_]{1,40})"', str(error))
        # With an `@` behind the question mark, this may be a part of the password.
        reason = f": it has no parameter {unknown[1]!r}" if unknown is not None and "@" not in query else ""
        raise ConfigurationError(f"PostgreSQL cannot read the URL {name!r}{reason}", hint=hint) from None
    return Address(conninfo, libpq_url, name, schema)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long the calls of a storage wait; `PostgresStorage` explains each limit."""

    connect_s: float
    pool_s: float
    call_s: float
    close_s: float


class _NoTables(Exception):
    """The tables do not exist, and a call does not create them."""


async def _do_nothing(connection: psycopg.AsyncConnection) -> None:
    """Only prove that there is a connection."""


class PostgresPool:
    """Connections that are opened when they are needed; the first use creates or upgrades the tables.

    Only for use in the background thread.

    Args:
        address: The database.
        connections: Most connections at the same time.
        limits: How long calls wait.
    """

    def __init__(self, address: Address, connections: int, limits: Limits) -> None:
        self.address = address
        self._connections = connections
        self._limits = limits
        # Connections that broke while they were idle are replaced at once.
        away, back = f"{address.name} cannot be reached, trying again", f"{address.name} was reached again"
        self._outage = Outage(_log, away, back, patience_s=_SHORT_OUTAGE_S)
        self._places = asyncio.Semaphore(connections)
        self._all: dict[psycopg.AsyncConnection, float] = {}
        self._idle: deque[tuple[psycopg.AsyncConnection, float]] = deque()
        self._pruning: asyncio.TimerHandle | None = None
        self._upgrading = asyncio.Lock()
        self._is_closed = False

    async def has_tables(self) -> bool:
        """Check whether the tables exist; they are not created.

        Raises:
            StorageError: See `use`; or the schema contains tables of another application.
        """
        try:
            await self.use(_do_nothing, repeatable=True, creates=False)
        except _NoTables:
            return False
        return True

    async def check_new(self) -> None:
        """Check that the tables can be created, without creating them.

        Raises:
            StorageError: The tables cannot be created.
        """
        connection: psycopg.AsyncConnection | None = None
        try:
            connection = await self.connect()
            async with self._answering(connection, self._limits.call_s):
                await check_new(connection, self.address.schema)
        except psycopg.Error as error:
            raise storage_error(error, self.address) from None
        finally:
            if connection is not None:
                await self.discard(connection)

    async def use(
        self, work: Callable[[psycopg.AsyncConnection], Awaitable[T]], *, repeatable: bool, creates: bool = True
    ) -> T:
        """Call a function with a connection in autocommit mode; connect again if the connection breaks.

        Args:
            work: What to do with the connection.
            repeatable: Whether to call `work` again if the connection broke during the call, so that it is unknown what
                was committed. A transaction that was certainly rolled back is always tried again.
            creates: Whether to create tables that don't exist; otherwise, `_NoTables` is raised.

        Raises:
            StorageError: No connection became free, or the server cannot be reached, does not answer, or refuses the
                call.
        """
        try:
            async with asyncio.timeout(self._limits.pool_s):
                await self._places.acquire()
        except TimeoutError:
            raise self._busy() from None
        try:
            return await self._use(work, repeatable=repeatable, creates=creates)
        finally:
            self._places.release()

    async def _use(
        self, work: Callable[[psycopg.AsyncConnection], Awaitable[T]], *, repeatable: bool, creates: bool
    ) -> T:
        deadline = monotonic() + self._limits.connect_s
        pause_s = 0.02
        while True:
            began = False
            connection: psycopg.AsyncConnection | None = None
            try:
                connection = await self._take(creates=creates)
                async with self._answering(connection, self._limits.call_s):
                    if not repeatable:
                        await connection.execute("SELECT 1")  # the connection may have broken while it was idle
                    began = True
                    answer = await work(connection)
                self._outage.ended()
                return answer
            except psycopg.Error as error:
                is_away = _is_away(error)
                if is_away:
                    self._drop_idle()  # these connections are broken too
                    self._outage.failed(type(error).__name__)
                may_repeat = _was_rolled_back(error) or (is_away and (repeatable or not began))
                left_s = deadline - monotonic()
                if self._is_closed:
                    raise closed_error(self.address.name) from None
                if not may_repeat or left_s <= 0:
                    tried_s = self._limits.connect_s if may_repeat else None
                    raise storage_error(error, self.address, tried_s=tried_s) from None
                _log.debug("trying %s again: %s", self.address.name, type(error).__name__)
            finally:
                if connection is not None:
                    await self._put_back(connection)
            await asyncio.sleep(min(pause_s, left_s))
            pause_s = min(pause_s * 2, 1.0)

    async def connect(self) -> psycopg.AsyncConnection:
        """Return a new connection in autocommit mode. The pool does not count it; close it with `discard`."""
        self._check_network()
        connection = await psycopg.AsyncConnection.connect(self.address.conninfo, autocommit=True)
        self._all[connection] = monotonic()
        if self._is_closed:
            await self.discard(connection)
            raise closed_error(self.address.name)
        return connection

    def _check_network(self) -> None:
        """Check that the network is allowed or the hosts are local, since the driver does not use Python's sockets."""
        try:
            for host in self.address.hosts():
                check_host("" if host.startswith("/") else host)
        except NetworkForbidden as error:
            hint = "Use a database on this machine, or unset ROUNDTABLE_NETWORK."
            raise ConfigurationError(str(error), code="NETWORK_FORBIDDEN", cause=error, hint=hint) from error

    async def discard(self, connection: psycopg.AsyncConnection) -> None:
        """Close a connection."""
        self._all.pop(connection, None)
        await connection.close()

    def abort(self) -> None:
        """Break all connections, so that every call that waits for the server raises an error."""
        self._is_closed = True
        for connection in self._all:
            _hang_up(connection)

    async def aclose(self) -> None:
        """Close all connections."""
        self._is_closed = True
        if self._pruning is not None:
            self._pruning.cancel()
        for connection in tuple(self._all):
            await self.discard(connection)

    async def _take(self, *, creates: bool) -> psycopg.AsyncConnection:
        if self._idle:
            return self._idle.pop()[0]
        connection = await self.connect()
        try:
            async with self._answering(connection, self._limits.call_s):
                # At this level, a statement that runs after a lock was taken sees everything committed before the lock.
                await connection.execute("SET default_transaction_isolation TO 'read committed'")
            async with self._upgrading:
                await self._upgrade(connection, creates=creates)
        except BaseException:
            await self.discard(connection)
            raise
        return connection

    async def _upgrade(self, connection: psycopg.AsyncConnection, *, creates: bool) -> None:
        schema, name = self.address.schema, self.address.name
        async with self._answering(connection, self._limits.call_s):
            if await use_tables(connection, schema, name):
                return
            if not creates and not await has_tables(connection, schema, name):
                raise _NoTables
        async with self._answering(connection, _UPGRADE_S):
            while not await use_tables(connection, schema, name):
                await migrate(connection, schema, name)

    async def _put_back(self, connection: psycopg.AsyncConnection) -> None:
        is_usable = connection.pgconn.transaction_status == TransactionStatus.IDLE
        if not is_usable or self._is_closed or monotonic() - self._all[connection] > _LIFETIME_S:
            await self.discard(connection)
            return
        self._idle.append((connection, monotonic()))
        if self._pruning is None:
            self._pruning = asyncio.get_running_loop().call_later(_IDLE_S, self._prune)

    def _prune(self) -> None:
        """Close the connections that were idle for too long."""
        self._pruning = None
        while self._idle and monotonic() - self._idle[0][1] >= _IDLE_S:
            self._close_soon(self._idle.popleft()[0])
        if self._idle:
            self._pruning = asyncio.get_running_loop().call_later(_IDLE_S, self._prune)

    def _drop_idle(self) -> None:
        while self._idle:
            self._close_soon(self._idle.popleft()[0])

    def _close_soon(self, connection: psycopg.AsyncConnection) -> None:
        self._all.pop(connection, None)
        connection.pgconn.finish()

    @asynccontextmanager
    async def _answering(self, connection: psycopg.AsyncConnection, limit_s: float) -> AsyncGenerator[None]:
        """Break the connection if the block takes too long; cancelling the statement would wait for the server again.

        Raises:
            StorageError: The block failed because it took longer than `limit_s` seconds.
        """
        started = monotonic()
        timer = asyncio.get_running_loop().call_later(limit_s, _hang_up, connection)
        try:
            yield
        except psycopg.Error:
            if monotonic() - started < limit_s or self._is_closed:
                raise
            raise StorageError(
                f"the database {self.address.name!r} did not answer within {limit_s:g} s; "
                "the call may still have taken effect",
                hint="Check the load and the log of the server. PostgresStorage(url, call_timeout_s=120) waits longer.",
                retryable=True,
                details={"path": self.address.name, "reason": "no-answer"},
            ) from None
        finally:
            timer.cancel()

    def _busy(self) -> StorageError:
        return StorageError(
            f"no connection to {self.address.name!r} became free within {self._limits.pool_s:g} s: "
            f"this storage may have {self._connections} connections, and all were in use",
            hint="Allow more connections, or a longer wait: PostgresStorage(url, connections=16, pool_timeout_s=60).",
            retryable=True,
            details={"path": self.address.name, "reason": "busy"},
        )


def _hang_up(connection: psycopg.AsyncConnection) -> None:
    """End the TCP connection, as if the server had gone away, so that a waiting call raises an error."""
    # Use a copy of the descriptor, since the event loop and libpq still watch the original.
    with (
        suppress(OSError, psycopg.Error),  # the connection is closed already
        socket.fromfd(connection.pgconn.socket, socket.AF_INET, socket.SOCK_STREAM) as copy,
    ):
        copy.shutdown(socket.SHUT_RDWR)


def _was_rolled_back(error: psycopg.Error) -> bool:
    return error.sqlstate in {"40001", "40P01"}


def _is_away(error: psycopg.Error) -> bool:
    """Check whether the server went away, is starting, or cannot accept another connection now."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError) and _kind(error) in {_UNREACHABLE, _KINDS["53300"]}
    return error.sqlstate[:2] == "08" or error.sqlstate[:3] == "57P" or error.sqlstate == "53300"


def _kind(error: psycopg.Error) -> tuple[str, str, str]:
    """Return reason, message and hint for an error of PostgreSQL."""
    state = error.sqlstate
    if state is None and isinstance(error, psycopg.OperationalError):
        message = str(error)
        return next((kind for pattern, kind in _SAID if re.search(pattern, message)), _UNREACHABLE)
    for length in (5, 4, 3, 2):
        if state is not None and state[:length] in _KINDS:
            return _KINDS[state[:length]]
    return _OTHER


def storage_error(error: psycopg.Error, address: Address, *, tried_s: float | None = None) -> StorageError:
    """Return the `StorageError` for an error of PostgreSQL, without values of the statement and the user's name.

    Args:
        error: The error.
        address: The database.
        tried_s: How long the call tried to connect, in seconds.
    """
    reason, message, hint = _kind(error)
    detail = error.diag.message_primary or str(error).partition("\n")[0]
    user = error.pgconn.user.decode(errors="replace") if error.pgconn is not None else ""
    if user:  # in any kind of quotation marks; the database or the host may have the same name
        pattern = rf"(?<!database )(?<!server at )([^\w\s]){re.escape(user)}(?=[^\w\s])"
        detail = re.sub(pattern, r"\1***", detail)
    if tried_s is not None and reason == "unreachable":
        detail += f" (tried for {tried_s:g} s)"
        hint += " PostgresStorage(url, connect_timeout_s=60) tries for longer."
    return StorageError(
        f"{message.format(address=address.name)}: {detail}",
        hint=hint,
        retryable=reason in _RETRYABLE,
        cause=error,
        details={"path": address.name, "reason": reason},
    )


def storage_error_of(error: object, address: Address) -> StorageError | None:
    """Return the `StorageError` for an error of PostgreSQL that another library raised; `None` for other errors."""
    return storage_error(error, address) if isinstance(error, psycopg.Error) else None


class Listener:
    """Listens to announcements of other storages on its own connection, and calls the functions registered for them.

    Announcements are lost while the connection is broken, so after a reconnect it calls all functions once.

    Args:
        background: Where the listener runs.
        pool: Creates the connection.
        channel: Name of the channel.
        own: Id of this storage; announcements with this id are ignored.
    """

    def __init__(self, background: Background, pool: PostgresPool, channel: str, own: str) -> None:
        self._background = background
        self._pool = pool
        self._channel = channel
        self._own = own
        self._lock = RLock()  # the garbage collector may close a `listen` block at any point, also under this lock
        self._heard: defaultdict[str, list[Callable[[], object]]] = defaultdict(list)
        self._task: asyncio.Task[None] | None = None
        self._failures = 0

    @contextmanager
    def listen(self, key: str, heard: Callable[[], object]) -> Generator[None]:
        """Call a function, on any thread, for each announcement of a key while the block is open."""
        with self._lock:
            self._heard[key].append(heard)
        try:
            if self._task is None or self._task.done():
                self._background.start(self._begin)
            yield
        finally:
            with self._lock:
                self._heard[key].remove(heard)
                if not self._heard[key]:
                    del self._heard[key]

    async def _begin(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def aclose(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,), timeout=_CLOSE_S)

    async def _run(self) -> None:
        pause_s = 0.1
        name = self._pool.address.name
        away, back = f"not listening to {name}, trying again", f"listening to {name} again"
        outage = Outage(_log, away, back, level=logging.INFO, patience_s=_SHORT_OUTAGE_S)
        while True:
            try:
                connection = await self._pool.connect()
                try:
                    await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
                    outage.ended()
                    self._tell(None)
                    pause_s = 0.1
                    async for notice in connection.notifies():
                        key, _, sender = notice.payload.partition(" ")
                        if sender != self._own:
                            self._tell(key)
                finally:
                    await self._pool.discard(connection)
            except Exception as error:  # noqa: BLE001  (whatever the error is, callers still wait for notices)
                outage.failed(type(error).__name__)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, 5.0)

    def _tell(self, key: str | None) -> None:
        with self._lock:
            keys = tuple(self._heard) if key is None else (key,)
            concerned = [heard for session_key in keys for heard in self._heard.get(session_key, ())]
        for heard in concerned:
            try:
                heard()
            except Exception as error:  # noqa: BLE001  (the other functions must still be called)
                self._failures += 1
                if is_power_of_ten(self._failures):
                    _log.warning("a listener failed, %s times so far", f"{self._failures:,}", exc_info=error)
