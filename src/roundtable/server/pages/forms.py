"""What is filled into forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import RoundtableError
from roundtable.server.pages.forgery import MOST_FORM_BYTES, read_fields

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["fields_of", "form_of"]


async def fields_of(request: Request) -> dict[str, list[str]]:
    """Read the form that came with a request: each field with all its values.

    Raises:
        RoundtableError: It is larger than any form of these pages.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_FORM_BYTES:
            raise RoundtableError("the form is too large", code="VALIDATION_ERROR")
    return read_fields(body)


async def form_of(request: Request) -> dict[str, str]:
    """Read the form that came with a request; of several values of a field the first counts.

    Raises:
        RoundtableError: As `fields_of`.
    """
    return {name: values[0] for name, values in (await fields_of(request)).items()}
