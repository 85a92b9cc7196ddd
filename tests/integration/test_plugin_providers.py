"""A provider of a plugin is used as the built-in ones are: default agents, keys, prices, budgets, search, batches."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cli.kit import ROOT, as_process, said
from plugin_kit import Site, site

from roundtable import Budget, Roundtable, hookimpl
from roundtable.errors import BudgetExceeded, ConfigurationError, PluginError
from roundtable.gateway import PriceTable
from roundtable.plugins import Catalog, Plugins, ProviderRegistrar, load_plugins
from roundtable.providers import HttpProvider, ProviderSpec
from roundtable.providers.openai_responses import OpenAIResponses
from roundtable.providers.scripted import ScriptedModel
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.testing import VendorServer
from roundtable.types import (
    ChatDelta,
    ChatRequest,
    ChatResponse,
    ModelPrice,
    ModelProfile,
    ProviderConfig,
    ProviderInfo,
    SearchProfile,
    Usage,
)

__all__ = ["site"]

pytestmark = pytest.mark.anyio

NORRSKEN = """
from decimal import Decimal

from roundtable import hookimpl
from roundtable.providers import HttpProvider, ProviderSpec
from roundtable.providers.local import LocalProvider
from roundtable.providers.openai_responses import OpenAIResponses
from roundtable.types import ModelPrice, ModelProfile, SearchProfile

SPEC = ProviderSpec(
    name="norrsken",
    display_name="Norrsken",
    dialect=OpenAIResponses("norrsken"),
    base_url="https://api.norrsken.example/v1",
    base_url_env="NORRSKEN_BASE_URL",
    key_env=("NORRSKEN_API_KEY",),
    default_model="aurora-2",
    light_model="aurora-2-light",
    profile=ModelProfile(structured_output=True, streams=True, search=SearchProfile(takes=("max_uses",))),
    prices={"aurora-2": ModelPrice(input=2, output=10), "*": ModelPrice(input=1, output=4)},
    search_usd=Decimal("0.02"),
    batch_api="openai",
)


@hookimpl
def roundtable_register_providers(registrar, host):
    registrar.add("norrsken", HttpProvider(SPEC), summary="Models of Norrsken.")
