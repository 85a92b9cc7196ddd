"""Empty functions that keep the contract, one at a time, and see whether a contract or conformance test fails.

`python tools/empty_functions.py` draws twenty functions by a seed: among those that keep a row of tests/contract, and
the public functions of the packages that they lie in. For each it prints the test that fails once the function does
nothing and returns None. `--only NAME` takes functions by their name instead of drawing. It exits 1 when a function can
be emptied and no test fails.

Nothing is written to disk. The tests are collected once; each function is emptied in a fork of that process, which
runs the tests that reach it until one fails. Its signature stays as it was, so that no test fails by looking at it.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import inspect
import os
import random
import signal
import sys
import tempfile
import textwrap
import time
import traceback
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

import coverage
import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = str(ROOT / "src/roundtable")
TESTS = ("tests/contract", "tests/conformance")
TIME_LIMIT_S = 60
OPTIONS = ["-q", "-p", "no:cacheprovider", "-m", "not gates and not deep"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # the package is imported before the tests are
CAUGHT, SURVIVED, BROKEN = 1, 0, 2


class Target(NamedTuple):
    """A function that can be emptied."""

    name: str
    """Where it is found: `roundtable.engine:DebateEngine.run_round`."""
    function: FunctionType

    @property
    def lines(self) -> set[tuple[str, int]]:
        """Return the lines of its body, as file and line."""
        code = self.function.__code__
        return {(code.co_filename, line) for *_, line in code.co_lines() if line and line > body_line(self.function)}


def body_line(function: FunctionType) -> int:
    """Return the last line that runs when the function is defined and not when it is called."""
    node = syntax(function)
    return function.__code__.co_firstlineno + node.body[0].lineno - 2


@functools.cache
def syntax(function: FunctionType) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """Return the parsed definition of a function."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return node


def says_nothing(node: ast.stmt) -> bool:
    """Check whether a statement does nothing, so that a function of such statements is empty already."""
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Return(value=None | ast.Constant(value=None)):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
        case _:
            return False


def function_of(thing: object) -> FunctionType | None:
    """Return the function of this package behind a method, a property or a decorator."""
    if isinstance(thing, classmethod | staticmethod):
        thing = thing.__func__
    elif isinstance(thing, property):
        thing = thing.fget
    elif isinstance(thing, functools.cached_property):
        thing = thing.func
    thing = inspect.unwrap(thing) if callable(thing) else thing
    if not isinstance(thing, FunctionType) or not thing.__code__.co_filename.startswith(SOURCE):
        return None
    return None if thing.__name__ == "<lambda>" or all(map(says_nothing, syntax(thing).body)) else thing


def members(place: str, kind: type) -> Iterator[Target]:
    """Return what a class does under public names, and its constructor."""
    for name in sorted({name for base in kind.__mro__ for name in vars(base)}):
        if name.startswith("_") and name not in {"__init__", "__call__"}:
            continue
        function = function_of(inspect.getattr_static(kind, name))
        if function is not None:
            yield Target(f"{place}.{name}", function)


def targets() -> list[Target]:
    """Return the functions that keep rows of the contract, and all public ones of the packages they lie in."""
    from contract.seed_api import ROWS

    found: dict[CodeType, Target] = {}
    for module in sorted({row.module for row in ROWS}):
        package = importlib.import_module(module)
        rows = [row for row in ROWS if row.module == module and row.path]
        keeping = {"Settings" if row.kind == "environment" else row.path[0] for row in rows}
        for name in sorted({*keeping, *getattr(package, "__all__", ())}):
            thing, place = getattr(package, name), f"{module}:{name}"
            if inspect.isclass(thing):
                every = [*members(place, thing)] if name in keeping else []
            else:
                function = function_of(thing)
                every = [] if function is None else [Target(place, function)]
            for target in every:
                found.setdefault(target.function.__code__, target)
    return list(found.values())


def named(every: Sequence[Target], names: Sequence[str]) -> list[Target]:
    """Return the functions that carry one of some names: `steps`, `BaseModeStrategy.steps` or all of `Target.name`.

    Raises:
        SystemExit: A name is that of no function.
    """

    def carries(target: Target, name: str) -> bool:
        return target.name == name or target.name.endswith((f":{name}", f".{name}"))

    for name in names:
        if not any(carries(target, name) for target in every):
            raise SystemExit(f"--only {name!r}: no such function; --sample 0 takes all")
    return [target for target in every if any(carries(target, name) for name in names)]


def _plain() -> None:
    return None


async def _awaited() -> None:
    return None


def _generator() -> Generator[None]:
    return
    yield


async def _async_generator() -> AsyncIterator[None]:
    return
    yield


def empty(function: FunctionType) -> None:
    """Empty a function; it keeps its name, its parameters and how it is called."""
    old = function.__code__
    model = _plain
    if inspect.isasyncgenfunction(function):
        model = _async_generator
    elif inspect.isgeneratorfunction(function):
        model = _generator
    elif inspect.iscoroutinefunction(function):
        model = _awaited
    new = model.__code__
    function.__code__ = old.replace(
        co_code=new.co_code,
        co_consts=new.co_consts,
        co_names=new.co_names,
        co_linetable=new.co_linetable,
        co_exceptiontable=new.co_exceptiontable,
        co_stacksize=new.co_stacksize,
    )


