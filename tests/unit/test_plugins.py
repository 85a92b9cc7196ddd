"""Plugins: built-ins come through the hooks, a wrong one is named, and two of one name are told apart."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace

import pytest

from roundtable import hookimpl, plugins
from roundtable.api import AgentProfile
from roundtable.core import hooks
from roundtable.core.base.registry import HOST, Entry
from roundtable.errors import ConfigurationError, PluginError
from roundtable.exits import MaxRounds
from roundtable.modes import BUILTIN_MODES, CollaborativeMode
from roundtable.plugins import (
    HOST_API,
    Catalog,
    ExitRegistrar,
    Host,
    ModeRegistrar,
    Plugins,
    ProviderRegistrar,
    RuleRegistrar,
    StorageRegistrar,
    ToolRegistrar,
    load_catalog,
    load_plugins,
)
from roundtable.plugins.errors import make
from roundtable.protocols import Tool
from roundtable.providers.scripted import ScriptedModel
from roundtable.scoring import Electorate, Outcome, Parameters, Rule, decide, first_places
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.types import ProviderConfig


def veto(ballots: Electorate, parameters: Parameters) -> Outcome:
    profile = ballots.read(first_places)
    named = {option for vote in profile.votes for option in vote.form}
    return Outcome(profile.roll, {}, tuple(named) if len(named) == 1 else (), "all of one view, or none")


class Acme:
    """A plugin that adds one thing of each kind."""

    hosts: list[Host]

    def __init__(self) -> None:
        self.hosts = []

    @hookimpl
    def roundtable_register_providers(self, registrar: ProviderRegistrar, host: Host) -> None:
        self.hosts.append(host)

        def make(model: str | None, config: ProviderConfig, settings: Settings) -> ScriptedModel:
            return ScriptedModel([], model=model or "acme-1", provider="acme")

        registrar.add("acme", make, summary="Acme's models.")

    @hookimpl
    def roundtable_register_modes(self, registrar: ModeRegistrar) -> None:
        registrar.add("court", CollaborativeMode(), summary="In court.")

    @hookimpl
    def roundtable_register_storages(self, registrar: StorageRegistrar) -> None:
        registrar.add("redis", lambda _: MemoryStorage())

    @hookimpl
    def roundtable_register_tools(self, registrar: ToolRegistrar) -> None:
        def make() -> Tool:
            raise AssertionError("never made here")

        registrar.add("weather", make)

    @hookimpl
    def roundtable_register_rules(self, registrar: RuleRegistrar) -> None:
        registrar.add("veto", Rule("veto", veto))

    @hookimpl
    def roundtable_register_exits(self, registrar: ExitRegistrar) -> None:
        registrar.add("night", MaxRounds.from_spec)


def test_built_in_parts_are_registered_through_the_hooks() -> None:
    catalog = load_catalog()
    assert {"scripted", "openai-chat", "compatible", "local"} <= set(catalog.providers.names())
    assert catalog.modes.names() == tuple(name for name, _, _ in BUILTIN_MODES)
    assert catalog.storages.names() == ("memory", "postgres", "postgresql", "sqlite")
    for registry in (catalog.providers, catalog.modes, catalog.storages, catalog.rules, catalog.exits):
        for entry in registry:
            assert entry.source == "roundtable-sdk"
            assert entry.summary.strip()


def test_a_plugin_adds_parts_of_every_kind_and_knows_where_it_runs() -> None:
    acme = Acme()
    catalog = load_catalog([acme])
    for registry, name in (
        (catalog.providers, "acme"),
        (catalog.modes, "court"),
        (catalog.storages, "redis"),
        (catalog.tools, "weather"),
        (catalog.rules, "veto"),
        (catalog.exits, "night"),
    ):
        assert registry.entry(name).source == "Acme"  # type: ignore[attr-defined]  # registries of several kinds
    (host,) = acme.hosts
    assert host.api == HOST_API
    assert host.capabilities == set(Catalog().registries()) >= {"providers", "modes", "storages", "tools", "observers"}
    made = catalog.providers.get("acme")("acme-2", ProviderConfig(), Settings())
    assert (made.provider, made.model) == ("acme", "acme-2")


def test_a_rule_of_a_plugin_decides_like_a_built_in_one() -> None:
    rules = load_catalog([Acme()]).rules
    assert decide(["tea", "Tea"], rule="veto", rules=rules).winner == "Tea"
    assert decide(["tea", "milk"], rule="Veto", rules=rules).winners == ()
    with pytest.raises(ConfigurationError, match="unknown rule 'veto'"):
        decide(["tea"], rule="veto")


def test_catalogs_share_nothing() -> None:
    assert "court" in load_catalog([Acme()]).modes
    assert "court" not in load_catalog().modes


def test_a_module_like_object_is_a_plugin_too() -> None:
    @hookimpl
    def roundtable_register_modes(registrar: ModeRegistrar) -> None:
        registrar.add("quiet", CollaborativeMode())

    plugin = SimpleNamespace(roundtable_register_modes=roundtable_register_modes)
    assert "quiet" in load_catalog([plugin]).modes

    module = ModuleType("quiet_modes")
    vars(module)["roundtable_register_modes"] = roundtable_register_modes
    assert load_catalog([module]).modes.entry("quiet").source == "quiet_modes"


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        pytest.param([Acme], "Acme is a class", id="class"),
        pytest.param(["acme"], "'acme' is a text", id="text"),
        pytest.param([object()], "plugin 'object' implements no hook", id="no hook"),
        pytest.param("acme", "plugins must be a list", id="no list"),
        pytest.param({"acme": Acme()}, "plugins must be a list", id="mapping"),
    ],
)
def test_an_object_that_is_not_a_plugin_is_refused(plugins: Sequence[object], message: str) -> None:
    with pytest.raises(PluginError, match=message) as caught:
        load_catalog(plugins)
    assert caught.value.hint


class WrongSignature:
    @hookimpl
    def roundtable_register_modes(self, registrar: ModeRegistrar, colour: str) -> None:
        raise AssertionError


class Unreadable:
    @property
    def ROUNDTABLE_API(self) -> tuple[int, int]:  # noqa: N802  (the name of the contract)
        raise SystemExit(3)


def test_a_plugin_whose_version_cannot_be_read_is_named() -> None:
    with pytest.raises(PluginError, match="ROUNDTABLE_API of 'Unreadable' cannot be read: SystemExit: 3") as caught:
        load_catalog([Unreadable()])
    assert (caught.value.plugin, caught.value.stage) == ("Unreadable", "api")


class Named:
    def __init__(self, mode: str) -> None:
        self.mode = mode

    @hookimpl
    def roundtable_register_modes(self, registrar: ModeRegistrar) -> None:
        registrar.add(self.mode, CollaborativeMode())


def test_two_plugins_of_one_class_are_both_reported() -> None:
    reports = load_plugins(Plugins.of(Named("day"), Named("night"))).reports()
    assert [(one.name, one.provides) for one in reports if one.stage == "ready"] == [
        ("Named", ("mode day",)),
        ("Named", ("mode night",)),
    ]


def test_every_hook_has_a_registrar_type_to_annotate_with() -> None:
    for name in hooks.__all__:
        if name.startswith("roundtable_register_"):
            taken = inspect.signature(getattr(hooks, name)).parameters["registrar"].annotation
            assert getattr(plugins, taken)


class WrongName:
    @hookimpl
    def roundtable_register_moods(self, registrar: ModeRegistrar) -> None:
        raise AssertionError


class Failing:
    @hookimpl
    def roundtable_register_modes(self, registrar: ModeRegistrar) -> None:
        raise KeyError("lost")


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        pytest.param(WrongSignature(), "does not fit the hooks.*colour", id="signature"),
        pytest.param(WrongName(), "does not fit the hooks.*roundtable_register_moods", id="name"),
        pytest.param(Failing(), "failed while it registered: KeyError: 'lost'", id="raises"),
    ],
)
def test_a_plugin_that_does_not_work_is_named(plugin: object, message: str) -> None:
    with pytest.raises(PluginError, match=f"(?s)plugin '{type(plugin).__name__}' {message}") as caught:
        load_catalog([plugin])
    error = caught.value
    assert (error.plugin, error.stage) == (type(plugin).__name__, "register")
    assert error.__cause__ is not None


def test_two_plugins_with_the_same_name_are_both_named() -> None:
    with pytest.raises(ConfigurationError, match="the provider 'acme' is already registered by Acme"):
        load_catalog([Acme(), Acme()])

    class Usurper:
        @hookimpl
        def roundtable_register_modes(self, registrar: ModeRegistrar) -> None:
            registrar.add("collaborative", CollaborativeMode())

    with pytest.raises(ConfigurationError, match=r"'collaborative': roundtable-sdk and .*Usurper"):
        load_catalog([Usurper()])


@pytest.mark.parametrize("name", ["", " acme", "a:b", "acme/a"])
def test_an_unusable_name_is_refused(name: str) -> None:
    class Odd:
        @hookimpl
        def roundtable_register_modes(self, registrar: ModeRegistrar) -> None:
            registrar.add(name, CollaborativeMode())

    with pytest.raises(ConfigurationError, match=r"a mode name must be|the mode name 'acme/a' contains '/'"):
        load_catalog([Odd()])


@pytest.mark.parametrize(
    ("kind", "thing", "message"),
    [
        ("providers", 3, "'x' must be registered with a function, not int"),
        ("modes", 3, "mode 'x': int has no"),
        ("modes", CollaborativeMode, "not the class"),
        ("storages", "redis", "'x' must be registered with a function, not str"),
        ("tools", None, "'x' must be registered with a function, not NoneType"),
        ("rules", veto, "'x' must be registered with a Rule, not function"),
        ("exits", MaxRounds(1), "'x' must be registered with a function, not MaxRounds"),
        ("personas", "Nurse", "'x' must be registered with a Persona, not str"),
        ("profiles", "scout", "'x' must be registered with an AgentProfile of this name, not str"),
        ("profiles", AgentProfile("y", instructions="Look."), "must be registered with an AgentProfile of this name"),
    ],
)
def test_an_object_of_a_wrong_kind_is_refused_when_it_is_registered(kind: str, thing: object, message: str) -> None:
    def add(registrar: RuleRegistrar) -> None:
        registrar.add("x", thing)  # type: ignore[arg-type]  # what a careless author writes

    plugin = SimpleNamespace(**{f"roundtable_register_{kind}": hookimpl(add)})
    with pytest.raises(ConfigurationError, match=message):
        load_catalog([plugin])


def test_the_return_value_of_a_hook_is_ignored() -> None:
    def chatty(registrar: ModeRegistrar) -> str:
        registrar.add("quiet", CollaborativeMode())
        return "done"

    assert "quiet" in load_catalog([SimpleNamespace(roundtable_register_modes=hookimpl(chatty))]).modes


def test_an_error_of_a_built_in_part_is_raised_unchanged() -> None:
    def make_nothing() -> Tool:
        raise ValueError("no such luck")

    with pytest.raises(ValueError, match="no such luck"):
        make("tool", Entry("built in", make_nothing, "", HOST))
    with pytest.raises(PluginError, match="the tool 'hers' of acme failed: ValueError: no such luck"):
        make("tool", Entry("hers", make_nothing, "", "acme"))
