"""Servers of several hosts: processes of the installed command with one database, and a provider for their agents."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from integration.test_mcp_processes import listening

from roundtable.auth import IssuedToken, TokenStore
from roundtable.storage import PostgresStorage
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, chat_reply

PATIENCE_S = 240.0
ANSWER = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}


class GatedProvider:
    """A provider on this machine that answers as often as a test lets it."""

    def __init__(self) -> None:
        self._let = threading.Semaphore(0)
        self._server = LoopbackServer(self._answer)
        self.url = ""

    def _answer(self, seen: Seen) -> WireReply:
        self._let.acquire()
        return chat_reply(ANSWER, stream=seen.wants_stream)

    @property
    def calls(self) -> int:
        """Number of calls that have come."""
        return len(self._server.seen)

    async def asked(self, calls: int) -> None:
        """Wait until so many calls have come."""
        with anyio.fail_after(60):
            while self.calls < calls:  # noqa: ASYNC110  (they come on other threads)
                await anyio.sleep(0.02)

    def let(self, answers: int = 1000) -> None:
        """Allow some answers; without a number, all that are asked for."""
        self._let.release(answers)

    @contextmanager
    def serving(self) -> Iterator[GatedProvider]:
        """Serve while the block is open, then answer all that wait."""
        with self._server:
            self.url = self._server.url
            try:
                yield self
            finally:
                self.let()


@contextmanager
def two_hosts(provider: GatedProvider, storage: str, folder: Path, *words: str) -> Iterator[tuple[str, str]]:
    """Run a command of two agents as two servers with one storage; yield their origins."""
    command = [
        str(Path(sys.executable).with_name("roundtable")), *words, "--storage", storage,
        "--agents", "compatible:tea,compatible:coffee", "--base-url", f"compatible={provider.url}",
    ]  # fmt: skip
    with listening(command, folder) as first, listening(command, folder) as second:
        yield first, second


async def issued(storage: str, user: str, audience: str) -> IssuedToken:
    """Create a token as an operator does, beside the servers."""
    opened = PostgresStorage(storage)
    token = await TokenStore.of(opened).create(user, audience=audience)
    await opened.aclose()
    return token


def until(law: Callable[[], Any], limit_s: float = PATIENCE_S) -> Any:
    """Return what is true in the end."""
    ends = time.monotonic() + limit_s
    while time.monotonic() < ends:
        found = law()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"not within {limit_s:g} s")
