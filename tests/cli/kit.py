"""What the tests of the command share: scripts for agents, and running the command here or as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from roundtable.results.debate_result import DebateResult
from roundtable.testing.servers import WireReply, chat_reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from roundtable.testing.servers import Seen

ROOT = Path(__file__).resolve().parents[2]
OURS = ("ROUNDTABLE_", "ANTHROPIC_", "OPENAI_", "GOOGLE_", "GEMINI_", "PERPLEXITY_", "OLLAMA_", "BRAVE_", "TAVILY_")
ALSO = ("SEARXNG_URL", "DATABASE_PATH", "LOG_LEVEL", "NO_COLOR", "FORCE_COLOR", "XDG_DATA_HOME", "XDG_CACHE_HOME")
FOREVER_S = 60.0
AGENTS = ("--agents", "compatible:a,compatible:b,compatible:c", "--rounds", "2")
PROGRAM = (sys.executable, "-W", "error", "-m", "roundtable")


def is_ours(name: str) -> bool:
    return name.startswith(OURS) or name in ALSO


def clean_environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment that offers no provider, with its home in a folder."""
    kept = {name: value for name, value in os.environ.items() if not is_ours(name)}
    return {**kept, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "TERM": "xterm-256color", **more}


def said(position: str, **more: object) -> dict[str, object]:
    """Return an answer in the form of a scripted agent."""
    return {"position": position, "reasoning": f"Because {position.lower()}.", "confidence": 0.8, **more}


def script(folder: Path, name: str, replies: object) -> str:
    """Write a script and give the agent that follows it, as the command line names it."""
    (folder / f"{name}.json").write_text(json.dumps(replies), "utf-8")
    return f"scripted:{name}.json"


def always(folder: Path, positions: Mapping[str, str]) -> str:
    """Write scripts of agents that always say the same, and give them as the command line names them."""
    return ",".join(script(folder, name, {"*": said(position)}) for name, position in positions.items())


@dataclass(frozen=True, slots=True)
class Done:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> object:
        return json.loads(self.out)

    @property
    def both(self) -> str:
        return self.out + self.err


class Command(Protocol):
    """Runs the command with some words."""

    def __call__(self, *words: str) -> Done: ...


def as_process(folder: Path, words: Sequence[str], *, timeout_s: float = 60, typed: str = "", **more: str) -> Done:
    """Run the command as a process of its own, which reads what was typed from its standard input."""
    done = subprocess.run(
        [*PROGRAM, *words],
        cwd=folder,
        env=clean_environment(folder, **more),
        input=typed,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=timeout_s,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


class Slow:
    """A server whose answers stop coming after some; those that are asked for then wait until they are let through."""

    def __init__(self, quick: int, pause_s: float = FOREVER_S) -> None:
        self.quick = quick
        self.pause_s = pause_s
        self.waiting = threading.Semaphore(0)
        self._lock = threading.Lock()
        self.count = 0

    def __call__(self, seen: Seen) -> WireReply:
        with self._lock:
            self.count += 1
            number = self.count
        reply = chat_reply(
            {"position": f"Tea {number}", "reasoning": "It keeps.", "bottom_line": "Tea", "confidence": 0.7},
            stream=seen.wants_stream,
        )
        if number <= self.quick:
            return reply
        self.waiting.release()
        return WireReply([self.pause_s, *reply.parts], reply.end)

    def wait_for(self, count: int, running: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
        """Wait until so many calls of a process hang."""
        for _ in range(count):
            while not self.waiting.acquire(timeout=0.5):
                assert running.poll() is None, running.communicate()


@contextmanager
def process(folder: Path, *words: str, **more: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*PROGRAM, *words],
        cwd=folder,
        env=clean_environment(folder, **more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def stored(command: Command) -> DebateResult:
    listed = command("sessions", "--json").json
    assert isinstance(listed, list)
    return DebateResult.from_json(command("show", listed[0]["id"], "--json").out)
