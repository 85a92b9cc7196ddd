"""Installed distributions with an entry point of ours: found and judged without importing anything of theirs."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions

from packaging.requirements import InvalidRequirement, Requirement

from roundtable._foreign import error_text
from roundtable._registry import HOST, same_source
from roundtable._version import __version__
from roundtable.errors import PluginError
from roundtable.plugins.hookspecs import PROJECT

__all__ = ["Installed", "find_installed"]


@dataclass(frozen=True, slots=True)
class Installed:
    """A distribution that says it brings plugins."""

    name: str
    """Name of the distribution."""
    version: str | None
    """Its version."""
    entry_points: tuple[EntryPoint, ...] = ()
    """Its entry points in our group."""
    error: PluginError | None = None
    """Why it is not to be imported."""

    @property
    def called(self) -> tuple[str, ...]:
        """Names of its entry points."""
        return tuple(point.name for point in self.entry_points)


def find_installed() -> tuple[Installed, ...]:
    """Find distributions with an entry point in the group `roundtable`, the first of each name on the path.

    Metadata that cannot be read never raises; a distribution that names us and cannot be read is given with its error.
    """
    found: dict[str, Installed] = {}
    for distribution in distributions():
        one = _read(distribution)
        if one is not None and not any(same_source(one.name, name) for name in found):
            found[one.name] = one
    return tuple(found.values())


def _read(distribution: Distribution) -> Installed | None:
    # Names, versions and entry points come from files that anything may have written.
    try:
        text = distribution.read_text("entry_points.txt") or ""
        if f"[{PROJECT}]" not in text:
            return None
        name: object = distribution.metadata["Name"]
        version: object = distribution.metadata["Version"]
    except Exception:  # noqa: BLE001  (a folder on the path that is no readable distribution is not ours to judge)
        return None
    if not isinstance(name, str) or not name.strip():
        return None
    shown = version if isinstance(version, str) else None
    try:
        points = tuple(point for point in distribution.entry_points if point.group == PROJECT)
    except Exception as error:  # noqa: BLE001  (as above, but this one names us)
        msg = f"the entry points of {name!r} cannot be read: {type(error).__name__}: {error_text(error)}"
        return Installed(name, shown, error=PluginError(msg, plugin=name, stage="metadata", cause=error))
    return Installed(name, shown, points, _check_requires(distribution, name)) if points else None


def _check_requires(distribution: Distribution, name: str) -> PluginError | None:
    """Say why a distribution is not for this version of the library."""
    try:
        texts = distribution.requires or ()
        requirements = [Requirement(text) for text in texts]
    except (InvalidRequirement, OSError, ValueError) as error:
        msg = f"the requirements of {name!r} cannot be read: {error}"
        return PluginError(msg, plugin=name, stage="metadata", cause=error)
    for needed in requirements:
        if not same_source(needed.name, HOST) or (
            needed.marker is not None and not needed.marker.evaluate({"extra": ""})
        ):
            continue
        if not needed.specifier.contains(__version__, prereleases=True):
            msg = f"{name!r} requires {HOST}{needed.specifier}; this is {__version__}"
            hint = f"Install another version of {name}, or of {HOST}."
            return PluginError(msg, plugin=name, stage="requires", hint=hint)
    return None
