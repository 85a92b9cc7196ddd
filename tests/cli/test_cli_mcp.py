"""The command that serves MCP refuses to be open to everybody, or to nobody, before it listens."""

from __future__ import annotations

import pytest
from cli.kit import Command


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--no-auth"], "go with --http"),
        (["--allow-host", "a.example"], "go with --http"),
        (["--allow-origin", "https://a.example"], "go with --http"),
        (["--http", "--host", "0.0.0.0"], "--allow-host debates.example.org"),
        (["--http", "--host", "0.0.0.0", "--no-auth", "--allow-host", "a.example"], "address of this machine"),
        (["--http", "--storage", "memory://", "--db", "x.db"], "both say where"),
        (["--http", "--storage", "memory://"], "--no-auth"),
        (["--http", "--agents", "nobody"], "unknown provider 'nobody'"),
        (["--base-url", "openai"], "takes provider=URL"),
        (["--agents", "ada,,bo"], "empty entry"),
    ],
)
def test_what_does_not_fit_is_said_at_the_start(command: Command, words: list[str], said: str) -> None:
    done = command("mcp", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
