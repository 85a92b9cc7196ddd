"""Pages come over connections to addresses that were checked, whatever name services and servers say."""

from __future__ import annotations

import gzip
import ssl
from pathlib import Path

import anyio
import pytest

from roundtable.errors import APINetworkError, APIRateLimitError, APITimeoutError
from roundtable.http import AddressRefused, PublicWeb
from roundtable.http import client as client_module
from roundtable.http.pages import system_resolver
from roundtable.testing.servers import LoopbackServer, WireReply, http_reply, sse_reply

CERTIFICATE = Path(__file__).parent / "loopback.pem"
HTML = {"content-type": "text/html"}


class Names:
    """A name service that gives its answers one after the other, and the last one from then on."""

    def __init__(self, **answers):
        self.answers = {name.replace("_", "."): list(found) for name, found in answers.items()}
        self.asked = []

    async def __call__(self, host, port):
        self.asked.append((host, port))
        answers = self.answers[host]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture
def server():
    with LoopbackServer() as running:
        yield running


def redirect(where, status=302):
    return http_reply(b"", status=status, headers={"location": where})


def place(server):
    return server.origin.partition("://")[2]


def web(server, **more):
    """Return a fetcher that may call the server, and nothing else on this machine."""
    return PublicWeb(allow=[place(server)], **more)


async def get(fetcher, url, timeout_s=5):
    return await fetcher.get(url, timeout_s=timeout_s)


async def test_this_machine_is_reached_only_if_it_is_allowed(server):
    server.queue(http_reply(b"<p>Hi", headers=HTML))
    for refused in (PublicWeb(), PublicWeb(ports=(int(server.origin.rpartition(":")[2]),))):
        with pytest.raises(AddressRefused):
            await get(refused, f"{server.origin}/x")
    assert server.connections == 0
    page = await get(web(server), f"{server.origin}/x?y=1#z")
    assert (page.url, page.body, page.is_cut) == (f"{server.origin}/x?y=1", b"<p>Hi", False)
    assert page.headers["content-type"] == "text/html"
    (seen,) = server.seen
    assert set(seen.headers) == {"host", "accept", "accept-encoding", "user-agent"}


async def test_the_host_header_keeps_the_name_while_the_connection_goes_to_the_checked_address(server):
    port = int(server.origin.rpartition(":")[2])
    names = Names(site_example=[["127.0.0.1"]])
    fetcher = PublicWeb(allow=[f"site.example:{port}"], resolver=names)
    await get(fetcher, f"http://site.example:{port}/a")
    assert server.seen[0].headers["host"] == f"site.example:{port}"
    assert names.asked == [("site.example", port)]


async def test_a_name_service_that_changes_its_answer_changes_nothing(server, monkeypatch):
    """The name is looked up once; what it would stand for a moment later is never connected to."""
    looked_up = []
    real = anyio.getaddrinfo

    async def rebinding(host, *args, **kwargs):
        looked_up.append(host)
        return await real("127.0.0.1", *args, **kwargs)

    monkeypatch.setattr(anyio, "getaddrinfo", rebinding)
    # 192.0.2.1 would be refused: a public address that nobody answers at is wanted, so the deadline ends the call.
    names = Names(rebind_example=[["93.184.216.34"], ["127.0.0.1"]])
    fetcher = PublicWeb(resolver=names)
    with pytest.raises((APITimeoutError, APINetworkError)):
        await get(fetcher, "http://rebind.example/", timeout_s=0.3)
    assert names.asked == [("rebind.example", 80)]
    assert "rebind.example" not in looked_up
    with pytest.raises(AddressRefused, match="has an IP address that is not public"):
        await get(fetcher, "http://rebind.example/")
    assert server.connections == 0


@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1"],
        ["93.184.216.34", "10.0.0.1"],
        ["2606:4700::1111", "::1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["fe80::1%eth0"],
        ["169.254.169.254"],
        ["not an address"],
    ],
    ids=" ".join,
)
async def test_a_name_with_any_internal_address_is_refused(found):
    fetcher = PublicWeb(resolver=Names(inside_example=[found]))
    with pytest.raises(AddressRefused):
        await get(fetcher, "https://inside.example/")


