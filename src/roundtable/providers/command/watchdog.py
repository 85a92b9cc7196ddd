"""The watchdog: a process between this process and a program, which ends the program if this process dies."""

from __future__ import annotations

from typing import Final

__all__ = ["KILL_GRACE_S", "START_FAILED_CODE", "START_FAILED_PREFIX", "WATCHDOG_SCRIPT"]


KILL_GRACE_S: Final = 5.0
"""Seconds between SIGTERM and SIGKILL."""
START_FAILED_PREFIX: Final = "roundtable: cannot start: "
"""Prefix of the message on standard error if the watchdog cannot start the program."""
START_FAILED_CODE: Final = 126
"""Exit code of the watchdog if it cannot start the program."""

# The kernel sends the parent-death signal when the thread that started the child ends, and trio's worker threads end
# after ten idle seconds. The watchdog has only one thread, so its child gets the signal only if the watchdog has died.
WATCHDOG_SCRIPT: Final = f"""
import ctypes, os, resource, signal, sys, time
parent, file, *argv = sys.argv[1:]
watchdog, awaited = os.getpid(), {{signal.SIGTERM, signal.SIGCHLD}}
signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
child = os.fork()
if child == 0:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the program would inherit that
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, awaited)
    try:
        if os.getppid() == watchdog:
            os.execv(file, argv)
    except OSError as error:
        os.write(2, ("{START_FAILED_PREFIX}" + error.strerror).encode())
    os._exit({START_FAILED_CODE})
for pipe in (0, 1, 2):
    os.close(pipe)
until = None
while True:
    ended, status = os.waitpid(child, os.WNOHANG)
    if ended:
        break
    if until is None and os.getppid() != int(parent):
        os.killpg(0, signal.SIGTERM)
    received = signal.sigtimedwait(awaited, 0.5)
    if received and received.si_signo == signal.SIGTERM and until is None:
        until = time.monotonic() + {KILL_GRACE_S}
        if os.getpgid(child) != watchdog:  # it left the group and did not get the signal
            os.killpg(os.getpgid(child), signal.SIGTERM)
    if until is not None and time.monotonic() >= until:
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        break
if os.getppid() != int(parent):
    os.killpg(0, signal.SIGKILL)
code = os.waitstatus_to_exitcode(status)
if code < 0:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
    signal.pthread_sigmask(signal.SIG_UNBLOCK, awaited)
    os.kill(watchdog, -code)
os._exit(code)
"""
"""Script of the watchdog. It starts a program, ends the process group if the parent dies, and ends with the exit code
or signal of the program.

A SIGTERM to the group also reaches the watchdog. The watchdog then gives the program five seconds, kills it and waits
for it, because the process that adopts orphans on this machine may not wait for them. Works on Linux only.
"""
