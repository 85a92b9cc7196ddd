"""Words, numbers and tables around the options of a ballot: read if they leave one reading, in many languages."""

from __future__ import annotations

import re
from typing import Any

import pytest

from roundtable.parsing import Parsed, ParseFailure, parse_answer
from roundtable.parsing.ballot_notes import is_plain_note, place_in
from roundtable.parsing.ballot_phrases import approval_sentence, reasons_below, without_heading
from roundtable.parsing.ballot_tables import table_entries
from roundtable.reading.phrase_files import phrases
from roundtable.types import AnswerKind

CITIES = ("Lisbon", "Porto", "Faro")
PLF = (("Porto",), ("Lisbon",), ("Faro",))
SCORES = (("Lisbon", 7.0), ("Porto", 9.0), ("Faro", 5.0))


def read(text: str, kind: AnswerKind, options: tuple[str, ...] = CITIES, **more: Any) -> Parsed:
    ballot = parse_answer(text, kind, options=options, **more)
    assert isinstance(ballot, Parsed), ballot
    assert ballot.reading is not None
    assert ballot.reading.certainty == "certain"
    return ballot


def unread(text: str, kind: AnswerKind, options: tuple[str, ...] = CITIES, **more: Any) -> None:
    failure = parse_answer(text, kind, options=options, **more)
    assert isinstance(failure, ParseFailure), failure
    assert failure.reading is not None, "it was given"
    assert failure.reading.certainty == "unread"


