"""The login page, and the actions to log in and out."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter, Request, Response

from roundtable.auth import Unauthorized
from roundtable.core.base.words import counted
from roundtable.server.addresses import client_of
from roundtable.server.pages.csrf import form_of
from roundtable.server.rendering import page, redirect_to
from roundtable.server.state import state_of

if TYPE_CHECKING:
    from starlette.responses import RedirectResponse

__all__ = ["router"]

router: APIRouter = APIRouter(include_in_schema=False)

_LOCAL_PATH: Final = re.compile(r"/(?![/\\])[^\x00-\x20\x7f\\]*")
_REFUSAL: Final = "That token was not accepted."


@router.get("/login")
async def login_form(request: Request, next: str = "") -> Response:
    """Show the login form; a server for one user needs no login, so it redirects."""
    try:
        await state_of(request).browser_login.people.authenticate(None)
    except Unauthorized:
        return page("login", next=_local_path(next), refused="")
    return redirect_to(_local_path(next))


@router.post("/login")
async def login(request: Request) -> Response:
    """Log in with a token; the page does not say why a token is refused."""
    state = state_of(request)
    form = await form_of(request)
    client = client_of(request, proxied=state.options.get("https", False))
    target = form.get("next", "")
    wait_s = math.ceil(await state.browser_login.tries.take(client))
    if wait_s:
        # This also refuses valid tokens; otherwise guesses during the wait would show which tokens are valid.
        refused = f"Too many attempts from your address. Try again in {counted(wait_s, 'second')}."
        response = page("login", status=429, next=_local_path(target), refused=refused)
        response.headers["retry-after"] = str(wait_s)
        return response
    redirect = await _log_in(request, form.get("token", "").strip(), target)
    if redirect is None:
        return page("login", status=401, next=_local_path(target), refused=_REFUSAL)
    await state.browser_login.tries.forget(client)
    return redirect


async def _log_in(request: Request, token: str, target: str) -> RedirectResponse | None:
    """Start a login and return the redirect with its cookie; `None` if the token is refused."""
    browser_login = state_of(request).browser_login
    try:
        number = await browser_login.logins.begin(token)
    except Unauthorized:
        return None
    previous = browser_login.cookie.read(request.headers, request.url.scheme)
    if previous is not None:
        await browser_login.logins.end(previous)
    redirect = redirect_to(_local_path(target))
    browser_login.cookie.put(redirect, number, request.url.scheme)
    return redirect


@router.post("/logout")
async def logout(request: Request) -> Response:
    """Log this browser out."""
    browser_login = state_of(request).browser_login
    number = browser_login.cookie.read(request.headers, request.url.scheme)
    if number is not None:
        await browser_login.logins.end(number)
    redirect = redirect_to("/login")
    browser_login.cookie.drop(redirect, request.url.scheme)
    return redirect


def _local_path(path: str) -> str:
    """Return a path if it is on this server; otherwise `/`, for example for another host."""
    return path if _LOCAL_PATH.fullmatch(path) else "/"
