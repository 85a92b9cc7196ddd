"""The providers' own web search through every door: table, MCP and HTTP, asked for, answered, refused, resumed."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import pytest
from integration.mcp_kit import call, connected, refused
from integration.server_kit import client_of
from integration.test_provider_debates import KEY, PATHS, SHAPES, TITLE, URL, position

import roundtable as rt
from roundtable.agents import BaseAgent, ClaudeAgent
from roundtable.agents.native_search import SEARCH_REFUSED
from roundtable.api.searching import read_search
from roundtable.bench import Question, run_study
from roundtable.errors import ConfigurationError
from roundtable.gateway import FallbackModel
from roundtable.mcp import McpServer
from roundtable.providers import Cassette, chat_model
from roundtable.results.debate_result import DebateResult
from roundtable.storage import MemoryStorage
from roundtable.testing import scripted_agents
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, http_reply
from roundtable.types import AgentConfig, NativeSearch, RetryPolicy

pytestmark = pytest.mark.slow

NATIVE = ("anthropic", "google", "openai", "perplexity")
MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "openai": "gpt-5.2",
    "google": "gemini-3-flash-preview",
    "perplexity": "sonar-pro",
    "openai-chat": "gpt-5.2",
    "compatible": "llama3",
}
RECORDED = {"anthropic": "web_search", "openai": "web_search", "google": "google_search"}
WIDE = NativeSearch(max_uses=2, allowed_domains=("tea.example",), recency="week", context_size="high")


def replying(provider: str) -> LoopbackServer:
    def answer(seen: Seen) -> WireReply:
        return SHAPES[provider](seen.wants_stream or "streamGenerateContent" in seen.path, position(1))

    return LoopbackServer(answer)


def refusing(provider: str, status: int = 400, words: str = "web_search is not supported by this model") -> Any:
    """Return a server that refuses every request which asks for a search."""

    def answer(seen: Seen) -> WireReply:
        if asks(provider, seen.json):
            body = {"type": "error", "error": {"type": "invalid_request_error", "message": words, "code": status}}
            return http_reply(json.dumps(body).encode(), status=status)
        return SHAPES[provider](seen.wants_stream or "streamGenerateContent" in seen.path, position(1))

    return LoopbackServer(answer)


def asks(provider: str, body: dict[str, Any]) -> bool:
    """Check whether a request asks for the provider's own search."""
    if provider == "perplexity":
        return "disable_search" not in body
    return bool({"web_search", "googleSearch"} & {tool.get("name", "") for tool in flat(body)})


def flat(body: dict[str, Any]) -> list[dict[str, Any]]:
    tools = [{**tool, "name": tool.get("name") or next(iter(tool))} for tool in body.get("tools", [])]
    return [{**tool, "name": tool["type"]} if tool.get("type") == "web_search" else tool for tool in tools]


def table_of(servers: dict[str, LoopbackServer], seats: int = 1, **options: Any) -> rt.Roundtable:
    configs = {
        name: rt.ProviderConfig(
            base_url=server.origin + PATHS.get(name, ""), api_key=KEY, search=options.pop(f"{name}_search", None)
        )
        for name, server in servers.items()
    }
    agents = options.pop("agents", [f"{name}:{MODELS[name]}" for name in servers for _ in range(seats)])
    options = {"storage": "memory://", "analyzer": "basic", **options}
    return rt.Roundtable(agents, providers=configs, **options)


async def held(table: rt.Roundtable, **options: Any) -> DebateResult:
    async with table:
        return await table.debate("Tea or coffee?", **{"rounds": 1, **options})


@pytest.mark.parametrize("provider", NATIVE)
async def test_a_table_lets_agents_use_the_search_of_their_provider(provider: str) -> None:
    with replying(provider) as server:
        result = await held(table_of({provider: server}))
    assert [asks(provider, seen.json) for seen in server.seen] == [True]
    (response,) = result.rounds[0].responses
    assert [(link.url, link.title) for link in response.citations] == [(URL, TITLE)]
    assert [one.tool_name for one in response.tool_calls] == [RECORDED.get(provider, "perplexity_search")]
    assert result.agents[0].search == NativeSearch()


