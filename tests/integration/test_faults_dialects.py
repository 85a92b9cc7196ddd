"""The faults that look alike on every wire, on every provider: same outcome, same number of requests, nothing left."""

from __future__ import annotations

import pytest
from integration.engine_kit import some_every_day
from integration.test_faults import lasting, scene, tries
from integration.test_providers_http import BOTH, KEY

from roundtable.errors import RoundtableError
from roundtable.providers import BUILTIN_SPECS

pytestmark = pytest.mark.slow

OWN_WORDS = {"no choices", "null text", "blank text", "object", "bad UTF-8", "UTF-16", "429 no quota", "400 too long"}
OWN_WORDS |= {"MiniMax rate", "MiniMax key", "MiniMax length"}
"""Faults written in the words of Chat Completions; other wires see an answer of another kind in them."""
COMMON = {name: row for name, row in BOTH.items() if name not in OWN_WORDS and not lasting(row[0])}
OTHERS = sorted(set(BUILTIN_SPECS) - {"compatible"})


@pytest.fixture
def anyio_backend():
    """The wires are pure; what waits is tried on both backends elsewhere."""
    return "asyncio"


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(("reply", "kind", "retryable"), some_every_day(COMMON.values(), 3), ids=COMMON)
@pytest.mark.parametrize("streamed", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["plain", "streamed"])
async def test_a_lasting_fault(name, reply, kind, retryable, streamed):
    async with scene(reply, name=f"{name}:m") as fault:
        with pytest.raises(RoundtableError) as caught:
            await fault.call(streamed=streamed)
        error = caught.value
        assert (type(error), error.provider) == (kind, name)
        assert len(fault.server.seen) == tries(kind, error.retryable, timed_out=False)
        # A stream reads a document apart, and to Google a list is a stream: there it is an answer without content.
        if not streamed and name != "google":
            assert error.retryable is retryable
        assert KEY[:12] not in str(error.to_dict(debug=True))
