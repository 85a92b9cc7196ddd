"""A session from a file starts no program of this machine just because the file names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from integration.command_kit import SPEAKS, Stubs
from unit.report_kit import without_hashes

from roundtable import Roundtable
from roundtable.errors import ConfigurationError
from roundtable.testing import scripted_agents

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = """
note(stdin=sys.stdin.read())
print(json.dumps({"position": "Coffee", "reasoning": "Habit.", "confidence": 0.6}))
"""


@pytest.fixture
def stubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stubs:
    made = Stubs(tmp_path / "bin")
    monkeypatch.setenv("PATH", made.environment()["PATH"])
    made.make("claude", SPEAKS)
    made.make("mytool", PLAIN)
    return made


async def exported(*agents: str) -> str:
    """Return the exported document of a session from another machine."""
    async with Roundtable([*agents], storage="memory://") as there:
        held = await there.debate("Tea or coffee?", rounds=1)
        return await there.export(held.session_id, "json")


async def test_continuing_an_imported_session_starts_no_program(stubs: Stubs) -> None:
    document = await exported("command:mytool", "claude-cli")
    before = len(stubs.starts("mytool")), len(stubs.starts("claude"))
    async with Roundtable(storage="memory://") as here:
        name = await here.import_(document)
        stored = len(await here.sessions())
        for way in (here.extend(name), here.fork(name, at_round=1, rounds=2), here.fork(name, at_round=0)):
            with pytest.raises(ConfigurationError, match=r"was imported, and would start .*command:mytool") as refused:
                await way
            assert refused.value.code == "PROGRAM_REFUSED"
            assert refused.value.details == {"agents": ["command-mytool", "claude-cli"]}
            assert "run_programs=True" in str(refused.value.hint)
        assert len(await here.sessions()) == stored
        assert (await here.session(name)).session_status == "completed"
        assert (len(stubs.starts("mytool")), len(stubs.starts("claude"))) == before
        others = scripted_agents({"ada": "Tea", "bo": "Tea"})
        assert (await here.fork(name, at_round=1, rounds=2, agents=others)).answer == "Tea"


async def test_an_imported_session_continues_on_request_or_if_the_table_has_the_same_programs(stubs: Stubs) -> None:
    document = await exported("command:mytool")
    async with Roundtable(storage="memory://") as here:
        trusted = await here.import_(document, run_programs=True)
        assert len((await here.extend(trusted)).rounds) == 2
        # What is passed on says nothing about how far somebody else trusts it.
        again = await here.export(trusted, "json")
    async with Roundtable(["command:mytool"], storage="memory://") as there:
        name = await there.import_(again)
        assert len((await there.extend(name)).rounds) == 3
    assert len(stubs.starts("mytool")) == 3


async def test_a_table_with_another_program_does_not_allow_the_program_of_the_file(stubs: Stubs) -> None:
    document = without_hashes(await exported("command:mytool"))
    document = document.replace("command:mytool", "x").replace('"mytool"', '"claude"')
    async with Roundtable(["command:mytool"], storage="memory://") as here:
        name = await here.import_(document)
        with pytest.raises(ConfigurationError):
            await here.extend(name)
    assert stubs.starts("claude") == []


async def test_a_session_of_this_machine_continues_with_its_programs(stubs: Stubs, tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path}/d.db"
    async with Roundtable(["claude-cli"], storage=place) as here:
        held = await here.debate("Tea or coffee?", rounds=1)
    async with Roundtable(storage=place) as later:
        assert len((await later.extend(held.session_id)).rounds) == 2
    first, second = (start["argv"] for start in stubs.starts("claude"))
    assert "--model" not in first
    assert "--model" not in second, "what the program chose by itself it chooses again"