"""


class Quiet:
    """A model without a network, whose calls cost nothing and count no tokens."""

    provider = "quiet"
    profile = ModelProfile()

    def __init__(self, model: str) -> None:
        self.model = model

    async def complete(self, request: ChatRequest) -> ChatResponse:
        return ChatResponse(
            text='{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.9}', usage=Usage(calls=1)
        )

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        yield await self.complete(request)

    async def aclose(self) -> None:
        pass


class QuietProvider:
    info = ProviderInfo(
        name="quiet",
        display_name="Quiet",
        key_env=("QUIET_KEY",),
        default_model="hush",
        billing="free",
        counts_tokens=False,
    )

    def __call__(self, model: str | None, config: ProviderConfig, settings: Settings) -> Quiet:
        return Quiet(model or "none")


class QuietPlugin:
    @hookimpl
    def roundtable_register_providers(self, registrar: ProviderRegistrar) -> None:
        registrar.add("quiet", QuietProvider(), summary="Says little.")


def norrsken(server: VendorServer, **more: str) -> Settings:
    return Settings.from_env({"NORRSKEN_API_KEY": "nk-canary-123456", "NORRSKEN_BASE_URL": server.url, **more})


async def test_the_key_of_an_installed_provider_is_enough_for_a_debate(site: Site) -> None:
    site.install("roundtable-norrsken", NORRSKEN)
    with VendorServer("openai", lambda _seen: said("Tea")) as server:
        async with Roundtable(settings=norrsken(server), storage="memory://") as table:
            assert [(offer.provider, offer.because) for offer in table.providers()[:1]] == [
                ("norrsken", "NORRSKEN_API_KEY is set")
            ]
            result = await table.debate("Tea or milk?", rounds=1)
    assert result.answer == "Tea"
    assert {agent.provider for agent in result.agents} == {"norrsken"}
    assert {seen.json["model"] for seen in server.seen} == {"aurora-2"}
    assert all(seen.headers["authorization"] == "Bearer nk-canary-123456" for seen in server.seen)


async def test_without_its_key_an_installed_provider_is_not_loaded(site: Site) -> None:
    module = site.install("roundtable-norrsken", "raise RuntimeError('imported')")
    async with Roundtable(settings=Settings.from_env({}), storage="memory://") as table:
        assert "norrsken" not in [offer.provider for offer in table.providers()]
        assert [(report.name, report.stage) for report in table.plugin_reports()] == [("roundtable-norrsken", "idle")]
    assert module not in __import__("sys").modules


async def test_a_disabled_provider_is_not_loaded_for_its_key(site: Site) -> None:
    site.install("roundtable-norrsken", "raise RuntimeError('imported')")
    settings = Settings.from_env({"NORRSKEN_API_KEY": "nk", "ROUNDTABLE_DISABLE_PLUGINS": "norrsken"})
    for plugins in (None, Plugins.none()):
        async with Roundtable(settings=settings, plugins=plugins, storage="memory://") as table:
            assert "norrsken" not in [offer.provider for offer in table.providers()]


async def test_a_provider_that_fails_to_load_for_its_key_leaves_the_others(site: Site) -> None:
    site.install("roundtable-norrsken", "raise RuntimeError('imported')")
    settings = Settings.from_env({"NORRSKEN_API_KEY": "nk", "OPENAI_API_KEY": "sk-1"})
    async with Roundtable(settings=settings, storage="memory://") as table:
        assert [offer.provider for offer in table.providers()] == ["openai", "local"]
        (report,) = table.plugin_reports()
        assert (report.name, report.failed) == ("roundtable-norrsken", True)
    strict = load_plugins(Plugins(strict=True), settings)
    with pytest.raises(PluginError, match="imported"):
        strict.load_for_keys(settings)


def test_an_entry_point_with_a_hyphen_has_a_variable_with_an_underscore(site: Site) -> None:
    site.install("roundtable-norrsken-ai", NORRSKEN)
    settings = Settings.from_env({"NORRSKEN_AI_API_KEY": "nk"})
    loaded = load_plugins(None, settings)
    loaded.load_for_keys(Settings.from_env({"NORRSKEN_API_KEY": "nk"}))
    assert "norrsken" not in loaded.catalog.providers
    loaded.load_for_keys(settings)
    assert "norrsken" in loaded.catalog.providers


async def test_declared_prices_count_in_results_estimates_and_budgets(site: Site) -> None:
    site.install("roundtable-norrsken", NORRSKEN)
    with VendorServer("openai", lambda _seen: said("Tea")) as server:
        agents = ["norrsken", "norrsken:aurora-9"]
        async with Roundtable(agents, settings=norrsken(server), storage="memory://") as table:
            result = await table.debate("Tea or milk?", rounds=1)
            dear, cheap = (entry.usage for entry in result.roster.agents)
            assert dear.cost_usd == pytest.approx((dear.input_tokens * 2 + dear.output_tokens * 10) / 1_000_000)
            assert cheap.cost_usd == pytest.approx((cheap.input_tokens + cheap.output_tokens * 4) / 1_000_000)
            estimate = table.estimate("Tea or milk?", rounds=1)
            assert estimate.cost_usd is not None
            assert estimate.cost_usd > (result.usage.cost_usd or 0)
            with pytest.raises(BudgetExceeded):
                await table.debate("Tea or milk?", rounds=1, budget=Budget(max_cost_usd=0.000001))


async def test_a_stated_price_wins_over_a_declared_one(site: Site) -> None:
    site.install("roundtable-norrsken", NORRSKEN)
    with VendorServer("openai", lambda _seen: said("Tea")) as server:
        prices = {"norrsken:*": {"input": 0, "output": 0, "per_call": 1}}
        async with Roundtable(
            ["norrsken"], settings=norrsken(server), storage="memory://", prices=prices, search=False
        ) as table:
            result = await table.debate("Tea or milk?", rounds=1)
    assert result.usage.cost_usd == 1


async def test_the_own_search_of_a_plugin_provider_is_used_and_priced(site: Site) -> None:
    site.install("roundtable-norrsken", NORRSKEN)
    with VendorServer("openai", lambda _seen: said("Tea")) as server:
        async with Roundtable(["norrsken"], settings=norrsken(server), storage="memory://") as table:
            await table.debate("Tea or milk?", rounds=1)
            searching = table.estimate("Tea or milk?", rounds=1)
            silent = table.estimate("Tea or milk?", rounds=1, search=False)
    body: Any = server.seen[0].json
    assert any(tool["type"] == "web_search" for tool in body["tools"])
    assert searching.cost_usd is not None
    assert silent.cost_usd is not None
    assert searching.cost_usd - silent.cost_usd > 0.02


def test_doctor_agents_and_debates_of_the_command_line_know_a_plugin_provider(site: Site, tmp_path: Path) -> None:
    site.install("roundtable-norrsken", NORRSKEN)
    with VendorServer("openai", lambda _seen: said("Tea")) as server:
        environment = {
            "PYTHONPATH": str(site.folder), "NORRSKEN_API_KEY": "nk-canary-123456", "NORRSKEN_BASE_URL": server.url
        }  # fmt: skip
        doctor = as_process(tmp_path, ["doctor", "--json"], **environment)
        report: Any = doctor.json
        checks = {check["name"]: check for check in report["checks"]}
        assert checks["key NORRSKEN_API_KEY"]["detail"] == "set, used by norrsken; not tried"
        assert checks["address NORRSKEN_BASE_URL"]["state"] == "ok"
        assert "norrsken" in checks["agents"]["detail"]
        assert report["offers"][0]["provider"] == "norrsken"
        assert "canary" not in doctor.both
        agents = as_process(tmp_path, ["agents"], **environment)
        assert "norrsken (default model), speaks as Analyst; NORRSKEN_API_KEY is set" in agents.out
        done = as_process(
            tmp_path, ["Tea or milk?", "--rounds", "1", "--json", "--price", "norrsken:*=1,1"], **environment
        )
        assert done.code == 0, done.both
        result = json.loads(done.out)
        assert result["answer"] == "Tea"
        usage = result["usage"]
        assert usage["costUsd"] == pytest.approx((usage["inputTokens"] + usage["outputTokens"]) / 1_000_000)


async def test_a_provider_without_http_can_declare_the_same_facts() -> None:
    settings = Settings.from_env({"QUIET_KEY": "q"})
    async with Roundtable(settings=settings, plugins=[QuietPlugin()], storage="memory://") as table:
        assert table.providers()[0].provider == "quiet"
        result = await table.debate("Tea or milk?", rounds=1, budget=Budget(max_cost_usd=1))
    assert {agent.provider for agent in result.agents} == {"quiet"}
    assert (result.usage.cost_usd, result.usage.unreported_calls) == (0, 0)
    async with Roundtable(["quiet"], plugins=[QuietPlugin()], storage="memory://") as table:
        (agent,) = table.agents()
        assert (agent.name, table.agent_offers()[0].config.model) == ("Quiet", "hush")


LODGE = """
import asyncio

