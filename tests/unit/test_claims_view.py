"""Claims in reports and pictures: references are links, what nobody answered is marked, hostile text stays text."""

from __future__ import annotations

import io
import re
from typing import Any

import anyio
import pytest
from matplotlib.figure import Figure
from unit.argument_kit import claim, rounds, turn

from roundtable import DebateResult, Roundtable
from roundtable.errors import ConfigurationError
from roundtable.report import to_text
from roundtable.results.claims_view import claims_report
from roundtable.results.evidence import EvidenceCheck, EvidenceReport
from roundtable.testing import scripted_agents

PAGE = {"url": "https://example.org/tea", "quote": "tea keeps for a year"}
OTHER = {"url": "https://example.org/milk", "quote": "milk is <b>white</b>"}
ROUNDS = rounds(
    turn("ada", claim("R1-BBBB-1", "Tea keeps.", evidence=[PAGE, OTHER]), claim("R1-BBBB-2")),
    turn("bo", claim("R1-CCCC-1", "It wakes.", evidence=[PAGE]), slot=1),
    turn("ada", claim("R2-BBBB-1", supports=["R1-BBBB-1"], attacks=["R1-CCCC-1", "R9-ZZZZ-1"]), round_=2),
)


@pytest.fixture(scope="module")
def result() -> DebateResult:
    async def hold() -> DebateResult:
        table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
        return await table.debate("Tea or coffee?", rounds=1)

    return anyio.run(hold)


def test_a_page_without_a_title_is_named_by_its_host(result: DebateResult) -> None:
    long = {"url": f"https://example.org/{'tea/' * 40}", "quote": None}
    held = rounds(turn("ada", claim("A1", evidence=[long])), turn("bo", claim("B1", evidence=[long]), slot=1))
    page = with_rounds(result, held).to_html()
    assert "example.org (Ada and Bo)" in page
    assert {*re.findall(r'href="(https://example[^"]*)"', page)} == {long["url"]}


def with_rounds(result: DebateResult, held: Any) -> DebateResult:
    return DebateResult.model_validate({**dict(result), "rounds": held})


def checked(result: DebateResult) -> EvidenceReport:
    facts = {"claim": "R1-BBBB-1", "agent_id": "ada"}
    checks = (
        EvidenceCheck.model_validate({**facts, **PAGE, "status": "found"}),
        EvidenceCheck.model_validate({**facts, **OTHER, "status": "not found"}),
        EvidenceCheck.model_validate(
            {"claim": "R1-CCCC-1", "agent_id": "bo", **PAGE, "status": "not fetched", "reason": "status 404"}
        ),
    )
    return EvidenceReport(session_id="s", topic=result.topic, checks=checks, checked_at=result.created_at)


def test_a_page_has_every_claim_with_links_to_what_it_refers_to(result: DebateResult) -> None:
    page = with_rounds(result, ROUNDS).to_html()
    anchors = re.findall(r'<li id="(claim-\d)"', page)
    assert anchors == ["claim-1", "claim-2", "claim-3", "claim-4"]
    assert 'supports <a href="#claim-1">R1-BBBB-1</a>' in page
    assert 'attacked by <a href="#claim-4">R2-BBBB-1</a>' in page
    assert "4 claims, 1 time supported, 1 time attacked" in page
    assert "1 reference to claims that do not exist or came later" in page
    assert "example.org/tea</a> (Ada and Bo)" in page
    assert "dropped in round 2 without a reason" in page
    assert "CHECK MARK" not in page
    assert "\N{CHECK MARK}" not in page  # nobody has looked


def test_a_check_mark_is_shown_only_if_the_page_has_the_words(result: DebateResult) -> None:
    debate = with_rounds(result, ROUNDS)
    for text in (debate.to_html(checked(debate)), debate.to_markdown(checked(debate))):
        assert text.count("\N{CHECK MARK}") == 1
        assert text.count("not fetched (status 404)") == 1
        assert len(re.findall(r"(?<!\d )cited but not found", text)) == 1
    assert "<b>white" not in debate.to_html(checked(debate))


def test_markdown_and_text_list_the_claims(result: DebateResult) -> None:
    debate = with_rounds(result, ROUNDS)
    assert "- R1-BBBB-1, **Ada:** Tea keeps." in debate.to_markdown()
    assert "    - attacks R1-CCCC-1" in debate.to_markdown()
    assert "Claims: 4 claims, 1 time supported" in debate.to_text()
    text = to_text(claims_report(debate, debate.argument_graph()))
    assert "R1-BBBB-2, Ada: Text of R1-BBBB-2.; dropped in round 2 without a reason" in text
    assert "Answer: Tea\nClaims: none;" in to_text(claims_report(result, result.argument_graph()))


def test_a_debate_without_claims_has_no_section_for_them(result: DebateResult) -> None:
    assert 'id="claims"' not in result.to_html()
    assert "## Claims" not in result.to_markdown()
    assert "Claims:" not in result.to_text()


@pytest.mark.slow
def test_hostile_claims_stay_text_and_ten_thousand_references_are_shown_in_time(result: DebateResult) -> None:
    text = "</li></ul><script>alert(1)</script>\x1b[2J"
    first = [claim(f"L{number}<i>", f"{text}{number}") for number in range(1_200)]
    later = [
        claim(f"M{number}", text, attacks=[one.id for one in first], evidence=[{"url": "javascript:alert(1)"}])
        for number in range(9)
    ]
    debate = with_rounds(result, rounds(turn("ada", *first), turn("bo", *later, round_=2)))
    assert len(debate.argument_graph().edges) == 10_800
    page = debate.to_html()
    assert "<script" not in page
    assert "\x1b" not in page
    assert 'href="javascript' not in page
    assert "<i>" not in page
    assert "the first 500 of 1209" in page


def test_the_picture_has_a_dot_for_each_claim_and_an_arrow_for_each_reference(result: DebateResult) -> None:
    debate = with_rounds(result, ROUNDS)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = debate.plot.arguments(figure.subplots())
    figure.savefig(io.BytesIO(), format="svg")
    graph = debate.argument_graph()
    marks = [points for points in axes.collections if not str(points.get_label()).startswith("_")]  # no rims
    labels = [points.get_label() for points in marks]
    assert labels == [
        "another agent answered",
        "no other agent spoke after it",
        "dropped by its agent without a reason",
    ]
    dots = [len(points.get_offsets()) for points in marks]
    assert (sum(dots[:-1]), dots[-1]) == (len(graph.claims), len(graph.dropped))
    assert sum(text.arrow_patch is not None for text in axes.texts if hasattr(text, "arrow_patch")) == len(graph.edges)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Ada", "Bo"]
    with pytest.raises(ConfigurationError, match="no claims to draw"):
        result.plot.arguments()
