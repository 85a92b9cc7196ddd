"""HTML pages to watch and start debates. They load nothing from other hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import APIRouter

__all__ = ["routers"]


def routers() -> tuple[APIRouter, ...]:
    """Return the routers of all pages."""
    from roundtable.server.pages import actions, admin, fleets, lists, login, session, shared, start, static_files

    return (
        shared.router,
        actions.router,  # after routers whose paths its pattern would also match
        admin.router,
        fleets.router,
        lists.router,
        login.router,
        session.router,
        start.router,
        static_files.router,
    )
