"""HTTP as the rest of the library sees it: values in, values out.

Only this package imports httpx, and not before the first request.
"""

from __future__ import annotations

from roundtable.http.addresses import checked_url, is_loopback, shown_url
from roundtable.http.client import HttpClient, HttpStream
from roundtable.http.messages import HttpLimits, HttpRequest, HttpResponse
from roundtable.http.pages import Page, PublicWeb
from roundtable.http.public import AddressRefused
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
    "checked_url",
    "is_loopback",
    "shown_url",
]
