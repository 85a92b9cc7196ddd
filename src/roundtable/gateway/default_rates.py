"""The rate at which a provider is called unless the caller sets one."""

from __future__ import annotations

from urllib.parse import urlsplit

from roundtable.core.chat_models import facts_of
from roundtable.http.guard_public import is_loopback

__all__ = ["default_rate_of"]


def default_rate_of(model: object) -> float | None:
    """Return the default rate of a model's provider in calls per minute; `None` for no limit.

    A server on this machine never has a default rate.
    """
    facts = facts_of(model)
    if facts.requests_per_minute is None or is_loopback(urlsplit(facts.endpoint).hostname or ""):
        return None
    return float(facts.requests_per_minute)
