"""The page *How answers are read* has every rule that reads an answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from reading_kit import made_up_replies

from roundtable.parsing import read_reply
from roundtable.reading import Asked

PAGE = (Path(__file__).parents[2] / "docs/explanation/how-answers-are-read.md").read_text("utf-8")
RULES = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))


@pytest.mark.slow
def test_every_rule_that_reads_a_reply_is_on_the_page() -> None:
    used = {read_reply(reply.text, Asked(reply.kind, reply.options)).rule for reply in made_up_replies()}
    assert len(used) > 10
    assert used <= RULES


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_of_the_page_is_named_by_the_reader(rule: str) -> None:
    source = "".join(path.read_text("utf-8") for path in (Path(__file__).parents[2] / "src").rglob("*.py"))
    assert f'"{rule}"' in source
