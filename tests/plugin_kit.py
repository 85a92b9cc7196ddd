"""Distributions laid into a folder on the path, as pip lays them, for tests of loading."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent, indent

import pytest

MODE = """
from roundtable import hookimpl
from roundtable.modes import CollaborativeMode

@hookimpl
def roundtable_register_modes(registrar):
    registrar.add("{name}", CollaborativeMode(), summary="A mode.")
"""
"""A module that brings one mode."""


@dataclass
class Site:
    """A folder on the path that distributions are laid into."""

    folder: Path
    modules: list[str] = field(default_factory=list)

    def install(
        self,
        name: str,
        code: str = MODE,
        *,
        version: str = "1.0",
        requires: tuple[str, ...] = ("roundtable-sdk>=0.1",),
        entry_points: str | None = None,
        metadata: str | None = None,
    ) -> str:
        """Lay a distribution `name` with one module of its own; its entry point has the name without `roundtable-`."""
        module = name.replace("-", "_").lower() + "_plugin"
        self.modules.append(module)
        (self.folder / f"{module}.py").write_text(dedent(code).replace("{name}", name.removeprefix("roundtable-")))
        info = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {needed}" for needed in requires]
        (info / "METADATA").write_text("\n".join(lines) + "\n" if metadata is None else metadata)
        point = f"{name.removeprefix('roundtable-')} = {module}\n" if entry_points is None else entry_points
        (info / "entry_points.txt").write_text(f"[roundtable]\n{point}")
        return module


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """An empty folder on the path; what was imported from it is forgotten afterwards."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    made = Site(folder)
    yield made
    for module in made.modules:
        sys.modules.pop(module, None)


def hook(kind: str, body: str) -> str:
    """Return the source of a module with one hook."""
    head = f"from roundtable import hookimpl\n@hookimpl\ndef roundtable_register_{kind}(registrar, host):\n"
    return head + indent(dedent(body).strip(), "    ") + "\n"