@pytest.mark.parametrize(
    "off",
    [
        pytest.param({"search": False}, id="table"),
        pytest.param({"search": "static"}, id="a service instead"),
        pytest.param({"provider": False}, id="provider"),
        pytest.param({"agent": False}, id="agent"),
        pytest.param({"debate": False}, id="debate"),
    ],
)
@pytest.mark.parametrize("provider", NATIVE)
async def test_a_search_can_be_switched_off_anywhere(provider: str, off: dict[str, Any], tmp_path: Any) -> None:
    if off.get("search") == "static":
        (tmp_path / "pages.json").write_text('[{"title": "Tea", "url": "https://tea.example/", "snippet": ""}]')
        off = {"search": f"static:{tmp_path / 'pages.json'}"}
    seat = AgentConfig(id="a", name="A", provider=provider, model=MODELS[provider], search=off.get("agent"))
    options = {f"{provider}_search": off.get("provider"), "search": off.get("search", "auto")}
    asked = {} if "debate" not in off else {"search": off["debate"]}
    with replying(provider) as server:
        result = await held(table_of({provider: server}, agents=[seat], **options), **asked)
    assert [asks(provider, seen.json) for seen in server.seen] == [False]
    assert result.agents[0].search is False
    offered = {tool.get("name") for seen in server.seen for tool in seen.json.get("tools", [])}
    if "static" in str(off) and provider in {"anthropic", "openai"}:
        assert offered == {"search_web", "fact_check"}


async def test_the_setting_closest_to_the_agent_decides() -> None:
    seats = [
        AgentConfig(id="own", name="Own", provider="anthropic", model="claude-sonnet-4-5", search=True),
        AgentConfig(id="plain", name="Plain", provider="anthropic", model="claude-sonnet-4-5"),
    ]
    with replying("anthropic") as server:
        table = table_of({"anthropic": server}, agents=seats, search=False)
        result = await held(table)
    assert sorted(asks("anthropic", seen.json) for seen in server.seen) == [False, True]
    assert [config.search for config in result.agents] == [NativeSearch(), False]


async def test_options_of_a_provider_do_not_enable_a_disabled_search() -> None:
    with replying("openai") as server:
        table = table_of({"openai": server}, search=False, openai_search=NativeSearch(max_uses=1))
        await held(table)
        await held(table_of({"openai": server}, openai_search=False), search=True)
    assert [asks("openai", seen.json) for seen in server.seen] == [False, False]


async def test_options_of_agent_provider_and_table_are_merged() -> None:
    seat = AgentConfig(
        id="a", name="A", provider="anthropic", model="claude-sonnet-4-5", search=NativeSearch(max_uses=1)
    )
    with replying("anthropic") as server:
        table = table_of(
            {"anthropic": server},
            agents=[seat],
            anthropic_search=NativeSearch(max_uses=2, blocked_domains=("b.example",)),
            search={"maxUses": 3},
        )
        await held(table)
    (tool,) = server.seen[0].json["tools"]
    assert tool == {
        "type": "web_search_20250305",
        "name": "web_search",
        "max_uses": 1,
        "blocked_domains": ["b.example"],
    }


async def test_an_option_set_back_to_its_default_stays_so() -> None:
    seat = AgentConfig(id="a", name="A", provider="perplexity", model="sonar", search=NativeSearch(context_size="low"))
    with replying("perplexity") as server:
        ageless = NativeSearch(recency=None)
        table = table_of({"perplexity": server}, agents=[seat], perplexity_search=ageless, search={"recency": "day"})
        await held(table)
    assert "search_recency_filter" not in server.seen[0].json


@pytest.mark.parametrize(
    ("provider", "told", "without"),
    [
        pytest.param("anthropic", {"max_uses": 2, "allowed_domains": ["tea.example"]}, ["context_size", "recency"]),
        pytest.param(
            "openai",
            {"search_context_size": "high", "filters": {"allowed_domains": ["tea.example"]}, "max_tool_calls": 2},
            ["recency"],
        ),
        pytest.param(
            "perplexity",
            {
                "search_domain_filter": ["tea.example"],
                "search_recency_filter": "week",
                "web_search_options": {"search_context_size": "high"},
            },
            ["max_uses"],
        ),
    ],
)
async def test_supported_search_options_are_sent_and_unsupported_ones_are_warned_about_once(
    provider: str, told: dict[str, Any], without: list[str]
) -> None:
    with replying(provider) as server:
        result = await held(table_of({provider: server}, search=WIDE), rounds=2)
    body = server.seen[0].json
    (tool,) = body.get("tools", [{}])
    assert {name: tool.get(name, body.get(name)) for name in told} == told
    first, second = (turn.result.warnings for held in result.rounds for turn in held.turns)
    assert [one for one in first if "does not support" in one] == [
        f"the web search of {provider!r} does not support {name}; it searches without this" for name in without
    ]
    assert not [one for one in second if "search" in one]


