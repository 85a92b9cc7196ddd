"""A session knows the plugins that took part; without one of them, it is named with the way to get it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from plugin_kit import MODE, Site, hook, site

import roundtable as rt
from roundtable.core.record.chain import chain_events, first_hash
from roundtable.errors import ConfigurationError, PluginError
from roundtable.plugins import Plugins
from roundtable.record import archive_parts
from roundtable.storage import MemoryStorage
from roundtable.testing import scripted_agents
from roundtable.types import Budget, PluginUse, SessionRecord

__all__ = ["site"]

pytestmark = pytest.mark.both_loops

RULE = """
from roundtable.scoring import Rule, rule_registry
registrar.add("veto", Rule("veto", rule_registry().get("plurality").count))
"""
EXIT = """
from dataclasses import dataclass
from roundtable.exits import MaxRounds
@dataclass(frozen=True)
class Bell(MaxRounds):
    kind = "bell"
registrar.add("bell", Bell.from_spec)
"""
TOOL = """
from roundtable.tools import tool
def roll() -> int:
    "Roll a die."
    return 4
registrar.add("dice", lambda: tool(roll))
"""
METER = """
from roundtable.analysis import ConsensusAnalyzer
registrar.add("themes", lambda model: ConsensusAnalyzer())
"""
STORAGE = """
from roundtable.record import archive_parts
from roundtable.core.record.chain import chain_events, first_hash
from roundtable.storage import MemoryStorage
registrar.add("shelf", lambda url: MemoryStorage())
"""
PROVIDER = """
from roundtable.testing import scripted_agents
registrar.add("acme", lambda model, config, settings: scripted_agents({"*": ["Tea"] * 9})[0].chat_model)
"""


def table(storage: Any, **options: Any) -> rt.Roundtable:
    options.setdefault("agents", scripted_agents({"ada": ["Tea"] * 9, "bo": ["Tea"] * 9}))
    return rt.Roundtable(storage=storage, **options)


async def record_of(storage: Any, session_id: str) -> SessionRecord:
    record, _ = await storage.read(session_id)
    assert isinstance(record, SessionRecord)
    return record


def uninstall(site: Site, name: str) -> None:
    """Take a distribution away, as pip does."""
    (info,) = site.folder.glob(f"{name.replace('-', '_')}-*.dist-info")
    shutil.rmtree(info)


async def test_a_session_records_every_plugin_it_used(site: Site) -> None:
    site.install("roundtable-court", version="1.2")
    hooks = {"veto": ("rules", RULE), "bell": ("exits", EXIT), "dice": ("tools", TOOL), "themes": ("analyzers", METER)}
    hooks |= {"shelf": ("storages", STORAGE), "acme": ("providers", PROVIDER)}
    for name, (kind, body) in hooks.items():
        site.install(f"roundtable-{name}", hook(kind, body), version="2.0")
    site.install("roundtable-idle")
    used = table("shelf://", agents=["acme:one"], tools=["dice"], analyzer="themes")
    result = await used.debate("Tea?", mode="court", decide="veto", exit_when="bell(1) | max_rounds(3)", rounds=1)
    record = await record_of(used._wiring.storage, result.session_id)
    await used.aclose()
    provides = {"acme": "provider acme", "court": "mode court", "bell": "exit bell", "shelf": "storage shelf"}
    provides |= {"themes": "analyzer themes", "dice": "tool dice", "veto": "rule veto"}
    assert {use.name: (use.version, use.provides) for use in record.plugins} == {
        f"roundtable-{name}": ("1.2" if name == "court" else "2.0", (thing,)) for name, thing in provides.items()
    }


async def test_a_session_of_built_in_parts_records_none(site: Site) -> None:
    site.install("roundtable-court")
    storage = MemoryStorage()
    used = table(storage)
    result = await used.debate("Tea?", rounds=1)
    await used.aclose()
    assert (await record_of(storage, result.session_id)).plugins == ()


class _Day:
    def __init__(self) -> None:
        exec(MODE.replace("{name}", "day"), vars(self))


async def test_a_plugin_passed_as_an_object_is_recorded_and_required_again() -> None:
    storage = MemoryStorage()
    used = table(storage, plugins=Plugins.of(_Day()))
    half = await used.debate("Tea?", mode="day", rounds=2, budget=Budget(max_calls=2))
    await used.aclose()
    record = await record_of(storage, half.session_id)
    assert record.plugins == (PluginUse(name="_Day", provides=("mode day",)),)
    without = table(storage)
    with pytest.raises(
        PluginError, match="needs the mode 'day' of the plugin '_Day', which is not installed"
    ) as missing:
        await without.resume(half.session_id, budget=Budget(max_calls=9))
    await without.aclose()
    assert missing.value.hint == "Pass the plugin to the table: Roundtable(plugins=[plugin])."


MISSING: Mapping[str, tuple[tuple[str, str], dict[str, Any], dict[str, Any], str]] = {
    "mode": (("modes", ""), {}, {"mode": "court"}, "mode 'court'"),
    "rule": (("rules", RULE.replace("veto", "court")), {}, {"decide": "court"}, "rule 'court'"),
    "exit": (
        ("exits", EXIT.replace("bell", "court")),
        {},
        {"exit_when": "court(5) | max_rounds(3)"},
        "exit 'court'",
    ),
    "provider": (("providers", PROVIDER.replace("acme", "court")), {"agents": ["court:one"]}, {}, "provider 'court'"),
}


@pytest.mark.parametrize("kind", MISSING)
async def test_a_session_without_its_plugin_can_be_read_but_not_resumed_or_forked(kind: str, site: Site) -> None:
    (hooked, body), options, debate, thing = MISSING[kind]
    site.install("roundtable-court", hook(hooked, body) if body else MODE, version="1.2")
    storage = MemoryStorage()
    used = table(storage, **options)
    half = await used.debate("Tea?", rounds=2, budget=Budget(max_calls=1 if options else 2), **debate)
    await used.aclose()
    uninstall(site, "roundtable-court")
    without = table(storage, agents=None) if options else table(storage)
    again = await without.session(half.session_id)
    assert (again.rounds, again.answer) == (half.rounds, half.answer)
    for act in (without.resume, without.extend, lambda session_id, **_: without.fork(session_id, at_round=1)):
        with pytest.raises(PluginError) as missing:
            await act(half.session_id, budget=Budget(max_calls=9))
        message = f"session {half.session_id!r} needs the {thing} of the plugin 'roundtable-court' (1.2), "
        assert missing.value.message == f"{message}which is not installed"
        assert missing.value.plugin == "roundtable-court"
        assert missing.value.hint == "Install it: pip install 'roundtable-court==1.2'."
    await without.aclose()


async def test_a_fork_that_replaces_the_parts_of_a_plugin_does_not_need_it(site: Site) -> None:
    site.install("roundtable-court")
    storage = MemoryStorage()
    used = table(storage)
    told = await used.debate("Tea?", mode="court", rounds=1)
    await used.aclose()
    uninstall(site, "roundtable-court")
    without = table(storage)
    forked = await without.fork(told.session_id, at_round=0, mode="collaborative")
    await without.aclose()
    assert forked.status == "completed"
    assert (await record_of(storage, forked.session_id)).plugins == ()


@pytest.mark.parametrize("chosen", [Plugins.none(), Plugins.of("roundtable-night")], ids=["none", "another"])
async def test_a_plugin_that_is_installed_and_not_loaded_says_how_to_load_it(site: Site, chosen: Plugins) -> None:
    site.install("roundtable-court")
    site.install("roundtable-night")
    storage = MemoryStorage()
    used = table(storage)
    half = await used.debate("Tea?", mode="court", rounds=2, budget=Budget(max_calls=2))
    await used.aclose()
    without = table(storage, plugins=chosen)
    with pytest.raises(PluginError, match="which is installed, but not loaded") as missing:
        await without.resume(half.session_id, budget=Budget(max_calls=9))
    await without.aclose()
    assert missing.value.hint == "Load it: Roundtable(plugins=Plugins.of('roundtable-court'))."


async def test_another_version_without_the_mode_is_named_with_both_versions(site: Site) -> None:
    site.install("roundtable-court", version="1.2")
    storage = MemoryStorage()
    used = table(storage)
    half = await used.debate("Tea?", mode="court", rounds=2, budget=Budget(max_calls=2))
    await used.aclose()
    uninstall(site, "roundtable-court")
    site.install("roundtable-court", MODE.replace("{name}", "assembly"), version="2.0", entry_points="court = court2\n")
    (site.folder / "court2.py").write_text(MODE.replace("{name}", "assembly"))
    site.modules.append("court2")
    newer = table(storage)
    with pytest.raises(
        PluginError, match=r"\(1\.2\), but the installed version \(2\.0\) does not provide it"
    ) as missing:
        await newer.resume(half.session_id, budget=Budget(max_calls=9))
    await newer.aclose()
    assert missing.value.hint == "Install it: pip install 'roundtable-court==1.2'."


async def test_another_plugin_with_the_same_name_is_not_accepted(site: Site) -> None:
    site.install("roundtable-court", version="1.2")
    storage = MemoryStorage()
    used = table(storage)
    half = await used.debate("Tea?", mode="court", rounds=2, budget=Budget(max_calls=2))
    await used.aclose()
    uninstall(site, "roundtable-court")
    site.install("roundtable-other", MODE.replace("{name}", "court"), entry_points="court = roundtable_other_plugin\n")
    other = table(storage)
    assert other._wiring.catalog.modes.entry("court").source == "roundtable-other"
    with pytest.raises(PluginError, match=r"of the plugin 'roundtable-court' \(1.2\), which is not installed"):
        await other.resume(half.session_id, budget=Budget(max_calls=9))
    await other.aclose()


async def test_a_plugin_of_the_caller_replaces_the_installed_one(site: Site) -> None:
    site.install("roundtable-day", version="1.2")
    storage = MemoryStorage()
    used = table(storage)
    half = await used.debate("Tea?", mode="day", rounds=2, budget=Budget(max_calls=2))
    await used.aclose()
    uninstall(site, "roundtable-day")
    given = table(storage, plugins=Plugins.of(_Day()))
    assert (await given.resume(half.session_id, budget=Budget(max_calls=9))).status == "completed"
    await given.aclose()


async def test_a_seat_with_the_full_name_of_its_provider_names_the_missing_plugin(site: Site) -> None:
    site.install("roundtable-acme", hook("providers", PROVIDER), version="1.2")
    storage = MemoryStorage()
    used = table(storage, agents=["roundtable-acme/acme:one"])
    half = await used.debate("Tea?", rounds=2, budget=Budget(max_calls=1))
    await used.aclose()
    uninstall(site, "roundtable-acme")
    without = table(storage, agents=None)
    with pytest.raises(PluginError, match="needs the provider 'acme' of the plugin 'roundtable-acme'"):
        await without.resume(half.session_id, budget=Budget(max_calls=9))
    await without.aclose()


async def test_a_missing_tool_names_its_plugin(site: Site) -> None:
    site.install("roundtable-dice", hook("tools", TOOL), version="0.3")
    storage = MemoryStorage()
    used = table(storage, tools=["dice"])
    half = await used.debate("Tea?", rounds=2, budget=Budget(max_calls=2))
    await used.aclose()
    without = table(storage)
    with pytest.raises(ConfigurationError, match="tool 'roll'") as missing:
        await without.resume(half.session_id, budget=Budget(max_calls=9))
    await without.aclose()
    assert "The plugin roundtable-dice 0.3 provided the tool dice." in str(missing.value.hint)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("roundtable-court", "only if you trust its author", id="a name"),
        pytest.param("court'; rm -rf ~ '", "Install the plugin.", id="no name of a distribution"),
    ],
)
async def test_a_name_from_an_imported_file_is_never_suggested_as_a_command_without_a_warning(
    site: Site, tmp_path: Path, name: str, hint: str
) -> None:
    site.install("roundtable-court")
    used = table(MemoryStorage())
    half = await used.debate("Tea?", mode="court", rounds=2, budget=Budget(max_calls=2))
    record, events = await used._wiring.storage.read(half.session_id)
    await used.aclose()
    uninstall(site, "roundtable-court")
    (use,) = record.plugins
    record = record.model_copy(update={"plugins": (use.model_copy(update={"name": name}),)})
    path = tmp_path / "session.json"
    path.write_text("".join(archive_parts(record, tuple(chain_events(first_hash(record), 0, events)))))
    without = table(MemoryStorage())
    session_id = await without.import_(path)
    with pytest.raises(PluginError) as missing:
        await without.resume(session_id, budget=Budget(max_calls=9))
    await without.aclose()
    assert hint in str(missing.value.hint)
