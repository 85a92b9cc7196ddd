"""Where what a server has to remember is kept: beside its sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from roundtable.protocols import KeyValue, Storage

__all__ = ["values_of"]


def values_of(storage: Storage, what: str) -> KeyValue:
    """Give the values that a storage keeps beside sessions.

    Args:
        storage: The storage.
        what: What is to be kept there, for the message.

    Raises:
        ConfigurationError: It keeps none.
    """
    values: KeyValue | None = getattr(storage, "kv", None)
    if values is None:
        msg = f"{type(storage).__name__} keeps no values beside its sessions, so it cannot keep {what}"
        raise ConfigurationError(msg, hint="Use sqlite:///..., or a storage with the capability `kv`.")
    return values
