"""Pytest fixtures for programs and plugins. Every run of pytest loads this module, so it has no large imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from roundtable import Roundtable
    from roundtable.providers.scripted import Reply
    from roundtable.testing.doubles import ManualClock, ScriptedModel

__all__ = ["roundtable_clock", "roundtable_model", "roundtable_table"]


@pytest.fixture
def roundtable_table() -> Callable[..., Roundtable]:
    """Return a function that creates a table of scripted agents, with a storage in memory.

    Its argument is what the agents say, such as `{"ada": "Tea", "bo": "Coffee"}`. Keyword arguments, such as
    `plugins=[my_plugin]`, are passed to `roundtable.Roundtable`.
    """

    def make(says: Mapping[str, Reply], **options: object) -> Roundtable:
        from roundtable import Roundtable
        from roundtable.testing.doubles import scripted_agents

        make_table = cast("Callable[..., Roundtable]", Roundtable)
        return make_table(scripted_agents(says), **{"storage": "memory://", **options})

    return make


@pytest.fixture
def roundtable_model() -> Iterator[Callable[..., ScriptedModel]]:
    """Return a function that creates scripted models; the test fails if a script is not used up when the test ends."""
    models: list[ScriptedModel] = []

    def make(script: object, **options: object) -> ScriptedModel:
        from roundtable.testing.doubles import ScriptedModel

        make_model = cast("Callable[..., ScriptedModel]", ScriptedModel)
        models.append(make_model(script, **options))
        return models[-1]

    yield make
    for model in models:
        model.assert_consumed()


@pytest.fixture
def roundtable_clock() -> ManualClock:
    """Return a clock that stands still until it is moved."""
    from roundtable.testing.doubles import ManualClock

    return ManualClock()
