"""The sessions of this repository: `nox` runs the everyday ones, `nox -s deep` the long ones.

Each session installs the locked versions of constraints.txt, then this project without its dependencies, so
that a session and CI see the same tools. The commands of the gates stand in tools/gates.py.
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.needs_version = ">=2026.2"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "types", "tests", "docs", "api"]

ROOT = Path(__file__).parent
PYTHONS = ["3.11", "3.12", "3.13"]
LOCKS = {"constraints.txt": (), "constraints-deep.txt": ("--group", "oracles")}
"""Lock files, and what each adds to the extras `all` and `dev`."""

ALONE = (
    "tests/integration/test_server_load.py",
    "tests/integration/test_soak.py",
    "tests/integration/test_soak_faults.py",
)
"""Deep checks that watch time or memory, and so have the machine to themselves."""

LOCK_HEAD = """\
# Exact versions, with hashes, of everything that tests, checks and docs need (the extras `all` and `dev`{more}) on
# Python 3.11 and later, any platform. It names no package index: pip and uv ask the one they are set up for.
# It locks the dependencies, not this project, so an installation takes two steps:
#     python -m pip install -r {name}
#     python -m pip install --no-deps --no-build-isolation -e .
# Made by `nox -s lock` (`nox -s lock -- --upgrade` for newer versions); do not edit.
"""


def set_up(session: nox.Session, lock: str = "constraints.txt") -> None:
    """Install the locked tools, and this project in place."""
    session.install("-r", lock)
    session.install("--no-deps", "--no-build-isolation", "-e", ".")


@nox.session
def lint(session: nox.Session) -> None:
    """Format, lint, layers, dependencies and house rules."""
    set_up(session)
    session.run("python", "tools/gates.py", "format", "lint", "layers", "dependencies", "house")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types with mypy, and the public surface with pyright."""
    set_up(session)
    session.run("python", "tools/gates.py", "types", "doc-types", "strict-types", "public-types")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the everyday suite under coverage."""
    set_up(session)
    session.run(
        "python", "-m", "pytest", "-n", "auto", "--dist", "loadfile", "--cov", "--cov-report=", *session.posargs
    )
    if not session.posargs:
        session.run("python", "tools/gates.py", "coverage")


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the suites for providers and storages against our own, with the recordings of $ROUNDTABLE_SHARED_DATA."""
    set_up(session)
    data = ROOT.parent / "shared" / "data"
    environment = {"ROUNDTABLE_SHARED_DATA": str(data)} if data.is_dir() else {}
    session.run("python", "-m", "pytest", "-ra", "tests/conformance", *session.posargs, env=environment)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site strictly and run every example of it."""
    set_up(session)
    session.run("python", "tools/gates.py", "generated", "docs")
    session.run("python", "-m", "pytest", "tests/docs", "README.md", "docs", "src")


@nox.session
def api(session: nox.Session) -> None:
    """Check the public names, their types and what was promised about them."""
    set_up(session)
    session.run("python", "tools/gates.py", "public-types", "generated", "wheel")
    session.run("python", "-m", "pytest", "tests/contract")


@nox.session
def gates(session: nox.Session) -> None:
    """Plant violations and check that each gate catches its own."""
    set_up(session)
    session.run("python", "-m", "pytest", "-v", "-m", "gates", "tests/gates", *session.posargs)


@nox.session
def deep(session: nox.Session) -> None:
    """Run the long checks, mutants of the exact packages and the full benchmarks; figures go to docs/benchmarks."""
    set_up(session, "constraints-deep.txt")
    data = ROOT.parent / "shared" / "data"
    environment = {"ROUNDTABLE_SHARED_DATA": str(data)} if data.is_dir() else {}
    unhurried = ["-o", "faulthandler_timeout=0"]
    tests = ["python", "-m", "pytest", *unhurried, "-m", "deep", "--durations=25", *session.posargs]
    session.run(*tests, *ALONE, env=environment)
    others = [f"--ignore={path}" for path in ALONE]
    session.run(*tests, "-n", "auto", "--dist", "worksteal", *others, env=environment)
    laws = ["-m", "not deep and not gates", "--hypothesis-profile=deep", "tests/property"]
    session.run("python", "-m", "pytest", *unhurried, "-n", "auto", "--dist", "worksteal", *laws, env=environment)
    session.run("python", "tools/interpreters.py", "--all")
    figures = {"mutation": ["tools/mutation.py", "--sample", "300"]}
    figures |= {path.stem: [str(path)] for path in sorted((ROOT / "benchmarks").glob("bench_*.py"))}
    for name, command in figures.items():
        printed = session.run("python", *command, env=environment, silent=True)
        if isinstance(printed, str):  # `nox --install-only` runs nothing
            print(printed)
            (ROOT / "docs" / "benchmarks" / f"{name}.txt").write_text(printed, "utf-8")


@nox.session
def lock(session: nox.Session) -> None:
    """Write the lock files anew; `-- --upgrade` asks for the newest versions."""
    session.install("uv")
    command = ["uv", "pip", "compile", "pyproject.toml", "--extra", "all", "--extra", "dev", "--universal"]
    form = ["--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--no-header", "--quiet"]
    form.append("--no-strip-extras")  # else older versions of pip take the newest of a package with an extra
    for name, more in LOCKS.items():
        path = ROOT / name
        session.run(*command, *more, *form, "--output-file", str(path), *session.posargs)
        head = LOCK_HEAD.format(name=name, more=", the group `oracles`" if more else "")
        path.write_text(head + path.read_text("utf-8"), "utf-8")
