"""Logging in and out."""

from __future__ import annotations

import re
from typing import Final

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from roundtable.auth import Unauthorized
from roundtable.server.pages.forms import form_of
from roundtable.server.rendering import page, see
from roundtable.server.state import state_of

__all__ = ["router"]

_LOCAL: Final = re.compile(r"/(?![/\\])[^\x00-\x20\x7f\\]*")
_REFUSED: Final = "That token was not accepted. After several tries in vain, wait a few minutes."

router: APIRouter = APIRouter(include_in_schema=False)


@router.get("/login")
async def login_form(request: Request, next: str = "") -> Response:
    """Ask for a token, or not: a server of one user knows who is here."""
    try:
        await state_of(request).entrance.people.authenticate(None)
    except Unauthorized:
        return page("login", next=_local(next), refused="")
    return see(_local(next))


@router.post("/login")
async def login(request: Request) -> Response:
    """Begin a login with a token; what was wrong with it is not said."""
    state = state_of(request)
    form = await form_of(request)
    client = _client(request, proxied=state.options.get("https", False))
    answer = await _entered(request, form.get("token", "").strip(), client, form.get("next", ""))
    if answer is None:
        return page("login", status=401, next=_local(form.get("next", "")), refused=_REFUSED)
    await state.entrance.tries.forget(client)
    return answer


async def _entered(request: Request, token: str, client: str, wanted: str) -> RedirectResponse | None:
    entrance = state_of(request).entrance
    if not await entrance.tries.take(client):
        return None
    try:
        number = await entrance.logins.begin(token)
    except Unauthorized:
        return None
    before = entrance.cookie.read(request.headers, request.url.scheme)
    if before is not None:
        await entrance.logins.end(before)
    answer = see(_local(wanted))
    entrance.cookie.put(answer, number, request.url.scheme)
    return answer


def _client(request: Request, *, proxied: bool) -> str:
    """Give the address a request came from; behind a proxy, the last one that it was forwarded for."""
    forwarded = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    return forwarded if proxied and forwarded else request.client.host if request.client else ""


@router.post("/logout")
async def logout(request: Request) -> Response:
    """End the login of this browser."""
    entrance = state_of(request).entrance
    number = entrance.cookie.read(request.headers, request.url.scheme)
    if number is not None:
        await entrance.logins.end(number)
    answer = see("/login")
    entrance.cookie.drop(answer, request.url.scheme)
    return answer


@router.get("/favicon.ico")
async def favicon() -> Response:
    """Say that there is none."""
    return Response(None, 204, {"cache-control": "max-age=86400"})


def _local(path: str) -> str:
    """Give a path of this server; of anything else the first page."""
    return path if _LOCAL.fullmatch(path) else "/"
