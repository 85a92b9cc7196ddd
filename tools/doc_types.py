"""Type-check the Python blocks of documentation pages with `mypy --strict`, as a reader's checker would.

Each page is one program: its blocks follow one another, and stand in an `async def`, since they `await`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path("docs")
PAGES = ("how-to/*.md", "explanation/durability.md")
UNCHECKED = frozenset(
    {
        "answer-context-requests.md",
        "choose-a-decision-rule.md",
        "choose-agents.md",
        "command-line-agents.md",
        "end-a-debate-early.md",
        "measure-what-debating-gains.md",
        "record-and-replay.md",
        "retries-and-deadlines.md",
        "run-experiments.md",
        "serve-http.md",
        "serve-mcp.md",
        "teams.md",
        "tools.md",
        "use-a-local-server.md",
        "use-the-client.md",
        "write-a-mode.md",
        "write-a-plugin.md",
        "write-an-agent.md",
    }
)
"""Pages with blocks that leave out types, or import what the page itself writes; a page that is mended leaves."""

_BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_ERROR = re.compile(r"^(?P<file>[^:]+\.py):(?P<line>\d+): (?P<rest>error: .*)$")


def program(text: str) -> str:
    """Return the blocks of a page as one program whose lines are those of the page."""
    lines = [""] * (text.count("\n") + 1)
    for found in _BLOCK.finditer(text):
        first = text.count("\n", 0, found.start(1))
        for place, line in enumerate(found.group(1).splitlines(), start=first):
            lines[place] = f"    {line}" if line else ""
    if not any(lines):
        return ""
    lines[0] = "async def page() -> None:"  # the title of the page
    return "\n".join(lines) + "\n"


def main() -> int:
    """Check the pages, print what is wrong at their own lines, and return how the process ends."""
    wanted = sorted({path for pattern in PAGES for path in DOCS.glob(pattern)})
    pages = {path: program(path.read_text("utf-8")) for path in wanted if path.name not in UNCHECKED}
    with tempfile.TemporaryDirectory() as folder:
        names = {}
        for path, code in pages.items():
            if code:
                name = "page_" + re.sub(r"\W", "_", str(path.with_suffix("")))
                (Path(folder) / f"{name}.py").write_text(code, "utf-8")
                names[f"{name}.py"] = path
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml", *sys.argv[1:]]
        done = subprocess.run(
            [*command, *(str(Path(folder) / name) for name in names)], capture_output=True, text=True, check=False
        )
    for line in done.stdout.splitlines():
        found = _ERROR.match(line)
        print(f"{names[Path(found['file']).name]}:{found['line']}: {found['rest']}" if found else line)
    print(done.stderr, end="", file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
