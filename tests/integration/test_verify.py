"""Stored sessions are verifiable after whatever was done with them, in every storage; a changed one is found."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from unit.report_kit import without_hashes
from unit.test_record_chain import keys

import roundtable as rt
from roundtable.errors import ConfigurationError, SessionError, SessionNotFound
from roundtable.record import verify_archive
from roundtable.testing import scripted_agents

if TYPE_CHECKING:
    from pathlib import Path

    from roundtable.record import Verification


def table(storage: str = "memory://", **more: Any) -> rt.Roundtable:
    return rt.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea", "cy": "Coffee"}), storage=storage, **more)


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/d.db"


async def test_a_session_is_verifiable_after_every_kind_of_change(storage: str) -> None:
    async with table(storage) as here:
        paused = await here.start("Tea or coffee?", rounds=3, step=True, metadata={"b": 1, "a": None})
        first = await paused.result()
        await here.resume(first.session_id)
        await here.extend(first.session_id)
        fork = await here.fork(first.session_id, at_round=1, rounds=2)
        copy = await here.import_(await here.export(first.session_id, "json"), new_id=True)
        await here.extend(copy)
        for session_id in (first.session_id, fork.session_id, copy):
            found = await here.verify(session_id)
            assert (found.verdict, found.linked_from, found.faults) == ("intact", 1, ())
            assert (await here.session(session_id)).head == found.head


async def test_requests_of_other_processes_are_covered_by_the_next_event(storage: str) -> None:
    async with table(storage) as here:
        handle = await here.start("Tea or coffee?", rounds=3, step=True)
        first = await handle.result()
        await here._wiring.sessions.control(first.session_id, "resume")
        before = await here.verify(first.session_id)
        await here.stop(first.session_id)
        await here.extend(first.session_id)
        after = await here.verify(first.session_id, head=str(before.head))
        _, events = await here._wiring.storage.read(first.session_id)
        assert any(event.previous_hash is None for event in events)
        assert (after.verdict, after.compared) == ("intact", True)


async def test_an_answer_from_outside_is_part_of_the_chain(storage: str) -> None:
    async with table(storage) as here:
        result = await here.debate("Tea or coffee?", rounds=1)
        answer = result.rounds[0].turns[0]
        assert answer.outcome == "answered"
        assert answer.answer.kind == "position"
        await here._wiring.sessions.add_response(result.session_id, answer.answer)
        found = await here.verify(result.session_id)
        _, events = await here._wiring.storage.read(result.session_id)
        assert found.verdict == "intact"
        assert all(event.previous_hash for event in events)


async def test_a_row_that_was_changed_in_the_database_is_named(tmp_path: Path) -> None:
    async with table(f"sqlite:///{tmp_path}/d.db") as here:
        result = await here.debate("Tea or coffee?", rounds=1)
        assert result.head is not None
        with closing(sqlite3.connect(tmp_path / "d.db")) as connection, connection:
            changed = connection.execute(
                'UPDATE events SET body = replace(body, \'"position":"Coffee"\', \'"position":"Milk"\')'
                ' WHERE seq = (SELECT max(seq) FROM events WHERE body LIKE \'%"position":"Coffee"%\')'
            )
            assert changed.rowcount == 1
            seq = connection.execute("SELECT seq FROM events WHERE body LIKE '%\"Milk\"%'").fetchone()[0]
    async with table(f"sqlite:///{tmp_path}/d.db") as there:
        found = await there.verify(result.session_id, head=result.head)
        shown = (await there.session(result.session_id)).head
        assert shown == found.head != result.head
        assert json.loads(await there.export(result.session_id, "json"))["head"] == shown.model_dump(mode="json")
        (tmp_path / "key.pem").write_bytes(keys()[0])
        with pytest.raises(SessionError, match=f"event {seq}: changed") as caught:
            await there.export_file(result.session_id, tmp_path / "s.json", sign_with=tmp_path / "key.pem")
        assert caught.value.code == "SESSION_CHANGED"
        assert not (tmp_path / "s.json").exists()
        assert [(fault.kind, fault.first, fault.last) for fault in found.faults] == [("changed", seq, seq)]
        with pytest.raises(SessionError, match=f"event {seq}: changed"):
            await there.import_(await there.export(result.session_id, "json"), new_id=True)


async def test_a_session_that_cannot_be_verified_is_an_error() -> None:
    async with table() as here:
        with pytest.raises(SessionNotFound):
            await here.verify("nobody")
        result = await here.debate("Tea or coffee?", rounds=1)
        with pytest.raises(ConfigurationError, match="not the head"):
            await here.verify(result.session_id, head="latest")


async def test_a_session_without_hashes_says_so_and_gets_them_when_it_continues() -> None:
    async with table() as here, table() as there:
        result = await here.debate("Tea or coffee?", rounds=1)
        old = without_hashes(await here.export(result.session_id, "json"))
        session_id = await there.import_(old)
        assert (await there.verify(session_id)).verdict == "unlinked"
        await there.extend(session_id)
        found = await there.verify(session_id)
        assert (found.verdict, found.linked_from) == ("intact", len(json.loads(old)["events"]) + 1)


async def test_reports_show_the_head() -> None:
    async with table() as here:
        result = await here.debate("Tea or coffee?", rounds=1)
        assert f"head {result.head}" in result.to_text()
        assert str(result.head) in await here.export(result.session_id, "html")


async def test_a_file_is_signed_with_the_key_of_the_user(tmp_path: Path) -> None:
    private, public = keys()
    (tmp_path / "key.pem").write_bytes(private)
    async with table() as here:
        result = await here.debate("Tea or coffee?", rounds=1)
        file = await here.export_file(result.session_id, tmp_path / "s.json", sign_with=tmp_path / "key.pem")
        found: Verification = verify_archive(file.read_bytes(), public_key=public)
        assert (found.verdict, found.signature, found.head) == ("intact", "valid", result.head)
        (tmp_path / "bad.pem").write_text("no key")
        for target, key, reason in (
            ("s.md", "key.pem", "the format 'markdown' cannot be signed"),
            ("t.json", "bad.pem", "not a private key"),
            ("t.json", "none.pem", "cannot read the key"),
        ):
            with pytest.raises(ConfigurationError, match=reason):
                await here.export_file(result.session_id, tmp_path / target, sign_with=tmp_path / key)
        assert not (tmp_path / "t.json").exists()
