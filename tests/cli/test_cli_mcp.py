"""The command that serves MCP refuses to be open to everybody, or to nobody, before it listens."""

from __future__ import annotations

import pytest
from cli.kit import Command


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--no-auth"], "--no-auth needs --http"),
        (["--port", "9"], "--port needs --http"),
        (["--host", "127.0.0.1", "--port", "8765"], "--host and --port need --http"),
        (["--allow-host", "a.example"], "--allow-host needs --http"),
        (["--allow-origin", "https://a.example"], "--allow-origin needs --http"),
        (["--http", "--host", "0.0.0.0"], "--allow-host debates.example.org"),
        (["--http", "--host", "0.0.0.0", "--no-auth", "--allow-host", "a.example"], "needs a loopback address"),
        (["--http", "--storage", "memory://", "--db", "x.db"], "cannot be used together"),
        (["--http", "--storage", "memory://"], "--no-auth"),
        (["--http", "--agents", "nobody"], "unknown provider 'nobody'"),
        (["--base-url", "openai"], "takes provider=URL"),
        (["--agents", "ada,,bo"], "empty entry"),
    ],
)
def test_wrong_options_are_refused_at_the_start(command: Command, words: list[str], said: str) -> None:
    done = command("mcp", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
