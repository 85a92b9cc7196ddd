"""Search services over a real connection: what is found, what goes wrong, and that no key is told."""

from __future__ import annotations

import json
import logging
import traceback

import pytest
from unit.secrets_kit import traces

from roundtable.errors import AgentError, APIAuthError, APINetworkError, APIRateLimitError, APITimeoutError
from roundtable.testing.servers import LoopbackServer, WireReply, http_reply
from roundtable.tools import SearchOptions, SearchWeb
from roundtable.tools.search import BraveSearch, SearxngSearch, TavilySearch
from roundtable.tools.toolkit import call_tool

pytestmark = pytest.mark.slow

KEY = "sk-canary+/=0123456789?"
FORMS = [*traces(KEY), KEY[:12]]
SERVICES = {
    "brave": lambda url, **more: BraveSearch(KEY, base_url=url, **more),
    "tavily": lambda url, **more: TavilySearch(KEY, base_url=url, **more),
    "searxng": SearxngSearch,
}
ANSWERS = {
    "brave": {
        "type": "search",
        "query": {"original": "tea", "more_results_available": True},
        "web": {
            "type": "search",
            "results": [
                {
                    "title": "Tea &amp; time",
                    "url": "https://tea.example/1",
                    "description": "It&#x27;s a plant.",
                    "page_age": "2026-01-02T03:04:05",
                    "age": "January 2, 2026",
                    "language": "en",
                },
                {"title": "Second", "url": "https://tea.example/2", "description": "More."},
            ],
        },
    },
    "tavily": {
        "query": "tea",
        "answer": None,
        "images": [],
        "results": [
            {
                "title": "Tea & time",
                "url": "https://tea.example/1",
                "content": "It's a plant.",
                "score": 0.98,
                "raw_content": None,
                "published_date": "2026-01-02T03:04:05",
            },
            {"title": "Second", "url": "https://tea.example/2", "content": "More.", "score": 0.5},
        ],
        "response_time": 1.2,
    },
    "searxng": {
        "query": "tea",
        "number_of_results": 0,
        "results": [
            {
                "url": "https://tea.example/1",
                "title": "Tea & time",
                "content": "It's\n a plant.",
                "publishedDate": "2026-01-02T03:04:05",
                "engine": "x",
                "engines": ["x"],
                "score": 1.0,
            },
            {"url": "https://tea.example/2", "title": "Second", "content": "More.", "publishedDate": None},
        ],
        "answers": [],
        "suggestions": ["green tea"],
        "unresponsive_engines": [["y", "timeout"]],
    },
}


@pytest.fixture
def server():
    with LoopbackServer() as running:
        yield running


@pytest.fixture(params=list(SERVICES))
def name(request):
    return request.param


def reply(document, status=200):
    return http_reply(json.dumps(document).encode(), status=status)


async def no_wait(seconds):
    """Go on at once."""


async def test_pages_are_read_from_the_answer_of_each_service(server, name):
    server.queue(reply(ANSWERS[name]), reply(ANSWERS[name]))
    service = SERVICES[name](server.origin)
    first, second = await service.search("green tea")
    assert first.model_dump(by_alias=False) == {
        "title": "Tea & time",
        "url": "https://tea.example/1",
        "snippet": "It's a plant.",
        "published_date": "2026-01-02T03:04:05",
    }
    assert (second.title, second.published_date) == ("Second", None)
    assert len(await service.search("green tea", SearchOptions(max_results=1))) == 1
    assert b"green" in server.seen[0].body + server.seen[0].path.encode()


async def test_long_queries_are_cut_to_the_length_that_every_service_accepts(server, name):
    server.queue(*[reply(ANSWERS[name])] * 2)
    service = SERVICES[name](server.origin)
    await service.search("tea " * 100)
    await service.search("x" * 1000)
    words, letters = (seen.body.decode() + seen.path for seen in server.seen)
    assert words.count("tea") == 50
    assert letters.count("x" * 400) == 1
    assert "x" * 401 not in letters


JUNK = [
    b"",
    b"<html>hello</html>",
    b"[]",
    b'"text"',
    b"{",
    b"\xff\xfe",
    b'{"results": 3, "web": {"results": "no"}}',
    b"[" * 100_000,
    b'{"results": [{"url": "\\ud800"}]}',
]


@pytest.mark.parametrize("body", JUNK, ids=range(len(JUNK)))
async def test_an_unreadable_answer_is_a_retryable_error(server, name, body):
    server.queue(http_reply(body))
    with pytest.raises(AgentError, match="cannot be read") as caught:
        await SERVICES[name](server.origin).search("tea")
    assert caught.value.retryable


