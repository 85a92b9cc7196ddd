"""Who held which answer in each round, who moved, and how reports show it."""

from __future__ import annotations

import re

import pytest
from unit.opinion_kit import CITIES, debated

from roundtable import Budget, DebateResult, debate_sync
from roundtable.analysis.movement import opinion_flow
from roundtable.report import to_page
from roundtable.results.view import view_of
from roundtable.testing import scripted_agents


def told(result: DebateResult) -> dict[str, str]:
    """Return for each agent its camps by round, `>` before a move, `?` before an answer that nobody compared."""
    flow = result.opinion_flow()
    assert flow is not None
    marks = {"moved": ">", "unknown": "?", "kept": "", None: ""}
    rows: dict[str, str] = {}
    for one in flow.opinions:
        rows[one.agent_id] = f"{rows.get(one.agent_id, '')} {marks[one.moved]}{one.camp or '-'}".strip()
    return rows


def test_camps_last_from_round_to_round_in_any_wording() -> None:
    result = debated(CITIES)
    assert told(result) == {"ada": "A A A", "bo": "B >A A", "cy": "C C >A", "dee": "- B B"}
    flow = result.opinion_flow()
    assert flow is not None
    assert [(camp.label, camp.name, camp.holders) for camp in flow.camps] == [
        ("A", "Lisbon", (1, 2, 3)),
        ("B", "Porto", (1, 1, 1)),
        ("C", "Faro", (1, 1, 0)),
    ]
    assert flow.to_records()[5] == {
        "round": 2,
        "agentId": "bo",
        "camp": "A",
        "answer": "Lisbon",
        "confidence": 0.5,
        "moved": "moved",
    }


def test_an_uncompared_wording_is_unknown() -> None:
    result = debated({"ada": ["Lisbon", "The capital"], "bo": ["Lisbon", "Lisbon"]}, seen={})
    assert told(result) == {"ada": "A ?B", "bo": "A A"}
    assert "**Who moved:** not known; 1 answer was not compared with the one before" in result.to_markdown()


def test_numbers_and_options_are_distinguished_without_comparisons() -> None:
    assert told(debated({"ada": ["42", "42.0"], "bo": ["43", "42"]}, seen={})) == {"ada": "A A", "bo": "B >A"}
    chosen = debated({"ada": ["Tea", "Milk"], "bo": ["Milk", "Milk"]}, seen={}, options=["Tea", "Milk"])
    assert told(chosen) == {"ada": "B >A", "bo": "A A"}


def test_moves_are_those_that_the_flip_rate_counts() -> None:
    result = debated(CITIES)
    flow = result.opinion_flow()
    assert flow is not None
    assert result.health is not None
    known = [one.moved for one in flow.opinions if one.moved in {"moved", "kept"}]
    assert result.health.flip_rate == pytest.approx(known.count("moved") / len(known))


def test_assigned_sides_votes_and_too_many_answers_have_no_flow() -> None:
    assert debated(CITIES, mode="devils-advocate", rounds=2).opinion_flow() is None
    assert debated({"ada": ["Tea"] * 4, "bo": ["Milk"] * 4}, mode="oxford", rounds=1).opinion_flow() is None
    rounds = debated({"ada": ["Tea"], "bo": ["Milk"]}).rounds
    assert opinion_flow(rounds * 151) is None
    assert opinion_flow([]) is None


def test_more_than_26_camps_have_their_own_labels() -> None:
    result = debated({f"a{number:02d}": [f"{number}"] for number in range(30)}, seen={})
    flow = result.opinion_flow()
    assert flow is not None
    labels = [camp.label for camp in flow.camps]
    assert (len({*labels}), labels[25:28]) == (30, ["Z", "A2", "B2"])


