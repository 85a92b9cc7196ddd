"""SIGTERM and SIGHUP on every front: what runs is paused and can be resumed, and the exit code names the signal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import termios
import threading
import time
from contextlib import contextmanager, suppress
from http.client import HTTPException
from typing import IO, TYPE_CHECKING
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from cli.kit import AGENTS, PROGRAM, Command, Slow, always, clean_environment, process, stored

from roundtable.testing.servers import LoopbackServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BOTH = [pytest.param(signal.SIGTERM, 143, id="SIGTERM"), pytest.param(signal.SIGHUP, 129, id="SIGHUP")]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
START = {"name": "start_roundtable", "arguments": {"topic": "Tea?", "rounds": 2, "wait": 30}}


def paused(command: Command, *words: str) -> str:
    """Return the id of the only session, which is paused."""
    listed = command("sessions", "--json", *words).json
    assert isinstance(listed, list)
    assert [(one["status"], one["topic"]) for one in listed] == [("paused", "Tea?")]
    return str(listed[0]["id"])


def resumed(command: Command, session: str, server: LoopbackServer, slow: Slow, *words: str) -> None:
    slow.quick = 10**6
    done = command("resume", session, "--base-url", f"compatible={server.url}", "--json", *words)
    assert done.code == 0, done.both
    assert done.json["sessionStatus"] == "completed"  # type: ignore[index,call-overload]


@contextmanager
def speaking(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a server, with its standard streams at hand."""
    with subprocess.Popen(
        [*PROGRAM, *words],
        cwd=folder,
        env=clean_environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as running:
        timer = threading.Timer(60, running.kill)
        timer.start()
        try:
            yield running
        finally:
            timer.cancel()
            running.kill()


def address(stream: IO[str] | None) -> str:
    """Return the address that a server prints."""
    assert stream is not None
    found = re.search(r"http://127\.0\.0\.1:\d+\S*", stream.readline())
    assert found is not None
    return found[0]


def post(url: str, body: object, **headers: str) -> str | None:
    """Post, and give the session of MCP that the answer names."""
    accepted = {"content-type": "application/json", **headers}
    asked = Request(url, json.dumps(body).encode(), accepted)
    with build_opener(ProxyHandler({})).open(asked, timeout=40) as answer:
        answer.read()
        named: str | None = answer.headers.get("mcp-session-id")
        return named


def left(url: str, body: object, **headers: str) -> None:
    """Post in a thread of its own; the server ends before it has answered."""

    def run() -> None:
        with suppress(OSError, HTTPException):
            post(url, body, **headers)

    threading.Thread(target=run, daemon=True).start()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"),
    [pytest.param(*BOTH[0].values, id="SIGTERM"), pytest.param(*BOTH[1].values, id="SIGHUP", marks=pytest.mark.slow)],
)
def test_mcp_over_standard_streams_pauses_running_debates_on_a_signal(
    place: Path, command: Command, number: int, code: int
) -> None:
    slow = Slow(quick=1)
    with LoopbackServer(slow) as server:
        words = ("mcp", "--agents", "compatible:a,compatible:b", "--base-url", f"compatible={server.url}")
        with speaking(place, *words) as running:
            assert running.stdin is not None
            for message in (
                {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
                {"jsonrpc": "2.0", "method": "notifications/initialized"},
                {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": START},
            ):
                running.stdin.write(json.dumps(message) + "\n")
                running.stdin.flush()
            slow.wait_for(1, running)
            running.send_signal(number)
            assert running.wait(20) == code
        resumed(command, paused(command), server, slow)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_mcp_over_http_pauses_running_debates_on_a_signal(place: Path, command: Command, number: int) -> None:
    slow = Slow(quick=1)
    with LoopbackServer(slow) as server:
        words = ("mcp", "--http", "--no-auth", "--port", "0", "--agents", "compatible:a,compatible:b")
        with speaking(place, *words, "--base-url", f"compatible={server.url}") as running:
            url = address(running.stderr)
            named = {"accept": "application/json, text/event-stream"}
            session = post(url, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}, **named)
            assert session is not None
            named["mcp-session-id"] = session
            post(url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **named)
            left(url, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": START}, **named)
            slow.wait_for(1, running)
            running.send_signal(number)
            assert running.wait(20) == 0
        resumed(command, paused(command), server, slow)


@pytest.mark.slow
@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGTERM, id="SIGTERM", marks=pytest.mark.slow), pytest.param(signal.SIGHUP, id="SIGHUP")],
)
def test_a_server_pauses_running_debates_on_a_signal(place: Path, command: Command, number: int) -> None:
    slow = Slow(quick=1)
    with LoopbackServer(slow) as server:
        words = ("serve", "--no-auth", "--port", "0", "--agents", "compatible:a,compatible:b")
        with speaking(place, *words, "--base-url", f"compatible={server.url}") as running:
            post(f"{address(running.stderr)}/api/debates", {"topic": "Tea?", "rounds": 2})
            slow.wait_for(1, running)
            running.send_signal(number)
            assert running.wait(20) == 0
        resumed(command, paused(command), server, slow)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), BOTH)
