"""Keys and addresses as people write them, plain http, proxies: what is sent where, and what errors and doctor say."""

from __future__ import annotations

import socket
import socketserver
import ssl
import threading
from contextlib import contextmanager, suppress

import pytest
from integration.test_http_client import CERTIFICATE
from integration.test_providers_http import ASK, KEY

from roundtable.cli.doctor import _addresses, _proxies
from roundtable.errors import APINetworkError, ConfigurationError
from roundtable.plugins import load_catalog
from roundtable.providers import BUILTIN_SPECS, HttpProvider
from roundtable.settings import Settings
from roundtable.testing.servers import LoopbackServer
from roundtable.types import ProviderConfig

INFOS = load_catalog().provider_infos()
PROXY = {"HTTPS_PROXY": "http://me:secret@127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}


def model(config=None, name="compatible", **variables):
    return HttpProvider(BUILTIN_SPECS[name])("m", config or ProviderConfig(), Settings.from_env(variables))


@pytest.mark.parametrize(
    "url",
    [
        "http://ollama:11434/v1",
        "http://host.docker.internal:11434/v1",
        "http://192.168.1.20:11434/v1",
        "http://10.0.0.5/v1",
        "http://[fd00::1]:8080/v1",
        "http://gpu.lan/v1",
    ],
)
class TestPlainHttpOnALocalNetwork:
    def test_plain_http_works_without_a_key(self, url):
        assert model(ProviderConfig(base_url=url)).endpoint == url
        assert model(ROUNDTABLE_BASE_URL=url).endpoint == url

    def test_plain_http_with_a_key_is_refused_with_the_ways_to_allow_it(self, url):
        for make in (
            lambda: model(ProviderConfig(base_url=url, api_key=KEY)),
            lambda: model(ROUNDTABLE_BASE_URL=url, ROUNDTABLE_API_KEY=KEY),
            lambda: model(ProviderConfig(base_url=url), "openai", OPENAI_API_KEY=KEY),
        ):
            with pytest.raises(ConfigurationError, match="is plain http") as caught:
                make()
            assert "allow_plain_http=True" in caught.value.hint
            assert "ROUNDTABLE_ALLOW_PLAIN_HTTP" in caught.value.hint
            assert KEY not in str(caught.value)

    def test_plain_http_with_a_key_is_allowed_on_request(self, url):
        assert model(ProviderConfig(base_url=url, api_key=KEY, allow_plain_http=True)).endpoint == url
        assert model(ProviderConfig(base_url=url, api_key=KEY), ROUNDTABLE_ALLOW_PLAIN_HTTP="true").endpoint == url

    def test_doctor_warns_about_plain_http_and_reports_it_as_broken_with_a_key(self, url):
        (note,) = (check for check in _addresses(Settings(compatible_base_url=url, compatible_model="m"), INFOS))
        assert (note.state, "plain http" in note.detail) == ("warning", True)
        (fault,) = _addresses(Settings(compatible_base_url=url, compatible_model="m", compatible_api_key=KEY), INFOS)
        assert (fault.state, "allow_plain_http" in fault.fix) == ("broken", True)


@pytest.mark.parametrize("url", ["http://api.example.org/v1", "http://8.8.8.8/v1", "http://134744072/v1"])
def test_plain_http_to_other_hosts_is_refused_even_without_a_key(url):
    with pytest.raises(ConfigurationError, match="is plain http"):
        model(ProviderConfig(base_url=url))
    assert model(ProviderConfig(base_url=url, allow_plain_http=True)).endpoint == url


def test_the_host_of_ollama_may_be_on_a_local_network():
    assert model(OLLAMA_HOST="http://ollama:11434").endpoint == "http://ollama:11434/v1"
    (note,) = _addresses(Settings(ollama_host="http://ollama:11434"), INFOS)
    assert (note.name, note.state) == ("address OLLAMA_HOST", "warning")


@pytest.mark.parametrize("around", ["{}\n", "{}\r\n", ' "{}"', "'{}'\n"])
async def test_white_space_and_quotes_around_keys_and_addresses_are_removed(around):
    with LoopbackServer() as server:
        config = ProviderConfig(base_url=around.format(server.url), api_key=around.format(KEY))
        made = model(config)
        await made.complete(ASK)
        await made.aclose()
        variables = {"ROUNDTABLE_BASE_URL": around.format(server.url), "ROUNDTABLE_API_KEY": around.format(KEY)}
        made = model(**variables)
        await made.complete(ASK)
        await made.aclose()
    assert [seen.headers["authorization"] for seen in server.seen] == [f"Bearer {KEY}"] * 2


async def call(made):
    try:
        return (await made.complete(ASK)).text
    finally:
        await made.aclose()


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n", b""])
async def test_https_to_a_port_of_plain_http_says_so(answer):
    class Plain(socketserver.BaseRequestHandler):
        """Answers as web servers do to bytes that are not HTTP: with a refusal, or with nothing."""

        def handle(self):
            self.request.recv(65536)
            self.request.sendall(answer)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Plain) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made = model(ProviderConfig(base_url=f"https://127.0.0.1:{server.server_address[1]}/v1"))
        with pytest.raises(APINetworkError, match="could not connect") as caught:
            await call(made)
        server.shutdown()
    assert "TLS" in caught.value.hint
    assert "http://" in caught.value.hint
    assert caught.value.retryable is (not answer)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_plain_http_to_a_port_of_https_says_so():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with LoopbackServer(tls=context) as server:
        made = model(ProviderConfig(base_url=server.url.replace("https:", "http:")))
        with pytest.raises(APINetworkError) as caught:
            await call(made)
    assert "https" in caught.value.hint


