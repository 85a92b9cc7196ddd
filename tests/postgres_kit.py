"""A real PostgreSQL server for tests: its own user, port and data folder."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

import anyio
import psycopg
from anyio.abc import ByteStream, SocketAttribute, TaskGroup

PASSWORD = "sk-canary-postgres"


def programs() -> Path | None:
    """Return the folder of the newest server's programs; None if there is none."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    found = shutil.which("initdb")
    if found is not None:
        folders.append(Path(found).resolve().parent)
    return folders[-1] if folders else None


class Server:
    """A server that can be stopped, killed and started again.

    Args:
        folder: The programs.
        home: Folder for its data and its log.
    """

    def __init__(self, folder: Path, home: Path) -> None:
        self._folder = folder
        self._home = home
        # The server refuses to run as root.
        self._user = next(name for name in ("postgres", "nobody") if _exists(name)) if os.getuid() == 0 else None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        password = home / "password"
        password.write_text(PASSWORD)
        if self._user is not None:
            owner = pwd.getpwnam(self._user)
            for path in (home, password):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        self._run(
            "initdb", "-D", f"{home}/data", "-U", "tester", "-A", "scram-sha-256", f"--pwfile={password}",
            "-E", "UTF8", "--locale=C", "--no-sync",
        )  # fmt: skip

    def _run(self, program: str, *words: str) -> None:
        subprocess.run(
            [str(self._folder / program), *words], user=self._user, check=True, stdout=subprocess.DEVNULL, cwd="/"
        )

    def url(
        self,
        schema: str = "",
        *,
        user: str = "tester",
        host: str = "127.0.0.1",
        database: str = "postgres",
        **options: str,
    ) -> str:
        """Return the address of a database."""
        parameters = ({"schema": schema} if schema else {}) | options
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return f"postgresql://{user}:{PASSWORD}@{host}:{self.port}/{database}" + (f"?{query}" if query else "")

    def private_copy(self, source: Path) -> str:
        """Copy a file, such as a key, so that only the server can read it; return its new path."""
        copy = self._home / source.name
        shutil.copyfile(source, copy)
        copy.chmod(0o600)
        if self._user is not None:
            owner = pwd.getpwnam(self._user)
            os.chown(copy, owner.pw_uid, owner.pw_gid)
        return str(copy)

    def start(self, **settings: str) -> None:
        """Start the server and wait until it answers."""
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self._home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    str(self._folder / "postgres"), "-D", f"{self._home}/data", "-p", str(self.port), "-h", "127.0.0.1",
                    "-k", str(self._home), "-c", "fsync=off", "-c", "max_connections=60",
                    # A server that stops waits for clients that gave up while they logged in, for a minute otherwise.
                    "-c", "authentication_timeout=5", *words,
                ],
                user=self._user, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        for _ in range(600):
            try:
                psycopg.connect(self.url(), connect_timeout=2).close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError((self._home / "log").read_text())

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT breaks all connections, SIGQUIT is a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Stop all processes of the server while the block is open: connections stay open, and nobody answers."""
        assert self._process is not None
        main = self._process.pid
        os.kill(main, signal.SIGSTOP)  # first, so that it starts no more
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        processes = [main, *map(int, children)]
        try:
            for process in processes[1:]:
                os.kill(process, signal.SIGSTOP)
            yield
        finally:
            for process in reversed(processes):
                os.kill(process, signal.SIGCONT)

    @contextmanager
    def used_up(self) -> Iterator[psycopg.Connection]:
        """Hold all connections that the server allows while the block is open; yield one of them.

        Those of other clients are broken first, and taken before they connect again.
        """
        with ExitStack() as held:
            watcher = held.enter_context(psycopg.connect(self.url(), autocommit=True))
            ((allowed,),) = watcher.execute("SHOW max_connections").fetchall()
            mine = [watcher.info.backend_pid]
            while len(mine) < int(allowed):
                try:
                    mine.append(held.enter_context(psycopg.connect(self.url(), connect_timeout=5)).info.backend_pid)
                except psycopg.OperationalError:
                    watcher.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE backend_type = 'client backend' AND NOT pid = ANY(%s)",
                        (mine,),
                    )
            yield watcher

    def execute(self, statement: str, url: str | None = None) -> list[tuple[object, ...]]:
        """Run a statement, and return its rows."""
        with psycopg.connect(url or self.url(), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


@contextmanager
def running_server(**settings: str) -> Iterator[Server]:
    """Start a server with an empty database; stop it and delete its data at the end."""
    folder = programs()
    assert folder is not None, "needs the programs of a PostgreSQL server, such as Debian's package postgresql"
    # Not in pytest's folder, which only this user may enter.
    home = Path(tempfile.mkdtemp(prefix="roundtable-postgres-"))
    home.chmod(0o755)
    try:
        server = Server(folder, home)
        server.start(**settings)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(home)


class Proxy:
    """A TCP proxy between clients and a server of this machine; see `proxy_to`.

    Args:
        target: Port of the server.
        tasks: Where it runs.
    """

    def __init__(self, target: int, tasks: TaskGroup) -> None:
        self.port: int = 0
        self._target = target
        self._tasks = tasks
        self._scope = anyio.CancelScope()
        self._closed = anyio.Event()

    async def open(self) -> None:
        """Accept connections, at the same port each time."""
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=self.port)
        self.port = listener.extra(SocketAttribute.local_port)
        self._scope, self._closed = anyio.CancelScope(), anyio.Event()

        async def serve() -> None:
            with self._scope:
                async with listener:
                    await listener.serve(self._forward)
            self._closed.set()

        self._tasks.start_soon(serve)

    async def cut(self) -> None:
        """Close all connections, and refuse new ones."""
        self._scope.cancel()
        await self._closed.wait()

    async def _forward(self, client: ByteStream) -> None:
        with suppress(OSError, anyio.BrokenResourceError):
            async with (
                client,
                await anyio.connect_tcp("127.0.0.1", self._target) as server,
                anyio.create_task_group() as tasks,
            ):
                for source, sink in ((client, server), (server, client)):
                    tasks.start_soon(_copy, source, sink, tasks.cancel_scope)


async def _copy(source: ByteStream, sink: ByteStream, ends: anyio.CancelScope) -> None:
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        while True:
            await sink.send(await source.receive())
    ends.cancel()


@asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[Proxy]:
    """Run a proxy before a server of this machine until the block ends."""
    async with anyio.create_task_group() as tasks:
        proxy = Proxy(port, tasks)
        await proxy.open()
        yield proxy
        tasks.cancel_scope.cancel()


def new_schema() -> str:
    """Return a name that no other test uses."""
    return f"t{secrets.token_hex(8)}"
