"""Command-line agents, spawned and resumed with real programs."""

from __future__ import annotations

import logging
import signal
from pathlib import Path
from typing import Any

import pytest
from integration.command_kit import SPEAKS, Stubs, is_alive

from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    CircuitOpen,
    ConfigurationError,
    RoundtableError,
)
from roundtable.gateway import Gateway
from roundtable.providers.command import ResumeOptions, SpawnOptions, resume_agent, spawn_agent
from roundtable.testing.doubles import ManualClock

SONNET = SpawnOptions(model="sonnet", max_budget_usd=1.5, system_prompt="")
SLACK_S = 2.0
"""How much later than documented a busy machine may be."""


def gateway() -> Gateway:
    return Gateway(clock=ManualClock())


async def test_an_agent_is_spawned_and_resumed(stubs: Stubs) -> None:
    stubs.make("claude", SPEAKS)
    first = await spawn_agent("Name a drink.", SONNET, gateway=gateway())
    assert first.session_id.startswith("session-")
    assert first.cost_usd == 0.01
    assert first.duration_ms > 0
    then = await resume_agent(first.session_id, "Another one.", gateway=gateway())
    assert then.session_id == first.session_id
    assert [start["argv"] for start in stubs.starts("claude")] == [
        [*["-p", "--output-format", "json", "--model", "sonnet", "--max-turns", "15", "--max-budget-usd", "1.5"]],
        [*["-p", "--output-format", "json", "--resume"], first.session_id, "--max-turns", "8"],
    ]
    assert stubs.read("claude") == ["Name a drink.", "Another one."]


@pytest.mark.parametrize(("model", "turns"), [("opus", "20"), ("sonnet", "15"), ("haiku", "8"), ("claude-next", "8")])
async def test_steps_are_limited_by_the_model(stubs: Stubs, model: str, turns: str) -> None:
    stubs.make("claude", SPEAKS)
    await spawn_agent("?", SONNET.model_copy(update={"model": model}), gateway=gateway())
    argv = stubs.starts("claude")[0]["argv"]
    assert isinstance(argv, list)
    assert argv[argv.index("--max-turns") + 1] == turns


async def test_permissions_are_skipped_only_when_asked_and_then_with_a_warning(
    stubs: Stubs, caplog: pytest.LogCaptureFixture
) -> None:
    stubs.make("claude", SPEAKS)
    await spawn_agent("?", SONNET, gateway=gateway())
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        await spawn_agent("?", SONNET.model_copy(update={"yolo": True}), gateway=gateway())
        await resume_agent("session-1", "?", ResumeOptions(yolo=True), gateway=gateway())
    assert ["--dangerously-skip-permissions" in str(start["argv"]) for start in stubs.starts("claude")] == [
        False,
        True,
        True,
    ]
    assert len(caplog.records) == 2


HOSTILE = "--dangerously-skip-permissions\n$(touch pwned); `touch pwned` \u202e\x1b[2J --model opus"


async def test_a_prompt_is_never_read_as_an_option_or_a_command(stubs: Stubs, tmp_path: Path) -> None:
    stubs.make("claude", SPEAKS)
    options = SpawnOptions(model="haiku", max_budget_usd=1, system_prompt=HOSTILE, cwd=str(tmp_path), max_turns=3)
    await spawn_agent(HOSTILE, options, gateway=gateway())
    [start] = stubs.starts("claude")
    assert start["cwd"] == str(tmp_path)
    assert start["argv"] == [
        *["-p", "--output-format", "json", "--model", "haiku", "--max-turns", "3"],
        f"--append-system-prompt={HOSTILE}",
        "--max-budget-usd",
        "1",
    ]
    assert stubs.read("claude") == [HOSTILE]
    assert not (tmp_path / "pwned").exists()


async def test_a_program_sees_no_key_but_its_own(stubs: Stubs, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "GOOGLE_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "DATABASE_PASSWORD",
        "CLAUDECODE",
        "LD_PRELOAD_X",
    ):
        monkeypatch.setenv(name, "canary-1234567")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "its-own")
    stubs.make("claude", SPEAKS)
    await spawn_agent("?", SONNET, gateway=gateway())
    environment = stubs.starts("claude")[0]["environment"]
    assert isinstance(environment, dict)
    assert "canary-1234567" not in environment.values()
    assert environment["ANTHROPIC_API_KEY"] == "its-own"
    assert "CLAUDECODE" not in environment


