"""Read docstrings from source files, also those of attributes, which Python does not keep."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SECTION = re.compile(r"\n\s*(?:Args|Attributes|Example|Examples|Note|Raises|Returns|Yields):")


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield names that are assigned in `body` with the string right below the assignment."""
    for statement, below in itertools.pairwise(body):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                pass
            case _:
                continue
        match below:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def _classes(path: Path) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.walk(_tree(path)) if isinstance(node, ast.ClassDef)}


def _file(thing: type) -> Path | None:
    try:
        return Path(inspect.getfile(thing))
    except (OSError, TypeError):
        return None


def attribute_docs(kind: type) -> dict[str, str]:
    """Return the docstring of each attribute of a class, inherited ones included."""
    docs: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        path = _file(base)
        if path is not None and (node := _classes(path).get(base.__name__)) is not None:
            docs.update(_documented(node.body))
    return docs


def alias_docs(folder: Path) -> dict[str, str]:
    """Return the docstring of each name assigned at the top of a module of a package."""
    return {name: text for path in sorted(folder.glob("*.py")) for name, text in _documented(_tree(path).body)}


def summary(thing: object) -> str:
    """Return the docstring of an object up to its first section, in one line."""
    text = inspect.getdoc(thing) or ""
    return " ".join(SECTION.split(f"{text}\n")[0].split())
