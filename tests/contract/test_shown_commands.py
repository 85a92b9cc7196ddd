"""Command-line agents as seed 002 tells them: real programs that stand for `claude`, and the six checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from contract.showing import shows
from integration.command_kit import SPEAKS, Stubs

from roundtable.errors import AgentError, APITimeoutError
from roundtable.gateway import Gateway
from roundtable.providers.command import (
    CLAUDE,
    CliEnvelope,
    ResumeOptions,
    SpawnOptions,
    find_binary,
    parse_output,
    plain_profile,
    resume_agent,
    run_command,
    spawn_agent,
    visible_environment,
)
from roundtable.testing import ManualClock

HAIKU = SpawnOptions(model="haiku", max_budget_usd=0.5, system_prompt="You are terse.")
ENVELOPE = '{"type": "result", "result": "Hello!", "session_id": "s-1", "total_cost_usd": 0.0023, "duration_ms": 7}'


@pytest.fixture
def stubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stubs:
    """A folder of programs, the first in which programs are looked for."""
    made = Stubs(tmp_path / "bin")
    monkeypatch.setenv("PATH", made.environment()["PATH"])
    return made


def gateway() -> Gateway:
    return Gateway(clock=ManualClock())


async def test_an_agent_is_spawned_and_resumed(stubs: Stubs) -> None:
    stubs.make("claude", SPEAKS)
    first = await spawn_agent("Name a drink.", HAIKU, gateway=gateway())
    assert (json.loads(first.content)["position"], first.cost_usd, first.duration_ms > 0) == ("Tea", 0.01, True)
    then = await resume_agent(first.session_id, "Another.", ResumeOptions(max_turns=2), gateway=gateway())
    assert then.session_id == first.session_id
    spawned, resumed = (start["argv"] for start in stubs.starts("claude"))
    assert isinstance(spawned, list)
    assert isinstance(resumed, list)
    assert spawned[:7] == ["-p", "--output-format", "json", "--model", "haiku", "--max-turns", "8"]
    assert spawned[-2:] == ["--max-budget-usd", "0.5"]
    assert "You are terse." in str(spawned)
    assert resumed == ["-p", "--output-format", "json", "--resume", first.session_id, "--max-turns", "2"]
    assert stubs.read("claude") == ["Name a drink.", "Another."]


@shows(2, "function", "getClaudeBin")
@shows(2, "message", "claude CLI not found. Install from https://claude.ai/cli")
def test_a_program_is_found_on_the_path_or_named_as_missing(stubs: Stubs) -> None:
    with pytest.raises(AgentError) as error:
        find_binary(path=str(stubs.folder))
    assert str(error.value) == "claude CLI not found. Install from https://claude.ai/cli"
    assert find_binary(path=str(stubs.make("claude", SPEAKS).parent)) == str(stubs.folder / "claude")
    assert find_binary(plain_profile("sh"), path="/bin:/usr/bin").endswith("/sh")


@shows(2, "function", "runClaude")
async def test_a_program_runs_with_its_input_and_environment(tmp_path: Path) -> None:
    told: list[str] = []
    done = await run_command(
        ["/bin/sh", "-c", 'read line; echo "$line $WHO $PWD"; echo oh >&2; exit 3'],
        stdin="Tea\n",
        timeout_s=20,
        environment={"WHO": "Ada"},
        cwd=str(tmp_path),
        on_progress=told.append,
    )
    assert (done.stdout, done.stderr, done.code) == (f"Tea Ada {tmp_path}\n", "oh\n", 3)
    assert "".join(told) == done.stdout


@shows(2, "message", "Claude timed out after ${timeoutMs}ms")
async def test_a_program_that_takes_too_long_is_ended() -> None:
    with pytest.raises(APITimeoutError, match=r"^Claude timed out after 50ms$"):
        await run_command(["/bin/sleep", "60"], stdin="", timeout_s=0.05, environment={})


@shows(2, "message", "Failed to spawn claude: ${message}")
async def test_a_program_that_cannot_be_started_is_named(stubs: Stubs) -> None:
    program = stubs.folder / "claude"
    program.write_text("#!/no/such/interpreter\n", "utf-8")
    program.chmod(0o755)
    for cwd in (None, str(stubs.folder / "nowhere")):
        with pytest.raises(AgentError, match=r"^Failed to spawn claude: .*No such file or directory") as error:
            await run_command([str(program)], stdin="", timeout_s=20, environment={}, cwd=cwd)
        assert "working directory" in str(error.value.hint)


@shows(2, "message", "Claude exited ${code}: ${stderr}")
async def test_a_program_that_fails_is_told_with_its_code(stubs: Stubs) -> None:
    stubs.make("claude", 'sys.stderr.write("Invalid model " + "x" * 600)\nsys.exit(7)')
    with pytest.raises(AgentError, match=r"^Claude exited 7: Invalid model x{400,486}"):
        await spawn_agent("Hello", HAIKU, gateway=gateway())


@shows(2, "message", "Claude agent error: ${result}")
async def test_an_agent_that_reports_an_error_is_not_asked_again(stubs: Stubs) -> None:
    stubs.make("claude", 'envelope(None, subtype="error_max_turns")')
    with pytest.raises(AgentError, match=r"^Claude agent error: \[Agent stopped: error_max_turns\]"):
        await spawn_agent("Hello", HAIKU, gateway=gateway())
    assert len(stubs.starts("claude")) == 1


@shows(2, "function", "parseOutput")
@shows(2, "type", "ClaudeJsonOutput")
def test_the_last_envelope_of_the_output_counts() -> None:
    found = parse_output(f'Processing...\n{{"result": "Early", "session_id": "s-0"}}\n{ENVELOPE}\nbye')
    assert found == CliEnvelope(result="Hello!", session_id="s-1", total_cost_usd=0.0023, duration_ms=7)
    assert not found.is_error
    assert CliEnvelope(result="", session_id="").total_cost_usd == 0


@shows(2, "message", "[Agent stopped: ${subtype}]")
def test_an_envelope_without_a_result_is_an_error_with_its_reason() -> None:
    found = parse_output('{"type": "result", "subtype": "error_max_turns", "session_id": "s-1"}')
    assert (found.result, found.is_error) == ("[Agent stopped: error_max_turns]", True)


@shows(2, "message", "Failed to parse Claude JSON output (expected {result: string}). Got: ${preview}")
def test_output_without_an_envelope_is_shown() -> None:
    with pytest.raises(AgentError) as error:
        parse_output('Processing...\n{"result": "Hell')
    expected = 'Failed to parse Claude JSON output (expected {result: string}). Got: Processing...\n{"result": "Hell'
    assert str(error.value) == expected


def test_a_program_sees_no_key_of_another_provider() -> None:
    given = {"HOME": "/home/ada", "ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"}
    assert visible_environment(CLAUDE, given) == {"HOME": "/home/ada", "ANTHROPIC_API_KEY": "a"}
