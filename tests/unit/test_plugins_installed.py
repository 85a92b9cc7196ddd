"""Installed plugins: found without importing, judged before and after, loaded apart, and reported."""

from __future__ import annotations

import logging
import sys
import threading

import pytest
from plugin_kit import MODE, Site, hook, site

from roundtable import Roundtable
from roundtable._version import __version__
from roundtable.errors import ConfigurationError, PluginError
from roundtable.plugins import HOST_API, LoadedPlugins, PluginReport, Plugins, load_plugins
from roundtable.scoring import find_rule
from roundtable.settings import Settings

__all__ = ["site"]

OBSTRUCTIONS = threading.Event()


def report_of(loaded: LoadedPlugins, name: str) -> PluginReport:
    return next(report for report in loaded.reports() if report.name == name)


def test_nothing_is_imported_before_a_name_is_requested(site: Site) -> None:
    module, other = site.install("roundtable-court"), site.install("roundtable-night")
    loaded = load_plugins()
    assert report_of(loaded, "roundtable-court").stage == "idle"
    assert "court" not in loaded.catalog.modes
    assert module not in sys.modules
    assert loaded.catalog.modes.get("court").name == "collaborative"
    assert loaded.catalog.modes.entry("court").source == "roundtable-court"
    assert other not in sys.modules
    report = report_of(loaded, "roundtable-court")
    assert (report.stage, report.version, report.provides, report.failed) == ("ready", "1.0", ("mode court",), False)


def test_a_missing_name_hints_at_plugins_that_are_installed_but_not_loaded(site: Site) -> None:
    site.install("roundtable-court", MODE.replace("{name}", "jury"))
    with pytest.raises(ConfigurationError, match="unknown mode 'jury'") as caught:
        load_plugins().catalog.modes.get("jury")
    assert str(caught.value.hint).endswith("loaded only by plugins=Plugins.of(...) or .load(): roundtable-court.")
    with pytest.raises(ConfigurationError, match="unknown mode 'jury'") as caught:
        load_plugins(Plugins.none()).catalog.modes.get("jury")
    assert str(caught.value.hint).endswith("install a plugin that adds it.")


def test_an_entry_point_that_does_not_register_the_name_leaves_it_unknown(site: Site) -> None:
    site.install("roundtable-court")
    with pytest.raises(ConfigurationError, match="unknown storage 'court'"):
        load_plugins().catalog.storages.get("court")


def test_plugins_none_loads_no_plugin(site: Site) -> None:
    site.install("roundtable-court")
    loaded = load_plugins(Plugins.none())
    with pytest.raises(ConfigurationError, match="unknown mode 'court'"):
        loaded.catalog.modes.get("court")
    assert report_of(loaded, "roundtable-court").stage == "off"


@pytest.mark.parametrize("name", ["roundtable-court", "Roundtable_Court", "court"])
def test_a_plugin_is_named_by_its_distribution_or_its_entry_point(site: Site, name: str) -> None:
    site.install("roundtable-court")
    site.install("roundtable-night")
    loaded = load_plugins(Plugins.of(name))
    assert "court" in loaded.catalog.modes
    assert report_of(loaded, "roundtable-night").stage == "off"
    with pytest.raises(ConfigurationError, match="unknown mode 'night'"):
        loaded.catalog.modes.get("night")


def test_a_named_plugin_that_is_not_installed_is_reported_at_once(site: Site) -> None:
    site.install("roundtable-court")
    with pytest.raises(PluginError, match="plugin 'roundtable-curt' is not installed") as refusal:
        load_plugins(Plugins.of("roundtable-curt"))
    assert "roundtable-court" in str(refusal.value.hint)


def test_load_takes_all_installed_plugins_and_an_object_in_addition(site: Site) -> None:
    site.install("roundtable-court")
    site.install("roundtable-night")
    assert {"court", "night"} <= set(load_plugins(Plugins.load()).catalog.modes.names())
    given = load_plugins(Plugins.of("court", _Day()))
    assert {"court", "day"} <= set(given.catalog.modes.names())
    assert [report.name for report in given.reports()] == ["_Day", "roundtable-court", "roundtable-night"]


class _Day:
    def __init__(self) -> None:
        exec(MODE.replace("{name}", "day"), vars(self))


