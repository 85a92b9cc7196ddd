"""The example of a Streamlit page: what it shows comes from real debates; Streamlit itself is not installed here.

`ROUNDTABLE_FRAMEWORKS` may name a folder with an environment `streamlit`, in which the whole page is run by its own
test driver.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from roundtable.errors import ConfigurationError
from roundtable.results import DebateResult

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "streamlit" / "app.py"
PYTHON = Path(os.environ.get("ROUNDTABLE_FRAMEWORKS") or "/nowhere") / "streamlit" / "bin" / "python"

DRIVER = """
import sys
from streamlit.testing.v1 import AppTest

page = AppTest.from_file(sys.argv[1], default_timeout=60).run()
for question in ("Tea or coffee?", "Milk?", ""):
    page.text_input[0].set_value(question)
    page.button[0].click().run()
    assert not page.exception, page.exception
    print(len(page.markdown), [each.value for each in page.success], len(page.dataframe), len(page.error))
"""


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the example defines, loaded with an empty module in the place of Streamlit."""
    empty = ModuleType("streamlit")
    empty.cache_resource = lambda function: function  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "streamlit", empty)
    monkeypatch.setenv("STORAGE", "memory://")
    monkeypatch.delenv("MODELS", raising=False)
    return runpy.run_path(str(EXAMPLE), run_name="page")


def test_the_page_gets_a_line_for_each_answer_and_then_the_result(page: dict[str, Any]) -> None:
    table = page["make_table"]()
    for _ in range(2):  # the table is kept between clicks
        *lines, result = page["lines_of"](table, "Tea or coffee?", "delphi", 2)
        assert len(lines) == 6
        assert lines[0].startswith("**")
        assert all(", round " in line for line in lines)
        assert isinstance(result, DebateResult)
        assert (result.answer, result.mode) == ("Tea", "delphi")
    table.close()


def test_a_question_that_cannot_be_asked_is_an_error_of_the_library(page: dict[str, Any]) -> None:
    table = page["make_table"]()
    with pytest.raises(ConfigurationError, match="topic"):
        next(page["lines_of"](table, "", "delphi", 2))
    table.close()


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.is_file(), reason="ROUNDTABLE_FRAMEWORKS has no environment with Streamlit")
def test_the_whole_page_runs_in_streamlit(tmp_path: Path) -> None:
    environment = {**os.environ, "STORAGE": "memory://"}
    environment.pop("MODELS", None)
    done = subprocess.run(
        [str(PYTHON), "-c", DRIVER, str(EXAMPLE)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == ["6 ['Tea'] 1 0", "6 ['Tea'] 1 0", "0 [] 0 1"]
