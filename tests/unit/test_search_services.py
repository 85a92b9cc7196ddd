"""What is asked of search services, and what is read from their answers."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from roundtable.errors import AgentError, ConfigurationError
from roundtable.settings import Settings
from roundtable.tools import SearchOptions, SearchResult
from roundtable.tools.search import (
    BraveSearch,
    SearxngSearch,
    StaticSearch,
    TavilySearch,
    builtin_searches,
    search_provider,
)

KEYS = Settings.from_env({"BRAVE_SEARCH_API_KEY": "brave-canary-1", "TAVILY_API_KEY": "tvly-canary-1"})


def asked_of(request):
    return {name: values[0] for name, values in parse_qs(urlsplit(request.url).query).items()}


def test_requests_to_brave_follow_its_documentation():
    request = BraveSearch("key").build_request("green & black", SearchOptions(max_results=7, recency="month"))
    assert request.method == "GET"
    assert request.url.startswith("https://api.search.brave.com/res/v1/web/search?")
    assert asked_of(request) == {
        "q": "green & black",
        "count": "7",
        "result_filter": "web",
        "text_decorations": "false",
        "freshness": "pm",
    }
    assert request.headers == {"accept": "application/json", "x-subscription-token": "key"}


def test_requests_to_tavily_follow_its_documentation():
    request = TavilySearch("key").build_request("tea", SearchOptions(max_results=20, recency="week"))
    assert (request.method, request.url) == ("POST", "https://api.tavily.com/search")
    assert json.loads(request.body) == {
        "query": "tea",
        "max_results": 20,
        "search_depth": "basic",
        "time_range": "week",
    }
    assert request.headers["authorization"] == "Bearer key"


def test_requests_to_searxng_follow_its_documentation():
    request = SearxngSearch("http://searx.lan:8080/sub/").build_request("tea", SearchOptions(recency="day"))
    assert request.url.startswith("http://searx.lan:8080/sub/search?")
    assert asked_of(request) == {"q": "tea", "format": "json", "time_range": "day"}


@pytest.mark.parametrize("service", [BraveSearch, TavilySearch])
def test_no_key_is_shown_or_sent_to_others_over_plain_http(service):
    made = service("sk-canary-0123456789")
    assert "canary" not in repr(made)
    assert "canary" not in repr(made.build_request("tea", SearchOptions()))
    with pytest.raises(ConfigurationError, match="plain http"):
        service("key", base_url="http://example.org")
    with pytest.raises(ConfigurationError, match="needs a key"):
        service(" ")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("brave", BraveSearch),
        ("brave:http://127.0.0.1:1/v1", BraveSearch),
        ("tavily", TavilySearch),
        ("tavily:http://localhost:1", TavilySearch),
        (" searxng:http://127.0.0.1:8080 ", SearxngSearch),
        ("static", StaticSearch),
    ],
)
def test_services_are_found_by_name(name, kind):
    assert type(search_provider(name, settings=KEYS)) is kind


def test_searxng_can_be_set_in_the_environment():
    found = search_provider("searxng", settings=Settings(searxng_url="https://searx.example"))
    assert found.build_request("tea", SearchOptions()).url.startswith("https://searx.example/search?q=tea")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "unknown search provider ''"),
        ("brve", "Did you mean 'brave'"),
        ("brave", "brave needs a key"),
        ("tavily", "tavily needs a key"),
        ("searxng", "needs the address"),
        ("searxng:example.org", "not an http or https address"),
        ("searxng:http://me:secret-word@example.org", "must not contain a user name"),
        ("static:no-such-file.json", "cannot be read"),
    ],
)
def test_a_wrong_service_name_is_refused_with_the_reason(name, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        search_provider(name, settings=Settings())
    assert caught.value.hint
    assert "secret-word" not in str(caught.value)


def test_a_custom_registry_can_have_more_services():
    searches = builtin_searches()
    searches.add("acme", lambda rest, settings: StaticSearch([SearchResult(title=rest, url="https://a.example")]))
    assert isinstance(search_provider("acme:x", settings=Settings(), searches=searches), StaticSearch)
    assert "acme" not in builtin_searches()


def test_keys_of_search_services_are_secrets_and_never_shown():
    assert {"brave-canary-1", "tvly-canary-1"} <= KEYS.secrets
    assert "canary" not in repr(KEYS)
    given = Settings(brave_api_key="b-key", tavily_api_key="t-key")
    assert {"b-key", "t-key"} <= given.secrets


async def test_a_static_search_reads_its_pages_from_a_file(tmp_path):
    path = tmp_path / "pages.json"
    pages = [{"title": f"Tea {number}", "url": f"https://tea.example/{number}"} for number in range(9)]
    path.write_text(json.dumps(pages))
    found = await search_provider(f"static:{path}", settings=Settings()).search("tea", SearchOptions(max_results=2))
    assert [page.title for page in found] == ["Tea 0", "Tea 1"]
    assert len(await StaticSearch.from_file(path).search("tea")) == 5
    path.write_text('{"title": "no list"}')
    with pytest.raises(ConfigurationError, match="is not a list of search results"):
        StaticSearch.from_file(path)


async def test_an_empty_query_is_not_sent():
    with pytest.raises(AgentError, match="query is empty"):
        await SearxngSearch("http://127.0.0.1:9").search(" \n ")