@pytest.mark.parametrize(
    "where",
    [
        "http://127.0.0.1/trap",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://0x7f000001/",
        "http://2130706433/",
        "//localhost/trap",
        "http://inside.example/",
        "http://me@example.org/",
        "http://example.org:6379/",
        "file:///etc/passwd",
        "ftp://example.org/",
        "http://[",
        "\\\\127.0.0.1\\x",
        f"https://example.org/{'a' * 2_048}",
    ],
)
async def test_a_redirect_to_a_forbidden_address_is_refused(server, where):
    server.queue(redirect(where))
    fetcher = web(server, resolver=Names(inside_example=[["192.168.0.1"]]))
    with pytest.raises(AddressRefused):
        await get(fetcher, f"{server.origin}/x")
    assert (server.connections, server.traps) == (1, 0)


@pytest.mark.parametrize("size", [300, 15_000])
async def test_a_redirect_to_a_host_with_many_marks_is_refused_before_it_is_normalised(server, size):
    marks = "\u0301" * size + "\u0327" * size  # normalising 30,000 of them takes seconds
    server.queue(redirect(f"https://a{marks}/x".encode().decode("latin-1")))
    with pytest.raises(AddressRefused):
        await get(web(server, resolver=Names()), f"{server.origin}/x")


async def test_a_redirect_to_another_port_of_this_machine_is_refused(server):
    with LoopbackServer() as other:
        server.queue(redirect(f"{other.origin}/trap"))
        with pytest.raises(AddressRefused):
            await get(web(server), f"{server.origin}/x")
        assert other.connections == 0


async def test_each_hop_is_resolved_again_and_checked_again(server):
    port = int(server.origin.rpartition(":")[2])
    names = Names(site_example=[["127.0.0.1"]], next_example=[["10.0.0.1"]])
    server.queue(redirect(f"http://site.example:{port}/b"), redirect("https://next.example/"))
    fetcher = PublicWeb(allow=[f"site.example:{port}"], resolver=names)
    with pytest.raises(AddressRefused, match=r"https://next\.example/"):
        await get(fetcher, f"http://site.example:{port}/a")
    assert [host for host, _ in names.asked] == ["site.example", "site.example", "next.example"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_relative_redirects_are_resolved_against_the_current_page(server, status):
    server.queue(redirect("../ü?q=1#part".encode().decode("latin-1"), status), http_reply(b"there"))
    page = await get(web(server), f"{server.origin}/a/b/c")
    assert page.url == f"{server.origin}/a/%C3%BC?q=1"
    assert [seen.path for seen in server.seen] == ["/a/b/c", "/a/%C3%BC?q=1"]


async def test_five_redirects_are_followed_and_no_sixth(server):
    server.queue(*[redirect(f"/{number}") for number in range(5)], http_reply(b"there"))
    assert (await get(web(server), f"{server.origin}/x")).body == b"there"
    server.queue(*[redirect("/again") for _ in range(6)])
    with pytest.raises(APINetworkError, match="more than 5 redirects") as caught:
        await get(web(server), f"{server.origin}/x")
    assert not caught.value.retryable
    assert len(server.seen) == 12


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (300, APINetworkError, False),
        (302, APINetworkError, False),
        (304, APINetworkError, False),
        (404, APINetworkError, False),
        (429, APIRateLimitError, True),
        (500, APINetworkError, True),
        (503, APINetworkError, True),
    ],
)
async def test_other_statuses_are_errors(server, status, kind, retryable):
    server.queue(http_reply(b"secret page", status=status))
    with pytest.raises(kind, match=f"answered with status {status}") as caught:
        await get(web(server), f"{server.origin}/x?key=sk-canary")
    assert caught.value.retryable is retryable
    assert "canary" not in caught.value.message
    assert "secret page" not in caught.value.message


async def test_a_page_is_cut_at_its_limit_plain_or_compressed(server):
    fetcher = web(server, page_bytes=1000)
    for body, headers in ((b"a" * 5000, {}), (gzip.compress(b"a" * 5000), {"content-encoding": "gzip"})):
        server.queue(http_reply(body, headers=headers))
        page = await get(fetcher, f"{server.origin}/x")
        assert (page.body, page.is_cut) == (b"a" * 1000, True)
    server.queue(http_reply(b"a" * 1000))
    assert not (await get(fetcher, f"{server.origin}/x")).is_cut