async def test_results_that_are_not_pages_are_left_out(server):
    odd = [
        None,
        3,
        {},
        {"url": None},
        {"url": 7, "title": "x"},
        {"url": "javascript:alert(1)"},
        {"url": "file:///etc/passwd"},
        {"url": "https://"},
        {"url": "http://["},
        {"url": "https://a.example/\x1b[2J"},
        {"url": "https://a.example/" + "a" * 2_000},
        {"url": "https://a.example/", "title": ["x"], "content": {"y": 1}, "publishedDate": 3},
        {"url": "https://b.example/", "title": "t" * 9_000, "content": "c" * 9_000, "publishedDate": "d" * 99},
    ]
    server.queue(reply({"results": odd}), reply({"results": None}), reply({}))
    service = SearxngSearch(server.origin)
    bare, long = await service.search("tea")
    assert (bare.title, bare.snippet, bare.published_date) == ("https://a.example/", "", None)
    assert (len(long.title), len(long.snippet), len(long.published_date)) == (300, 1_000, 40)
    assert await service.search("tea") == await service.search("tea") == ()


FAULTS = [
    (401, APIAuthError, False),
    (429, APIRateLimitError, True),
    (500, APINetworkError, True),
    (503, APINetworkError, True),
    (400, AgentError, False),
    (404, AgentError, False),
]


@pytest.mark.parametrize(("status", "kind", "retryable"), FAULTS)
async def test_errors_are_retried_only_if_they_may_be_temporary(server, name, status, kind, retryable):
    echo = {"error": {"detail": " ".join(FORMS)}, "detail": {"error": " ".join(FORMS)}}
    service = SERVICES[name](server.origin)
    server.queue(reply(echo, status))
    with pytest.raises(kind) as caught:
        await service.search("tea")
    assert caught.value.retryable is retryable
    server.queue(*[reply(echo, status)] * 3)
    result = await call_tool(SearchWeb(service), {"query": "tea"}, sleep=no_wait)
    assert not result.success
    assert len(server.seen) == 1 + (3 if retryable else 1)
    shown = result.error, str(caught.value), repr(caught.value), json.dumps(caught.value.to_dict(debug=True))
    assert not [form for form in FORMS for text in shown if form in text]


@pytest.mark.parametrize(
    ("name", "status", "body", "kind", "message"),
    [
        ("brave", 422, b'{"error": {"code": "SUBSCRIPTION_TOKEN_INVALID"}}', APIAuthError, "rejected the key"),
        ("brave", 422, b'{"error": {"code": "VALIDATION"}}', AgentError, "status 422"),
        ("brave", 403, b"", APIAuthError, "status 403"),
        ("tavily", 432, b"", APIRateLimitError, "Tavily plan is used up"),
        ("tavily", 433, b"", APIRateLimitError, "Tavily plan is used up"),
        ("searxng", 403, b"", AgentError, "does not allow JSON responses"),
    ],
)
async def test_faults_of_one_service_are_named(server, name, status, body, kind, message):
    server.queue(http_reply(body, status=status))
    with pytest.raises(kind, match=message) as caught:
        await SERVICES[name](server.origin).search("tea")
    assert not caught.value.retryable


async def test_silence_broken_connections_and_redirects_are_errors(server, name):
    service = SERVICES[name](server.origin, timeout_s=0.5)
    server.queue(WireReply([60.0]))
    with pytest.raises(APITimeoutError):
        await service.search("tea")
    patient = SERVICES[name](server.origin)
    server.queue(WireReply([b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab"], "close"))
    with pytest.raises(APINetworkError):
        await patient.search("tea")
    server.queue(http_reply(b"", status=302, headers={"location": f"{server.origin}/trap"}))
    with pytest.raises(APINetworkError, match="redirect"):
        await patient.search("tea")
    assert server.traps == 0


async def test_a_key_that_is_echoed_gets_into_no_log_and_no_traceback(server, name, caplog):
    caplog.set_level(logging.DEBUG)
    service = SERVICES[name](server.origin)
    for status in (200, 401, 500):
        server.queue(http_reply(" ".join(FORMS).encode(), status=status, headers={"x-echo": KEY}))
        with pytest.raises((AgentError, APIAuthError, APINetworkError)) as caught:
            await service.search("tea")
        shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=False).format())
        assert not [form for form in FORMS if form in shown]
    logged = "\n".join(record.getMessage() for record in caplog.records)
    assert not [form for form in FORMS if form in logged]
    assert "q=tea" not in logged


async def test_connections_end_with_their_search(server, name):
    server.queue(*[reply(ANSWERS[name])] * 2)
    service = SERVICES[name](server.origin)
    await service.search("tea")
    await service.search("tea")
    assert server.connections == 2
