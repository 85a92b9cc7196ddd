"""Answers in JSON that is not in the form that was asked for."""

import pytest

from roundtable.parsing import Parsed, ParseFailure, parse_answer, parse_prose, read_reply
from roundtable.parsing.other_json import Notes, notes_in
from roundtable.reading import Asked, QuestionKind

OPTIONS = ("A) tea", "B) milk")


@pytest.mark.parametrize("kind", ["ballot", "position"])
@pytest.mark.parametrize(
    "text",
    [
        '{"vote": "B", "reasoning": "It is warm."}',
        '{"answer": "B", "explanation": "It is warm."}',
        '```json\n{"result": {"Answer": "B) milk"}}\n```',
        '[{"answer": "milk"}]',
        '{"why": "A is cold", "finalAnswer": "(B)"}',
    ],
)
def test_a_member_that_names_its_answer_is_read(text: str, kind: str) -> None:
    parsed = parse_answer(text, kind, options=OPTIONS)
    assert isinstance(parsed, Parsed)
    assert (parsed.choice, parsed.repaired) == ("B) milk", True)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("{\u201cchoice\u201d: \u201cmilk\u201d}", "B) milk"),
        ("{\u2018vote\u2019: \u2018B\u2019}", "B) milk"),
        ("{\u201cchoice\u201d\uff1a\u201cmilk\u201d\uff0c\u201cconfidence\u201d: 0.8}", "B) milk"),
        ("```json\n{\u201cchoice\u201d: \u201cmilk\u201d}\n```", "B) milk"),
        ("{\u201canswer\u201d: \u201cIt's B.\u201d}", "B) milk"),
        ("{\u201closer\u201d: \u201cmilk\u201d}", None),
        ("{\u201cchoice\u201d: \u201cmilk\u201d, \u201crejected\u201d: true}", None),
        ("{\u201cchoice\u201d: \u201cmilk\u201d, \u201cvote\u201d: \u201ctea\u201d}", None),
        ("{\u201cchoice\u201d: \u201cmilk\u201d or \u201ctea\u201d}", None),
        ("{\u201cchoice\u201d: \u201cmilk and \u201ctea\u201d\u201d}", None),
    ],
)
def test_typographic_quotation_marks_are_read_as_those_of_json(text: str, answer: str | None) -> None:
    reading = read_reply(text, Asked("choice", OPTIONS))
    assert (reading.value if reading.certainty == "certain" else None) == answer


@pytest.mark.parametrize("kind", ["ballot", "position"])
@pytest.mark.parametrize(
    "text",
    [
        '{"options": ["A", "B"], "confidence": 0.9}',
        '{"answer": "A or B"}',
        '{"A": 0.2, "B": 0.8}',
        '{"answer": "A", "vote": "B"}',
        '{"reason": "B is warm"}',
        '{"draft": "B"}',
    ],
)
def test_ambiguous_members_are_requested_again(text: str, kind: str) -> None:
    assert isinstance(parse_answer(text, kind, options=OPTIONS), ParseFailure)


def test_an_open_answer_in_another_form_is_used_after_the_second_request() -> None:
    text = '{"answer": "Lisbon"}'
    first, last = parse_answer(text, "position"), parse_prose(text)
    assert isinstance(first, ParseFailure)
    assert isinstance(last, Parsed)
    assert last.position == "Lisbon"


@pytest.mark.parametrize("text", ['{"position": "x', '{"a": 1}', '{"note": "{\\"position\\": \\"x'])
def test_the_rest_of_a_form_is_not_another_form(text: str) -> None:
    assert isinstance(parse_prose(text), ParseFailure)


