"""What a storage can do besides keeping sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from roundtable.protocols import KeyValue, Storage

__all__ = ["key_values_of"]


def key_values_of(storage: Storage, purpose: str) -> KeyValue:
    """Give the values that a storage keeps beside its sessions.

    Args:
        storage: The storage.
        purpose: What it cannot do without them, such as `keep tokens`.

    Raises:
        ConfigurationError: It keeps none.
    """
    values: KeyValue | None = getattr(storage, "kv", None)
    if values is None:
        msg = f"{type(storage).__name__} keeps no values beside its sessions, so it cannot {purpose}"
        raise ConfigurationError(msg, hint="Use sqlite:///..., or a storage with the capability `kv`.")
    return values
