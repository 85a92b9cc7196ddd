"""Print what the source measures: modules, lines of code, circles of imports, modules that a debate loads."""

from __future__ import annotations

import ast
import subprocess
import sys
import tokenize
from pathlib import Path

from house import PACKAGE, import_graph, largest_circle, modules

DEBATE = """
import sys, anyio, roundtable
from roundtable.testing import scripted_agents

async def main():
    async with roundtable.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://") as table:
        await table.debate("Tea or coffee?", rounds=1)
        ran = set()
        def trace(frame, event, _):
            if event == "call":
                ran.add(frame.f_globals.get("__name__", ""))
        sys.setprofile(trace)
        await table.debate("Tea or coffee?", rounds=1)
        sys.setprofile(None)
        print(len([name for name in ran if name.startswith("roundtable.")]))

anyio.run(main)
"""
"""A second debate of two agents in one round, which counts the modules whose functions it calls."""


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
    print(f"modules that a warm debate of two agents in one round runs through: {debate.stdout.strip()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