def test_reports_say_who_moved_and_lead_to_the_answer() -> None:
    result = debated(CITIES)
    line = "Bo from Porto to Lisbon in round 2; Cy from Faro to Lisbon in round 3"
    markdown, page = result.to_markdown(), result.to_html()
    assert f"**Who moved:** {line}" in markdown
    assert "| Bo | B 50% | A 50% (moved) | A 50% |" in markdown
    assert f"Who moved: {line}" in " ".join(result.to_text().split())
    assert f'<p dir="auto">{line}.</p>' in page
    links = re.findall(r'href="#(r\ds\d)"', page)
    assert len(links) == 11
    ids = re.findall(r'id="([^"]+)"', page)
    assert len(ids) == len({*ids})
    assert {*links} <= {*ids}
    assert "Who moved" not in debated(CITIES, rounds=1).to_html()


STORY = (
    "alone: no majority; after: 3 of 4 agents for Lisbon; 2 of 4 agents moved; Cy gave way to a majority without a new "
    "source"
)


def test_a_link_of_a_moved_agent_leads_to_the_turn_whose_camp_is_shown() -> None:
    script = {"ada": ["Tea", "Tea", "Coffee"], "bo": ["Coffee"] * 3, "cy": ["Coffee", "Tea", "Tea"]}
    result = debate_sync(
        "Tea or coffee?", agents=scripted_agents(script), rounds=2, baseline=True, vote=True, storage="memory://"
    )
    page = to_page(view_of(result))
    targets = re.findall(r'href="#(r\d+s[^"]*)"', page)
    articles = dict(re.findall(r'<article id="(r\d+s[^"]*)">(.*?)</article>', page, re.DOTALL))
    assert len(targets) == 6
    assert "r1s0t1" in targets
    assert len(articles) > 9  # votes, and answers that were given alone
    for target in targets:
        assert 'class="camp ' in articles[target], target


def test_a_report_starts_with_whether_to_rely_on_the_answer_and_how_it_came_about() -> None:
    result = debated(CITIES)
    markdown, page = result.to_markdown(), result.to_html()
    assert f"**How it came about:** {STORY}.\n" in markdown
    head = page[page.index('id="answer"') : page.index('id="decision"')]
    assert "<strong>Verify this before you rely on it.</strong> Agreement lies between" in head
    assert f">A{STORY[1:]}.</p>" in head


def test_without_an_answer_no_advice_to_verify_it_is_given() -> None:
    result = debated({"ada": ["42"], "bo": ["43"]})
    assert (result.answer, result.response.decision.action_recommendation.type) == (None, "query_detail")
    for text in (result.to_markdown(), result.to_html()):
        assert "Compare the positions yourself" in text
        assert "rely on it" not in text.partition("<footer")[0]


@pytest.mark.parametrize(
    ("lines", "story"),
    [
        ({"ada": ["42"], "bo": ["42"]}, "alone: 42; after: 2 of 2 agents for 42"),
        ({"ada": ["42"], "bo": ["43"]}, "alone: no majority; after: a tie"),
        (
            {"ada": ["1", "1"], "bo": ["1", "1"], "cy": ["2", "2"]},
            "alone: 1; after: 2 of 3 agents for 1; nobody moved; nobody gave way to a majority without a new source",
        ),
        (
            {"ada": ["Tea", "Mate"], "bo": ["Tea", "Tea"]},
            "alone: Tea; after: no answer; it isn't known whether Ada moved",
        ),
    ],
)
def test_the_story_of_an_answer_names_what_is_known(lines: dict[str, list[str]], story: str) -> None:
    assert f"How it came about: {story}" in " ".join(debated(lines, seen={}).to_text().split())


def test_an_unfinished_debate_recommends_nothing_yet() -> None:
    result = debated(CITIES, budget=Budget(max_calls=8))
    assert result.status == "partial"
    assert 'class="advice"' not in result.to_html()


def test_hostile_answers_are_text() -> None:
    lines = {"ada": ["<b>1</b> | [x](javascript:y)", "2"], "bo": ["2", "2"]}
    result = debated(lines, seen={})
    assert "<b>1</b> |" not in result.to_html()
    table = result.to_markdown().partition("## Who moved")[2].partition("## Round")[0]
    assert "javascript" not in table or "\\[x\\]" in table
