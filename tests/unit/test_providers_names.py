"""From a name to a model, or to the one thing that is missing."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import httpx
import pytest

from roundtable.errors import ConfigurationError
from roundtable.providers import (
    BUILTIN_SPECS,
    HttpProvider,
    LocalProvider,
    OpenAIChat,
    ProviderSpec,
    builtin_providers,
    chat_model,
    split_model_name,
)
from roundtable.providers.builtin import provider_modules
from roundtable.providers.http_model import FIRST_LISTED
from roundtable.providers.http_provider import ollama_url
from roundtable.providers.scripted import ScriptedProvider
from roundtable.providers.shared import RefCounted
from roundtable.settings import Settings
from roundtable.types import ModelProfile, ProviderConfig

KEY = "sk-canary-0123456789"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a:b", ("a", "b")),
        ("a:b:c", ("a", "b:c")),
        (" a:b ", ("a", "b")),
        ("a", ("a", None)),
        ("local:/x/y.gguf", ("local", "/x/y.gguf")),
    ],
)
def test_names_are_split_at_the_first_colon(name, parts):
    assert split_model_name(name) == parts


@pytest.mark.parametrize("name", ["", ":m", "a:", " "])
def test_an_incomplete_name_is_refused(name):
    with pytest.raises(ConfigurationError, match="does not name a model"):
        chat_model(name, settings=Settings())


def test_defaults_come_from_the_provider():
    model = chat_model("openai-chat", settings=Settings(openai_api_key=KEY))
    assert (model.provider, model.model, model.endpoint) == ("openai-chat", "gpt-5.2", "https://api.openai.com/v1")
    assert model.profile.structured_output
    assert model.profile.streams
    assert KEY not in repr(model)
    assert KEY not in repr(vars(model).get("_spec"))


def test_the_environment_changes_addresses_and_arguments_win():
    settings = Settings(openai_api_key="env-key-000", openai_base_url="http://127.0.0.1:1/v1")
    assert chat_model("openai-chat:x", settings=settings).endpoint == "http://127.0.0.1:1/v1"
    config = ProviderConfig(base_url="http://127.0.0.1:2/v1", api_key="config-key", timeout_s=5)
    assert chat_model("openai-chat:x", settings=settings, config=config).endpoint == "http://127.0.0.1:2/v1"
    given = chat_model(
        "openai-chat:x", settings=settings, config=config, base_url="http://127.0.0.1:3/v1/", api_key=KEY
    )
    assert given.endpoint == "http://127.0.0.1:3/v1"


def test_the_process_environment_is_read_if_no_settings_are_given(monkeypatch):
    monkeypatch.setenv("ROUNDTABLE_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("ROUNDTABLE_MODEL", "env-model")
    model = chat_model("compatible")
    assert (model.model, model.endpoint) == ("env-model", "http://127.0.0.1:9/v1")
    assert chat_model("compatible:other").model == "other"


@pytest.mark.parametrize(
    ("name", "settings", "message", "hint"),
    [
        ("openai-chat", Settings(), "needs an API key", "OPENAI_API_KEY"),
        ("compatible:m", Settings(), "needs the address", "ROUNDTABLE_BASE_URL or OLLAMA_HOST"),
        ("compatible", Settings(compatible_base_url="http://localhost/v1"), "needs a model", "ROUNDTABLE_MODEL"),
        ("compatible:m", Settings(compatible_base_url="http://8.8.8.8/v1"), "ROUNDTABLE_BASE_URL", "https"),
        ("compatible:m", Settings(ollama_host="8.8.8.8"), "OLLAMA_HOST", "https"),
        ("compatible:m", Settings(ollama_host="[::1"), "OLLAMA_HOST", ""),
        ("compatible:m", Settings(ollama_host="http://u:p@127.0.0.1:11434"), "must not contain a user name", ""),
        ("compatible:m", Settings(ollama_host="u:p@127.0.0.1"), "must not contain a user name", ""),
        ("compatible:m", Settings(ollama_host="http://localhost:11434/?k=1"), "OLLAMA_HOST", ""),
        ("openai-chat", Settings(openai_api_key="a b"), "OPENAI_API_KEY, the key of", "Copy it again"),
        ("openai-chit", Settings(), "Did you mean 'openai-chat'", "plugin"),
        ("gpt-5", Settings(), "unknown provider 'gpt-5'", "plugin"),
    ],
)
def test_a_missing_setting_is_named_with_how_to_set_it(name, settings, message, hint):
    with pytest.raises(ConfigurationError, match=message) as caught:
        chat_model(name, settings=settings)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("broken", ["sk-1 2-canary", "sk-\x00canary", "canary-clé", "a\ncanary"])
def test_an_impossible_key_is_refused_without_being_shown(broken):
    with pytest.raises(ConfigurationError, match="api_key, the key of") as caught:
        chat_model("openai-chat", api_key=broken, settings=Settings())
    assert "canary" not in str(caught.value.to_dict())


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan"), float("inf")])
def test_a_deadline_is_a_positive_number(timeout_s):
    with pytest.raises(ConfigurationError, match="timeout_s"):
        chat_model("compatible:m", base_url="http://localhost/v1", timeout_s=timeout_s, settings=Settings())


def test_an_invalid_client_is_refused():
    with pytest.raises(ConfigurationError, match=r"httpx\.AsyncClient, not str"):
        chat_model("compatible:m", base_url="http://localhost/v1", client="client", settings=Settings())
    with pytest.raises(ConfigurationError, match="not Client"), httpx.Client() as client:
        chat_model("compatible:m", base_url="http://localhost/v1", client=client, settings=Settings())


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434/v1"),
        ("127.0.0.1:9000", "http://127.0.0.1:9000/v1"),
        ("0.0.0.0:9000", "http://127.0.0.1:9000/v1"),
        (":9000", "http://127.0.0.1:9000/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
        ("[::]:9000", "http://127.0.0.1:9000/v1"),
        ("::", "http://127.0.0.1:11434/v1"),
        ("::1", "http://[::1]:11434/v1"),
        ("localhost:", "http://localhost:11434/v1"),
        ("http://localhost:11434/v1", "http://localhost:11434/v1"),
        ("http://localhost", "http://localhost:80/v1"),
        ("https://models.example.org/", "https://models.example.org:443/v1"),
    ],
)
def test_the_address_format_of_ollama_is_accepted(host, url):
    assert ollama_url(host) == url
    model = chat_model("compatible", settings=Settings(ollama_host=host))
    assert (model.endpoint, model.model) == (url, FIRST_LISTED)


def test_a_custom_provider_takes_a_few_lines():
    acme = ProviderSpec(
        name="acme",
        dialect=OpenAIChat("acme"),
        base_url="https://api.acme.example/v1",
        key_env=("ACME_API_KEY", "ACME_KEY"),
        profile=ModelProfile(streams=True),
        profiles={"big": ModelProfile(context_tokens=10), "big-er": ModelProfile(context_tokens=20)},
    )
    specs = {**BUILTIN_SPECS, "acme": acme}
    settings = Settings(environment={"ACME_KEY": KEY})
    assert chat_model("acme:big-ish", specs=specs, settings=settings).profile.context_tokens == 10
    assert chat_model("acme:big-er-1", specs=specs, settings=settings).profile.context_tokens == 20
    assert chat_model("acme:x", specs=specs, settings=settings).profile.streams
    with pytest.raises(ConfigurationError, match="needs a model") as caught:
        chat_model("acme", specs=specs, settings=settings)
    assert caught.value.hint == "Name one: 'acme:MODEL'."


def test_built_in_providers_are_created_separately_for_each_table():
    one, two = builtin_providers(), builtin_providers()
    assert [entry.name for entry in one] == [
        "anthropic",
        "openai",
        "openai-chat",
        "google",
        "perplexity",
        "compatible",
        "local",
        "claude-cli",
        "codex-cli",
        "gemini-cli",
        "command",
        "client",
        "human",
        "replay",
        "scripted",
    ]
    assert all(entry.summary for entry in one)
    assert one[0].factory is not two[0].factory
    assert one[6].factory is not two[6].factory
    assert repr(one[0].factory.loaded) == "HttpProvider('anthropic')"
    assert isinstance(one[6].factory.loaded, LocalProvider)


def test_the_code_of_a_provider_is_loaded_with_its_first_model():
    (entry,) = (entry for entry in builtin_providers() if entry.name == "scripted")
    assert repr(entry.factory) == "DeferredProvider('scripted')"
    assert not hasattr(entry.factory, "aclose")
    assert "loaded" not in vars(entry.factory)
    assert entry.factory.reads_files
    assert isinstance(entry.factory.loaded, ScriptedProvider)
    with pytest.raises(AttributeError):
        entry.factory.nothing  # noqa: B018


def test_the_modules_of_every_built_in_provider_can_be_loaded_ahead():
    for entry in builtin_providers():
        modules = provider_modules([entry.name])
        assert modules
        for name in modules:
            import_module(name)
    assert provider_modules(["acme", ""]) == ()


async def test_models_of_one_provider_share_a_client_until_the_last_is_closed():
    make = HttpProvider(BUILTIN_SPECS["compatible"])
    config = ProviderConfig(base_url="http://127.0.0.1:1/v1")
    one, two = (make(name, config, Settings()) for name in ("one", "two"))
    own = make("three", ProviderConfig(base_url="http://127.0.0.1:1/v1", client=httpx.AsyncClient()), Settings())
    assert one._http is two._http
    assert own._http is not one._http
    await one.aclose()
    await one.aclose()
    assert make("four", config, Settings())._http is two._http
    await two.aclose()


def test_shared_things_live_as_long_as_they_are_used():
    shared = RefCounted[object]()
    first = shared.take("k", object)
    assert shared.take("k", object) is first
    assert shared.give_back("k") is None
    assert shared.give_back("k") is first
    assert shared.take("k", object) is not first


@pytest.mark.slow
def test_naming_a_provider_loads_nothing_heavy():
    code = (
        "import sys; from roundtable.providers import chat_model; from roundtable.settings import Settings\n"
        "chat_model('openai-chat', settings=Settings(openai_api_key='k'))\n"
        "print([name for name in ('httpx', 'xllamacpp', 'trio', 'ssl') if name in sys.modules])"
    )
    # -I: neither the environment nor the current folder takes part.
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
