"""Run the gates of this repository: `python tools/gates.py lint types`, or every static one without a name.

CI, nox and the planted violations under tests/gates all start the same commands, which stand here alone. A gate
judges the tree in the current folder; it prints what it finds and exits 1 when one of them fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
PYTHON = sys.executable
EXACT = ("scoring", "metrics", "parsing", "reading", "exits")
"""The packages whose every branch must run."""

EXACT_FILES = ",".join(f"*/roundtable/{name}{end}" for name in EXACT for end in (".py", "/*"))

STATIC: dict[str, list[list[str]]] = {
    "format": [[PYTHON, "-m", "ruff", "format", "--check", "."]],
    "lint": [[PYTHON, "-m", "ruff", "check", "."]],
    "types": [[PYTHON, "-m", "mypy"]],
    "doc-types": [[PYTHON, str(TOOLS / "doc_types.py")]],
    "strict-types": [[PYTHON, "-m", "pyright", "--pythonpath", PYTHON]],
    "public-types": [
        [PYTHON, "-m", "pyright", "--pythonpath", PYTHON, "--verifytypes", "roundtable", "--ignoreexternal"]
    ],
    "layers": [[str(Path(PYTHON).with_name("lint-imports"))]],
    "dependencies": [[PYTHON, "-m", "deptry", "src"]],
    "house": [[PYTHON, str(TOOLS / "house.py")]],
    "generated": [[PYTHON, str(TOOLS / "generate.py"), "--check"]],
    # Never quiet: --strict counts the warnings that --quiet hides, and would pass.
    "docs": [[PYTHON, "-m", "mkdocs", "build", "--strict", "--site-dir", "site"]],
    "wheel": [[PYTHON, str(TOOLS / "check_wheel.py")]],
}
MEASURED: dict[str, list[list[str]]] = {
    "coverage": [
        [PYTHON, "-m", "coverage", "report"],
        [PYTHON, "-m", "coverage", "report", "--include", EXACT_FILES, "--fail-under", "100"],
    ],
    "counts": [
        [PYTHON, str(TOOLS.parent / "benchmarks/bench_counts.py"), "--against", "docs/benchmarks/bench_counts.txt"]
    ],
}
GATES = STATIC | MEASURED


def passes(name: str) -> bool:
    """Run every command of one gate on the current folder and tell whether all of them pass."""
    environment = os.environ | {
        # pyright --verifytypes overlooks --pythonpath, and reads the packages of the first python it finds.
        "PATH": os.pathsep.join([str(Path(PYTHON).parent), os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": str(Path.cwd() / "src"),  # this tree, whatever is installed; pyright overlooks editable installs
        "NO_MKDOCS_2_WARNING": "1",
        "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",
    }
    codes = [subprocess.run(command, check=False, env=environment).returncode for command in GATES[name]]
    return not any(codes)


def main() -> int:
    """Run the gates named on the command line, all static ones by default."""
    names = sys.argv[1:] or list(STATIC)
    if unknown := [name for name in names if name not in GATES]:
        print(f"unknown gate {', '.join(unknown)}; there are {', '.join(GATES)}", file=sys.stderr)
        return 2
    failed: list[str] = []
    for name in names:
        print(f"--- {name}", flush=True)
        if not passes(name):
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else f"passed: {', '.join(names)}", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
