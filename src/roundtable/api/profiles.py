"""Agent profiles, loaded from files or found by name in a table."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from roundtable.api.checks import check_list
from roundtable.core.base.yaml_text import read_yaml
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.agents import AgentProfile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.base.registry import Registry
    from roundtable.plugins import Catalog

__all__ = ["THIS_TABLE", "ProfileLike", "load_profiles", "profile_of", "register_profiles"]

ProfileLike: TypeAlias = "AgentProfile | str | PathLike[str]"
"""The forms of profiles that a table accepts: a profile, or a file with several profiles."""

THIS_TABLE: Final = "this table"
"""Source of the profiles that were passed to a table."""

_FIELDS = tuple(field.name for field in fields(AgentProfile) if field.name != "name")


def load_profiles(path: str | PathLike[str]) -> tuple[AgentProfile, ...]:
    """Load profiles from a TOML or YAML file with one TOML table (or YAML mapping) per profile.

    Args:
        path: A file that ends in `.toml`, `.yaml` or `.yml`. YAML needs the extra `yaml`.

    Raises:
        ConfigurationError: The file cannot be read, or does not contain profiles.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "team.toml")
        ...     _ = file.write_text("[scout]" + chr(10) + "max_steps = 2")
        ...     load_profiles(file)[0].max_steps
        2
    """
    file = Path(path)
    try:
        text = file.read_text("utf-8")
        raw: object = _parse_yaml(text) if file.suffix.lower() in {".yaml", ".yml"} else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"profiles cannot be read from {str(file)!r}: {reason}", cause=error) from error
    if not isinstance(raw, dict) or not raw:
        raise ConfigurationError(
            f"{str(file)!r} contains no profiles", hint="Write one table per profile: [data-steward]"
        )
    return tuple(_parse_profile(str(file), name, facts) for name, facts in raw.items())


def _parse_yaml(text: str) -> object:
    try:
        return read_yaml(text)
    except ImportError as error:
        msg = "profiles in YAML need PyYAML"
        raise ConfigurationError(msg, cause=error, hint="pip install 'roundtable-sdk[yaml]', or write TOML.") from error


def _parse_profile(file: str, name: object, values: object) -> AgentProfile:
    if not isinstance(values, dict) or not isinstance(name, str):
        raise ConfigurationError(f"{file!r}: {name!r} is not a table with a profile")
    unknown = sorted(str(key) for key in values if key not in _FIELDS)
    if unknown:
        msg = f"{file!r}: profile {name!r} has unknown fields: {', '.join(unknown)}"
        raise ConfigurationError(msg, hint=f"Fields of a profile: {', '.join(_FIELDS)}.")
    return AgentProfile(name, **values)


def register_profiles(profiles: Sequence[ProfileLike], catalog: Catalog) -> Catalog:
    """Add a table's profiles to the catalog and return it; they replace profiles of plugins with the same names.

    Raises:
        ConfigurationError: An entry is not a profile, or a file cannot be read.
    """
    check_list("profiles", profiles)
    for item in profiles:
        if not isinstance(item, AgentProfile | str | PathLike):
            msg = f"each item of profiles must be an AgentProfile or a file, not {type(item).__name__}"
            raise ConfigurationError(msg)
        for profile in (item,) if isinstance(item, AgentProfile) else load_profiles(item):
            catalog.profiles.add(profile.name, profile, source=THIS_TABLE, replace=True)
    return catalog


def profile_of(agent: object, known: Registry[AgentProfile]) -> AgentProfile:
    """Return a profile; a name is looked up.

    Raises:
        ConfigurationError: The name is unknown; the code is `AGENT_NOT_FOUND`.
    """
    if isinstance(agent, AgentProfile):
        return agent
    if not isinstance(agent, str):
        msg = f"each item of agents must be a name or an AgentProfile, not {type(agent).__name__}"
        raise ConfigurationError(msg, code="VALIDATION_ERROR")
    try:
        return known.get(agent)
    except ConfigurationError as error:
        names = ", ".join(known.names()) or "none"
        msg = f"unknown agent {agent!r}; known profiles: {names}"
        hint = "Profiles come from Roundtable(profiles=[...]), from --profiles of a command, or from a plugin."
        details = {"field": "agents"}
        raise ConfigurationError(msg, code="AGENT_NOT_FOUND", cause=error, hint=hint, details=details) from error
