"""The environment, read once into a value; no other module looks at it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roundtable._variables import LOG_LEVELS, VARIABLES, VariableReader

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LOG_LEVELS", "Settings", "process_environment"]

_DATABASE: Final = Path("data/roundtable.db")
_TEXTS: Final = (
    "anthropic_api_key",
    "openai_api_key",
    "google_api_key",
    "perplexity_api_key",
    "compatible_api_key",
    "brave_api_key",
    "tavily_api_key",
    "searxng_url",
    "anthropic_base_url",
    "openai_base_url",
    "google_base_url",
    "perplexity_base_url",
    "compatible_base_url",
    "compatible_model",
    "ollama_host",
    "plugins",
    "disable_plugins",
)
"""Settings that are taken as they are."""

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
)
"""Settings that count, or do not limit."""

_LONG_ENOUGH = 8
"""Letters from which the value of a foreign variable is taken for a secret rather than a word."""
_SECRET_ENDS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


def process_environment() -> dict[str, str]:
    """Give the environment of this process, for programs that are started from it."""
    return dict(os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment says, as a value that is passed in.

    An empty variable counts as one that is not set. Keys never show in the `repr`.

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
    """`ROUNDTABLE_API_KEY`: key of the provider `compatible`; left out of requests when not set, as most local
    servers want none."""
    brave_api_key: str | None = field(default=None, repr=False)
    """`BRAVE_API_KEY`, else `BRAVE_SEARCH_API_KEY`: key of the web search `brave`."""
    tavily_api_key: str | None = field(default=None, repr=False)
    """`TAVILY_API_KEY`: key of the web search `tavily`."""
    searxng_url: str | None = None
    """`SEARXNG_URL`: address of a SearXNG server, for the web search `searxng` where none is given."""
    anthropic_base_url: str | None = None
    """`ANTHROPIC_BASE_URL`: root of the API of `anthropic`; the vendor's when not set. https, or http to this
    machine."""
    openai_base_url: str | None = None
    """`OPENAI_BASE_URL`: root of the API of `openai` and `openai-chat`; the vendor's when not set."""
    google_base_url: str | None = None
    """`GOOGLE_BASE_URL`: root of the API of `google`; the vendor's when not set."""
    perplexity_base_url: str | None = None
    """`PERPLEXITY_BASE_URL`: root of the API of `perplexity`; the vendor's when not set."""
    compatible_base_url: str | None = None
    """`ROUNDTABLE_BASE_URL`: root of the API of `compatible`, such as `http://127.0.0.1:8080/v1`. With
    `ROUNDTABLE_MODEL`, it fills the seats of a debate that names no agents."""
    compatible_model: str | None = None
    """`ROUNDTABLE_MODEL`: model id at `ROUNDTABLE_BASE_URL`, for agents that name no model."""
    ollama_host: str | None = None
    """`OLLAMA_HOST`: where an Ollama server listens, as `host:port` or a URL; the provider `compatible` uses it when
    `ROUNDTABLE_BASE_URL` is not set."""
    model_path: Path | None = None
    """`ROUNDTABLE_MODEL_PATH`: a GGUF file for the provider `local`, in place of the embedded model."""
    cache_home: Path | None = None
    """`XDG_CACHE_HOME`: parent of the folder `roundtable` that the weights of the embedded model are kept in;
    `~/.cache` when not set."""
    data_home: Path | None = None
    """`XDG_DATA_HOME`: parent of the folder `roundtable` that sessions go to, with a warning, when nobody said where
    and `data/roundtable.db` cannot be written; `~/.local/share` when not set."""
    database_path: Path = _DATABASE
    """`DATABASE_PATH`: SQLite file of the default storage, from the working folder unless absolute, `~` allowed. One
    that is set is never replaced by another: when it cannot be written, storing is a `StorageError`."""
    log_level: str = "info"
    """`LOG_LEVEL`: least severe log lines that the command writes: `debug`, `info`, `warning`, `error` or
    `critical`, in any case."""
    max_agents: int = 5
    """`ROUNDTABLE_MAX_AGENTS`: most agents of a debate that names none, 2 to 10."""
    default_agent_count: int = 4
    """`ROUNDTABLE_DEFAULT_AGENT_COUNT`: agents of a debate that names none, 2 to 10, never above
    `ROUNDTABLE_MAX_AGENTS`; the embedded model fills at most 3 seats."""
    max_rounds: int = 10
    """`ROUNDTABLE_MAX_ROUNDS`: most rounds a debate may ask for, 1 or more."""
    debug_mode: bool = False
    """`ROUNDTABLE_DEBUG_MODE`: `true`, `1`, `yes` or `on` adds stack traces to errors of the command and in JSON;
    `false`, `0`, `no` or `off` does not."""
    plugins: str | None = None
    """`ROUNDTABLE_PLUGINS`: the installed plugins that may be loaded, with commas between: names of distributions or of
    entry points; `all`, as when not set, or `none`."""
    disable_plugins: str | None = None
    """`ROUNDTABLE_DISABLE_PLUGINS`: installed plugins that are never loaded, with commas between; `all`, `1` or `true`
    for every one."""
    exit_enabled: bool = True
    """`ROUNDTABLE_EXIT_ENABLED`: whether `exit_on_consensus` may end a debate before its last round."""
    exit_consensus_threshold: Decimal = Decimal("0.9")
    """`ROUNDTABLE_EXIT_CONSENSUS_THRESHOLD`: agreement in [0, 1] that then ends a debate."""
    exit_convergence_rounds: int = 2
    """`ROUNDTABLE_EXIT_CONVERGENCE_ROUNDS`: rounds in a row without movement that do."""
    exit_confidence_threshold: Decimal = Decimal("0.85")
    """`ROUNDTABLE_EXIT_CONFIDENCE_THRESHOLD`: confidence in [0, 1] of every agent that does."""
    high_consensus_threshold: Decimal = Decimal("0.7")
    """`ROUNDTABLE_HIGH_CONSENSUS_THRESHOLD`: agreement in [0, 1] from which the level is high."""
    medium_consensus_threshold: Decimal = Decimal("0.4")
    """`ROUNDTABLE_MEDIUM_CONSENSUS_THRESHOLD`: agreement in [0, 1] from which the level is medium."""
    low_confidence_threshold: Decimal = Decimal("0.6")
    """`ROUNDTABLE_LOW_CONFIDENCE_THRESHOLD`: confidence below which an answer deserves a second look."""
    confidence_variance_threshold: Decimal = Decimal("0.04")
    """`ROUNDTABLE_CONFIDENCE_VARIANCE_THRESHOLD`: variance above which confidences conflict."""
    min_reasoning_length_ratio: Decimal = Decimal("0.5")
    """`ROUNDTABLE_MIN_REASONING_LENGTH_RATIO`: share of the mean length below which reasoning is short."""
    high_confidence_action_threshold: Decimal = Decimal("0.8")
    """`ROUNDTABLE_HIGH_CONFIDENCE_ACTION_THRESHOLD`: mean confidence that, with high agreement,
    says proceed."""
    low_confidence_action_threshold: Decimal = Decimal("0.6")
    """`ROUNDTABLE_LOW_CONFIDENCE_ACTION_THRESHOLD`: mean confidence below which one conflict says
    verify."""
    very_low_confidence_action_threshold: Decimal = Decimal("0.5")
    """`ROUNDTABLE_VERY_LOW_CONFIDENCE_ACTION_THRESHOLD`: mean confidence below which details
    are needed."""
    consensus_summary_max_length: int = 200
    """`ROUNDTABLE_CONSENSUS_SUMMARY_MAX_LENGTH`: most characters of the agreement in words; 0 or -1 does not
    limit it."""
    limit_conversations: int | None = 5
    """`ROUNDTABLE_LIMIT_CONVERSATIONS`: conversations and debates that a user of the HTTP server may begin within any
    60 minutes; `none` does not limit them."""
    limit_concurrent: int | None = 2
    """`ROUNDTABLE_LIMIT_CONCURRENT`: conversations and debates that a user of the HTTP server may have running at the
    same time, or `none`."""
    limit_rounds: int | None = 100
    """`ROUNDTABLE_LIMIT_ROUNDS`: rounds that a user of the HTTP server may ask for within any 24 hours, or `none`."""
    limit_user_streams: int | None = 6
    """`ROUNDTABLE_LIMIT_USER_STREAMS`: streams of events that a user may have open at one process of the HTTP server,
    or `none`."""
    limit_streams: int | None = 1000
    """`ROUNDTABLE_LIMIT_STREAMS`: streams of events that may be open at one process of the HTTP server, or `none`."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Every variable as it was found, for providers of plugins."""

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read the settings.

        Args:
            environ: Where from; the process's environment when left out.

        Raises:
            ConfigurationError: A variable has a value that is not allowed. The message names the
                variable, the value and what is allowed.
        """
        source = dict(os.environ if environ is None else environ)
        read = VariableReader(source)
        usual = cls()
        most_agents = read.count("max_agents", usual.max_agents, least=2, most=10)
        agents = read.count("default_agent_count", usual.default_agent_count, least=2, most=10)
        given: dict[str, Any] = {name: read.text(name) for name in _TEXTS}
        given |= {name: read.share(name, getattr(usual, name)) for name in _SHARES}
        given |= {name: read.quota(name, getattr(usual, name)) for name in _QUOTAS}
        return cls(
            **given,
            model_path=read.path("model_path"),
            cache_home=read.path("cache_home"),
            data_home=read.path("data_home"),
            database_path=read.path("database_path") or usual.database_path,
            log_level=read.log_level("log_level", usual.log_level),
            max_agents=most_agents,
            default_agent_count=min(agents, most_agents),
            max_rounds=read.count("max_rounds", usual.max_rounds),
            debug_mode=read.flag("debug_mode", default=usual.debug_mode),
            exit_enabled=read.flag("exit_enabled", default=usual.exit_enabled),
            exit_convergence_rounds=read.count("exit_convergence_rounds", usual.exit_convergence_rounds),
            consensus_summary_max_length=read.limit("consensus_summary_max_length", usual.consensus_summary_max_length),
            environment=source,
        )

    @property
    def names_database(self) -> bool:
        """Whether somebody chose the file of the default storage; then no other is ever taken in its place.

        Example:
            >>> Settings().names_database, Settings(database_path=Path("debates.db")).names_database
            (False, True)
        """
        return self.database_path != _DATABASE or bool(self.environment.get("DATABASE_PATH", "").strip())

    @property
    def secrets(self) -> frozenset[str]:
        """What must never be logged or written: keys, and what looks like one in the environment.

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
        """Give one setting by the name of its variable, as text.

        A variable this class has no field for is looked up in `environment`.

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

    @staticmethod
    def variables(name: str) -> tuple[str, ...]:
        """Give the variables a field is read from, for messages.

        Example:
            >>> Settings.variables("google_api_key")
            ('GOOGLE_API_KEY', 'GEMINI_API_KEY')
        """
        return VARIABLES[name]
