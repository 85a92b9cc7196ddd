"""The tools that ship, by themselves: what they check, whom they ask, and what they give away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from snapshots.prompt_views import planned, view

from roundtable.errors import APINetworkError
from roundtable.providers.scripted import ScriptedModel
from roundtable.tools import (
    DefaultAgentToolkit,
    Evidence,
    ModelSearch,
    PerplexitySearch,
    PerplexitySearchInput,
    RequestContext,
    SearchOptions,
    SearchResult,
    SearchWeb,
    SessionData,
    StandardTool,
    create_default_toolkit,
)
from roundtable.types import ChatResponse, Citation, ImageResult, JsonObject, NativeSearch


class Pages:
    """A web of a few pages, which may be down."""

    def __init__(self, *, down: bool = False) -> None:
        self.asked: list[tuple[str, SearchOptions | None]] = []
        self._down = down

    async def search(self, query: str, options: SearchOptions | None = None) -> Sequence[SearchResult]:
        self.asked.append((query, options))
        if self._down:
            raise APINetworkError("the search cannot be reached")
        return [SearchResult(title=f"Page {number}", url=f"https://page.example/{number}") for number in range(20)]


class Archive:
    """Knows what was said, by everybody."""

    async def get_session(self, session_id: str) -> SessionData | None:
        return SessionData(id=session_id, topic="Tea?")

    async def find_related_evidence(self, claim: str) -> Sequence[Evidence]:
        return [Evidence(agent_name=name, evidence=claim, confidence=0.5) for name in ("Ada", "Bo")]


async def test_a_search_returns_as_many_pages_as_requested() -> None:
    pages = Pages()
    kit = create_default_toolkit(pages)
    for given, count in (({"query": "tea"}, 5), ({"query": "tea", "max_results": 2}, 2)):
        found = await kit.execute_tool("search_web", given)
        assert isinstance(found.data, dict)
        assert len(found.data["results"]) == count  # type: ignore[arg-type]
    assert [options.max_results for _, options in pages.asked if options] == [5, 2]


@pytest.mark.parametrize(
    "given", [{}, {"query": ""}, {"query": "tea", "max_results": 11}, {"query": "tea", "pages": 1}]
)
async def test_an_invalid_search_is_refused_with_the_place_and_the_reason(given: JsonObject) -> None:
    assert not (await create_default_toolkit(Pages()).execute_tool("search_web", given)).success
    found = await SearchWeb(Pages()).run(given)
    assert not found.success
    assert ": " in str(found.error)


async def test_a_failed_search_is_reported() -> None:
    assert not (await create_default_toolkit(Pages(down=True)).execute_tool("fact_check", {})).success
    checked = await create_default_toolkit(Pages(down=True)).execute_tool("fact_check", {"claim": "Tea keeps."})
    assert checked.data == {"claim": "Tea keeps.", "sourceAgent": "unknown", "webEvidence": [], "debateEvidence": []}


@pytest.mark.parametrize(
    ("tool", "given", "error"),
    [
        (SearchWeb(), {"query": "tea"}, "no provider of web searches"),
        (PerplexitySearch(), {"query": "tea"}, "use search_web"),
        (RequestContext(), {"query": "tea?", "reason": "it decides"}, "no debate"),
    ],
    ids=["search_web", "perplexity_search", "request_context"],
)
async def test_a_tool_without_its_dependencies_says_so(tool: StandardTool[Any], given: JsonObject, error: str) -> None:
    assert error in str((await tool.run(given)).error)


def test_a_standard_tool_must_have_a_description() -> None:
    class Silent(StandardTool[Any]):
        spec = SearchWeb.spec

    with pytest.raises(TypeError, match="abstract method"):
        Silent()


async def test_evidence_of_an_archive_leaves_out_the_asking_agent_and_needs_names() -> None:
    kit = create_default_toolkit(Pages(), Archive())
    by_itself = await kit.execute_tool("fact_check", {"claim": "Tea keeps."})
    assert len(by_itself.data["debateEvidence"]) == 2  # type: ignore[index,arg-type,call-overload]
    assert len(by_itself.data["webEvidence"]) == 3  # type: ignore[index,arg-type,call-overload]
    context = planned(view())
    assert context.turn is not None
    named = await kit.for_turn(context).execute_tool("fact_check", {"claim": "Tea keeps."})
    own = {seat.name for seat in context.agents if seat.id == context.turn.agent}
    assert {one["agentName"] for one in named.data["debateEvidence"]}.isdisjoint(own)  # type: ignore[index,call-overload,union-attr]
    alias = context.turn.model_copy(update={"speaks_as": "Participant 1"})
    nameless = context.model_copy(update={"turn": alias, "previous_responses": ()})
    hidden = await kit.for_turn(nameless).execute_tool("fact_check", {"claim": "Tea keeps."})
    assert hidden.data["debateEvidence"] == []  # type: ignore[index,call-overload]


async def test_a_model_that_searches_answers_with_all_its_sources() -> None:
    found = ChatResponse(
        text="In 1610.",
        citations=(Citation(title="Tea", url="https://tea.example"),),
        images=(ImageResult(url="https://tea.example/leaf.png"),),
        related_questions=("And coffee?",),
    )
    model = ScriptedModel([found, "In 1610."])
    kit = DefaultAgentToolkit(perplexity_search_provider=ModelSearch(model))
    given: JsonObject = {
        "query": "When?",
        "recency_filter": "week",
        "domain_filter": ["tea.example"],
        "return_images": True,
        "return_related_questions": True,
    }
    result = await kit.execute_tool("perplexity_search", given)
    assert result.data == {
        "answer": "In 1610.",
        "citations": [{"title": "Tea", "url": "https://tea.example"}],
        "images": [{"url": "https://tea.example/leaf.png"}],
        "related_questions": ["And coffee?"],
    }
    search = model.requests[0].search
    assert search is not None
    assert (search.recency, search.allowed_domains, search.images, search.related_questions) == (
        "week",
        ("tea.example",),
        True,
        True,
    )
    assert (await ModelSearch(model).search(PerplexitySearchInput(query="When?"))).citations is None
    model = ScriptedModel(["In 1610."])
    kit = DefaultAgentToolkit(perplexity_search_provider=ModelSearch(model))
    odd: JsonObject = {"query": "When?", "domain_filter": ["https://tea.example"]}
    refused = await kit.execute_tool("perplexity_search", odd)
    assert (refused.success, model.requests) == (False, [])
    assert "'https://tea.example' is not a domain" in str(refused.error)
    left_out: JsonObject = {"query": "When?", "domain_filter": ["-tea.example"]}
    assert (await kit.execute_tool("perplexity_search", left_out)).success
    assert model.requests[0].search == NativeSearch(blocked_domains=("tea.example",))
    many: JsonObject = {"query": "When?", "domain_filter": ["a", "b", "c", "d"]}
    assert not (await kit.execute_tool("perplexity_search", many)).success


async def test_an_answer_submitted_outside_a_debate_is_only_checked() -> None:
    kit = DefaultAgentToolkit()
    given: JsonObject = {"position": "Tea", "reasoning": "It keeps.", "confidence": -3}
    assert (await kit.execute_tool("submit_response", given)).data == {**given, "confidence": 0.0}
