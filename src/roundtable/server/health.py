"""Whether the server runs, and whether it can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from roundtable._version import __version__
from roundtable.errors import RoundtableError
from roundtable.server.requests import logger
from roundtable.server.state import state_of

if TYPE_CHECKING:
    from roundtable.protocols import KeyValue

__all__ = ["Readiness", "router"]

router: APIRouter = APIRouter(tags=["health"])

_PATIENCE_S: Final = 2.0
_OBSTACLES: Final = "It cannot be used now; `reason` is `storage` or `ending`."
_TENANT: Final = ":health"  # no user is called so


class Readiness:
    """Whether a server can be used now.

    Args:
        values: The storage, which has to answer.
        patience_s: Seconds in which it has to.
    """

    def __init__(self, values: KeyValue, *, patience_s: float = _PATIENCE_S) -> None:
        self.is_ending: bool = False
        """Whether the server takes leave: others should be asked."""
        self._values = values
        self._patience_s = patience_s

    async def obstacle(self) -> str | None:
        """Say what stands in the way: `ending` or `storage`; `None` where nothing does."""
        if self.is_ending:
            return "ending"
        try:
            with anyio.fail_after(self._patience_s):
                await self._values.get("ready", tenant=_TENANT)
        except (RoundtableError, TimeoutError) as error:
            logger.warning("not ready: %s", str(error) or "the storage does not answer")
            return "storage"
        return None


@router.get("/health", operation_id="getHealth")
async def health() -> dict[str, str]:
    """Say that the server runs."""
    return {"status": "ok", "version": __version__}


@router.get("/ready", operation_id="getReadiness", responses={503: {"description": _OBSTACLES}})
async def ready(request: Request) -> JSONResponse:
    """Say whether the server can be used now: whether its storage answers, and whether it is not about to end."""
    obstacle = await state_of(request).readiness.obstacle()
    body = {"status": "ready"} if obstacle is None else {"status": "unavailable", "reason": obstacle}
    return JSONResponse(body, 200 if obstacle is None else 503, {"cache-control": "no-store"})