async def test_an_agent_whose_search_is_limited_to_domains_does_not_search_if_they_cannot_be_sent() -> None:
    with replying("google") as server:
        result = await held(table_of({"google": server}, search=WIDE))
    assert "tools" not in server.seen[0].json
    (turn,) = result.rounds[0].turns
    assert [note for note in turn.result.warnings if "domains" in note]
    assert result.agents[0].search is False


@pytest.mark.parametrize(
    ("provider", "search", "what"),
    [
        pytest.param("anthropic", NativeSearch(recency="day"), "recency", id="Anthropic knows no age"),
        pytest.param(
            "anthropic",
            NativeSearch(allowed_domains=("a.example",), blocked_domains=("b.example",)),
            "blocked_domains",
            id="Anthropic takes one list",
        ),
        pytest.param(
            "openai", NativeSearch(blocked_domains=("b.example",)), "blocked_domains", id="OpenAI blocks none"
        ),
        pytest.param("google", NativeSearch(allowed_domains=("a.example",)), "allowed_domains", id="Google takes none"),
        pytest.param(
            "perplexity",
            NativeSearch(allowed_domains=tuple(f"d{n}.example" for n in range(21))),
            "allowed_domains",
            id="Perplexity takes twenty",
        ),
    ],
)
@pytest.mark.parametrize("where", ["agent", "provider"])
def test_an_option_that_a_given_provider_does_not_support_is_refused(
    provider: str, search: NativeSearch, what: str, where: str
) -> None:
    seat = AgentConfig(
        id="a", name="A", provider=provider, model=MODELS[provider], search=search if where == "agent" else None
    )
    config = rt.ProviderConfig(api_key=KEY, search=search if where == "provider" else None)
    table = rt.Roundtable([seat], providers={provider: config}, storage="memory://")
    with pytest.raises(ConfigurationError, match=f"'a'.*'{provider}' does not support {what}") as caught:
        table.estimate("Tea?")
    assert caught.value.hint


@pytest.mark.parametrize("search", [True, NativeSearch()])
def test_an_agent_that_cannot_search_is_not_told_to_search(search: Any) -> None:
    seat = AgentConfig(id="a", name="A", provider="compatible", model="llama3", search=search)
    config = rt.ProviderConfig(base_url="http://127.0.0.1:9/v1")
    table = rt.Roundtable([seat], providers={"compatible": config}, storage="memory://")
    with pytest.raises(ConfigurationError, match="'compatible:llama3' has no web search of its own") as caught:
        table.estimate("Tea?")
    assert "brave" in (caught.value.hint or "")


@pytest.mark.parametrize("search", [7, "", None, ["brave"], {"maxUses": 0}, {"domains": []}])
def test_an_invalid_value_for_the_search_is_refused(search: Any) -> None:
    with pytest.raises(ConfigurationError, match="search") as caught:
        rt.Roundtable(storage="memory://", search=search).estimate("Tea?")
    assert "NativeSearch" in (caught.value.hint or "")


def test_an_unknown_search_service_is_refused() -> None:
    table = rt.Roundtable(scripted_agents({"a": "Tea"}), storage="memory://", search="brav")
    with pytest.raises(ConfigurationError, match="'brav'"):
        table.estimate("Tea?")


def test_a_service_belongs_to_the_table_and_not_to_a_debate_or_a_provider() -> None:
    table = rt.Roundtable(scripted_agents({"a": "Tea"}), storage="memory://")
    with pytest.raises(ConfigurationError, match="'brave'") as caught:
        table.estimate("Tea?", search="brave")
    assert "Roundtable(search='brave')" in (caught.value.hint or "")
    wrong: Any = rt.ProviderConfig(search="brave")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"providers\['openai'\].search"):
        rt.Roundtable(storage="memory://", providers={"openai": wrong}).estimate("Tea?")


@pytest.mark.parametrize("provider", ["openai-chat", "compatible"])
async def test_requests_of_agents_without_a_search_are_unchanged(provider: str) -> None:
    with replying(provider) as server:
        result = await held(table_of({provider: server}))
    assert not {"tools", "web_search_options", "plugins"} & server.seen[0].json.keys()
    assert result.agents[0].search is None
    assert not [note for note in result.rounds[0].turns[0].result.warnings if "search" in note]


