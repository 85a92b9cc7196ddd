"""Write the blocking twins of asynchronous classes: `roundtable.sync`, its part in `api`, and `roundtable.client.sync`.

A method of a twin has the signature and the first paragraph of the docstring of the asynchronous one, and calls it on
the event loop of a portal. What a twin does differently stands in `MODULES`.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent, indent

__all__ = ["files"]

SOURCE = Path("src/roundtable")
WIDTH = 106
"""Longest line of a docstring without its indent and quotes."""
HEADER = "Written by `tools/twins.py` from the asynchronous classes; change those."


@dataclass(frozen=True)
class Twin:
    """A blocking class and the asynchronous classes whose methods it has."""

    name: str
    """Name of the blocking class."""
    target: str
    """Attribute that holds the asynchronous object."""
    sources: tuple[tuple[str, str], ...]
    """Modules and classes that are read, the class itself first, then its bases."""
    doc: str
    """Docstring of the class."""
    start: str
    """Source of what is written before the methods: construction and context."""
    base: str = ""
    """Base class."""
    own: str = ""
    """Source of methods that are not a call of the asynchronous ones, written after them."""
    left_out: frozenset[str] = frozenset()
    """Methods that the twin does not have, or has in `own`."""


@dataclass(frozen=True)
class Module:
    """A module of twins."""

    doc: str
    """First line of its docstring."""
    imports: str
    """Imports that its own parts need; those of signatures are added."""
    exported: tuple[str, ...]
    """Public names."""
    twins: tuple[Twin, ...]
    """Classes, each with the name under which its asynchronous class is imported."""
    wraps: dict[str, str] = field(default_factory=dict)
    """The blocking class for each asynchronous class that a method may return."""
    functions: tuple[tuple[str, str, str], ...] = ()
    """Functions after the classes: the source, and the file and the name of the asynchronous function."""


HANDLE = """
def __init__(self, handle: AsyncHandle, portal: Portal) -> None:
    self._handle = handle
    self._portal = portal
"""

TABLE = """
def __init__({signature}) -> None:
    self._portal = shared_portal()
    self._table = AsyncRoundtable({arguments})
    self._context: AbstractContextManager[AsyncRoundtable] | None = None

def __repr__(self) -> str:
    return f"sync.{{self._table!r}}"

def __enter__(self) -> Self:
    context = self._portal.wrap(self._table)
    context.__enter__()
    self._context = context
    return self

def __exit__(
    self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
) -> None:
    context, self._context = self._context, None
    if context is not None:
        context.__exit__(kind, error, trace)

def close(self) -> None:
    \"\"\"Release connections, models and files; idempotent. The blocking version of `aclose`.\"\"\"
    self._portal.call(self._table.aclose)
"""

FOR_TENANT = '''
def for_tenant({signature}) -> Roundtable:
    """{doc}"""
    table = Roundtable()
    table._table = self._table.for_tenant({arguments})
    return table
'''

DEBATE_SYNC = '''
@explains_arguments
def debate_sync({signature}) -> DebateResult:
    """Run one debate with the agents and settings of the environment, in a script or a notebook.

    See `roundtable.debate` for the arguments, and `Roundtable.debate` for the result and the errors.
    """
    with Roundtable(providers=providers, plugins=plugins, storage=storage) as table:
        return table.debate(topic, **options)
'''

RUN_STUDY = '''
@explains_arguments
def run_study({signature}) -> StudyReport:
    """{doc}

    See `roundtable.bench.run_study` for the arguments, the report and the errors. It works in a notebook: interrupt the
    cell, and with `study` the same cell continues.
    """
    from roundtable.bench.study import run_study as run

    # Of a class in this module.
    portal = table._portal  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    asynchronous = table._table  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return portal.call(lambda: run(asynchronous, {others}))
'''

CLIENT = """
def __init__({signature}) -> None:
    self._portal = shared_portal()
    self._client = RoundtableClient({arguments})

def __repr__(self) -> str:
    return f"Sync{{self._client!r}}"

def __enter__(self) -> Self:
    return self

def __exit__(
    self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
) -> None:
    self.close()

