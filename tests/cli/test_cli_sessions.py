"""Commands on stored sessions: files, search, removal, and following from elsewhere."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from cli.kit import Done, always, said, script
from integration.engine_kit import some_every_day
from unit.report_kit import without_hashes
from unit.test_record_chain import keys

from roundtable import DebateResult
from roundtable.analysis.arguments import ArgumentGraph
from roundtable.results import DecisionAudit
from roundtable.results.evidence import EvidenceReport
from roundtable.sync import Roundtable
from roundtable.testing import scripted_agents
from roundtable.testing.servers import LoopbackServer, http_reply

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cli.kit import Command


@pytest.fixture
def held(command: Command, place: Path) -> str:
    agents = always(place, {"ada": "Tea", "bo": "Tea", "cy": "Milk"})
    done = command("Tea or milk?", "--agents", agents, "--rounds", "2", "--db", "d.db", "--json").json
    assert isinstance(done, dict)
    return str(done["sessionId"])


def fields(done: Done) -> dict[str, object]:
    assert done.code == 0, done.both
    assert isinstance(done.json, dict)
    return done.json


def test_a_session_is_exported_to_the_screen_or_to_files(command: Command, place: Path, held: str) -> None:
    shown = command("export", "last", "--db", "d.db")
    assert shown.code == 0
    assert shown.out.startswith("# Tea or milk?\n")
    assert "## Minority report" in shown.out
    done = command("export", held[:6], "--db", "d.db", "-o", "a.md", "-o", "a.csv", "-o", "s.json", "--html", "a.html")
    assert done.out.splitlines() == ["Wrote a.md", "Wrote a.csv", "Wrote s.json", "Wrote a.html"]
    assert (place / "a.md").read_text() == shown.out
    assert (place / "a.html").read_text().startswith("<!doctype html>")
    assert json.loads((place / "s.json").read_text()) == command("export", held, "--db", "d.db", "--json").json
    assert fields(command("export", held, "--db", "d.db", "--json", "-o", "b.md")) == {
        "sessionId": held,
        "files": ["b.md"],
    }
    assert command("export", held, "--db", "d.db", "--format", "csv").out.count("\n") == 7
    refused = command("export", held, "--db", "d.db", "--format", "csv", "--json")
    assert (refused.code, refused.json["code"]) == (2, "CONFIGURATION_ERROR")  # type: ignore[index]


def test_whole_ids_and_beginnings_of_long_ids_name_one_session(command: Command, place: Path) -> None:
    long = "ticket-2026-11-28-billing-service-rewrite"
    with Roundtable(scripted_agents({"ada": "Tea"}), storage=f"sqlite:///{place}/d.db") as table:
        for name in ("job-1", "job-17", long):
            table.debate_once(name, "Tea?", rounds=1)
    for typed, name in (("job-1", "job-1"), ("job-17", "job-17"), (long[:-4], long), (long, long)):
        assert fields(command("show", typed, "--db", "d.db", "--json"))["sessionId"] == name
    assert command("show", "job", "--db", "d.db").code == 6


def test_an_audit_repeats_the_last_round_after_stating_the_price(command: Command, held: str) -> None:
    worst = fields(command("audit", held, "--rerun", "2", "--estimate", "--db", "d.db", "--json"))
    assert worst["plannedCalls"] == 6
    assert len(json.loads(command("sessions", "--db", "d.db", "--json").out)) == 1
    limited = command("audit", held[:6], "--rerun", "2", "--budget", "calls=1", "--db", "d.db")
    assert limited.code != 0
    assert "budget" in limited.err
    shown = command("audit", held[:6], "--rerun", "2", "--budget", "calls=9", "--db", "d.db")
    assert shown.code == 0, shown.both
    assert "At most 12 calls" in shown.err
    assert "Repeated: round 2, 2 times, with agents in another order and another seed" in shown.out
    assert "Held: 2 of 2" in shown.out
    words = ("--rerun", "1", "--change", "labels", "--without", "scripted-cy.json", "--db", "d.db", "--json")
    again = fields(command("audit", held, *words))
    assert (again["change"], again["without"], again["held"], again["answer"]) == (
        *("labels", "scripted (cy.json)"),
        *(1, "Tea"),
    )


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--estimate"], "--estimate needs --rerun"),
        (["--without", "ada"], "--without needs"),
        (["--budget", "calls=9"], "--budget needs"),
        (["--tools", "fact_check"], "--tools needs"),
        (["--base-url", "http://127.0.0.1:1"], "--base-url needs"),
        (["--approve-tools"], "--approve-tools needs"),
        (["--change", "labels"], "--change needs"),
        (["--timeout", "0"], "--timeout needs"),
    ],
)
def test_an_audit_without_calls_takes_no_options_of_a_rerun(
    command: Command, held: str, words: list[str], problem: str
) -> None:
    done = command("audit", held, *words, "--db", "d.db")
    assert done.code != 0
    assert problem in done.err


def test_a_rerun_offers_the_tools_of_the_debate(command: Command, place: Path) -> None:
    agents = always(place, {"ada": "Tea", "bo": "Tea"})
    done = command("Tea?", "--agents", agents, "--tools", "fact_check", "--rounds", "1", "--db", "d.db", "--json")
    session = str(fields(done)["sessionId"])
    rerun = ("audit", session, "--rerun", "1", "--db", "d.db", "--json")
    assert command(*rerun).code != 0
    again = fields(command(*rerun, "--tools", "fact_check"))
    assert again["held"] == 1


def test_a_decision_is_audited_without_a_model(command: Command, held: str) -> None:
    shown = command("audit", held[:6], "--db", "d.db")
    assert shown.code == 0, shown.both
    assert shown.out.startswith("Audit: Tea or milk?\n")
    assert "Without scripted (ada.json): not known" in shown.out
    assert "Without scripted (cy.json): Tea\n" in shown.out
    audit = DecisionAudit.from_json(command("audit", "last", "--db", "d.db", "--json").out)
    assert (audit.session_id, audit.winner, audit.fragile) == (held, "Tea", None)
    result = DebateResult.from_json(command("show", held, "--db", "d.db", "--json").out)
    assert result.audit() == audit


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["audit", "ffff"], 6),
        (["export", "last", "--format", "pdf"], 2),
        (["export", "last", "-o", "a.pdf"], 2),
        (["export", "last", "-o", "nowhere/a.md"], 7),
        (["export", "ffff"], 6),
        (["import", "none.json"], 7),
        (["import", "ada.json"], 6),
        (["sessions", "--since", "yesterday"], 2),
        (["sessions", "--meta", "team"], 2),
        (["sessions", "--after", "x"], 2),
        (["prune", "--before", "soon", "--yes"], 2),
        (["prune", "--before", "2020-01-01", "--status", "tired"], 2),
        (["backup", "d.db"], 7),
        (["delete", "last"], 2),
    ],
)
def test_an_impossible_command_is_an_error_without_a_traceback(
    command: Command, held: str, words: list[str], code: int
) -> None:
    done = command(*words, "--db", "d.db")
    assert done.code == code, done.both
    assert "Error:" in done.err
    assert "Traceback" not in done.both


def test_a_session_is_moved_to_another_database_and_back(command: Command, place: Path, held: str) -> None:
    command("export", held, "--db", "d.db", "-o", "s.json")
    assert "Stored session" in command("import", "s.json", "--db", "e.db").out
    assert command("import", "s.json", "--db", "e.db").code == 6
    other = fields(command("import", "s.json", "--db", "e.db", "--new-id", "--json"))["sessionId"]
    assert other != held
    assert (
        command("show", held, "--db", "e.db").out.replace("e.db", "d.db") == command("show", held, "--db", "d.db").out
    )


def test_sessions_are_listed_by_page_and_filtered_by_date_and_metadata(
    command: Command, place: Path, held: str
) -> None:
    command("export", held, "--db", "d.db", "-o", "s.json")
    for _ in range(2):
        command("import", "s.json", "--db", "d.db", "--new-id")
    first = command("sessions", "--db", "d.db", "--limit", "2")
    assert len(first.out.splitlines()) == 3
    cursor = first.err.split("--after ")[1].strip()
    assert len(command("sessions", "--db", "d.db", "--limit", "2", "--after", cursor).out.splitlines()) == 2
    assert command("sessions", "--db", "d.db", "--since", "2020-01-01", "--json").out.count('"topic"') == 3
    for none in (["--until", "2020-01-01"], ["--since", "2999-01-01"], ["--meta", "team=core"]):
        assert "No session" in command("sessions", "--db", "d.db", *none).out


def test_sessions_are_found_by_words_of_their_answers(command: Command, held: str) -> None:
    found = command("search", "milk", "--db", "d.db", "--session", "last")
    assert found.out.splitlines()[0] == f"{held[:8]} Tea or milk?"
    assert "round 1, " in found.out
    assert "No match" in command("search", "rum", "--db", "d.db").out
    assert "No match" in command("search", "rum", "--db", "none.db").out
    assert command("search", "milk", "--db", "d.db", "--json").out.count('"snippet"') >= 2


def test_sessions_are_deleted_only_on_confirmation(command: Command, place: Path, held: str) -> None:
    command("export", held, "--db", "d.db", "-o", "s.json")
    command("import", "s.json", "--db", "d.db", "--new-id")
    assert command("backup", "copy.db", "--db", "d.db").out.startswith("Copied ")
    assert fields(command("backup", "copy2.db", "--db", "d.db", "--json")) == {"file": "copy2.db"}
    assert "Removed session" in command("delete", held, "--yes", "--db", "d.db").out
    assert fields(command("delete", "last", "--yes", "--db", "d.db", "--json"))["removed"] == 1
    assert len(command("sessions", "--db", "copy.db").out.splitlines()) == 3
    assert "Removed 0 of 0" in command("prune", "--before", "2020-01-01", "--db", "copy.db").out
    assert command("prune", "--before", "2999-01-01", "--db", "copy.db").code == 2
    pruned = command("prune", "--before", "2999-01-01", "--status", "completed", "--yes", "--db", "copy.db", "--json")
    assert fields(pruned) == {"removed": 2}


def test_a_finished_session_is_watched_from_its_first_event(command: Command, held: str) -> None:
    seen = command("watch", "last", "--db", "d.db")
    assert seen.code == 0
    assert seen.out.startswith("Tea or milk?\n")
    assert seen.out.count("Agreement 0.") == 2
    assert "Answer: Tea" in seen.out
    lines = command("watch", held, "--db", "d.db", "--json").out.splitlines()
    assert [json.loads(line)["type"] for line in lines][-1] == "debate_complete"


def test_doctor_looks_through_a_database_and_saves_what_can_be_read(command: Command, place: Path, held: str) -> None:
    assert "session" in command("doctor", "--db", "d.db").out
    spoilt = bytearray((place / "d.db").read_bytes())
    spoilt[4096 * 3 : 4096 * 4] = bytes(4096)
    (place / "s.db").write_bytes(spoilt)
    looked = command("doctor", "--db", "s.db")
    assert looked.code == 2
    assert "--salvage" in looked.both
    assert "--salvage" in command("sessions", "--db", "ada.json").both
    done = command("doctor", "--db", "s.db", "--salvage", "saved.db")
    assert done.code == 0, done.both
    assert done.out.startswith("Saved 1 session with ")
    (place / "saved.db").unlink()
    (place / "s.db").write_bytes(bytes(4096) + (place / "d.db").read_bytes()[4096:])
    refused = command("doctor", "--db", "s.db", "--salvage", "saved.db")
    assert (refused.code, "Restore a backup" in refused.both) == (7, True)
    (place / "s.db").write_bytes((place / "d.db").read_bytes())
    assert command("doctor", "--db", "s.db", "--salvage", "saved.db").code == 0
    assert command("show", held, "--db", "saved.db").code == 0
    assert fields(command("doctor", "--db", "s.db", "--salvage", "again.db", "--json"))["sessions"] == 1
    assert command("doctor", "--db", "s.db", "--salvage", "again.db").code == 7
    nowhere = command("doctor", "--db", "s.db", "--salvage", "nowhere/saved.db")
    assert (nowhere.code, nowhere.out) == (7, "")
    assert f"there is no folder '{place / 'nowhere'}'" in nowhere.err
    assert command("doctor", "--storage", "memory://", "--salvage", "x.db").code == 2


@pytest.mark.slow
def test_a_fork_leaves_its_original_unchanged(command: Command, place: Path, held: str) -> None:
    before = command("show", held, "--db", "d.db").out
    forked = command("fork", held, "--at-round", "1", "--rounds", "3", "--focus", "And cold?", "--db", "d.db")
    assert forked.code == 0, forked.both
    assert "Round 3 of 3: And cold?" in forked.out
    assert command("show", held, "--db", "d.db").out == before
    assert len(command("sessions", "--db", "d.db").out.splitlines()) == 3
    again = fields(command("fork", held, "--at-round", "0", "--mode", "delphi", "--db", "d.db", "--json"))
    assert again["mode"] == "delphi"
    assert command("fork", held, "--at-round", "9", "--db", "d.db").code == 6


@pytest.mark.slow
def test_stored_answers_are_read_again_into_a_new_session(command: Command, place: Path, held: str) -> None:
    before = command("show", held, "--db", "d.db", "--json").out
    again = fields(command("reread", held, "--db", "d.db", "--json"))
    assert again["sessionId"] != held
    assert again["usage"]["calls"] == 0
    assert again["answer"] == fields(command("show", held, "--db", "d.db", "--json"))["answer"]
    assert command("reread", held, "--db", "d.db").out.startswith(command("show", held, "--db", "d.db").out[:20])
    assert command("show", held, "--db", "d.db", "--json").out == before
    assert len(command("sessions", "--db", "d.db").out.splitlines()) == 4
    assert command("reread", "unknown", "--db", "d.db").code == 6


OPTIONS = {
    "options": (["--options", "Tea,Milk"], ["Tea", "Milk"]),
    "decide": (["--decide", "unanimity"], "unanimity"),
    "vote": (["--vote"], True),
    "exit": (
        ["--exit-when", "consensus(0.9) & min_rounds(2)"],
        {"kind": "all", "of": [{"kind": "consensus", "threshold": 0.9}, {"kind": "min_rounds", "rounds": 2}]},
    ),
    "exitOnConsensus": (["--exit-on-consensus"], True),
    "quorum": (["--quorum", "2"], 2),
    "baseline": (["--baseline"], True),
    "synthesize": (["--synthesize"], True),
    "skipRoundsWhen": (["--skip-rounds-when", "0"], 0.0),
    "budget": (["--budget", "calls=90"], {"maxCalls": 90}),
    "metadata": (["--meta", "run=7"], {"run": 7}),
}
"""Options by their name in the stored configuration: how the command writes one, and what is stored."""


@pytest.mark.slow
@pytest.mark.parametrize("name", some_every_day(OPTIONS, 4))
def test_a_debate_and_a_fork_store_the_options_of_the_command(
    command: Command, place: Path, held: str, name: str
) -> None:
    words, stored = OPTIONS[name]
    agents = always(place, {"ada": "Tea", "bo": "Tea", "cy": "Milk"})
    for start in (["Tea or milk?", "--agents", agents], ["fork", held, "--at-round", "0"]):
        done = command(*start, "--rounds", "2", "--db", "d.db", "--json", *words)
        assert done.code == 0, done.both
        session_id = str(fields(done)["sessionId"])
        config = json.loads(command("export", session_id, "--db", "d.db", "--json").out)["session"]["config"]
        value = config[name]
        if name == "budget":
            value = {field: limit for field, limit in value.items() if field in stored}
        assert value == stored, start


@pytest.mark.parametrize(
    ("words", "hint"),
    [(["--exit-when", "soon"], "unknown exit 'soon'"), (["--quorum", "0"], "quorum"), (["--meta", "team"], "--meta")],
)
def test_an_option_that_cannot_be_read_ends_the_command_before_a_call(
    command: Command, held: str, words: list[str], hint: str
) -> None:
    for start in (["Tea or milk?"], ["fork", held, "--at-round", "1", "--rounds", "3"]):
        refused = command(*start, "--db", "d.db", *words)
        assert refused.code == 2, refused.both
        assert hint in refused.both


def test_a_fork_shows_its_rounds_as_they_run(command: Command, place: Path, held: str) -> None:
    told = command("fork", held, "--at-round", "1", "--rounds", "3", "--db", "d.db").out
    assert "Round 1 of 3" not in told
    assert told.index("Round 2 of 3") < told.index("Round 3 of 3") < told.index("Answer: Tea")
    newest = fields(command("show", "last", "--db", "d.db", "--json"))["sessionId"]
    assert f"session {newest}" in told
    assert command("fork", held, "--at-round", "1", "--rounds", "3", "--db", "d.db", "-q").out.startswith("Answer: Tea")


def test_a_changed_prompt_version_is_adopted_on_request(command: Command, place: Path, held: str) -> None:
    document = json.loads(without_hashes(command("export", held, "--db", "d.db", "--json").out))
    document["session"]["promptVersion"] = "an earlier one"
    (place / "old.json").write_text(json.dumps(document))
    old = fields(command("import", "old.json", "--new-id", "--db", "d.db", "--json"))["sessionId"]
    refused = command("extend", str(old), "--db", "d.db")
    assert refused.code == 2
    assert "--adopt" in refused.both
    forked = command("fork", str(old), "--at-round", "1", "--rounds", "2", "--db", "d.db")
    assert forked.code == 0, forked.both
    assert command("extend", str(old), "--adopt", "--db", "d.db").code == 0
    assert command("extend", str(old), "--db", "d.db").code == 0


def test_a_session_from_a_file_starts_no_program_without_permission(command: Command, place: Path, held: str) -> None:
    document = without_hashes(command("export", held, "--db", "d.db", "--json").out).replace('"scripted"', '"command"')
    (place / "theirs.json").write_text(document)
    theirs = str(fields(command("import", "theirs.json", "--new-id", "--db", "d.db", "--json"))["sessionId"])
    refused = command("extend", theirs, "--db", "d.db")
    assert refused.code == 2
    assert "would start programs on this machine: command:ada.json" in refused.both
    let = ("import", "theirs.json", "--new-id", "--run-programs", "--db", "d.db", "--json")
    tried = command("extend", str(fields(command(*let))["sessionId"]), "--db", "d.db")
    assert "would start programs" not in tried.both


@pytest.mark.parametrize("way", ["settle", "cancel", "softly"])
def test_an_option_says_what_happens_to_running_calls(command: Command, place: Path, held: str, way: str) -> None:
    for action in ("pause", "stop"):
        done = command(action, held, "--running", way, "--db", "d.db")
        assert done.code == (2 if way == "softly" else 6)  # completed: nothing to stop


def test_a_damaged_session_is_named_among_the_others(command: Command, place: Path, held: str) -> None:
    agents = always(place, {"ada": "Tea", "bo": "Tea"})
    other = str(fields(command("Tea?", "--agents", agents, "--rounds", "1", "--db", "d.db", "--json"))["sessionId"])
    with closing(sqlite3.connect("d.db")) as connection, connection:
        connection.execute("UPDATE sessions SET agent_ids = '5' WHERE id = ?", (held,))
    shown = command("sessions", "--db", "d.db")
    assert shown.code == 0
    first, second = shown.out.splitlines()[1:]
    assert first.startswith(other[:6])
    assert second.startswith(held[:6])
    assert "damaged" in second
    assert "its entry in the storage is damaged" in second
    listed = command("sessions", "--db", "d.db", "--json").json
    assert isinstance(listed, list)
    assert [bool(one["error"]) for one in listed] == [False, True]
    looked = command("doctor", "--db", "d.db")
    assert "1 session in" in looked.both
    assert f"cannot be read: '{held}'" in looked.both
    assert command("delete", held, "--db", "d.db", "--yes").code == 0
    assert len(command("sessions", "--db", "d.db").out.splitlines()) == 2


def test_a_session_and_its_file_are_verified(command: Command, place: Path, held: str) -> None:
    shown = command("verify", held[:6], "--db", "d.db")
    assert shown.code == 0, shown.both
    assert shown.out.startswith("Intact: ")
    head = shown.out.splitlines()[-1].removeprefix("Head: ")
    assert command("verify", "last", "--db", "d.db", "--head", head).code == 0
    assert command("verify", "last", "--db", "d.db", "--head", "x").code == 2
    command("export", "last", "--db", "d.db", "-o", "s.json")
    assert fields(command("verify", "s.json", "--json"))["verdict"] == "intact"
    (place / "s.json").write_text((place / "s.json").read_text().replace('"position":"Milk"', '"position":"Wine"', 1))
    changed = command("verify", "s.json", "--head", head)
    assert changed.code == 1
    assert changed.out.startswith("Changed: 1 place differs from what was stored.\n- event ")
    refused = command("import", "s.json", "--db", "e.db")
    assert refused.code != 0
    assert "roundtable verify FILE" in refused.both


def test_a_file_is_signed_and_checked_with_keys(command: Command, place: Path, held: str) -> None:
    for name, text in zip(("key.pem", "pub.pem"), keys(), strict=True):
        (place / name).write_bytes(text)
    (place / "other.pem").write_bytes(keys()[1])
    signed = command("export", "last", "--db", "d.db", "-o", "s.json", "--sign", "key.pem")
    assert signed.code == 0, signed.both
    assert "Signature: valid, of this key." in command("verify", "s.json", "--key", "pub.pem").out
    other = command("verify", "s.json", "--key", "other.pem")
    assert (other.code, "Signature: of another key." in other.out) == (1, True)
    for refused in (
        ("verify", "s.json", "--key", "none.pem"),
        ("verify", held, "--db", "d.db", "--key", "pub.pem"),
        ("export", "last", "--db", "d.db", "-o", "a.md", "--sign", "key.pem"),
        ("export", "last", "--db", "d.db", "--sign", "key.pem"),
    ):
        assert command(*refused).code == 2, refused


@pytest.fixture
def claimed(command: Command, place: Path) -> Iterator[tuple[str, LoopbackServer]]:
    page = http_reply(b"<p>Dry tea keeps for a year.", headers={"content-type": "text/html"})
    with LoopbackServer(lambda _: page) as server:
        sources = [
            {"url": f"{server.origin}/tea", "quote": quote} for quote in ("tea keeps for a year", "it cures all ills")
        ]
        claims = [{"text": "Tea keeps.", "evidence": sources}]
        agents = ",".join(script(place, name, {"*": said("Tea", claims=claims)}) for name in ("ada", "bo"))
        done = command("Tea?", "--agents", agents, "--rounds", "1", "--claims", "--db", "d.db", "--json").json
        assert isinstance(done, dict)
        yield str(done["sessionId"]), server


def test_the_claims_of_a_session_are_shown_and_written_as_graphml(
    command: Command, place: Path, claimed: tuple[str, LoopbackServer]
) -> None:
    session, _ = claimed
    shown = command("arguments", session[:6], "--db", "d.db", "--graphml", "g.graphml")
    assert shown.code == 0, shown.both
    assert "Claims: 2 claims" in shown.out
    graph = ArgumentGraph.from_json(command("arguments", "last", "--db", "d.db", "--json").out)
    assert [one.text for one in graph.claims] == ["Tea keeps."] * 2
    assert (place / "g.graphml").read_text() == graph.to_graphml()
    assert command("arguments", session, "--db", "d.db", "--graphml", "none/g.graphml").code != 0


def test_the_evidence_of_a_session_is_checked_on_request(
    command: Command, place: Path, claimed: tuple[str, LoopbackServer]
) -> None:
    session, server = claimed
    host = server.origin.partition("://")[2]
    assert server.seen == []
    refused = command("evidence", session, "--db", "d.db")
    assert refused.code == 0, refused.both
    assert "not fetched" in refused.out
    assert server.seen == []
    shown = command("evidence", session, "--db", "d.db", "--allow", host, "--html", "e.html")
    assert "2 found, 2 cited but not found" in shown.out
    assert (place / "e.html").read_text().count("\N{CHECK MARK}") == 2
    report = EvidenceReport.from_json(command("evidence", session, "--db", "d.db", "--allow", host, "--json").out)
    assert [check.status for check in report.checks] == ["found", "not found"] * 2