@pytest.mark.parametrize("provider", NATIVE)
@pytest.mark.parametrize(
    ("status", "words"),
    [(400, "web_search is not supported by this model"), (422, "tools.0.type: unknown tool type")],
)
async def test_a_refused_search_costs_one_request_and_leaves_one_warning(
    provider: str, status: int, words: str
) -> None:
    with refusing(provider, status, words) as server:
        result = await held(table_of({provider: server}), rounds=3)
    assert [asks(provider, seen.json) for seen in server.seen] == [True, False, False, False]
    assert (result.status, result.roster.complete) == ("completed", True)
    notes = [note for one in result.rounds for turn in one.turns for note in turn.result.warnings if "search" in note]
    (note,) = notes
    assert note.startswith(SEARCH_REFUSED)
    assert words in note


async def test_a_search_is_refused_for_each_seat_separately_and_requested_again_in_the_next_session() -> None:
    with refusing("anthropic") as server:
        async with table_of({"anthropic": server}, seats=2) as table:
            first = await table.debate("Tea or coffee?", rounds=2)
            second = await table.debate("Tea or coffee?", rounds=1)
    assert sum(asks("anthropic", seen.json) for seen in server.seen) == 4
    for result in (first, second):
        told = [turn for turn in result.rounds[0].turns if any("search" in note for note in turn.result.warnings)]
        assert len(told) == 2


async def test_an_error_for_another_reason_is_not_blamed_on_the_search() -> None:
    said = b'{"error": {"message": "tools.0.input_schema: not a schema", "type": "invalid_request_error"}}'
    with LoopbackServer(lambda seen: http_reply(said, status=400)) as server, pytest.raises(rt.RoundtableError) as got:
        await held(table_of({"anthropic": server}))
    assert "not a schema" in str(got.value.to_dict())
    assert len(server.seen) == 2


async def test_a_session_keeps_its_search_and_its_refusals() -> None:
    storage = MemoryStorage()
    with refusing("anthropic") as server:
        async with table_of({"anthropic": server}, storage=storage) as table:
            handle = await table.start("Tea or coffee?", rounds=2, step=True, search=NativeSearch(max_uses=2))
            await handle.wait()
        async with table_of({"anthropic": server}, storage=storage, search=False) as later:
            result = await later.resume(handle.session_id)
    assert [asks("anthropic", seen.json) for seen in server.seen] == [True, False, False]
    assert result.agents[0].search == NativeSearch(max_uses=2)


async def test_a_session_resumed_elsewhere_searches_as_it_began() -> None:
    storage = MemoryStorage()
    with replying("openai") as server:
        async with table_of({"openai": server}, storage=storage, search={"maxUses": 2}) as table:
            handle = await table.start("Tea or coffee?", rounds=2, step=True)
            await handle.wait()
        async with table_of({"openai": server}, storage=storage, search=False) as later:
            await later.resume(handle.session_id)
    assert [seen.json.get("max_tool_calls") for seen in server.seen] == [2, 2]


async def test_a_fork_can_search_in_another_way() -> None:
    with replying("anthropic") as server:
        async with table_of({"anthropic": server}) as table:
            first = await table.debate("Tea or coffee?", rounds=2)
            await table.fork(first.session_id, at_round=1, search=False)
            await table.fork(first.session_id, at_round=1)
    assert [asks("anthropic", seen.json) for seen in server.seen] == [True, True, False, True]


async def test_a_fork_can_change_its_search_however_its_agents_were_given() -> None:
    with replying("anthropic") as server:
        async with table_of({"anthropic": server}) as table:
            first = await table.debate("Tea or coffee?", rounds=2, agents=["anthropic:claude-sonnet-4-5"])
            second = await table.fork(first.session_id, at_round=1, search=False)
            await table.fork(second.session_id, at_round=1, search="auto")
    assert [asks("anthropic", seen.json) for seen in server.seen] == [True, True, False, True]


async def test_a_fork_keeps_the_search_of_its_agents_or_of_the_table() -> None:
    quiet = AgentConfig(id="quiet", name="Quiet", provider="anthropic", model="claude-sonnet-4-5", search=False)
    with replying("anthropic") as server:
        config = AgentConfig(id="own", name="Own", provider="anthropic")
        own = ClaudeAgent(config, base_url=server.origin, api_key=KEY, search=NativeSearch(max_uses=1))
        async with table_of({"anthropic": server}, agents=[own, quiet]) as table:
            first = await table.debate("Tea or coffee?", rounds=2)
            await table.fork(first.session_id, at_round=1, search={"maxUses": 3})
        await own.chat_model.aclose()
    uses = [tool["max_uses"] for seen in server.seen for tool in seen.json.get("tools", [])]
    assert (len(server.seen), uses) == (6, [1, 1, 1])


