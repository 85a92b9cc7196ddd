"""Fixtures for tests of programs and plugins; every run of pytest loads this module, so it imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from roundtable import Roundtable
    from roundtable.providers.scripted import Reply
    from roundtable.testing.scripted import ScriptedModel
    from roundtable.testing.storage_samples import ManualClock

__all__ = ["roundtable_clock", "roundtable_model", "roundtable_table"]


@pytest.fixture
def roundtable_table() -> Callable[..., Roundtable]:
    """Give a function that makes a table of scripted agents, `{"ada": "Tea", "bo": "Coffee"}`, kept in memory.

    Further arguments are those of `roundtable.Roundtable`, such as `plugins=[my_plugin]`.
    """

    def make(says: Mapping[str, Reply], **options: object) -> Roundtable:
        from roundtable import Roundtable
        from roundtable.testing.scripted import scripted_agents

        make_table = cast("Callable[..., Roundtable]", Roundtable)
        return make_table(scripted_agents(says), **{"storage": "memory://", **options})

    return make


@pytest.fixture
def roundtable_model() -> Iterator[Callable[..., ScriptedModel]]:
    """Give a function that makes scripted models; at the end of the test each must have been asked for all it had."""
    made: list[ScriptedModel] = []

    def make(script: object, **options: object) -> ScriptedModel:
        from roundtable.testing.scripted import ScriptedModel

        make_model = cast("Callable[..., ScriptedModel]", ScriptedModel)
        made.append(make_model(script, **options))
        return made[-1]

    yield make
    for model in made:
        model.assert_consumed()


@pytest.fixture
def roundtable_clock() -> ManualClock:
    """Give a clock that stands still until it is moved."""
    from roundtable.testing.storage_samples import ManualClock

    return ManualClock()