class Proxy:
    """An HTTP proxy that leads every call to one port of this machine, or refuses it with a status."""

    def __init__(self, port, status=200):
        self.heads = []
        self._port, self._status = port, status
        self._threads, self._closes = [], False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._start(self._serve)

    def _start(self, work, *parts):
        self._threads.append(threading.Thread(target=work, args=parts, daemon=True))
        self._threads[-1].start()

    def _serve(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._closes:
                client.close()
                return
            self._start(self._handle, client)

    def _handle(self, client):
        with client:
            self._lead(client)

    def _lead(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            if not (piece := client.recv(65536)):
                return
            head += piece
        self.heads.append(head)
        if self._status != 200:
            client.sendall(b"HTTP/1.1 %d No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n" % self._status)
            return
        with socket.create_connection(("127.0.0.1", self._port)) as server:
            if head.startswith(b"CONNECT "):
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                method, url, rest = head.split(b" ", 2)
                server.sendall(b" ".join([method, b"/" + url.split(b"/", 3)[3], rest]))
            back = threading.Thread(target=relay, args=(client, server), daemon=True)
            back.start()
            relay(server, client)
            back.join()

    def close(self):
        # Closing a socket does not wake up a thread that waits for a connection.
        self._closes = True
        socket.create_connection(self._listener.getsockname()).close()
        self._listener.close()
        for thread in self._threads:
            thread.join(10)


def relay(source, target):
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
    except OSError:
        pass
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxied(status=200, tls=None):
    with LoopbackServer(tls=tls) as server:
        proxy = Proxy(int(server.url.split(":")[2].partition("/")[0]), status)
        try:
            yield server, proxy
        finally:
            proxy.close()


HOST = "http://models.example.org/v1"


def ways(proxy):
    """Every way to set a proxy: configuration and environment."""
    plain = {"base_url": HOST, "allow_plain_http": True}
    environment = {"HTTP_PROXY": proxy.url, "NO_PROXY": "other.example.org"}
    return [
        (ProviderConfig(**plain, proxy=proxy.url), {}),
        (ProviderConfig(**plain, proxy=proxy.url.removeprefix("http://")), {}),
        (ProviderConfig(**plain, trust_env=True), environment),
        (ProviderConfig(**plain), {"ROUNDTABLE_PROXY": proxy.url}),
        (ProviderConfig(**plain), {"ROUNDTABLE_PROXY": "env", "http_proxy": proxy.url}),
    ]


class TestProxies:
    @pytest.mark.parametrize("way", range(5))
    async def test_every_way_to_set_a_proxy_works(self, way):
        with proxied() as (server, proxy):
            config, variables = ways(proxy)[way]
            assert await call(model(config, **variables)) == "ok"
            assert proxy.heads[0].startswith(b"POST http://models.example.org/v1/chat/completions ")
            assert len(server.seen) == 1

    async def test_https_goes_through_a_tunnel_and_the_key_is_never_shown_to_the_proxy(self, monkeypatch):
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        with proxied(tls=context) as (server, proxy):
            config = ProviderConfig(base_url=server.url, api_key=KEY, proxy=proxy.url)
            assert await call(model(config)) == "ok"
            assert proxy.heads[0].startswith(b"CONNECT 127.0.0.1:")
            assert KEY.encode() not in b"".join(proxy.heads)
            assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"

    async def test_a_proxy_that_refuses_is_named_and_not_retried(self):
        with proxied(status=407) as (_, proxy):
            made = model(ProviderConfig(base_url="https://models.example.org/v1", proxy=proxy.url))
            with pytest.raises(APINetworkError, match="the proxy refused") as caught:
                await call(made)
        assert not caught.value.retryable
        assert proxy.url in caught.value.hint

    async def test_an_unreachable_proxy_is_named_without_its_password(self):
        config = ProviderConfig(base_url="https://models.example.org/v1", proxy="http://me:secret@127.0.0.1:9")
        with pytest.raises(APINetworkError) as caught:
            await call(model(config))
        assert "through the proxy http://127.0.0.1:9" in caught.value.hint
        assert "secret" not in f"{caught.value} {caught.value.hint} {config!r}"

    async def test_proxies_of_the_environment_are_ignored_and_errors_say_so(self, monkeypatch):
        with LoopbackServer() as server:
            assert await call(model(ProviderConfig(base_url=server.url), **PROXY)) == "ok"
            assert await call(model(ProviderConfig(base_url=server.url), **PROXY, ROUNDTABLE_PROXY="env")) == "ok"
        lookup = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", lambda _host, *rest, **more: lookup("127.0.0.1", *rest, **more))
        with pytest.raises(APINetworkError, match="could not connect") as caught:
            await call(model(ProviderConfig(base_url="https://models.example.org:9/v1"), **PROXY))
        assert "proxy" in caught.value.hint
        assert "trust_env=True" in caught.value.hint

    def test_proxies_are_skipped_for_hosts_in_no_proxy(self):
        settings = Settings.from_env({**PROXY, "NO_PROXY": "example.net, *.corp.example, api.example.org:8443"})
        excluded = ("https://example.net/v1", "https://a.example.net", "https://x.corp.example",
                    "https://api.example.org:8443/v1", "https://127.0.0.1/", "http://localhost:1/v1")  # fmt: skip
        assert [settings.proxy_for(url) for url in excluded] == [None] * 6
        assert settings.proxy_for("https://notexample.net") == PROXY["HTTPS_PROXY"]
        assert Settings.from_env({**PROXY, "no_proxy": "*"}).proxy_for("https://example.org") is None

    @pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "http://", "http://a b:1", "http://h:port"])
    def test_proxies_of_another_kind_are_refused(self, proxy):
        with pytest.raises(ConfigurationError, match="not the address of an HTTP proxy"):
            model(ProviderConfig(base_url="https://models.example.org", proxy=proxy))
        with pytest.raises(ConfigurationError, match="ROUNDTABLE_PROXY"):
            model(ProviderConfig(base_url="https://models.example.org"), ROUNDTABLE_PROXY=proxy)

    def test_a_proxy_together_with_a_client_of_the_caller_is_refused(self):
        import httpx

        client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200)))
        config = ProviderConfig(base_url="https://models.example.org", client=client, proxy="http://h:1")
        with pytest.raises(ConfigurationError, match="no effect on your own client"):
            model(config)

    def test_doctor_lists_proxies(self):
        (ignored,) = _proxies(Settings.from_env(PROXY))
        assert (ignored.state, "ROUNDTABLE_PROXY=env" in ignored.fix) == ("warning", True)
        (used,) = _proxies(Settings.from_env({**PROXY, "ROUNDTABLE_PROXY": "env"}))
        assert used.state == "ok"
        (own,) = _proxies(Settings.from_env({"ROUNDTABLE_PROXY": "http://me:secret@proxy:3128"}))
        assert (own.state, "http://proxy:3128" in own.detail) == ("ok", True)
        (broken,) = _proxies(Settings.from_env({"ROUNDTABLE_PROXY": "socks5://proxy"}))
        assert broken.state == "broken"
        assert not any("secret" in f"{check.detail} {check.fix}" for check in (ignored, used, own, broken))
        assert [*_proxies(Settings())] == []
