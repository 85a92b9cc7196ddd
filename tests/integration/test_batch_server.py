"""Two hundred debates against a server that is only as good as servers are: none fails, and none lacks an agent."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import anyio
import pytest

import roundtable.types
from roundtable import AgentConfig, ProviderConfig, Roundtable
from roundtable.gateway import CircuitBreaker
from roundtable.results.many import Results
from roundtable.testing.servers import WireReply, chat_reply, http_reply
from roundtable.types import RetryPolicy

pytestmark = [pytest.mark.slow, pytest.mark.both_loops]

DEBATES = 200
ANSWER = {"position": "Tea", "bottom_line": "Tea", "reasoning": "It keeps.", "confidence": 0.8}
SOON_S = 0.3


class UnsteadyServer:
    """Chat Completions on 127.0.0.1 with a share of faults; it can go away, and come back at the same address.

    Args:
        errors: Share of the requests that get the status 500.
        cuts: Share of the requests whose answer is cut off.
        leaves_after: Number of the request after which the server goes away once.
        away_s: Seconds until it comes back.
    """

    def __init__(self, *, errors: float = 0.0, cuts: float = 0.0, leaves_after: int = 0, away_s: float = 0.0) -> None:
        self.chances = random.Random(44)
        self.errors, self.cuts, self.leaves_after, self.away_s = errors, cuts, leaves_after, away_s
        self.requests = 0
        self.outcomes: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.port = 0

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _open(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), type("Handler", (Handler,), {"of": self}))
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def _close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def leave(self) -> None:
        """Refuse connections for a while."""
        self._close()
        threading.Event().wait(self.away_s)
        self._open()

    def reply(self, *, stream: bool) -> WireReply:
        """Choose the reply to the next request."""
        with self.lock:
            self.requests += 1
            chance = self.chances.random()
            if self.requests == self.leaves_after:
                threading.Thread(target=self.leave, daemon=True).start()
            outcome = "error" if chance < self.errors else "cut" if chance < self.errors + self.cuts else "answer"
            self.outcomes[outcome] += 1
        if outcome == "error":
            return http_reply(b'{"error": {"message": "internal"}}', status=500)
        whole = chat_reply(ANSWER, stream=stream)
        return WireReply(whole.parts[:-1], "close") if outcome == "cut" else whole


class Handler(BaseHTTPRequestHandler):
    of: UnsteadyServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        for part in self.of.reply(stream=bool(body.get("stream"))).parts:
            assert isinstance(part, bytes)
            self.wfile.write(part.replace(b"keep-alive", b"close"))

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return provider settings with which a breaker opens only in an outage, and lets a call through soon."""
    monkeypatch.setattr(CircuitBreaker, "recovery_s", SOON_S)
    monkeypatch.setattr(CircuitBreaker, "threshold", 1000)
    rule = getattr(roundtable.types, "Breaker", None)
    return {} if rule is None else {"breaker": rule(recovery_s=SOON_S)}


async def debate_all(server: UnsteadyServer, settings: dict[str, Any], **options: Any) -> Results:
    retry = RetryPolicy(max_attempts=2, base_delay_ms=10)
    agents = [AgentConfig(id=name, name=name, provider="compatible", model="m", retry=retry) for name in ("ada", "bo")]
    config = ProviderConfig(base_url=f"http://127.0.0.1:{server.port}/v1", **settings)
    async with Roundtable(
        agents, providers={"compatible": config}, storage="memory://", analyzer="basic", concurrency=32
    ) as table:
        return await table.debate_many([f"Tea or water, {n}?" for n in range(DEBATES)], concurrency=32, **options)


def check_whole(results: Results, server: UnsteadyServer) -> None:
    assert results.failures == ()
    assert [result.topic for result in results if not result.roster.complete or result.status != "completed"] == []
    assert server.outcomes["answer"] == results.usage.calls - results.usage.unreported_calls == 2 * DEBATES


async def test_errors_and_cut_answers_leave_no_debate_incomplete(settings: dict[str, Any]) -> None:
    with UnsteadyServer(errors=0.06, cuts=0.02) as server:
        results = await debate_all(server, settings, rounds=1)
    assert server.outcomes["error"] > 15
    assert server.outcomes["cut"] > 2
    check_whole(results, server)


async def test_a_server_that_goes_away_for_a_while_leaves_no_debate_incomplete(settings: dict[str, Any]) -> None:
    with UnsteadyServer(leaves_after=100, away_s=1.5) as server:
        with anyio.fail_after(60):
            results = await debate_all(server, settings, rounds=1)
        check_whole(results, server)
    assert sum(wait.seconds for result in results for wait in result.waits) >= 1
