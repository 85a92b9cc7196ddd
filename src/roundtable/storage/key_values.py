"""The key-value store of a storage, for whatever a program keeps beside sessions: limits, tokens, jobs, plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from roundtable.core.capabilities import KeyValue
    from roundtable.core.protocols import Storage

__all__ = ["key_values_of"]


def key_values_of(storage: Storage, purpose: str) -> KeyValue:
    """Return the key-value store of a storage.

    Args:
        storage: The storage.
        purpose: What is kept there, for the error message.

    Raises:
        ConfigurationError: The storage has no key-value store.
    """
    values: KeyValue | None = getattr(storage, "kv", None)
    if values is None:
        msg = f"{type(storage).__name__} has no key-value store, so it cannot keep {purpose}"
        raise ConfigurationError(
            msg, hint="Use sqlite:///... or postgresql://..., or a storage with the capability `kv`."
        )
    return values
