"""The embedded model, for tests that ask it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest

from roundtable.errors import APINetworkError
from roundtable.protocols import ChatModel
from roundtable.providers import LocalProvider
from roundtable.settings import Settings
from roundtable.types import ProviderConfig


@contextmanager
def loaded(provider: LocalProvider | None = None) -> Iterator[ChatModel]:
    """Hold the model in memory while the block is open; tests are skipped where its weights cannot be had."""
    made = (provider or LocalProvider())(None, ProviderConfig(), Settings.from_env())
    try:
        anyio.run(made.prepare)
    except APINetworkError as error:
        pytest.skip(f"the weights of the embedded model cannot be had: {error}")
    yield made
    anyio.run(made.aclose)
