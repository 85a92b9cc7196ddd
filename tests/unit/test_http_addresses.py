"""A key goes to the address it is meant for, over https or to this machine."""

from __future__ import annotations

import pytest

from roundtable.errors import ConfigurationError
from roundtable.http import checked_url, is_loopback, masked_url


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.org",
        "https://api.example.org:8443/v1",
        "http://localhost:1234/v1",
        "http://LOCALHOST/v1",
        "http://127.0.0.1:1/v1",
        "http://127.9.9.9/v1",
        "http://[::1]:8080/v1",
    ],
)
def test_https_and_loopback_are_accepted_without_a_trailing_slash(url):
    assert checked_url(url) == url
    assert checked_url(f"{url}//") == url


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.org/v1",
        "http://localhost.example.org",
        "http://127.0.0.1.example.org",
        "http://10.0.0.1/v1",
        "http://0.0.0.0/v1",
        "http://[fe80::1]/v1",
        "ftp://127.0.0.1/v1",
        "file:///etc/passwd",
        "127.0.0.1:8080",
        "api.example.org",
        "https://",
        "https://[::1",
        "https://example.org:port/",
        "https://example.org:99999/",
        "https://exa mple.org/v1",
        "https://example.org/\nv1",
        "https://me:secret-word@example.org/v1",
        "https://example.org/v1?key=secret-word",
        "https://example.org/v1#secret-word",
        "",
    ],
)
def test_other_addresses_are_refused_with_a_hint_and_without_secrets(url):
    with pytest.raises(ConfigurationError) as caught:
        checked_url(url, what="OPENAI_BASE_URL")
    assert "OPENAI_BASE_URL" in str(caught.value)
    assert caught.value.hint
    assert "secret-word" not in str(caught.value.to_dict())


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:pw@h.example/a?b=c#d", "https://h.example/a"),
        ("no address @ all", " all"),
        ("h.example/a?x", "h.example/a"),
        ("https://h.example/" + "a" * 500, "https://h.example/" + "a" * 182),
        ("postgresql://me:secret@db.example.org/debates", "postgresql://db.example.org/debates"),
        ("redis://me:sec/ret@db.example.org/1", "redis://***"),
        ("redis://me:sec#ret@db.example.org/1", "redis://***"),
        ("redis://me:sec?ret@db.example.org/1", "redis://***"),
        ("me:secret@db.example.org/1", "db.example.org/1"),
        ("https://api.example.org/@team?key=a@secret", "https://api.example.org/@team"),
        ("sqlite:///data/debates.db", "sqlite:///data/debates.db"),
    ],
)
def test_an_address_is_shown_without_its_secrets(url, shown):
    assert masked_url(url) == shown


def test_loopback_is_recognized_without_a_name_server():
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "192.168.0.1", "nowhere.invalid")] == [
        True,
        True,
        False,
        False,
    ]
