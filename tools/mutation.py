"""Mutation test of the exact packages: change one thing in the source and see whether a test notices.

`python tools/mutation.py` draws a seeded sample of mutants of roundtable.scoring, roundtable.metrics and
roundtable.exits, runs the tests that reach the changed line, and lists the mutants that survive. It exits 1 when fewer
than 90 % are killed.

A mutant is never written to disk. The tests are collected once; each mutant runs in a fork of that process, in which
the changed function gets its new code. Where a change takes effect on import, a process of its own loads the module.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import importlib
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
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple

import coverage
import pytest

ROOT = Path.cwd()
PACKAGES = ("scoring", "metrics", "exits")
TESTS = ("tests/unit/test_scoring_*.py", "tests/unit/test_metrics_*.py", "tests/unit/test_exits_*.py")
LAWS = (
    *("tests/property/test_scoring_axioms.py", "tests/property/test_scoring_camps_laws.py"),
    *("tests/property/test_metrics_*.py", "tests/property/test_exits_*.py"),
)
TIME_LIMIT_S = 60
OPTIONS = [
    "-q",
    "-p",
    "no:cacheprovider",
    "-m",
    "not gates and not deep and not slow",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
]

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
    """Check whether a subtree has nothing to change: annotations, type aliases, docstrings, code for typing only.

    `strict=True` of `zip` guards against mistakes in this library, which no input can show.
    """
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return True
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
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
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
        """Return the changed code."""
        return self.code


class Finder(importlib.abc.MetaPathFinder):
    """Finds the changed module."""

    def __init__(self, name: str, mutant: Mutant) -> None:
        self.name, self.mutant = name, mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the changed module's spec, and leave all others to the usual finders."""
        if fullname != self.name:
            return None
        loader = Loader(fullname, self.mutant.path, mutated(self.mutant))
        folder = [str(Path(self.mutant.path).parent)] if self.mutant.path.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            fullname, self.mutant.path, loader=loader, submodule_search_locations=folder
        )


def module_name(path: str) -> str:
    """Return the name under which a file is imported."""
    parts = Path(path).with_suffix("").relative_to(ROOT / "src").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def codes(code: CodeType) -> Iterator[CodeType]:
    """Walk the code of a module, its functions and theirs."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def by_place(module: CodeType) -> dict[tuple[str, int], list[CodeType]]:
    """Return the code of a module's functions by name and line; several on a line, such as lambdas, share an entry."""
    found: dict[tuple[str, int], list[CodeType]] = {}
    for code in codes(module):
        if code is not module:
            found.setdefault((code.co_qualname, code.co_firstlineno), []).append(code)
    return found


def patched(mutant: Mutant) -> bool:
    """Put the changed code into the functions of this process; return False if no function contains the change."""
    before = by_place(compile(Path(mutant.path).read_text("utf-8"), mutant.path, "exec"))
    after = by_place(mutated(mutant))
    changed = {
        place: after[place][0]
        for place, old in before.items()
        if len(old) == len(after.get(place, ())) == 1 and old != after[place]
    }
    found = False
    gc.unfreeze()  # the tests freeze what is there once they are collected, and `get_objects` does not list that
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename == mutant.path:
            new = changed.get((thing.__code__.co_qualname, thing.__code__.co_firstlineno))
            if new is not None:
                thing.__code__ = new
                found = True
    return found


