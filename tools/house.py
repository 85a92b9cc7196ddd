"""Check the house rules that no other tool knows, on the tree in the current folder.

- A source file has at most 800 lines, a function at most 60 lines of code (its docstring not counted).
- A silenced check names its code and gives its reason, on the line above or beside it.
- A name that another module of the library imports stands in its module's `__all__`.
- The facade, the engine and the fronts never ask whether something is a built-in part: plugins have the same rights.
- No test mocks; doubles are real implementations.
- No file names a path of one machine, a package registry, or work that is left for later.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_LINES = 800
FUNCTION_LINES = 60
CIRCLE_MODULES = 3
PACKAGE = "roundtable"
LARGEST = 400_000

PARTS = frozenset({"agents", "analysis", "exits", "gateway", "modes", "providers", "report", "storage", "tools"})
"""Packages whose classes are built-in parts."""
USERS_OF_PARTS = frozenset({
    "api", "auth", "bench", "cli", "client", "compat", "engine", "fleet", "mcp", "record", "results", "server"
})  # fmt: skip
"""Packages that use built-in parts and those of plugins in the same way."""
NOT_BUILT_IN = frozenset({
    # Base classes, protocols and wrappers that plugins inherit from or have inside.
    "AnalyzerChain", "AskingMeter", "AskingToolkit", "BaseAgent", "BaseModeStrategy", "DebateAnalyzerFactory", "Exit",
    "RoleBasedModeStrategy", "WrappedMode",
    # Values that callers create.
    "Cassette", "DefaultAgentToolkit", "FunctionTool",
})  # fmt: skip
"""Classes of these packages about which anybody may ask."""

# Put together from pieces, so that this file does not hold what it looks for.
MACHINE_PATH = re.compile("(?<![\\w.])/" + "(?:work|farm|root)/[\\w.]" + "|/" + "tmp/\\w")
REGISTRY = re.compile(
    "//[\\w.-]*" + "(?:" + "|".join(("py" + "pi", "python" + "hosted", "npm" + "js", "deb" + "ian")) + ")[\\w-]*\\."
)
LATER = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME")) + r")\b")
MOCK = re.compile("unit" + r"test\.mock|Magic" + "Mock")
TICKET = re.compile(r"\bissue " + r"#?\d", re.IGNORECASE)
TICKETS_ALLOWED = "tests/contract/seed_"
SILENCER = re.compile("#.*(?:type: " + "ignore|pyright: " + "ignore|no" + "qa|pragma: " + "no)")
CODE = re.compile(r"(?:ignore\[[\w, -]+\]|noqa: [A-Z]+\d+(?:, ?[A-Z]+\d+)*|no (?:cover|branch))(?P<beside>.*)")


TWISTED = re.compile(
    r"\b(?:something else than|(?:of|to) (?:ours|yours)|gone on with|from the depths|(?:is|are|was|were) told|whoever"
    r"|that there is not|seed 00\d)\b|(?<!here )\bis no (?!longer|more|less|better|worse|change)",
    re.IGNORECASE,
)
"""Phrases that are read twice; the gate looks for them in the source and in hand-written pages."""
READ_BY_USERS = ("src/", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/")
NOT_OUR_WORDS = (
    "docs/reference/modes/",
    "docs/benchmarks/",
    "src/roundtable/core/prompts/",
    "src/roundtable/modes/texts/",
    "src/roundtable/analysis/ai.py",
)
"""Transcripts, figures of machines, and prompts."""
VAGUE_VERBS = frozenset({"Give", "Tell", "Say", "Have", "Let"})
"""First words of docstrings that stand for Return, Check whether, Format, Make, Allow and others."""


def tracked(root: Path) -> list[Path]:
    """List the files that are, or are about to be, under version control; every file outside a repository."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0 and (root / ".git").exists():
        names = [name for name in listing.stdout.split("\0") if name]
        return sorted(path for name in names if (path := root / name).is_file())
    return sorted(path for path in root.rglob("*") if path.is_file())


def text_of(path: Path) -> str | None:
    """Read a file as text; None for a large or binary one."""
    if path.stat().st_size > LARGEST:
        return None
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        return None


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function from its `def` to its end, without its docstring."""
    total = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is not None:
        total -= (first.end_lineno or first.lineno) - first.lineno + 1
    return total


def sizes(path: Path, text: str) -> Iterator[str]:
    """Find what is too long in one source file."""
    if (count := len(text.splitlines())) > FILE_LINES:
        yield f"{path}: {count} lines, at most {FILE_LINES}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (count := code_lines(node)) > FUNCTION_LINES:
            yield f"{path}:{node.lineno}: {node.name} has {count} lines of code, at most {FUNCTION_LINES}"


def silencers(path: Path, text: str) -> Iterator[str]:
    """Find silenced checks without a code, or without a reason above or beside them."""
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if SILENCER.search(line):
            coded = CODE.search(line)
            if coded is None:
                yield f"{path}:{number}: a silenced check names its code"
            elif not (before.lstrip().startswith("#") or re.search(r"\w{3}", coded["beside"])):
                yield f"{path}:{number}: a silenced check has its reason above or beside it"
        before = line


def wording(path: Path, text: str) -> Iterator[str]:
    """Find machine paths, registry hosts, left-over work and ticket numbers."""
    rules = [(MACHINE_PATH, "a machine path"), (REGISTRY, "a registry host"), (LATER, "work left for later")]
    if not path.as_posix().startswith(TICKETS_ALLOWED):
        rules.append((TICKET, "a ticket number"))
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in rules:
            if pattern.search(line):
                yield f"{path}:{number}: names {what}: {line.strip()[:90]}"


def phrases(path: Path, text: str) -> Iterator[str]:
    """Find phrases that a reader in a hurry has to read twice; prompts are left out, since models read those."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := TWISTED.search(line):
            yield f"{path}:{number}: say it plainly instead of {found[0]!r}: {line.strip()[:90]}"


