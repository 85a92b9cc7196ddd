"""Who sits at a table when nobody says, and under which names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roundtable import AgentConfig
from roundtable.agents import BaseAgent
from roundtable.api.seats import Offer, default_seats, offers, seat_agents
from roundtable.errors import ConfigurationError
from roundtable.gateway import Gateway, GuardedModel
from roundtable.plugins import Catalog, load_catalog
from roundtable.protocols import ChatModel
from roundtable.providers.scripted import ScriptedModel
from roundtable.settings import Settings
from roundtable.testing import scripted_agents
from roundtable.types import ProviderConfig, ProviderInfo
from roundtable.vendors import VENDORS


class StandIn:
    """A provider that needs no key, under the name of the embedded one or another."""

    def __init__(self, **facts: Any) -> None:
        self.info = ProviderInfo(**facts)

    def __call__(self, model: str | None, config: ProviderConfig, settings: Settings) -> ChatModel:
        return ScriptedModel(["Yes."])


def catalog(**facts: Any) -> Catalog:
    """Return the built-in providers, with what the embedded one declares replaced by `facts`."""
    made, name = load_catalog(), facts.get("name", "local")
    facts = {"name": name, "stand_in": "the embedded model"} | facts
    made.providers.add(name, StandIn(**facts), replace=True)
    return made


CATALOG = catalog()
LACKING = catalog(needs_module="module_that_nobody_has", install_hint="install it")


def found(settings: Settings) -> list[tuple[str, bool]]:
    return [(offer.provider, offer.usable) for offer in offers(settings, CATALOG)]


def unguarded(model: ChatModel, *, retry: object = None) -> ChatModel:
    return model


def test_keys_come_before_servers_and_servers_before_the_embedded_model() -> None:
    settings = Settings(
        openai_api_key="k", compatible_base_url="http://127.0.0.1:1", compatible_model="m", ollama_host="127.0.0.1"
    )
    assert found(settings) == [("openai", True), ("compatible", True), ("local", True)]


def test_a_host_alone_is_enough_and_gives_its_first_listed_model() -> None:
    (ollama, local) = offers(Settings(ollama_host="127.0.0.1"), LACKING)
    assert (ollama.provider, ollama.usable, ollama.fix) == ("compatible", True, None)
    assert (local.usable, local.fix) == (False, "install it")
    model = CATALOG.providers.get("compatible")(None, ProviderConfig(), Settings(ollama_host="127.0.0.1"))
    assert model.model == "first-listed"


@pytest.mark.parametrize("host", [None, "127.0.0.1"])
def test_an_address_without_a_model_is_named_with_its_fix(host: str | None) -> None:
    settings = Settings(compatible_base_url="http://127.0.0.1:1", ollama_host=host)
    (server, _) = offers(settings, LACKING)
    assert (server.provider, server.because) == ("compatible", "ROUNDTABLE_BASE_URL is set")
    assert (server.usable, server.fix) == (False, "set ROUNDTABLE_MODEL")
    with pytest.raises(ConfigurationError, match="set ROUNDTABLE_MODEL; the embedded model: install it"):
        default_seats(settings, offers(settings, LACKING), LACKING)


def test_using_the_embedded_model_although_a_key_is_set_gives_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    lacking = Offer("anthropic", "ANTHROPIC_API_KEY is set", usable=False, fix="provider 'anthropic' is not installed")
    default_seats(Settings(), [lacking, Offer("local", "embedded")], CATALOG)
    (warning,) = caplog.records
    assert (warning.levelname, warning.name) == ("WARNING", "roundtable.api")
    assert "ANTHROPIC_API_KEY is set: provider 'anthropic' is not installed" in warning.getMessage()
    caplog.clear()
    default_seats(Settings(), [lacking, Offer("compatible", "a host"), Offer("local", "embedded")], CATALOG)
    assert caplog.records == []


def test_a_key_for_a_missing_provider_is_named_too() -> None:
    (offer,) = offers(Settings(openai_api_key="secret"), Catalog(known_providers=VENDORS))
    assert (offer.provider, offer.usable, offer.fix) == ("openai", False, "provider 'openai' is not installed")
    assert "secret" not in repr(offer)


def test_a_missing_model_is_refused_with_the_ways_to_get_one() -> None:
    with pytest.raises(
        ConfigurationError, match=r"no model to debate with \(the embedded model: install it\)"
    ) as caught:
        default_seats(Settings(), offers(Settings(), LACKING), CATALOG)
    hint = caught.value.hint or ""
    for way in (
        "ANTHROPIC_API_KEY",
        "PERPLEXITY_API_KEY",
        "ROUNDTABLE_BASE_URL",
        "OLLAMA_HOST",
        "roundtable-sdk[local]",
    ):
        assert way in hint


def test_personas_share_a_provider_when_there_are_fewer_than_seats() -> None:
    seats = default_seats(Settings(), [Offer("openai-chat", "a key"), Offer("local", "embedded")], CATALOG)
    assert [seat.config.provider for seat in seats] == ["openai-chat"] * 4
    assert len({seat.config.id for seat in seats}) == len({seat.config.name for seat in seats}) == 4
    assert all(seat.config.persona for seat in seats)


def test_enough_providers_need_no_personas() -> None:
    names = ["anthropic", "openai", "google", "perplexity", "compatible"]
    seats = default_seats(Settings(), [Offer(name, "a key") for name in names], CATALOG)
    assert [seat.config.name for seat in seats] == ["Claude", "ChatGPT", "Gemini", "Perplexity"]
    assert all(seat.config.persona is None for seat in seats)


@pytest.mark.parametrize(("asked", "given"), [(1, 1), (2, 2), (4, 3)])
def test_the_embedded_model_fills_few_seats_since_it_answers_one_at_a_time(asked: int, given: int) -> None:
    seats = default_seats(Settings(default_agent_count=asked), [Offer("local", "embedded")], CATALOG)
    assert [seat.config.provider for seat in seats] == ["local"] * given


def test_a_local_fallback_model_of_a_plugin_debates_like_the_embedded_model(caplog: pytest.LogCaptureFixture) -> None:
    both = catalog(name="acme", stand_in="a small model of Acme")
    both.providers.add("local", LACKING.providers.get("local"), replace=True)
    offered = offers(Settings(), both)
    assert [(offer.provider, offer.because, offer.usable) for offer in offered] == [
        ("local", "the embedded model", False),
        ("acme", "a small model of Acme", True),
    ]
    seats = default_seats(Settings(), offered, both)
    assert [seat.config.provider for seat in seats] == ["acme"] * 3
    (warning,) = caplog.records
    assert warning.getMessage().startswith("a small model of Acme debates, because no other model is usable")
    with_key = offers(Settings(openai_api_key="k"), both)
    assert {seat.config.provider for seat in default_seats(Settings(), with_key, both)} == {"openai"}


@pytest.mark.parametrize(
    ("environment", "because", "fix"),
    [
        ({}, None, None),
        ({"ACME_URL": "http://acme:1"}, "ACME_URL is set", "set ACME_MODEL"),
        ({"ACME_URL": "http://acme:1", "ACME_MODEL": "m"}, "ACME_URL and ACME_MODEL are set", None),
        ({"ACME_HOST": "acme"}, "ACME_HOST is set", None),
    ],
)
def test_the_address_of_the_server_of_a_plugin_is_enough_for_a_debate(
    environment: dict[str, str], because: str | None, fix: str | None
) -> None:
    facts = {"base_url_env": "ACME_URL", "host_env": "ACME_HOST", "model_env": "ACME_MODEL"}
    servers = catalog(name="acme", stand_in="", **facts)
    with_keys = catalog(name="acme", stand_in="", key_env=("ACME_KEY",), **facts)
    assert "acme" not in {offer.provider for offer in offers(Settings.from_env(environment), with_keys)}
    offered = {offer.provider: offer for offer in offers(Settings.from_env(environment), servers)}
    assert ("acme" in offered) == (because is not None)
    if because is not None:
        offer = offered["acme"]
        assert (offer.because, offer.usable, offer.fix) == (because, fix is None, fix)


def test_an_address_is_enough_if_a_default_model_is_declared() -> None:
    servers = catalog(name="acme", stand_in="", base_url_env="ACME_URL", default_model="m")
    (offer, *_) = offers(Settings.from_env({"ACME_URL": "http://acme:1"}), servers)
    assert (offer.provider, offer.because, offer.usable) == ("acme", "ACME_URL is set", True)
    bare = catalog(name="acme", stand_in="", base_url_env="ACME_URL")
    (offer, *_) = offers(Settings.from_env({"ACME_URL": "http://acme:1"}), bare)
    assert offer.fix == "name a model"


def test_a_module_without_a_hint_is_named() -> None:
    offered = offers(Settings(), catalog(name="acme", stand_in="a model", needs_module="module_that_nobody_has"))
    assert offered[-1].fix == "install the module module_that_nobody_has"


def test_a_text_names_provider_and_model_split_at_the_first_colon() -> None:
    (seat,) = seat_agents(["compatible:org/llama3:8b"], unguarded, CATALOG)
    config = seat.config
    assert (config.provider, config.model) == ("compatible", "org/llama3:8b")
    assert (config.id, config.name) == ("compatible-llama3-8b", "Compatible (llama3:8b)")
    (plain,) = seat_agents(["anthropic"], unguarded, CATALOG)
    assert (plain.config.id, plain.config.name, plain.config.model) == ("anthropic", "Claude", None)


def test_two_models_of_one_provider_have_two_names() -> None:
    seats = seat_agents(["anthropic:opus", "anthropic:haiku"], unguarded, CATALOG)
    assert [seat.config.name for seat in seats] == ["Claude (opus)", "Claude (haiku)"]


def test_an_agent_calls_through_the_gateway_and_stays_unchanged() -> None:
    (ada,) = scripted_agents({"ada": "Tea"})
    inner, gateway = ada.chat_model, Gateway()
    (seat,) = seat_agents([ada], gateway.guard, CATALOG)
    assert isinstance(seat.agent, BaseAgent)
    assert isinstance(seat.agent.chat_model, GuardedModel)
    assert seat.agent.chat_model.inner is ada.chat_model is inner
    assert seat_agents([seat.agent], gateway.guard, CATALOG)[0].agent is seat.agent


def test_an_agent_whose_model_cannot_be_guarded_is_refused() -> None:
    class Fixed(BaseAgent):
        def __setattr__(self, name: str, value: object) -> None:
            if name == "chat_model" and hasattr(self, name):
                raise AttributeError(name)
            super().__setattr__(name, value)

    config = AgentConfig(id="ada", name="Ada", provider="scripted")
    with pytest.raises(ConfigurationError, match="chat_model of agent 'ada' cannot be replaced"):
        seat_agents([Fixed(config, ScriptedModel([]))], Gateway().guard, CATALOG)


def test_the_same_text_twice_is_two_personas() -> None:
    seats = seat_agents(["anthropic:claude", "anthropic:claude", "google"], unguarded, CATALOG)
    assert len({seat.config.id for seat in seats}) == 3
    assert [seat.config.persona is None for seat in seats] == [False, False, True]


def test_every_kind_of_agent_can_debate_together() -> None:
    model = ScriptedModel([], model=str(Path("answers.json")))
    (ada,) = scripted_agents({"ada": "Tea"})
    config = AgentConfig(id="bo", name="Bo", provider="anthropic")
    seats = seat_agents([model, ada, config, "google"], unguarded, CATALOG)
    assert [seat.config.id for seat in seats] == ["scripted-answers.json", "ada", "bo", "google"]
    assert [seat.agent is not None for seat in seats] == [True, True, False, False]
    assert seats[1].agent is ada


def test_an_agent_without_a_configuration_is_described_by_its_own_attributes() -> None:
    from roundtable.types import AgentInfo

    class Foreign:
        id, name = "fo", "Fo"

        async def take_turn(self) -> None:
            """Never asked here."""

        def get_info(self) -> AgentInfo:
            return AgentInfo(id="fo", name="Fo", provider="acme", model="m1")

    (seat,) = seat_agents([Foreign()], unguarded, CATALOG)  # type: ignore[list-item]
    assert (seat.config.id, seat.config.provider, seat.config.model) == ("fo", "acme", "m1")
