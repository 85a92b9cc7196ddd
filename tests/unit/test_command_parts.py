"""Command-line agents without a process: words of a command, what may be seen, what was written."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.errors import AgentError, ConfigurationError
from roundtable.providers.command import (
    CLAUDE,
    CODEX,
    GEMINI,
    CommandModel,
    CommandProfile,
    CommandProvider,
    plain_profile,
    visible_environment,
)
from roundtable.providers.command.model import CommandRun
from roundtable.providers.command.parsers import (
    Reply,
    clean,
    parse_output,
    read_claude,
    read_codex,
    read_gemini,
    read_plain,
)
from roundtable.providers.command.process import run_command, watched_command
from roundtable.settings import Settings
from roundtable.types import ProviderConfig

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def line(**facts: object) -> str:
    return json.dumps(facts) + "\n"


# ------------------------------------------------------------------ what a program sees


ENVIRONMENT = {
    "PATH": "/bin",
    "AWS_SECRET_ACCESS_KEY": "canary-aws",
    "AWS_REGION": "eu-west-1",
    "AZURE_CLIENT_SECRET": "canary-azure",
    "GOOGLE_APPLICATION_CREDENTIALS": "/canary-google.json",
    "GOOGLE_CLIENT_SECRET": "canary-login",
    "GOOGLE_CLOUD_ACCESS_TOKEN": "canary-token",
    "CLOUD_ML_REGION": "europe-west1",
    "CLAUDE_CODE_OAUTH_TOKEN": "own-claude",
    "OPENAI_API_KEY": "own-codex",
    "GOOGLE_API_KEY": "own-gemini",
}


@pytest.mark.parametrize(
    ("profile", "chosen", "more"),
    [
        (CLAUDE, {}, set()),
        (CLAUDE, {"CLAUDE_CODE_USE_BEDROCK": "0", "CLAUDE_CODE_USE_VERTEX": ""}, set()),
        (CLAUDE, {"CLAUDE_CODE_USE_BEDROCK": "1"}, {"AWS_SECRET_ACCESS_KEY", "AWS_REGION"}),
        (CLAUDE, {"CLAUDE_CODE_USE_VERTEX": "True"}, {"GOOGLE_APPLICATION_CREDENTIALS", "CLOUD_ML_REGION"}),
        (CLAUDE, {"CLAUDE_CODE_USE_FOUNDRY": "1"}, {"AZURE_CLIENT_SECRET"}),
        (CODEX, {"CLAUDE_CODE_USE_BEDROCK": "1"}, set()),
        (GEMINI, {}, set()),
        (GEMINI, {"GOOGLE_GENAI_USE_VERTEXAI": "true"}, {"GOOGLE_APPLICATION_CREDENTIALS"}),
        (GEMINI, {"GOOGLE_GENAI_USE_GCA": "true"}, {"GOOGLE_CLOUD_ACCESS_TOKEN"}),
        (plain_profile("mytool"), {"CLAUDE_CODE_USE_BEDROCK": "1"}, set()),
    ],
)
def test_a_program_sees_the_login_of_a_cloud_only_if_that_cloud_was_chosen(
    profile: CommandProfile, chosen: dict[str, str], more: set[str]
) -> None:
    seen = visible_environment(profile, ENVIRONMENT | chosen)
    own = {
        "claude-cli": {"CLAUDE_CODE_OAUTH_TOKEN", *chosen},
        "codex-cli": {"OPENAI_API_KEY"},
        "gemini-cli": {"GOOGLE_API_KEY", *chosen},
    }
    assert set(seen) == {"PATH", *own.get(profile.name, ()), *more}


# ------------------------------------------------------------------ words


def test_codex_continues_a_thread() -> None:
    call = CommandRun(profile=CODEX, prompt="Why?", session="th_1", system="Be brief.", yolo=True)
    assert call.words == (
        *("exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only", "resume", "th_1"),
        *("--dangerously-bypass-approvals-and-sandbox", "-"),
    )
    assert call.stdin == "Why?"


def test_a_system_prompt_comes_before_the_prompt_if_the_program_has_no_option_for_it() -> None:
    call = CommandRun(profile=GEMINI, prompt="Why?", system="Be brief.", model="flash")
    assert call.words == ("--output-format", "json", "--model", "flash")
    assert call.stdin == "Be brief.\n\nWhy?"


@pytest.mark.parametrize("system", ["\u8336" * 50_000, "nul\0"])
def test_a_system_prompt_comes_before_the_prompt_if_no_argument_can_hold_it(system: str) -> None:
    call = CommandRun(profile=CLAUDE, prompt="Tea?", system=system)
    assert not [word for word in call.words if "append" in word]
    assert call.stdin == f"{system}\n\nTea?"


def test_an_option_without_a_value_is_left_out() -> None:
    assert CommandRun(profile=CLAUDE, prompt="?").words == ("-p", "--output-format", "json")
    assert CommandRun(profile=CODEX, prompt="?").words[-2:] == ("read-only", "-")
    assert CommandRun(profile=plain_profile("mytool"), prompt="?").words == ()


@given(system=TEXT, model=TEXT.filter(lambda text: text not in {"{turns}", "{session}"}), session=TEXT)
def test_an_inserted_value_is_one_word_after_its_option(system: str, model: str, session: str) -> None:
    words = CommandRun(profile=CLAUDE, prompt="", model=model, system=system, session=session, turns=3).words
    known = {"-p", "--output-format", "json", "--model", "--resume", "--max-turns", "3"}
    given = {session} if session else {model, f"--append-system-prompt={system}"}
    assert set(words) <= known | given


# ------------------------------------------------------------------ readers


@given(raw=st.text(max_size=200))
def test_control_sequences_of_terminals_are_removed(raw: str) -> None:
    text = clean(raw)
    assert not [char for char in text if char < " " and char not in "\t\n\r"]
    assert clean(text) == text


@given(noise=st.lists(TEXT, max_size=4), result=TEXT, tail=st.lists(TEXT, max_size=4))
def test_the_last_envelope_is_found_whatever_surrounds_it(noise: list[str], result: str, tail: list[str]) -> None:
    stdout = "\n".join([*noise, json.dumps({"result": result, "session_id": "s"}), *tail])
    assert parse_output(stdout).result == result


@given(stdout=st.text(max_size=200))
def test_any_output_gives_an_envelope_or_an_error_of_the_library(stdout: str) -> None:
    for read in (parse_output, read_codex, read_gemini, read_plain):
        with suppress(AgentError):
            read(stdout)


@pytest.mark.parametrize(
    "found",
    [{"result": "x", "session_id": 7}, {"result": "x", "total_cost_usd": "much"}, {"type": "result"}, {"result": 3}],
)
def test_an_object_that_only_looks_like_an_envelope_is_skipped(found: dict[str, object]) -> None:
    assert parse_output(line(result="Tea.", session_id="s") + line(**found)).result == "Tea."


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_an_answer_may_contain_other_line_separators(separator: str) -> None:
    text = f"Tea{separator}keeps."
    events = [{"type": "system", "session_id": "s"}, {"type": "result", "result": text, "session_id": "s"}]
    stdout = "\n".join(json.dumps(event, ensure_ascii=False) for event in events)
    assert read_claude(stdout).text == clean(text)


def test_the_usage_of_claude_is_read() -> None:
    usage = {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 5, "cache_creation_input_tokens": "?"}
    reply = CLAUDE.read(line(result="Tea.", session_id="s", total_cost_usd=0.02, duration_ms=12, usage=usage))
    assert (reply.usage.input_tokens, reply.usage.cache_read_tokens, reply.usage.cost_usd) == (12, 5, 0.02)
    assert reply.duration_ms == 12


def test_tokens_that_claude_caches_for_an_hour_are_read() -> None:
    lifetimes = {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 8}
    usage = {"input_tokens": 7, "cache_creation_input_tokens": 9, "cache_creation": lifetimes}
    reply = CLAUDE.read(line(result="Tea.", session_id="s", usage=usage))
    assert (reply.usage.cache_write_tokens, reply.usage.long_cache_write_tokens) == (9, 8)
    reply = CLAUDE.read(line(result="Tea.", session_id="s", usage={**usage, "cache_creation": 8}))
    assert reply.usage.long_cache_write_tokens == 0


def test_an_empty_word_without_an_option_before_it_is_left_out_alone() -> None:
    assert CLAUDE.words(("run", "{model}", "-")) == ("run", "-")


def test_output_of_gemini_that_is_neither_an_answer_nor_a_failure_is_skipped() -> None:
    assert read_gemini(line(response="Tea.", session_id="g") + line(note="bye")).text == "Tea."


@pytest.mark.parametrize("cost", ["Infinity", "NaN", "-1"])
def test_an_invalid_cost_is_unknown(cost: str) -> None:
    reply = read_claude(f'{{"result": "Tea.", "session_id": "s", "total_cost_usd": {cost}}}')
    assert (reply.text, reply.usage.cost_usd) == ("Tea.", None)


@pytest.mark.parametrize("cost", [{}, {"total_cost_usd": None}])
def test_a_cost_that_an_envelope_does_not_state_is_unknown(cost: dict[str, object]) -> None:
    for read in (read_claude, read_plain):
        assert read(line(result="Tea.", session_id="s", **cost)).usage.cost_usd is None
        assert read(line(result="Tea.", session_id="s", total_cost_usd=0)).usage.cost_usd == 0
    assert read_claude(line(type="result", session_id="s", subtype="error_max_turns")).usage.cost_usd is None


def test_the_last_message_the_thread_and_the_tokens_of_codex_are_read() -> None:
    stdout = (
        line(type="thread.started", thread_id="th_1")
        + line(type="item.completed", item={"type": "reasoning", "text": "hm"})
        + line(type="item.completed", item={"type": "agent_message", "text": "first"})
        + line(type="item.completed", item={"type": "agent_message", "text": "last"})
        + line(
            type="turn.completed",
            usage={"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2, "reasoning_output_tokens": 1},
        )
    )
    reply = read_codex(stdout)
    assert (reply.text, reply.session_id, reply.failed) == ("last", "th_1", False)
    assert (reply.usage.input_tokens, reply.usage.cache_read_tokens, reply.usage.output_tokens) == (9, 4, 2)
    assert reply.usage.reasoning_tokens == 1


def test_the_thread_of_codex_is_read_after_any_number_of_events() -> None:
    step = line(type="item.completed", item={"type": "reasoning", "text": 'the "thread.started" event'})
    said = line(type="item.completed", item={"type": "agent_message", "text": "Tea."})
    stdout = step + line(type="thread.started", thread_id="th_1") + step * 12_000 + said
    assert read_codex(stdout)[:2] == ("Tea.", "th_1")
    assert read_codex(step * 12_000 + said)[:2] == ("Tea.", "")


@pytest.mark.parametrize("fault", [{"error": {"message": "no quota"}}, {"message": "no quota"}])
def test_a_failure_of_codex_is_read(fault: dict[str, object]) -> None:
    kind = "turn.failed" if "error" in fault else "error"
    reply = read_codex(line(type="thread.started", thread_id="th_1") + line(type=kind, **fault))
    assert (reply.text, reply.failed) == ("no quota", True)


def test_a_codex_turn_that_fails_after_a_first_message_has_failed() -> None:
    said = line(type="item.completed", item={"type": "agent_message", "text": "I look at the files first."})
    lost = line(type="turn.failed", error={"message": "stream disconnected"})
    assert read_codex(said + lost)[:3] == ("stream disconnected", "", True)
    # What the program tries again by itself is no failure of its answer.
    assert read_codex(line(type="error", message="Reconnecting 1/5") + said).failed is False


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests, request id: 7", 429),
        ("unexpected status 401 Unauthorized: Missing bearer", 401),
        ("You've hit your usage limit.", 0),
    ],
)
def test_a_failure_of_codex_has_the_status_of_the_vendor(message: str, status: int) -> None:
    assert read_codex(line(type="turn.failed", error={"message": message})).status == status


def test_a_failure_has_the_status_that_the_program_states() -> None:
    assert read_gemini(json.dumps({"error": {"message": "Wait.", "code": 429}})).status == 429
    failed = {"result": "API Error", "is_error": True}
    assert read_claude(json.dumps({**failed, "api_error_status": 529})).status == 529
    for silent in (None, "soon"):
        assert read_claude(json.dumps({**failed, "api_error_status": silent})).status == 0


def test_the_response_of_gemini_and_the_tokens_of_all_its_models_are_read() -> None:
    tokens = {"prompt": 9, "candidates": 2, "thoughts": 1, "cached": 3, "tool": 4}
    stats = {"models": {"a": {"tokens": tokens}, "b": {"tokens": tokens}, "c": 5}}
    document = json.dumps({"session_id": "g1", "response": "Tea.", "stats": stats}, indent=2)
    reply = read_gemini(f"Loaded cached credentials.\n{document}\n".replace("Loaded cached credentials.\n", ""))
    assert (reply.text, reply.session_id) == ("Tea.", "g1")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.reasoning_tokens) == (26, 6, 2)
    assert read_gemini(line(response="Tea.")).usage.input_tokens == 0
    assert read_gemini(line(error={"message": "no"})).failed


def test_any_program_may_write_plain_text() -> None:
    assert read_plain(" Tea, of course. \n").text == "Tea, of course."
    assert read_plain(line(position="Tea")).text == line(position="Tea").strip()
    assert read_plain(line(result="Tea.", session_id="s")).session_id == "s"
    with pytest.raises(AgentError, match="wrote nothing"):
        read_plain(" \n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        pytest.param("{\n", id="braces"),
        pytest.param("{}\n", id="empty objects"),
        pytest.param('{"type": 1, "result": \n', id="objects that break off"),
        pytest.param(line(type="turn.completed", usage={}), id="many events"),
        pytest.param(line(type="result", result="", response=1, session_id=7), id="no envelopes"),
        pytest.param("\n", id="empty lines"),
        pytest.param("{", id="one line of braces"),
        pytest.param('{"type', id="one line of names"),
    ],
)
def test_no_output_up_to_the_limit_takes_long_to_read(unit: str) -> None:
    stdout = unit * (8 * 2**20 // len(unit))
    for read in (read_claude, read_codex, read_gemini, read_plain):
        began = time.process_time()
        with suppress(AgentError):
            read(stdout)
        assert time.process_time() - began < 2.0


def test_an_answer_is_found_before_and_after_much_noise() -> None:
    noise = "{\n" * 50_000
    said = line(type="item.completed", item={"type": "agent_message", "text": "Tea."})
    for read, answer in ((read_claude, line(result="Tea.")), (read_codex, said), (read_gemini, line(response="Tea."))):
        assert read(noise + answer + noise).text == "Tea."


ENVELOPE = '{"result": "forty-two", "session_id": ""}'


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(f"The log line should be\n{ENVELOPE}\nMy answer is Tea.", id="quoted on a line"),
        pytest.param(f"{ENVELOPE}\nMy answer is Tea.", id="quoted on the first line"),
        pytest.param(f"My answer is Tea. Log it as {ENVELOPE}", id="quoted at the end of a line"),
        pytest.param(f"{ENVELOPE} is how to log Tea.", id="quoted at the start of a line"),
        pytest.param('Tea.\n{"result": "forty-two", "session_id": 7}', id="no envelope"),
        pytest.param("Tea.\n" + "[" * 100_000, id="too deep"),
    ],
)
def test_an_envelope_that_an_answer_quotes_does_not_replace_the_answer(answer: str) -> None:
    assert read_plain(f"{answer}\n") == Reply(answer)


@pytest.mark.parametrize(
    "stdout",
    [
        pytest.param(f"thinking ...\n{ENVELOPE}\n\n", id="last line"),
        pytest.param(f"{ENVELOPE}\nThe session ends here:\r\n  {ENVELOPE} \r\n", id="two"),
        pytest.param(json.dumps(json.loads(ENVELOPE), indent=2), id="several lines"),
        pytest.param(json.dumps([{"type": "system"}, json.loads(ENVELOPE)]), id="last of a list"),
    ],
)
def test_an_envelope_at_the_end_of_any_program_is_its_answer(stdout: str) -> None:
    assert read_plain(stdout).text == "forty-two"


# ------------------------------------------------------------------ models by name


@pytest.mark.parametrize("name", [None, "-rf"])
def test_a_command_needs_the_name_of_a_program(name: str | None) -> None:
    with pytest.raises(ConfigurationError, match="name of a program"):
        CommandProvider(None)(name, ProviderConfig(), Settings())


def test_models_by_name_have_a_limit_if_the_program_supports_one() -> None:
    claude = CommandProvider(CLAUDE)("sonnet", ProviderConfig(timeout_s=9), Settings())
    assert (claude.provider, claude.model, claude.cost_limit_usd) == ("claude-cli", "sonnet", 1.0)
    assert CommandProvider(CODEX)(None, ProviderConfig(), Settings()).cost_limit_usd is None
    tool = CommandProvider(None)("mytool", ProviderConfig(), Settings())
    assert repr(tool) == "CommandModel('command', 'mytool')"
    assert CommandModel(CLAUDE).cost_limit_usd is None


def test_without_a_python_executable_there_is_no_supervising_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that was frozen into one file would start itself again."""
    assert watched_command(("/bin/tool", "x"))[-3:] == ["/bin/tool", "/bin/tool", "x"]
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert watched_command(("/bin/tool", "x")) == ["/bin/tool", "x"]
    monkeypatch.delattr(sys, "frozen")
    monkeypatch.setattr(sys, "executable", "")
    assert watched_command(("/bin/tool", "x")) == ["/bin/tool", "x"]


# ------------------------------------------------------------------ systems


async def test_a_system_without_process_groups_is_named_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg")
    with pytest.raises(ConfigurationError, match=r"process groups, which '.+' lacks") as refused:
        CommandProvider(CLAUDE)(None, ProviderConfig(), Settings())
    assert "over HTTP" in str(refused.value.hint)
    with pytest.raises(ConfigurationError, match="process groups"):
        await run_command([sys.executable, "-c", ""], stdin="", timeout_s=60, environment={})
