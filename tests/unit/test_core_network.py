"""While the network is forbidden, nothing leaves this machine, in any library or thread."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from roundtable import ProviderConfig, Roundtable
from roundtable.core.base.network import NetworkForbidden, check_host
from roundtable.errors import ConfigurationError, QuorumLost
from roundtable.http import HttpClient
from roundtable.http.client import HttpRequest
from roundtable.settings import Settings
from roundtable.testing import scripted_agents, without_network

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

AWAY = "203.0.113.7"  # an address for documentation, which nobody has


def udp(method: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        getattr(sender, method)(*([b"x"], [], 0, (AWAY, 9)) if method == "sendmsg" else (b"x", (AWAY, 9)))


REACHES: dict[str, Callable[[], Any]] = {
    "address": lambda: socket.create_connection((AWAY, 9), timeout=0.01),
    "name": lambda: socket.create_connection(("example.org", 443)),
    "bytes": lambda: socket.getaddrinfo(b"example.org", 443),
    "look-up": lambda: socket.gethostbyname("example.org"),
    "reverse": lambda: socket.gethostbyaddr(AWAY),
    "sendto": lambda: udp("sendto"),
    "sendmsg": lambda: udp("sendmsg"),
    "name of an address": lambda: socket.getnameinfo((AWAY, 9), 0),
    "program": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
    "shell": lambda: os.system("true"),
    "driver": lambda: check_host("db.example.org"),
}


@pytest.mark.parametrize("way", REACHES)
def test_every_way_to_leave_this_machine_is_refused(way: str) -> None:
    with without_network(), pytest.raises(NetworkForbidden, match="the network is forbidden in this process"):
        REACHES[way]()


@pytest.mark.parametrize("variables", [{"PGHOST": AWAY}, {"PGHOSTADDR": AWAY}, {"PGSERVICE": "away"}])
@pytest.mark.parametrize("url", ["postgresql:///app", "postgresql://localhost/app", "postgresql:///app?service=away"])
async def test_libpq_reaches_no_host_of_its_own_variables_and_files(
    url: str, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = pytest.importorskip("roundtable.storage.postgres_connection")
    pool = connection.PostgresPool(connection.parse_address(url), 1, connection.Limits(1, 1, 1, 1))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    names_own_host = "localhost" in url and "PGHOST" in variables
    with without_network(), pytest.raises(Exception) as caught:
        await pool.connect()
    assert (getattr(caught.value, "code", None) == "NETWORK_FORBIDDEN") is not names_own_host


async def test_an_agent_on_the_command_line_is_refused_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with without_network(), pytest.raises(QuorumLost) as caught:
        async with Roundtable(["claude-cli:sonnet", "claude-cli:haiku"], storage="memory://") as table:
            await table.debate("Tea?", rounds=1)
    assert {cause.code for cause in caught.value.causes} == {"NETWORK_FORBIDDEN"}
    assert all("claude cannot be started" in cause.message and cause.hint for cause in caught.value.causes)


def test_this_machine_is_reachable() -> None:
    with without_network(), socket.create_server(("127.0.0.1", 0)) as server:
        for host in ("127.0.0.1", "localhost"):
            socket.create_connection((host, server.getsockname()[1])).close()
        assert socket.getaddrinfo(None, 80)
        for here in (None, "", "localhost", "127.0.0.2", "::1", "::1%lo"):
            check_host(here)


def test_the_ban_applies_in_threads_can_be_nested_and_ends() -> None:
    seen: list[str] = []

    def reach() -> None:
        try:
            socket.getaddrinfo("example.org", 443)
        except NetworkForbidden as error:
            seen.append(str(error))

    with without_network():
        with without_network():
            pass
        thread = threading.Thread(target=reach)
        thread.start()
        thread.join()
    assert seen == ["the network is forbidden in this process: no look-up of 'example.org'"]
    assert subprocess.run([sys.executable, "-c", ""], check=False).returncode == 0
    check_host("db.example.org")


@pytest.mark.parametrize("host", ["api.example.org", AWAY])
async def test_a_call_fails_at_once_with_a_hint(host: str) -> None:
    provider = ProviderConfig(api_key="k", base_url=f"https://{host}")
    table = Roundtable(["anthropic:a", "anthropic:b"], providers={"anthropic": provider}, storage="memory://")
    with without_network(), pytest.raises(QuorumLost) as caught:
        async with table:
            await table.debate("Tea?", rounds=1)
    assert {cause.code for cause in caught.value.causes} == {"NETWORK_FORBIDDEN"}
    assert all(cause.hint and not cause.retryable for cause in caught.value.causes)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # aiohttp knows no other
async def test_the_faster_transport_fails_alike() -> None:
    pytest.importorskip("aiohttp")
    client = HttpClient("test")
    with without_network(), pytest.raises(ConfigurationError) as caught:
        await client.send(HttpRequest("GET", f"https://{AWAY}/", {}, b""), timeout_s=5)
    await client.aclose()
    assert caught.value.code == "NETWORK_FORBIDDEN"


async def test_scripted_debates_need_no_network() -> None:
    with without_network():
        table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
        assert (await table.debate("Tea?", rounds=1)).answer == "Tea"


@pytest.mark.slow
@pytest.mark.parametrize("by", ["variable", "settings"])
def test_a_setting_forbids_the_network_for_the_process_and_its_children(by: str) -> None:
    assert Settings.from_env({}).network
    assert not Settings.from_env({"ROUNDTABLE_NETWORK": "off"}).network
    program = (
        "import socket, roundtable, roundtable.sync as sync\n"
        "from roundtable.testing import scripted_agents\n"
        "from roundtable.settings import Settings\n"
        f"options = {{}} if {by!r} == 'variable' else {{'settings': Settings(network=False)}}\n"
        "agents = scripted_agents({'ada': 'Tea', 'bo': 'Tea'})\n"
        "table = sync.Roundtable(agents, storage='memory://', **options)\n"
        "print(table.debate('Tea?', rounds=1).answer)\n"
        "try: socket.getaddrinfo('example.org', 443)\n"
        "except OSError as error: print(error, flush=True)\n"
        "import os\n"
        "print(os.environ['ROUNDTABLE_NETWORK'], flush=True)\n"
        "if not os.fork():\n"
        "    try: socket.create_connection(('203.0.113.7', 9), timeout=0.01)\n"
        "    except OSError as error: os.write(1, f'{error}\\n'.encode())\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    environment = {**os.environ, **({"ROUNDTABLE_NETWORK": "off"} if by == "variable" else {})}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [
        "Tea",
        "the network is forbidden in this process: no look-up of 'example.org'",
        "off",
        "the network is forbidden in this process: no look-up of '203.0.113.7'",
    ]
