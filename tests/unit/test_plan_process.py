"""Plans of another process: what a mode prints, raises or lacks there is said, and no process is left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from roundtable.modes import CollaborativeMode
from roundtable.testing import plan_process
from roundtable.testing.plan_process import plans_by_hash_seed
from roundtable.types import DebateContext, Plan, Seat

pytestmark = pytest.mark.slow

VIEW = DebateContext(
    session_id="s", topic="Tea?", mode="collaborative", agents=(Seat(id="ada", name="Ada"),), total_rounds=1
)


class Printing(CollaborativeMode):
    """Prints while it plans."""

    def next_stage(self, view: DebateContext) -> Plan:
        print("planning")  # noqa: T201
        return super().next_stage(view)


class Broken(CollaborativeMode):
    """Ends its process."""

    def next_stage(self, view: DebateContext) -> Plan:
        raise SystemExit(7)


def test_text_that_a_mode_prints_is_not_part_of_its_plan() -> None:
    first, second = plans_by_hash_seed(Printing(), [VIEW])
    assert first == second
    assert len(first) == 1


def test_a_process_that_ends_by_itself_is_named_and_the_others_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = plan_process._start

    def watched(seed: int) -> subprocess.Popen[bytes]:
        started.append(start(seed))
        return started[-1]

    monkeypatch.setattr(plan_process, "_start", watched)
    with pytest.raises(AssertionError, match="which ended with 7"):
        plans_by_hash_seed(Broken(), [VIEW])
    assert len(started) == 2
    assert all(process.returncode is not None for process in started)


def test_a_mode_that_cannot_be_sent_says_why() -> None:
    class Local(CollaborativeMode):
        """Defined within a function."""

    with pytest.raises(AssertionError, match=r"Local.*define its class at the top of a module"):
        plans_by_hash_seed(Local(), [VIEW])
    main = type("Main", (CollaborativeMode,), {"__module__": "__main__"})
    with pytest.raises(AssertionError, match="defined in the program itself"):
        plans_by_hash_seed(main(), [VIEW])


def test_a_missing_package_of_a_mode_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "lacking_mode.py"
    file.write_text(
        "import sys\n"
        "from roundtable.modes import CollaborativeMode\n"
        "if 'pytest' not in sys.modules:\n"
        "    print('imported')\n"
        "    import package_that_nobody_has\n"
        "class Lacking(CollaborativeMode): pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import lacking_mode  # type: ignore[import-not-found]  # it is written above

    with pytest.raises(AssertionError, match="No module named 'package_that_nobody_has'") as caught:
        plans_by_hash_seed(lacking_mode.Lacking(), [VIEW])
    assert str(caught.value).count("imported") == 1
    sys.modules.pop("lacking_mode")
