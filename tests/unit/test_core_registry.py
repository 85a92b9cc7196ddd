"""A registry finds things by name, keeps their order and says what it knows."""

from __future__ import annotations

import pytest

from roundtable.core.base.registry import Entry, Registry
from roundtable.errors import ConfigurationError


@pytest.fixture
def registry() -> Registry[int]:
    made = Registry[int]("mode")
    made.add("collaborative", 1, summary="Together.")
    made.add("delphi", 2, summary="Anonymous.", source="roundtable-delphi")
    return made


def test_entries_are_found_by_name(registry: Registry[int]) -> None:
    assert registry.get("delphi") == 2
    assert registry.entry("delphi") == Entry("delphi", 2, "Anonymous.", "roundtable-delphi")
    assert registry.entry("collaborative").source == "roundtable-sdk"
    assert "delphi" in registry
    assert "oxford" not in registry
    assert 7 not in registry


def test_names_keep_the_order_of_registration(registry: Registry[int]) -> None:
    registry.add("adversarial", 3)
    assert registry.names() == ("collaborative", "delphi", "adversarial")
    assert [entry.thing for entry in registry] == [1, 2, 3]
    assert len(registry) == 3


def test_an_unknown_name_lists_the_known_ones_and_a_close_one(registry: Registry[int]) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        registry.get("delphy")
    assert str(refusal.value) == "unknown mode 'delphy'. Did you mean 'delphi'? Known: collaborative, delphi"
    assert refusal.value.hint == "Use one of the modes listed, or install a plugin that adds it."


def test_a_name_without_a_close_match_suggests_nothing(registry: Registry[int]) -> None:
    with pytest.raises(ConfigurationError, match=r"^unknown mode 'zzz'\. Known: collaborative, delphi$"):
        registry.get("zzz")
    with pytest.raises(ConfigurationError, match="Known: none"):
        Registry[int]("storage").entry("memory")


def test_a_clash_names_both_sources(registry: Registry[int]) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        registry.add("delphi", 9, source="roundtable-other")
    assert "roundtable-delphi and roundtable-other" in str(refusal.value)
    assert refusal.value.hint == "Remove one of the two, or register it under another name."
    assert registry.get("delphi") == 2


def test_a_name_is_replaced_in_its_place_when_asked(registry: Registry[int]) -> None:
    registry.add("collaborative", 9, replace=True)
    assert registry.get("collaborative") == 9
    assert registry.names() == ("collaborative", "delphi")


@pytest.mark.parametrize("name", ["", "a:b", " a", "a ", "\n"], ids=repr)
def test_an_unusable_name_is_refused(name: str) -> None:
    with pytest.raises(
        ConfigurationError, match="a mode name must be non-empty, without ':' and without leading or trailing spaces"
    ):
        Registry[int]("mode").add(name, 1)


def test_entries_can_be_removed(registry: Registry[int]) -> None:
    assert registry.remove("delphi")
    assert not registry.remove("delphi")
    assert registry.names() == ("collaborative",)
    registry.clear()
    assert registry.names() == ()
    assert len(registry) == 0


def test_a_loop_over_entries_may_change_the_registry(registry: Registry[int]) -> None:
    for entry in registry:
        registry.remove(entry.name)
    assert len(registry) == 0
