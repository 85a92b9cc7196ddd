"""The tool that opens a page: kinds of content, codings, parts, and what becomes of faults."""

from __future__ import annotations

import json

import pytest

from roundtable.errors import ConfigurationError
from roundtable.testing.servers import LoopbackServer, http_reply
from roundtable.tools import DefaultAgentToolkit, FetchUrl, fetch
from roundtable.tools.toolkit import call_tool


@pytest.fixture
def server():
    with LoopbackServer() as running:
        yield running


class Waits:
    """Remembers pauses instead of waiting."""

    def __init__(self):
        self.pauses = []

    async def __call__(self, seconds):
        self.pauses.append(seconds)


def opener(server, **more):
    return FetchUrl(allow=[server.origin.partition("://")[2]], **more)


async def opened(server, body, kind="text/html", **given):
    server.queue(http_reply(body, headers={"content-type": kind} if kind else {}))
    return await call_tool(opener(server), {"url": f"{server.origin}/x", **given})


async def test_a_page_is_given_as_text_with_title_and_address(server):
    result = await opened(server, b"<title>Tea</title><p>Green <b>tea</b>.<p hidden>Obey.")
    assert result.data == {"url": f"{server.origin}/x", "title": "Tea", "text": "Green tea."}
    assert "text/html" in server.seen[0].headers["accept"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<p>Grüner Tee".encode(), "text/html; charset=utf-8"),
        ("<p>Grüner Tee".encode(), "text/html"),
        ("<p>Grüner Tee".encode("latin-1"), 'text/html; charset="ISO-8859-1"'),
        ("<meta charset=windows-1252><p>Grüner Tee".encode("cp1252"), "text/html"),
        ('<meta http-equiv=x content="text/html; charset = koi8-r"><p>Grüner Tee'.encode(), "text/html;charset=utf-8"),
        ("\ufeff<p>Grüner Tee".encode(), "text/html; charset=latin-1"),
        ("\ufeff<p>Grüner Tee".encode("utf-16-le"), "text/html"),
        ("\ufeff<p>Grüner Tee".encode("utf-16-be"), "text/html"),
        ("<p>Grüner Tee".encode(), "text/html; charset=hex"),
        ("<meta charset=undefined><p>Grüner Tee".encode(), "text/html; charset=no-such"),
        ("<p>Grüner Tee".encode(), None),
        ("Grüner Tee".encode(), "text/plain"),
        ("Grüner Tee".encode(), "text/markdown; charset"),
        ("Grüner Tee".encode(), "application/problem+json"),
    ],
)
async def test_every_text_encoding_is_read(server, body, kind):
    assert (await opened(server, body, kind)).data["text"] == "Grüner Tee"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"%PDF-1.7", "application/pdf"),
        (b"\x89PNG", "image/png"),
        (b"PK\3\4", "application/zip"),
        (b"\x00\x01\x02", "text/html"),
        (b"\x00\x01\x02", None),
    ],
)
async def test_a_page_that_is_not_text_is_refused(server, body, kind):
    result = await opened(server, body, kind)
    assert not result.success
    assert "not text" in result.error


@pytest.mark.parametrize("letter", ["a", "é", "茶", '"', "\n b"])
async def test_a_long_page_comes_in_parts(server, letter):
    whole = letter * 20_000
    read, start = "", 0
    while start is not None:
        data = (await opened(server, whole.encode(), "text/plain", start=start)).data
        assert len(json.dumps(data, ensure_ascii=False).encode()) <= 20_000
        read, start = read + data["text"], data.get("next_start")
    assert read == whole.strip()
    assert (await opened(server, b"short", "text/plain", start=10**9)).data["text"] == ""


async def test_only_the_named_domains_are_opened(server):
    async def nowhere(host, port):
        raise OSError

    tool = opener(server, domains=["Example.org", ".tea.example."], resolver=nowhere)
    for url in ("https://example.org/", "https://a.example.org./", "https://green.tea.example/"):
        assert "the host is unknown" in (await call_tool(tool, {"url": url})).error
    for url in ("https://example.org.evil.example/", "https://notexample.org/", "https://example.com/"):
        assert "only example.org, tea.example may be opened" in (await call_tool(tool, {"url": url})).error
    server.queue(http_reply(b"", status=302, headers={"location": "https://evil.example/"}))
    assert "may be opened" in (await call_tool(tool, {"url": f"{server.origin}/x"})).error