async def test_pieces_of_the_output_are_reported(stubs: Stubs) -> None:
    stubs.make("claude", "print('thinking', flush=True)\nenvelope('Tea.')")
    heard: list[str] = []
    response = await spawn_agent("?", SONNET, gateway=gateway(), on_progress=heard.append)
    assert response.content == "Tea."
    assert "".join(heard).startswith("thinking\n{")


async def test_characters_and_control_sequences_are_reported_whole_or_not_at_all(stubs: Stubs) -> None:
    write = "sys.stdout.buffer.write(part); sys.stdout.buffer.flush(); time.sleep(0.05)"
    torn = f"for part in (b'caf\\xc3', b'\\xa9\\x1b[3', b'1m!\\x1b[0m\\n'): {write}\n"
    stubs.make("claude", torn + "envelope('Tea.')")
    heard: list[str] = []
    await spawn_agent("?", SONNET, gateway=gateway(), on_progress=heard.append)
    assert "".join(heard).startswith("caf\u00e9!\n")


async def test_an_answer_does_not_depend_on_who_listens(stubs: Stubs, caplog: pytest.LogCaptureFixture) -> None:
    heard = stubs.folder / "heard"

    def listen(piece: str) -> None:
        heard.touch()
        raise ValueError(piece)

    waits = f"while not os.path.exists({str(heard)!r}): time.sleep(0.01)\n"
    stubs.make("claude", f"print('thinking', flush=True)\n{waits}envelope('Tea.')")
    response = await spawn_agent("?", SONNET, gateway=gateway(), on_progress=listen)
    assert response.content == "Tea."
    assert [record.getMessage() for record in caplog.records] == [
        "on_progress failed and is not called again: ValueError: thinking\n"
    ]


# ------------------------------------------------------------------ what goes wrong


async def test_a_missing_program_is_not_looked_for_again(stubs: Stubs) -> None:
    clock = ManualClock()
    with pytest.raises(AgentError, match=r"^claude CLI not found. Install from https://claude.ai/cli$") as caught:
        await spawn_agent("?", SONNET, gateway=Gateway(clock=clock))
    assert not caught.value.retryable
    assert caught.value.hint
    assert clock.monotonic() == 0
    (stubs.folder / "claude").write_text("no program", "utf-8")
    with pytest.raises(AgentError, match="not found"):
        await spawn_agent("?", SONNET, gateway=gateway())
    (stubs.folder / "claude").unlink()
    (stubs.folder / "claude").mkdir()
    with pytest.raises(AgentError, match="not found"):
        await spawn_agent("?", SONNET, gateway=gateway())


async def test_a_program_that_is_installed_later_is_found(stubs: Stubs) -> None:
    with pytest.raises(AgentError, match="not found"):
        await spawn_agent("?", SONNET, gateway=gateway())
    stubs.make("claude", SPEAKS)
    assert (await spawn_agent("?", SONNET, gateway=gateway())).content


