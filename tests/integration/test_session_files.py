"""Sessions leave as files and come back the same; what is no session does not come in."""

from __future__ import annotations

import csv
import io
import json
import stat
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unit.report_kit import events, record

import roundtable as rt
from roundtable import sync
from roundtable.api.files import format_of
from roundtable.errors import ConfigurationError, RoundtableError, SessionConflict, SessionError, StorageError
from roundtable.record import archive_parts, read_archive
from roundtable.storage import MemoryStorage
from roundtable.testing import scripted_agents

if TYPE_CHECKING:
    from pathlib import Path


def numbered(session: str = "4f1c" * 8) -> list[Any]:
    return [event.model_copy(update={"seq": number}) for number, event in enumerate(events(session), 1)]


ARCHIVE = "".join(archive_parts(record(), numbered()))


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def table(**more: Any) -> rt.Roundtable:
    agents = scripted_agents({"ada": "Tea", "bo": "Tea", "cy": "Coffee"})
    return rt.Roundtable(agents, **{"storage": "memory://", **more})


async def test_a_session_exported_as_json_is_imported_unchanged_and_can_continue(tmp_path: Path) -> None:
    async with table() as here, table(storage=f"sqlite:///{tmp_path}/there.db", tenant="me") as there:
        held = await here.debate("Tea or coffee?", rounds=2)
        document = await here.export(held.session_id, "json")
        assert await there.import_(document) == held.session_id
        assert (await there.session(held.session_id)).to_json() == held.to_json()
        assert (await there.export(held.session_id, "json")).replace('"tenant":"me"', '"tenant":"default"') == document
        longer = await there.extend(held.session_id)
        assert [turn.result for turn in longer.rounds[0].turns] == [turn.result for turn in held.rounds[0].turns]
        assert len(longer.rounds) == 3


async def test_an_import_does_not_replace_an_existing_session_but_can_get_a_new_id() -> None:
    async with table() as one:
        assert await one.import_(ARCHIVE) == "4f1c" * 8
        with pytest.raises(SessionConflict):
            await one.import_(ARCHIVE)
        second = await one.import_(ARCHIVE.encode(), new_id=True)
        first, copy = await one.session("4f1c" * 8), await one.session(second)
        assert second != "4f1c" * 8
        assert copy.to_markdown().replace(second, first.session_id) == first.to_markdown()


@pytest.mark.parametrize("name", [".", "..", "../up", "a/b", "C:\\x", "a\0"])
async def test_an_id_that_contains_a_path_is_imported_only_under_a_new_id(name: str) -> None:
    told = [event.model_copy(update={"session_id": name}) for event in numbered()]
    archive = "".join(archive_parts(record().model_copy(update={"id": name}), told))
    async with table() as one:
        with pytest.raises(SessionError, match="cannot be imported with the id"):
            await one.import_(archive)
        assert len(await one.sessions()) == 0
        assert (await one.session(await one.import_(archive, new_id=True))).rounds


async def test_each_format_contains_the_answers(tmp_path: Path) -> None:
    async with table() as one:
        name = await one.import_(ARCHIVE)
        result = await one.session(name)
        assert await one.export(name) == result.to_markdown()
        assert await one.export(name, "html") == result.to_html()
        assert await one.export(name, "csv") == result.to_csv()
        rows = list(csv.DictReader(io.StringIO(result.to_csv())))
        assert [row["outcome"] for row in rows].count("failed") == 1
        assert len(rows) == 12
        for end, text in ((".md", result.to_markdown()), (".htm", result.to_html()), (".json", ARCHIVE)):
            path = await one.export_file(name, tmp_path / f"out{end}")
            assert path.read_bytes().decode() == text
        assert await one.import_(tmp_path / "out.json", new_id=True)
        for call in (one.export(name, "pdf"), one.export_file(name, tmp_path / "out")):  # type: ignore[arg-type]
            with pytest.raises(ConfigurationError):
                await call
        with pytest.raises(SessionError):
            await one.export("unknown", "html")


def test_the_file_extension_chooses_the_format() -> None:
    assert [format_of(f"a{end}") for end in (".md", ".markdown", ".HTML", ".csv", ".json")] == [
        *("markdown", "markdown", "html", "csv", "json")
    ]
    with pytest.raises(ConfigurationError, match=r"unknown export format of 'a\.pdf'"):
        format_of("a.pdf")


async def test_a_file_is_private_complete_and_never_written_through_a_link(tmp_path: Path) -> None:
    async with table() as one:
        name = await one.import_(ARCHIVE)
        fresh = await one.export_file(name, tmp_path / "a.md")
        assert stat.S_IMODE(fresh.stat().st_mode) == 0o600
        shared = tmp_path / "b.md"
        shared.write_text("old")
        shared.chmod(0o644)
        await one.export_file(name, shared)
        assert stat.S_IMODE(shared.stat().st_mode) == 0o644
        target, link = tmp_path / "target.md", tmp_path / "link.md"
        target.write_text("mine")
        link.symlink_to(target)
        await one.export_file(name, link)
        assert target.read_text() == "mine"
        assert not link.is_symlink()
        for bad in ("nowhere/a.md", "a\0.md", "x" * 300 + ".md", "a.md/b.md"):
            with pytest.raises(StorageError, match="cannot be written"):
                await one.export_file(name, tmp_path / bad)
        (tmp_path / "folder.md").mkdir()
        with pytest.raises(StorageError, match="Is a directory"):
            await one.export_file(name, tmp_path / "folder.md")
        assert names(tmp_path) == ["a.md", "b.md", "folder.md", "link.md", "target.md"]


