"""Run the two `sh` blocks of the README as on a fresh machine: a clone, an empty home, and few commands.

A browser, a database server, node and other programs that somebody installed by hand are not found.
`python tools/fresh_machine.py run` runs the first block, `test` the second; without a name both run.
The exit status is 0 when every block that ran ended with 0.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMANDS = """
bash sh git env [ awk basename cat chmod chown comm cp cut date dd df diff dirname du echo egrep
expr false fgrep file find free getconf grep gunzip gzip head hostname id install kill ldd less ln
locale ls mkdir mkfifo mktemp more mv nice nohup nproc od paste pgrep printf ps pwd readlink
realpath rm rmdir sed seq sha256sum sleep sort split stat stty sync tail tar tee test timeout touch
tr true tty uname uniq wc which whoami xargs xz yes zcat
"""
"""What a fresh machine has beside Python."""

PRIVATE = re.compile(
    r"(_API_KEY|_TOKEN|_SECRET)$|^(CI|VIRTUAL_ENV|PYTHONPATH|PYTHONHOME|OLLAMA_HOST|DATABASE_PATH)$|^(ROUNDTABLE|XDG)_"
)
"""Variables that a fresh machine does not set."""

BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)


def bare(place: Path) -> dict[str, str]:
    """Return an environment that finds nothing but `COMMANDS` and Python, with an empty home under `place`.

    The settings of pip stay: they name the package registry.
    """
    commands, home = place / "bin", place / "home"
    commands.mkdir()
    home.mkdir()
    found = {name: shutil.which(name) for name in COMMANDS.split()} | {"python3": sys.executable}
    for name, path in found.items():
        if path:
            (commands / name).symlink_to(Path(path).resolve())
    kept = {name: value for name, value in os.environ.items() if not PRIVATE.search(name)}
    settings = Path.home() / ".config/pip/pip.conf"
    pip = {"PIP_CONFIG_FILE": str(settings)} if settings.is_file() else {}
    return {**kept, **pip, "PATH": str(commands), "HOME": str(home)}


def main() -> int:
    """Clone, run the blocks that were asked for, and print how long each took."""
    wanted = sys.argv[1:] or ["run", "test"]
    root = Path(__file__).resolve().parents[1]
    with tempfile.TemporaryDirectory(prefix="fresh-") as folder:
        place = Path(folder)
        clone, environment = place / "project", bare(place)
        subprocess.run(["git", "clone", "-q", root, clone], check=True)
        blocks = dict(zip(["run", "test"], BLOCK.findall((clone / "README.md").read_text("utf-8")), strict=True))
        codes = []
        for name in wanted:
            print(f"--- {name}: {blocks[name].strip()}", flush=True)
            start = time.monotonic()
            words = ["bash", "-euo", "pipefail", "-c", blocks[name]]
            codes.append(
                subprocess.run(words, cwd=clone, env=environment, stdin=subprocess.DEVNULL, check=False).returncode
            )
            print(f"--- {name}: exit {codes[-1]} after {time.monotonic() - start:.0f} s", flush=True)
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
