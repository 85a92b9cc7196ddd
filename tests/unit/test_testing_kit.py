"""The kit for authors: failures show their values, servers close twice, and nothing heavy is loaded unasked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from roundtable.testing.servers import LoopbackServer

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


def test_a_server_may_be_left_twice() -> None:
    server = LoopbackServer()
    with server:
        server.__exit__(None, None, None)
    server.__exit__(None, None, None)
    assert server.open_connections == 0
    with pytest.raises(OSError):
        _ = server.url
