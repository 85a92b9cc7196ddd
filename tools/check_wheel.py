"""Build the wheel of the tree in the current folder and check that it holds the source tree and nothing else."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

SCRIPT = "roundtable = roundtable.__main__:main"
TEMPLATES = "roundtable/plugins/template_files/"  # `roundtable plugins new` writes tests from the texts in it


def built(root: Path, folder: Path) -> Path:
    """Build one wheel of `root` into `folder`."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=root, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def sources(root: Path) -> set[str]:
    """List the files of the package as they stand in the source tree."""
    base = root / "src"
    files = (path for path in (base / "roundtable").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(base).as_posix() for path in files}


def is_test(name: str) -> bool:
    """Check whether a file of the package is a test of this project, and not a text that becomes one of a plugin."""
    text = name.startswith(TEMPLATES) and name.endswith(".py.txt")
    return not text and Path(name).name.startswith(("test_", "conftest"))


def findings(root: Path, wheel: Path) -> Iterator[str]:
    """Find every way in which the wheel differs from what it should hold."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        (info,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        scripts = archive.read(f"{info}/entry_points.txt").decode()
    package = {name for name in names if not name.startswith(f"{info}/")}
    expected = sources(root)
    yield from (f"missing in the wheel: {name}" for name in sorted(expected - package))
    yield from (f"not of the source tree: {name}" for name in sorted(package - expected))
    yield from (f"starts code by itself: {name}" for name in sorted(names) if name.endswith(".pth"))
    yield from (f"a test: {name}" for name in sorted(package) if is_test(name))
    if "roundtable/py.typed" not in package:
        yield "the package is not marked as typed"
    if metadata["Name"] != "roundtable-sdk":
        yield f"the distribution is called {metadata['Name']}"
    if SCRIPT not in scripts.splitlines():
        yield f"the command is missing from {scripts!r}"
    if f"{info}/licenses/LICENSE" not in names:
        yield "the licence is missing"


def main() -> int:
    """Build, compare, print every finding; exit 1 when there is one."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = built(Path.cwd(), Path(folder))
        found = list(findings(Path.cwd(), wheel))
        print("\n".join(found) if found else f"{wheel.name} holds the source tree and nothing else")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
