"""A long life in one process: hundreds of debates leave no file, thread or memory behind."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import anyio
import pytest

from roundtable import Roundtable
from roundtable.testing import scripted_agents

pytestmark = pytest.mark.deep

AT_ONCE, WARM, MEASURED = 8, 10, 60
"""Debates at once, and how often so many are held before and while memory is watched."""
MEMORY_MB = 15.0
"""What a process may grow by over the measured debates; one of them keeps some 20 kB of events while it runs."""


def held() -> tuple[int, int, float]:
    """Return open files, threads, and resident megabytes of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return (
        len(list(Path("/proc/self/fd").iterdir())),
        threading.active_count(),
        pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
    )


@pytest.mark.parametrize("scheme", ["memory", "sqlite"])
def test_hundreds_of_debates_leave_nothing_behind(tmp_path: Path, scheme: str) -> None:
    says = {"ada": "Tea", "bo": "Coffee", "cy": "Tea"}

    async def hold(times: int, name: str) -> None:
        """Hold debates on one table after another, so that what a table lets go is let go."""
        for number in range(times):
            storage = "memory://" if scheme == "memory" else f"sqlite:///{tmp_path / name}-{number % 4}.db"
            async with Roundtable(scripted_agents(says), storage=storage) as table, anyio.create_task_group() as group:
                for place in range(AT_ONCE):
                    group.start_soon(table.debate, f"Tea or coffee, {place}?")

    anyio.run(hold, WARM, "warm")
    files, threads, before_mb = held()
    anyio.run(hold, MEASURED, "soak")
    files_after, threads_after, after_mb = held()
    print(f"{scheme}: {MEASURED * AT_ONCE} debates, {before_mb:.1f} -> {after_mb:.1f} MB, {files_after} files")  # noqa: T201  (a figure of the deep run)
    assert (files_after, threads_after) == (files, threads)
    assert after_mb - before_mb < MEMORY_MB
