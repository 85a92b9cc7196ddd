"""The kit for authors: failures show their values, servers close twice, and nothing heavy is loaded unasked."""

from __future__ import annotations

import runpy
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import roundtable.testing
from roundtable import Roundtable
from roundtable.errors import APIAuthError
from roundtable.testing import Delay, ManualClock, scripted_agents
from roundtable.testing.analyzer_suite import AnalyzerSuite
from roundtable.testing.exit_suite import ExitSuite
from roundtable.testing.key_value_suite import KeyValueSuite
from roundtable.testing.mode_suite import ModeSuite
from roundtable.testing.provider_suite import ProviderSuite
from roundtable.testing.rule_suite import RuleSuite
from roundtable.testing.servers import LoopbackServer, WireReply
from roundtable.testing.storage_notice_laws import NoticeLaws
from roundtable.testing.storage_suite import SearchLaws, StorageSuite
from roundtable.testing.suite import Suite
from roundtable.testing.tool_suite import ToolSuite

BROKEN = """
import pytest
from roundtable.storage import MemoryStorage
from roundtable.testing.storage_suite import StorageSuite
from roundtable.types import SessionFilter


class Forgetful(MemoryStorage):
    async def list(self, filter: SessionFilter):
        return ()


class TestForgetful(StorageSuite):
    @pytest.fixture
    def storage(self):
        return Forgetful()
"""


@pytest.mark.slow
def test_a_law_that_fails_shows_the_values_it_compared(tmp_path: Path) -> None:
    file = tmp_path / "test_broken.py"
    file.write_text(BROKEN, encoding="utf-8")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "anyio", "-o", "anyio_mode=auto"]
    done = subprocess.run(
        [*words, "--rootdir", str(tmp_path), "-k", "list", str(file)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert "AssertionError: assert () == (SessionSumm" in done.stdout


def test_the_kit_is_imported_without_pytest() -> None:
    code = "import sys, roundtable.testing; assert 'pytest' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_server_can_be_closed_twice() -> None:
    server = LoopbackServer()
    with server:
        server.__exit__(None, None, None)
    server.__exit__(None, None, None)
    assert server.open_connections == 0
    with pytest.raises(OSError):
        _ = server.url


def test_a_suite_is_rewritten_only_if_pytest_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pytest")
    assert "SUITES" in runpy.run_path(str(Path(roundtable.testing.__file__)))


def heard_after(server: LoopbackServer, sent: bytes) -> bytes:
    """Send something, and give all that comes until the server hangs up."""
    with socket.create_connection(("127.0.0.1", int(server.origin.rpartition(":")[2])), timeout=30) as there:
        there.sendall(sent)
        there.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: there.recv(4096), b""))


def test_a_server_gives_its_prepared_replies() -> None:
    with LoopbackServer() as server:
        assert b"first-model" in heard_after(server, b"GET /v1/models HTTP/1.1\r\n\r\n")
        assert b'"content": "ok"' in heard_after(server, b"GET /trap HTTP/1.1\r\n\r\n")
        assert heard_after(server, b"nonsense\r\n") == b""
        assert (server.traps, [seen.path for seen in server.seen]) == (1, ["/trap"])
        server.queue(WireReply([b"HTTP/1.1 200 OK\r\n"], "reset"))
        with pytest.raises(OSError, match=r"reset|not connected"):
            heard_after(server, b"GET / HTTP/1.1\r\n\r\n")
        server.queue(WireReply([60.0, b"late"]))
        assert heard_after(server, b"GET / HTTP/1.1\r\n\r\n") == b""
        assert (len(server.hang_ups), server.connections) == (1, 5)


async def test_scripted_agents_can_be_slow_and_fail() -> None:
    agents = scripted_agents({"ada": Delay(0.001, "Tea"), "bo": [Delay(0.0, APIAuthError()), '{"position": "Milk"}']})
    async with Roundtable(agents, storage="memory://") as table:
        result = await table.debate("Tea?", rounds=2)
    assert [[said.position for said in held.responses] for held in result.rounds] == [["Tea"], ["Tea", "Milk"]]


@pytest.mark.parametrize("law", [name for name in vars(SearchLaws) if name.startswith("test_")])
async def test_a_storage_that_cannot_search_breaks_no_law_of_searching(law: str) -> None:
    await getattr(StorageSuite(), law)(object())


@pytest.mark.parametrize(
    ("suite", "fixture"),
    [
        (AnalyzerSuite, "meter"), (ExitSuite, "criterion"), (KeyValueSuite, "kv"), (ModeSuite, "mode"),
        (ProviderSuite, "make_model"), (RuleSuite, "rule"), (StorageSuite, "storage"), (ToolSuite, "tool"),
    ],
)  # fmt: skip
def test_a_suite_says_which_fixture_it_lacks(suite: type[Suite], fixture: str) -> None:
    lacking = getattr(suite, fixture).__wrapped__
    with pytest.raises(NotImplementedError, match=f"needs a fixture `{fixture}`"):
        lacking(suite())


async def test_a_storage_that_does_not_report_session_owners_breaks_no_law() -> None:
    await StorageSuite().test_a_storage_that_tells_who_runs_a_session_takes_nothing_by_it(object(), ManualClock())  # type: ignore[arg-type]


@pytest.mark.parametrize("law", [name for name in vars(NoticeLaws) if name.startswith("test_")])
async def test_a_storage_that_reports_nothing_breaks_no_law_of_reporting(law: str) -> None:
    async def reopen() -> object:
        raise AssertionError("nothing to compare")

    await getattr(StorageSuite(), law)(object(), reopen)
