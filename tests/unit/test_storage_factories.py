from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import roundtable.storage
from roundtable.errors import ConfigurationError
from roundtable.storage import MemoryStorage, SQLiteStorage, open_memory, open_sqlite


@pytest.mark.parametrize("url", ["memory://", "memory:"])
def test_memory_needs_no_more_than_its_scheme(url: str) -> None:
    assert isinstance(open_memory(url), MemoryStorage)


@pytest.mark.parametrize("url", ["memory://x", "memory:///", "mem://"])
def test_the_address_of_memory_has_no_path(url: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a storage address"):
        open_memory(url)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///debates.db", "debates.db"),
        ("sqlite:///./data/a b%20c?d#e.db", "./data/a b%20c?d#e.db"),
        ("sqlite:////var/lib/debates.db", "/var/lib/debates.db"),
    ],
)
def test_the_text_after_the_third_slash_is_the_path(url: str, path: str) -> None:
    storage = open_sqlite(url)
    assert isinstance(storage, SQLiteStorage)
    assert storage.db_path == path


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite://host", "sqlite:debates.db", "postgres:///x"])
def test_an_address_without_a_file_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        open_sqlite(url)
    assert "sqlite:///debates.db" in str(error.value.hint)


@pytest.mark.parametrize(
    "rest", ["//me:canary@host/db", "//me:can@ary/canary?canary#canary@host/db?canary", "me:canary@x"]
)
@pytest.mark.parametrize(("open_it", "scheme"), [(open_memory, "memory"), (open_sqlite, "sqlite"), (open_sqlite, "pg")])
def test_a_password_in_an_address_is_never_shown(open_it: Callable[[str], object], scheme: str, rest: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        open_it(f"{scheme}:{rest}")
    assert "canary" not in json.dumps(error.value.to_dict())
    assert scheme in error.value.message or "//" not in rest


@pytest.mark.parametrize("path", ["", ":memory:", "a\0b"])
def test_an_address_that_is_not_a_file_is_refused_before_anything_is_opened(path: str) -> None:
    with pytest.raises(ConfigurationError, match="not a valid path of a database file"):
        SQLiteStorage(path)


@pytest.mark.parametrize(
    "times", [{"commit_window_s": -1}, {"commit_window_s": 2}, {"busy_timeout_s": -1}, {"busy_timeout_s": float("nan")}]
)
def test_times_out_of_range_are_refused(times: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(times))):
        SQLiteStorage("x.db", **times)


def test_the_path_is_kept_as_given_and_the_default_is_that_of_the_seed() -> None:
    assert SQLiteStorage().db_path == "./data/roundtable.db"
    assert SQLiteStorage(Path("a") / "b.db").db_path == "a/b.db"


@pytest.mark.slow
def test_creating_a_storage_creates_no_file_and_no_thread(tmp_path: Path) -> None:
    code = (
        "import sys, threading\n"
        "import roundtable.storage as s\n"
        "assert 'sqlite3' not in sys.modules and 'pydantic' not in sys.modules and 'anyio' not in sys.modules\n"
        "s.SQLiteStorage('data/x.db')\n"
        "s.MemoryStorage()\n"
        "assert threading.active_count() == 1\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_every_exported_name_exists() -> None:
    assert set(roundtable.storage.__all__) <= set(dir(roundtable.storage))
    for name in roundtable.storage.__all__:
        assert getattr(roundtable.storage, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = roundtable.storage.Nothing
