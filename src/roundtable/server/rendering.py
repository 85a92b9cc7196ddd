"""Pages as they are answered: filled in, inert, and with all that a browser must not do."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from jinja2 import DictLoader, Environment, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse

from roundtable._version import __version__
from roundtable.report import initials, plain
from roundtable.server.requests import REQUEST_ID

if TYPE_CHECKING:
    from datetime import datetime

    from roundtable.auth import Identity
    from roundtable.auth.guard import Message
    from roundtable.errors import RoundtableError

__all__ = ["INERT", "failure_page", "page", "refusal", "see", "wants_page"]

INERT: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    # With no-referrer browsers would send forms with the Origin `null`, which the door refuses.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""What a browser may do with a page: load files from here, send forms to here, and nothing else."""

_TITLES: Final = {
    400: "That does not work",
    401: "Please log in",
    403: "Not allowed",
    404: "There is nothing here",
    405: "That does not work",
    409: "Not now",
    421: "Wrong address",
    429: "Too much at once",
    503: "Not available at the moment",
}


@cache
def _templates() -> Environment:
    folder = files("roundtable.server.pages") / "templates"
    sources = {entry.name: entry.read_text("utf-8") for entry in folder.iterdir()}
    # Every character that hides or turns what stands beside it is dropped, without a template having to ask.
    made = Environment(
        loader=DictLoader(sources),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters |= {"when": _when, "initials": initials}
    return made


def _shown(value: object) -> object:
    return plain(value, lines=True) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _when(moment: datetime) -> str:
    return f"{moment:%d %b %Y, %H:%M} UTC"


def page(template: str, *, user: Identity | None = None, status: int = 200, **values: object) -> HTMLResponse:
    """Answer with a page.

    Args:
        template: Name of the template, without its ending.
        user: Who looks at it; `None` where nobody is known.
        status: HTTP status.
        values: What the template shows.
    """
    text = (
        _templates()
        .get_template(f"{template}.html")
        .render(version=__version__, user=user, csrf=getattr(user, "csrf", ""), **values)
    )
    return HTMLResponse(text, status, {**INERT, "cache-control": "no-store"})


def see(path: str) -> RedirectResponse:
    """Send a browser on to another page of this server."""
    return RedirectResponse(path, 303, {"cache-control": "no-store"})


def failure_page(status: int, message: str, hint: str | None, user: Identity | None = None) -> HTMLResponse:
    """Tell a person what went wrong."""
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
    """Tell whether a request comes from somebody who looks at pages."""
    accepted = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return b"text/html" in accepted and not scope["path"].startswith("/api/")


def refusal(scope: Message, status: int, error: RoundtableError) -> HTMLResponse | RedirectResponse | None:
    """Answer a browser that the door refuses; `None` where it was a program that asked."""
    if not wants_page(scope):
        return None
    if status != 401:
        return failure_page(status, error.message, error.hint)
    asked = scope["path"] + (f"?{scope['query_string'].decode('latin-1')}" if scope.get("query_string") else "")
    return see(f"/login?next={quote(asked, safe='')}" if scope["method"] == "GET" and asked != "/" else "/login")
