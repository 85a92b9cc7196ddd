"""A plugin with the code of a built-in, and only public names, is shown, counted and priced as the built-in is."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.gates

TOOL = Path(__file__).resolve().parents[2] / "tools" / "exile.py"


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("exile", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    sys.modules["exile"] = tool
    spec.loader.exec_module(tool)
    return tool


exile = load_tool()


@pytest.mark.parametrize("moved", exile.EXILES, ids=lambda moved: moved.name)
def test_an_exile_is_treated_as_the_built_in_was(moved: object) -> None:
    differences, _ = exile.compare(moved)
    assert differences == []


def test_differences_show_where_long_lines_begin_to_differ() -> None:
    same = "x" * 500
    (difference,) = exile.differences(["== part", same + "old"], ["== part", same + "new"])
    assert difference.startswith("== part\n")
    assert difference.count("old") == difference.count("new") == 1
    assert len(difference) < 300


def test_a_name_that_no_exile_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert exile.main(["no-such-mode"]) == 2
    assert "no-such-mode" in capsys.readouterr().out