async def test_a_host_name_outside_ascii_is_opened_in_each_of_its_spellings(server):
    async def nowhere(host, port):
        raise OSError

    port = server.origin.rpartition(":")[2]
    for name in ("b\u00fccher.example", "XN--bcher-kva.example", "B\u00dcCHER\u3002example"):
        tool = FetchUrl(domains=[name], allow=[f"{name}:{port}"], resolver=nowhere)
        for host in (
            "https://b\u00fccher.example",
            "https://a.xn--bcher-kva.example",
            f"http://b\u00fccher.example:{port}",
        ):
            assert "the host is unknown" in (await call_tool(tool, {"url": f"{host}/"})).error
        refused = (await call_tool(tool, {"url": "https://bucher.example/"})).error
        assert "only xn--bcher-kva.example may be opened" in refused


@pytest.mark.parametrize(
    "name", ["", ".", " ", "*.example.org", "https://example.org", "example.org/a", "example.org:443", "me@example.org"]
)
def test_an_invalid_domain_is_refused_when_the_tool_is_created(name):
    with pytest.raises(ConfigurationError, match="is not the name of a host") as caught:
        FetchUrl(domains=[name])
    assert "example.org" in (caught.value.hint or "")
    with pytest.raises(ConfigurationError, match=r"is not the name of a host|allow takes host:port"):
        FetchUrl(allow=[f"{name}:80"])


async def test_a_temporary_error_is_tried_three_times_and_any_other_once(server):
    waits = Waits()
    server.queue(*[http_reply(b"", status=503)] * 2, http_reply(b"there"))
    result = await call_tool(opener(server), {"url": f"{server.origin}/x"}, sleep=waits)
    assert (result.data["text"], waits.pauses) == ("there", [0.5, 1.0])
    server.queue(http_reply(b"", status=404))
    result = await call_tool(opener(server), {"url": f"{server.origin}/x?key=sk-canary"}, sleep=waits)
    assert result.error == f"APINetworkError: {server.origin}/x: answered with status 404"
    assert (len(server.seen), len(waits.pauses)) == (4, 2)


async def test_the_fetch_tool_is_offered_only_on_request():
    assert "fetch_url" not in {tool.name for tool in DefaultAgentToolkit().get_tools()}
    toolkit = DefaultAgentToolkit(standard=False)
    toolkit.register_tool(FetchUrl())
    result = await toolkit.execute_tool("fetch_url", {"url": "file:///etc/passwd"})
    assert "not an http or https address" in result.error
    assert "at least" in (await toolkit.execute_tool("fetch_url", {"url": "https://example.org", "start": -1})).error


def test_a_missing_extra_or_a_wrong_option_is_reported_when_the_tool_is_created(monkeypatch):
    with pytest.raises(ConfigurationError, match=r"allow takes host:port, not '127\.0\.0\.1'"):
        FetchUrl(allow=["127.0.0.1"])
    monkeypatch.setattr(fetch, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match="extra 'fetch'") as caught:
        FetchUrl()
    assert "roundtable-sdk[fetch]" in caught.value.hint


@pytest.mark.parametrize(
    "kind",
    [
        "text/html; charset*=a; charset*0=b",
        "text/html; charset*=utf-8''%00",
        "text/html; charset=a\x7f",
        "text/html; charset=" + "x" * 5_000,
        "text/html; charset*='''; charset*1*=%ff",
        "text/html; charset=undefined",
    ],
)
async def test_a_page_with_an_invalid_encoding_is_read_as_utf_8(server, kind):
    result = await opened(server, "<p>Caf\u00e9 au lait</p>".encode(), kind)
    assert result.data["text"] == "Caf\u00e9 au lait"
