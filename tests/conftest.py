"""What holds for all tests."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, settings

from roundtable.http import HttpClient

# How many cases hypothesis draws for a law where the test does not say: every day, in CI, and in the deep run.
UNTIMED = [HealthCheck.too_slow]
settings.register_profile("everyday", max_examples=6, deadline=None, suppress_health_check=UNTIMED)
settings.register_profile("each commit", settings.get_profile("ci"), max_examples=25)
settings.register_profile("deep", max_examples=300, deadline=None, suppress_health_check=UNTIMED)


def pytest_configure(config: pytest.Config) -> None:
    """Run on what most users have, and try laws on few examples; `tests/integration/test_fast.py` is for aiohttp."""
    HttpClient.fast = False
    if not config.getoption("--hypothesis-profile", None):
        settings.load_profile("each commit" if "CI" in os.environ else "everyday")
    # Under `nohup` a program that a test starts would inherit that SIGHUP is ignored, and rightly not end by it.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # So would one that is started where a shell runs the tests in the background inherit that SIGINT is.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Hundreds of tests start a Python program. Each would compile this library anew where no bytecode may be kept.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one and a half times the number of cores: tests wait for programs, servers and clocks now and then."""
    return 3 * (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) // 2


MARKS_OF_A_FILE = re.compile(r"^pytestmark = (\[.*?^\]|.*?$)", re.MULTILINE | re.DOTALL)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not load a file that a mark leaves out as a whole: loading those took a third of the time to find tests.

    The marks are those that the file's own `pytestmark` names and `-m` excludes by "not NAME".
    """
    if not (collection_path.name.startswith("test_") and collection_path.suffix == ".py"):
        return None
    marks = MARKS_OF_A_FILE.search(collection_path.read_text("utf-8"))
    excluded = re.findall(r"\bnot (\w+)", config.getoption("-m"))
    if marks and any(re.search(rf"\bmark\.{name}\b", marks[1]) for name in excluded):
        return True
    return None


def pytest_collection() -> None:
    """Look for no garbage while tests are found: there is none, and looking took a third of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage from here on, and not among what is there until the end."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave trio to CI, where the event loop is not the subject of a test; before the marks are asked for.

    A test that is marked `both_loops`, and one that names its loops itself, runs on them every day. The plans of all
    modes but one are compared across processes in CI too, since each takes two processes.
    """
    for item in items:
        if "test_the_plan_is_the_same_in_every_process[" in item.name and "[delphi" not in item.name:
            item.add_marker(pytest.mark.slow)
        call = getattr(item, "callspec", None)
        if call is None or "trio" not in str(call.params.get("anyio_backend")):
            continue
        named = any("anyio_backend" in str(mark.args[0]) for mark in item.iter_markers("parametrize"))
        if not named and item.get_closest_marker("both_loops") is None:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def each_schema_checked_once():
    """Check a schema itself once a run: clients of MCP do so before every answer, at forty milliseconds each."""
    check = jsonschema.Draft202012Validator.check_schema.__func__
    sound: set[str] = set()

    def once(cls: type, schema: Mapping[str, Any], *rest: Any, **more: Any) -> None:
        key = json.dumps(schema, sort_keys=True)
        if key not in sound:
            check(cls, schema, *rest, **more)
            sound.add(key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonschema.Draft202012Validator, "check_schema", classmethod(once))
        yield


@pytest.fixture(scope="session")
def postgres_server():
    """Start a PostgreSQL server with an empty database, one for each process of the tests."""
    from postgres_kit import running_server  # psycopg is imported where it is needed

    with running_server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server):
    """Return the address of an empty schema of its own."""
    from postgres_kit import new_schema

    schema = new_schema()
    yield postgres_server.url(schema)
    postgres_server.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
