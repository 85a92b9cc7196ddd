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


@pytest.mark.slow
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


@pytest.mark.slow
def test_importing_loads_nothing_heavy(tmp_path: Path) -> None:
    modules = watched(EVERYDAY, tmp_path)["modules"]
    assert [name for name in modules if name.startswith(OWN)] == []
    assert [name for name in HEAVY if name in modules] == []


def test_every_public_name_can_be_imported_and_is_listed() -> None:
    assert len(roundtable.__all__) <= 45
    for name in roundtable.__all__:
        assert getattr(roundtable, name) is not None
        assert name in dir(roundtable)
    with pytest.raises(AttributeError, match="has no attribute 'Rountable'"):
        _ = roundtable.Rountable  # type: ignore[attr-defined]  # that is the point


@pytest.mark.parametrize("name", ["errors", "prompts", "protocols", "sync", "tools", "types"])
def test_the_packages_with_public_names_are_attributes_of_the_root(name: str) -> None:
    code = f"import roundtable as rt; rt.Budget; print(rt.{name}.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"roundtable.{name}\n"


def test_every_type_can_be_imported_from_the_package_of_types() -> None:
    from roundtable import types

    for name in types.__all__:
        assert getattr(types, name) is not None
    assert set(types.__all__) <= set(dir(types))
    assert {name for names in types._NAMES.values() for name in names.split()} == set(types.__all__)


FIRST_DEBATE = """
import asyncio, json, sys, threading

seen, ticks, on_loop, debating = [], [], threading.get_ident(), False


class Heard:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if debating:
            seen.append((name, threading.get_ident() == on_loop))
            ticks.append(beats)


beats = 0
sys.meta_path.insert(0, Heard)
import roundtable
from roundtable.testing import scripted_agents


async def beat():
    global beats
    while True:
        await asyncio.sleep(0.001)
        beats += 1


async def main():
    global debating
    table = roundtable.Roundtable(scripted_agents({{"ada": "Tea", "bo": "Tea"}}), storage={storage!r})
    beating = asyncio.create_task(beat())
    await asyncio.sleep(0.01)
    debating = True
    result = await table.debate("Tea?", rounds=2, synthesize=True, baseline=True)
    debating = False
    assert result.answer == "Tea"
    beating.cancel()


asyncio.run(main())
beside = [beat for (_, here), beat in zip(seen, ticks) if not here]
print(json.dumps({{
    "here": [name for name, here in seen if here and name.startswith("roundtable")],
    "beside": [name for name, here in seen if not here and name.startswith("roundtable")],
    "beats": beside[-1] - beside[0],
}}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["memory://", "sqlite:///debates.db"])
def test_the_first_debate_loads_the_library_in_a_thread(storage: str, tmp_path: Path) -> None:
    """Who else lives on the loop has its turn meanwhile: it stood still for half a second."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_DEBATE.format(storage=storage)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["here"] == []
    assert {"roundtable.api.assembly", "roundtable.engine", "roundtable.analysis"} <= set(found["beside"])
    assert len(found["beside"]) > 50
    assert found["beats"] >= 5


FIRST_CALLS = """
import json, sys, threading

import anyio

import roundtable
from roundtable.errors import QuorumLost

seen, on_loop, debating = [], threading.get_ident(), False


class Heard:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if debating and threading.get_ident() == on_loop:
            seen.append(name)


async def main():
    global debating
    sys.meta_path.insert(0, Heard)
    address = roundtable.ProviderConfig(base_url="http://127.0.0.1:9/v1", api_key="none")
    agents = {agents}
    table = roundtable.Roundtable({table}, providers={{"anthropic": address}}, storage="memory://")
    debating = True
    try:
        await table.debate("Tea?", agents={call}, rounds=1)
    except QuorumLost:
        debating = False
    await table.aclose()


anyio.run(main)
print(json.dumps({{"here": seen, "ended": not debating}}))
"""
NAMES = "['anthropic:claude-a', 'anthropic:claude-b']"
CONFIGS = "[roundtable.AgentConfig(id=id, name=id, provider='anthropic', model='claude-a') for id in ('ada', 'bo')]"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agents", "table", "call"),
    [
        pytest.param(NAMES, "agents", "None", id="names"),
        pytest.param(CONFIGS, "agents", "None", id="configurations"),
        pytest.param(NAMES, "None", "agents", id="agents of the call"),
    ],
)
def test_models_over_http_are_loaded_in_a_thread(agents: str, table: str, call: str, tmp_path: Path) -> None:
    """Nothing answers at the address, so this also covers what retries need."""
    code = FIRST_CALLS.format(agents=agents, table=table, call=call)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["ended"]
    ours = [name for name in found["here"] if name.startswith(("roundtable.", "tenacity"))]
    assert ours in ([], ["roundtable.core.base.eventloop"])  # the module that starts the thread
