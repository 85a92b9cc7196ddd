"""Distinguish a provider that is out from a bad request, key or answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["is_outage"]

_REASONS: Final = frozenset({"certificate", "circuit_open", "lookup_failed", "refused", "unknown_host"})
"""Values of `details["reason"]` of network errors that mean an outage, even where an immediate retry is pointless."""


def is_outage(code: str, *, retryable: bool, details: Mapping[str, object] | None) -> bool:
    """Check whether an error means that the provider is out or overloaded; see `RoundtableError.is_outage`.

    Args:
        code: Code of the error.
        retryable: Whether the same call may succeed later.
        details: Details of the error.

    Example:
        >>> is_outage("API_TIMEOUT", retryable=True, details=None), is_outage("AGENT_ERROR", retryable=True, details={})
        (True, False)
    """
    if code == "API_NETWORK_ERROR":
        return retryable or (details or {}).get("reason") in _REASONS
    return code in {"API_RATE_LIMIT", "API_TIMEOUT"}
