"""What results show in a cell of a notebook is never larger than 20 kB, in any format, and says what it left out."""

from __future__ import annotations

from typing import Any

import pytest

import roundtable as rt
from roundtable import sync
from roundtable.errors import APIAuthError
from roundtable.report.notebook import MOST_BYTES
from roundtable.results.debate_result import DebateResult
from roundtable.results.many import FailedDebate, Results
from roundtable.testing import scripted_agents
from roundtable.types import ErrorInfo

WIDE = "\u8336 & <\u5496\u5561> \U0001f375 "
"""Characters that take many bytes, plain or escaped."""


def held(agents: int, rounds: int, chars: int, **options: Any) -> DebateResult:
    """Hold a debate whose answers are as long as asked."""
    text = (WIDE * chars)[:chars]

    def said(number: int) -> dict[str, Any]:
        sources = [{"title": text[:200], "url": f"https://tea.example/{number}"}] * 5
        return {
            "position": f"{number} {text}",
            "reasoning": text,
            "confidence": 0.5,
            "bottom_line": f"Answer {number % 7} {text[:60]}",
            "sources": sources,
            "choice": ("Tea", "Coffee")[number % 2],
        }

    says: Any = {f"agent{number}": [said(number)] * rounds for number in range(agents)}
    says["failing"] = [APIAuthError(text)] * rounds
    topic = options.pop("topic", "Tea or coffee?")
    return rt.debate_sync(topic, agents=scripted_agents(says), rounds=rounds, storage="memory://", **options)


def shown(result: Any) -> dict[str, int]:
    """Return the bytes of each view in a cell."""
    return {name: len(getattr(result, name)().encode()) for name in ("_repr_html_", "_repr_markdown_")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agents", "rounds", "chars"),
    [
        pytest.param(3, 2, 200, id="small"),
        pytest.param(5, 3, 3_000, id="long"),
        pytest.param(30, 4, 500, id="many"),
        pytest.param(3, 10, 500, id="many rounds"),
        pytest.param(12, 10, 4_000, id="both"),
    ],
)
def test_no_view_in_a_cell_is_larger_than_its_limit(agents: int, rounds: int, chars: int) -> None:
    result = held(agents, rounds, chars, topic=(WIDE * 2_000)[: min(9_000, chars * 3)])
    for view in (result, result.audit()):
        assert max(shown(view).values()) <= MOST_BYTES
    html = result._repr_html_()
    assert len(result.to_html()) > len(html)
    assert "<script" not in html
    assert ("Shortened" in html) == (chars > 200)
    assert len(repr(result)) < 11_000


def argued(agents: int, rounds: int, chars: int) -> DebateResult:
    """Hold a debate whose claims and sources are as long as asked."""
    text = (WIDE * chars)[:chars]

    def said(number: int, at: int) -> dict[str, Any]:
        sources = [{"url": f"https://tea.example/{number}/{at}/{one}", "quote": f"{one} {text}"} for one in range(3)]
        claims = [{"text": f"{at} {one} {text}", "evidence": sources} for one in range(5)]
        return {"position": "Tea", "reasoning": "So.", "confidence": 0.5, "claims": claims}

    says: Any = {f"agent{number}": [said(number, at) for at in range(rounds)] for number in range(agents)}
    return rt.debate_sync("Tea?", agents=scripted_agents(says), rounds=rounds, storage="memory://", claims=True)


@pytest.mark.slow
def test_claims_make_no_cell_too_large() -> None:
    result = argued(4, 2, 250)
    assert max(shown(result).values()) <= MOST_BYTES < len(result.to_html().encode())
    text = result._repr_markdown_()
    assert "40 claims" in text
    assert "of 40" in text


async def test_a_check_of_many_sources_makes_no_cell_too_large() -> None:
    checked = await argued(3, 2, 600).check_evidence(domains=["nowhere.example"])
    assert max(shown(checked).values()) <= MOST_BYTES < len(checked.to_markdown().encode())
    assert "Shortened" in checked._repr_html_()
    short = await argued(1, 1, 20).check_evidence(domains=["nowhere.example"])
    assert (short._repr_html_(), short._repr_markdown_()) == (short.to_html(), short.to_markdown())


def test_a_short_result_is_shown_whole() -> None:
    result = rt.debate_sync("Tea?", agents=scripted_agents({"ada": "Tea", "bo": "Milk"}), storage="memory://", rounds=2)
    html = result._repr_html_()
    assert "Shortened" not in html
    assert html.count("<details") == 2
    assert result._repr_markdown_() == result.to_markdown()


def test_a_long_result_keeps_its_answer_and_its_last_round() -> None:
    result = held(4, 6, 700, options=["Tea", "Coffee"], topic="Tea or coffee?")
    html = result._repr_html_()
    assert len(html.encode()) <= MOST_BYTES < len(result.to_html().encode())
    assert "Round 6" in html
    assert 1 <= html.count("<details") < 6
    assert "rounds are left out. to_html() has everything" in html
    assert "Answer:" in html


def test_the_table_of_many_results_stays_below_the_limit() -> None:
    failure = ErrorInfo(name="AgentError", message=WIDE * 100, code="AGENT_ERROR")
    failed = FailedDebate(topic=WIDE * 100, mode=WIDE * 20, error=failure)
    html = Results([failed] * 200)._repr_html_()
    assert 10_000 < len(html.encode()) <= MOST_BYTES
    assert "more; to_frame() has all." in html


@pytest.mark.parametrize(
    ("agents", "level"), [({"ada": "Tea"}, "one answer"), ({"ada": "Tea", "bo": "Green tea"}, "not measured")]
)
def test_the_table_of_many_results_shows_the_agreement_of_the_report(agents: dict[str, str], level: str) -> None:
    with sync.Roundtable(scripted_agents(agents), storage="memory://", analyzer="declared") as table:
        results = table.debate_many(["Tea?"], rounds=1)
    assert f"Agreement: {level}" in str(results[0])
    assert f'<td dir="auto">{level}</td>' in results._repr_html_()
