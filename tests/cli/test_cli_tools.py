"""Tools on the command line, and answers to agents that ask for information."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.kit import Command, as_process, said, script

from roundtable.results.debate_result import DebateResult

QUERY = "How much tea is in stock?"
ASKS = {"toolCalls": [{"name": "request_context", "args": {"query": QUERY, "reason": "It decides."}}]}
TOOLS = ("--tools", "request_context")


OPENS = {"toolCalls": [{"name": "fetch_url", "args": {"url": "http://127.0.0.1:9/\u202etxt.\x1b[2J"}}]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "error"),
    [
        pytest.param("n\n", "not approved", marks=pytest.mark.slow),
        ("not today\n", "not approved: not today"),
        pytest.param("", "not approved", marks=pytest.mark.slow),
        ("y\n", ""),
    ],
)
def test_a_person_approves_each_call_on_the_terminal(tmp_path: Path, typed: str, error: str) -> None:
    agent = script(tmp_path, "ada", {"*": [OPENS, said("Tea")]})
    words = ("Tea or coffee?", "--agents", agent, "--rounds", "1", "--fetch", "--approve-tools", "--json")
    done = as_process(tmp_path, words, typed=typed)
    assert done.code == 0, done.both
    (call,) = DebateResult.from_json(done.out).rounds[0].responses[0].tool_calls
    assert "wants to call fetch_url" in done.err
    assert not {"\x1b", "\u202e"} & {*done.err}
    assert call.error is not None
    if error:
        assert call.error == error
    else:
        assert "not approved" not in call.error  # the call was made, and refused by the guard


@pytest.fixture
def asking(place: Path) -> str:
    """An agent that asks for information in its first round, and answers in all that follow."""
    return script(place, "ada", {"*": [ASKS, *[said("Tea")] * 6]})


def waiting_session(command: Command, agent: str) -> DebateResult:
    done = command("Tea or coffee?", "--agents", agent, "--rounds", "2", "--json", *TOOLS)
    assert done.code == 0
    return DebateResult.from_json(done.out)


def test_a_waiting_debate_says_what_it_waits_for_and_how_to_answer(command: Command, asking: str) -> None:
    done = command("Tea or coffee?", "--agents", asking, "--rounds", "2", *TOOLS)
    assert done.code == 0
    assert "Status: needs_context, session paused" in done.out
    assert f": {QUERY}" in done.out
    answer = next(text for text in done.out.splitlines() if text.startswith("Answer and resume: "))
    assert "roundtable resume" in answer
    assert "--context=ctx-" in answer
    assert "--tools request_context" in answer


@pytest.mark.parametrize(("words", "rounds"), [(("resume",), 2), (("extend", "--rounds", "1"), 3)])
def test_an_answer_is_given_as_text_or_in_a_file(
    command: Command, asking: str, place: Path, words: tuple[str, ...], rounds: int
) -> None:
    waiting = waiting_session(command, asking)
    script(place, "ada", {"*": said("Tea")})
    (place / "stock.txt").write_text("Two boxes.", "utf-8")
    (asked,) = waiting.context_requests
    done = command(words[0], waiting.session_id, *words[1:], f"--context={asked.id}=@stock.txt", "--json", *TOOLS)
    assert done.code == 0
    result = DebateResult.from_json(done.out)
    assert (result.status, len(result.rounds), result.context_requests) == ("completed", rounds, ())


@pytest.mark.parametrize("word", ["resume", "extend"])
def test_continuing_without_an_answer_is_refused_unless_forced(command: Command, asking: str, word: str) -> None:
    waiting = waiting_session(command, asking)
    refused = command(word, waiting.session_id, *TOOLS)
    assert refused.code == 6
    assert QUERY in refused.err
    assert "--force" in refused.err
    assert command(word, waiting.session_id, "--force", *TOOLS).code == 0


@pytest.mark.parametrize("given", ["Two boxes.", "=x", "ctx-1=", "ctx-1=@nowhere.txt"])
def test_an_answer_of_another_form_is_refused(command: Command, asking: str, given: str) -> None:
    done = command("resume", "1234", "--context", given)
    assert done.code == 2
    assert "--context" in done.err


def test_an_unknown_tool_is_refused_with_the_known_tools(command: Command, asking: str) -> None:
    done = command("Tea?", "--agents", asking, "--tools", "nothing")
    assert done.code == 2
    assert "unknown tool 'nothing'" in done.err
    assert "request_context" in done.err


@pytest.mark.slow
def test_a_request_of_an_ended_process_can_be_answered_from_another_process(place: Path, asking: str) -> None:
    begun = as_process(place, ["Tea or coffee?", "--agents", asking, "--rounds", "2", "--json", *TOOLS])
    assert begun.code == 0, begun.err
    waiting = DebateResult.from_json(begun.out)
    answer = f"--context={waiting.context_requests[0].id}=Two boxes."
    ended = as_process(place, ["resume", waiting.session_id, answer, "--json", *TOOLS])
    assert ended.code == 0, ended.err
    assert DebateResult.from_json(ended.out).status == "completed"
