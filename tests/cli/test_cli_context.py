"""Requests for context on the command line: a process that is killed loses neither the question nor the answer."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.kit import Command
from cli.test_cli_process import Slow, process, stored
from integration.wires import WIRES, Said

from roundtable.results.debate_result import DebateResult
from roundtable.testing.servers import LoopbackServer, Seen, WireReply

AGENTS = ("--agents", "compatible:a,compatible:b", "--rounds", "2")
TOOLS = ("--tools", "request_context")
QUERY = "How many operators are there?"
FACT = "Two, and one of them leaves in May."


class Asking(Slow):
    """A server whose models ask the caller once, and then answer; answers stop coming after some."""

    def __call__(self, seen: Seen) -> WireReply:
        if not self.wants(seen):
            return super().__call__(seen)
        wish = Said(
            None, calls=(("call_1", json.dumps({"query": QUERY, "reason": "It decides."})),), tool="request_context"
        )
        return WIRES["openai-chat"].reply(wish, streamed=seen.wants_stream)

    @staticmethod
    def wants(seen: Seen) -> bool:
        """Check whether this is the first call of the first round."""
        return b'"tools"' in seen.body and b'"role":"tool"' not in seen.body.replace(b": ", b":")


def killed(place: Path, server: LoopbackServer, slow: Slow, *words: str, until: Callable[[], bool]) -> None:
    """Run a command until a call hangs and something is stored, and kill it."""
    with process(place, *words, "--base-url", f"compatible={server.url}", *TOOLS) as running:
        slow.wait_for(1, running)
        while not until():
            assert running.poll() is None, running.communicate()
        running.send_signal(signal.SIGKILL)
        assert running.wait(20) == -signal.SIGKILL


@pytest.mark.slow
def test_a_killed_command_loses_neither_question_nor_answer(place: Path, command: Command) -> None:
    def answers() -> list[int]:
        return [len(held.responses) for held in stored(command).rounds]

    slow = Asking(quick=1)
    with LoopbackServer(slow) as server:
        base = ("--base-url", f"compatible={server.url}")
        # Killed in the first round, when one agent has asked and answered.
        killed(
            place, server, slow, "Tea?", *AGENTS, until=lambda: command("sessions", "--json").json and answers() == [1]
        )
        slow.quick = 10**6
        session = stored(command).session_id
        waiting = DebateResult.from_json(command("resume", session, *base, *TOOLS, "--json").out)
        assert waiting.status == "needs_context"
        (asked,) = waiting.context_requests
        assert (asked.query, len(waiting.rounds)) == (QUERY, 1)
        # Killed in the second, after the answer was taken; nobody answers again.
        slow.quick = slow.count
        killed(
            place,
            server,
            slow,
            "resume",
            session,
            f"--context={asked.id}={FACT}",
            until=lambda: not stored(command).context_requests,
        )
        slow.quick = 10**6
        before = len(server.seen)
        done = command("resume", session, *base, *TOOLS, "--json")
        assert done.code == 0, done.both
        result = DebateResult.from_json(done.out)
        assert (result.status, result.context_requests) == ("completed", ())
        assert all(FACT.encode() in seen.body for seen in server.seen[before:])
    assert [len(held.responses) for held in result.rounds] == [2, 2]