@pytest.mark.parametrize(
    ("variables", "chosen", "there"),
    [
        pytest.param({"plugins": "court"}, Plugins.load(), {"court"}, id="allowed"),
        pytest.param({"plugins": "roundtable-night, court"}, Plugins.load(), {"court", "night"}, id="two"),
        pytest.param({"plugins": "none"}, Plugins.load(), set(), id="none"),
        pytest.param({"plugins": ","}, Plugins.load(), set(), id="an empty list"),
        pytest.param({"plugins": "night"}, Plugins("all", names=("court",)), set(), id="others than chosen"),
        pytest.param({"plugins": "night,court"}, Plugins("all", names=("court",)), {"court"}, id="also chosen"),
        pytest.param(
            {"plugins": "roundtable-court"}, Plugins("all", names=("court",)), {"court"}, id="by its other name"
        ),
        pytest.param({"plugins": "none,court"}, Plugins("all", names=("court",)), set(), id="none among others"),
        pytest.param({"plugins": "all"}, Plugins.load(), {"court", "night"}, id="all"),
        pytest.param({"disable_plugins": "court"}, Plugins.load(), {"night"}, id="disabled"),
        pytest.param({"disable_plugins": "1"}, Plugins.load(), set(), id="all disabled"),
        pytest.param({"plugins": "court"}, Plugins.of("night"), {"night"}, id="a program's own choice"),
        pytest.param({"disable_plugins": "night"}, Plugins(), set(), id="asked for"),
    ],
)
def test_the_environment_narrows_what_is_loaded(
    site: Site, variables: dict[str, str], chosen: Plugins, there: set[str]
) -> None:
    site.install("roundtable-court")
    site.install("roundtable-night")
    catalog = load_plugins(chosen, Settings(**variables)).catalog
    assert {name for name in ("court", "night") if name in catalog.modes} == there


def test_variables_of_plugins_are_read() -> None:
    settings = Settings.from_env({"ROUNDTABLE_PLUGINS": "a,b", "ROUNDTABLE_DISABLE_PLUGINS": "c"})
    assert (settings.plugins, settings.disable_plugins) == ("a,b", "c")
    assert Plugins().apply_environment(settings).without == ("c",)


BAD = "raise RuntimeError('no licence')"