async def test_a_failed_export_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from roundtable.core.base.files import write_parts

    def broken() -> Any:
        yield "half"
        raise OSError(28, "No space left on device")

    path = tmp_path / "a.md"
    path.write_text("old")
    with pytest.raises(StorageError, match="No space left"):
        write_parts(path, broken())
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.md"]


def changed(**how: Any) -> str:
    return json.dumps(json.loads(ARCHIVE) | how)


def swapped() -> str:
    document = json.loads(ARCHIVE)
    document["events"][3]["seq"], document["events"][4]["seq"] = 5, 4
    return json.dumps(document)


def foreign() -> str:
    document = json.loads(ARCHIVE)
    document["events"][3]["sessionId"] = "another"
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", "not JSON", id="empty"),
        pytest.param("{", "not JSON", id="cut"),
        pytest.param("[" * 100_000, "no such|cannot be read|not JSON|File name too long", id="deep"),
        pytest.param('{"format":' + "[" * 100_000, "not JSON", id="deep within"),
        pytest.param('{"a":' + "1" * 10_000 + "}", "not JSON", id="a number without end"),
        pytest.param(b"{\xff", "not JSON", id="no UTF-8"),
        pytest.param("{}", "not a JSON object with format", id="any object"),
        pytest.param(changed(version=3), "has version 3", id="newer"),
        pytest.param(changed(events={}), "no list of events", id="no list"),
        pytest.param(changed(events=[1]), "cannot be read", id="no events"),
        pytest.param(changed(session=None), "cannot be read", id="no session"),
        pytest.param(swapped(), "event 4 has a different number", id="swapped"),
        pytest.param(foreign(), "event 4 has a different number", id="of another session"),
        pytest.param(changed(session=json.loads(ARCHIVE)["session"] | {"schemaVersion": "x"}), "read", id="no version"),
    ],
)
async def test_a_file_that_is_not_an_exported_session_is_refused(text: str | bytes, told: str) -> None:
    async with table() as one:
        with pytest.raises((SessionError, StorageError), match=told):
            await one.import_(text)
        assert await one.sessions() == ()


async def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    async with table() as one:
        for path in (tmp_path / "none.json", tmp_path, "a\0b"):
            with pytest.raises(StorageError, match="cannot be read"):
                await one.import_(path)


LINES = ARCHIVE.splitlines()
PLACES = st.tuples(st.integers(0, len(ARCHIVE) - 1), st.sampled_from(['"', "{", "}", "0", "-", "null", "\\ud800", ""]))


@settings(
    max_examples=settings().max_examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(PLACES, min_size=1, max_size=3), st.sets(st.integers(1, len(LINES) - 2), max_size=2))
def test_a_damaged_document_is_an_error_or_a_session_that_can_be_shown(
    places: list[tuple[int, str]], dropped: set[int]
) -> None:
    text = "\n".join(line for number, line in enumerate(LINES) if number not in dropped)
    for place, put in places:
        text = text[:place] + put + text[place + 1 :]
    try:
        held, log = read_archive(text)
    except RoundtableError as error:
        assert error.code in {"ARCHIVE_UNREADABLE", "ARCHIVE_CHANGED"}  # noqa: PT017
    else:
        assert read_archive("".join(archive_parts(held, log))) == (held, log)


async def test_an_import_that_fails_midway_stores_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(MemoryStorage):
        async def append(self, *given: Any, **more: Any) -> int:
            raise StorageError("full")

    async with table(storage=Full()) as one:
        with pytest.raises(StorageError, match="full"):
            await one.import_(ARCHIVE)
        assert await one.sessions() == ()


def test_the_blocking_facade_exports_and_imports(tmp_path: Path) -> None:
    with sync.Roundtable(storage="memory://") as one:
        name = one.import_(ARCHIVE)
        assert one.export(name, "json") == ARCHIVE
        assert one.export_file(name, tmp_path / "a.csv").stat().st_size > 1000


@pytest.mark.parametrize("content", [pytest.param(b"x" * 101, id="too large"), pytest.param(b"tea", id="no session")])
async def test_a_refused_file_says_which_files_can_be_read(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundtable.api.files._LARGEST_BYTES", 100)
    async with rt.Roundtable([], storage="memory://") as table:
        with pytest.raises(SessionError) as caught:
            await table.import_(content)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("Name a file that `roundtable export ID --format json` wrote.")
