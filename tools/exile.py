"""Move a built-in out of the library, and check that a plugin with the same code behaves in the same way.

    python tools/exile.py                  # all exiles
    python tools/exile.py oxford score     # some

For each exile, the source files of a built-in and its data are copied into a package outside the tree. Their imports
are rewritten to the public names of the library; a helper without a public name is copied along. The package is
installed as a plugin that registers the copy under another name of the same length. `exile_runs.py` then runs twice:
with the built-in, and with the plugin in a library that doesn't register the built-in. What both runs print must be
equal once the name is put back.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile, zip_longest
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "roundtable"
SURFACE = ROOT / "tools" / "public_surface.txt"
PACKAGE = "exiled"
"""The package that the copies are put into, and the name of the plugin's distribution. Its entry point has the new name
of the exile, so that the plugin is found by this name."""
KITS = "roundtable.testing"
"""Where the library keeps what only tests need; exiles never import it."""


@dataclass(frozen=True)
class Exile:
    """A built-in that is moved out."""

    kind: str
    """Kind of thing, as in `exile_runs.py` and in the name of the hook."""
    name: str
    """Name under which it is registered."""
    files: tuple[str, ...]
    """Its source files, below the package of the library."""
    plugin: str
    """Body of the plugin's hook; `{new}` stands for the new name."""
    data: Mapping[str, str] = field(default_factory=dict)
    """Its data files, by their path below the package of the library, with the name of the copy."""

    @property
    def new_name(self) -> str:
        """A name of the same length that sorts as the old one does: its last letter is the next one."""
        return self.name[:-1] + chr(ord(self.name[-1]) + 1)


def _mode(name: str, file: str, kind: str) -> Exile:
    body = f"""
        from pathlib import Path
        from roundtable.prompts import PromptLibrary
        from {PACKAGE}.{file} import {kind}
        mode = {kind}(prompts=PromptLibrary(Path(__file__).parent))
        registrar.add("{{new}}", mode, summary=mode.summary)
    """
    return Exile("modes", name, (f"modes/{file}.py",), body, {f"modes/texts/{name}.toml": "{new}.toml"})


def _rule(name: str, file: str, rules: str) -> Exile:
    body = f"""
        from dataclasses import replace
        from {PACKAGE}.{file} import {rules}
        rule = next(rule for rule in {rules} if rule.name == "{{new}}")
        registrar.add(rule.name, rule, summary=rule.summary)
    """
    return Exile("rules", name, (f"scoring/rules/{file}.py",), body)


def _provider(name: str, dialect: str) -> Exile:
    body = f"""
        from dataclasses import replace
        from roundtable.providers import BUILTIN_SPECS, HttpProvider
        from {PACKAGE}.{name} import {dialect}
        declared = BUILTIN_SPECS["{name}"]
        registrar.add("{{new}}", HttpProvider(replace(declared, name="{{new}}", dialect={dialect}("{{new}}"))))
    """
    return Exile("providers", name, (f"providers/{name}.py",), body)


EXILES = (
    _mode("expert-panel", "expert_panel", "ExpertPanelMode"),
    _mode("oxford", "oxford", "OxfordMode"),
    _mode("council", "council", "CouncilMode"),
    _rule("score", "grades", "GRADE_RULES"),
    _rule("judge-panel", "other", "OTHER_RULES"),
    Exile(
        "exits",
        "moderator",
        ("exits/criteria.py",),
        f"""
        from {PACKAGE}.criteria import ModeratorEnds
        registrar.add("{{new}}", ModeratorEnds.from_spec, summary="Ends when a moderator decides to end it.")
    """,
    ),
    Exile(
        "analyzers",
        "ai",
        ("analysis/ai.py",),
        f"""
        from roundtable.analysis import AnalyzerChain, DebateAnalyzerFactory, NamedMeter
        from {PACKAGE}.ai import AIConsensusAnalyzer
        def make(setup):
            models, why_none = setup.readers()
            return AnalyzerChain([NamedMeter("{{new}}", AIConsensusAnalyzer(models, why_none=why_none))])
        summary = "By a model that reads the answers of each round."
        registrar.add("{{new}}", DebateAnalyzerFactory(make), summary=summary)
    """,
    ),
    Exile(
        "search_providers",
        "brave",
        ("tools/search.py",),
        f"""
        from {PACKAGE}.search import _brave
        registrar.add("{{new}}", _brave, summary="Brave's own index; needs BRAVE_API_KEY.")
    """,
    ),
    Exile(
        "exporters",
        "html",
        ("report/html.py", "results/view.py"),
        f"""
        from {PACKAGE}.html import page_parts
        from {PACKAGE}.view import view_of
        registrar.add("{{new}}", lambda result: page_parts(view_of(result)), summary="One page without other files.")
    """,
    ),
    Exile(
        "storages",
        "sqlite",
        ("storage/sqlite.py", "storage/locations.py"),
        f"""
        from {PACKAGE}.locations import open_sqlite
        registrar.add("{{new}}", open_sqlite, summary="Stored in one file.")
    """,
    ),
    _provider("perplexity", "PerplexitySonar"),
    _provider("anthropic", "AnthropicMessages"),
)


