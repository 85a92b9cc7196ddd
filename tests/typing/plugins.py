"""What a type checker must see, and must refuse, in a plugin; checked by pyright and mypy, never run.

A line that has to be refused is silenced with its code; a checker that no longer refuses it reports the silencer.
"""

from __future__ import annotations

from roundtable import hookimpl
from roundtable.modes import CollaborativeMode
from roundtable.plugins import ModeRegistrar, ProviderRegistrar, StorageRegistrar
from roundtable.providers.scripted import ScriptedModel
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.types import ProviderConfig


def make(model: str | None, config: ProviderConfig, settings: Settings) -> ScriptedModel:
    return ScriptedModel([], model=model or "acme-1")


@hookimpl
def roundtable_register_providers(registrar: ProviderRegistrar) -> None:
    registrar.add("acme", make, summary="Acme's models.")
    # A provider is made by a factory, so a model itself is refused.
    registrar.add("acme", ScriptedModel([]))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@hookimpl
def roundtable_register_modes(registrar: ModeRegistrar) -> None:
    registrar.add("court", CollaborativeMode())
    # A mode is an object that plans, so a text is refused.
    registrar.add("court", "collaborative")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@hookimpl
def roundtable_register_storages(registrar: StorageRegistrar) -> None:
    registrar.add("redis", lambda url: MemoryStorage())
    # A storage is opened from its address, so an open one is refused.
    registrar.add("redis", MemoryStorage())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
