"""The small process between this one and a program: it ends the program when this process is gone."""

from __future__ import annotations

from typing import Final

__all__ = ["CANNOT", "CANNOT_CODE", "KEEPER", "KILL_GRACE_S"]

KILL_GRACE_S: Final = 5.0
"""Seconds between SIGTERM and SIGKILL."""
CANNOT: Final = "roundtable: cannot start: "
"""What the keeper writes to standard error where the program cannot be started."""
CANNOT_CODE: Final = 126
"""Its exit code then."""

# The kernel's own signal of a parent's death is bound to the thread that started the child, and trio's is one that ends
# after ten idle seconds. The keeper has one thread, so between it and the program that signal means what it says.
KEEPER: Final = f"""
import ctypes, os, resource, signal, sys, time
parent, file, *words = sys.argv[1:]
keeper, asked = os.getpid(), {{signal.SIGTERM, signal.SIGCHLD}}
signal.pthread_sigmask(signal.SIG_BLOCK, asked)
child = os.fork()
if child == 0:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # this interpreter ignores them, and a program would inherit that
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, asked)
    try:
        if os.getppid() == keeper:
            os.execv(file, words)
    except OSError as error:
        os.write(2, ("{CANNOT}" + error.strerror).encode())
    os._exit({CANNOT_CODE})
for pipe in (0, 1, 2):
    os.close(pipe)
until = None
while True:
    ended, status = os.waitpid(child, os.WNOHANG)
    if ended:
        break
    if until is None and os.getppid() != int(parent):
        os.killpg(0, signal.SIGTERM)
    told = signal.sigtimedwait(asked, 0.5)
    if told and told.si_signo == signal.SIGTERM and until is None:
        until = time.monotonic() + {KILL_GRACE_S}
        if os.getpgid(child) != keeper:  # it left the group, and has not heard it
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
    signal.pthread_sigmask(signal.SIG_UNBLOCK, asked)
    os.kill(keeper, -code)
os._exit(code)
"""
"""Starts the program in its own process group, passes on how it ended, and ends the group when its parent is gone.

It hears the SIGTERM of the group too, gives the program five seconds, kills it and waits for it: whoever adopts orphans
here may wait for none. Linux alone has what it needs.
"""
