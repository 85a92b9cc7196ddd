"""Which tests show that rows of the contract hold: they run what a row promises and look at what comes of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from contract.seed_rows import Kind

TestT = TypeVar("TestT", bound=Callable[..., object])


def shows(seed: int, kind: Kind, *names: str) -> Callable[[TestT], TestT]:
    """Mark a test as the one that shows rows; `shown` reads the marks from the source, so the names are literals."""
    return lambda test: test


def shown(folder: Path) -> Iterator[tuple[int, str, str]]:
    """Return the rows that tests of a folder show, as seed, kind and name."""
    for path in sorted(folder.glob("test_*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield from _marks(node)


def _marks(test: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[int, str, str]]:
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "shows":
            seed, kind, *names = (ast.literal_eval(argument) for argument in mark.args)
            for name in names:
                yield seed, kind, name
