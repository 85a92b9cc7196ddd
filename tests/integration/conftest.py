"""Fixtures that several files of this folder take."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from integration.command_kit import Stubs

from roundtable.storage import SQLiteStorage


@pytest.fixture
def stubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stubs:
    """Give a folder of programs that stand for others, the first in which they are looked for."""
    made = Stubs(tmp_path / "bin")
    monkeypatch.setenv("PATH", made.environment()["PATH"])
    return made


@pytest.fixture
async def disk(tmp_path: Path) -> AsyncIterator[SQLiteStorage]:
    """Give a storage on disk, empty."""
    made = SQLiteStorage(tmp_path / "debates.db")
    yield made
    await made.aclose()
