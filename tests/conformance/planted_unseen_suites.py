"""The plugins of `planted_unseen.py`, each with the law that it must break; `test_planted_plugins.py` runs them.

This is a test file of a plugin author's kind: pytest collects it by its name, never with the other tests.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from conformance import planted_unseen
from conformance.planted_unseen import AcmeModel, SmallStorage, provider_of
from conformance.planting import Planted, anyio_backend, fixture, planter

from roundtable.protocols import ChatModel, Storage
from roundtable.providers import ChatServer, OpenAIChat
from roundtable.settings import Settings
from roundtable.testing import ManualClock
from roundtable.testing.analyzer_suite import AnalyzerSuite
from roundtable.testing.exit_suite import ExitSuite
from roundtable.testing.key_value_suite import KeyValueSuite
from roundtable.testing.mode_suite import ModeSuite
from roundtable.testing.provider_suite import KEY, Capability, ProviderSuite
from roundtable.testing.rule_suite import RuleSuite
from roundtable.testing.storage_suite import StorageSuite
from roundtable.testing.tool_suite import ToolSuite
from roundtable.types import ProviderConfig

__all__ = ["BLIND", "PLANTED", "SOUND", "anyio_backend"]

PLANTED: Planted = []
"""Suite, law and class of each planted plugin."""
BLIND = frozenset({"ReadsKeyAtImport"})
"""Plugins whose mistake no suite can see; `docs/how-to/write-a-plugin.md` says why."""
SOUND = {"TestAcmeModel": "ProviderSuite", "TestAcmeDialect": "ProviderSuite", "TestSmallStorage": "StorageSuite"}
"""Test classes of the sound parts that the wrong plugins change, with their suites."""
plant = planter(globals(), PLANTED)

# ------------------------------------------------------------------ providers


class Http(ProviderSuite):
    """All capabilities."""

    capabilities = frozenset(Capability)


def _model(url: str, dialect: OpenAIChat) -> ChatModel:
    return provider_of(dialect)("acme-1", ProviderConfig(base_url=url, api_key=KEY), Settings())


def _in(dialect: type[OpenAIChat]) -> Callable[[str], ChatModel]:
    """Return a function that creates the model of a dialect whose streams end with `[DONE]`."""
    made = dialect("acme")
    made.server = ChatServer(name="acme", done_required=True)
    return lambda url: _model(url, made)


def _around(model: type[AcmeModel]) -> Callable[[str], ChatModel]:
    return lambda url: model(_in(OpenAIChat)(url))


class TestAcmeDialect(Http):
    make_model = fixture(lambda: _in(OpenAIChat))


class TestAcmeModel(Http):
    make_model = fixture(lambda: _around(AcmeModel))


def dialect(law: str, wrong: type[OpenAIChat]) -> None:
    """Plant a dialect."""
    plant(Http, law, wrong, make_model=fixture(lambda: _in(wrong)))


def model(law: str, wrong: type[AcmeModel], **declared: object) -> None:
    """Plant a model around another model."""
    plant(Http, law, wrong, make_model=fixture(lambda: _around(wrong)), **declared)


dialect("test_a_running_total_is_not_added_up", planted_unseen.AddsRunningTotals)
dialect("test_a_call_sends_nothing_of_earlier_calls", planted_unseen.KeepsFirstInstructions)
dialect("test_a_long_message_is_sent_whole", planted_unseen.CutsLongMessages)
dialect("test_an_answer_that_was_cut_says_so", planted_unseen.HidesWhyItEnded)
model("test_a_stream_that_breaks_off_is_an_error", planted_unseen.RestartsCutStream)
model("test_a_deadline_ends_a_call", planted_unseen.ShieldsItsCall, law_s=2.0)

# ------------------------------------------------------------------ modes, rules, exits, analyzers, tools


class SmallModeSuite(ModeSuite):
    """Small debates."""

    most_agents = 4
    most_rounds = 3


class Fahrenheit(ToolSuite):
    """A call with all arguments."""

    good_input = {"celsius": 20, "unit": "F"}  # noqa: RUF012  (as plugin authors write it)


def part(suite: type, law: str, name: str, make: Callable[[], object], wrong: type[Any]) -> None:
    """Plant a part that its suite gets from a fixture."""
    plant(suite, law, wrong, **{name: fixture(make)})


for wrong_mode, broken in (
    (planted_unseen.TellsTheVotes, "test_ballots_are_secret"),
    (planted_unseen.RemembersSeats, "test_the_ids_of_agents_do_not_matter"),
    (planted_unseen.FoldsIds, "test_the_ids_of_agents_do_not_matter"),
):
    part(SmallModeSuite, broken, "mode", wrong_mode, wrong_mode)
for wrong_rule, broken in (
    (planted_unseen.RoundsShares, "test_one_vote_decides_among_many"),
    (planted_unseen.TruncatesWeights, "test_a_weight_counts_as_so_many_ballots"),
):
    part(RuleSuite, broken, "rule", lambda rule=wrong_rule.rule: rule, wrong_rule)
part(
    ExitSuite,
    "test_the_order_of_agents_does_not_matter",
    "criterion",
    planted_unseen.ComparesBySeat,
    planted_unseen.ComparesBySeat,
)
part(
    AnalyzerSuite,
    "test_agents_with_one_name_are_different_agents",
    "meter",
    planted_unseen.CountsNames,
    planted_unseen.CountsNames,
)
part(
    Fahrenheit,
    "test_an_input_is_left_as_it_was",
    "tool",
    planted_unseen.ChangesItsInput,
    planted_unseen.ChangesItsInput,
)

# ------------------------------------------------------------------ storages


def in_file(wrong: type[SmallStorage]) -> dict[str, object]:
    """Return the fixtures of a storage in a file."""

    @pytest.fixture
    async def storage(self: object, clock: ManualClock, tmp_path: Path) -> Any:
        opened = wrong(tmp_path / "sessions", clock)
        yield opened
        await opened.aclose()

    @pytest.fixture
    def reopen(self: object, clock: ManualClock, tmp_path: Path) -> Callable[[], Awaitable[Storage]]:
        async def reopen() -> Storage:
            return wrong(tmp_path / "sessions", clock)

        return reopen

    return {"storage": storage, "reopen": reopen}


TestSmallStorage = type("TestSmallStorage", (StorageSuite,), {**in_file(SmallStorage), "__module__": __name__})


@pytest.fixture
async def pages_by_time(self: object, clock: ManualClock) -> Any:
    opened = planted_unseen.PagesByTimeAlone(clock)
    yield opened
    await opened.aclose()


for wrong_storage, broken in (
    (planted_unseen.SortsNumbersAsText, "test_closing_loses_nothing"),
    (
        planted_unseen.HolderBySystemClock,
        "test_a_storage_that_tells_who_runs_a_session_takes_nothing_by_it",
    ),
    (planted_unseen.ClosesSharedConnection, "test_closing_one_object_leaves_the_others_open"),
):
    plant(StorageSuite, broken, wrong_storage, **in_file(wrong_storage))
plant(
    StorageSuite,
    "test_pages_show_each_session_once_whatever_is_added_meanwhile",
    planted_unseen.PagesByTimeAlone,
    storage=pages_by_time,
)
plant(
    KeyValueSuite,
    "test_a_scan_goes_by_plain_prefix_in_key_order",
    planted_unseen.ScansWithGlob,
    kv=fixture(planted_unseen.ScansWithGlob),
)
