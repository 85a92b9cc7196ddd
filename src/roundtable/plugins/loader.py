"""From plugins to a catalog."""

from __future__ import annotations

import contextvars
import logging
import sys
import threading
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, cast

from roundtable._foreign import error_text
from roundtable._registry import HOST, same_source
from roundtable.errors import ConfigurationError, PluginError, RoundtableError
from roundtable.logs import ROOT
from roundtable.plugins import builtin
from roundtable.plugins.chosen import Plugins, name_of, plugins_of
from roundtable.plugins.installed import Installed, find_installed
from roundtable.plugins.registrar import Catalog
from roundtable.plugins.report import PluginReport
from roundtable.plugins.trial import check_api, try_out
from roundtable.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

    from roundtable.plugins.chosen import PluginChoice
    from roundtable.plugins.report import PluginStage

__all__ = ["LoadedPlugins", "load_catalog", "load_plugins"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.plugins")


def load_catalog(plugins: PluginChoice = ()) -> Catalog:
    """Ask the built-in plugin, then each chosen one, what it has to offer; see `load_plugins`.

    Example:
        >>> load_catalog().storages.names()
        ('memory', 'sqlite')
    """
    return load_plugins(plugins).catalog


def load_plugins(plugins: PluginChoice = None, settings: Settings | None = None) -> LoadedPlugins:
    """Ask the built-in plugin, then each chosen one, what it has to offer.

    An installed plugin that fails breaks nothing: it is in the reports, and asking for what it would have brought
    raises its error. One that was handed over as an object raises here.

    Args:
        plugins: Which ones; left out, an installed one is loaded when a name that nobody knows is its entry point's.
        settings: What the environment says.

    Raises:
        PluginError: One that was handed over is none, implements a hook wrongly, or fails in one; one that was named is
            not installed; or an installed one fails and `strict` is on.
        ConfigurationError: One that was handed over registers a name that is taken.

    Example:
        >>> from roundtable.plugins import Plugins
        >>> load_plugins(Plugins.none()).catalog.storages.names()
        ('memory', 'sqlite')
    """
    chosen = plugins_of(plugins).narrowed(Settings() if settings is None else settings)
    return LoadedPlugins(chosen)


class LoadedPlugins:
    """The catalog of one table, and what became of its plugins.

    Args:
        chosen: Which plugins.
    """

    def __init__(self, chosen: Plugins) -> None:
        self.chosen = chosen
        self.catalog: Catalog = Catalog()
        """Everything that can be asked for by name."""
        self._reports: dict[str, PluginReport] = {}
        self._installed: tuple[Installed, ...] | None = None
        self._hand_over(HOST, builtin)
        for plugin in chosen.objects:
            source = name_of(plugin)
            self._hand_over(source, plugin)
        if chosen.installed in {"named", "all"}:
            self._load_chosen()
        if chosen.installed != "none":
            for kind, registry in self.catalog.registries().items():
                registry.finder = self._finder(kind)
                registry.elsewhere = self._waiting

    @property
    def installed(self) -> tuple[Installed, ...]:
        """Every installed distribution with an entry point of ours, looked for once."""
        if self._installed is None:
            self._installed = find_installed()
        return self._installed

    def reports(self) -> tuple[PluginReport, ...]:
        """Say what became of each plugin, those handed over first; the built-in one is left out.

        Installed ones that nobody needed yet are listed as `idle`, those switched off as `off`.
        """
        waiting = [
            PluginReport(
                one.name,
                one.version,
                "idle" if self.chosen.allows(one.name, one.called) else "off",
                entry_point=", ".join(one.called) or None,
            )
            for one in self.installed
            if one.name not in self._reports
        ]
        return (*self._reports.values(), *waiting)

    def _waiting(self) -> str:
        """Name the installed plugins that nobody needed yet, for who asks for a name that one of them may bring."""
        idle = ", ".join(report.name for report in self.reports() if report.stage == "idle")
        return f"Installed, and loaded only by plugins=Plugins.of(...) or .load(): {idle}." if idle else ""

    def _hand_over(self, source: str, plugin: object) -> None:
        """Take what the caller gave; whatever is wrong with it is the caller's to know at once."""
        check_api(source, plugin)
        scratch = Catalog()
        try_out(source, plugin, scratch)
        own = self.catalog.registries()
        for kind, registry in scratch.registries().items():
            for entry in registry:
                own[kind].add(entry.name, entry.thing, summary=entry.summary, source=source)
        if source != HOST:
            # Two objects of one class are two plugins.
            key = source if source not in self._reports else f"{source} {len(self._reports) + 1}"
            self._reports[key] = PluginReport(source, None, "ready", provides=_provides(scratch))

    def _load_chosen(self) -> None:
        allowed = [one for one in self.installed if self.chosen.allows(one.name, one.called)]
        if self.chosen.installed == "named":
            for name in self.chosen.names:
                if not any(same_source(name, called) for one in allowed for called in (one.name, *one.called)):
                    msg = f"there is no installed plugin {name!r}"
                    known = ", ".join(one.name for one in self.installed) or "none"
                    raise PluginError(msg, plugin=name, stage="metadata", hint=f"Install it. There are: {known}.")
        for one in allowed:
            self._load(one)

    def _load(self, one: Installed) -> None:
        if one.name in self._reports:
            return
        scratch = Catalog()
        with redirect_stdout(sys.stderr) if self.chosen.to_stderr else nullcontext():
            stage, error = _bring_in_time(one, scratch, self.chosen.timeout_s)
        notes = () if error is not None else self._commit(scratch)
        report = PluginReport(
            one.name, one.version, stage, error, _provides(scratch), notes, ", ".join(one.called) or None
        )
        self._reports[one.name] = report
        if error is not None:
            logger.warning("the plugin %s is left out: %s", one.name, error.message)
            if self.chosen.strict:
                raise error

    def _commit(self, scratch: Catalog) -> tuple[str, ...]:
        notes = []
        own = self.catalog.registries()
        for kind, registry in scratch.registries().items():
            for entry in registry:
                other = own[kind].admit(entry)
                if other is not None:
                    notes.append(
                        f"the {registry.kind} {entry.name!r} is also {other}'s; this one is "
                        f"'{entry.source}/{entry.name}', and theirs '{other}/{entry.name}'"
                    )
        return tuple(notes)

    def _finder(self, kind: str) -> Callable[[str], None]:
        return lambda name: self._look_up(kind, name)

    def _look_up(self, kind: str, name: str) -> None:
        """Load the installed plugin that a name nobody knows belongs to.

        Raises:
            PluginError: It failed.
        """
        source, _, plain = name.rpartition("/")
        for one in self.installed:
            if not self.chosen.allows(one.name, one.called):
                continue
            meant = same_source(one.name, source) if source else plain in one.called
            if meant and self.chosen.installed == "asked":
                self._load(one)
            report = self._reports.get(one.name)
            singular = self.catalog.registries()[kind].kind
            if report is not None and report.error is not None and (meant or f"{singular} {plain}" in report.provides):
                raise _missing(singular, name, report) from (report.error.__cause__ or report.error)


def _missing(kind: str, name: str, report: PluginReport) -> PluginError:
    """Say that a thing is missing because its plugin failed, with the plugin's own error as the cause."""
    error = report.error
    why = "" if error is None else error.message
    return PluginError(
        f"the {kind} {name!r} belongs to the plugin {report.name!r}, which could not be loaded: {why}",
        plugin=report.name,
        stage=report.stage,
        hint=(error and error.hint) or "`roundtable plugins` shows what became of each plugin.",
    )


def _provides(scratch: Catalog) -> tuple[str, ...]:
    return tuple(f"{registry.kind} {entry.name}" for registry in scratch.registries().values() for entry in registry)


def _bring_in_time(one: Installed, scratch: Catalog, timeout_s: float) -> tuple[PluginStage, RoundtableError | None]:
    """Import a plugin and have it register, on a thread of its own: one that blocks holds up nobody for long."""
    if one.error is not None:
        return cast("PluginStage", one.error.stage), one.error
    bringing = _Bringing(one, scratch)
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(bringing.run,), name=f"roundtable-{one.name}", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if not thread.is_alive():
        return bringing.stage, bringing.error
    msg = f"plugin {one.name!r} took longer than {timeout_s:g} s in the stage {bringing.stage!r}"
    hint = "A plugin does its costly work in factories, when a thing is asked for."
    return bringing.stage, PluginError(msg, plugin=one.name, stage=bringing.stage, hint=hint)


class _Bringing:
    """The work of one thread: import, compare, register. How far it came can be seen from outside."""

    def __init__(self, one: Installed, scratch: Catalog) -> None:
        self.stage: PluginStage = "import"
        self.error: RoundtableError | None = None
        self._one = one
        self._scratch = scratch

    def run(self) -> None:
        for point in self._one.entry_points:
            try:
                self._bring(point)
            except RoundtableError as error:
                self.error = error
                return
            # On a thread of its own, so nothing that ends programs may go on from here.
            except BaseException as error:  # noqa: BLE001
                told = f"{type(error).__name__}: {error_text(error)}"
                msg = f"plugin {self._one.name!r} failed in the stage {self.stage!r}: {told}"
                self.error = PluginError(msg, plugin=self._one.name, stage=self.stage, cause=error)
                return
        self.stage = "ready"

    def _bring(self, point: EntryPoint) -> None:
        self.stage = "import"
        plugin: object = point.load()
        if isinstance(plugin, type):
            msg = f"the entry point {point.value!r} of {self._one.name!r} is a class; a plugin is a module or an object"
            raise ConfigurationError(msg, hint="Let the entry point name a module.")
        self.stage = "api"
        check_api(self._one.name, plugin)
        self.stage = "register"
        try_out(self._one.name, plugin, self._scratch)
