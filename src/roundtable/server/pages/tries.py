"""How often somebody may try to log in."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydantic import JsonValue

    from roundtable.protocols import Clock, KeyValue

__all__ = ["Tries"]

FREE: Final = 5
"""Tries before anybody has to wait."""
LONGEST_S: Final = 300.0
"""Seconds that somebody has to wait at most."""
FORGOTTEN_S: Final = 900.0
"""Seconds after the last try that counted, until tries are forgotten."""

_TENANT: Final = ":pages"


class Tries:
    """Makes whoever guesses wait, twice as long each time; right across processes.

    Args:
        values: Where tries are counted.
        clock: What waits are measured with.
    """

    def __init__(self, values: KeyValue, clock: Clock) -> None:
        self._values = values
        self._clock = clock

    async def take(self, client: str) -> bool:
        """Count a try of a client and tell whether it may be made; one that comes too early is not counted.

        Args:
            client: The address a request came from.
        """
        now = self._clock.now().timestamp()
        allowed = False

        def count(value: JsonValue) -> JsonValue:
            nonlocal allowed
            tries, until = _read(value)
            allowed = now >= until
            if not allowed:
                return value
            tries += 1
            wait_s = min(2.0 ** (tries - FREE), LONGEST_S) if tries >= FREE else 0.0
            return {"tries": min(tries, 64), "until": now + wait_s}

        await self._values.update(_key(client), count, ttl_s=FORGOTTEN_S, tenant=_TENANT)
        return allowed

    async def forget(self, client: str) -> None:
        """Let a client that logged in begin anew."""
        await self._values.delete(_key(client), tenant=_TENANT)


def _read(value: JsonValue) -> tuple[int, float]:
    match value:
        case {"tries": int(tries), "until": int() | float() as until}:
            return tries, float(until)
        case _:
            return 0, 0.0


def _key(client: str) -> str:
    try:
        address = ip_address(client)
    except ValueError:
        return f"tries/{client[:64]}"
    # Whoever has one address of IPv6 has the 2**64 beside it.
    network = ip_network((address, 64), strict=False) if isinstance(address, IPv6Address) else address
    return f"tries/{network}"
