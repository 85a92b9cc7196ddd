"""Health endpoints: whether the server runs, and whether it is ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from roundtable._version import __version__
from roundtable.core.errors import RoundtableError
from roundtable.server.request_context import logger
from roundtable.server.state import state_of

if TYPE_CHECKING:
    from roundtable.core.capabilities import KeyValue

__all__ = ["Readiness", "router"]

router: APIRouter = APIRouter(tags=["health"])

_ANSWER_S: Final = 2.0
_NOT_READY: Final = "The server is not ready; `reason` is `storage` or `ending`."
_TENANT: Final = ":health"  # no user is called so


class Readiness:
    """Readiness of a server.

    Args:
        values: Key-value store that must answer.
        patience_s: Seconds within which it must answer.
    """

    def __init__(self, values: KeyValue, *, patience_s: float = _ANSWER_S) -> None:
        self.is_ending: bool = False
        """Whether the server is shutting down, so that requests should go to other servers."""
        self._values = values
        self._patience_s = patience_s

    async def obstacle(self) -> str | None:
        """Return why the server is not ready: `ending` or `storage`; `None` if it is ready."""
        if self.is_ending:
            return "ending"
        try:
            with anyio.fail_after(self._patience_s):
                await self._values.get("ready", tenant=_TENANT)
        except (RoundtableError, TimeoutError) as error:
            logger.warning("not ready: %s", str(error) or "the storage does not answer")
            return "storage"
        return None


@router.head("/health", include_in_schema=False)
@router.get("/health", operation_id="getHealth", response_description="The server runs.")
async def health() -> dict[str, str]:
    """Confirm that the server runs."""
    return {"status": "ok", "version": __version__}


@router.head("/ready", include_in_schema=False)
@router.get(
    "/ready",
    operation_id="getReadiness",
    response_description="The server is ready.",
    responses={503: {"description": _NOT_READY}},
)
async def ready(request: Request) -> JSONResponse:
    """Check whether the server is ready: its storage answers, and it is not shutting down."""
    obstacle = await state_of(request).readiness.obstacle()
    body = {"status": "ready"} if obstacle is None else {"status": "unavailable", "reason": obstacle}
    return JSONResponse(body, 200 if obstacle is None else 503, {"cache-control": "no-store"})
