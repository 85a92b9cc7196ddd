"""Rendering of HTML pages from templates, with security headers."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from jinja2 import DictLoader, Environment, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse

from roundtable._version import __version__
from roundtable.core.base.words import counted
from roundtable.report import Html, initials, plain
from roundtable.report.html_builder import tag
from roundtable.server.request_context import REQUEST_ID, ROOT_PATH, from_root

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from roundtable.auth import Identity
    from roundtable.auth.guard import Message
    from roundtable.core.errors import RoundtableError

__all__ = [
    "RENDER_THREADS",
    "SECURITY_HEADERS",
    "failure_page",
    "page",
    "redirect_to",
    "refusal",
    "see_session",
    "wants_page",
]

RENDER_THREADS: Final = 2
"""How many session pages are rendered at the same time. More threads would only slow down the event loop."""

SECURITY_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    # With no-referrer, browsers would send forms with the Origin `null`, which `AccessGuard` refuses.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""Security headers: a page may load files only from this server, and send forms only to it."""

_TITLES: Final = {
    400: "That does not work",
    401: "Please log in",
    403: "Not allowed",
    404: "Not found",
    405: "That does not work",
    409: "Not now",
    421: "Wrong address",
    429: "Too many requests",
    503: "Not available right now",
}


@cache
def _templates() -> Environment:
    folder = files("roundtable.server.pages") / "templates"
    sources = {entry.name: entry.read_text("utf-8") for entry in folder.iterdir()}
    # `finalize` removes characters that hide or reorder the text around them from every value.
    environment = Environment(
        loader=DictLoader(sources),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_safe_text,
    )
    filters: dict[str, Callable[..., str | Html]] = {"when": _format_time, "initials": initials, "counted": counted}
    environment.filters.update(filters)
    return environment


def _safe_text(value: object) -> object:
    return plain(value, lines=True) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _format_time(moment: datetime) -> Html:
    """Return a time in UTC; the script of the pages shows it in the time zone of the reader."""
    return tag("time", f"{moment:%d %b %Y, %H:%M} UTC", datetime=moment.isoformat())


def page(template: str, *, user: Identity | None = None, status: int = 200, **values: object) -> HTMLResponse:
    """Return a page.

    Args:
        template: Name of the template without its extension.
        user: The user who is logged in; `None` if nobody is logged in.
        status: HTTP status.
        values: Values for the template.
    """
    text = (
        _templates()
        .get_template(f"{template}.html")
        .render(version=__version__, root=ROOT_PATH.get(), user=user, csrf=getattr(user, "csrf", ""), **values)
    )
    return HTMLResponse(text, status, {**SECURITY_HEADERS, "cache-control": "no-store"})


def redirect_to(path: str) -> RedirectResponse:
    """Redirect a browser to another page of this server."""
    return RedirectResponse(from_root(path), 303, {"cache-control": "no-store"})


def see_session(session_id: str) -> RedirectResponse:
    """Redirect a browser to the page of a session; the session's id may contain any characters."""
    return redirect_to(f"/sessions/{quote(session_id, safe='')}")


def failure_page(status: int, message: str, hint: str | None, user: Identity | None = None) -> HTMLResponse:
    """Return a page that explains an error."""
    title = _TITLES.get(status, "Something went wrong" if status >= 500 else "That does not work")
    return page(
        "failure",
        user=user,
        status=status,
        title=title,
        message=message,
        hint=hint,
        number=REQUEST_ID.get(),
    )


def wants_page(scope: Message) -> bool:
    """Check whether a request expects a page, as browsers do."""
    accept = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return b"text/html" in accept and not scope["path"].startswith("/api/")


def refusal(scope: Message, status: int, error: RoundtableError) -> HTMLResponse | RedirectResponse | None:
    """Return the response for a browser whose request was refused; `None` for a program."""
    if not wants_page(scope):
        return None
    if status != 401:
        return failure_page(status, error.message, error.hint)
    target = scope["path"] + (f"?{scope['query_string'].decode('latin-1')}" if scope.get("query_string") else "")
    return redirect_to(
        f"/login?next={quote(target, safe='')}" if scope["method"] == "GET" and target != "/" else "/login"
    )
