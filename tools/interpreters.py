"""Run the tests of units, laws and contracts on the newest Python that the classifiers claim and this machine has.

With `--all` they run on each of these versions. Interpreters are found on the path and among the versions of pyenv and
uv. Each gets a virtual environment of its own with the locked versions, `.venv-3.12` for example. Those that the
machine lacks are named. The exit status is 0 when no test failed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ("tests/unit", "tests/property", "tests/contract")
PYTHON = "Programming Language :: Python :: "


def other_versions() -> list[str]:
    """Return the versions of Python that the classifiers name, newest first, without the one that runs this."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        classifiers = tomllib.load(file)["project"]["classifiers"]
    versions = [line.removeprefix(PYTHON) for line in classifiers if re.fullmatch(rf"{PYTHON}3\.\d+", line)]
    others = [version for version in versions if version != f"3.{sys.version_info.minor}"]
    return sorted(others, key=lambda version: int(version.removeprefix("3.")), reverse=True)


def candidates(version: str) -> list[Path]:
    """Return where an interpreter of a version may be, such as `3.12`."""
    on_path = shutil.which(f"python{version}")
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or Path.home() / ".local/share/uv/python")
    kept = [*pyenv.glob(f"versions/{version}.*/bin/python"), *uv.glob(f"cpython-{version}.*/bin/python{version}")]
    return [*([Path(on_path)] if on_path else []), *sorted(kept)]


def interpreter(version: str) -> Path | None:
    """Find an interpreter that says of itself that it is of this version."""
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    for path in candidates(version):
        told = subprocess.run([path, "-c", ask], capture_output=True, text=True, check=False)
        if told.stdout.strip() == version:
            return path
    return None


def run(version: str, path: Path) -> bool:
    """Install the locked versions for an interpreter, run the tests, and return whether all passed."""
    folder = ROOT / f".venv-{version}"
    python = folder / "bin/python"
    lock = ROOT / "constraints.txt"
    subprocess.run([path, "-m", "venv", folder], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "-r", lock], check=True)
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "-e", "."], check=True, cwd=ROOT
    )
    everyday = {name: value for name, value in os.environ.items() if name != "CI"}  # as few drawn examples as every day
    words = [python, "-m", "pytest", "-q", "--fail-on-skip", "-n", "auto", "--dist", "worksteal", *TESTS]
    return subprocess.run(words, cwd=ROOT, env=everyday, check=False).returncode == 0


def main() -> int:
    """Run the tests on the newest interpreter, or on each, and say which are lacking."""
    every = "--all" in sys.argv[1:]
    found = {version: interpreter(version) for version in other_versions()}
    passed = []
    for version, path in found.items():
        if path is None:
            print(f"--- Python {version}: not on this machine", flush=True)
            continue
        if passed and not every:
            print(f"--- Python {version}: left to --all", flush=True)
            continue
        print(f"--- Python {version}: {path}", flush=True)
        start = time.monotonic()
        passed.append(run(version, path))
        print(
            f"--- Python {version}: {'passed' if passed[-1] else 'FAILED'} after {time.monotonic() - start:.0f} s",
            flush=True,
        )
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
