"""What goes away is announced where it is used, with what to use instead."""

from __future__ import annotations

import pytest

from roundtable.deprecation import RoundtableDeprecationWarning, deprecated, warn_deprecated


@deprecated(since="0.2", gone_in="0.4", instead="new()")
def old(number: int, *, twice: bool = False) -> int:
    return number * (1 + twice)


def test_a_call_warns_at_the_line_that_calls_and_works_as_before() -> None:
    with pytest.warns(
        RoundtableDeprecationWarning, match=r"old\(\) is deprecated since 0.2 and goes away in 0.4"
    ) as seen:
        assert old(2, twice=True) == 4
    assert seen[0].filename == __file__
    assert old.__doc__ == "Deprecated since 0.2, gone in 0.4: use new()."
    assert old.__name__ == "old"


def test_a_warning_by_hand_names_the_line_of_the_caller() -> None:
    def setting() -> None:
        warn_deprecated("colour=", since="0.2", gone_in="0.4", instead="color=")

    with pytest.warns(RoundtableDeprecationWarning, match="use color=") as seen:
        setting()
    assert seen[0].filename == __file__
    assert issubclass(RoundtableDeprecationWarning, DeprecationWarning)