def close(self) -> None:
    \"\"\"Close the connections; idempotent. The blocking version of `aclose`.\"\"\"
    self._portal.call(self._client.aclose)
"""

MODULES = {
    SOURCE / "api/sync_fronts.py": Module(
        doc="What a program that shows debates needs of a table, without `await`; base class of `roundtable.sync`'s.",
        imports="""
            from __future__ import annotations
            from typing import TYPE_CHECKING, Unpack
            from roundtable.core.base.arguments import explains_arguments
            if TYPE_CHECKING:
                from roundtable.core.base.portal import Portal
                from roundtable.api.table import Roundtable
        """,
        exported=("SyncFrontTable",),
        twins=(
            Twin(
                name="SyncFrontTable",
                target="_table",
                sources=(("api/fronts.py", "FrontTable"),),
                doc="`FrontTable` without `await`; base class of `roundtable.sync.Roundtable`.",
                start="_portal: Portal\n_table: Roundtable",
                # These return objects that need an event loop, or have a blocking version of another name.
                left_out=frozenset({"approver", "estimate_aside", "gateway", "key_value", "storage", "subscribe"}),
            ),
        ),
    ),
    SOURCE / "sync.py": Module(
        doc="The blocking facade for scripts and notebooks: the same methods, without `await`.\n\n"
        "It also works inside a running event loop, as in a notebook, because it has its own loop in another thread.",
        imports="""
            from __future__ import annotations
            from typing import TYPE_CHECKING, Self, Unpack
            from roundtable.core.base.arguments import explains_arguments
            from roundtable.core.base.portal import BlockingIterator, shared_portal
            from roundtable.api.sync_fronts import SyncFrontTable
            from roundtable.api.table import Roundtable as AsyncRoundtable
            from roundtable.core.types.events import Event
            if TYPE_CHECKING:
                from contextlib import AbstractContextManager
                from types import TracebackType
                from roundtable.core.base.portal import Portal
                from roundtable.api.runs import DebateHandle as AsyncHandle
                from roundtable.api.runs import DebateStream as AsyncStream
                from roundtable.api.runs import Watch as AsyncWatch
        """,
        exported=("DebateHandle", "DebateStream", "Roundtable", "Watch", "debate_sync", "run_study"),
        wraps={"DebateHandle": "DebateHandle", "DebateStream": "DebateStream", "Watch": "Watch"},
        twins=(
            Twin(
                name="DebateStream",
                target="_source",
                sources=(("api/runs.py", "DebateStream"),),
                doc="Runs a debate and yields its events as they happen; enter it with `with`, then iterate.",
                base="BlockingIterator[Event]",
                start="_source: AsyncStream",
            ),
            Twin(
                name="Watch",
                target="_source",
                sources=(("api/runs.py", "Watch"),),
                doc="Iterator over the events of a session that runs in this or another process; it never runs the "
                "session itself.",
                base="BlockingIterator[Event]",
                start="_source: AsyncWatch",
            ),
            Twin(
                name="DebateHandle",
                target="_handle",
                sources=(("api/runs.py", "DebateHandle"),),
                doc="A running debate, returned by `Roundtable.start`, `start_resume` or `start_fork`.",
                start=HANDLE,
            ),
            Twin(
                name="Roundtable",
                target="_table",
                sources=(
                    ("api/table.py", "Roundtable"),
                    ("api/converse.py", "TeamTable"),
                    ("api/stored_sessions.py", "StoredSessions"),
                    ("api/files.py", "SessionFiles"),
                ),
                doc="The blocking version of `roundtable.Roundtable`; see there for arguments, results and errors.\n\n"
                "Example:\n"
                "    >>> from roundtable.testing import scripted_agents\n"
                '    >>> with Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://") as table:\n'
                '    ...     table.debate("Tea or coffee?", rounds=1).answer\n'
                "    'Tea'\n",
                base="SyncFrontTable",
                start=TABLE,
                own=FOR_TENANT,
                left_out=frozenset({"aclose", "for_tenant", "from_engine"}),
            ),
        ),
        functions=((DEBATE_SYNC, "api/table.py", "debate"), (RUN_STUDY, "bench/study.py", "run_study")),
    ),
    SOURCE / "client/sync.py": Module(
        doc="The client without `await`, for scripts and notebooks.",
        imports="""
            from __future__ import annotations
            from typing import TYPE_CHECKING, Self, Unpack
            from roundtable.core.base.arguments import explains_arguments
            from roundtable.core.base.portal import BlockingIterator, shared_portal
            from roundtable.client.client import RoundtableClient
            from roundtable.core.types.events import Event
            if TYPE_CHECKING:
                from types import TracebackType
                from roundtable.client.streams import EventStream
        """,
        exported=("SyncEventStream", "SyncRoundtableClient"),
        wraps={"EventStream": "SyncEventStream"},
        twins=(
            Twin(
                name="SyncEventStream",
                target="_source",
                sources=(("client/streams.py", "EventStream"),),
                doc="`EventStream` without `await`; created by `SyncRoundtableClient.watch`.",
                base="BlockingIterator[Event]",
                start="_source: EventStream",
                own="@property\ndef session_id(self) -> str:\n"
                '    """Id of the session."""\n    return self._source.session_id\n\n'
                "@property\ndef last_seq(self) -> int:\n"
                '    """Number of the last durable event that was returned."""\n    return self._source.last_seq\n\n'
                'def close(self) -> None:\n    """Stop watching; idempotent. The session continues."""\n'
                "    self._portal.call(self._source.aclose)\n",
                left_out=frozenset({"aclose"}),
            ),
            Twin(
                name="SyncRoundtableClient",
                target="_client",
                sources=(("client/client.py", "RoundtableClient"),),
                doc="`RoundtableClient` without `await`; see there for arguments, results and errors.\n\n"
                "Example:\n"
                "    ```python\n"
                '    with SyncRoundtableClient("http://127.0.0.1:8000") as client:\n'
                '        print(client.debate("Tea or coffee?", rounds=1).answer)\n'
                "    ```\n",
                start=CLIENT,
                left_out=frozenset({"aclose"}),
            ),
        ),
    ),
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def files() -> dict[Path, str]:
    """Return the text of every module of twins."""
    return {path: _formatted(path, _Writer(module).text()) for path, module in MODULES.items()}


def _formatted(path: Path, text: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    name = ["--stdin-filename", str(path)]
    for command in (["check", "--quiet", "--fix", "--select", "I", *name, "-"], ["format", "--quiet", *name, "-"]):
        text = subprocess.run([*ruff, *command], input=text, capture_output=True, text=True, check=True).stdout
    return text


class _Writer:
    """Writes one module, and collects the imports that its signatures need."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.imports: dict[str, str] = {}
        self.here = set(module.exported)

    def text(self) -> str:
        """Return the module, not yet formatted."""
        classes = [self._class(twin) for twin in self.module.twins]
        functions = [self._filled_in(*function) for function in self.module.functions]
        exported = ", ".join(f'"{name}"' for name in self.module.exported)
        head = dedent(self.module.imports).strip()
        typing = "\n".join(f"    {line}" for name, line in sorted(self.imports.items()) if name not in head)
        parts = [f'"""{self.module.doc}\n"""\n\n# {HEADER}\n', f"{head}\n{typing}\n", f"__all__ = [{exported}]\n"]
        return "\n".join([*parts, *classes, *functions])

    def _class(self, twin: Twin) -> str:
        nodes: dict[str, tuple[str, Function]] = {}
        for path, name in twin.sources:
            for function in _class_in(path, name).body:
                if isinstance(function, Function) and not _is_abstract(function):
                    nodes.setdefault(function.name, (path, function))
        start = self._filled_in(twin.start, twin.sources[0][0], "__init__", twin.sources[0][1])
        own = self._filled_in(twin.own, twin.sources[0][0], "for_tenant", twin.sources[0][1]) if twin.own else ""
        methods = [
            self._method(path, function, twin.target)
            for name, (path, function) in nodes.items()
            if not name.startswith("_") and name not in twin.left_out
        ]
        docstring = f'"""{twin.doc}"""' if "\n" not in twin.doc else f'"""{twin.doc.rstrip()}\n"""'
        body = "\n".join([docstring, dedent(start), *methods, dedent(own)])
        mark = "" if "Iterator" in twin.base else "@explains_arguments\n"
        return f"{mark}class {twin.name}{f'({twin.base})' if twin.base else ''}:\n{indent(body, '    ')}\n"

    def _filled_in(self, template: str, path: str, name: str, owner: str | None = None) -> str:
        """Fill in the signature, the arguments and the description of an asynchronous function."""
        if "{signature}" not in template:
            return template.replace("{{", "{").replace("}}", "}")
        scope = _tree(path).body if owner is None else _class_in(path, owner).body
        function = next(node for node in scope if isinstance(node, Function) and node.name == name)
        self._add_imports(path, function.args)
        if function.returns is not None:
            self._add_imports(path, function.returns)
        doc = _summary(function) if "{doc}" in template else ""
        arguments = _call(function)
        others = arguments.partition(", ")[2]
        return template.format(signature=ast.unparse(function.args), arguments=arguments, others=others, doc=doc)

    def _method(self, path: str, function: Function, target: str) -> str:
        returned = "None" if function.returns is None else ast.unparse(function.returns)
        self._add_imports(path, function.args)
        wrapper = self.module.wraps.get(returned)
        if wrapper is None and function.returns is not None:
            self._add_imports(path, function.returns)
        is_async = isinstance(function, ast.AsyncFunctionDef)
        is_property = any(isinstance(mark, ast.Name) and mark.id == "property" for mark in function.decorator_list)
        called, arguments = f"self.{target}.{function.name}", _call(function)
        invoked = called if not arguments else f"lambda: {called}({arguments})"
        if is_property:
            value = called
        elif wrapper:
            value = f"{wrapper}(self._portal.{'call' if is_async else 'make'}({invoked}), self._portal)"
        elif is_async or returned == "None":
            value = f"self._portal.{'call' if is_async else 'make'}({invoked})"
        else:
            value = f"{called}({arguments})"
        statement = value if returned == "None" else f"return {value}"
        mark = "@property\n" if is_property else ""
        signature = f"def {function.name}({ast.unparse(function.args)}) -> {wrapper or returned}:"
        return f'{mark}{signature}\n    """{_summary(function)}"""\n    {statement}\n'

    def _add_imports(self, path: str, node: ast.AST) -> None:
        """Collect the imports of the names in a signature."""
        known = _imports_of(path)
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id in known and part.id not in self.here:
                self.imports[part.id] = known[part.id]