async def test_tools_work_together_with_the_search() -> None:
    def look(item: str) -> str:
        """Look something up."""
        return f"{item} keeps"

    def answer(seen: Seen) -> WireReply:
        if len(seen.json["messages"]) > 1:
            return SHAPES["anthropic"](seen.wants_stream, position(1))
        use = {"type": "tool_use", "id": "t1", "name": "look", "input": {"item": "tea"}}
        top = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "content": [use]}
        usage = {"input_tokens": 11, "output_tokens": 7}
        return http_reply(json.dumps({**top, "stop_reason": "tool_use", "usage": usage}).encode())

    with LoopbackServer(answer) as server:
        result = await held(table_of({"anthropic": server}, tools=[look]))
    assert [[tool["name"] for tool in seen.json["tools"]] for seen in server.seen] == [["look", "web_search"]] * 2
    (response,) = result.rounds[0].responses
    assert [one.tool_name for one in response.tool_calls] == ["web_search", "look"]
    assert [link.url for link in response.citations] == [URL]


async def test_a_gemini_that_cannot_search_and_call_tools_at_once_is_asked_twice_by_a_table() -> None:
    def look(item: str) -> str:
        """Look something up."""
        return item

    with replying("google") as server:
        result = await held(table_of({"google": server}, agents=["google:gemini-2.5-pro"], tools=[look]))
    paths = [seen.path.split("/")[-1].partition(":")[0] for seen in server.seen]
    assert paths == ["gemini-2.5-flash-lite", "gemini-2.5-pro"]
    assert [asks("google", seen.json) for seen in server.seen] == [True, False]
    assert [link.url for link in result.rounds[0].responses[0].citations] == [URL]


async def test_analyzers_and_judges_do_not_search_even_if_a_search_is_built_in() -> None:
    with replying("perplexity") as server:
        table = table_of({"perplexity": server}, seats=2, analyzer="ai")
        await held(table, options=["Tea", "Coffee"], decide="judge", synthesize=True)
    asked = [asks("perplexity", seen.json) for seen in server.seen]
    assert (asked.count(True), len(asked) > 4) == (2, True)  # the two debaters, whose calls run at the same time


async def test_turns_without_tools_do_not_search() -> None:
    with replying("anthropic") as server:
        result = await held(
            table_of({"anthropic": server}, seats=2), mode="delphi", rounds=1, options=["Tea", "Coffee"]
        )
        kinds = {turn.stage: None for turn in result.rounds[0].turns}
    assert kinds
    assert any(asks("anthropic", seen.json) for seen in server.seen)


async def test_all_sources_are_cited_if_an_answer_marks_none() -> None:
    def answer(seen: Seen) -> WireReply:
        action = {"type": "search", "query": "tea", "sources": [{"type": "url", "url": URL}]}
        said = {"type": "output_text", "text": position(1), "annotations": []}
        output = [
            {"type": "web_search_call", "id": "w", "status": "completed", "action": action},
            {"type": "message", "id": "m", "content": [said]},
        ]
        usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
        body = {"id": "r", "model": "gpt-x", "status": "completed", "output": output, "usage": usage}
        return http_reply(json.dumps(body).encode())

    with LoopbackServer(answer) as server:
        result = await held(table_of({"openai": server}))
    (response,) = result.rounds[0].responses
    assert [(link.url, link.title) for link in response.citations] == [(URL, "tea.example")]


@pytest.mark.parametrize(
    ("second", "model", "asked"),
    [
        pytest.param("compatible", "llama3", None, id="no search"),
        pytest.param("google", "gemini-3-pro", {"googleSearch": {}}, id="fewer options"),
        pytest.param("google", "gemini-2.5-pro", None, id="a search or tools"),
    ],
)
async def test_the_next_model_of_a_fallback_searches_as_it_can(second: str, model: str, asked: Any) -> None:
    def look() -> str:
        """Look."""
        return ""

    with LoopbackServer(lambda seen: http_reply(b"{}", status=503)) as down, replying(second) as up:
        first = chat_model("anthropic:claude-sonnet-4-5", base_url=down.origin, api_key=KEY)
        next_one = chat_model(f"{second}:{model}", base_url=up.origin + PATHS.get(second, ""), api_key=KEY)
        chain = FallbackModel(first, next_one)
        seat = BaseAgent(AgentConfig(id="a", name="A", provider="anthropic", retry=RetryPolicy(max_attempts=1)), chain)
        seat.set_search(NativeSearch(max_uses=2))
        result = await held(rt.Roundtable([seat], storage="memory://", analyzer="basic", tools=[look]))
        await chain.aclose()
    found = [tool for seen in up.seen for tool in seen.json["tools"] if "googleSearch" in tool]
    assert found == ([] if asked is None else [asked])
    noted = "the answer was given without a search of the web" in result.rounds[0].turns[0].result.warnings
    assert noted is (asked is None)