from roundtable import hookimpl
from roundtable.providers.scripted import ScriptedModel
from roundtable.types import ProviderInfo

ANSWER = '{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.9}'


class Lodge(ScriptedModel):
    provider = "lodge"

    def __init__(self, progress):
        super().__init__([ANSWER] * 9)
        self.progress = progress

    async def prepare(self):
        self.progress(5_000_000, 10_000_000)


class LodgeProvider:
    info = ProviderInfo(
        name="lodge",
        display_name="Lodge",
        stand_in="the model of the lodge",
        caution="The model of the lodge always says the same.",
        no_auxiliary_roles="the model of the lodge judges nothing",
        downloads=True,
    )
    progress = None

    def show_progress(self, progress):
        self.progress = progress

    def __call__(self, model, config, settings):
        return Lodge(self.progress)


@hookimpl
def roundtable_register_providers(registrar):
    registrar.add("lodge", LodgeProvider(), summary="A model of the lodge.")
"""


def test_a_local_fallback_model_of_a_plugin_is_offered_with_a_warning_and_downloaded(
    site: Site, tmp_path: Path
) -> None:
    site.install("roundtable-lodge", LODGE)
    table = Roundtable(plugins=Plugins.of("roundtable-lodge"), settings=Settings.from_env({}), storage="memory://")
    assert ("lodge", "the model of the lodge") in [(offer.provider, offer.because) for offer in table.providers()]
    environment = {"PYTHONPATH": os.pathsep.join([str(site.folder), str(ROOT / "src")])}
    done = as_process(tmp_path, ["Tea or milk?", "--agents", "lodge,lodge", "--rounds", "1"], **environment)
    assert done.code == 0, done.both
    assert "The model of the lodge always says the same. `roundtable doctor` shows better models." in " ".join(
        done.err.split()
    )
    assert "Downloading the model of the lodge: 50 % of 10 MB" in done.err
    assert "Answer: Tea" in done.out
    named = as_process(tmp_path, ["Tea or milk?", "--agents", "lodge:a,lodge:b", "--rounds", "1"], **environment)
    assert named.code == 0, named.both
    assert "always says the same" not in named.both


class PersonPlugin:
    """People who answer elsewhere, and recordings that are kept elsewhere."""

    def __init__(self) -> None:
        self.made = 0

    @hookimpl
    def roundtable_register_providers(self, registrar: ProviderRegistrar) -> None:
        reason = "people at the desk only debate"
        self._add(registrar, ProviderInfo(name="desk", is_person=True, no_auxiliary_roles=reason))
        self._add(registrar, ProviderInfo(name="archive", replays=True))

    def _add(self, registrar: ProviderRegistrar, declared: ProviderInfo) -> None:
        plugin = self

        class Factory:
            info = declared

            def __call__(self, model: str | None, config: ProviderConfig, settings: Settings) -> Quiet:
                plugin.made += 1
                return Quiet(model or "none")

        registrar.add(declared.name, Factory(), summary="Answers.")


class Clerk(Quiet):
    provider = "desk"


async def test_a_human_provider_of_a_plugin_is_not_replaced_and_judges_nothing() -> None:
    storage = MemoryStorage()
    clerks = [Clerk("ada"), Clerk("bo")]
    async with Roundtable(clerks, plugins=[PersonPlugin()], storage=storage, analyzer="ai") as table:
        done = await table.debate("Tea or milk?", rounds=1)
        (consensus,) = (each.consensus for each in done.rounds)
        assert consensus is not None
        assert "people at the desk only debate" in consensus.causes[0]
    async with Roundtable(plugins=[PersonPlugin()], storage=storage) as later:
        with pytest.raises(ConfigurationError, match="lacks objects") as caught:
            await later.extend(done.session_id, rounds=1)
    assert "including the person" in (caught.value.hint or "")


@pytest.mark.parametrize(("provider", "is_made_again"), [("archive", True), ("desk", False)])
async def test_a_model_with_a_recording_is_made_from_it_although_a_cassette_knows_it(
    provider: str, is_made_again: bool, tmp_path: Path
) -> None:
    made = []
    for _ in range(2):
        plugin = PersonPlugin()
        async with Roundtable(
            [f"{provider}:a"] * 2, plugins=[plugin], storage="memory://", cassette=tmp_path / "tape.jsonl"
        ) as table:
            await table.debate("Tea or milk?", rounds=1)
        made.append(plugin.made)
    assert made == [1, int(is_made_again)]


async def test_a_table_without_any_model_names_the_key_of_a_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundtable.core.types.providers.find_spec", lambda _module: None)
    async with Roundtable(settings=Settings.from_env({}), plugins=[QuietPlugin()], storage="memory://") as table:
        with pytest.raises(ConfigurationError, match="no model to debate with") as caught:
            await table.debate("Tea or milk?", rounds=1)
    assert "or QUIET_KEY" in str(caught.value.hint)


def test_models_of_other_providers_do_not_load_a_plugin(site: Site) -> None:
    site.install("roundtable-norrsken", "raise RuntimeError('imported')")
    loaded = load_plugins(None, Settings.from_env({}))
    assert loaded.catalog.provider_info("norrsken") == ProviderInfo(name="norrsken")
    assert loaded.reports()[0].stage == "idle"


def test_an_attribute_of_a_wrong_type_declares_nothing() -> None:
    class Odd:
        info = "fast and cheap"

        def __call__(self, model: str | None, config: ProviderConfig, settings: Settings) -> ScriptedModel:
            return ScriptedModel([])

    catalog = Catalog()
    catalog.providers.add("odd", Odd())
    assert catalog.provider_info("odd") == ProviderInfo(name="odd")


def test_a_named_endpoint_has_the_prices_of_its_kind_and_is_never_a_default() -> None:
    spec = ProviderSpec(
        name="norrsken", dialect=OpenAIResponses("norrsken"), base_url="https://norrsken.example/v1",
        key_env=("NORRSKEN_API_KEY",), prices={"*": ModelPrice(input=1, output=1)},
        profile=ModelProfile(search=SearchProfile()),
    )  # fmt: skip
    catalog = Catalog()
    catalog.providers.add("norrsken", HttpProvider(spec))
    catalog.providers.add("box-a", HttpProvider(spec).named("box-a"))
    assert catalog.provider_info("box-a").price_of("any") == ModelPrice(input=1, output=1)
    assert "box-a" not in [info.name for info in catalog.provider_infos()]


def test_a_default_model_that_is_missing_is_named() -> None:
    class Nameless(QuietProvider):
        info = ProviderInfo(name="quiet", key_env=("QUIET_KEY",))

        def __call__(self, model: str | None, config: ProviderConfig, settings: Settings) -> Quiet:
            if model is None:
                raise ConfigurationError("the provider 'quiet' needs a model")
            return Quiet(model)

    class Plugin:
        @hookimpl
        def roundtable_register_providers(self, registrar: ProviderRegistrar) -> None:
            registrar.add("quiet", Nameless())

    from roundtable.sync import Roundtable as Table

    with (
        Table(settings=Settings.from_env({"QUIET_KEY": "q"}), plugins=[Plugin()], storage="memory://") as table,
        pytest.raises(ConfigurationError, match="needs a model"),
    ):
        table.debate("Tea or milk?", rounds=1)


class Named(QuietProvider):
    def __init__(self, info: ProviderInfo) -> None:
        self.info = info


def plugin_of(name: str, info: ProviderInfo) -> object:
    class Plugin:
        @hookimpl
        def roundtable_register_providers(self, registrar: ProviderRegistrar) -> None:
            registrar.add(name, Named(info))

    return Plugin()


@pytest.mark.parametrize("name", ["anthropic", "Acme"])
async def test_the_registered_name_counts_and_not_the_declared_one(name: str) -> None:
    info = ProviderInfo(name=name, key_env=("ACME_API_KEY",), default_model="hush", billing="free")
    settings = Settings.from_env({"ACME_API_KEY": "a", "ANTHROPIC_API_KEY": "b"})
    async with Roundtable(settings=settings, plugins=[plugin_of("acme", info)], storage="memory://") as table:
        offers = {offer.provider: offer.because for offer in table.providers() if offer.usable}
        assert offers["acme"] == "ACME_API_KEY is set"
        assert offers["anthropic"] == "ANTHROPIC_API_KEY is set"
        result = await table.debate("Tea or milk?", rounds=1, agents=["acme"])
    assert result.answer == "Tea"


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("key_env", "ACME_API_KEY", "key_env must be a tuple"),
        ("key_env", (1,), "key_env must be a tuple"),
        ("billing", "Free", "billing must be one of"),
        ("prices", {"*": 3}, "must be a ModelPrice"),
        ("prices", {"*": {"input": -1, "output": 2}}, "at least 0"),
        ("search_usd", "x", "must be a number"),
        ("search_usd", float("nan"), "finite"),
    ],
)
def test_a_wrong_declaration_is_refused_when_it_is_made(field: str, value: object, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        ProviderInfo(name="acme", **{field: value})  # type: ignore[arg-type]


def test_prices_may_be_mappings_and_plain_numbers() -> None:
    info = ProviderInfo(name="acme", prices={"*": {"input": 1, "output": 2}}, search_usd=0.01)  # type: ignore[dict-item]
    table = PriceTable(packaged=False, providers=lambda _: info)
    usage = Usage(calls=1, input_tokens=1_000_000, searches=2)
    assert str(table.cost("acme", "m", usage)) == "1.02"


def test_a_search_price_that_fails_leaves_the_cost_unknown(caplog: pytest.LogCaptureFixture) -> None:
    def broken(model: str, usage: Usage) -> None:
        raise ZeroDivisionError("no rate")

    info = ProviderInfo(name="acme", search_usd=broken)
    table = PriceTable(providers=lambda _: info)
    assert table.cost("acme", "m", Usage(calls=1, searches=1)) is None
    assert "search_usd of acme failed: ZeroDivisionError: no rate" in caplog.text


async def test_a_declared_key_is_never_written_to_a_cassette(tmp_path: Path) -> None:
    settings = Settings.from_env({"QUIET_KEY": "canary-123456"})
    tape = tmp_path / "tape.jsonl"
    async with Roundtable(
        ["quiet"], settings=settings, plugins=[QuietPlugin()], storage="memory://", cassette=tape
    ) as table:
        await table.debate("Is canary-123456 a key?", rounds=1)
    assert "canary-123456" not in tape.read_text()
