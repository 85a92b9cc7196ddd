"""Encrypted connections to PostgreSQL: sessions, notices and fleets use them, and none is made to a false server."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from pathlib import Path

import anyio
import certifi
import pytest
from integration.fleet_child import table_for
from integration.test_fleet import questions
from integration.test_postgres import Notices
from postgres_kit import PASSWORD, Server, new_schema, running_server

from roundtable.errors import StorageError
from roundtable.storage import PostgresStorage
from roundtable.testing.storage_samples import record

pytestmark = [pytest.mark.postgres, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

CERTIFICATE = Path(__file__).with_name("loopback.pem")
"""A certificate, which is its own root, and a key, for 127.0.0.1."""
ENCRYPTED = """
    SELECT activity.query, encryption.ssl FROM pg_stat_activity AS activity JOIN pg_stat_ssl AS encryption USING (pid)
    WHERE activity.backend_type = 'client backend' AND activity.application_name <> current_setting('application_name')
"""
VERIFIED = {"sslmode": "verify-full", "sslrootcert": str(CERTIFICATE)}


@pytest.fixture(scope="module")
def encrypting_server() -> Iterator[Server]:
    with running_server() as server:
        certificate = server.private_copy(CERTIFICATE)
        server.stop()
        server.start(ssl="on", ssl_cert_file=certificate, ssl_key_file=certificate)
        yield server


@pytest.fixture(autouse=True)
def plain_unless_the_url_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLMODE", "disable")


def encrypted(server: Server) -> list[tuple[str, bool]]:
    """Return the last statement of each open connection but those of this function, and whether it is encrypted."""
    # The server may still list the connection of an earlier call of this function, which is closed.
    rows = server.execute(ENCRYPTED, server.url(application_name="test_postgres_tls"))
    return [(str(query), bool(ssl)) for query, ssl in rows]


@pytest.mark.parametrize("options", [{"sslmode": "require"}, VERIFIED], ids=["require", "verify-full"])
async def test_sessions_and_notices_are_encrypted(encrypting_server: Server, options: dict[str, str]) -> None:
    storage = PostgresStorage(encrypting_server.url(new_schema(), **options))
    await storage.create(record("s"))
    notices = Notices()
    with storage.listen("s", notices.hear):
        await notices.next()
        found = encrypted(encrypting_server)
    assert any(query.startswith("LISTEN") for query, _ in found)
    assert len(found) >= 2
    assert all(ssl for _, ssl in found), found
    await storage.aclose()


async def test_a_connection_is_plain_if_the_url_asks_for_no_encryption(encrypting_server: Server) -> None:
    storage = PostgresStorage(encrypting_server.url(new_schema()))
    await storage.create(record("s"))
    assert [ssl for _, ssl in encrypted(encrypting_server)] == [False]
    await storage.aclose()


async def test_a_fleet_is_encrypted(encrypting_server: Server, tmp_path: Path) -> None:
    fleet = pytest.importorskip("roundtable.fleet")
    pytest.importorskip("dbos")
    found: set[tuple[str, bool]] = set()

    async def look() -> None:
        while True:
            found.update(await anyio.to_thread.run_sync(encrypted, encrypting_server))
            await anyio.sleep(0.01)

    storage = PostgresStorage(encrypting_server.url(new_schema(), **VERIFIED))
    async with table_for(storage, tmp_path) as table, fleet.Fleet(table) as worker, anyio.create_task_group() as group:
        group.start_soon(look)
        await worker.submit("job", questions(2), rounds=1)
        with anyio.fail_after(120):
            await worker.work(until_done="job")
        assert (await worker.status("job")).completed == 2
        group.cancel_scope.cancel()
    assert any("workflow_status" in query for query, _ in found), found
    assert all(ssl for _, ssl in found), found
    await storage.aclose()


FALSE: dict[str, dict[str, str]] = {
    "a foreign root": VERIFIED | {"sslrootcert": certifi.where()},
    "another host name": VERIFIED | {"host": "localhost", "hostaddr": "127.0.0.1"},
    "no root": VERIFIED | {"sslrootcert": "/nowhere/root.pem"},
}


async def check_refused(url: str, caplog: pytest.LogCaptureFixture) -> None:
    """Check that a storage and a fleet make no connection, and that the error helps without the password."""
    fleet = pytest.importorskip("roundtable.fleet")
    pytest.importorskip("dbos")
    storage = PostgresStorage(url, connect_timeout_s=60)  # a refusal is not tried again
    with caplog.at_level(logging.DEBUG), anyio.fail_after(20):
        with pytest.raises(StorageError) as of_storage:
            await storage.create(record("s"))
        async with fleet.Fleet(storage=url) as queue:
            with pytest.raises(StorageError) as of_fleet:
                await queue.submit("job", questions(1), rounds=1)
    for error in (of_storage.value, of_fleet.value):
        assert error.details["reason"] == "unreachable"
        assert "no encrypted connection to" in error.message
        assert "sslrootcert" in str(error.hint)
        assert PASSWORD not in "".join(traceback.format_exception(error)) + str(error.to_dict())
    assert PASSWORD not in caplog.text
    await storage.aclose()


@pytest.mark.parametrize("options", FALSE.values(), ids=FALSE.keys())
async def test_a_server_that_cannot_be_verified_is_refused_at_once(
    encrypting_server: Server, options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    await check_refused(encrypting_server.url(new_schema(), **options), caplog)


async def test_a_server_without_encryption_is_refused_at_once(
    postgres_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    await check_refused(postgres_server.url(new_schema(), sslmode="require"), caplog)
