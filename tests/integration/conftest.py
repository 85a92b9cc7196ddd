"""Fixtures that several files of this folder take."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from integration.command_kit import Stubs

from roundtable.storage import SQLiteStorage


@pytest.fixture
def stubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stubs:
    """Return a folder of stub programs, first in the search path."""
    made = Stubs(tmp_path / "bin")
    monkeypatch.setenv("PATH", made.environment()["PATH"])
    return made


@pytest.fixture
async def disk(tmp_path: Path) -> AsyncIterator[SQLiteStorage]:
    """Yield an empty storage on disk."""
    made = SQLiteStorage(tmp_path / "debates.db")
    yield made
    await made.aclose()
