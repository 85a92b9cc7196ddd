"""Every script and notebook under examples/ runs to its end, in an empty folder, without a key."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import httpx
import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
KEYS = ("_API_KEY", "_BASE_URL", "OLLAMA_HOST", "DATABASE_PATH")


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.endswith(KEYS) or name.startswith("ROUNDTABLE_")]:
        monkeypatch.delenv(name)


MANY_DEBATES = frozenset({"is-debating-worth-it.ipynb"})
"""Examples that hold so many that CI alone runs them."""


SERVERS = frozenset({"crm_server.py"})
"""Examples that run until they are told to end."""


def of_kind(pattern: str) -> list[object]:
    found = sorted(path for path in EXAMPLES.glob(pattern) if path.name not in SERVERS)
    return [
        pytest.param(path, id=path.name, marks=[pytest.mark.slow] if path.name in MANY_DEBATES else [])
        for path in found
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize("script", of_kind("*.py"))
def test_a_script_runs_to_its_end_and_prints_its_result(script: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.slow
@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize("script", sorted(SERVERS))
def test_a_server_prints_its_address_and_ends_on_request(script: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(EXAMPLES / script), "--no-auth", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            assert httpx.get(f"{url}/health", trust_env=False, verify=False).json()["status"] == "ok"
            server.terminate()
            assert server.communicate(timeout=60)[1] == ""
        finally:
            server.kill()
    assert server.returncode == 0


@pytest.mark.slow
@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize("notebook", of_kind("*.ipynb"))
def test_a_notebook_runs_in_a_real_kernel_and_is_stored_without_output(notebook: Path, tmp_path: Path) -> None:
    stored = nbformat.read(notebook, as_version=4)
    assert not any(cell.get("outputs") for cell in stored.cells)
    done = NotebookClient(stored, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert any(cell.get("outputs") for cell in done.cells)


@pytest.mark.slow
@pytest.mark.usefixtures("no_keys")
def test_the_comparison_takes_agents_by_name(tmp_path: Path) -> None:
    (tmp_path / "ada.json").write_text('{"*": {"position": "Tea"}}')
    script = [sys.executable, "-W", "error", str(EXAMPLES / "compare_agents.py")]
    words = ["Tea or coffee?", "--agents", "scripted:ada.json", "--rounds", "1"]
    done = subprocess.run([*script, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "scripted (ada.json)" in done.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("no_keys")
def test_the_team_of_the_crm_answers_from_its_records(tmp_path: Path) -> None:
    agents = "data-steward,prospect-finder,contract-reader"
    script = [sys.executable, "-W", "error", str(EXAMPLES / "crm_team.py"), "--agents", agents]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "4 healthcare accounts without contact for 6 months: St. Maren Care Homes (005HC)" in said
    assert "contract-reader: CONTRACTS: C-102 of 005HC ends 2023-12-31; C-101 of 001HC ends 2024-03-31." in said
    assert said.splitlines()[-1].startswith(
        "Call in this order: 1. General Hospital (68.9); 2. Lakeside Clinics (19.8)"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("no_keys")
def test_the_team_of_the_crm_answers_with_the_embedded_model(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    script = [sys.executable, str(EXAMPLES / "crm_team.py"), "--model", "local", "--agents", "data-steward"]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert "goal: " in done.stdout
    told, _, answer = done.stdout.partition("\ndata-steward: ")
    assert told
    assert answer.splitlines()[-1].strip()


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("DELETE FROM Account", "not authorized"),
        ("SELECT 1; DROP TABLE Account", "one statement"),
        ("PRAGMA writable_schema = 1", "not authorized"),
        ("ATTACH 'x.db' AS x", "not authorized"),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", "not authorized"),
        ("SELECT count(*) FROM Account a, Account b, Account c, Account d, Account e, Account f", "interrupted"),
    ],
)
def test_a_query_of_a_model_is_read_only_and_has_a_time_limit(
    query: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from crm.tools import get_sfdc_data

    with pytest.raises(sqlite3.Error, match=fault):
        get_sfdc_data(query)
    assert get_sfdc_data("SELECT count(*) AS n FROM Account") == {"rows": [{"n": 10}], "count": 1}
