"""The command that serves over HTTP: what it refuses before it listens, and one run from beginning to end."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from cli.kit import PROGRAM, ROOT, Command, always, as_process, clean_environment

CRM = ROOT / "examples" / "crm" / "profiles.toml"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "--allow-host debates.example.org"),
        (["--no-auth", "--host", "0.0.0.0", "--allow-host", "a.example"], "needs a loopback address"),
        (["--no-auth", "--allow-host", "a.example"], "does not allow --allow-host"),
        (["--storage", "memory://"], "--no-auth"),
        (["--limit-rounds", "0"], "unknown value for --limit-rounds: '0'"),
        (["--limit-streams", "many"], "--limit-streams"),
        (["--profiles", "nowhere.toml"], "profiles cannot be read from 'nowhere.toml': No such file or directory\n"),
        (["--allow-origin", "*"], "scheme://host or scheme://host:port, not '*'"),
        (["--profiles", str(CRM)], "profile 'data-steward': unknown tool 'getSFDCData'"),
        (["--agents", "nobody"], "unknown provider 'nobody'"),
        (["--agents", "openai:gpt-5.2"], "OPENAI_API_KEY"),
    ],
)
def test_wrong_options_are_refused_at_the_start(command: Command, words: list[str], said: str) -> None:
    done = command("serve", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize("words", [["serve"], ["mcp", "--http"]])
def test_unreadable_sessions_are_reported_at_the_start(command: Command, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "junk.db").write_text("no database at all, but some text that is long enough " * 4)
    agents = always(tmp_path, {"ada": "Tea"})
    done = command(*words, "--port", "0", "--db", str(tmp_path / "junk.db"), "--agents", agents)
    assert (done.code, done.out) == (7, "")
    assert "damaged or not a SQLite database" in done.err


@pytest.mark.parametrize("words", [["serve"], ["mcp", "--http"]])
def test_a_missing_extra_and_a_port_in_use_are_reported(
    command: Command, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = command(*words, "--port", str(taken.getsockname()[1]))
    assert (done.code, done.out) == (2, "")
    # Sessions can be looked at where nobody can debate.
    assert done.err.startswith("Debates cannot start: ")
    assert "ANTHROPIC_API_KEY" in done.err
    assert "Error: cannot listen on 127.0.0.1, port " in done.err
    assert done.err.endswith("Hint: Choose another port or address.\n")


@pytest.mark.slow
def test_the_server_runs_until_it_is_asked_to_end(tmp_path: Path) -> None:
    agents = always(tmp_path, {"ada": "Tea", "bo": "Tea"})
    words = ["serve", "--port", "0", "--db", "a.db", "--agents", agents, "--limit-conversations", "1"]
    made = as_process(tmp_path, ["tokens", "create", "ann", "--audience", "http", "--db", "a.db", "--json"])
    token = json.loads(made.out)["token"]
    process = subprocess.Popen(
        [*PROGRAM, *words],
        cwd=tmp_path,
        env=clean_environment(tmp_path, ROUNDTABLE_LIMIT_ROUNDS="none"),
        stderr=subprocess.PIPE,
        text=True,
    )
    timer = threading.Timer(60, process.kill)
    timer.start()
    try:
        assert process.stderr is not None
        told = [process.stderr.readline(), process.stderr.readline()]
        found = re.search(r"http://127\.0\.0\.1:\d+", told[0])
        assert found is not None
        assert "roundtable tokens create NAME --audience http --db a.db" in told[1]
        open_url = build_opener(ProxyHandler({})).open
        asked = Request(
            f"{found[0]}/api/debates?wait=30",
            json.dumps({"topic": "Tea?", "rounds": 1}).encode(),
            {"authorization": f"Bearer {token}", "content-type": "application/json"},
        )
        with open_url(asked, timeout=40) as answer:
            assert json.load(answer)["answer"] == "Tea"
            assert answer.headers["ratelimit-policy"] == '"conversations";q=1;w=3600, "concurrent";q=2'
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        process.stderr.close()