def in_child(work: Callable[[], int]) -> int:
    """Fork a process that does some work in silence and exits with what it returns; 2 when it breaks."""
    child = os.fork()
    if child == 0:
        status = 2
        quiet = os.open(os.environ.get("MUTATION_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            status = work()
        except BaseException:  # noqa: BLE001  (a mutant may break anything; the parent learns of it by the status)
            traceback.print_exc()
        os._exit(status)
    return child


def on_import() -> set[tuple[str, int]]:
    """Return the lines of the packages, as file and line, that run at import."""
    program = """
import coverage, importlib, json, pkgutil, sys
cover = coverage.Coverage(data_file=None, config_file=False, source_pkgs=["roundtable"])
cover.start()
for name in sys.argv[1:]:
    package = importlib.import_module(f"roundtable.{name}")
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(found.name)
cover.stop()
data = cover.get_data()
print(json.dumps([[path, line] for path in data.measured_files() for line in data.lines(path)]))
"""
    done = subprocess.run([sys.executable, "-c", program, *PACKAGES], capture_output=True, text=True, check=True)
    return {(path, line) for path, line in json.loads(done.stdout)}


class Driver:
    """A pytest plugin that runs the collected tests on each mutant instead of once."""

    def __init__(self, drawn: Sequence[Mutant], jobs: int) -> None:
        self.drawn = drawn
        self.jobs = jobs
        self.alive: list[Mutant] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Take over from pytest once everything is collected."""
        self.session = session
        if session.testsfailed:
            raise pytest.UsageError("the tests cannot be collected")
        reached, early = self.reached(), on_import()
        running: dict[int, Mutant] = {}
        waiting = list(self.drawn)
        while waiting or running:
            while waiting and len(running) < self.jobs:
                mutant = waiting.pop(0)
                tests = reached.get((mutant.path, mutant.line), [])
                running[in_child(lambda m=mutant, t=tests: self.verdict(m, t, early))] = mutant
            child, status = os.waitpid(-1, 0)
            mutant = running.pop(child)
            # 1: a test failed; below 0: it hung and was killed, or crashed. A 2 is a fault of this program.
            if os.waitstatus_to_exitcode(status) in {0, 2}:
                self.alive.append(mutant)
        return True

    def run(self, tests: Sequence[int]) -> bool:
        """Run some of the collected tests up to the first that fails; tell whether all pass."""
        chosen = [self.session.items[place] for place in tests]
        for item, following in zip(chosen, [*chosen, None][1:], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.session.testsfailed:
                return False
        return True

    def reached(self) -> dict[tuple[str, int], list[int]]:
        """Run all tests once on the unchanged source and give for each file and line the tests that reach it."""
        with tempfile.TemporaryDirectory() as folder:
            inside = [str(ROOT / "src/roundtable" / name / deep) for name in PACKAGES for deep in ("*", "*/*")]
            cover = coverage.Coverage(str(Path(folder) / "data"), config_file=False, include=inside)

            def trace() -> int:
                cover.start()
                for place in range(len(self.session.items)):
                    cover.switch_context(str(place))
                    if not self.run([place]):
                        return 1
                cover.stop()
                cover.save()
                return 0

            if os.waitstatus_to_exitcode(os.waitpid(in_child(trace), 0)[1]):
                raise pytest.UsageError("the tests do not pass on the unchanged source; MUTATION_LOG=FILE says which")
            data = coverage.CoverageData(str(Path(folder) / "data"))
            data.read()
            return {
                (path, line): sorted(int(place) for place in places if place)
                for path in data.measured_files()
                for line, places in data.contexts_by_lineno(path).items()
            }

    def verdict(self, mutant: Mutant, tests: Sequence[int], early: set[tuple[str, int]]) -> int:
        """Check in a child process whether a mutant survives: 0 if it does. The alarm kills one that hangs."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(TIME_LIMIT_S)
        if patched(mutant) and not self.run(tests):
            return 1
        if (mutant.path, mutant.line) not in early:
            return 0
        # It runs on import, so that any test of the file may notice it.
        signal.alarm(4 * TIME_LIMIT_S)
        command = [sys.executable, __file__, "--only", json.dumps(mutant)]
        return int(subprocess.run(command, check=False).returncode != 0)


def try_one(mutant: Mutant) -> int:
    """Run the unit tests in a process that loads the changed module."""
    sys.meta_path.insert(0, Finder(module_name(mutant.path), mutant))
    # At once: pytest loads the modules of its plugins, and so all of this package, with a finder that comes first.
    importlib.import_module(module_name(mutant.path))
    return int(pytest.main(["-x", *OPTIONS, *test_files(TESTS)]))


def test_files(patterns: Sequence[str]) -> list[str]:
    """List the test files."""
    return [str(path) for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def main() -> int:
    """Draw mutants, run them, and print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--least", type=float, default=0.9, help="share that must be killed")
    parser.add_argument("--only", type=json.loads, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    began = time.monotonic()
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    if chosen.only:
        return try_one(Mutant(*chosen.only))
    files = sorted(path for package in PACKAGES for path in (ROOT / "src/roundtable" / package).rglob("*.py"))
    every = [mutant for path in files for mutant in mutants(path)]
    drawn = sorted(random.Random(chosen.seed).sample(every, min(chosen.sample, len(every))))
    print(f"{len(every)} mutants of {len(files)} files, {len(drawn)} drawn", flush=True)
    driver = Driver(drawn, chosen.jobs)
    if failed := pytest.main(["-s", *OPTIONS, *test_files(TESTS), *test_files(LAWS)], plugins=[driver]):
        return int(failed)
    for mutant in sorted(driver.alive):
        source = Path(mutant.path).read_text("utf-8").splitlines()[mutant.line - 1].strip()
        print(f"survived: {Path(mutant.path).relative_to(ROOT)}:{mutant.line}: {mutant.what}: {source}")
    killed = 1 - len(driver.alive) / len(drawn)
    print(f"killed {len(drawn) - len(driver.alive)} of {len(drawn)} ({killed:.1%}) in {time.monotonic() - began:.0f} s")
    return int(killed < chosen.least)


if __name__ == "__main__":
    sys.exit(main())
