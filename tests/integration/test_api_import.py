"""Importing the package costs little and touches nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import roundtable

HEAVY = (
    "pluggy",
    "httpx",
    "sqlite3",
    "tenacity",
    "typer",
    "rich",
    "ssl",
    "asyncio",
    "anyio",
    "trio",
    "pytest",
    "hypothesis",
)
OWN = ("roundtable.engine", "roundtable.storage", "roundtable.http", "roundtable.plugins", "roundtable.testing")

WATCH = """
import json, sys, threading
import importlib.machinery, pydantic, pydantic.alias_generators
seen, loaded = [], set(sys.modules)
sys.addaudithook(lambda event, given: seen.append((event, [str(one) for one in given])))
{code}
events = list(seen)
new = sorted(set(sys.modules) - loaded)
print(json.dumps({{"events": events, "modules": new, "threads": threading.active_count()}}))
"""


def watched(code: str, folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-B", "-c", WATCH.format(code=code)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


EVERYDAY = "import roundtable; roundtable.Roundtable; roundtable.AgentConfig"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(EVERYDAY, id="import"),
        pytest.param(EVERYDAY + "; roundtable.Roundtable(['anthropic'], storage='sqlite:///d.db')", id="a table"),
    ],
)
def test_importing_opens_no_socket_no_thread_and_no_file_but_modules(code: str, tmp_path: Path) -> None:
    found = watched(code, tmp_path)
    assert found["threads"] == 1
    names = {event for event, _ in found["events"]}
    assert not {name for name in names if name.split(".")[0] in {"socket", "subprocess", "sqlite3", "urllib", "ssl"}}
    opened = [given for event, given in found["events"] if event == "open"]
    for path, mode, _ in opened:
        assert Path(path).suffix in {".py", ".pyc", ".so", ".pyd"}, path
        assert mode in {"r", "rb", "None"}
    assert list(tmp_path.iterdir()) == []


def test_importing_loads_nothing_heavy(tmp_path: Path) -> None:
    modules = watched(EVERYDAY, tmp_path)["modules"]
    assert [name for name in modules if name.startswith(OWN)] == []
    assert [name for name in HEAVY if name in modules] == []


def test_every_public_name_can_be_had_and_is_listed() -> None:
    assert len(roundtable.__all__) <= 45
    for name in roundtable.__all__:
        assert getattr(roundtable, name) is not None
        assert name in dir(roundtable)
    with pytest.raises(AttributeError, match="has no attribute 'Rountable'"):
        _ = roundtable.Rountable  # type: ignore[attr-defined]  # that is the point


def test_every_type_can_be_had_from_the_package_of_types() -> None:
    from roundtable import types

    for name in types.__all__:
        assert getattr(types, name) is not None
    assert set(types.__all__) <= set(dir(types))
    assert {name for names in types._NAMES.values() for name in names.split()} == set(types.__all__)
