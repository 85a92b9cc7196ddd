"""What is said to somebody who may not."""

from __future__ import annotations

from typing import ClassVar

from roundtable.errors import RoundtableError

__all__ = ["Forbidden", "Unauthorized"]


class Unauthorized(RoundtableError):
    """Nobody is known by what was shown. A missing, wrong, expired and revoked token are told alike."""

    default_message = "Authentication required"
    default_code = "UNAUTHORIZED"
    default_hint: ClassVar[str | None] = "Send a valid token: `Authorization: Bearer rt_...`."


class Forbidden(RoundtableError):
    """Who asks is known, and may not do this."""

    default_message = "Not allowed"
    default_code = "FORBIDDEN"
    default_hint: ClassVar[str | None] = "Use a token with the scope that this needs."
