"""The provider tutorial keeps its promise of size; that its code runs is checked with all other pages."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "write-a-provider.md"


def code_of(section: str) -> list[str]:
    """Return the lines of code of a section, without blank ones."""
    _, _, rest = PAGE.read_text("utf-8").partition(f"## {section}\n")
    blocks = re.findall(r"```python\n(.*?)```", rest.partition("\n## ")[0], re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def test_a_vendor_of_a_known_wire_takes_fewer_than_60_lines() -> None:
    assert 10 < len(code_of("A vendor that speaks Chat Completions")) < 60


def test_a_wire_of_its_own_takes_fewer_than_100_lines() -> None:
    assert 10 < len(code_of("A vendor with its own wire format")) < 100