class TestRankings:
    @pytest.mark.parametrize(
        "text",
        [
            "1) Porto 2) Lisbon 3) Faro",
            "1. Porto 2. Lisbon 3. Faro.",
            "(1) Porto (2) Lisbon (3) Faro",
            "1. Porto, 2. Lisbon and 3. Faro",
            "3) Faro 2) Lisbon 1) Porto",
            "1️⃣ Porto\n2️⃣ Lisbon\n3️⃣ Faro",
            "1. Porto: It is the cheapest.\n2. Lisbon: It has the best airport.\n3. Faro: It has beaches.",
            "1. Porto (great food)\n2. Lisbon (good airport)\n3. Faro (nice beaches)",
            "Here is my ranking:\n\n1. Porto\n2. Lisbon\n3. Faro\n\nReasoning: Porto is the cheapest.",
            "1. Porto\n2. Lisbon\n3. Faro\n\n**Reasoning:**\nPorto is the cheapest.\nFaro is far.",
            "Porto > Lisbon > Faro\nMy reasons: costs.",
            "Porto, Lisbon, Faro\nBegründung: Porto ist am billigsten.",
            "First: Porto\nSecond: Lisbon\nThird: Faro",
            "First choice: Porto\nSecond choice: Lisbon\nThird choice: Faro",
            "Third: Faro\nFirst: Porto\nSecond: Lisbon",
            "1st: Porto, 2nd: Lisbon, 3rd: Faro",
            "Erste Wahl: Porto\nZweite Wahl: Lisbon\nDritte Wahl: Faro",
            "Platz 1: Porto\nPlatz 2: Lisbon\nPlatz 3: Faro",
            "Premier choix : Porto\nDeuxième choix : Lisbon\nTroisième choix : Faro",
            "Primero: Porto, segundo: Lisbon, tercero: Faro",
            "第一\uff1aPorto\n第二\uff1aLisbon\n第三\uff1aFaro",
            "1位\uff1aPorto\n2位\uff1aLisbon\n3位\uff1aFaro",
            "I would rank Porto first, Lisbon second and Faro third.",
            "Porto first, Lisbon second, Faro third",
            "Porto 1st, Lisbon 2nd, Faro last",
            "| Rank | City |\n|---|---|\n| 1 | Porto |\n| 2 | Lisbon |\n| 3 | Faro |",
            "| City | Place | Why |\n|:--|-:|-|\n| Faro | 3rd | far |\n| **Porto** | 1st | good |\n| Lisbon | 2nd | |",
            "My ranking:\n\n| Platz | Stadt |\n|---|---|\n| 1 | Porto |\n| 2 | Lisbon |\n| 3 | Faro |",
            "ranking: [Porto, Lisbon, Faro]",
            "[Porto, Lisbon, Faro]",
            "Mein Ranking: Porto > Lisbon > Faro",
            "Meine Rangfolge lautet: Porto, Lisbon, Faro",
            "Ich würde so ordnen: 1. Porto, 2. Lisbon, 3. Faro",
            "Mon classement : Porto, Lisbon, Faro",
            "Mi clasificación: 1. Porto 2. Lisbon 3. Faro",
            "La mia classifica: Porto > Lisbon > Faro",
            "Minha classificação:\n1. Porto\n2. Lisbon\n3. Faro",
            "Mijn rangschikking: Porto, Lisbon, Faro",
            "Мой рейтинг: Porto > Lisbon > Faro",
            "排名:1. Porto 2. Lisbon 3. Faro",
            "我的排名是\uff1aPorto > Lisbon > Faro",
            "私の順位\uff1aPorto > Lisbon > Faro",
        ],
    )
    def test_a_ranking_with_one_reading_is_read(self, text: str) -> None:
        assert read(text, "ranking").ranking == PLF

    @pytest.mark.parametrize(
        "text",
        [
            "1. Porto 3. Lisbon 2. Faro",
            "1) Porto 1) Lisbon",
            "Wait, 1. Lisbon... no. 1. Porto 2. Lisbon 3. Faro",
            "1) Porto 2) Lisbon or Faro",
            "Worst to best: 1. Faro 2. Lisbon 3. Porto",
            "1. Lisbon is the capital.\n2. Porto is in the north.\n3. Faro is in the south.",
            "1. Lisbon: the capital\n2. Porto: the wine\n3. Faro: the beach\n\nOverall, Porto is best.",
            "1. Faro: it has the worst airport\n2. Lisbon\n3. Porto",
            "1. Porto: a good second option\n2. Lisbon",
            "1. Faro: good, but the worst of all\n2. Porto",
            "1. Porto\n2. Lisbon\nReasoning: The answer is Lisbon.",
            "1. Porto\n2. Lisbon\nReasoning: That was a mistake.",
            "Reasoning: 1. Porto 2. Lisbon",
            "Porto first, Lisbon first",
            "Porto first and Lisbon",
            "Second: Lisbon\nThird: Faro",
            "Lisbon first, Porto second, Faro first",
            "Worst: Faro, Lisbon, Porto",
            "Porto is best, followed by Lisbon.",
            "Porto (1), Faro (2), Lisbon (3), Madrid (4)",
            "Porto and Lisbon",
            "| City | Score |\n|---|---|\n| Porto | 9 |\n| Lisbon | 7 |",
            "| City | Rank |\n|---|---|\n| Porto | 1 |\n| Madrid | 2 |",
            "| City | Rank |\n|---|---|\n| Porto | 1 |\n| Lisbon | best |",
            "| City | Rank | Score |\n|---|---|---|\n| Porto | 1 | 3 |\n| Lisbon | 2 | 9 |",
            "| City | Rank |\n|---|---|\n| Porto | 1 |\n| Lisbon |",
            "| City | Rank |\n| Porto | 1 |\n| Lisbon | 2 |",
            "Bos Ranking: Porto > Lisbon",
            "Mein Ranking ist nicht: Porto > Lisbon",
            "Die Optionen: Porto, Lisbon",
            "不是我的排名\uff1aPorto > Lisbon",
        ],
    )
    def test_a_ranking_with_several_readings_or_none_is_unread(self, text: str) -> None:
        unread(text, "ranking")

    def test_numbers_and_words_of_options_are_not_marks(self) -> None:
        unread("1. 2 2. 1", "ranking", ("1", "2"))
        unread("1. First: Last 2. Last: First", "ranking", ("First", "Last"))
        assert read("E > Y", "ranking", ("E", "Y")).ranking == (("E",), ("Y",))


