"""Pages to watch debates with: rendered here, with files of their own and nothing from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import APIRouter

__all__ = ["routers"]


def routers() -> tuple[APIRouter, ...]:
    """Give the endpoints of all pages."""
    from roundtable.server.pages import acts, admin, entry, lists, start, static_files, view

    return (acts.router, admin.router, entry.router, static_files.router, lists.router, start.router, view.router)