@pytest.mark.parametrize(("options", "searches"), [({}, False), ({"search": "auto"}, True)])
async def test_a_study_searches_only_on_request(options: Any, searches: bool) -> None:
    question = Question(id="1", question="Tea?", gold="Tea")
    with replying("anthropic") as server:
        async with table_of({"anthropic": server}, seats=2) as table:
            await run_study(table, [question], rounds=1, resamples=100, **options)
    assert any(asks("anthropic", seen.json) for seen in server.seen) is searches


async def test_agents_of_the_caller_keep_their_own_search() -> None:
    with replying("anthropic") as server:
        config = AgentConfig(id="c", name="C", provider="anthropic")
        agent = ClaudeAgent(config, base_url=server.origin, api_key=KEY, search=NativeSearch(max_uses=1))
        result = await held(rt.Roundtable([agent], storage="memory://", analyzer="basic", search=False))
        await agent.chat_model.aclose()
    assert asks("anthropic", server.seen[0].json)
    assert result.agents[0].search == NativeSearch(max_uses=1)


def searched(usage: dict[str, Any]) -> Any:
    """Return a server of Anthropic's that says it searched twice."""

    def answer(seen: Seen) -> WireReply:
        content = [{"type": "text", "text": position(1)}]
        top = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "content": content}
        return http_reply(json.dumps({**top, "stop_reason": "end_turn", "usage": usage}).encode())

    return LoopbackServer(answer)


def without_search(value: Any) -> Any:
    """Return what a cassette held before profiles spoke of searches."""
    if isinstance(value, list):
        return [without_search(item) for item in value]
    return (
        {name: without_search(item) for name, item in value.items() if name != "search"}
        if isinstance(value, dict)
        else value
    )


CHEAP = {"anthropic:*": {"input": 1, "output": 1}}


async def test_the_usage_contains_the_cost_of_searches() -> None:
    usage = {"input_tokens": 1_000, "output_tokens": 1_000, "server_tool_use": {"web_search_requests": 2}}
    with searched(usage) as server:
        result = await held(table_of({"anthropic": server}, prices=CHEAP))
    assert (result.usage.searches, result.usage.cost_usd) == (2, 0.022)


@pytest.mark.parametrize(("provider", "searches"), [("openai", 1), ("google", 1), ("perplexity", 1), ("compatible", 0)])
async def test_every_wire_counts_its_searches(provider: str, searches: int) -> None:
    with replying(provider) as server:
        result = await held(table_of({provider: server}))
    assert result.usage.searches == searches


def test_an_estimate_holds_the_price_of_searches() -> None:
    def worst(search: Any, agent: str = "anthropic:claude-sonnet-4-5", **options: Any) -> Any:
        name = agent.partition(":")[0]
        table = rt.Roundtable(
            [agent],
            storage="memory://",
            search=search,
            analyzer="basic",
            prices={f"{name}:*": {"input": 1, "output": 1}},
            providers={name: rt.ProviderConfig(api_key=KEY)},
            **options,
        )
        return table.estimate("Tea or coffee?", rounds=1)

    off, auto, few = worst(False), worst("auto"), worst(NativeSearch(max_uses=1))
    assert (off.searches, auto.searches, few.searches) == (0, 5, 1)
    assert auto.by_agent[0].searches == 5
    assert auto.cost_usd - off.cost_usd > 5 * (0.01 + 10_000 / 1e6)
    assert off.cost_usd < few.cost_usd < auto.cost_usd
    assert any("at most 5 web searches" in note for note in auto.notes)
    assert not any("web searches" in note for note in off.notes)

    def look() -> str:
        """Look."""
        return ""

    alone, together = (worst("auto", f"google:gemini-{model}", tools=[look]) for model in ("2.5-pro", "3-pro"))
    # The search is a call of its own; beside the tools it may be made in each call.
    assert (alone.searches, together.searches) == (5, 55)
    assert (alone.calls, alone.planned_calls) == (together.calls + 1, together.planned_calls + 1)


