"""HTML pages to watch and start debates. They load nothing from other hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import APIRouter

__all__ = ["routers"]


def routers() -> tuple[APIRouter, ...]:
    """Return the routers of all pages."""
    from roundtable.server.pages import actions, admin, fleets, lists, session, start, static_files

    return (
        actions.router,
        admin.router,
        fleets.router,
        static_files.router,
        lists.router,
        start.router,
        session.router,
    )