@pytest.mark.slow
async def test_the_error_output_of_a_program_contains_no_key(stubs: Stubs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary-1234567890")
    stubs.make(
        "claude",
        "print(os.environ['ANTHROPIC_API_KEY'], 'Bearer abcdefghijklmnopqrstuvwxyz', file=sys.stderr)\nsys.exit(1)",
    )
    with pytest.raises(AgentError, match=r"Claude exited 1: \[redacted\] Bearer \[redacted\]") as caught:
        await spawn_agent("?", SONNET, gateway=gateway())
    assert "canary" not in repr(caught.value) + str(caught.value.to_dict())
    # The key lies where the text is cut.
    stubs.make("claude", "sys.stderr.write(os.environ['ANTHROPIC_API_KEY'] + 'x' * 490)\nsys.exit(1)")
    with pytest.raises(AgentError) as cut:
        await spawn_agent("?", SONNET, gateway=gateway())
    assert "1234567890" not in str(cut.value.to_dict())
    stubs.make("claude", "envelope('bad key ' + os.environ['ANTHROPIC_API_KEY'], is_error=True)")
    with pytest.raises(AgentError, match=r"Claude agent error: bad key \[redacted\]"):
        await spawn_agent("?", SONNET, gateway=gateway())
    stubs.make("claude", "print(os.environ['ANTHROPIC_API_KEY'])")
    with pytest.raises(AgentError, match=r"Got: \[redacted\]"):
        await spawn_agent("?", SONNET, gateway=gateway())


async def test_a_file_that_cannot_be_started_says_so(stubs: Stubs) -> None:
    file = stubs.folder / "claude"
    file.write_bytes(b"\x7fELF but not really")
    file.chmod(0o755)
    with pytest.raises(AgentError, match="Failed to spawn"):
        await spawn_agent("?", SONNET, gateway=gateway())
    stubs.make("claude", SPEAKS)
    assert (await spawn_agent("?", SONNET, gateway=gateway())).content
    file.unlink()
    with pytest.raises(AgentError, match="not found"):
        await spawn_agent("?", SONNET, gateway=gateway())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "kind", "message", "tries"),
    [
        ("sys.stderr.write('boom'); sys.exit(1)", AgentError, "Claude exited 1: boom", 4),
        ("sys.stderr.write('x' * 2000); sys.exit(3)", AgentError, r"Claude exited 3: x{500} … x{200} \(after", 4),
        ("os.kill(os.getpid(), signal.SIGSEGV)", AgentError, f"Claude exited -{int(signal.SIGSEGV)}: ", 4),
        ("sys.exit(137)", AgentError, "Claude exited 137: ", 4),
        ("sys.stderr.write('429 Too Many Requests'); sys.exit(1)", APIRateLimitError, "Claude exited 1: 429", 4),
        (
            "sys.stderr.write('DeprecationWarning: the module is old.\\n' * 20 + '429 Too Many Requests'); sys.exit(1)",
            APIRateLimitError,
            "429 Too Many Requests",
            4,
        ),
        ("sys.stderr.write('connect ECONNREFUSED'); sys.exit(1)", APINetworkError, "ECONNREFUSED", 4),
        ("sys.stderr.write('upstream timed out'); sys.exit(1)", APITimeoutError, "upstream timed out", 4),
        ("sys.stderr.write('Invalid API key'); sys.exit(1)", APIAuthError, "Invalid API key", 1),
        ("sys.stderr.write('403 quota exceeded'); sys.exit(1)", AgentError, "403 quota exceeded", 1),
        ("print('Processing...')\nprint('{\"result\": \"Hell')", AgentError, "Failed to parse Claude JSON output", 4),
        ("pass", AgentError, r"Failed to parse .* \(expected \{result: string\}\). Got:  \(after", 4),
        ("envelope('no more', is_error=True)", AgentError, "^Claude agent error: no more$", 1),
        ("envelope(None, subtype='error_max_turns')", AgentError, r"error: \[Agent stopped: error_max_turns\]", 1),
        ("envelope('over budget', is_error=True)", AgentError, "^Claude agent error: over budget$", 1),
        ("envelope('wait', is_error=True, api_error_status=429)", APIRateLimitError, "^Claude agent error: wait", 4),
        ("envelope('full', is_error=True, api_error_status=529); sys.exit(1)", APINetworkError, "error: full", 4),
        ("envelope('login', is_error=True, api_error_status=401); sys.exit(1)", APIAuthError, "error: login", 1),
        ("envelope('bad', is_error=True, api_error_status=400); sys.exit(1)", AgentError, "error: bad", 1),
        ("sys.stderr.write('API key not valid. Please pass a valid API key.'); sys.exit(1)", APIAuthError, "key", 1),
        ("envelope('no more', is_error=True); sys.exit(1)", AgentError, "^Claude agent error: no more$", 1),
    ],
)
async def test_each_failure_has_its_kind_its_message_and_its_number_of_tries(
    stubs: Stubs, body: str, kind: type[RoundtableError], message: str, tries: int
) -> None:
    stubs.make("claude", body)
    with pytest.raises(kind, match=message):
        await spawn_agent("?", SONNET, gateway=gateway())
    assert len(stubs.starts("claude")) == tries


@pytest.mark.slow
async def test_after_five_failures_spawned_and_resumed_agents_are_left_alone(stubs: Stubs) -> None:
    stubs.make("claude", "sys.exit(1)")
    shared = gateway()
    for _ in range(3):
        with pytest.raises(AgentError):
            await spawn_agent("?", SONNET, gateway=shared)
    for _ in range(2):
        with pytest.raises(AgentError):
            await resume_agent("session-1", "?", gateway=shared)
    with pytest.raises(CircuitOpen):
        await resume_agent("session-1", "?", gateway=shared)
    assert len(stubs.starts("claude")) == 20  # four attempts each


@pytest.mark.parametrize("prompt", ["", "  \n", "x" * 100_001, 7])
async def test_an_invalid_prompt_starts_no_program(stubs: Stubs, prompt: Any) -> None:
    stubs.make("claude", SPEAKS)
    with pytest.raises(ConfigurationError, match="prompt"):
        await spawn_agent(prompt, SONNET, gateway=gateway())
    with pytest.raises(ConfigurationError, match="prompt"):
        await resume_agent("session-1", prompt, gateway=gateway())
    assert not stubs.starts("claude")


