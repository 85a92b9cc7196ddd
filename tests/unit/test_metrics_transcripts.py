"""Debates recorded by others."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from roundtable.errors import ConfigurationError
from roundtable.metrics import Transcript, Utterance, conformity, flip_rate, read_transcript, transcripts
from roundtable.metrics.transcripts import TranscriptFormat
from roundtable.results import result_of_transcript
from roundtable.scoring import ballot_from_answer
from roundtable.scoring.ballots import Abstention, Choice, Ranking, Scores
from roundtable.types import AgentResponse, Answer, BallotAnswer, PlanAnswer, RankingAnswer, ScoresAnswer, TextAnswer

HERE = Path(__file__).parent / "transcripts"
ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("ROUNDTABLE_SHARED_DATA", ROOT.parent / "shared" / "data"))
RECORDED = SHARED / "transcripts" / "dev.jsonl"


@pytest.mark.skipif(not RECORDED.exists(), reason="the recorded transcripts are not on this machine")
def test_every_recorded_debate_is_read() -> None:
    debates = read_transcript(RECORDED)
    assert len(debates) == 430
    assert len({debate.id for debate in debates}) == 430
    assert Counter(debate.metadata["task"] for debate in debates) == {
        "mmlu": 140,
        "gsm": 130,
        "biography": 115,
        "crisis_policy": 45,
    }
    for debate in debates:
        assert debate.question
        assert debate.rounds
        assert {said.agent for one in debate.rounds for said in one} <= set(debate.agents)
        assert len(debate.positions()) == len(debate.rounds)
    with_gold = [debate for debate in debates if debate.gold is not None]
    assert len(with_gold) == 270
    rates = [flip_rate(debate.positions()).value for debate in with_gold]
    assert sum(rate is not None for rate in rates) > 200


def test_the_format_of_du_is_read() -> None:
    sums, biography = read_transcript(HERE / "du.json", format="du")
    assert (sums.id, sums.question, sums.gold, sums.agents) == ("1", "What is 2 + 2?", "4", ("agent_1", "agent_2"))
    assert sums.rounds == (
        (Utterance("agent_1", "\\boxed{4}"), Utterance("agent_2", "\\boxed{5}")),
        (Utterance("agent_1", "Still \\boxed{4}"), Utterance("agent_2", "I agree: \\boxed{4}")),
    )
    positions = sums.positions(extract=lambda text: text.partition("{")[2].rstrip("}") or None)
    assert positions == [{"agent_1": "4", "agent_2": "5"}, {"agent_1": "4", "agent_2": "4"}]
    assert conformity(positions).value == 0.5
    assert (biography.question, biography.gold, len(biography.rounds)) == ("Ada Lovelace", None, 1)
    assert biography.positions() == [{"agent_1": "- Born in 1815.", "agent_2": "- Wrote notes."}]


def test_the_format_of_dylan_is_read() -> None:
    first, second = read_transcript(HERE / "dylan.jsonl", format="dylan")
    assert (first.id, first.question, first.agents) == ("1", "", ("agent_1", "agent_2"))
    assert [len(one) for one in first.rounds] == [2, 2]
    assert first.rounds[1][1] == Utterance("agent_2", "I change to (C).")
    assert [len(one) for one in second.rounds] == [2]
    assert len(read_transcript(HERE / "du.json", format="dylan")) == 2


def test_an_agent_of_dylan_may_stop_earlier_than_others(tmp_path: Path) -> None:
    path = tmp_path / "debates.jsonl"
    path.write_text('[["A", "B", "C"], ["A"]]\n[["A"], [null, "B"]]\n', "utf-8")
    first, second = read_transcript(path, "dylan")
    assert [len(held) for held in first.rounds] == [2, 1, 1]
    assert second.rounds == ((Utterance("agent_1", "A"),), (Utterance("agent_2", "B"),))


def test_the_format_of_mad_is_read() -> None:
    (debate,) = read_transcript(HERE / "mad.json", format="mad")
    assert debate.agents == ("Affirmative side", "Negative side")
    assert debate.question == "一石二鸟"
    assert debate.gold == debate.answer == "Kill two birds with one stone."
    assert [[said.agent for said in one] for one in debate.rounds] == [
        ["Affirmative side"],
        ["Affirmative side", "Negative side"],
        ["Affirmative side", "Negative side"],
    ]
    assert debate.rounds[1][1].text == "Kill two birds with one stone."


def test_the_format_of_mallm_is_read() -> None:
    first, second = read_transcript(HERE / "mallm.json", format="mallm")
    assert (first.id, first.question, first.gold, first.answer) == ("e1", "What is 2 + 2?\nThink.", "4", "4")
    assert first.agents == ("p1", "p2")
    assert first.rounds == (
        (Utterance("p1", "It is 4.", "4"), Utterance("p2", "Hm.", None)),
        (Utterance("p2", "Agreed.", "4"),),
    )
    assert first.positions() == [{"p1": "4", "p2": None}, {"p2": "4"}]
    assert first.metadata == {"paradigm": "memory", "dataset": "simple"}
    assert (second.question, second.rounds, second.gold, second.answer) == ("Alone.", (), None, None)


def test_answers_of_the_file_are_kept_next_to_the_texts(tmp_path: Path) -> None:
    record = {
        "id": 7,
        "question": "A or B?",
        "agents": ["a", "b"],
        "rounds": [[{"agent": "a", "text": "Surely\u2028A"}, {"agent": "b", "text": "?"}]],
        "extracted_answers": [["A", None]],
        "gold_answer": 1,
        "licence": "MIT",
    }
    path = tmp_path / "debates.jsonl"
    plain = {name: value for name, value in record.items() if name != "extracted_answers"}
    path.write_text(json.dumps(record, ensure_ascii=False) + "\n\n" + json.dumps(plain), "utf-8")
    debate, bare = read_transcript(str(path))
    assert bare.positions() == [{"a": "Surely\u2028A", "b": "?"}]
    assert debate.positions() == [{"a": "A", "b": None}]
    assert (debate.id, debate.gold, debate.metadata) == ("7", "1", {"licence": "MIT"})
    assert debate == Transcript("7", "A or B?", ("a", "b"), debate.rounds, "1", None, {"licence": "MIT"})


def test_models_confidences_and_options_in_the_file_are_kept(tmp_path: Path) -> None:
    spoken = [{"agent": "a", "text": "A", "model": "qwen", "confidence": 0.75}, {"agent": "a", "text": "B"}]
    record = {"id": 7, "agents": ["a", "a"], "rounds": [spoken], "model": "phi", "options": ["A", "B"]}
    path = tmp_path / "debates.jsonl"
    path.write_text(json.dumps(record), "utf-8")
    (debate,) = read_transcript(path)
    assert debate.rounds == ((Utterance("a", "A", None, "qwen", 0.75), Utterance("a (2)", "B")),)
    assert (debate.options, debate.metadata) == (("A", "B"), {"model": "phi"})


@pytest.mark.parametrize(
    ("text", "format", "message"),
    [
        ('{"id": "1"}', "jsonl", "agents: Field required"),
        ("{", "jsonl", "line 1 is not JSON"),
        ("[" * 100_000, "mad", "not a transcript of format 'mad'"),
        ('{"id": "1", "agents": [], "rounds": [[]], "extracted_answers": []}', "jsonl", "line 1: extracted_answers"),
        ("[]", "du", "one object that maps questions to contexts"),
        ('{"q": 3}', "du", "not a transcript of format 'du'"),
        ('{"q": [[[{"role": "user"}]], 3]}', "du", "content: Field required"),
        ("[3]", "dylan", "not a transcript of format 'dylan'"),
        ("{}", "mad", "players: Field required"),
        ("{", "mad", "not a transcript of format 'mad'"),
        ("{}", "mallm", "not a transcript of format 'mallm'"),
        ("", "autogen", "unknown transcript format 'autogen'; known: jsonl, du, dylan, mad, mallm"),
    ],
)
def test_an_invalid_transcript_is_refused(tmp_path: Path, text: str, format: str, message: str) -> None:
    path = tmp_path / "file"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match=message):
        read_transcript(path, format=format)  # type: ignore[arg-type]


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot read .*: No such file"):
        read_transcript(tmp_path / "missing.jsonl")
    (tmp_path / "latin").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="not a transcript of format 'jsonl'"):
        read_transcript(tmp_path / "latin")


SAID = AgentResponse(
    agent_id="ada", agent_name="Ada", position="Adopt it.", stance="YES", choice="adopt", confidence=0.75
)


@pytest.mark.parametrize(
    ("answer", "by", "ballot"),
    [
        (SAID, "choice", Choice("adopt", 0.75)),
        (SAID, "stance", Choice("YES", 0.75)),
        (SAID, "position", Choice("Adopt it.", 0.75)),
        (SAID.model_copy(update={"choice": None}), "choice", Choice(None, 0.75)),
        (BallotAnswer(choice="a"), "choice", Choice("a")),
        (RankingAnswer(ranking=(("a",), ("b", "c"))), "choice", Ranking((("a",), ("b", "c")))),
        (ScoresAnswer(scores={"a": 1.5}), "choice", Scores({"a": 1.5})),
        (TextAnswer(text="a"), "choice", Abstention()),
        (PlanAnswer(goal="a"), "choice", Abstention()),
    ],
)
def test_an_answer_becomes_a_ballot(answer: Answer, by: str, ballot: object) -> None:
    assert ballot_from_answer(answer, by=by) == ballot  # type: ignore[arg-type]


def record(**changes: object) -> dict[str, object]:
    said = [
        [{"agent": "qwen", "text": "I say A.", "answer": "A"}, {"agent": "qwen", "text": "I say B.", "answer": "B"}],
        [{"agent": "qwen", "text": "Still A.", "answer": "A"}, {"agent": "qwen", "text": "A, then.", "answer": "A"}],
    ]
    return {"id": "1", "question": "A or B?", "agents": ["qwen", "qwen"], "rounds": said, **changes}


@pytest.mark.parametrize(
    ("name", "format"), [("du.json", "du"), ("dylan.jsonl", "dylan"), ("mad.json", "mad"), ("mallm.json", "mallm")]
)
def test_a_compressed_file_holds_the_same_debates(tmp_path: Path, name: str, format: TranscriptFormat) -> None:
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress((HERE / name).read_bytes()))
    assert read_transcript(path, format) == read_transcript(HERE / name, format)


def test_a_compressed_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "_MOST_BYTES", 100)
    path = tmp_path / "debates.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(record()).encode()))
    with pytest.raises(ConfigurationError, match="larger than 1 GiB"):
        read_transcript(path)


def test_a_damaged_gzip_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "debates.jsonl.gz"
    whole = gzip.compress(json.dumps(record()).encode())
    for damaged in (whole[:-9], whole[:12] + b"\xff" * 20, whole[:-8] + b"\0" * 8):
        path.write_bytes(damaged)
        with pytest.raises(ConfigurationError, match="not valid gzip"):
            read_transcript(path)


def test_agents_that_share_a_name_are_distinguished(tmp_path: Path) -> None:
    path = tmp_path / "debates.jsonl"
    path.write_text(json.dumps(record(question=None)), "utf-8")
    (debate,) = read_transcript(path)
    assert (debate.question, debate.agents) == ("", ("qwen", "qwen (2)"))
    assert debate.positions() == [{"qwen": "A", "qwen (2)": "B"}, {"qwen": "A", "qwen (2)": "A"}]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (record(rounds=[[{"agent": "qwen"}]]), r"line 3: rounds\.0\.0\.text: Field required"),
        (record(rounds=[[{"agent": "llama", "text": "?"}]]), "line 3: 'llama' speaks, but is not among the agents"),
        (record(rounds=[[{"agent": "qwen", "text": "?"}] * 3]), r"line 3: 'qwen \(3\)' speaks in a round"),
        (record(extracted_answers=[[]]), "line 3: extracted_answers must have one entry for each utterance"),
    ],
)
def test_an_error_names_its_line(tmp_path: Path, second: dict[str, object], message: str) -> None:
    path = tmp_path / "debates.jsonl"
    path.write_text(f"{json.dumps(record())}\n\n{json.dumps(second)}\n", "utf-8")
    with pytest.raises(ConfigurationError, match=message):
        read_transcript(path)


@pytest.mark.parametrize(
    ("text", "format", "message"),
    [
        ('["a"]\n[["x"], 3]', "dylan", "line 1: 0"),
        ('{"a": [[{"role": "user", "content": ""}]], "b": [[{}]]}', "du", r"debate 2: 0\.0\.role: Field required"),
        ('[{"exampleId": "1"}, {}]', "mallm", "debate 2: exampleId: Field required"),
    ],
)
def test_an_error_in_another_format_names_its_debate(
    tmp_path: Path, text: str, format: TranscriptFormat, message: str
) -> None:
    path = tmp_path / "debates"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match=message):
        read_transcript(path, format)


@pytest.mark.parametrize(
    ("format", "text"),
    [
        (
            "jsonl",
            '{"id": 1, "question": "Tea\\ud83c?", "agents": ["a"], "rounds": [[{"agent": "a", "text": "No\\ud83c"}]]}',
        ),
        ("du", '{"Tea \\ud83c?": [[{"role": "assistant", "content": "No\\ud83c"}]]}'),
        ("dylan", '[["No\\ud83c"]]'),
    ],
)
def test_half_a_character_is_replaced(tmp_path: Path, format: TranscriptFormat, text: str) -> None:
    file = tmp_path / "debates"
    file.write_text(text, "utf-8")
    (debate,) = read_transcript(file, format)
    assert debate.rounds[0][0].text == "No\ufffd"
    assert result_of_transcript(debate).answer == "No\ufffd"