def back_doors(path: Path, text: str) -> Iterator[str]:
    """Find questions whether something is a built-in part, which the parts of plugins would answer with no."""
    if len(path.parts) < 4 or path.parts[2] not in USERS_OF_PARTS:
        return
    tree = ast.parse(text)
    parts = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE
        for alias in node.names
        if (node.module or "").split(".")[1:2] and (node.module or "").split(".")[1] in PARTS
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"isinstance", "issubclass"}:
            asked = {name.id for name in ast.walk(node.args[-1]) if isinstance(name, ast.Name)}
            for name in sorted(asked & parts - NOT_BUILT_IN):
                yield f"{path}:{node.lineno}: asks for the built-in {name}; let the part declare what is needed"


def mocks(path: Path, text: str) -> Iterator[str]:
    """Find mocks in Python files."""
    for number, line in enumerate(text.splitlines(), 1):
        if MOCK.search(line):
            yield f"{path}:{number}: uses a mock; take or write a real double"


def docstrings(path: Path, text: str) -> Iterator[str]:
    """Find docstrings that begin with a word which does not say what the function does."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node) or ""
            if (first := docstring.partition(" ")[0]) in VAGUE_VERBS:
                name = getattr(node, "name", "the module")
                line = node.body[0].lineno
                yield f"{path}:{line}: the docstring of {name} begins with {first}; begin with what it does"


def exports(root: Path) -> Iterator[str]:
    """Find names that one module of the library takes from another, which does not say that it gives them."""
    sources = {path: ast.parse(path.read_text("utf-8")) for path in sorted(root.glob("src/**/*.py"))}
    given = {path: names for path, tree in sources.items() if (names := exported(tree)) is not None}
    for path, tree in sources.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
                continue
            home = root.joinpath("src", *node.module.split(".")).with_suffix(".py")
            missing = (
                sorted({alias.name for alias in node.names} - given[home] - {"*", "__all__"}) if home in given else []
            )
            for name in missing:
                yield f"{path.relative_to(root)}:{node.lineno}: {node.module} does not list {name} in its __all__"


def exported(tree: ast.Module) -> set[str] | None:
    """Return the names of a module's `__all__`; `None` if it has none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets
        ):
            return set(ast.literal_eval(node.value))
    return None


def modules(root: Path) -> dict[str, Path]:
    """Return the path of every module of the library by its dotted name."""
    found: dict[str, Path] = {}
    for path in sorted((root / "src").glob(f"{PACKAGE}/**/*.py")):
        parts = path.relative_to(root / "src").with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def import_graph(sources: dict[str, Path]) -> dict[str, set[str]]:
    """Return what each module imports, type imports and late ones included; facades count for what they define."""
    graph: dict[str, set[str]] = {name: set() for name in sources}
    for name, path in sources.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                targets = {f"{node.module}.{alias.name}" for alias in node.names} & sources.keys()
                graph[name] |= (targets or {node.module} & sources.keys()) - {name}
    return graph


def largest_circle(graph: dict[str, set[str]]) -> list[str]:
    """Return the largest set of modules that import each other, by Tarjan's algorithm."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    largest: list[str] = []

    def visit(name: str) -> None:
        nonlocal largest
        order[name] = low[name] = len(order)
        stack.append(name)
        for target in graph[name]:
            if target not in order:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], order[target])
        if low[name] == order[name]:
            circle = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            largest = max(largest, circle, key=len)

    sys.setrecursionlimit(10_000)
    for name in graph:
        if name not in order:
            visit(name)
    return sorted(largest)


def circles(root: Path) -> Iterator[str]:
    """Find modules that import each other in a circle that is too large, type imports included."""
    circle = largest_circle(import_graph(modules(root)))
    if len(circle) > CIRCLE_MODULES:
        yield f"{len(circle)} modules import each other, at most {CIRCLE_MODULES}: {', '.join(circle)}"


def findings(root: Path) -> Iterator[str]:
    """Find everything that breaks a house rule under `root`."""
    for absolute in tracked(root):
        text = text_of(absolute)
        if text is None:
            continue
        path = absolute.relative_to(root)
        yield from wording(path, text)
        place = path.as_posix()
        if place.startswith(READ_BY_USERS) and not place.startswith(NOT_OUR_WORDS):
            yield from phrases(path, text)
        if path.suffix == ".py":
            yield from mocks(path, text)
            yield from docstrings(path, text)
        if path.suffix == ".py" and path.parts[0] == "src":
            yield from sizes(path, text)
            yield from silencers(path, text)
            yield from back_doors(path, text)
    yield from exports(root)
    yield from circles(root)


def main() -> int:
    """Print every finding; exit 1 when there is one."""
    found = list(findings(Path.cwd()))
    print("\n".join(found) if found else "the house rules hold")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
