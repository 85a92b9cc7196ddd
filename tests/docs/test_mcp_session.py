"""The session on the page about MCP is what the installed command answers: the program is run, its output compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "serve-mcp.md"
VARYING = (
    (re.compile(r"\b[0-9a-f]{32}\b"), "<session>"),
    (re.compile(r"\bctx-[0-9a-f]{10}\b"), "<request>"),
    (re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"), "<time>"),
)


def block(title: str) -> str:
    """Return a block of the page by its title."""
    found = re.findall(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', PAGE.read_text("utf-8"), re.DOTALL)
    assert len(found) == 1
    return found[0]


def steady(text: str) -> list[str]:
    """Return the lines of a text without what differs each time."""
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return text.splitlines()


def run(title: str, folder: Path) -> str:
    """Run a program of the page in a folder, as a reader would, and give what it prints."""
    (folder / title).write_text(block(title), "utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    words = [sys.executable, "-W", "error", title]
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_the_session_of_the_page_prints_what_the_page_shows(tmp_path: Path) -> None:
    assert steady(run("session.py", tmp_path)) == steady(block("what session.py prints"))


def test_the_session_of_the_page_calls_every_tool() -> None:
    from roundtable.mcp import TOOLS

    called = set(re.findall(r'call\(\s*"(\w+)"', block("session.py")))
    assert called == TOOLS.keys()


@pytest.mark.slow
def test_the_client_of_the_page_lists_the_tools(tmp_path: Path) -> None:
    assert len(run("client.py", tmp_path).splitlines()) == 12
