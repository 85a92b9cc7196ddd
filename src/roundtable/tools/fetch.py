"""The tool that opens a web page. Agents get it only if the caller asks for it."""

from __future__ import annotations

import codecs
import re
from email.message import Message
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field
from pydantic_core import to_json

from roundtable.core.errors import AgentError, ConfigurationError
from roundtable.core.types.base import NonEmpty
from roundtable.core.types.chat import ToolResult
from roundtable.http import PublicWeb, masked_url
from roundtable.http.guard_public import WEB_PORTS
from roundtable.tools.definition import run_in_thread
from roundtable.tools.sources import SnakeValue
from roundtable.tools.standard import StandardTool, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Collection

    from roundtable.http import Page
    from roundtable.http.pages import Resolver
    from roundtable.tools.html_text import PageText

__all__ = ["ACCEPTED", "FetchUrl", "check_allowed", "check_extra", "fetch_url", "read_page"]

FETCH_TIMEOUT_S: Final = 20.0
"""Maximum seconds for a page, including redirects and name look-ups."""
SHOWN_BYTES: Final = 16_000
"""Maximum size of a page's text in one result, in bytes of JSON."""

_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_TEXT: Final = frozenset({"application/json", "application/xml", "application/x-yaml", "application/yaml"})
ACCEPTED: Final = "text/html, application/xhtml+xml, text/plain;q=0.9, application/json;q=0.8, text/*;q=0.7"
"""Value of the `accept` header for pages that `read_page` reads."""
_BYTE_ORDER_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
# Text encodings of web pages. Python knows others, some of which are slow to decode.
_ENCODINGS: Final = ("utf-8", "utf-16", "ascii", "iso8859", "cp", "koi8", "gb", "hz", "big5", "shift_jis", "euc", "mac")
_CHARSET: Final = re.compile(rb"<meta[^>]{1,200}?charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE)

_HOST: Final = re.compile(r"[^/@\s]+:[0-9]{1,5}")


class _FetchInput(SnakeValue):
    url: NonEmpty = Field(description="Address of the page, https://...")
    start: Annotated[int, Field(ge=0)] = Field(default=0, description="Character of its text to begin at.")


class _FetchOutput(SnakeValue):
    url: str
    title: str = ""
    text: str
    next_start: int | None = None


fetch_url: ToolSpec = ToolSpec(
    "fetch_url",
    "Opens a page of the public web and gives its text; a long one in parts, each with the start of the next.",
    _FetchInput,
    _FetchOutput,
)
"""Name, description, input and output of `fetch_url`."""


class FetchUrl(StandardTool[_FetchInput]):
    """Open pages of the public web and return their visible text.

    The model chooses the address, and a text that the model has read may have told it which address to choose.
    Therefore, requests use only http and https, go only to servers of the public internet (see
    `roundtable.http.PublicWeb`), and send only the address. But the address itself can leak what the model knows: set
    `domains` if this matters.

    Args:
        domains: The only domains to open, including their subdomains; if empty, any domain.
        allow: Hosts that may be called although they are not public, each with its port, such as `127.0.0.1:8080`.
        ports: Ports that may be called.
        timeout_s: Maximum seconds for a page in total.
        resolver: Function that looks up the IP addresses of a host; by default, the system's name service.

    Raises:
        ConfigurationError: The extra `fetch` is not installed, an entry of `domains` does not name a host, or an entry
            of `allow` does not name a host and a port.

    Example:
        >>> import anyio
        >>> from roundtable.tools import DefaultAgentToolkit
        >>> toolkit = DefaultAgentToolkit()
        >>> toolkit.register_tool(FetchUrl())
        >>> anyio.run(toolkit.execute_tool, "fetch_url", {"url": "http://127.0.0.1/"}).error
        'AddressRefused: http://127.0.0.1/: the IP address is not public, or not in the usual spelling'
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
        check_extra("fetch_url")
        check_allowed(allow)
        self._web = PublicWeb(domains=domains, allow=allow, ports=ports, resolver=resolver)
        self._timeout_s = timeout_s

    async def answer(self, given: _FetchInput) -> ToolResult:
        """Open the page.

        Raises:
            RoundtableError: The page cannot be loaded, or is not text.
        """
        page = await self._web.get(given.url, timeout_s=self._timeout_s, accept=ACCEPTED)
        parsed = await run_in_thread(lambda: read_page(page))
        remaining = parsed.text[given.start :]
        text = _cut(remaining)
        next_start = given.start + len(text) if len(text) < len(remaining) else None
        output = _FetchOutput(url=page.url, title=parsed.title[:300], text=text, next_start=next_start)
        return ToolResult(success=True, data=output.model_dump(mode="json", exclude_none=True))


def check_allowed(allow: Collection[str]) -> None:
    """Check that every entry of `allow` is a host with a port.

    Raises:
        ConfigurationError: An entry is not a host with a port.
    """
    if invalid := [host for host in allow if not (isinstance(host, str) and _HOST.fullmatch(host))]:
        msg = f"allow takes host:port, not {invalid[0]!r}"
        raise ConfigurationError(msg, hint="For example 127.0.0.1:8080 or [::1]:8080.")


def check_extra(what: str) -> None:
    """Check that the library that reads pages is installed.

    Args:
        what: Name of the feature that needs the library.

    Raises:
        ConfigurationError: The library is not installed.
    """
    if find_spec("lxml") is None:
        msg = f"{what} needs the extra 'fetch'"
        raise ConfigurationError(msg, hint="Install it: pip install 'roundtable-sdk[fetch]'")


def read_page(page: Page) -> PageText:
    """Return the title and the text of a page.

    Raises:
        AgentError: The page is not text.
    """
    from roundtable.tools.html_text import PageText, page_text

    header = Message()
    header["content-type"] = page.headers.get("content-type") or "text/html"
    content_type = header.get_content_type()
    if not (
        content_type in _HTML | _TEXT or content_type.startswith("text/") or content_type.endswith(("+json", "+xml"))
    ):
        msg = f"{masked_url(page.url)}: the content type {content_type[:60]!r} is not text"
        raise AgentError(msg, retryable=False)
    text = _decode(page.body, _charset(header))
    if "\0" in text[:1024]:
        msg = f"{masked_url(page.url)}: the page is not text"
        raise AgentError(msg, retryable=False)
    return page_text(text) if content_type in _HTML else PageText("", text.strip())


def _charset(header: Message) -> str | None:
    """Return the charset that a header names; `None` if it names none, or if the header cannot be parsed."""
    try:
        charset = header.get_content_charset()
    except (LookupError, TypeError, ValueError):
        return None
    return charset if isinstance(charset, str) else None


def _decode(body: bytes, header_charset: str | None) -> str:
    """Decode a page. Its encoding comes from the byte order mark, the header or the `meta` element, or is UTF-8."""
    for mark, coding in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(coding, "replace")
    meta = _CHARSET.search(body[:2048])
    for name in (header_charset, meta[1].decode("ascii", "replace") if meta else None):
        try:
            coding = codecs.lookup(name or "").name
        except (LookupError, ValueError):
            continue
        if coding.startswith(_ENCODINGS):
            return body.decode(coding, "replace")
    return body.decode("utf-8", "replace")


def _cut(text: str) -> str:
    """Return the start of a text, cut so that its JSON fits into one result."""
    text = text[:SHOWN_BYTES]
    while len(to_json(text)) > SHOWN_BYTES:
        text = text[: len(text) * 3 // 4]
    return text