def _tree(path: str) -> ast.Module:
    return ast.parse((SOURCE / path).read_text("utf-8"))


def _class_in(path: str, name: str) -> ast.ClassDef:
    return next(node for node in _tree(path).body if isinstance(node, ast.ClassDef) and node.name == name)


def _imports_of(path: str) -> dict[str, str]:
    """Return the import statement of each name that a module imports or defines."""
    module = "roundtable." + path.removesuffix(".py").replace("/", ".")
    imports: dict[str, str] = {}
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom):
            for name in node.names:
                shown = f"{name.name} as {name.asname}" if name.asname else name.name
                imports[name.asname or name.name] = f"from {node.module} import {shown}"
        elif isinstance(node, ast.ClassDef):
            imports.setdefault(node.name, f"from {module} import {node.name}")
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            imports.setdefault(node.target.id, f"from {module} import {node.target.id}")
    return imports


def _is_abstract(function: Function) -> bool:
    return any(isinstance(mark, ast.Name) and mark.id == "abstractmethod" for mark in function.decorator_list)


def _call(function: Function) -> str:
    """Return the arguments that pass every parameter on."""
    args = function.args
    given = [arg.arg for arg in args.args if arg.arg != "self"]
    given += [f"{arg.arg}={arg.arg}" for arg in args.kwonlyargs]
    if args.kwarg is not None:
        given.append(f"**{args.kwarg.arg}")
    return ", ".join(given)


def _summary(function: Function) -> str:
    """Return the first paragraph of a docstring."""
    first = " ".join((ast.get_docstring(function) or "").split("\n\n", 1)[0].split())
    if len(first) > WIDTH:
        raise SystemExit(f"the first line of {function.name} is too long for its twin: at most {WIDTH} letters")
    return first
