"""Units beside numbers, as a study compares them."""

from __future__ import annotations

import pytest

from roundtable.reading.units import are_different, stated_units


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("five miles", {"mile"}),  # in words, without a number
        ("five", set()),
        ("It is hard to say how many miles that would be.", set()),
        ("$20", {"dollar", "peso"}),
        ("$20$ miles", {"mile"}),  # the signs of a formula are no currency
        ("20 apples", set()),
        ("20 miles per hour", set()),
    ],
)
def test_the_unit_of_a_number_is_the_word_next_to_it(text: str, units: set[str]) -> None:
    assert stated_units(text) == units


def test_a_unit_on_one_side_alone_makes_no_difference() -> None:
    miles, none = stated_units("5 miles"), stated_units("5")
    assert not are_different(miles, none)
    assert are_different(miles, stated_units("5 km"))