@pytest.mark.parametrize(
    ("code", "more", "stage", "message"),
    [
        pytest.param(BAD, {}, "import", "RuntimeError: no licence", id="raises at import"),
        pytest.param("raise SystemExit(3)", {}, "import", "SystemExit: 3", id="ends the program at import"),
        pytest.param("raise KeyboardInterrupt", {}, "import", "KeyboardInterrupt", id="interrupts at import"),
        pytest.param("import not_there_at_all", {}, "import", "No module named 'not_there_at_all'", id="lacks"),
        pytest.param("x = (", {}, "import", "SyntaxError", id="is no Python"),
        pytest.param(hook("modes", BAD), {}, "register", "RuntimeError: no licence", id="raises in a hook"),
        pytest.param(hook("modes", "raise SystemExit"), {}, "register", "SystemExit", id="ends the program in a hook"),
        pytest.param(
            MODE.replace("(registrar)", "(registrar, colour)"), {}, "register", "does not fit", id="wrong signature"
        ),
        pytest.param(MODE.replace("_modes(", "_moods("), {}, "register", "does not fit", id="unknown hook"),
        pytest.param("", {}, "register", "implements no hook", id="no hook"),
        pytest.param(MODE.replace("def ", "async def "), {}, "register", "coroutine function", id="coroutine"),
        pytest.param(hook("modes", "registrar.add('x', 7)"), {}, "register", "int has no next_stage", id="junk"),
        pytest.param(hook("modes", "registrar.add(7, 7)"), {}, "register", "", id="junk for a name"),
        pytest.param(
            hook("tools", "registrar.add('x', print, summary=7)"), {}, "register", "summary", id="junk for a summary"
        ),
        pytest.param(hook("personas", "registrar.add('x', 'y')"), {}, "register", "a Persona, not str", id="persona"),
        pytest.param(
            hook("tools", "registrar.add('x', print); registrar.add('x', print)"),
            {}, "register", "the tool 'x' is already registered", id="twice",
        ),
        pytest.param(
            f"ROUNDTABLE_API = ({HOST_API + 1}, {HOST_API + 2})\n{MODE}",
            {}, "api", f"contract {HOST_API + 1} to {HOST_API + 2}; this library has {HOST_API}", id="newer host",
        ),
        pytest.param(f"ROUNDTABLE_API = (0, 0)\n{MODE}", {}, "api", "contract 0 to 0", id="older host"),
        pytest.param(f"ROUNDTABLE_API = '1'\n{MODE}", {}, "api", "must be a pair", id="no number of the contract"),
        pytest.param(BAD, {"requires": ("roundtable-sdk>=99",)}, "requires", "requires roundtable-sdk>=99", id="newer"),
        pytest.param(BAD, {"requires": ("Roundtable.SDK<0.0.1",)}, "requires", f"this is {__version__}", id="older"),
        pytest.param(BAD, {"requires": ("what is ::: this",)}, "metadata", "cannot be read", id="bad requirement"),
        pytest.param(
            BAD,
            {"requires": ('roundtable-sdk; os_name ~= "posix"',)}, "metadata", "UndefinedComparison", id="bad marker",
        ),
        pytest.param(
            BAD, {"requires": ('roundtable-sdk; "x" in extras',)}, "metadata", "cannot be read", id="unknown marker"
        ),
        pytest.param(BAD, {"entry_points": "x\n"}, "metadata", "cannot be read", id="bad entry points"),
        pytest.param(BAD, {"entry_points": "x = :::\n"}, "import", "", id="bad entry point"),
        pytest.param(BAD, {"entry_points": "x = no.such.module\n"}, "import", "No module", id="missing module"),
        pytest.param(
            "class Court: pass",
            {"entry_points": "x = roundtable_court_plugin:Court\n"}, "import", "is a class", id="class",
        ),
    ],
)  # fmt: skip
def test_a_plugin_that_fails_is_reported_and_breaks_nothing(
    site: Site, caplog: pytest.LogCaptureFixture, code: str, more: dict[str, object], stage: str, message: str
) -> None:
    site.install("roundtable-court", code, **more)  # type: ignore[arg-type]  # options of one case each
    site.install("roundtable-night")
    with caplog.at_level(logging.WARNING):
        loaded = load_plugins(Plugins.load())
    report = report_of(loaded, "roundtable-court")
    assert (report.stage, report.failed) == (stage, True)
    assert report.error is not None
    assert message in str(report.error)
    assert report.to_dict()["stage"] == stage
    assert "roundtable-court is left out" in caplog.text
    assert "night" in loaded.catalog.modes
    assert "court" not in loaded.catalog.modes
    with pytest.raises((PluginError, ConfigurationError)):
        load_plugins(Plugins("all", strict=True))


@pytest.mark.parametrize("chosen", [Plugins(), Plugins.load(), Plugins.of("roundtable-court")], ids=str)
def test_a_name_of_a_failed_plugin_fails_with_the_error_of_the_plugin(site: Site, chosen: Plugins) -> None:
    site.install("roundtable-court", "raise LookupError('no licence')")
    table = Roundtable(["scripted:x"], storage="memory://", plugins=chosen, settings=Settings())
    for ask in (
        lambda: table._wiring.catalog.modes.get("court"),
        lambda: table._wiring.catalog.providers.get("roundtable-court/court"),
        lambda: table.chat_model("court:any"),
        lambda: find_rule("court(1)", table._wiring.catalog.rules),
        lambda: table.estimate("Tea?", mode="court"),
    ):
        with pytest.raises(PluginError, match="court' belongs to the plugin") as caught:
            ask()
        assert isinstance(caught.value.__cause__, LookupError)
        assert (caught.value.plugin, caught.value.stage) == ("roundtable-court", "import")


def test_a_name_registered_before_the_failure_is_known_to_be_missing(site: Site) -> None:
    site.install("roundtable-court", hook("tools", "registrar.add('gavel', print)\nraise ValueError('broken')"))
    loaded = load_plugins(Plugins.load())
    with pytest.raises(PluginError, match="the tool 'gavel' belongs to the plugin 'roundtable-court'") as caught:
        loaded.catalog.tools.get("gavel")
    assert isinstance(caught.value.__cause__, ValueError)
    assert "gavel" not in loaded.catalog.tools