def test_a_member_of_a_whole_reply_counts_only_by_a_known_name() -> None:
    assert read_reply('{"final answer": "Lisbon"}', Asked()).value == "Lisbon"
    assert read_reply('{"number": "37"}', Asked("number")).value == "37"
    assert read_reply('["Lisbon"]', Asked()).value == "Lisbon"
    assert read_reply('{"arguments": {"vote": "B"}}', Asked("choice", OPTIONS)).value == "B) milk"
    assert read_reply('{"reason": "of 37 seats"}', Asked("number")).certainty == "unread"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((f'{{"{name}": "B"}}', "choice") for name in ("loser", "veto", "eliminate", "unlikely", "ada", "my", "1")),
        ('{"loser": {"answer": "B"}}', "choice"),
        ('{"ada": "A"}', "choice"),
        ('{"city": "Lisbon"}', "open"),
        ('{"error": 500}', "number"),
        ('{"year": 1999}', "number"),
        ('{"refused": true}', "yes_no"),
        ('{"correct": false}', "yes_no"),
        ('{"error": true}', "yes_no"),
    ],
)
def test_a_single_member_with_another_name_is_not_an_answer(text: str, kind: QuestionKind) -> None:
    asked = Asked("choice", OPTIONS) if kind == "choice" else Asked(kind)
    assert read_reply(text, asked).certainty == "unread"


@pytest.mark.parametrize(
    "beside",
    [
        '"verdict": "rejected"',
        '"correct": false',
        '"rejected": true',
        '"rejected": "B"',
        '"status": "not correct"',
        '"final": "no"',
        '"refused": "true"',
    ],
)
@pytest.mark.parametrize("form", ['{{"option": "B", {}}}', '{{{}, "result": {{"vote": "B"}}}}'])
def test_an_answer_that_another_member_retracts_is_unread(form: str, beside: str) -> None:
    reading = read_reply(form.format(beside), Asked("choice", OPTIONS))
    assert (reading.certainty, reading.rule, reading.candidates) == ("unread", "several", ("B) milk",))


@pytest.mark.parametrize(
    "beside",
    [
        '"rejected": ["A"]',
        '"rejected": "A"',
        '"rejected": false',
        '"error": null',
        '"reason": "A is wrong"',
        '"note": "the other one would not be the right thing to drink"',
        '"correct": true',
        '"certain": "yes"',
    ],
)
def test_other_members_next_to_an_answer_change_nothing(beside: str) -> None:
    assert read_reply(f'{{"option": "B", {beside}}}', Asked("choice", OPTIONS)).value == "B) milk"


def test_a_no_that_is_given_twice_is_not_a_retraction() -> None:
    assert read_reply('{"answer": "No", "verdict": "no", "wrong": false}', Asked("choice", ("Yes", "No"))).value == "No"


@pytest.mark.parametrize("written", ["+5", "-5", "5.5", "5,5", "05", "15", "5/7", "5:7"])
@pytest.mark.parametrize("options", [("5", "7"), ("A) 5", "B) 7")])
def test_a_digit_within_another_number_is_not_an_option(written: str, options: tuple[str, ...]) -> None:
    assert read_reply(written, Asked("choice", options)).value is None
    parsed = parse_answer(f'{{"position": "p", "choice": "{written}"}}', "position", options=options)
    assert isinstance(parsed, Parsed)
    assert parsed.choice is None


NOT_STATED = "no usable confidence was given; 0.5 is assumed"


