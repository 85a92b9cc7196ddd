"""Reading what older versions of the library stored.

A step leads from one version of the stored form to the next and is never changed once released. Events carry no version
of their own: they are of the version of their session's record or a later one, and new fields of theirs have defaults.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from roundtable.types import SCHEMA_VERSION, SessionRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.types import JsonObject

__all__ = ["read_record"]


def _to_2(stored: JsonObject) -> JsonObject:
    """Forks and the version of the prompt texts came with version 2; older sessions have neither."""
    return stored


_STEPS: dict[int, Callable[[JsonObject], JsonObject]] = {1: _to_2}


def read_record(text: str | bytes) -> SessionRecord:
    """Read the record of a session from its JSON, of this version or any before.

    Raises:
        ValueError: It is none, or of a newer version.

    Example:
        >>> old = '{"id": "s", "config": {"topic": "Tea?", "agents": []}, "agents": [], "schemaVersion": 1}'
        >>> read_record(old).schema_version == SCHEMA_VERSION
        True
    """
    stored = json.loads(text)
    version = stored.get("schemaVersion") if isinstance(stored, dict) else None
    if version == SCHEMA_VERSION or not isinstance(version, int):
        return SessionRecord.from_json(text)
    if version > SCHEMA_VERSION:
        msg = f"the session is of version {version}, this version of roundtable-sdk reads up to {SCHEMA_VERSION}"
        raise ValueError(msg)
    while version in _STEPS:
        stored, version = _STEPS[version](stored), version + 1
    return SessionRecord.from_json(json.dumps(stored | {"schemaVersion": version}))
