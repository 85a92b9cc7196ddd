"""The style sheets and the script of the pages."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final, NamedTuple

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from roundtable.report import STYLE
from roundtable.server.rendering import SECURITY_HEADERS

__all__ = ["PREFIX", "router"]

PREFIX: Final = "/static/"
"""Path prefix of the files."""

_KINDS: Final = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}

router: APIRouter = APIRouter(include_in_schema=False)


class _File(NamedTuple):
    content: bytes
    kind: str
    etag: str


@cache
def _files() -> dict[str, _File]:
    folder = files("roundtable.server.pages") / "static"
    contents = {entry.name: entry.read_bytes() for entry in folder.iterdir()}
    contents["report.css"] = STYLE.encode()
    return {
        name: _File(content, _KINDS[name.rpartition(".")[2]], f'"{sha256(content).hexdigest()[:32]}"')
        for name, content in contents.items()
    }


@router.get(PREFIX + "{name}")
async def static_file(name: str, request: Request) -> Response:
    """Return a file, or 304 if the browser's copy is current."""
    file = _files().get(name)
    if file is None:
        raise HTTPException(404, "this file does not exist")
    headers = {
        "etag": file.etag,
        "cache-control": "no-cache",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": SECURITY_HEADERS["cross-origin-resource-policy"],
    }
    # Proxies that compress files mark their tags as weak.
    known = {part.strip().removeprefix("W/") for part in request.headers.get("if-none-match", "").split(",")}
    if file.etag in known:
        return Response(None, 304, headers)
    return Response(file.content, 200, headers, media_type=file.kind)


@router.get("/favicon.ico")
async def favicon() -> Response:
    """Answer without an icon, so that browsers do not ask again."""
    return Response(None, 204, {"cache-control": "max-age=86400"})