@pytest.mark.parametrize("session", ["", "-p", "--model", "abcd", "a b", "a;b;c", "x" * 300, "étude"])
async def test_an_invalid_session_id_starts_no_program(stubs: Stubs, session: str) -> None:
    stubs.make("claude", SPEAKS)
    with pytest.raises(ConfigurationError, match="session id") as caught:
        await resume_agent(session, "?", gateway=gateway())
    assert caught.value.hint
    assert not stubs.starts("claude")


WRONG: list[tuple[str, object, str]] = [
    ("model", "", "opus"),
    ("model", "--yolo", "opus"),
    ("model", "a\nb", "opus"),
    ("max_budget_usd", 0, "0.01"),
    ("max_budget_usd", 0.009, "0.01"),
    ("max_budget_usd", -1, "0.01"),
    ("system_prompt", "  \n", "''"),
    ("system_prompt", "x" * 100_001, "100,000"),
    ("max_turns", 0, "10,000"),
    ("timeout_s", 0, "3,600"),
    ("timeout_s", 4.9, "3,600"),
    ("timeout_s", 3601, "3,600"),
    ("timeout_s", float("nan"), "3,600"),
    ("cwd", "relative", "absolute"),
    ("cwd", "/does/not/exist", "exists"),
    ("yolo", "perhaps", "True"),
    ("timeoutMs", 5, "timeout_s"),
]


@pytest.mark.parametrize(("field", "value", "way_out"), WRONG)
def test_invalid_options_are_refused_with_a_hint(field: str, value: object, way_out: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        SpawnOptions(**{"model": "opus", "max_budget_usd": 1, "system_prompt": "", field: value})  # type: ignore[arg-type]
    assert f"SpawnOptions.{field}" in caught.value.message
    assert repr(value)[:80] in caught.value.message
    assert way_out in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("field", "value", "way_out"), [one for one in WRONG if "model" not in one[0] and "sys" not in one[0]]
)
def test_the_options_of_a_resumed_agent_are_checked_in_the_same_way(field: str, value: object, way_out: str) -> None:
    with pytest.raises(ConfigurationError, match=f"ResumeOptions.{field}") as caught:
        ResumeOptions.model_validate({field: value})
    assert way_out in (caught.value.hint or "")


def test_options_at_their_limits_are_taken_and_a_missing_one_is_named() -> None:
    least = SpawnOptions(model="opus", max_budget_usd=0.01, system_prompt="x" * 100_000, timeout_s=5, max_turns=1)
    assert SpawnOptions.from_json(least.to_json()) == least
    assert ResumeOptions(timeout_s=3600).timeout_s == 3600
    with pytest.raises(ConfigurationError, match=r"SpawnOptions.model is not valid.*not nothing"):
        SpawnOptions.model_validate({"maxBudgetUsd": 1, "systemPrompt": ""})


@pytest.mark.parametrize(
    ("body", "content"),
    [
        ("envelope('Tea.')\nprint('bye')", "Tea."),
        ("print('noise {')\nenvelope('first')\nenvelope('last')", "last"),
        ("sys.stdout.buffer.write(b'\\xff\\xfe\\x00\\x1b[1m\\n')\nsys.stdout.flush()\nenvelope('Tea.')", "Tea."),
        ('print(\'[{"type":"system"},{"result":"Tea.","session_id":"s"}]\')', "Tea."),
        ('print(\'{\\n"result": "Tea.",\\n"session_id": "s"\\n}\')', "Tea."),
        ('print(\'{"result":"Tea."}\')', "Tea."),
        ("os.close(0)\nenvelope('Tea.')", "Tea."),
    ],
)
async def test_an_answer_is_found_among_noise(stubs: Stubs, body: str, content: str) -> None:
    stubs.make("claude", body)
    assert (await spawn_agent("?" * 90_000, SONNET, gateway=gateway())).content == content


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_program_that_writes_endlessly_is_ended(stubs: Stubs, stream: str) -> None:
    stubs.make("claude", f"while True: sys.{stream}.buffer.write(b'x' * 65536)")
    with pytest.raises(AgentError, match="wrote more than 8 MiB"):
        await spawn_agent("?", SONNET, gateway=gateway())
    [start] = stubs.starts("claude")
    assert not is_alive(start["pid"])
