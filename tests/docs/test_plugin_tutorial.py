"""The tutorial for authors of plugins is typed line by line, in an environment that has nothing but the built wheel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from roundtable._version import __version__

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tutorial/plugin.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KEPT = ("HOME", "LANG", "PIP_", "SSL_CERT", "REQUESTS_CA", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.mark.slow
def test_the_commands_of_the_page_work_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    script = "\n".join(BLOCK.findall(PAGE.read_text("utf-8")))
    assert script.count("roundtable plugins\n") == 2
    constraint = tmp_path / "constraint.txt"
    constraint.write_text(f"roundtable-sdk=={__version__}\n")
    inherited = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
    environment = {
        **inherited,
        "PATH": os.pathsep.join((str(Path(sys.base_prefix) / "bin"), "/usr/bin", "/bin")),
        "PIP_CONSTRAINT": str(constraint),
        "PIP_FIND_LINKS": str(wheel.parent),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_QUIET": "1",
    }
    place = tmp_path / "place"
    place.mkdir()
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=place, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=540, check=False,
    )  # fmt: skip
    shown = done.stdout + done.stderr
    assert done.returncode == 0, shown
    assert shown.count("roundtable-acme 0.1.0: ready") == 2
    assert re.search(r"^.*: Tea\n.*: Coffee$", shown, re.MULTILINE)
    assert re.search(r"\d{3} passed", shown), shown
    assert (place / "roundtable-acme/dist").is_dir()
