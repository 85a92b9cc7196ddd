"""What is said to somebody who may not."""

from __future__ import annotations

from typing import ClassVar

from roundtable.errors import RoundtableError, StorageError

__all__ = ["Forbidden", "Unauthorized", "told_elsewhere"]


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


def told_elsewhere(error: RoundtableError) -> RoundtableError:
    """Give an error as users of a server are told it: what a storage says names files of the server's machine.

    Example:
        >>> from roundtable.errors import StorageError
        >>> told_elsewhere(StorageError("'/srv/debates.db' is locked", retryable=True)).message
        'The storage failed'
    """
    if not isinstance(error, StorageError):
        return error
    hint = "Try again, or tell who runs the server: its log says what happened."
    told = StorageError(retryable=error.retryable, hint=hint, retry_after_s=error.retry_after_s)
    told.session_id = error.session_id
    return told
