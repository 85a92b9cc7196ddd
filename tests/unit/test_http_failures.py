"""Every exception of httpx has its place among ours, and none carries a header, a key or a body."""

from __future__ import annotations

import inspect
import pickle
import ssl

import httpx
import pytest

from roundtable.errors import AgentError, APINetworkError, APITimeoutError, ConfigurationError, RoundtableError
from roundtable.http.failures import library_errors, to_library_error

SECRET = "sk-canary-0000000000"
KINDS = sorted(
    (kind for _, kind in inspect.getmembers(httpx, inspect.isclass) if issubclass(kind, Exception)),
    key=lambda kind: kind.__name__,
)
EXPECTED = {
    "CloseError": APINetworkError,
    "ConnectError": APINetworkError,
    "ConnectTimeout": APITimeoutError,
    "CookieConflict": AgentError,
    "DecodingError": APINetworkError,
    "HTTPError": APINetworkError,
    "HTTPStatusError": APINetworkError,
    "InvalidURL": ConfigurationError,
    "LocalProtocolError": ConfigurationError,
    "NetworkError": APINetworkError,
    "PoolTimeout": APITimeoutError,
    "ProtocolError": APINetworkError,
    "ProxyError": APINetworkError,
    "ReadError": APINetworkError,
    "ReadTimeout": APITimeoutError,
    "RemoteProtocolError": APINetworkError,
    "RequestError": APINetworkError,
    "RequestNotRead": AgentError,
    "ResponseNotRead": AgentError,
    "StreamClosed": AgentError,
    "StreamConsumed": AgentError,
    "StreamError": AgentError,
    "TimeoutException": APITimeoutError,
    "TooManyRedirects": APINetworkError,
    "TransportError": APINetworkError,
    "UnsupportedProtocol": ConfigurationError,
    "WriteError": APINetworkError,
    "WriteTimeout": APITimeoutError,
}


def make(kind):
    request = httpx.Request("POST", "https://h.example/v1", headers={"authorization": SECRET})
    if issubclass(kind, httpx.HTTPStatusError):
        return kind(SECRET, request=request, response=httpx.Response(500, request=request, text=SECRET))
    if kind in {httpx.RequestNotRead, httpx.ResponseNotRead, httpx.StreamClosed, httpx.StreamConsumed}:
        return kind()
    return kind(f"quotes {SECRET}") if "Protocol" in kind.__name__ or kind is httpx.InvalidURL else kind("why")


def test_the_table_covers_every_error_of_httpx():
    assert {kind.__name__ for kind in KINDS} == EXPECTED.keys()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_error_is_mapped_once_and_shows_no_secret(kind):
    with pytest.raises(RoundtableError) as caught, library_errors("acme", "https://h.example/v1"):
        raise make(kind)
    error = caught.value
    assert type(error) is EXPECTED[kind.__name__]
    assert error.provider == "acme"
    assert "https://h.example/v1: " in str(error)
    if kind is not httpx.ProtocolError:
        assert SECRET not in str(error.to_dict())
        assert SECRET.encode() not in pickle.dumps(error)


@pytest.mark.parametrize("exc", [ConnectionResetError("reset"), OSError("broken"), ssl.SSLError("alert")])
def test_errors_of_the_system_count_as_the_network(exc):
    assert isinstance(to_library_error(exc, "acme", ""), APINetworkError)


def test_a_closed_client_of_the_callers_is_named_as_the_cause():
    error = to_library_error(RuntimeError("Cannot send a request, as the client has been closed."), "acme", "")
    assert isinstance(error, AgentError)
    assert error.hint is not None
    assert "your own client" in error.hint


def test_an_invalid_certificate_is_not_tried_again():
    fault = httpx.ConnectError("handshake")
    fault.__cause__ = OSError("layer between")
    fault.__cause__.__context__ = ssl.SSLCertVerificationError(1, "self-signed")
    error = to_library_error(fault, "acme", "https://h.example")
    assert isinstance(error, APINetworkError)
    assert not error.retryable
    assert "certificate" in str(error)
    assert to_library_error(httpx.ConnectError("refused"), "acme", "").retryable


def test_errors_of_the_library_pass_unchanged():
    error = AgentError("mine")
    with pytest.raises(AgentError) as caught, library_errors("acme", ""):
        raise error
    assert caught.value is error
    with pytest.raises(KeyboardInterrupt), library_errors("acme", ""):
        raise KeyboardInterrupt
