"""What all files of planted plugins share: they plant test classes of wrong plugins, each with the law that it breaks.

Import this module before any suite: suites read the profile of hypothesis when they are imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import Phase, settings

# Found is enough: to make an example small takes longer than all else.
settings.register_profile(
    "planted", max_examples=60, phases=[Phase.explicit, Phase.generate], deadline=None, database=None
)
settings.load_profile("planted")

from roundtable.testing import suite as suite_module  # noqa: E402

# Laws that never end are interrupted soon.
vars(suite_module)["_GRACE_S"] = 0.2

__all__ = ["Planted", "anyio_backend", "fixture", "planter"]

Planted = list[tuple[str, str, str]]
"""Suite, law and class of each planted plugin."""


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run on one event loop."""
    return str(request.param)


def fixture(make: Callable[[], object]) -> Callable[[object], object]:
    """Return a fixture that creates the plugin under test."""

    @pytest.fixture
    def created(self: object) -> object:
        return make()

    return cast("Callable[[object], object]", created)


def planter(names: dict[str, object], planted: Planted) -> Callable[..., None]:
    """Return a function that plants wrong plugins in a module.

    Args:
        names: The names of the module, where pytest finds the test classes.
        planted: List that gets each planted plugin.
    """

    def plant(suite: type, law: str, wrong: type | str, **parts: object) -> None:
        """Create the test class of a wrong plugin, which has to break one law."""
        name = f"Test{len(planted):03}{wrong if isinstance(wrong, str) else wrong.__name__}"
        kind = next(base.__name__ for base in suite.__mro__ if base.__module__.startswith("roundtable.testing."))
        names[name] = type(name, (suite,), {**parts, "__module__": names["__name__"]})
        planted.append((kind, law, name))

    return plant