def public_names() -> dict[str, set[str]]:
    """Return the public names of each public module, from the recorded surface."""
    names: dict[str, set[str]] = {}
    for line in SURFACE.read_text("utf-8").splitlines():
        path = re.split(r"[ (]", line, maxsplit=1)[0]
        module, _, name = path.rpartition(".")
        if module.startswith("roundtable") and not module.startswith(KITS) and _is_module(module):
            names.setdefault(module, set()).add(name)
    return names


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _module_of(file: str) -> str:
    return ".".join(("roundtable", *Path(file).with_suffix("").parts))


class Mover:
    """Copies source files into a package outside the tree, and rewrites their imports.

    Args:
        exile: What is moved.
        folder: Folder of the new package.
    """

    def __init__(self, exile: Exile, folder: Path) -> None:
        self.exile = exile
        self.folder = folder
        self.copied: list[str] = []
        """Helpers without a public name, as `module.name`."""
        self._public = public_names()
        self._own = {_module_of(file): Path(file).stem for file in exile.files}
        self._moved: dict[str, str] = {}

    def move(self) -> None:
        """Copy the files and the data, and write the plugin's module."""
        self.folder.mkdir(parents=True)
        for module, stem in self._own.items():
            self._copy(module, stem)
        for file, copy in self.exile.data.items():
            target = self.folder / copy.format(new=self.exile.new_name)
            target.write_text(self._renamed((SOURCES / file).read_text("utf-8")), "utf-8")
        body = self.exile.plugin.format(new=self.exile.new_name)
        hook = f"def roundtable_register_{self.exile.kind}(registrar):{body}"
        lines = ["from roundtable import hookimpl", "", "", "@hookimpl", hook, ""]
        (self.folder / "__init__.py").write_text("\n".join(lines), "utf-8")
        info = self.folder.parent / f"{PACKAGE}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n", "utf-8")
        (info / "entry_points.txt").write_text(f"[roundtable]\n{self.exile.new_name} = {PACKAGE}\n", "utf-8")

    def _renamed(self, text: str) -> str:
        return text.replace(f'"{self.exile.name}"', f'"{self.exile.new_name}"')

    def _copy(self, module: str, stem: str) -> None:
        """Copy a module under a new stem; a module that is already copied is left alone."""
        if module in self._moved:
            return
        self._moved[module] = stem
        spec = importlib.util.find_spec(module)
        assert spec is not None, module
        assert spec.origin is not None, module
        text = self._renamed(Path(spec.origin).read_text("utf-8"))
        (self.folder / f"{stem}.py").write_text(self._rewritten(text, None if module in self._own else module), "utf-8")

    def _rewritten(self, text: str, helper: str | None) -> str:
        """Rewrite the imports of a source file; in a helper, also import each class and function that is public."""
        lines = text.splitlines(keepends=True)
        tree = ast.parse(text)
        changes: dict[int, tuple[int, list[str]]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "roundtable":
                statements = [
                    f"{' ' * node.col_offset}{line}\n" for line in self._statements(node.module or "", node.names)
                ]
                changes[node.lineno] = (node.end_lineno or node.lineno, statements)
        for node in tree.body if helper is not None else ():
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                home = self._public_home(node.name, _value(helper or "", node.name))
                if home is not None:
                    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                    inside = [line for line in changes if start <= line <= (node.end_lineno or start)]
                    for line in inside:
                        del changes[line]
                    changes[start] = (node.end_lineno or start, [f"from {home} import {node.name}\n"])
        for start in sorted(changes, reverse=True):
            end, statements = changes[start]
            lines[start - 1 : end] = statements
        return "".join(lines)

    def _statements(self, module: str, names: list[ast.alias]) -> Iterator[str]:
        for alias in names:
            suffix = f" as {alias.asname}" if alias.asname else ""
            if isinstance(thing := _value(module, alias.name), ModuleType):
                yield f"from {PACKAGE} import {self._helper(thing.__name__)} as {alias.asname or alias.name}"
            else:
                yield f"from {self._home(module, alias.name, thing)} import {alias.name}{suffix}"

    def _home(self, module: str, name: str, thing: object) -> str:
        """Return the module from which an exile imports a name: a public one, or a copy of the private one."""
        source = _defining_module(module, name, thing)
        if source in self._own:
            return f"{PACKAGE}.{self._moved[source]}"
        home = self._public_home(name, thing)
        if home is not None:
            return home
        self.copied.append(f"{source}.{name}")
        return f"{PACKAGE}.{self._helper(source)}"

    def _public_home(self, name: str, thing: object) -> str | None:
        """Return the public module that has a name; `None` if the name is private."""
        for public in sorted(self._public, key=lambda public: (public.count("."), public)):
            if name in self._public[public] and getattr(importlib.import_module(public), name, None) is thing:
                return public
        return None

    def _helper(self, module: str) -> str:
        """Copy a private module of the library unless that is done; return the stem of the copy."""
        self._copy(module, "helpers_" + module.removeprefix("roundtable.").replace(".", "_").strip("_"))
        return self._moved[module]


def _value(module: str, name: str) -> object:
    """Return what a module calls by a name, which may be a module inside it."""
    loaded = importlib.import_module(module)
    return getattr(loaded, name) if hasattr(loaded, name) else importlib.import_module(f"{module}.{name}")


def _defining_module(module: str, name: str, thing: object) -> str:
    """Return the module of the library that defines a name, which a package may only pass on."""
    origin: object = getattr(thing, "__module__", None)
    if isinstance(origin, str) and origin.startswith("roundtable.") and hasattr(sys.modules.get(origin), name):
        return origin
    if not hasattr(sys.modules[module], "__path__"):
        return module
    inside = (other for other in sys.modules if other.startswith(f"{module}."))
    return next((other for other in inside if getattr(sys.modules[other], name, None) is thing), module)


def run(exile: Exile, name: str, site: Path | None) -> str:
    """Run `exile_runs.py` for one name, and return what it prints.

    Args:
        exile: The exile.
        name: Name that is used: that of the built-in, or that of the plugin.
        site: Folder with the plugin; `None` for a run with the built-in.

    Raises:
        RuntimeError: The program failed.
    """
    path = os.pathsep.join([*([str(site)] if site else []), str(ROOT / "src")])
    environment = {
        **{key: value for key, value in os.environ.items() if not key.endswith(("_API_KEY", "_BASE_URL"))},
        "PYTHONPATH": path,
        "PYTHONHASHSEED": "0",
        "NO_COLOR": "1",
        "COLUMNS": "200",
        "ROUNDTABLE_PLUGINS": "all" if site else "none",
    }
    command = [sys.executable, str(ROOT / "tools" / "exile_runs.py"), exile.kind, name]
    command += ["--without", exile.name] if site else []
    done = subprocess.run(command, env=environment, text=True, capture_output=True, check=False, cwd=site or ROOT)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stdout[-2000:]}{done.stderr[-6000:]}")
    return done.stdout


