"""The names that editors offer are those of the built-in modes and rules, and others are accepted."""

from __future__ import annotations

from typing import get_args

from roundtable import Roundtable
from roundtable.types import BuiltinMode, BuiltinRule


def test_the_offered_names_are_the_built_in_ones() -> None:
    catalog = Roundtable(storage="memory://", agents=[])._wiring.catalog
    assert list(get_args(BuiltinMode)) == [entry.name for entry in catalog.modes]
    assert list(get_args(BuiltinRule)) == list(catalog.rules.names())
