"""What is filled into forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import RoundtableError
from roundtable.server.pages.forgery import MOST_FORM_BYTES, read_form

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["form_of"]


async def form_of(request: Request) -> dict[str, str]:
    """Read the form that came with a request.

    Raises:
        RoundtableError: It is larger than any form of these pages.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_FORM_BYTES:
            raise RoundtableError("the form is too large", code="VALIDATION_ERROR")
    return read_form(body)