class TestScores:
    @pytest.mark.parametrize(
        "text",
        [
            "Lisbon 7, Porto 9, Faro 5",
            "Lisbon (7), Porto (9), Faro (5)",
            "Lisbon (7/10), Porto (9/10), Faro (5/10)",
            "Lisbon 7/10\nPorto 9/10\nFaro 5/10",
            "Lisbon 7 points, Porto 9 points and Faro 5 points",
            "Lisbon: 7 - good airport\nPorto: 9 - cheap\nFaro: 5 - small",
            "Lisbon: 7 (airport)\nPorto: 9 (great food)\nFaro: 5 (beach)",
            "- **Lisbon**: 7 \u2013 by the sea\n- **Porto**: 9 \u2013 wine\n- **Faro**: 5 \u2013 sun",
            "| City | Score |\n|---|---|\n| Lisbon | 7 |\n| Porto | 9 |\n| Faro | 5 |",
            "| Stadt | Punkte | Why |\n|---|---|---|\n| Lisbon | 7/10 | a |\n| Porto | 9/10 | b |\n| Faro | 5/10 | |",
            '{"scores": {"Lisbon": {"score": 7, "reason": "a"}, "Porto": {"score": 9}, "Faro": {"score": 5}}}',
            '{"Lisbon": {"score": 7}, "Porto": {"score": 9}, "Faro": {"score": 5}}',
            "I give Lisbon a 7, Porto a 9 and Faro a 5.",
            "I'd give Lisbon 7, Porto 9, and Faro 5.",
            "I would rate Lisbon 7/10, Porto 9/10 and Faro 5/10",
            "Ich gebe Lisbon 7, Porto 9 und Faro 5.",
            "Je donne Lisbon 7, Porto 9 et Faro 5.",
            "Meine Bewertung: Lisbon 7, Porto 9, Faro 5",
            "Mis puntuaciones: Lisbon 7, Porto 9, Faro 5",
            "我的评分\uff1aLisbon 7\uff0cPorto 9\uff0cFaro 5",
            "Lisbon\uff1a7\nPorto\uff1a9\nFaro\uff1a5",
            "Here are my scores:\n\nLisbon: 7\nPorto: 9\nFaro: 5\n\nReasoning: Porto is the best.",
        ],
    )
    def test_scores_with_one_reading_are_read(self, text: str) -> None:
        assert read(text, "scores", scale=(0, 10)).scores == SCORES

    @pytest.mark.parametrize(
        "text",
        [
            "Lisbon 7-8, Porto 9",
            "Lisbon: 7 - 8",
            "Lisbon: 7 hours by train\nPorto: 9 hours",
            "Lisbon 70%",
            "Lisbon 7/5, Porto 2/5",
            "Lisbon 7 (was 6)",
            "Lisbon: 7 - if it is cheap",
            "Lisbon: 7 - the worst of all",
            "Lisbon: 7 - unlike Porto",
            "Lisbon: 545,000 inhabitants",
            "Lisbon 7,5, Porto 9",
            "Lisbon: cost 7, access 9\nPorto: 4",
            "Lisbon 7, Lisbon 3",
            "Lisbon 7, Madrid 3",
            "Lisbon: 1st\nPorto: 2nd",
            "I give Lisbon a 7 or an 8.",
            "Ada gives Lisbon 7, Porto 9",
            "| City | Rank |\n|---|---|\n| Lisbon | 1 |\n| Porto | 2 |",
            '{"scores": {"Lisbon": {"score": 7, "weight": 2}}}',
            '{"scores": {"Lisbon": {"reason": "a"}}}',
            '{"scores": [7, 9, 5]}',
            "Lisbon: 7\nPorto: 9\nReasoning: The answer is Lisbon.",
            f"Lisbon {'x ' * 300} 7",
        ],
    )
    def test_scores_with_several_readings_or_none_are_unread(self, text: str) -> None:
        unread(text, "scores", scale=(0, 10))

    def test_a_number_in_an_option_is_not_a_score(self) -> None:
        unread("Plan 7, Plan 9", "scores", ("Plan", "Plan 7", "Plan 9"), scale=(0, 10))
        assert read("Plan 1 7, Plan 2 9", "scores", ("Plan 1", "Plan 2"), scale=(0, 10)).scores == (
            ("Plan 1", 7.0),
            ("Plan 2", 9.0),
        )

    def test_a_score_off_its_scale_makes_the_ballot_invalid(self) -> None:
        failure = parse_answer("Lisbon 70, Porto 9", "scores", options=CITIES, scale=(0, 10))
        assert isinstance(failure, ParseFailure)
        assert "is off the scale" in failure.reason


