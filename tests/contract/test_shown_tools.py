"""Tools and retries as the seeds tell them: what agents call, and what happens when a call fails."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import anyio
import pytest
from contract.showing import shows
from snapshots.prompt_views import ADA, planned, said, view

from roundtable.agents import BaseAgent
from roundtable.errors import AgentError, APIAuthError, APIRateLimitError, CircuitOpen, RoundtableError
from roundtable.gateway import CircuitBreaker, Gateway, retry_with_backoff
from roundtable.protocols import AgentToolkit
from roundtable.providers.scripted import ScriptedModel
from roundtable.testing import ManualClock
from roundtable.tools import (
    DefaultAgentToolkit,
    Evidence,
    PerplexitySearchInput,
    PerplexitySearchProvider,
    PerplexitySearchResult,
    SearchOptions,
    SearchResult,
    SessionData,
    SessionDataProvider,
    ToolDefinition,
    WebSearchProvider,
    create_default_toolkit,
    is_transient_error,
)
from roundtable.types import AgentTool, Citation, JsonObject, RetryPolicy, ToolResult

LIMITED = APIRateLimitError("slow down")


class Web(WebSearchProvider):
    """A web of twenty pages."""

    async def search(self, query: str, options: SearchOptions | None = None) -> Sequence[SearchResult]:
        return [SearchResult(title=f"{query} {number}", url=f"https://page.example/{number}") for number in range(20)]


class Archive(SessionDataProvider):
    """Knows what one agent said."""

    async def get_session(self, session_id: str) -> SessionData | None:
        return SessionData(id=session_id, topic="Tea?")

    async def find_related_evidence(self, claim: str) -> Sequence[Evidence]:
        return [Evidence(agent_name="Bo", evidence=f"{claim} Since ever.", confidence=0.5)]


class Sonar(PerplexitySearchProvider):
    """Answers with all there may be."""

    async def search(self, search_input: PerplexitySearchInput) -> PerplexitySearchResult:
        source = Citation(title=str(search_input.recency_filter), url="https://page.example")
        return PerplexitySearchResult(answer=search_input.query, citations=(source,), related_questions=("Green?",))


async def used(name: str, **given: Any) -> Any:
    """Call a tool of a toolkit that has everything, in the second round of a debate, and return its data."""
    kit = create_default_toolkit(Web(), Archive(), Sonar())
    kit.set_context(planned(view(said("Bo", "No"), focus_question="At noon?")))
    result = await kit.execute_tool(name, given)
    assert result.success, result.error
    return result.data


@shows(0, "tool", "get_context")
async def test_the_context_of_a_turn_can_be_asked_for() -> None:
    data = await used("get_context")
    assert (data["topic"], data["mode"], data["focusQuestion"]) == (view().topic, "collaborative", "At noon?")
    assert (data["currentRound"], data["totalRounds"]) == (2, 3)
    assert data["previousResponses"] == [{"agentName": "Bo", "position": "No", "confidence": 0.8}]


@shows(0, "tool", "submit_response")
async def test_a_submitted_response_is_checked_and_its_confidence_clamped() -> None:
    given = {"position": "Yes", "reasoning": "It scales."}
    assert await used("submit_response", **given, confidence=7) == {**given, "confidence": 1.0}
    refused = await create_default_toolkit().execute_tool("submit_response", {"position": "Yes"})
    assert (refused.success, "reasoning" in str(refused.error)) == (False, True)


@shows(0, "tool", "search_web")
@shows(0, "class", "WebSearchProvider")
async def test_a_web_search_has_five_results_and_at_most_ten() -> None:
    assert len((await used("search_web", query="tea"))["results"]) == 5
    (first, _) = (await used("search_web", query="tea", max_results=2))["results"]
    assert (first["title"], first["url"]) == ("tea 0", "https://page.example/0")
    kit = create_default_toolkit(Web())
    assert not (await kit.execute_tool("search_web", {"query": "tea", "max_results": 11})).success


@shows(0, "tool", "fact_check")
@shows(0, "class", "SessionDataProvider")
async def test_a_claim_is_checked_on_the_web_and_in_the_debate() -> None:
    data = await used("fact_check", claim="Tea keeps.", source_agent="Ada")
    assert (data["claim"], data["sourceAgent"], data["webEvidence"][0]["title"]) == (
        "Tea keeps.",
        "Ada",
        "Tea keeps. 0",
    )
    evidence = {"agentName": "Bo", "evidence": "Tea keeps. Since ever.", "confidence": 0.5}
    assert evidence in data["debateEvidence"]


@shows(0, "tool", "perplexity_search")
@shows(0, "class", "PerplexitySearchProvider")
async def test_a_search_with_perplexity_answers_with_its_sources() -> None:
    data = await used("perplexity_search", query="tea", recency_filter="week")
    assert (data["answer"], data["related_questions"]) == ("tea", ["Green?"])
    assert [one["title"] for one in data["citations"]] == ["week"]
    given = {"query": "tea", "domain_filter": ["a", "b", "c", "d"]}
    assert not (await create_default_toolkit(None, None, Sonar()).execute_tool("perplexity_search", given)).success


@shows(0, "class", "AgentToolkit")
async def test_an_agent_uses_any_toolkit_that_lists_and_runs_tools() -> None:
    class Scales(AgentToolkit):
        def get_tools(self) -> Sequence[AgentTool]:
            return (AgentTool(name="weigh", description="Weighs."),)

        async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
            return ToolResult(success=True, data=f"{name} {tool_input['item']}: 3 g")

    wish = {"toolCalls": [{"name": "weigh", "args": {"item": "tea"}}]}
    model = ScriptedModel([wish, {"position": "Tea", "reasoning": "Light.", "confidence": 1}])
    answer = await BaseAgent(ADA, model, toolkit=Scales()).generate_response(view())
    (call,) = answer.tool_calls
    assert (call.tool_name, call.input) == ("weigh", {"item": "tea"})
    assert "weigh tea: 3 g" in str(call.output)
    assert "weigh tea: 3 g" in model.requests[1].messages[-1].content


@shows(0, "class", "DefaultAgentToolkit")
@shows(0, "type", "ToolDefinition")
@shows(1, "type", "Tool")
@shows(1, "field", "Tool.inputSchema", "Tool.execute")
async def test_a_custom_tool_is_listed_checked_and_run() -> None:
    schema = {"type": "object", "properties": {"side": {"type": "number"}}, "required": ["side"]}
    kit = DefaultAgentToolkit()
    kit.register_tool(ToolDefinition("area", "Gives an area.", schema, lambda given: given["side"] ** 2))
    listed = {tool.name: tool for tool in kit.get_tools()}["area"]
    assert (listed.description, dict(listed.parameters)) == ("Gives an area.", schema)
    assert (await kit.execute_tool("area", {"side": 3})).data == 9
    assert "side" in str((await kit.execute_tool("area", {})).error)


@shows(1, "message", "Tool not found: ${name}")
async def test_an_unknown_tool_is_named() -> None:
    result = await DefaultAgentToolkit().execute_tool("weigh", {})
    assert (result.success, result.error) == (False, "Tool not found: weigh")


@shows(1, "message", 'Tool "${name}" timed out after ${timeoutMs}ms')
async def test_a_tool_that_takes_too_long_is_ended() -> None:
    async def slow(_: JsonObject) -> None:
        await anyio.sleep(60)

    kit = DefaultAgentToolkit()
    kit.register_tool(ToolDefinition("weigh", "Weighs.", {"type": "object"}, slow, timeout_s=0.01))
    assert (await kit.execute_tool("weigh", {})).error == 'Tool "weigh" timed out after 10ms'


async def test_a_retryable_tool_is_run_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_transient_error(ConnectionError("ECONNRESET"))
    assert not is_transient_error(ValueError("no such item"))
    monkeypatch.setattr("roundtable.tools.toolkit.TOOL_BASE_DELAY_S", 0.001)
    for retryable, tries in ((True, 3), (False, 1)):
        runs: list[int] = []

        def fail(_: JsonObject, runs: list[int] = runs) -> None:
            runs.append(1)
            raise ConnectionError("ECONNRESET")

        kit = DefaultAgentToolkit()
        kit.register_tool(ToolDefinition("get", "Gets.", {"type": "object"}, fail, retryable=retryable))
        assert not (await kit.execute_tool("get", {})).success
        assert len(runs) == tries


# ---------------------------------------------------------------- model calls


def asking(*replies: object, clock: ManualClock | None = None, **policy: Any) -> tuple[BaseAgent, ScriptedModel]:
    """Return an agent behind a gateway whose clock is set by hand, and its model."""
    model = ScriptedModel(list(replies))  # type: ignore[arg-type]  # handed on as they are
    retry = RetryPolicy(**policy) if policy else None
    guarded = Gateway(clock=clock or ManualClock()).guard(model, retry=retry)
    return BaseAgent(ADA.model_copy(update={"retry": retry}), guarded), model


@shows(1, "function", "callLlmWithRetry")
async def test_a_rate_limit_is_waited_for_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    agent, model = asking(LIMITED, {"position": "Tea"}, clock=clock)
    before = clock.monotonic()
    with caplog.at_level(logging.WARNING):
        assert (await agent.generate_response(view())).position == "Tea"
    assert model.calls == 2
    (told,) = [vars(record) for record in caplog.records if "attempt" in vars(record)]
    assert told["attempt"] == 1
    assert told["delay_ms"] == pytest.approx((clock.monotonic() - before) * 1000, abs=1)


@shows(1, "field", "AgentConfig.retry")
async def test_an_agent_tries_as_often_as_its_policy_says() -> None:
    agent, model = asking(LIMITED, LIMITED, max_attempts=2, base_delay_ms=5)
    with pytest.raises(APIRateLimitError):
        await agent.generate_response(view())
    assert model.calls == 2


@shows(2, "function", "withErrorBoundary")
async def test_a_call_is_retried_three_times() -> None:
    agent, model = asking(*[LIMITED] * 3, {"position": "Tea"})
    assert (await agent.generate_response(view())).position == "Tea"
    assert model.calls == 4
    refused, once = asking(APIAuthError("no such key"), {"position": "Tea"})
    with pytest.raises(APIAuthError):
        await refused.generate_response(view())
    assert once.calls == 1


@shows(2, "class", "agentCircuitBreaker")
@shows(2, "message", "Circuit breaker open for ${label}")
def test_five_failures_within_a_minute_open_the_breaker_for_a_minute() -> None:
    clock = ManualClock()
    breaker = CircuitBreaker("claude", clock=clock)
    for _ in range(5):
        assert breaker.state == "closed"
        breaker.record_failure(probe=breaker.enter())
    assert (breaker.state, breaker.failures) == ("open", 5)
    with pytest.raises(CircuitOpen, match=r"^Circuit breaker open for claude"):
        breaker.enter()
    clock.move(60)
    assert breaker.state == "half_open"
    breaker.record_success(probe=breaker.enter())
    assert breaker.state == "closed"


@shows(3, "function", "withRetry")
async def test_an_operation_is_tried_again_with_growing_pauses() -> None:
    clock, tries = ManualClock(), []

    async def operation() -> str:
        tries.append(clock.monotonic())
        if len(tries) < 3:
            raise LIMITED
        return "done"

    assert await retry_with_backoff(operation, 3, 1000, clock=clock) == "done"
    first, second = (later - before for before, later in pairwise(tries))
    assert 0 < first < second


@shows(0, "class", "RoundtableError")
def test_an_error_is_returned_as_json() -> None:
    error = AgentError("Failed to parse", provider="anthropic", cause=ValueError("Invalid JSON"))
    assert isinstance(error, RoundtableError)
    told = error.to_dict()
    assert {"name": "AgentError", "message": "Failed to parse", "code": "AGENT_ERROR"}.items() <= told.items()
    assert (told["provider"], told["retryable"]) == ("anthropic", False)
    assert "Invalid JSON" in str(told["cause"])
