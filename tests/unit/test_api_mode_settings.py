"""The settings of a mode object: what distinguishes it from another, the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from roundtable.api.mode_settings import mode_settings
from roundtable.core.base.clock import SystemClock
from roundtable.core.capabilities import KeyValue
from roundtable.core.hooks import Host
from roundtable.core.mode.base import RoleConfig
from roundtable.core.mode.shapes import last_only
from roundtable.core.mode.wrapped import WrappedMode
from roundtable.errors import ConfigurationError
from roundtable.modes import (
    CollaborativeMode,
    DelphiMode,
    DevilsAdvocateMode,
    ExpertPanelMode,
    ModeRegistry,
    SelfConsistencyMode,
)
from roundtable.prompts import PromptLibrary
from roundtable.types import JsonObject, Usage

MODES = ModeRegistry()


@dataclass(frozen=True, slots=True)
class Weights:
    words: frozenset[str] = frozenset()


class Scale:
    def __init__(self, top: int) -> None:
        self.top = top

    def double(self) -> int:
        return 2 * self.top


class Own(CollaborativeMode):
    """A mode that is not registered."""

    name = "own"

    def __init__(self, *, strength: object = 1, extra: object = None) -> None:
        super().__init__()
        self.strength = strength
        if extra is not None:
            self.extra = extra


@pytest.mark.parametrize("name", MODES.get_available_modes())
def test_a_registered_mode_without_changes_has_no_settings(name: str) -> None:
    assert mode_settings(type(MODES.get_mode(name))(), MODES) == {}


@pytest.mark.parametrize(
    ("mode", "settings"),
    [
        (SelfConsistencyMode(samples=3), {"samples": 3}),
        (DevilsAdvocateMode(reask=True), {"reask": True}),
        (ExpertPanelMode(facilitated=True), {"facilitated": True}),
        (DelphiMode(prompts=PromptLibrary()), {}),
        (Own(), {}),
        (Own(strength=2), {"strength": 2}),
        (Own(extra=Decimal("0.5")), {"extra": ["decimal.Decimal", "Decimal('0.5')"]}),
        (Own(extra={"a": {"z", "b"}}), {"extra": [["a", ["b", "z"]]]}),
        (Own(extra=os.getcwd), {"extra": "posix.getcwd"}),
        (Own(extra=Usage), {"extra": "roundtable.types.chat.Usage"}),  # as version 0.2 stored it
        (Own(extra=last_only), {"extra": "roundtable.modes.shapes.last_only"}),
        (Own(extra=RoleConfig), {"extra": "roundtable.modes.base.RoleConfig"}),
        (Own(extra=WrappedMode), {"extra": "roundtable.modes.wrappers.WrappedMode"}),
        (Own(extra=KeyValue), {"extra": "roundtable.protocols.KeyValue"}),
        (Own(extra=Host), {"extra": "roundtable.plugins.registrar.Host"}),
        (Own(extra=SystemClock), {"extra": "roundtable._core.clock.SystemClock"}),
        (Own(extra=Scale(3)), {"extra": [f"{__name__}.Scale", [["top", 3]]]}),
    ],
)
def test_settings_contain_only_the_differences_to_the_default_mode(
    mode: CollaborativeMode, settings: JsonObject
) -> None:
    assert mode_settings(mode, MODES) == settings


def test_settings_depend_on_the_texts_of_a_mode_and_not_on_their_folder(tmp_path: Path) -> None:
    shipped = (Path(sys.modules["roundtable.modes"].__file__ or "").parent / "texts" / "delphi.toml").read_text()
    for folder, text in (("a", shipped), ("b", shipped.replace("panel", "circle")), ("c", shipped)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "delphi.toml").write_text(text)
    same, other, again = (
        mode_settings(DelphiMode(prompts=PromptLibrary(tmp_path / folder)), MODES) for folder in "abc"
    )
    assert same == again == {}
    assert other != {}


@pytest.mark.parametrize(
    "extra", [lambda: 1, threading.Lock(), object(), partial(print, object()), Scale(3).double, iter([])]
)
def test_a_setting_that_cannot_be_written_as_data_is_refused(extra: object) -> None:
    with pytest.raises(ConfigurationError, match="'extra' of mode 'own' cannot be written as data"):
        mode_settings(Own(extra=extra), MODES)


def test_endless_settings_are_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ConfigurationError, match="more than 20 levels"):
        mode_settings(Own(extra=endless), MODES)


@pytest.mark.slow
def test_settings_are_the_same_in_every_process() -> None:
    script = (
        "from unit.test_api_mode_settings import MODES, Own, Weights, mode_settings\n"
        "print(mode_settings(Own(extra=[Weights(frozenset('abcdefgh')), set('xyz')]), MODES))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(seen) == 1
