"""Whatever a plugin can register is asked for by name, and what goes wrong in it says whose it is."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from unit.test_record_chain import keys

from roundtable import AgentConfig, Persona, Roundtable, hookimpl
from roundtable.errors import ConfigurationError, PluginError
from roundtable.exits import Exit
from roundtable.modes import CollaborativeMode
from roundtable.plugins import Plugins, ResultExporter, SessionExporter, load_plugins
from roundtable.plugins.exporters import Signer
from roundtable.protocols import ExitRound
from roundtable.providers.scripted import ScriptedModel
from roundtable.record import archive_parts, verify_archive
from roundtable.scoring import Rule
from roundtable.testing import scripted_agents
from roundtable.tools.search import StaticSearch
from roundtable.types import DebateContext, DurableEvent, ExitResult, Plan, SessionRecord

SAYS = {"ada": "Tea", "bo": "Tea"}


class Broker:
    """Registers whatever it is given: `Broker(exporters={"yaml": write})`."""

    def __init__(self, **things: dict[str, Any]) -> None:
        self._things = things

    def _add(self, kind: str, registrar: Any) -> None:
        for name, thing in self._things.get(kind, {}).items():
            registrar.add(name, thing)

    @hookimpl
    def roundtable_register_exporters(self, registrar: Any) -> None:
        self._add("exporters", registrar)

    @hookimpl
    def roundtable_register_personas(self, registrar: Any) -> None:
        self._add("personas", registrar)

    @hookimpl
    def roundtable_register_search_providers(self, registrar: Any) -> None:
        self._add("search_providers", registrar)

    @hookimpl
    def roundtable_register_providers(self, registrar: Any) -> None:
        self._add("providers", registrar)

    @hookimpl
    def roundtable_register_storages(self, registrar: Any) -> None:
        self._add("storages", registrar)

    @hookimpl
    def roundtable_register_tools(self, registrar: Any) -> None:
        self._add("tools", registrar)

    @hookimpl
    def roundtable_register_analyzers(self, registrar: Any) -> None:
        self._add("analyzers", registrar)


def bad(*_: object) -> Any:
    raise ValueError("no such luck")


# ------------------------------------------------------------------ exporters


def lines(result: Any) -> Iterator[str]:
    for response in result.rounds[0].responses:
        yield f"- {response.position}\n"


def packed(result: Any) -> bytes:
    return gzip.compress("".join(lines(result)).encode())


def junk(result: Any) -> Any:
    return [1]


@pytest.fixture
async def table() -> Any:
    exporters = {"lines": lines, "packed": packed, "bad": bad, "junk": junk}
    async with Roundtable(scripted_agents(SAYS), storage="memory://", plugins=[Broker(exporters=exporters)]) as table:
        yield table


async def test_a_session_is_exported_in_the_format_of_a_plugin(table: Roundtable, tmp_path: Path) -> None:
    session = (await table.debate("Tea?", rounds=1)).session.id
    assert await table.export(session, "lines") == "- Tea\n- Tea\n"
    file = await table.export_file(session, tmp_path / "debate.gz", format="packed")
    assert gzip.decompress(file.read_bytes()) == b"- Tea\n- Tea\n"
    with pytest.raises(ConfigurationError, match="'packed' is not text") as caught:
        await table.export(session, "packed")
    assert "export_file" in str(caught.value.hint)
    assert (await table.export(session, "csv")).startswith("sessionId,")


@pytest.mark.parametrize(
    ("format", "said"), [("bad", "ValueError: no such luck"), ("junk", "TypeError: it returned int")]
)
async def test_an_exporter_that_fails_is_named_and_leaves_no_file(
    table: Roundtable, tmp_path: Path, format: str, said: str
) -> None:
    session = (await table.debate("Tea?", rounds=1)).session.id
    with pytest.raises(PluginError, match=f"the exporter '{format}' of Broker failed: {said}") as caught:
        await table.export_file(session, tmp_path / "debate.txt", format=format)
    assert (caught.value.plugin, caught.value.stage) == ("Broker", "use")
    assert [*Path.iterdir(tmp_path)] == []


async def test_an_unknown_format_is_refused_with_the_known_ones(table: Roundtable) -> None:
    session = (await table.debate("Tea?", rounds=1)).session.id
    with pytest.raises(ConfigurationError, match="unknown export format 'pdf'") as caught:
        await table.export(session, "pdf")
    assert caught.value.hint == "Formats: json, markdown, html, csv, lines, packed, bad, junk."


def test_the_name_of_a_built_in_format_is_taken() -> None:
    with pytest.raises(ConfigurationError, match="two plugins register the exporter 'json'"):
        load_plugins(Plugins.of(Broker(exporters={"json": lines})))


def count_events(record: SessionRecord, events: Sequence[DurableEvent]) -> str:
    return f"{record.config.topic} {len(events)} events"


def own_json(record: SessionRecord, events: Sequence[DurableEvent]) -> Iterator[str]:
    return archive_parts(record, events)


def own_signed(record: SessionRecord, events: Sequence[DurableEvent], sign: Signer) -> Iterator[str]:
    return archive_parts(record, events, sign=sign)


async def test_a_plugin_exports_and_signs_sessions_as_json_does(tmp_path: Path) -> None:
    private, public = keys()
    key = tmp_path / "key.pem"
    key.write_bytes(private)
    exporters = {
        "jsom": SessionExporter(own_json, "application/json", (".jsom",), own_signed),
        "count": SessionExporter(count_events),
    }
    async with Roundtable(scripted_agents(SAYS), storage="memory://", plugins=[Broker(exporters=exporters)]) as table:
        session = (await table.debate("Tea?", rounds=1)).session.id
        assert await table.export(session, "jsom") == await table.export(session, "json")
        assert (await table.export(session, "count")).startswith("Tea? ")
        signed = [await table.export_file(session, tmp_path / f"s.{name}", sign_with=key) for name in ("json", "jsom")]
        assert all(verify_archive(file.read_bytes(), public_key=public).signature == "valid" for file in signed)
        with pytest.raises(ConfigurationError, match="the format 'count' cannot be signed"):
            await table.export_file(session, tmp_path / "s.count", sign_with=key)


async def test_a_file_name_chooses_the_format_of_a_plugin(tmp_path: Path) -> None:
    exporters = {
        "lines": lines,
        "packed": ResultExporter(packed, "application/gzip", (".gz",)),
        "late": ResultExporter(lines, None, (".md",)),
    }
    async with Roundtable(scripted_agents(SAYS), storage="memory://", plugins=[Broker(exporters=exporters)]) as table:
        session = (await table.debate("Tea?", rounds=1)).session.id
        names = ("debate.lines", "debate.GZ", "debate.md", "debate.htm")
        read = [(await table.export_file(session, tmp_path / name)).read_bytes() for name in names]
        with pytest.raises(ConfigurationError, match="unknown export format") as caught:
            await table.export_file(session, tmp_path / "debate.pdf")
    assert read[0] == gzip.decompress(read[1]) == b"- Tea\n- Tea\n"
    assert (read[2][:2], read[3][:9]) == (b"# ", b"<!doctype")
    assert caught.value.hint is not None
    assert caught.value.hint.endswith("ends in .json, .md, .markdown, .html, .htm, .csv, .lines, .gz.")


@pytest.mark.parametrize("endings", [".gz", ("gz",), (".GZ",), (1,), ("",)])
def test_invalid_file_endings_are_refused(endings: Any) -> None:
    with pytest.raises(ConfigurationError, match="file_endings of 'packed' must be endings of file names"):
        load_plugins(Plugins.of(Broker(exporters={"packed": ResultExporter(packed, None, endings)})))


# ------------------------------------------------------------------ personas


@pytest.mark.parametrize(
    ("named", "described"),
    [
        pytest.param("nurse", "You think of the patient.", id="a plugin's"),
        pytest.param("skeptic", "You look for what could go wrong and who would pay for it.", id="built in"),
        pytest.param("Stranger", "", id="nobody's"),
        pytest.param(Persona(name="Nurse", description="Mine."), "Mine.", id="the caller's own"),
    ],
)
async def test_a_persona_is_chosen_by_name_for_an_agent(named: Any, described: str) -> None:
    nurse = Persona(name="Nurse", description="You think of the patient.")
    model = ScriptedModel({"*": {"position": "Tea"}}, provider="acme")
    broker = Broker(personas={"nurse": nurse}, providers={"acme": lambda *_: model})
    agent = AgentConfig(id="ada", name="Ada", provider="acme", persona=named)
    async with Roundtable([agent], storage="memory://", plugins=[broker]) as table:
        result = await table.debate("Tea?", rounds=1)
    assert result.status == "completed"
    first = str(model.requests[0].messages)
    assert described in first
    assert (named if isinstance(named, str) else named.name).capitalize() in first


# ------------------------------------------------------------------ search providers


async def test_a_search_provider_is_chosen_by_name_after_the_search_tool() -> None:
    given: list[str] = []

    def make_search(rest: str, settings: object) -> StaticSearch:
        given.append(rest)
        return StaticSearch()

    broker = Broker(search_providers={"acme": make_search})
    tools = ["search_web:acme:north", "fact_check:acme"]
    async with Roundtable(scripted_agents(SAYS), storage="memory://", plugins=[broker], tools=tools) as table:
        toolkit = table._wiring.tools.toolkit
    assert toolkit is not None
    assert {tool.name for tool in toolkit.get_tools()} == {"search_web", "fact_check"}
    assert given == ["north", ""]


def test_an_unknown_search_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"unknown search provider 'acne'.*brave, tavily, searxng, static"):
        _ = Roundtable(scripted_agents(SAYS), storage="memory://", tools=["search_web:acne"])._wiring


# ------------------------------------------------------------------ code that wants to end the program


class Ending(CollaborativeMode):
    name = "ending"

    def next_stage(self, view: DebateContext) -> Plan:
        raise SystemExit(3)


@dataclass(frozen=True)
class Night(Exit):
    kind = "night"

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        raise SystemExit(3)


async def test_a_mode_rule_or_exit_that_raises_an_exit_of_the_program_does_not_end_it() -> None:
    def ends(*_: object) -> Any:
        raise SystemExit(3)

    async with Roundtable(scripted_agents(SAYS), storage="memory://") as table:
        with pytest.raises(ConfigurationError, match="failed while planning: SystemExit: 3"):
            await table.debate("Tea?", mode=Ending(), rounds=1)
        result = await table.debate("Tea?", rounds=1, decide=Rule("ends", ends), exit_when=Night())
    assert result.status == "completed"
    assert result.decision is not None
    assert "SystemExit: 3" in str(result.decision.why)


# ------------------------------------------------------------------ factories that fail

ASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "providers": ("provider", {"agents": ["acme"], "storage": "memory://"}),
    "storages": ("storage", {"storage": "acme://"}),
    "tools": ("tool", {"tools": ["acme"], "storage": "memory://"}),
    "search_providers": ("search provider", {"tools": ["search_web:acme"], "storage": "memory://"}),
    "analyzers": ("analyzer", {"analyzer": "acme", "storage": "memory://"}),
}


def ends() -> Callable[..., Any]:
    def make(*_: object) -> None:
        raise SystemExit(3)

    return make


@pytest.mark.parametrize("kind", ASKS)
@pytest.mark.parametrize(
    ("factory", "said"),
    [
        pytest.param(bad, "failed: ValueError: no such luck", id="raises"),
        pytest.param(ends(), "failed: SystemExit: 3", id="ends"),
        pytest.param(lambda *_: None, "is NoneType, which has no `", id="makes nothing"),
    ],
)
async def test_an_error_of_a_factory_names_its_plugin(kind: str, factory: Callable[..., Any], said: str) -> None:
    called, asking = ASKS[kind]
    options = {"agents": scripted_agents(SAYS), **asking, "plugins": [Broker(**{kind: {"acme": factory}})]}
    table = Roundtable(**options)
    with pytest.raises(PluginError, match=f"the {called} 'acme' of Broker {said}") as caught:
        await table.debate("Tea?", rounds=1)
    assert (caught.value.plugin, caught.value.stage) == ("Broker", "use")
    await table.aclose()


async def test_a_configuration_error_of_a_plugin_is_raised_unchanged() -> None:
    def make(*_: object) -> Any:
        raise ConfigurationError("it needs ACME_TOKEN")

    table = Roundtable(
        scripted_agents(SAYS), tools=["acme"], storage="memory://", plugins=[Broker(tools={"acme": make})]
    )
    with pytest.raises(ConfigurationError, match="it needs ACME_TOKEN"):
        await table.debate("Tea?", rounds=1)
    await table.aclose()


async def test_the_built_in_formats_are_exporters_like_any_other(table: Roundtable) -> None:
    result = await table.debate("Tea?", rounds=1)
    exporters = {one.name: one.thing for one in load_plugins(Plugins.none()).catalog.exporters}
    written = {name: "".join(write(result)) for name, write in exporters.items() if callable(write)}  # type: ignore[arg-type]  # all of them give pieces
    assert written["html"].startswith("<!doctype html>")
    assert written["csv"].startswith("sessionId,")
    assert "Tea" in written["markdown"]
