"""Mutation test of the exact packages: change one thing in the source and see whether a test notices.

`python tools/mutation.py` draws a seeded sample of mutants of roundtable.scoring and roundtable.exits, runs the tests
that reach the changed line, and lists the mutants that survive. It exits 1 when fewer than 90 % are killed.

A mutant is never written to disk: each runs in a forked process that loads the changed module from memory.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

ROOT = Path.cwd()
PACKAGES = ("scoring", "exits")
TESTS = ("tests/unit/test_scoring_*.py", "tests/unit/test_metrics_*.py", "tests/unit/test_exits_*.py")
LAWS = ("tests/property/test_scoring_axioms.py", "tests/property/test_metrics_*.py", "tests/property/test_exits_*.py")
TIME_LIMIT_S = 60
REWRITTEN = "ignore::pytest.PytestAssertRewriteWarning"

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
CALLS = {"max": "min", "min": "max", "any": "all", "all": "any", "sum": "max"}


class Mutant(NamedTuple):
    """One change of one file."""

    path: str
    line: int
    number: int
    what: str


def skipped(node: ast.AST) -> bool:
    """Tell whether a subtree holds nothing to change: annotations, type aliases, docstrings, what only typing sees."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
        return True
    return isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"


def places(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk a tree in order, without what is skipped and without annotations."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not skipped(child):
                yield child
                yield from places(child)


def change(node: ast.AST) -> list[tuple[str, dict[str, object]]]:
    """List what can be changed at a node: words for it, and the fields that it sets."""
    match node:
        case ast.Compare(ops=[only]) if type(only) in COMPARISONS:
            other = COMPARISONS[type(only)]
            return [(f"{type(only).__name__} to {other.__name__}", {"ops": [other()]})]
        case ast.BinOp(op=op) if type(op) in OPERATORS and not isinstance(node.left, ast.JoinedStr):
            new = OPERATORS[type(op)]
            return [(f"{type(op).__name__} to {new.__name__}", {"op": new()})]
        case ast.BoolOp(op=joint):
            turned = ast.Or() if isinstance(joint, ast.And) else ast.And()
            return [(f"{type(joint).__name__} to {type(turned).__name__}", {"op": turned})]
        case ast.Constant(value=bool() as truth):
            return [(f"{truth} to {not truth}", {"value": not truth})]
        case ast.Constant(value=int() as number):
            return [(f"{number} to {number + 1}", {"value": number + 1})]
        case ast.If(test=test) | ast.IfExp(test=test):
            return [("condition negated", {"test": ast.UnaryOp(ast.Not(), test)})]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [("not removed", {"op": ast.Not(), "operand": ast.UnaryOp(ast.Not(), operand)})]
        case ast.Return(value=ast.expr()):
            return [("returns None", {"value": ast.Constant(None)})]
        case ast.Call(func=ast.Name(id=name)) if name in CALLS:
            return [(f"{name} to {CALLS[name]}", {"func": ast.Name(CALLS[name], ast.Load())})]
        case ast.Continue() | ast.Break():
            return [(f"{type(node).__name__.lower()} removed", {"__class__": ast.Pass})]
        case _:
            return []


def mutants(path: Path) -> Iterator[Mutant]:
    """List every change of a file."""
    number = 0
    for node in places(ast.parse(path.read_text("utf-8"))):
        for what, _ in change(node):
            yield Mutant(str(path), getattr(node, "lineno", 0), number, what)
            number += 1


def mutated(mutant: Mutant) -> CodeType:
    """Compile a file with one change."""
    tree = ast.parse(Path(mutant.path).read_text("utf-8"))
    number = 0
    for node in places(tree):
        for _, fields in change(node):
            if number == mutant.number:
                for name, value in copy.copy(fields).items():
                    setattr(node, name, value)
            number += 1
    return compile(ast.fix_missing_locations(tree), mutant.path, "exec")


class Loader(importlib.machinery.SourceFileLoader):
    """Gives one module changed code."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:
        """Give the changed code."""
        return self.code


class Finder(importlib.abc.MetaPathFinder):
    """Finds the changed module."""

    def __init__(self, name: str, mutant: Mutant) -> None:
        self.name, self.mutant = name, mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Give the changed module's spec, and leave all others to the usual finders."""
        if fullname != self.name:
            return None
        loader = Loader(fullname, self.mutant.path, mutated(self.mutant))
        folder = [str(Path(self.mutant.path).parent)] if self.mutant.path.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            fullname, self.mutant.path, loader=loader, submodule_search_locations=folder
        )


