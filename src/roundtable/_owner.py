"""Who holds a lease, and whether that process is certainly gone."""

from __future__ import annotations

import os
import socket
import sys
import uuid
from functools import cache
from pathlib import Path

from roundtable.types import Owner

__all__ = ["current_owner", "is_provably_dead"]

_PROC = Path("/proc")
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The kernel gives the first namespace of every boot this number."""
_MAX_PID = 2**31 - 1
_GONE_STATES = frozenset("ZX")


def current_owner(name: str | None = None) -> Owner:
    """Describe this process as the owner of a lease.

    Args:
        name: Unique id of the holder within the process; a fresh one when left out, so that two
            calls give two owners.

    Example:
        >>> current_owner() == current_owner()
        False
        >>> is_provably_dead(current_owner())
        False
    """
    return Owner(
        name=name or uuid.uuid4().hex,
        host=_host(),
        boot_id=_boot_id(),
        pid=os.getpid(),
        process_start=_process_start(os.getpid()) or "",
    )


def is_provably_dead(owner: Owner) -> bool:
    """Tell whether the owner's process cannot be running any more.

    True only on proof: the owner was on this host, and either the host has been booted since, or
    there is no such process, or the process of this number began at another time. An owner on another
    host, or one about which the system tells nothing, counts as alive.
    """
    if owner.host != _host() or not 0 < owner.pid <= _MAX_PID:
        return False
    boot = _boot_id()
    if boot and owner.boot_id and boot != owner.boot_id:
        return True
    started = _process_start(owner.pid)
    if started is None:
        return True
    return bool(started and owner.process_start) and started != owner.process_start


@cache
def _host() -> str:
    """Give the host's name; with the process namespace where it is not the host's own.

    Process numbers mean something only within one namespace: two containers may share a host name
    and not see each other's processes.
    """
    name = socket.gethostname()
    namespace = _link(_PROC / "self/ns/pid")
    return name if namespace in {"", _FIRST_PID_NAMESPACE} else f"{name}/{namespace}"


@cache
def _boot_id() -> str:
    """Give the identity of the host's present boot; empty where the system has none."""
    return _text(_PROC / "sys/kernel/random/boot_id").strip()


def _process_start(pid: int) -> str | None:
    """Give when a process started, in the kernel's ticks; empty where that cannot be known, None when it is gone."""
    if sys.platform == "win32":  # there, asking by signal would end the process
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass  # it exists and belongs to somebody else
    # The second field is the command's name in brackets and may itself hold spaces and brackets.
    fields = _text(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    if len(fields) < 20:
        return ""
    return None if fields[0] in _GONE_STATES else fields[19]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""
