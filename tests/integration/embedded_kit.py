"""The embedded model, for tests that ask it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from anyio.from_thread import start_blocking_portal

from roundtable.errors import APINetworkError
from roundtable.protocols import ChatModel
from roundtable.providers import LocalProvider
from roundtable.settings import Settings
from roundtable.types import ProviderConfig


@contextmanager
def loaded(provider: LocalProvider | None = None) -> Iterator[ChatModel]:
    """Hold the model in memory while the block is open; tests are skipped where its weights are not available."""
    made = (provider or LocalProvider())(None, ProviderConfig(), Settings.from_env())
    # A test of the browser has an event loop in its thread.
    with start_blocking_portal() as portal:
        try:
            portal.call(made.prepare)
        except APINetworkError as error:
            pytest.skip(f"the weights of the embedded model are not available: {error}")
        yield made
        portal.call(made.aclose)
