"""Every mode that ships keeps the laws of all modes; a mode that breaks one is caught."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, settings

from roundtable.modes import BUILTIN_MODES, BaseModeStrategy, ModeRegistry
from roundtable.protocols import DebateModeStrategy
from roundtable.testing.mode_suite import ModeSuite
from roundtable.types import DebateContext, EndDebate, EndRound, Plan, Stage, TurnKey, TurnSpec, Visible


@pytest.mark.parametrize("mode", [name for name, _, _ in BUILTIN_MODES], indirect=True)
class TestBuiltinModes(ModeSuite):
    @pytest.fixture
    def mode(self, request: pytest.FixtureRequest) -> DebateModeStrategy:
        return ModeRegistry().get_mode(request.param)
