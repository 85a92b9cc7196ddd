"""Whether the server runs, and whether it can be used."""

from __future__ import annotations

from fastapi import APIRouter

from roundtable._version import __version__

__all__ = ["router"]

router: APIRouter = APIRouter(tags=["health"])


@router.get("/health")
async def health() -> dict[str, str]:
    """Say that the server runs."""
    return {"status": "ok", "version": __version__}
