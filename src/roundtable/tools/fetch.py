"""The tool that opens a page of the web. Offered to agents only where it was asked for."""

from __future__ import annotations

import codecs
import re
from email.message import Message
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field
from pydantic_core import to_json

from roundtable.errors import AgentError, ConfigurationError
from roundtable.http import PublicWeb, shown_url
from roundtable.http.public import WEB_PORTS
from roundtable.tools.sources import SnakeValue
from roundtable.tools.standard import StandardTool, ToolSpec
from roundtable.tools.threads import run_in_thread
from roundtable.types import ToolResult
from roundtable.types.base import NonEmpty

if TYPE_CHECKING:
    from collections.abc import Collection

    from roundtable.http import Page
    from roundtable.http.pages import Resolver
    from roundtable.tools.html_text import PageText

__all__ = ["FetchUrl", "fetch_url"]

FETCH_TIMEOUT_S: Final = 20.0
"""Seconds a page may take, with redirects and name look-ups."""
SHOWN_BYTES: Final = 16_000
"""Most bytes of a page's text, as JSON, in one result."""

_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_TEXT: Final = frozenset({"application/json", "application/xml", "application/x-yaml", "application/yaml"})
_ACCEPT: Final = "text/html, application/xhtml+xml, text/plain;q=0.9, application/json;q=0.8, text/*;q=0.7"
_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
# Of those that Python knows: others are no codings of pages, and some take long to undo.
_CODINGS: Final = ("utf-8", "utf-16", "ascii", "iso8859", "cp", "koi8", "gb", "hz", "big5", "shift_jis", "euc", "mac")
_CHARSET: Final = re.compile(rb"<meta[^>]{1,200}?charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE)


class _Wanted(SnakeValue):
    url: NonEmpty = Field(description="Address of the page, https://...")
    start: Annotated[int, Field(ge=0)] = Field(default=0, description="Character of its text to begin at.")


class _Shown(SnakeValue):
    url: str
    title: str = ""
    text: str
    next_start: int | None = None


fetch_url: ToolSpec = ToolSpec(
    "fetch_url",
    "Opens a page of the public web and gives its text; a long one in parts, each with the start of the next.",
    _Wanted,
    _Shown,
)
"""What `fetch_url` takes and gives."""


class FetchUrl(StandardTool[_Wanted]):
    """Opens pages of the public web and gives their visible text.

    The address is written by a model that may have been told to by what it has read. So only http and https are
    spoken, only to servers of the public internet (see `roundtable.http.PublicWeb`), and nothing is sent but the
    address. The address itself can carry away what the model knows: name `domains` where that matters.

    Args:
        domains: The only domains to open, with all that is below them; any when empty.
        allow: Hosts with their port, such as `127.0.0.1:8080`, that need not be public.
        ports: Ports that may be called.
        timeout_s: Seconds a page may take in all.
        resolver: Looks up the IP addresses of a host; the system's name service when left out.

    Raises:
        ConfigurationError: The extra `fetch` is not installed, or `allow` has an entry without a port.

    Example:
        >>> import anyio
        >>> from roundtable.tools import DefaultAgentToolkit
        >>> toolkit = DefaultAgentToolkit()
        >>> toolkit.register_tool(FetchUrl())
        >>> anyio.run(toolkit.execute_tool, "fetch_url", {"url": "http://127.0.0.1/"}).error
        'AddressRefused: http://127.0.0.1/: the IP address is not public, or not spelt in the usual way'
    """

    spec = fetch_url
    retryable = True
    cached = True

    def __init__(
        self,
        *,
        domains: Collection[str] = (),
        allow: Collection[str] = (),
        ports: Collection[int] = WEB_PORTS,
        timeout_s: float = FETCH_TIMEOUT_S,
        resolver: Resolver | None = None,
    ) -> None:
        _check_extra()
        if wrong := [one for one in allow if not one.rpartition(":")[2].isdigit()]:
            msg = f"allow takes host:port, not {wrong[0]!r}"
            raise ConfigurationError(msg, hint="Such as 127.0.0.1:8080, or [::1]:8080.")
        self._web = PublicWeb(domains=domains, allow=allow, ports=ports, resolver=resolver)
        self._timeout_s = timeout_s

    async def answer(self, given: _Wanted) -> ToolResult:
        """Open the page.

        Raises:
            RoundtableError: It cannot be had, or is no text.
        """
        page = await self._web.get(given.url, timeout_s=self._timeout_s, accept=_ACCEPT)
        read = await run_in_thread(lambda: _read(page))
        begun = read.text[given.start :]
        text = _fitting(begun)
        following = given.start + len(text) if len(text) < len(begun) else None
        shown = _Shown(url=page.url, title=read.title[:300], text=text, next_start=following)
        return ToolResult(success=True, data=shown.model_dump(mode="json", exclude_none=True))


def _check_extra() -> None:
    if find_spec("lxml") is None:
        msg = "fetch_url needs the extra 'fetch'"
        raise ConfigurationError(msg, hint="Install it: pip install 'roundtable-sdk[fetch]'")


def _read(page: Page) -> PageText:
    """Give the text of a page.

    Raises:
        AgentError: It is no text.
    """
    from roundtable.tools.html_text import PageText, page_text

    header = Message()
    header["content-type"] = page.headers.get("content-type") or "text/html"
    kind, charset = header.get_content_type(), header.get_content_charset()
    if not (kind in _HTML | _TEXT or kind.startswith("text/") or kind.endswith(("+json", "+xml"))):
        msg = f"{shown_url(page.url)}: is {kind[:60]}, which is no text"
        raise AgentError(msg, retryable=False)
    text = _decoded(page.body, charset if isinstance(charset, str) else None)
    if "\0" in text[:1024]:
        msg = f"{shown_url(page.url)}: is no text"
        raise AgentError(msg, retryable=False)
    return page_text(text) if kind in _HTML else PageText("", text.strip())


def _decoded(body: bytes, named: str | None) -> str:
    """Decode a page by its byte order mark, its header, its own words, or as UTF-8."""
    for mark, coding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(coding, "replace")
    found = _CHARSET.search(body[:2048])
    for name in (named, found[1].decode("ascii", "replace") if found else None):
        try:
            coding = codecs.lookup(name or "").name
        except LookupError:
            continue
        if coding.startswith(_CODINGS):
            return body.decode(coding, "replace")
    return body.decode("utf-8", "replace")


def _fitting(text: str) -> str:
    """Give the beginning of a text whose JSON is short enough for one result."""
    text = text[:SHOWN_BYTES]
    while len(to_json(text)) > SHOWN_BYTES:
        text = text[: len(text) * 3 // 4]
    return text
