"""Attributes of packages that are imported on first use, and names that moved."""

from __future__ import annotations

from importlib import import_module

import pytest

from roundtable.core.base.moved import MOVED

NAMES = [(package, name, path) for package, names in MOVED.items() for name, path in names.items()]


def import_from(package: str, name: str) -> None:
    """Run `from package import name`."""
    exec(f"from {package} import {name}", {})


@pytest.mark.parametrize(("package", "name", "path"), NAMES)
def test_a_name_that_moved_is_refused_with_its_new_path_which_exists(package: str, name: str, path: str) -> None:
    with pytest.raises(ImportError) as caught:
        import_from(package, name)
    assert str(caught.value) == f"{name!r} is no longer in {package}; use {path}"
    home, _, new_name = path.rpartition(".")
    assert hasattr(import_module(home), new_name) or import_module(path)
    assert name not in dir(import_module(package))


def test_other_names_are_unknown_attributes() -> None:
    scoring = import_module("roundtable.scoring")
    with pytest.raises(AttributeError, match=r"^module 'roundtable.scoring' has no attribute 'brier'$"):
        _ = scoring.brier
    assert not hasattr(scoring, "brier")
    with pytest.raises(ImportError, match=r"^cannot import name 'brier' from 'roundtable.scoring'"):
        import_from("roundtable.scoring", "brier")
