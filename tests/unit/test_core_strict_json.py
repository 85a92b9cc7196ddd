"""The depth of values is found in a time that their size bounds."""

from __future__ import annotations

from typing import Any

from roundtable.core.base.strict_json import MOST_DEPTH, is_too_deep


def test_values_that_are_shared_are_looked_at_once_in_each_level() -> None:
    value: Any = []
    for _ in range(MOST_DEPTH - 1):
        value = [value, value]
    assert not is_too_deep(value)
    assert is_too_deep([value])


def test_a_value_that_contains_itself_twice_is_too_deep() -> None:
    value: list[Any] = []
    value += [value, {"a": value}]
    assert is_too_deep(value)
