"""Every command does what its help says, in lines and in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from cli.kit import ROOT, Command, Done, always, said, script, stored

from roundtable.results.debate_result import DebateResult

ESCAPE = "\x1b"


def session_of(done: Done) -> str:
    return DebateResult.from_json(done.out).session_id


@pytest.fixture
def agree(tmp_path: Path) -> str:
    return always(tmp_path, {"ada": "Tea", "bo": "Tea", "cy": "Coffee"})


@pytest.fixture
def differ(tmp_path: Path) -> str:
    return always(tmp_path, {"ada": "Tea", "bo": "Coffee", "cy": "Mate"})


# ------------------------------------------------------------------ debate


def test_a_debate_shows_positions_reasons_confidence_agreement_and_where_it_is_stored(
    command: Command, agree: str, tmp_path: Path
) -> None:
    done = command("Tea or coffee?", "--agents", agree, "--rounds", "2")
    assert done.code == 0
    for part in (
        "Tea or coffee?",
        "scripted (ada.json)",
        "(80%): Tea",
        "Because coffee.",
        "Round 2 of 2",
        "Agreement 0.33 to 1.00: 1 answer not compared (declared)",
        "Answer: Tea",
        "Agreement before the debate: 0.33 to 1.00: 1 answer not compared",
        str(tmp_path / "data" / "roundtable.db"),
        "roundtable show ",
        "roundtable extend ",
    ):
        assert part in done.out
    assert ESCAPE not in done.out
    assert done.err == ""


def test_the_word_debate_may_be_left_out_and_options_may_come_first(command: Command, agree: str) -> None:
    debate_lines = command("debate", "Tea?", "--agents", agree, "--rounds", "1", "--json")
    short = command("Tea?", "--agents", agree, "--rounds", "1", "--json")
    first = command("--agents", agree, "--rounds", "1", "--json", "Tea?")
    answers = [DebateResult.from_json(done.out).answer for done in (debate_lines, short, first)]
    assert answers == ["Tea", "Tea", "Tea"]


def test_a_topic_that_is_the_name_of_a_command_needs_the_word_debate(command: Command, agree: str) -> None:
    done = command("debate", "modes", "--agents", agree, "--rounds", "1", "--json")
    assert DebateResult.from_json(done.out).topic == "modes"


def test_a_private_round_and_the_gate_can_be_set_by_options(command: Command, agree: str) -> None:
    asked = ("--agents", agree, "--rounds", "3", "--baseline", "--skip-rounds-when", "0.3", "--json")
    shown = json.loads(command("Tea or coffee?", *asked).out)
    assert (shown["exit"]["reason"], len(shown["rounds"])) == ("skipped", 1)
    assert shown["rounds"][0]["baseline"]["method"] == "declared"


def test_json_is_the_result_and_fits_the_published_schema(command: Command, agree: str) -> None:
    done = command("Tea?", "--agents", agree, "--rounds", "2", "--json")
    schema = json.loads((ROOT / "docs/reference/schemas/DebateResult.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(done.json)
    assert DebateResult.from_json(done.out).to_json() == done.out.strip()
    assert done.err == ""


def test_three_positions_give_no_answer_but_the_reason_and_the_positions(command: Command, differ: str) -> None:
    lines = command("Tea?", "--agents", differ, "--rounds", "1")
    assert lines.code == 0
    tail = lines.out.partition("No answer: ")[2]
    assert tail.startswith("no decision: it depends on whether 'Coffee', 'Mate' and 'Tea' say the same")
    for position in ("Tea — scripted (ada.json)", "Coffee — scripted (bo.json)", "Mate — scripted (cy.json)"):
        assert position in tail
    result = DebateResult.from_json(command("Tea?", "--agents", differ, "--rounds", "1", "--json").out)
    assert result.answer is None
    assert "which isn't settled" in (result.answer_reason or "")
    assert [response.position for response in result.rounds[-1].responses] == ["Tea", "Coffee", "Mate"]


def test_options_are_given_with_commas_or_one_by_one(command: Command, tmp_path: Path) -> None:
    agents = ",".join(script(tmp_path, name, {"*": said("It is", choice="yes, now")}) for name in ("ada", "bo"))
    done = command("Now?", "-a", agents, "-r", "1", "--options", "no,later", "--option", "yes, now", "--json")
    result = DebateResult.from_json(done.out)
    assert result.config.options == ("no", "later", "yes, now")
    assert (result.answer, result.answer_source) == ("yes, now", "option")
    shown = command("show", result.session_id)
    assert "Options: no, later, yes, now" in shown.out
    assert "[yes, now] It is" in shown.out


def test_quiet_shows_only_the_end_of_a_debate(command: Command, agree: str) -> None:
    done = command("Tea?", "--agents", agree, "--rounds", "2", "--quiet")
    assert done.out.startswith("Answer: Tea")


def test_a_focus_question_and_a_deadline_go_with_the_debate(command: Command, agree: str) -> None:
    done = command("Tea?", "-a", agree, "-r", "1", "--focus", "At noon?", "--deadline", "30", "--json")
    assert DebateResult.from_json(done.out).rounds[0].focus_question == "At noon?"


def test_a_debate_ends_early_when_asked_to(command: Command, agree: str) -> None:
    done = command("Tea?", "-a", agree, "-r", "3", "--exit-on-consensus", "--json")
    result = DebateResult.from_json(done.out)
    assert (len(result.rounds), result.total_rounds) == (2, 3)
    assert result.exit is not None
    assert result.exit.reason == "convergence"
    assert DebateResult.from_json(command("Tea?", "-a", agree, "-r", "2", "--json").out).config.exit is None


def test_a_failed_agent_is_named_and_the_others_continue(command: Command, tmp_path: Path) -> None:
    agents = f"{always(tmp_path, {'ada': 'Tea'})},{script(tmp_path, 'bo', [])}"
    done = command("Tea?", "--agents", agents, "--rounds", "1")
    assert done.code == 0
    assert "scripted (bo.json) FAILED:" in done.out
    assert "Missing: scripted (bo.json) failed 1 of 1 turn" in done.out
    assert done.err == ""


def test_a_debate_in_memory_is_not_stored_after_the_command(command: Command, agree: str) -> None:
    done = command("Tea?", "--agents", agree, "--rounds", "1", "--storage", "memory://")
    assert "Not stored: memory:// ends with the command." in done.out
    assert "roundtable show" not in done.out
    assert not Path("data").exists()


def test_a_result_is_written_as_a_page_too(command: Command, agree: str) -> None:
    done = command("<b>Tea?</b>", "--agents", agree, "--rounds", "1", "--html", "out.html", "--json")
    page = Path("out.html").read_text("utf-8")
    assert "&lt;b&gt;Tea?&lt;/b&gt;" in page
    assert "<b>" not in page
    command("show", session_of(done), "--html", "again.html")
    assert Path("again.html").read_text("utf-8") == page


def test_sessions_are_stored_elsewhere_with_a_warning_if_the_default_place_cannot_be_written(
    command: Command, place: Path, agree: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "data").write_text("no folder")
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "home"))
    done = command("Tea?", "--agents", agree, "--rounds", "1")
    assert done.code == 0
    assert "cannot be written; sessions are stored in" in done.err
    assert str(place / "home" / "roundtable" / "roundtable.db") in done.out


@pytest.mark.parametrize("chosen", ["DATABASE_PATH", "--db", "--storage"])
def test_a_chosen_storage_is_never_replaced_by_another(
    command: Command, place: Path, agree: str, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    (place / "data").write_text("no folder")
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "home"))
    words = ["Tea?", "--agents", agree, "--rounds", "1"]
    if chosen == "DATABASE_PATH":
        # Also where it is the very place that nobody would have to name.
        monkeypatch.setenv("DATABASE_PATH", "data/roundtable.db")
    else:
        words += [chosen, "data/x.db" if chosen == "--db" else "sqlite:///data/x.db"]
    done = command(*words)
    assert done.code == 7
    assert "cannot be created" in done.err
    assert "Hint: " in done.err
    assert not (place / "home").exists()


# ------------------------------------------------------------------ stored sessions


def test_a_session_can_be_shown_by_the_first_characters_of_its_id(command: Command, agree: str) -> None:
    told = command("Tea?", "--agents", agree, "--rounds", "2", "--json")
    session = session_of(told)
    assert command("show", session, "--json").out == told.out
    assert command("show", session[:6], "--json").out == told.out
    shown = command("show", session[:6]).out
    assert all(part in shown for part in ("Tea?", "Round 1 of 2", "Round 2 of 2", "Because coffee.", "Answer: Tea"))


def test_suggested_commands_repeat_the_storage(command: Command, agree: str) -> None:
    done = command("Tea?", "--agents", agree, "--rounds", "1", "--db", "my debates.db")
    assert "--db 'my debates.db'" in done.out
    session = json.loads(command("sessions", "--db", "my debates.db", "--json").out)[0]["id"]
    assert command("show", session, "--storage", "sqlite:///my debates.db").code == 0


@pytest.mark.parametrize("given", ["", "zz", "0" * 32])
def test_an_unknown_session_is_an_error(command: Command, agree: str, given: str) -> None:
    command("Tea?", "--agents", agree, "--rounds", "1")
    done = command("show", given)
    assert done.code == 6
    assert "Hint: " in done.err


@pytest.mark.slow
def test_an_ambiguous_session_id_is_an_error(command: Command, agree: str) -> None:
    ids = [session_of(command("Tea?", "-a", agree, "-r", "1", "--json")) for _ in range(17)]
    first = next(letter for letter in "0123456789abcdef" if sum(name.startswith(letter) for name in ids) > 1)
    done = command("show", first, "--json")
    assert done.code == 6
    assert done.json["code"] == "SESSION_AMBIGUOUS"  # type: ignore[index]


def test_sessions_are_listed_newest_first_and_filtered(command: Command, agree: str) -> None:
    command("Tea?", "--agents", agree, "--rounds", "1")
    command("A very long question about " + "coffee " * 20, "--agents", agree, "--rounds", "1")
    listed = command("sessions").out.splitlines()
    assert [line.split()[1] for line in listed[1:]] == ["completed", "completed"]
    assert listed[1].endswith("…")
    assert listed[2].endswith("Tea?")
    assert len(json.loads(command("sessions", "--json", "--topic", "tea").out)) == 1
    assert len(json.loads(command("sessions", "--json", "--limit", "1").out)) == 1
    assert json.loads(command("sessions", "--json", "--status", "paused").out) == []


def test_reading_an_empty_storage_creates_no_file(command: Command) -> None:
    assert "No session" in command("sessions").out
    assert json.loads(command("sessions", "--json").out) == []
    assert command("show", "abc").code == 6
    assert command("doctor").code in {0, 2}
    assert not Path("data").exists()
    assert "tipo.db. The file does not exist; check --db." in command("sessions", "--db", "tipo.db").out
    assert "tipo.db. The file does not exist; check --db." in command("search", "tea", "--db", "tipo.db").out
    assert "nothing is stored in" in command("backup", "copy.db", "--db", "tipo.db").err
    assert "tipo.db. The file does not exist; check --db." in command("fleet", "status", "--db", "tipo.db").out
    assert not Path("tipo.db").exists()
    assert not Path("tipo.fleet.db").exists()


def test_a_session_is_extended(command: Command, agree: str) -> None:
    session = session_of(command("Tea?", "--agents", agree, "--rounds", "1", "--json"))
    done = command("extend", session[:8], "--rounds", "2", "--focus", "At noon?")
    assert done.code == 0
    assert "Round 2 of 3: At noon?" in done.out
    assert "Round 1 of" not in done.out
    result = DebateResult.from_json(command("show", session, "--json").out)
    assert (len(result.rounds), result.status) == (3, "completed")


def test_budgets_of_the_command_line_hold_for_debate_resume_and_extend(command: Command, agree: str) -> None:
    begun = command("Tea?", "--agents", agree, "--rounds", "2", "--budget", "calls=1", "--json")
    session = session_of(begun)
    for word, calls in (("resume", 2), ("extend", 3)):
        command(word, session, "--budget", f"calls={calls},tokens=100000", "--deadline", "60")
        result = DebateResult.from_json(command("show", session, "--json").out)
        assert (result.exit and result.exit.reason, result.usage.calls) == ("budget", calls)


def test_a_spent_budget_is_refused_with_a_way_to_continue_and_changes_nothing(command: Command, agree: str) -> None:
    begun = command("Tea?", "--agents", agree, "--rounds", "1", "--json")
    session = session_of(begun)
    before = command("show", session, "--json").out
    refused = command("extend", session, "--budget", "calls=1")
    assert refused.code == 1
    assert "its budget is 1" in refused.err
    assert "--budget calls=" in refused.err
    assert command("show", session, "--json").out == before
    half = session_of(command("Tea?", "--agents", agree, "--rounds", "2", "--budget", "calls=1", "--json"))
    assert f"roundtable resume {half[:8]} --budget=LIMIT=NUMBER" in command("show", half).out
    assert command("resume", half).code == refused.code


@pytest.mark.parametrize("wrong", ["40", "calls=", "calls=0", "calls=x", "money=3", "calls=3,calls=4", "usd=-1"])
def test_an_invalid_budget_is_refused_with_its_value(command: Command, agree: str, wrong: str) -> None:
    done = command("Tea?", "--agents", agree, "--budget", wrong)
    assert done.code == 2
    assert wrong.split(",", 1)[0].partition("=")[0] in done.err
    assert "--budget usd=0.5,calls=40" in done.err or "once" in done.err


def test_resuming_a_completed_session_is_refused_with_a_way_to_continue(command: Command, agree: str) -> None:
    session = session_of(command("Tea?", "--agents", agree, "--rounds", "1", "--json"))
    done = command("resume", session)
    assert done.code == 6
    assert "completed" in done.err
    assert "Hint: " in done.err
    error = command("resume", session, "--json").json
    assert isinstance(error, dict)
    assert (error["name"], error["sessionId"]) == ("SessionConflict", session)


def test_a_lost_quorum_shows_the_answers_so_far_and_resuming_asks_only_for_missing_ones(
    command: Command, tmp_path: Path
) -> None:
    agents = f"{script(tmp_path, 'ada', [said('Tea')])},{script(tmp_path, 'bo', [said('Tea')])}"
    done = command("Tea?", "--agents", agents, "--rounds", "2")
    assert done.code == 5
    assert "Positions in round 1" in done.out or "Answer: Tea" in done.out
    assert "Status: partial, session error" in done.out
    assert "Error: 0 of 2 agents answered" in done.err
    assert "Hint: " in done.err
    session = json.loads(command("sessions", "--json").out)[0]["id"]
    always(tmp_path, {"ada": "Coffee", "bo": "Coffee"})
    again = command("resume", session)
    assert again.code == 0
    assert "Answer: Coffee" in again.out
    result = DebateResult.from_json(command("show", session, "--json").out)
    assert [response.position for response in result.rounds[0].responses] == ["Tea", "Tea"]


def test_lost_quorum_in_json_is_the_error_with_its_session(command: Command, tmp_path: Path) -> None:
    done = command("Tea?", "--agents", script(tmp_path, "ada", []), "--json")
    assert done.code == 5
    error = done.json
    assert isinstance(error, dict)
    assert error["code"] == "QUORUM_LOST"
    assert len(error["sessionId"]) == 32
    assert error["hint"]


def test_a_failed_session_can_be_resumed_but_not_stopped(command: Command, tmp_path: Path) -> None:
    command("Tea?", "--agents", script(tmp_path, "ada", []), "--rounds", "1")
    session = json.loads(command("sessions", "--json").out)[0]["id"]
    done = command("stop", session[:8])
    assert done.code == 6
    assert "nothing to stop" in done.err


def test_a_session_that_is_not_running_cannot_be_paused(command: Command, agree: str) -> None:
    session = session_of(command("Tea?", "--agents", agree, "--rounds", "1", "--json"))
    done = command("pause", session)
    assert done.code == 6
    assert "only a running session" in done.err


# ------------------------------------------------------------------ what there is


def test_the_command_agents_says_which_agents_would_debate_and_why(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-0123456789")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-0123456789")
    done = command("agents")
    assert done.code == 0
    assert "OPENAI_API_KEY is set" in done.out
    assert "ANTHROPIC_API_KEY is set" in done.out
    listed = command("agents", "--json").json
    assert isinstance(listed, dict)
    assert {agent["provider"] for agent in listed["agents"]} == {"anthropic", "openai"}
    assert "canary" not in done.both


def test_the_command_agents_shows_the_agents_named_on_the_command_line(command: Command, agree: str) -> None:
    done = command("agents", "--agents", agree)
    assert done.out.count("named on the command line") == 3


def test_modes_are_listed(command: Command) -> None:
    assert "collaborative" in command("modes").out
    listed = command("modes", "--json").json
    assert isinstance(listed, list)
    assert {"name": "collaborative", "minRounds": 1, "maxRounds": 10}.items() <= listed[0].items()


def test_help_shows_the_commands_and_the_exit_codes(command: Command) -> None:
    done = command("--help")
    assert done.code == 0
    for word in ("debate", "resume", "doctor", "models", "130", "Ctrl-C"):
        assert word in done.out
    assert command().out
    assert "--deadline" in command("debate", "--help").out


@pytest.mark.parametrize("words", [("--version",), ("--version", "x")])
def test_the_version_is_shown(command: Command, words: tuple[str, ...]) -> None:
    assert command(*words).out.startswith("roundtable 0.")


# ------------------------------------------------------------------ estimate


def test_an_estimate_states_the_worst_case_and_starts_no_debate(command: Command, agree: str) -> None:
    done = command("Tea or coffee?", "--agents", agree, "--rounds", "2", "--estimate")
    assert done.code == 0
    assert "At most 12 calls, " in done.out
    assert "unknown cost" in done.out
    assert "6 calls if every answer can be read on the first try" in done.out
    assert "scripted-ada.json: at most " in done.out
    assert command("sessions", "--json").json == []


def test_an_estimate_is_one_json_document(command: Command, agree: str) -> None:
    done = command("Tea or coffee?", "--agents", agree, "--rounds", "1", "--estimate", "--json")
    found = done.json
    assert isinstance(found, dict)
    assert (found["plannedCalls"], found["calls"], found["costUsd"]) == (3, 6, None)
    assert command("Tea?", "--agents", agree, "--rounds", "0", "--estimate").code != 0


def test_a_debate_is_synthesized_at_its_end_or_later(command: Command, tmp_path: Path) -> None:
    made = {"conclusion": "Drink what you like.", "commonGround": ["Both wake."]}
    ada = script(tmp_path, "ada", [said("Tea"), made])
    agents = f"{ada},{always(tmp_path, {'bo': 'Coffee'})}"
    done = command("Tea or coffee?", "--agents", agents, "--rounds", "1", "--synthesize")
    assert "Answer: Drink what you like." in done.out
    assert "Common ground: Both wake." in done.out
    again = command("synthesize", "last", "--json")
    assert again.json["answer"] == "Drink what you like."
    assert command("synthesize", "last").out.count("Common ground: Both wake.") == 1


def test_an_unreadable_synthesis_is_shown_in_part_and_can_be_requested_again(command: Command, differ: str) -> None:
    done = command("Tea or coffee?", "--agents", differ, "--rounds", "1", "--synthesize")
    assert done.code == 0
    assert "No answer: no decision" in done.out
    assert "Synthesis in part: the answer of the synthesizer could not be read" in done.out
    again = command("synthesize", "last", "--json")
    assert again.json["usage"]["calls"] > 5


def test_a_failed_synthesis_is_reported_and_can_be_requested_again(command: Command, tmp_path: Path) -> None:
    ada = script(tmp_path, "ada", [said("Tea"), " ", " "])
    agents = f"{ada},{always(tmp_path, {'bo': 'Coffee'})}"
    done = command("Tea or coffee?", "--agents", agents, "--rounds", "1", "--synthesize")
    assert done.code == 0
    assert "No synthesis: " in done.out
    assert "Conclusion: " in command("synthesize", "last").out  # its script begins anew


def test_files_are_attached_to_the_question(command: Command, agree: str, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("Tea keeps.")
    (tmp_path / "wrong.png").write_text("no image")
    done = command("Tea?", "--agents", agree, "--rounds", "1", "--attach", str(tmp_path / "notes.md"))
    assert "Files: notes.md (text/markdown, 10 bytes)" in done.out
    assert [each.name for each in stored(command).config.attachments] == ["notes.md"]
    refused = command("Tea?", "--agents", agree, "--attach", str(tmp_path / "wrong.png"))
    assert refused.code != 0
    assert "'wrong.png' is called image/png, but contains text/plain" in refused.err
    missing = command("Tea?", "--agents", agree, "--attach", str(tmp_path / "none.txt"), "--estimate")
    assert "'none.txt' cannot be read" in missing.err


def test_a_batch_for_a_provider_that_no_agent_uses_is_refused(command: Command) -> None:
    done = command("Tea?", "--agents", "anthropic:a,compatible:b", "--batch", "openai")
    assert done.code == 2
    assert "--batch openai: no agent uses this provider" in done.both
    assert "The agents are anthropic:a, compatible:b" in " ".join(done.both.split())