@pytest.mark.slow
def test_a_plugin_that_blocks_is_abandoned(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(sys.modules[__name__]), "OBSTRUCTIONS", OBSTRUCTIONS)
    sys.modules["obstructions"] = sys.modules[__name__]
    waits = "import obstructions\nobstructions.OBSTRUCTIONS.wait(60)"
    site.install("roundtable-import", waits)
    site.install("roundtable-hook", hook("modes", waits))
    try:
        loaded = load_plugins(Plugins("all", timeout_s=0.6))
        stages = {name: report_of(loaded, f"roundtable-{name}").stage for name in ("import", "hook")}
        assert stages == {"import": "import", "hook": "register"}
        assert "took longer than 0.6 s" in str(report_of(loaded, "roundtable-hook").error)
        # The threads still wait: another table of the process waits for none of them again.
        again = load_plugins(Plugins("all", timeout_s=0.6))
        names = [thread.name for thread in threading.enumerate()]
        assert (names.count("roundtable-roundtable-import"), names.count("roundtable-roundtable-hook")) == (1, 1)
        assert {report.stage for report in again.reports()} == {"import", "register"}
        assert "'roundtable-import' took longer than 0.6 s" in str(report_of(again, "roundtable-import").error)
    finally:
        OBSTRUCTIONS.set()
        del sys.modules["obstructions"]


def test_plugins_with_the_same_name_must_be_named_in_full(site: Site) -> None:
    code = hook("modes", "from roundtable.modes import DelphiMode\nregistrar.add('court', DelphiMode())")
    site.install("roundtable-bolt", code)
    site.install("roundtable-court")
    site.install("roundtable-crown", code)
    catalog = (loaded := load_plugins(Plugins.load())).catalog
    with pytest.raises(ConfigurationError) as refusal:
        catalog.modes.get("court")
    for name in ("roundtable-bolt/court", "roundtable-court/court", "roundtable-crown/court"):
        assert name in str(refusal.value)
        assert catalog.modes.entry(name).source == name.partition("/")[0]
    assert catalog.modes.get("Roundtable_Court/court").name == "collaborative"
    assert catalog.modes.get("roundtable-bolt/court").name == "delphi"
    assert any("court" in note for report in loaded.reports() for note in report.notes)
    table = Roundtable(plugins=Plugins.load(), storage="memory://")
    assert table._wiring.engine.modes.get_mode("roundtable-bolt/court").name == "delphi"


def test_built_in_parts_keep_their_names(site: Site) -> None:
    site.install(
        "roundtable-usurper",
        hook("modes", "from roundtable.modes import DelphiMode\nregistrar.add('collaborative', DelphiMode())"),
    )
    loaded = load_plugins(Plugins.load())
    assert loaded.catalog.modes.get("collaborative").name == "collaborative"
    assert loaded.catalog.modes.get("roundtable-sdk/collaborative").name == "collaborative"
    assert loaded.catalog.modes.get("roundtable-usurper/collaborative").name == "delphi"
    (note,) = report_of(loaded, "roundtable-usurper").notes
    assert "roundtable-sdk/collaborative" in note


def test_the_first_distribution_of_a_name_on_the_path_counts(site: Site) -> None:
    site.install("roundtable-court", version="2.0")
    site.install("Roundtable_Court", BAD, version="1.0")
    assert len([report for report in load_plugins().reports() if "ourt" in report.name]) == 1


def test_a_registrar_takes_nothing_after_its_hook(site: Site) -> None:
    kept: list[object] = []
    code = "import sys\nsys.modules['keepsake'].append(registrar)\nregistrar.add('court', print)"
    sys.modules["keepsake"] = kept  # type: ignore[assignment]  # what a hook can reach
    try:
        site.install("roundtable-court", hook("tools", code))
        loaded = load_plugins(Plugins.load())
    finally:
        del sys.modules["keepsake"]
    with pytest.raises(ConfigurationError, match="after its hook has returned"):
        kept[0].add("late", print)  # type: ignore[attr-defined]  # the registrar
    assert "late" not in loaded.catalog.tools


