"""Find installed plugins and load them into a catalog."""

from __future__ import annotations

import contextvars
import logging
import re
import sys
import threading
import time
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import TYPE_CHECKING, cast

from roundtable._version import __version__
from roundtable.core.base.registry import HOST, same_distribution
from roundtable.core.base.text import error_text
from roundtable.core.errors import ConfigurationError, PluginError, RoundtableError
from roundtable.core.hooks import PROJECT, Catalog, PluginReport
from roundtable.logs import ROOT
from roundtable.plugins import builtin
from roundtable.plugins.isolated import check_api, run_hooks
from roundtable.plugins.selection import Plugins, name_of, plugins_of
from roundtable.settings import Settings
from roundtable.vendors import VENDORS, WITHOUT_HTTP

if TYPE_CHECKING:
    from collections.abc import Callable

    from packaging.requirements import Requirement

    from roundtable.core.hooks import PluginStage
    from roundtable.plugins.selection import PluginChoice

__all__ = ["Installed", "LoadedPlugins", "find_installed", "load_catalog", "load_plugins"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.plugins")


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed distribution with entry points for plugins."""

    name: str
    """Name of the distribution."""
    version: str | None
    """Its version."""
    entry_points: tuple[EntryPoint, ...] = ()
    """Entry points of the distribution in the group `roundtable`."""
    error: PluginError | None = None
    """Why the distribution must not be imported."""

    @property
    def called(self) -> tuple[str, ...]:
        """Names of the entry points."""
        return tuple(point.name for point in self.entry_points)

    def may_add(self, name: str) -> bool:
        """Check whether a name belongs to an entry point of this distribution.

        It does if it equals the name of the entry point, or begins with that name and a hyphen. Underscores count as
        hyphens.

        Example:
            >>> plugin = Installed("roundtable-acme", "1.0", (EntryPoint("acme", "acme", "roundtable"),))
            >>> [plugin.may_add(name) for name in ("acme", "acme_words", "acme-fast", "acmeist")]
            [True, True, True, False]
        """
        plain = name.replace("_", "-")
        return any(f"{plain}-".startswith(f"{point.replace('_', '-')}-") for point in self.called)


def find_installed() -> tuple[Installed, ...]:
    """Find the distributions with an entry point in the group `roundtable`.

    If the path has several distributions of the same name, the first one counts. Unreadable metadata never raises an
    error; an unreadable distribution that names this group is returned with its error.
    """
    installed: dict[str, Installed] = {}
    for distribution in distributions():
        plugin = _read(distribution)
        if plugin is not None and not any(same_distribution(plugin.name, name) for name in installed):
            installed[plugin.name] = plugin
    return tuple(installed.values())


def _read(distribution: Distribution) -> Installed | None:
    # Names, versions and entry points come from files that can hold anything.
    try:
        text = distribution.read_text("entry_points.txt") or ""
        if f"[{PROJECT}]" not in text:
            return None
        name: object = distribution.metadata["Name"]
        version: object = distribution.metadata["Version"]
    except Exception:  # noqa: BLE001  (an unreadable distribution on the path, unrelated to this library)
        return None
    if not isinstance(name, str) or not name.strip():
        return None
    version_text = version if isinstance(version, str) else None
    try:
        points = tuple(point for point in distribution.entry_points if point.group == PROJECT)
    except Exception as error:  # noqa: BLE001  (as above, but this one names the group `roundtable`)
        msg = f"the entry points of {name!r} cannot be read: {type(error).__name__}: {error_text(error)}"
        return Installed(name, version_text, error=PluginError(msg, plugin=name, stage="metadata", cause=error))
    return Installed(name, version_text, points, _check_requires(distribution, name)) if points else None


def _check_requires(distribution: Distribution, name: str) -> PluginError | None:
    """Return an error if a distribution requires another version of the library."""
    # This import waits for the first distribution with a plugin, because most machines have none.
    from packaging.requirements import Requirement

    try:
        requirements = [Requirement(text) for text in distribution.requires or ()]
        unmet = [requirement for requirement in requirements if _is_unmet(requirement)]
    except Exception as error:  # noqa: BLE001  (as in `_read`: the requirements come from a file)
        msg = f"the requirements of {name!r} cannot be read: {type(error).__name__}: {error_text(error)}"
        return PluginError(msg, plugin=name, stage="metadata", cause=error)
    if not unmet:
        return None
    msg = f"{name!r} requires {HOST}{unmet[0].specifier}; this is {__version__}"
    return PluginError(msg, plugin=name, stage="requires", hint=f"Install another version of {name}, or of {HOST}.")


def _is_unmet(requirement: Requirement) -> bool:
    """Check whether a requirement excludes this version of the library."""
    is_about_host = same_distribution(requirement.name, HOST) and (
        requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    )
    return is_about_host and not requirement.specifier.contains(__version__, prereleases=True)


def load_catalog(plugins: PluginChoice = ()) -> Catalog:
    """Return the catalog of everything that the built-in and the chosen plugins register; see `load_plugins`.

    Example:
        >>> load_catalog().storages.names()
        ('memory', 'postgres', 'postgresql', 'sqlite')
    """
    return load_plugins(plugins).catalog


def load_plugins(plugins: PluginChoice = None, settings: Settings | None = None) -> LoadedPlugins:
    """Load the built-in plugin, and then each chosen plugin.

    An installed plugin that fails does not affect other plugins. The reports list it, and its error is raised when
    something that it should have registered is looked up. If a plugin that is passed as an object fails, its error is
    raised here.

    Args:
        plugins: Which plugins to load. By default, an installed plugin is loaded when a name is looked up that is
            unknown and matches the plugin's entry point.
        settings: Settings from the environment.

    Raises:
        PluginError: In three cases: a plugin that is passed as an object is not a plugin, implements a hook wrongly, or
            fails in a hook; a named plugin is not installed; an installed plugin fails, and `strict` is on.
        ConfigurationError: A plugin that is passed as an object registers a name that is taken.

    Example:
        >>> from roundtable.plugins import Plugins
        >>> load_plugins(Plugins.none()).catalog.storages.names()
        ('memory', 'postgres', 'postgresql', 'sqlite')
    """
    chosen = plugins_of(plugins).apply_environment(Settings() if settings is None else settings)
    return LoadedPlugins(chosen)


class LoadedPlugins:
    """The catalog of one table, and reports on its plugins.

    Args:
        chosen: Which plugins to load.
    """

    def __init__(self, chosen: Plugins) -> None:
        self.chosen = chosen
        self.catalog: Catalog = Catalog(known_providers={**VENDORS, **WITHOUT_HTTP})
        """Everything that can be looked up by name."""
        self._reports: dict[str, PluginReport] = {}
        self._installed: tuple[Installed, ...] | None = None
        self._register_object(HOST, builtin)
        for plugin in chosen.objects:
            source = name_of(plugin)
            self._register_object(source, plugin)
        if chosen.installed in {"named", "all"}:
            self._load_chosen()
        if chosen.installed != "none":
            for kind, registry in self.catalog.registries().items():
                registry.finder = self._finder(kind)
                registry.elsewhere = self._describe_idle

    @property
    def installed(self) -> tuple[Installed, ...]:
        """Every installed distribution with an entry point in the group `roundtable`; the search runs only once."""
        if self._installed is None:
            self._installed = find_installed()
        return self._installed

    def reports(self) -> tuple[PluginReport, ...]:
        """Return a report on each plugin except the built-in one; plugins that were passed as objects come first.

        Installed plugins that were not needed yet have the stage `idle`; disabled plugins have the stage `off`.
        """
        unloaded = [
            PluginReport(
                plugin.name,
                plugin.version,
                "idle" if self.chosen.allows(plugin.name, plugin.called) else "off",
                entry_point=", ".join(plugin.called) or None,
            )
            for plugin in self.installed
            if plugin.name not in self._reports
        ]
        return (*self._reports.values(), *unloaded)

    def load_for_keys(self, settings: Settings) -> None:
        """Load each idle plugin whose key is set: the variable is the name of its entry point with `_API_KEY`.

        So the key of a provider is enough for a debate that names no agents. An entry point `acme-ai` needs
        `ACME_AI_API_KEY`. Errors of plugins are in the reports.

        Args:
            settings: Settings from the environment.

        Raises:
            PluginError: A plugin fails, and `strict` is on.
        """
        if self.chosen.installed != "asked":
            return
        for plugin in self.installed:
            variables = [re.sub("[^A-Z0-9]", "_", f"{name}_API_KEY".upper()) for name in plugin.called]
            if any(map(settings.get, variables)) and self.chosen.allows(plugin.name, plugin.called):
                self._load(plugin)

    def is_loaded(self, source: str) -> bool:
        """Check whether this table has tried to load a plugin; `source` is the name of its distribution."""
        return source in self._reports

    def version_of(self, source: str) -> str | None:
        """Return the version of a loaded plugin's distribution; `None` for plugins that were passed as objects.

        Args:
            source: Source of a registered object; see `Entry.source`.
        """
        report = self._reports.get(source)
        return None if report is None else report.version

    def _describe_idle(self) -> str:
        """Return a hint that lists idle plugins, for errors about an unknown name that one of them may register."""
        idle = ", ".join(report.name for report in self.reports() if report.stage == "idle")
        return f"Installed, and loaded only by plugins=Plugins.of(...) or .load(): {idle}." if idle else ""

    def _register_object(self, source: str, plugin: object) -> None:
        """Load a plugin that was passed as an object; its errors are raised at once."""
        check_api(source, plugin)
        scratch = Catalog()
        run_hooks(source, plugin, scratch)
        registries = self.catalog.registries()
        for kind, registry in scratch.registries().items():
            for entry in registry:
                registries[kind].add(entry.name, entry.thing, summary=entry.summary, source=source)
        if source != HOST:
            # Two objects of the same class are two plugins.
            key = source if source not in self._reports else f"{source} {len(self._reports) + 1}"
            self._reports[key] = PluginReport(source, None, "ready", provides=_provides(scratch))

    def _load_chosen(self) -> None:
        allowed = [plugin for plugin in self.installed if self.chosen.allows(plugin.name, plugin.called)]
        if self.chosen.installed == "named":
            for name in self.chosen.names:
                if not any(
                    same_distribution(name, called) for plugin in allowed for called in (plugin.name, *plugin.called)
                ):
                    msg = f"plugin {name!r} is not installed"
                    names = ", ".join(plugin.name for plugin in self.installed) or "none"
                    raise PluginError(msg, plugin=name, stage="metadata", hint=f"Install it. Installed: {names}.")
        for plugin in allowed:
            self._load(plugin)

    def _load(self, plugin: Installed) -> None:
        if plugin.name in self._reports:
            return
        scratch = Catalog()
        with redirect_stdout(sys.stderr) if self.chosen.to_stderr else nullcontext():
            stage, error = _load_with_timeout(plugin, scratch, self.chosen.timeout_s)
        notes = () if error is not None else self._merge(scratch)
        report = PluginReport(
            plugin.name, plugin.version, stage, error, _provides(scratch), notes, ", ".join(plugin.called) or None
        )
        self._reports[plugin.name] = report
        if error is not None:
            logger.warning("the plugin %s is left out: %s", plugin.name, error.message)
            if self.chosen.strict:
                raise error

    def _merge(self, scratch: Catalog) -> tuple[str, ...]:
        notes = []
        registries = self.catalog.registries()
        for kind, registry in scratch.registries().items():
            for entry in registry:
                owner = registries[kind].admit(entry)
                if owner is not None:
                    notes.append(
                        f"the {registry.kind} {entry.name!r} is also registered by {owner}; this one is "
                        f"'{entry.source}/{entry.name}', the other '{owner}/{entry.name}'"
                    )
        return tuple(notes)

    def _finder(self, kind: str) -> Callable[[str], None]:
        return lambda name: self._look_up(kind, name)

    def _look_up(self, kind: str, name: str) -> None:
        """Load the installed plugin that an unknown name belongs to.

        Raises:
            PluginError: The plugin failed.
        """
        source, _, plain = name.rpartition("/")
        for plugin in self.installed:
            if not self.chosen.allows(plugin.name, plugin.called):
                continue
            is_named = same_distribution(plugin.name, source) if source else plugin.may_add(plain)
            if is_named and self.chosen.installed == "asked":
                self._load(plugin)
            report = self._reports.get(plugin.name)
            singular = self.catalog.registries()[kind].kind
            if (
                report is not None
                and report.error is not None
                and (is_named or f"{singular} {plain}" in report.provides)
            ):
                raise _unavailable(singular, name, report) from (report.error.__cause__ or report.error)


def _unavailable(kind: str, name: str, report: PluginReport) -> PluginError:
    """Create the error for a name that is missing because its plugin failed."""
    error = report.error
    why = "" if error is None else error.message
    return PluginError(
        f"the {kind} {name!r} belongs to the plugin {report.name!r}, which could not be loaded: {why}",
        plugin=report.name,
        stage=report.stage,
        hint=(error and error.hint) or "`roundtable plugins` shows the state of each plugin.",
    )


def _provides(scratch: Catalog) -> tuple[str, ...]:
    return tuple(f"{registry.kind} {entry.name}" for registry in scratch.registries().values() for entry in registry)


def _load_with_timeout(
    plugin: Installed, scratch: Catalog, timeout_s: float
) -> tuple[PluginStage, RoundtableError | None]:
    """Import a plugin and run its hooks on a separate thread, so that a plugin that blocks is abandoned in time."""
    if plugin.error is not None:
        return cast("PluginStage", plugin.error.stage), plugin.error
    abandoned = _running(plugin.name)
    if abandoned is not None:
        # The import already runs for another table, which may have given up; wait only for the rest of the time limit.
        abandoned.join(max(0.0, timeout_s - abandoned.age_s))
        if abandoned.is_alive():
            return abandoned.task.stage, _timeout_error(plugin, abandoned.task.stage, timeout_s)
    task = _LoadTask(plugin, scratch)
    thread = _LoadThread(plugin.name, task)
    thread.start()
    thread.join(timeout_s)
    if not thread.is_alive():
        return task.stage, task.error
    return task.stage, _timeout_error(plugin, task.stage, timeout_s)


def _timeout_error(plugin: Installed, stage: PluginStage, timeout_s: float) -> PluginError:
    msg = f"plugin {plugin.name!r} took longer than {timeout_s:g} s in the stage {stage!r}"
    hint = "Move slow work into the plugin's factories, which run when something is used."
    return PluginError(msg, plugin=plugin.name, stage=stage, hint=hint)


class _LoadThread(threading.Thread):
    """Thread that loads one plugin; it does not keep the program from ending."""

    def __init__(self, plugin: str, task: _LoadTask) -> None:
        super().__init__(name=f"roundtable-{plugin}", daemon=True)
        self.plugin = plugin
        self.task = task
        self._since = time.monotonic()
        self._context = contextvars.copy_context()

    @property
    def age_s(self) -> float:
        """Seconds since the thread was created."""
        return time.monotonic() - self._since

    def run(self) -> None:
        """Load the plugin."""
        self._context.run(self.task.run)


def _running(plugin: str) -> _LoadThread | None:
    """Return the thread of this process that is still loading a plugin for another table."""
    threads = (thread for thread in threading.enumerate() if isinstance(thread, _LoadThread))
    return next((thread for thread in threads if thread.plugin == plugin), None)


class _LoadTask:
    """The work of one thread: import a plugin, check its API version, register. `stage` shows its progress."""

    def __init__(self, plugin: Installed, scratch: Catalog) -> None:
        self.stage: PluginStage = "import"
        self.error: RoundtableError | None = None
        self._distribution = plugin
        self._scratch = scratch
        self._loaded: list[object] = []

    def run(self) -> None:
        for point in self._distribution.entry_points:
            try:
                self._load_entry_point(point)
            except RoundtableError as error:
                self.error = error
                return
            # This is a separate thread, so exceptions that end a program must not leave it.
            except BaseException as error:  # noqa: BLE001
                problem = f"{type(error).__name__}: {error_text(error)}"
                msg = f"plugin {self._distribution.name!r} failed in the stage {self.stage!r}: {problem}"
                self.error = PluginError(msg, plugin=self._distribution.name, stage=self.stage, cause=error)
                return
        self.stage = "ready"

    def _load_entry_point(self, point: EntryPoint) -> None:
        source = self._distribution.name
        self.stage = "import"
        plugin: object = point.load()
        if any(plugin is loaded for loaded in self._loaded):
            return  # one plugin may have several entry points, one for each name
        self._loaded.append(plugin)
        if isinstance(plugin, type):
            msg = f"the entry point {point.value!r} of {source!r} is a class; a plugin is a module or an object"
            raise ConfigurationError(msg, hint="Make the entry point name a module.")
        self.stage = "api"
        check_api(source, plugin)
        self.stage = "register"
        run_hooks(source, plugin, self._scratch)