def module_name(path: str) -> str:
    """Give the name under which a file is imported."""
    parts = Path(path).with_suffix("").relative_to(ROOT / "src").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def reached(patterns: Sequence[str]) -> dict[str, dict[int, set[str]]]:
    """Run tests once and give for each file and line the tests that reach it."""
    files = [str(path) for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    with tempfile.TemporaryDirectory() as folder:
        data, report = Path(folder) / "data", Path(folder) / "report.json"
        settings = Path(folder) / "settings"
        sources = "\n    ".join(f"roundtable.{package}" for package in PACKAGES)
        settings.write_text(
            f"[run]\ndata_file = {data}\nsource_pkgs =\n    {sources}\n[json]\nshow_contexts = true\n", "utf-8"
        )
        options = ["--cov", f"--cov-config={settings}", "--cov-context=test", f"--cov-report=json:{report}"]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not deep", *options, *files]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stdout[-3000:], done.stderr[-2000:])
            raise SystemExit("the tests do not pass on the unchanged source")
        contexts = json.loads(report.read_text("utf-8"))["files"]
    return {
        str((ROOT / name).resolve()): {
            int(line): {test.partition("|")[0] for test in tests if test} for line, tests in facts["contexts"].items()
        }
        for name, facts in contexts.items()
    }


def survives(mutant: Mutant, tests: Sequence[str]) -> bool:
    """Run tests on a mutant in a process of its own; one that hangs or crashes is noticed."""
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(BaseException):
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(TIME_LIMIT_S)
            quiet = os.open(os.environ.get("MUTATION_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            sys.meta_path.insert(0, Finder(module_name(mutant.path), mutant))
            import pytest

            options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not deep", "-W", REWRITTEN]
            status = int(pytest.main([*options, *tests]))
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def main() -> int:
    """Draw mutants, run them, and print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--least", type=float, default=0.9, help="share that must be killed")
    chosen = parser.parse_args()
    began = time.monotonic()
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    files = sorted(path for package in PACKAGES for path in (ROOT / "src/roundtable" / package).rglob("*.py"))
    every = [mutant for path in files for mutant in mutants(path)]
    drawn = sorted(random.Random(chosen.seed).sample(every, min(chosen.sample, len(every))))
    unit, laws = reached(TESTS), reached(LAWS)
    print(f"{len(every)} mutants of {len(files)} files, {len(drawn)} drawn", flush=True)
    # Loaded before the forks, so that each of them starts warm; the packages under test are not among them.
    import hypothesis  # noqa: F401
    import pydantic  # noqa: F401
    import pytest  # noqa: F401

    def outcome(mutant: Mutant) -> bool:
        for tests in (unit, laws):
            lines = tests.get(mutant.path, {})
            names = sorted(lines.get(mutant.line, ()))
            if not names and tests is unit:
                # A line that runs on import, such as a default: every test of the file may notice it.
                names = sorted(set().union(*lines.values()))
            if names and not survives(mutant, names):
                return False
        return True

    for control in drawn[:: max(1, len(drawn) // 5)]:
        names = sorted(unit.get(control.path, {}).get(control.line, ()))
        if names and not survives(control._replace(number=-1), names):
            raise SystemExit(f"the tests of {control.path}:{control.line} fail on unchanged code: nothing can be told")
    with ThreadPoolExecutor(chosen.jobs) as pool:
        alive = [mutant for mutant, lives in zip(drawn, pool.map(outcome, drawn), strict=True) if lives]
    for mutant in alive:
        source = Path(mutant.path).read_text("utf-8").splitlines()[mutant.line - 1].strip()
        print(f"survived: {Path(mutant.path).relative_to(ROOT)}:{mutant.line}: {mutant.what}: {source}")
    killed = 1 - len(alive) / len(drawn)
    print(f"killed {len(drawn) - len(alive)} of {len(drawn)} ({killed:.1%}) in {time.monotonic() - began:.0f} s")
    return int(killed < chosen.least)


if __name__ == "__main__":
    sys.exit(main())
