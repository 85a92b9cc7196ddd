"""The plugins under examples/plugins keep the laws of the kit, work in a debate, and are as short as is said."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from roundtable import Roundtable
from roundtable.errors import StorageError
from roundtable.plugins import load_catalog
from roundtable.protocols import ChatModel, DebateModeStrategy, Storage, Tool
from roundtable.scoring import Rule
from roundtable.settings import Settings
from roundtable.testing import scripted_agents
from roundtable.testing.doubles import ManualClock
from roundtable.testing.mode_suite import ModeSuite
from roundtable.testing.provider_suite import KEY, Capability, ProviderSuite
from roundtable.testing.rule_suite import RuleSuite
from roundtable.testing.storage_suite import StorageSuite
from roundtable.testing.tool_suite import ToolSuite
from roundtable.types import JsonObject, ProviderConfig

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/plugins"
MOST_LINES = {"redis_storage": 150, "veto_rule": 30, "duel_mode": 40, "acme_provider": 60, "average_tool": 10}
SERVER = shutil.which("redis-server")


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", sorted(MOST_LINES))
def test_an_example_has_no_more_lines_than_documented(name: str) -> None:
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= MOST_LINES[name]


def test_no_example_goes_uncounted() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == MOST_LINES.keys()


class TestVeto(RuleSuite):
    threshold = ("at least", Fraction(1))

    @pytest.fixture
    def rule(self) -> Rule:
        return load_catalog([example("veto_rule")]).rules.get("veto")


class TestDuel(ModeSuite):
    most_agents = 5
    most_rounds = 3

    @pytest.fixture
    def mode(self) -> DebateModeStrategy:
        return load_catalog([example("duel_mode")]).modes.get("duel")


class TestAcme(ProviderSuite):
    capabilities = frozenset({Capability.HTTP, Capability.STREAMING, Capability.TOOLS})

    @pytest.fixture
    def make_model(self) -> Callable[[str], ChatModel]:
        make = load_catalog([example("acme_provider")]).providers.get("acme")
        return lambda url: make("acme-large", ProviderConfig(base_url=url, api_key=KEY), Settings())


class TestAverage(ToolSuite):
    good_input: ClassVar[JsonObject] = {"numbers": [1, 2.5]}

    @pytest.fixture
    def tool(self) -> Tool:
        found: Tool = example("average_tool").average
        return found


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis server of our own on the loopback address."""
    assert SERVER, "redis-server is not installed; .ci/run installs it"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("redis")
    words = [SERVER, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as server:
        try:
            until = time.monotonic() + 30
            while not _answers(port):
                assert time.monotonic() < until, "redis-server does not answer"
                time.sleep(0.02)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.terminate()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as there:
            there.sendall(b"PING\r\n")
            return there.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def emptied(url: str) -> Any:
    from redis import Redis

    with Redis.from_url(url) as client:
        client.flushdb()
    return example("redis_storage")


@pytest.mark.slow
@pytest.mark.redis
class TestRedis(StorageSuite):
    @pytest.fixture
    async def storage(self, clock: ManualClock, redis_url: str) -> AsyncIterator[Storage]:
        storage = emptied(redis_url).RedisStorage(redis_url, clock)
        yield storage
        await storage.aclose()

    @pytest.fixture
    def reopen(self, clock: ManualClock, redis_url: str) -> Callable[[], Awaitable[Storage]]:
        async def reopen() -> Storage:
            found: Storage = example("redis_storage").RedisStorage(redis_url, clock)
            return found

        return reopen


@pytest.mark.redis
async def test_a_debate_is_kept_in_redis_and_read_back_by_another_table(redis_url: str) -> None:
    plugin = emptied(redis_url)
    agents = scripted_agents({"ada": "Tea", "bo": "Tea", "cy": "Coffee"})
    duel, veto = example("duel_mode"), example("veto_rule")
    async with Roundtable(agents, storage=redis_url, plugins=[plugin, duel, veto]) as table:
        result = await table.debate("Tea or coffee?", mode="duel", decide="veto", rounds=2)
        assert result.decision is not None
        assert (result.decision.passed, result.status) == (False, "completed")
    async with Roundtable(agents, storage=redis_url, plugins=[plugin, duel, veto]) as other:
        again = await other.session(result.session.id)
        assert again.to_json() == result.to_json()
        assert [one.id for one in await other.sessions()] == [result.session.id]


async def test_an_unreachable_server_is_a_storage_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    storage = example("redis_storage").RedisStorage(f"redis://127.0.0.1:{port}/0")
    with pytest.raises(StorageError, match="Redis failed"):
        await storage.read("s")
    await storage.aclose()
