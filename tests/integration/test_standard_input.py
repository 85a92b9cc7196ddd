"""Standard input belongs to the commands of a terminal: no other front ever reads it, whoever is missing."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.mcp_kit import call, connected, refused, server_of
from integration.server_kit import client_of
from integration.test_mcp_stdio import process

import roundtable
from roundtable import Roundtable
from roundtable import sync as blocking
from roundtable.errors import ConfigurationError
from roundtable.protocols import Storage
from roundtable.providers import HumanModel
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.testing import ScriptedModel, scripted_agents
from roundtable.types import AgentConfig

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

WORD = b"Tea\n"
HINTS = re.compile(r"stdin|input\(|os\.read|open\(0|dup\(0|getpass")
SOURCES = Path(roundtable.__file__).parent


@pytest.fixture
def word() -> Iterator[None]:
    """Put a word on standard input, and check that it is still there afterwards."""
    read, write = os.pipe()
    before = os.dup(0)
    os.dup2(read, 0)
    os.write(write, WORD)
    try:
        yield
        os.set_blocking(0, False)
        assert os.read(0, 100) == WORD
    finally:
        os.dup2(before, 0)
        for end in (read, write, before):
            os.close(end)


async def left_without_its_human(storage: Storage) -> str:
    """Hold the first round of a debate with a person asked by a function, and leave it; return its id."""
    lead = HumanModel(lambda turn: "Coffee", model="lead")
    async with Roundtable([lead, *scripted_agents({"bo": "Tea"})], storage=storage) as table:
        handle = await table.start("Tea or coffee?", rounds=2, step=True)
        await handle.result()
        await table.pause(handle.session_id)
        return handle.session_id


def others() -> list[Any]:
    return scripted_agents({"bo": "Tea"})


async def by_resume(storage: Storage, session_id: str) -> None:
    with pytest.raises(ConfigurationError, match=r"agent 'human-lead' \(human:lead\)"):
        await Roundtable(others(), storage=storage).resume(session_id)


async def by_extend(storage: Storage, session_id: str) -> None:
    with pytest.raises(ConfigurationError, match="human-lead"):
        await Roundtable(others(), storage=storage).extend(session_id)


async def by_fork(storage: Storage, session_id: str) -> None:
    with pytest.raises(ConfigurationError, match="human-lead"):
        await Roundtable(others(), storage=storage).fork(session_id, at_round=1)


async def by_adoption(storage: Storage, session_id: str) -> None:
    with pytest.raises(ConfigurationError, match="needs a function that asks the person") as caught:
        await Roundtable(others(), storage=storage).resume(session_id, on_change="adopt")
    assert "HumanModel(ask, model='lead')" in str(caught.value.hint)


async def by_name(storage: Storage, _: str) -> None:
    """A notebook or a script that names a person as the command does."""
    config = AgentConfig(id="lead", name="Lead", provider="human", model="lead")
    for agent in ("human:lead", config):
        with pytest.raises(ConfigurationError, match="needs a function that asks the person"):
            await Roundtable([agent, *others()], storage=storage).debate("Tea?", rounds=1)


async def by_http(storage: Storage, session_id: str) -> None:
    async with client_of(Roundtable(others(), storage=storage)) as web:
        for way in ("resume", "extend"):
            answer = await web.post(f"/api/sessions/{session_id}/{way}?wait=5", json={})
            assert (answer.status_code // 100, answer.json()["code"]) == (4, "CONFIGURATION_ERROR"), answer.text
            assert "human-lead" in answer.json()["error"]


async def by_mcp(storage: Storage, session_id: str) -> None:
    async with connected(server_of(others(), storage)) as client:
        await call(client, "control_session", sessionId=session_id, action="resume")  # it rests between two rounds
        error = await refused(client, "continue_roundtable", sessionId=session_id)
        assert "human-lead" in error["message"], error


@pytest.mark.slow
@pytest.mark.parametrize("way", [by_resume, by_extend, by_fork, by_adoption, by_name, by_http, by_mcp])
@pytest.mark.usefixtures("word")
async def test_no_front_reads_standard_input(way: Callable[[Storage, str], Awaitable[None]]) -> None:
    storage = MemoryStorage()
    session_id = await left_without_its_human(storage)
    before = (await storage.read(session_id))[1]
    await way(storage, session_id)
    spoken = [event for event in (await storage.read(session_id))[1][len(before) :] if event.type == "agent_complete"]
    assert spoken == []


@pytest.mark.usefixtures("word")
async def test_a_session_continues_with_the_person_passed_again(anyio_backend: str) -> None:
    storage = MemoryStorage()
    session_id = await left_without_its_human(storage)
    lead = HumanModel(lambda turn: "Tea", model="lead")
    result = await Roundtable([lead, *others()], storage=storage).resume(session_id)
    assert [turn.position for turn in result.rounds[1].responses] == ["Tea", "Tea"]


@pytest.mark.usefixtures("word")
async def test_a_synthesis_asks_only_its_writer(anyio_backend: str) -> None:
    storage = MemoryStorage()
    session_id = await left_without_its_human(storage)
    clerk = ScriptedModel([{"conclusion": "Tea."}])
    written = await Roundtable(others(), storage=storage, seats={"synthesizer": clerk}).synthesize(session_id)
    assert written.conclusion == "Tea."


async def test_the_blocking_facade_does_not_read_standard_input_either(
    word: None, tmp_path: Path, anyio_backend: str
) -> None:
    path = tmp_path / "kept.db"
    storage = SQLiteStorage(str(path))
    session_id = await left_without_its_human(storage)
    await storage.aclose()
    table = blocking.Roundtable(others(), storage=f"sqlite:///{path}")
    with table, pytest.raises(ConfigurationError, match="human-lead"):
        table.resume(session_id)


@pytest.mark.slow
async def test_a_server_on_standard_input_reads_lines_only_as_messages(tmp_path: Path, anyio_backend: str) -> None:
    storage = SQLiteStorage(str(tmp_path / "kept.db"))
    session_id = await left_without_its_human(storage)
    await storage.aclose()
    with process("-m", "roundtable", "mcp", "--db", str(tmp_path / "kept.db")) as child:
        assert child.call("control_session", sessionId=session_id, action="resume")["newStatus"] == "active"
        arguments = {"name": "continue_roundtable", "arguments": {"sessionId": session_id}}
        asked = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": arguments}
        child.say(json.dumps(asked).encode())
        child.say(WORD.strip())
        heard = [child.hear(), child.hear()]
    answer = next(one for one in heard if one.get("id") == 7)
    assert "human-lead" in answer["result"]["content"][0]["text"]
    assert answer["result"]["isError"]
    assert next(one for one in heard if one is not answer)["error"]["code"] == -32700


def test_only_commands_at_a_terminal_can_read_standard_input(anyio_backend: str) -> None:
    """What reads standard input stands in `cli`, which no other layer may import, and in the wire of MCP."""
    readers: dict[str, set[str]] = {}
    for path in SOURCES.rglob("*.py"):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if HINTS.search(text) else ():
            found = _reads(node)
            if found:
                readers.setdefault(path.relative_to(SOURCES).as_posix(), set()).add(found)
    assert readers == {
        "cli/files.py": {"sys.stdin"},
        "cli/sessions.py": {"sys.stdin"},
        "cli/terminal.py": {"os.read"},
        "mcp/stdio.py": {"os.dup(0)"},
        "providers/cassette/tape.py": {"os.read"},  # of a file that it opened itself
        "testing/plan_process.py": {"sys.stdin"},  # in a process of its own, which the kit starts and writes to
    }


def _reads(node: ast.AST) -> str:
    match node:
        case ast.Attribute(value=ast.Name(id="sys"), attr="stdin" | "__stdin__"):
            return "sys.stdin"
        case ast.Call(func=ast.Name(id="input")):
            return "input"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr="read")):
            return "os.read"
        case ast.Call(
            func=ast.Name(id="open") | ast.Attribute(attr="fdopen" | "dup"), args=[ast.Constant(value=0), *_]
        ):
            return "os.dup(0)"
        case ast.Attribute(attr="getpass"):
            return "getpass"
        case _:
            return ""


async def test_only_commands_that_debate_ask_at_the_terminal(anyio_backend: str) -> None:
    asking = [
        (name, node.name)
        for name in ("app.py", "session_commands.py")
        for node in ast.walk(ast.parse((SOURCES / "cli" / name).read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and "asks_people=" in ast.unparse(node)
    ]
    # An audit debates only where it holds the last round again.
    assert sorted(asking) == [
        *(("app.py", name) for name in ("debate", "extend", "fork", "list_agents", "resume")),
        ("session_commands.py", "audit"),
    ]
    assert "asks_people=rerun is not None" in (SOURCES / "cli/session_commands.py").read_text("utf-8")
    for path in (SOURCES / "cli").glob("*.py"):
        is_known = path.name in {"app.py", "context.py", "session_commands.py"}
        assert is_known or "asks_people" not in path.read_text("utf-8")