async def test_a_budget_that_covers_no_search_continues_the_debate_without_it() -> None:
    usage = {"input_tokens": 100, "output_tokens": 100}
    with searched(usage) as server:
        table = table_of({"anthropic": server}, prices=CHEAP, budget=rt.Budget(max_cost_usd=0.05))
        result = await held(table, rounds=2)
    assert [asks("anthropic", seen.json) for seen in server.seen] == [False, False]
    (note,) = [note for one in result.rounds for turn in one.turns for note in turn.result.warnings if "search" in note]
    assert note.startswith("the budget covers no web search")


async def test_a_spent_budget_is_not_blamed_on_the_search() -> None:
    with replying("anthropic") as server:
        configs = [AgentConfig(id=name, name=name, provider="anthropic") for name in ("ada", "bo")]
        agents = [ClaudeAgent(config, base_url=server.origin, api_key=KEY) for config in configs]
        async with table_of({"anthropic": server}, agents=agents) as table:
            first = await table.debate("Tea or coffee?", rounds=1, budget=rt.Budget(max_calls=1))
            result = await table.resume(first.session_id, budget=rt.Budget(max_calls=9))
        for agent in agents:
            await agent.chat_model.aclose()
    assert (first.status, result.status) == ("partial", "completed")
    assert [asks("anthropic", seen.json) for seen in server.seen] == [True, True]
    notes = [note for one in result.rounds for turn in one.turns for note in turn.result.warnings]
    assert not [note for note in notes if "search" in note]


async def test_a_search_is_reserved_before_it_is_made() -> None:
    usage = {"input_tokens": 100, "output_tokens": 100, "server_tool_use": {"web_search_requests": 5}}
    with searched(usage) as server:
        budget = rt.Budget(max_cost_usd=0.12)
        result = await held(table_of({"anthropic": server}, prices=CHEAP, budget=budget), rounds=3)
    # The first call takes 0.05 dollars; of what is left no second one can be sure.
    assert [asks("anthropic", seen.json) for seen in server.seen] == [True, False, False]
    assert result.usage.cost_usd <= 0.2


async def test_a_cassette_replays_a_search(tmp_path: Any) -> None:
    tape = tmp_path / "debate.jsonl"
    with replying("anthropic") as server:
        first = await held(table_of({"anthropic": server}, cassette=tape))
        again = await held(table_of({"anthropic": server}, cassette=Cassette(tape, mode="replay")))
    assert len(server.seen) == 1
    assert again.rounds[0].responses[0].citations == first.rounds[0].responses[0].citations
    assert '"search":{}' in tape.read_text() or '"search": {}' in tape.read_text()


async def test_a_cassette_from_before_the_search_option_replays_unchanged(tmp_path: Any) -> None:
    tape = tmp_path / "debate.jsonl"
    with replying("anthropic") as server:
        await held(table_of({"anthropic": server}, cassette=tape, search=False))
        lines = [json.loads(line) for line in tape.read_text().splitlines()]
        tape.write_text("".join(json.dumps(without_search(line)) + "\n" for line in lines))
        result = await held(table_of({"anthropic": server}, cassette=Cassette(tape, mode="replay")))
    assert (result.status, len(server.seen)) == ("completed", 1)


