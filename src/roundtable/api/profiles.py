"""Profiles of agents from files, and those a table knows by name."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from roundtable.api.checks import check_list
from roundtable.errors import ConfigurationError
from roundtable.types.profiles import AgentProfile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable._registry import Registry
    from roundtable.plugins import Catalog

__all__ = ["ProfileLike", "know_profiles", "load_profiles", "profile_of"]

ProfileLike: TypeAlias = "AgentProfile | str | PathLike[str]"
"""Profiles as a table takes them: one, or a file with several."""

_FIELDS = tuple(field.name for field in fields(AgentProfile) if field.name != "name")


def load_profiles(path: str | PathLike[str]) -> tuple[AgentProfile, ...]:
    """Read profiles from a TOML or YAML file: one table for each, by its name, with the fields of `AgentProfile`.

    Args:
        path: The file; its name ends in `.toml`, `.yaml` or `.yml`. YAML needs the extra `yaml`.

    Raises:
        ConfigurationError: The file cannot be read, or what it holds are no profiles.

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
        raw: object = _yaml(text) if file.suffix.lower() in {".yaml", ".yml"} else tomllib.loads(text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"profiles cannot be read from {str(file)!r}: {reason}", cause=error) from error
    if not isinstance(raw, dict) or not raw:
        raise ConfigurationError(f"{str(file)!r} holds no profiles", hint="Write one table for each: [data-steward]")
    return tuple(_profile(str(file), name, facts) for name, facts in raw.items())


def _yaml(text: str) -> object:
    try:
        import yaml
    except ImportError as error:
        msg = "profiles in YAML need PyYAML"
        raise ConfigurationError(msg, cause=error, hint="pip install 'roundtable-sdk[yaml]', or write TOML.") from error
    try:
        found: object = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    return found


def _profile(where: str, name: object, facts: object) -> AgentProfile:
    if not isinstance(facts, dict) or not isinstance(name, str):
        raise ConfigurationError(f"{where!r}: {name!r} is no table of a profile")
    unknown = sorted(str(key) for key in facts if key not in _FIELDS)
    if unknown:
        msg = f"{where!r}: profile {name!r} has unknown fields: {', '.join(unknown)}"
        raise ConfigurationError(msg, hint=f"A profile has {', '.join(_FIELDS)}.")
    return AgentProfile(name, **facts)


def know_profiles(given: Sequence[ProfileLike], catalog: Catalog) -> Catalog:
    """Let the table know profiles by name, its own before those of plugins; give the catalog that holds them.

    Raises:
        ConfigurationError: One is none, or a file cannot be read.
    """
    check_list("profiles", given)
    for one in given:
        if not isinstance(one, AgentProfile | str | PathLike):
            msg = f"every one of profiles must be an AgentProfile or a file, not {type(one).__name__}"
            raise ConfigurationError(msg)
        for profile in (one,) if isinstance(one, AgentProfile) else load_profiles(one):
            catalog.profiles.add(profile.name, profile, source="this table", replace=True)
    return catalog


def profile_of(given: object, known: Registry[AgentProfile]) -> AgentProfile:
    """Give a profile that was given by name or as it is.

    Raises:
        ConfigurationError: There is none of this name; the code is `AGENT_NOT_FOUND`.
    """
    if isinstance(given, AgentProfile):
        return given
    if not isinstance(given, str):
        msg = f"every one of agents must be a name or an AgentProfile, not {type(given).__name__}"
        raise ConfigurationError(msg, code="VALIDATION_ERROR")
    try:
        return known.get(given)
    except ConfigurationError as error:
        names = ", ".join(known.names()) or "none"
        msg = f"there is no agent {given!r}; known profiles: {names}"
        hint = "Profiles come from Roundtable(profiles=[...]), from --profiles of a command, or from a plugin."
        facts = {"field": "agents"}
        raise ConfigurationError(msg, code="AGENT_NOT_FOUND", cause=error, hint=hint, details=facts) from error
