"""Pages of other origins that may call the server: what browsers want to hear before they let them."""

from __future__ import annotations

from collections.abc import Collection

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

__all__ = ["let_pages_in"]


def let_pages_in(app: FastAPI, origins: Collection[str]) -> None:
    """Let pages of these origins call the server, with a token; cookies of the server are never sent from there."""
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=sorted(name.rstrip("/") for name in origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-type", "idempotency-key", "last-event-id"],
            expose_headers=["location", "ratelimit", "ratelimit-policy", "retry-after", "x-request-id"],
        )
