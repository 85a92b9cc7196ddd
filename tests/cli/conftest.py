"""Running the command within the tests' own process."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import pytest
from cli.kit import Command, Done, always, is_ours

from roundtable.__main__ import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def quiet_log() -> Iterator[None]:
    """Restore logging, which the command sets up for its process."""
    logger = logging.getLogger("roundtable")
    before = logger.level, list(logger.handlers)
    yield
    logger.setLevel(before[0])
    logger.handlers[:] = before[1]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to an empty folder, with an environment that offers nothing."""
    for name in [name for name in os.environ if is_ours(name)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(place: Path, capsys: pytest.CaptureFixture[str], quiet_log: None) -> Command:
    """Run the command in this process."""

    def run(*words: str) -> Done:
        capsys.readouterr()
        code = main(words)
        shown = capsys.readouterr()
        return Done(code, shown.out, shown.err)

    return run


@pytest.fixture
def agree(place: Path) -> str:
    """Three agents, two of one opinion."""
    return always(place, {"ada": "Tea", "bo": "Tea", "cy": "Coffee"})


@pytest.fixture
def differ(place: Path) -> str:
    """Three agents of three opinions."""
    return always(place, {"ada": "Tea", "bo": "Coffee", "cy": "Mate"})
