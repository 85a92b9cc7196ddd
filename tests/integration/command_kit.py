"""Stub programs for tests of command-line agents; each is a real executable that records how it was started."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

STUB = """#!{python} -IS
import json, os, signal, subprocess, sys, time
HERE = os.path.dirname(os.path.abspath(__file__))
NAME = os.path.basename(__file__)
def note(**facts):
    with open(os.path.join(HERE, NAME + ".log"), "a") as log:
        log.write(json.dumps(facts) + "\\n")
def envelope(result, session="session-1", **more):
    print(json.dumps({{"type": "result", "result": result, "session_id": session, **more}}))
argv = sys.argv[1:]
note(argv=argv, environment=dict(os.environ), pid=os.getpid(), cwd=os.getcwd())
{body}
"""

SPEAKS = """
asked = sys.stdin.read()
note(stdin=asked)
said = json.dumps({"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8})
session = argv[argv.index("--resume") + 1] if "--resume" in argv else "session-%d" % os.getpid()
envelope(said, session, total_cost_usd=0.01, usage={"input_tokens": 7, "output_tokens": 3})
"""
"""Answers any question of a debate, and keeps its session."""


class Stubs:
    """A folder of programs.

    Args:
        folder: Where they are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def make(self, name: str, body: str) -> Path:
        """Make a program."""
        file = self.folder / name
        file.write_text(STUB.format(python=sys.executable, body=body), "utf-8")
        file.chmod(0o755)
        return file

    def starts(self, name: str) -> list[dict[str, object]]:
        """Return how a program was started, each time."""
        return [entry for entry in self._log(name) if "argv" in entry]

    def read(self, name: str) -> list[str]:
        """Return what a program read, each time."""
        return [str(entry["stdin"]) for entry in self._log(name) if "stdin" in entry]

    def notes(self, name: str, what: str) -> list[object]:
        """Return what a program noted under a name."""
        return [entry[what] for entry in self._log(name) if what in entry]

    def _log(self, name: str) -> list[dict[str, object]]:
        log = self.folder / f"{name}.log"
        return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []

    def environment(self, **more: str) -> dict[str, str]:
        """Return an environment in which these programs are found."""
        return {"PATH": f"{self.folder}{os.pathsep}/usr/bin{os.pathsep}/bin", "HOME": str(self.folder), **more}


def is_alive(pid: object) -> bool:
    """Check whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}


def is_zombie(pid: object) -> bool:
    """Check whether a process has ended and nobody waited for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False
