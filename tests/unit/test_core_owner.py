from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roundtable.core.base import owner as owners
from roundtable.core.base.owner import current_owner, is_provably_dead
from roundtable.types import LeaseOwner

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads the kernel's process table")


def me(**changes: object) -> LeaseOwner:
    return current_owner().model_copy(update=changes)


def test_owners_are_unique_unless_they_are_named() -> None:
    assert current_owner() != current_owner()
    assert current_owner("a") == current_owner("a")
    assert current_owner().pid == os.getpid()


def test_this_process_is_known_to_be_alive() -> None:
    assert not is_provably_dead(current_owner())


def test_processes_of_another_host_are_unknown() -> None:
    assert not is_provably_dead(me(host="elsewhere", pid=2**22 - 1, boot_id="x"))


@pytest.mark.parametrize("pid", [-1, 0, 2**31, 2**80])
def test_an_impossible_process_number_proves_nothing(pid: int) -> None:
    assert not is_provably_dead(me(pid=pid, boot_id="an earlier boot"))


@LINUX
def test_after_a_reboot_every_earlier_process_is_dead() -> None:
    assert is_provably_dead(me(boot_id="an earlier boot"))


@LINUX
def test_a_process_number_that_a_newer_process_has_proves_death() -> None:
    assert is_provably_dead(me(process_start="1"))
    assert not is_provably_dead(me(process_start=""))


@LINUX
def test_a_process_that_ended_is_dead_even_before_its_parent_asks() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stat = Path(f"/proc/{child.pid}/stat").read_text("utf-8")
    owner = me(pid=child.pid, process_start=stat.rpartition(")")[2].split()[19])
    assert not is_provably_dead(owner)
    assert not is_provably_dead(owner.model_copy(update={"boot_id": ""}))
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # a zombie now
    assert is_provably_dead(owner)
    child.wait()
    assert child.stdin is not None
    child.stdin.close()
    assert is_provably_dead(owner)
    assert is_provably_dead(owner.model_copy(update={"boot_id": ""}))


@LINUX
def test_a_process_of_another_user_is_known_to_be_alive() -> None:
    # The first process is always there, whoever it belongs to.
    start = Path("/proc/1/stat").read_text("utf-8").rpartition(")")[2].split()[19]
    assert not is_provably_dead(me(pid=1, process_start=start))


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield an empty process table, to be filled."""
    monkeypatch.setattr(owners, "_PROC", tmp_path)
    owners._host.cache_clear()
    owners._boot_id.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    owners._host.cache_clear()
    owners._boot_id.cache_clear()


@pytest.mark.skipif(sys.platform == "win32", reason="asks by signal")
def test_without_system_information_only_a_missing_process_is_dead(proc: Path) -> None:
    here = current_owner()
    assert (here.boot_id, here.process_start) == ("", "")
    assert not is_provably_dead(here)
    assert not is_provably_dead(here.model_copy(update={"boot_id": "b", "process_start": "1"}))
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert is_provably_dead(here.model_copy(update={"pid": child.pid}))


@LINUX
def test_a_container_counts_as_a_separate_host(proc: Path) -> None:
    (proc / "self" / "ns").mkdir(parents=True)
    (proc / "self" / "ns" / "pid").symlink_to("pid:[4026531836]")
    plain = current_owner().host
    (proc / "self" / "ns" / "pid").unlink()
    (proc / "self" / "ns" / "pid").symlink_to("pid:[5]")
    owners._host.cache_clear()
    assert current_owner().host == f"{plain}/pid:[5]"
