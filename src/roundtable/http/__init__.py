"""HTTP for the rest of the library: requests and responses are plain values.

Only this package imports httpx, and only at the first request.
"""

from __future__ import annotations

from roundtable.http.client import HttpClient, HttpLimits, HttpRequest, HttpResponse, HttpStream
from roundtable.http.guard_public import AddressRefused, check_plain_http, checked_url, is_loopback, masked_url
from roundtable.http.pages import Page, PublicWeb
from roundtable.http.sse import SseEvent, SseFramer

__all__ = [
    "AddressRefused",
    "HttpClient",
    "HttpLimits",
    "HttpRequest",
    "HttpResponse",
    "HttpStream",
    "Page",
    "PublicWeb",
    "SseEvent",
    "SseFramer",
    "check_plain_http",
    "checked_url",
    "is_loopback",
    "masked_url",
]
