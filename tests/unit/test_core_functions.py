"""Functions that callers pass as arguments."""

from __future__ import annotations

from functools import partial

import pytest

from roundtable.core.base.functions import is_async


class Desk:
    async def __call__(self, *given: object) -> str:
        return "Tea."

    async def ask(self, *given: object) -> str:
        return "Tea."

    def tell(self, *given: object) -> str:
        return "Tea."


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        pytest.param(Desk().ask, True, id="method"),
        pytest.param(Desk(), True, id="object"),
        pytest.param(partial(Desk().ask), True, id="partial method"),
        pytest.param(partial(partial(Desk(), 1), 2), True, id="partial object"),
        pytest.param(Desk, False, id="class"),
        pytest.param(Desk().tell, False, id="plain method"),
        pytest.param(partial(Desk().tell), False, id="partial plain method"),
        pytest.param(7, False, id="no function"),
    ],
)
def test_a_function_is_async_in_every_form(function: object, expected: bool) -> None:
    assert is_async(function) is expected
