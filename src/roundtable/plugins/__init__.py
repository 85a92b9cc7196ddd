"""Plugins: hook specifications, typed registrars, and what they register."""

from roundtable.plugins.hookspecs import hookimpl
from roundtable.plugins.loader import load_catalog
from roundtable.plugins.registrar import (
    HOST_API,
    Catalog,
    ExitRegistrar,
    Host,
    ModeRegistrar,
    ProviderRegistrar,
    Registrar,
    RuleRegistrar,
    StorageFactory,
    StorageRegistrar,
    ToolFactory,
    ToolRegistrar,
)

__all__ = [
    "HOST_API",
    "Catalog",
    "ExitRegistrar",
    "Host",
    "ModeRegistrar",
    "ProviderRegistrar",
    "Registrar",
    "RuleRegistrar",
    "StorageFactory",
    "StorageRegistrar",
    "ToolFactory",
    "ToolRegistrar",
    "hookimpl",
    "load_catalog",
]
