"""One row a vendor: everything that knows vendors by name reads the same table."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace

import pytest

from roundtable import Roundtable
from roundtable.agents import BaseAgent
from roundtable.plugins import Catalog
from roundtable.prompts import Fence
from roundtable.protocols import Agent
from roundtable.providers import BUILTIN_SPECS, ScriptedModel
from roundtable.providers.http_provider import HttpProvider
from roundtable.settings import Settings
from roundtable.types import AgentConfig, DebateContext, NativeSearch, Seat
from roundtable.vendors import VENDORS, ModelApi, known_provider

NEW_VENDOR = """
import json
from roundtable import vendors
from roundtable.types import Usage

vendors.VENDORS = {
    **vendors.VENDORS,
    "acme": vendors.Vendor(
        name="acme", display_name="Acme", wire="openai-chat", base_url="http://127.0.0.1:9/v1",
        base_url_env="ACME_BASE_URL", key_env=("ACME_API_KEY",), default_model="acme-1",
        search_usd=vendors.VENDORS["openai"].search_usd, telemetry_name="acme.ai",
    ),
}

import roundtable
from roundtable.plugins.otel import _provider
from roundtable.providers import chat_model
from roundtable.settings import Settings

settings = Settings.from_env({"ACME_API_KEY": "sk-canary-0123456789"})
table = roundtable.Roundtable(settings=settings, storage="memory://")
model = chat_model("acme", settings=settings)
print(json.dumps({
    "offers": [offer.provider for offer in table._wiring.offers()],
    "model": [model.provider, model.model, model.endpoint],
    "search": str(vendors.known_provider("acme").search_cost("acme-1", Usage(searches=2, calls=1))),
    "traces": _provider("acme"),
    "secret": sorted(settings.secrets),
}))
"""


@pytest.mark.slow
def test_a_vendor_on_a_known_wire_is_one_row() -> None:
    ran = subprocess.run([sys.executable, "-c", NEW_VENDOR], capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout == (
        '{"offers": ["acme", "local"], "model": ["acme", "acme-1", "http://127.0.0.1:9/v1"], "search": "0.020",'
        ' "traces": "acme.ai", "secret": ["sk-canary-0123456789"]}\n'
    ), ran.stderr


@pytest.mark.parametrize("name", VENDORS)
def test_a_provider_has_the_values_of_its_row(name: str) -> None:
    spec, vendor = BUILTIN_SPECS[name], VENDORS[name]
    for item in fields(ModelApi):
        assert getattr(spec, item.name) == getattr(vendor, item.name), item.name


def test_the_settings_are_read_from_the_variables_of_the_vendors() -> None:
    for vendor in VENDORS.values():
        for variable in vendor.key_env:
            settings = Settings.from_env({variable: "sk-1"})
            assert settings.get(vendor.key_env[0]) == "sk-1"
        assert vendor.base_url_env is not None
        address = Settings.from_env({vendor.base_url_env: "http://127.0.0.1:9/v1"})
        assert address.get(vendor.base_url_env) == "http://127.0.0.1:9/v1"


def test_vendors_that_share_a_key_are_in_one_group() -> None:
    groups = Catalog(known_providers=VENDORS).providers_by_key()
    assert {names: tuple(vendor.name for vendor in group) for names, group in groups.items()} == {
        ("ANTHROPIC_API_KEY",): ("anthropic",),
        ("OPENAI_API_KEY",): ("openai", "openai-chat"),
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"): ("google",),
        ("PERPLEXITY_API_KEY",): ("perplexity",),
        ("ROUNDTABLE_API_KEY",): ("compatible",),
    }


def test_a_debater_of_a_vendor_that_always_searches_searches_and_cites() -> None:
    settings = Settings.from_env({"PERPLEXITY_API_KEY": "pplx-canary-1", "OPENAI_API_KEY": "sk-canary-1"})
    make = Roundtable(settings=settings, storage="memory://")._wiring.agents.build
    view = DebateContext(session_id="s", topic="Tea?", mode="freeform", agents=(Seat(id="a", name="A"),))

    def cites(agent: Agent) -> bool:
        assert isinstance(agent, BaseAgent)
        return "the number of its source" in agent.build_messages(view, Fence("n"))[0].content

    sonar = make(AgentConfig(id="a", name="A", provider="perplexity"))
    silent = make(AgentConfig(id="a", name="A", provider="perplexity", search=False))
    other = make(AgentConfig(id="a", name="A", provider="openai"))
    assert isinstance(sonar, BaseAgent)
    assert isinstance(silent, BaseAgent)
    assert (sonar.search, silent.search) == (NativeSearch(), None)
    assert (cites(sonar), cites(other)) == (True, False)


def test_auxiliary_and_custom_agents_of_a_vendor_that_always_searches_do_not_search() -> None:
    model = ScriptedModel([], provider="perplexity")
    view = DebateContext(session_id="s", topic="Tea?", mode="freeform", agents=(Seat(id="a", name="A"),))
    judge = BaseAgent(AgentConfig(id="a", name="A", provider="perplexity"), model)
    assert judge.search is None
    assert "its source" not in judge.build_messages(view, Fence("n"))[0].content


def test_a_provider_without_a_key_is_in_no_group() -> None:
    catalog = Catalog()
    catalog.providers.add("here", HttpProvider(replace(BUILTIN_SPECS["compatible"], name="here", key_env=())))
    assert "here" in [info.name for info in catalog.provider_infos()]
    assert all(catalog.providers_by_key())


def test_vendors_have_readable_names() -> None:
    assert [known_provider(name).label for name in ("anthropic", "openai", "openai-chat", "local", "acme")] == [
        "Claude",
        "ChatGPT",
        "ChatGPT",
        "Local",
        "acme",
    ]
