"""What a type checker must see, and must refuse, in a plugin; checked by pyright and mypy, never run.

A line that has to be refused is silenced with its code; a checker that no longer refuses it reports the silencer.
"""

from __future__ import annotations

import typer

from roundtable import Persona, Roundtable, hookimpl
from roundtable.analysis import AIConsensusAnalyzer, ConsensusAnalyzer, DebateAnalyzerFactory
from roundtable.api import AgentProfile
from roundtable.exits import MaxRounds
from roundtable.modes import CollaborativeMode
from roundtable.plugins import (
    AnalyzerRegistrar,
    CommandRegistrar,
    ExitRegistrar,
    ExporterRegistrar,
    Host,
    ModeRegistrar,
    ObserverRegistrar,
    PersonaRegistrar,
    Plugins,
    ProfileRegistrar,
    ProviderRegistrar,
    RuleRegistrar,
    SearchProviderRegistrar,
    SessionExporter,
    StorageRegistrar,
    ToolRegistrar,
)
from roundtable.protocols import ChatModel, Tool
from roundtable.providers.scripted import ScriptedModel
from roundtable.scoring import Electorate, Outcome, Parameters, Rule, rule_registry
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.tools.search import StaticSearch
from roundtable.types import Event, ProviderConfig


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


def count(electorate: Electorate, parameters: Parameters) -> Outcome:
    return rule_registry().get("plurality").count(electorate, parameters)


def measure(model: ChatModel | None) -> ConsensusAnalyzer:
    return ConsensusAnalyzer()


class Watching:
    def notify(self, event: Event) -> None:
        raise RuntimeError(event.type)


@hookimpl
def roundtable_register_rules(registrar: RuleRegistrar, host: Host) -> None:
    registrar.add("veto", Rule("veto", count))
    # A rule has a name and a summary, so the bare function is refused.
    registrar.add("veto", count)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@hookimpl
def roundtable_register_exits(registrar: ExitRegistrar) -> None:
    registrar.add("night", MaxRounds.from_spec)
    # A criterion is built from its JSON, so one that stands is refused.
    registrar.add("night", MaxRounds(1))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@hookimpl
def roundtable_register_analyzers(registrar: AnalyzerRegistrar) -> None:
    registrar.add("themes", measure)
    registrar.add("themes", DebateAnalyzerFactory(lambda setup: AIConsensusAnalyzer(setup.readers().models)))
    # A meter is made with the table's light model, so the class of one is refused.
    registrar.add("themes", ConsensusAnalyzer)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@hookimpl
def roundtable_register_tools(registrar: ToolRegistrar, tool: Tool) -> None:
    registrar.add("weather", lambda: tool)
    # A tool is made when it is asked for, so one that stands is refused.
    registrar.add("weather", tool)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@hookimpl
def roundtable_register_search_providers(registrar: SearchProviderRegistrar) -> None:
    registrar.add("acme", lambda rest, settings: StaticSearch.from_file(rest or settings.database_path))
    # It is made from its address and the settings, and searches, so a text is refused.
    registrar.add("acme", address)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    # So is a function of nothing.
    registrar.add("acme", roundtable_register_nothing)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def roundtable_register_nothing() -> None: ...


def address(rest: str, settings: Settings) -> str:
    return rest or str(settings.searxng_url)


@hookimpl
def roundtable_register_personas(registrar: PersonaRegistrar) -> None:
    registrar.add("nurse", Persona(name="Nurse"))
    # A persona is a value, so its name alone is refused.
    registrar.add("nurse", "Nurse")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@hookimpl
def roundtable_register_profiles(registrar: ProfileRegistrar) -> None:
    registrar.add("scout", AgentProfile("scout", instructions="Look ahead."))
    # A profile is a value, so its name alone is refused.
    registrar.add("scout", "scout")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@hookimpl
def roundtable_register_exporters(registrar: ExporterRegistrar) -> None:
    registrar.add("text", lambda result: result.to_markdown())
    registrar.add("text", SessionExporter(lambda record, events: f"{record.id}: {len(events)}"))
    # What is written is text or bytes, so a function that gives anything else is refused.
    registrar.add("text", measure)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@hookimpl
def roundtable_register_observers(registrar: ObserverRegistrar) -> None:
    registrar.add("watching", lambda settings: Watching())
    # An observer is made for each table, so one that stands is refused.
    registrar.add("watching", Watching())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@hookimpl
def roundtable_register_commands(registrar: CommandRegistrar, host: Host) -> None:
    registrar.add("score", lambda words: len(words) + host.api)
    registrar.add("score", typer.Typer())
    # A command gives an exit code, so one that gives nothing is refused.
    registrar.add("score", print)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def choices() -> list[Roundtable]:
    return [
        Roundtable(plugins=Plugins.of("roundtable-acme")),
        Roundtable(plugins=[Watching()], observers=["otel", Watching()]),
        # The name of a plugin stands in Plugins.of, so a number is refused.
        Roundtable(plugins=7),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ]