@pytest.mark.slow
async def test_a_compression_bomb_is_not_read(server):
    """40 MiB in 40 kB."""
    server.queue(http_reply(gzip.compress(b"\0" * 40 * 2**20), headers={"content-encoding": "gzip"}))
    page = await get(web(server), f"{server.origin}/x")
    assert (len(page.body), page.is_cut) == (2 * 2**20, True)


async def test_endless_and_dripping_pages_end(server):
    server.queue(sse_reply([b"x" * 2**16] * 100))
    page = await get(web(server), f"{server.origin}/x")
    assert (len(page.body), page.is_cut) == (2 * 2**20, True)
    server.queue(sse_reply([b"x"] * 200, pause_s=0.02))
    with pytest.raises(APITimeoutError):
        await get(web(server), f"{server.origin}/x", timeout_s=0.2)


async def test_the_deadline_covers_all_hops_and_the_name_service(server):
    server.queue(*[WireReply([0.1, *redirect("/again").parts]) for _ in range(6)])
    with pytest.raises(APITimeoutError, match=r"no complete page within 0\.25 s"):
        await get(web(server), f"{server.origin}/x", timeout_s=0.25)

    async def silent(host, port):
        await anyio.sleep_forever()

    with pytest.raises(APITimeoutError):
        await get(PublicWeb(resolver=silent), "https://example.org/", timeout_s=0.05)


async def test_an_unknown_host_is_a_plain_error():
    names = Names(gone_example=[OSError("no such host")], empty_example=[[]])
    with pytest.raises(APINetworkError, match="the host is unknown"):
        await get(PublicWeb(resolver=names), "https://gone.example/")
    with pytest.raises(APINetworkError, match="the host has no address"):
        await get(PublicWeb(resolver=names), "https://empty.example/")


async def test_the_systems_name_service_knows_this_machine():
    assert "127.0.0.1" in await system_resolver("127.0.0.1", 80)


async def test_the_next_address_of_a_host_is_tried_when_one_does_not_answer(server):
    port = int(server.origin.rpartition(":")[2])
    fetcher = PublicWeb(allow=[f"site.example:{port}"], resolver=Names(site_example=[["127.0.0.2", "127.0.0.1"]]))
    assert (await get(fetcher, f"http://site.example:{port}/")).body
    server.queue(http_reply(b"", status=404), http_reply(b"", status=500), http_reply(b"there"))
    twice = PublicWeb(allow=[f"site.example:{port}"], resolver=Names(site_example=[["127.0.0.1", "127.0.0.1"]]))
    with pytest.raises(APINetworkError, match="404"):
        await get(twice, f"http://site.example:{port}/")
    assert (await get(twice, f"http://site.example:{port}/")).body == b"there"


async def test_tls_uses_the_host_name_and_not_the_address(monkeypatch):
    """The certificate is that of 127.0.0.1: right for the address, wrong for any name that leads there."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    asked = []
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    trusting = ssl.create_default_context(cafile=str(CERTIFICATE))
    monkeypatch.setattr(client_module, "_tls_context", lambda: trusting)
    with LoopbackServer(tls=context) as server:
        port = int(server.origin.rpartition(":")[2])
        assert (await get(web(server), f"{server.origin}/x")).body
        fetcher = PublicWeb(allow=[f"site.example:{port}"], resolver=Names(site_example=[["127.0.0.1"]]))
        with pytest.raises(APINetworkError, match="certificate was refused"):
            await get(fetcher, f"https://site.example:{port}/")
        assert asked[-1] == "site.example"
        assert len(server.seen) == 1


async def test_connections_end_with_their_page(server):
    for _ in range(3):
        await get(web(server), f"{server.origin}/x")
    with anyio.fail_after(20):
        while server.open_connections:  # noqa: ASYNC110  (a server on threads)
            await anyio.sleep(0.01)
    assert server.connections == 3


async def test_proxies_of_the_environment_are_not_used(server, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await get(web(server), f"{server.origin}/x")).body
