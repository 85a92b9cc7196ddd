"""Finding a program, and what of the environment it may see."""

from __future__ import annotations

import os
import shutil
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roundtable.errors import AgentError
from roundtable.providers.command.profiles import CLAUDE
from roundtable.settings import process_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.providers.command.profiles import CommandProfile

__all__ = ["find_binary", "visible_environment"]

_USUAL: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TERM",
    "TZ",
    "TMPDIR",
    "XDG_*",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)
"""Variables any program gets. Keys of other providers are not among them, nor is CLAUDECODE, which a session of Claude
that runs this process would set."""


def find_binary(profile: CommandProfile = CLAUDE, *, path: str | None = None) -> str:
    """Find the program of a command-line agent; looked up once as long as it stays where it was.

    Args:
        profile: Which agent.
        path: Folders to look in, as `PATH` lists them; those of the environment when left out.

    Raises:
        AgentError: It is not there, or cannot be run; not to be tried again.
    """
    searched = process_environment().get("PATH", os.defpath) if path is None else path
    found = _look_up(profile.program, searched)
    if found is None or not os.access(found, os.X_OK):
        _look_up.cache_clear()  # it was moved, removed or installed since
        found = _look_up(profile.program, searched)
    if found is None:
        where = f". Install from {profile.install}" if profile.install else ""
        raise AgentError(
            f"{profile.program} CLI not found{where}",
            code="AGENT_ERROR",
            provider=profile.name,
            hint=f"Install {profile.program!r}, and see that its folder is on the PATH of this process.",
        )
    return found


@lru_cache(maxsize=64)
def _look_up(program: str, path: str) -> str | None:
    found = shutil.which(program, path=path)
    return None if found is None else str(Path(found).absolute())


def visible_environment(profile: CommandProfile, environment: Mapping[str, str]) -> dict[str, str]:
    """Give the variables that a command-line agent may see.

    Example:
        >>> visible_environment(CLAUDE, {"HOME": "/root", "OPENAI_API_KEY": "secret", "CLAUDECODE": "1"})
        {'HOME': '/root'}
    """
    wanted = (*_USUAL, *profile.environment)
    return {name: value for name, value in environment.items() if any(_fits(name, one) for one in wanted)}


def _fits(name: str, wanted: str) -> bool:
    return name.startswith(wanted[:-1]) if wanted.endswith("*") else name == wanted
