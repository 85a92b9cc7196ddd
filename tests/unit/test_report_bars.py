"""Bars of reports are shares of what they say; what nobody measured is not drawn as a share."""

from __future__ import annotations

import re
from typing import Any

import pytest

from roundtable import decide, sync
from roundtable.report import cost_in_words
from roundtable.report.charts import interval
from roundtable.scoring import find_rule
from roundtable.testing import scripted_agents
from roundtable.types import Usage


def debated(says: Any, **options: Any) -> Any:
    with sync.Roundtable(scripted_agents(says), storage="memory://", analyzer="declared") as table:
        return table.debate("Tea or milk?", **options)


def section(page: str, name: str) -> str:
    return page[page.index(f'id="{name}"') :].partition("</section>")[0]


def test_two_of_three_votes_fill_two_thirds() -> None:
    page = debated({"ada": "Tea", "bo": "Tea", "cy": "Milk"}, rounds=1, options=["Tea", "Milk"]).to_html()
    widths = re.findall(r'<rect class="(won|part)" width="([\d.]+)"', section(page, "decision"))
    assert widths == [("won", "66.7"), ("part", "33.3")]


def test_uncompared_answers_do_not_give_a_full_bar() -> None:
    page = debated({"ada": "Plant an oak", "bo": "Build a fountain", "cy": "Use birches"}, rounds=1).to_html()
    moved = section(page, "camps") if 'id="camps"' in page else page
    assert "not measured" in page
    assert '<rect class="level"' not in page
    assert 'class="interval"' not in moved
    assert 'class="interval unknown"' in page


@pytest.mark.parametrize(
    ("least", "most", "level", "is_open"), [(0.25, 0.25, "25.0", False), (0.5, 0.75, "50.0", True), (0, 1, "", True)]
)
def test_an_agreement_bar_fills_the_known_part_and_leaves_the_rest_open(
    least: float, most: float, level: str, is_open: bool
) -> None:
    drawn = interval(least, most).text
    assert re.findall(r'class="level" width="([\d.]+)"', drawn) == ([level] if level else [])
    assert ('class="open"' in drawn) is is_open


@pytest.mark.parametrize(
    ("ballots", "rule", "shares"),
    [
        (["Tea", "Tea", "Milk"], "plurality", {"Tea": 2 / 3, "Milk": 1 / 3}),
        ([{"Tea", "Milk"}, {"Tea"}, {"Tea"}], "approval", {"Tea": 1, "Milk": 1 / 3}),
        ([["Tea", "Milk"], ["Milk", "Tea"]], "borda", {"Tea": 0.5, "Milk": 0.5}),
        ([{"Tea": 9, "Milk": 3}], "score", {"Tea": None, "Milk": None}),
        ([["Tea", "Milk"]], "copeland", {"Tea": None, "Milk": None}),
    ],
)
def test_only_a_share_of_votes_or_points_is_drawn(ballots: Any, rule: str, shares: dict[str, float | None]) -> None:
    decision = decide(ballots, rule=rule)
    meaning = find_rule(rule)[0].score_meaning
    drawn = {name: meaning.share(score, decision.scores, cast=decision.cast) for name, score in decision.scores.items()}
    assert drawn == pytest.approx(shares) if None not in shares.values() else drawn == shares


def test_an_unknown_cost_is_never_shown_with_a_price_of_zero() -> None:
    assert cost_in_words(Usage(calls=1, cost_usd=0.0) + Usage(calls=1)) == "cost unknown"
    assert cost_in_words(Usage(calls=1, cost_usd=0.00001) + Usage(calls=1)) == "cost unknown"
    assert cost_in_words(Usage(calls=1, cost_usd=0.01) + Usage(calls=1)) == "cost unknown (0.0100 USD of it known)"