class TestApprovals:
    @pytest.mark.parametrize(
        "text",
        [
            "Lisbon and Porto are acceptable.",
            "Both Lisbon and Porto are acceptable.",
            "Lisbon and Porto are both acceptable to me.",
            "I would accept Lisbon or Porto.",
            "I'd accept either Lisbon or Porto.",
            "I am fine with Lisbon or Porto",
            "Lisbon and Porto, but not Faro.",
            "Lisbon and Porto are acceptable, but not Faro.",
            "I find Lisbon and Porto acceptable, but not Faro.",
            "I approve of Lisbon and Porto.",
            "I support both Lisbon and Porto.",
            "Acceptable to me: Lisbon, Porto",
            "approved: [Lisbon, Porto]",
            "Ich akzeptiere Lisbon und Porto.",
            "Lisbon und Porto sind akzeptabel.",
            "Lisbon und Porto, aber nicht Faro.",
            "J'approuve Lisbon et Porto.",
            "Lisbon et Porto sont acceptables, mais pas Faro.",
            "Apruebo Lisbon y Porto.",
            "Lisbon y Porto son aceptables",
            "Approvo Lisbon e Porto.",
            "Aprovo Lisbon e Porto",
            "Ik accepteer Lisbon en Porto.",
            "Я одобряю Lisbon и Porto.",
            "我赞成Lisbon和Porto。",
            "我赞成Lisbon和Porto\uff0c但不赞成Faro。",
            "Lisbon和Porto都可以接受。",
            "Lisbon, Porto\nReasons: both are cheap.",
            "| City | Approve? |\n|---|---|\n| Lisbon | yes |\n| Porto | ✅ |\n| Faro | no |",
        ],
    )
    def test_approvals_with_one_reading_are_read(self, text: str) -> None:
        assert read(text, "approval").approved == ("Lisbon", "Porto")

    @pytest.mark.parametrize(
        "text",
        [
            "All except Faro.",
            "Lisbon might be acceptable.",
            "Lisbon and Porto are not acceptable.",
            "Lisbon and Porto are unacceptable.",
            "Lisbon and Porto are hardly acceptable.",
            "Not acceptable: Lisbon, Porto",
            "Are Lisbon and Porto acceptable?",
            "Lisbon is acceptable if it is cheap.",
            "I don't approve of Lisbon.",
            "I approve Porto or Lisbon",
            "Ich akzeptiere Lisbon oder Porto.",
            "Ich akzeptiere nicht Lisbon und Porto.",
            "Lisbon or Porto",
            "Neither Lisbon nor Porto.",
            "Ada would accept Lisbon or Porto.",
            "I would accept Lisbon or Madrid.",
            "I would accept Lisbon or Porto, or nothing.",
            "Lisbon and Porto, but not Lisbon",
            "Lisbon, but not Madrid",
            "but not Faro",
            "我不赞成Lisbon和Porto。",
            "Lisbon和Porto不可以接受。",
            "Lisbon, Porto\nReasons: The answer is Faro.",
            "Lisbon is acceptable.\nPorto is not.",
            f"I would accept Lisbon or Porto{' x' * 300}",
        ],
    )
    def test_approvals_with_several_readings_or_none_are_unread(self, text: str) -> None:
        unread(text, "approval")

    def test_letters_that_are_words_in_other_languages_join_no_options(self) -> None:
        unread("Approvo B E C", "approval", ("B", "C", "E"))
        unread("Apruebo A y B", "approval", ("A", "B", "Y"))
        assert read("Apruebo A y B", "approval", ("A", "B", "C")).approved == ("A", "B")

    def test_signs_that_an_option_holds_split_nothing(self) -> None:
        assert read("我赞成和平", "approval", ("和平", "战争")).approved == ("和平",)
        assert read("问\uff1a甲, 问\uff1a乙", "approval", ("问\uff1a甲", "问\uff1a乙")).approved == (
            "问\uff1a甲",
            "问\uff1a乙",
        )


def test_ballots_are_split_into_their_parts() -> None:
    assert without_heading("Porto", "ranking") == "Porto"
    assert without_heading("## **Mein Ranking:** Porto", "ranking") == "Porto"
    assert approval_sentence("Porto\nis acceptable") is None
    assert approval_sentence("acceptable") is None
    assert reasons_below("Reasons: none\nPorto") == ("Reasons: none\nPorto", "")
    assert reasons_below("Porto\nReasons are given below") == ("Porto\nReasons are given below", "")
    assert table_entries("| A | B |\n|---|---|", str.isalpha, {"b"}, ()) is None
    assert [place_in(words) for words in ("zweitens", "第3名", "2位", "deuxième choix", "puesto 2", "Zweifel")] == [
        *(2, 3, 2, 2, 2, None)
    ]
    assert [
        is_plain_note(note) for note in ("good airport", "has the best food", "best food", "good", "good pick")
    ] == [*(True, True, False, False, False)]


def test_the_examples_of_the_phrases_match_their_section() -> None:
    for of in phrases("ballots"):
        for example in (text for texts in of.examples.values() for text in texts):
            assert re.search(r"\bA\b|A(?=[^a-z])", example), (of.language, example)
        for kind, section in (("ranking", "ranking"), ("approval", "approval"), ("scores", "scores")):
            for example in of.examples.get(section, ()):
                assert without_heading(example, kind).startswith("A"), (of.language, example)  # type: ignore[arg-type]
        for section in ("approve", "accept any", "acceptable", "but not"):
            for example in of.examples.get(section, ()):
                said = approval_sentence(example)
                assert said is not None, (of.language, example)
                assert said.approved[0] == "A", (of.language, example)
        for example in of.examples.get("score", ()):
            assert without_heading(example, "scores").startswith("A"), (of.language, example)
        for example in of.examples["reasons"]:
            assert reasons_below(f"A\n{example}")[0] == "A", (of.language, example)
