"""The page of events names fields as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import roundtable.types
from roundtable.types import Value

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "events.md"
ROWS = re.findall(
    r"^\| `(\w+)` \| `(\w+)` \| (?:durable|live) \| [^|]* \| ?([^|]*)\|$", PAGE.read_text("utf-8"), re.MULTILINE
)


@pytest.mark.parametrize(("kind", "name", "carries"), ROWS)
def test_an_event_has_the_fields_that_the_page_names(kind: str, name: str, carries: str) -> None:
    event: type[Value] = getattr(roundtable.types, name)
    assert event.model_fields["type"].default == kind
    assert set(re.findall(r"`(\w+)`", carries)) <= set(event.model_fields)


def test_every_event_is_on_the_page() -> None:
    assert len(ROWS) == 27