def compare(exile: Exile) -> tuple[list[str], list[str]]:
    """Move one built-in out and compare both runs.

    Returns:
        The lines in which the runs differ, as a unified diff; and the helpers that had to be copied.
    """
    with tempfile.TemporaryDirectory(prefix="exile-") as keep:
        site = Path(keep) / "site"
        mover = Mover(exile, site / PACKAGE)
        mover.move()
        built_in = run(exile, exile.name, None)
        moved = run(exile, exile.new_name, site)
        shutil.rmtree(site)
    put_back = re.sub(rf"\b{re.escape(exile.new_name)}\b", exile.name, moved)
    return list(differences(built_in.splitlines(), put_back.splitlines())), mover.copied


def differences(before: list[str], after: list[str]) -> Iterator[str]:
    """Return pairs of lines that differ; long lines are cut to the place where they begin to differ."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag == "equal":
            continue
        title = next((line for line in reversed(before[:first]) if line.startswith("== ")), "")
        pairs = zip_longest(before[first:last], after[start:end], fillvalue="")
        for old, new in pairs:
            equal = sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(old, new, strict=False)))
            at = max(0, equal - 60)
            yield f"{title}\n    built in: {old[at : at + 200]}\n    exiled:   {new[at : at + 200]}"


def main(names: list[str]) -> int:
    """Compare the named exiles, or all of them; return the exit code."""
    unknown = set(names) - {exile.name for exile in EXILES}
    if unknown:
        print("no such exile:", ", ".join(sorted(unknown)))
        return 2
    failed = 0
    for exile in EXILES:
        if names and exile.name not in names:
            continue
        diff, copied = compare(exile)
        print(f"{exile.kind} {exile.name}: {'equal' if not diff else f'{len(diff)} lines differ'}")
        for helper in copied:
            print(f"    copied: {helper}")
        print("\n".join(f"    {difference}" for difference in diff[:20]))
        failed += bool(diff)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
