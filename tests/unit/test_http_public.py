"""A page is fetched from the public web alone, however another place is spelt."""

from __future__ import annotations

import pytest

from roundtable.http import AddressRefused
from roundtable.http.guard_public import is_public, web_address

REFUSED = (
    # this machine, as numbers
    "http://127.0.0.1/",
    "http://127.0.0.1:80/",
    "http://127.0.0.1./",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.255.255.254/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0x7f000001/",
    "http://0X7F000001/",
    "http://0177.0.0.1/",
    "http://0177.0000.0000.0001/",
    "http://0x7f.0.0.1/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://0x7f.1/",
    "http://127.0.0.0x1/",
    "http://127.0x0.1/",
    "http://127.000.000.001/",
    "http://0127.0.0.1/",
    "http://425.510.425.510/",
    "http://4429185025/",
    "http://0/",
    "http://0.0.0.0/",
    "http://0x0/",
    "http://00000000000/",
    "http://1/",
    "http://127.0.0.1%00.example.org/",
    # a public address in a spelling that nobody uses
    "http://0x5db8d822/",
    "http://1572395042/",
    "http://93.184.55330/",
    # private networks and consoles of clouds
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://0xa9fea9fe/",
    "http://2852039166/",
    "http://169.254.43518/",
    "http://100.64.0.1/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://192.0.2.1/",
    "http://192.88.99.1/",
    "http://198.18.0.1/",
    "http://198.51.100.7/",
    "http://203.0.113.7/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    # IPv6, and IPv4 inside of it
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]/",
    "http://[::1%25lo]/",
    "http://[::1%lo]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:8.8.8.8]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::8.8.8.8]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "http://[2606:4700::5efe:127.0.0.1]/",
    "http://[2606:4700::200:5efe:a00:1]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[100::1]/",
    "http://[127.0.0.1]/",
    "http://[::1/",
    # local names
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://api.localhost/",
    "http://localhost.localdomain/",
    "http://intranet/",
    "http://printer.local/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://metadata/",
    "http://router.home.arpa/",
    # letters that become digits, dots or ASCII letters
    "http://127。0。0。1/",
    "http://127．0．0．1/",  # noqa: RUF001  (full-width full stops)
    "http://１２７.0.0.1/",  # noqa: RUF001  (full-width digits)
    "http://①②⑦.⓪.⓪.①/",
    "http://ⓛocalhost/",
    "http://loc\u00adalhost/",
    "http://127.0.0\u200b.1/",
    "http://%31%32%37.0.0.1/",
    "http://127%2e0%2e0%2e1/",
    # two readings of one address
    "http://example.org@127.0.0.1/",
    "http://example.org:80@127.0.0.1/",
    "http://user:password@example.org/",
    "http://@example.org/",
    "http://example.org%40127.0.0.1/",
    "http://127.0.0.1\\@example.org/",
    "http://example.org\\.127.0.0.1/",
    "http:\\\\127.0.0.1/",
    "http://127.0.0.1#@example.org/",
    "http://127.0.0.1?@example.org/",
    "http:///127.0.0.1/",
    "http:127.0.0.1/",
    "http:/127.0.0.1/",
    "//127.0.0.1/",
    "127.0.0.1/",
    " http://127.0.0.1/",
    "http://127.0.0.1\t/",
    "http://exam\nple.org/",
    "http://example.org /",
    "http://example.org\r\nHost: 127.0.0.1/",
    "http://a..b.org/",
    "http://-a.org:80/",
    "http://.org/",
    # ports
    "http://example.org:22/",
    "http://example.org:6379/",
    "http://example.org:8080/",
    "http://example.org:0/",
    "http://example.org:65536/",
    "http://example.org:-80/",
    "http://example.org:80:80/",
    "http://example.org:8o/",
    # other schemes
    "file:///etc/passwd",
    "ftp://example.org/",
    "gopher://example.org:80/_x",
    "dict://example.org:80/",
    "javascript:alert(1)",
    "data:text/html,hi",
    "jar:http://example.org!/",
    "unix:///var/run/docker.sock",
    "",
    "http://",
    "https://" + "a" * 64 + ".org/",
    "https://" + "a." * 130 + "org/",
    "https://example.org/" + "a" * 2_048,
)

PUBLIC = (
    ("http://example.org", "http://example.org/"),
    ("https://EXAMPLE.org:443/a?b=c#d", "https://example.org/a?b=c"),
    ("http://example.org:443/", "http://example.org:443/"),
    ("http://example.org./x", "http://example.org./x"),
    ("http://a_b.example.org/", "http://a_b.example.org/"),
    ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"),
    ("http://93.184.216.34/", "http://93.184.216.34/"),
    ("https://[2606:4700::1111]/", "https://[2606:4700::1111]/"),
    ("http://10.example.org/", "http://10.example.org/"),
    ("http://127.0.0.1.example.org/", "http://127.0.0.1.example.org/"),
)


def test_there_are_at_least_sixty_spellings_all_different():
    assert len(set(REFUSED)) == len(REFUSED) >= 60


@pytest.mark.parametrize("url", REFUSED, ids=range(len(REFUSED)))
def test_addresses_outside_the_public_web_are_refused(url):
    with pytest.raises(AddressRefused) as caught:
        web_address(url)
    assert not caught.value.retryable
    assert "password" not in caught.value.message.replace("/etc/passwd", "")


@pytest.mark.parametrize(("url", "written"), PUBLIC, ids=range(len(PUBLIC)))
def test_public_addresses_are_allowed_in_one_spelling(url, written):
    assert web_address(url).url == written


def test_an_allowed_address_need_not_be_public_and_covers_only_its_port():
    allow = ("127.0.0.1:8080", "[::1]:80", "wiki.internal:443")
    for url in ("http://127.0.0.1:8080/x", "http://[::1]/x", "https://wiki.internal/x"):
        assert web_address(url, allow=allow).is_allowed
    for url in ("http://127.0.0.1/", "http://127.0.0.1:8081/", "http://wiki.internal/", "http://127.1:8080/"):
        with pytest.raises(AddressRefused):
            web_address(url, allow=allow)
    for url in ("ftp://127.0.0.1:8080/", "http://me@127.0.0.1:8080/"):
        with pytest.raises(AddressRefused):
            web_address(url, allow=allow)


def test_only_listed_ports_are_called():
    assert web_address("http://example.org:8080/", ports=(8080,)).port == 8080
    with pytest.raises(AddressRefused, match="port 80 is not one of 8080"):
        web_address("http://example.org/", ports=(8080,))


@pytest.mark.parametrize("address", ["", "example.org", "1.2.3", "1.2.3.4/8", "2606:4700::1%eth0"])
def test_an_invalid_address_is_not_public(address):
    assert not is_public(address)


def test_a_refusal_names_the_address_without_its_query():
    with pytest.raises(AddressRefused) as caught:
        web_address("http://localhost/x?token=sk-canary")
    assert caught.value.message == "http://localhost/x: the name belongs to a local network"
    assert caught.value.code == "API_NETWORK_ERROR"
