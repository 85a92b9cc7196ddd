"""The variables that settings are read from, and how their texts are understood."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LOG_LEVELS", "VARIABLES", "VariableReader"]

LOG_LEVELS: Final = ("debug", "info", "warning", "error", "critical")
"""Values `LOG_LEVEL` may take; `warn` and `fatal` are read as `warning` and `critical`."""

_LEVEL_ALIASES: Final = {"warn": "warning", "fatal": "critical"}
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})
_DECIMAL: Final = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")

VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic_api_key": ("ANTHROPIC_API_KEY",),
    "openai_api_key": ("OPENAI_API_KEY",),
    "google_api_key": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "perplexity_api_key": ("PERPLEXITY_API_KEY",),
    "compatible_api_key": ("ROUNDTABLE_API_KEY",),
    "brave_api_key": ("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"),
    "tavily_api_key": ("TAVILY_API_KEY",),
    "searxng_url": ("SEARXNG_URL",),
    "anthropic_base_url": ("ANTHROPIC_BASE_URL",),
    "openai_base_url": ("OPENAI_BASE_URL",),
    "google_base_url": ("GOOGLE_BASE_URL",),
    "perplexity_base_url": ("PERPLEXITY_BASE_URL",),
    "compatible_base_url": ("ROUNDTABLE_BASE_URL",),
    "compatible_model": ("ROUNDTABLE_MODEL",),
    "ollama_host": ("OLLAMA_HOST",),
    "model_path": ("ROUNDTABLE_MODEL_PATH",),
    "cache_home": ("XDG_CACHE_HOME",),
    "data_home": ("XDG_DATA_HOME",),
    "database_path": ("DATABASE_PATH",),
    "log_level": ("LOG_LEVEL",),
    "max_agents": ("ROUNDTABLE_MAX_AGENTS",),
    "default_agent_count": ("ROUNDTABLE_DEFAULT_AGENT_COUNT",),
    "max_rounds": ("ROUNDTABLE_MAX_ROUNDS",),
    "debug_mode": ("ROUNDTABLE_DEBUG_MODE",),
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
}
"""Field to the variables it is read from, the first one set wins."""


class VariableReader:
    """Reads the variables of settings, by the name of the setting; one that is not set or empty gives the default."""

    def __init__(self, source: Mapping[str, str]) -> None:
        self._source = source

    def _find(self, name: str) -> tuple[str, str]:
        for variable in VARIABLES[name]:
            text = self._source.get(variable, "").strip()
            if text:
                return variable, text
        return VARIABLES[name][0], ""

    def text(self, name: str) -> str | None:
        return self._find(name)[1] or None

    def path(self, name: str) -> Path | None:
        variable, text = self._find(name)
        try:
            return Path(text).expanduser() if text else None
        except RuntimeError as exc:
            raise _refusal(variable, text, "a path; '~' needs a home folder") from exc

    def count(self, name: str, default: int, *, least: int = 1, most: int | None = None) -> int:
        variable, text = self._find(name)
        if not text:
            return default
        # Length first: int() of thousands of digits is refused by Python with an error of its own.
        plain = text.isascii() and text.isdigit() and len(text) <= 9
        if not plain or int(text) < least or (most is not None and int(text) > most):
            raise _refusal(variable, text, f"a whole number from {least}" + (f" to {most}" if most else ""))
        return int(text)

    def limit(self, name: str, default: int) -> int:
        """Read a count in which -1 is another word for 0, no limit."""
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
        variable, text = self._find(name)
        if text and text.lower() not in _TRUE | _FALSE:
            raise _refusal(variable, text, "true or false")
        return text.lower() in _TRUE if text else default

    def share(self, name: str, default: Decimal) -> Decimal:
        variable, text = self._find(name)
        if text and (len(text) > 20 or not _DECIMAL.fullmatch(text) or Decimal(text) > 1):
            raise _refusal(variable, text, "a decimal from 0 to 1, such as 0.8")
        return Decimal(text) if text else default

    def log_level(self, name: str, default: str) -> str:
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