@pytest.fixture
def doubles() -> Any:
    with ExitStack() as stack:
        yield {name: stack.enter_context(replying(name)) for name in ("anthropic", "openai", "google")}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_session_over_mcp_shows_its_search_results(doubles: dict[str, LoopbackServer]) -> None:
    table = table_of(doubles)
    async with connected(McpServer(lambda tenant: table)) as client:
        done = await call(client, "start_roundtable", topic="Tea or coffee?", rounds=1, search=True)
        found = await call(client, "get_citations", sessionId=done["sessionId"])
        named = ["anthropic-claude-sonnet-4-5", "openai-gpt-5.2", "google-gemini-3-flash-preview"]
        await call(client, "start_roundtable", topic="Tea or coffee?", rounds=1, search=False, agents=named)
        wrong = await refused(client, "start_roundtable", topic="Tea?", rounds=1, search="brave")
    assert [(link["url"], link["title"]) for link in found["citations"]] == [(URL, TITLE)]
    assert [one["evidenceUsed"]["citations"] for one in done["agentResponses"]] == [1, 1, 1]
    assert [one["evidenceUsed"]["webSearches"] for one in done["agentResponses"]] == [1, 1, 1]
    for name, server in doubles.items():
        assert [asks(name, seen.json) for seen in server.seen] == [True, False]
    assert "search" in json.dumps(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_session_over_http_shows_its_search_results(doubles: dict[str, LoopbackServer]) -> None:
    async with client_of(table_of(doubles)) as web:
        asked = {"topic": "Tea or coffee?", "rounds": 1}
        said = await web.post("/api/debates?wait=20", json={**asked, "search": {"maxUses": 2}})
        off = await web.post("/api/debates?wait=20", json={**asked, "search": False})
        wrong = await web.post("/api/debates", json={**asked, "search": {"maxUses": 0}})
    result = DebateResult.model_validate_json(said.content)
    assert [[link.url for link in one.citations] for one in result.rounds[0].responses] == [[URL]] * 3
    assert off.status_code == 200
    assert wrong.status_code in {400, 422}
    for name, server in doubles.items():
        assert [asks(name, seen.json) for seen in server.seen] == [True, False]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_callers_of_a_server_cannot_enable_a_search_that_its_owner_disabled(
    doubles: dict[str, LoopbackServer],
) -> None:
    async with client_of(table_of(doubles, search=False)) as web:
        answer = await web.post("/api/debates", json={"topic": "Tea?", "rounds": 1, "search": "auto"})
    assert answer.status_code == 400
    assert "does not let agents search" in answer.text


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_limits_of_the_owner_hold_for_callers(doubles: dict[str, LoopbackServer]) -> None:
    own = {"anthropic": doubles["anthropic"]}
    async with client_of(table_of(own, search=NativeSearch(allowed_domains=("tea.example",)))) as web:
        body = {"topic": "Tea?", "rounds": 1, "search": {"maxUses": 2, "allowedDomains": ["other.example"]}}
        assert (await web.post("/api/debates?wait=20", json=body)).status_code == 200
    (tool,) = doubles["anthropic"].seen[0].json["tools"]
    assert (tool["max_uses"], tool["allowed_domains"]) == (2, ["tea.example"])


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_images_and_related_questions_are_in_the_details_over_mcp() -> None:
    picture = {"image_url": "https://tea.example/pot.jpg", "title": "A pot"}

    def answer(seen: Seen) -> WireReply:
        body = {
            "id": "p1",
            "model": "sonar-x",
            "search_results": [{"title": TITLE, "url": URL}],
            "images": [picture],
            "related_questions": ["And milk?"],
            "choices": [{"index": 0, "message": {"content": position(1)}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7},
        }
        return http_reply(json.dumps(body).encode())

    asked = NativeSearch(images=True, related_questions=True)
    with LoopbackServer(answer) as server:
        table = table_of({"perplexity": server}, perplexity_search=asked)
        async with connected(McpServer(lambda tenant: table)) as client:
            begun = await call(client, "start_roundtable", topic="Tea or coffee?", rounds=1)
            named = {"sessionId": begun["sessionId"]}
            one = await call(client, "get_response_detail", **named, agentId="perplexity-sonar-pro")
            held = await call(client, "get_round_details", **named, roundNumber=1)
    for response in (one["responses"][0], held["responses"][0]):
        assert response["images"] == [{"url": picture["image_url"], "description": "A pot"}]
        assert response["relatedQuestions"] == ["And milk?"]


async def test_a_cassette_replays_a_refused_search(tmp_path: Any) -> None:
    tape = tmp_path / "debate.jsonl"
    with refusing("anthropic") as server:
        first = await held(table_of({"anthropic": server}, cassette=tape))
        again = await held(table_of({"anthropic": server}, cassette=Cassette(tape, mode="replay")))
    warned = [[turn.result.warnings for turn in result.rounds[0].turns] for result in (first, again)]
    assert (len(server.seen), warned[0]) == (2, warned[1])
    assert SEARCH_REFUSED in str(warned[1])


@pytest.mark.parametrize("given", [NativeSearch(allowed_domains=()), {"allowed_domains": []}])
def test_an_empty_list_of_domains_is_refused_with_its_place(given: object) -> None:
    with pytest.raises(ConfigurationError, match=r"search.allowed_domains must name a domain") as refused:
        read_search(given)
    assert "Leave allowed_domains out" in (refused.value.hint or "")
    assert read_search(NativeSearch(max_uses=2)).native == NativeSearch(max_uses=2)
