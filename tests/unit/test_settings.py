"""The environment becomes one value; what is not allowed is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtable.errors import ConfigurationError
from roundtable.server import Limits
from roundtable.settings import LOG_LEVELS, Settings

KEYS = {
    "ANTHROPIC_API_KEY": "anthropic_api_key",
    "OPENAI_API_KEY": "openai_api_key",
    "GOOGLE_API_KEY": "google_api_key",
    "PERPLEXITY_API_KEY": "perplexity_api_key",
    "ROUNDTABLE_API_KEY": "compatible_api_key",
}
TEXTS = {
    "ANTHROPIC_BASE_URL": "anthropic_base_url",
    "OPENAI_BASE_URL": "openai_base_url",
    "GOOGLE_BASE_URL": "google_base_url",
    "PERPLEXITY_BASE_URL": "perplexity_base_url",
    "ROUNDTABLE_BASE_URL": "compatible_base_url",
    "ROUNDTABLE_MODEL": "compatible_model",
    "OLLAMA_HOST": "ollama_host",
}


def test_an_empty_environment_gives_the_documented_defaults():
    assert Settings.from_env({}) == Settings()
    settings = Settings()
    assert settings.database_path == Path("data/roundtable.db")
    assert (settings.log_level, settings.debug_mode) == ("info", False)
    assert (settings.max_agents, settings.default_agent_count, settings.max_rounds) == (5, 4, 10)


@pytest.mark.parametrize(("variable", "name"), [*KEYS.items(), *TEXTS.items()])
def test_each_variable_fills_its_field(variable, name):
    settings = Settings.from_env({variable: "  some-value \n"})
    assert getattr(settings, name) == "some-value"
    assert settings.get(variable) == "some-value"


@pytest.mark.parametrize("variable", [*KEYS, *TEXTS, "DATABASE_PATH", "LOG_LEVEL", "ROUNDTABLE_MAX_AGENTS"])
def test_an_empty_variable_counts_as_not_set(variable):
    assert Settings.from_env({variable: "  "}) == Settings(environment={variable: "  "})


def test_the_real_environment_is_read_if_none_is_given(monkeypatch):
    monkeypatch.setenv("ROUNDTABLE_MAX_ROUNDS", "7")
    assert Settings.from_env().max_rounds == 7


def test_the_gemini_key_is_used_if_there_is_no_google_key():
    assert Settings.from_env({"GEMINI_API_KEY": "second"}).google_api_key == "second"
    assert Settings.from_env({"GEMINI_API_KEY": "second", "GOOGLE_API_KEY": "first"}).google_api_key == "first"


@pytest.mark.parametrize("name", [name for name in Settings.__dataclass_fields__ if name.endswith("_api_key")])
def test_a_key_that_is_given_as_an_argument_is_a_secret(name):
    assert Settings(**{name: "a-key-of-mine"}).secrets == {"a-key-of-mine"}


def test_keys_are_not_shown():
    environ = dict.fromkeys(KEYS, "sk-canary-000000") | {"OTHER_KEY": "sk-canary-000000"}
    assert "canary" not in repr(Settings.from_env(environ))


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ROUNDTABLE_MAX_AGENTS", "0"),
        ("ROUNDTABLE_MAX_AGENTS", "1"),
        ("ROUNDTABLE_MAX_AGENTS", "11"),
        ("ROUNDTABLE_DEFAULT_AGENT_COUNT", "1"),
        ("ROUNDTABLE_MAX_AGENTS", "-1"),
        ("ROUNDTABLE_MAX_AGENTS", "2.5"),
        ("ROUNDTABLE_MAX_ROUNDS", "ten"),
        ("ROUNDTABLE_MAX_ROUNDS", "9" * 5000),
        ("ROUNDTABLE_DEFAULT_AGENT_COUNT", "٣"),
        ("ROUNDTABLE_DEBUG_MODE", "maybe"),
        ("LOG_LEVEL", "loud"),
    ],
)
def test_a_bad_value_is_refused_with_variable_value_and_what_is_allowed(variable, value):
    with pytest.raises(ConfigurationError) as caught:
        Settings.from_env({variable: value})
    message = str(caught.value)
    assert variable in message
    assert value[:80] in message
    assert "allowed: " in message
    assert len(message) < 300


def test_paths_may_start_at_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    settings = Settings.from_env({"ROUNDTABLE_MODEL_PATH": "~/m.gguf", "XDG_CACHE_HOME": "/c", "DATABASE_PATH": "d.db"})
    assert settings.model_path == Path("/home/ada/m.gguf")
    assert (settings.cache_home, settings.database_path) == (Path("/c"), Path("d.db"))


def test_a_home_folder_that_does_not_exist_is_refused():
    with pytest.raises(ConfigurationError, match="DATABASE_PATH"):
        Settings.from_env({"DATABASE_PATH": "~no-such-user-here/x.db"})


def test_the_default_number_of_agents_is_capped_at_the_most():
    counts = {"ROUNDTABLE_MAX_AGENTS": "2", "ROUNDTABLE_DEFAULT_AGENT_COUNT": "9"}
    assert Settings.from_env(counts).default_agent_count == 2
    assert Settings.from_env({"ROUNDTABLE_MAX_AGENTS": "3"}).default_agent_count == 3


@pytest.mark.parametrize(
    ("text", "level"), [*((name.upper(), name) for name in LOG_LEVELS), ("Warn", "warning"), ("fatal", "critical")]
)
def test_log_levels_are_known_in_any_case(text, level):
    assert Settings.from_env({"LOG_LEVEL": text}).log_level == level


@pytest.mark.parametrize(("text", "flag"), [("1", True), ("TRUE", True), ("yes", True), ("0", False), ("Off", False)])
def test_flags_are_read(text, flag):
    assert Settings.from_env({"ROUNDTABLE_DEBUG_MODE": text}).debug_mode is flag


def test_variables_without_a_field_can_be_read_too():
    settings = Settings.from_env({"ACME_API_KEY": " k ", "EMPTY": " "})
    assert (settings.get("ACME_API_KEY"), settings.get("EMPTY"), settings.get("NONE")) == ("k", None, None)
    assert Settings(max_rounds=3).get("ROUNDTABLE_MAX_ROUNDS") == "3"
    assert Settings.variables("google_api_key") == ("GOOGLE_API_KEY", "GEMINI_API_KEY")


def test_a_limit_of_the_server_is_a_number_or_none():
    assert Settings.from_env({"ROUNDTABLE_LIMIT_ROUNDS": "None"}).limit_rounds is None
    assert Settings.from_env({"ROUNDTABLE_LIMIT_ROUNDS": "7"}).limit_rounds == 7
    with pytest.raises(ConfigurationError, match="from 1, or none"):
        Settings.from_env({"ROUNDTABLE_LIMIT_ROUNDS": "many"})
    with pytest.raises(ConfigurationError, match="from 1"):
        Settings.from_env({"ROUNDTABLE_LIMIT_ROUNDS": "0"})


def test_limits_of_the_server_are_the_same_with_and_without_an_environment():
    assert Limits.from_settings(Settings()) == Limits()