@pytest.mark.parametrize(
    ("text", "reasoning", "confidence", "warnings"),
    [
        ('{"vote": "A", "reason": "cheap and sunny", "confidence": 0.9}', "cheap and sunny", 0.9, ()),
        ('{"vote": "A", "reasons": ["cheap", " ", 7, "sunny"], "confidence": "90%"}', "cheap\n\nsunny", 0.9, ()),
        ('{"result": {"vote": "A", "rationale": "cheap", "confidence_level": 1}}', "cheap", 1.0, ()),
        ('[{"answer": "A", "why": "cheap"}]', "cheap", 0.5, (NOT_STATED,)),
        ('{"answer": "A", "ada": {"reason": "dear", "confidence": 0.1}}', "", 0.5, (NOT_STATED,)),
        ('["A"]', "", 0.5, (NOT_STATED,)),
        (
            'I say:\n```json\n{"vote": "A", "confidence": "high"}\n```\nOf course.',
            "I say:\n\nOf course.",
            0.5,
            (NOT_STATED,),
        ),
    ],
)
def test_reasons_and_a_confidence_next_to_an_answer_are_kept(
    text: str, reasoning: str, confidence: float, warnings: tuple[str, ...]
) -> None:
    for parsed in (parse_answer(text, options=OPTIONS), parse_prose(text, OPTIONS)):
        assert isinstance(parsed, Parsed)
        assert (parsed.position, parsed.choice) == ("A) tea", "A) tea")
        assert (parsed.reasoning, parsed.confidence) == (reasoning, confidence)
        assert parsed.warnings == ("the answer was JSON in another form", *warnings)
    ballot = parse_answer(text, "ballot", options=OPTIONS)
    assert isinstance(ballot, Parsed)
    assert (ballot.choice, ballot.reasoning) == ("A) tea", reasoning)


@pytest.mark.parametrize(("stated", "confidence"), [(0.9, 0.9), (90, 0.9), (0, 0.0), (1, 0.01), (100, 1.0)])
def test_a_confidence_next_to_an_answer_is_a_share_or_on_the_scale(stated: float, confidence: float) -> None:
    text = f'{{"answer": "A", "confidence": {stated}}}'
    first = parse_answer(text, options=OPTIONS, confidence_scale=100)
    last = parse_prose(text, OPTIONS, confidence_scale=100)
    assert isinstance(first, Parsed)
    assert isinstance(last, Parsed)
    assert first.confidence == last.confidence == confidence


def test_a_very_long_reply_has_no_notes() -> None:
    assert notes_in('{"vote": "B", "reason": "' + "x" * 20_000 + '"}') == Notes()


@pytest.mark.parametrize("options", [None, OPTIONS])
@pytest.mark.parametrize(
    ("text", "reasoning"),
    [("I'm sorry, but I can't help with that.", None), ("I abstain.", None), ("ABSTAIN", ""), ("**ABSTAIN**.", "")],
)
def test_the_words_of_an_abstention_are_kept(text: str, reasoning: str | None, options: tuple[str, ...] | None) -> None:
    parsed = parse_answer(text, options=options)
    assert isinstance(parsed, Parsed)
    assert (parsed.position, parsed.bottom_line, parsed.choice) == ("ABSTAIN", "ABSTAIN", None)
    assert parsed.reasoning == (text if reasoning is None else reasoning)
    assert "the answer is not in the form, but can be read in one way" in parsed.warnings


def test_the_reasons_of_a_vote_in_prose_are_kept() -> None:
    for text, reasoning in (("B", ""), ("I'd go with B. It is warm.", "I'd go with B. It is warm.")):
        ballot = parse_answer(text, "ballot", options=OPTIONS)
        assert isinstance(ballot, Parsed)
        assert (ballot.choice, ballot.reasoning) == ("B) milk", reasoning)


def test_two_answers_in_json_are_unread_and_kept_as_they_are() -> None:
    text = '{"answer": "A", "vote": "B"}'
    last = parse_prose(text, OPTIONS)
    assert isinstance(last, Parsed)
    assert (last.position, last.choice, last.reading and last.reading.certainty) == (text, None, "unread")


@pytest.mark.parametrize("beside", ['"rejected": true', '"verdict": "wrong"'])
def test_a_vote_in_the_form_that_another_member_retracts_is_unread(beside: str) -> None:
    failure = parse_answer(f'{{"choice": "B", {beside}}}', "ballot", options=OPTIONS)
    assert isinstance(failure, ParseFailure)
    assert (failure.asks, failure.reading and failure.reading.certainty) == ("option", "unread")
    kept = parse_answer('{"choice": "B", "reasoning": "No, A is wrong", "same": []}', "ballot", options=OPTIONS)
    assert isinstance(kept, Parsed)