def test_a_resumed_debate_is_paused_again(place: Path, command: Command, number: int, code: int) -> None:
    slow = Slow(quick=1)
    with LoopbackServer(slow) as server:
        base = ("--base-url", f"compatible={server.url}")
        with process(place, "Tea?", *AGENTS, *base) as running:
            slow.wait_for(2, running)
            running.send_signal(number)
            assert running.wait(20) == code
        with process(place, "resume", "last", *base) as running:
            slow.wait_for(1, running)
            running.send_signal(number)
            assert running.wait(20) == code
        resumed(command, paused(command), server, slow)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"),
    [pytest.param(*BOTH[0].values, id="SIGTERM"), pytest.param(*BOTH[1].values, id="SIGHUP", marks=pytest.mark.slow)],
)
def test_a_benchmark_pauses_running_debates_on_a_signal(place: Path, command: Command, number: int, code: int) -> None:
    slow = Slow(quick=1)
    with LoopbackServer(slow) as server:
        words = ("bench", "single", "Tea?", "--rounds", "2", "--agents", "compatible:a,compatible:b", "--db", "b.db")
        with process(place, *words, "--base-url", f"compatible={server.url}") as running:
            slow.wait_for(1, running)
            running.send_signal(number)
            _, err = running.communicate(timeout=20)
        assert running.returncode == code
        assert "Traceback" not in err
        resumed(command, paused(command, "--db", "b.db"), server, slow, "--db", "b.db")


@pytest.mark.slow
def test_a_closed_terminal_pauses_the_debate(place: Path, command: Command) -> None:
    slow = Slow(quick=1)
    with LoopbackServer(slow) as server:
        master, slave = pty.openpty()
        with subprocess.Popen(
            [*PROGRAM, "Tea?", *AGENTS, "--base-url", f"compatible={server.url}"],
            cwd=place,
            env=clean_environment(place),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  (no thread holds a lock here)
        ) as running:
            os.close(slave)
            try:
                while b"thinking" not in os.read(master, 65536):
                    pass
                slow.wait_for(1, running)
                os.close(master)
                assert running.wait(20) == 129
            finally:
                running.kill()
        resumed(command, paused(command), server, slow)


@pytest.mark.slow
def test_a_debate_under_nohup_continues(place: Path, command: Command) -> None:
    slow = Slow(quick=1, pause_s=1.5)
    with LoopbackServer(slow) as server:
        words = ["nohup", *PROGRAM, "Tea?", *AGENTS, "--base-url", f"compatible={server.url}"]
        nowhere, pipe = subprocess.DEVNULL, subprocess.PIPE
        with subprocess.Popen(
            words, cwd=place, env=clean_environment(place), stdin=nowhere, stdout=pipe, stderr=pipe, text=True
        ) as running:
            slow.wait_for(1, running)
            running.send_signal(signal.SIGHUP)
            running.communicate(timeout=60)
        assert running.returncode == 0
    assert stored(command).session_status == "completed"


# ------------------------------------------------------------------ standard streams that are closed


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell in which `rt` stands for the command."""
    program = " ".join(f"'{word}'" for word in PROGRAM)
    return subprocess.run(
        ["bash", "-c", f'rt() {{ {program} "$@"; }}; {line}'],
        cwd=folder,
        env=clean_environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("words", ["modes", "--version", "mcp", "--help"])
def test_a_closed_standard_output_is_reported_in_one_line(tmp_path: Path, words: str) -> None:
    done = shell(tmp_path, f"rt {words} >&-")
    assert (done.returncode, done.stderr) == (1, "The output cannot be written: Bad file descriptor\n")


@pytest.mark.slow
def test_a_debate_is_not_started_if_its_output_cannot_be_written(place: Path, command: Command) -> None:
    agents = always(place, {"ada": "Tea"})
    done = shell(place, f"rt Tea --agents {agents} --rounds 1 >&-")
    assert (done.returncode, done.stderr) == (1, "The output cannot be written: Bad file descriptor\n")
    assert command("sessions", "--json").json == []


@pytest.mark.slow
def test_a_closed_standard_error_loses_no_result(place: Path, command: Command) -> None:
    agents = always(place, {"ada": "Tea"})
    done = shell(place, f"rt Tea --agents {agents} --rounds 1 --json 2>&- <&-")
    assert done.returncode == 0
    assert json.loads(done.stdout)["answer"] == "Tea"
    assert command("show", "last").code == 0


@pytest.mark.slow
def test_a_reader_that_takes_one_line_and_leaves_sees_no_traceback(tmp_path: Path) -> None:
    done = shell(tmp_path, 'for _ in 1 2 3; do rt doctor | head -1; done; exit "${PIPESTATUS[0]}"')
    assert done.stdout.count("roundtable: ") == 3
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("lines", [1, 2, 3])
def test_a_debate_whose_reader_leaves_is_paused_and_says_how_to_resume_it(
    place: Path, command: Command, lines: int
) -> None:
    agents = always(place, {"ada": "Tea", "bo": "Coffee"})
    done = shell(place, f'rt Tea --agents {agents} --rounds 9 | head -{lines}; exit "${{PIPESTATUS[0]}}"')
    session = stored(command)
    assert (done.returncode, session.session_status) == (1, "paused")
    assert done.stderr.endswith(f"Resume: roundtable resume {session.session_id[:8]}\n")
    assert len(done.stderr.splitlines()) == 1
    assert command("resume", "last").code == 0


@pytest.mark.slow
def test_watching_an_idle_session_ends_when_the_reader_leaves(place: Path) -> None:
    with LoopbackServer(Slow(quick=0)) as server:
        words = ("Tea?", "--agents", "compatible:a,compatible:b", "--base-url", f"compatible={server.url}")
        with speaking(place, *words) as running:
            while not server.seen:
                assert running.poll() is None  # it is ended after a minute
                time.sleep(0.05)
            running.kill()
    # Everything is written before the reader leaves, so no later write fails.
    assert shell(place, 'rt watch last | sleep 4; exit "${PIPESTATUS[0]}"').returncode == 1
