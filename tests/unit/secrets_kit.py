"""How a text may repeat a secret."""

from __future__ import annotations

import base64
from urllib.parse import quote


def traces(key: str) -> list[str]:
    """All the ways in which a text may repeat a key, made by other means than those under test."""
    raw = key.encode()
    return [
        key,
        quote(key, safe=""),
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode(),
        base64.b64encode(b"Bearer " + raw).decode(),
        base64.b64encode(b"me:" + raw + b"\n").decode(),
        base64.urlsafe_b64encode(b"x" + raw + b"yz").decode(),
    ]
