"""The owner of a lease, and whether its process has certainly ended."""

from __future__ import annotations

import os
import socket
import sys
import uuid
from functools import cache
from pathlib import Path

from roundtable.core.types.storage import LeaseOwner

__all__ = ["current_owner", "is_provably_dead"]


_PROC = Path("/proc")
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""Number that the kernel gives to the first process namespace after every boot."""
_MAX_PID = 2**31 - 1
_ENDED_STATES = frozenset("ZX")


def current_owner(name: str | None = None) -> LeaseOwner:
    """Describe this process as the owner of a lease.

    Args:
        name: Unique id of the holder within the process. When left out, each call creates a new id, so that two calls
            return two different owners.

    Example:
        >>> current_owner() == current_owner()
        False
        >>> is_provably_dead(current_owner())
        False
    """
    return LeaseOwner(
        name=name or uuid.uuid4().hex,
        host=_host(),
        boot_id=_boot_id(),
        pid=os.getpid(),
        process_start=_process_start(os.getpid()) or "",
    )


def is_provably_dead(owner: LeaseOwner) -> bool:
    """Check whether the owner's process has certainly ended.

    The result is true only if the owner was on this host and one of these holds: the host has been booted since, no
    process has this number, or the process with this number started at another time. An owner on another host counts as
    alive, and so does an owner about which the system has no information.
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
    """Return the host's name; add the process namespace if it is not the host's own.

    Process numbers are only comparable within one namespace: two containers may share a host name without seeing each
    other's processes.
    """
    name = socket.gethostname()
    namespace = _read_link(_PROC / "self/ns/pid")
    return name if namespace in {"", _FIRST_PID_NAMESPACE} else f"{name}/{namespace}"


@cache
def _boot_id() -> str:
    """Return the id of the host's current boot; an empty text if the system has none."""
    return _read_text(_PROC / "sys/kernel/random/boot_id").strip()


def _process_start(pid: int) -> str | None:
    """Return when a process started, in kernel ticks; an empty text if unknown, `None` if the process has ended."""
    if sys.platform == "win32":  # there, os.kill(pid, 0) would end the process
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass  # it exists and belongs to another user
    # The second field is the command's name in brackets, which may itself contain spaces and brackets.
    fields = _read_text(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    if len(fields) < 20:
        return ""
    return None if fields[0] in _ENDED_STATES else fields[19]


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _read_link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""
