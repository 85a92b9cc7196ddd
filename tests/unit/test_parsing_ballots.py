"""Rankings, approvals and scores in other forms than the one asked for: read if they have one reading, else not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roundtable.parsing import Parsed, ParseFailure, parse_answer
from roundtable.parsing.numerals import finite_number, score_number
from roundtable.types import AnswerKind

CITIES = ("Lisbon", "Porto", "Faro")
LETTERS = ("A", "B", "C")
PLF = (("Porto",), ("Lisbon",), ("Faro",))


def parsed(text: str, kind: AnswerKind, options: tuple[str, ...] | None = CITIES, **more: Any) -> Parsed | ParseFailure:
    return parse_answer(text, kind, options=options, **more)


def read(text: str, kind: AnswerKind, options: tuple[str, ...] = CITIES, **more: Any) -> Parsed:
    ballot = parsed(text, kind, options, **more)
    assert isinstance(ballot, Parsed), ballot
    assert ballot.repaired
    assert "not in the form" in ballot.warnings[-1]
    assert ballot.reading is not None
    assert ballot.reading.certainty == "certain"
    return ballot


def unread(text: str, kind: AnswerKind, options: tuple[str, ...] | None = CITIES, **more: Any) -> ParseFailure:
    failure = parsed(text, kind, options, **more)
    assert isinstance(failure, ParseFailure), failure
    assert failure.reading is not None, "it was given"
    assert (failure.reading.certainty, failure.asks) == ("unread", "form")
    return failure


class TestRankings:
    @pytest.mark.parametrize(
        "text",
        [
            "Porto > Lisbon > Faro",
            "porto>LISBON>**Faro**.",
            "Porto → Lisbon -> Faro",
            "Porto, Lisbon, Faro",
            "Porto, then Lisbon, then Faro.",
            "1. Porto\n2. Lisbon\n3. Faro",
            "1) **Porto**\n\n2) Lisbon\n3) Faro\n",
            "1. Porto, 2. Lisbon, 3. Faro",
            "- Porto\n- Lisbon\n- Faro",
            "Porto\nLisbon\nFaro",
            "My ranking: Porto > Lisbon > Faro",
            "**Final ranking:**\n1. Porto\n2. Lisbon\n3. Faro",
            "My ranking (best to worst):\n1. Porto\n2. Lisbon\n3. Faro",
            "From best to worst: Porto, Lisbon, Faro",
            "I'd rank Porto > Lisbon > Faro",
            "I\u2019d rank them: Porto > Lisbon > Faro",
            "1. Porto (cheap)\n2. Lisbon\n3. Faro (worst)",
            "```\nPorto > Lisbon > Faro\n```",
            '["Porto", "Lisbon", "Faro"]',
            "['Porto', 'Lisbon', 'Faro']",
            '```json\n["Porto", "Lisbon", "Faro"]\n```',
            'My ranking:\n```json\n["Porto", "Lisbon", "Faro"]\n```',
            '{"ranking": "Porto > Lisbon > Faro"}',
            '{"ranking": "Porto, Lisbon, Faro"}',
            '{"ranking": "1. Porto\\n2. Lisbon\\n3. Faro"}',
            '{"ranking": {"1": "Porto", "2": "Lisbon", "3": "Faro"}}',
            '{"ranking": {"3rd": "Faro", "1st": "Porto", "2nd": "Lisbon"}}',
            '{"ranking": {"Porto": 1, "Faro": 3, "Lisbon": "2"}}',
            '{"ranking": [{"name": "Faro", "rank": 3}, {"option": "Porto", "rank": 1}, {"name": "Lisbon", "rank": 2}]}',
            (
                '[{"option": "Porto", "rank": 1, "why": "Faro is far."}, {"option": "Lisbon", "rank": 2}, '
                '{"option": "Faro", "rank": 3}]'
            ),
            '{"1": "Porto", "2": "Lisbon", "3": "Faro"}',
            '{"order": ["Porto", "Lisbon", "Faro"], "reasoning": "So."}',
            '{"ranking": ["Porto", "Lisbon", "Faro (worst)"]}',
            "Faro < Lisbon < Porto",
            '{"Porto": 1, "Lisbon": 2, "Faro": 3}',
            '{"Faro": 3, "Lisbon": "2", "Porto": 1, "reasoning": "So."}',
            "Porto, Lisbon, Faro (best to worst)",
            "Porto (best), Lisbon (by the sea), Faro (worst)",
            "Faro (worst), Lisbon, Porto (best)",
            "Faro (rank 3), Lisbon (rank 2), Porto (rank 1)",
            "Faro (3rd), Lisbon (2nd), Porto (1st)",
            "Faro (last), Lisbon (second), Porto (first)",
            "Lisbon (second choice), Faro (third choice), Porto (first choice)",
            "Faro: 3rd, Lisbon: 2nd, Porto: 1st",
            "Faro - worst\nLisbon\nPorto - best",
            "- Faro (least preferred)\n- Lisbon\n- Porto (most preferred)",
            "3. Faro\n2. Lisbon\n1. Porto",
            '{"ranking": ["Faro (worst)", "Lisbon", "Porto (best)"]}',
            '{"ranking": ["Faro [worst]", "Lisbon", "Porto [best]"]}',
            '{"ranking": ["Faro: worst", "Lisbon", "Porto: best"]}',
            '{"ranking": ["3. Faro", "2. Lisbon", "1. Porto"]}',
            '{"ranking": ["1. Porto", "2. Lisbon", "3. Faro"]}',
            '{"ranking": "Faro (worst), Lisbon, Porto (best)"}',
        ],
    )
    def test_a_ranking_with_one_reading_is_read(self, text: str) -> None:
        assert read(text, "ranking").ranking == PLF

    @pytest.mark.parametrize(
        ("text", "groups"),
        [
            ("A = B > C", (("A", "B"), ("C",))),
            ("B > C = a", (("B",), ("A", "C"))),
            ("B, A, C", (("B",), ("A",), ("C",))),
            ("Motion B > Motion A", (("B",), ("A",))),
            ("I vote for B.", (("B",),)),
            ('{"ranking": {"A": 1, "B": 1, "C": 3}}', (("A", "B"), ("C",))),
            ('[["A", "C"], "B"]', (("A", "C"), ("B",))),
        ],
    )
    def test_letters_of_motions_and_ties_are_read(self, text: str, groups: tuple[tuple[str, ...], ...]) -> None:
        assert {tuple(sorted(group)) for group in read(text, "ranking", LETTERS, motions=True).ranking} == {*groups}

    @pytest.mark.parametrize("text", ["Porto", "I vote for Porto.", '{"choice": "Porto"}', '"Porto"', "First: Porto"])
    def test_one_option_is_first_and_the_rest_is_unranked(self, text: str) -> None:
        assert read(text, "ranking").ranking == (("Porto",),)

    @pytest.mark.parametrize(
        "text",
        [
            "Porto > Lisbon > Porto",
            "Porto > Madrid",
            "Porto > Lisbon > ",
            "Not Porto > Lisbon",
            "Porto and Lisbon",
            "Porto >= Lisbon",
            "Faro < Lisbon > Porto",
            "Porto, Lisbon > Faro",
            "Worst to best: Porto, Lisbon, Faro",
            "1. Porto\n3. Lisbon",
            "1. Porto\n- Lisbon",
            "1. Porto, since Faro is far\n2. Lisbon",
            "I vote for Porto. Lisbon comes second.",
            "I like them all.",
            "The options are: Porto, Lisbon, Faro",
            "Here are these options: Porto, Lisbon, Faro",
            "Bo's ranking: Porto > Lisbon",
            "My last choice: Porto",
            "Perhaps Porto > Lisbon",
            "Porto: 3, Lisbon: 2, Faro: 1",
            "1. Porto (not Lisbon)\n2. Faro",
            "1. Porto (no!)\n2. Faro",
            '["Porto", "Madrid"]',
            '["Porto", true]',
            '["Porto", "Lisbon"',
            '[["Porto", "Porto"]]',
            '[{"option": "Porto"}, {"option": "Lisbon"}]',
            '[{"option": "Porto", "rank": 1, "score": 3}]',
            '[{"option": "Porto", "rank": 1}, "Lisbon"]',
            '{"Porto": 1, "Lisbon": 2}',
            '{"best": "Porto", "worst": "Faro"}',
            '{"approved": ["Porto", "Lisbon"]}',
            '{"options": ["Lisbon", "Porto", "Faro"]}',
            '{"ranking": {"Porto": 9, "Lisbon": 2}}',
            '{"ranking": {"Porto": 2, "Lisbon": 3, "Faro": 3}}',
            '{"ranking": {"1": "Porto", "Lisbon": 2}}',
            '{"ranking": {"Porto": "high"}}',
            '{"ranking": 7}',
        ],
    )
    def test_a_ranking_with_several_readings_or_none_is_unread(self, text: str) -> None:
        unread(text, "ranking")

    @pytest.mark.parametrize(
        "text",
        [
            "Faro (1 point), Lisbon (2 points), Porto (3 points)",
            "Faro (1), Lisbon (2), Porto (3)",
            "Faro, Lisbon, Porto (worst to best)",
            "Ranking (worst to best): Faro, Lisbon, Porto",
            "Faro (worst), Lisbon, Porto",
            "Faro (worst)",
            "Faro (last), Porto",
            "Faro (lowest score)",
            "1. Faro (worst)\n2. Lisbon\n3. Porto (best)",
            "Faro (worst) > Lisbon > Porto (best)",
            "Faro (3rd), Lisbon (3rd), Porto (1st)",
            "Faro (3rd) = Lisbon, Porto",
            "Porto (incorrect)",
            "Porto: incorrect",
            "Porto (rejected), Lisbon",
            "Porto (schlecht), Lisbon",
            "Porto (最差), Lisbon",
            "Porto (❌), Lisbon",
            "3. Faro\n1. Lisbon\n2. Porto",
            '{"ranking": ["Faro (incorrect)", "Lisbon"]}',
            '{"ranking": ["worst: Faro", "Lisbon", "best: Porto"]}',
            '{"ranking": ["Faro is worst", "Lisbon", "Porto is best"]}',
            '{"ranking": ["Porto", "Lisbon", "not Faro"]}',
            '{"ranking": ["Faro", "Lisbon", "Porto"], "order": "worst to best"}',
            '{"ranking": ["Faro", "Lisbon", "Porto"], "order": "least to most preferred"}',
            '{"ranking": ["Faro", "Lisbon", "Porto"], "sort": "Lowest first."}',
            '{"ranking": ["Faro", "Lisbon", "Porto"], "note": "from the worst to the best"}',
            '["Faro (runner up)", "Porto", "Lisbon"]',
            '["Faro (hate it)", "Porto", "Lisbon"]',
            '{"Porto": 1, "Lisbon": 1, "Faro": 3}',
        ],
    )
    def test_notes_on_order_number_rejection_or_quality_are_not_dropped(self, text: str) -> None:
        unread(text, "ranking")

    @pytest.mark.parametrize("member", ["explanation", "comment", "note", "position", "why"])
    @pytest.mark.parametrize(
        "words",
        ["I reversed my earlier view", "Lisbon has the worst weather and Porto the best food", "ascending prices"],
    )
    def test_a_word_in_a_reason_turns_no_ranking_around(self, member: str, words: str) -> None:
        text = json.dumps({"ranking": ["Porto", "Lisbon"], member: words})
        parsed = parse_answer(text, "ranking", options=("Lisbon", "Porto"))
        assert isinstance(parsed, Parsed)
        assert parsed.ranking == (("Porto",), ("Lisbon",))

    @pytest.mark.parametrize("word", ["worst ", "best ", "from "])
    def test_a_repeated_word_next_to_a_ranking_takes_little_time(self, word: str) -> None:
        text = json.dumps({"ranking": ["Porto", "Lisbon"], "note": word * 100_000})
        assert isinstance(parse_answer(text, "ranking", options=("Lisbon", "Porto")), Parsed)

    @pytest.mark.parametrize(
        ("text", "options"),
        [
            ("A > B > C", ("A > B", "C")),
            ("Paris, Texas, Rome", ("Paris, Texas", "Paris", "Rome")),
            ("1. 2\n2. 1", ("1", "2")),
            ("1. Porto\n2. Lisbon", ("1) Lisbon", "2) Porto")),
            ('{"ranking": {"1": "2", "2": "1"}}', ("1", "2")),
            ("1. Yes (later)\n2. No", ("Yes", "Yes (now)", "No")),
            ("I: A, B", ("A", "B", "I")),
        ],
    )
    def test_signs_that_options_hold_split_nothing(self, text: str, options: tuple[str, ...]) -> None:
        unread(text, "ranking", options)

    def test_an_option_with_a_sign_is_an_option(self) -> None:
        assert read("Paris, Texas", "ranking", ("Paris, Texas", "Rome")).ranking == (("Paris, Texas",),)

    def test_groups_of_motions_are_kept(self) -> None:
        ballot = read('{"order": ["B", "A"], "same": [["A", "B"]]}', "ranking", LETTERS, motions=True)
        assert ballot.same == (("A", "B"),)
        assert unread("X > Y", "ranking", LETTERS, motions=True).reason == 'no JSON object with "ranking" was found'

    def test_without_options_there_is_no_ranking(self) -> None:
        unread("Porto > Lisbon", "ranking", None)
        unread("Porto", "ranking", None)

    def test_a_text_that_is_too_long_is_not_a_ballot(self) -> None:
        unread("Porto" + " " * 4_000_000 + "> Lisbon", "ranking")
        unread("Porto > Lisbon\n" * 2_000, "ranking")
        unread(json.dumps([f"Porto ({'cheap ' * 100})"]), "ranking")


class TestApprovals:
    @pytest.mark.parametrize(
        "text",
        [
            "I approve Porto and Lisbon.",
            "I approve of Porto, and Lisbon.",
            "I would approve: Porto & Lisbon",
            "Approved: Porto, Lisbon",
            "Porto, Lisbon",
            "- Porto\n- Lisbon",
            '["Porto", "Lisbon"]',
            '{"approved": "Porto, Lisbon"}',
            '{"approved": {"Porto": true, "Lisbon": true, "Faro": false}}',
            '{"Porto": true, "Lisbon": true, "Faro": false}',
            '{"approvals": ["Porto", "Lisbon"]}',
            (
                '[{"option": "Porto", "approved": true}, {"option": "Faro", "approved": false}, '
                '{"option": "Lisbon", "approved": true}]'
            ),
        ],
    )
    def test_approvals_with_one_reading_are_read(self, text: str) -> None:
        ballot = read(text, "approval")
        assert ballot.approved == ("Porto", "Lisbon")
        assert ballot.reading is not None
        assert ballot.reading.value == "Porto, Lisbon"

    @pytest.mark.parametrize(
        "text",
        [
            "- Porto: yes\n- Lisbon: no",
            "Porto: yes, Lisbon: no, Faro: rejected",
            '{"Porto": "yes", "Lisbon": "no"}',
            '{"approved": {"Porto": "yes", "Lisbon": "no"}}',
            '{"approved": ["Porto (by the sea)"]}',
        ],
    )
    def test_verdicts_on_each_option_are_read(self, text: str) -> None:
        assert read(text, "approval").approved == ("Porto",)

    @pytest.mark.parametrize("text", ["Approved: Porto", "I approve Porto.", '["Porto"]', "I vote for Porto."])
    def test_one_option_is_approved(self, text: str) -> None:
        assert read(text, "approval").approved == ("Porto",)

    @pytest.mark.parametrize(
        "text",
        [
            "all except Faro",
            "I do not approve Porto",
            "I approve Porto, not Faro",
            "I approve Porto or Lisbon",
            "I approve all of them.",
            "Options: Porto, Lisbon",
            "Approved: Porto\nRejected: Faro",
            '{"rejected": ["Porto"]}',
            '{"approved": {"Porto": true, "Porto.": false}}',
            '{"approved": {"Porto": 1}}',
            '{"approved": {"Porto": false}}',
            '{"approved": ["Porto" maybe]}',
            "Porto (no)",
            "Porto (incorrect)",
            "Porto: incorrect",
            "- Porto: yes\n- Lisbon: perhaps",
            "- Porto: yes\n- Porto: no",
            "- Porto: no\n- Lisbon: no",
            '{"approved": ["Porto (incorrect)"]}',
            '{"approved": ["Porto (unacceptable)", "Lisbon"]}',
            '{"approved": ["Porto: no", "Lisbon: yes"]}',
            '{"approved": ["not Porto", "Lisbon"]}',
        ],
    )
    def test_approvals_with_several_readings_or_none_are_unread(self, text: str) -> None:
        unread(text, "approval")


class TestScores:
    @pytest.mark.parametrize(
        "text",
        [
            "Porto: 9\nLisbon: 2\nFaro: 1",
            "My scores:\n* **Porto**: 9/10\n* **Lisbon** = 2/10\n* Faro - 1/10.",
            "Porto: 9 points, Lisbon: 2 points, Faro: 1 point",
            '{"Porto": 9, "Lisbon": 2, "Faro": 1}',
            '{"scores": {"Porto": "9/10", "Lisbon": "2/10", "Faro": "1 out of 10"}}',
            '{"scores": "Porto: 9, Lisbon: 2, Faro: 1"}',
            '{"scores": [{"name": "Porto", "score": 9}, {"name": "Lisbon", "score": 2}, {"name": "Faro", "score": 1}]}',
            '{"ratings": {"Porto": 9, "Lisbon": 2, "Faro": 1}}',
        ],
    )
    def test_scores_with_one_reading_are_read(self, text: str) -> None:
        ballot = read(text, "scores", scale=(0, 10))
        assert ballot.scores == (("Porto", 9.0), ("Lisbon", 2.0), ("Faro", 1.0))
        assert ballot.reading is not None
        assert ballot.reading.value == "Porto 9, Lisbon 2, Faro 1"

    def test_points_are_read_and_options_without_a_score_are_skipped(self) -> None:
        ballot = read('{"scores": {"Porto": "9.5 points", "Lisbon": null}}', "scores", scale=(0, 10))
        assert ballot.scores == (("Porto", 9.5),)

    @pytest.mark.parametrize(
        "text",
        [
            "Porto: 9, Porto: 3",
            "Porto is a 9",
            "Porto: 9 (if cheap)",
            "Porto (incorrect): 9, Lisbon: 3",
            '{"scores": {"Porto (worst)": 9, "Lisbon": 1}}',
            "Porto: high",
            "Porto: 9\nThe others are bad.",
            "I vote for Porto.",
            '{"Porto": 9, "Madrid": 2}',
            '{"scores": {"Porto": "9/5"}}',
            '{"scores": {"Porto": "9/10/10"}}',
            '{"scores": {"porto": 9, "PORTO": 2}}',
            '{"Porto": 9, "Porto": 2}',
            '{"scores": {"Porto": 9, "Porto": 2}}',
            '{"scores": {"Porto": 9, "Lisbon": ',
        ],
    )
    def test_scores_with_several_readings_or_none_are_unread(self, text: str) -> None:
        unread(text, "scores", scale=(0, 10))

    def test_equal_scores_of_one_option_are_one(self) -> None:
        ballot = parsed('{"scores": {"porto": 9, "PORTO": 9}}', "scores", scale=(0, 10))
        assert isinstance(ballot, Parsed)
        assert ballot.scores == (("Porto", 9.0),)

    @pytest.mark.parametrize("text", ["Porto: 11\nLisbon: 2", '{"Porto": 11}', '{"scores": {"Porto": "11/10"}}'])
    def test_a_score_off_the_scale_makes_the_ballot_invalid(self, text: str) -> None:
        failure = parsed(text, "scores", scale=(0, 10))
        assert isinstance(failure, ParseFailure)
        assert (failure.reading, "is off the scale" in failure.reason) == (None, True)

    def test_a_score_out_of_ten_needs_a_scale_that_ends_at_ten(self) -> None:
        unread("Porto: 9/10", "scores", scale=(0, 5))
        unread("Porto: 9/10", "scores")


class TestAbstentions:
    @pytest.mark.parametrize("kind", ["ranking", "approval", "scores"])
    @pytest.mark.parametrize("words", ["ABSTAIN", "I abstain.", "I'm sorry, but I can't help with that request."])
    def test_a_refusal_is_an_abstention(self, kind: AnswerKind, words: str) -> None:
        member = {"ranking": "ranking", "approval": "approved", "scores": "scores"}[kind]
        for text in (words, json.dumps({member: words, "reasoning": "So."})):
            ballot = read(text, kind)
            assert (ballot.ranking, ballot.approved, ballot.scores) == ((), None, ())
        assert read(json.dumps({member: words, "reasoning": "So."}), kind).reasoning == "So."

    @pytest.mark.parametrize("text", ["null", "{}", "[]", "`null`"])
    def test_an_empty_text_is_not_a_ballot(self, text: str) -> None:
        for kind in ("ranking", "approval", "scores"):
            failure = parsed(text, kind)  # type: ignore[arg-type]  # a kind of answer
            assert isinstance(failure, ParseFailure)
            assert failure.reading is None


def test_numbers_of_members_are_read() -> None:
    assert [finite_number(value) for value in (True, None, "1e400", "7%", " -2.5 ")] == [None, None, None, None, -2.5]
    assert finite_number("80 per cent", percent_of=100) == 80
    assert [score_number(value, 10) for value in (True, 3, "3/10", "3 / 9", "3 pts.")] == [None, 3, 3, None, 3]


class TestBallotsOfOneOption:
    @pytest.mark.parametrize(
        "note", [": incorrect", " (incorrect)", " - incorrect", ": rejected", ": false", ": falsch"]
    )
    def test_an_option_called_wrong_is_not_voted_for(self, note: str) -> None:
        for text in (f"Porto{note}", json.dumps({"choice": f"Porto{note}"})):
            assert isinstance(parsed(text, "ballot"), ParseFailure), text


@pytest.mark.parametrize(("kind", "member"), [("ranking", "ranking"), ("approval", "approved"), ("scores", "scores")])
@pytest.mark.parametrize("word", ["Lisbon", "I pick Lisbon today {}", "Lisbon by the sea {}"])
def test_a_ballot_with_thousands_of_entries_is_refused_at_once(kind: AnswerKind, member: str, word: str) -> None:
    items = [word.format(number) for number in range(20_000)]
    for entries in (items, [items], {f"{item} {number}": number for number, item in enumerate(items)}):
        parsed = parse_answer(json.dumps({member: entries}), kind, options=("Lisbon", "Porto"))
        assert isinstance(parsed, ParseFailure)
        assert parsed.reason == f'"{member}" has many more entries than there are options'
