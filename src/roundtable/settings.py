"""Settings, read once from the environment into a value; no other module reads the environment."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from roundtable.core.errors import ConfigurationError
from roundtable.vendors import VENDORS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LOG_LEVELS", "VARIABLES", "Settings", "VariableReader", "forbid_network_to_children", "process_environment"]

LOG_LEVELS: Final = ("debug", "info", "warning", "error", "critical")
"""Values of `LOG_LEVEL`; `warn` and `fatal` are read as `warning` and `critical`."""

_LEVEL_ALIASES: Final = {"warn": "warning", "fatal": "critical"}
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})
_DECIMAL: Final = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")

_VENDORS: Final = ("anthropic", "openai", "google", "perplexity", "compatible")
"""Vendors whose key and address are fields of `Settings`; `Settings.get` finds the keys and addresses of other
vendors."""

VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    **{f"{name}_api_key": VENDORS[name].key_env for name in _VENDORS},
    "brave_api_key": ("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"),
    "tavily_api_key": ("TAVILY_API_KEY",),
    "searxng_url": ("SEARXNG_URL",),
    **{f"{name}_base_url": (VENDORS[name].base_url_env or "",) for name in _VENDORS},
    "compatible_model": ("ROUNDTABLE_MODEL",),
    "ollama_host": ("OLLAMA_HOST",),
    "named_providers": ("ROUNDTABLE_PROVIDERS",),
    "model_path": ("ROUNDTABLE_MODEL_PATH",),
    "cache_home": ("XDG_CACHE_HOME",),
    "data_home": ("XDG_DATA_HOME",),
    "database_path": ("DATABASE_PATH",),
    "log_level": ("LOG_LEVEL",),
    "max_agents": ("ROUNDTABLE_MAX_AGENTS",),
    "default_agent_count": ("ROUNDTABLE_DEFAULT_AGENT_COUNT",),
    "max_rounds": ("ROUNDTABLE_MAX_ROUNDS",),
    "debug_mode": ("ROUNDTABLE_DEBUG_MODE",),
    "network": ("ROUNDTABLE_NETWORK",),
    "allow_plain_http": ("ROUNDTABLE_ALLOW_PLAIN_HTTP",),
    "proxy": ("ROUNDTABLE_PROXY",),
    "plugins": ("ROUNDTABLE_PLUGINS",),
    "disable_plugins": ("ROUNDTABLE_DISABLE_PLUGINS",),
    "exit_enabled": ("ROUNDTABLE_EXIT_ENABLED",),
    "exit_consensus_threshold": ("ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD",),
    "exit_convergence_rounds": ("ROUNDTABLE_EXIT_CONVERGENCE_ROUNDS",),
    "exit_confidence_threshold": ("ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD",),
    "high_consensus_threshold": ("ROUNDTABLE_HIGH_CONSENSUS_THRESHOLD",),
    "medium_consensus_threshold": ("ROUNDTABLE_MEDIUM_CONSENSUS_THRESHOLD",),
    "low_confidence_threshold": ("ROUNDTABLE_LOW_CONFIDENCE_THRESHOLD",),
    "confidence_variance_threshold": ("ROUNDTABLE_CONFIDENCE_VARIANCE_THRESHOLD",),
    "min_reasoning_length_ratio": ("ROUNDTABLE_MIN_REASONING_LENGTH_RATIO",),
    "high_confidence_action_threshold": ("ROUNDTABLE_HIGH_CONFIDENCE_ACTION_THRESHOLD",),
    "low_confidence_action_threshold": ("ROUNDTABLE_LOW_CONFIDENCE_ACTION_THRESHOLD",),
    "very_low_confidence_action_threshold": ("ROUNDTABLE_VERY_LOW_CONFIDENCE_ACTION_THRESHOLD",),
    "consensus_summary_max_length": ("ROUNDTABLE_CONSENSUS_SUMMARY_MAX_LENGTH",),
    "limit_conversations": ("ROUNDTABLE_LIMIT_CONVERSATIONS",),
    "limit_concurrent": ("ROUNDTABLE_LIMIT_CONCURRENT",),
    "limit_rounds": ("ROUNDTABLE_LIMIT_ROUNDS",),
    "limit_user_streams": ("ROUNDTABLE_LIMIT_USER_STREAMS",),
    "limit_streams": ("ROUNDTABLE_LIMIT_STREAMS",),
    "pause_after_s": ("ROUNDTABLE_PAUSE_AFTER",),
}
"""Variables of each field; the first one that is set wins."""

_DATABASE: Final = Path("data/roundtable.db")
_TEXTS: Final = (
    *(f"{name}_{kind}" for name in _VENDORS for kind in ("api_key", "base_url")),
    "brave_api_key",
    "tavily_api_key",
    "searxng_url",
    "compatible_model",
    "ollama_host",
    "named_providers",
    "proxy",
    "plugins",
    "disable_plugins",
)
"""Settings that are read as text."""

_SHARES: Final = (
    "exit_consensus_threshold",
    "exit_confidence_threshold",
    "high_consensus_threshold",
    "medium_consensus_threshold",
    "low_confidence_threshold",
    "confidence_variance_threshold",
    "min_reasoning_length_ratio",
    "high_confidence_action_threshold",
    "low_confidence_action_threshold",
    "very_low_confidence_action_threshold",
)
"""Settings in [0, 1]."""

_QUOTAS: Final = (
    "limit_conversations",
    "limit_concurrent",
    "limit_rounds",
    "limit_user_streams",
    "limit_streams",
    "pause_after_s",
)
"""Settings whose value is a count, or `none` for no limit."""

_LONG_ENOUGH = 8
"""Minimum length of a value that counts as a secret; shorter values may be ordinary words."""
_SECRET_ENDS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


class VariableReader:
    """Reads each setting, given its name, from its variables; if these are unset or empty, the default applies."""

    def __init__(self, source: Mapping[str, str]) -> None:
        self._source = source

    def _find(self, name: str) -> tuple[str, str]:
        for variable in VARIABLES[name]:
            text = self._source.get(variable, "").strip()
            if text:
                return variable, text
        return VARIABLES[name][0], ""

    def text(self, name: str) -> str | None:
        """Return the text of a variable."""
        return self._find(name)[1] or None

    def path(self, name: str) -> Path | None:
        """Read a path; `~` is the home folder."""
        variable, text = self._find(name)
        try:
            return Path(text).expanduser() if text else None
        except RuntimeError as exc:
            raise _refusal(variable, text, "a path; '~' needs a home folder") from exc

    def count(self, name: str, default: int, *, least: int = 1, most: int | None = None) -> int:
        """Read a whole number within limits."""
        variable, text = self._find(name)
        if not text:
            return default
        # Check the length first: Python refuses int() of thousands of digits with a different error.
        plain = text.isascii() and text.isdigit() and len(text) <= 9
        if not plain or int(text) < least or (most is not None and int(text) > most):
            raise _refusal(variable, text, f"a whole number from {least}" + (f" to {most}" if most else ""))
        return int(text)

    def limit(self, name: str, default: int) -> int:
        """Read a count where both 0 and -1 mean no limit."""
        return 0 if self._find(name)[1] == "-1" else self.count(name, default, least=0)

    def quota(self, name: str, default: int | None) -> int | None:
        """Read a count of at least 1, or `none`."""
        variable, text = self._find(name)
        if not text:
            return default
        if text.lower() == "none":
            return None
        if not text.isdigit():
            raise _refusal(variable, text, "a whole number from 1, or none")
        return self.count(name, 1)

    def flag(self, name: str, *, default: bool) -> bool:
        """Read true or false."""
        variable, text = self._find(name)
        if text and text.lower() not in _TRUE | _FALSE:
            raise _refusal(variable, text, "true or false")
        return text.lower() in _TRUE if text else default

    def share(self, name: str, default: Decimal) -> Decimal:
        """Read a decimal from 0 to 1."""
        variable, text = self._find(name)
        if text and (len(text) > 20 or not _DECIMAL.fullmatch(text) or Decimal(text) > 1):
            raise _refusal(variable, text, "a decimal from 0 to 1, such as 0.8")
        return Decimal(text) if text else default

    def log_level(self, name: str, default: str) -> str:
        """Read the name of a log level."""
        variable, text = self._find(name)
        level = text.lower() or default
        level = _LEVEL_ALIASES.get(level, level)
        if level not in LOG_LEVELS:
            raise _refusal(variable, text, " or ".join((", ".join(LOG_LEVELS[:-1]), LOG_LEVELS[-1])))
        return level


def _refusal(variable: str, text: str, allowed: str) -> ConfigurationError:
    shown = text if len(text) <= 80 else f"{text[:80]}..."
    return ConfigurationError(
        f"{variable}={shown!r} is not allowed; allowed: {allowed}", hint=f"Correct {variable}, or unset it."
    )


def process_environment() -> dict[str, str]:
    """Return the environment of this process, for programs that it starts."""
    return dict(os.environ)


def forbid_network_to_children() -> None:
    """Set `ROUNDTABLE_NETWORK` in this process, so that processes that it starts inherit it."""
    os.environ["ROUNDTABLE_NETWORK"] = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings in the environment, as a value that is passed to the code that needs them.

    An empty variable counts as not set. The `repr` never shows keys.

    Example:
        >>> settings = Settings.from_env({"OPENAI_API_KEY": "sk-secret", "LOG_LEVEL": "DEBUG"})
        >>> settings.log_level, settings.max_rounds, "sk-secret" in repr(settings)
        ('debug', 10, False)
    """

    anthropic_api_key: str | None = field(default=None, repr=False)
    """`ANTHROPIC_API_KEY`: key of the provider `anthropic`."""
    openai_api_key: str | None = field(default=None, repr=False)
    """`OPENAI_API_KEY`: key of the providers `openai` and `openai-chat`."""
    google_api_key: str | None = field(default=None, repr=False)
    """`GOOGLE_API_KEY`, else `GEMINI_API_KEY`: key of the provider `google`."""
    perplexity_api_key: str | None = field(default=None, repr=False)
    """`PERPLEXITY_API_KEY`: key of the provider `perplexity`."""
    compatible_api_key: str | None = field(default=None, repr=False)
    """`ROUNDTABLE_API_KEY`: key of the provider `compatible`. When it is not set, requests have no key; most local
    servers need none."""
    brave_api_key: str | None = field(default=None, repr=False)
    """`BRAVE_API_KEY`, else `BRAVE_SEARCH_API_KEY`: key of the web search `brave`."""
    tavily_api_key: str | None = field(default=None, repr=False)
    """`TAVILY_API_KEY`: key of the web search `tavily`."""
    searxng_url: str | None = None
    """`SEARXNG_URL`: address of the SearXNG server for the web search `searxng`, if the code gives no address."""
    anthropic_base_url: str | None = None
    """`ANTHROPIC_BASE_URL`: root of the API of `anthropic`; the vendor's own address when not set. The address must use
    https; http is allowed only on this machine."""
    openai_base_url: str | None = None
    """`OPENAI_BASE_URL`: root of the API of `openai` and `openai-chat`; the vendor's own address when not set."""
    google_base_url: str | None = None
    """`GOOGLE_BASE_URL`: root of the API of `google`; the vendor's own address when not set."""
    perplexity_base_url: str | None = None
    """`PERPLEXITY_BASE_URL`: root of the API of `perplexity`; the vendor's own address when not set."""
    compatible_base_url: str | None = None
    """`ROUNDTABLE_BASE_URL`: root of the API of `compatible`, such as `http://127.0.0.1:8080/v1`. If `ROUNDTABLE_MODEL`
    is also set, debates that name no agents can use this server."""
    compatible_model: str | None = None
    """`ROUNDTABLE_MODEL`: model id at `ROUNDTABLE_BASE_URL`, for agents that name no model."""
    ollama_host: str | None = None
    """`OLLAMA_HOST`: where an Ollama server listens, as `host:port` or a URL; the provider `compatible` uses it when
    `ROUNDTABLE_BASE_URL` is not set."""
    named_providers: str | None = None
    """`ROUNDTABLE_PROVIDERS`: named endpoints, separated by spaces, each as `NAME=KIND,URL`, such as
    `box-a=compatible,http://127.0.0.1:8001/v1`, or as the path of a TOML file with several, which contains no spaces.
    The key of `box-a` is read from `ROUNDTABLE_BOX_A_API_KEY`."""
    model_path: Path | None = None
    """`ROUNDTABLE_MODEL_PATH`: a GGUF file for the provider `local`, in place of the embedded model."""
    cache_home: Path | None = None
    """`XDG_CACHE_HOME`: parent of the folder `roundtable` that holds the weights of the embedded model;
    `~/.cache` when not set."""
    data_home: Path | None = None
    """`XDG_DATA_HOME`: parent of the folder `roundtable`, which holds the journal of batches (`batches.db`);
    `~/.local/share` when not set. If no storage is chosen and `data/roundtable.db` cannot be written, sessions are
    stored in this folder too, with a warning."""
    database_path: Path = _DATABASE
    """`DATABASE_PATH`: SQLite file of the default storage, relative to the working folder unless absolute; `~` is
    allowed. If you set this variable to a file that cannot be written, storing raises `StorageError`; the library does
    not fall back to another file."""
    log_level: str = "info"
    """`LOG_LEVEL`: lowest level of the log lines that the command writes: `debug`, `info`, `warning`, `error` or
    `critical`, in upper or lower case."""
    max_agents: int = 5
    """`ROUNDTABLE_MAX_AGENTS`: maximum number of agents, 2 to 10, for a debate that names no agents and for
    `agentCount` over MCP."""
    default_agent_count: int = 4
    """`ROUNDTABLE_DEFAULT_AGENT_COUNT`: number of agents, 2 to 10, for a debate that names no agents. The number is
    limited to `ROUNDTABLE_MAX_AGENTS`, and to 3 if only the embedded model is available."""
    max_rounds: int = 10
    """`ROUNDTABLE_MAX_ROUNDS`: maximum number of rounds of a debate, 1 or more."""
    debug_mode: bool = False
    """`ROUNDTABLE_DEBUG_MODE`: `true`, `1`, `yes` or `on` adds stack traces to errors that the command prints and to
    errors in JSON; `false`, `0`, `no` or `off` leaves them out."""
    network: bool = True
    """`ROUNDTABLE_NETWORK`: `false`, `0`, `no` or `off` stops this process from reaching other machines and from
    starting programs, as soon as the first `Roundtable` exists; see `roundtable.testing.without_network`."""
    allow_plain_http: bool = False
    """`ROUNDTABLE_ALLOW_PLAIN_HTTP`: `true`, `1`, `yes` or `on` allows keys and questions to be sent to providers over
    plain http; otherwise, this is allowed only on this machine and, without a key, on a local network."""
    proxy: str | None = field(default=None, repr=False)
    """`ROUNDTABLE_PROXY`: address of the HTTP proxy for calls to providers; `env` uses `HTTPS_PROXY`, `HTTP_PROXY`,
    `ALL_PROXY` and `NO_PROXY`, which are ignored otherwise."""
    plugins: str | None = None
    """`ROUNDTABLE_PLUGINS`: installed plugins that may be loaded: names of distributions or entry points, separated by
    commas; or `none`; or `all`, the default."""
    disable_plugins: str | None = None
    """`ROUNDTABLE_DISABLE_PLUGINS`: installed plugins that are never loaded, separated by commas; `all`, `1` or `true`
    means all of them."""
    exit_enabled: bool = True
    """`ROUNDTABLE_EXIT_ENABLED`: whether `exit_on_consensus` may end a debate before its last round."""
    exit_consensus_threshold: Decimal = Decimal("0.9")
    """`ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD`: agreement in [0, 1] at which `exit_on_consensus` ends a debate."""
    exit_convergence_rounds: int = 2
    """`ROUNDTABLE_EXIT_CONVERGENCE_ROUNDS`: number of consecutive rounds with unchanged positions after which
    `exit_on_consensus` ends a debate."""
    exit_confidence_threshold: Decimal = Decimal("0.85")
    """`ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD`: confidence in [0, 1] that every agent must reach for `exit_on_consensus`
    to end a debate."""
    high_consensus_threshold: Decimal = Decimal("0.7")
    """`ROUNDTABLE_HIGH_CONSENSUS_THRESHOLD`: agreement in [0, 1] at and above which the consensus level is high."""
    medium_consensus_threshold: Decimal = Decimal("0.4")
    """`ROUNDTABLE_MEDIUM_CONSENSUS_THRESHOLD`: agreement in [0, 1] at and above which the consensus level is medium."""
    low_confidence_threshold: Decimal = Decimal("0.6")
    """`ROUNDTABLE_LOW_CONFIDENCE_THRESHOLD`: confidence below which an answer should be verified."""
    confidence_variance_threshold: Decimal = Decimal("0.04")
    """`ROUNDTABLE_CONFIDENCE_VARIANCE_THRESHOLD`: variance of the agents' confidences above which they are reported as
    a conflict."""
    min_reasoning_length_ratio: Decimal = Decimal("0.5")
    """`ROUNDTABLE_MIN_REASONING_LENGTH_RATIO`: an agent's reasoning is reported as short if its length is below this
    share of the mean length."""
    high_confidence_action_threshold: Decimal = Decimal("0.8")
    """`ROUNDTABLE_HIGH_CONFIDENCE_ACTION_THRESHOLD`: if agreement is high and the mean confidence is at least this, the
    recommended action is `proceed`."""
    low_confidence_action_threshold: Decimal = Decimal("0.6")
    """`ROUNDTABLE_LOW_CONFIDENCE_ACTION_THRESHOLD`: if there is a conflict and the mean confidence is below this, the
    recommended action is `verify`."""
    very_low_confidence_action_threshold: Decimal = Decimal("0.5")
    """`ROUNDTABLE_VERY_LOW_CONFIDENCE_ACTION_THRESHOLD`: if the mean confidence is below this, the recommended action
    is `query_detail`."""
    consensus_summary_max_length: int = 200
    """`ROUNDTABLE_CONSENSUS_SUMMARY_MAX_LENGTH`: maximum length of the summary of the agreement, in characters; 0 or -1
    means no limit."""
    limit_conversations: int | None = 5
    """`ROUNDTABLE_LIMIT_CONVERSATIONS`: conversations and debates that a user of the HTTP server may start within any
    60 minutes; `none` means no limit."""
    limit_concurrent: int | None = 2
    """`ROUNDTABLE_LIMIT_CONCURRENT`: conversations and debates that a user of the HTTP server may have running at the
    same time; `none` means no limit."""
    limit_rounds: int | None = 100
    """`ROUNDTABLE_LIMIT_ROUNDS`: rounds that a user of the HTTP server may request within any 24 hours; `none` means no
    limit."""
    limit_user_streams: int | None = 6
    """`ROUNDTABLE_LIMIT_USER_STREAMS`: streams of events that a user may have open at one process of the HTTP server;
    `none` means no limit."""
    limit_streams: int | None = 1000
    """`ROUNDTABLE_LIMIT_STREAMS`: streams of events that may be open at one process of the HTTP server; `none` means no
    limit."""
    pause_after_s: int | None = 60
    """`ROUNDTABLE_PAUSE_AFTER`: if a run was started as a stream and no client follows it any more, the HTTP server
    pauses the run after this many seconds; `none` means never."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """All variables as they were read, for providers that plugins add."""

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read the settings.

        Args:
            environ: Variables to read from; the environment of the process when left out.

        Raises:
            ConfigurationError: A variable has a value that is not allowed. The message names the
                variable, the value and what is allowed.
        """
        source = dict(os.environ if environ is None else environ)
        reader = VariableReader(source)
        defaults = cls()
        most_agents = reader.count("max_agents", defaults.max_agents, least=2, most=10)
        agents = reader.count("default_agent_count", defaults.default_agent_count, least=2, most=10)
        values: dict[str, Any] = {name: reader.text(name) for name in _TEXTS}
        values |= {name: reader.share(name, getattr(defaults, name)) for name in _SHARES}
        values |= {name: reader.quota(name, getattr(defaults, name)) for name in _QUOTAS}
        return cls(
            **values,
            model_path=reader.path("model_path"),
            cache_home=reader.path("cache_home"),
            data_home=reader.path("data_home"),
            database_path=reader.path("database_path") or defaults.database_path,
            log_level=reader.log_level("log_level", defaults.log_level),
            max_agents=most_agents,
            default_agent_count=min(agents, most_agents),
            max_rounds=reader.count("max_rounds", defaults.max_rounds),
            debug_mode=reader.flag("debug_mode", default=defaults.debug_mode),
            network=reader.flag("network", default=defaults.network),
            allow_plain_http=reader.flag("allow_plain_http", default=defaults.allow_plain_http),
            exit_enabled=reader.flag("exit_enabled", default=defaults.exit_enabled),
            exit_convergence_rounds=reader.count("exit_convergence_rounds", defaults.exit_convergence_rounds),
            consensus_summary_max_length=reader.limit(
                "consensus_summary_max_length", defaults.consensus_summary_max_length
            ),
            environment=source,
        )

    @property
    def names_database(self) -> bool:
        """Whether the user chose the file of the default storage; if so, no other file is ever used instead.

        Example:
            >>> Settings().names_database, Settings(database_path=Path("debates.db")).names_database
            (False, True)
        """
        return self.database_path != _DATABASE or bool(self.environment.get("DATABASE_PATH", "").strip())

    @property
    def secrets(self) -> frozenset[str]:
        """Values that must never be logged or written: keys, and values in the environment that look like keys.

        Example:
            >>> sorted(Settings.from_env({"OPENAI_API_KEY": "sk-1", "ACME_TOKEN": "canary-12", "HOME": "h"}).secrets)
            ['canary-12', 'sk-1']
        """
        keys = (getattr(self, name) for name in VARIABLES if name.endswith("_api_key"))
        foreign = (
            value.strip()
            for name, value in self.environment.items()
            if name.upper().endswith(_SECRET_ENDS) and len(value.strip()) >= _LONG_ENOUGH
        )
        return frozenset({*(key for key in keys if key), *foreign})

    def get(self, variable: str) -> str | None:
        """Return one setting by the name of its variable, as text.

        A variable without a field in this class is looked up in `environment`.

        Example:
            >>> Settings(openai_api_key="sk-1", environment={"ACME_API_KEY": "k"}).get("ACME_API_KEY")
            'k'
        """
        for name, variables in VARIABLES.items():
            if variable in variables:
                value = getattr(self, name)
                if isinstance(value, bool):
                    return str(value).lower()
                return None if value is None else str(value)
        return self.environment.get(variable, "").strip() or None

    def proxy_for(self, url: str) -> str | None:
        """Return the proxy that the environment sets for an address; `None` for none, and for loopback addresses.

        Example:
            >>> settings = Settings.from_env({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": ".example.net"})
            >>> settings.proxy_for("https://api.example.org/v1"), settings.proxy_for("https://api.example.net/v1")
            ('http://proxy:3128', None)
        """
        parts = urlsplit(url)
        host = parts.hostname or ""
        names = {name.lower(): value.strip() for name, value in self.environment.items() if value.strip()}
        proxy = names.get(f"{parts.scheme}_proxy") or names.get("all_proxy")
        is_local = host == "localhost" or host.startswith("127.") or host == "::1"
        excluded = [name.strip().lower().removeprefix("*").lstrip(".") for name in names.get("no_proxy", "").split(",")]
        targets = (host, f"{host}:{parts.port}")
        is_excluded = names.get("no_proxy") == "*" or any(
            target == name or target.endswith(f".{name}") for target in targets for name in excluded if name
        )
        return None if is_local or is_excluded else proxy

    @staticmethod
    def variables(name: str) -> tuple[str, ...]:
        """Return the variables that a field is read from, for messages.

        Example:
            >>> Settings.variables("google_api_key")
            ('GOOGLE_API_KEY', 'GEMINI_API_KEY')
        """
        return VARIABLES[name]
