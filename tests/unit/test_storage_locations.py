"""Where sessions go when nobody says where."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from roundtable.settings import Settings
from roundtable.storage.locations import default_database, writable_database


def test_a_writable_path_is_used_without_a_message(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert writable_database(tmp_path / "new" / "debates.db") == tmp_path / "new" / "debates.db"


def test_an_existing_file_is_used(tmp_path: Path) -> None:
    (tmp_path / "debates.db").touch()
    assert writable_database(tmp_path / "debates.db") == tmp_path / "debates.db"


def test_another_path_is_used_with_one_warning(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    wanted = blocked / "data" / "debates.db"
    with pytest.warns(UserWarning, match="cannot be written"):
        found = writable_database(wanted, str(tmp_path / "home"))
    assert found == tmp_path / "home" / "roundtable" / "roundtable.db"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert writable_database(wanted, str(tmp_path / "home")) == found


def test_the_data_folder_of_the_user_is_the_last_resort(tmp_path: Path) -> None:
    blocked = tmp_path / "other"
    blocked.touch()
    with pytest.warns(UserWarning, match="cannot be written"):
        found = writable_database(blocked / "debates.db")
    assert found == Path.home() / ".local" / "share" / "roundtable" / "roundtable.db"


def test_a_chosen_file_is_used_even_if_it_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    chosen = tmp_path / "file" / "debates.db"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for settings in (Settings.from_env({"DATABASE_PATH": str(chosen)}), Settings(database_path=chosen)):
            assert default_database(settings) == chosen


def test_the_default_file_may_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").touch()
    settings = Settings.from_env({"XDG_DATA_HOME": str(tmp_path / "home")})
    with pytest.warns(UserWarning, match="cannot be written"):
        assert default_database(settings) == tmp_path / "home" / "roundtable" / "roundtable.db"
