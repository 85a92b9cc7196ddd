"""What a session stores about its prompts: the library's version, and the texts, each once in a storage."""

from __future__ import annotations

import json
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest

from roundtable import Roundtable, __version__
from roundtable.errors import SessionNotFound
from roundtable.modes import DelphiMode
from roundtable.prompts import PromptLibrary
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.testing import scripted_agents

pytestmark = pytest.mark.both_loops


def agents() -> list[object]:
    return [*scripted_agents({"ada": "Tea", "bo": "Tea"})]


def rename_role(folder: Path, title: str) -> None:
    """Write texts of the mode `delphi` in which a role has another title."""
    source = files("roundtable.modes").joinpath("texts", "delphi.toml").read_text("utf-8")
    (folder / "delphi.toml").write_text(source.replace(title, "Somebody else"), "utf-8")


async def test_a_session_names_the_library_and_its_texts_are_stored_once(disk: SQLiteStorage) -> None:
    async with Roundtable(agents(), storage=disk) as table:
        results = [await table.debate("Tea?", mode=mode, rounds=1) for mode in ("delphi", "delphi", "collaborative")]
    records = [(await disk.read(result.session_id))[0] for result in results]
    assert {record.library_version for record in records} == {__version__}
    assert [list(record.prompts) for record in records] == [["delphi"], ["delphi"], ["collaborative"]]
    assert records[0].prompts == records[1].prompts
    stored = dict(await disk.kv.scan("prompts/"))
    assert {key.removeprefix("prompts/") for key in stored} == {
        digest for record in records for digest in record.prompts.values()
    }
    assert all(sha256(str(text).encode()).hexdigest() == key.removeprefix("prompts/") for key, text in stored.items())
    async with Roundtable(agents(), storage=disk) as later:  # in another program
        texts = json.loads((await later.prompt_texts(results[0].session_id))["delphi"])
        with pytest.raises(SessionNotFound):
            await later.prompt_texts("unknown")
    assert texts["roles"]["participant"]["title"] == PromptLibrary().load("delphi").role("participant").title


async def test_custom_texts_have_their_own_hash(tmp_path: Path) -> None:
    built_in = PromptLibrary().load("delphi").role("participant").title
    rename_role(tmp_path, built_in)
    async with Roundtable(agents(), storage="memory://") as table:
        first = await table.debate("Tea?", mode="delphi", rounds=1)
        second = await table.debate("Tea?", mode=DelphiMode(prompts=PromptLibrary(tmp_path)), rounds=1)
        texts = [await table.prompt_texts(result.session_id) for result in (first, second)]
    assert [json.loads(text["delphi"])["roles"]["participant"]["title"] for text in texts] == [
        built_in,
        "Somebody else",
    ]


class WithoutValues(MemoryStorage):
    """A storage without a key-value store."""

    kv = None  # type: ignore[assignment]


async def test_a_storage_without_key_values_keeps_only_the_hashes() -> None:
    storage = WithoutValues()
    async with Roundtable(agents(), storage=storage) as table:
        result = await table.debate("Tea?", mode="delphi", rounds=1)
        assert await table.prompt_texts(result.session_id) == {}
    assert list((await storage.read(result.session_id))[0].prompts) == ["delphi"]