@pytest.mark.slow
def test_a_hundred_broken_plugins_leave_a_working_host_and_a_readable_report(site: Site) -> None:
    causes = [BAD, "raise SystemExit", hook("modes", BAD), MODE.replace("_modes(", "_moods("), "x = ("]
    for number in range(100):
        site.install(f"roundtable-broken-{number}", causes[number % len(causes)])
    site.install("roundtable-court")
    loaded = load_plugins(Plugins.load())
    failed = [report for report in loaded.reports() if report.failed]
    assert len(failed) == 100
    assert all(
        report.error and report.name in str(report.error) and "\n\n" not in str(report.error) for report in failed
    )
    assert "court" in loaded.catalog.modes


def test_unreadable_metadata_of_other_packages_is_ignored(site: Site) -> None:
    site.install("roundtable-nameless", metadata="\n")
    (site.folder / "stranger-1.0.dist-info").mkdir()
    (site.folder / "stranger-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff\xfe[roundtable]")
    assert not any("stranger" in report.name for report in load_plugins().reports())


async def test_a_debate_can_use_the_mode_and_rule_of_an_installed_plugin(site: Site) -> None:
    from roundtable.testing import scripted_agents

    rule = "from roundtable.scoring import Rule, rule_registry\n"
    rule += "registrar.add('veto', Rule('veto', rule_registry().get('plurality').count))"
    site.install("roundtable-court")
    site.install("roundtable-veto", hook("rules", rule))
    table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
    result = await table.debate("Tea?", mode="court", decide="veto", rounds=1)
    await table.aclose()
    assert (result.session.mode, result.decision.rule if result.decision else None) == ("court", "veto")


async def test_an_analyzer_and_a_tool_of_installed_plugins_are_chosen_by_name(site: Site) -> None:
    from roundtable.testing import scripted_agents

    meter = "from roundtable.analysis import ConsensusAnalyzer\n"
    meter += "registrar.add('themes', lambda model: ConsensusAnalyzer())"
    tool = "from roundtable.tools import tool\ndef roll() -> int:\n    'Roll a die.'\n    return 4\n"
    site.install("roundtable-themes", hook("analyzers", meter))
    site.install("roundtable-dice", hook("tools", f"{tool}registrar.add('dice', lambda: tool(roll))"))
    agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
    table = Roundtable(agents, storage="memory://", analyzer="themes", tools=["dice"])
    result = await table.debate("Tea?", rounds=1)
    assert [one.name for one in table._wiring.tools.toolkit.get_tools()] == ["roll"]  # type: ignore[union-attr]
    await table.aclose()
    assert result.consensus is not None
    assert result.consensus.agreement_level == 1


def test_requirements_for_other_packages_and_platforms_are_ignored(site: Site) -> None:
    elsewhere = "roundtable-sdk>=99; sys_platform == 'nowhere'"
    site.install("roundtable-court", requires=("anyio>=999", elsewhere, "roundtable-sdk>=0.1"))
    assert "court" in load_plugins(Plugins.load()).catalog.modes


def test_several_entry_points_into_one_module_are_one_plugin(site: Site) -> None:
    code = hook("tools", 'registrar.add("gavel", print)\nregistrar.add("bench", print)')
    points = "gavel = roundtable_court_plugin\nbench = roundtable_court_plugin\n"
    site.install("roundtable-court", code, entry_points=points)
    for name in ("gavel", "bench"):
        loaded = load_plugins()
        assert name in loaded.catalog.tools or loaded.catalog.tools.get(name) is print
        report = report_of(loaded, "roundtable-court")
        assert (report.stage, report.provides) == ("ready", ("tool gavel", "tool bench"))


def test_one_entry_point_brings_all_names_that_begin_with_its_own(site: Site) -> None:
    code = hook("tools", 'registrar.add("court-clerk", print)\nregistrar.add("court_words", print)')
    site.install("roundtable-court", code)
    for name in ("court-clerk", "court_words", "roundtable-court/court_words"):
        assert load_plugins().catalog.tools.get(name) is print
    with pytest.raises(ConfigurationError, match="courtyard"):
        load_plugins().catalog.tools.get("courtyard")
