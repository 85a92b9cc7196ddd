"""Print what the source measures: modules, lines of code, circles of imports, modules that a debate loads."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tokenize
from pathlib import Path

from house import PACKAGE, import_graph, largest_circle, modules

DEBATE = """
import sys, anyio, roundtable
from roundtable.testing import scripted_agents

async def main():
    agents = scripted_agents({"ada": "Tea", "bo": "Tea", "cy": "Tea"})
    async with roundtable.Roundtable(agents, storage="memory://") as table:
        await table.debate("Tea or coffee?", rounds=2)
        ran, calls, before = set(), 0, 0
        def trace(frame, event, _):
            nonlocal calls, before
            module = frame.f_globals.get("__name__", "")
            if event == "call" and module.startswith("roundtable."):
                ran.add(module)
                calls += 1
                if not before and (module, frame.f_code.co_name) == ("roundtable.core.engine.run", "run"):
                    before = calls
        sys.setprofile(trace)
        await table.debate("Tea or coffee?", rounds=2)
        sys.setprofile(None)
        print(len(ran), calls, before)

anyio.run(main)
"""
"""A second debate of three agents in two rounds, which counts the modules and functions of the library that it calls. A
coroutine or generator counts each time it goes on."""

ADDED = {
    "option": "An option of a debate",
    "vendor": "A vendor with a known wire format",
    "event": "An event type",
    "mode": "A mode",
}
"""What is added to the library, and the section of CONTRIBUTING.md that says how."""


def files_to_change(section: str) -> int:
    """Count the source files that CONTRIBUTING.md names for an addition; generated files and tests don't count."""
    text = Path("CONTRIBUTING.md").read_text("utf-8").partition(f"### {section}\n")[2].partition("\n### ")[0]
    listed = text.partition("It writes")[0] + text.partition("It writes")[2].partition("\n- ")[2]
    names = re.findall(r"`((?:[\w<>]+/)*[\w<>-]+\.(?:py|toml))`", listed)
    return len({name for name in names if not name.startswith(("tests/", "tools/"))})


def code_lines(path: Path) -> int:
    """Count the lines of a file without blanks, comments, docstrings and imports."""
    tree = ast.parse(path.read_text("utf-8"))
    left_out: set[int] = set()
    for node in ast.walk(tree):
        is_docstring = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if is_docstring or isinstance(node, ast.Import | ast.ImportFrom):
            left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    kinds = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    with tokenize.open(path) as file:
        lines = {
            line
            for token in tokenize.generate_tokens(file.readline)
            if token.type not in kinds
            for line in range(token.start[0], token.end[0] + 1)
        }
    return len(lines - left_out)


def main() -> int:
    """Print the figures."""
    sources = modules(Path.cwd())
    lengths = {name: len(path.read_text("utf-8").splitlines()) for name, path in sources.items()}
    longest = max(lengths, key=lambda name: lengths[name])
    circle = largest_circle(import_graph(sources))
    debate = subprocess.run([sys.executable, "-c", DEBATE], capture_output=True, text=True, check=True, timeout=60)
    print(f"modules: {len(sources)}")
    print(f"longest file: {lengths[longest]} lines ({longest})")
    print(f"lines of code: {sum(code_lines(path) for path in sources.values()):,}")
    print(f"largest circle of imports, type imports included: {len(circle)} modules")
    print("  " + " ".join(name.removeprefix(f"{PACKAGE}.") for name in circle))
    ran, calls, before = map(int, debate.stdout.split())
    print(f"a warm debate of three agents in two rounds: {ran} modules, {calls:,} calls, {before:,} before its run")
    print("files of a new " + ", ".join(f"{name}: {files_to_change(section)}" for name, section in ADDED.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