def in_child(work: Callable[[], int]) -> int:
    """Fork a process that works in silence and exits with what it returns; return its id."""
    child = os.fork()
    if child == 0:
        status = BROKEN
        quiet = os.open(os.environ.get("MUTATION_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            status = work()
        except BaseException:  # noqa: BLE001  (an empty function may break anything; the parent learns it by the status)
            traceback.print_exc()
        os._exit(status)
    return child


class Driver:
    """A pytest plugin that runs the collected tests once for each emptied function instead of once."""

    def __init__(self, drawn: Sequence[Target], jobs: int) -> None:
        self.drawn = drawn
        self.jobs = jobs
        self.caught: dict[str, str] = {}
        self.alive: dict[str, int] = {}
        self._cover: coverage.Coverage | None = None
        self._context = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out slow tests, but those of the contract: their slow ones are slow by their number alone."""
        items[:] = [item for item in items if "contract" in item.path.parts or not item.get_closest_marker("slow")]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Take over from pytest once everything is collected."""
        self.session = session
        if session.testsfailed:
            raise pytest.UsageError("the tests cannot be collected")
        reached = self.reached()
        running: dict[int, Target] = {}
        waiting = list(self.drawn)
        with tempfile.TemporaryDirectory() as folder:
            while waiting or running:
                while waiting and len(running) < self.jobs:
                    target = waiting.pop(0)
                    tests = sorted(set().union(*(reached.get(line, ()) for line in target.lines)))
                    report = Path(folder) / str(len(waiting))
                    child = in_child(lambda m=target, t=tests, r=report: self.verdict(m, t, r))
                    running[child] = target
                    self.alive[target.name] = len(tests)
                    self.caught[target.name] = str(report)
                child, status = os.waitpid(-1, 0)
                target = running.pop(child)
                self.judge(target, os.waitstatus_to_exitcode(status))
        return True

    def judge(self, target: Target, code: int) -> None:
        """Note which test failed; a child that was killed hung, or crashed, in the test that it wrote down last."""
        report = Path(self.caught.pop(target.name))
        if code in {SURVIVED, BROKEN}:
            if code == BROKEN:
                raise pytest.UsageError(f"{target.name}: not decided; MUTATION_LOG=FILE says why")
            print(f"NOT caught: {target.name}: no test fails, and {self.alive[target.name]} reach it", flush=True)
            return
        self.caught[target.name] = report.read_text("utf-8") + ("" if code == CAUGHT else " (it hung or crashed)")
        del self.alive[target.name]
        print(f"caught: {target.name}: {self.caught[target.name]}", flush=True)

    def run(self, tests: Sequence[int], report: Path | None = None) -> bool:
        """Run some of the collected tests up to the first that fails; return whether all pass."""
        chosen = [self.session.items[place] for place in tests]
        for item, following in zip(chosen, [*chosen, None][1:], strict=True):
            if report is not None:
                report.write_text(item.nodeid, "utf-8")
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.session.testsfailed:
                return False
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        """Note what a fixture runs as its own: it may serve tests that come later."""
        if self._cover is None or fixturedef.scope == "function":
            return (yield)
        self._cover.switch_context(f"fixture {fixturedef.argname}")
        try:
            return (yield)
        finally:
            self._cover.switch_context(self._context)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Log why a test fails."""
        if report.failed:
            print(f"\n{report.nodeid}\n{report.longreprtext}", flush=True)

    def reached(self) -> dict[tuple[str, int], set[int]]:
        """Run all tests once as they are, and return for each line the tests that reach it."""
        with tempfile.TemporaryDirectory() as folder:
            files = sorted({target.function.__code__.co_filename for target in self.drawn})
            cover = coverage.Coverage(str(Path(folder) / "data"), config_file=False, include=files)

            def trace() -> int:
                self._cover = cover
                cover.start()
                for place, item in enumerate(self.session.items):
                    self._context = str(place)
                    cover.switch_context(self._context)
                    following = self.session.items[place + 1 : place + 2]
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following[0] if following else None)
                cover.stop()
                cover.save()
                return int(self.session.testsfailed > 0)

            if os.waitstatus_to_exitcode(os.waitpid(in_child(trace), 0)[1]):
                raise pytest.UsageError("the tests do not pass as they are; MUTATION_LOG=FILE says which")
            data = coverage.CoverageData(str(Path(folder) / "data"))
            data.read()
            users: dict[str, set[int]] = {}
            for place, item in enumerate(self.session.items):
                users[str(place)] = {place}
                for fixture in getattr(item, "fixturenames", ()):
                    users.setdefault(f"fixture {fixture}", set()).add(place)
            return {
                (path, line): set().union(*(users.get(context, set()) for context in contexts))
                for path in data.measured_files()
                for line, contexts in data.contexts_by_lineno(path).items()
            }

    def verdict(self, target: Target, tests: Sequence[int], report: Path) -> int:
        """Return in a child whether a test fails once a function is empty; one that hangs is killed by the alarm."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(TIME_LIMIT_S)
        empty(target.function)
        return SURVIVED if self.run(tests, report) else CAUGHT


def main() -> int:
    """Draw functions, empty them, and print which test catches each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=20, help="functions to draw; 0 takes all")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument(
        "--only", metavar="NAME", action="append", default=[], help="draw nothing, take every function of this name"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args()
    began = time.monotonic()
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    every = targets()
    drawn = named(every, chosen.only)
    if not chosen.only:
        drawn = random.Random(chosen.seed).sample(every, min(chosen.sample or len(every), len(every)))
    how = "named" if chosen.only else f"drawn with seed {chosen.seed}"
    print(f"{len(every)} functions, {len(drawn)} {how}", flush=True)
    driver = Driver(drawn, chosen.jobs)
    if failed := pytest.main(["-s", *OPTIONS, *TESTS], plugins=[driver]):
        return int(failed)
    print(f"caught {len(driver.caught)} of {len(drawn)} in {time.monotonic() - began:.0f} s")
    return int(bool(driver.alive))


if __name__ == "__main__":
    sys.exit(main())
